/*
 * Completions for shells: --completion=bash|zsh|fish.
 *
 * A program that knows its options writes them itself, so there is nothing to keep in step: the one
 * source are the lines of --help (ih_options_help), where `--theme=dark|light` lists all values,
 * FILE, F and PATH are names of files, and KERNEL is one of the kernels of this build.
 */
#ifndef IH_CLI_COMPLETION_H
#define IH_CLI_COMPLETION_H

#include "cli/options.h"

#include <stdio.h>

/* Of each enum ih_shell: writes its script. */
extern void (*const ih_completions[])(FILE *);

#endif
