/* One run: starts the scan that the options ask for, chains result files to it, and gives each item
 * to the pipeline. */
#include "cli/pipeline.h"

#include "decode/archive.h"
#include "isolate/decoder_process.h"
#include "records/resume.h"

#include <string.h>

/* ---- what the options ask for ---- */

/* An explicit CPU, kernel, raw, isolate, frames, region, mask, bands, nodata or thumbnails option
 * turns --jpeg=auto off. */
static enum ih_jpeg_side jpeg_side(const struct ih_options *o)
{
    bool is_cpu = o->device.backend && strcmp(o->device.backend, "cpu") == 0;
    bool is_explicit = is_cpu || o->device.with.kernel || o->raw_channels || o->isolates_all ||
                       o->takes_frames || o->measure.region || o->measure.mask ||
                       o->measure.nodata.kind == IH_NODATA_OF_RUN || o->makes_thumbnails ||
                       o->bands.last > 0;
    return o->jpeg == IH_JPEG_AUTO && is_explicit ? IH_JPEG_CPU : o->jpeg;
}

/* The values of all options that decide which records a run has and what is in them: those that
 * choose and read inputs, except where the inputs' names and the part of the run come from. */
static uint64_t hash_options(const struct ih_options *o)
{
    static const char *const others[] = {"files-from", "files0-from", "records",
                                         "name",       "shard",       "resume"};
    uint64_t hash = IH_HASH_START;
    for (const struct ih_option *row = ih_option_table; row->name; row++) {
        bool is_hashed = row->group == IH_GROUP_INPUT || row->group == IH_GROUP_COUNTING ||
                         strcmp(row->name, "where") == 0 || strcmp(row->name, "sigma-clip") == 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            is_hashed = is_hashed && strcmp(row->name, others[k]) != 0;
        if (!is_hashed || !ih_option_is_given(o, row->name))
            continue;
        hash = ih_hash_text(hash, row->name);
        hash = ih_hash_text(hash, ih_option_value(o, row->name));
    }
    return ih_hash_number(hash, o->n_shards);
}

/* No more workers than inputs. Standard input may be an archive. */
static unsigned n_workers(const struct ih_options *o, uint64_t n_images, unsigned n_threads)
{
    for (size_t i = 0; i < o->n_paths && n_images > 0; i++)
        if (strcmp(o->paths[i], "-") == 0)
            return n_threads;
    return n_images > 0 && n_images < n_threads ? (unsigned)n_images : n_threads;
}

static void warn_no_sandbox(const char *message)
{
    ih_say(NULL, message);
}

/* Loads the mask of --mask, or the label image of --labels, if it is a file. */
static enum ih_status load_mask(const struct ih_options *o, struct ih_scan_options *with,
                                struct ih_mask *mask, struct ih_error *err)
{
    struct stat st;
    struct ih_decode_options decode = with->decode;
    const struct ih_remote_decoders *remote = with->remote_decoders;
    if (!o->measure.mask || (ih_path_stat(o->measure.mask, &st, 0) == 0 && S_ISDIR(st.st_mode)))
        return IH_OK;
    decode.remote = remote->make(remote->user);
    if (!decode.remote)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    mask->has_labels = o->has_labels;
    enum ih_status status = ih_mask_load(mask, o->measure.mask, &decode, with->mask.budget, err);
    remote->destroy(decode.remote);
    with->mask.one = mask;
    with->measure.mask_hash = mask->hash;
    return status;
}

/* What a scan borrows. */
struct scan_resources {
    unsigned n_threads; /* that may count; the scan may have fewer workers */
    uint64_t memory_bytes;
    struct ih_budget images, members, masks; /* an image waits with its mask or bytes in hand */
    struct ih_mask mask;
    atomic_flag has_warned;
    struct ih_decoder_process_command decoders, archives;
    struct ih_remote_decoders decoder_processes, archive_readers;
    atomic_uint n_idle_cores;
    struct ih_jpeg_report jpeg;
    struct ih_resume_point done;
};

