/*
 * Decodes all scans of a progressive JPEG together, row by row; progressive.h describes the idea.
 *
 * Each scan has a decompressor. They share one ring of coefficients, because this file replaces the
 * library's virtual arrays: request_virt_barray and access_virt_barray hand out rows of the ring
 * (the library's jdcoefct.c asks for one row of MCUs at a time). The last scan delivers the rows.
 * Before it decodes a row, its thread waits until all other scans have decoded that row. While it
 * waits, it decodes rows of those scans.
 */
#include "decode/progressive/progressive.h"

#include "base/budget.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASSISTANTS_MAX = 2, /* more gain nothing: the largest scan has a third of the bytes */
    RING_ROWS = 8,      /* of MCUs */
    ALIGNMENT_BYTES = 64
};

/* The blocks of one component. */
struct plane {
    JBLOCKROW rows[RING_ROWS * MAX_SAMP_FACTOR];
    unsigned block_rows_per_mcu_row;
    size_t row_bytes; /* a row of blocks, padded to whole MCUs */
};

struct ring {
    struct plane planes[IH_JPEG_COMPONENTS_MAX];
    int n_planes;
    unsigned n_rows; /* of MCUs in use: the fewer, the nearer they stay in the cache */
    void *memory;    /* owned; holds all rows */
};

struct scan {
    struct ih_jpeg_reader reader; /* first: the library passes its address to callbacks */
    struct ih_progressive *all;
    struct ih_jpeg_span spans[IH_PROGRESSIVE_TABLES_MAX + 2]; /* tables, the scan, an end */
    int n_arrays;      /* virtual arrays that the library has requested */
    JDIMENSION n_done; /* rows of MCUs */
    bool is_busy;      /* a thread is decoding a row of it */
};

struct ih_progressive {
    struct scan *scans; /* owned, in pipeline order: the last one delivers the rows */
    unsigned n_scans;   /* opened so far */
    struct ring ring;   /* uses one row until there is an assistant */
    JDIMENSION n_rows;  /* of MCUs */
    atomic_uint *n_idle_cores;

    pthread_mutex_t
        lock; /* of the fields below, and of n_done and is_busy of all but the last scan */
    pthread_cond_t on_change;
    JDIMENSION n_delivered; /* rows of MCUs; their coefficients may be overwritten */
    bool is_over;           /* a scan is damaged, or the decoder is being closed */
    pthread_t assistants[ASSISTANTS_MAX];
    unsigned n_assistants;
};

/* ---- the ring ---- */

uint64_t ih_progressive_ring_bytes(const struct jpeg_decompress_struct *header)
{
    uint64_t n_bytes = 0;
    if (!header->progressive_mode || header->arith_code ||
        header->num_components > IH_JPEG_COMPONENTS_MAX)
        return 0;
    for (int i = 0; i < header->num_components; i++) {
        const jpeg_component_info *c = &header->comp_info[i];
        n_bytes += (uint64_t)ih_jpeg_block_row_bytes(c) * (unsigned)c->v_samp_factor * RING_ROWS;
    }
    return n_bytes;
}

static bool make_ring(struct ring *ring, const struct jpeg_decompress_struct *header)
{
    const uint64_t n_bytes = ih_progressive_ring_bytes(header);
    if (posix_memalign(&ring->memory, ALIGNMENT_BYTES, (size_t)n_bytes) != 0)
        return false;
    uint8_t *next = ring->memory;
    ring->n_planes = header->num_components;
    ring->n_rows = 1;
    for (int i = 0; i < ring->n_planes; i++) {
        struct plane *p = &ring->planes[i];
        p->block_rows_per_mcu_row = (unsigned)header->comp_info[i].v_samp_factor;
        p->row_bytes = ih_jpeg_block_row_bytes(&header->comp_info[i]);
        for (unsigned k = 0; k < RING_ROWS * p->block_rows_per_mcu_row; k++, next += p->row_bytes)
            p->rows[k] = (JBLOCKROW)(void *)next;
    }
    return true;
}

/* The rows of blocks of a plane in a row of MCUs of the image. */
static JBLOCKARRAY ring_row(const struct ring *ring, struct plane *plane, JDIMENSION row)
{
    return plane->rows + (size_t)(row % ring->n_rows) * plane->block_rows_per_mcu_row;
}

/* The first scan to touch a row of MCUs expects zeros. */
static void clear_ring_row(struct ring *ring, JDIMENSION row)
{
    for (int i = 0; i < ring->n_planes; i++) {
        struct plane *p = &ring->planes[i];
        for (unsigned k = 0; k < p->block_rows_per_mcu_row; k++)
            memset(ring_row(ring, p, row)[k], 0, p->row_bytes);
    }
}

