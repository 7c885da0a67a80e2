/*
 * decode_only [-j N] [-f LIST] [FILE]...: decodes JPEG files with libjpeg-turbo and PNG files with
 * libpng, a few rows at a time into one small buffer, and discards the pixels. This is the least
 * time for any program that decodes with the same libraries.
 *
 *     -j N      N processes, which take the next file from a shared counter (1)
 *     -f LIST   decode the files that LIST names, one a line, instead of FILE...
 *     -V        print the versions of the libraries
 *
 * Prints the number of pixels.
 *
 * It is as fast as possible, to be a hard comparison: processes share no lock, as threads would; a
 * file is read into memory that the next file reuses; the decompressor is created once; and freed
 * memory stays with the process, since the kernel would otherwise map new pages for each file.
 */
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

enum { ROWS = 16, PROCESSES_MAX = 1024 };

/* Shared by all processes. */
struct work {
    atomic_size_t next, n_pixels;
};

/* Memory that only grows. */
struct store {
    unsigned char *bytes;
    size_t size_bytes, capacity_bytes;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "decode_only: %s: %s\n", what, why);
    exit(1);
}

static void reserve(struct store *s, size_t size_bytes)
{
    if (size_bytes > s->capacity_bytes) {
        free(s->bytes);
        s->bytes = malloc(size_bytes);
        s->capacity_bytes = size_bytes;
    }
    if (!s->bytes)
        fail("memory", "none left");
    s->size_bytes = size_bytes;
}

static void read_file(struct store *s, const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        exit(1);
    }
    reserve(s, (size_t)status.st_size + 1);
    s->size_bytes = 0;
    for (ssize_t n;
         (n = read(fd, s->bytes + s->size_bytes, s->capacity_bytes - s->size_bytes)) > 0;)
        s->size_bytes += (size_t)n;
    close(fd);
}

static struct jpeg_decompress_struct jpeg;
static const char *current_path;

static void jpeg_fail(j_common_ptr c)
{
    char message[JMSG_LENGTH_MAX];
    c->err->format_message(c, message);
    fail(current_path, message);
}

static void jpeg_open(void)
{
    static struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = jpeg_fail;
    jpeg_create_decompress(&jpeg);
}

static size_t decode_jpeg(struct store *file, struct store *rows)
{
    unsigned char *row[ROWS];
    jpeg_mem_src(&jpeg, file->bytes, file->size_bytes);
    jpeg_read_header(&jpeg, TRUE);
    jpeg_start_decompress(&jpeg);
    const size_t row_bytes = (size_t)jpeg.output_width * (size_t)jpeg.output_components;
    reserve(rows, row_bytes * ROWS);
    for (size_t i = 0; i < ROWS; i++)
        row[i] = rows->bytes + i * row_bytes;
    while (jpeg.output_scanline < jpeg.output_height)
        jpeg_read_scanlines(&jpeg, row, ROWS);
    jpeg_finish_decompress(&jpeg);
    return (size_t)jpeg.output_width * jpeg.output_height;
}

struct cursor {
    const unsigned char *next, *end;
};

static void png_take(png_structp png, png_bytep to, size_t n)
{
    struct cursor *c = png_get_io_ptr(png);
    if (n > (size_t)(c->end - c->next))
        png_error(png, "the file is truncated");
    memcpy(to, c->next, n);
    c->next += n;
}

static void png_fail(png_structp png, png_const_charp message)
{
    (void)png;
    fail(current_path, message);
}

static void png_ignore(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* All rows go into one buffer; the passes of an interlaced image need a buffer for the image. */
static size_t decode_png(struct store *file, struct store *rows)
{
    struct cursor cursor = {file->bytes, file->bytes + file->size_bytes};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_fail, png_ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info)
        fail("memory", "none left");
    png_set_read_fn(png, &cursor, png_take);
    png_read_info(png, info);
    const int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const size_t row_bytes = png_get_rowbytes(png, info);
    const size_t height = png_get_image_height(png, info);
    reserve(rows, n_passes > 1 ? row_bytes * height : row_bytes);
    for (int pass = 0; pass < n_passes; pass++) {
        for (size_t y = 0; y < height; y++)
            png_read_row(png, rows->bytes + (n_passes > 1 ? y * row_bytes : 0), NULL);
    }
    png_read_end(png, NULL);
    const size_t n_pixels = png_get_image_width(png, info) * height;
    png_destroy_read_struct(&png, &info, NULL);
    return n_pixels;
}

static void keep_freed_memory(void)
{
#ifdef M_MMAP_MAX
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

static void work_through(struct work *work, char **paths, size_t n_paths)
{
    struct store file = {0}, rows = {0};
    size_t n_pixels = 0;
    keep_freed_memory();
    jpeg_open();
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < n_paths;) {
        current_path = paths[i];
        read_file(&file, paths[i]);
        const bool is_jpeg = file.size_bytes > 2 && file.bytes[0] == 0xff && file.bytes[1] == 0xd8;
        n_pixels += is_jpeg ? decode_jpeg(&file, &rows) : decode_png(&file, &rows);
    }
    atomic_fetch_add(&work->n_pixels, n_pixels);
    jpeg_destroy_decompress(&jpeg);
    free(file.bytes);
    free(rows.bytes);
}

/* Appends the lines of a file; they live as long as the process. */
static char **read_list(const char *list, char **paths, size_t *n_paths)
{
    struct store text = {0};
    read_file(&text, list);
    text.bytes[text.size_bytes] = '\0';
    for (char *p = strtok((char *)text.bytes, "\n"); p; p = strtok(NULL, "\n")) {
        if ((*n_paths & (*n_paths + 1)) == 0) /* double the room */
            paths = realloc(paths, (2 * *n_paths + 2) * sizeof *paths);
        if (!paths)
            fail("memory", "none left");
        paths[(*n_paths)++] = p;
    }
    return paths;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static int print_versions(void)
{
#ifdef LIBJPEG_TURBO_VERSION
    printf("libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION));
#else
    printf("libjpeg %d, not libjpeg-turbo", JPEG_LIB_VERSION);
#endif
    printf(", libpng %s\n", png_get_libpng_ver(NULL));
    return 0;
}

int main(int argc, char **argv)
{
    long n_processes = 1;
    const char *list = NULL;
    for (int option; (option = getopt(argc, argv, "j:f:V")) != -1;) {
        if (option == 'j')
            n_processes = strtol(optarg, NULL, 10);
        else if (option == 'f')
            list = optarg;
        else if (option == 'V')
            return print_versions();
        else
            return 2;
    }
    if (n_processes < 1 || n_processes > PROCESSES_MAX)
        fail("-j", "1 to 1024");
    size_t n_paths = 0;
    char **paths = list ? read_list(list, NULL, &n_paths) : argv + optind;
    if (!list)
        n_paths = (size_t)(argc - optind);

    struct work *work =
        mmap(NULL, sizeof *work, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work == MAP_FAILED)
        fail("memory", "none left");
    for (long i = 1; i < n_processes; i++) {
        const pid_t pid = fork();
        if (pid < 0)
            fail("fork", "cannot start a process");
        if (pid == 0) {
            work_through(work, paths, n_paths);
            _exit(0);
        }
    }
    work_through(work, paths, n_paths);
    int failed = 0;
    for (int status; wait(&status) > 0;)
        failed |= status;
    printf("%zu pixels\n", (size_t)atomic_load(&work->n_pixels));
    return failed ? 1 : 0;
}
