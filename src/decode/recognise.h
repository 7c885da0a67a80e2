/*
 * Formats that imghist knows by their content but does not read: an error names them and says what
 * to do. A directory walk skips such files like those of unknown formats.
 */
#ifndef IH_DECODE_RECOGNISE_H
#define IH_DECODE_RECOGNISE_H

#include "base/reader.h"

/*
 * Looks at the first bytes of a reader and consumes none.
 *
 * Returns IH_OK if the format is not one of them; IH_UNKNOWN, with its name and advice in err, and
 * IH_LIMIT_RAW_PREVIEW for camera raw; or IH_IO.
 */
enum ih_status ih_recognise(struct ih_reader *src, struct ih_error *err);

#endif
