/*
 * jpeg_planes LIST SECONDS [BATCH]: the JPEG kernels against libjpeg, and how fast they are.
 *
 * LIST names JPEG files, one a line. First every plane of every file is compared byte by byte; a
 * file about which libjpeg warns must have a fault. Unless SECONDS is 0, the kernels are then
 * timed, and for SECONDS 16 threads decode batches of up to BATCH (2048) files in random order and
 * number, and compare a hash of each plane. Files for the CPU are left out. Exit status 1: a plane
 * differs, or damage was missed.
 */
extern "C" {
#include "jpeg_gpu/plan.h"
#include "tests/support/jpeg_reference.h"
}

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        const cudaError_t status_ = (call);                                                  \
        if (status_ != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

enum { THREADS = 16, HASH_THREADS = 256 };

struct file {
    std::string path;
    std::vector<uint8_t> bytes;
    struct ih_jpeg_plan plan;
    uint32_t offset;
    uint32_t hashes[3]; /* of planes that were compared */
    bool is_compared;
    double megapixels;
};

/* A hash of each plane, the samples beyond the image included. */
static __global__ void hash_kernel(const struct ih_gpu_jpeg_component *components,
                                   const uint8_t *planes, uint32_t *hashes)
{
    __shared__ uint32_t s_sum;
    const struct ih_gpu_jpeg_component &c = components[blockIdx.x];
    const uint32_t width = c.blocks_across * 8, n = width * c.blocks_down * 8;
    uint32_t hash = 0;
    for (uint32_t i = threadIdx.x; i < n; i += HASH_THREADS)
        hash += (planes[c.plane_offset + (size_t)(i / width) * c.pitch_bytes + i % width] + 1) *
                ((i ^ 0x5bd1e995u) * 2654435761u | 1);
    if (threadIdx.x == 0)
        s_sum = 0;
    __syncthreads();
    atomicAdd(&s_sum, hash);
    __syncthreads();
    if (threadIdx.x == 0)
        hashes[blockIdx.x] = s_sum;
}

/* A batch with memory of its own. */
struct session {
    const bool is_progressive;
    cudaStream_t stream;
    struct ih_gpu_jpeg_scans scans;
    struct ih_gpu_jpeg_batch &batch = scans.batch; /* all there is of sequential files */
    struct ih_gpu_jpeg_args args = {};
    struct ih_gpu_jpeg_scans_args scans_args = {};
    uint8_t *arrays, *d_arrays;
    uint8_t *d_scratch = nullptr, *d_planes = nullptr;
    size_t scratch_bytes = 0, planes_bytes = 0;
    struct ih_gpu_jpeg_verdict *verdicts, *d_verdicts;
    uint32_t *hashes, *d_hashes;
    std::vector<struct file *> files;

    size_t arrays_bytes() const
    {
        return is_progressive ? ih_jpeg_scans_bytes() : ih_jpeg_batch_bytes();
    }
    session(const uint8_t *d_files, bool progressive) : is_progressive(progressive)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMallocHost(&arrays, arrays_bytes()));
        CHECK(cudaMalloc(&d_arrays, arrays_bytes()));
        CHECK(cudaMallocHost(&verdicts, IH_JPEG_BATCH_IMAGES * sizeof *verdicts));
        CHECK(cudaMalloc(&d_verdicts, IH_JPEG_BATCH_IMAGES * sizeof *verdicts));
        CHECK(cudaMallocHost(&hashes, 3 * IH_JPEG_BATCH_IMAGES * sizeof *hashes));
        CHECK(cudaMalloc(&d_hashes, 3 * IH_JPEG_BATCH_IMAGES * sizeof *hashes));
        args.d_files = d_files;
        args.d_verdicts = d_verdicts;
        args.stream = stream;
        begin();
    }
    void begin()
    {
        if (is_progressive)
            ih_jpeg_scans_begin(&scans, arrays);
        else
            ih_jpeg_batch_begin(&batch, arrays);
        files.clear();
    }
    bool add(struct file *f)
    {
        if (!(is_progressive ? ih_jpeg_scans_add(&scans, &f->plan, f->offset)
                             : ih_jpeg_batch_add(&batch, &f->plan, f->offset)))
            return false;
        files.push_back(f);
        return true;
    }
    static void grow(uint8_t **d_memory, size_t *size, size_t n)
    {
        if (n <= *size)
            return;
        CHECK(cudaFree(*d_memory));
        *size = n + n / 4;
        CHECK(cudaMalloc(d_memory, *size));
    }
    size_t scratch_needed() const
    {
        return is_progressive ? ih_jpeg_scans_scratch_bytes(&scans) : ih_jpeg_scratch_bytes(&batch);
    }
    static cudaError_t use_none(void *, const struct ih_gpu_jpeg_part *)
    {
        return cudaSuccess;
    }
    /* Gives the planes of each part a place of their own, so that all can be compared. */
    void spread_parts()
    {
        uint64_t at = 0, end = 0;
        for (uint32_t i = 0; i < scans.n_parts; i++, at = end) {
            const struct ih_gpu_jpeg_part &part = scans.parts[i];
            for (uint32_t k = part.first_image; k < part.first_image + part.n_images; k++)
                for (uint32_t n = 0; n < batch.images[k].n_components; n++) {
                    auto &c = batch.components[batch.images[k].first_component + n];
                    c.plane_offset += at;
                    end = c.plane_offset + 8 * (uint64_t)c.pitch_bytes * c.blocks_down;
                }
        }
        batch.planes_bytes = end;
    }
    /* Bytes of planes so far. */
    size_t planes_so_far() const
    {
        const size_t n_before = scans.n_parts > 0 ? scans.n_parts - 1 : 0;
        return batch.planes_bytes + (is_progressive ? n_before * IH_JPEG_PART_PLANES_BYTES : 0);
    }
    void upload()
    {
        struct ih_gpu_jpeg_scans d = {};
        if (is_progressive) {
            ih_jpeg_scans_end(&scans);
            spread_parts();
            ih_jpeg_scans_begin(&d, d_arrays);
        } else {
            ih_jpeg_batch_begin(&d.batch, d_arrays);
        }
        grow(&d_scratch, &scratch_bytes, scratch_needed());
        grow(&d_planes, &planes_bytes, batch.planes_bytes);
        args.batch = batch;
        args.d_scratch = d_scratch;
        args.d_planes = d_planes;
        args.batch.images = d.batch.images;
        args.batch.intervals = d.batch.intervals;
        args.batch.components = d.batch.components;
        args.batch.groups = d.batch.groups;
        args.batch.codes = d.batch.codes;
        scans_args = {scans,      args.d_files, d_scratch, d_planes,
                      d_verdicts, stream,       use_none,  nullptr};
        scans_args.scans.batch = args.batch;
        scans_args.scans.scans = d.scans;
        scans_args.scans.spectra = d.spectra;
        scans_args.scans.codes = d.codes;
        scans_args.scans.first_order = d.first_order;
        scans_args.scans.refinement_order = d.refinement_order;
        CHECK(cudaMemcpyAsync(d_arrays, arrays, arrays_bytes(), cudaMemcpyHostToDevice, stream));
    }
    void decode(bool with_hashes)
    {
        CHECK(is_progressive ? ih_jpeg_decode_scans(&scans_args) : ih_jpeg_decode(&args));
        CHECK(cudaMemcpyAsync(verdicts, d_verdicts, batch.n_images * sizeof *verdicts,
                              cudaMemcpyDeviceToHost, stream));
        if (!with_hashes)
            return;
        hash_kernel<<<batch.n_components, HASH_THREADS, 0, stream>>>(args.batch.components,
                                                                     d_planes, d_hashes);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(hashes, d_hashes, batch.n_components * sizeof *hashes,
                              cudaMemcpyDeviceToHost, stream));
    }
    void wait()
    {
        CHECK(cudaStreamSynchronize(stream));
    }
};

