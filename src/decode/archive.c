/* The trusted side of archives: recognises them, checks the reader's packets, and copies one member
 * at a time into memory. */
#include "decode/archive.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef IH_WITH_archive
extern const struct ih_decoder ih_decoder_archive;
#endif

const struct ih_decoder *const ih_archive_decoders[] = {
#ifdef IH_WITH_archive
    &ih_decoder_archive,
#endif
    NULL,
};

/* ---- recognising archives ---- */

/* Checks the checksum of a tar header: the sum of its bytes, with blanks in place of the checksum.
 * Every variant of tar has it, but not every variant has a signature. Some old programs added
 * signed bytes. */
static bool is_tar(const uint8_t *head)
{
    enum { AT = 148, DIGITS = 8 };
    long sum = 0, signed_sum = 0, stored = 0;
    size_t i = AT;
    while (i < AT + DIGITS && head[i] == ' ')
        i++;
    const size_t first = i;
    for (; i < AT + DIGITS && head[i] >= '0' && head[i] <= '7'; i++)
        stored = stored * 8 + (head[i] - '0');
    if (i == first || (i < AT + DIGITS && head[i] != '\0' && head[i] != ' '))
        return false;
    for (i = 0; i < IH_ARCHIVE_PROBE_BYTES; i++) {
        const uint8_t byte = i >= AT && i < AT + DIGITS ? ' ' : head[i];
        sum += byte;
        signed_sum += (int8_t)byte;
    }
    return sum == stored || signed_sum == stored;
}

/* Whether head begins like a tar header: with a name that is padded with zeros. least: the smallest
 * byte of a name. */
static bool begins_with_name(const uint8_t *head, size_t size, uint8_t least)
{
    enum { NAME_BYTES = 100 };
    size_t n = 0;
    size = size < NAME_BYTES ? size : NAME_BYTES;
    while (n < size && head[n] >= least)
        n++;
    const bool has_name = n > 0;
    while (n < size && head[n] == '\0')
        n++;
    return has_name && n == size;
}

static bool begins(const uint8_t *head, size_t size, const char *bytes, size_t n)
{
    return size >= n && memcmp(head, bytes, n) == 0;
}

enum ih_archive_kind ih_archive_probe(const uint8_t *head, size_t size)
{
    if (begins(head, size, "PK\3\4", 4) || begins(head, size, "PK\5\6", 4) ||
        begins(head, size, "PK00PK\3\4", 8))
        return IH_ARCHIVE_ZIP;
    if (begins(head, size, "\x1F\x8B\x08", 3) || begins(head, size, "\x28\xB5\x2F\xFD", 4) ||
        begins(head, size,
               "\xFD"
               "7zXZ\0",
               6))
        return IH_ARCHIVE_COMPRESSED;
    size_t n_zeros = 0;
    while (n_zeros < size && head[n_zeros] == 0)
        n_zeros++;
    if (n_zeros == size)
        return size < IH_ARCHIVE_PROBE_BYTES ? IH_ARCHIVE_UNSURE : IH_ARCHIVE_EMPTY;
    /* An image in a text format must not wait: its sender may wait for the record. */
    const bool is_image = size < IH_ARCHIVE_PROBE_BYTES && ih_decode_has_signature(head, size);
    if (size < IH_ARCHIVE_PROBE_BYTES)
        return begins_with_name(head, size, is_image ? ' ' : 1) ? IH_ARCHIVE_UNSURE
                                                                : IH_ARCHIVE_NONE;
    return is_tar(head) ? IH_ARCHIVE_TAR : IH_ARCHIVE_NONE;
}

uint64_t ih_archive_find_zip(const char *path)
{
    enum { SEARCHED_BYTES = 1 << 20 }; /* programs that extract themselves take less */
    static const uint8_t header[] = {'P', 'K', 3, 4};
    struct ih_reader src = {.is_open = false};
    struct ih_error ignored;
    uint64_t found = 0;
    size_t n = 0;
    uint8_t *bytes = malloc(SEARCHED_BYTES);
    if (bytes && ih_reader_open_path(&src, path, &ignored) == IH_OK &&
        ih_reader_read(&src, bytes, SEARCHED_BYTES, &n, &ignored) == IH_OK)
        for (size_t at = 1; at + sizeof header <= n && found == 0; at++)
            found = memcmp(bytes + at, header, sizeof header) == 0 ? at : 0;
    ih_reader_reset(&src);
    free(bytes);
    return found;
}

