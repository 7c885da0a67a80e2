/*
 * --by: one exact total for each group of images.
 *
 * --by=folder groups by the folder in an image's name, "data/cats" for data/cats/1.jpg and "." for
 * a name without a folder. --by=LIST.csv groups by the list's lines, each a name as outputs show it
 * and its group. A group's total that a result file holds is added to the group of its name, so the
 * groups of parts add up to those of the whole.
 */
#ifndef IH_CLI_GROUPS_H
#define IH_CLI_GROUPS_H

#include "histogram/total.h"

struct ih_groups;

/*
 * Makes an empty set of groups.
 *
 * by      "folder", or the path of a list; NULL: only totals of groups can be added
 * empty   what each group's total begins with; copied
 *
 * Returns IH_OK with *groups, owned by the caller; IH_IO or IH_CORRUPT for the list; or IH_MEMORY.
 */
enum ih_status ih_groups_open(const char *by, const struct ih_total *empty,
                              struct ih_groups **groups, struct ih_error *err);
void ih_groups_close(struct ih_groups *groups); /* NULL is allowed */

/* Adds a result to its group. An image that the list lacks is only counted as left out. Returns as
 * ih_total_add. */
enum ih_status ih_groups_add(struct ih_groups *groups, const struct ih_result *result,
                             struct ih_error *err);

/* The total of each group, in the order of their names, byte by byte. Valid until the next call. */
size_t ih_groups_n(const struct ih_groups *groups);
void ih_groups_result(const struct ih_groups *groups, size_t i, struct ih_result *out);

/* How many inputs the list lacks. *first: the name of one, NULL: none. */
uint64_t ih_groups_n_left_out(const struct ih_groups *groups, const char **first);

#endif
