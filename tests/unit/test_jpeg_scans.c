/*
 * The kernels for progressive JPEG, run on the CPU, against libjpeg: planes of sound files byte for
 * byte, whatever their scans, and a fault or a refusal for every file about which libjpeg warns.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_batch.h"
#include "tests/support/jpeg_scans.h"

enum { SCAN_FILES_MAX = 64 };

/* A batch of progressive files, laid out one after the other. */
struct scan_files {
    struct ih_gpu_jpeg_scans scans;
    void *arrays;
    uint8_t *bytes, *planes;
    size_t n_bytes;
    struct ih_gpu_jpeg_verdict verdicts[SCAN_FILES_MAX];
};

static void begin(struct scan_files *f)
{
    *f = (struct scan_files){.arrays = malloc(ih_jpeg_scans_bytes())};
    assert_non_null(f->arrays);
    ih_jpeg_scans_begin(&f->scans, f->arrays);
}

static enum ih_jpeg_reason add(struct scan_files *f, const struct jpeg_file *file)
{
    struct ih_jpeg_plan plan;
    const enum ih_jpeg_reason reason = ih_jpeg_plan_make(&plan, file->bytes, file->n);
    if (reason == IH_JPEG_REASON_NONE) {
        const size_t at = (f->n_bytes + 15) / 16 * 16;
        assert_true(plan.is_progressive);
        assert_non_null(f->bytes = realloc(f->bytes, at + file->n));
        memcpy(f->bytes + at, file->bytes, file->n);
        f->n_bytes = at + file->n;
        assert_true(ih_jpeg_scans_add(&f->scans, &plan, (uint32_t)at));
    }
    ih_jpeg_plan_reset(&plan);
    return reason;
}

static void decode(struct scan_files *f)
{
    ih_jpeg_scans_end(&f->scans);
    assert_non_null(f->planes = malloc((size_t)f->scans.batch.planes_bytes + 1));
    emulate_scans(&f->scans, f->bytes, f->planes, f->verdicts);
}

static void end(struct scan_files *f)
{
    free(f->arrays);
    free(f->bytes);
    free(f->planes);
}

/* Whether image i has libjpeg's planes. */
static bool is_equal(const struct scan_files *f, uint32_t i, const struct reference *r)
{
    const struct files as_files = {.batch = f->scans.batch, .planes = f->planes};
    return has_planes(&as_files, i, r);
}

/* Whether libjpeg's coefficients are so large that the kernels leave the file to the CPU. */
static bool is_large(const struct jpeg_file *file)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    bool is = false;
    open_jpeg(&d, &errors, file->bytes, file->n);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&d);
    for (int c = 0; c < d.num_components; c++) {
        const jpeg_component_info *info = &d.comp_info[c];
        for (JDIMENSION y = 0; y < info->height_in_blocks; y++) {
            JBLOCKARRAY row = d.mem->access_virt_barray((j_common_ptr)&d, arrays[c], y, 1, FALSE);
            for (JDIMENSION x = 0; x < info->width_in_blocks; x++) {
                int sum = 0;
                for (unsigned k = 0; k < DCTSIZE2; k++)
                    sum += abs(row[0][x][k]) * info->quant_table->quantval[k];
                is |= sum > IH_JPEG_BLOCK_SUM_MAX;
            }
        }
    }
    jpeg_destroy_decompress(&d);
    return is;
}

static const struct look samplings[] = {
    {.h = 1, .v = 1}, {.h = 2, .v = 1}, {.h = 2, .v = 2}, {.h = 1, .v = 2}};
static const struct look gray = {.h = 1, .v = 1, .stored = JCS_GRAYSCALE};

static const jpeg_scan_info scans_gray[] = {
    {1, {0}, 0, 0, 0, 2},  {1, {0}, 1, 8, 0, 3},  {1, {0}, 0, 0, 2, 1},
    {1, {0}, 9, 63, 0, 2}, {1, {0}, 1, 8, 3, 2},  {1, {0}, 1, 63, 2, 1},
    {1, {0}, 0, 0, 1, 0},  {1, {0}, 1, 20, 1, 0}, {1, {0}, 21, 63, 1, 0}};
static const struct script gray_scripts[] = {{NULL, 0}, SCRIPT(scans_gray)};

/* As mozjpeg and jpegrescan choose them: bands that end early, refined in parts. */
static const jpeg_scan_info scans_bands[] = {
    {3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 8, 0, 2},  {1, {1}, 1, 8, 0, 0},
    {1, {2}, 1, 8, 0, 0},       {1, {0}, 9, 63, 0, 2}, {1, {0}, 1, 63, 2, 1},
    {1, {0}, 1, 63, 1, 0},      {1, {1}, 9, 63, 0, 0}, {1, {2}, 9, 63, 0, 0}};
