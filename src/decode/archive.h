/*
 * Archives: tar and zip files whose members are images.
 *
 * dec_archive.c reads the archive with libarchive and turns it into a stream of packets. It has the
 * interface of a decoder, with bytes in place of pixels, so that a decoder process can run it.
 * archive.c checks the packets, which may come from a compromised process, and copies one member at
 * a time into memory.
 *
 * The program reads archives in a decoder process only. The Python package, tests and fuzzers read
 * them in their own process.
 */
#ifndef IH_DECODE_ARCHIVE_H
#define IH_DECODE_ARCHIVE_H

#include "decode/decoder.h"

/* ---- recognising archives ---- */

enum ih_archive_kind {
    IH_ARCHIVE_NONE,
    IH_ARCHIVE_TAR,
    IH_ARCHIVE_ZIP,
    IH_ARCHIVE_UNSURE, /* perhaps a tar file: probe again with more bytes. No archive without more
                        */
    IH_ARCHIVE_EMPTY,  /* zeros: a tar file without members, if it has the name of an archive */
    IH_ARCHIVE_COMPRESSED /* gzip, zstd or xz; only reading shows whether it holds a tar file */
};

enum { IH_ARCHIVE_PROBE_BYTES = 512 };

/* Returns the kind of a file that begins with these bytes. IH_PROBE_BYTES are enough to tell most
 * images from an archive; a tar file needs IH_ARCHIVE_PROBE_BYTES. */
enum ih_archive_kind ih_archive_probe(const uint8_t *head, size_t size_bytes);

/* Whether a name ends like that of an archive: .tar, .zip, .tgz, .tar.gz and so on. */
bool ih_archive_is_name(const char *path);

/* Returns where a zip archive begins in a file that begins with other data, or 0. */
uint64_t ih_archive_find_zip(const char *path);

/* The reader of archives, then NULL; only NULL in a build without libarchive. */
extern const struct ih_decoder *const ih_archive_decoders[];

/* ---- members ---- */

/* A worker's member. All zero: empty. */
struct ih_member {
    char *name;            /* owned; within the archive, such as "dir/key.jpg" */
    struct ih_error error; /* not IH_OK: why it cannot be read; IH_UNKNOWN: it is no image */
    uint8_t *bytes;        /* owned, [capacity_bytes]; the content if error is IH_OK */
    size_t size_bytes, capacity_bytes;
    uint64_t taken_bytes; /* of the budget */
    uint64_t read_ns;     /* time spent on reading it */
};

/* Frees the name, gives the bytes back to the budget, and keeps a small buffer. */
void ih_member_release(struct ih_member *m, struct ih_budget *budget);

/* Also frees the buffer. */
void ih_member_reset(struct ih_member *m, struct ih_budget *budget);

/* An archive that is being read. */
struct ih_archive;

/*
 * Starts to read an archive.
 *
 * remotes   make the process that reads it; NULL: read in this process
 * src       open; with remotes it may be closed after the call, else the archive takes it over
 * options   budget: for the bytes of members, borrowed until close; a thread that holds some of it
 * must not wait for an archive. timeout_s: how long the next bytes of a file may take
 *
 * Returns IH_OK, IH_UNSUPPORTED without libarchive, or the errors of a decoder process.
 */
enum ih_status ih_archive_open(const struct ih_remote_decoders *remotes, struct ih_reader *src,
                               const struct ih_decode_options *options, struct ih_archive **archive,
                               struct ih_error *err);

/*
 * Reads the next member; waits for the budget. The members come in the archive's order, without
 * directories. A member that cannot be read, or is no image, has an error.
 *
 * m   released; overwritten
 *
 * Returns IH_OK with *has_member false at the end of a sound archive. IH_UNKNOWN: the file is
 * compressed, but no archive. Other errors: the archive is damaged or exceeds a limit, and the
 * members so far are sound.
 */
enum ih_status ih_archive_next(struct ih_archive *archive, struct ih_member *m, bool *has_member,
                               struct ih_error *err);

void ih_archive_close(struct ih_archive *archive); /* NULL is allowed */

/* ---- packets: private to archive.c and dec_archive.c ---- */

enum ih_packet_kind {
    IH_PACKET_MEMBER, /* bytes: the name. status IH_OK: its content follows in further packets */
    IH_PACKET_DATA,   /* bytes of the content */
    IH_PACKET_DONE,   /* the end of the content; status: whether it is sound */
    IH_PACKET_END     /* the end of the archive; status: whether it is sound */
};

enum { IH_MEMBER_NAME_MAX = 16 * 1024 };

/* A packet: this header, n_bytes of bytes, n_message of the error's message. */
struct ih_packet {
    uint32_t kind;
    uint32_t status;
    uint32_t n_bytes, n_message;
    uint64_t size_bytes; /* of a member; UINT64_MAX: unknown */
};

/* A member of unknown size takes this much of the budget, or all of it, while it is read. Programs
 * that write a zip file to a pipe do not store sizes. */
#define IH_MEMBER_UNKNOWN_BYTES ((uint64_t)256 << 20)

/* The name without leading slashes and "./". NULL: a part of it is "..". */
const char *ih_member_name(const char *name);

#endif
