/*
 * Names of bands, which GDAL writes as XML into a tag of its own:
 *
 *     <Item name="DESCRIPTION" sample="3" role="description">NIR</Item>
 *
 * The text is searched for such items and not checked: what it lacks or breaks costs a name. The
 * channels of OME-XML are not read: which of them a page holds depends on tables of the whole file.
 */
#include "decode/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>

enum { GDAL_METADATA = 42112 };

/* A part of a text that ends without a NUL. */
struct part {
    const char *at, *end;
};

/* Moves to after the next occurrence of word. Returns false if there is none. */
static bool skip_past(struct part *p, const char *word)
{
    const size_t n = strlen(word);
    for (; (size_t)(p->end - p->at) >= n; p->at++)
        if (memcmp(p->at, word, n) == 0) {
            p->at += n;
            return true;
        }
    return false;
}

/* Copies the value of an attribute, `name="` included in the name. Returns false if the element has
 * none, or one that is too long. */
static bool get_attribute(struct part element, const char *name, char value[16])
{
    size_t n = 0;
    if (!skip_past(&element, name))
        return false;
    while (element.at + n < element.end && element.at[n] != '"' && n < 15)
        n++;
    memcpy(value, element.at, n);
    value[n] = '\0';
    return element.at + n < element.end && element.at[n] == '"';
}

/* Writes a character as UTF-8. Returns its length; 0: there is no such character. */
static size_t put_utf8(char *to, unsigned long c)
{
    const size_t n = c == 0 || c > 0x10FFFF ? 0
                     : c < 0x80             ? 1
                     : c < 0x800            ? 2
                     : c < 0x10000          ? 3
                                            : 4;
    static const unsigned first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 0; c >>= 6)
        to[i] = (char)(i > 0 ? 0x80 | (c & 0x3F) : first[n] | c);
    return n;
}

/* Copies the text of an element, with its references resolved, as far as there is room. text may be
 * content. */
static void get_content(struct part content, char text[2 * IH_BAND_NAME_BYTES])
{
    static const struct {
        const char *reference;
        char c;
    } names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    enum { N = sizeof names / sizeof *names, REFERENCE_MAX = 12 };
    size_t n = 0;
    while (content.at < content.end && *content.at && n + 4 < 2 * IH_BAND_NAME_BYTES) {
        char word[REFERENCE_MAX + 1] = "", *end;
        size_t length = 1, i = 0;
        text[n] = *content.at;
        while (i < REFERENCE_MAX && content.at + i < content.end && *content.at == '&' &&
               (i == 0 || word[i - 1] != ';')) {
            word[i] = content.at[i];
            i++;
        }
        if (strncmp(word, "&#", 2) == 0) {
            const bool is_hex = word[2] == 'x';
            const unsigned long c = strtoul(word + 2 + is_hex, &end, is_hex ? 16 : 10);
            const size_t n_written = *end == ';' ? put_utf8(text + n, c) : 0;
            length = n_written > 0 ? i : 1;
            n += n_written > 0 ? n_written - 1 : 0;
        }
        for (size_t k = 0; k < N; k++)
            if (strcmp(word, names[k].reference) == 0) {
                text[n] = names[k].c;
                length = i;
            }
        content.at += length;
        n++;
    }
    text[n] = '\0';
}

/* Names the channel that holds a sample, unless pixels are computed from samples. */
static enum ih_status name_sample(const struct ih_tiff *s, const char *sample, const char *text,
                                  struct ih_band_name **names, struct ih_error *err)
{
    char *end;
    const unsigned long number = strtoul(sample, &end, 10);
    for (unsigned p = 0; p < s->samples.n_planes && *sample && !*end; p++)
        if (s->plane_sample[p] == number)
            return ih_band_name_set(names, s->layout.n_channels, p, text, err);
    return IH_OK;
}

enum ih_status ih_tiff_read_band_names(const struct ih_tiff *s, struct ih_band_name **names,
                                       struct ih_error *err)
{
    struct part all;
    size_t n_bytes;
    ih_band_names_reset(names);
    if (s->samples.n_planes != s->layout.n_channels ||
        !ih_tiff_text_at(s, GDAL_METADATA, &all.at, &n_bytes))
        return IH_OK;
    all.end = all.at + n_bytes;
    while (skip_past(&all, "<Item")) {
        struct part element = {all.at, all.end}, content;
        char role[16], sample[16], text[2 * IH_BAND_NAME_BYTES];
        if (!skip_past(&all, ">"))
            break;
        element.end = all.at;
        content = all;
        while (all.at < all.end && *all.at != '<')
            all.at++;
        content.end = all.at;
        if (!get_attribute(element, " role=\"", role) || strcmp(role, "description") != 0 ||
            !get_attribute(element, " sample=\"", sample))
            continue;
        get_content(content, text);
        get_content((struct part){text, text + strlen(text)}, text); /* GDAL escapes twice */
        if (name_sample(s, sample, text, names, err) != IH_OK)
            return IH_MEMORY;
    }
    return IH_OK;
}
