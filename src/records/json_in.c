#include "records/json_in.h"

#include "base/text.h"

#include <string.h>

/* Values that are skipped may be nested this deep. */
enum { DEPTH_MAX = 32 };

bool ih_json_fail(struct ih_json_in *in, const char *why)
{
    if (!in->why)
        in->why = why;
    return false;
}

bool ih_json_fail_field(struct ih_json_in *in, const char *key, const char *why)
{
    if (!in->why)
        in->key = key;
    return ih_json_fail(in, why);
}

/* Fails at a character, which is NUL at the end of the text. */
static bool fail_at(struct ih_json_in *in, int c, const char *why)
{
    in->is_cut = in->is_cut || (!in->why && c == '\0');
    return ih_json_fail(in, c ? why : "cut short");
}

static void skip_blanks(struct ih_json_in *in)
{
    while (*in->p == ' ' || *in->p == '\t' || *in->p == '\r' || *in->p == '\n')
        in->p++;
}

bool ih_json_next_is(struct ih_json_in *in, char c)
{
    skip_blanks(in);
    return *in->p == c;
}

bool ih_json_token(struct ih_json_in *in, char token)
{
    if (!ih_json_next_is(in, token))
        return fail_at(in, *in->p, "not JSON");
    in->p++;
    return true;
}

/* Consumes a word such as null if it is next. */
static bool json_is_word(struct ih_json_in *in, const char *word)
{
    skip_blanks(in);
    if (*in->p != *word || strncmp(in->p, word, strlen(word)) != 0)
        return false;
    in->p += strlen(word);
    return true;
}

bool ih_json_bool(struct ih_json_in *in, bool *is_true)
{
    *is_true = json_is_word(in, "true");
    return *is_true || json_is_word(in, "false") || ih_json_fail(in, "neither true nor false");
}

/* ---- strings ---- */

/* Four hexadecimal digits. */
static bool read_hex(struct ih_json_in *in, unsigned *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = *in->p;
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                      : 16;
        if (digit == 16)
            return ih_json_fail(in, "an escape that is not JSON");
        *value = *value << 4 | digit;
        in->p++;
    }
    return true;
}