static std::vector<struct file> read_files(const char *list, size_t *n_for_cpu)
{
    std::vector<struct file> files;
    char path[4096];
    FILE *in = fopen(list, "r");
    while (in && fgets(path, sizeof path, in)) {
        struct file f = {};
        path[strcspn(path, "\n")] = 0;
        f.path = path;
        FILE *from = fopen(path, "rb");
        if (!from)
            continue;
        fseek(from, 0, SEEK_END);
        f.bytes.resize((size_t)ftell(from));
        rewind(from);
        if (fread(f.bytes.data(), 1, f.bytes.size(), from) != f.bytes.size())
            exit(1);
        fclose(from);
        files.push_back(std::move(f));
    }
    if (in)
        fclose(in);
    *n_for_cpu = 0;
    size_t n = 0;
    for (auto &f : files) { /* where they stay */
        if (ih_jpeg_plan_make(&f.plan, f.bytes.data(), f.bytes.size()) != IH_JPEG_REASON_NONE) {
            ih_jpeg_plan_reset(&f.plan);
            ++*n_for_cpu;
            continue;
        }
        f.megapixels = 1e-6 * f.plan.width * f.plan.height;
        if (&f != &files[n])
            std::swap(f, files[n]);
        n++;
    }
    files.resize(n);
    return files;
}

