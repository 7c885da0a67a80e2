#include "decode/heif_boxes.h"

#include "decode/boxes.h"

#include <string.h>

enum {
    FULL_BOX = 4,       /* bytes of version and flags */
    AUXILIARY_MAX = 64, /* images beside one that are looked at; files have a few */
    DEPTH_MAX = 8,      /* of images that are made of others */
    SEARCHES_MAX = 256  /* for the image that a part belongs to */
};

struct heif_meta {
    struct ih_span file, meta, iprp, ipco;
};

static struct heif_meta find_meta(const uint8_t *file, size_t size_bytes)
{
    struct heif_meta m = {.file = {file, size_bytes}};
    m.meta = ih_box_find(m.file, "meta");
    ih_span_take(&m.meta, FULL_BOX);
    m.iprp = ih_box_find(m.meta, "iprp");
    m.ipco = ih_box_find(m.iprp, "ipco");
    return m;
}

/* Copies a type for a message. Returns the copy. */
static const char *print_type(const char *type, char text[5])
{
    for (unsigned i = 0; i < 4; i++)
        text[i] = (char)(type[i] < ' ' || type[i] > '~' ? '?' : type[i]);
    text[4] = '\0';
    return text;
}

/* ---- items, references and properties, one at a time ---- */

struct heif_item {
    uint32_t id;
    char type[4];
};

static bool find_item(const struct heif_meta *m, uint32_t id, struct heif_item *item)
{
    struct ih_span iinf = ih_box_find(m->meta, "iinf"), infe;
    char type[4];
    ih_span_take(&iinf, ih_span_take(&iinf, FULL_BOX) >> 24 == 0 ? 2 : 4);
    while (ih_box_next(&iinf, type, &infe)) {
        const unsigned version = (unsigned)(ih_span_take(&infe, FULL_BOX) >> 24);
        item->id = (uint32_t)ih_span_take(&infe, version == 2 ? 2 : 4);
        ih_span_take(&infe, 2);
        if (version < 2 || item->id != id || infe.n < 4) /* older ones state no type */
            continue;
        memcpy(item->type, infe.p, 4);
        return true;
    }
    return false;
}

/* The number of the image that counts first; 0 without one. */
static uint32_t primary_item(const struct heif_meta *m)
{
    struct ih_span pitm = ih_box_find(m->meta, "pitm");
    const unsigned id_bytes = ih_span_take(&pitm, FULL_BOX) >> 24 == 0 ? 2 : 4;
    return (uint32_t)ih_span_take(&pitm, id_bytes);
}

struct heif_references {
    struct ih_span iref, box;
    char type[4];
    unsigned id_bytes;
    uint64_t n_left;
    uint32_t from, to; /* of the current one */
    bool is_first;     /* of those from the item */
};

static struct heif_references list_references(const struct heif_meta *m)
{
    struct heif_references r = {.iref = ih_box_find(m->meta, "iref")};
    r.id_bytes = ih_span_take(&r.iref, FULL_BOX) >> 24 == 0 ? 2 : 4;
    return r;
}

static bool next_reference(struct heif_references *r)
{
    r->is_first = false;
    while (r->n_left == 0 || r->box.n == 0) {
        if (!ih_box_next(&r->iref, r->type, &r->box))
            return false;
        r->from = (uint32_t)ih_span_take(&r->box, r->id_bytes);
        r->n_left = ih_span_take(&r->box, 2);
        r->is_first = true;
    }
    r->n_left--;
    r->to = (uint32_t)ih_span_take(&r->box, r->id_bytes);
    return true;
}

/* One property of one item. */
struct heif_associations {
    struct ih_span iprp, ipma;
    uint64_t version, flags, n_items, n_left;
    uint32_t item;
    unsigned number; /* in ipco, from 1 on; 0: no property */
    bool is_essential;
};

static bool next_association(struct heif_associations *a)
{
    char type[4];
    while (a->n_left == 0 || a->ipma.n == 0) {
        if (a->n_items > 0 && a->ipma.n > 0) {
            a->n_items--;
            a->item = (uint32_t)ih_span_take(&a->ipma, a->version == 0 ? 2 : 4);
            a->n_left = ih_span_take(&a->ipma, 1);
        } else if (!ih_box_next(&a->iprp, type, &a->ipma)) {
            return false;
        } else if (!ih_box_is(type, "ipma")) {
            a->ipma.n = 0;
        } else {
            a->version = ih_span_take(&a->ipma, 1);
            a->flags = ih_span_take(&a->ipma, 3);
            a->n_items = ih_span_take(&a->ipma, 4);
            a->n_left = 0;
        }
    }
    const unsigned n_bytes = a->flags & 1 ? 2 : 1, essential = 1u << (8 * n_bytes - 1);
    const unsigned value = (unsigned)ih_span_take(&a->ipma, n_bytes);
    a->n_left--;
    a->number = value & (essential - 1);
    a->is_essential = (value & essential) != 0;
    return true;
}

struct heif_property {
    char type[4];
    struct ih_span content;
};

struct heif_properties {
    unsigned n;
    struct heif_property list[256];
};

/* Returns property `number` of ipco; without a type if there is none. */
static struct heif_property get_property(const struct heif_meta *m, unsigned number)
{
    struct ih_span left = m->ipco;
    struct heif_property p = {.type = ""};
    while (number > 0 && ih_box_next(&left, p.type, &p.content))
        number--;
    return number == 0 ? p : (struct heif_property){.type = ""};
}

