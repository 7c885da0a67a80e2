/*
 * The items of a scan and of result files in the order of the paths, after the records of the file
 * of --resume.
 *
 * The scan gives an item without a kind in the place of a result file; the chain reads that file
 * before it takes the next item of the scan. All results have to be of one measure.
 */
#ifndef IH_RECORDS_CHAIN_H
#define IH_RECORDS_CHAIN_H

#include "scan/scan.h"

struct ih_chain_options {
    struct ih_measure measure; /* what results have to agree with, besides each other */
    const char *resumed_path;  /* a result file whose records come first, perhaps of a shard; NULL:
                                  none. Borrowed until close */
    const char *refusal;       /* not NULL: a result file ends the run; it "is no " this */
    unsigned shard, n_shards;  /* the one shard that result files hold, whose records keep their
                                  places; 0: they hold whole runs */
    bool is_fed;               /* no call waits for a source after a result file: it gives an item
                                  without a kind instead */
    bool reads_ahead;          /* a thread may read records of a large file ahead */
    bool names_settings;       /* errors name the field of ih_settings that raises a limit */
    const struct ih_file_identity *outputs; /* borrowed until close; no result file may be one */
    size_t n_outputs;
};

struct ih_chain;

/* images: of ih_scan_start; owned by the chain, also after an error. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_chain_open(const struct ih_item_source *images,
                             const struct ih_chain_options *options, struct ih_chain **chain,
                             struct ih_error *err);

/* As ih_scan_next (imghist.h). */
enum ih_status ih_chain_next(struct ih_chain *chain, const struct ih_item **item,
                             struct ih_error *err);

/* As ih_scan_is_ready (imghist.h). */
bool ih_chain_is_ready(struct ih_chain *chain, unsigned wait_ms);

/* What the results so far have in common, or what they had to agree with if there are none. */
const struct ih_joint_measure *ih_chain_measure(const struct ih_chain *chain);

/* The hash of the shards that were merged, or of the one that was read; 0: there were none. */
uint64_t ih_chain_merged_run(const struct ih_chain *chain);

void ih_chain_close(struct ih_chain *chain); /* NULL is allowed */

#endif
