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

/* Whether the box auxC of an item, or auxi of a track, says that the pixels are alpha. */
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

/* ---- what AV1 states in its own header ---- */

struct heif_av1 {
    enum ih_range range;
    unsigned last_layer; /* the one that decoders return */
};

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
        if (n_bytes == 0 || method > 1 || offset < base || offset > in.n)
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

/* Reads a sequence header up to color_range. */
static struct heif_av1 read_sequence_header(struct ih_span bytes)
{
    enum { SRGB_IDENTITY = 1 << 16 | 13 << 8 | 0 };
    struct heif_bits b = {bytes, 0};
    struct heif_av1 told = {IH_RANGE_UNKNOWN, 0};
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
    const uint32_t colours = heif_bits_take(&b, 1) ? heif_bits_take(&b, 24) : 0;
    const bool is_full = (!is_gray && colours == SRGB_IDENTITY) || heif_bits_take(&b, 1);
    if (b.at <= 8 * bytes.n)
        told.range = is_full ? IH_RANGE_FULL : IH_RANGE_LIMITED;
    return told;
}

/* Finds the sequence header among the units (OBU) of an AV1 image. */
static struct heif_av1 read_av1(const struct heif_meta *m, uint32_t item)
{
    enum { SEQUENCE_HEADER = 1, HAS_EXTENSION = 4, HAS_SIZE = 2, UNITS_MAX = 16 };
    struct heif_item coded;
    if (!find_item(m, first_part(m, item), &coded) || !ih_box_is(coded.type, "av01"))
        return (struct heif_av1){IH_RANGE_UNKNOWN, 0};
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
    return (struct heif_av1){IH_RANGE_UNKNOWN, 0};
}

/* Refuses an essential property, of the item, its parts and its alpha, that is not applied. */
static enum ih_status check_essential(const struct heif_meta *m, uint32_t item,
                                      const uint32_t *alpha, struct ih_error *err)
{
    enum { NUMBERS = 0x8000, LAYERS_MAX = 1024 /* of tiles; each costs a search */ };
    uint8_t is_refused[NUMBERS] = {0};
    struct heif_associations a = {.iprp = m->iprp};
    struct ih_span left = m->ipco;
    struct heif_property p;
    char type[5];
    unsigned n_searches = SEARCHES_MAX, n_refused = 0, n_layers = 0;
    for (unsigned i = 1; i < NUMBERS && ih_box_next(&left, p.type, &p.content); i++)
        n_refused += is_refused[i] = !is_applied(&p);
    while (n_refused > 0 && next_association(&a)) {
        if (!a.is_essential || !is_refused[a.number] ||
            (!is_part(m, item, a.item, DEPTH_MAX, &n_searches) &&
             !(alpha && is_part(m, *alpha, a.item, DEPTH_MAX, &n_searches))))
            continue;
        p = get_property(m, a.number);
        if (ih_box_is(p.type, "lsel") && n_layers++ < LAYERS_MAX &&
            ih_span_take(&p.content, 2) == read_av1(m, a.item).last_layer)
            continue;
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with the essential property '%s' is not supported",
                            print_type(p.type, type));
    }
    return IH_OK;
}

/* ---- the interface ---- */

enum ih_status ih_heif_boxes_read(const uint8_t *file, size_t size_bytes, uint32_t item,
                                  struct ih_heif_boxes *told, struct ih_error *err)
{
    const struct heif_meta m = find_meta(file, size_bytes);
    struct heif_properties of_item, of_alpha;
    struct heif_item known;
    uint32_t alpha;
    bool of_part;
    list_properties(&m, item, &of_item);
    *told = (struct ih_heif_boxes){.has_alpha = find_alpha(&m, item, &alpha, &of_alpha, &of_part)};
    told->is_gray = is_monochrome(&of_item);
    told->is_turned_first = is_turned_first(&of_item);
    if (told->is_gray)
        told->range = read_av1(&m, item).range;
    if (told->has_alpha) {
        told->alpha_differs = !transforms_are_equal(&of_item, &of_alpha);
        told->alpha_range = read_av1(&m, alpha).range;
    } else if (of_part && find_item(&m, item, &known) && !ih_box_is(known.type, "iovl")) {
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with alpha of its parts instead of the image is not supported");
    }
    return check_essential(&m, item, told->has_alpha ? &alpha : NULL, err);
}

bool ih_heif_boxes_primary(const uint8_t *file, size_t size_bytes, char type[5])
{
    const struct heif_meta m = find_meta(file, size_bytes);
    struct ih_span pitm = ih_box_find(m.meta, "pitm");
    struct heif_item item;
    const unsigned id_bytes = ih_span_take(&pitm, FULL_BOX) >> 24 == 0 ? 2 : 4;
    if (pitm.n < id_bytes || !find_item(&m, (uint32_t)ih_span_take(&pitm, id_bytes), &item))
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

/* Whether a track has pictures or their alpha: no sound, no depth. */
static bool is_wanted_track(struct ih_span trak)
{
    enum { HANDLER_AT = 8, ENTRY_BYTES = 78 /* of a sample entry, before its boxes */ };
    const struct ih_span mdia = ih_box_find(trak, "mdia"), hdlr = ih_box_find(mdia, "hdlr");
    struct ih_span stsd = ih_box_find(ih_box_find(ih_box_find(mdia, "minf"), "stbl"), "stsd");
    ih_span_take(&stsd, 2 * FULL_BOX);
    struct ih_span entry = ih_box_find(stsd, "av01");
    entry = entry.n < ENTRY_BYTES ? (struct ih_span){NULL, 0}
                                  : (struct ih_span){entry.p + ENTRY_BYTES, entry.n - ENTRY_BYTES};
    const struct ih_span auxi = ih_box_find(entry, "auxi");
    return (hdlr.n < HANDLER_AT + 4 ||
            heif_type_is((const char *)hdlr.p + HANDLER_AT, "pictauxv")) &&
           (auxi.n == 0 || is_alpha_name(auxi));
}

void ih_heif_boxes_prepare(uint8_t *file, size_t size_bytes)
{
    struct ih_span left = {file, size_bytes}, content, trak;
    char type[4];
    for (uint8_t *box = file; ih_box_next(&left, type, &content);
         box = file + size_bytes - left.n) {
        const uint64_t n_left = (uint64_t)(file + size_bytes - box);
        if (memcmp(box, "\0\0\0", 4) == 0 && n_left <= UINT32_MAX)
            for (unsigned i = 0; i < 4; i++)
                box[i] = (uint8_t)(n_left >> (24 - 8 * i));
        if (!ih_box_is(type, "moov"))
            continue;
        for (const uint8_t *at = content.p; ih_box_next(&content, type, &trak); at = content.p)
            if (ih_box_is(type, "trak") && !is_wanted_track(trak))
                memcpy(file + (at - file) + 4, "free", 4);
    }
}
