/*
 * The kernel that counts a JPEG's planes on a GPU, against the pixel-by-pixel conversion on the
 * CPU, which test_ycc.c compares with libjpeg-turbo. Skipped without a GPU.
 *
 * All subsamplings and sizes, pitches, contents, clip limits, both numbers of copies of a counter,
 * and invalid arguments. IMGHIST_TEST_SMALL=1 leaves most of it out, for tools that slow kernels
 * down a thousand times. Each plane then ends with its allocation, so that a read past it is found.
 */
#include "tests/support/test.h"

#ifdef IH_WITH_CUDA

#include "kernels/kernels.h"
#include "kernels/ycc.h"
#include "tests/support/random.h"

enum { ALIGNMENT = 16, LARGE_BYTES = 160 << 20 };

enum content { NOISE, SLOPES, CONSTANT, EXTREMES, N_CONTENTS };

struct shape {
    uint32_t width, height;
    int h, v;
};

static struct {
    struct ih_gpu_properties gpu;
    struct ih_gpu_totals *d_totals;
    uint8_t *d_memory, *memory; /* LARGE_BYTES each; d_memory: not in small tests */
    bool is_small, is_here;
} t;

#define CHECK(call) check(call, #call, __LINE__)
static void check(cudaError_t status, const char *what, int line)
{
    if (status != cudaSuccess)
        fail_msg("line %d: %s: %s", line, what, cudaGetErrorString(status));
}

static int open_gpu(void **state)
{
    struct cudaDeviceProp properties;
    const char *small = getenv("IMGHIST_TEST_SMALL");
    int n = 0;
    t.is_small = small && *small == '1';
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0 ||
        cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        return 0;
    t.gpu.n_multiprocessors = properties.multiProcessorCount;
    t.gpu.shared_bytes_optin = properties.sharedMemPerBlockOptin;
    t.memory = aligned_alloc(ALIGNMENT, LARGE_BYTES);
    if (!t.memory || cudaMalloc((void **)&t.d_totals, sizeof *t.d_totals) != cudaSuccess ||
        (!t.is_small && cudaMalloc((void **)&t.d_memory, LARGE_BYTES) != cudaSuccess))
        return -1;
    t.is_here = true;
    return 0;
}

static int close_gpu(void **state)
{
    free(t.memory);
    cudaFree(t.d_memory);
    cudaFree(t.d_totals);
    return 0;
}

static void skip_without_gpu(void)
{
    if (!t.is_here)
        skip("no GPU, or no GPU code in this build");
}

/* ---- planes ---- */

static uint8_t sample(enum content content, int plane, uint32_t x, uint32_t y)
{
    switch (content) {
    case NOISE:
        return (uint8_t)(next_random() >> 8);
    case SLOPES:
        return (uint8_t)((x * (3 - (uint32_t)plane) + y * ((uint32_t)plane + 1)) / 4);
    case CONSTANT:
        return (uint8_t)(90 + 40 * plane);
    default:
        return next_random() >> 9 & 1 ? 255 : 0;
    }
}

/* Fills consecutive planes at t.memory, and their padding with noise. */
static void fill(const struct shape *s, enum content content, struct ih_ycc_image *image)
{
    size_t at = 0;
    *image = (struct ih_ycc_image){.width = s->width, .height = s->height};
    image->chroma_width = (s->width + (uint32_t)s->h - 1) / (uint32_t)s->h;
    image->chroma_height = (s->height + (uint32_t)s->v - 1) / (uint32_t)s->v;
    for (int p = 0; p < 3; p++) {
        const uint32_t width = p ? image->chroma_width : s->width;
        const uint32_t height = p ? image->chroma_height : s->height;
        const uint32_t gap = ALIGNMENT * (next_random() % 4);
        const uint32_t pitch = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + gap;
        assert_true(at + (size_t)pitch * height <= LARGE_BYTES);
        image->planes[p] = t.memory + at;
        image->pitch_bytes[p] = pitch;
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < pitch; x++)
                t.memory[at++] = sample(x < width ? content : NOISE, p, x, y);
    }
}

static size_t plane_bytes(const struct ih_ycc_image *image, int plane)
{
    return (size_t)image->pitch_bytes[plane] * (plane ? image->chroma_height : image->height);
}

/* ---- the expected counts ---- */

