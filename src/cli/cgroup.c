/*
 * Linux lists the groups of a process as ID:CONTROLLERS:PATH, a line for each hierarchy: that of
 * version 2 has neither a number but 0 nor controllers, those of version 1 have both. A limit holds
 * for all groups below it, so the least on the way up is what counts.
 *
 * In a container the files may show its own group as the topmost, while the list has a path from
 * outside: folders that are not there say nothing, and the topmost one is always asked.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096 };

/* What is limited: how a group's folder says it, UINT64_MAX for no limit. */
struct resource {
    const char *controller; /* of version 1, whose folder has the same name */
    uint64_t (*version_1)(const char *folder);
    uint64_t (*version_2)(const char *folder);
};

/* Reads one or two numbers. Returns how many there are: none in "max", or where no file is. */
static int read_numbers(const char *folder, const char *name, long long numbers[2])
{
    char path[PATH_BYTES_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    if (!f)
        return 0;
    n = fscanf(f, "%lld %lld", &numbers[0], &numbers[1]);
    fclose(f);
    return n > 0 ? n : 0;
}

/* ---- memory ---- */

static uint64_t bytes_in(const char *folder, const char *name)
{
    long long n_bytes[2];
    return read_numbers(folder, name, n_bytes) && n_bytes[0] >= 0 ? (uint64_t)n_bytes[0]
                                                                  : UINT64_MAX;
}

static uint64_t memory_1(const char *folder)
{
    return bytes_in(folder, "memory.limit_in_bytes");
}

static uint64_t memory_2(const char *folder)
{
    return bytes_in(folder, "memory.max");
}

/* ---- processors ---- */

/* So much processor time in each period. More than 1 and less than 2 processors keep 2 threads
 * busy, by turns. */
static uint64_t processors_of(long long quota, long long period)
{
    if (quota < 0 || period <= 0)
        return UINT64_MAX;
    return (uint64_t)(quota / period) + (quota % period != 0);
}

static uint64_t processors_1(const char *folder)
{
    long long quota[2], period[2];
    if (!read_numbers(folder, "cpu.cfs_quota_us", quota) ||
        !read_numbers(folder, "cpu.cfs_period_us", period))
        return UINT64_MAX;
    return processors_of(quota[0], period[0]);
}

static uint64_t processors_2(const char *folder)
{
    long long quota_and_period[2];
    if (read_numbers(folder, "cpu.max", quota_and_period) != 2)
        return UINT64_MAX;
    return processors_of(quota_and_period[0], quota_and_period[1]);
}

/* ---- the groups ---- */

/* The least that the folders say from the group's up to the topmost one. */
static uint64_t least_limit(const char *mounted, const char *group,
                            uint64_t (*limit_in)(const char *folder))
{
    char folder[PATH_BYTES_MAX];
    uint64_t least = UINT64_MAX;
    size_t length = strlen(group);
    do {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int n = snprintf(folder, sizeof folder, "%s%.*s", mounted, (int)length, group);
        uint64_t limit = n > 0 && (size_t)n < sizeof folder ? limit_in(folder) : UINT64_MAX;
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
static uint64_t limit_of_line(char *line, const char *mounted, const struct resource *wanted)
{
    char top[PATH_BYTES_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    if (!*controllers)
        return least_limit(mounted, group, wanted->version_2);
    if (!has_word(controllers, wanted->controller))
        return UINT64_MAX;
    snprintf(top, sizeof top, "%s/%s", mounted, wanted->controller);
    return least_limit(top, group, wanted->version_1);
}

static uint64_t limit_of(const struct resource *wanted, const char *groups, const char *mounted)
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
        uint64_t limit = limit_of_line(line, mounted, wanted);
        least = limit < least ? limit : least;
    }
    free(line);
    fclose(f);
    return least;
}

uint64_t ih_control_group_memory(const char *groups, const char *mounted)
{
    static const struct resource memory = {"memory", memory_1, memory_2};
    return limit_of(&memory, groups, mounted);
}

uint64_t ih_control_group_processors(const char *groups, const char *mounted)
{
    static const struct resource processors = {"cpu", processors_1, processors_2};
    return limit_of(&processors, groups, mounted);
}
