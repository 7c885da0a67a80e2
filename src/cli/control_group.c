/*
 * Linux lists the groups of a process as ID:CONTROLLERS:PATH, a line for each hierarchy: that of
 * version 2 has neither a number but 0 nor controllers, those of version 1 have both. A limit holds
 * for all groups below it, so the least on the way up is what counts.
 *
 * In a container the files may show its own group as the topmost, while the list has a path from
 * outside: folders that are not there say nothing, and the topmost one is always asked.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/control_group.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096 };

/* The number in a file; UINT64_MAX where it has none ("max"), or is not there. */
static uint64_t limit_in(const char *path)
{
    unsigned long long n;
    FILE *f = fopen(path, "r");
    if (!f)
        return UINT64_MAX;
    bool is_number = fscanf(f, "%llu", &n) == 1;
    fclose(f);
    return is_number ? n : UINT64_MAX;
}

/* The least that the files of this name say from the group up to the topmost one. */
static uint64_t least_limit(const char *mounted, const char *group, const char *name)
{
    char path[PATH_BYTES_MAX];
    uint64_t least = UINT64_MAX;
    size_t length = strlen(group);
    do {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int n = snprintf(path, sizeof path, "%s%.*s/%s", mounted, (int)length, group, name);
        uint64_t limit = n > 0 && (size_t)n < sizeof path ? limit_in(path) : UINT64_MAX;
        least = limit < least ? limit : least;
        while (length > 0 && group[length - 1] != '/')
            length--;
    } while (length > 0);
    return least;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && memcmp(list, word, length) == 0)
            return true;
    return false;
}

/* What the group in a line of the list says. */
static uint64_t limit_of_line(char *line, const char *mounted)
{
    char top[PATH_BYTES_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    if (!*controllers)
        return least_limit(mounted, group, "memory.max");
    if (!has_word(controllers, "memory"))
        return UINT64_MAX;
    snprintf(top, sizeof top, "%s/memory", mounted);
    return least_limit(top, group, "memory.limit_in_bytes");
}

uint64_t ih_control_group_memory(const char *groups, const char *mounted)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    uint64_t least = UINT64_MAX;
    FILE *f = fopen(groups, "r");
    if (!f)
        return UINT64_MAX;
    while ((length = getline(&line, &capacity, f)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        uint64_t limit = limit_of_line(line, mounted);
        least = limit < least ? limit : least;
    }
    free(line);
    fclose(f);
    return least;
}
