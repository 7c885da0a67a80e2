#include "cli/completion.h"

#include <string.h>

enum { NAME_SIZE = 32, VALUES_SIZE = 512 };

enum value_kind {
    VALUE_NONE,
    VALUE_WORDS, /* one of a fixed list */
    VALUE_FILE,
    VALUE_FREE /* a number or the like */
};

/* An option, as its line of --help has it. */
struct entry {
    char letter;          /* 0: none */
    char name[NAME_SIZE]; /* without dashes */
    enum value_kind kind;
    bool is_optional; /* the value */
    char values[VALUES_SIZE];
    const char *text;
};

/* ---- from help to entries ---- */

static void add_value(struct entry *e, const char *word, size_t n)
{
    size_t used = strlen(e->values);
    if (used + n + 2 <= sizeof e->values)
        snprintf(e->values + used, sizeof e->values - used, "%s%.*s", used ? " " : "", (int)n,
                 word);
}

static void add_kernels(struct entry *e)
{
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
            add_value(e, k->name, strlen(k->name));
}

/* "dark|light", "auto|cpu|cuda[:N]", "FILE", "KERNEL", "N"; what is in brackets is left out. */
static void read_value(struct entry *e, const char *value)
{
    size_t n = strcspn(value, "[]");
    if (memchr(value, '|', n)) {
        e->kind = VALUE_WORDS;
        for (size_t i = 0, length; i < n; i += length + 1) {
            length = strcspn(value + i, "|[]");
            add_value(e, value + i, length);
        }
    } else if (strncmp(value, "KERNEL", n) == 0) {
        e->kind = VALUE_WORDS;
        add_kernels(e);
    } else {
        bool is_file = (n == 1 && *value == 'F') || (n == 4 && strncmp(value, "FILE", n) == 0) ||
                       (n == 4 && strncmp(value, "PATH", n) == 0);
        e->kind = is_file ? VALUE_FILE : VALUE_FREE;
    }
}

static void read_entry(struct entry *e, const struct ih_option_help *help)
{
    const char *name = strstr(help->usage, "--");
    size_t n = name ? strcspn(name + 2, "[=") : 0;
    memset(e, 0, sizeof *e);
    if (name && name > help->usage)
        e->letter = help->usage[1]; /* 0 otherwise */
    e->text = help->text;
    snprintf(e->name, sizeof e->name, "%.*s", (int)n, name ? name + 2 : "");
    const char *value = name ? name + 2 + n : "";
    e->is_optional = *value == '[';
    if (*value)
        read_value(e, value + (e->is_optional ? 2 : 1));
}

/* A character within single quotes: all three shells read '\'' as one of these. */
static void put_in_quotes(FILE *f, char c)
{
    if (c == '\'')
        fputs("'\\'", f);
    putc(c, f);
}

/* ---- bash ---- */

static void put_bash_names(FILE *f)
{
    struct entry e;
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++) {
        read_entry(&e, h);
        if (e.kind == VALUE_NONE || e.is_optional)
            fprintf(f, " --%s", e.name);
        if (e.kind != VALUE_NONE)
            fprintf(f, " --%s=", e.name);
        if (e.letter)
            fprintf(f, " -%c", e.letter);
    }
}

/* Options whose value may be the next word. */
static void put_bash_takers(FILE *f)
{
    struct entry e;
    const char *between = "";
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++) {
        read_entry(&e, h);
        if (e.kind == VALUE_NONE || e.is_optional)
            continue;
        fprintf(f, "%s--%s", between, e.name);
        between = " | ";
        if (e.letter)
            fprintf(f, "%s-%c", between, e.letter);
    }
}

static void put_bash_values(FILE *f)
{
    struct entry e;
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++) {
        read_entry(&e, h);
        if (e.kind != VALUE_WORDS && e.kind != VALUE_FILE)
            continue;
        fprintf(f, "    --%s", e.name);
        if (e.letter)
            fprintf(f, " | -%c", e.letter);
        if (e.kind == VALUE_FILE)
            fputs(") return ;;\n", f);
        else
            fprintf(f, ") words='%s' ;;\n", e.values);
    }
}

