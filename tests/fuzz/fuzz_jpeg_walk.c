/*
 * Fuzzer of the JPEG walk: its verdict is that of reading bit by bit; what it lets pass, the
 * decoder on the processor takes without an error, and the stream for the engines decodes to the
 * same pixels. Half of its mutations leave the header and EOI alone, so that what is inside the
 * data counts.
 */
#include "decode/decoder.h"
#include "jpeg_gpu/lanes.h"
#include "jpeg_gpu/validate.h"
#include "tests/fuzz/jpeg_bitwise.h"
#include "tests/fuzz/promised.h"

#include <string.h>

enum { PIXELS_MAX = 1 << 20, ROWS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

struct outcome {
    enum ih_status status;
    uint64_t n_pixels, width, height, hash;
    unsigned n_channels;
};

static struct outcome decode(const uint8_t *bytes, size_t size)
{
    const struct ih_decode_options options = {.max_pixels = PIXELS_MAX};
    struct outcome out = {IH_OK, 0, 0, 0, 0, 0};
    struct ih_source src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    ih_source_open_memory(&src, bytes, size);
    out.status = ih_decode_open(&d, &src, &options, &err);
    if (out.status == IH_OK) {
        size_t band_bytes = ih_decode_row_bytes(&d) * ROWS, n = 1;
        uint8_t *band = malloc(band_bytes);
        PROMISED(band);
        out.width = d.info.width;
        out.height = d.info.height;
        out.n_channels = d.info.n_channels;
        while (n > 0 && (out.status = ih_decode_read(&d, band, band_bytes / out.n_channels, &n,
                                                     &err)) == IH_OK) {
            for (size_t i = 0; i < n * out.n_channels; i++) /* FNV-1a */
                out.hash = (out.hash ^ band[i]) * 0x100000001b3u;
            out.n_pixels += n;
        }
        free(band);
        ih_decode_close(&d);
    }
    if (out.status != IH_OK)
        fprintf(stderr, "%s\n", err.message);
    ih_source_reset(&src);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ih_jpeg_plan plan;
    const char *why_not = NULL;
    if (!ih_jpeg_walk_header(bytes, size, &plan, &why_not)) {
        PROMISED(why_not && *why_not);
        PROMISED(!ih_jpeg_walk(bytes, size, &plan, &why_not));
        return 0;
    }
    struct ih_jpeg_plan lanes = plan;
    bool is_sound = bitwise_walk(&plan);
    bool is_yes =
        ih_jpeg_lanes_walk(&lanes); /* of any size, where the walk takes only large ones */
    PROMISED(is_sound || !is_yes);
    PROMISED(ih_jpeg_walk(bytes, size, &plan, &why_not) == is_sound);
    PROMISED(is_sound || (why_not && *why_not));
    PROMISED(!is_yes || lanes.data_bytes == plan.data_bytes);
    if (!is_sound || (uint64_t)plan.width * plan.height > PIXELS_MAX)
        return 0;
    uint8_t *stream = malloc(plan.stream_bytes);
    PROMISED(stream);
    ih_jpeg_plan_write(&plan, stream);
    struct outcome file = decode(bytes, size), anew = decode(stream, plan.stream_bytes);
    PROMISED(file.status == IH_OK && anew.status == IH_OK);
    PROMISED(file.n_pixels == (uint64_t)plan.width * plan.height);
    PROMISED(file.width == plan.width && file.height == plan.height);
    PROMISED(file.n_channels == plan.n_components);
    PROMISED(file.n_pixels == anew.n_pixels && file.hash == anew.hash);
    PROMISED(ih_jpeg_walk(stream, plan.stream_bytes, &plan, &why_not));
    free(stream);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    struct ih_jpeg_plan plan;
    const char *why_not;
    if (seed % 2 == 0 || !ih_jpeg_walk_header(bytes, size, &plan, &why_not))
        return LLVMFuzzerMutate(bytes, size, max_size);
    size_t at = (size_t)(plan.data - bytes), n = size - at;
    if (n >= 2 && bytes[size - 2] == 0xFF && bytes[size - 1] == 0xD9)
        n -= 2;
    if (max_size - at < 3)
        return size;
    n = LLVMFuzzerMutate(bytes + at, n, max_size - at - 2);
    bytes[at + n] = 0xFF;
    bytes[at + n + 1] = 0xD9;
    return at + n + 2;
}
