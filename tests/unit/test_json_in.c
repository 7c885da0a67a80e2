/* The JSON reader, against the grammar of RFC 8259. */
#include "tests/support/test.h"

#include "records/json_in.h"

/* Starts at a copy of text that ends with its NUL, for the address sanitizer. The caller frees it.
 */
static struct ih_json_in input(const char *text, char **copy)
{
    *copy = strdup(text);
    assert_non_null(*copy);
    return (struct ih_json_in){.p = *copy};
}

TEST(counts)
{
    static const struct {
        const char *text;
        bool is_ok;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {" \t42 ", true, 42},
        {"9007199254740993", true, 9007199254740993u},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"184467440737095516150", false, 0},
        {"00", false, 0},
        {"01", false, 0},
        {"-1", false, 0},
        {"1.0", false, 0},
        {"1e2", false, 0},
        {"", false, 0},
        {"null", false, 0},
        {"\"1\"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy;
        uint64_t n = 7;
        struct ih_json_in in = input(cases[i].text, &copy);
        if (ih_json_count(&in, &n) != cases[i].is_ok || (cases[i].is_ok && n != cases[i].value) ||
            (in.why == NULL) != cases[i].is_ok)
            fail_msg("%s", cases[i].text);
        free(copy);
    }
}

TEST(numbers_that_are_skipped)
{
    static const struct {
        const char *text;
        bool is_ok;
    } cases[] = {
        {"0", true},
        {"68.75", true},
        {"107.608956", true},
        {"-1.5", true},
        {"1e-06", true},
        {"1.5E+2", true},
        {"0.123456789012345", true},
        {"123456789012345678", true},
        {"0.0000001", true},
        {"01.5", false},
        {".5", false},
        {"1.", false},
        {"1.e5", false},
        {"1e", false},
        {"+1", false},
        {"inf", false},
        {"nan", false},
        {"0x10", true}, /* what follows the 0 is the caller's to refuse */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy;
        struct ih_json_in in = input(cases[i].text, &copy);
        if (ih_json_skip(&in) != cases[i].is_ok)
            fail_msg("%s", cases[i].text);
        free(copy);
    }
}

TEST(texts)
{
    static const struct {
        const char *text, *value; /* NULL: refused */
    } cases[] = {
        {"\"\"", ""},
        {"\"a b\"", "a b"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e4\\u20AC\\ud83d\\ude00\"", "A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"\"\xC3\xA4\xF0\x9F\x98\x80\"", "\xC3\xA4\xF0\x9F\x98\x80"},
        {"\"\\ud83d\"", NULL},
        {"\"\\ud83dx\"", NULL},
        {"\"\\ud83d\\u0041\"", NULL},
        {"\"\\ude00\"", NULL},
        {"\"\\u0000\"", NULL},
        {"\"\\u12g4\"", NULL},
        {"\"\\u12", NULL},
        {"\"\\x\"", NULL},
        {"\"\\", NULL},
        {"\"a\nb\"", NULL},
        {"\"\xC3\"", NULL},
        {"\"\xC0\xAF\"", NULL},
        {"\"\xED\xA0\x80\"", NULL},
        {"\"abc", NULL},
        {"abc", NULL},
        {"'a'", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy, *text = NULL;
        struct ih_json_in in = input(cases[i].text, &copy);
        const bool is_ok = ih_json_text(&in, &text);
        if (is_ok != (cases[i].value != NULL) || (is_ok && strcmp(text, cases[i].value) != 0))
            fail_msg("%s: %s", cases[i].text, text ? text : "NULL");
        free(copy);
    }
    char *copy, *text = NULL;
    struct ih_json_in in = input("null", &copy);
    assert_true(ih_json_text(&in, &text) && text == NULL);
    free(copy);
}

TEST(skipped_values)
{
    static const char *const good[] = {
        "{}",
        "[]",
        "[1, -2.5e3 ,\"x\", null,true,false , {\"a\" : [ ] }]",
        "{\"a\":{\"b\":[[[]]]},\"c\":0}",
    };
    static const char *const bad[] = {
        "{",     "[",          "[1,]",  "[,1]",     "[1 2]", "{\"a\"}", "{\"a\":}",
        "{a:1}", "{\"a\":1,}", "{1:2}", "{null:2}", "[1}",   "tru",     "nul",
        "\"",    "]",          "",      "-",        "[01]",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *copy;
        struct ih_json_in in = input(good[i], &copy);
        if (!ih_json_skip(&in) || *in.p)
            fail_msg("%s", good[i]);
        free(copy);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *copy;
        struct ih_json_in in = input(bad[i], &copy);
        if (ih_json_skip(&in))
            fail_msg("%s", bad[i]);
        free(copy);
    }
}

/* The stack does not grow with the input. */
TEST(nesting)
{
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP + 1);
    assert_non_null(deep);
    memset(deep, '[', DEEP);
    deep[DEEP] = '\0';
    struct ih_json_in in = {.p = deep};
    assert_false(ih_json_skip(&in));
    assert_string_equal(in.why, "nested too deep");
    free(deep);
}

