/*
 * The validator of a baseline JPEG's entropy-coded data (ITU-T T.81, annexes C and F), block by
 * block. It reads the same codes as a decoder, but stores neither coefficients nor pixels.
 *
 * A look-up takes an index of 7 to 12 bits and covers all symbols in it, on photos two or three.
 * Its entry has their total length and an upper bound for their coefficients. If the bound of a
 * block exceeds the limit, as in one of some hundred blocks, the block is read again for the exact
 * sum.
 *
 * Almost all small files have the Huffman tables of T.81's annex K. Making look-up tables for them
 * would take a fifth of the time, so a worker keeps the tables of its last files.
 *
 * The next bits stay in a register. Small photos (7 to 320 KB), one core of an EPYC, time relative
 * to this code:
 *
 *     addresses computed from block numbers                  1.04
 *     two branches for a look-up                             1.05
 *     one look-up for each load                              1.06
 *     the first two, and bits loaded for each two look-ups   1.22
 */
#include "jpeg_gpu/validate.h"

#include "decode/jpeg/markers.h"

#include <stdlib.h>
#include <string.h>

/* Largest sizes in bits that 8-bit samples need (T.81, tables F.1 and F.2). */
enum { DC_SIZE_MAX = 11, AC_SIZE_MAX = 10 };

enum { EOB = 0x00, ZRL = 0xF0, BLOCK_COEFFICIENTS = 64, MCU_BLOCKS_MAX = 6 };

/* ---- single symbols ---- */

enum { CODE_BITS_MAX = 16, FIRST_BITS = 9 };

struct huffman {
    const uint8_t *symbols;             /* borrowed */
    uint32_t limits[CODE_BITS_MAX + 1]; /* of a length: above all its codes, as 16 bits */
    int offsets[CODE_BITS_MAX + 1];     /* a code of this length: symbols[offset + code] */
    /* Indexed by the next bits: 256 * the code's length + its symbol; 0: the code is longer. */
    uint16_t first[1 << FIRST_BITS];
};

/* Returns the length of the code at the start of `bits`, and its symbol; 0, 0: no code. */
static inline unsigned find(const struct huffman *table, uint64_t bits, unsigned *symbol)
{
    const unsigned found = table->first[bits >> (64 - FIRST_BITS)];
    const uint32_t next_16_bits = (uint32_t)(bits >> 48);
    *symbol = found & 255;
    if (found != 0)
        return found >> 8;
    for (unsigned length = FIRST_BITS + 1; length <= CODE_BITS_MAX; length++)
        if (next_16_bits < table->limits[length]) {
            const int code = (int)(next_16_bits >> (16 - length));
            *symbol = table->symbols[table->offsets[length] + code];
            return length;
        }
    return 0;
}

/* The value of the first `size` bits (T.81, F.2.2.1): negative where they begin with 0. */
static inline int32_t extend(uint64_t bits, unsigned size)
{
    const int32_t value = (int32_t)(bits >> 1 >> (63 - size));
    const int32_t if_negative = (1 << size) - 1;
    return value - (-(int32_t)(1 - (bits >> 63)) & if_negative);
}

/* ---- blocks ---- */

/*
 * The state of a block is one number. A look-up adds an entry, a number of the same form:
 *
 *   bits 0-5     the place in zigzag order of the next coefficient; 0: the block's start
 *   bit 6        only step can read the next symbol: a code longer than the index, the end
 *                of a block without EOB, or damage
 *   bit 7        the block has ended with EOB
 *   bits 8-19    the block's length in bits
 *   bits 20-62   an upper bound for the sum of its AC coefficients' magnitudes times quantizers
 *   bit 63       the block is damaged
 *
 * An entry has 32 bits and covers all symbols that the index holds. Its sum is without quantizers.
 */
enum {
    PLACE_MASK = 63,
    IS_STEP = 1 << 6,
    ENDED_SHIFT = 7,
    LENGTH_SHIFT = 8,
    LENGTH_MASK = 0xFFF,
    SUM_SHIFT = 20,
};
#define IS_DAMAGED ((uint64_t)1 << 63)

