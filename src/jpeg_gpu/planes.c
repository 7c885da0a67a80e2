#include "jpeg_gpu/planes.h"

#include "device/cuda_unit.h"

#include <string.h>

enum { PITCH_BYTES = 128 }; /* rows begin at multiples of a cache line */

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Where the planes of a job go, from d_base on. Returns how many bytes they take. */
static size_t lay_out(const struct ih_jpeg_job *job, uint8_t *d_base, nvjpegImage_t *image)
{
    size_t n_bytes = 0;
    memset(image, 0, sizeof *image);
    for (unsigned c = 0; c < job->n_components; c++) {
        uint32_t h = c ? job->chroma_h : 1, v = c ? job->chroma_v : 1;
        image->pitch[c] = round_up((job->width + h - 1) / h, PITCH_BYTES);
        image->channel[c] = d_base ? d_base + n_bytes : NULL;
        n_bytes += image->pitch[c] * ((job->height + v - 1) / v);
    }
    return n_bytes;
}

void ih_jpeg_planes_release(struct ih_jpeg_planes *planes)
{
    cudaFree(planes->d_bytes);
    *planes = (struct ih_jpeg_planes){NULL, 0};
}

/* Makes it n_bytes at least. False: there is no memory, and what was there is gone. */
static bool grow(struct ih_jpeg_planes *planes, size_t n_bytes)
{
    if (n_bytes <= planes->size_bytes)
        return true;
    ih_jpeg_planes_release(planes); /* before, so that never both take memory */
    if (cudaMalloc((void **)&planes->d_bytes, n_bytes) == cudaSuccess) {
        planes->size_bytes = n_bytes;
        return true;
    }
    planes->d_bytes = NULL;
    cudaGetLastError(); /* is kept, and would make the next launch of a kernel seem to fail */
    return false;
}

/* How many of the jobs, and at least one, go into n_bytes_max together; *n_bytes: what they take.
 */
static unsigned n_within(struct ih_jpeg_job *const *jobs, unsigned n, size_t n_bytes_max,
                         size_t *n_bytes)
{
    nvjpegImage_t image;
    unsigned n_fit = 0;
    *n_bytes = 0;
    for (; n_fit < n; n_fit++) {
        size_t more = lay_out(jobs[n_fit], NULL, &image);
        if (n_fit > 0 && *n_bytes + more > n_bytes_max)
            break;
        *n_bytes += more;
    }
    return n_fit;
}

unsigned ih_jpeg_planes_place(struct ih_jpeg_planes *planes, struct ih_jpeg_job *const *jobs,
                              unsigned n, nvjpegImage_t *images)
{
    size_t n_bytes;
    unsigned n_fit = n_within(jobs, n, IH_JPEG_PLANES_BYTES_MAX, &n_bytes);
    while (!grow(planes, n_bytes)) {
        if (n_fit == 1)
            return 0;
        n_fit = n_within(jobs, n_fit, n_bytes / 2, &n_bytes);
    }
    uint8_t *d_next = planes->d_bytes;
    for (unsigned i = 0; i < n_fit; i++)
        d_next += lay_out(jobs[i], d_next, &images[i]);
    return n_fit;
}

cudaError_t ih_jpeg_planes_count(const struct ih_cuda_unit *unit, const struct ih_jpeg_job *job,
                                 const nvjpegImage_t *image, struct ih_gpu_totals *d_totals,
                                 cudaStream_t stream)
{
    const struct ih_gpu_measures measures = ih_gpu_measures_make(&job->spec);
    if (job->n_components == 1) {
        const struct ih_gpu_histogram_args gray = {
            .d_pixels = image->channel[0],
            .n_pixels = (uint64_t)job->width * job->height,
            .n_channels = 1,
            .measures = measures,
            .d_totals = d_totals,
            .gpu = &unit->gpu,
            .stream = stream,
        };
        return ih_histogram_rows(&gray, job->width, image->pitch[0]);
    }
    const struct ih_gpu_planes_args planes = {
        .d_planes = {image->channel[0], image->channel[1], image->channel[2]},
        .pitch_bytes = {image->pitch[0], image->pitch[1], image->pitch[2]},
        .width = job->width,
        .height = job->height,
        .chroma_h = job->chroma_h,
        .chroma_v = job->chroma_v,
        .n_rows = job->height,
        .measures = measures,
        .d_totals = d_totals,
        .gpu = &unit->gpu,
        .stream = stream,
    };
    return ih_histogram_ycc(&planes);
}
