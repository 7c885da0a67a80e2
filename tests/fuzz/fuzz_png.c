/*
 * Fuzzer of the two PNG paths: the same bytes give the same pixels, or the same error with the same
 * message. Mutations get correct CRCs, and mostly a correct Adler-32 and height, so that they reach
 * the code behind these checks.
 */
#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/png_repair.h"

#ifdef IH_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

enum { INFLATED_MAX = 1 << 18, STREAM_MAX = 1 << 16, ROWS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

struct outcome {
    enum ih_status status;
    char message[IH_MESSAGE_MAX];
    uint64_t n_pixels, hash;
};

static void decode(const uint8_t *bytes, size_t size, uint64_t whole_file_bytes_max,
                   struct outcome *out)
{
    struct ih_budget budget;
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS_FUZZ,
                                              .budget = &budget,
                                              .whole_file_bytes_max = whole_file_bytes_max};
    struct ih_reader src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    memset(out, 0, sizeof *out);
    ih_budget_init(&budget, 1u << 28);
    ih_reader_open_memory(&src, bytes, size);
    out->status = ih_decode_open(&d, &src, &options, &err);
    if (out->status == IH_OK) {
        size_t stripe_bytes = ih_decode_row_bytes(&d) * ROWS, n = 1;
        uint8_t *stripe = malloc(stripe_bytes);
        PROMISED(stripe);
        while (n > 0 &&
               (out->status = ih_decode_read(&d, stripe, stripe_bytes / d.info.layout.n_channels,
                                             &n, &err)) == IH_OK) {
            for (size_t i = 0; i < n * d.info.layout.n_channels; i++) /* FNV-1a */
                out->hash = (out->hash ^ stripe[i]) * 0x100000001b3u;
            out->n_pixels += n;
        }
        free(stripe);
        ih_decode_close(&d);
    }
    if (out->status != IH_OK)
        memcpy(out->message, err.message, sizeof out->message);
    ih_reader_close(&src);
    ih_reader_reset(&src);
    ih_budget_destroy(&budget); /* checks that all was given back */
}

/* The only allowed difference (png/fast.c): Huffman codes that zlib refuses and libdeflate accepts,
 * in a stream with the right Adler-32. */
static bool is_about_huffman_codes(const char *message)
{
    static const char *const texts[] = {"invalid code lengths set",
                                        "invalid literal/lengths set",
                                        "invalid distances set",
                                        "invalid distance code",
                                        "invalid literal/length code",
                                        "missing end-of-block",
                                        "too many length or distance symbols"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strstr(message, texts[i]))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct outcome fast, streamed;
    if (!is_png(bytes, size))
        return 0;
    decode(bytes, size, 0, &fast);
    decode(bytes, size, 1, &streamed);
    if (fast.status == IH_OK && streamed.status == IH_CORRUPT &&
        is_about_huffman_codes(streamed.message))
        return 0;
    if (fast.status != streamed.status || strcmp(fast.message, streamed.message) != 0)
        fprintf(stderr, "fast: '%s', libpng: '%s'\n", fast.message, streamed.message);
    PROMISED(fast.status == streamed.status);
    PROMISED(strcmp(fast.message, streamed.message) == 0);
    if (fast.status == IH_OK) {
        PROMISED(fast.n_pixels == streamed.n_pixels);
        PROMISED(fast.hash == streamed.hash);
    }
    return 0;
}

#ifdef IH_WITH_LIBDEFLATE

/* Copies the data of all IDAT chunks to stream, or back. */
static size_t copy_stream(uint8_t *bytes, size_t size, uint8_t *stream, bool is_back)
{
    size_t at = 8, n = 0;
    uint32_t length;
    uint8_t *name;
    while ((name = next_png_chunk(bytes, size, &at, &length))) {
        if (memcmp(name, "IDAT", 4) != 0)
            continue;
        if (length > STREAM_MAX - n)
            break;
        if (is_back)
            memcpy(name + 4, stream + n, length);
        else
            memcpy(stream + n, name + 4, length);
        n += length;
    }
    return n;
}

/* Sets the height to the number of rows inflated. */
static void repair_height(uint8_t *bytes, size_t size, size_t n_inflated)
{
    static const uint8_t n_samples[7] = {1, 0, 3, 1, 2, 0, 4};
    if (size < 33 || bytes[25] > 6)
        return;
    uint64_t bits = (uint64_t)load_be32(bytes + 16) * n_samples[bytes[25]] * bytes[24];
    uint64_t height = n_inflated / ((bits + 7) / 8 + 1);
    for (int i = 0; i < 4; i++)
        bytes[20 + i] = (uint8_t)(height >> (24 - 8 * i));
}

/* Corrects the check bits of the stream's header, its Adler-32, and the height. */
static void repair_stream(uint8_t *bytes, size_t size)
{
    static uint8_t stream[STREAM_MAX], inflated[INFLATED_MAX];
    size_t n_in, n_out, n = is_png(bytes, size) ? copy_stream(bytes, size, stream, false) : 0;
    if (n < 6)
        return;
    stream[1] = (uint8_t)(stream[1] & 0xc0);
    stream[1] = (uint8_t)(stream[1] + (31 - (stream[0] * 256 + stream[1]) % 31) % 31);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (d && libdeflate_deflate_decompress_ex(d, stream + 2, n - 2, inflated, sizeof inflated,
                                              &n_in, &n_out) == LIBDEFLATE_SUCCESS) {
        uint32_t adler = libdeflate_adler32(1, inflated, n_out);
        for (size_t i = 0; i < 4 && 2 + n_in + i < n; i++)
            stream[2 + n_in + i] = (uint8_t)(adler >> (24 - 8 * i));
        repair_height(bytes, size, n_out);
    }
    libdeflate_free_decompressor(d);
    copy_stream(bytes, size, stream, true);
}

#else

static void repair_stream(uint8_t *bytes, size_t size)
{
    (void)bytes, (void)size;
}

#endif

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 4 != 0) /* sometimes leave it wrong */
        repair_stream(bytes, size);
    if (seed % 16 != 1)
        repair_png(bytes, size);
    return size;
}
