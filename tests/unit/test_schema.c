/* The tables of fields: imghist-formats(5) has each key and column, and its list has no others. */
#include "tests/support/each_file.h"
#include "tests/support/write_record.h"

#include "output/schema.h"

#include <ctype.h>

/* The text from one line of the page to another, without the hyphens' backslashes. The caller frees
 * it. */
static char *section(const char *start, const char *end)
{
    char path[PATH_SIZE];
    const char *tests = getenv("TESTS");
    snprintf(path, sizeof path, "%s/../src/cli/imghist-formats.5", tests ? tests : "tests");
    struct file file = load(path);
    char *page = calloc(1, file.size + 1);
    assert_non_null(page);
    memcpy(page, file.bytes, file.size);
    free(file.bytes);
    const char *from = strstr(page, start), *to = from ? strstr(from, end) : NULL;
    if (!to)
        fail_msg("no %s", start);
    char *text = strndup(from, (size_t)(to - from));
    free(page);
    assert_non_null(text);
    return text;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has the word in bold, or in the first cell of a table's row. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        const bool is_bold = at - line >= 3 && strncmp(at - 3, "\\fB", 3) == 0;
        const bool is_tag = strncmp(line, ".B ", 3) == 0 || strncmp(line, ".BR ", 4) == 0;
        const char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
        const bool is_cell = tab && end && at < tab && tab < end;
        if ((is_bold || ((is_tag || is_cell) && !is_word_byte(at[-1]))) && !is_word_byte(at[n]))
            return true;
    }
    return false;
}

static void check_words(const char *text, const struct ih_field *fields)
{
    for (; fields->key; fields++)
        if (!has_word(text, fields->key))
            fail_msg("the page lacks %s", fields->key);
}

TEST(the_page_has_every_key)
{
    char *json = section(".SH JSON", ".SH COMPARISONS");
    char *statistics = section(".SH STATISTICS", ".SH CSV");
    char *images = section(".SH CONDITIONS", ".SH RESULT FILES");
    for (unsigned i = 0; i < IH_N_FIELDS; i++) {
        const struct ih_column *f = &ih_schema[i];
        if (f->field.key && !has_word(json, f->field.key))
            fail_msg("the page lacks the key %s", f->field.key);
        if (f->name && !has_word(images, f->name))
            fail_msg("the page lacks the column %s", f->name);
    }
    check_words(json, ih_clip_limits_fields);
    check_words(json, ih_clip_fields);
    check_words(statistics, ih_stats_fields());
    free(json);
    free(statistics);
    free(images);
}

static bool is_key(const char *word, size_t n)
{
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        if (ih_schema[i].field.key && strlen(ih_schema[i].field.key) == n &&
            memcmp(ih_schema[i].field.key, word, n) == 0)
            return true;
    return false;
}

/* The heads of the list of keys name keys of the table and nothing else. */
TEST(the_page_has_no_other_keys)
{
    char *json = section(".SH JSON", ".SS Totals");
    unsigned n_keys = 0;
    for (char *at = json; (at = strstr(at, ".TP\n"));) {
        at += 4;
        char *end = strchr(at, '\n');
        for (char *word = at + strcspn(at, " "); word < end;) {
            const size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789");
            if (n > 0 && !is_key(word, n))
                fail_msg("the table lacks %.*s", (int)n, word);
            n_keys += n > 0;
            word += n > 0 ? n : 1;
        }
    }
    assert_true(n_keys > 30);
    free(json);
}

/* Conditions and the reader find a field by its name. */
TEST(names_are_there_once)
{
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct ih_column *a = &ih_schema[i], *b = &ih_schema[k];
            assert_false(a->field.key && b->field.key && strcmp(a->field.key, b->field.key) == 0);
            assert_false(a->name && b->name && strcmp(a->name, b->name) == 0);
        }
}

static unsigned count_named(const struct ih_column *const *list, const char *name)
{
    unsigned n = 0;
    for (; *list; list++)
        n += strcmp((*list)->name, name) == 0;
    return n;
}

/* A chosen percentile has one column, whatever else has it. */
TEST(chosen_percentiles)
{
    static struct ih_columns c; /* zero */
    struct ih_error err;
    assert_int_equal(ih_columns_choose_percentiles(&c, "99.9,25,99,99.90,0", &err), IH_OK);
    ih_columns_arrange(&c, 0);
    static const char *const names[] = {"p99.9", "p25", "p99", "p0"};
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(c.chosen[i]->name, names[i]);
        assert_int_equal(count_named(c.of_record, names[i]), 1);
        assert_int_equal(count_named(c.of_channel, names[i]), 1);
    }
    assert_null(c.chosen[4]);
    assert_ptr_equal(ih_column_find(c.of_channel, "p99.9 > 5", 5), c.chosen[0]);
    assert_null(ih_column_find(c.of_channel, "p99.9", 4));
    assert_int_equal(count_named(c.of_record, "ks") + count_named(c.of_record, "emd"), 2);
    assert_int_equal(count_named(plain_columns()->of_record, "ks"), 0);
    assert_string_equal(c.of_comparison[0]->name, "ks");
    assert_string_equal(c.of_comparison[1]->name, "emd");
    assert_null(c.of_comparison[2]);
}
