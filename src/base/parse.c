#include "base/parse.h"

#include <string.h>

bool ih_parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *number)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > max || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (p == text)
        return false;
    if (is_scaled && *p) {
        unsigned shift = *p == 'k' || *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
        if (shift == 0 || n > max >> shift)
            return false;
        n <<= shift;
        p++;
    }
    *number = n;
    return *p == '\0';
}

bool ih_parse_ordinals(const char *list, int *ordinals, size_t n_max, unsigned *n)
{
    *n = 0;
    for (unsigned n_read = 0;;) {
        char text[8] = "";
        uint64_t ordinal;
        size_t size = strcspn(list, ",");
        if (n_read == n_max || size >= sizeof text)
            return false;
        memcpy(text, list, size);
        if (!ih_parse_number(text, false, IH_ORDINAL_MAX, &ordinal))
            return false;
        for (unsigned i = 0; i < n_read; i++)
            if (ordinals[i] == (int)ordinal)
                return false;
        ordinals[n_read++] = (int)ordinal;
        if (list[size] == '\0') {
            *n = n_read;
            return true;
        }
        list += size + 1;
    }
}