static void count_plainly(const struct ih_ycc_image *image, const struct shape *s,
                          const struct ih_gpu_measures *m, struct ih_gpu_totals *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            uint32_t c[4], n_low = 0, n_high = 0;
            ih_ycc_pixel(image, s->h, s->v, x, y, c);
            c[3] = (c[0] * m->luma_red + c[1] * m->luma_green + c[2] * m->luma_blue + 32768) >> 16;
            for (int i = 0; i < 4; i++) {
                const int plane = i < 3 ? i : (int)IH_GPU_LUMA;
                out->bins[plane][c[i]]++;
                out->sum[plane] += c[i];
                n_low += i < 3 && c[i] <= m->clip_low;
                n_high += i < 3 && c[i] >= m->clip_high;
            }
            out->any_low += n_low > 0;
            out->any_high += n_high > 0;
            out->all_low += n_low == 3;
            out->all_high += n_high == 3;
        }
}

static void assert_same(const struct ih_gpu_totals *got, const struct ih_gpu_totals *want,
                        const char *what)
{
    for (int p = 0; p < IH_GPU_PLANES; p++) {
        for (int v = 0; v < IH_GPU_BINS; v++)
            if (got->bins[p][v] != want->bins[p][v])
                fail_msg("%s: bins[%d][%d] is %llu, not %llu", what, p, v, got->bins[p][v],
                         want->bins[p][v]);
        if (got->sum[p] != want->sum[p])
            fail_msg("%s: sum[%d] is %llu, not %llu", what, p, got->sum[p], want->sum[p]);
    }
    if (got->any_low != want->any_low || got->any_high != want->any_high ||
        got->all_low != want->all_low || got->all_high != want->all_high)
        fail_msg("%s: clip counts %llu %llu %llu %llu, not %llu %llu %llu %llu", what, got->any_low,
                 got->any_high, got->all_low, got->all_high, want->any_low, want->any_high,
                 want->all_low, want->all_high);
}

/* ---- one case ---- */

static struct ih_gpu_planes_args args_make(const struct shape *s,
                                           const struct ih_gpu_properties *gpu)
{
    return (struct ih_gpu_planes_args){.width = s->width,
                                       .height = s->height,
                                       .chroma_h = (unsigned)s->h,
                                       .chroma_v = (unsigned)s->v,
                                       .n_rows = s->height,
                                       .measures = {13933, 46871, 4732, 0, 255},
                                       .d_totals = t.d_totals,
                                       .gpu = gpu};
}

/* Copies the planes to the device, in one allocation or each in its own. */
static void upload_to(bool is_apart, const struct ih_ycc_image *image,
                      struct ih_gpu_planes_args *args)
{
    for (int p = 0; p < 3; p++) {
        uint8_t *d_plane = t.d_memory + (is_apart ? 0 : image->planes[p] - t.memory);
        if (is_apart)
            CHECK(cudaMalloc((void **)&d_plane, plane_bytes(image, p)));
        CHECK(cudaMemcpy(d_plane, image->planes[p], plane_bytes(image, p), cudaMemcpyHostToDevice));
        args->d_planes[p] = d_plane;
        args->pitch_bytes[p] = image->pitch_bytes[p];
    }
}

static void upload(const struct ih_ycc_image *image, struct ih_gpu_planes_args *args)
{
    upload_to(t.is_small, image, args);
}

static void run(const struct ih_gpu_planes_args *args, struct ih_gpu_totals *got)
{
    CHECK(cudaMemset(t.d_totals, 0, sizeof *t.d_totals));
    CHECK(ih_histogram_ycc(args));
    CHECK(cudaMemcpy(got, t.d_totals, sizeof *got, cudaMemcpyDeviceToHost));
}

struct options {
    enum content content;
    unsigned clip_low, clip_high;
    bool is_bt601, has_few_copies;
};

static void compare(const struct shape *s, const struct options *o)
{
    static struct ih_gpu_totals got, want;
    struct ih_gpu_properties gpu = t.gpu;
    struct ih_ycc_image image;
    char what[120];
    if (o->has_few_copies)
        gpu.shared_bytes_optin = 64 << 10;
    struct ih_gpu_planes_args args = args_make(s, &gpu);
    struct ih_gpu_measures *m = &args.measures;
    m->clip_low = o->clip_low;
    m->clip_high = o->clip_high;
    if (o->is_bt601)
        m->luma_red = 19595, m->luma_green = 38470, m->luma_blue = 7471;
    fill(s, o->content, &image);
    upload(&image, &args);
    run(&args, &got);
    count_plainly(&image, s, m, &want);
    snprintf(what, sizeof what, "%u x %u, chroma %dx%d, content %d, clips %u %u, pitch %u",
             s->width, s->height, s->h, s->v, (int)o->content, o->clip_low, o->clip_high,
             image.pitch_bytes[0]);
    assert_same(&got, &want, what);
    for (int p = 0; t.is_small && p < 3; p++)
        cudaFree((void *)(uintptr_t)args.d_planes[p]);
}

