#include "records/chain.h"

#include "base/path.h"
#include "records/read_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the result files of a run's shards, merged into the order of the run ---- */

/*
 * Each file has its records in the order of their positions. So the next record of the run is the
 * one with the smallest position among the next records of all files. The last record of a file is
 * the end of its shard or its total. It names the run and shows that no record is missing.
 *
 * A run may have thousands of shards. So one reader serves all files, and a shard stores only its
 * place in its file, about 100 bytes. The files that stay open take at most half of the file
 * descriptors that the process may have; the others are opened again for each record. A stream
 * cannot be opened again, so it has a reader of its own.
 */
struct shard {
    char *path;                   /* owned; NULL: not added */
    uint64_t position[IH_PLACES]; /* of the next record; UINT64_MAX: that is the end or a total */
    uint64_t n_read;              /* records */
    bool is_done;                 /* the last record has been read */

    /* Of a file: */
    int fd;                        /* owned; -1: not open */
    struct ih_records_place place; /* of the next record */

    /* Of a stream; NULL for a file, which the shared reader reads: */
    struct ih_reader *src;         /* owned */
    struct ih_records *records;    /* owned */
    const struct ih_result *first; /* the first record, until it is returned */
};

struct shards {
    struct shard *shards; /* owned, [n] */
    unsigned n;
    struct shard *current;        /* of the record that was returned last; NULL: none yet */
    bool has_position;            /* a record of an image has been returned: */
    uint64_t position[IH_PLACES]; /* of the last such record */
    uint64_t run;                 /* hash, of the shards that have ended; 0: none yet */

    /* The shared reader of all files: */
    struct ih_reader src;
    struct ih_records *records; /* owned */
    struct shard *reading;      /* the file that src reads; NULL: none */
    uint64_t next_byte;         /* of that file */
    rlim_t n_open, n_open_max;  /* files */
};

