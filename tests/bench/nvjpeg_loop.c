/*
 * nvjpeg_loop BATCH SECONDS AT_ONCE < LIST: measures how fast the hardware decoders only decode.
 *
 * The files are in memory, and the planes are allocated in device memory before. nvJPEG gets the
 * largest image size first. Nothing validates the files or reads the planes. AT_ONCE batches run at
 * the same time, each with its own thread and state. Prints megapixels a second.
 */
#define _POSIX_C_SOURCE 200809L

#include <cuda_runtime_api.h>
#include <nvjpeg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILES_MAX = 4096, BATCH_MAX = 64, AT_ONCE_MAX = 8, WARM_ROUNDS = 3 };

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
static double megapixels[FILES_MAX];
static unsigned n_files, batch;
static double n_seconds;
static nvjpegHandle_t handle;
static pthread_barrier_t all_are_warm;

/* One thread. */
struct loop {
    unsigned index;
    nvjpegJpegState_t state;
    cudaStream_t stream;
    nvjpegImage_t images[FILES_MAX];
    double rate; /* megapixels a second */
};

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

/* Allocates the planes of file i and raises *width and *height to its size. */
static void place(nvjpegImage_t *image, unsigned i, int *width, int *height)
{
    int n_components, widths[NVJPEG_MAX_COMPONENT], heights[NVJPEG_MAX_COMPONENT];
    nvjpegChromaSubsampling_t subsampling;
    CHECK(nvjpegGetImageInfo(handle, bytes[i], n_bytes[i], &n_components, &subsampling, widths,
                             heights));
    for (int c = 0; c < n_components; c++) {
        image->pitch[c] = (size_t)(widths[c] + 127) / 128 * 128;
        CHECK(cudaMalloc((void **)&image->channel[c], image->pitch[c] * (size_t)heights[c]));
    }
    megapixels[i] = 1e-6 * widths[0] * heights[0];
    *width = widths[0] > *width ? widths[0] : *width;
    *height = heights[0] > *height ? heights[0] : *height;
}

static void prepare(struct loop *l)
{
    int width = 0, height = 0;
    for (unsigned i = 0; i < n_files; i++)
        place(&l->images[i], i, &width, &height);
    CHECK(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    CHECK(nvjpegJpegStateCreate(handle, &l->state));
    CHECK(nvjpegDecodeBatchedPreAllocate(handle, l->state, (int)batch, width, height,
                                         NVJPEG_CSS_444, NVJPEG_OUTPUT_YUV));
    CHECK(nvjpegDecodeBatchedInitialize(handle, l->state, (int)batch, 1, NVJPEG_OUTPUT_YUV));
}

static void *run(void *argument)
{
    struct loop *l = argument;
    double start = 0, sum = 0, elapsed = 0;
    unsigned next = l->index * batch % n_files;
    CHECK(cudaSetDevice(0));
    for (int round = 0; elapsed < n_seconds; round++) {
        const unsigned char *data[BATCH_MAX];
        size_t lengths[BATCH_MAX];
        nvjpegImage_t to[BATCH_MAX];
        if (round == WARM_ROUNDS) {
            pthread_barrier_wait(&all_are_warm);
            start = now();
            sum = 0;
        }
        for (unsigned k = 0; k < batch; k++, next = (next + 1) % n_files) {
            data[k] = bytes[next];
            lengths[k] = n_bytes[next];
            to[k] = l->images[next];
            sum += megapixels[next];
        }
        CHECK(nvjpegDecodeBatched(handle, l->state, data, lengths, to, l->stream));
        CHECK(cudaStreamSynchronize(l->stream));
        elapsed = round < WARM_ROUNDS ? 0 : now() - start;
    }
    l->rate = sum / elapsed;
    return NULL;
}

int main(int argc, char **argv)
{
    static struct loop loops[AT_ONCE_MAX];
    char path[4096];
    pthread_t threads[AT_ONCE_MAX];
    const unsigned n_loops = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
    batch = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
    if (batch < 1 || batch > BATCH_MAX || n_loops < 1 || n_loops > AT_ONCE_MAX) {
        fprintf(stderr, "usage: nvjpeg_loop BATCH SECONDS AT_ONCE < LIST\n");
        return 2;
    }
    n_seconds = atof(argv[2]);
    CHECK(cudaSetDevice(0));
    CHECK(nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, NULL, NULL, 0, &handle));
    while (n_files < FILES_MAX && fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        load(path, n_files++);
    }
    pthread_barrier_init(&all_are_warm, NULL, n_loops);
    for (unsigned i = 0; i < n_loops; i++) {
        loops[i].index = i;
        prepare(&loops[i]);
    }
    double sum = 0;
    for (unsigned i = 0; i < n_loops; i++)
        pthread_create(&threads[i], NULL, run, &loops[i]);
    for (unsigned i = 0; i < n_loops; i++) {
        pthread_join(threads[i], NULL);
        sum += loops[i].rate;
    }
    printf("%.1f\n", sum);
    return 0;
}
