/*
 * Stages: what happens to results between the source and the sinks.
 *
 * where, against and fail-if look at one result and change nothing shared, so a worker runs them on
 * the images that it has counted. against reads a complete reference. total, by and diff add
 * results up: take adds one, in order and in one thread, and end gives what follows the last
 * result.
 */
#ifndef IH_STAGES_STAGE_H
#define IH_STAGES_STAGE_H

#include "output/condition.h"

#include <stdatomic.h>

/* ---- where.c, fail_if.c: conditions on one result. Threads: any ---- */

/* Whether --where selects the result. where: NULL selects every result. */
bool ih_where_take(const struct ih_condition *where, const struct ih_result *result);

/* Whether --fail-if matches the result, or the comparison. line: char [IH_MESSAGE_MAX], receives a
 * message if it does. */
bool ih_fail_if_take(const struct ih_condition *fail_if, const struct ih_result *result,
                     char *line);
bool ih_fail_if_compare(const struct ih_condition *fail_if, const struct ih_comparison *comparison,
                        char *line);

/* ---- against.c: the distances of each result to a reference ---- */

/* The total of the reference, and whether all of it has been added: until then no other thread may
 * read it. */
struct ih_reference {
    struct ih_total total;
    atomic_bool is_complete;
};

/* Sets the distances of a result to a complete reference. Returns IH_OK, also for a failed input;
 * IH_USAGE if they were measured differently; IH_UNKNOWN if the reference has no pixels; or
 * IH_MEMORY. Threads: any. */
enum ih_status ih_against_take(const struct ih_reference *reference, struct ih_result *result,
                               struct ih_error *err);

/* ---- total.c: --total, and the totals that result files hold ---- */

/* The total of some results, and the folder that the names of its images begin with, which is
 * narrowed by results alone: a merged total is that of a single run. */
struct ih_sum {
    struct ih_total total;
    char *folder; /* owned; NULL: no image yet */
};

/* Returns as ih_total_add. */
enum ih_status ih_sum_add(struct ih_sum *sum, const struct ih_result *result, struct ih_error *err);
void ih_sum_result(const struct ih_sum *sum, struct ih_result *out); /* borrows from sum */
void ih_sum_reset(struct ih_sum *sum);

struct ih_total_stage {
    struct ih_sum sum;
    bool adds_images;                     /* --total */
    bool has_groups_of_images, has_where; /* --by, --where */
    bool has_totals, has_groups,
        has_images; /* that have come: totals of result files, and images */
};

/* Refuses a result that does not fit those before it: IH_USAGE. A total would count images a second
 * time beside single ones, and it no longer has its images for --where and --by. */
enum ih_status ih_total_check(struct ih_total_stage *stage, const struct ih_result *result,
                              struct ih_error *err);

/* selected: by --where. Returns as ih_total_add. */
enum ih_status ih_total_take(struct ih_total_stage *stage, const struct ih_result *result,
                             bool selected, struct ih_error *err);

/* of_none: what a total of no images was measured with. Returns false if no total is wanted. */
bool ih_total_end(struct ih_total_stage *stage, const struct ih_joint_measure *of_none,
                  struct ih_result *out);

/* ---- by.c: a total for each group ---- */

struct ih_by;

/*
 * by      "folder", "band", "format", "label", "size", "samples", or the path of a list; NULL: only
 * totals of groups are added empty   what each group's total begins with; copied
 *
 * Returns IH_OK with *stage, owned by the caller; IH_IO or IH_CORRUPT for the list; or IH_MEMORY.
 */
enum ih_status ih_by_open(const char *by, const struct ih_total *empty, struct ih_by **stage,
                          struct ih_error *err);
void ih_by_close(struct ih_by *stage); /* NULL is allowed */

/* Adds a selected image, or the total of a group, to its group. An image that the list lacks is
 * only counted as left out. Returns as ih_total_add. */
enum ih_status ih_by_take(struct ih_by *stage, const struct ih_result *result, bool selected,
                          struct ih_error *err);

/* Gives the total of each group, in the order of their names, byte by byte; before them those of
 * labels, in the order of the numbers. */
void ih_by_end(const struct ih_by *stage, void (*give)(void *user, struct ih_result *group),
               void *user);

/* How many groups there are, and how many inputs the list lacks. *first: the name of one, or NULL.
 */
size_t ih_by_n_groups(const struct ih_by *stage);
uint64_t ih_by_n_left_out(const struct ih_by *stage, const char **first);

/* ---- top.c: --sort, --top and --copies ---- */

struct ih_top;

/*
 * n_max          --top: so many of the first records are held; 0: all
 * finds_copies   --copies: only records whose value another one has, in groups that have the order
 *                of their first records
 * bytes_max      what all held records may take
 *
 * Returns IH_OK with *stage, owned by the caller, or IH_MEMORY.
 */
enum ih_status ih_top_open(bool is_descending, size_t n_max, bool finds_copies, uint64_t bytes_max,
                           struct ih_top **stage, struct ih_error *err);
void ih_top_close(struct ih_top *stage); /* NULL is allowed */

/* Whether the next record is among the first, by the value of its field. If so, take must follow. A
 * record without the value comes after all others, and equal ones are in the order they came in. */
bool ih_top_wants(struct ih_top *stage, const struct ih_field_value *value);

/* Takes a record of n_bytes, from malloc, which the stage then owns. A text of the value is in it.
 * Returns IH_OK; or IH_LIMIT or IH_MEMORY, and the record is freed. */
enum ih_status ih_top_take(struct ih_top *stage, const struct ih_field_value *value, void *record,
                           size_t n_bytes, struct ih_error *err);

/* Gives the records in their order; begins_copies: the first of a group. The stage keeps them.
 * Returns whether the field has a value in none of the records. */
bool ih_top_end(struct ih_top *stage, void (*give)(void *user, void *record, bool begins_copies),
                void *user);

/* ---- diff.c: the two inputs of --diff ---- */

struct ih_diff {
    struct ih_total sides[2];
    uint64_t n_left_out[2], n_failed[2]; /* images that --where leaves out; failed inputs */
};

/* side: 0 or 1. Returns as ih_total_add. */
enum ih_status ih_diff_take(struct ih_diff *stage, unsigned side, const struct ih_result *result,
                            bool selected, struct ih_error *err);

/* Compares the sides, and gives them the same channels. Returns IH_OK; IH_USAGE if their bins
 * differ; IH_MEMORY; or IH_UNKNOWN if a side has no pixels: *side, with a message unless its
 * failures say so already. */
enum ih_status ih_diff_end(struct ih_diff *stage, struct ih_comparison *comparison, unsigned *side,
                           struct ih_error *err);

#endif
