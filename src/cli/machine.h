/* What this machine has, and how its allocator is told to use it. */
#ifndef IH_CLI_MACHINE_H
#define IH_CLI_MACHINE_H

#include <stdint.h>

/* Processors, at least 1. */
unsigned ih_machine_processors(void);

/* Bytes of memory this process may use: the machine's, or what its control group allows where that
 * is less. */
uint64_t ih_machine_memory(void);

/* This program, for starting it once more: a path, or a name that is looked for as a shell does. */
const char *ih_machine_program(void);

/*
 * Tells the allocator to keep freed memory for the next file instead of giving it back.
 *
 * memory_bytes   what all threads together may keep, about
 */
void ih_machine_keep_memory(uint64_t memory_bytes, unsigned n_threads);

#endif