/* Lists the properties of an item in their order. */
static void list_properties(const struct heif_meta *m, uint32_t item, struct heif_properties *to)
{
    struct heif_associations a = {.iprp = m->iprp};
    to->n = 0;
    while (to->n < sizeof to->list / sizeof to->list[0] && next_association(&a))
        if (a.item == item && a.number > 0)
            to->list[to->n++] = get_property(m, a.number);
}

/* ---- what properties tell ---- */

static bool heif_type_is(const char type[4], const char *types)
{
    for (; *types; types += 4)
        if (ih_box_is(type, types))
            return true;
    return false;
}

static bool is_transform(const struct heif_property *p)
{
    return heif_type_is(p->type, "clapirotimir");
}

/* Whether the property states that the image is gray: 1 yes, 0 no, -1 it does not tell. */
static int property_is_gray(const struct heif_property *p)
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

/* Whether the configuration of a codec, or the number of bits of a channel, states more than 8. */
static bool states_deep(const struct heif_properties *of_item)
{
    enum { AV1_DEEP = 0x40, AV1_AT = 2, HEVC_MORE_BITS = 7, HEVC_AT = 17 };
    for (unsigned i = 0; i < of_item->n; i++) {
        const struct ih_span box = of_item->list[i].content;
        const char *type = of_item->list[i].type;
        if ((ih_box_is(type, "av1C") && box.n > AV1_AT && box.p[AV1_AT] & AV1_DEEP) ||
            (ih_box_is(type, "hvcC") && box.n > HEVC_AT && box.p[HEVC_AT] & HEVC_MORE_BITS) ||
            (ih_box_is(type, "pixi") && box.n > FULL_BOX + 1 && box.p[FULL_BOX + 1] > 8))
            return true;
    }
    return false;
}

/* Returns true if the configuration of the item's codec, or for a grid the number of its
 * channels, states that it is gray. If they disagree, the item is in colour. */
static bool is_monochrome(const struct heif_properties *of_item)
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

/* Whether the box auxC of an item says that the pixels are alpha. */
static bool is_alpha_name(struct ih_span box)
{
    static const char *const names[] = {"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                        "urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:avc:2015:auxid:1"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        const size_t n = strlen(names[k]) + 1;
        if (box.n >= FULL_BOX + n && memcmp(box.p + FULL_BOX, names[k], n) == 0)
            return true;
    }
    return false;
}

static bool heif_is_alpha(const struct heif_properties *of_item)
{
    for (unsigned i = 0; i < of_item->n; i++)
        if (ih_box_is(of_item->list[i].type, "auxC") && is_alpha_name(of_item->list[i].content))
            return true;
    return false;
}

/* Returns the next crop, rotation or mirroring, and advances *i past it. NULL at the end. */
static const struct heif_property *next_transform(const struct heif_properties *p, unsigned *i)
{
    while (*i < p->n)
        if (is_transform(&p->list[(*i)++]))
            return &p->list[*i - 1];
    return NULL;
}

static bool transforms_are_equal(const struct heif_properties *a, const struct heif_properties *b)
{
    unsigned i = 0, k = 0;
    for (;;) {
        const struct heif_property *x = next_transform(a, &i), *y = next_transform(b, &k);
        if (!x || !y)
            return !x && !y;
        if (memcmp(x->type, y->type, 4) != 0 || x->content.n != y->content.n ||
            memcmp(x->content.p, y->content.p, x->content.n) != 0)
            return false;
    }
}

static bool is_turned_first(const struct heif_properties *p)
{
    for (unsigned i = 0; i < p->n && !ih_box_is(p->list[i].type, "ispe"); i++)
        if (is_transform(&p->list[i]))
            return true;
    return false;
}

/*
 * Whether a property may be marked as essential: libheif applies it, or checks it with the codec
 * that it configures, or no stored sample depends on it. All others change the picture or its
 * meaning: a required reference (rref), a scaling (iscl), one layer of several, or unknown ones.
 */
static bool is_applied(const struct heif_property *p)
{
    static const char applied[] = "ispecolrauxCclapirotimir",
                      configurations[] = "hvcCav1CavcCvvcCevcCjpgCj2kHuncCcmpdcmpCicef",
                      descriptions[] = "pixipasprloca1lxcllimdcvcclvamvendwtudesaltt"
                                       "crttmdftcmincmexsubs";
    _Static_assert(sizeof applied % 4 == 1 && sizeof configurations % 4 == 1 &&
                       sizeof descriptions % 4 == 1,
                   "types have four letters");
    struct ih_span content = p->content;
    if (ih_box_is(p->type, "lsel")) /* one layer; 0xFFFF: all, and libheif returns the last */
        return ih_span_take(&content, 2) == 0xFFFF;
    if (ih_box_is(p->type, "a1op")) /* 0 is the operating point that decoders use */
        return content.n > 0 && content.p[0] == 0;
    return heif_type_is(p->type, applied) || heif_type_is(p->type, configurations) ||
           heif_type_is(p->type, descriptions);
}

enum { NUMBERS = 0x8000 }; /* of properties */

/* Marks the properties that may not be essential. */
static void list_refused(const struct heif_meta *m, bool refused[NUMBERS])
{
    struct ih_span left = m->ipco;
    struct heif_property p;
    memset(refused, 0, NUMBERS * sizeof *refused);
    for (unsigned i = 1; i < NUMBERS && ih_box_next(&left, p.type, &p.content); i++)
        refused[i] = !is_applied(&p);
}

