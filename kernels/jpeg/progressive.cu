/*
 * Progressive JPEG: scans in, planes out.
 *
 *     first scans of AC   a warp a scan: starts by self-synchronisation; maps of the coefficients
 *                         that are not zero
 *     navigation          a warp a scan: where each block of a refinement scan begins; beside it,
 *                         first scans of DC
 *     DC                  prefix sums, as for sequential files
 *     then for one part of the images after the other:
 *     values              a thread for 1,024 bits of the first scans of AC, whose starts are known
 *     refinement          a thread a block: corrections and new coefficients of all its scans
 *     inverse DCT         as for sequential files, from coefficients in place of lists
 *
 * Three of five bytes are refinement scans, which are sequential: a warp passes 2.6 MB/s on an
 * H100, bound by the latency of its look-ups. So the rate comes from the number of scans in flight,
 * and the batch holds only what navigation needs: maps and positions, 12 bytes a block and
 * refinement. Coefficients exist for one part at a time; first scans are decoded twice for that.
 *
 * A warp is never wrong about a first scan: it goes on until each of its threads starts in the
 * state in which the one before it ended, and the first one starts where the last 32 ended. A
 * refinement scan reads the maps that the one before it writes. All are in one launch, sorted by
 * level, and a warp follows the warp of the level before by a counter; thread blocks start in
 * order, so the one that it waits for is running or done. Rounds and waits are limited: a file that
 * needs more goes to the CPU.
 */
#include "parts.cuh"
#include "progressive.h"

enum {
    WARP = 32,
    ROUNDS_MAX = 4096, /* of a first scan: 5 MB that synchronise at once, or 0.2 s */
    POLLS_MAX = 1 << 22,
    WINDOWS_A_STEP = 8, /* of a refinement scan, between two steps of its progress */
    VALUE_THREADS = 128
};

/* Device memory, in addition to that of the batch. */
struct work {
    struct ih_jpeg_work w; /* w.batch: of scans */
    struct ih_gpu_jpeg_scans s;
    struct ih_jpeg_code *codes;                       /* [n_codes] */
    uint32_t *step_states, *step_blocks, *step_scans; /* [n_steps] */
    int16_t *dc;                                      /* [n_dc] */
    uint64_t *maps;                                   /* [n_maps] */
    uint32_t *positions;                              /* [n_maps] */
    uint32_t *progress;                               /* [n_progress]: blocks of maps written */
    int16_t *coefficients;                            /* [IH_JPEG_PART_BLOCKS][64], of a part */
};

/* ---- codes ---- */

static __global__ void __launch_bounds__(WARP) codes_kernel(const struct work k)
{
    __shared__ struct ih_jpeg_limits s_limits;
    const struct ih_gpu_jpeg_scan_code &from = k.s.codes[blockIdx.x];
    struct ih_jpeg_code *to = &k.codes[blockIdx.x];
    ih_jpeg_make_table(&from.code, (int)from.is_dc, &s_limits, to->entries, &to->long_codes);
}

/* ---- first scans ---- */

static __device__ inline const uint32_t *words_of(const struct work &k, uint32_t scan)
{
    return (const uint32_t *)(k.w.bits + k.w.batch.intervals[scan].bits_offset);
}

