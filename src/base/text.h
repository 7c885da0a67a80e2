/*
 * Names as people see them.
 *
 * A file's name may hold any byte but NUL and '/': newlines, escape sequences that move the cursor,
 * bytes that are no UTF-8. None of them reaches a terminal or a chart as it is.
 */
#ifndef IH_BASE_TEXT_H
#define IH_BASE_TEXT_H

#include <stddef.h>

/*
 * Length in bytes of the well-formed UTF-8 character at text, 1 to 4; 0 where the bytes are none
 * (overlong forms, surrogates and values above U+10FFFF are none). *code_point gets its value.
 * Source: the Unicode Standard, table 3-7.
 */
size_t ih_utf8_length(const char *text, unsigned long *code_point);

/*
 * Copies text with control characters of one byte (C0, DEL) and bytes that are no UTF-8 as \n, \t,
 * \r or \xHH, with those of two (C1) and characters that hide or turn others as \u{202e}, and a
 * backslash doubled, so that no two texts look alike. Cut between characters where dst is full.
 * None of n bytes gets longer than 4n.
 *
 * dst   char [size_bytes], always terminated; size_bytes at least 1
 *
 * Returns the bytes written, without the NUL.
 */
size_t ih_escape(char *dst, size_t size_bytes, const char *text);

enum { IH_ESCAPED_MAX = 4 * 4096 + 1 }; /* holds any path that the system takes, escaped */

#endif
