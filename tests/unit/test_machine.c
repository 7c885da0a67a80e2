/* What the machine, and whoever started the program, let it use. */
#define _GNU_SOURCE /* sched_setaffinity */

#include "cli/cgroup.h"
#include "cli/machine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define UNLIMITED UINT64_MAX

/* Each test is in a folder of its own, a small copy of /sys/fs/cgroup with the list beside it. */
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

static void test_version_2(void **state)
{
    (void)state;
    expect("0::/\n", UNLIMITED);
    mkdir("slurm", 0755);
    mkdir("slurm/job 7", 0755);
    mkdir("slurm/job 7/step", 0755);
    write_file("slurm/memory.max", "4000\n");
    write_file("slurm/job 7/memory.max", "3000\n");
    write_file("slurm/job 7/step/memory.max", "max\n");
    expect("0::/slurm/job 7/step\n", 3000); /* a limit holds for the groups below it */
    expect("0::/slurm/job 7", 3000);
    expect("0::/slurm\n", 4000);
    expect("0::/\n", UNLIMITED);
    write_file("slurm/memory.max", "2000\n"); /* and the least of all counts */
    expect("0::/slurm/job 7/step\n", 2000);
    expect("1:name=systemd:/slurm\n", UNLIMITED);
}

static void test_version_2_in_a_container(void **state)
{
    (void)state;
    write_file("memory.max", "5000\n");
    expect("0::/\n", 5000);
    expect("0::/docker/1f2e\n", 5000); /* the path outside, which is not there */
    expect("0::/../../else\n", 5000);
}

static void test_version_1(void **state)
{
    (void)state;
    mkdir("memory", 0755);
    mkdir("memory/a", 0755);
    mkdir("memory/a/b", 0755);
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/a/b/memory.limit_in_bytes", "6000\n");
    write_file("memory.max", "1\n"); /* of version 2, where this process is not */
    expect("9:cpu,memory:/a/b\n", 6000);
    expect("9:cpu:/\n4:memory,cpu:/a/b/c\n1:memory_x:/\n", 6000);
    expect("4:memory:/a\n", UINT64_C(9223372036854771712));
    expect("4:xmemory:/a/b\n", UNLIMITED);
}

static void test_what_is_no_list(void **state)
{
    (void)state;
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
    assert_int_equal(ih_control_group_processors("groups", "."), limit);
}

static void test_processor_time_of_version_2(void **state)
{
    (void)state;
    expect_processors("0::/\n", UNLIMITED);
    mkdir("pod", 0755);
    mkdir("pod/box", 0755);
    write_file("pod/cpu.max", "max 100000\n");
    write_file("pod/box/cpu.max", "200000 100000\n");
    expect_processors("0::/pod\n", UNLIMITED);
    expect_processors("0::/pod/box\n", 2);
    write_file("pod/box/cpu.max", "200001 100000\n"); /* rounded up */
    expect_processors("0::/pod/box\n", 3);
    write_file("pod/box/cpu.max", "max 100000\n"); /* a limit holds for the groups below it */
    write_file("pod/cpu.max", "10000 250000\n");
    expect_processors("0::/pod/box\n", 1);
    expect_processors("0::/docker/1f2e\n", UNLIMITED);
    write_file("cpu.max", "350000 50000\n"); /* in a container: the topmost one is its own */
    expect_processors("0::/docker/1f2e\n", 7);
    expect_processors("1:cpu:/\n", UNLIMITED);
    static const char *const none[] = {"", "max", "200000\n", "200000 0\n", "-1 100000\n", "two"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        write_file("cpu.max", none[i]);
        expect_processors("0::/\n", UNLIMITED);
    }
}

static void test_processor_time_of_version_1(void **state)
{
    (void)state;
    mkdir("cpu", 0755);
    mkdir("cpu/a", 0755);
    mkdir("cpu/a/b", 0755);
    write_file("cpu/cpu.cfs_quota_us", "-1\n"); /* no limit */
    write_file("cpu/cpu.cfs_period_us", "100000\n");
    write_file("cpu/a/cpu.cfs_quota_us", "400000\n");
    expect_processors("5:cpu,cpuacct:/a/b\n", UNLIMITED); /* of no known period */
    write_file("cpu/a/cpu.cfs_period_us", "100000\n");
    write_file("cpu/a/b/cpu.cfs_quota_us", "150000\n");
    write_file("cpu/a/b/cpu.cfs_period_us", "100000\n");
    expect_processors("5:cpu,cpuacct:/a/b\n", 2);
    expect_processors("5:cpuacct,cpu:/a\n", 4);
    expect_processors("5:cpu:/\n", UNLIMITED);
    expect_processors("5:cpuset:/a/b\n4:cpuacct:/a/b\n0::/a/b\n", UNLIMITED);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* This process may be in a group with a limit itself. */
static void test_processors_that_it_may_run_on(void **state)
{
    cpu_set_t all, one;
    uint64_t limit = ih_control_group_processors("/proc/self/cgroup", "/sys/fs/cgroup");
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(ih_machine_processors(), least_of(limit, (uint64_t)CPU_COUNT(&all)));
    size_t first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned n = ih_machine_processors();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(n, 1);
}

static void test_files_up_to_the_hard_limit(void **state)
{
    struct rlimit before, after;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {16, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    ih_machine_allow_files();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(after.rlim_cur, before.rlim_max);
    assert_int_equal(after.rlim_max, before.rlim_max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version_2, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_version_2_in_a_container, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_version_1, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_list, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_processor_time_of_version_2, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(test_processor_time_of_version_1, enter_folder,
                                        leave_folder),
        cmocka_unit_test(test_processors_that_it_may_run_on),
        cmocka_unit_test(test_files_up_to_the_hard_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