static void every_small_size(int h, int v)
{
    static const uint32_t some[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 47, 70};
    const uint32_t n = t.is_small ? sizeof some / sizeof some[0] : 70;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k += t.is_small ? 3 : 1) {
            const struct shape s = {t.is_small ? some[i] : i + 1, t.is_small ? some[k] : k + 1, h,
                                    v};
            const struct options o = {(enum content)((i + k) % N_CONTENTS), 0, 255, i % 2 == 0,
                                      i % 3 == 0};
            compare(&s, &o);
        }
}

#define SMALL_TEST(name, h, v)  \
    TEST(small_##name)          \
    {                           \
        skip_without_gpu();     \
        every_small_size(h, v); \
    }
SMALL_TEST(444, 1, 1)
SMALL_TEST(422, 2, 1)
SMALL_TEST(420, 2, 2)
SMALL_TEST(440, 1, 2)

TEST(contents_and_clips)
{
    static const unsigned clips[][2] = {{0, 255},   {10, 240},  {0, 1},   {254, 255},
                                        {127, 128}, {126, 129}, {63, 127}};
    skip_without_gpu();
    for (int i = 0; i < 4; i++)
        for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c += t.is_small ? 3 : 1)
            for (int content = 0; content < N_CONTENTS; content++) {
                const struct shape s = {211, t.is_small ? 90 : 190, 1 + i % 2, 1 + i / 2};
                const struct options o = {(enum content)content, clips[c][0], clips[c][1],
                                          c % 2 == 0, i == 3};
                compare(&s, &o);
            }
}

/* One block to all blocks, and the largest sizes that JPEG allows. */
TEST(large)
{
    static const uint32_t sizes[][2] = {{6000, 4000}, {4001, 3003}, {65535, 3}, {3, 65535},
                                        {65535, 2},   {1, 65535},   {17, 65535}};
    static const uint32_t small_sizes[][2] = {{1031, 67}, {3, 2001}};
    const size_t n_sizes = t.is_small ? 2 : sizeof sizes / sizeof sizes[0];
    skip_without_gpu();
    for (int i = 0; i < 4; i++)
        for (size_t n = 0; n < n_sizes; n++) {
            const uint32_t *size = t.is_small ? small_sizes[n] : sizes[n];
            const struct shape s = {size[0], size[1], 1 + i % 2, 1 + i / 2};
            const struct options o = {n == 0 ? SLOPES : NOISE, 3, 250, false, n == 1};
            compare(&s, &o);
        }
}

