/* What this machine has, and how its allocator is told to use it. */
#ifndef IH_CLI_MACHINE_H
#define IH_CLI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Processors that this process may run on, or whose time its control groups give it where that is
 * less; at least 1. */
unsigned ih_machine_processors(void);

/* Bytes of memory this process may use: the machine's, or what its control groups allow where
 * that is less. */
uint64_t ih_machine_memory(void);

/* This program, for starting it once more: a path, or a name that is looked for as a shell does. */
const char *ih_machine_program(void);

/* Lets this process open as many files as it may: each thread has an image and a helper open. */
void ih_machine_allow_files(void);

/*
 * Tells the allocator to keep freed memory for the next file instead of giving it back.
 *
 * memory_bytes   what all threads together may keep, about
 * is_batch       every processor has a thread: no image is waited for alone
 */
void ih_machine_keep_memory(uint64_t memory_bytes, unsigned n_threads, bool is_batch);

#endif