bool ih_archive_is_name(const char *path)
{
    static const char *const endings[] = {".tar",  ".zip",    ".tar.gz", ".tgz", ".tar.zst",
                                          ".tzst", ".tar.xz", ".txz",    ".npz"};
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t n_ending = strlen(endings[i]);
        if (n > n_ending && strcasecmp(path + n - n_ending, endings[i]) == 0)
            return true;
    }
    return false;
}

const char *ih_member_name(const char *name)
{
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (name[0] == '.' && name[1] == '/')
            name += 2;
        else
            break;
    }
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return NULL;
    }
    return name;
}

/* ---- a member's memory ---- */

enum {
    KEPT_BYTES = 1 << 20,   /* larger buffers are freed after each member */
    FIRST_BYTES = 64 * 1024 /* the first buffer of a member of unknown size */
};

void ih_member_release(struct ih_member *m, struct ih_budget *budget)
{
    free(m->name);
    if (m->capacity_bytes > KEPT_BYTES) {
        free(m->bytes);
        m->bytes = NULL;
        m->capacity_bytes = 0;
    }
    ih_budget_give(budget, m->taken_bytes);
    *m = (struct ih_member){.bytes = m->bytes, .capacity_bytes = m->capacity_bytes};
}

void ih_member_reset(struct ih_member *m, struct ih_budget *budget)
{
    ih_member_release(m, budget);
    free(m->bytes);
    *m = (struct ih_member){.bytes = NULL};
}

static enum ih_status member_reserve(struct ih_member *m, uint64_t n_bytes, struct ih_error *err)
{
    if (n_bytes <= m->capacity_bytes)
        return IH_OK;
    uint8_t *grown = n_bytes < PTRDIFF_MAX ? realloc(m->bytes, (size_t)n_bytes) : NULL;
    if (!grown)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    m->bytes = grown;
    m->capacity_bytes = (size_t)n_bytes;
    return IH_OK;
}

/* ---- the stream of packets ---- */

struct ih_archive {
    const struct ih_remote_decoders *remotes; /* borrowed; NULL: read in this process */
    struct ih_remote_decoder *remote;         /* owned */
    /* Without remotes: */
    struct ih_reader src; /* owned */
    void *state;          /* owned; of ih_archive_decoders[0] */
    uint8_t *row;         /* owned, [info.width]; the bytes that the reader wrote last */
    size_t n_row, next;   /* their number, and the next one to use */
    struct ih_image_info info;
    struct ih_budget *budget; /* borrowed; NULL: no limit */
};

enum ih_status ih_archive_open(const struct ih_remote_decoders *remotes, struct ih_reader *src,
                               const struct ih_decode_options *options, struct ih_archive **archive,
                               struct ih_error *err)
{
    const struct ih_decoder *decoder = ih_archive_decoders[0];
    if (!decoder)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "cannot read archives: not in this build (libarchive)");
    struct ih_archive *a = calloc(1, sizeof *a);
    if (!a)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = IH_OK;
    a->remotes = remotes;
    a->budget = options->budget;
    if (!remotes) {
        a->src = *src;
        a->src.time = (struct ih_time_limit){.interrupt = options->interrupt};
        *src = (struct ih_reader){.is_open = false};
    }
    if (remotes && !(a->remote = remotes->make(remotes->user)))
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    else if (remotes)
        status = a->remote->open(a->remote, 0, src, options, &a->info, err);
    else
        status = ih_decoder_open(decoder, &a->src, options, &a->info, &a->state, err);
    if (status == IH_OK && !remotes && !(a->row = malloc((size_t)a->info.width)))
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status != IH_OK) {
        ih_archive_close(a);
        return status;
    }
    *archive = a;
    return IH_OK;
}

void ih_archive_close(struct ih_archive *a)
{
    if (a)
        ih_decoder_close(ih_archive_decoders[0], a->state);
    if (a && a->remote) {
        a->remote->close(a->remote);
        a->remotes->destroy(a->remote);
    }
    if (a) {
        ih_reader_reset(&a->src);
        free(a->row);
    }
    free(a);
}

