/*
 * The names that a file has for its channels ("NIR"), shown beside our own ("band4").
 *
 * A decoder gives them to ih_image_info.band_names; the histogram of a result has them from then
 * on. A total keeps them if all its images have the same.
 */
#ifndef IH_HISTOGRAM_BAND_NAMES_H
#define IH_HISTOGRAM_BAND_NAMES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { IH_BAND_NAME_BYTES = 128 };

/* text: well-formed UTF-8 without control characters, perhaps empty. May hold characters that
 * ih_escape escapes. */
struct ih_band_name {
    char text[IH_BAND_NAME_BYTES];
    uint16_t number; /* from 1, of the stored band, if it is not the channel's place (--bands); 0 */
};

/*
 * Names a channel.
 *
 * names       *names: [n_channels], owned by the caller; NULL: no channel has a name yet
 * n_channels  always the same for *names
 * channel     its place in the pixels that the decoder gives, below n_channels
 * text        any bytes up to a NUL; too long a name is cut, an empty one is none
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_band_name_set(struct ih_band_name **names, unsigned n_channels, unsigned channel,
                                const char *text, struct ih_error *err);

/* Gives channel `to` of *names the name of channel `from` in others (NULL: no names), and with
 * has_number its number too. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_band_copy(struct ih_band_name **names, unsigned n_channels, unsigned to,
                            const struct ih_band_name *others, unsigned from, bool has_number,
                            struct ih_error *err);

/* Releases the names and sets them to NULL. */
void ih_band_names_reset(struct ih_band_name **names);

/* *copy: owned by the caller; NULL if from is. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_band_names_copy(struct ih_band_name **copy, const struct ih_band_name *from,
                                  unsigned n_channels, struct ih_error *err);

/* Drops the names that are not the same in both, all or none; NULL: no names. Numbers stay. */
void ih_band_names_join(struct ih_band_name **names, unsigned n_channels,
                        const struct ih_band_name *others, unsigned n_others);

/* Whether the channels have the same numbers in both. */
bool ih_band_numbers_are_same(const struct ih_band_name *a, const struct ih_band_name *b,
                              unsigned n_channels);

#endif