struct component {
    const struct huffman *dc, *ac;
    const uint32_t *start;                /* entries for the start of a block */
    const uint32_t *rest;                 /* entries for the rest of it */
    unsigned index_bits;                  /* of both */
    const uint8_t *quant;                 /* [64] in zigzag order */
    unsigned n_blocks;                    /* of an MCU */
    uint32_t weights[BLOCK_COEFFICIENTS]; /* factor of an entry's sum, by place */
};

/* ---- tables that are kept for the next files ---- */

enum {
    INDEX_BITS_MAX = 12, /* of tables that two files have used */
    KEPT_PAIRS = 8,      /* at least as many as a file may have, IH_HW_JPEG_COMPONENTS_MAX */
    KEPT_DATA_BYTES = 64 << 10
};

/* The tables of a DC code and an AC code. They depend on nothing but both codes and index_bits. */
struct pair {
    unsigned index_bits;         /* 0: empty */
    uint64_t last_file;          /* the number of the last file that used it */
    struct ih_jpeg_codes dc, ac; /* what the tables were made from: bytes, not the file's */
    uint8_t dc_bytes[16 + 256], ac_bytes[16 + 256];
    struct huffman dc_table, ac_table;
    uint32_t start[1 << INDEX_BITS_MAX], rest[1 << INDEX_BITS_MAX];
};

struct ih_jpeg_workspace {
    uint64_t n_files; /* so far */
    struct pair pairs[KEPT_PAIRS];
    uint8_t data[KEPT_DATA_BYTES]; /* for small files: workers contend for the heap */
};

/* ---- reading data ---- */

