/*
 * Template: the filters that look to the left, with vectors, for pixels of STEP bytes (1, 2, 3, 4,
 * 6, 8). Included once for each; the including file defines STEP, and NAMED(name) to name the
 * functions.
 *
 * The next pixel is loaded before this one is stored, so that a store may run over the next pixel;
 * only the last one is stored to the byte.
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
 * next + the one of left, up and corner that is nearest to left + up - corner, in this order where
 * two are as near. With t = 3 corner - left - up that is: the smaller of left and up where t is at
 * or above the larger, the larger where t is at or below the smaller, else the corner (Fabian
 * Giesen's formula). Each pixel waits for the one on its left, so what counts is how many
 * operations lie between `left` and the result: five here, since next is added to all three
 * beforehand.
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

#undef LOAD
#undef STEP
#undef NAMED
