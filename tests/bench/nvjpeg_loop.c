/*
 * nvjpeg_loop BATCH SECONDS < LIST: what the engines reach when they only decode.
 *
 * Files that are in memory already go to nvJPEG in batches, to planes in device memory that are
 * there already; nothing checks them, and nobody looks at the planes. nvJPEG has been told the
 * largest size before. Prints files, megapixels and megapixels a second.
 */
#define _POSIX_C_SOURCE 200809L

#include <cuda_runtime_api.h>
#include <nvjpeg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILES_MAX = 4096, BATCH_MAX = 64 };

#define CHECK(call)                                                        \
    do {                                                                   \
        int status_ = (int)(call);                                         \
        if (status_ != 0) {                                                \
            fprintf(stderr, "nvjpeg_loop: " #call " gives %d\n", status_); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

static unsigned char *bytes[FILES_MAX];
static size_t n_bytes[FILES_MAX];
static nvjpegImage_t images[FILES_MAX];
static double megapixels[FILES_MAX];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void load(const char *path, unsigned i)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    n_bytes[i] = (size_t)ftell(f);
    rewind(f);
    bytes[i] = malloc(n_bytes[i]);
    if (!bytes[i] || fread(bytes[i], 1, n_bytes[i], f) != n_bytes[i]) {
        perror(path);
        exit(1);
    }
    fclose(f);
}

/* Room for the planes of file i; the largest size so far in *width and *height. */
static void place(nvjpegHandle_t handle, unsigned i, int *width, int *height)
{
    int n_components, widths[NVJPEG_MAX_COMPONENT], heights[NVJPEG_MAX_COMPONENT];
    nvjpegChromaSubsampling_t subsampling;
    CHECK(nvjpegGetImageInfo(handle, bytes[i], n_bytes[i], &n_components, &subsampling, widths,
                             heights));
    for (int c = 0; c < n_components; c++) {
        images[i].pitch[c] = (size_t)(widths[c] + 127) / 128 * 128;
        CHECK(cudaMalloc((void **)&images[i].channel[c], images[i].pitch[c] * (size_t)heights[c]));
    }
    megapixels[i] = 1e-6 * widths[0] * heights[0];
    *width = widths[0] > *width ? widths[0] : *width;
    *height = heights[0] > *height ? heights[0] : *height;
}

int main(int argc, char **argv)
{
    char path[4096];
    unsigned n_files = 0;
    int width = 0, height = 0, batch = argc == 3 ? atoi(argv[1]) : 0;
    nvjpegHandle_t handle;
    nvjpegJpegState_t state;
    cudaStream_t stream;
    if (batch < 1 || batch > BATCH_MAX) {
        fprintf(stderr, "usage: nvjpeg_loop BATCH SECONDS < LIST\n");
        return 2;
    }
    CHECK(cudaSetDevice(0));
    CHECK(nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, NULL, NULL, 0, &handle));
    while (n_files < FILES_MAX && fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        load(path, n_files);
        place(handle, n_files++, &width, &height);
    }
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(nvjpegJpegStateCreate(handle, &state));
    CHECK(nvjpegDecodeBatchedPreAllocate(handle, state, batch, width, height, NVJPEG_CSS_444,
                                         NVJPEG_OUTPUT_YUV));
    CHECK(nvjpegDecodeBatchedInitialize(handle, state, batch, 1, NVJPEG_OUTPUT_YUV));
    double start = 0, sum = 0, n_seconds = atof(argv[2]);
    unsigned long n_done = 0;
    unsigned next = 0;
    for (int round = 0;; round++) {
        const unsigned char *data[BATCH_MAX];
        size_t lengths[BATCH_MAX];
        nvjpegImage_t to[BATCH_MAX];
        if (round == 3) { /* warm */
            start = now();
            n_done = 0;
            sum = 0;
        } else if (round > 3 && now() - start > n_seconds) {
            break;
        }
        for (int k = 0; k < batch; k++, next = (next + 1) % n_files) {
            data[k] = bytes[next];
            lengths[k] = n_bytes[next];
            to[k] = images[next];
            sum += megapixels[next];
        }
        n_done += (unsigned long)batch;
        CHECK(nvjpegDecodeBatched(handle, state, data, lengths, to, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    double elapsed = now() - start;
    printf("%lu %.1f %.1f\n", n_done, sum, sum / elapsed);
    return 0;
}
