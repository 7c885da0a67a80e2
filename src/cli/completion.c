/* Completions for bash, zsh and fish, generated from the table of options. */
#include "cli/options.h"

#include <string.h>

static bool takes_list(const struct ih_option *option)
{
    return option->value == IH_VALUE_CHOICE || option->value == IH_VALUE_KERNEL;
}

/* "dark light" */
static void put_choices(FILE *f, const struct ih_option *option)
{
    const char *choice;
    for (size_t i = 0; (choice = ih_option_choice(option, i)); i++)
        fprintf(f, "%s%s", i ? " " : "", choice);
}

/* The text of an option within single quotes; all three shells read '\'' as one of these. A
 * backslash precedes the characters of `special`. */
static void put_help(FILE *f, const struct ih_option *option, const char *special)
{
    for (const char *p = option->help; *p; p++) {
        if (strchr(special, *p))
            putc('\\', f);
        if (*p == '\'')
            fputs("'\\'", f);
        putc(*p, f);
    }
}

/* ---- bash ---- */

static void put_bash_names(FILE *f)
{
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (k->value == IH_VALUE_NONE || k->is_optional)
            fprintf(f, " --%s", k->name);
        if (k->value != IH_VALUE_NONE)
            fprintf(f, " --%s=", k->name);
        if (k->letter)
            fprintf(f, " -%c", k->letter);
    }
}

/* The options that take the next word as their value. */
static void put_bash_takers(FILE *f)
{
    const char *between = "";
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (k->value == IH_VALUE_NONE || k->is_optional)
            continue;
        fprintf(f, "%s--%s", between, k->name);
        between = " | ";
        if (k->letter)
            fprintf(f, "%s-%c", between, k->letter);
    }
}

static void put_bash_values(FILE *f)
{
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (k->value != IH_VALUE_FILE && !takes_list(k))
            continue;
        fprintf(f, "    --%s", k->name);
        if (k->letter)
            fprintf(f, " | -%c", k->letter);
        fputs(takes_list(k) ? ") words='" : ") return", f);
        put_choices(f, k);
        fputs(takes_list(k) ? "' ;;\n" : " ;;\n", f);
    }
}

/* Without a reply readline completes file names, and quotes them as needed. */
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
static void put_zsh_value(FILE *f, const struct ih_option *k)
{
    fprintf(f, "%s:%s:", k->is_optional ? ":" : "", k->name);
    fputs(k->value == IH_VALUE_FILE ? "_files" : takes_list(k) ? "(" : " ", f);
    put_choices(f, k);
    fputs(takes_list(k) ? ")" : "", f);
}

/* One way to write an option, "-o" or "--output": '(other ways)-o+[text]:name:values'. */
static void put_zsh_option(FILE *f, const struct ih_option *k, bool is_letter)
{
    fputs("    '", f);
    if (k->letter)
        fprintf(f, "(-%c --%s)", k->letter, k->name);
    const bool takes_value = k->value != IH_VALUE_NONE && !(is_letter && k->is_optional);
    if (is_letter)
        fprintf(f, "-%c%s", k->letter, takes_value ? "+" : "");
    else if (!takes_value)
        fprintf(f, "--%s", k->name);
    else
        fprintf(f, "--%s%s", k->name, k->is_optional ? "=-" : "=");
    putc('[', f);
    put_help(f, k, "[]:\\");
    putc(']', f);
    if (takes_value)
        put_zsh_value(f, k);
    fputs("' \\\n", f);
}

static void put_zsh(FILE *f)
{
    fputs("#compdef imghist\n"
          "# Completion of imghist for zsh, written by `imghist --completion=zsh`.\n"
          "_imghist() {\n"
          "  _arguments -s -S \\\n",
          f);
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (k->letter)
            put_zsh_option(f, k, true);
        put_zsh_option(f, k, false);
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
    fputs("# Completion of imghist for fish, written by `imghist --completion=fish`.\n", f);
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        fputs("complete -c imghist", f);
        if (k->letter)
            fprintf(f, " -s %c", k->letter);
        fprintf(f, " -l %s", k->name);
        if (k->value == IH_VALUE_FILE && !k->is_optional)
            fputs(" -r -F", f);
        else if (takes_list(k) || k->value == IH_VALUE_TEXT)
            fputs(k->is_optional ? " -f" : " -x", f);
        if (takes_list(k)) {
            fputs(" -a '", f);
            put_choices(f, k);
            putc('\'', f);
        }
        fputs(" -d '", f);
        put_help(f, k, "");
        fputs("'\n", f);
    }
}

void (*const ih_completions[])(FILE *) = {
    [IH_SHELL_BASH] = put_bash, [IH_SHELL_ZSH] = put_zsh, [IH_SHELL_FISH] = put_fish};
