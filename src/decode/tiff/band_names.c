/*
 * Names of bands, which GDAL writes as XML into a tag of its own:
 *
 *     <Item name="DESCRIPTION" sample="3" role="description">NIR</Item>
 *
 * and names of OME-XML, which describes all pages in the first one. A page of one sample is a plane
 * of one channel:
 *
 *     <Pixels DimensionOrder="XYCZT" SizeC="2" SizeT="1" SizeZ="1">
 *       <Channel Name="DAPI"/><Channel Name="GFP"/><TiffData IFD="0" PlaneCount="2"/>
 *
 * They are taken if the pages are all planes of a single image, in their order. A page of several
 * samples is one channel for OME, too: its bands have no names.
 *
 * The texts are searched for such elements and not checked: what they lack or break costs a name.
 */
#include "decode/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>

/* A longer text of GDAL has no names: each page of a file may have the same one. */
enum { GDAL_METADATA = 42112, GDAL_BYTES_MAX = 1 << 20 };

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

/* Moves *rest to after the start tag of the next element, and sets *tag to what follows word in it.
 * A `>` between quotes does not end a tag. Returns false if there is none. */
static bool next_tag(struct part *rest, const char *word, struct part *tag)
{
    char quote = '\0';
    if (!skip_past(rest, word))
        return false;
    for (tag->at = rest->at; rest->at < rest->end;) {
        const char c = *rest->at++;
        tag->end = rest->at;
        if (c == '>' && !quote)
            return true;
        if (c == quote)
            quote = '\0';
        else if (!quote && (c == '"' || c == '\''))
            quote = c;
    }
    return false;
}

/* Finds the value of an attribute. name: with a space before and `="` after it. Returns false if
 * the tag lacks it. */
static bool find_attribute(struct part tag, const char *name, struct part *value)
{
    if (!skip_past(&tag, name))
        return false;
    *value = (struct part){tag.at, tag.at};
    while (value->end < tag.end && *value->end != '"')
        value->end++;
    return value->end < tag.end;
}

/* Copies such a value. Returns false if there is none, or one that is too long. */
static bool get_attribute(struct part tag, const char *name, char value[16])
{
    struct part found;
    if (!find_attribute(tag, name, &found) || found.end - found.at >= 16)
        return false;
    memcpy(value, found.at, (size_t)(found.end - found.at));
    value[found.end - found.at] = '\0';
    return true;
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

/* ---- OME ---- */

/* An attribute that is a whole number; without it: fallback. Any other value: UINT64_MAX. */
static uint64_t get_number(struct part tag, const char *name, uint64_t fallback)
{
    char value[16], *end;
    struct part found;
    if (!find_attribute(tag, name, &found))
        return fallback;
    if (!get_attribute(tag, name, value) || *value < '0' || *value > '9')
        return UINT64_MAX;
    const unsigned long number = strtoul(value, &end, 10);
    return *end || number >= UINT32_MAX ? UINT64_MAX : number;
}

/* Z, C or T: planes with the same number follow each other in runs of `stride`. */
struct axis {
    uint64_t n, stride;
};

/* Whether the elements TiffData say that page i is plane i, of n. */
static bool is_in_order(struct part rest, const struct axis axes[3], uint64_t n)
{
    static const char *const firsts[] = {" FirstZ=\"", " FirstC=\"", " FirstT=\""};
    struct part tag;
    uint64_t next = 0;
    while (next <= n && next_tag(&rest, "<TiffData", &tag)) {
        const uint64_t page = get_number(tag, " IFD=\"", UINT32_MAX);
        const uint64_t n_pages = get_number(tag, " PlaneCount=\"", page == UINT32_MAX ? n : 1);
        if ((page == UINT32_MAX ? 0 : page) != next || n_pages > n)
            return false;
        for (unsigned i = 0; i < 3; i++)
            if (get_number(tag, firsts[i], 0) != next / axes[i].stride % axes[i].n)
                return false;
        next += n_pages;
    }
    return next == n;
}

/* Finds the channels in the description of the first page. */
static void find_ome(struct ih_tiff *s, unsigned n_pages)
{
    static const char letters[] = "ZCT";
    static const char *const sizes[] = {" SizeZ=\"", " SizeC=\"", " SizeT=\""};
    struct part all, tag, pixels, value;
    struct axis axes[3] = {{0, 0}};
    size_t n_bytes;
    uint64_t n = 1, n_channels = 0;
    s->ome.n_channels = 0;
    if (!ih_tiff_text_at(s, TIFFTAG_IMAGEDESCRIPTION, &all.at, &n_bytes))
        return;
    all.end = all.at + n_bytes;
    if (!skip_past(&all, "<OME") || !next_tag(&all, "<Pixels", &pixels) ||
        !find_attribute(pixels, " DimensionOrder=\"XY", &value) || value.end - value.at != 3)
        return;
    for (unsigned k = 0; k < 3; k++) {
        const char *const letter = memchr(letters, value.at[k], 3);
        const uint64_t size = letter ? get_number(pixels, sizes[letter - letters], 0) : 0;
        if (size == 0 || size > n_pages || axes[letter - letters].n > 0)
            return;
        axes[letter - letters] = (struct axis){size, n};
        n *= size;
    }
    struct part after = all;
    if (!skip_past(&after, "</Pixels>") || skip_past(&after, "<Pixels"))
        return;
    all.end = after.at;
    s->ome.text = NULL; /* of the channels, which each page searches */
    for (struct part rest = all; next_tag(&rest, "<Channel", &tag); n_channels++) {
        if (get_number(tag, " SamplesPerPixel=\"", 1) != 1)
            return;
        s->ome.text = s->ome.text ? s->ome.text : tag.at - strlen("<Channel");
        s->ome.n_bytes = (size_t)(rest.at - s->ome.text);
    }
    if (n == n_pages && n_channels == axes[1].n && is_in_order(all, axes, n)) {
        s->ome.n_channels = (unsigned)n_channels;
        s->ome.stride = (unsigned)axes[1].stride;
    }
}

static enum ih_status name_page(const struct ih_tiff *s, struct ih_band_name **names,
                                struct ih_error *err)
{
    struct part rest = {s->ome.text, s->ome.text + s->ome.n_bytes}, tag = rest, value;
    char text[2 * IH_BAND_NAME_BYTES];
    for (unsigned i = s->page / s->ome.stride % s->ome.n_channels + 1; i > 0; i--)
        next_tag(&rest, "<Channel", &tag);
    if (!find_attribute(tag, " Name=\"", &value))
        return IH_OK;
    get_content(value, text);
    return ih_band_name_set(names, s->layout.n_channels, 0, text, err);
}

enum ih_status ih_tiff_read_band_names(struct ih_tiff *s, unsigned n_pages,
                                       struct ih_band_name **names, struct ih_error *err)
{
    struct part all, element;
    size_t n_bytes;
    ih_band_names_reset(names);
    if (s->page == 0)
        find_ome(s, n_pages);
    if (s->n_samples == 1 && s->samples.kind != IH_SAMPLES_PALETTE && s->ome.n_channels > 0)
        return name_page(s, names, err);
    if (s->samples.n_planes != s->layout.n_channels ||
        !ih_tiff_text_at(s, GDAL_METADATA, &all.at, &n_bytes) || n_bytes > GDAL_BYTES_MAX)
        return IH_OK;
    all.end = all.at + n_bytes;
    while (next_tag(&all, "<Item", &element)) {
        struct part content = all;
        char role[16], sample[16], text[2 * IH_BAND_NAME_BYTES];
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
