/* The signatures of the formats whose library a machine may lack. */
#include "decode/signatures.h"

#include <string.h>

bool ih_probe_webp(const uint8_t *head, size_t size)
{
    return size >= 12 && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0;
}

bool ih_probe_tiff(const uint8_t *head, size_t size)
{
    return size >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                         memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

bool ih_probe_gif(const uint8_t *head, size_t size)
{
    return size >= 6 && (memcmp(head, "GIF87a", 6) == 0 || memcmp(head, "GIF89a", 6) == 0);
}

/* The file type box: a size, "ftyp", the main brand, a version, the other brands. */
bool ih_probe_heif(const uint8_t *head, size_t size)
{
    static const char brands[][5] = {"heic", "heix", "heim", "heis", "mif1", "avif"};
    if (size < 12 || memcmp(head + 4, "ftyp", 4) != 0)
        return false;
    size_t end = (size_t)head[2] << 8 | head[3];
    for (size_t at = 8; at + 4 <= size && at + 4 <= end; at += at == 8 ? 8 : 4)
        for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
            if (memcmp(head + at, brands[i], 4) == 0)
                return true;
    return false;
}

/* A bare codestream, or one in a container. */
bool ih_probe_jxl(const uint8_t *head, size_t size)
{
    return (size >= 2 && memcmp(head, "\xFF\x0A", 2) == 0) ||
           (size >= 12 && memcmp(head, "\0\0\0\x0CJXL \x0D\x0A\x87\x0A", 12) == 0);
}
