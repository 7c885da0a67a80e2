/*
 * Checks both sides of an archive: the reader with hostile archives, and the receiver with hostile
 * packets. Members have names and sizes within the limits, all of the budget comes back, and a file
 * in one piece gives the same as a pipe.
 */
#ifndef IH_TESTS_ARCHIVE_READER_H
#define IH_TESTS_ARCHIVE_READER_H

#include "tests/fuzz/promised.h"
#include "tests/support/packets.h"

enum { FUZZ_BUDGET_BYTES = 1 << 20, FUZZ_MEMBERS_MAX = 2000 };

struct archive_sum {
    enum ih_status status;
    unsigned n_members, n_sound;
    uint64_t hash;
};

static inline void add_to_sum(struct archive_sum *sum, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) /* FNV-1a */
        sum->hash = (sum->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static inline struct archive_sum read_members(struct ih_archive *archive, struct ih_budget *budget)
{
    struct archive_sum sum = {.status = IH_OK};
    struct ih_member member = {0};
    struct ih_error err = {0};
    bool has_member = true;
    while (sum.n_members < FUZZ_MEMBERS_MAX) {
        sum.status = ih_archive_next(archive, &member, &has_member, &err);
        PROMISED(sum.status == IH_OK || !has_member);
        PROMISED(sum.status == IH_OK || err.status == sum.status);
        if (!has_member)
            break;
        const size_t n_name = strlen(member.name);
        PROMISED(n_name > 0 && n_name <= IH_MEMBER_NAME_MAX);
        PROMISED(member.error.status != IH_OK || member.size_bytes <= FUZZ_BUDGET_BYTES);
        PROMISED(budget->taken_bytes == member.taken_bytes);
        sum.n_members++;
        sum.n_sound += member.error.status == IH_OK;
        add_to_sum(&sum, member.name, n_name);
        if (member.error.status == IH_OK)
            add_to_sum(&sum, member.bytes, member.size_bytes);
        ih_member_release(&member, budget);
    }
    PROMISED(budget->taken_bytes == 0);
    ih_member_reset(&member, budget);
    ih_archive_close(archive);
    return sum;
}

/* Reads bytes as an archive. Returns the number of sound members. */
static inline unsigned read_archive(const uint8_t *bytes, size_t size)
{
    struct ih_budget budget;
    struct ih_reader src = {0};
    struct ih_archive *archive = NULL;
    unsigned n_sound = 0;
    ih_budget_init(&budget, FUZZ_BUDGET_BYTES);
    const struct ih_decode_options options = {.budget = &budget};
    ih_reader_open_memory(&src, bytes, size);
    if (ih_archive_open(NULL, &src, &options, &archive, NULL) == IH_OK)
        n_sound = read_members(archive, &budget).n_sound;
    ih_reader_reset(&src);
    ih_budget_destroy(&budget);
    return n_sound;
}

/* Reads bytes as packets, at once and in pieces. */
static inline void read_packets_of(const uint8_t *bytes, size_t size)
{
    struct archive_sum sums[2];
    for (unsigned i = 0; i < 2; i++) {
        struct packets f;
        struct ih_remote_decoder *remote;
        struct ih_remote_decoders remotes;
        struct ih_budget budget;
        ih_budget_init(&budget, FUZZ_BUDGET_BYTES);
        struct ih_archive *archive = packets_archive(&f, bytes, size, &remote, &remotes, &budget);
        f.n_max = i * 7;
        if (!archive) /* no libarchive in this build */
            return;
        sums[i] = read_members(archive, &budget);
        ih_budget_destroy(&budget);
    }
    PROMISED(sums[0].status == sums[1].status && sums[0].hash == sums[1].hash);
}

#endif