/* ---- images that are made of others ---- */

/* Whether an item is part of the image `whole`, or the image itself. When the search takes too
 * long, the answer is yes. */
static bool is_part(const struct heif_meta *m, uint32_t whole, uint32_t part, unsigned depth,
                    unsigned *n_searches)
{
    struct heif_references r = list_references(m);
    if (part == whole || depth == 0 || *n_searches == 0)
        return true;
    --*n_searches;
    while (next_reference(&r))
        if (r.to == part && ih_box_is(r.type, "dimg") &&
            is_part(m, whole, r.from, depth - 1, n_searches))
            return true;
    return false;
}

/* The coded image that an item consists of, or its first one. */
static uint32_t first_part(const struct heif_meta *m, uint32_t item)
{
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        struct heif_references r = list_references(m);
        bool is_derived = false;
        while (!is_derived && next_reference(&r))
            is_derived = r.from == item && ih_box_is(r.type, "dimg");
        if (!is_derived)
            break;
        item = r.to;
    }
    return item;
}

/* Finds the alpha of an item, and lists its properties. *of_part: a part of the image has alpha of
 * its own. */
static bool find_alpha(const struct heif_meta *m, uint32_t item, uint32_t *alpha,
                       struct heif_properties *of_alpha, bool *of_part)
{
    struct heif_references r = list_references(m);
    unsigned n_own = 0, n_others = 0, n_searches = SEARCHES_MAX;
    *of_part = false;
    while (next_reference(&r)) {
        const bool is_own = r.to == item;
        if (!ih_box_is(r.type, "auxl") || (is_own ? n_own++ : n_others++) >= AUXILIARY_MAX)
            continue;
        list_properties(m, r.from, of_alpha);
        *alpha = r.from;
        if (is_own && heif_is_alpha(of_alpha))
            return true;
        *of_part = *of_part || (!is_own && heif_is_alpha(of_alpha) &&
                                is_part(m, item, r.to, DEPTH_MAX, &n_searches));
    }
    return false;
}

/* ---- what AV1 and HEVC state in their own headers ---- */

/* How colours are stored, with the code points of ITU-T H.273. */
struct heif_colours {
    enum ih_range range;
    uint32_t primaries, matrix;
    bool is_in_hevc; /* and in no box */
};

struct heif_coded {
    struct heif_colours colours; /* matrix 2: unspecified */
    unsigned last_layer;         /* of AV1: the one that decoders return */
};

enum { UNSPECIFIED = 2 };
static const struct heif_coded not_told = {{IH_RANGE_UNKNOWN, UNSPECIFIED, UNSPECIFIED, false}, 0};

/* Returns the first bytes of an item, up to the end of its first extent. */
static struct ih_span item_data(const struct heif_meta *m, uint32_t item)
{
    struct ih_span iloc = ih_box_find(m->meta, "iloc"), in = {NULL, 0};
    const unsigned version = (unsigned)(ih_span_take(&iloc, FULL_BOX) >> 24);
    const unsigned sizes = (unsigned)ih_span_take(&iloc, 2), id_bytes = version < 2 ? 2 : 4;
    const unsigned index_bytes = version > 0 ? sizes & 15 : 0, base_bytes = sizes >> 4 & 15,
                   length_bytes = sizes >> 8 & 15, offset_bytes = sizes >> 12;
    const size_t extent_bytes = index_bytes + offset_bytes + length_bytes;
    for (uint64_t n = ih_span_take(&iloc, id_bytes); n > 0 && iloc.n > 0; n--) {
        const bool is_it = ih_span_take(&iloc, id_bytes) == item;
        const uint64_t method = version > 0 ? ih_span_take(&iloc, 2) & 15 : 0;
        const bool is_elsewhere = ih_span_take(&iloc, 2) != 0; /* in another file */
        const uint64_t base = ih_span_take(&iloc, base_bytes);
        const size_t n_bytes = (size_t)ih_span_take(&iloc, 2) * extent_bytes;
        struct ih_span extent = {iloc.p, n_bytes < iloc.n ? n_bytes : iloc.n};
        iloc = (struct ih_span){iloc.p + extent.n, iloc.n - extent.n};
        if (!is_it)
            continue;
        ih_span_take(&extent, index_bytes);
        const uint64_t offset = base + ih_span_take(&extent, offset_bytes);
        const uint64_t length = ih_span_take(&extent, length_bytes);
        in = is_elsewhere ? in : method == 0 ? m->file : ih_box_find(m->meta, "idat");
        if (n_bytes == 0 || method > 1 || offset < base || offset >= in.n)
            return (struct ih_span){NULL, 0};
        in = (struct ih_span){in.p + offset, in.n - (size_t)offset};
        in.n = length > 0 && length < in.n ? (size_t)length : in.n;
        return in;
    }
    return in;
}

struct heif_bits {
    struct ih_span bytes;
    size_t at;
};

/* Reads n bits, and zeros after the end. */
static uint32_t heif_bits_take(struct heif_bits *b, unsigned n)
{
    uint32_t value = 0;
    for (; n > 0; n--, b->at++)
        value =
            value << 1 |
            (b->at / 8 < b->bytes.n ? (uint32_t)b->bytes.p[b->at / 8] >> (7 - b->at % 8) & 1u : 0);
    return value;
}

/* Skips timing and operating points of a sequence header (5.5.1 of the AV1 specification). Returns
 * the layers of the first point, a bit each. */