static void open_resources(struct scan_resources *p, const struct ih_options *o)
{
    p->n_threads = o->n_threads ? o->n_threads : ih_machine_cores();
    p->memory_bytes = ih_options_memory_bytes(o);
    ih_budget_init(&p->images, p->memory_bytes);
    ih_budget_init(&p->members, p->memory_bytes);
    ih_budget_init(&p->masks, p->memory_bytes);
    p->decoders = (struct ih_decoder_process_command){.program = ih_machine_program(),
                                                      .is_strict = o->isolates_all,
                                                      .memory_bytes = p->memory_bytes,
                                                      .kept_bytes = p->memory_bytes / p->n_threads,
                                                      .warn = warn_no_sandbox,
                                                      .has_warned = &p->has_warned};
    p->archives = p->decoders;
    p->archives.decoders = ih_archive_decoders;
    p->archives.reads_archives = true;
    p->decoder_processes = ih_decoder_processes(&p->decoders);
    p->archive_readers = ih_decoder_processes(&p->archives);
}

static void close_resources(struct scan_resources *p)
{
    ih_mask_release(&p->mask, &p->masks);
    ih_budget_destroy(&p->masks);
    ih_budget_destroy(&p->members);
    ih_budget_destroy(&p->images);
}

static struct ih_scan_options scan_options(const struct ih_options *o, struct scan_resources *p,
                                           struct ih_pipeline *pipeline, unsigned n_threads)
{
    struct ih_scan_options with = {
        .n_threads = n_threads,
        .decode = {.max_pixels = o->max_pixels,
                   .raw_channels = o->raw_channels,
                   .raw_depth = (enum ih_raw_depth)o->raw_depth,
                   .raw_width = o->raw_width,
                   .raw_height = o->raw_height,
                   .takes_frames = o->takes_frames,
                   .timeout_s = o->timeout_s,
                   .budget = &p->images,
                   .n_idle_cores = &p->n_idle_cores,
                   .whole_file_bytes_max = o->memory_bytes / p->n_threads, /* 0: the default */
                   .is_lenient = o->is_lenient,
                   .axes = (enum ih_axes)o->axes,
                   .takes_raw_previews = o->takes_raw_previews,
                   .takes_raw_sensors = o->takes_raw_sensors,
                   .isolates_all = o->isolates_all},
        .remote_decoders = &p->decoder_processes,
        .reads_archives = true,
        .archive_readers = &p->archive_readers,
        .member_budget = &p->members,
        .measure = o->measure,
        .shard = o->shard,
        .n_shards = o->n_shards,
        .mask = {.budget = &p->masks,
                 .has_labels = o->has_labels,
                 .ignored_end = o->ignored_end,
                 .zones_bytes_max = p->memory_bytes / p->n_threads},
        .finish = ih_pipeline_finish,
        .finish_user = pipeline,
        .makes_thumbnails = o->makes_thumbnails,
        .bands = o->bands,
        .jpeg = jpeg_side(o),
        .jpeg_report = &p->jpeg,
        .is_last = !o->is_verbose,
    };
    with.outputs = ih_pipeline_destinations(pipeline, &with.n_outputs);
    return with;
}

/* ---- the run ---- */

/* Finds the inputs that an earlier run has done. */
static enum ih_status resume(const struct ih_options *o, struct ih_inputs *inputs,
                             struct scan_resources *p, struct ih_scan_options *with,
                             struct ih_error *err)
{
    const enum ih_status status = ih_inputs_resume(inputs, o->resume_path, &p->done, err);
    with->first_input = p->done.n_inputs;
    with->n_resumed_in_folder = p->done.n_in_folder;
    return status;
}

/* Opens all that the scan needs, starts it, and chains result files to it. *subject: the file that
 * an error is about, if it is about one. */
