/* Libraries loaded with dlopen: present, missing, broken, and without an expected function. */
#include "tests/support/test.h"

#include "base/dynlib.h"
#include <unistd.h>

struct calls {
    ih_dynlib_function first, second;
};

TEST(load)
{
    static const char *const names[] = {"zlibVersion", "crc32"};
    struct calls calls = {NULL, NULL};
    struct ih_error err = {0};
    if (ih_dynlib_load("libz.so.1", names, 2, &calls, &err) != IH_OK)
        skip("no libz.so.1");
    const char *(*version)(void);
    memcpy(&version, &calls.first, sizeof version);
    assert_true(strncmp(version(), "1.", 2) == 0);
    assert_non_null(calls.second);
}

TEST(missing_library)
{
    struct ih_error err = {0};
    assert_int_equal(ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, &err), IH_UNSUPPORTED);
    static const char says[] = "libimghist-none.so.7, which decodes it, cannot be loaded: ";
    assert_memory_equal(err.message, says, sizeof says - 1);
    assert_non_null(strstr(err.message + sizeof says - 1, "No such file")); /* from the loader */
    assert_int_equal(ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, NULL), IH_UNSUPPORTED);
}

/* The file exists but is not a library: the loader gives another reason. */
TEST(broken_library)
{
    char path[] = "/tmp/imghist-test-XXXXXX";
    struct ih_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "no library", 10), 10);
    close(fd);
    assert_int_equal(ih_dynlib_load(path, NULL, 0, NULL, &err), IH_UNSUPPORTED);
    unlink(path);
    assert_memory_equal(err.message, path, strlen(path));
    const char *why = strstr(err.message, "cannot be loaded: ");
    assert_non_null(why);
    assert_true(strlen(why) > strlen("cannot be loaded: "));
    assert_null(strstr(why, "No such file"));
}

TEST(missing_function)
{
    static const char *const names[] = {"zlibVersion", "imghist_none"};
    struct calls calls;
    struct ih_error err = {0};
    if (ih_dynlib_load("libz.so.1", names, 1, &calls, &err) != IH_OK)
        skip("no libz.so.1");
    assert_int_equal(ih_dynlib_load("libz.so.1", names, 2, &calls, &err), IH_UNSUPPORTED);
    assert_string_equal(err.message, "libz.so.1 has no imghist_none");
}