static unsigned read_operating_points(struct heif_bits *b)
{
    unsigned delay_bits = 0, layers = 0;
    if (heif_bits_take(b, 1)) { /* timing_info */
        heif_bits_take(b, 32);
        heif_bits_take(b, 32);
        if (heif_bits_take(b, 1)) { /* uvlc() */
            unsigned n_zeros = 0;
            while (n_zeros < 32 && !heif_bits_take(b, 1))
                n_zeros++;
            heif_bits_take(b, n_zeros < 32 ? n_zeros : 0);
        }
        if (heif_bits_take(b, 1)) { /* decoder_model_info */
            delay_bits = heif_bits_take(b, 5) + 1;
            heif_bits_take(b, 32);
            heif_bits_take(b, 10);
        }
    }
    const bool has_display_delay = heif_bits_take(b, 1);
    for (unsigned n = heif_bits_take(b, 5) + 1, i = 0; i < n; i++) {
        const unsigned spatial = heif_bits_take(b, 4);
        heif_bits_take(b, 8);
        layers = i == 0 ? spatial : layers;
        if (heif_bits_take(b, 5) > 7)
            heif_bits_take(b, 1);
        if (delay_bits > 0 && heif_bits_take(b, 1)) {
            heif_bits_take(b, delay_bits);
            heif_bits_take(b, delay_bits);
            heif_bits_take(b, 1);
        }
        if (has_display_delay && heif_bits_take(b, 1))
            heif_bits_take(b, 4);
    }
    return layers;
}

/* Skips the tools that a sequence header turns on, which a still picture leaves out. */
static void skip_tools(struct heif_bits *b)
{
    heif_bits_take(b, 4);
    const bool has_order = heif_bits_take(b, 1);
    heif_bits_take(b, has_order ? 2 : 0);
    const uint32_t screen_content = heif_bits_take(b, 1) ? 2 : heif_bits_take(b, 1);
    if (screen_content > 0 && !heif_bits_take(b, 1))
        heif_bits_take(b, 1);
    heif_bits_take(b, has_order ? 3 : 0);
}

/* Three code points, a byte each: primaries, transfer and matrix. */
static void set_colours(struct heif_colours *colours, uint32_t points, bool is_full)
{
    *colours = (struct heif_colours){is_full ? IH_RANGE_FULL : IH_RANGE_LIMITED, points >> 16,
                                     points & 255, false};
}

enum { SRGB_IDENTITY = 1 << 16 | 13 << 8 | 0, NO_POINTS = 2 << 16 | 2 << 8 | 2 };

/* Reads a sequence header up to color_range. */
static struct heif_coded read_sequence_header(struct ih_span bytes)
{
    struct heif_bits b = {bytes, 0};
    struct heif_coded told = not_told;
    const uint32_t profile = heif_bits_take(&b, 3);
    const bool is_reduced = heif_bits_take(&b, 2) & 1;
    if (is_reduced)
        heif_bits_take(&b, 5);
    else
        for (unsigned layers = read_operating_points(&b); layers > 1; layers >>= 1)
            told.last_layer++;
    const unsigned width_bits = heif_bits_take(&b, 4) + 1, height_bits = heif_bits_take(&b, 4) + 1;
    heif_bits_take(&b, width_bits);
    heif_bits_take(&b, height_bits);
    if (!is_reduced && heif_bits_take(&b, 1))
        heif_bits_take(&b, 7);
    heif_bits_take(&b, 3);
    if (!is_reduced)
        skip_tools(&b);
    heif_bits_take(&b, 3);
    if (heif_bits_take(&b, 1) && profile == 2)
        heif_bits_take(&b, 1);
    const bool is_gray = profile != 1 && heif_bits_take(&b, 1);
    const uint32_t points = heif_bits_take(&b, 1) ? heif_bits_take(&b, 24) : NO_POINTS;
    const bool is_full = (!is_gray && points == SRGB_IDENTITY) || heif_bits_take(&b, 1);
    if (b.at <= 8 * bytes.n)
        set_colours(&told.colours, points, is_full);
    return told;
}

/* Finds the sequence header among the units (OBU) of an AV1 image. */
static struct heif_coded read_av1(const struct heif_meta *m, uint32_t item)
{
    enum { SEQUENCE_HEADER = 1, HAS_EXTENSION = 4, HAS_SIZE = 2, UNITS_MAX = 16 };
    struct heif_item coded;
    if (!find_item(m, first_part(m, item), &coded) || !ih_box_is(coded.type, "av01"))
        return not_told;
    struct ih_span data = item_data(m, coded.id);
    for (unsigned n = 0; n < UNITS_MAX && data.n > 0; n++) {
        const unsigned head = (unsigned)ih_span_take(&data, 1);
        ih_span_take(&data, head & HAS_EXTENSION ? 1 : 0);
        uint64_t size = head & HAS_SIZE ? 0 : data.n;
        for (unsigned shift = 0, more = head & HAS_SIZE; more && shift < 56; shift += 7) {
            const uint64_t byte = ih_span_take(&data, 1);
            size |= (byte & 127) << shift;
            more = (unsigned)byte & 128;
        }
        size = size < data.n ? size : data.n;
        if ((head >> 3 & 15) == SEQUENCE_HEADER)
            return read_sequence_header((struct ih_span){data.p, (size_t)size});
        data = (struct ih_span){data.p + size, data.n - (size_t)size};
    }
    return not_told;
}

