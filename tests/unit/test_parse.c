/* Numbers of options and settings: what is taken, and what is not. */
#include "base/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        bool is_scaled;
        uint64_t max, number;
    } taken[] = {
        {"0", false, 255, 0},
        {"255", false, 255, 255},
        {"007", false, 255, 7},
        {"1k", true, 1024, 1024},
        {"3M", true, UINT64_MAX, 3 << 20},
        {"4G", true, UINT64_MAX, UINT64_C(4) << 30},
        {"18446744073709551615", false, UINT64_MAX, UINT64_MAX},
    };
    static const struct {
        const char *text;
        bool is_scaled;
        uint64_t max;
    } refused[] = {
        {"", false, 255},
        {"256", false, 255},
        {"-1", false, 255},
        {" 1", false, 255},
        {"1 ", false, 255},
        {"1k", false, UINT64_MAX},
        {"k", true, 255},
        {"1kk", true, 1 << 30},
        {"1k", true, 1023},
        {"9", false, 8},
        {"18446744073709551616", false, UINT64_MAX},
        {"17179869184G", true, UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        uint64_t n = 1;
        assert_true(ih_parse_number(taken[i].text, taken[i].is_scaled, taken[i].max, &n));
        assert_true(n == taken[i].number);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        uint64_t n = 1;
        assert_false(ih_parse_number(refused[i].text, refused[i].is_scaled, refused[i].max, &n));
    }
}

static void test_ordinals(void **state)
{
    static const char *const refused[] = {"",    ",",    "0,", ",0",       "0,0", "1,2,1",
                                          "0;1", "1024", "-1", "00000000", "a",   "0,1,2,3,4"};
    int ordinals[4];
    unsigned n = 9;
    (void)state;
    assert_true(ih_parse_ordinals("7", ordinals, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ordinals[0], 7);
    assert_true(ih_parse_ordinals("3,0,1023,1", ordinals, 4, &n));
    assert_int_equal(n, 4);
    assert_int_equal(ordinals[0], 3);
    assert_int_equal(ordinals[2], IH_ORDINAL_MAX);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        n = 9;
        assert_false(ih_parse_ordinals(refused[i], ordinals, 4, &n));
        assert_int_equal(n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_ordinals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
