/* Reading UTF-8 one code point at a time (The Unicode Standard, table 3-7: the well-formed byte
 * sequences; no surrogates, no overlong forms, nothing above U+10FFFF). */
#ifndef IH_OUTPUT_UTF8_H
#define IH_OUTPUT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The code point that the NUL-terminated text begins with.
 *
 * *code_point   set where the bytes are well-formed
 *
 * Returns its length in bytes, 1 to 4; 0 where the first byte begins no well-formed sequence.
 */
size_t ih_utf8_decode(const char *text, uint32_t *code_point);

#endif