struct pair {
    uint64_t a;
    char *b;
    uint64_t list[3];
};

static bool read_member(struct ih_json_in *in, const struct ih_field *field, void *to)
{
    void *at = (char *)to + field->offset_bytes;
    return field->kind == 0   ? ih_json_count(in, at)
           : field->kind == 1 ? ih_json_text(in, at)
                              : ih_json_counts(in, at, 3);
}

static const struct ih_field fields[] = {
    {"a", 0, offsetof(struct pair, a), NULL},
    {"b", 1, offsetof(struct pair, b), NULL},
    {"list", 2, offsetof(struct pair, list), NULL},
};
static const struct ih_json_members members = {fields, sizeof *fields, 3, read_member};

TEST(objects)
{
    char *copy;
    uint64_t seen;
    struct pair pair = {.a = 0};
    struct ih_json_in in =
        input("{\"list\":[1, 2 ,18446744073709551615],\"x\":[{}],\"b\":\"t\",\"a\":5}", &copy);
    assert_true(ih_json_object(&in, &members, &pair, &seen));
    assert_int_equal(seen, 7);
    assert_int_equal(pair.a, 5);
    assert_string_equal(pair.b, "t");
    assert_true(pair.list[0] == 1 && pair.list[1] == 2 && pair.list[2] == UINT64_MAX);
    free(copy);
    static const char *const same[] = {
        "{\"a\":7,\"b\":\"t\",\"list\":[10,200,3]}",
        " { \"list\" : [10 ,200, 3] , \"a\" : 7 ,\"b\": \"t\" } ",
        "{\"\\u0061\":7,\"aa\":[],\"\":{},\"li\\u0073t\":[10,\t200,3],\"b\":\"\\u0074\"}",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        in = input(same[i], &copy);
        assert_true(ih_json_object(&in, &members, &pair, &seen));
        assert_int_equal(seen, 7);
        assert_int_equal(pair.a, 7);
        assert_string_equal(pair.b, "t");
        assert_true(pair.list[0] == 10 && pair.list[1] == 200 && pair.list[2] == 3);
        free(copy);
    }
    static const char *const bad[] = {
        "{\"a\":1,\"a\":1}", "{\"list\":[1,2]}",  "{\"list\":[1,2,3,4]}",
        "{\"list\":[1,,3]}", "{\"list\":[1,2,3}", "{\"list\":[1,2.0,3]}",
        "{\"a\":\"1\"}",     "{\"b\":1}",         "{\"a\" 1}",
        "[\"a\",1]",         "{\"a\":1",          "{\"list\":[1,2,3",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        in = input(bad[i], &copy);
        if (ih_json_object(&in, &members, &pair, &seen) || !in.why)
            fail_msg("%s", bad[i]);
        free(copy);
    }
    in = input("{\"a\":7}", &copy);
    assert_true(ih_json_object(&in, &members, &pair, &seen));
    assert_int_equal(seen, 1);
    free(copy);
}