/* Decodes a first scan. s_codes: [2] */
static __device__ inline void decode_first(const struct work &k, uint32_t index,
                                           struct ih_jpeg_code *s_codes)
{
    const uint32_t lane = threadIdx.x;
    const struct ih_gpu_jpeg_scan &scan = k.s.scans[index];
    const struct ih_gpu_jpeg_spectrum &spectrum = k.s.spectra[scan.component];
    const struct ih_jpeg_first_scan first = {s_codes, scan};
    const uint32_t *words = words_of(k, index), n_bits = k.w.n_bits[index];
    const uint32_t initial = ih_jpeg_state(0, 0, scan.first);
    struct ih_jpeg_first_results to = {NULL, NULL, NULL};
    uint32_t carry = initial, block = 0, faults = 0;
    int n_rounds = 0;
    if (scan.first == 0)
        to.dc = k.dc + scan.first_dc;
    else if (spectrum.n_levels > 0)
        to.maps = k.maps + spectrum.first_map;
    ih_jpeg_copy_tables(&s_codes[0], &k.codes[scan.code], blockDim.x);
    if (scan.code_of_block)
        ih_jpeg_copy_tables(&s_codes[1], &k.codes[scan.code + 1], blockDim.x);
    __syncwarp();
    for (uint32_t tile = 0; tile < n_bits; tile += WARP * IH_JPEG_STEP_BITS) {
        const uint32_t at = tile + lane * IH_JPEG_STEP_BITS;
        const uint32_t n_left = at < n_bits ? n_bits - at : 0;
        const uint32_t n = min(n_left, (uint32_t)IH_JPEG_STEP_BITS);
        uint32_t start = lane ? initial : carry, exit = start, count = 0;
        bool is_changed = n > 0;
        do {
            if (is_changed) {
                exit = start;
                count = ih_jpeg_count_first(words + at / 32, n, &first, &exit);
            }
            const uint32_t before = __shfl_up_sync(~0u, exit, 1);
            is_changed = n > 0 && lane > 0 && before != start;
            start = is_changed ? before : start;
            n_rounds++;
        } while (__any_sync(~0u, is_changed) && n_rounds < ROUNDS_MAX);
        if (n_rounds >= ROUNDS_MAX)
            faults = IH_JPEG_FAULT_SYNC;
        carry = __shfl_sync(~0u, exit, WARP - 1);
        uint32_t sum = count;
        for (uint32_t step = 1; step < WARP; step *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, sum, step);
            sum += lane >= step ? other : 0;
        }
        uint32_t of_thread = min(block + sum - count, scan.n_blocks);
        if (n > 0) {
            if (scan.first > 0) {
                const uint32_t step = scan.first_step + at / IH_JPEG_STEP_BITS;
                k.step_states[step] = start;
                k.step_blocks[step] = of_thread;
            }
            faults |=
                ih_jpeg_decode_first(words + at / 32, n, n_left, &first, &start, &of_thread, &to);
        }
        block = min(block + __shfl_sync(~0u, sum, WARP - 1), scan.n_blocks);
    }
    for (uint32_t i = lane; i < scan.n_steps; i += WARP)
        k.step_scans[scan.first_step + i] = index;
    if (block < scan.n_blocks)
        faults |= IH_JPEG_FAULT_SHORT;
    ih_jpeg_blame(k.w, scan.image, faults);
}

static __global__ void __launch_bounds__(WARP) first_kernel(const struct work k)
{
    __shared__ __align__(16) struct ih_jpeg_code s_codes[2];
    decode_first(k, (uint32_t)(k.s.first_order[blockIdx.x] & 0xffff), s_codes);
}

/* ---- navigation ---- */

/* Waits until a counter has reached n. Returns the counter, which is below n if that took too
 * long. */
static __device__ inline uint32_t wait_for(const volatile uint32_t *counter, uint32_t n)
{
    uint32_t now = *counter;
    for (int polls = 0; now < n && polls < POLLS_MAX; polls++) {
        __nanosleep(500);
        now = *counter;
    }
    __threadfence();
    return now;
}

/* Past the L1 cache, which may hold what was there before another warp wrote. */
static __device__ inline uint64_t load_map(const struct work &k, uint32_t i)
{
    return __ldcg((const unsigned long long *)k.maps + i);
}

static __device__ inline struct ih_jpeg_refinement refinement_of(const struct work &k,
                                                                 uint32_t index)
{
    const struct ih_gpu_jpeg_scan &scan = k.s.scans[index];
    return {words_of(k, index), &k.codes[scan.code], k.w.n_bits[index], scan};
}

