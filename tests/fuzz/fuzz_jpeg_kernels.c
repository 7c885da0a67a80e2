/*
 * Fuzzes what a thread of the JPEG kernels does, on the CPU. An input lies in a batch between two
 * copies of a sound file; a progressive one is alone. Without a fault, libjpeg reads it without a
 * warning and to the same planes; the sound files never have a fault. Half of the mutations change
 * only the entropy-coded data.
 */
#define EMULATED_THREADS 4 /* a thread block decodes a kilobyte */

#include "decode/jpeg/markers.h"
#include "tests/support/jpeg_batch.h"

enum { PIXELS_MAX = 1 << 16, SOUND_SIDE = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

/* A slope, 4:2:0, with the standard's codes, which most inputs have too. */
static size_t make_sound(uint8_t **bytes)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, bytes, &n);
    c.image_width = c.image_height = SOUND_SIDE;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        uint8_t row[3 * SOUND_SIDE], *rows[] = {row};
        for (unsigned i = 0; i < sizeof row; i++)
            row[i] = (uint8_t)(i * 2 + c.next_scanline * 5);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n;
}

/* Whether the kernels take a file, and it is small enough for a fuzzer. */
static bool is_taken(const uint8_t *bytes, size_t size, bool *is_progressive)
{
    struct ih_jpeg_plan plan;
    const enum ih_jpeg_reason reason = ih_jpeg_plan_make(&plan, bytes, size);
    ih_jpeg_plan_reset(&plan);
    *is_progressive = plan.is_progressive;
    return reason == IH_JPEG_REASON_NONE && (uint64_t)plan.width * plan.height <= PIXELS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t *sound;
    static size_t n_sound;
    static struct files f;
    bool is_progressive;
    if (!is_taken(bytes, size, &is_progressive))
        return 0;
    if (is_progressive) {
        decode_alone(bytes, size);
        return 0;
    }
    if (!sound) {
        n_sound = make_sound(&sound);
        begin_files(&f);
    }
    PROMISED(add_file(&f, sound, n_sound) == IH_JPEG_REASON_NONE);
    PROMISED(add_file(&f, bytes, size) == IH_JPEG_REASON_NONE);
    PROMISED(add_file(&f, sound, n_sound) == IH_JPEG_REASON_NONE);
    decode_files(&f);
    PROMISED(is_right(&f, 1, bytes, size));
    for (uint32_t i = 0; i < 3; i += 2)
        PROMISED(f.verdicts[i].faults == 0 && is_right(&f, i, sound, n_sound));
    empty_files(&f);
    return 0;
}

/* Finds the entropy-coded data of a restart interval, or of a scan without intervals: [*from,
 * *end).
 */
static bool find_data(const uint8_t *bytes, size_t size, unsigned n, size_t *from, size_t *end)
{
    struct ih_jpeg_plan plan;
    const bool is_planned = ih_jpeg_plan_make(&plan, bytes, size) == IH_JPEG_REASON_NONE;
    if (is_planned && plan.is_progressive) {
        *from = plan.scans[n % plan.n_scans].offset;
        *end = *from + plan.scans[n % plan.n_scans].n_bytes;
    } else if (is_planned) {
        const uint32_t i = n % plan.n_intervals;
        *from = i == 0 ? plan.data_offset : plan.interval_ends[i - 1] + IH_JPEG_MARKER_BYTES;
        *end = i + 1 < plan.n_intervals ? plan.interval_ends[i] : size;
        if (*end == size && size - *from > 2 && bytes[size - 2] == 0xFF && bytes[size - 1] == 0xD9)
            *end -= IH_JPEG_MARKER_BYTES;
    }
    ih_jpeg_plan_reset(&plan);
    return is_planned;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size_t from, end;
    if (seed % 2 == 0 || !find_data(bytes, size, seed / 2, &from, &end))
        return LLVMFuzzerMutate(bytes, size, max_size);
    const size_t n_after = size - end;
    uint8_t *after = malloc(n_after + 1);
    PROMISED(after);
    memcpy(after, bytes + end, n_after);
    end = from + LLVMFuzzerMutate(bytes + from, end - from, max_size - from - n_after);
    if (seed % 16 != 1) /* leave some markers in the data */
        for (size_t at = from; at < end; at++)
            if (bytes[at] == 0xFF)
                bytes[at + 1 < end ? ++at : at] = 0;
    memcpy(bytes + end, after, n_after);
    free(after);
    return end + n_after;
}
