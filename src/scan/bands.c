/* --bands: some channels of an image, by their numbers in the file. The decoder gives all samples;
 * those of other bands are dropped before pixels are counted. */
#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 64 };

/* Reads a number and moves *text behind it; 0: there is no such band. */
static unsigned read_number(const char **text)
{
    unsigned n = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        n = n > IH_CHANNELS_MAX ? n : n * 10 + (unsigned)(**text - '0');
    return n <= IH_CHANNELS_MAX ? n : 0;
}

enum ih_status ih_bands_parse(const char *text, struct ih_bands *bands, struct ih_error *err)
{
    const char *at = text;
    *bands = (struct ih_bands){.last = 0};
    for (;; at++) {
        const unsigned first = read_number(&at);
        unsigned last = first;
        if (*at == '-') {
            at++;
            last = read_number(&at);
        }
        if (first == 0 || last < first || (*at && *at != ','))
            return ih_error_set(
                err, IH_USAGE,
                "'%.40s' is not a list of bands from 1 to %d, as in 1,3-5, with the lower "
                "number of a range first",
                text, IH_CHANNELS_MAX);
        for (unsigned b = first - 1; b < last; b++)
            bands->wanted[b / BITS] |= UINT64_C(1) << b % BITS;
        bands->last = last > bands->last ? last : bands->last;
        if (!*at)
            return IH_OK;
    }
}

/* Red, green and blue are one colour: counted together, or not at all. */
static enum ih_status check(const struct ih_bands *bands, struct ih_layout stored,
                            struct ih_error *err)
{
    const unsigned n_colours = stored.n_colours == 3 ? (unsigned)(bands->wanted[0] & 7) : 0;
    if (bands->last > stored.n_channels)
        return ih_error_set(err, IH_UNSUPPORTED, "it has no band %u: its pixels have %u sample%s",
                            bands->last, stored.n_channels, stored.n_channels == 1 ? "" : "s");
    return n_colours == 0 || n_colours == 7
               ? IH_OK
               : ih_error_set(err, IH_UNSUPPORTED,
                              "its bands 1 to 3 are red, green and blue: select all three or none, "
                              "and choose among their results");
}

enum ih_status ih_band_pass_start(struct ih_band_pass *p, const struct ih_bands *bands,
                                  const struct ih_image_info *info, struct ih_error *err)
{
    const struct ih_layout stored = info->layout;
    struct ih_layout *const kept = &p->info.layout;
    *p = (struct ih_band_pass){.info = *info, .n_stored = stored.n_channels};
    p->info.band_names = NULL;
    if (bands->last == 0)
        return ih_band_names_copy(&p->info.band_names, info->band_names, stored.n_channels, err);
    if (check(bands, stored, err) != IH_OK)
        return err->status;
    p->from = malloc(stored.n_channels * sizeof *p->from);
    if (!p->from)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    *kept = (struct ih_layout){.n_channels = 0};
    for (unsigned i = 0; i < stored.n_channels; i++)
        if (bands->wanted[i / BITS] >> i % BITS & 1) {
            p->from[kept->n_channels++] = (uint16_t)i;
            kept->n_colours += i < stored.n_colours;
            kept->has_alpha |= stored.has_alpha && i + 1 == stored.n_channels;
        }
    for (unsigned k = 0; k < kept->n_channels; k++) {
        const unsigned i = p->from[k];
        if (i < IH_LEVELS_CHANNELS) /* k <= i */
            p->info.levels.black[k] = info->levels.black[i];
        const bool is_band =
            k >= kept->n_colours && !(kept->has_alpha && k + 1 == kept->n_channels);
        if (ih_band_copy(&p->info.band_names, kept->n_channels, k, info->band_names, i,
                         is_band && i != k, err) != IH_OK)
            return err->status;
    }
    return IH_OK;
}

void ih_band_pass_keep(const struct ih_band_pass *p, uint8_t *pixels, size_t n_pixels,
                       size_t sample_bytes)
{
    const unsigned n_kept = p->info.layout.n_channels;
    uint8_t *to = pixels;
    for (size_t i = 0; i < n_pixels && n_kept < p->n_stored; i++) {
        const uint8_t *const pixel = pixels + i * p->n_stored * sample_bytes;
        for (unsigned k = 0; k < n_kept; k++, to += sample_bytes)
            memmove(to, pixel + p->from[k] * sample_bytes, sample_bytes);
    }
}

void ih_band_pass_reset(struct ih_band_pass *p)
{
    free(p->from);
    ih_band_names_reset(&p->info.band_names);
}
