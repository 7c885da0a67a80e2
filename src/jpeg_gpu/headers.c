/*
 * The segments of a JPEG file up to its scan, held to stricter rules than libjpeg's.
 *
 * libjpeg takes much that no camera writes: tables that are defined anew, 16-bit quantizers in
 * baseline files, restart markers between segments, a component twice. Here each of these is "no".
 */
#include "decode/read_bytes.h"
#include "jpeg_gpu/codes.h"
#include "jpeg_gpu/parts.h"

#include <string.h>

enum { SIDE_MAX = 65500 }; /* libjpeg's JPEG_MAX_DIMENSION */

struct header {
    struct ih_jpeg_plan *plan;
    const uint8_t *at; /* what is left of the segment */
    size_t n;
    bool has_frame, has_restart_interval, has_adobe;
    unsigned adobe_transform;
    const char *why_not;
};

static bool refuse(struct header *h, const char *why_not)
{
    h->why_not = why_not;
    return false;
}

static const uint8_t *take(struct header *h, size_t n)
{
    const uint8_t *p = h->at;
    h->at += n;
    h->n -= n;
    return p;
}

static bool read_quant(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 65)
            return refuse(h, "quantization table cut short");
        unsigned slot = *take(h, 1);
        const uint8_t *table = take(h, 64);
        if (slot >= IH_JPEG_QUANT_SLOTS) /* the upper half byte: 16-bit values */
            return refuse(h, "quantization table of 16 bits, or with a wrong number");
        if (h->plan->quant[slot])
            return refuse(h, "quantization table defined twice");
        if (memchr(table, 0, 64))
            return refuse(h, "quantizer of zero");
        h->plan->quant[slot] = table;
    }
    return true;
}

static bool read_codes(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 17)
            return refuse(h, "Huffman table cut short");
        unsigned number = *take(h, 1), slot = number & 15;
        struct ih_jpeg_codes codes = {.counts = take(h, 16)};
        for (unsigned i = 0; i < 16; i++)
            codes.n_symbols += codes.counts[i];
        if (codes.n_symbols > 256 || codes.n_symbols > h->n)
            return refuse(h, "Huffman table with more symbols than there are");
        take(h, codes.n_symbols);
        if (number >> 4 > 1 || slot >= IH_JPEG_CODE_SLOTS)
            return refuse(h, "Huffman table with a number that baseline does not have");
        bool is_dc = number >> 4 == 0;
        struct ih_jpeg_codes *place = is_dc ? &h->plan->dc[slot] : &h->plan->ac[slot];
        if (place->counts)
            return refuse(h, "Huffman table defined twice");
        if (!ih_jpeg_codes_are_sound(&codes, is_dc))
            return refuse(h, "Huffman table that is no code, or with unusual symbols");
        *place = codes;
    }
    return true;
}

/* The layouts that libjpeg's upsampling was compared in: luma 1 or 2 in each direction, chroma 1.
 * One component alone has one block in an MCU whatever its factors. */
static bool is_sampling_known(struct ih_jpeg_plan *plan, const uint8_t *components)
{
    unsigned h = components[1] >> 4, v = components[1] & 15;
    if (plan->n_components == 1)
        return h == 1 && v == 1;
    plan->chroma_h = h;
    plan->chroma_v = v;
    return (h == 1 || h == 2) && (v == 1 || v == 2) && components[4] == 0x11 &&
           components[7] == 0x11;
}

static bool read_frame(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    if (h->has_frame)
        return refuse(h, "two frame headers");
    if (h->n < 6 || h->n != 6 + 3 * (size_t)h->at[5])
        return refuse(h, "frame header of a wrong length");
    const uint8_t *p = take(h, 6), *components = h->at;
    plan->height = ih_be16(p + 1);
    plan->width = ih_be16(p + 3);
    plan->n_components = p[5];
    plan->chroma_h = plan->chroma_v = 1;
    if (p[0] != 8)
        return refuse(h, "not 8 bits a sample");
    if (plan->height == 0 || plan->width == 0)
        return refuse(h, "image without pixels, or with its height further on");
    if (plan->height > SIDE_MAX || plan->width > SIDE_MAX)
        return refuse(h, "image larger than libjpeg takes");
    if (plan->n_components != 1 && plan->n_components != 3)
        return refuse(h, "neither one component nor three");
    if (!is_sampling_known(plan, components))
        return refuse(h, "subsampling other than 4:4:4, 4:2:2, 4:2:0 or 4:4:0");
    for (unsigned i = 0; i < plan->n_components; i++, components += 3) {
        plan->components[i].id = components[0];
        plan->components[i].quant = components[2];
        for (unsigned j = 0; j < i; j++)
            if (plan->components[j].id == components[0])
                return refuse(h, "two components of one name");
    }
    return h->has_frame = true;
}

