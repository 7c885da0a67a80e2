#define _POSIX_C_SOURCE 200809L

#include "output/shards.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct shard {
    char *path;                   /* owned; NULL: not added */
    struct ih_source *src;        /* owned */
    struct ih_records *records;   /* owned */
    const struct ih_result *next; /* to be given; NULL: none */
    uint64_t n_given;
    bool has_ended; /* its end or its total has been read */
};

struct ih_shards {
    struct shard *shards; /* owned, n */
    unsigned n;
    struct shard *given;    /* the last record's; NULL: none yet */
    uint64_t input, member; /* its place */
    uint64_t run;           /* of the shards that have ended; 0: none yet */
};

enum ih_status ih_shards_add(struct ih_shards **shards, const char *path, struct ih_source *src,
                             struct ih_records *records, const struct ih_result *first,
                             struct ih_error *err)
{
    struct ih_shards *s = *shards;
    enum ih_status status = IH_OK;
    if (!s && (s = *shards = calloc(1, sizeof *s))) {
        s->n = first->n_shards;
        s->shards = calloc(s->n, sizeof *s->shards);
    }
    struct shard *shard =
        s && s->shards && first->n_shards == s->n ? s->shards + first->shard - 1 : NULL;
    char *copy = strdup(path);
    if (!s || !s->shards || !copy)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    else if (!shard)
        status = ih_error_set(err, IH_USAGE, "shard %u/%u, but the others are of %u shards",
                              first->shard, first->n_shards, s->n);
    else if (shard->path)
        status = ih_error_set(err, IH_USAGE, "shard %u/%u again, which is also in %.100s",
                              first->shard, first->n_shards, shard->path);
    if (status == IH_OK) {
        *shard = (struct shard){.path = copy, .src = src, .records = records, .next = first};
        return IH_OK;
    }
    free(copy);
    ih_records_close(records);
    ih_source_reset(src);
    free(src);
    return status;
}

enum ih_status ih_shards_check(const struct ih_shards *s, struct ih_error *err)
{
    for (unsigned i = 0; i < s->n; i++)
        if (!s->shards[i].path)
            return ih_error_set(err, IH_USAGE,
                                "shard %u/%u is missing: name the result files of all shards",
                                i + 1, s->n);
    return IH_OK;
}

/* Checks the record that has been read from a shard, and takes its end off. */
static enum ih_status settle(struct ih_shards *s, struct shard *shard, struct ih_error *err)
{
    const struct ih_result *r = shard->next;
    const unsigned number = (unsigned)(shard - s->shards) + 1;
    if (shard->has_ended)
        return !r ? IH_OK : ih_error_set(err, IH_CORRUPT, "a record after the last of its shard");
    if (!r || (r->is_total && !r->run))
        return ih_error_set(err, IH_CORRUPT,
                            "shard %u/%u has no last line: its run did not reach the end, or the "
                            "file is cut short",
                            number, s->n);
    if (r->n_shards != s->n || r->shard != number)
        return ih_error_set(err, IH_CORRUPT, "a record of another shard than %u/%u", number, s->n);
    if (r->run && s->run && r->run != s->run)
        return ih_error_set(err, IH_USAGE,
                            "shard %u/%u is of another run: its inputs or options differ", number,
                            s->n);
    s->run = r->run ? r->run : s->run;
    shard->has_ended = r->is_end || r->is_total;
    if (!r->is_end)
        return IH_OK;
    if (r->n_images != shard->n_given)
        return ih_error_set(err, IH_CORRUPT,
                            "shard %u/%u has %" PRIu64 " records instead of %" PRIu64, number, s->n,
                            shard->n_given, r->n_images);
    const enum ih_status status = ih_records_next(shard->records, &shard->next, err);
    return status == IH_OK ? settle(s, shard, err) : status;
}

/* Reads the record after the one that was given; at the start, checks the first of each shard. */
static enum ih_status advance(struct ih_shards *s, const char **path, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    if (s->given) {
        *path = s->given->path;
        s->given->n_given++;
        status = ih_records_next(s->given->records, &s->given->next, err);
        return status == IH_OK ? settle(s, s->given, err) : status;
    }
    for (unsigned i = 0; i < s->n && status == IH_OK; i++) {
        *path = s->shards[i].path;
        status = settle(s, &s->shards[i], err);
    }
    return status;
}

static bool is_before(const struct ih_result *a, const struct ih_result *b)
{
    return a->input < b->input || (a->input == b->input && a->member < b->member);
}

enum ih_status ih_shards_next(struct ih_shards *s, const struct ih_result **result,
                              const char **path, struct ih_error *err)
{
    const struct shard *before = s->given;
    *result = NULL;
    const enum ih_status status = advance(s, path, err);
    if (status != IH_OK)
        return status;
    s->given = NULL;
    for (unsigned i = 0; i < s->n; i++) {
        struct shard *shard = s->shards + i;
        if (shard->next && (!s->given || is_before(shard->next, s->given->next)))
            s->given = shard;
    }
    if (!s->given)
        return IH_OK;
    const struct ih_result *r = s->given->next;
    *path = s->given->path;
    if (before && !r->is_total &&
        (r->input < s->input || (r->input == s->input && r->member <= s->member)))
        return ih_error_set(err, IH_CORRUPT, "records twice, or not in the order of the run");
    s->input = r->input;
    s->member = r->member;
    *result = r;
    return IH_OK;
}

uint64_t ih_shards_run(const struct ih_shards *s)
{
    return s->run;
}

void ih_shards_close(struct ih_shards *s)
{
    for (unsigned i = 0; s && s->shards && i < s->n; i++) {
        struct shard *shard = s->shards + i;
        if (!shard->path)
            continue;
        ih_records_close(shard->records);
        ih_source_reset(shard->src);
        free(shard->src);
        free(shard->path);
    }
    if (s)
        free(s->shards);
    free(s);
}