/* Returns how many planes differ or faults are missing. */
static unsigned compare(std::vector<struct file> &files, session &s)
{
    unsigned n_wrong = 0, n_equal = 0, n_warned = 0, n_strict = 0, n_sync = 0;
    std::vector<uint8_t> planes;
    for (size_t i = 0; i < files.size();) {
        const size_t first = i;
        s.begin();
        while (i < files.size() && s.planes_so_far() < (size_t)1 << 30 && s.add(&files[i]))
            i++;
        s.upload();
        s.decode(true);
        planes.resize(s.batch.planes_bytes);
        CHECK(cudaMemcpyAsync(planes.data(), s.d_planes, planes.size(), cudaMemcpyDeviceToHost,
                              s.stream));
        s.wait();
        for (uint32_t k = 0; k < s.batch.n_images; k++) {
            struct file &f = files[first + k];
            struct reference r = reference_decode(f.bytes.data(), f.bytes.size());
            const uint32_t faults = s.verdicts[k].faults;
            bool is_equal = r.is_sound;
            n_warned += !r.is_sound;
            n_strict += r.is_sound && faults;
            n_sync += faults == IH_JPEG_FAULT_SYNC;
            for (unsigned c = 0; c < r.n_components && is_equal && !faults; c++) {
                const auto &of = s.batch.components[s.batch.images[k].first_component + c];
                for (uint32_t y = 0; y < r.height[c] && is_equal; y++)
                    is_equal = memcmp(&planes[of.plane_offset + (size_t)y * of.pitch_bytes],
                                      r.planes[c] + (size_t)y * r.width[c], r.width[c]) == 0;
                f.hashes[c] = s.hashes[s.batch.images[k].first_component + c];
            }
            f.is_compared = is_equal && !faults;
            n_equal += f.is_compared;
            if (!faults && !is_equal) {
                printf("WRONG: %s\n", f.path.c_str());
                n_wrong++;
            }
            reference_reset(&r);
        }
    }
    printf("%zu files: %u equal, %u with libjpeg's warnings, %u faults without a warning (%u not "
           "synchronised), %u wrong\n",
           files.size(), n_equal, n_warned, n_strict, n_sync, n_wrong);
    return n_wrong;
}

