/* What is asked of a HEIF's boxes before libheif decodes it, and what versions in use do not say.
 */
#ifndef IH_DECODE_HEIF_BOXES_H
#define IH_DECODE_HEIF_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the configuration of the primary image's codec, or for a grid the number of its channels,
 * says that it is gray. False where the boxes make no sense. */
bool ih_heif_is_monochrome(const uint8_t *file, size_t size_bytes);

#endif