/* Navigates through a refinement scan. */
static __device__ inline void navigate(const struct work &k, uint32_t index,
                                       struct ih_jpeg_navigator &s)
{
    const uint32_t lane = threadIdx.x;
    const struct ih_gpu_jpeg_scan &scan = k.s.scans[index];
    const struct ih_gpu_jpeg_spectrum &spectrum = k.s.spectra[scan.component];
    const struct ih_jpeg_refinement r = refinement_of(k, index);
    const uint32_t first = spectrum.first_map + (scan.level - 1) * spectrum.n_blocks;
    const bool is_last = scan.level == spectrum.n_levels;
    volatile uint32_t *progress = k.progress + spectrum.first_progress + scan.level - 1;
    struct ih_jpeg_course c;
    uint32_t n_ready = scan.level == 1 ? scan.n_blocks : 0; /* maps that may be read */
    uint64_t next = 0;                                      /* the map of the next window's block */
    ih_jpeg_begin_course(&s, &r, &c);
    for (uint32_t b = 0; b < scan.n_blocks && !c.faults; b += IH_JPEG_WINDOW_BLOCKS) {
        const uint32_t n = min(scan.n_blocks - b, (uint32_t)IH_JPEG_WINDOW_BLOCKS);
        const uint32_t ahead = b + IH_JPEG_WINDOW_BLOCKS + lane;
        const uint32_t n_needed = min(scan.n_blocks, b + 2 * IH_JPEG_WINDOW_BLOCKS);
        if (n_ready < n_needed)
            n_ready = __shfl_sync(~0u, wait_for(progress - 1, n_needed), 0);
        if (n_ready < n_needed)
            break;
        if (b == 0 && lane < n)
            next = load_map(k, first + lane);
        s.maps[lane] = next;
        if (ahead < scan.n_blocks)
            next = load_map(k, first + ahead);
        ih_jpeg_navigate(&s, &r, &c, n);
        if (lane < n) {
            k.positions[first + b + lane] = s.positions[lane];
            if (!is_last)
                k.maps[first + spectrum.n_blocks + b + lane] = s.maps[lane];
        }
        if (is_last || b / IH_JPEG_WINDOW_BLOCKS % WINDOWS_A_STEP != WINDOWS_A_STEP - 1)
            continue;
        __threadfence();
        __syncwarp();
        if (lane == 0)
            *progress = b + n;
    }
    __threadfence();
    __syncwarp();
    if (lane == 0) {
        *progress = scan.n_blocks; /* after a fault, too: no warp waits for it */
        ih_jpeg_blame(k.w, scan.image,
                      n_ready < scan.n_blocks ? (uint32_t)IH_JPEG_FAULT_SYNC | c.faults
                                              : ih_jpeg_end_course(&r, &c));
    }
}

/* First scans of DC are here, too: nothing waits for them but the inverse DCT, and those of flat
 * images take as long as a refinement. */
static __global__ void __launch_bounds__(WARP) navigate_kernel(const struct work k)
{
    __shared__ __align__(16) union {
        struct ih_jpeg_navigator navigator;
        struct ih_jpeg_code codes[2];
    } s;
    const uint32_t index = (uint32_t)(k.s.refinement_order[blockIdx.x] & 0xffff);
    if (k.s.scans[index].level > 0)
        navigate(k, index, s.navigator);
    else
        decode_first(k, index, s.codes);
}

/* ---- coefficients ---- */

/* Whether the data of an image may be read again: it has no fault that could lead astray. */
static __device__ inline bool is_sound(const struct work &k, uint32_t image)
{
    return !(k.w.d_verdicts[image].faults & ~IH_JPEG_FAULT_LARGE);
}

static __global__ void __launch_bounds__(VALUE_THREADS)
    values_kernel(const struct work k, uint32_t first_step, uint32_t n_steps)
{
    const uint32_t i = blockIdx.x * VALUE_THREADS + threadIdx.x, step = first_step + i;
    if (i >= n_steps)
        return;
    const uint32_t index = k.step_scans[step];
    const struct ih_gpu_jpeg_scan &scan = k.s.scans[index];
    const uint32_t at = (step - scan.first_step) * IH_JPEG_STEP_BITS, n_bits = k.w.n_bits[index];
    if (at >= n_bits || !is_sound(k, scan.image))
        return;
    struct ih_jpeg_first_scan first = {&k.codes[scan.code], scan};
    first.scan.code_of_block = 0; /* it is, of AC, and the compiler keeps no second code */
    const struct ih_jpeg_first_results to = {
        NULL, NULL, k.coefficients + (size_t)k.s.spectra[scan.component].first_block * 64};
    uint32_t state = k.step_states[step], block = k.step_blocks[step];
    ih_jpeg_decode_first(words_of(k, index) + at / 32,
                         min(n_bits - at, (uint32_t)IH_JPEG_STEP_BITS), n_bits - at, &first, &state,
                         &block, &to);
}

static __global__ void __launch_bounds__(IH_JPEG_REFINE_THREADS)
    refine_kernel(const struct work k, uint32_t first_thread_block)
{
    const uint32_t thread_block = first_thread_block + blockIdx.x;
    const uint32_t component =
        ih_jpeg_find(k.s.spectra, k.w.batch.n_components, &ih_gpu_jpeg_spectrum::first_thread_block,
                     thread_block);
    const struct ih_gpu_jpeg_spectrum &spectrum = k.s.spectra[component];
    const uint32_t b =
        (thread_block - spectrum.first_thread_block) * IH_JPEG_REFINE_THREADS + threadIdx.x;
    if (b >= spectrum.n_blocks || !is_sound(k, k.w.batch.components[component].image))
        return;
    int16_t *coefficients = k.coefficients + (size_t)(spectrum.first_block + b) * 64;
    uint32_t at = spectrum.first_map + b;
    for (uint32_t i = spectrum.first_refinement; i != IH_JPEG_NO_SCAN;
         i = k.s.scans[i].next_refinement, at += spectrum.n_blocks) {
        const struct ih_jpeg_refinement r = refinement_of(k, i);
        ih_jpeg_refine(&r, k.positions[at], k.maps[at], coefficients);
    }
}

