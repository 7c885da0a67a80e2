/*
 * From the primary item of a HEIF to the properties that say what its samples are: meta holds pitm
 * (which item), and iprp: ipco (a list of properties) and ipma (which of them an item has, by their
 * number). ISO/IEC 14496-12 (boxes), 23008-12 (items), 14496-15 (hvcC), and AV1-ISOBMFF (av1C).
 */
#include "decode/heif_boxes.h"

#include <string.h>

/* Bytes that are left to read; n is 0 at the end, and after something that does not fit. */
struct span {
    const uint8_t *p;
    size_t n;
};

static uint64_t take(struct span *s, unsigned n_bytes)
{
    uint64_t value = 0;
    if (s->n < n_bytes) {
        s->n = 0;
        return 0;
    }
    for (unsigned i = 0; i < n_bytes; i++)
        value = value << 8 | s->p[i];
    s->p += n_bytes;
    s->n -= n_bytes;
    return value;
}

/* The next box in s, which moves behind it. False at the end. */
static bool next_box(struct span *s, char type[4], struct span *content)
{
    const struct span box = *s;
    if (s->n < 8)
        return false;
    uint64_t size = take(s, 4);
    memcpy(type, s->p, 4);
    take(s, 4);
    if (size == 1)
        size = take(s, 8);
    else if (size == 0) /* to the end */
        size = box.n;
    const size_t header_bytes = box.n - s->n;
    if (size < header_bytes || size > box.n)
        return false;
    *content = (struct span){s->p, (size_t)size - header_bytes};
    *s = (struct span){box.p + size, box.n - (size_t)size};
    return true;
}

/* The first box of this type in s; empty where there is none. */
static struct span find_box(struct span s, const char *wanted)
{
    char type[4];
    struct span content;
    while (next_box(&s, type, &content))
        if (memcmp(type, wanted, 4) == 0)
            return content;
    return (struct span){NULL, 0};
}

/* What the property of this number, from 1 on, says: 1 gray, 0 not, -1 nothing. */
static int property_is_gray(struct span ipco, uint64_t number)
{
    enum { AV1_MONOCHROME = 0x10, AV1_AT = 2, HEVC_CHROMA = 3, HEVC_AT = 16, FULL_BOX = 4 };
    char type[4] = "";
    struct span box = {NULL, 0};
    for (; number > 0; number--)
        if (!next_box(&ipco, type, &box))
            return -1;
    if (memcmp(type, "av1C", 4) == 0 && box.n > AV1_AT)
        return (box.p[AV1_AT] & AV1_MONOCHROME) != 0;
    if (memcmp(type, "hvcC", 4) == 0 && box.n > HEVC_AT)
        return (box.p[HEVC_AT] & HEVC_CHROMA) == 0;
    if (memcmp(type, "pixi", 4) == 0 && box.n > FULL_BOX)
        return box.p[FULL_BOX] == 1 ? 1 : -1; /* some writers say 3 of gray */
    return -1;
}

/* The properties that one ipma gives the item. The codec's word counts, not what stands beside. */
static int item_is_gray(struct span ipma, struct span ipco, uint64_t item)
{
    const uint64_t version = take(&ipma, 1), flags = take(&ipma, 3);
    uint64_t n_items = take(&ipma, 4);
    int is_gray = -1;
    for (; n_items > 0 && ipma.n > 0; n_items--) {
        const uint64_t id = take(&ipma, version == 0 ? 2 : 4);
        uint64_t n_properties = take(&ipma, 1);
        for (; n_properties > 0 && ipma.n > 0; n_properties--) {
            const uint64_t number =
                flags & 1 ? take(&ipma, 2) & 0x7FFF : take(&ipma, 1) & 0x7F; /* and "essential" */
            const int says = id == item ? property_is_gray(ipco, number) : -1;
            if (says >= 0 && is_gray != 0)
                is_gray = says;
        }
    }
    return is_gray;
}

bool ih_heif_is_monochrome(const uint8_t *file, size_t size_bytes)
{
    struct span meta = find_box((struct span){file, size_bytes}, "meta");
    take(&meta, 4); /* version and flags */
    struct span pitm = find_box(meta, "pitm"), iprp = find_box(meta, "iprp");
    const struct span ipco = find_box(iprp, "ipco");
    const uint64_t version = take(&pitm, 1);
    take(&pitm, 3);
    const uint64_t item = take(&pitm, version == 0 ? 2 : 4);
    char type[4];
    struct span box;
    while (next_box(&iprp, type, &box)) {
        const int is_gray = memcmp(type, "ipma", 4) == 0 ? item_is_gray(box, ipco, item) : -1;
        if (is_gray >= 0)
            return is_gray == 1;
    }
    return false;
}
