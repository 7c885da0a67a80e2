/* --help, --version and --list. */
#ifndef IH_CLI_INFO_H
#define IH_CLI_INFO_H

#include <stdio.h>

void ih_print_help(FILE *f);
void ih_print_version(FILE *f);
void ih_print_list(FILE *f); /* starts each backend to see whether it is there */

#endif