static const jpeg_scan_info scans_deep[] = {
    {3, {0, 1, 2}, 0, 0, 0, 3}, {1, {0}, 1, 63, 0, 4},      {1, {1}, 1, 2, 0, 3},
    {1, {2}, 1, 63, 0, 0},      {3, {0, 1, 2}, 0, 0, 3, 2}, {1, {0}, 1, 63, 4, 3},
    {1, {1}, 1, 2, 3, 2},       {1, {1}, 3, 63, 0, 1},      {1, {0}, 1, 30, 3, 2},
    {1, {0}, 31, 63, 3, 2},     {1, {0}, 1, 63, 2, 1},      {1, {1}, 1, 2, 2, 1},
    {1, {1}, 1, 63, 1, 0},      {3, {0, 1, 2}, 0, 0, 2, 1}, {1, {0}, 1, 63, 1, 0},
    {1, {1}, 0, 0, 1, 0},       {1, {2}, 0, 0, 1, 0},       {1, {0}, 0, 0, 1, 0}};
static const struct script more_scripts[] = {SCRIPT(scans_bands), SCRIPT(scans_deep)};

static const struct script *script_of(unsigned i)
{
    return i < N_SCRIPTS ? &scripts[i] : &more_scripts[i - N_SCRIPTS];
}
enum { N_ALL_SCRIPTS = N_SCRIPTS + 2, TWO_AT_ONCE = 5 };

TEST(planes_are_libjpegs)
{
    const unsigned sizes[][2] = {{1, 1}, {8, 8}, {17, 33}, {224, 224}, {700, 500}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct jpeg_file made[SCAN_FILES_MAX];
        struct scan_files f;
        unsigned n = 0;
        begin(&f);
        for (unsigned k = 0; k < 4; k++)
            for (unsigned i = 0; i < N_ALL_SCRIPTS; i++)
                if (i != TWO_AT_ONCE)
                    made[n++] = make_scans(&samplings[k], script_of(i), sizes[s][0], sizes[s][1]);
        for (unsigned i = 0; i < 2; i++)
            made[n++] = make_scans(&gray, &gray_scripts[i], sizes[s][0], sizes[s][1]);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(add(&f, &made[i]), IH_JPEG_REASON_NONE);
        decode(&f);
        for (unsigned i = 0; i < n; i++) {
            struct reference r = reference_decode(made[i].bytes, made[i].n);
            assert_true(r.is_sound);
            if (is_large(&made[i]) ? f.verdicts[i].faults != IH_JPEG_FAULT_LARGE
                                   : f.verdicts[i].faults || !is_equal(&f, i, &r))
                fail_msg("file %u of %ux%u: faults %x", i, sizes[s][0], sizes[s][1],
                         f.verdicts[i].faults);
            reference_reset(&r);
            free(made[i].bytes);
        }
        end(&f);
    }
}

static void damage(struct jpeg_file *f)
{
    const size_t from = find_data(f), at = from + next_random() % (f->n - from);
    const uint32_t bytes = next_random();
    switch (next_random() % 6) {
    case 0:
        f->n = at;
        break;
    case 1:
        f->bytes[at] = (uint8_t)bytes;
        break;
    case 2:
        splice(f, at, 0, &bytes, 1 + bytes % 3);
        break;
    case 3:
        splice(f, at, at + 4 < f->n ? 1 + bytes % 3 : 0, NULL, 0);
        break;
    default:
        f->bytes[at] ^= (uint8_t)(1u << bytes % 8);
    }
}

/* A damaged file is refused or has a fault, or libjpeg reads it without a warning and the planes
 * are its. The sound files beside it are not affected. */
TEST(no_damage_is_missed)
{
    unsigned n_warned = 0, n_equal = 0;
    for (unsigned i = 0; i < 800; i++) {
        struct jpeg_file made[3];
        struct scan_files f;
        bool is_added = false;
        begin(&f);
        for (unsigned k = 0; k < 3; k++) {
            const unsigned script = (i + k) % N_ALL_SCRIPTS;
            made[k] = make_scans(&samplings[(i / 7 + k) % 4],
                                 script_of(script == TWO_AT_ONCE ? 0 : script),
                                 20 + next_random() % 100, 20 + next_random() % 80);
            if (k == 1)
                damage(&made[k]);
            const bool is = add(&f, &made[k]) == IH_JPEG_REASON_NONE;
            assert_true(is || k == 1);
            is_added |= is && k == 1;
        }
        decode(&f);
        for (unsigned k = 0, image = 0; k < 3; k++) {
            struct reference r = reference_decode(made[k].bytes, made[k].n);
            const bool is = k != 1 || is_added;
            const uint32_t faults = is ? f.verdicts[image].faults : 0;
            n_warned += !r.is_sound;
            n_equal += k == 1 && is && faults == 0;
            if (k != 1 && faults & ~(uint32_t)IH_JPEG_FAULT_LARGE)
                fail_msg("sound file %u of batch %u: faults %x", k, i, faults);
            if (is && faults == 0 && (!r.is_sound || !is_equal(&f, image, &r)))
                fail_msg("file %u of batch %u: libjpeg %s", k, i,
                         r.is_sound ? "gives other planes" : r.warning);
            image += is;
            reference_reset(&r);
            free(made[k].bytes);
        }
        end(&f);
    }
    assert_true(n_warned > 400 && n_equal > 50); /* both were seen */
}

/* ---- which files are taken ---- */

