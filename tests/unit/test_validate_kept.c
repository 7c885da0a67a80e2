/*
 * The validator keeps tables from file to file. Files whose Huffman tables differ in one symbol,
 * one count or one place follow each other in all orders. Each must get the verdict and the stream
 * that it gets alone.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_validated.h"

enum { SIZE = 320, N_TABLES = 8, N_FILES_MAX = 4 * N_TABLES };

static void swap(uint8_t *symbols, unsigned i)
{
    const uint8_t first = symbols[i];
    symbols[i] = symbols[i + 1];
    symbols[i + 1] = first;
}

/* Makes one code of this length longer by a bit. */
static void lengthen(uint8_t *n_of_length, unsigned length)
{
    n_of_length[length]--;
    n_of_length[length + 1]++;
}

/* Changes one thing in the tables of T.81's annex K. */
static void change_tables(struct jpeg_compress_struct *c, unsigned way)
{
    JHUFF_TBL *dc = c->dc_huff_tbl_ptrs[0], *ac = c->ac_huff_tbl_ptrs[0];
    JHUFF_TBL *of_chroma = c->ac_huff_tbl_ptrs[1];
    switch (way) {
    case 1:
        swap(ac->huffval, 0); /* 0/1 and 0/2, of 2 bits each */
        break;
    case 2:
        swap(ac->huffval, 3); /* EOB and 0/4, of 4 bits each */
        break;
    case 3:
        lengthen(ac->bits, 2);
        break;
    case 4:
        ac->bits[16]--; /* without its last code */
        break;
    case 5:
        swap(dc->huffval, 3); /* sizes of 3 bits each */
        break;
    case 6:
        lengthen(dc->bits, 2);
        break;
    case 7:
        swap(of_chroma->huffval, 0);
        break;
    default:
        break;
    }
}

static struct jpeg_file file_with(unsigned way, bool is_gray)
{
    const struct jpeg_kind kind = {0};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {NULL, 0};
    begin_jpeg(&c, &errors, &f, SIZE, SIZE, is_gray ? JCS_GRAYSCALE : JCS_RGB);
    change_tables(&c, way);
    write_rows(&c, 5, sample_of_kind, &kind);
    return f;
}

/* The header of one file and the data of another one. */
static struct jpeg_file crossed(const struct jpeg_file *header, const struct jpeg_file *data)
{
    struct jpeg_file f = {malloc(header->n), header->n};
    assert_non_null(f.bytes);
    memcpy(f.bytes, header->bytes, f.n);
    const size_t to = find_data(&f), from = find_data(data);
    splice(&f, to, f.n - to, data->bytes + from, data->n - from);
    return f;
}

/* Files with each table, and with the data of others. Returns how many. */
static unsigned make_files(struct jpeg_file *files, bool is_gray)
{
    unsigned n = 0;
    for (; n < N_TABLES; n++)
        files[n] = file_with(n, is_gray);
    for (unsigned i = 1; i < N_TABLES; i++) {
        files[n++] = crossed(&files[0], &files[i]);
        files[n++] = crossed(&files[i], &files[0]);
    }
    /* One symbol replaced: 0/1 by the one that table 4 does not have. */
    files[n] = crossed(&files[4], &files[4]);
    uint8_t *symbol = files[n].bytes + find_segment(&files[n], 0xC4, 1) + 21;
    assert_int_equal(*symbol, 0x01);
    *symbol = 0xFA;
    return n + 1;
}

struct outcome {
    enum ih_jpeg_reason reason;
    uint8_t *stream; /* owned; NULL: refused */
    size_t stream_bytes;
};

static struct outcome validate_with(struct ih_jpeg_workspace **workspace, const struct jpeg_file *f)
{
    struct ih_jpeg_plan plan;
    struct outcome out = {.reason = ih_jpeg_validate(f->bytes, f->n, &plan, workspace)};
    if (out.reason == IH_JPEG_REASON_NONE) {
        out.stream_bytes = plan.stream_bytes;
        out.stream = malloc(plan.stream_bytes);
        assert_non_null(out.stream);
        ih_jpeg_plan_write(&plan, out.stream);
    }
    return out;
}

static void check_same(struct ih_jpeg_workspace **workspace, const struct jpeg_file *f,
                       const struct outcome *alone)
{
    const struct outcome out = validate_with(workspace, f);
    assert_int_equal(out.reason, alone->reason);
    assert_int_equal(out.stream_bytes, alone->stream_bytes);
    if (out.stream)
        assert_memory_equal(out.stream, alone->stream, out.stream_bytes);
    free(out.stream);
}

static void check_orders(bool is_gray)
{
    struct jpeg_file files[N_FILES_MAX];
    struct outcome alone[N_FILES_MAX];
    struct ih_jpeg_workspace *used = NULL;
    const unsigned n = make_files(files, is_gray);
    unsigned n_sound = 0;
    for (unsigned i = 0; i < n; i++) {
        struct ih_jpeg_workspace *workspace = NULL;
        alone[i] = validate_with(&workspace, &files[i]);
        assert_int_equal(alone[i].reason, validate(files[i].bytes, files[i].n));
        n_sound += alone[i].reason == IH_JPEG_REASON_NONE;
        free(workspace);
    }
    print_message("%u files, %u sound\n", n, n_sound);
    assert_true(n_sound >= N_TABLES && n - n_sound >= N_TABLES);
    for (unsigned i = 0; i < n * n; i++) {
        struct ih_jpeg_workspace *workspace = NULL;
        const unsigned a = i / n, b = i % n, order[] = {a, b, a, a, b, a};
        for (unsigned k = 0; k < sizeof order / sizeof *order; k++)
            check_same(&workspace, &files[order[k]], &alone[order[k]]);
        check_same(&workspace, &files[a], &alone[a]);
        free(workspace);
    }
    for (unsigned i = 0; i < 200 * n; i++) { /* more tables than a workspace keeps */
        const unsigned k = (i * i + i / n) % n;
        check_same(&used, &files[k], &alone[k]);
    }
    free(used);
    for (unsigned i = 0; i < n; i++) {
        free(files[i].bytes);
        free(alone[i].stream);
    }
}

TEST(gray_files)
{
    check_orders(true);
}

TEST(colour_files)
{
    check_orders(false);
}
