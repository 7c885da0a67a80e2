/* The directory walk's estimate of how many inputs are still to come. */
#include "tests/support/test.h"

#include "scan/walk.h"
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS = 20, FILES = 50 };

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/imghist-test-XXXXXX"), path[100];
    *state = mkdtemp(folder);
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%02u", folder, i);
        assert_int_equal(mkdir(path, 0700), 0);
        for (unsigned k = 0; k < FILES; k++) {
            snprintf(path, sizeof path, "%s/%02u/%02u", folder, i, k);
            close(open(path, O_CREAT | O_WRONLY, 0600));
        }
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_folder(void **state)
{
    nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

/* Walks to the end. After each input, the estimate is within a tenth of the truth, and one more
 * for the end of a named folder. */
static void check(const struct ih_walk_sources *sources, unsigned n_inputs)
{
    struct ih_walk *walk;
    struct ih_input input;
    struct ih_error err;
    unsigned n = 0;
    assert_int_equal(ih_walk_open(sources, &walk, &err), IH_OK);
    while (ih_walk_next(walk, &input)) {
        const double expected = (double)n_inputs - ++n, found = ih_walk_n_left(walk);
        if (found < 0.9 * expected - 1 || found > 1.1 * expected + 1)
            fail_msg("%g inputs left after %u, not %g", found, n, expected);
        free(input.path);
    }
    assert_int_equal(n, n_inputs);
    assert_true(ih_walk_n_left(walk) < 1);
    ih_walk_close(walk);
}

TEST(paths)
{
    const char *const paths[] = {"a", "b", "c", "d", "e"};
    check(&(struct ih_walk_sources){.paths = paths, .n_paths = 5}, 5);
}

TEST_WITH(folders, make_folder, remove_folder)
{
    const char *const folder = *state;
    const char *const paths[] = {folder, folder, folder};
    check(&(struct ih_walk_sources){.paths = paths, .n_paths = 1}, FOLDERS * FILES + 1);
    check(&(struct ih_walk_sources){.paths = paths, .n_paths = 3}, 3 * (FOLDERS * FILES + 1));
}

TEST_WITH(list, make_folder, remove_folder)
{
    char list[100];
    snprintf(list, sizeof list, "%s/00/00", (char *)*state);
    FILE *file = fopen(list, "w");
    for (unsigned i = 0; i < 1000; i++)
        fprintf(file, "image %u\n", 1000 + i);
    fclose(file);
    check(&(struct ih_walk_sources){.list = list, .list_separator = '\n'}, 1000);
}

/* A list of folders: each of its lines gives many inputs. */
TEST_WITH(list_of_folders, make_folder, remove_folder)
{
    char list[100];
    snprintf(list, sizeof list, "%s/00/00", (char *)*state);
    FILE *file = fopen(list, "w");
    for (unsigned i = 0; i < FOLDERS; i++)
        fprintf(file, "%s/%02u\n", (char *)*state, i);
    fclose(file);
    check(&(struct ih_walk_sources){.list = list, .list_separator = '\n'}, FOLDERS * (FILES + 1));
}

TEST(pipe_is_unknown)
{
    struct ih_walk *walk;
    struct ih_input input;
    struct ih_error err;
    int ends[2];
    char list[30];
    assert_int_equal(pipe(ends), 0);
    assert_true(write(ends[1], "a\nb\n", 4) == 4);
    close(ends[1]);
    snprintf(list, sizeof list, "/dev/fd/%d", ends[0]);
    const struct ih_walk_sources sources = {.list = list, .list_separator = '\n'};
    assert_int_equal(ih_walk_open(&sources, &walk, &err), IH_OK);
    assert_true(ih_walk_next(walk, &input));
    assert_true(ih_walk_n_left(walk) == 0);
    free(input.path);
    ih_walk_close(walk);
    close(ends[0]);
}
