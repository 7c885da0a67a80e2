#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

size_t ih_utf8_length(const char *text, unsigned long *code_point)
{
    static const unsigned long least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n == 0)
        return 0;
    unsigned long c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2) /* also stops at the final NUL */
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code_point = c;
    return n;
}

/* Invisible characters that change how other characters are shown, or in which order: with them a
 * name that ends in gpj.exe may look as if it ended in exe.jpg. */
static bool is_disguise(unsigned long c)
{
    static const struct {
        unsigned long first, last;
    } ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},     /* C1 controls; soft hyphen */
        {0x61c, 0x61c},                       /* Arabic letter mark */
        {0x115f, 0x1160},   {0x180b, 0x180f}, /* fillers and selectors */
        {0x200b, 0x200f},   {0x2028, 0x202e}, /* zero width; line ends; directions */
        {0x2060, 0x206f},   {0x3164, 0x3164}, /* joiners and isolates; filler */
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, /* variation selectors; byte order mark */
        {0xfff9, 0xfffb},   {0xfffe, 0xffff}, /* annotations; not characters, not allowed in XML */
        {0xe0000, 0xe0fff},                   /* tags */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

enum { SHOWN_MAX = 16 }; /* the longest is \u{e0fff} */

/* Escapes the first character of text into shown. Returns its length in text, in bytes. */
static size_t escape_one(char shown[SHOWN_MAX], const char *text)
{
    unsigned long c = 0;
    size_t n = ih_utf8_length(text, &c);
    if (n == 0) {
        snprintf(shown, SHOWN_MAX, "\\x%02X", (unsigned char)*text);
        return 1;
    }
    if (c == '\n' || c == '\r' || c == '\t' || c == '\\')
        snprintf(shown, SHOWN_MAX, "\\%c",
                 c == '\n'   ? 'n'
                 : c == '\r' ? 'r'
                 : c == '\t' ? 't'
                             : '\\');
    else if (c < 0x20 || c == 0x7F)
        snprintf(shown, SHOWN_MAX, "\\x%02lX", c);
    else if (is_disguise(c))
        snprintf(shown, SHOWN_MAX, "\\u{%x}", (unsigned)c);
    else
        snprintf(shown, SHOWN_MAX, "%.*s", (int)n, text);
    return n;
}

size_t ih_escape(char *dst, size_t size_bytes, const char *text)
{
    size_t n = 0;
    while (*text) {
        char shown[SHOWN_MAX];
        size_t n_read = escape_one(shown, text), n_shown = strlen(shown);
        if (n + n_shown >= size_bytes)
            break;
        memcpy(dst + n, shown, n_shown);
        n += n_shown;
        text += n_read;
    }
    dst[n] = '\0';
    return n;
}

size_t ih_escape_short(char *dst, size_t size_bytes, const char *text)
{
    static const char gap[] = "...";
    char shown[SHOWN_MAX];
    size_t n_all = 0;
    for (const char *p = text; *p; n_all += strlen(shown))
        p += escape_one(shown, p);
    if (n_all < size_bytes)
        return ih_escape(dst, size_bytes, text);
    size_t n = ih_escape(dst, size_bytes / 3, text);
    memcpy(dst + n, gap, sizeof gap);
    n += sizeof gap - 1;
    while (n_all >= size_bytes - n) {
        text += escape_one(shown, text);
        n_all -= strlen(shown);
    }
    return n + ih_escape(dst + n, size_bytes - n, text);
}

void ih_utf8_trim(char *text)
{
    unsigned long ignored;
    size_t n = strlen(text), n_tail = 0;
    while (n_tail < 3 && n_tail < n && (unsigned char)text[n - 1 - n_tail] >> 6 == 2)
        n_tail++;
    if (n_tail == n)
        return;
    const unsigned first = (unsigned char)text[n - 1 - n_tail];
    if (first >= 0xC0 && ih_utf8_length(text + n - 1 - n_tail, &ignored) == 0)
        text[n - 1 - n_tail] = '\0';
}

bool ih_parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *number)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > max || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (p == text)
        return false;
    if (is_scaled && *p) {
        unsigned shift = *p == 'k' || *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
        if (shift == 0 || n > max >> shift)
            return false;
        n <<= shift;
        p++;
    }
    *number = n;
    return *p == '\0';
}

