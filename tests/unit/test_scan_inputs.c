/* Inputs that fail or are an output, and devices that do not exist. */
#include "tests/support/scan_run.h"
#include "tests/support/take_all.h"

#include "tests/support/packets.h"

TEST(failures_are_results)
{
    struct run r = {.folder = *state,
                    NAMES("one.pgm", "missing", "text", "broken", ".", "two.pgm")};
    r.n_inputs = r.n_wanted = 6;
    ih_error_set(&r.in_input, IH_IO, "cannot read the directory: from the directory walk");
    assert_int_equal(run(&r, 2), IH_OK);
    const enum ih_status expected[] = {IH_OK, IH_IO, IH_UNKNOWN, IH_IO, IH_IO, IH_OK};
    assert_memory_equal(r.statuses, expected, sizeof expected);
    assert_int_equal(r.sum, 3);
}

/* Someone types a list of files: each is counted before the next one is asked for. */
TEST(inputs_that_wait_for_results)
{
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct run r = {.folder = *state,
                        NAMES("one.pgm", "two.pgm"),
                        .n_inputs = 40,
                        .n_wanted = 41,
                        .waits_for_results = true};
        assert_int_equal(run(&r, n_threads), IH_OK);
        assert_false(r.is_late);
        assert_int_equal(r.sum, 60);
    }
}

TEST(reason_of_the_input_is_kept)
{
    struct run r = {.folder = *state, NAMES("broken"), .n_inputs = 1, .n_wanted = 1};
    ih_error_set(&r.in_input, IH_IO, "from the directory walk");
    assert_int_equal(run(&r, 1), IH_OK);
    assert_string_equal(r.last_error.message, "from the directory walk");
}

/* The file that results are written to is not counted; it ends the scan. */
TEST(input_that_is_the_output)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    static const char *const names[] = {"one.pgm", "two.pgm"};
    for (size_t i = 0; i < 2; i++) {
        struct run r = {
            .folder = *state, NAMES("one.pgm", "two.pgm"), .n_inputs = 2, .n_wanted = 2};
        char *path = file_path(*state, names[i]);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        struct ih_file_identity output = {st.st_dev, st.st_ino};
        assert_int_equal(run_with(&r, 1, &output, &cpu), IH_CONFLICT);
        assert_int_equal(r.n_taken, i);
        free(path);
    }
}

/* Being refused for another reason does not hide that it is the output. */
TEST(refused_input_that_is_the_output)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    struct run r = {.folder = *state, NAMES("large.pgm"), .n_inputs = 1, .n_wanted = 1};
    char *path = file_path(*state, "large.pgm");
    struct stat st;
    assert_int_equal(run(&r, 1), IH_OK);
    assert_int_equal(r.statuses[0], IH_LIMIT);
    assert_int_equal(stat(path, &st), 0);
    struct ih_file_identity output = {st.st_dev, st.st_ino};
    free(path);
    r.n_given = r.n_taken = 0;
    assert_int_equal(run_with(&r, 1, &output, &cpu), IH_CONFLICT);
    assert_int_equal(r.n_taken, 0);
}

TEST(unit_that_does_not_exist)
{
    size_t n_tried = 0;
    for (size_t i = 0; ih_backends[i]; i++) {
        struct ih_device_options options = {
            .backend = ih_backends[i]->name, .ordinals = {1000}, .n_ordinals = 1};
        struct run r = {.folder = *state, NAMES("one.pgm", "two.pgm"), .n_wanted = 100};
        if (strcmp(options.backend, "cpu") == 0)
            continue; /* has a single unit */
        r.n_inputs = 100;
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        assert_true(strlen(r.last_error.message) > 0);
        assert_int_equal(r.sum, 0);
        r.n_inputs = 0; /* the same without inputs */
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        n_tried++;
    }
    if (n_tried == 0)
        skip("no GPU code in this build");
}

TEST(backend_that_is_not_in_the_build)
{
    const struct ih_device_options no_backend = {.backend = "abacus"};
    const struct ih_device_options no_kernel = {.backend = "cpu", .with.kernel = "no_such_kernel"};
    struct ih_device *device = NULL;
    struct ih_error error;
    assert_int_equal(ih_device_open(&no_backend, &device, &error), IH_USAGE);
    assert_int_equal(ih_device_open(&no_kernel, &device, &error), IH_USAGE);
    assert_null(device);
}

/* ---- members, from an archive's reader that an attacker controls ---- */

enum { MEMBERS = 1000, PATHS_MAX = 8 };

struct members {
    const char *paths[PATHS_MAX]; /* of the inputs, up to NULL; "-" is the archive */
    atomic_size_t n_given, n_taken;
    size_t n_wanted; /* 1: ends the run with the first result, before the archive is read */
    uint64_t n_pixels;
    bool has_no_paths, has_member;
};

/* Waits until *n is at least `least`, at most 30 s. */
static void wait_for(const atomic_size_t *n, size_t least)
{
    const struct timespec a_moment = {.tv_nsec = 1000 * 1000};
    for (unsigned i = 0; i < 30 * 1000 && atomic_load(n) < least; i++)
        nanosleep(&a_moment, NULL);
}

static bool next_path(void *user, struct ih_input *input)
{
    struct members *m = user;
    const char *path = m->paths[m->n_given];
    if (!path)
        return false;
    m->n_given++;
    *input = (struct ih_input){.path = m->has_no_paths ? NULL : strdup(path),
                               .is_named = true,
                               .is_stdin = strcmp(path, "-") == 0};
    if (m->has_no_paths)
        ih_error_set(&input->error, IH_MEMORY, "out of memory");
    return true;
}

