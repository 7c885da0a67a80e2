/*
 * Fuzzes the JPEG validator. Its verdict must be that of reading bit by bit, with one workspace for
 * all inputs. The CPU decodes every file that passes without an error, and the stream for the
 * hardware decoders gives the same pixels. Half of the mutations leave the header and EOI alone and
 * change only the image data.
 */
#include "decode/decoder.h"
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
    static struct ih_jpeg_workspace *workspace;
    struct ih_jpeg_plan plan;
    const enum ih_jpeg_reason of_header = ih_jpeg_validate_header(bytes, size, &plan);
    if (of_header != IH_JPEG_REASON_NONE) {
        PROMISED(*ih_jpeg_reason_text(of_header));
        PROMISED(ih_jpeg_validate(bytes, size, &plan, &workspace) == of_header);
        return 0;
    }
    const bool is_sound = bitwise_is_sound(&plan);
    PROMISED((ih_jpeg_validate(bytes, size, &plan, &workspace) == IH_JPEG_REASON_NONE) == is_sound);
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
    PROMISED(ih_jpeg_validate(stream, plan.stream_bytes, &plan, &workspace) == IH_JPEG_REASON_NONE);
    free(stream);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    struct ih_jpeg_plan plan;
    if (seed % 2 == 0 || ih_jpeg_validate_header(bytes, size, &plan) != IH_JPEG_REASON_NONE)
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
