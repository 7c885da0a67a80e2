/*
 * JPEG files for the engines of a GPU, where it has some.
 *
 * A worker reads such a file whole, walks it to be sure that the engines will decode it to exactly
 * what the processor would, queues it and takes the next input; the counts come later, from another
 * thread. What the engines must not have the worker decodes itself. So it does where the engines
 * have more than they can do, as long as enough other workers are left to keep them busy.
 *
 * Starting the engines takes half a second or more. So they start beside the work, once there has
 * been enough of it that there may be much more to come.
 */
#ifndef IH_PIPELINE_OFFLOAD_H
#define IH_PIPELINE_OFFLOAD_H

#include "jpeg_gpu/engines.h"
#include "pipeline/pipeline.h"

#include <pthread.h>

/* One pipeline's. Fields are private. */
struct ih_offload {
    const struct ih_pipeline_options *options;
    struct ih_device *device;
    void (*deliver)(void *user, void *ticket, struct ih_result *result, bool is_counted);
    void *user;

    pthread_mutex_t lock;            /* guards what follows */
    struct ih_jpeg_engines *engines; /* NULL: not started yet; else fixed */
    bool has_tried;
    uint64_t busy_ns;   /* that workers have spent on JPEG files, of all together */
    unsigned n_helping; /* workers that decode a file because the engines are busy */
};

/* A worker's buffer, kept from file to file. All zero is empty. */
struct ih_offload_file {
    uint8_t *bytes; /* owned */
    size_t capacity_bytes;
    bool is_helping; /* the worker is */
    const char *why; /* a JPEG file is left to it; static; NULL: is in the report already */
};

/*
 * options   borrowed until close, as is device
 * deliver   called from another thread for each input that was taken; is_counted: result is
 *           complete; else the input has to be counted in another way, and result says nothing
 */
void ih_offload_init(struct ih_offload *o, const struct ih_pipeline_options *options,
                     struct ih_device *device,
                     void (*deliver)(void *user, void *ticket, struct ih_result *result,
                                     bool is_counted),
                     void *user);

/* Where the options want engines: starts them and waits. IH_OK, IH_MEMORY, IH_UNAVAILABLE. */
enum ih_status ih_offload_begin(struct ih_offload *o, struct ih_error *err);

/*
 * Gives an input to the engines.
 *
 * file, src   the worker's own; src is closed, before and after
 * ticket      comes back with deliver
 * result      transferred on true
 *
 * Returns whether it was taken. False says nothing about the input.
 * Threads: any.
 */
bool ih_offload_try(struct ih_offload *o, const struct ih_input *input,
                    struct ih_offload_file *file, struct ih_source *src, void *ticket,
                    struct ih_result *result);

/* Tells of an input that the worker has done itself. */
void ih_offload_saw(struct ih_offload *o, struct ih_offload_file *file,
                    const struct ih_result *result);

/* Stops the engines, or, where the options' run is the last, leaves them; then the report does not
 * tell of them. Nothing is under way. Allowed right after init. */
void ih_offload_close(struct ih_offload *o);

#endif
