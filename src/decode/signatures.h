/*
 * The signatures of the formats whose library a machine may lack. They are not in the decoders, so
 * that a build without one can say which library it takes to read a file.
 */
#ifndef IH_DECODE_SIGNATURES_H
#define IH_DECODE_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As a decoder's probe. */
bool ih_probe_webp(const uint8_t *head, size_t size_bytes);
bool ih_probe_tiff(const uint8_t *head, size_t size_bytes);
bool ih_probe_gif(const uint8_t *head, size_t size_bytes);
bool ih_probe_heif(const uint8_t *head, size_t size_bytes);
bool ih_probe_jxl(const uint8_t *head, size_t size_bytes);

#endif