static bool take_pixels(void *user, const char *path, const struct ih_result *result)
{
    struct members *m = user;
    const struct timespec a_while = {.tv_nsec = 100 * 1000 * 1000};
    size_t n_paths = 0;
    (void)path;
    assert_non_null(result->path);
    m->has_member = m->has_member || strncmp(result->path, "-/", 2) == 0;
    m->n_pixels += result->status == IH_OK ? result->histogram.n_pixels : 0;
    if (m->n_wanted == 1) { /* those behind the archive are counted first */
        while (m->paths[n_paths])
            n_paths++;
        wait_for(&m->n_given, n_paths);
        nanosleep(&a_while, NULL);
    }
    return ++m->n_taken < m->n_wanted;
}

struct archive {
    struct packets packets; /* must be first */
    const struct members *members;
};

static enum ih_status read_packets(struct ih_remote_decoder *remote, uint8_t *bytes,
                                   size_t capacity, size_t *n, struct ih_error *err)
{
    const struct members *m = ((struct archive *)remote)->members;
    if (m->n_wanted == 1)
        wait_for(&m->n_taken, 1);
    return packets_read(remote, bytes, capacity, n, err);
}

/* Runs with an archive of n members called name, each with this content, on standard input. */
static void run_members(struct members *m, const char *name, const char *content, size_t n)
{
    FILE *head = tmpfile();
    const int before = dup(STDIN_FILENO);
    assert_non_null(head);
    fputs("PK\3\4", head); /* so it is taken for a zip file */
    rewind(head);
    assert_int_equal(dup2(fileno(head), STDIN_FILENO), STDIN_FILENO);
    fclose(head);
    const uint32_t n_name = (uint32_t)strlen(name), n_content = (uint32_t)strlen(content);
    const struct ih_packet member = {
        .kind = IH_PACKET_MEMBER, .n_bytes = n_name, .size_bytes = n_content};
    const struct ih_packet data = {.kind = IH_PACKET_DATA, .n_bytes = n_content};
    const struct ih_packet done = {.kind = IH_PACKET_DONE}, end = {.kind = IH_PACKET_END};
    uint8_t *bytes = malloc((n + 1) * (4 * sizeof member + n_name + n_content)), *to = bytes;
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        to = (uint8_t *)memcpy(to, &member, sizeof member) + sizeof member;
        to = (uint8_t *)memcpy(to, name, n_name) + n_name;
        if (n_content > 0) {
            to = (uint8_t *)memcpy(to, &data, sizeof data) + sizeof data;
            to = (uint8_t *)memcpy(to, content, n_content) + n_content;
        }
        to = (uint8_t *)memcpy(to, &done, sizeof done) + sizeof done;
    }
    to = (uint8_t *)memcpy(to, &end, sizeof end) + sizeof end;
    struct archive archive = {{.remote = {packets_open, read_packets, packets_next, packets_close},
                               .next = bytes,
                               .n_left = (size_t)(to - bytes)},
                              m};
    struct ih_remote_decoder *remote = &archive.packets.remote;
    const struct ih_remote_decoders readers = {packets_make, packets_close, &remote};
    const struct ih_device_options cpu = {.backend = "cpu"};
    const struct ih_scan_options options = {.n_threads = 4,
                                            .decode = {.max_pixels = 100},
                                            .measure.luma = &ih_luma_bt709,
                                            .measure.clip_high = 255,
                                            .reads_archives = true,
                                            .archive_readers = &readers,
                                            .makes_thumbnails = true};
    const struct taking calls = {
        .next = next_path, .next_user = m, .take = take_pixels, .take_user = m};
    struct ih_device *device = NULL;
    struct ih_error error = {0};
    assert_int_equal(ih_device_open(&cpu, &device, &error), IH_OK);
    assert_int_equal(take_all(device, &options, &calls, &error), IH_OK);
    ih_device_close(device);
    free(bytes);
    close(STDIN_FILENO);
    assert_true(before < 0 || dup2(before, STDIN_FILENO) == STDIN_FILENO);
    close(before);
}

/* Whatever the reader sends, a member is never a file on the disk. */
TEST(a_member_is_no_file)
{
    if (!ih_archive_decoders[0])
        skip("no libarchive in this build");
    char before[4096], *file = file_path(*state, "-/secret.pgm"), *folder = file_path(*state, "-");
    struct members m = {.paths = {"-"}, .n_wanted = 10};
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(folder, 0700), 0);
    make_pgm(*state, "-/secret.pgm", 1);
    assert_int_equal(chdir(*state), 0);
    run_members(&m, "secret.pgm", "", 1);
    assert_true(m.has_member);
    assert_int_equal(m.n_pixels, 0);
    assert_int_equal(chdir(before), 0);
    unlink(file);
    rmdir(folder);
    free(file);
    free(folder);
}

/* Results behind an archive that is not read to its end are released too, as the sanitizers see. */
TEST(an_early_end_within_an_archive)
{
    if (!ih_archive_decoders[0])
        skip("no libarchive in this build");
    char *one = file_path(*state, "one.pgm"), *two = file_path(*state, "two.pgm");
    struct members m = {.paths = {one, "-", two, one, two}, .n_wanted = 1};
    run_members(&m, "a.pgm", "P5 1 1 255 x", MEMBERS);
    assert_int_equal(m.n_taken, 1);
    assert_int_equal(m.n_given, 5);
    free(one);
    free(two);
}

TEST(no_memory_for_a_path)
{
    struct members m = {.paths = {"a", "b"}, .n_wanted = 10, .has_no_paths = true};
    run_members(&m, "", "", 0);
    assert_int_equal(m.n_taken, 2);
}

PROGRAM_WITH(make_folder, remove_folder)
