/*
 * A decoder for tests whose files each hold a struct order: the size of the image and what else the
 * decoder does. Define _GNU_SOURCE before any header.
 */
#ifndef IH_TESTS_SCRIPTED_DECODER_H
#define IH_TESTS_SCRIPTED_DECODER_H

#include "isolate/decoder_process.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = IH_DECODER_PROCESS_PIECE_BYTES, FILES_LOOKED_AT = 64 };

enum deed {
    DECODE,
    FAIL,           /* after the first read */
    ASK,            /* the budget, at each read */
    COUNT_FILES,    /* every byte is the number of open files */
    SLEEP,          /* before each read but the first */
    SAY_PIXELS,     /* send only messages of n pixels, without end */
    SAY_TWICE,      /* send "opened" twice */
    SAY_UNOPENED,   /* send pixels before "opened" */
    SAY_ORDER,      /* state tiles, of a width of n */
    SAY_TYPE,       /* state samples of type n, of 256 bins */
    SAY_MANY_TIMES, /* send pixels without waiting for free pieces */
    HOLD,           /* write to n bytes of new memory, free them and keep a block behind them */
    OVERWRITE_TURNS /* overwrite the counts of pieces, then decode */
};

struct order {
    uint64_t width, height;
    uint32_t n_channels, deed;
    uint64_t n;       /* of SAY_PIXELS, SAY_ORDER, SAY_TYPE and HOLD */
    size_t at_a_time; /* pixels per read; 0: as many as fit */
};

