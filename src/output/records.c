#include "output/records.h"

#include "output/json_in.h"
#include "output/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 17 };

struct ih_records {
    struct ih_source *src;       /* borrowed */
    char *buffer;                /* owned */
    size_t capacity, start, n;   /* the unread bytes are [start, n) */
    size_t part_bytes;           /* read at once */
    bool is_at_end;              /* of the source */
    uint64_t line;               /* the one that was read last */
    bool is_cut;                 /* it has no line feed */
    uint64_t n_read;             /* bytes of the source */
    bool is_document, has_ended; /* JSON; its end was read */
    bool has_images, has_total;
    struct ih_record_reader reader;
};

/* ---- lines ---- */

/* Some programs write it at the start of text. */
static const char byte_order_mark[] = "\xEF\xBB\xBF";

bool ih_records_probe(const uint8_t *head, size_t size)
{
    static const char *const parts[] = {"{", "\"schema\"", ":", "\"imghist/"};
    size_t at = size >= 3 && memcmp(head, byte_order_mark, 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t n = strlen(parts[i]);
        while (at < size && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r'))
            at++;
        if (size - at < n || memcmp(head + at, parts[i], n) != 0)
            return false;
        at += n;
    }
    return true;
}

enum ih_status ih_records_open(struct ih_source *src, struct ih_records **records,
                               struct ih_error *err)
{
    struct ih_records *r = calloc(1, sizeof *r);
    if (r)
        r->buffer = malloc(BUFFER_BYTES + 1);
    if (!r || !r->buffer) {
        free(r);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    r->src = src;
    r->capacity = r->part_bytes = BUFFER_BYTES;
    ih_record_reader_init(&r->reader);
    *records = r;
    return IH_OK;
}

void ih_records_close(struct ih_records *r)
{
    if (!r)
        return;
    free(r->buffer);
    free(r);
}

bool ih_records_is_document(const struct ih_records *r)
{
    return r->is_document;
}

bool ih_records_offset(const struct ih_records *r, uint64_t *offset)
{
    *offset = r->n_read - (r->n - r->start);
    return !r->is_cut;
}

void ih_records_move(struct ih_records *r, struct ih_source *src, struct ih_records_place place)
{
    r->src = src;
    r->part_bytes = IH_PART_BYTES;
    r->start = r->n = 0;
    r->is_at_end = r->is_cut = r->is_document = r->has_ended = r->has_total = false;
    r->n_read = place.offset_bytes;
    r->line = place.line;
    r->has_images = place.line > 0; /* a total would be the only record */
}

/* Reads on. Moves the unread bytes to the front of the buffer, which grows if they fill it. */
static enum ih_status fill(struct ih_records *r, struct ih_error *err)
{
    size_t got;
    if (r->start == 0 && r->n == r->capacity) {
        const size_t capacity = 2 * r->capacity;
        if (r->capacity >= IH_RECORD_BYTES_MAX)
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": longer than any record",
                                r->line + 1);
        char *buffer = realloc(r->buffer, capacity + 1);
        if (!buffer)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        r->buffer = buffer;
        r->capacity = capacity;
    }
    memmove(r->buffer, r->buffer + r->start, r->n - r->start);
    r->n -= r->start;
    r->start = 0;
    const size_t room = r->capacity - r->n;
    const enum ih_status status = ih_source_read(
        r->src, r->buffer + r->n, room < r->part_bytes ? room : r->part_bytes, &got, err);
    r->is_at_end = got == 0;
    r->n += got;
    r->n_read += got;
    return status;
}

/* *line: the next line, with a NUL instead of its end; NULL at the end of the file. */
static enum ih_status next_line(struct ih_records *r, char **line, struct ih_error *err)
{
    size_t n_searched = 0;
    for (;;) {
        char *start = r->buffer + r->start;
        const size_t n = r->n - r->start;
        char *end = memchr(start + n_searched, '\n', n - n_searched);
        if (!end && !r->is_at_end) {
            n_searched = n;
            const enum ih_status status = fill(r, err);
            if (status != IH_OK)
                return status;
            continue;
        }
        *line = n > 0 ? start : NULL;
        r->line += n > 0;
        r->is_cut = !end;
        if (!end)
            end = start + n;
        r->start += (size_t)(end - start) + (end < start + n ? 1 : 0);
        *end = '\0'; /* the buffer has a byte more */
        if (memchr(start, '\0', (size_t)(end - start)))
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": a NUL byte", r->line);
        return IH_OK;
    }
}

/* The start of a document, {"schema":"imghist/2","images":[, in its first line. */
static bool skip_document_start(struct ih_records *r, struct ih_json_in *in)
{
    char *name, *schema;
    const char *p = strchr(in->p, ',');
    while (p && *++p == ' ')
        continue;
    if (!p || strncmp(p, "\"images\"", 8) != 0)
        return true;
    r->is_document = true;
    return ih_json_token(in, '{') && ih_json_text(in, &name) && ih_json_token(in, ':') &&
           ih_json_text(in, &schema) && ih_json_token(in, ',') && ih_json_text(in, &name) &&
           ih_json_token(in, ':') && ih_json_token(in, '[');
}