static enum ih_status fail_invalid_packet(struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "its reader ended unexpectedly (it sent nonsense)");
}

/* Reads up to size_bytes from the reader in this process. */
static enum ih_status read_own(struct ih_archive *a, uint8_t *bytes, size_t size_bytes,
                               size_t *n_bytes, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    if (a->next == a->n_row) {
        a->next = a->n_row = 0;
        status =
            ih_archive_decoders[0]->read(a->state, a->row, (size_t)a->info.width, &a->n_row, err);
    }
    const size_t n_left = status == IH_OK ? a->n_row - a->next : 0;
    *n_bytes = size_bytes < n_left ? size_bytes : n_left;
    memcpy(bytes, a->row + a->next, *n_bytes);
    a->next += *n_bytes;
    return status;
}

static enum ih_status archive_read_bytes(struct ih_archive *a, void *bytes, size_t size_bytes,
                                         struct ih_error *err)
{
    for (uint8_t *p = bytes; size_bytes > 0;) {
        size_t n = 0;
        const enum ih_status status = a->remote ? a->remote->read(a->remote, p, size_bytes, &n, err)
                                                : read_own(a, p, size_bytes, &n, err);
        if (status != IH_OK)
            return status;
        if (n == 0 || n > size_bytes)
            return fail_invalid_packet(err);
        p += n;
        size_bytes -= n;
    }
    return IH_OK;
}

/* Reads the header of a packet and checks its numbers. */
static enum ih_status read_packet(struct ih_archive *a, struct ih_packet *f, struct ih_error *err)
{
    const enum ih_status status = archive_read_bytes(a, f, sizeof *f, err);
    if (status != IH_OK)
        return status;
    const bool is_known = f->status == IH_OK || f->status == IH_UNKNOWN || f->status == IH_IO ||
                          f->status == IH_CORRUPT || f->status == IH_UNSUPPORTED ||
                          f->status == IH_LIMIT || f->status == IH_MEMORY;
    return is_known && f->kind <= IH_PACKET_END && f->n_message < sizeof err->message
               ? IH_OK
               : fail_invalid_packet(err);
}

/* Reads the error that a packet contains into *carried, if it is one. */
static enum ih_status read_error(struct ih_archive *a, const struct ih_packet *f,
                                 struct ih_error *carried, struct ih_error *err)
{
    char message[sizeof carried->message] = "";
    const enum ih_status status = archive_read_bytes(a, message, f->n_message, err);
    if (status == IH_OK && f->status != IH_OK)
        ih_error_set(carried, (enum ih_status)f->status, "%s", message);
    return status;
}

/* ---- members ---- */

static enum ih_status read_name(struct ih_archive *a, const struct ih_packet *f,
                                struct ih_member *m, struct ih_error *err)
{
    if (f->n_bytes == 0 || f->n_bytes > IH_MEMBER_NAME_MAX)
        return fail_invalid_packet(err);
    m->name = malloc((size_t)f->n_bytes + 1);
    if (!m->name)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (archive_read_bytes(a, m->name, f->n_bytes, err) != IH_OK)
        return err->status;
    m->name[f->n_bytes] = '\0';
    const bool leads_out = ih_member_name(m->name) != m->name;
    if (strlen(m->name) != f->n_bytes || (f->status == IH_OK && leads_out))
        return fail_invalid_packet(err);
    return read_error(a, f, &m->error, err);
}

/* Takes a member's memory from the budget. If the budget is too small, the member gets an error and
 * its content is skipped. */
static void member_take_memory(const struct ih_archive *a, uint64_t size_bytes, struct ih_member *m)
{
    const bool is_known = size_bytes != UINT64_MAX;
    uint64_t n_bytes = is_known ? size_bytes : IH_MEMBER_UNKNOWN_BYTES;
    if (!is_known && a->budget && a->budget->size_bytes < n_bytes)
        n_bytes = a->budget->size_bytes;
    if (ih_budget_take(a->budget, n_bytes, &m->error) != IH_OK)
        return;
    m->taken_bytes = n_bytes;
    member_reserve(m,
                   is_known                ? n_bytes
                   : n_bytes < FIRST_BYTES ? n_bytes
                                           : FIRST_BYTES,
                   &m->error);
}

