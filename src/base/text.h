/*
 * Text from outside: names of files, shown safely, and the numbers in options and settings.
 *
 * A file's name may hold any byte but NUL and '/': newlines, escape sequences that move the cursor,
 * bytes that are not UTF-8. ih_escape makes them safe for terminals and charts.
 */
#ifndef IH_BASE_TEXT_H
#define IH_BASE_TEXT_H

#include "base/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Length in bytes of the well-formed UTF-8 character at text, 1 to 4, or 0 if the bytes are not
 * well-formed: overlong forms, surrogates and values above U+10FFFF are not. Stores the
 * character's value in *code_point. Source: the Unicode Standard, table 3-7.
 */
size_t ih_utf8_length(const char *text, unsigned long *code_point);

/*
 * Copies text and escapes what a terminal must not see, so that no two texts look alike:
 *
 * - control characters of one byte (C0, DEL) and bytes that are not UTF-8, as \n, \t, \r or \xHH;
 * - those of two bytes (C1), and characters that hide or reorder others, as \u{202e};
 * - a backslash, doubled.
 *
 * The copy ends between two characters when dst is full. n bytes grow to at most 4n.
 *
 * dst   char [size_bytes], always terminated; size_bytes is at least 1
 *
 * Returns the number of bytes written, without the NUL.
 */
size_t ih_escape(char *dst, size_t size_bytes, const char *text);

/* The same for messages: if the copy does not fit, it is the start of text, "...", and its end,
 * which is twice as long. size_bytes is at least 64. */
size_t ih_escape_short(char *dst, size_t size_bytes, const char *text);

enum { IH_SHOWN_MAX = 5 * 80 + 1 }; /* a path in a message: five lines, and room for any name */

/* Cuts an incomplete UTF-8 character off the end of a text that was cut. */
void ih_utf8_trim(char *text);

enum { IH_ESCAPED_MAX = 4 * IH_PATH_BYTES_MAX + 1 }; /* any path, escaped */

/* Reads an integer of at most max: decimal digits only, without sign or blanks. With is_scaled one
 * of k, M, G may follow, powers of 1024. Returns false for any other text; *number is then
 * undefined. */
bool ih_parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *number);

/*
 * Whether the n letters of name may be mistyped for word: they are its beginning, or at most one
 * edit for every three letters (a rest of two is three) away from it. An edit inserts, removes or
 * changes a letter, or swaps two neighbours. Upper case in name counts as lower case.
 *
 * *fewest   edits of the nearest word so far, UINT_MAX at first; false if word is not nearer
 */
bool ih_word_is_nearer(const char *name, size_t n, const char *word, unsigned *fewest);

/*
 * Formats v with 6 decimals and a decimal point in every locale, rounded to nearest; "" for NaN.
 * Returns the end of the text.
 *
 * v      finite or NaN, |v| < 1.8e19; above 9e9 a double holds no millionths: they are 0
 * text   char [IH_REAL_MAX]
 */
enum { IH_REAL_MAX = 32 };
char *ih_put_real(char *text, double v);

/* The same with so many significant digits, or as few as give the same float back. */
char *ih_put_digits(char *text, double v, unsigned n_digits);
char *ih_put_float(char *text, double v);

/*
 * Writes n in decimal digits, without a NUL, and returns the end of the text. A record has more
 * than 1,000 counts, and printf takes seven times as long.
 *
 * text   char [IH_COUNT_MAX]
 */
enum { IH_COUNT_MAX = 20 };
char *ih_format_count(char *text, uint64_t n);

/*
 * A stream into memory, as of open_memstream, which may lose bytes and succeed: glibc tells in
 * errno alone that there was no memory for them.
 *
 * *bytes   of malloc, after the stream is closed
 *
 * errno is 0 before the first write. ih_memory_stream_close returns false if bytes were lost. Then
 * *bytes is NULL.
 */
FILE *ih_memory_stream(char **bytes, size_t *n);
bool ih_memory_stream_has_failed(FILE *stream);
bool ih_memory_stream_close(FILE *stream, char **bytes);

/* Continues a hash with n bytes. Source: FNV-1a of Fowler, Noll and Vo, 64 bits. */
#define IH_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t ih_hash(uint64_t hash, const void *bytes, size_t n);
uint64_t ih_hash_number(uint64_t hash, uint64_t n);
uint64_t ih_hash_text(uint64_t hash, const char *text); /* with its end; NULL: nothing */

enum { IH_ORDINAL_MAX = 1023 }; /* more GPUs than any machine has */

/*
 * Reads a list of CUDA's GPU numbers, "0" or "0,2", without repetition.
 *
 * ordinals   int [n_max]
 * *n         how many the list has; 0 after a failure
 */
bool ih_parse_ordinals(const char *list, int *ordinals, size_t n_max, unsigned *n);

#endif
