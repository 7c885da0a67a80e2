/* The endings of file names: what a name promises. Of images, the content decides
 * what is read. */
#ifndef IH_SCAN_EXTENSIONS_H
#define IH_SCAN_EXTENSIONS_H

#include <stdbool.h>

/* The ending of a path without its point, "jpg"; "" if the name has no ending. */
const char *ih_extension(const char *path);

/* Whether the name is one of an image in a format that some build of imghist reads. Ignores case.
 */
bool ih_extension_is_image(const char *path);

/* Whether it is one of another format of images, such as camera raw. */
bool ih_extension_is_other_image(const char *path);

/* Whether it is one of spreadsheets, databases and documents that no output is written in. */
bool ih_extension_is_other_file(const char *path);

/* Whether it is one of an archive or a compressed file. */
bool ih_extension_is_packed(const char *path);

/* Whether it is one of a result file, as imghist writes them: NDJSON or JSON. */
bool ih_extension_is_result_file(const char *path);

/* Of charts in a directory; of one length. */
#define IH_EXTENSION_CHART_PNG ".hist.png"
#define IH_EXTENSION_CHART_SVG ".hist.svg"

/* Whether a file has the name of such a chart. Ignores case, as some file systems do. */
bool ih_extension_is_chart(const char *path);

#endif
