/*
 * A JPEG file for the GPU's engines: the verdict, and the file written anew.
 *
 * The engines have a parser of headers of their own. It gets to see one form only, in which every
 * segment is one that was understood here, so that the two cannot differ about a file.
 */
#include "jpeg_gpu/parts.h"

#include <string.h>

/* A stream that is being written, or only measured. */
struct out {
    uint8_t *at; /* NULL: only measured */
    size_t n;
};

static void put(struct out *o, const uint8_t *bytes, size_t n)
{
    if (o->at)
        memcpy(o->at + o->n, bytes, n);
    o->n += n;
}

static void put_byte(struct out *o, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    put(o, &byte, 1);
}

static void put_be16(struct out *o, uint32_t value)
{
    put_byte(o, value >> 8);
    put_byte(o, value & 255);
}

static void put_marker(struct out *o, unsigned marker)
{
    put_byte(o, 0xFF);
    put_byte(o, marker);
}

static void put_segment(struct out *o, unsigned marker, size_t n_bytes)
{
    put_marker(o, marker);
    put_be16(o, (uint32_t)n_bytes + 2);
}

static void put_codes(struct out *o, unsigned number, const struct ih_jpeg_codes *codes)
{
    put_segment(o, IH_JPEG_DHT, 17 + codes->n_symbols);
    put_byte(o, number);
    put(o, codes->counts, 16 + codes->n_symbols);
}

/* The tables that a component uses, each once. */
static void put_tables(struct out *o, const struct ih_jpeg_plan *plan)
{
    unsigned quant_seen = 0, dc_seen = 0, ac_seen = 0; /* bit i: slot i */
    for (unsigned i = 0; i < plan->n_components; i++) {
        unsigned quant = plan->components[i].quant;
        unsigned dc = plan->components[i].dc, ac = plan->components[i].ac;
        if (!(quant_seen >> quant & 1)) {
            put_segment(o, IH_JPEG_DQT, 65);
            put_byte(o, quant);
            put(o, plan->quant[quant], 64);
        }
        if (!(dc_seen >> dc & 1))
            put_codes(o, dc, &plan->dc[dc]);
        if (!(ac_seen >> ac & 1))
            put_codes(o, 0x10 + ac, &plan->ac[ac]);
        quant_seen |= 1u << quant;
        dc_seen |= 1u << dc;
        ac_seen |= 1u << ac;
    }
}

static void put_frame(struct out *o, const struct ih_jpeg_plan *plan)
{
    put_segment(o, IH_JPEG_SOF0, 6 + 3 * plan->n_components);
    put_byte(o, 8);
    put_be16(o, plan->height);
    put_be16(o, plan->width);
    put_byte(o, plan->n_components);
    for (unsigned i = 0; i < plan->n_components; i++) {
        put_byte(o, i + 1); /* by these names all readers know YCbCr */
        put_byte(o, i == 0 ? plan->chroma_h << 4 | plan->chroma_v : 0x11);
        put_byte(o, plan->components[i].quant);
    }
}

static void put_scan(struct out *o, const struct ih_jpeg_plan *plan)
{
    put_segment(o, IH_JPEG_SOS, 4 + 2 * plan->n_components);
    put_byte(o, plan->n_components);
    for (unsigned i = 0; i < plan->n_components; i++) {
        put_byte(o, i + 1);
        put_byte(o, plan->components[i].dc << 4 | plan->components[i].ac);
    }
    put_byte(o, 0); /* all coefficients, to their last bit */
    put_byte(o, 63);
    put_byte(o, 0);
    put(o, plan->data, plan->data_bytes);
}

static size_t put_stream(const struct ih_jpeg_plan *plan, uint8_t *stream)
{
    struct out o = {.at = stream};
    put_marker(&o, IH_JPEG_SOI);
    put_tables(&o, plan);
    put_frame(&o, plan);
    if (plan->restart_interval) {
        put_segment(&o, IH_JPEG_DRI, 2);
        put_be16(&o, plan->restart_interval);
    }
    put_scan(&o, plan);
    put_marker(&o, IH_JPEG_EOI);
    return o.n;
}

bool ih_jpeg_walk(const uint8_t *bytes, size_t size_bytes, struct ih_jpeg_plan *plan,
                  const char **why_not)
{
    if (!ih_jpeg_walk_header(bytes, size_bytes, plan, why_not) || !ih_jpeg_walk_data(plan, why_not))
        return false;
    plan->stream_bytes = put_stream(plan, NULL);
    return true;
}

void ih_jpeg_plan_write(const struct ih_jpeg_plan *plan, uint8_t *stream)
{
    put_stream(plan, stream);
}
