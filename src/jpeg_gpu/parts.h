/* The parts of the JPEG walk: the segments (jpeg_headers.c), the entropy-coded data
 * (jpeg_entropy.c), and what is made of both (jpeg_walk.c). */
#ifndef IH_JPEG_GPU_PARTS_H
#define IH_JPEG_GPU_PARTS_H

#include "jpeg_gpu/validate.h"

enum {
    IH_JPEG_SOF0 = 0xC0,
    IH_JPEG_DHT = 0xC4,
    IH_JPEG_RST0 = 0xD0,
    IH_JPEG_SOI = 0xD8,
    IH_JPEG_EOI = 0xD9,
    IH_JPEG_SOS = 0xDA,
    IH_JPEG_DQT = 0xDB,
    IH_JPEG_DRI = 0xDD,
    IH_JPEG_APP0 = 0xE0,
    IH_JPEG_APP14 = 0xEE,
    IH_JPEG_APP15 = 0xEF,
    IH_JPEG_COM = 0xFE,
};

/* Walks the data of a plan after ih_jpeg_walk_header, and makes plan->data_bytes end before EOI. */
bool ih_jpeg_walk_data(struct ih_jpeg_plan *plan, const char **why_not);

static inline uint32_t ih_jpeg_n_mcus(const struct ih_jpeg_plan *plan)
{
    const uint32_t width = 8 * plan->chroma_h, height = 8 * plan->chroma_v; /* of an MCU */
    return ((plan->width + width - 1) / width) * ((plan->height + height - 1) / height);
}

#endif
