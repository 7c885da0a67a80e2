/* A whole scan by callbacks: inputs from one, results to another. */
#ifndef IH_TESTS_TAKE_ALL_H
#define IH_TESTS_TAKE_ALL_H

#include "imghist.h"
#include "scan/scan.h"

struct taking {
    bool (*next)(void *next_user, struct ih_input *input);
    void *next_user;
    /* Gets the results in order. Returns false to end the scan. */
    bool (*take)(void *take_user, const char *path, const struct ih_result *result);
    void *take_user;
    void (*idle)(void *take_user); /* after a result, when the next one is not ready */
    bool next_is_quick;
    double (*n_left)(void *next_user);
};

static inline unsigned many_ready(void *user)
{
    (void)user;
    return 1000;
}

/* Returns IH_OK at the end, or the error that ended the scan. */
static inline enum ih_status take_all(struct ih_device *device,
                                      const struct ih_scan_options *options, const struct taking *t,
                                      struct ih_error *err)
{
    const struct ih_scan_inputs inputs = {.next = t->next,
                                          .n_ready = t->next_is_quick ? many_ready : NULL,
                                          .n_left = t->n_left,
                                          .user = t->next_user};
    struct ih_item_source scan;
    const struct ih_item *item;
    struct ih_error error;
    enum ih_status status = ih_scan_start(device, options, &inputs, &scan, &error);
    const bool is_open = status == IH_OK;
    while (status == IH_OK && (status = scan.next(scan.source, &item, &error)) == IH_OK) {
        if (item->result && !t->take(t->take_user, item->path, item->result))
            break;
        if (t->idle && !scan.is_ready(scan.source, 0))
            t->idle(t->take_user);
    }
    if (is_open)
        scan.close(scan.source);
    if (status != IH_OK && status != IH_END && err)
        *err = error;
    return status == IH_END ? IH_OK : status;
}

#endif
