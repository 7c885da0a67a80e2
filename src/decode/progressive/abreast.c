#define _POSIX_C_SOURCE 200809L

#include "decode/progressive/abreast.h"

#include "base/budget.h"
#include "decode/progressive/coefficients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HELPERS_MAX = 2 }; /* more gain nothing: one scan has about a third of the bytes */

struct scan {
    struct ih_jpeg_reader reader; /* first: the library gives it to its callbacks */
    struct ih_jpeg_abreast *all;
    struct ih_jpeg_span spans[IH_JPEG_TABLES_MAX + 2]; /* its file: tables, the scan, an end */
    int n_arrays;                                      /* that the library has asked for */
    JDIMENSION n_done;                                 /* rows of MCUs */
    bool is_busy;                                      /* somebody decodes a row of it */
};

struct ih_jpeg_abreast {
    struct scan *scans;       /* owned, in the order of the pipeline: the last one gives the rows */
    unsigned n_scans;         /* that have been opened */
    struct ih_jpeg_ring ring; /* of one row, until there is a helper */
    JDIMENSION n_rows;        /* of MCUs */
    atomic_uint *n_idle_cores;

    pthread_mutex_t lock; /* n_done and is_busy of all but the last scan, and what follows */
    pthread_cond_t on_change;
    JDIMENSION n_given; /* rows of MCUs that are in nobody's use any more */
    bool is_over;       /* a scan is damaged, or nobody wants its rows any more */
    pthread_t helpers[HELPERS_MAX];
    unsigned n_helpers;
};

static struct scan *scan_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

/* ---- the pipeline ---- */

/* Decodes the next row of a scan, and after the last one its end. False: something is wrong. */
static bool decode_row(struct scan *s)
{
    struct ih_jpeg_abreast *a = s->all;
    if (s == a->scans)
        ih_jpeg_ring_clear(&a->ring, s->n_done);
    if (setjmp(s->reader.on_error))
        return false;
    int is = jpeg_consume_input(&s->reader.cinfo);
    if (s->n_done + 1 < a->n_rows)
        return is == JPEG_ROW_COMPLETED;
    if (is == JPEG_SCAN_COMPLETED)
        is = jpeg_consume_input(&s->reader.cinfo);
    return is == JPEG_REACHED_EOI;
}

/* The scan nearest to the end of the pipeline, of all but the last, that has a row to decode. */
static struct scan *find_ready(struct ih_jpeg_abreast *a)
{
    for (unsigned k = a->n_scans - 1; k-- > 0;) {
        struct scan *s = &a->scans[k];
        const JDIMENSION n_may = k > 0 ? s[-1].n_done : a->n_given + a->ring.n_rows;
        if (!s->is_busy && s->n_done < a->n_rows && s->n_done < n_may)
            return s;
    }
    return NULL;
}

/* Decodes a row of some scan, or waits until there may be one to decode. With the lock. */
static void go_on(struct ih_jpeg_abreast *a)
{
    struct scan *s = find_ready(a);
    if (!s) {
        pthread_cond_wait(&a->on_change, &a->lock);
        return;
    }
    s->is_busy = true;
    pthread_mutex_unlock(&a->lock);
    const bool is_sound = decode_row(s);
    pthread_mutex_lock(&a->lock);
    s->is_busy = false;
    s->n_done++;
    a->is_over |= !is_sound;
    pthread_cond_broadcast(&a->on_change);
}

/* With the lock. */
static bool are_all_done(const struct ih_jpeg_abreast *a, JDIMENSION n)
{
    return a->scans[a->n_scans - 2].n_done >= n;
}