/* A second launch adds to the totals of the first. */
TEST(totals_are_added_to)
{
    static struct ih_gpu_totals once, twice;
    const struct shape s = {100, 100, 2, 2};
    struct ih_gpu_planes_args args = args_make(&s, &t.gpu);
    struct ih_ycc_image image;
    skip_without_gpu();
    fill(&s, NOISE, &image);
    upload(&image, &args);
    run(&args, &once);
    CHECK(ih_histogram_ycc(&args));
    CHECK(cudaMemcpy(&twice, t.d_totals, sizeof twice, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof once / sizeof(unsigned long long); i++)
        assert_true(((unsigned long long *)&twice)[i] == 2 * ((unsigned long long *)&once)[i]);
    for (int p = 0; t.is_small && p < 3; p++)
        cudaFree((void *)(uintptr_t)args.d_planes[p]);
}

/* An image in stripes, each in its own allocation, with no more rows of chroma than it needs. */
TEST(in_stripes)
{
    static struct ih_gpu_totals got, want;
    skip_without_gpu();
    for (uint32_t i = 0; i < (t.is_small ? 4 : 400); i++) {
        const struct shape s = {1 + next_random() % 150, 1 + next_random() % 60, 1 + (int)(i % 2),
                                1 + (int)(i / 2 % 2)};
        const uint32_t v = (uint32_t)s.v;
        struct ih_gpu_planes_args args = args_make(&s, &t.gpu);
        struct ih_ycc_image image;
        char what[80];
        fill(&s, (enum content)(i % N_CONTENTS), &image);
        CHECK(cudaMemset(t.d_totals, 0, sizeof *t.d_totals));
        for (uint32_t row = 0, end; row < s.height; row = end) {
            end = row + 1 + next_random() % 9;
            end += v == 2 && end % 2 == 0;
            end = end < s.height ? end : s.height;
            uint8_t *d_plane[3];
            for (int p = 0; p < 3; p++) {
                const uint32_t first = p ? row / v : row;
                uint32_t last = p && v == 2 ? end / 2 : end - 1;
                last = p && last >= image.chroma_height ? image.chroma_height - 1 : last;
                const size_t n_bytes = (size_t)image.pitch_bytes[p] * (last - first + 1);
                CHECK(cudaMalloc((void **)&d_plane[p], n_bytes));
                CHECK(cudaMemcpy(d_plane[p], image.planes[p] + (size_t)first * image.pitch_bytes[p],
                                 n_bytes, cudaMemcpyHostToDevice));
                args.d_planes[p] = d_plane[p];
                args.pitch_bytes[p] = image.pitch_bytes[p];
            }
            args.first_row = row;
            args.n_rows = end - row;
            CHECK(ih_histogram_ycc(&args));
            CHECK(cudaDeviceSynchronize());
            for (int p = 0; p < 3; p++)
                cudaFree(d_plane[p]);
        }
        CHECK(cudaMemcpy(&got, t.d_totals, sizeof got, cudaMemcpyDeviceToHost));
        count_plainly(&image, &s, &args.measures, &want);
        snprintf(what, sizeof what, "%u x %u, chroma %dx%d, in stripes", s.width, s.height, s.h,
                 s.v);
        assert_same(&got, &want, what);
    }
}

/* ---- batches ---- */

/* Counts Y alone, as the channel 0. */
static void count_gray_plainly(const struct ih_ycc_image *image, struct ih_gpu_totals *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            const uint8_t value = image->planes[0][(size_t)y * image->pitch_bytes[0] + x];
            out->bins[0][value]++;
            out->sum[0] += value;
        }
}

/* Makes an image of a batch, of a kind from 0 (4:4:4) to 3 (4:2:0) or 4 (gray), and its counts. */
static void make_image(unsigned kind, uint32_t width, uint32_t height,
                       struct ih_gpu_planes_args *args, struct ih_gpu_totals *want)
{
    const struct shape s = {width, height, 1 + (int)(kind % 2), 1 + (int)(kind % 4 / 2)};
    struct ih_ycc_image image;
    *args = args_make(&s, NULL);
    fill(&s, (enum content)(next_random() % N_CONTENTS), &image);
    upload_to(true, &image, args);
    if (kind < 4) {
        count_plainly(&image, &s, &args->measures, want);
        return;
    }
    count_gray_plainly(&image, want);
    args->chroma_h = args->chroma_v = 0;
    for (int p = 1; p < 3; p++) {
        cudaFree((void *)(uintptr_t)args->d_planes[p]);
        args->d_planes[p] = NULL;
        args->pitch_bytes[p] = 0;
    }
}

/* One launch for n images of all kinds, the first of them the largest. */
static void compare_batch(uint32_t n, uint32_t largest, const struct ih_gpu_properties *gpu)
{
    const size_t n_plan = ih_histogram_ycc_batch_bytes(n, gpu), n_totals = n * sizeof *t.d_totals;
    struct ih_gpu_planes_args *images = calloc(n, sizeof *images);
    struct ih_gpu_totals *d_totals, *got = malloc(n_totals), *want = malloc(n_totals);
    struct ih_gpu_planes_batch_args batch = {.images = images, .n_images = n, .gpu = gpu};
    CHECK(cudaMalloc((void **)&d_totals, n_totals));
    CHECK(cudaMalloc(&batch.d_plan, n_plan));
    CHECK(cudaHostAlloc(&batch.plan, n_plan, cudaHostAllocDefault));
    CHECK(cudaMemset(d_totals, 0, n_totals));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t most = i == 0 ? largest : 90;
        make_image((i + n) % 5, i == 0 ? most : 1 + next_random() % most, 1 + next_random() % most,
                   &images[i], &want[i]);
        images[i].d_totals = &d_totals[i];
    }
    batch.measures = images[0].measures;
    CHECK(ih_histogram_ycc_batch(&batch));
    CHECK(cudaMemcpy(got, d_totals, n_totals, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < n; i++) {
        char what[80];
        const bool is_gray = images[i].chroma_h == 0;
        snprintf(what, sizeof what, "image %u of %u, %u x %u, chroma %ux%u", i, n, images[i].width,
                 images[i].height, images[i].chroma_h, images[i].chroma_v);
        if (is_gray) /* are not kept */
            got[i].any_low = got[i].any_high = got[i].all_low = got[i].all_high = 0;
        assert_same(&got[i], &want[i], what);
        for (int p = 0; p < 3; p++)
            cudaFree((void *)(uintptr_t)images[i].d_planes[p]);
    }
    cudaFreeHost(batch.plan);
    cudaFree(batch.d_plan);
    cudaFree(d_totals);
    free(images);
    free(got);
    free(want);
}

