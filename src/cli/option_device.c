/* --device, and IMGHIST_DEVICE, which is read the same way. */
#include "cli/option_table.h"
#include "pipeline/settings.h"

enum ih_status ih_option_set_device(struct ih_options *o, const char *value, struct ih_error *err)
{
    return ih_device_parse(value, &o->device, err);
}
