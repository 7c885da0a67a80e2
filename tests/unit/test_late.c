/* Libraries that are loaded late: found, not there, and not the one that was expected. */
#include "base/late.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct calls {
    ih_late_function first, second;
};

static void test_loaded(void **state)
{
    static const char *const names[] = {"zlibVersion", "crc32"};
    struct calls calls = {NULL, NULL};
    struct ih_error err = {IH_OK, ""};
    (void)state;
    if (ih_late_load("libz.so.1", names, 2, &calls, &err) != IH_OK)
        skip(); /* another system's name for it */
    const char *(*version)(void);
    memcpy(&version, &calls.first, sizeof version);
    assert_true(strncmp(version(), "1.", 2) == 0);
    assert_non_null(calls.second);
}

static void test_not_there(void **state)
{
    struct ih_error err = {IH_OK, ""};
    (void)state;
    assert_int_equal(ih_late_load("libimghist-none.so.7", NULL, 0, NULL, &err), IH_UNSUPPORTED);
    assert_string_equal(err.message, "libimghist-none.so.7, which decodes it, cannot be loaded");
    assert_int_equal(ih_late_load("libimghist-none.so.7", NULL, 0, NULL, NULL), IH_UNSUPPORTED);
}

static void test_lacking(void **state)
{
    static const char *const names[] = {"zlibVersion", "imghist_none"};
    struct calls calls;
    struct ih_error err = {IH_OK, ""};
    (void)state;
    if (ih_late_load("libz.so.1", names, 1, &calls, &err) != IH_OK)
        skip();
    assert_int_equal(ih_late_load("libz.so.1", names, 2, &calls, &err), IH_UNSUPPORTED);
    assert_string_equal(err.message, "libz.so.1 has no imghist_none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_lacking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
