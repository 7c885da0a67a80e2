/*
 * The order of pixels, against pictures of each order that are drawn here another way: every pixel
 * of the image gets its number, whatever the pieces that are asked for.
 */
#include "tests/support/test.h"

#include "histogram/pixel_order.h"
#include "histogram/region.h"

enum { SIDE_MAX = 40 };

struct picture {
    unsigned width, height;
    unsigned n;                           /* pixels numbered so far */
    unsigned number[SIDE_MAX * SIDE_MAX]; /* of each pixel, from 1; 0: none yet */
};

static void draw(struct picture *p, unsigned x, unsigned y)
{
    assert_true(x < p->width && y < p->height);
    assert_int_equal(p->number[y * p->width + x], 0);
    p->number[y * p->width + x] = ++p->n;
}

/* Numbers pixels as the walk gives them, n_max at a time. */
static void walk(struct picture *p, const struct ih_pixel_order *order, size_t n_max)
{
    struct ih_pixel_order_walk w;
    struct ih_pixel_order_run run;
    memset(p->number, 0, sizeof p->number);
    p->n = 0;
    assert_true(ih_pixel_order_is_possible(order, p->width, p->height));
    ih_pixel_order_start(&w, order, p->width, p->height);
    while (ih_pixel_order_next(&w, n_max, &run)) {
        assert_true(run.n >= 1 && run.n <= n_max);
        for (size_t i = 0; i < run.n; i++)
            draw(p, (unsigned)((int64_t)run.x + (int64_t)i * run.x_step), (unsigned)run.y);
    }
    assert_int_equal(p->n, p->width * p->height);
}

static void compare(const struct picture *expected, const struct ih_pixel_order *order)
{
    static const size_t n_max[] = {1, 3, 7, SIZE_MAX};
    for (size_t i = 0; i < sizeof n_max / sizeof *n_max; i++) {
        struct picture got = {.width = expected->width, .height = expected->height};
        walk(&got, order, n_max[i]);
        assert_memory_equal(got.number, expected->number, sizeof got.number);
    }
}

#define EACH_SIZE(p)                                                \
    for (struct picture p = {.width = 1}; p.width <= 18; p.width++) \
        for (p.height = 1; p.height <= 18;                          \
             p.height++, memset(p.number, 0, sizeof p.number), p.n = 0)

/* The pass of each pixel of a block of 8 x 8, as the PNG specification draws it. */
TEST(adam7)
{
    static const char *const passes[] = {"16462646", "77777777", "56565656", "77777777",
                                         "36463646", "77777777", "56565656", "77777777"};
    const struct ih_pixel_order order = {.kind = IH_PIXEL_ORDER_ADAM7};
    EACH_SIZE(p)
    {
        for (char pass = '1'; pass <= '7'; pass++)
            for (unsigned y = 0; y < p.height; y++)
                for (unsigned x = 0; x < p.width; x++)
                    if (passes[y % 8][x % 8] == pass)
                        draw(&p, x, y);
        compare(&p, &order);
    }
}

static bool is_in_frame(const struct ih_pixel_order *o, unsigned x, unsigned y)
{
    return x >= o->left && x - o->left < o->width && y >= o->top && y - o->top < o->height;
}

/* The pixels around the frame are all alike, so that their order among themselves is free. */
TEST(frames)
{
    static const char passes[] = "14342434"; /* of the rows of a frame, as GIF89a lists them */
    for (unsigned i = 0; i < 2000; i++) {
        struct picture p = {.width = 1 + (unsigned)rand() % 30,
                            .height = 1 + (unsigned)rand() % 30};
        struct picture got = {.width = p.width, .height = p.height};
        struct ih_pixel_order order = {.kind = IH_PIXEL_ORDER_FRAME,
                                       .flags = i % 2 ? IH_PIXEL_ORDER_INTERLACED : 0,
                                       .width = 1 + (unsigned)rand() % p.width,
                                       .height = 1 + (unsigned)rand() % p.height};
        order.left = (unsigned)rand() % (p.width - order.width + 1);
        order.top = (unsigned)rand() % (p.height - order.height + 1);
        p.n = p.width * p.height - order.width * order.height;
        for (char pass = '1'; pass <= '4'; pass++)
            for (unsigned y = 0; y < order.height; y++)
                for (unsigned x = 0; x < order.width; x++)
                    if (i % 2 ? passes[y % 8] == pass : pass == '1')
                        draw(&p, order.left + x, order.top + y);
        walk(&got, &order, 1 + (size_t)rand() % 20);
        for (unsigned y = 0; y < p.height; y++)
            for (unsigned x = 0; x < p.width; x++) {
                const unsigned at = y * p.width + x;
                if (is_in_frame(&order, x, y))
                    assert_int_equal(got.number[at], p.number[at]);
            }
    }
}

/* A decoder process may send any order. */
TEST(impossible_orders)
{
    static const struct ih_pixel_order orders[] = {
        {.kind = IH_PIXEL_ORDER_KINDS},
        {.kind = UINT32_MAX},
        {.flags = IH_PIXEL_ORDER_FLAGS_END},
        {.kind = IH_PIXEL_ORDER_TILES, .width = 1},
        {.kind = IH_PIXEL_ORDER_TILES, .height = 1},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 0, .height = 1},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 6, .height = 1},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 5, .height = 1, .left = 1},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 1, .height = 1, .left = UINT32_MAX},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 1, .height = 7, .top = 1}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        assert_false(ih_pixel_order_is_possible(&orders[i], 5, 7));
}

/* The largest numbers neither overflow nor wrap into the image. */
TEST(regions_near_the_limits)
{
    const uint64_t largest = (uint64_t)1 << 40;
    struct ih_region r;
    struct ih_rectangle to;
    struct ih_error err;
    assert_int_equal(ih_region_parse("1099511627776x1+1099511627776+0", &r, &err), IH_OK);
    assert_int_equal(ih_region_place(&r, largest, 1, &to, &err), IH_LIMIT);
    assert_int_equal(ih_region_parse("100%x100%+0%+0%", &r, &err), IH_OK);
    assert_int_equal(ih_region_place(&r, UINT64_MAX, UINT64_MAX, &to, &err), IH_OK);
    assert_true(to.width == UINT64_MAX && to.height == UINT64_MAX && to.x == 0 && to.y == 0);
    assert_int_equal(ih_region_parse("99%x1+1%+0", &r, &err), IH_OK);
    assert_int_equal(ih_region_place(&r, UINT64_MAX, 1, &to, &err), IH_OK);
    assert_true(to.x == UINT64_MAX / 100 && to.x + to.width == UINT64_MAX);
    assert_int_equal(ih_region_place(&r, 0, 0, &to, &err), IH_LIMIT); /* an image without pixels */
}
