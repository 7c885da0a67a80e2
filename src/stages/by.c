/*
 * --by: one exact total for each group of images.
 *
 * --by=folder groups by the folder in an image's name, "data/cats" for data/cats/1.jpg and "." for
 * a name without a folder. --by=LIST.csv groups by the list's lines. A group's total that a result
 * file holds is added to the group of its name, so the groups of parts add up to those of the
 * whole.
 */
#include "stages/stage.h"

#include <stdlib.h>
#include <string.h>

struct group {
    char *name;        /* owned */
    struct ih_sum sum; /* by value: a set of classes has few groups */
};

struct ih_by {
    bool takes_images, is_by_folder;
    struct ih_group_list *list; /* owned; NULL: none */
    struct ih_total empty;
    struct group **groups; /* sorted by name */
    size_t n, capacity;
    uint64_t n_left_out;
    char *left_out; /* owned; the name of the first; NULL: none */
};

enum ih_status ih_by_open(const char *by, const struct ih_total *empty, struct ih_by **stage,
                          struct ih_error *err)
{
    enum ih_status status = IH_OK;
    struct ih_by *g = calloc(1, sizeof *g);
    if (!g)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    g->empty = *empty;
    g->takes_images = by != NULL;
    g->is_by_folder = by && strcmp(by, "folder") == 0;
    if (by && !g->is_by_folder)
        status = ih_group_list_open(by, &g->list, err);
    if (status == IH_OK)
        *stage = g;
    else
        ih_by_close(g);
    return status;
}

void ih_by_close(struct ih_by *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++) {
        ih_sum_reset(&g->groups[i]->sum);
        free(g->groups[i]->name);
        free(g->groups[i]);
    }
    free(g->groups);
    ih_group_list_close(g->list);
    free(g->left_out);
    free(g);
}

/* The name of a result's group, n bytes; NULL if the list lacks the result. */
static const char *name_of(const struct ih_by *g, const struct ih_result *r, size_t *n)
{
    const char *name = r->group;
    if (!name && g->is_by_folder) {
        const char *slash = strrchr(r->path, '/');
        name = slash ? r->path : ".";
        *n = slash > r->path ? (size_t)(slash - r->path) : 1;
        return name;
    }
    if (!name && g->list)
        name = ih_group_list_find(g->list, r->path);
    *n = name ? strlen(name) : 0;
    return name;
}

/* The group of this name, a new one if there is none. NULL: out of memory. */
static struct group *find_group(struct ih_by *g, const char *name, size_t n)
{
    size_t first = 0, end = g->n;
    while (first < end) {
        const size_t i = first + (end - first) / 2;
        const int order = strncmp(g->groups[i]->name, name, n);
        if (order == 0 && g->groups[i]->name[n] == '\0')
            return g->groups[i];
        if (order < 0)
            first = i + 1;
        else
            end = i;
    }
    if (g->n == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 16;
        struct group **larger = realloc(g->groups, capacity * sizeof(struct group *));
        if (!larger)
            return NULL;
        g->groups = larger;
        g->capacity = capacity;
    }
    struct group *made = calloc(1, sizeof *made);
    char *own = made ? strndup(name, n) : NULL;
    if (!own) {
        free(made);
        return NULL;
    }
    made->name = own;
    made->sum.total = g->empty;
    memmove(g->groups + first + 1, g->groups + first, (g->n - first) * sizeof *g->groups);
    g->groups[first] = made;
    g->n++;
    return made;
}

enum ih_status ih_by_take(struct ih_by *g, const struct ih_result *result, bool selected,
                          struct ih_error *err)
{
    size_t n;
    if (!result->group && (!g->takes_images || !selected || result->is_total))
        return IH_OK;
    const char *name = name_of(g, result, &n);
    if (!name) {
        g->n_left_out++;
        if (!g->left_out && !(g->left_out = strdup(result->path)))
            return ih_error_set(err, IH_MEMORY, "out of memory");
        return IH_OK;
    }
    struct group *group = find_group(g, name, n);
    return group ? ih_sum_add(&group->sum, result, err)
                 : ih_error_set(err, IH_MEMORY, "out of memory");
}

void ih_by_end(const struct ih_by *g, void (*give)(void *user, struct ih_result *group), void *user)
{
    struct ih_result result;
    for (size_t i = 0; i < g->n; i++) {
        ih_sum_result(&g->groups[i]->sum, &result);
        result.path = result.group = g->groups[i]->name;
        give(user, &result);
    }
}

size_t ih_by_n_groups(const struct ih_by *g)
{
    return g->n;
}

uint64_t ih_by_n_left_out(const struct ih_by *g, const char **first)
{
    *first = g->left_out;
    return g->n_left_out;
}