static bool read_restart_interval(struct header *h)
{
    if (h->has_restart_interval)
        return refuse(h, "restart interval defined twice");
    if (h->n != 2)
        return refuse(h, "restart interval of a wrong length");
    h->plan->restart_interval = ih_be16(h->at);
    return h->has_restart_interval = true;
}

/* Adobe's marker says whether three components are RGB. */
static bool read_app(struct header *h, unsigned marker)
{
    if (marker == IH_JPEG_APP14 && h->n >= 12 && memcmp(h->at, "Adobe", 5) == 0) {
        h->has_adobe = true;
        h->adobe_transform = h->at[11];
    }
    return true;
}

/* Every reader of JPEG takes these for YCbCr: stricter than libjpeg-turbo, which with JFIF's marker
 * does not look at names, and without any marker takes all names but R, G, B so. */
static bool is_ycbcr(const struct header *h)
{
    const struct ih_jpeg_plan *plan = h->plan;
    if (h->has_adobe && h->adobe_transform != 1)
        return false;
    unsigned first = plan->components[0].id;
    return first <= 1 && plan->components[1].id == first + 1 && plan->components[2].id == first + 2;
}

static bool read_scan(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    if (!h->has_frame)
        return refuse(h, "scan before the frame header");
    if (h->n != 4 + 2 * (size_t)plan->n_components || h->at[0] != plan->n_components)
        return refuse(h, "scan of some components only");
    take(h, 1);
    for (unsigned i = 0; i < plan->n_components; i++) {
        const uint8_t *p = take(h, 2);
        unsigned dc = p[1] >> 4, ac = p[1] & 15, quant = plan->components[i].quant;
        if (p[0] != plan->components[i].id)
            return refuse(h, "scan with components in another order");
        if (dc >= IH_JPEG_CODE_SLOTS || ac >= IH_JPEG_CODE_SLOTS || !plan->dc[dc].counts ||
            !plan->ac[ac].counts)
            return refuse(h, "scan with a Huffman table that is not there");
        if (quant >= IH_JPEG_QUANT_SLOTS || !plan->quant[quant])
            return refuse(h, "component with a quantization table that is not there");
        plan->components[i].dc = dc;
        plan->components[i].ac = ac;
    }
    if (h->at[0] != 0 || h->at[1] != 63 || h->at[2] != 0)
        return refuse(h, "scan of some coefficients only");
    if (plan->n_components == 3 && !is_ycbcr(h))
        return refuse(h, "three components that may not be YCbCr");
    return true;
}

static bool read_segment(struct header *h, unsigned marker)
{
    switch (marker) {
    case IH_JPEG_SOF0:
        return read_frame(h);
    case IH_JPEG_DHT:
        return read_codes(h);
    case IH_JPEG_DQT:
        return read_quant(h);
    case IH_JPEG_DRI:
        return read_restart_interval(h);
    case IH_JPEG_SOS:
        return read_scan(h);
    case IH_JPEG_COM:
        return true;
    default:
        if (marker >= IH_JPEG_APP0 && marker <= IH_JPEG_APP15)
            return read_app(h, marker);
        if (marker > IH_JPEG_SOF0 && marker < 0xD0)
            return refuse(h, "not baseline: progressive, arithmetic, lossless or extended");
        return refuse(h, "marker that does not belong before a scan");
    }
}

bool ih_jpeg_walk_header(const uint8_t *bytes, size_t size_bytes, struct ih_jpeg_plan *plan,
                         const char **why_not)
{
    struct header h = {.plan = plan};
    size_t at = 2;
    unsigned marker = 0;
    memset(plan, 0, sizeof *plan);
    if (size_bytes < 2 || bytes[0] != 0xFF || bytes[1] != IH_JPEG_SOI) {
        *why_not = "no JPEG";
        return false;
    }
    while (marker != IH_JPEG_SOS) {
        if (size_bytes - at < 4) {
            *why_not = "end before the scan";
            return false;
        }
        const uint8_t *p = bytes + at;
        size_t length = ih_be16(p + 2); /* its own two bytes included */
        marker = p[1];
        if (p[0] != 0xFF) {
            *why_not = "bytes between segments";
            return false;
        }
        h.at = p + 4;
        h.n = length < 2 ? 0 : length - 2;
        if (length < 2 || h.n > size_bytes - at - 4) {
            *why_not = "segment beyond the end";
            return false;
        }
        at += 2 + length;
        if (!read_segment(&h, marker)) {
            *why_not = h.why_not;
            return false;
        }
    }
    plan->data = bytes + at;
    plan->data_bytes = size_bytes - at;
    return true;
}
