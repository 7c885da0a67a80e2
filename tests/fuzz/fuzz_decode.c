/*
 * Fuzzer of all decoders: the input is a file's contents.
 *
 * PNG protects each chunk with a CRC, behind which random damage never reaches the code of
 * interest: libpng refuses the chunk first. So mutations of a PNG get their CRCs put right.
 */
#include "tests/fuzz/decode_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 0);
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 1 + size % IH_CHANNELS_MAX);
    return 0;
}

/* CRC-32 of ISO 3309, bit by bit: PNG specification, annex D. */
static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A chunk is its length, a name of 4 bytes, the data, and the CRC of name and data. */
static void repair_png(uint8_t *bytes, size_t size)
{
    size_t at = 8;
    if (size < at || memcmp(bytes, "\x89PNG\r\n\x1a\n", at) != 0)
        return;
    while (size - at >= 12) {
        uint32_t length = load_be32(bytes + at);
        if (length > size - at - 12)
            return;
        uint32_t crc = crc32_of(bytes + at + 4, length + 4);
        at += 8 + length;
        for (int i = 0; i < 4; i++)
            bytes[at++] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 16 != 0) /* a wrong CRC has to be seen now and then */
        repair_png(bytes, size);
    return size;
}
