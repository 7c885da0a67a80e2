/* Strings of JSON, of text that may be anything. */
#ifndef IH_OUTPUT_JSON_TEXT_H
#define IH_OUTPUT_JSON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a string that is valid UTF-8 whatever text is, with U+FFFD for each byte that is none. DEL
 * and the C1 controls need no escape in JSON, but a terminal that shows the document obeys them.
 *
 * text   NULL: null
 */
void ih_json_put_text(FILE *f, const char *text);

/* False where ih_json_put_text loses bytes: text is no UTF-8. */
bool ih_json_is_exact(const char *text);

/* Writes the bytes of text as a string of base64. */
void ih_json_put_base64(FILE *f, const char *text);

#endif