/* Reads n bytes of content. Drops them if the member has an error. */
static enum ih_status member_read_data(struct ih_archive *a, size_t n, struct ih_member *m,
                                       struct ih_error *err)
{
    char limit[IH_BYTES_TEXT_MAX];
    uint8_t dropped[4096];
    if (m->error.status == IH_OK && n > m->taken_bytes - m->size_bytes)
        ih_error_set_limit(&m->error, IH_LIMIT_MAX_MEMORY, m->taken_bytes,
                           "its content has more than %s", ih_bytes_print(m->taken_bytes, limit));
    if (m->error.status == IH_OK && n > m->capacity_bytes - m->size_bytes) {
        const uint64_t doubled = 2 * (uint64_t)m->capacity_bytes, least = m->size_bytes + n;
        const uint64_t wanted = doubled > least ? doubled : least;
        member_reserve(m, wanted < m->taken_bytes ? wanted : m->taken_bytes, &m->error);
    }
    if (m->error.status == IH_OK) {
        uint8_t *to = m->bytes + m->size_bytes;
        m->size_bytes += n;
        return archive_read_bytes(a, to, n, err);
    }
    while (n > 0) {
        const size_t n_now = n < sizeof dropped ? n : sizeof dropped;
        if (archive_read_bytes(a, dropped, n_now, err) != IH_OK)
            return err->status;
        n -= n_now;
    }
    return IH_OK;
}

/* Reads a member's content and its last packet. */
static enum ih_status read_content(struct ih_archive *a, uint64_t size_bytes, struct ih_member *m,
                                   struct ih_error *err)
{
    struct ih_error carried = {0};
    member_take_memory(a, size_bytes, m);
    for (;;) {
        struct ih_packet f;
        if (read_packet(a, &f, err) != IH_OK)
            return err->status;
        if (f.kind == IH_PACKET_DONE && f.n_bytes == 0) {
            if (read_error(a, &f, &carried, err) != IH_OK)
                return err->status;
            break;
        }
        if (f.kind != IH_PACKET_DATA || f.n_bytes == 0 || f.n_message > 0)
            return fail_invalid_packet(err);
        if (member_read_data(a, f.n_bytes, m, err) != IH_OK)
            return err->status;
    }
    if (m->error.status == IH_OK)
        m->error = carried;
    if (m->taken_bytes > m->size_bytes) { /* its size was not known */
        ih_budget_give(a->budget, m->taken_bytes - m->size_bytes);
        m->taken_bytes = m->size_bytes;
    }
    return IH_OK;
}

static enum ih_status read_member(struct ih_archive *a, const struct ih_packet *f,
                                  struct ih_member *m, struct ih_error *err)
{
    enum ih_status status = read_name(a, f, m, err);
    if (status == IH_OK && m->error.status == IH_OK)
        status = read_content(a, f->size_bytes, m, err);
    /* The reader has skipped a member that is larger than the budget. The budget's refusal has the
     * message with the limit. */
    if (status == IH_OK && m->error.status == IH_LIMIT && a->budget &&
        f->size_bytes != UINT64_MAX && f->size_bytes > a->budget->size_bytes)
        ih_budget_take(a->budget, f->size_bytes, &m->error);
    return status;
}

enum ih_status ih_archive_next(struct ih_archive *a, struct ih_member *m, bool *has_member,
                               struct ih_error *err)
{
    struct ih_packet f;
    const uint64_t start_ns = ih_clock_ns();
    *has_member = false;
    enum ih_status status = read_packet(a, &f, err);
    if (status == IH_OK && f.kind == IH_PACKET_MEMBER) {
        status = read_member(a, &f, m, err);
        *has_member = status == IH_OK;
    } else if (status == IH_OK && f.kind == IH_PACKET_END && f.n_bytes == 0) {
        struct ih_error carried = {0};
        status = read_error(a, &f, &carried, err);
        if (status == IH_OK && f.status != IH_OK) {
            *err = carried;
            status = carried.status;
        }
    } else if (status == IH_OK) {
        status = fail_invalid_packet(err);
    }
    if (status != IH_OK)
        ih_member_release(m, a->budget);
    m->read_ns = ih_clock_ns() - start_ns;
    return status;
}
