/* Limits that the machine and its control groups set for the process. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "tests/support/test.h"

#include "base/machine.h"
#include "tests/support/sanitizer.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNLIMITED UINT64_MAX

/* Each test has a temporary folder with a small copy of /sys/fs/cgroup and the list of groups. */
static int enter_folder(void **state)
{
    char name[] = "/tmp/test_machine.XXXXXX";
    *state = mkdtemp(name) ? realpath(name, NULL) : NULL;
    return *state ? chdir(*state) : -1;
}

static int leave_folder(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void expect(const char *groups, uint64_t limit)
{
    write_file("groups", groups);
    assert_int_equal(ih_control_group_memory("groups", "."), limit);
}

TEST_WITH(memory_limit, enter_folder, leave_folder)
{
    expect("0::/\n", UNLIMITED);
    mkdir("slurm", 0755);
    mkdir("slurm/job 7", 0755);
    mkdir("slurm/job 7/step", 0755);
    write_file("slurm/memory.max", "4000\n");
    write_file("slurm/job 7/memory.max", "3000\n");
    write_file("slurm/job 7/step/memory.max", "max\n");
    expect("0::/slurm/job 7/step\n", 3000); /* a limit applies to the groups below it */
    expect("0::/slurm/job 7", 3000);
    expect("0::/slurm\n", 4000);
    expect("0::/\n", UNLIMITED);
    write_file("slurm/memory.max", "2000\n"); /* the smallest limit applies */
    expect("0::/slurm/job 7/step\n", 2000);
    expect("1:name=systemd:/slurm\n4:memory,cpu:/slurm\n", UNLIMITED); /* version 1: ignored */
    expect("4:memory:/\n0::/slurm\n1:name=systemd:/\n", 2000);
}

TEST_WITH(memory_limit_in_a_container, enter_folder, leave_folder)
{
    write_file("memory.max", "5000\n");
    expect("0::/\n", 5000);
    expect("0::/docker/1f2e\n", 5000); /* the path outside, which does not exist */
    expect("0::/../../else\n", 5000);
}

TEST_WITH(invalid_list, enter_folder, leave_folder)
{
    assert_int_equal(ih_control_group_memory("nowhere", "."), UNLIMITED);
    write_file("memory.max", "7000\n");
    expect("", UNLIMITED);
    expect("\n0\n0:\n:\n", UNLIMITED);
    write_file("memory.max", "no number\n");
    expect("0::/\n", UNLIMITED);
}

static void expect_processors(const char *groups, uint64_t limit)
{
    write_file("groups", groups);
    assert_int_equal(ih_control_group_cores("groups", "."), limit);
}

TEST(memory)
{
    const uint64_t n_bytes = ih_machine_memory();
    assert_true(n_bytes >= 1 << 20 && (size_t)n_bytes == n_bytes);
}

TEST_WITH(cpu_time_limit, enter_folder, leave_folder)
{
    expect_processors("0::/\n", UNLIMITED);
    mkdir("pod", 0755);
    mkdir("pod/box", 0755);
    write_file("pod/cpu.max", "max 100000\n");
    write_file("pod/box/cpu.max", "200000 100000\n");
    expect_processors("0::/pod\n", UNLIMITED);
    expect_processors("0::/pod/box\n", 2);
    write_file("pod/box/cpu.max", "200001 100000\n"); /* rounded up */
    expect_processors("0::/pod/box\n", 3);
    write_file("pod/box/cpu.max", "max 100000\n"); /* applies to the groups below it */
    write_file("pod/cpu.max", "10000 250000\n");
    expect_processors("0::/pod/box\n", 1);
    expect_processors("0::/docker/1f2e\n", UNLIMITED);
    write_file("cpu.max", "350000 50000\n"); /* in a container: its own group is the topmost */
    expect_processors("0::/docker/1f2e\n", 7);
    expect_processors("1:cpu:/\n", UNLIMITED);
    static const char *const none[] = {"", "max", "200000\n", "200000 0\n", "-1 100000\n", "two"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        write_file("cpu.max", none[i]);
        expect_processors("0::/\n", UNLIMITED);
    }
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The test itself may run in a group with a limit. */
TEST(allowed_processors)
{
    cpu_set_t all, one;
    uint64_t limit = ih_control_group_cores("/proc/self/cgroup", "/sys/fs/cgroup");
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(ih_machine_cores(), least_of(limit, (uint64_t)CPU_COUNT(&all)));
    size_t first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned n = ih_machine_cores();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(n, 1);
}

/* ---- kept memory ---- */

static long n_faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* Returns n new bytes that have been written, and how many pages the system gave for them. */
static void *written(size_t n, long *n_pages)
{
    const long before = n_faults();
    unsigned char *p = malloc(n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i += 1024)
        ((volatile unsigned char *)p)[i] = 1;
    *n_pages = n_faults() - before;
    return p;
}

/* Freed memory is kept for the next image, but no more than allowed, wherever it is. */
TEST(kept_memory)
{
    enum { KEPT = 16 << 20, PAGE_MAX = 64 << 10 };
    long n_pages;
    if (HAS_SANITIZER || is_emulated())
        skip("no allocator or pages of this system");
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* huge pages are too few to be counted */
    ih_machine_keep_memory(KEPT, 1, false);
    free(written(KEPT / 2, &n_pages));
    if (!ih_machine_return_memory(KEPT))
        skip("no allocator or pages of this system");
    free(written(KEPT / 2, &n_pages));
    assert_true(n_pages < 10);

    void *large = written(2 * KEPT, &n_pages), *last = written(KEPT / 2, &n_pages);
    free(large);
    large = written(2 * KEPT, &n_pages); /* between blocks in use */
    assert_true(n_pages < 10);
    free(large);
    ih_machine_return_memory(KEPT);
    large = written(2 * KEPT, &n_pages);
    assert_true(n_pages >= 2 * KEPT / PAGE_MAX);
    free(large);
    free(last);
}