/* Reads an Exp-Golomb code: ue(v), and the length of se(v) (ITU-T H.265, 9.2). */
static uint32_t take_golomb(struct heif_bits *b)
{
    unsigned n_zeros = 0;
    while (n_zeros < 32 && !heif_bits_take(b, 1))
        n_zeros++;
    return n_zeros < 32 ? (1u << n_zeros) - 1 + heif_bits_take(b, n_zeros) : UINT32_MAX;
}

static void skip_golomb(struct heif_bits *b, unsigned n)
{
    while (n-- > 0)
        take_golomb(b);
}

/* Skips profile_tier_level: 7.3.3. */
static void skip_profile(struct heif_bits *b, unsigned n_sub_layers)
{
    heif_bits_take(b, 32);
    heif_bits_take(b, 32);
    heif_bits_take(b, 32);
    const uint32_t present = n_sub_layers > 0 ? heif_bits_take(b, 16) : 0;
    for (unsigned i = 0; i < n_sub_layers; i++) {
        for (unsigned n = present >> (15 - 2 * i) & 1 ? 11 : 0; n > 0; n--)
            heif_bits_take(b, 8);
        heif_bits_take(b, present >> (14 - 2 * i) & 1 ? 8 : 0);
    }
}

/* Skips scaling_list_data: 7.3.4. */
static void skip_scaling_lists(struct heif_bits *b)
{
    for (unsigned size = 0; size < 4; size++)
        for (unsigned i = 0; i < (size == 3 ? 2 : 6); i++) {
            if (heif_bits_take(b, 1))
                skip_golomb(b, size == 0 ? 16 : size == 1 ? 64 : 65);
            else
                take_golomb(b);
        }
}

/* Skips the sets of reference pictures, which a still image does not use: 7.3.7. */
static void skip_reference_sets(struct heif_bits *b)
{
    enum { SETS_MAX = 64, PICTURES_MAX = 16 };
    uint32_t n_sets = take_golomb(b), n_pictures = 0; /* of the set before */
    n_sets = n_sets < SETS_MAX ? n_sets : SETS_MAX;
    for (uint32_t i = 0; i < n_sets; i++) {
        uint32_t n = 0;
        if (i > 0 && heif_bits_take(b, 1)) { /* predicted from the set before */
            heif_bits_take(b, 1);
            take_golomb(b);
            for (uint32_t k = 0; k <= n_pictures; k++)
                n += heif_bits_take(b, 1) || heif_bits_take(b, 1) ? 1u : 0;
        } else {
            n = take_golomb(b);
            n += take_golomb(b);
            n = n < PICTURES_MAX ? n : PICTURES_MAX;
            for (uint32_t k = 0; k < n; k++) {
                take_golomb(b);
                heif_bits_take(b, 1);
            }
        }
        n_pictures = n;
    }
}

/* Reads a sequence parameter set up to the colours in its VUI: 7.3.2.2 and annex E. */
static struct heif_colours read_parameter_set(struct ih_span bytes)
{
    enum { EXTENDED_ASPECT = 255, PICTURES_MAX = 33 };
    struct heif_bits b = {bytes, 16 + 4};
    struct heif_colours colours = not_told.colours;
    const unsigned n_sub_layers = heif_bits_take(&b, 3);
    heif_bits_take(&b, 1);
    skip_profile(&b, n_sub_layers);
    take_golomb(&b);
    if (take_golomb(&b) == 3)
        heif_bits_take(&b, 1);
    skip_golomb(&b, 2);
    skip_golomb(&b, heif_bits_take(&b, 1) ? 4 : 0); /* conformance window */
    skip_golomb(&b, 2);
    const unsigned order_bits = take_golomb(&b) + 4;
    skip_golomb(&b, 3 * (heif_bits_take(&b, 1) ? n_sub_layers + 1 : 1));
    skip_golomb(&b, 6);
    if (heif_bits_take(&b, 1) && heif_bits_take(&b, 1))
        skip_scaling_lists(&b);
    heif_bits_take(&b, 2);
    if (heif_bits_take(&b, 1)) { /* PCM */
        heif_bits_take(&b, 8);
        skip_golomb(&b, 2);
        heif_bits_take(&b, 1);
    }
    skip_reference_sets(&b);
    if (heif_bits_take(&b, 1)) /* long-term reference pictures */
        for (uint32_t n = take_golomb(&b); n > 0 && n < PICTURES_MAX; n--)
            heif_bits_take(&b, order_bits < 16 ? order_bits + 1 : 17);
    heif_bits_take(&b, 2);
    uint32_t points = NO_POINTS, is_full = 0;
    if (heif_bits_take(&b, 1)) { /* VUI */
        if (heif_bits_take(&b, 1) && heif_bits_take(&b, 8) == EXTENDED_ASPECT)
            heif_bits_take(&b, 32);
        if (heif_bits_take(&b, 1))
            heif_bits_take(&b, 1);
        if (heif_bits_take(&b, 1)) {
            heif_bits_take(&b, 3);
            is_full = heif_bits_take(&b, 1);
            points = heif_bits_take(&b, 1) ? heif_bits_take(&b, 24) : NO_POINTS;
        }
    }
    if (b.at <= 8 * bytes.n)
        set_colours(&colours, points, is_full != 0);
    colours.is_in_hevc = true;
    return colours;
}