TEST(batches)
{
    static const uint32_t sizes[] = {1, 2, 5, 33, 256};
    struct ih_gpu_properties gpu = t.gpu;
    skip_without_gpu();
    for (unsigned i = 0; i < (t.is_small ? 4 : 5); i++) {
        compare_batch(sizes[i], 90, &gpu);
        compare_batch(sizes[i], t.is_small ? 300 : 3000, &gpu);
    }
    gpu.shared_bytes_optin = 96 << 10; /* fewer copies of each counter */
    compare_batch(20, 200, &gpu);
    struct ih_gpu_planes_batch_args none = {.n_images = 0, .gpu = &gpu};
    CHECK(ih_histogram_ycc_batch(&none));
}

/* Needs no GPU: nothing is launched and no plane is read. */
TEST(refusals)
{
    const struct shape s = {100, 50, 2, 2};
    const struct ih_gpu_properties gpu = {1, 128 << 10};
    struct ih_gpu_planes_args good = args_make(&s, &gpu);
    for (uintptr_t p = 0; p < 3; p++) {
        good.d_planes[p] = (const uint8_t *)(4096 * (p + 1));
        good.pitch_bytes[p] = p ? 64 : 112;
    }
#define REFUSED(change)                                      \
    do {                                                     \
        struct ih_gpu_planes_args bad = good;                \
        bad.change;                                          \
        if (ih_histogram_ycc(&bad) != cudaErrorInvalidValue) \
            fail_msg("%s is not refused", #change);          \
    } while (0)
    REFUSED(width = 0);
    REFUSED(width = 113);
    REFUSED(height = 0);
    REFUSED(height = 65536);
    REFUSED(chroma_h = 0);
    REFUSED(chroma_h = 1); /* chroma rows would be longer than their pitch */
    REFUSED(chroma_h = 4);
    REFUSED(chroma_v = 0);
    REFUSED(chroma_v = 3);
    REFUSED(n_rows = 0);
    REFUSED(n_rows = 51);
    REFUSED(first_row = 1); /* one row too many */
    REFUSED(n_rows = 48);   /* ends before an even row */
    REFUSED(first_row = UINT32_MAX);
    REFUSED(d_planes[2] += 8);
    REFUSED(pitch_bytes[0] = 104);
    REFUSED(pitch_bytes[0] = 96);
    REFUSED(pitch_bytes[1] = 48);
    REFUSED(pitch_bytes[2] = (size_t)1 << 32);
    REFUSED(measures.luma_green = 65536);
    REFUSED(measures.clip_low = 255);
    REFUSED(measures.clip_high = 256);
    good.width = 65536;
    good.pitch_bytes[0] = good.pitch_bytes[1] = good.pitch_bytes[2] = 65536;
    REFUSED(height = 50);

    /* A batch is refused for any of its images. */
    struct ih_gpu_planes_args images[2] = {args_make(&s, &gpu), args_make(&s, &gpu)};
    const size_t n_plan = ih_histogram_ycc_batch_bytes(2, &gpu);
    struct ih_gpu_planes_batch_args batch = {
        .images = images, .n_images = 2, .plan = malloc(n_plan), .gpu = &gpu};
    for (uintptr_t i = 0; i < 6; i++) {
        images[i / 3].d_planes[i % 3] = (const uint8_t *)(4096 * (i + 1));
        images[i / 3].pitch_bytes[i % 3] = i % 3 ? 64 : 112;
    }
    images[1].pitch_bytes[2] = 48;
    assert_int_equal(ih_histogram_ycc_batch(&batch), cudaErrorInvalidValue);
    images[1].chroma_h = images[1].chroma_v = 0;
    images[1].pitch_bytes[0] = 96;
    assert_int_equal(ih_histogram_ycc_batch(&batch), cudaErrorInvalidValue);
    free(batch.plan);
}

PROGRAM_WITH(open_gpu, close_gpu)

#else

TEST(without_cuda)
{
    skip("no GPU, or no GPU code in this build");
}

#endif