/* Where nothing is replied readline completes names of files, with whatever is in them. */
static void put_bash(FILE *f)
{
    fputs("# Completion of imghist for bash, written by `imghist --completion=bash`.\n"
          "_imghist() {\n"
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "  local option='' words='' before='' i\n"
          "  COMPREPLY=()\n"
          "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "    [[ ${COMP_WORDS[i]} != -- ]] || return\n"
          "  done\n"
          "  if [[ $cur == = ]]; then # --option= is three words where = separates words\n"
          "    option=$prev cur=''\n"
          "  elif [[ $prev == = ]]; then\n"
          "    option=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "  elif [[ $cur == --*=* ]]; then\n"
          "    option=${cur%%=*} before=${cur%%=*}= cur=${cur#*=}\n"
          "  else\n"
          "    case $prev in\n"
          "    ",
          f);
    put_bash_takers(f);
    fputs(") option=$prev ;;\n"
          "    esac\n"
          "  fi\n"
          "  case $option in\n"
          "    '') [[ $cur == -* ]] || return\n"
          "      words='",
          f);
    put_bash_names(f);
    fputs("' ;;\n", f);
    put_bash_values(f);
    fputs("  esac\n"
          "  compopt +o default\n"
          "  mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"$cur\")\n"
          "  [[ ${COMPREPLY-} != *= ]] || compopt -o nospace\n"
          "}\n"
          "complete -o default -F _imghist imghist\n",
          f);
}

/* ---- zsh ---- */

/* The value of an option: ":name:what completes it". */
static void put_zsh_value(FILE *f, const struct entry *e)
{
    if (e->kind == VALUE_NONE)
        return;
    fprintf(f, "%s:%s:", e->is_optional ? ":" : "", e->name);
    if (e->kind == VALUE_FILE)
        fputs("_files", f);
    else if (e->kind == VALUE_WORDS)
        fprintf(f, "(%s)", e->values);
    else
        putc(' ', f);
}

/* One way to write an option, "-o" or "--output": '(other ways)-o+[text]:name:values'. */
static void put_zsh_option(FILE *f, const struct entry *e, bool is_letter)
{
    fputs("    '", f);
    if (e->letter)
        fprintf(f, "(-%c --%s)", e->letter, e->name);
    if (is_letter)
        fprintf(f, "-%c%s", e->letter, e->kind == VALUE_NONE ? "" : "+");
    else if (e->kind == VALUE_NONE)
        fprintf(f, "--%s", e->name);
    else
        fprintf(f, "--%s%s", e->name, e->is_optional ? "=-" : "=");
    putc('[', f);
    for (const char *p = e->text; *p; p++) {
        if (strchr("[]:\\", *p))
            putc('\\', f);
        put_in_quotes(f, *p);
    }
    putc(']', f);
    put_zsh_value(f, e);
    fputs("' \\\n", f);
}

static void put_zsh(FILE *f)
{
    struct entry e;
    fputs("#compdef imghist\n"
          "# Completion of imghist for zsh, written by `imghist --completion=zsh`.\n"
          "_imghist() {\n"
          "  _arguments -s -S \\\n",
          f);
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++) {
        read_entry(&e, h);
        if (e.letter)
            put_zsh_option(f, &e, true);
        put_zsh_option(f, &e, false);
    }
    fputs("    '*:image:_files'\n"
          "}\n"
          "if [[ $funcstack[1] == _imghist ]]; then # as a file in fpath\n"
          "  _imghist \"$@\"\n"
          "else\n"
          "  compdef _imghist imghist\n"
          "fi\n",
          f);
}

/* ---- fish ---- */

static void put_fish(FILE *f)
{
    struct entry e;
    fputs("# Completion of imghist for fish, written by `imghist --completion=fish`.\n", f);
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++) {
        read_entry(&e, h);
        fputs("complete -c imghist", f);
        if (e.letter)
            fprintf(f, " -s %c", e.letter);
        fprintf(f, " -l %s", e.name);
        if (e.kind == VALUE_FILE && !e.is_optional)
            fputs(" -r -F", f);
        else if (e.kind == VALUE_WORDS || e.kind == VALUE_FREE)
            fputs(e.is_optional ? " -f" : " -x", f);
        if (e.kind == VALUE_WORDS)
            fprintf(f, " -a '%s'", e.values);
        fputs(" -d '", f);
        for (const char *p = e.text; *p; p++)
            put_in_quotes(f, *p);
        fputs("'\n", f);
    }
}

void (*const ih_completions[])(FILE *) = {
    [IH_SHELL_BASH] = put_bash, [IH_SHELL_ZSH] = put_zsh, [IH_SHELL_FISH] = put_fish};