/* Finds the sequence parameter set in the configuration of HEVC (ISO/IEC 14496-15, 8.3.3). */
static struct heif_colours read_hevc(struct ih_span config)
{
    enum { HEADER_BYTES = 22, PARAMETER_SET = 33, SET_MAX = 512 /* what is read of it */ };
    uint8_t set[SET_MAX];
    if (config.n < HEADER_BYTES)
        return not_told.colours;
    struct ih_span left = {config.p + HEADER_BYTES, config.n - HEADER_BYTES};
    for (uint64_t n_arrays = ih_span_take(&left, 1); n_arrays > 0 && left.n > 0; n_arrays--) {
        const unsigned type = (unsigned)ih_span_take(&left, 1) & 63;
        for (uint64_t n = ih_span_take(&left, 2); n > 0 && left.n > 0; n--) {
            size_t size = (size_t)ih_span_take(&left, 2), n_set = 0;
            size = size < left.n ? size : left.n;
            for (size_t i = 0; i < size && n_set < SET_MAX; i++) /* 0 0 3 stands for 0 0 */
                if (i < 2 || left.p[i] != 3 || left.p[i - 1] != 0 || left.p[i - 2] != 0)
                    set[n_set++] = left.p[i];
            if (type == PARAMETER_SET)
                return read_parameter_set((struct ih_span){set, n_set});
            left = (struct ih_span){left.p + size, left.n - size};
        }
    }
    return not_told.colours;
}

/* ---- colours ---- */

static bool read_nclx(const struct heif_property *p, struct heif_colours *colours)
{
    enum { FULL_RANGE = 0x80, NCLX_BYTES = 11 };
    struct ih_span content = p->content;
    if (!ih_box_is(p->type, "colr") || content.n < NCLX_BYTES ||
        !ih_box_is((const char *)content.p, "nclx"))
        return false;
    ih_span_take(&content, 4);
    colours->is_in_hevc = false;
    colours->primaries = (uint32_t)ih_span_take(&content, 2);
    ih_span_take(&content, 2);
    colours->matrix = (uint32_t)ih_span_take(&content, 2);
    colours->range = ih_span_take(&content, 1) & FULL_RANGE ? IH_RANGE_FULL : IH_RANGE_LIMITED;
    return true;
}

/* Of the item alone, or of its codec. libheif takes the last box. */
static bool find_nclx(const struct heif_properties *of_item, struct heif_colours *colours)
{
    bool is_found = false;
    for (unsigned i = 0; i < of_item->n; i++)
        is_found = read_nclx(&of_item->list[i], colours) || is_found;
    return is_found;
}

/* Matrices with the same weights. libheif converts a grid with the matrix of its tiles up to
 * version 1.17, and with its own in 1.23. */
static uint32_t weights_of(uint32_t matrix)
{
    return matrix == UNSPECIFIED || matrix == 5 ? 6 : matrix;
}

/* Reads what the codec of the item's first part states. */
static struct heif_colours read_coded_colours(const struct heif_meta *m, uint32_t item,
                                              const struct heif_properties *of_part)
{
    for (unsigned i = 0; i < of_part->n; i++)
        if (ih_box_is(of_part->list[i].type, "hvcC"))
            return read_hevc(of_part->list[i].content);
    return read_av1(m, item).colours;
}

/*
 * Refuses a conversion to RGB that libheif does not know, or does wrong without a word: up to
 * version 1.23, constant luminance is converted like its other kind, ICtCp and newer ones like
 * BT.601, limited range is not expanded with the matrices 0 and 8, and with 8 more than 8 bits are
 * cut. Without known primaries, 12 has no meaning, and libde265 does not know it.
 */
static enum ih_status check_matrix(const struct heif_colours *c, bool is_deep, struct ih_error *err)
{
    static const char *const names[] = {[0] = "identity",
                                        [8] = "YCgCo",
                                        [10] = "BT.2020 with constant luminance",
                                        [11] = "SMPTE ST 2085",
                                        [12] = "derived from the primaries",
                                        [13] = "derived, with constant luminance",
                                        [14] = "ICtCp",
                                        [15] = "IPT-C2",
                                        [16] = "YCgCo-Re",
                                        [17] = "YCgCo-Ro"};
    const char *why = "";
    switch (c->matrix) {
    case 1:
    case UNSPECIFIED:
    case 4:
    case 5:
    case 6:
    case 7:
    case 9:
        return IH_OK;
    case 12:
        if (!c->is_in_hevc &&
            ((c->primaries >= 4 && c->primaries <= 12) || c->primaries == 1 || c->primaries == 22))
            return IH_OK;
        why = c->is_in_hevc ? " in the bits of HEVC" : " without known primaries";
        break;
    case 0:
    case 8:
        if (c->range != IH_RANGE_LIMITED && (c->matrix == 0 || !is_deep))
            return IH_OK;
        why = c->range == IH_RANGE_LIMITED ? " in limited range" : " of more than 8 bits";
        break;
    default:
        break;
    }
    const bool is_named = c->matrix < sizeof names / sizeof *names && names[c->matrix];
    return ih_error_set(err, IH_UNSUPPORTED, "HEIF with colour matrix %u (%s)%s is not supported",
                        c->matrix, is_named ? names[c->matrix] : "reserved", why);
}