/* The character of \u; the second half of a surrogate pair follows as another \u. */
static bool read_unicode(struct ih_json_in *in, char **to)
{
    unsigned c, low;
    if (!read_hex(in, &c))
        return false;
    if (c >= 0xD800 && c < 0xDC00) {
        if (in->p[0] != '\\' || in->p[1] != 'u')
            return ih_json_fail(in, "half a surrogate pair");
        in->p += 2;
        if (!read_hex(in, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return ih_json_fail(in, "half a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
    } else if (c == 0 || (c >= 0xDC00 && c <= 0xDFFF)) {
        return ih_json_fail(in, "a character that no text has");
    }
    if (c < 0x80) {
        *(*to)++ = (char)c;
        return true;
    }
    const int n_more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* fewer bytes than the escape has */
    static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
    *(*to)++ = (char)(first[n_more] | c >> 6 * n_more);
    for (int i = n_more - 1; i >= 0; i--)
        *(*to)++ = (char)(0x80 | (c >> 6 * i & 0x3F));
    return true;
}

static bool read_escape(struct ih_json_in *in, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *in->p;
    const char *name = c ? strchr(names, c) : NULL;
    if (c == 'u') {
        in->p++;
        return read_unicode(in, to);
    }
    if (!name)
        return ih_json_fail(in, "an escape that is not JSON");
    in->p++;
    *(*to)++ = values[name - names];
    return true;
}

bool ih_json_text(struct ih_json_in *in, char **text)
{
    *text = NULL;
    if (json_is_word(in, "null"))
        return true;
    if (!ih_json_token(in, '"'))
        return false;
    char *to = in->p;
    *text = to;
    for (;;) {
        const unsigned char c = (unsigned char)*in->p;
        unsigned long ignored;
        if (c == '"')
            break;
        if (c < 0x20)
            return fail_at(in, c, "a control character in a text");
        if (c == '\\') {
            in->p++;
            if (!read_escape(in, &to))
                return false;
            continue;
        }
        const size_t n = c < 0x80 ? 1 : ih_utf8_length(in->p, &ignored);
        if (n == 0)
            return ih_json_fail(in, "not UTF-8");
        for (size_t i = 0; i < n; i++)
            *to++ = *in->p++;
    }
    in->p++; /* before the NUL overwrites the quote */
    *to = '\0';
    return true;
}

/* ---- numbers ---- */

static inline bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits at *p. Returns false if there are none, or the value has more than 64 bits. */
static inline bool read_digits(char **p, uint64_t *value)
{
    enum { SAFE_DIGITS = 19 };
    char *const start = *p, *s = start;
    uint64_t n = 0;
    for (unsigned digit; (digit = (unsigned char)*s - (unsigned)'0') <= 9; s++)
        n = n * 10 + digit;
    *p = s;
    *value = n;
    if (s - start <= SAFE_DIGITS)
        return s > start && (*start != '0' || s == start + 1);
    for (s = start, n = 0; s < start + SAFE_DIGITS; s++)
        n = n * 10 + (unsigned)(*s - '0');
    return *p == s + 1 && *start != '0' && n <= (UINT64_MAX - (unsigned)(*s - '0')) / 10;
}

bool ih_json_count(struct ih_json_in *in, uint64_t *n)
{
    skip_blanks(in);
    if (!read_digits(&in->p, n) || *in->p == '.' || *in->p == 'e' || *in->p == 'E')
        return ih_json_fail(in, "not an integer of 64 bits");
    return true;
}

/* Reads at most n integers, each with a comma after it and without blanks. Returns their number. */
static size_t read_dense(char **p, uint64_t *counts, size_t n)
{
    char *s = *p;
    size_t i = 0;
    for (; i < n && read_digits(&s, &counts[i]) && *s == ','; i++)
        *p = ++s;
    return i;
}

/* The grammar of RFC 8259; strtod alone would also take inf and 0x1. */
static bool skip_number(struct ih_json_in *in)
{
    char *p = in->p;
    p += *p == '-';
    if (!json_is_digit(*p) || (p[0] == '0' && json_is_digit(p[1])))
        return fail_at(in, *p, "not JSON");
    while (json_is_digit(*p))
        p++;
    if (*p == '.') {
        if (!json_is_digit(*++p))
            return ih_json_fail(in, "not a number");
        while (json_is_digit(*p))
            p++;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        if (!json_is_digit(*p))
            return ih_json_fail(in, "not a number");
        while (json_is_digit(*p))
            p++;
    }
    in->p = p;
    return true;
}

/* ---- arrays and objects ---- */

/* Consumes the comma before the next element, or the end, with *is_end set. */
static bool next_element(struct ih_json_in *in, char end, bool *is_end)
{
    *is_end = ih_json_next_is(in, end);
    return ih_json_token(in, (char)(*is_end ? end : ','));
}

/* Consumes the start, and the end of what is empty, with *is_end set. */
static bool first_element(struct ih_json_in *in, char start, char end, bool *is_end)
{
    if (!ih_json_token(in, start))
        return false;
    *is_end = ih_json_next_is(in, end);
    return !*is_end || ih_json_token(in, end);
}

bool ih_json_rest(struct ih_json_in *in, uint64_t *counts, size_t n, size_t *n_read)
{
    bool is_end = false;
    size_t i = 0;
    while (!is_end && i < n) {
        i += read_dense(&in->p, counts + i, n - 1 - i);
        skip_blanks(in);
        if (!read_digits(&in->p, &counts[i++]))
            return fail_at(in, *in->p, "not an integer of 64 bits");
        if (!next_element(in, ']', &is_end))
            return false;
    }
    *n_read = i;
    return is_end || ih_json_fail(in, "a list of another length");
}

bool ih_json_counts(struct ih_json_in *in, uint64_t *counts, size_t n)
{
    size_t n_read;
    return ih_json_token(in, '[') && ih_json_rest(in, counts, n, &n_read) &&
           (n_read == n || ih_json_fail(in, "a list of another length"));
}

bool ih_json_array(struct ih_json_in *in, bool (*read)(struct ih_json_in *in, void *to), void *to)
{
    bool is_end, is_sound = first_element(in, '[', ']', &is_end);
    while (is_sound && !is_end)
        is_sound = read(in, to) && next_element(in, ']', &is_end);
    return is_sound;
}

/* Consumes the key if it is this one, without blanks or escapes. */
static bool is_key(struct ih_json_in *in, const char *name)
{
    const char *p = in->p + 1;
    for (; *name && *p == *name; p++)
        name++;
    if (*name || p[0] != '"' || p[1] != ':')
        return false;
    in->p += p + 2 - in->p;
    return true;
}

static const struct ih_field *row_of(const struct ih_json_members *m, size_t i)
{
    return (const void *)((const char *)m->rows + i * m->row_bytes);
}

/* Consumes a key of plain characters with its colon; nothing if it has others or blanks. */
static bool skip_plain_key(struct ih_json_in *in)
{
    const unsigned char *p = (const unsigned char *)in->p + 1;
    while (*p >= ' ' && *p < 0x7f && *p != '"' && *p != '\\')
        p++;
    if (p[0] != '"' || p[1] != ':')
        return false;
    in->p += (const char *)p + 2 - in->p;
    return true;
}

/* Reads a key. *i: its row, n for an unknown one. The keys come in the order of the rows, so the
 * search begins at `from`, after the last one found. */
static bool read_key(struct ih_json_in *in, const struct ih_json_members *m, size_t from, size_t *i)
{
    char *name;
    if (!ih_json_next_is(in, '"'))
        return fail_at(in, *in->p, "not JSON");
    const char first = in->p[1]; /* of 20 statistics of a channel, most are in no row */
    *i = from;
    for (size_t k = 0; k < m->n; k++, ++*i) {
        *i = *i < m->n ? *i : 0;
        const char *const key = row_of(m, *i)->key;
        if (key && *key == first && is_key(in, key))
            return true;
    }
    *i = m->n;
    if (skip_plain_key(in)) /* is_key would have found it */
        return true;
    if (!ih_json_text(in, &name) || !ih_json_token(in, ':'))
        return false;
    for (*i = 0; *i < m->n && !(row_of(m, *i)->key && strcmp(row_of(m, *i)->key, name) == 0);)
        ++*i;
    return true;
}

bool ih_json_object(struct ih_json_in *in, const struct ih_json_members *m, void *to,
                    uint64_t *seen)
{
    size_t next = 0;
    bool is_end, is_sound = first_element(in, '{', '}', &is_end);
    memset(seen, 0, (m->n + 63) / 64 * sizeof *seen);
    for (; is_sound && !is_end; is_sound = is_sound && next_element(in, '}', &is_end)) {
        size_t i = m->n;
        is_sound = read_key(in, m, next, &i) && (i < m->n || ih_json_skip(in));
        if (!is_sound || i == m->n)
            continue;
        const struct ih_field *field = row_of(m, i);
        if (seen[i / 64] >> i % 64 & 1)
            return ih_json_fail_field(in, field->key, "in the record twice");
        seen[i / 64] |= UINT64_C(1) << i % 64;
        next = i + 1;
        in->key = field->key;
        if (!m->read(in, field, to))
            return false;
        in->key = NULL;
    }
    return is_sound;
}

/* depth: of what is around the value. */
static bool skip_value(struct ih_json_in *in, unsigned depth)
{
    char *ignored;
    skip_blanks(in);
    const char open = *in->p, close = open == '{' ? '}' : ']';
    if (open == '-' || json_is_digit(open))
        return skip_number(in);
    if (open == '"')
        return ih_json_text(in, &ignored);
    if (open != '{' && open != '[')
        return json_is_word(in, "null") || json_is_word(in, "true") || json_is_word(in, "false") ||
               fail_at(in, open, "not JSON");
    if (depth == DEPTH_MAX)
        return ih_json_fail(in, "nested too deep");
    bool is_end, is_sound = first_element(in, open, close, &is_end);
    while (is_sound && !is_end)
        is_sound = (open == '[' || (ih_json_next_is(in, '"') && ih_json_text(in, &ignored) &&
                                    ih_json_token(in, ':'))) &&
                   skip_value(in, depth + 1) && next_element(in, close, &is_end);
    return is_sound || ih_json_fail(in, "not JSON");
}

bool ih_json_skip(struct ih_json_in *in)
{
    return skip_value(in, 0);
}
