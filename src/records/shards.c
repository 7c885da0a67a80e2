#include "records/shards.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

struct ih_shards {
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

/* ---- reading many files ---- */

/* Reads bytes of the current file for the shared reader. */
static ptrdiff_t read_part(void *shards, void *bytes, size_t size_bytes)
{
    struct ih_shards *s = shards;
    ssize_t n;
    do
        n = pread(s->reading->fd, bytes, size_bytes < IH_PART_BYTES ? size_bytes : IH_PART_BYTES,
                  (off_t)s->next_byte);
    while (n < 0 && errno == EINTR);
    s->next_byte += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* Moves the shared reader to the shard's next record. Does nothing for a stream. */
static enum ih_status move_reader(struct ih_shards *s, struct shard *shard, struct ih_error *err)
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

/* ---- adding ---- */

static struct ih_shards *new_shards(unsigned n)
{
    struct ih_shards *s = calloc(1, sizeof *s);
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

enum ih_status ih_shards_add(struct ih_shards **shards, const char *path, struct ih_reader *src,
                             struct ih_records *records, bool is_stream,
                             const struct ih_result *first, struct ih_error *err)
{
    struct ih_shards *s = *shards = *shards ? *shards : new_shards(first->n_shards);
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

enum ih_status ih_shards_check(const struct ih_shards *s, struct ih_error *err)
{
    for (unsigned i = 0; i < s->n; i++)
        if (!s->shards[i].path)
            return ih_error_set(err, IH_USAGE,
                                "shard %u/%u is missing: name the result file of each shard; files "
                                "that were joined are not read",
                                i + 1, s->n);
    return IH_OK;
}

/* ---- merging ---- */

/* Reads the shard's next record and checks that it belongs to the shard and the run. */
static enum ih_status read_next(struct ih_shards *s, struct shard *shard,
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
static enum ih_status find_next(struct ih_shards *s, struct shard *shard, struct ih_error *err)
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
static bool sums_records(const struct ih_shards *s, const struct ih_result *r)
{
    return r->is_total &&
           (s->current->n_read > 1 || (s->has_position && r->n_images + r->n_failed == 0));
}

enum ih_status ih_shards_next(struct ih_shards *s, const struct ih_result **result,
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

uint64_t ih_shards_run(const struct ih_shards *s)
{
    return s->run;
}

void ih_shards_close(struct ih_shards *s)
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