/* Refuses an essential property, of the item, its parts and its alpha, that is not applied. */
static enum ih_status check_essential(const struct heif_meta *m, uint32_t item,
                                      const uint32_t *alpha, struct ih_error *err)
{
    enum { LAYERS_MAX = 1024 /* of tiles; each costs a search */ };
    bool refused[NUMBERS];
    struct heif_associations a = {.iprp = m->iprp};
    char type[5];
    unsigned n_searches = SEARCHES_MAX, n_layers = 0;
    list_refused(m, refused);
    while (next_association(&a)) {
        if (!a.is_essential || !refused[a.number] ||
            (!is_part(m, item, a.item, DEPTH_MAX, &n_searches) &&
             !(alpha && is_part(m, *alpha, a.item, DEPTH_MAX, &n_searches))))
            continue;
        struct heif_property p = get_property(m, a.number);
        if (ih_box_is(p.type, "lsel") && n_layers++ < LAYERS_MAX &&
            ih_span_take(&p.content, 2) == read_av1(m, a.item).last_layer)
            continue;
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with the essential property '%s' is not supported",
                            print_type(p.type, type));
    }
    return IH_OK;
}

/* Refuses colours, stated by a box of the item or its parts, that libheif does not convert. */
static enum ih_status check_colours(const struct heif_meta *m, uint32_t item, bool is_deep,
                                    struct ih_error *err)
{
    bool refused[NUMBERS] = {false};
    struct heif_associations a = {.iprp = m->iprp};
    struct ih_span left = m->ipco;
    struct heif_property p;
    struct heif_colours colours;
    unsigned n_searches = SEARCHES_MAX;
    for (unsigned i = 1; i < NUMBERS && ih_box_next(&left, p.type, &p.content); i++)
        refused[i] = read_nclx(&p, &colours) && check_matrix(&colours, is_deep, NULL) != IH_OK;
    while (next_association(&a)) {
        if (!refused[a.number] || !is_part(m, item, a.item, DEPTH_MAX, &n_searches))
            continue;
        p = get_property(m, a.number);
        return read_nclx(&p, &colours) ? check_matrix(&colours, is_deep, err) : IH_OK;
    }
    return IH_OK;
}

/* ---- the interface ---- */

enum ih_status ih_heif_boxes_read(const uint8_t *file, size_t size_bytes, uint32_t item,
                                  struct ih_heif_boxes *told, struct ih_error *err)
{
    const struct heif_meta m = find_meta(file, size_bytes);
    struct heif_properties of_item, of_other; /* its alpha or first part */
    struct heif_item known;
    struct heif_colours colours, part_colours;
    uint32_t alpha;
    bool of_part;
    list_properties(&m, item, &of_item);
    *told = (struct ih_heif_boxes){.has_alpha = find_alpha(&m, item, &alpha, &of_other, &of_part)};
    told->is_gray = is_monochrome(&of_item);
    told->is_turned_first = is_turned_first(&of_item);
    if (told->has_alpha) {
        told->alpha_differs = !transforms_are_equal(&of_item, &of_other);
        told->alpha_range = read_av1(&m, alpha).colours.range;
    } else if (of_part && find_item(&m, item, &known) && !ih_box_is(known.type, "iovl")) {
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with alpha of its parts instead of the image is not supported");
    }
    if (check_essential(&m, item, told->has_alpha ? &alpha : NULL, err) != IH_OK)
        return err->status;
    list_properties(&m, first_part(&m, item), &of_other);
    const bool is_deep = states_deep(&of_other);
    if (!find_nclx(&of_other, &part_colours)) {
        part_colours = read_coded_colours(&m, item, &of_other);
        if (!told->is_gray && check_matrix(&part_colours, is_deep, err) != IH_OK)
            return err->status;
    }
    const bool has_nclx = find_nclx(&of_item, &colours);
    told->range = has_nclx ? colours.range : part_colours.range;
    if (told->is_gray)
        return IH_OK;
    if (check_colours(&m, item, is_deep, err) != IH_OK)
        return err->status;
    if (has_nclx && part_colours.range != IH_RANGE_UNKNOWN && find_item(&m, item, &known) &&
        ih_box_is(known.type, "grid") &&
        weights_of(colours.matrix) != weights_of(part_colours.matrix))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with another colour matrix (%u) than that of its tiles (%u) is "
                            "not supported",
                            colours.matrix, part_colours.matrix);
    return IH_OK;
}

bool ih_heif_boxes_primary(const uint8_t *file, size_t size_bytes, char type[5])
{
    const struct heif_meta m = find_meta(file, size_bytes);
    struct heif_item item;
    if (!find_item(&m, primary_item(&m), &item))
        return false;
    print_type(item.type, type);
    return true;
}

size_t ih_heif_boxes_own_images(const uint8_t *file, size_t size_bytes, uint32_t *items, size_t n)
{
    const struct heif_meta m = find_meta(file, size_bytes);
    struct heif_references r = list_references(&m);
    struct heif_item from;
    unsigned n_searches = SEARCHES_MAX;
    bool is_map = false; /* a tone map is made of an image and its gain map */
    while (next_reference(&r)) {
        if (r.is_first)
            is_map = ih_box_is(r.type, "dimg") && n_searches > 0 && n_searches-- &&
                     find_item(&m, r.from, &from) && ih_box_is(from.type, "tmap");
        if (r.is_first ? !heif_type_is(r.type, "thmbauxl") : !is_map)
            continue;
        const uint32_t part = is_map ? r.to : r.from;
        for (size_t i = 0; i < n; i++)
            if (items[i] == part)
                memmove(items + i, items + i + 1, (--n - i) * sizeof *items);
    }
    return n;
}

