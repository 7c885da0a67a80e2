/* The table of options, for the parser. */
#ifndef IH_CLI_OPTION_TABLE_H
#define IH_CLI_OPTION_TABLE_H

#include "cli/options.h"

enum ih_option_takes { IH_TAKES_NOTHING, IH_TAKES_MAYBE, IH_TAKES_VALUE };

struct ih_option {
    const char *name; /* NULL: the end of the table */
    char letter;      /* 0: none */
    enum ih_option_takes takes;
    unsigned actions; /* where it means something: bits 1 << enum ih_action */

    /* value   NULL where none was given. On failure err->message says what is wrong with it,
     * without the option's name. */
    enum ih_status (*set)(struct ih_options *o, const char *value, struct ih_error *err);
};

extern const struct ih_option ih_option_table[];

/* --device, for IMGHIST_DEVICE as well. */
enum ih_status ih_option_set_device(struct ih_options *o, const char *value, struct ih_error *err);

#endif
