/* The font of the charts, DejaVu Sans, compiled in by embed.sh. */
#ifndef IH_FONT_H
#define IH_FONT_H

extern const unsigned char ih_font[]; /* a TrueType file */
extern const unsigned long ih_font_bytes;

#endif