/* At least 57 bits of the data, from `bit` on. */
static inline uint64_t bits_at(const uint8_t *data, size_t bit)
{
    const uint8_t *p = data + (bit >> 3);
    const uint64_t bits = (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
                          (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
                          (uint64_t)p[6] << 8 | (uint64_t)p[7];
    return bits << (bit & 7);
}

static inline bool is_marker(const uint8_t *at, const uint8_t *end, unsigned marker)
{
    return end - at >= 2 && at[1] == marker;
}

static inline uint32_t count_mcus(const struct ih_jpeg_plan *plan)
{
    const uint32_t width = 8 * plan->chroma_h, height = 8 * plan->chroma_v; /* of an MCU */
    return ((plan->width + width - 1) / width) * ((plan->height + height - 1) / height);
}

/* ---- Huffman tables ---- */

bool ih_jpeg_codes_are_sound(const struct ih_jpeg_codes *codes, bool is_dc)
{
    bool is_seen[256] = {false};
    unsigned next_code = 0;
    for (unsigned length = 1; length <= CODE_BITS_MAX; length++) {
        next_code = next_code * 2 + codes->counts[length - 1];
        if (next_code >= 1u << length) /* too many codes, or one that is all ones */
            return false;
    }
    for (unsigned i = 0; i < codes->n_symbols; i++) {
        const unsigned symbol = codes->counts[CODE_BITS_MAX + i];
        const unsigned size = is_dc ? symbol : symbol & 15;
        const unsigned size_max = is_dc ? DC_SIZE_MAX : AC_SIZE_MAX;
        const bool is_unused_run = !is_dc && size == 0 && symbol != EOB && symbol != ZRL;
        if (is_seen[symbol] || size > size_max || is_unused_run)
            return false;
        is_seen[symbol] = true;
    }
    return codes->n_symbols > 0;
}

static void make_huffman(struct huffman *table, const struct ih_jpeg_codes *codes)
{
    unsigned code = 0, n_before = 0;
    size_t at = 0;
    table->symbols = codes->counts + CODE_BITS_MAX;
    for (unsigned length = 1; length <= CODE_BITS_MAX; length++) {
        const unsigned n = codes->counts[length - 1];
        table->offsets[length] = (int)n_before - (int)code;
        for (unsigned i = 0; i < n && length <= FIRST_BITS; i++)
            for (unsigned j = 0; j < 1u << (FIRST_BITS - length); j++)
                table->first[at++] = (uint16_t)(length << 8 | table->symbols[n_before + i]);
        code += n;
        n_before += n;
        table->limits[length] = code << (CODE_BITS_MAX - length);
        code *= 2;
    }
    memset(table->first + at, 0, sizeof table->first - at * sizeof *table->first);
}

/* ---- entries ---- */

enum {
    REACH = 16, /* places that an entry covers at most: one weight has to bound its quantizers */
    SUM_MAX = 0xFFF
};

/* An upper bound for a coefficient's magnitude; exact when the index holds all of its bits. Its
 * size bits follow n_bits bits of the index. */
static unsigned magnitude_max(unsigned index, unsigned index_bits, unsigned n_bits, unsigned size)
{
    const unsigned most = (1u << size) - 1;
    if (size == 0 || n_bits + size > index_bits)
        return most;
    const unsigned bits = index >> (index_bits - n_bits - size) & most;
    return bits >> (size - 1) ? bits : most - bits; /* negative ones begin with 0 */
}

/* The entry for an index. Its first n_bits are a DC symbol; 0: no DC symbol. */
static uint32_t make_entry(const struct huffman *ac, unsigned index, unsigned index_bits,
                           unsigned n_bits)
{
    const unsigned n_dc = n_bits > 0 ? 1 : 0;
    unsigned sum = 0, n_places = 0, is_end = 0;
    while (n_bits < index_bits) {
        unsigned symbol;
        const unsigned length = find(ac, (uint64_t)index << (64 - index_bits) << n_bits, &symbol);
        const unsigned size = symbol & 15, run = symbol >> 4;
        if (length == 0 || n_bits + length > index_bits)
            break;
        if (symbol == EOB) {
            n_bits += length;
            is_end = 1;
            break;
        }
        const unsigned most = magnitude_max(index, index_bits, n_bits + length, size);
        if (n_places + run + 1 > REACH || sum + most > SUM_MAX)
            break;
        n_bits += length + size;
        n_places += run + 1;
        sum += most;
    }
    if (n_bits == 0)
        return IS_STEP;
    return (n_dc + n_places + (is_end << ENDED_SHIFT)) | n_bits << LENGTH_SHIFT | sum << SUM_SHIFT;
}

static void make_entries(struct pair *p)
{
    const unsigned index_bits = p->index_bits;
    for (unsigned i = 0; i < 1u << index_bits; i++) {
        unsigned size;
        const unsigned length = find(&p->dc_table, (uint64_t)i << (64 - index_bits), &size);
        p->start[i] = length == 0 || length > index_bits
                          ? IS_STEP
                          : make_entry(&p->ac_table, i, index_bits, length + size);
        p->rest[i] = make_entry(&p->ac_table, i, index_bits, 0);
    }
}

/* weights[k]: the largest quantizer that the AC symbols of a look-up at place k can meet. It is
 * less by one, because the entry is added as well. */
static void make_weights(struct component *c)
{
    uint8_t most[BLOCK_COEFFICIENTS + REACH] = {0};
    memcpy(most, c->quant, BLOCK_COEFFICIENTS);
    for (unsigned n = 1; n < REACH; n *= 2) /* most[k] becomes that of 2 n places from k on */
        for (unsigned k = 0; k < BLOCK_COEFFICIENTS; k++)
            most[k] = most[k + n] > most[k] ? most[k + n] : most[k];
    most[0] = most[1]; /* at 0 the DC coefficient comes before them */
    for (unsigned k = 0; k < BLOCK_COEFFICIENTS; k++)
        c->weights[k] = (uint32_t)(most[k] - 1) << SUM_SHIFT;
}

/* ---- tables that are kept ---- */

static bool codes_are_same(const struct ih_jpeg_codes *a, const struct ih_jpeg_codes *b)
{
    return a->n_symbols == b->n_symbols &&
           memcmp(a->counts, b->counts, CODE_BITS_MAX + a->n_symbols) == 0;
}

static struct ih_jpeg_codes copy_codes(uint8_t *bytes, const struct ih_jpeg_codes *codes)
{
    memcpy(bytes, codes->counts, CODE_BITS_MAX + codes->n_symbols);
    return (struct ih_jpeg_codes){.counts = bytes, .n_symbols = codes->n_symbols};
}

static bool has_codes(const struct pair *p, const struct ih_jpeg_codes *dc,
                      const struct ih_jpeg_codes *ac)
{
    return p->index_bits > 0 && codes_are_same(&p->dc, dc) && codes_are_same(&p->ac, ac);
}

/* Returns the tables of two codes: those of an earlier file, or new ones in place of the pair that
 * has not been used for the longest time. That is never one of the same file. */
static struct pair *get_pair(struct ih_jpeg_workspace *w, const struct ih_jpeg_codes *dc,
                             const struct ih_jpeg_codes *ac, unsigned index_bits)
{
    struct pair *p = &w->pairs[0];
    bool is_kept = false;
    for (unsigned i = 0; i < KEPT_PAIRS && !is_kept; i++) {
        struct pair *other = &w->pairs[i];
        is_kept = has_codes(other, dc, ac);
        if (is_kept || other->last_file < p->last_file)
            p = other;
    }
    if (is_kept && p->last_file == w->n_files) /* in use: it must not change */
        return p;
    if (!is_kept) {
        p->dc = copy_codes(p->dc_bytes, dc);
        p->ac = copy_codes(p->ac_bytes, ac);
        p->index_bits = 0;
    } else if (index_bits < INDEX_BITS_MAX) {
        index_bits = INDEX_BITS_MAX;
    }
    if (p->index_bits < index_bits) {
        p->index_bits = index_bits;
        make_huffman(&p->dc_table, &p->dc);
        make_huffman(&p->ac_table, &p->ac);
        make_entries(p);
    }
    p->last_file = w->n_files;
    return p;
}

/* Fills a plan's components [plan->n_components], which borrow plan and workspace until the next
 * call. Makes the tables that the workspace does not have. */
static void make_components(struct component *components, const struct ih_jpeg_plan *plan,
                            struct ih_jpeg_workspace *workspace, unsigned index_bits)
{
    workspace->n_files++;
    for (unsigned i = 0; i < plan->n_components; i++) {
        const struct pair *pair = get_pair(workspace, &plan->dc[plan->components[i].dc],
                                           &plan->ac[plan->components[i].ac], index_bits);
        components[i] =
            (struct component){.dc = &pair->dc_table,
                               .ac = &pair->ac_table,
                               .start = pair->start,
                               .rest = pair->rest,
                               .index_bits = pair->index_bits,
                               .quant = plan->quant[plan->components[i].quant],
                               .n_blocks = i == 0 ? plan->chroma_h * plan->chroma_v : 1};
        make_weights(&components[i]);
    }
}

/* ---- the end of a block, and long codes ---- */

/* Reads the symbol at the start of `bits`, of any length, and updates *block. Returns how many bits
 * it has. *is_end: the block has ended. Damage ends a block, sets IS_DAMAGED and *reason,
 * and has one bit. */
static unsigned step(const struct component *c, uint64_t bits, uint64_t *block, bool *is_end,
                     enum ih_jpeg_reason *reason)
{
    const unsigned place = *block & PLACE_MASK;
    unsigned symbol, size, length, next = place + 1;
    uint64_t sum = 0;
    *reason = IH_JPEG_REASON_NONE;
    *is_end = false;
    if (place == 0) {
        length = find(c->dc, bits, &size);
    } else {
        length = find(c->ac, bits, &symbol);
        size = symbol & 15;
        next += symbol >> 4;
        *is_end = symbol == EOB || next == BLOCK_COEFFICIENTS;
        if (symbol == EOB)
            next = place;
        else if (next > BLOCK_COEFFICIENTS || (symbol == ZRL && *is_end))
            *reason = IH_JPEG_REASON_DATA_PLACE;
        else if (size > 0)
            sum = (uint64_t)c->quant[next - 1] << size;
    }
    if (length == 0)
        *reason = IH_JPEG_REASON_DATA_CODE;
    if (*reason != IH_JPEG_REASON_NONE) {
        *block |= IS_DAMAGED;
        *is_end = true;
        *block += 1 << LENGTH_SHIFT;
        return 1;
    }
    *block += (next - place) + ((uint64_t)(length + size) << LENGTH_SHIFT) + (sum << SUM_SHIFT);
    return length + size;
}

/* The exact sum of the AC coefficients' magnitudes times quantizers, of a sound block at `bit`. */
static uint32_t ac_sum(const struct component *c, const uint8_t *data, size_t bit)
{
    unsigned symbol, k = 1;
    uint32_t sum = 0;
    bit += find(c->dc, bits_at(data, bit), &symbol);
    bit += symbol;
    while (k < BLOCK_COEFFICIENTS) {
        const uint64_t bits = bits_at(data, bit);
        const unsigned length = find(c->ac, bits, &symbol);
        if (symbol == EOB)
            break;
        k += symbol >> 4;
        sum += (uint32_t)abs(extend(bits << length, symbol & 15)) * c->quant[k];
        bit += length + (symbol & 15);
        k++;
    }
    return sum;
}

/* Copies entropy-coded data up to the next marker without its stuffing to `to` [end - from +
 * n_zeros], and appends zeros: look-ups may read beyond the end. Returns where the marker is, or
 * `end`. *n_bytes: without the zeros. */
static const uint8_t *unstuff(const uint8_t *from, const uint8_t *end, size_t n_zeros, uint8_t *to,
                              size_t *n_bytes)
{
    size_t n = 0;
    for (bool is_stuffed = true; is_stuffed;) {
        const uint8_t *ff = memchr(from, 0xFF, (size_t)(end - from));
        is_stuffed = ff && end - ff >= 2 && ff[1] == 0;
        const uint8_t *stop = ff ? ff : end;
        const size_t n_here = (size_t)(stop - from) + is_stuffed;
        memcpy(to + n, from, n_here);
        n += n_here;
        from = is_stuffed ? ff + 2 : stop;
    }
    memset(to + n, 0, n_zeros);
    *n_bytes = n;
    return from;
}

/* ---- the scan, block by block ---- */

enum {
    BLOCK_BITS_MAX = 16 + DC_SIZE_MAX + 63 * (16 + AC_SIZE_MAX),
    SLACK_BYTES = BLOCK_BITS_MAX / 8 + 16 /* a block may be read beyond the end, and a load */
};

/* For tables that no earlier file had. Making a large table for little data takes longer than
 * reading the data with a small one. */
static unsigned index_bits_for(size_t data_bytes)
{
    return data_bytes < 4096     ? 7
           : data_bytes < 16384  ? 8
           : data_bytes < 49152  ? 9
           : data_bytes < 196608 ? 10
                                 : 11;
}

/* The next bits of the data in a register: the highest n_bits of `bits`. */
struct reader {
    uint64_t bits;
    const uint8_t *next; /* the first byte that is not in bits, or only in part */
    unsigned n_bits;
};

/* Loads at least 56 bits. The address is known before the last look-up is done, so loading takes no
 * time that counts. */
static inline void fill(struct reader *r)
{
    r->bits |= bits_at(r->next, 0) >> r->n_bits;
    r->next += (63 - r->n_bits) >> 3;
    r->n_bits |= 56;
}

static inline void drop(struct reader *r, unsigned n)
{
    r->bits <<= n;
    r->n_bits -= n;
}

struct scan {
    const struct ih_jpeg_plan *plan;
    const uint8_t *data; /* of a restart interval, without stuffing */
    size_t n_bits;       /* of the data */
    struct {             /* of an MCU */
        const struct component *component;
        int32_t *prediction;
    } blocks[MCU_BLOCKS_MAX];
    unsigned n_blocks;
    int32_t predictions[IH_HW_JPEG_COMPONENTS_MAX];
    struct component components[IH_HW_JPEG_COMPONENTS_MAX];
};

/* Where the reader is in the data, in bits. */
static size_t position(const struct scan *s, const struct reader *r)
{
    return (size_t)(r->next - s->data) * 8 - r->n_bits;
}

/* Reads the symbols of an entry that was found at `place`. */
static inline void take(struct reader *r, const struct component *c, unsigned place, uint32_t entry,
                        uint64_t *block)
{
    *block += entry + (uint64_t)(entry >> SUM_SHIFT) * c->weights[place];
    drop(r, (uint8_t)(entry >> LENGTH_SHIFT));
}

/* Reads a block and returns its state. Its low bits are kept in `place` too, where they need not
 * wait for the sum. One load has the bits of two look-ups. */
static inline uint64_t read_block(const struct component *c, struct reader *reader,
                                  enum ih_jpeg_reason *reason)
{
    const unsigned shift = 64 - c->index_bits;
    const uint32_t *table = c->start;
    struct reader r = *reader;
    uint64_t block = 0;
    unsigned place = 0;
    for (;;) {
        uint32_t entry = table[r.bits >> shift];
        unsigned next = place + (entry & 255);
        while (next < IS_STEP) {
            take(&r, c, place, entry, &block);
            place = next;
            entry = c->rest[r.bits >> shift];
            next = place + (entry & 255);
            if (next >= IS_STEP)
                break;
            take(&r, c, place, entry, &block);
            place = next;
            fill(&r);
            entry = c->rest[r.bits >> shift];
            next = place + (entry & 255);
        }
        if (!(next & IS_STEP)) { /* EOB */
            take(&r, c, place, entry, &block);
            break;
        }
        uint64_t copy = block; /* lets `block` stay in a register */
        bool is_end;
        fill(&r);
        drop(&r, step(c, r.bits, &copy, &is_end, reason));
        block = copy;
        if (is_end)
            break;
        place = (uint8_t)block;
        fill(&r);
        table = c->rest;
    }
    *reader = r;
    return block;
}

/* Checks a block that has ended at `end` and may be damaged, too large or not all there. dc: its DC
 * coefficient's magnitude times its quantizer. reason: of step. */
static enum ih_jpeg_reason check_block(const struct scan *s, const struct component *c, size_t end,
                                       uint64_t block, uint32_t dc, enum ih_jpeg_reason reason)
{
    const size_t start = end - (block >> LENGTH_SHIFT & LENGTH_MASK);
    if (end > s->n_bits)
        return IH_JPEG_REASON_DATA_SHORT;
    if (reason == IH_JPEG_REASON_NONE && dc + (block >> SUM_SHIFT) > IH_JPEG_BLOCK_SUM_MAX &&
        dc + ac_sum(c, s->data, start) > IH_JPEG_BLOCK_SUM_MAX)
        return IH_JPEG_REASON_DATA_LARGE;
    return reason;
}

/* *bit: the end of the MCUs. */
static enum ih_jpeg_reason check_mcus(const struct scan *s, uint32_t n_mcus, size_t *bit)
{
    const uint8_t *end = s->data + s->n_bits / 8;
    struct reader r = {.next = s->data};
    enum ih_jpeg_reason reason = IH_JPEG_REASON_NONE;
    for (uint32_t i = 0; i < n_mcus; i++)
        for (unsigned b = 0; b < s->n_blocks; b++) {
            const struct component *c = s->blocks[b].component;
            unsigned size;
            fill(&r);
            const unsigned length = find(c->dc, r.bits, &size);
            const int32_t prediction = *s->blocks[b].prediction + extend(r.bits << length, size);
            *s->blocks[b].prediction = prediction;
            const uint64_t block = read_block(c, &r, &reason);
            const uint32_t dc = (uint32_t)abs(prediction) * c->quant[0];
            /* Damage sets the highest bit, so the sum is too large then. */
            if (r.next > end || dc + (block >> SUM_SHIFT) > IH_JPEG_BLOCK_SUM_MAX) {
                reason = check_block(s, c, position(s, &r), block, dc, reason);
                if (reason != IH_JPEG_REASON_NONE)
                    return reason;
            }
        }
    *bit = position(s, &r);
    return IH_JPEG_REASON_NONE;
}

/* After the last MCU before a marker at most 7 bits are left, all ones. */
static enum ih_jpeg_reason check_padding(const struct scan *s, size_t bit)
{
    const size_t n_left = s->n_bits - bit;
    if (n_left >= 8)
        return IH_JPEG_REASON_DATA_LONG;
    if (~bits_at(s->data, bit) >> 1 >> (63 - n_left) != 0)
        return IH_JPEG_REASON_DATA_PADDING;
    return IH_JPEG_REASON_NONE;
}

/* Validates one restart interval after the other. data: room for the longest. *end: after them. */
static enum ih_jpeg_reason check_intervals(struct scan *s, uint8_t *data, const uint8_t **end)
{
    const struct ih_jpeg_plan *plan = s->plan;
    const uint8_t *at = plan->data, *file_end = at + plan->data_bytes;
    uint32_t n_left = count_mcus(plan);
    for (unsigned i = 0;; i++) {
        const bool is_last = plan->restart_interval == 0 || plan->restart_interval >= n_left;
        const unsigned marker = is_last ? IH_JPEG_EOI : IH_JPEG_RST0 + i % 8;
        size_t n_bytes, bit;
        at = unstuff(at, file_end, SLACK_BYTES, data, &n_bytes);
        s->n_bits = n_bytes * 8;
        memset(s->predictions, 0, sizeof s->predictions);
        enum ih_jpeg_reason reason = check_mcus(s, is_last ? n_left : plan->restart_interval, &bit);
        if (reason == IH_JPEG_REASON_NONE)
            reason = check_padding(s, bit);
        if (reason == IH_JPEG_REASON_NONE && !is_marker(at, file_end, marker))
            reason = IH_JPEG_REASON_DATA_MARKER;
        *end = at;
        if (is_last || reason != IH_JPEG_REASON_NONE)
            return reason;
        n_left -= plan->restart_interval;
        at += 2;
    }
}

enum ih_jpeg_reason ih_jpeg_validate_scan(struct ih_jpeg_plan *plan,
                                          struct ih_jpeg_workspace **kept)
{
    struct ih_jpeg_workspace *workspace = *kept = *kept ? *kept : calloc(1, sizeof **kept);
    struct scan s = {.plan = plan};
    const uint8_t *end = NULL;
    const size_t n_bytes = plan->data_bytes + SLACK_BYTES;
    if (!workspace)
        return IH_JPEG_REASON_NO_MEMORY;
    uint8_t *data = n_bytes <= sizeof workspace->data ? workspace->data : malloc(n_bytes);
    if (!data)
        return IH_JPEG_REASON_NO_MEMORY;
    s.data = data;
    make_components(s.components, plan, workspace, index_bits_for(plan->data_bytes));
    for (unsigned k = 0; k < plan->n_components; k++)
        for (unsigned b = 0; b < s.components[k].n_blocks; b++) {
            s.blocks[s.n_blocks].component = &s.components[k];
            s.blocks[s.n_blocks++].prediction = &s.predictions[k];
        }
    const enum ih_jpeg_reason reason = check_intervals(&s, data, &end);
    if (reason == IH_JPEG_REASON_NONE)
        plan->data_bytes = (size_t)(end - plan->data);
    if (data != workspace->data)
        free(data);
    return reason;
}
