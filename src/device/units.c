/*
 * Starting the units of a backend.
 *
 * A GPU takes a few hundred milliseconds of the cores and some of its memory to start, and counts
 * more than 16 workers can read and decode. So one starts for each 16 lanes, all at the same time.
 * Units that the user named must all start. Otherwise the next unit replaces a unit that does not
 * start.
 */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

const struct ih_backend *const ih_backends[] = {
#define BACKEND(name) &ih_backend_##name,
#include "device/backends.def"
    NULL,
};

bool ih_backend_is_allowed(const struct ih_device_options *options, const struct ih_backend *b)
{
    const char *kernel = options->with.kernel;
    for (const struct ih_kernel_entry *k = b->kernels; k->name; k++)
        if (!kernel || strcmp(k->name, kernel) == 0)
            return !options->backend || strcmp(b->name, options->backend) == 0;
    return false;
}

/* ---- the units of one backend ---- */

/* The start of one unit. */
struct unit_start {
    const struct ih_backend *backend;
    const struct ih_backend_options *options;
    int ordinal;
    void *state;
    enum ih_status status;
    struct ih_error error;
    pthread_t thread;
    bool has_thread;
};

static void *start_unit(void *argument)
{
    struct unit_start *u = argument;
    u->status = u->backend->start(u->options, u->ordinal, &u->state, &u->error);
    return NULL;
}

/* The first in this thread, the others in threads of their own. */
static void start_together(struct unit_start *units, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        units[i].has_thread = pthread_create(&units[i].thread, NULL, start_unit, &units[i]) == 0;
    for (unsigned i = 0; i < n; i++)
        if (!units[i].has_thread)
            start_unit(&units[i]);
    for (unsigned i = 1; i < n; i++)
        if (units[i].has_thread)
            pthread_join(units[i].thread, NULL);
}

void ih_units_stop(struct ih_device *d, const struct ih_backend *b)
{
    while (d->n_units > 0)
        b->stop(d->units[--d->n_units]);
}

/* Checks that all units that the options name exist, used or not. */
static enum ih_status check_ordinals(const struct ih_device_options *o, const struct ih_backend *b,
                                     int n_units, struct ih_error *err)
{
    for (unsigned i = 0; i < o->n_ordinals; i++)
        if (o->ordinals[i] < 0 || o->ordinals[i] >= n_units)
            return ih_error_set(err, IH_UNAVAILABLE,
                                "no device %s:%d: this machine shows %d, counted from 0", b->name,
                                o->ordinals[i], n_units);
    return IH_OK;
}

/* Starts further units, from *next on. skipped: the first reason why one is left out. IH_OK unless
 * a unit that the options name does not start. */
static enum ih_status start_more(struct ih_device *d, const struct ih_backend *b, unsigned n_wanted,
                                 unsigned n_listed, unsigned *next, struct ih_error *skipped,
                                 struct ih_error *err)
{
    const struct ih_device_options *o = &d->options;
    struct unit_start units[IH_UNITS_MAX];
    enum ih_status status = IH_OK;
    unsigned n = 0;
    for (; n < n_wanted - d->n_units && *next < n_listed; n++, ++*next)
        units[n] = (struct unit_start){.backend = b,
                                       .options = &o->with,
                                       .ordinal = o->n_ordinals ? o->ordinals[*next] : (int)*next};
    start_together(units, n);
    for (unsigned i = 0; i < n; i++) {
        if (units[i].status == IH_OK) {
            d->ordinals[d->n_units] = units[i].ordinal;
            d->units[d->n_units++] = units[i].state;
            continue;
        }
        struct ih_error *why = o->n_ordinals ? err : skipped;
        if (n_listed == 1 && !o->n_ordinals)
            *why = units[i].error;
        else if (why->status == IH_OK)
            ih_error_set(why, units[i].status, "%s:%d: %.200s", b->name, units[i].ordinal,
                         units[i].error.message);
        if (o->n_ordinals)
            status = err->status;
    }
    return status;
}

enum ih_status ih_units_start(struct ih_device *d, const struct ih_backend *b,
                              struct ih_error *skipped, struct ih_error *err)
{
    const struct ih_device_options *o = &d->options;
    int n_units = 0;
    if (b == &ih_backend_cpu && d->stand_in) {
        d->units[d->n_units++] = d->stand_in;
        return IH_OK;
    }
    enum ih_status status = b->n_units(&n_units, err);
    if (status == IH_OK)
        status = check_ordinals(o, b, n_units, err);
    if (status != IH_OK)
        return status;
    unsigned n_listed = o->n_ordinals ? o->n_ordinals : (unsigned)n_units, next = 0;
    unsigned n_wanted =
        o->n_ordinals ? o->n_lanes : (o->n_lanes + IH_LANES_OF_UNIT - 1) / IH_LANES_OF_UNIT;
    n_wanted = n_wanted ? n_wanted : 1;
    n_wanted = n_wanted < IH_UNITS_MAX ? n_wanted : IH_UNITS_MAX;
    while (status == IH_OK && d->n_units < n_wanted && next < n_listed)
        status = start_more(d, b, n_wanted, n_listed, &next, skipped, err);
    if (status == IH_OK && d->n_units == 0) {
        *err = *skipped;
        status = err->status;
    }
    if (status != IH_OK)
        ih_units_stop(d, b);
    return status;
}

/* The model of a unit: " NVIDIA H100" in "cuda:0 NVIDIA H100". */
static const char *model_of(const struct ih_device *d, unsigned i)
{
    const char *text = d->backend->describe(d->units[i]);
    return text + strcspn(text, " ");
}

void ih_units_describe(struct ih_device *d)
{
    char *text = d->description, *end = text + sizeof d->description;
    bool are_alike = d->n_units > 1;
    for (unsigned i = 1; i < d->n_units; i++)
        are_alike = are_alike && strcmp(model_of(d, 0), model_of(d, i)) == 0;
    for (unsigned i = 0; i < d->n_units; i++) {
        if (!are_alike)
            snprintf(text, (size_t)(end - text), "%s%s", i ? ", " : "",
                     d->backend->describe(d->units[i]));
        else if (i == 0)
            snprintf(text, (size_t)(end - text), "%s:%d", d->backend->name, d->ordinals[0]);
        else
            snprintf(text, (size_t)(end - text), ",%d", d->ordinals[i]);
        text += strlen(text); /* cut if it does not fit */
    }
    if (are_alike)
        snprintf(text, (size_t)(end - text), " %u x%s", d->n_units, model_of(d, 0));
}
