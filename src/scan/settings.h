/*
 * The values that users choose from: devices, kernels, the alpha policy. Options of the program and
 * settings of the library share them.
 *
 * Errors describe the value. The caller adds the name of the option or setting in front.
 */
#ifndef IH_SCAN_SETTINGS_H
#define IH_SCAN_SETTINGS_H

#include "device/backend.h"

/*
 * Parses "auto", "cpu", "cuda" or "cuda:0,2" and sets backend and ordinals, nothing else. Does not
 * look at the machine.
 *
 * Returns IH_OK, IH_USAGE, or IH_UNAVAILABLE for a backend that this build does not have. On
 * failure options is unchanged.
 */
enum ih_status ih_device_parse(const char *word, struct ih_device_options *options,
                               struct ih_error *err);

/* The static name of a kernel of any backend in this build, or NULL. */
const char *ih_kernel_find(const char *word);

/* Parses "count" or "skip-transparent". Returns IH_OK or IH_USAGE. */
enum ih_status ih_alpha_parse(const char *word, bool *skips_transparent, struct ih_error *err);

/* Replaces control characters, of a name that the caller gave or of a file, by question marks. */
void ih_error_drop_controls(struct ih_error *err);

/* Completes the error of a file: without control characters, and with the name of the setting that
 * raises the limit that it is about. */
void ih_error_name_setting(struct ih_error *err);

#endif
