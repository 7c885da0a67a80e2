/*
 * For tests that start themselves as the decoder process. Include it after
 * the definition of command, a struct ih_decoder_process_command.
 */
#ifndef IH_TESTS_OWN_DECODER_PROCESS_H
#define IH_TESTS_OWN_DECODER_PROCESS_H

#include "tests/support/test.h"

#include "isolate/decoder_process.h"
#include <unistd.h>

static inline bool is_decoder_process(int argc, char **argv)
{
    return argc >= 2 && strcmp(argv[1], IH_DECODER_PROCESS_OPTION) == 0;
}

/* Says so if this system has no /proc to start the test from. */
static inline bool can_start_itself(void)
{
    if (access(command.program, X_OK) == 0)
        return true;
    puts("[  SKIPPED ] no /proc: the test cannot start itself");
    return false;
}

static inline int open_process(void **state)
{
    static struct ih_decoder_process process;
    ih_decoder_process_init(&process, &command);
    *state = &process;
    return 0;
}

static inline int close_process(void **state)
{
    ih_decoder_process_reset(*state);
    return 0;
}

/* A test whose state is a struct ih_decoder_process. */
#define PROCESS_TEST(name) TEST_WITH(name, open_process, close_process)

#endif
