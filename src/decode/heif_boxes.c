#include "decode/heif_boxes.h"

#include "decode/boxes.h"

#include <string.h>

enum {
    FULL_BOX = 4,      /* bytes of version and flags */
    AUXILIARY_MAX = 64 /* images beside one that are looked at; files have a few */
};

struct property {
    char type[4];
    struct ih_span content;
};

struct properties {
    unsigned n;
    struct property list[256];
};

/* Adds the properties that a box ipma lists for the item. */
static void add_properties(struct ih_span ipma, struct ih_span ipco, uint64_t item,
                           struct properties *to)
{
    const uint64_t version = ih_span_take(&ipma, 1), flags = ih_span_take(&ipma, 3);
    uint64_t n_items = ih_span_take(&ipma, 4);
    for (; n_items > 0 && ipma.n > 0; n_items--) {
        const uint64_t id = ih_span_take(&ipma, version == 0 ? 2 : 4);
        uint64_t n_properties = ih_span_take(&ipma, 1);
        for (; n_properties > 0 && ipma.n > 0; n_properties--) {
            uint64_t number = flags & 1
                                  ? ih_span_take(&ipma, 2) & 0x7FFF
                                  : ih_span_take(&ipma, 1) & 0x7F; /* the top bit: "essential" */
            struct ih_span left = ipco;
            if (id != item || to->n == sizeof to->list / sizeof to->list[0] || number == 0)
                continue;
            struct property *p = &to->list[to->n++];
            while (number > 0 && ih_box_next(&left, p->type, &p->content))
                number--;
            if (number > 0) /* there is no such property */
                *p = (struct property){.type = ""};
        }
    }
}

/* Lists the properties of an item in their order. None if the boxes make no sense. */
static void list_properties(struct ih_span meta, uint64_t item, struct properties *to)
{
    struct ih_span iprp = ih_box_find(meta, "iprp"), box;
    const struct ih_span ipco = ih_box_find(iprp, "ipco");
    char type[4];
    to->n = 0;
    while (ih_box_next(&iprp, type, &box))
        if (ih_box_is(type, "ipma"))
            add_properties(box, ipco, item, to);
}

/* Whether the property states that the image is gray: 1 yes, 0 no, -1 it does not tell. */
static int property_is_gray(const struct property *p)
{
    enum { AV1_MONOCHROME = 0x10, AV1_AT = 2, HEVC_CHROMA = 3, HEVC_AT = 16 };
    const struct ih_span box = p->content;
    if (ih_box_is(p->type, "av1C") && box.n > AV1_AT)
        return (box.p[AV1_AT] & AV1_MONOCHROME) != 0;
    if (ih_box_is(p->type, "hvcC") && box.n > HEVC_AT)
        return (box.p[HEVC_AT] & HEVC_CHROMA) == 0;
    if (ih_box_is(p->type, "pixi") && box.n > FULL_BOX)
        return box.p[FULL_BOX] == 1 ? 1 : -1; /* some writers put 3 for gray */
    return -1;
}

/* Returns true if the configuration of the item's codec, or for a grid the number of its
 * channels, states that it is gray. If they disagree, the item is in colour. */
static bool is_monochrome(const struct properties *of_item)
{
    bool is_gray = false;
    for (unsigned i = 0; i < of_item->n; i++) {
        const int answer = property_is_gray(&of_item->list[i]);
        if (answer == 0)
            return false;
        is_gray = is_gray || answer == 1;
    }
    return is_gray;
}

static bool is_alpha(const struct properties *of_item)
{
    static const char *const names[] = {"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                        "urn:mpeg:hevc:2015:auxid:1"};
    for (unsigned i = 0; i < of_item->n; i++) {
        const struct ih_span box = of_item->list[i].content;
        for (unsigned k = 0; k < 2 && ih_box_is(of_item->list[i].type, "auxC"); k++) {
            const size_t n = strlen(names[k]) + 1;
            if (box.n >= FULL_BOX + n && memcmp(box.p + FULL_BOX, names[k], n) == 0)
                return true;
        }
    }
    return false;
}

/* Finds the alpha of an item, and lists its properties. */
static bool find_alpha(struct ih_span meta, uint64_t item, struct properties *of_alpha)
{
    struct ih_span iref = ih_box_find(meta, "iref"), box;
    const unsigned id_bytes = ih_span_take(&iref, FULL_BOX) >> 24 == 0 ? 2 : 4;
    unsigned n_auxiliary = 0;
    char type[4];
    while (ih_box_next(&iref, type, &box)) {
        const uint64_t from = ih_span_take(&box, id_bytes);
        uint64_t n = ih_span_take(&box, 2);
        for (; n > 0 && box.n > 0; n--) {
            if (ih_span_take(&box, id_bytes) != item || !ih_box_is(type, "auxl") ||
                n_auxiliary++ >= AUXILIARY_MAX)
                continue;
            list_properties(meta, from, of_alpha);
            if (is_alpha(of_alpha))
                return true;
        }
    }
    return false;
}

/* Returns the next crop, rotation or mirroring, and advances *i past it. NULL at the end. */
static const struct property *next_transform(const struct properties *p, unsigned *i)
{
    while (*i < p->n) {
        const struct property *next = &p->list[(*i)++];
        if (ih_box_is(next->type, "clap") || ih_box_is(next->type, "irot") ||
            ih_box_is(next->type, "imir"))
            return next;
    }
    return NULL;
}

static bool transforms_are_equal(const struct properties *a, const struct properties *b)
{
    unsigned i = 0, k = 0;
    for (;;) {
        const struct property *x = next_transform(a, &i), *y = next_transform(b, &k);
        if (!x || !y)
            return !x && !y;
        if (memcmp(x->type, y->type, 4) != 0 || x->content.n != y->content.n ||
            memcmp(x->content.p, y->content.p, x->content.n) != 0)
            return false;
    }
}

struct ih_heif_boxes ih_heif_boxes_read(const uint8_t *file, size_t size_bytes, uint64_t item)
{
    struct ih_span meta = ih_box_find((struct ih_span){file, size_bytes}, "meta");
    struct properties of_item, of_alpha;
    struct ih_heif_boxes told = {false, false, false};
    ih_span_take(&meta, FULL_BOX);
    list_properties(meta, item, &of_item);
    told.is_gray = is_monochrome(&of_item);
    told.has_alpha = find_alpha(meta, item, &of_alpha);
    told.alpha_differs = told.has_alpha && !transforms_are_equal(&of_item, &of_alpha);
    return told;
}