/* Reads bytes of the current file for the shared reader. */
static ptrdiff_t read_part(void *shards, void *bytes, size_t size_bytes)
{
    struct shards *s = shards;
    ssize_t n;
    do
        n = pread(s->reading->fd, bytes, size_bytes < IH_PART_BYTES ? size_bytes : IH_PART_BYTES,
                  (off_t)s->next_byte);
    while (n < 0 && errno == EINTR);
    s->next_byte += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* Moves the shared reader to the shard's next record. Does nothing for a stream. */
static enum ih_status move_reader(struct shards *s, struct shard *shard, struct ih_error *err)
{
    if (shard->records || s->reading == shard)
        return IH_OK;
    if (s->reading && s->n_open > s->n_open_max) {
        close(s->reading->fd);
        s->reading->fd = -1;
        s->n_open--;
    }
    s->reading = NULL;
    if (shard->fd < 0) {
        shard->fd = ih_path_open(shard->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (shard->fd < 0)
            return ih_error_errno(err, errno, "cannot open");
        s->n_open++;
    }
    s->reading = shard;
    s->next_byte = shard->place.offset_bytes;
    ih_reader_close(&s->src);
    enum ih_status status = ih_reader_open_function(&s->src, read_part, s, err);
    if (status == IH_OK && !s->records)
        status = ih_records_open(&s->src, &s->records, err);
    if (status == IH_OK)
        ih_records_continue_in(s->records, &s->src, shard->place);
    return status;
}

static struct shards *new_shards(unsigned n)
{
    struct shards *s = calloc(1, sizeof *s);
    struct rlimit files;
    if (s && !(s->shards = calloc(n, sizeof *s->shards))) {
        free(s);
        return NULL;
    }
    if (s) {
        s->n = n;
        s->n_open_max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / 2 : 0;
    }
    return s;
}

static void close_stream(struct ih_reader *src, struct ih_records *records)
{
    ih_records_close(records);
    if (src)
        ih_reader_reset(src);
    free(src);
}

/* Adds the file of one shard. Takes src, which is of malloc, and records, which reads it, also
 * after an error; then only close may follow. *shards: NULL for the first; owned by the caller.
 * is_stream: path cannot be opened again. Returns IH_OK, IH_MEMORY, or IH_USAGE: the shard was
 * added before, or is of another run. */
static enum ih_status shards_add(struct shards **shards, const char *path, struct ih_reader *src,
                                 struct ih_records *records, bool is_stream,
                                 const struct ih_result *first, struct ih_error *err)
{
    struct shards *s = *shards = *shards ? *shards : new_shards(first->n_shards);
    enum ih_status status = IH_OK;
    struct shard *shard = s && first->n_shards == s->n ? s->shards + first->shard - 1 : NULL;
    if (!s)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    else if (!shard)
        status = ih_error_set(err, IH_USAGE, "shard %u/%u, but the others are of %u shards",
                              first->shard, first->n_shards, s->n);
    else if (shard->path)
        status = ih_error_set(err, IH_USAGE, "shard %u/%u again, which is also in %.100s",
                              first->shard, first->n_shards, shard->path);
    else {
        const bool is_image = !first->is_end && !first->is_total;
        *shard = (struct shard){.path = strdup(path),
                                .fd = -1,
                                .position = {is_image ? first->input : UINT64_MAX,
                                             is_image ? first->member : UINT64_MAX,
                                             is_image ? first->frame : UINT64_MAX}};
        if (!shard->path)
            status = ih_error_set(err, IH_MEMORY, "out of memory");
        else if (is_stream) {
            shard->src = src;
            shard->records = records;
            shard->first = first;
            return IH_OK;
        }
    }
    close_stream(src, records);
    return status;
}

/* Returns IH_USAGE with the first shard that is missing, if one is. */
static enum ih_status shards_check(const struct shards *s, struct ih_error *err)
{
    for (unsigned i = 0; i < s->n; i++)
        if (!s->shards[i].path)
            return ih_error_set(err, IH_USAGE,
                                "shard %u/%u is missing: name the result file of each shard; files "
                                "that were joined are not read",
                                i + 1, s->n);
    return IH_OK;
}

/* Only one shard is read, as if the others had ended. */
static void leave_others_out(struct shards *s, unsigned shard)
{
    for (unsigned i = 0; i < s->n; i++)
        s->shards[i].is_done = i + 1 != shard;
}

/* Reads the shard's next record and checks that it belongs to the shard and the run. */
static enum ih_status read_next(struct shards *s, struct shard *shard,
                                const struct ih_result **result, struct ih_error *err)
{
    const unsigned number = (unsigned)(shard - s->shards) + 1;
    enum ih_status status = IH_OK;
    *result = shard->first;
    if (!shard->first && (status = move_reader(s, shard, err)) == IH_OK)
        status = ih_records_next(shard->records ? shard->records : s->records, result, err);
    shard->first = NULL;
    const struct ih_result *r = *result;
    if (status != IH_OK)
        return status;
    if (!r || (r->is_total && !r->run))
        return ih_error_set(err, IH_CORRUPT,
                            "shard %u/%u has no last line: its run did not reach the end, or the "
                            "file is cut short",
                            number, s->n);
    if (r->n_shards != s->n || r->shard != number)
        return ih_error_set(err, IH_CORRUPT, "holds records of several shards: name each file");
    if (r->run && s->run && r->run != s->run)
        return ih_error_set(err, IH_USAGE,
                            "shard %u/%u is of another run: its inputs or options differ", number,
                            s->n);
    s->run = r->run ? r->run : s->run;
    shard->is_done = r->is_end || r->is_total;
    const uint64_t n_told = r->n_images + (r->is_total ? r->n_failed : 0);
    if (shard->is_done && (r->is_end || shard->n_read > 0) && n_told != shard->n_read)
        return ih_error_set(err, IH_CORRUPT,
                            "shard %u/%u has %" PRIu64 " records instead of %" PRIu64, number, s->n,
                            shard->n_read, n_told);
    shard->n_read++;
    return IH_OK;
}

/* Finds the place of the record after the one that was read. None may follow the last record. */
static enum ih_status find_next(struct shards *s, struct shard *shard, struct ih_error *err)
{
    struct ih_records *records = shard->records ? shard->records : s->records;
    bool is_end;
    const enum ih_status status =
        ih_records_peek(records, &shard->place, shard->position, &is_end, err);
    if (status == IH_OK && shard->is_done && !is_end)
        return ih_error_set(err, IH_CORRUPT,
                            "has records after the last of its shard: if it holds several files, "
                            "name each of them");
    return status;
}

static bool is_before(const uint64_t a[IH_PLACES], const uint64_t b[IH_PLACES])
{
    unsigned i = 0;
    while (i < IH_PLACES - 1 && a[i] == b[i])
        i++;
    return a[i] < b[i];
}

/* Whether the total that ends a shard adds nothing: the shard's records have been handed out, or it
 * had no inputs and other shards have records. --shard with --total writes such totals. */
static bool sums_records(const struct shards *s, const struct ih_result *r)
{
    return r->is_total &&
           (s->current->n_read > 1 || (s->has_position && r->n_images + r->n_failed == 0));
}

/* Reads the next record of the whole run; all its shards have been added. *result: borrowed until
 * the next call; NULL at the end. *path: of the file that the result or the error is about;
 * borrowed until close. */
static enum ih_status shards_next(struct shards *s, const struct ih_result **result,
                                  const char **path, struct ih_error *err)
{
    const struct ih_result *r = NULL;
    *result = NULL;
    do {
        enum ih_status status = IH_OK;
        if (s->current) {
            *path = s->current->path;
            status = find_next(s, s->current, err);
        }
        if (status != IH_OK)
            return status;
        s->current = NULL;
        for (struct shard *shard = s->shards; shard < s->shards + s->n; shard++)
            if (!shard->is_done &&
                (!s->current || is_before(shard->position, s->current->position)))
                s->current = shard;
        if (!s->current)
            return IH_OK;
        *path = s->current->path;
        status = read_next(s, s->current, &r, err);
        if (status != IH_OK)
            return status;
    } while (r->is_end || sums_records(s, r));
    const uint64_t position[IH_PLACES] = {r->input, r->member, r->frame};
    if (!r->is_total && s->has_position && !is_before(s->position, position))
        return ih_error_set(err, IH_CORRUPT, "records twice, or not in the order of the run");
    if (!r->is_total) {
        memcpy(s->position, position, sizeof position);
        s->has_position = true;
    }
    *result = r;
    return IH_OK;
}

static void shards_close(struct shards *s)
{
    if (!s)
        return;
    for (struct shard *shard = s->shards; shard < s->shards + s->n; shard++) {
        if (!shard->path)
            continue;
        close_stream(shard->src, shard->records);
        if (shard->fd >= 0)
            close(shard->fd);
        free(shard->path);
    }
    ih_records_close(s->records);
    ih_reader_reset(&s->src);
    free(s->shards);
    free(s);
}

/* ---- the records of result files, one file after the other ---- */

/* A smaller file is read in the time that a thread takes to start. */
enum { AHEAD_BYTES = 1 << 18 };

/* A file of a shard (--shard) gives no items of its own. When all files of its run have come, their
 * records follow. */
struct result_files {
    const struct ih_file_identity *outputs; /* borrowed */
    size_t n_outputs;
    bool reads_ahead;
    struct ih_item item;
    struct ih_result failure; /* of a file that cannot be read */

    /* The file that is read: */
    const char *path, *file; /* borrowed; file NULL: none */
    bool is_resumed;
    bool is_first;               /* no record has been read */
    struct ih_reader *src;       /* owned; NULL: not open */
    struct ih_records *records;  /* owned; reads src */
    struct ih_read_ahead *ahead; /* owned; reads records; NULL: they are read one by one */

    struct shards *shards;              /* owned; until all of a run have come; NULL: none */
    bool is_merging, has_merged_images; /* all shards have come; and gave images */
    unsigned shard, n_shards;           /* the only shard to be read; 0: all of a run */
    struct ih_result kept;              /* a record of that shard, with its place */
    uint64_t merged_run;                /* hash of the shards that were merged last; 0: none */
};

/* Goes on to the next file, after the end of the last. path, file ("-": standard input) and source
 * are those of items; path and file are borrowed until the end of the file. is_resumed: its records
 * may be of a shard, and are not merged. */
static void begin_file(struct result_files *f, const char *path, const char *file, uint64_t source,
                       bool is_resumed)
{
    f->path = path;
    f->file = file;
    f->is_resumed = is_resumed;
    f->is_first = true;
    f->item.source = source;
}

static void close_file(struct result_files *f)
{
    ih_read_ahead_close(f->ahead);
    f->ahead = NULL;
    close_stream(f->src, f->records);
    f->src = NULL;
    f->records = NULL;
    f->file = NULL;
}

static enum ih_status open_file(struct result_files *f, struct ih_error *err)
{
    struct ih_file_identity id;
    f->src = calloc(1, sizeof *f->src);
    if (!f->src)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = strcmp(f->file, "-") == 0 ? ih_reader_open_fd(f->src, STDIN_FILENO, err)
                                                      : ih_reader_open_path(f->src, f->file, err);
    if (status == IH_OK && !f->is_resumed && ih_reader_identity(f->src, &id))
        status = ih_check_not_output(&id, f->outputs, f->n_outputs, err);
    return status == IH_OK ? ih_records_open(f->src, &f->records, err) : status;
}

static void give(struct result_files *f, const struct ih_result *result)
{
    if (f->n_shards) {
        f->kept = *result;
        f->kept.keeps_place = true;
        result = &f->kept;
    }
    f->item.path = result->path;
    f->item.result = result;
    f->item.error = result->error;
    f->item.kind = result->status != IH_OK ? IH_ITEM_FAILURE
                   : result->is_total      ? IH_ITEM_TOTAL
                                           : IH_ITEM_IMAGE;
}

/* The file cannot be read: an input that failed. */
static void give_failure(struct result_files *f, const struct ih_error *err)
{
    f->failure = (struct ih_result){.path = f->path, .status = err->status, .error = *err};
    give(f, &f->failure);
    f->item.result_file = NULL;
    close_file(f);
}

/* The file is one of a shard's: it is read when all of the run have come. */
static enum ih_status add_shard(struct result_files *f, const struct ih_result *first,
                                struct ih_error *err)
{
    struct ih_error missing;
    uint64_t size_bytes;
    struct ih_reader *src = f->src;
    struct ih_records *records = f->records;
    if (f->n_shards && (first->shard != f->shard || first->n_shards != f->n_shards))
        return ih_error_set(err, IH_USAGE, "holds shard %u/%u instead of %u/%u", first->shard,
                            first->n_shards, f->shard, f->n_shards);
    if (!first->is_total && ih_records_is_document(records))
        return ih_error_set(err, IH_USAGE,
                            "shards are merged from NDJSON: run each with --ndjson instead of "
                            "--json");
    const bool is_stream = strcmp(f->file, "-") == 0 || !ih_reader_size(src, &size_bytes);
    f->src = NULL;
    f->records = NULL;
    f->file = NULL;
    const enum ih_status status =
        shards_add(&f->shards, f->path, src, records, is_stream, first, err);
    if (status == IH_OK && f->n_shards)
        leave_others_out(f->shards, f->shard);
    f->is_merging = status == IH_OK && (f->n_shards || shards_check(f->shards, &missing) == IH_OK);
    f->has_merged_images = false;
    return status;
}

/* Whether a file at its end has no bytes. */
static bool is_empty(const struct ih_records *records)
{
    uint64_t n_bytes;
    (void)ih_records_offset(records, &n_bytes);
    return n_bytes == 0;
}

/* Reads the next record of the open file. The bytes of a pipe may be long in coming, so no thread
 * waits for them. */
static enum ih_status read_record(struct result_files *f, const struct ih_result **result,
                                  struct ih_error *err)
{
    uint64_t size_bytes;
    if (f->reads_ahead && !f->is_first && !f->ahead && ih_reader_size(f->src, &size_bytes) &&
        size_bytes >= AHEAD_BYTES)
        f->ahead = ih_read_ahead_open(f->records);
    return f->ahead ? ih_read_ahead_next(f->ahead, result, err)
                    : ih_records_next(f->records, result, err);
}

/* Gives the next record of the file, or closes it. */
static enum ih_status next_record(struct result_files *f, struct ih_error *err)
{
    const struct ih_result *result = NULL;
    f->item.path = f->item.result_file = f->path;
    const enum ih_status opened = f->src ? IH_OK : open_file(f, err);
    enum ih_status status = opened == IH_OK ? read_record(f, &result, err) : opened;
    const bool is_first = f->is_first;
    f->is_first = false;
    if (status == IH_OK && !result && is_first && !f->is_resumed && is_empty(f->records))
        status = ih_error_set(err, IH_UNKNOWN, "the file is empty");
    if (opened == IH_IO || status == IH_UNKNOWN)
        give_failure(f, err);
    else if (status != IH_OK)
        return status;
    else if (!result)
        close_file(f);
    else if (!result->n_shards && f->n_shards)
        return ih_error_set(err, IH_USAGE, "holds no shard %u/%u of a run", f->shard, f->n_shards);
    else if (!result->n_shards || f->is_resumed)
        give(f, result);
    else if (!is_first)
        return ih_error_set(err, IH_CORRUPT, "a record of a shard among others");
    else
        return add_shard(f, result, err);
    return IH_OK;
}

/* Gives the next record of the shards that are merged, or ends the merge. */
static enum ih_status next_merged(struct result_files *f, struct ih_error *err)
{
    const struct ih_result *result = NULL;
    const enum ih_status status = shards_next(f->shards, &result, &f->item.path, err);
    f->item.result_file = f->item.path;
    if (status != IH_OK)
        return status;
    if (result) {
        f->has_merged_images |= !result->is_total || result->n_images + result->n_failed > 0;
        give(f, result);
        return IH_OK;
    }
    const uint64_t run = f->shards->run;
    if (f->has_merged_images && run == f->merged_run)
        return ih_error_set(err, IH_USAGE, "the shards of a run again");
    if (f->has_merged_images || f->merged_run == 0) /* runs without images may be alike */
        f->merged_run = run;
    shards_close(f->shards);
    f->shards = NULL;
    f->is_merging = false;
    return IH_OK;
}

/* Gives the next item. Returns IH_OK; IH_END: another file may follow; or what ends the run. */
static enum ih_status next_of_files(struct result_files *f, const struct ih_item **item,
                                    struct ih_error *err)
{
    enum ih_status status = IH_OK;
    *item = &f->item;
    f->item.kind = IH_ITEM_NONE;
    f->item.result = NULL;
    while (status == IH_OK && f->item.kind == IH_ITEM_NONE) {
        if (f->file)
            status = next_record(f, err);
        else if (f->is_merging)
            status = next_merged(f, err);
        else
            return ih_error_set(err, IH_END, "the end of the file");
    }
    return status;
}

/* No more files follow: the file of a shard may be missing. */
static enum ih_status check_files(const struct result_files *f, struct ih_error *err)
{
    if (f->shards && f->merged_run)
        return ih_error_set(err, IH_USAGE,
                            "a shard follows when all shards of a run have been read: name each "
                            "once, and all shards of another run");
    return f->shards ? shards_check(f->shards, err) : IH_OK;
}

/* ---- the chain ---- */

struct ih_chain {
    struct ih_chain_options options;
    struct ih_item_source images; /* owned */
    struct result_files files;
    bool reads_files;                 /* the next item is one of files, if they have more */
    struct ih_joint_measure measure;  /* of all results so far */
    struct ih_joint_measure of_empty; /* of totals of no images, which fit any results */
    struct ih_item item;
    struct ih_error end; /* IH_OK: not at the end */
};

enum ih_status ih_chain_open(const struct ih_item_source *images,
                             const struct ih_chain_options *options, struct ih_chain **chain,
                             struct ih_error *err)
{
    struct ih_chain *c = calloc(1, sizeof *c);
    if (!c) {
        images->close(images->source);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    c->options = *options;
    c->images = *images;
    c->files.outputs = options->outputs;
    c->files.n_outputs = options->n_outputs;
    c->files.reads_ahead = options->reads_ahead;
    c->files.shard = options->shard;
    c->files.n_shards = options->n_shards;
    c->measure.asked = c->of_empty.asked = options->measure;
    c->reads_files = options->resumed_path != NULL;
    if (c->reads_files)
        begin_file(&c->files, options->resumed_path, options->resumed_path, 0, true);
    *chain = c;
    return IH_OK;
}

/* Gives the next item of either source. An item without a kind is none. */
static enum ih_status next_item(struct ih_chain *c, const struct ih_item **item,
                                struct ih_error *err)
{
    static const struct ih_item none = {.kind = IH_ITEM_NONE};
    if (c->reads_files) {
        const enum ih_status status = next_of_files(&c->files, item, err);
        if (status != IH_END)
            return status;
        c->reads_files = false;
        if (c->options.is_fed) { /* perhaps without a record: the file of a shard */
            *item = &none;
            return IH_OK;
        }
    }
    const enum ih_status status = c->images.next(c->images.source, item, err);
    if (status == IH_END && check_files(&c->files, err) != IH_OK)
        return err->status;
    if (status != IH_OK || (*item)->kind != IH_ITEM_NONE)
        return status;
    if (c->options.refusal) /* the scan is at a result file */
        return ih_error_set(err, IH_USAGE, "a result file is no %s", c->options.refusal);
    begin_file(&c->files, (*item)->path, (*item)->result_file, (*item)->source, false);
    c->reads_files = true;
    return IH_OK;
}

/* Ends the run. item: that the error is about. */
static void end(struct ih_chain *c, const struct ih_item *item, const struct ih_error *reason)
{
    const bool is_record = item->kind != IH_ITEM_NONE && item->result_file;
    c->end = *reason;
    c->item = (struct ih_item){.kind = IH_ITEM_FAILURE,
                               .path = is_record ? item->result_file : item->path,
                               .result_file = item->result_file,
                               .source = item->source,
                               .error = *reason};
}

enum ih_status ih_chain_next(struct ih_chain *c, const struct ih_item **item, struct ih_error *err)
{
    if (c->end.status == IH_OK) {
        const struct ih_item *next = NULL;
        struct ih_error reason = {0};
        enum ih_status status;
        do
            status = next_item(c, &next, &reason);
        while (status == IH_OK && next->kind == IH_ITEM_NONE &&
               (c->reads_files || !c->options.is_fed));
        const struct ih_result *result = status == IH_OK ? next->result : NULL;
        if (result) {
            const bool is_empty = result->is_total && result->n_images == 0;
            status = ih_joint_measure_add(is_empty ? &c->of_empty : &c->measure, result, &reason);
        }
        if (status == IH_OK)
            c->item = *next;
        else
            end(c, next, &reason);
        if (c->options.names_settings && c->item.error.status != IH_OK)
            ih_error_name_setting(&c->item.error);
    }
    *item = c->end.status == IH_END ? NULL : &c->item;
    if (err)
        *err = c->end;
    return c->end.status;
}

bool ih_chain_is_ready(struct ih_chain *c, unsigned wait_ms)
{
    return c->reads_files || c->end.status != IH_OK ||
           c->images.is_ready(c->images.source, wait_ms);
}

const struct ih_joint_measure *ih_chain_measure(const struct ih_chain *c)
{
    return c->measure.has_results ? &c->measure : &c->of_empty;
}

uint64_t ih_chain_merged_run(const struct ih_chain *c)
{
    return c->files.merged_run;
}

void ih_chain_close(struct ih_chain *c)
{
    if (!c)
        return;
    c->images.close(c->images.source);
    close_file(&c->files);
    shards_close(c->files.shards);
    free(c);
}