static void *help(void *argument)
{
    struct ih_jpeg_abreast *a = argument;
    pthread_mutex_lock(&a->lock);
    while (!a->is_over && !are_all_done(a, a->n_rows))
        go_on(a);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Before a row that nobody has begun, unless there are hardly any left. */
static void find_helper(struct ih_jpeg_abreast *a, JDIMENSION row)
{
    if (a->n_helpers == HELPERS_MAX || a->n_rows - row < IH_JPEG_RING_ROWS ||
        !ih_idle_core_take(a->n_idle_cores))
        return;
    if (a->n_helpers == 0)
        a->ring.n_rows = IH_JPEG_RING_ROWS; /* none is in use */
    if (pthread_create(&a->helpers[a->n_helpers], NULL, help, a) == 0)
        a->n_helpers++;
    else
        ih_idle_core_give(a->n_idle_cores);
}

/* Until all other scans have come through this row of MCUs, and those before it are not needed any
 * more. May longjmp. */
static void wait_for(struct scan *last, JDIMENSION row)
{
    struct ih_jpeg_abreast *a = last->all;
    find_helper(a, row);
    pthread_mutex_lock(&a->lock);
    a->n_given = row;
    pthread_cond_broadcast(&a->on_change);
    while (!a->is_over && !are_all_done(a, row + 1))
        go_on(a);
    const bool is_over = a->is_over;
    pthread_mutex_unlock(&a->lock);
    if (is_over)
        ih_jpeg_reader_fail(&last->reader, IH_CORRUPT, "");
}

/* ---- what stands for the library's virtual arrays ---- */

/* It asks for one for each component, in their order. */
static jvirt_barray_ptr request_array(j_common_ptr cinfo, int pool, boolean is_cleared,
                                      JDIMENSION width, JDIMENSION height, JDIMENSION n_access)
{
    struct scan *s = scan_of(cinfo);
    struct ih_jpeg_ring_plane *p = &s->all->ring.planes[s->n_arrays++ % IH_JPEG_COMPONENTS_MAX];
    (void)pool, (void)is_cleared, (void)height, (void)n_access;
    if (width * sizeof(JBLOCK) != p->row_bytes)
        ih_jpeg_reader_fail(&s->reader, IH_CORRUPT, "");
    return (jvirt_barray_ptr)(void *)p;
}

static JBLOCKARRAY access_array(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION first,
                                JDIMENSION n_rows, boolean is_written)
{
    struct scan *s = scan_of(cinfo);
    struct ih_jpeg_ring_plane *p = (struct ih_jpeg_ring_plane *)(void *)array;
    const JDIMENSION row = first / p->n_mcu_rows;
    (void)n_rows;
    if (is_written && s == &s->all->scans[s->all->n_scans - 1] && row == s->n_done) {
        wait_for(s, row); /* once, by the first component of its scan */
        s->n_done++;
    }
    return ih_jpeg_ring_row(&s->all->ring, p, row);
}

/* ---- the whole ---- */

bool ih_jpeg_abreast_fits(const struct jpeg_decompress_struct *header)
{
    return header->progressive_mode && !header->arith_code &&
           header->num_components <= IH_JPEG_COMPONENTS_MAX;
}

/* Up to and with the header of its scan. */
static bool open_scan(struct scan *s, const struct ih_jpeg_scans *file,
                      const struct ih_jpeg_scan *of, bool gives_raw)
{
    /* The library complains of bytes that it passed over when it looks for the next marker but one,
     * so there is an empty comment before EOI. */
    static const uint8_t end[] = {0xff, JPEG_COM, 0, 2, 0xff, JPEG_EOI};
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    memcpy(s->spans, file->tables, of->n_tables * sizeof *s->spans);
    s->spans[of->n_tables] = of->span;
    s->spans[of->n_tables + 1] = (struct ih_jpeg_span){end, sizeof end};
    ih_jpeg_reader_init_spans(&s->reader, s->spans, of->n_tables + 2);
    if (setjmp(s->reader.on_error))
        return false;
    ih_jpeg_reader_open(&s->reader);
    s->reader.is_started = true;
    c->buffered_image = TRUE;
    c->raw_data_out = gives_raw;
    c->do_block_smoothing = FALSE; /* it is for what is not complete */
    c->mem->request_virt_barray = request_array;
    c->mem->access_virt_barray = access_array;
    return true;
}

static bool start_scan(struct scan *s)
{
    if (setjmp(s->reader.on_error))
        return false;
    jpeg_start_decompress(&s->reader.cinfo);
    return true;
}

/* The library has looked no further than at a scan of its own for what to multiply with. */
static bool start_output(struct scan *last)
{
    struct jpeg_decompress_struct *c = &last->reader.cinfo;
    for (int i = 0; i < c->num_components; i++)
        c->comp_info[i].quant_table = c->quant_tbl_ptrs[c->comp_info[i].quant_tbl_no];
    if (setjmp(last->reader.on_error))
        return false;
    return jpeg_start_output(c, 1);
}

static bool open_scans(struct ih_jpeg_abreast *a, const struct jpeg_decompress_struct *header,
                       const uint8_t *bytes, size_t size_bytes, bool gives_raw)
{
    const struct ih_jpeg_shape shape = ih_jpeg_shape_of(header);
    struct ih_jpeg_scans file;
    uint8_t ids[IH_JPEG_COMPONENTS_MAX];
    for (int i = 0; i < header->num_components; i++)
        ids[i] = (uint8_t)header->comp_info[i].component_id;
    if (!ih_jpeg_scans_find(&file, bytes, size_bytes) ||
        !ih_jpeg_scans_are_complete(&file, ids, (unsigned)header->num_components))
        return false;
    const unsigned last = ih_jpeg_scans_lightest_end(&file);
    a->scans = calloc(file.n_scans, sizeof *a->scans);
    if (!a->scans || !ih_jpeg_ring_make(&a->ring, header))
        return false;
    while (a->n_scans < file.n_scans) {
        const unsigned n =
            a->n_scans + 1 == file.n_scans ? last : a->n_scans + (a->n_scans >= last);
        struct scan *s = &a->scans[a->n_scans++];
        s->all = a;
        if (!open_scan(s, &file, &file.scans[n], gives_raw || n != last))
            return false;
        const struct ih_jpeg_shape is = ih_jpeg_shape_of(&s->reader.cinfo);
        s->reader.cinfo.out_color_space = header->out_color_space;
        if (!ih_jpeg_shapes_equal(&is, &shape) || !start_scan(s))
            return false;
    }
    a->n_rows = a->scans[0].reader.cinfo.total_iMCU_rows;
    return start_output(&a->scans[a->n_scans - 1]);
}

struct ih_jpeg_abreast *ih_jpeg_abreast_open(const struct jpeg_decompress_struct *header,
                                             const uint8_t *bytes, size_t size_bytes,
                                             bool gives_raw, atomic_uint *n_idle_cores)
{
    struct ih_jpeg_abreast *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->n_idle_cores = n_idle_cores;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->on_change, NULL);
    if (open_scans(a, header, bytes, size_bytes, gives_raw))
        return a;
    ih_jpeg_abreast_close(a);
    return NULL;
}

struct ih_jpeg_reader *ih_jpeg_abreast_output(struct ih_jpeg_abreast *a)
{
    return &a->scans[a->n_scans - 1].reader;
}

void ih_jpeg_abreast_close(struct ih_jpeg_abreast *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_over = true;
    pthread_cond_broadcast(&a->on_change);
    pthread_mutex_unlock(&a->lock);
    for (unsigned i = 0; i < a->n_helpers; i++) {
        pthread_join(a->helpers[i], NULL);
        ih_idle_core_give(a->n_idle_cores);
    }
    for (unsigned i = 0; i < a->n_scans; i++)
        ih_jpeg_reader_close(&a->scans[i].reader);
    pthread_cond_destroy(&a->on_change);
    pthread_mutex_destroy(&a->lock);
    ih_jpeg_ring_free(&a->ring);
    free(a->scans);
    free(a);
}