/* What follows the last record of a document: ]} or ],"total":RECORD}. *has_total: in is at the
 * total's record. */
static bool read_document_end(struct ih_records *r, struct ih_json_in *in, bool *has_total)
{
    char *name;
    *has_total = false;
    if (!ih_json_token(in, ']'))
        return false;
    r->has_ended = true;
    if (ih_json_next_is(in, '}'))
        return ih_json_token(in, '}');
    if (!ih_json_token(in, ',') || !ih_json_text(in, &name) || !ih_json_token(in, ':'))
        return false;
    *has_total = name && strcmp(name, "total") == 0;
    return *has_total || ih_json_fail(in, "not a document of imghist");
}

/* jq and other programs lay JSON out in their own way. A second reader, for any layout, would need
 * whole documents in memory. */
static const char other_layout[] = "not the layout that imghist writes, a record in each line; jq "
                                   "-c '.images[]? // .' makes it so";

/* Reads what one line holds. *has_record: the result is filled. */
static bool read_line(struct ih_records *r, struct ih_json_in *in, bool *has_record)
{
    bool is_last = false;
    *has_record = false;
    if (r->line == 1 && strncmp(in->p, byte_order_mark, 3) == 0)
        in->p += 3;
    if (r->line == 1 && !skip_document_start(r, in))
        return false;
    if (ih_json_next_is(in, '\0'))
        return !in->why;
    if (r->has_ended)
        return ih_json_fail(in, "text after the end of the document");
    if (r->is_document && ih_json_next_is(in, ']')) {
        if (!read_document_end(r, in, &is_last))
            return false;
        if (!is_last)
            return ih_json_next_is(in, '\0') || ih_json_fail(in, "text after the end");
    }
    if (!ih_record_read(&r->reader, in))
        return false;
    *has_record = true;
    if (is_last && !ih_json_token(in, '}'))
        return false;
    if (r->is_document && !is_last && ih_json_next_is(in, ','))
        ih_json_token(in, ',');
    return ih_json_next_is(in, '\0') ||
           ih_json_fail(in, r->is_document && !is_last ? other_layout : "text after the record");
}

enum ih_status ih_records_next(struct ih_records *r, const struct ih_result **result,
                               struct ih_error *err)
{
    bool has_record = false;
    *result = NULL;
    while (!has_record) {
        struct ih_json_in in = {.p = NULL};
        const enum ih_status status = next_line(r, &in.p, err);
        if (status != IH_OK)
            return status;
        if (!in.p)
            break;
        if (!read_line(r, &in, &has_record)) {
            if (r->line == 1 && !r->is_cut && in.is_cut)
                in.why = other_layout;
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": %s", r->line,
                                in.why ? in.why : "not JSON");
        }
    }
    if (!has_record)
        return !r->is_document || r->has_ended
                   ? IH_OK
                   : ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": cut short", r->line);
    *result = &r->reader.result;
    if (r->reader.result.is_end)
        return IH_OK;
    r->has_images = r->has_images || !r->reader.result.is_total;
    r->has_total = r->has_total || r->reader.result.is_total;
    if (r->has_images && r->has_total && !r->reader.result.n_shards)
        return ih_error_set(err, IH_CORRUPT,
                            "line %" PRIu64 ": a total beside the records that it sums; leave out "
                            "one or the other",
                            r->line);
    return IH_OK;
}

enum ih_status ih_records_peek(struct ih_records *r, struct ih_records_place *place,
                               uint64_t position[IH_PLACES], bool *is_end, struct ih_error *err)
{
    char *line;
    do {
        ih_records_offset(r, &place->offset_bytes);
        place->line = r->line;
        const enum ih_status status = next_line(r, &line, err);
        if (status != IH_OK)
            return status;
    } while (line && strspn(line, " \t\r") == strlen(line));
    *is_end = !line;
    position[0] = position[1] = position[2] = UINT64_MAX;
    if (!line)
        return IH_OK;
    static const char key[] = "\"position\""; /* in a text, its quotes have backslashes */
    for (char *p = line; (p = strstr(p, key));) {
        p += sizeof key - 1;
        struct ih_json_in in = {.p = p};
        uint64_t found[IH_PLACES];
        if (!ih_json_token(&in, ':') || !ih_record_read_position(&in, found))
            continue;
        memcpy(position, found, sizeof found);
        break;
    }
    r->line = place->line;
    if (!r->is_cut)
        r->buffer[r->start - 1] = '\n';
    r->start = (size_t)(line - r->buffer);
    r->is_cut = false;
    return IH_OK;
}