char *ih_put_real(char *text, double v)
{
    text[0] = '\0';
    if (isnan(v))
        return text;
    const bool is_whole = fabs(v) >= 9e9;
    uint64_t millionths = is_whole ? 0 : (uint64_t)llround(fabs(v) * 1e6);
    char *end = text;
    if (v < 0 && (is_whole || millionths != 0))
        *end++ = '-';
    end = ih_format_count(end, is_whole ? (uint64_t)(fabs(v) + 0.5) : millionths / 1000000);
    *end++ = '.';
    uint32_t rest = (uint32_t)(millionths % 1000000);
    for (unsigned i = 6; i-- > 0; rest /= 10)
        end[i] = (char)('0' + rest % 10);
    end[6] = '\0';
    return end + 6;
}

char *ih_put_digits(char *text, double v, unsigned n_digits)
{
    const int n = isnan(v) ? 0 : snprintf(text, IH_REAL_MAX, "%.*g", (int)n_digits, v);
    text[n] = '\0';
    char *const comma = strchr(text, ','); /* of the locale */
    if (comma)
        *comma = '.';
    return text + n;
}

/* Nine digits tell all floats from each other. */
char *ih_put_float(char *text, double v)
{
    char local[IH_REAL_MAX];
    unsigned n_digits = 1;
    for (; n_digits < 9; n_digits++) {
        snprintf(local, sizeof local, "%.*g", (int)n_digits, v);
        if (strtof(local, NULL) == (float)v)
            break;
    }
    unsigned n_before = 0; /* digits before the point: -10, not -1e+01 */
    for (double rest = fabs(v); rest >= 1 && n_before < 10; rest /= 10)
        n_before++;
    if (n_before < 10 && n_digits < n_before)
        n_digits = n_before;
    return ih_put_digits(text, v, n_digits);
}

char *ih_format_count(char *text, uint64_t n)
{
    char digits[IH_COUNT_MAX];
    size_t first = IH_COUNT_MAX;
    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    memcpy(text, digits + first, IH_COUNT_MAX - first);
    return text + (IH_COUNT_MAX - first);
}

enum { WORD_MAX = 31 }; /* letters of a word that is suggested */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance of Damerau and Levenshtein, computed row by row. */
static unsigned edit_distance(const char *a, size_t n, const char *b)
{
    unsigned rows[3][WORD_MAX + 1] = {{0}};
    const size_t m = strlen(b);
    for (size_t i = 0; i <= n; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= m; k++) {
            if (i == 0) {
                row[k] = (unsigned)k;
                continue;
            }
            row[k] = least(least(row[k - 1], above[k]) + 1,
                           above[k - 1] + (tolower((unsigned char)a[i - 1]) != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], before[k - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

bool ih_word_is_nearer(const char *name, size_t n, const char *word, unsigned *fewest)
{
    if (n < 2 || n > WORD_MAX || strlen(word) > WORD_MAX)
        return false;
    const unsigned distance = strncasecmp(word, name, n) == 0 ? 1 : edit_distance(name, n, word);
    if (distance > (n + 1) / 3 || distance >= *fewest)
        return false;
    *fewest = distance;
    return true;
}

uint64_t ih_hash(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t ih_hash_number(uint64_t hash, uint64_t n)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    return ih_hash(hash, bytes, sizeof bytes);
}

uint64_t ih_hash_text(uint64_t hash, const char *text)
{
    return ih_hash(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

bool ih_parse_ordinals(const char *list, int *ordinals, size_t n_max, unsigned *n)
{
    *n = 0;
    for (unsigned n_read = 0;;) {
        char text[8] = "";
        uint64_t ordinal;
        size_t size = strcspn(list, ",");
        if (n_read == n_max || size >= sizeof text)
            return false;
        memcpy(text, list, size);
        if (!ih_parse_number(text, false, IH_ORDINAL_MAX, &ordinal))
            return false;
        for (unsigned i = 0; i < n_read; i++)
            if (ordinals[i] == (int)ordinal)
                return false;
        ordinals[n_read++] = (int)ordinal;
        if (list[size] == '\0') {
            *n = n_read;
            return true;
        }
        list += size + 1;
    }
}

FILE *ih_memory_stream(char **bytes, size_t *n)
{
    *bytes = NULL;
    FILE *const stream = open_memstream(bytes, n);
    errno = 0;
    return stream;
}

bool ih_memory_stream_has_failed(FILE *stream)
{
    return ferror(stream) || errno == ENOMEM;
}

bool ih_memory_stream_close(FILE *stream, char **bytes)
{
    const bool has_failed = ih_memory_stream_has_failed(stream);
    if (fclose(stream) == 0 && !has_failed && *bytes)
        return true;
    free(*bytes);
    *bytes = NULL;
    return false;
}
