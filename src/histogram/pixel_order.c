#include "histogram/pixel_order.h"

bool ih_pixel_order_is_possible(const struct ih_pixel_order *o, uint64_t width, uint64_t height)
{
    if (o->kind >= IH_PIXEL_ORDER_KINDS || o->flags >= IH_PIXEL_ORDER_FLAGS_END)
        return false;
    if (o->kind == IH_PIXEL_ORDER_ROWS || o->kind == IH_PIXEL_ORDER_ADAM7)
        return true;
    if (o->width == 0 || o->height == 0)
        return false;
    return o->kind == IH_PIXEL_ORDER_TILES ||
           ((uint64_t)o->left + o->width <= width && (uint64_t)o->top + o->height <= height);
}

void ih_pixel_order_start(struct ih_pixel_order_walk *w, const struct ih_pixel_order *order,
                          uint64_t width, uint64_t height)
{
    *w = (struct ih_pixel_order_walk){.order = *order, .width = width, .height = height};
}

/* Sets the rectangle of the block; its pixels are all of it. */
static void set_block(struct ih_pixel_order_walk *w, uint64_t x, uint64_t y, uint64_t n_x,
                      uint64_t n_y)
{
    w->x = x;
    w->y = y;
    w->n_x = n_x;
    w->n_y = n_y;
    w->x_step = w->y_step = 1;
}

static uint64_t n_from(uint64_t end, uint64_t start, uint64_t step)
{
    return end > start ? (end - start + step - 1) / step : 0;
}

static bool set_pass(struct ih_pixel_order_walk *w, uint64_t pass)
{
    static const struct {
        uint8_t x, x_step, y, y_step;
    } passes[] = {{0, 8, 0, 8}, {4, 8, 0, 8}, {0, 4, 4, 8}, {2, 4, 0, 4},
                  {0, 2, 2, 4}, {1, 2, 0, 2}, {0, 1, 1, 2}};
    if (pass >= sizeof passes / sizeof *passes)
        return false;
    set_block(w, passes[pass].x, passes[pass].y,
              n_from(w->width, passes[pass].x, passes[pass].x_step),
              n_from(w->height, passes[pass].y, passes[pass].y_step));
    w->x_step = passes[pass].x_step;
    w->y_step = passes[pass].y_step;
    return true;
}

static bool set_tile(struct ih_pixel_order_walk *w, uint64_t tile)
{
    const struct ih_pixel_order *o = &w->order;
    const uint64_t n_across = n_from(w->width, 0, o->width);
    if (n_across == 0 || tile / n_across >= n_from(w->height, 0, o->height))
        return false;
    const uint64_t x = tile % n_across * o->width, y = tile / n_across * o->height;
    const uint64_t right = w->width - x, below = w->height - y;
    set_block(w, x, y, right < o->width ? right : o->width, below < o->height ? below : o->height);
    return true;
}

static bool set_frame(struct ih_pixel_order_walk *w, uint64_t part)
{
    static const struct {
        uint8_t y, y_step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    enum { ABOVE, BELOW, LEFT, RIGHT, FRAME };
    const struct ih_pixel_order *o = &w->order;
    const uint64_t right = (uint64_t)o->left + o->width, bottom = (uint64_t)o->top + o->height;
    const uint64_t pass = part - FRAME;
    if (part == ABOVE)
        set_block(w, 0, 0, w->width, o->top);
    else if (part == BELOW)
        set_block(w, 0, bottom, w->width, w->height - bottom);
    else if (part == LEFT)
        set_block(w, 0, o->top, o->left, o->height);
    else if (part == RIGHT)
        set_block(w, right, o->top, w->width - right, o->height);
    else if (!(o->flags & IH_PIXEL_ORDER_INTERLACED) && pass == 0)
        set_block(w, o->left, o->top, o->width, o->height);
    else if ((o->flags & IH_PIXEL_ORDER_INTERLACED) && pass < sizeof passes / sizeof *passes) {
        set_block(w, o->left, o->top + (uint64_t)passes[pass].y, o->width,
                  n_from(o->height, passes[pass].y, passes[pass].y_step));
        w->y_step = passes[pass].y_step;
    } else
        return false;
    return true;
}

static bool next_block(struct ih_pixel_order_walk *w)
{
    const uint64_t i = w->n_blocks++;
    w->column = w->row = 0;
    switch (w->order.kind) {
    case IH_PIXEL_ORDER_ADAM7:
        return set_pass(w, i);
    case IH_PIXEL_ORDER_TILES:
        return set_tile(w, i);
    case IH_PIXEL_ORDER_FRAME:
        return set_frame(w, i);
    default:
        set_block(w, 0, 0, w->width, w->height);
        return i == 0;
    }
}

bool ih_pixel_order_next(struct ih_pixel_order_walk *w, size_t n_max,
                         struct ih_pixel_order_run *run)
{
    while (w->n_x == 0 || w->row == w->n_y)
        if (!next_block(w))
            return false;
    const uint64_t left = w->n_x - w->column;
    run->n = n_max < left ? n_max : (size_t)left;
    run->x = w->x + w->column * w->x_step;
    run->y = w->y + w->row * w->y_step;
    run->x_step = (int64_t)w->x_step;
    if (w->order.flags & IH_PIXEL_ORDER_FROM_BOTTOM)
        run->y = w->height - 1 - run->y;
    if (w->order.flags & IH_PIXEL_ORDER_FROM_RIGHT) {
        run->x = w->width - 1 - run->x;
        run->x_step = -run->x_step;
    }
    w->column += run->n;
    if (w->column == w->n_x) {
        w->column = 0;
        w->row++;
    }
    return true;
}
