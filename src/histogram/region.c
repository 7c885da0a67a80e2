#include "histogram/region.h"

#include <inttypes.h>
#include <stdio.h>

/* Larger than any image; so no product and no sum overflows. */
#define LENGTH_MAX ((uint64_t)1 << 40)

/* Reads a number and perhaps "%". False: it is neither. */
static bool take_length(const char **text, uint64_t *n, bool *is_percent)
{
    const char *p = *text;
    for (*n = 0; *p >= '0' && *p <= '9'; p++) {
        *n = *n * 10 + (uint64_t)(*p - '0');
        if (*n > LENGTH_MAX)
            return false;
    }
    const bool has_digits = p != *text;
    *is_percent = *p == '%';
    *text = p + *is_percent;
    return has_digits && !(*is_percent && *n > 100);
}

enum ih_status ih_region_parse(const char *text, struct ih_region *r, struct ih_error *err)
{
    const char *p = text;
    const bool is_read = take_length(&p, &r->size[0], &r->is_size_percent[0]) && *p++ == 'x' &&
                         take_length(&p, &r->size[1], &r->is_size_percent[1]) && *p++ == '+' &&
                         take_length(&p, &r->start[0], &r->is_start_percent[0]) && *p++ == '+' &&
                         take_length(&p, &r->start[1], &r->is_start_percent[1]) && *p == '\0';
    if (!is_read)
        return ih_error_set(err, IH_USAGE,
                            "'%.40s' is not WxH+X+Y, in pixels or percent, as 50%%x50%%+25%%+25%%",
                            text);
    for (unsigned i = 0; i < 2; i++) {
        if (r->size[i] == 0)
            return ih_error_set(err, IH_USAGE, "'%.40s' has no pixels", text);
        if (r->is_size_percent[i] && r->is_start_percent[i] && r->size[i] + r->start[i] > 100)
            return ih_error_set(err, IH_USAGE, "'%.40s' ends outside the image", text);
    }
    snprintf(r->text, sizeof r->text, "%" PRIu64 "%sx%" PRIu64 "%s+%" PRIu64 "%s+%" PRIu64 "%s",
             r->size[0], r->is_size_percent[0] ? "%" : "", r->size[1],
             r->is_size_percent[1] ? "%" : "", r->start[0], r->is_start_percent[0] ? "%" : "",
             r->start[1], r->is_start_percent[1] ? "%" : "");
    return IH_OK;
}

/* floor(percent * length / 100), without overflow. */
static uint64_t share(uint64_t percent, uint64_t length)
{
    return length / 100 * percent + length % 100 * percent / 100;
}

enum ih_status ih_region_place(const struct ih_region *r, uint64_t width, uint64_t height,
                               struct ih_rectangle *to, struct ih_error *err)
{
    const uint64_t lengths[2] = {width, height};
    uint64_t start[2], size[2];
    bool is_inside = true;
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t n = lengths[i], percent = r->size[i];
        start[i] = r->is_start_percent[i] ? share(r->start[i], n) : r->start[i];
        size[i] = !r->is_size_percent[i]   ? r->size[i]
                  : r->is_start_percent[i] ? share(r->start[i] + percent, n) - start[i]
                                           : share(percent, n);
        is_inside = is_inside && start[i] < n && size[i] <= n - start[i] && size[i] > 0;
    }
    const bool is_rounded_away = start[0] < width && start[1] < height && !(size[0] && size[1]);
    if (!is_inside)
        return ih_error_set(err, IH_LIMIT,
                            "the region %s does not lie in the image of %llu x %llu pixels%s",
                            r->text, (unsigned long long)width, (unsigned long long)height,
                            is_rounded_away ? ": its percentage is less than a pixel" : "");
    *to = (struct ih_rectangle){start[0], start[1], size[0], size[1]};
    return IH_OK;
}