/* Kernels alone, of a batch of all files n times. */
static void time_kernels(std::vector<struct file> &files, session &s, size_t n_wanted)
{
    cudaEvent_t from, to;
    std::vector<float> times;
    double megapixels = 0;
    size_t n_bytes = 0;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    s.begin();
    for (size_t i = 0; i < n_wanted && s.planes_so_far() < (size_t)20 << 30; i++) {
        if (!s.add(&files[i % files.size()]))
            break;
        megapixels += files[i % files.size()].megapixels;
        n_bytes += files[i % files.size()].bytes.size();
    }
    s.upload();
    for (int i = 0; i < 10; i++) {
        CHECK(cudaEventRecord(from, s.stream));
        s.decode(false);
        CHECK(cudaEventRecord(to, s.stream));
        s.wait();
        float ms;
        CHECK(cudaEventElapsedTime(&ms, from, to));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    printf("%5u files, %6.0f MP, %6.1f MB: %7.3f ms, %7.0f MP/s, %5.1f GB/s of files, %.2f bytes "
           "of GPU memory a pixel\n",
           s.batch.n_images, megapixels, 1e-6 * n_bytes, times[5], megapixels / times[5] * 1e3,
           1e-6 * n_bytes / times[5],
           (double)(s.scratch_needed() + s.batch.planes_bytes) / megapixels / 1e6);
}

/* Compares, times and hashes the files of a kind. Returns how many were wrong. */
static unsigned long long check(std::vector<struct file> &files, const uint8_t *d_files,
                                bool is_progressive, double seconds, size_t batch_most)
{
    printf("%s:\n", is_progressive ? "progressive" : "sequential");
    unsigned n_wrong;
    {
        session s(d_files, is_progressive);
        n_wrong = compare(files, s);
        for (size_t n : {(size_t)1, (size_t)8, (size_t)40, (size_t)340, (size_t)2000})
            if (seconds > 0)
                time_kernels(files, s, n);
        CHECK(cudaFree(s.d_scratch));
        CHECK(cudaFree(s.d_planes));
    }
    std::vector<struct file *> good;
    for (auto &f : files)
        if (f.is_compared)
            good.push_back(&f);
    std::atomic<unsigned long long> n_decoded{0}, n_bad{0}, n_flagged{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < THREADS && seconds > 0 && !good.empty(); t++)
        threads.emplace_back([&, t] {
            std::mt19937 random(t + 1);
            session s(d_files, is_progressive);
            while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
                   seconds) {
                const size_t n = 1 + random() % batch_most;
                s.begin();
                while (s.batch.n_images < n && s.planes_so_far() < (size_t)1 << 30 &&
                       s.add(good[random() % good.size()]))
                    ;
                s.upload();
                s.decode(true);
                s.wait();
                for (uint32_t k = 0; k < s.batch.n_images; k++) {
                    const auto &image = s.batch.images[k];
                    n_decoded++;
                    n_flagged += s.verdicts[k].faults != 0;
                    n_bad += memcmp(s.hashes + image.first_component, s.files[k]->hashes,
                                    image.n_components * sizeof *s.hashes) != 0 &&
                             !s.verdicts[k].faults;
                }
            }
        });
    for (auto &t : threads)
        t.join();
    if (seconds > 0)
        printf("%llu decodings in changing batches of up to %zu: %llu wrong, %llu with a fault\n",
               (unsigned long long)n_decoded, batch_most, (unsigned long long)n_bad,
               (unsigned long long)n_flagged);
    return n_wrong + n_bad;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: jpeg_planes LIST SECONDS [BATCH]\n");
        return 2;
    }
    const double seconds = atof(argv[2]);
    const size_t batch_most = argc > 3 ? (size_t)atoi(argv[3]) : 2048;
    size_t n_for_cpu, n_bytes = 0;
    std::vector<struct file> files = read_files(argv[1], &n_for_cpu);
    if (files.empty())
        return 1;
    for (auto &f : files) {
        f.offset = (uint32_t)n_bytes;
        n_bytes += (f.bytes.size() + IH_JPEG_FILE_ALIGNMENT - 1) / IH_JPEG_FILE_ALIGNMENT *
                   IH_JPEG_FILE_ALIGNMENT;
    }
    uint8_t *d_files;
    CHECK(cudaMalloc(&d_files, n_bytes + IH_JPEG_FILE_ALIGNMENT));
    for (auto &f : files)
        CHECK(
            cudaMemcpy(d_files + f.offset, f.bytes.data(), f.bytes.size(), cudaMemcpyHostToDevice));
    printf("%zu files left to the CPU\n", n_for_cpu);
    unsigned long long n_wrong = 0;
    std::vector<struct file> others;
    for (bool is_progressive : {false, true}) {
        std::vector<struct file> of_kind;
        for (auto &f : files)
            if (f.plan.is_progressive == is_progressive)
                of_kind.push_back(std::move(f));
            else
                others.push_back(std::move(f));
        files.swap(others);
        others.clear();
        if (!of_kind.empty())
            n_wrong += check(of_kind, d_files, is_progressive, seconds, batch_most);
    }
    return n_wrong > 0;
}
