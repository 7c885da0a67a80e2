/*
 * The list of --by=LIST.csv: each line is a name as outputs show it, and its group.
 */
#include "stages/stage.h"

#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of the list. */
struct member {
    const char *name, *group;
};

struct ih_group_list {
    char *text;             /* owned; members point into it */
    struct member *members; /* sorted by name */
    size_t n_members;
};

static int compare_members(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

/* Takes a field of CSV (RFC 4180) from *at, which it moves behind the field. NULL: the quotes do
 * not match. */
static char *take_field(char **at)
{
    char *from = *at, *to = *at, *field = *at;
    if (*from != '"') {
        *at += strcspn(*at, ",\r\n");
        return field;
    }
    for (from++; *from && !(*from == '"' && from[1] != '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    if (*from != '"')
        return NULL;
    memset(to, '\0', (size_t)(from + 1 - to));
    *at = from + 1;
    return field;
}

/* Ends the field before *at with a NUL. Returns the character that was there. */
static int end_field(char **at)
{
    const int end = (unsigned char)**at;
    if (end)
        *(*at)++ = '\0';
    if (end == '\r' && **at == '\n')
        (*at)++;
    return end == '\r' ? '\n' : end;
}

static enum ih_status parse_list(struct ih_group_list *l, struct ih_error *err)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of spreadsheets */
    size_t capacity = 1, line = 0;
    for (const char *p = l->text; *p; p++)
        capacity += *p == '\n' || *p == '\r'; /* either ends a line */
    l->members = malloc(capacity * sizeof *l->members);
    if (!l->members)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (char *at = l->text + (strncmp(l->text, mark, 3) == 0 ? 3 : 0); *at;) {
        struct member m = {.group = NULL};
        line++;
        m.name = take_field(&at);
        if (m.name && end_field(&at) == ',') {
            m.group = take_field(&at);
            const int end = m.group ? end_field(&at) : ',';
            if (end != '\n' && end != '\0')
                m.group = NULL;
        }
        if (!m.group || !*m.group || !*m.name)
            return ih_error_set(err, IH_CORRUPT, "line %zu is not 'name,group'", line);
        if (strlen(m.group) >= IH_PATH_BYTES_MAX)
            return ih_error_set(err, IH_CORRUPT, "line %zu: the name of a group is too long", line);
        if (line > 1 || (strcmp(m.name, "file") != 0 && strcmp(m.name, "path") != 0))
            l->members[l->n_members++] = m;
    }
    qsort(l->members, l->n_members, sizeof *l->members, compare_members);
    for (size_t i = 1; i < l->n_members; i++)
        if (compare_members(&l->members[i - 1], &l->members[i]) == 0)
            return ih_error_set(err, IH_CORRUPT, "'%.100s' stands in it twice", l->members[i].name);
    return IH_OK;
}

static enum ih_status read_list(struct ih_group_list *l, const char *path, struct ih_error *err)
{
    enum { PART_BYTES = 1 << 16, LIST_BYTES_MAX = 1 << 30 };
    size_t n = 0, got = 1;
    bool has_nul = false;
    FILE *f = fopen(path, "rb");
    if (!f)
        return ih_error_errno(err, errno, "cannot open it");
    while (got > 0 && n < LIST_BYTES_MAX && !has_nul) {
        char *larger = realloc(l->text, n + PART_BYTES + 1);
        if (!larger)
            break;
        l->text = larger;
        got = fread(l->text + n, 1, PART_BYTES, f);
        has_nul = memchr(l->text + n, '\0', got) != NULL;
        n += got;
    }
    const bool has_failed = ferror(f) != 0;
    fclose(f);
    if (has_failed)
        return ih_error_errno(err, errno, "cannot read it");
    if (has_nul)
        return ih_error_set(err, IH_CORRUPT, "a NUL byte; a list of groups is a text");
    if (n >= LIST_BYTES_MAX)
        return ih_error_set(err, IH_CORRUPT, "1 GiB or more; a list of groups is shorter");
    if (got > 0)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    l->text[n] = '\0';
    return parse_list(l, err);
}

enum ih_status ih_group_list_open(const char *path, struct ih_group_list **list,
                                  struct ih_error *err)
{
    *list = calloc(1, sizeof **list);
    return *list ? read_list(*list, path, err) : ih_error_set(err, IH_MEMORY, "out of memory");
}

const char *ih_group_list_find(const struct ih_group_list *l, const char *name)
{
    const struct member key = {name, NULL};
    const struct member *m = bsearch(&key, l->members, l->n_members, sizeof key, compare_members);
    return m ? m->group : NULL;
}

void ih_group_list_close(struct ih_group_list *l)
{
    if (!l)
        return;
    free(l->members);
    free(l->text);
    free(l);
}