/* ---- the pipeline ---- */

/* Decodes the next row of a scan, and after the last row checks that its data ends there. */
static bool decode_row(struct scan *s)
{
    struct ih_progressive *all = s->all;
    if (s == all->scans)
        clear_ring_row(&all->ring, s->n_done);
    if (setjmp(s->reader.on_error))
        return false;
    int got = jpeg_consume_input(&s->reader.cinfo);
    if (s->n_done + 1 < all->n_rows)
        return got == JPEG_ROW_COMPLETED;
    if (got == JPEG_SCAN_COMPLETED)
        got = jpeg_consume_input(&s->reader.cinfo);
    return got == JPEG_REACHED_EOI;
}

/* The scan nearest to the end of the pipeline, but not the last one, that can decode a row now. */
static struct scan *find_ready(struct ih_progressive *all)
{
    for (unsigned k = all->n_scans - 1; k-- > 0;) {
        struct scan *s = &all->scans[k];
        const JDIMENSION limit = k > 0 ? s[-1].n_done : all->n_delivered + all->ring.n_rows;
        if (!s->is_busy && s->n_done < all->n_rows && s->n_done < limit)
            return s;
    }
    return NULL;
}

/* Decodes a row of some scan, or waits until that may be possible. The lock is held on entry and on
 * return. */
static void decode_or_wait(struct ih_progressive *all)
{
    struct scan *s = find_ready(all);
    if (!s) {
        pthread_cond_wait(&all->on_change, &all->lock);
        return;
    }
    s->is_busy = true;
    pthread_mutex_unlock(&all->lock);
    const bool is_sound = decode_row(s);
    pthread_mutex_lock(&all->lock);
    s->is_busy = false;
    s->n_done++;
    all->is_over |= !is_sound;
    pthread_cond_broadcast(&all->on_change);
}

/* True: all scans but the last have decoded n rows. The lock is held. */
static bool have_decoded(const struct ih_progressive *all, JDIMENSION n)
{
    return all->scans[all->n_scans - 2].n_done >= n;
}

