/* What the program prints about itself. */
#ifndef IH_CLI_INFO_H
#define IH_CLI_INFO_H

#include "cli/options.h"

#include <stdio.h>

void ih_print_help(FILE *f);
void ih_print_help_all(FILE *f); /* with the rare options */
void ih_print_version(FILE *f);
void ih_print_list(FILE *f); /* starts each backend to see whether it works here */

/* For each enum ih_shell: prints the script that makes the shell complete imghist's options. */
extern void (*const ih_completions[])(FILE *);

#endif