/* ---- the steps ---- */

static size_t divide(struct work *k)
{
    const struct ih_gpu_jpeg_batch &b = k->w.batch;
    struct ih_jpeg_divider d = {(uint8_t *)k->w.d_scratch};
    d.give(&k->coefficients, (size_t)IH_JPEG_PART_BLOCKS * 64);
    d.give(&k->w.bits, b.bits_bytes + IH_JPEG_SCANS_SLACK_BYTES);
    d.give(&k->w.n_bytes, b.n_intervals);
    d.give(&k->w.n_bits, b.n_intervals);
    d.give(&k->w.n_stuffed, b.n_chunks);
    d.give(&k->codes, k->s.n_codes);
    d.give(&k->step_states, k->s.n_steps);
    d.give(&k->step_blocks, k->s.n_steps);
    d.give(&k->step_scans, k->s.n_steps);
    d.give(&k->dc, k->s.n_dc);
    d.give(&k->maps, k->s.n_maps);
    d.give(&k->positions, k->s.n_maps);
    d.give(&k->progress, k->s.n_progress);
    return (size_t)(d.next - (uint8_t *)k->w.d_scratch);
}

extern "C" size_t ih_jpeg_scans_scratch_bytes(const struct ih_gpu_jpeg_scans *scans)
{
    struct work k = {};
    k.s = *scans;
    k.w.batch = scans->batch;
    return divide(&k);
}

/* Everything that holds for the batch: after it, positions and maps of all blocks are known. */
static cudaError_t read_scans(const struct work &k)
{
    cudaError_t c = cudaMemsetAsync(k.maps, 0, k.s.n_maps * sizeof *k.maps, k.w.stream);
    if (c == cudaSuccess)
        c = cudaMemsetAsync(k.progress, 0, k.s.n_progress * sizeof *k.progress, k.w.stream);
    if (c == cudaSuccess)
        c = ih_jpeg_unstuff(k.w);
    if (c != cudaSuccess)
        return c;
    codes_kernel<<<k.s.n_codes, WARP, 0, k.w.stream>>>(k);
    first_kernel<<<k.s.n_first, WARP, 0, k.w.stream>>>(k);
    navigate_kernel<<<k.s.n_refinements, WARP, 0, k.w.stream>>>(k);
    return ih_jpeg_sum_scans(k.w, k.s, k.dc);
}

static cudaError_t make_planes(const struct work &k, const struct ih_gpu_jpeg_part &part)
{
    cudaError_t c = cudaMemsetAsync(k.coefficients, 0, (size_t)part.n_blocks * 128, k.w.stream);
    if (c != cudaSuccess)
        return c;
    if (part.n_steps > 0)
        values_kernel<<<(part.n_steps - 1) / VALUE_THREADS + 1, VALUE_THREADS, 0, k.w.stream>>>(
            k, part.first_step, part.n_steps);
    refine_kernel<<<part.n_refine_blocks, IH_JPEG_REFINE_THREADS, 0, k.w.stream>>>(
        k, part.first_refine_block);
    return ih_jpeg_transform_part(k.w, k.s, part, k.dc, k.coefficients);
}

extern "C" cudaError_t ih_jpeg_decode_scans(const struct ih_gpu_jpeg_scans_args *args)
{
    struct work k = {};
    k.s = args->scans;
    static_cast<ih_gpu_jpeg_args &>(k.w) = {args->scans.batch, args->d_files,    args->d_scratch,
                                            args->d_planes,    args->d_verdicts, args->stream};
    divide(&k);
    cudaError_t c = read_scans(k);
    for (uint32_t i = 0; i < k.s.n_parts && c == cudaSuccess; i++) {
        c = make_planes(k, k.s.parts[i]);
        if (c == cudaSuccess)
            c = args->use(args->user, &k.s.parts[i]);
    }
    return c;
}