static void *assist(void *argument)
{
    struct ih_progressive *all = argument;
    pthread_mutex_lock(&all->lock);
    while (!all->is_over && !have_decoded(all, all->n_rows))
        decode_or_wait(all);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Starts an assistant if a core is idle and enough rows are left. Called between rows. */
static void add_assistant(struct ih_progressive *all, JDIMENSION row)
{
    if (all->n_assistants == ASSISTANTS_MAX || all->n_rows - row < RING_ROWS ||
        !ih_idle_core_take(all->n_idle_cores))
        return;
    if (all->n_assistants == 0)
        all->ring.n_rows = RING_ROWS; /* between rows nothing in the ring is needed */
    if (pthread_create(&all->assistants[all->n_assistants], NULL, assist, all) == 0)
        all->n_assistants++;
    else
        ih_idle_core_give(all->n_idle_cores);
}

/* Returns when all other scans have decoded this row of MCUs. Earlier rows may then be overwritten.
 * May longjmp. */
static void wait_for_row(struct scan *last, JDIMENSION row)
{
    struct ih_progressive *all = last->all;
    add_assistant(all, row);
    pthread_mutex_lock(&all->lock);
    all->n_delivered = row;
    pthread_cond_broadcast(&all->on_change);
    while (!all->is_over && !have_decoded(all, row + 1))
        decode_or_wait(all);
    const bool is_over = all->is_over;
    pthread_mutex_unlock(&all->lock);
    if (is_over)
        ih_jpeg_reader_fail(&last->reader, IH_CORRUPT, ""); /* the text is never shown */
}

/* ---- in place of the library's virtual arrays ---- */

/* The library requests one array for each component, in order. */
static jvirt_barray_ptr request_array(j_common_ptr cinfo, int pool, boolean is_cleared,
                                      JDIMENSION width, JDIMENSION height, JDIMENSION n_access)
{
    struct scan *s = cinfo->client_data;
    struct plane *p = &s->all->ring.planes[s->n_arrays++ % IH_JPEG_COMPONENTS_MAX];
    (void)pool, (void)is_cleared, (void)height, (void)n_access;
    if (width * sizeof(JBLOCK) != p->row_bytes)
        ih_jpeg_reader_fail(&s->reader, IH_CORRUPT, "");
    return (jvirt_barray_ptr)(void *)p;
}

static JBLOCKARRAY access_array(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION first,
                                JDIMENSION n_rows, boolean is_written)
{
    struct scan *s = cinfo->client_data;
    struct plane *p = (struct plane *)(void *)array;
    const JDIMENSION row = first / p->block_rows_per_mcu_row;
    (void)n_rows;
    if (is_written && s == &s->all->scans[s->all->n_scans - 1] && row == s->n_done) {
        wait_for_row(s, row); /* once a row: its first component asks first */
        s->n_done++;
    }
    return ring_row(&s->all->ring, p, row);
}

/* ---- open and close ---- */

/* Reads a scan's tables and header, and starts its decompressor. Returns false on damage,
 * or if its shape differs from that of the file's header. */
static bool open_scan(struct scan *s, const struct ih_progressive_scans *file,
                      const struct ih_progressive_scan *of,
                      const struct jpeg_decompress_struct *header, bool gives_raw)
{
    /* The library reports skipped bytes one marker late. An empty comment before EOI gives it
     * that marker. */
    static const uint8_t end[] = {0xFF, JPEG_COM, 0, 2, 0xFF, JPEG_EOI};
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    memcpy(s->spans, file->tables, of->n_tables * sizeof *s->spans);
    s->spans[of->n_tables] = of->span;
    s->spans[of->n_tables + 1] = (struct ih_jpeg_span){end, sizeof end};
    ih_jpeg_reader_init_spans(&s->reader, s->spans, of->n_tables + 2);
    if (setjmp(s->reader.on_error))
        return false;
    ih_jpeg_reader_open(&s->reader);
    s->reader.is_started = true;
    const struct ih_jpeg_shape shape = ih_jpeg_shape_of(c), file_shape = ih_jpeg_shape_of(header);
    if (!ih_jpeg_shapes_equal(&shape, &file_shape))
        return false;
    c->out_color_space = header->out_color_space;
    c->buffered_image = TRUE;
    c->raw_data_out = gives_raw;
    c->do_block_smoothing = FALSE; /* meant for incomplete files */
    c->mem->request_virt_barray = request_array;
    c->mem->access_virt_barray = access_array;
    jpeg_start_decompress(c);
    return true;
}

/* The library has set the quantization tables of this scan's components only; this sets all. */
static bool start_output(struct scan *last)
{
    struct jpeg_decompress_struct *c = &last->reader.cinfo;
    for (int i = 0; i < c->num_components; i++)
        c->comp_info[i].quant_table = c->quant_tbl_ptrs[c->comp_info[i].quant_tbl_no];
    if (setjmp(last->reader.on_error))
        return false;
    return jpeg_start_output(c, 1);
}

static bool open_scans(struct ih_progressive *all, const struct jpeg_decompress_struct *header,
                       const uint8_t *bytes, size_t size_bytes, bool gives_raw)
{
    struct ih_progressive_scans file;
    uint8_t ids[IH_JPEG_COMPONENTS_MAX];
    for (int i = 0; i < header->num_components; i++)
        ids[i] = (uint8_t)header->comp_info[i].component_id;
    if (!ih_progressive_find_scans(&file, bytes, size_bytes) ||
        !ih_progressive_scans_are_complete(&file, ids, (unsigned)header->num_components))
        return false;
    const unsigned last = ih_progressive_last_scan(&file);
    all->scans = calloc(file.n_scans, sizeof *all->scans);
    if (!all->scans || !make_ring(&all->ring, header))
        return false;
    while (all->n_scans < file.n_scans) {
        /* in the order of the file, but `last` at the end */
        const unsigned n =
            all->n_scans + 1 == file.n_scans ? last : all->n_scans + (all->n_scans >= last);
        struct scan *s = &all->scans[all->n_scans++];
        s->all = all;
        if (!open_scan(s, &file, &file.scans[n], header, gives_raw || n != last))
            return false;
    }
    all->n_rows = all->scans[0].reader.cinfo.total_iMCU_rows;
    return start_output(&all->scans[all->n_scans - 1]);
}

struct ih_progressive *ih_progressive_open(const struct jpeg_decompress_struct *header,
                                           const uint8_t *bytes, size_t size_bytes, bool gives_raw,
                                           atomic_uint *n_idle_cores)
{
    struct ih_progressive *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->n_idle_cores = n_idle_cores;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->on_change, NULL);
    if (open_scans(p, header, bytes, size_bytes, gives_raw))
        return p;
    ih_progressive_close(p);
    return NULL;
}

struct ih_jpeg_reader *ih_progressive_output(struct ih_progressive *p)
{
    return &p->scans[p->n_scans - 1].reader;
}

void ih_progressive_close(struct ih_progressive *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_assistants; i++) {
        pthread_join(p->assistants[i], NULL);
        ih_idle_core_give(p->n_idle_cores);
    }
    for (unsigned i = 0; i < p->n_scans; i++)
        ih_jpeg_reader_close(&p->scans[i].reader);
    pthread_cond_destroy(&p->on_change);
    pthread_mutex_destroy(&p->lock);
    free(p->ring.memory);
    free(p->scans);
    free(p);
}
