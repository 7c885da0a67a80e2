/*
 * The words that people choose with: devices, kernels, what becomes of transparent pixels. Options
 * of the program and settings of the library mean the same by them.
 *
 * Errors say what is wrong with the word; the caller puts in front where it stood.
 */
#ifndef IH_PIPELINE_SETTINGS_H
#define IH_PIPELINE_SETTINGS_H

#include "device/backend.h"

/*
 * "auto", "cpu", "cuda", "cuda:0,2" into backend and ordinals; what else the options hold stays.
 * Nothing is looked up on the machine.
 *
 * Returns IH_OK, IH_USAGE, or IH_UNAVAILABLE for a backend that this build does not have; then the
 * options are as they were.
 */
enum ih_status ih_device_parse(const char *word, struct ih_device_options *options,
                               struct ih_error *err);

/* Static name of a kernel that some backend of this build has, or NULL. */
const char *ih_kernel_find(const char *word);

/* "count" or "skip-transparent". IH_OK or IH_USAGE. */
enum ih_status ih_alpha_parse(const char *word, bool *skips_transparent, struct ih_error *err);

#endif