static inline void rest(long milliseconds)
{
    const struct timespec a_while = {milliseconds / 1000, milliseconds % 1000 * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

/* Byte i of an image. Its period does not divide a piece. */
static inline uint8_t byte_of(uint64_t i)
{
    return (uint8_t)(i % 251 + i / 251 % 7);
}

struct image {
    struct order order;
    struct ih_budget *budget;
    uint64_t n_done;
};

static inline void say(enum ih_wire_kind kind, uint64_t n)
{
    struct ih_wire_reply r;
    memset(&r, 0, sizeof r);
    r.kind = kind;
    r.n = n;
    r.info =
        (struct ih_image_info){.width = 1, .height = 1, .layout = IH_LAYOUT(1), .source_depth = 8};
    if (!ih_wire_send(IH_DECODER_PROCESS_SOCKET, &r, sizeof r, NULL))
        _exit(0);
}

static inline enum ih_status open_image(struct ih_reader *src,
                                        const struct ih_decode_options *options,
                                        struct ih_image_info *info, void *state,
                                        struct ih_error *err)
{
    struct image *image = state;
    uint8_t *bytes;
    size_t n;
    if (ih_reader_read_all(src, 1 << 20, &bytes, &n, err) != IH_OK)
        return err->status;
    *image = (struct image){.budget = options->budget};
    memcpy(&image->order, bytes, sizeof image->order);
    free(bytes);
    if (image->order.deed == SAY_UNOPENED)
        say(IH_WIRE_PIXELS, 1);
    *info = (struct ih_image_info){.width = image->order.width,
                                   .height = image->order.height,
                                   .layout = IH_LAYOUT(image->order.n_channels),
                                   .source_depth = 8};
    if (image->order.deed == SAY_TYPE)
        info->type = (enum ih_sample_type)image->order.n;
    if (image->order.deed == SAY_ORDER)
        info->order = (struct ih_pixel_order){
            .kind = IH_PIXEL_ORDER_TILES, .width = (uint32_t)image->order.n, .height = 4};
    return IH_OK;
}

static inline void hold(size_t n_bytes)
{
    static void *last; /* a list of blocks that are never freed */
    uint8_t *first = malloc(n_bytes);
    void **behind = malloc(n_bytes); /* too large for a gap */
    *behind = last;
    last = behind;
    for (size_t i = 0; i < n_bytes; i += 1000)
        ((volatile uint8_t *)first)[i] = 1;
    free(first);
}

static inline uint8_t n_open_files(void)
{
    uint8_t n = 0;
    for (int fd = 0; fd < FILES_LOOKED_AT; fd++)
        n = (uint8_t)(n + (lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF));
    return n;
}

/* What the order asks for besides decoding. memory: the shared one, in the first read. */
static inline enum ih_status act(struct image *image, struct ih_shared_pixels *memory,
                                 struct ih_error *err)
{
    const bool is_first = image->n_done == 0;
    switch (image->order.deed) {
    case FAIL:
        return is_first ? IH_OK : ih_error_set(err, IH_UNSUPPORTED, "a text of its own");
    case ASK:
        if (is_first && ih_budget_take(image->budget, 100, err) != IH_OK)
            return err->status;
        if (!ih_budget_try(image->budget, 10) || ih_budget_try(image->budget, 901))
            return ih_error_set(err, IH_UNSUPPORTED, "a wrong answer");
        ih_budget_give(image->budget, 10);
        break;
    case SLEEP:
        rest(is_first ? 0 : 20);
        break;
    case SAY_PIXELS:
        for (;;)
            say(IH_WIRE_PIXELS, image->order.n);
    case SAY_TWICE:
        say(IH_WIRE_OPENED, 0);
        break;
    case SAY_MANY_TIMES:
        for (int i = 0; i < 100; i++)
            say(IH_WIRE_PIXELS, PIECE);
        _exit(3);
    case HOLD:
        if (is_first)
            hold((size_t)image->order.n);
        break;
    case OVERWRITE_TURNS:
        memset(&memory->n_given_back, 0x55, sizeof memory->n_given_back);
        atomic_store(&memory->is_waited, 0x55);
        break;
    default:
        break;
    }
    return IH_OK;
}

static inline enum ih_status read_image(void *state, uint8_t *pixels, size_t capacity,
                                        size_t *n_pixels, struct ih_error *err)
{
    static struct ih_shared_pixels *memory;
    struct image *image = state;
    const struct order *order = &image->order;
    const uint64_t n_left = order->width * order->height - image->n_done;
    if (capacity < order->width)
        return ih_error_set(err, IH_UNSUPPORTED, "no room for a row");
    if (!memory) /* the first image has short rows in tests that use it */
        memory = (struct ih_shared_pixels *)(void *)pixels;
    if (act(image, memory, err) != IH_OK)
        return err->status;
    size_t n = n_left < capacity ? (size_t)n_left : capacity;
    n = order->at_a_time && n > order->at_a_time ? order->at_a_time : n;
    for (size_t i = 0; i < n * order->n_channels; i++)
        pixels[i] = byte_of(image->n_done * order->n_channels + i);
    if (order->deed == COUNT_FILES)
        memset(pixels, n_open_files(), n * order->n_channels);
    image->n_done += n;
    *n_pixels = n;
    return IH_OK;
}

static const struct ih_decoder decoder = {
    .name = "test", .open = open_image, .read = read_image, .state_bytes = sizeof(struct image)};
static const struct ih_decoder *const decoders[] = {&decoder, NULL};
static const struct ih_decoder_process_command command = {.program = "/proc/self/exe",
                                                          .seconds_max = 60,
                                                          .variable = "IMGHIST_TEST_",
                                                          .decoders = decoders};

#include "tests/support/own_decoder_process.h"

static inline enum ih_status open_order(struct ih_decoder_process *h, const struct order *order,
                                        struct ih_budget *budget, struct ih_error *err)
{
    const struct ih_decode_options options = {.max_pixels = 1 << 30, .budget = budget};
    struct ih_reader src = {0};
    static struct ih_image_info info; /* the decoder writes to it until close */
    char name[] = "/tmp/imghist-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(write(fd, order, sizeof *order), sizeof *order);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(ih_reader_open_fd(&src, fd, err), IH_OK);
    enum ih_status status = h->remote.open(&h->remote, 0, &src, &options, &info, err);
    if (status == IH_OK)
        assert_int_equal(info.layout.n_channels, order->n_channels);
    if (status == IH_OK && order->deed == SAY_ORDER)
        assert_true(info.order.kind == IH_PIXEL_ORDER_TILES && info.order.width == order->n);
    ih_reader_reset(&src);
    close(fd);
    return status;
}

/* Decodes an image, capacity pixels at a time with a pause after each, and checks every byte. */
static inline enum ih_status decode_order(struct ih_decoder_process *h, const struct order *order,
                                          size_t capacity, long milliseconds, struct ih_error *err)
{
    const size_t n_channels = order->n_channels;
    struct ih_budget budget;
    uint64_t n_all = 0;
    size_t n = 1;
    uint8_t *pixels = malloc(capacity * n_channels);
    assert_non_null(pixels);
    ih_budget_init(&budget, 1000);
    enum ih_status status = open_order(h, order, &budget, err);
    while (status == IH_OK && n > 0) {
        status = h->remote.read(&h->remote, pixels, capacity, &n, err);
        assert_true(n <= capacity);
        for (size_t i = 0; status == IH_OK && i < n * n_channels; i++)
            if (pixels[i] != byte_of(n_all * n_channels + i))
                fail_msg("byte %zu of pixel %llu", i, (unsigned long long)n_all);
        n_all += n;
        rest(milliseconds);
    }
    h->remote.close(&h->remote);
    assert_int_equal(budget.taken_bytes, 0);
    ih_budget_destroy(&budget);
    free(pixels);
    if (status == IH_OK)
        assert_int_equal(n_all, order->width * order->height);
    return status;
}

/* How many shared memories are mapped in this process. */
static inline unsigned n_memories(void)
{
    char line[1000];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, "/memfd:imghist ") != NULL;
    fclose(f);
    return n;
}

static inline unsigned n_files(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 1000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
