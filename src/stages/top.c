/*
 * --sort, --top and --copies: the records of a run in the order of a field.
 *
 * The stage holds the records, rendered, until the run ends. With --top, a heap whose root is the
 * last of the best N holds no more than these: a record that comes after the root is dropped.
 * Otherwise all are held, and sorted at the end; with --copies a second time, without those whose
 * value no other has, by the first of each group.
 */
#include "base/budget.h"
#include "stages/stage.h"

#include <stdlib.h>
#include <string.h>

/* A record with its place in the order: its key, then the order of the inputs. */
struct held {
    enum ih_value_type type; /* NONE: the record lacks the field, and comes last */
    double number;
    const char *text; /* in the record */
    uint64_t input;
    void *record; /* owned */
};

struct ih_top {
    bool is_descending, finds_copies;
    size_t n_max; /* 0: all */
    uint64_t bytes_max, n_bytes, n_inputs;
    struct held *held; /* owned, [n_allocated]; with n_max a heap, its root the last in the order */
    size_t n_held, n_allocated;
};

enum ih_status ih_top_open(bool is_descending, size_t n_max, bool finds_copies, uint64_t bytes_max,
                           struct ih_top **stage, struct ih_error *err)
{
    struct ih_top *const t = *stage = calloc(1, sizeof *t);
    if (!t)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    t->is_descending = is_descending;
    t->finds_copies = finds_copies;
    t->n_max = n_max;
    t->bytes_max = bytes_max;
    return IH_OK;
}

void ih_top_close(struct ih_top *t)
{
    for (size_t i = 0; t && i < t->n_held; i++)
        free(t->held[i].record);
    if (t)
        free(t->held);
    free(t);
}

/* Below 0: a comes before b. */
static int order_of(const struct held *a, const struct held *b, bool is_descending)
{
    int order = (a->type == IH_TYPE_NONE) - (b->type == IH_TYPE_NONE);
    if (order == 0 && a->type != IH_TYPE_NONE) {
        order = a->type == IH_TYPE_TEXT ? strcmp(a->text, b->text)
                                        : (a->number > b->number) - (a->number < b->number);
        order = is_descending ? -order : order;
    }
    return order ? order : (a->input > b->input) - (a->input < b->input);
}

/* Moves a record up, from its place to where its parent comes after it. */
static void sift_up(struct ih_top *t, size_t at)
{
    for (size_t up; at > 0; at = up) {
        up = (at - 1) / 2;
        if (order_of(&t->held[at], &t->held[up], t->is_descending) < 0)
            return;
        const struct held moved = t->held[at];
        t->held[at] = t->held[up];
        t->held[up] = moved;
    }
}

/* Moves the first of n records down, to where its children come before it. */
static void sift_down(struct ih_top *t, size_t n)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && order_of(&t->held[child + 1], &t->held[child], t->is_descending) > 0)
            child++;
        if (order_of(&t->held[at], &t->held[child], t->is_descending) > 0)
            return;
        const struct held moved = t->held[at];
        t->held[at] = t->held[child];
        t->held[child] = moved;
    }
}

static struct held key_of(const struct ih_top *t, const struct ih_field_value *value)
{
    return (struct held){
        .type = value->type, .number = value->real, .text = value->text, .input = t->n_inputs};
}

bool ih_top_wants(struct ih_top *t, const struct ih_field_value *value)
{
    const struct held key = key_of(t, value);
    const bool wants =
        t->n_max == 0 || t->n_held < t->n_max || order_of(&key, t->held, t->is_descending) < 0;
    t->n_inputs += !wants;
    return wants;
}

enum ih_status ih_top_take(struct ih_top *t, const struct ih_field_value *value, void *record,
                           size_t n_bytes, struct ih_error *err)
{
    struct held key = key_of(t, value);
    char limit[IH_BYTES_TEXT_MAX];
    key.record = record;
    t->n_inputs++;
    if (t->n_max > 0 && t->n_held == t->n_max) {
        free(t->held[0].record);
        t->held[0] = key;
        sift_down(t, t->n_held);
        return IH_OK;
    }
    t->n_bytes += n_bytes + sizeof key;
    const bool is_full = t->n_held == t->n_allocated;
    const size_t n = is_full ? 2 * t->n_allocated + 64 : t->n_allocated;
    struct held *const held =
        t->n_bytes > t->bytes_max || !is_full ? t->held : realloc(t->held, n * sizeof *held);
    if (t->n_bytes > t->bytes_max || !held) {
        free(record);
        return t->n_bytes > t->bytes_max
                   ? ih_error_set(err, IH_LIMIT,
                                  "the records to sort take more than %s (--memory raises it); "
                                  "%s--fields makes them small",
                                  ih_bytes_print(t->bytes_max, limit),
                                  t->finds_copies ? "" : "--top=N holds N of them, and ")
                   : ih_error_set(err, IH_MEMORY, "out of memory");
    }
    t->held = held;
    t->n_allocated = n;
    t->held[t->n_held++] = key;
    sift_up(t, t->n_held - 1);
    return IH_OK;
}

/* Takes the root, the last record, to the end of the array, until the array is in order. */
static void sort(struct ih_top *t)
{
    for (size_t n = t->n_held; n > 1; n--) {
        const struct held last = t->held[0];
        t->held[0] = t->held[n - 1];
        t->held[n - 1] = last;
        sift_down(t, n - 1);
    }
}

/* Drops sorted records whose text no other has, and those without one. The key of the others
 * becomes the input of the first in their group. The array is a heap again. */
static void keep_copies(struct ih_top *t)
{
    size_t n = 0;
    for (size_t i = 0, end; i < t->n_held; i = end) {
        const struct held first = t->held[i];
        end = i + 1;
        while (end < t->n_held && first.type == IH_TYPE_TEXT && t->held[end].type == IH_TYPE_TEXT &&
               strcmp(first.text, t->held[end].text) == 0)
            end++;
        if (end == i + 1)
            free(first.record);
        for (size_t k = i; end > i + 1 && k < end; k++, n++) {
            t->held[n] = t->held[k];
            t->held[n].type = IH_TYPE_REAL;
            t->held[n].number = (double)first.input;
        }
    }
    t->n_held = n;
    for (size_t i = 0; i < n; i++)
        sift_up(t, i);
}

bool ih_top_end(struct ih_top *t, void (*give)(void *user, void *record, bool begins_copies),
                void *user)
{
    sort(t);
    const bool lacks_all = t->n_held > 0 && t->held[0].type == IH_TYPE_NONE;
    if (t->finds_copies) {
        keep_copies(t);
        sort(t);
    }
    for (size_t i = 0; i < t->n_held; i++)
        give(user, t->held[i].record,
             t->finds_copies && t->held[i].number == (double)t->held[i].input);
    return lacks_all;
}
