/*
 * In a directory, the chart of a/b/photo.jpg is DIR/a/b/photo.jpg.hist.png: the whole name stays,
 * so that photo.jpg and photo.png do not meet, and nothing that a camera writes ends in .hist.png.
 * What leads out of the directory, a root or "..", becomes a plain folder.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/chartfile.h"

#include "cli/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct ih_charts {
    const char *path; /* borrowed */
    struct ih_chart_options look;
    bool is_file;
    bool has_drawn;
    struct ih_outfile file; /* under way, or waiting for commit */
};

enum ih_status ih_charts_open(const char *path, const struct ih_chart_options *look,
                              struct ih_charts **charts, struct ih_error *err)
{
    static const char *const later[] = {".svg", ".jpg", ".jpeg", ".bmp",  ".tga",
                                        ".gif", ".pdf", ".tif",  ".tiff", ".webp"};
    const char *dot = strrchr(path, '.');
    bool is_png = dot && strcasecmp(dot, ".png") == 0;
    for (size_t i = 0; dot && i < sizeof later / sizeof later[0]; i++)
        if (strcasecmp(dot, later[i]) == 0)
            return ih_error_set(err, IH_USAGE, "--chart: charts are written as .png, not as %s",
                                later[i]);
    struct ih_charts *c = calloc(1, sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->path = path;
    c->look = *look;
    c->is_file = is_png;
    *charts = c;
    return IH_OK;
}

/* Appends the input's path to target, component by component. False: it does not fit. */
static bool append_input(char *target, size_t size, const char *input)
{
    size_t n = strlen(target);
    while (*input) {
        size_t length = strcspn(input, "/");
        bool is_up = length == 2 && memcmp(input, "..", 2) == 0;
        bool is_nothing = length == 0 || (length == 1 && input[0] == '.');
        if (!is_nothing) {
            if (n + length + 2 >= size)
                return false;
            target[n++] = '/';
            memcpy(target + n, is_up ? "__" : input, length);
            n += length;
            target[n] = '\0';
        }
        input += length + (input[length] == '/');
    }
    return true;
}

static enum ih_status name_target(const struct ih_charts *c, const struct ih_result *result,
                                  char *target, size_t size, struct ih_error *err)
{
    static const char suffix[] = IH_CHART_SUFFIX;
    const char *input = strcmp(result->path, "-") == 0 ? "stdin" : result->path;
    size_t n = strlen(c->path);
    if (n >= size)
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    memcpy(target, c->path, n + 1);
    if (c->is_file)
        return IH_OK;
    while (n > 1 && target[n - 1] == '/')
        target[--n] = '\0';
    if (!append_input(target, size - sizeof suffix, input))
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    strcat(target, suffix);
    return IH_OK;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the bytes of a PNG's Source chunk for this path are at p. */
static bool is_source(const char *p, size_t n, const char *path)
{
    static const char key[] = "tEXtSource"; /* with its NUL, which ends the key in the file too */
    size_t n_path = strlen(path), length = sizeof key - 4 + n_path;
    const unsigned char size[4] = {(unsigned char)(length >> 24), (unsigned char)(length >> 16),
                                   (unsigned char)(length >> 8), (unsigned char)length};
    return n >= 4 + sizeof key + n_path && memcmp(p, size, 4) == 0 &&
           memcmp(p + 4, key, sizeof key) == 0 && memcmp(p + 4 + sizeof key, path, n_path) == 0;
}

/*
 * In a directory of charts only the chart of the same input is replaced, by its mark, which is in
 * the first chunks of the file: neither a picture of somebody else's nor the chart of another input
 * whose path leads to the same name.
 */
static enum ih_status check_target(const char *target, const char *input, struct ih_error *err)
{
    char head[IH_CHART_PATH_MAX + 256];
    struct stat st;
    if (stat(target, &st) != 0)
        return IH_OK; /* nothing is there, or writing will tell why */
    FILE *f = S_ISREG(st.st_mode) ? fopen(target, "rb") : NULL;
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i < n; i++)
        if (is_source(head + i, n - i, input))
            return IH_OK;
    return ih_error_set(err, IH_CONFLICT,
                        "is there and not the chart of this input, so it is not replaced");
}

enum ih_status ih_charts_draw(struct ih_charts *c, const struct ih_result *result, char *target,
                              size_t size_bytes, struct ih_error *err)
{
    unsigned char *png = NULL;
    size_t png_bytes = 0;
    target[0] = '\0';
    enum ih_status status = name_target(c, result, target, size_bytes, err);
    if (status != IH_OK)
        return status;
    if (c->is_file && c->has_drawn)
        return ih_error_set(err, IH_USAGE, "one chart for more than one image: name a directory");
    if (is_same_file(target, result->path))
        return ih_error_set(err, IH_CONFLICT, "is an input and its chart at once");
    if (!c->is_file)
        status = check_target(target, result->path, err);
    if (status != IH_OK)
        return status;
    status = ih_chart_png(result, &c->look, &png, &png_bytes, err);
    if (status == IH_OK && !c->is_file)
        status = ih_make_directories(target, err);
    if (status == IH_OK)
        status = ih_outfile_open(&c->file, target, err);
    if (status == IH_OK && fwrite(png, 1, png_bytes, c->file.stream) != png_bytes) {
        status = ih_error_errno(err, errno, "cannot write");
        ih_outfile_discard(&c->file);
    }
    if (status == IH_OK && !c->is_file)
        status = ih_outfile_commit(&c->file, err);
    c->has_drawn = true;
    free(png);
    return status;
}

enum ih_status ih_charts_commit(struct ih_charts *c, struct ih_error *err)
{
    return c->file.stream ? ih_outfile_commit(&c->file, err) : IH_OK;
}

void ih_charts_unlink(const struct ih_charts *c)
{
    if (c)
        ih_outfile_unlink(&c->file);
}

void ih_charts_close(struct ih_charts *c)
{
    if (c)
        ih_outfile_discard(&c->file);
    free(c);
}