static void put_size(uint8_t box[4], size_t size)
{
    for (unsigned i = 0; i < 4; i++)
        box[i] = (uint8_t)(size >> (24 - 8 * i));
}

/* Whether an entry of iinf is of an item that describes images. */
static bool is_metadata(struct ih_span infe)
{
    char type[4];
    const unsigned version = (unsigned)(ih_span_take(&infe, FULL_BOX) >> 24);
    ih_span_take(&infe, version == 2 ? 4 : 6);
    if (version < 2 || infe.n < 4)
        return false;
    memcpy(type, infe.p, 4);
    ih_span_take(&infe, 4);
    while (infe.n > 0 && ih_span_take(&infe, 1) != 0) /* the name */
        continue;
    return heif_type_is(type, "Exifuri rgan") ||
           (ih_box_is(type, "mime") && !(infe.n > 6 && memcmp(infe.p, "image/", 6) == 0));
}

/* Whether an item is said to describe itself and nothing else. */
static bool describes_itself(const struct heif_meta *m, uint32_t item)
{
    struct heif_references r = list_references(m);
    bool is_found = false;
    while (next_reference(&r))
        if (r.from == item && ih_box_is(r.type, "cdsc")) {
            if (r.to != item)
                return false;
            is_found = true;
        }
    return is_found;
}

/* Makes items of metadata free space, except one that describes itself: that reference is broken.
 */
static void hide_metadata(uint8_t *file, const struct heif_meta *m)
{
    struct ih_span iinf = ih_box_find(m->meta, "iinf"), content;
    const uint32_t primary = primary_item(m);
    unsigned n_searches = SEARCHES_MAX;
    char type[4];
    ih_span_take(&iinf, ih_span_take(&iinf, FULL_BOX) >> 24 == 0 ? 2 : 4);
    for (const uint8_t *at = iinf.p; ih_box_next(&iinf, type, &content); at = iinf.p) {
        if (!ih_box_is(type, "infe") || !is_metadata(content))
            continue;
        const unsigned version = (unsigned)(ih_span_take(&content, FULL_BOX) >> 24);
        const uint32_t item = (uint32_t)ih_span_take(&content, version == 2 ? 2 : 4);
        if (item == primary || (n_searches > 0 && n_searches-- && describes_itself(m, item)))
            continue;
        memcpy(file + (at - file) + 4, "free", 4);
    }
}

/* Takes the references of metadata out of iref. The rest moves up; a free box fills the gap. */
static void hide_descriptions(uint8_t *file, const struct heif_meta *m)
{
    enum { HEADER = 8 };
    struct ih_span iref = ih_box_find(m->meta, "iref"), content;
    char type[4];
    if (iref.n < FULL_BOX)
        return;
    uint8_t *const box = file + (iref.p - file) - HEADER, *const end = box + HEADER + iref.n;
    const unsigned id_bytes = ih_span_take(&iref, FULL_BOX) >> 24 == 0 ? 2 : 4;
    if (memcmp(box + 4, "iref", 4) != 0) /* a size of 64 bits */
        return;
    uint8_t *to = box + HEADER + FULL_BOX;
    for (const uint8_t *at = iref.p; ih_box_next(&iref, type, &content); at = iref.p) {
        const uint64_t from = ih_span_take(&content, id_bytes), n = ih_span_take(&content, 2);
        if (ih_box_is(type, "cdsc") && !(n == 1 && ih_span_take(&content, id_bytes) == from))
            continue;
        memmove(to, at, (size_t)(iref.p - at));
        to += iref.p - at;
    }
    const size_t gap = (size_t)(end - to);
    if (gap < HEADER || iref.n > 0) /* iref.n: what follows is no box */
        return;
    memcpy(to + 4, "free", 4);
    put_size(to, gap);
    put_size(box, (size_t)(to - box));
}

/* Makes properties optional that the program checks itself. */
static void hide_essential(uint8_t *file, const struct heif_meta *m, struct ih_heif_hidden *hidden)
{
    bool refused[NUMBERS];
    struct heif_associations a = {.iprp = m->iprp};
    list_refused(m, refused);
    while (hidden->n < IH_HEIF_HIDDEN_MAX && next_association(&a)) {
        if (!a.is_essential || !refused[a.number])
            continue;
        uint8_t *const at = file + (a.ipma.p - file) - (a.flags & 1 ? 2 : 1);
        *at &= 0x7F;
        hidden->at[hidden->n++] = at;
    }
}

void ih_heif_boxes_restore(const struct ih_heif_hidden *hidden)
{
    for (unsigned i = 0; i < hidden->n; i++)
        *hidden->at[i] |= 0x80;
}

bool ih_heif_boxes_prepare(uint8_t *file, size_t size_bytes, struct ih_heif_hidden *hidden)
{
    struct ih_span left = {file, size_bytes}, content;
    char type[4];
    uint8_t *box = file;
    for (; ih_box_next(&left, type, &content); box = file + size_bytes - left.n) {
        const size_t n_left = (size_t)(file + size_bytes - box);
        if (memcmp(box, "\0\0\0", 4) == 0 && n_left <= UINT32_MAX)
            put_size(box, n_left);
        if (ih_box_is(type, "moov"))
            memcpy(box + 4, "free", 4);
    }
    const struct heif_meta m = find_meta(file, size_bytes);
    hide_metadata(file, &m);
    hide_descriptions(file, &m);
    hide_essential(file, &m, hidden);
    return file + size_bytes - box < 8 || memcmp(box + 4, "mdat", 4) != 0;
}
