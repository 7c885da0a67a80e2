/*
 * What every unit test needs: cmocka and the headers it asks for, TEST, and main. Include it first.
 * A test that needs more than POSIX defines _DEFAULT_SOURCE or _GNU_SOURCE before.
 */
#ifndef IH_TESTS_TEST_H
#define IH_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Tests and callbacks of tests have parameters that they do not use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct {
    struct CMUnitTest tests[400];
    size_t n;
    CMFixtureFunction set_up, tear_down; /* of the whole program */
} program;

static inline void add_test(const char *name, CMUnitTestFunction run, CMFixtureFunction set_up,
                            CMFixtureFunction tear_down, void *state)
{
    if (program.n >= sizeof program.tests / sizeof *program.tests)
        abort();
    program.tests[program.n++] = (struct CMUnitTest){name, run, set_up, tear_down, state};
}

static inline int run_all_tests(void)
{
    return _cmocka_run_group_tests("tests", program.tests, program.n, program.set_up,
                                   program.tear_down);
}

/* Whether the test runs under qemu-user (tests/other_machines.sh). */
static inline bool is_emulated(void)
{
    return getenv("QEMU_LD_PREFIX") != NULL;
}

/* Skips the test. tests/run.sh shows the reason. */
#undef skip
static inline void skip(const char *why)
{
    printf("# skipped: %s\n", why);
    _skip(__FILE__, __LINE__);
}

#define BEFORE_MAIN(name) __attribute__((constructor)) static void before_main_##name(void)

/* Defines a test, which main runs. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* The same, with functions that cmocka calls before and after the test. */
#define TEST_WITH(name, set_up, tear_down)                             \
    static void test_##name(void **state);                             \
    BEFORE_MAIN(name)                                                  \
    {                                                                  \
        add_test("test_" #name, test_##name, set_up, tear_down, NULL); \
    }                                                                  \
    static void test_##name(void **state)

/* Functions that cmocka calls before the first test and after the last. */
#define PROGRAM_WITH(set_up_function, tear_down_function) \
    BEFORE_MAIN(program)                                  \
    {                                                     \
        program.set_up = set_up_function;                 \
        program.tear_down = tear_down_function;           \
    }

#ifndef OWN_MAIN
int main(void)
{
    return run_all_tests();
}
#endif

#endif
