#include "histogram/band_names.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are no UTF-8 become U+FFFD, as in JSON, and control characters spaces. Spaces around
 * the name are dropped. */
static void clean(char name[IH_BAND_NAME_BYTES], const char *text)
{
    size_t n = 0, n_read;
    for (; *text; text += n_read) {
        unsigned long c = 0xFFFD;
        const size_t n_valid = ih_utf8_length(text, &c);
        const bool is_space = n_valid > 0 && (c <= ' ' || (c >= 0x7F && c < 0xA0));
        const char *const from = n_valid == 0 ? "\xEF\xBF\xBD" : is_space ? " " : text;
        const size_t n_written = n_valid == 0 ? 3 : is_space ? 1 : n_valid;
        n_read = n_valid > 0 ? n_valid : 1;
        if (is_space && n == 0)
            continue;
        if (n + n_written >= IH_BAND_NAME_BYTES)
            break;
        memcpy(name + n, from, n_written);
        n += n_written;
    }
    while (n > 0 && name[n - 1] == ' ')
        n--;
    memset(name + n, 0, IH_BAND_NAME_BYTES - n);
}

enum ih_status ih_band_name_set(struct ih_band_name **names, unsigned n_channels, unsigned channel,
                                const char *text, struct ih_error *err)
{
    struct ih_band_name name = {.number = 0};
    clean(name.text, text);
    return *name.text ? ih_band_copy(names, n_channels, channel, &name, 0, false, err) : IH_OK;
}

enum ih_status ih_band_copy(struct ih_band_name **names, unsigned n_channels, unsigned to,
                            const struct ih_band_name *others, unsigned from, bool has_number,
                            struct ih_error *err)
{
    const bool has_name = others && *others[from].text;
    if (!has_name && !has_number)
        return IH_OK;
    if (!*names)
        *names = calloc(n_channels, sizeof **names);
    if (!*names)
        return ih_error_set(err, IH_MEMORY, "no memory for the names of bands");
    if (has_name)
        memcpy((*names)[to].text, others[from].text, IH_BAND_NAME_BYTES);
    (*names)[to].number = has_number ? (uint16_t)(from + 1) : (*names)[to].number;
    return IH_OK;
}

void ih_band_names_reset(struct ih_band_name **names)
{
    free(*names);
    *names = NULL;
}

enum ih_status ih_band_names_copy(struct ih_band_name **copy, const struct ih_band_name *from,
                                  unsigned n_channels, struct ih_error *err)
{
    *copy = from ? malloc(n_channels * sizeof *from) : NULL;
    if (*copy)
        memcpy(*copy, from, n_channels * sizeof *from);
    return *copy || !from ? IH_OK
                          : ih_error_set(err, IH_MEMORY, "no memory for the names of bands");
}

void ih_band_names_join(struct ih_band_name **names, unsigned n_channels,
                        const struct ih_band_name *others, unsigned n_others)
{
    bool are_same = n_channels == n_others && others;
    for (unsigned i = 0; i < n_channels && *names && are_same; i++)
        are_same = strcmp((*names)[i].text, others[i].text) == 0;
    for (unsigned i = 0; i < n_channels && *names && !are_same; i++)
        memset((*names)[i].text, 0, IH_BAND_NAME_BYTES);
}

bool ih_band_numbers_are_same(const struct ih_band_name *a, const struct ih_band_name *b,
                              unsigned n_channels)
{
    bool are_same = true;
    for (unsigned i = 0; i < n_channels; i++)
        are_same = are_same && (a ? a[i].number : 0) == (b ? b[i].number : 0);
    return are_same;
}
