/*
 * Template: sub, average and Paeth with vectors, for pixels of STEP bytes (1, 2, 3, 4, 6, 8).
 * unfilter.c includes it once for each size, with STEP; NAMED(name) appends it to the names.
 *
 * Each loop loads the next pixel before it stores this one, because a store may overwrite the start
 * of the next. The last pixel is stored exactly.
 */
#if STEP <= 4
#define LOAD vec_load4
#else
#define LOAD vec_load8
#endif

static inline void NAMED(store)(uint8_t *p, vec v)
{
#if STEP == 1
    *p = (uint8_t)vec_low4(v);
#elif STEP <= 4
    uint32_t bytes = vec_low4(v);
    memcpy(p, &bytes, sizeof bytes);
#else
    vec_store8(p, v);
#endif
}

static inline void NAMED(store_last)(uint8_t *p, vec v)
{
    uint8_t bytes[8];
    NAMED(store)(bytes, v);
    memcpy(p, bytes, STEP);
}

static void NAMED(sub)(uint8_t *row, size_t n_bytes)
{
    const uint8_t *last = row + n_bytes - STEP;
    vec left = vec_zero(), next = LOAD(row);
    for (; row < last; row += STEP) {
        left = vec_add_bytes(left, next);
        next = LOAD(row + STEP);
        NAMED(store)(row, left);
    }
    NAMED(store_last)(row, vec_add_bytes(left, next));
}

static void NAMED(average)(uint8_t *row, const uint8_t *above, size_t n_bytes)
{
    const uint8_t *last = row + n_bytes - STEP;
    vec left = vec_zero(), next = LOAD(row);
    for (; row < last; row += STEP, above += STEP) {
        left = vec_add_bytes(vec_half(vec_add(left, LOAD(above))), next);
        next = LOAD(row + STEP);
        NAMED(store)(row, left);
    }
    NAMED(store_last)(row, vec_add_bytes(vec_half(vec_add(left, LOAD(above))), next));
}

/*
 * Returns next + the Paeth predictor: of left, up and corner, the one nearest to left + up -
 * corner; the earlier one if two are equally near. With t = 3 corner - left - up (Fabian Giesen):
 *   t >= max(left, up): the smaller of left and up
 *   t <= min(left, up): the larger
 *   otherwise:          corner
 * Each pixel waits for its left neighbour, so speed depends on the number of operations from `left`
 * to the result. It is five, because next is added to all three candidates first.
 */
static inline vec NAMED(predict)(vec left, vec up, vec corner, vec next)
{
    vec t = vec_sub(vec_sub(vec_add(corner, vec_add(corner, corner)), up), left);
    vec small = vec_min(left, up), large = vec_max(left, up);
    vec not_small = vec_greater(large, t), not_large = vec_greater(t, small);
    vec outer = vec_or(vec_and_not(vec_add_bytes(small, next), not_small),
                       vec_and_not(vec_add_bytes(large, next), not_large));
    return vec_or(outer, vec_and(vec_add_bytes(corner, next), vec_and(not_small, not_large)));
}

static void NAMED(paeth)(uint8_t *row, const uint8_t *above, size_t n_bytes)
{
    const uint8_t *last = row + n_bytes - STEP;
    vec left = vec_zero(), corner = left, next = LOAD(row);
    for (; row < last; row += STEP, above += STEP) {
        vec up = LOAD(above);
        left = NAMED(predict)(left, up, corner, next);
        corner = up;
        next = LOAD(row + STEP);
        NAMED(store)(row, left);
    }
    NAMED(store_last)(row, NAMED(predict)(left, LOAD(above), corner, next));
}

#if STEP <= 4
/* Two rows. The lower half of a vector holds a pixel of row, the upper half the pixel of below that
 * is one place to its left; at first zeros, as on the left of the image. */
static void NAMED(paeth_two)(uint8_t *row, uint8_t *below, const uint8_t *above, size_t n_bytes)
{
    const uint8_t *last = row + n_bytes - STEP, *first = row;
    vec corner = LOAD(above), left = NAMED(predict)(vec_zero(), corner, vec_zero(), LOAD(row));
    for (;; row += STEP, below += STEP, above += STEP) {
        const bool is_last = row == last; /* a pixel of below is left then */
        const vec next = vec_join(LOAD(row + STEP), LOAD(below));
        const vec up = vec_join(LOAD(above + STEP), left);
        if (row > first)
            NAMED(store)(below - STEP, vec_upper(left));
        if (is_last)
            NAMED(store_last)(row, left);
        else
            NAMED(store)(row, left);
        left = NAMED(predict)(left, up, corner, next);
        corner = up;
        if (is_last)
            break;
    }
    NAMED(store_last)(below, vec_upper(left));
}
#endif

#undef LOAD
#undef STEP
