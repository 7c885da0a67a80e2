/*
 * Refuses files whose scans cost far more than their pixels.
 *
 * A scan, even an empty one of a few bytes, costs a pass over all blocks of its components. So a
 * small hostile file with many scans can keep a core busy for minutes.
 */
#include "decode/jpeg/markers.h"
#include "decode/jpeg/parts.h"
#include "decode/read_bytes.h"

#include <string.h>

enum {
    /* Encoders write about ten scans. libjpeg's pass over each block six times, those of mozjpeg
     * and jpegli not more often, so this leaves a factor of five. */
    PASSES_MAX = 32,
    SCANS_MAX = 100 /* also of a small image: each scan has tables to set up */
};

/* Any file may visit this many blocks, which takes a core one to two seconds. */
#define BLOCKS_FREE ((uint64_t)1 << 26)

static uint64_t blocks_of(const jpeg_component_info *component)
{
    return (uint64_t)component->width_in_blocks * component->height_in_blocks;
}

static uint64_t blocks_max(const struct jpeg_decompress_struct *header, uint64_t *n_blocks)
{
    *n_blocks = 0;
    for (int i = 0; i < header->num_components; i++)
        *n_blocks += blocks_of(&header->comp_info[i]);
    const uint64_t n_max = *n_blocks * PASSES_MAX; /* at most 2^26 blocks of each component */
    return n_max > BLOCKS_FREE ? n_max : BLOCKS_FREE;
}

enum ih_status ih_jpeg_cost_add(struct ih_jpeg_cost *cost,
                                const struct jpeg_decompress_struct *header, unsigned components,
                                struct ih_error *err)
{
    uint64_t n_blocks;
    const uint64_t n_max = blocks_max(header, &n_blocks);
    for (int i = 0; i < header->num_components; i++)
        if (components >> i & 1)
            cost->n_blocks += blocks_of(&header->comp_info[i]);
    if (++cost->n_scans > SCANS_MAX)
        return ih_error_set(err, IH_LIMIT, "JPEG with more than %d scans", SCANS_MAX);
    if (cost->n_blocks > n_max)
        return ih_error_set(err, IH_LIMIT,
                            "JPEG whose scans pass over the image more than %llu times",
                            (unsigned long long)(n_max / n_blocks));
    return IH_OK;
}

bool ih_jpeg_cost_is_doubtful(const struct jpeg_decompress_struct *header)
{
    uint64_t n_blocks;
    const uint64_t n_max = blocks_max(header, &n_blocks);
    return n_blocks * SCANS_MAX > n_max;
}

/* ---- counting the scans of a file ---- */

/* Skips to the next marker that is not part of a scan's data. Returns its code, or 0 at the end. */
static unsigned next_marker(struct ih_source *src)
{
    const uint8_t *bytes;
    size_t n;
    struct ih_error ignored; /* decoding reports it */
    while (ih_source_peek(src, 2, &bytes, &n, &ignored) == IH_OK && n >= 2) {
        const uint8_t *at = memchr(bytes, 0xFF, n - 1);
        const unsigned code = at ? at[1] : 0;
        ih_source_consume(src, at ? (size_t)(at - bytes) + 1 : n - 1);
        if (code != 0 && code != 0xFF && (code < IH_JPEG_RST0 || code > IH_JPEG_RST7)) {
            ih_source_consume(src, 1);
            return code;
        }
    }
    return 0;
}

enum ih_status ih_jpeg_cost_of_file(struct ih_source *src,
                                    const struct jpeg_decompress_struct *header,
                                    struct ih_error *err)
{
    enum { SOS_BYTES = 3 + 2 * IH_JPEG_COMPONENTS_MAX }; /* length, number, ids and tables */
    struct ih_jpeg_cost cost = {0};
    struct ih_error ignored; /* decoding reports it */
    unsigned code;
    while ((code = next_marker(src)) != 0 && code != IH_JPEG_EOI) {
        const uint8_t *p;
        size_t n;
        unsigned components = 0;
        if (code == IH_JPEG_SOI || code == IH_JPEG_TEM) /* these have no length */
            continue;
        if (ih_source_peek(src, SOS_BYTES, &p, &n, err) != IH_OK)
            return err->status;
        if (n < SOS_BYTES)
            break; /* the file ends */
        for (unsigned k = 0; code == IH_JPEG_SOS && k < p[2] && k < IH_JPEG_COMPONENTS_MAX; k++)
            for (int i = 0; i < header->num_components; i++)
                if (header->comp_info[i].component_id == p[3 + 2 * k])
                    components |= 1u << i;
        if (code == IH_JPEG_SOS && ih_jpeg_cost_add(&cost, header, components, err) != IH_OK)
            return err->status;
        if (ih_skip_bytes(src, "JPEG", ih_be16(p), &ignored) != IH_OK)
            break;
    }
    return IH_OK;
}
