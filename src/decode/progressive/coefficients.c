#define _POSIX_C_SOURCE 200809L

#include "decode/progressive/coefficients.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* bytes */

static size_t round_up(size_t n, int to)
{
    return (n + (unsigned)to - 1) / (unsigned)to * (unsigned)to;
}

static size_t row_bytes(const jpeg_component_info *c)
{
    return round_up(c->width_in_blocks, c->h_samp_factor) * sizeof(JBLOCK);
}

uint64_t ih_jpeg_coefficients_bytes(const struct jpeg_decompress_struct *header)
{
    uint64_t n_bytes = 0;
    for (int i = 0; i < header->num_components; i++) {
        const jpeg_component_info *c = &header->comp_info[i];
        n_bytes += (uint64_t)row_bytes(c) * round_up(c->height_in_blocks, c->v_samp_factor);
    }
    return n_bytes;
}

uint64_t ih_jpeg_ring_bytes(const struct jpeg_decompress_struct *header)
{
    uint64_t n_bytes = 0;
    for (int i = 0; i < header->num_components; i++) {
        const jpeg_component_info *c = &header->comp_info[i];
        n_bytes += (uint64_t)row_bytes(c) * (unsigned)c->v_samp_factor * IH_JPEG_RING_ROWS;
    }
    return n_bytes;
}

bool ih_jpeg_ring_make(struct ih_jpeg_ring *ring, const struct jpeg_decompress_struct *header)
{
    if (posix_memalign(&ring->memory, ALIGNMENT, (size_t)ih_jpeg_ring_bytes(header)) != 0)
        return false;
    uint8_t *next = ring->memory;
    ring->n_planes = header->num_components;
    ring->n_rows = 1;
    for (int i = 0; i < ring->n_planes; i++) {
        struct ih_jpeg_ring_plane *p = &ring->planes[i];
        p->n_mcu_rows = (unsigned)header->comp_info[i].v_samp_factor;
        p->row_bytes = row_bytes(&header->comp_info[i]);
        for (unsigned k = 0; k < IH_JPEG_RING_ROWS * p->n_mcu_rows; k++, next += p->row_bytes)
            p->rows[k] = (JBLOCKROW)(void *)next;
    }
    return true;
}

JBLOCKARRAY ih_jpeg_ring_row(const struct ih_jpeg_ring *ring, struct ih_jpeg_ring_plane *plane,
                             JDIMENSION row)
{
    return plane->rows + (size_t)(row % ring->n_rows) * plane->n_mcu_rows;
}

void ih_jpeg_ring_clear(struct ih_jpeg_ring *ring, JDIMENSION row)
{
    for (int i = 0; i < ring->n_planes; i++) {
        struct ih_jpeg_ring_plane *p = &ring->planes[i];
        for (unsigned k = 0; k < p->n_mcu_rows; k++)
            memset(ih_jpeg_ring_row(ring, p, row)[k], 0, p->row_bytes);
    }
}

void ih_jpeg_ring_free(struct ih_jpeg_ring *ring)
{
    free(ring->memory);
}
