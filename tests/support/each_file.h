/* Loads the files of a folder one after the other. */
#ifndef IH_TESTS_EACH_FILE_H
#define IH_TESTS_EACH_FILE_H

#include "tests/support/test.h"

#include "base/reader.h"
#include <dirent.h>

enum { PATH_SIZE = 4096 };

struct file {
    uint8_t *bytes; /* owned */
    size_t size;
};

static inline struct file load(const char *path)
{
    struct file file = {NULL, 0};
    struct ih_reader src = {0};
    struct ih_error err;
    assert_int_equal(ih_reader_open_path(&src, path, &err), IH_OK);
    assert_int_equal(ih_reader_read_all(&src, SIZE_MAX / 2, &file.bytes, &file.size, &err), IH_OK);
    ih_reader_close(&src);
    ih_reader_reset(&src);
    return file;
}

typedef void check_function(const struct file *file);

/* Calls check for each file whose name starts with prefix. folder is relative to tests/. Returns
 * the number of files. */
static inline unsigned for_each(const char *folder, const char *prefix, check_function *check)
{
    const char *tests = getenv("TESTS");
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", tests ? tests : "tests", folder);
    DIR *dir = opendir(path);
    unsigned n = 0;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, entry->d_name);
        fprintf(stderr, "%s\n", path); /* after a crash, the last name is the culprit */
        struct file file = load(path);
        check(&file);
        free(file.bytes);
        n++;
    }
    closedir(dir);
    return n;
}

#endif
