/* The image size that nvJPEG gets memory for, with panoramas and towers in any order. */
#include "tests/support/test.h"

#include "jpeg_gpu/hw_jpeg_sizes.h"

static void assert_size(struct ih_hw_jpeg_size s, uint32_t width, uint32_t height)
{
    assert_int_equal(s.width, width);
    assert_int_equal(s.height, height);
}

/* Images fit together when one allowed size covers them. */
TEST(sizes_that_fit)
{
    static const uint32_t sides[][2] = {{4000, 3000}, {3000, 4000}, {1, 1}, {9000, 500},
                                        {500, 9000},  {20000, 8},   {8, 8}};
    enum { N = sizeof sides / sizeof *sides };
    struct ih_hw_jpeg_job jobs[N];
    struct ih_hw_jpeg_job *all[N];
    struct ih_hw_jpeg_size size;
    const uint64_t pixels_max = 50 * 1000 * 1000;
    for (unsigned i = 0; i < N; i++) {
        jobs[i] = (struct ih_hw_jpeg_job){.width = sides[i][0], .height = sides[i][1]};
        all[i] = &jobs[i];
    }
    assert_int_equal(ih_hw_jpeg_size_fit(all, N, pixels_max, &size), 4);
    assert_size(size, 9216, 4096); /* the tower of 9000 makes it 85 megapixels */
    assert_int_equal(ih_hw_jpeg_size_fit(all + 4, N - 4, pixels_max, &size), 1);
    assert_size(size, 512, 9216);
    assert_int_equal(ih_hw_jpeg_size_fit(all + 5, N - 5, pixels_max, &size),
                     0); /* too long a side */
    assert_int_equal(ih_hw_jpeg_size_fit(all + 6, 1, pixels_max, &size), 1);
    assert_size(size, 512, 512);
    assert_int_equal(ih_hw_jpeg_size_fit(all + 6, 1, 512 * 512 - 1, &size), 0);
    assert_int_equal(ih_hw_jpeg_size_fit(all, N, UINT64_MAX, &size), 5);
    assert_size(size, 9216, 9216);
}

/* The size grows until it would be too large; then it is set anew. */
TEST(next_size)
{
    const uint64_t pixels_max = 100 * 1000 * 1000;
    const struct ih_hw_jpeg_size photo = {4096, 3072}, panorama = {16384, 512},
                                 tower = {512, 16384};
    struct ih_hw_jpeg_size s = {0, 0};
    assert_false(ih_hw_jpeg_size_covers(s, photo));
    s = ih_hw_jpeg_size_next(s, photo, pixels_max);
    assert_size(s, 4096, 3072);
    assert_true(ih_hw_jpeg_size_covers(s, photo));
    s = ih_hw_jpeg_size_next(s, panorama, pixels_max);
    assert_size(s, 16384, 3072);
    assert_false(ih_hw_jpeg_size_covers(s, tower));
    s = ih_hw_jpeg_size_next(s, tower, pixels_max);
    assert_size(s, 512, 16384);
    s = ih_hw_jpeg_size_next(s, photo, pixels_max);
    assert_size(s, 4096, 16384);
    s = ih_hw_jpeg_size_next(s, panorama, pixels_max);
    assert_size(s, 16384, 512);
}