static enum ih_status start_scan(const struct ih_options *o, const struct ih_walk_sources *sources,
                                 uint64_t n_images, struct ih_pipeline *pipeline,
                                 struct scan_resources *p, struct ih_inputs **inputs,
                                 struct ih_device **device, struct ih_chain **chain,
                                 const char **subject, struct ih_error *err)
{
    const unsigned n_threads = n_workers(o, n_images, p->n_threads);
    struct ih_scan_options with = scan_options(o, p, pipeline, n_threads);
    struct ih_device_options device_options = o->device;
    const struct ih_inputs_options from = {*sources, hash_options(o), o->shard, o->resume_path,
                                           o->measure.mask};
    p->n_idle_cores = device_options.with.n_idle_cores = p->n_threads - n_threads;
    device_options.n_lanes = n_threads;
    if (o->has_labels)
        device_options.backend = "cpu";
    ih_machine_keep_memory(p->memory_bytes, n_threads, n_threads == p->n_threads);
    ih_machine_allow_files();
    enum ih_status status = load_mask(o, &with, &p->mask, err);
    if (status == IH_OK)
        status = ih_device_open(&device_options, device, err);
    if (status == IH_OK) {
        *subject = o->list_path;
        status = ih_inputs_open(&from, inputs, err);
    }
    if (status == IH_OK && o->resume_path) {
        *subject = o->resume_path;
        status = resume(o, *inputs, p, &with, err);
    }
    if (status != IH_OK)
        return status;
    *subject = NULL;
    if (o->resume_path)
        ih_pipeline_resume(pipeline, p->done.size_bytes);
    const struct ih_scan_inputs of_scan = ih_inputs_of_scan(*inputs);
    const bool reads_shard = o->n_shards && ih_option_is_given(o, "records");
    const struct ih_chain_options chained = {
        .measure = o->measure,
        .resumed_path = o->resume_path,
        .refusal = (o->n_shards && !reads_shard) || o->resume_path
                       ? "input of a shard or of a run that is resumed"
                       : NULL,
        .shard = reads_shard ? o->shard : 0,
        .n_shards = reads_shard ? o->n_shards : 0,
        .outputs = with.outputs,
        .n_outputs = with.n_outputs,
        .reads_ahead = p->n_threads > 1 && !o->only_total, /* adding is quick */
    };
    struct ih_item_source images;
    status = ih_scan_start(*device, &with, &of_scan, &images, err);
    return status == IH_OK ? ih_chain_open(&images, &chained, chain, err) : status;
}

/* The hash of the run's options and inputs. A shard that is read brings the hash of its inputs. */
static uint64_t hash_run(const struct ih_options *o, const struct ih_inputs *inputs,
                         const struct ih_chain *chain)
{
    const uint64_t read = o->n_shards ? ih_chain_merged_run(chain) : 0;
    return read ? ih_hash_number(hash_options(o), read) : ih_inputs_hash(inputs);
}

enum ih_exit ih_run(const struct ih_options *o, const struct ih_walk_sources *sources,
                    uint64_t n_images, struct ih_pipeline *pipeline, struct ih_device **device)
{
    struct scan_resources parts = {.has_warned = ATOMIC_FLAG_INIT};
    struct ih_inputs *inputs = NULL;
    struct ih_chain *chain = NULL;
    const struct ih_item *item = NULL;
    const char *subject = NULL;
    struct ih_error err = {0};
    open_resources(&parts, o);
    enum ih_status status =
        start_scan(o, sources, n_images, pipeline, &parts, &inputs, device, &chain, &subject, &err);
    if (status == IH_OK)
        ih_pipeline_begin(pipeline, chain);
    while (status == IH_OK && (status = ih_chain_next(chain, &item, &err)) == IH_OK) {
        ih_pipeline_take(pipeline, item);
        if (!ih_chain_is_ready(chain, 0))
            ih_pipeline_flush(pipeline);
    }
    if (status != IH_END) {
        if (status == IH_UNAVAILABLE && !subject && o->jpeg == IH_JPEG_GPU)
            ih_error_append(&err, "--jpeg=gpu needs one; without this option the CPU decodes them");
        ih_pipeline_give_up(pipeline, item ? item->path : subject, &err);
    }
    const enum ih_exit code = ih_pipeline_end(pipeline, hash_run(o, inputs, chain));
    /* The report waits for a GPU that the run did not need: it must not depend on how long the run
     * took. */
    if (o->is_verbose) {
        ih_device_wait(*device, NULL);
        ih_messages_devices(*device, &parts.jpeg);
    }
    ih_chain_close(chain);
    ih_inputs_close(inputs);
    close_resources(&parts);
    return code;
}
