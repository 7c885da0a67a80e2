/* An archive's reader that sends the bytes it is given: ih_archive_next as it faces a process that
 * an attacker controls. */
#ifndef IH_TESTS_PACKETS_H
#define IH_TESTS_PACKETS_H

#include "decode/archive.h"

#include <string.h>

struct packets {
    struct ih_remote_decoder remote; /* must be first */
    const uint8_t *next;
    size_t n_left, n_max; /* n_max: bytes given at once; 0: all */
};

static inline enum ih_status packets_open(struct ih_remote_decoder *remote, unsigned index,
                                          struct ih_reader *src,
                                          const struct ih_decode_options *options,
                                          struct ih_image_info *info, struct ih_error *err)
{
    (void)remote, (void)index, (void)src, (void)options, (void)info, (void)err;
    return IH_OK;
}

static inline enum ih_status packets_read(struct ih_remote_decoder *remote, uint8_t *bytes,
                                          size_t capacity, size_t *n, struct ih_error *err)
{
    struct packets *f = (struct packets *)remote;
    (void)err;
    *n = capacity < f->n_left ? capacity : f->n_left;
    *n = f->n_max && *n > f->n_max ? f->n_max : *n;
    memcpy(bytes, f->next, *n);
    f->next += *n;
    f->n_left -= *n;
    return IH_OK;
}

static inline enum ih_status packets_next(struct ih_remote_decoder *remote, bool *has_next,
                                          struct ih_error *err)
{
    (void)remote, (void)err;
    *has_next = false;
    return IH_OK;
}

static inline void packets_close(struct ih_remote_decoder *remote)
{
    (void)remote;
}

static inline struct ih_remote_decoder *packets_make(const void *user)
{
    return *(struct ih_remote_decoder *const *)user;
}

/* Starts to read these packets. f, remote and remotes live as long as the archive. */
static inline struct ih_archive *packets_archive(struct packets *f, const uint8_t *bytes,
                                                 size_t size, struct ih_remote_decoder **remote,
                                                 struct ih_remote_decoders *remotes,
                                                 struct ih_budget *budget)
{
    const struct ih_decode_options options = {.budget = budget};
    struct ih_reader src = {0};
    struct ih_archive *archive = NULL;
    *f = (struct packets){.remote = {packets_open, packets_read, packets_next, packets_close},
                          .next = bytes,
                          .n_left = size};
    *remote = &f->remote;
    *remotes = (struct ih_remote_decoders){packets_make, packets_close, remote};
    ih_archive_open(remotes, &src, &options, &archive, NULL);
    return archive;
}

#endif