static void check_reason(const struct jpeg_file *f, enum ih_jpeg_reason expected)
{
    const struct outcome o = decode_alone(f->bytes, f->n);
    if (o.reason != expected)
        fail_msg("'%s' instead of '%s'", ih_jpeg_reason_text(o.reason),
                 ih_jpeg_reason_text(expected));
}

/* The scan headers of the standard script, one byte changed. */
TEST(scan_headers)
{
    static const struct {
        int scan;
        unsigned at; /* counted from the marker's 0xFF */
        uint8_t value;
        enum ih_jpeg_reason reason;
    } edits[] = {
        {0, 4, 3, IH_JPEG_REASON_NONE},
        {0, 5, 9, IH_JPEG_REASON_SCANS},    /* another component */
        {0, 6, 0x20, IH_JPEG_REASON_SCANS}, /* another table */
        {0, 12, 1, IH_JPEG_REASON_SCANS},   /* DC and AC */
        {0, 13, 0, IH_JPEG_REASON_SCANS},   /* all bits at once, and then one more */
        {0, 13, 2, IH_JPEG_REASON_SCANS},   /* a bit is missing */
        {1, 5, 2, IH_JPEG_REASON_SCANS},    /* Cb twice */
        {1, 7, 0, IH_JPEG_REASON_SCANS},    /* from DC on */
        {1, 8, 64, IH_JPEG_REASON_SCANS},
        {1, 8, 4, IH_JPEG_REASON_SCANS},    /* a coefficient is missing */
        {1, 9, 0x05, IH_JPEG_REASON_SCANS}, /* more bits than the kernels take */
        {4, 7, 5, IH_JPEG_REASON_SCANS},    /* a coefficient twice */
        {5, 9, 0x20, IH_JPEG_REASON_SCANS}, /* two bits at once */
        {5, 9, 0x10, IH_JPEG_REASON_SCANS}, /* other bits than are missing */
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_scans(&samplings[2], &scripts[0], 40, 30);
        f.bytes[find_scan(&f, edits[i].scan) + edits[i].at] = edits[i].value;
        check_reason(&f, edits[i].reason);
        free(f.bytes);
    }
}

TEST(other_files)
{
    const struct look with_restarts = {.h = 2, .v = 2, .restart_interval = 1};
    struct jpeg_file f = make_scans(&with_restarts, &scripts[0], 40, 30);
    check_reason(&f, IH_JPEG_REASON_SCANS);
    free(f.bytes);
    f = make_scans(&samplings[0], &scripts[TWO_AT_ONCE], 40, 30);
    check_reason(&f, IH_JPEG_REASON_SCANS);
    splice(&f, find_scan(&f, -1), f.n - find_scan(&f, -1), "\xFF\xD9", 2); /* without a scan */
    check_reason(&f, IH_JPEG_REASON_SCANS);
    free(f.bytes);
    f = make_scans(&samplings[0], &scripts[0], 40, 30);
    splice(&f, find_scan(&f, 3), 0, "\xFF\xFE\0\2", 4); /* a comment between scans */
    check_reason(&f, IH_JPEG_REASON_SCANS);
    free(f.bytes);
    f = make_scans(&samplings[0], &scripts[0], 40, 30);
    f.n -= 2; /* EOI */
    check_reason(&f, IH_JPEG_REASON_DATA);
    free(f.bytes);
}

/* Blocks without any difference: the starts of the threads are found late. */
TEST(flat_images)
{
    const struct jpeg_kind flat = {.h = 2, .v = 2, .is_flat = true, .is_progressive = true};
    for (unsigned side = 100; side < 2500; side += 800) {
        struct jpeg_file f = make_jpeg(&flat, side, side);
        const struct outcome o = decode_alone(f.bytes, f.n);
        assert_int_equal(o.reason, IH_JPEG_REASON_NONE);
        assert_int_equal(o.faults, 0);
        free(f.bytes);
    }
}

/* What a session reserves covers what a file takes, for every size. */
TEST(gpu_bytes)
{
    for (unsigned i = 1; i < 400; i += 13) {
        struct jpeg_file f = make_scans(&samplings[i % 4], script_of(i % 5), i, 1 + i * 7 % 400);
        struct scan_files all;
        struct ih_jpeg_plan plan;
        begin(&all);
        assert_int_equal(add(&all, &f), IH_JPEG_REASON_NONE);
        assert_int_equal(ih_jpeg_plan_make(&plan, f.bytes, f.n), IH_JPEG_REASON_NONE);
        const struct ih_gpu_jpeg_scans *s = &all.scans;
        const uint64_t n = s->batch.bits_bytes + 8ull * s->batch.n_intervals +
                           4ull * s->batch.n_chunks + sizeof(struct ih_jpeg_code) * s->n_codes +
                           12ull * s->n_steps + 2ull * s->n_dc + 12ull * s->n_maps +
                           4ull * s->n_progress;
        assert_true(n <= ih_jpeg_plan_gpu_bytes(&plan));
        assert_true(s->batch.planes_bytes <= IH_JPEG_PART_PLANES_BYTES);
        ih_jpeg_plan_reset(&plan);
        end(&all);
        free(f.bytes);
    }
}
