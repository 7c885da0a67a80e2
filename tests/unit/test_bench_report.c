/* The reports of --bench in each format, with one row of each status. */
#include "tests/support/test.h"

#include "bench/report.h"

/* A report of three rows of one task: ok, skipped and wrong. free() it. */
static char *report_of(enum ih_bench_format format, bool is_verbose)
{
    static const struct ih_bench_head head = {1 << 20, 4, NULL, "no \"usable\" GPU"};
    static const struct ih_bench_rung rung = {
        .device = "cuda", .name = "planted", .why = "it teaches nothing"};
    const struct ih_bench_task *task = ih_bench_tasks;
    struct ih_bench_report report;
    struct ih_bench_row row;
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&text, &n_bytes);
    assert_non_null(stream);
    for (; strcmp(task->name, "sum_float") != 0; task++)
        assert_true(task + 1 < ih_bench_tasks + ih_bench_n_tasks);
    ih_bench_report_begin(&report, stream, format, is_verbose, &head);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    row.times = (struct ih_bench_times){123456.4, 2345678};
    row.gb_per_s = 32.4;
    row.read_share = 0.25;
    row.speedup = 2;
    row.copy_speedup = 0.125;
    row.value = 33554432;
    row.error = 0.72719986;
    ih_bench_report_row(&report, &row);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    ih_bench_row_fail(&row, IH_BENCH_SKIPPED, "no \"usable\" GPU, alas");
    ih_bench_report_row(&report, &row);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    ih_bench_row_fail(&row, IH_BENCH_WRONG, "wrong: 1, not 2");
    ih_bench_row_fail(&row, IH_BENCH_FAILED, "the first reason stays");
    ih_bench_report_row(&report, &row);
    ih_bench_report_end(&report);
    assert_int_equal(fclose(stream), 0);
    return text;
}

TEST(csv)
{
    char *text = report_of(IH_BENCH_CSV, true);
    assert_string_equal(
        text,
        "task,device,rung,data,bytes,status,time_ns,gb_per_s,read_share,speedup,"
        "copy_time_ns,copy_speedup,value,error,reason\n"
        "sum_float,cuda,planted,1.23,4000000,ok,123456,32.400000,0.250000,2.000000,"
        "2345678,0.125000,33554432,7.271999e-01,\n"
        "sum_float,cuda,planted,1.23,4000000,skipped,,,,,,,,,\"no \"\"usable\"\" GPU, alas\"\n"
        "sum_float,cuda,planted,1.23,4000000,wrong,,,,,,,,,\"wrong: 1, not 2\"\n");
    free(text);
}

TEST(json)
{
    char *text = report_of(IH_BENCH_JSON, false);
    assert_string_equal(
        text,
        "{\"schema\":\"imghist-bench/1\",\"version\":\"" IH_VERSION "\",\"size_bytes\":1048576,"
        "\"cpu_threads\":4,\"gpu\":null,\"gpu_reason\":\"no \\\"usable\\\" GPU\",\"rungs\":[\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"ok\",\"time_ns\":123456,\"gb_per_s\":32.400000,"
        "\"read_share\":0.250000,\"speedup\":2.000000,\"copy_time_ns\":2345678,"
        "\"copy_speedup\":0.125000,\"value\":33554432,\"error\":7.271999e-01,\"reason\":null},\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"skipped\",\"time_ns\":null,\"gb_per_s\":null,"
        "\"read_share\":null,\"speedup\":null,\"copy_time_ns\":null,\"copy_speedup\":null,"
        "\"value\":null,\"error\":null,\"reason\":\"no \\\"usable\\\" GPU, alas\"},\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"wrong\",\"time_ns\":null,\"gb_per_s\":null,"
        "\"read_share\":null,\"speedup\":null,\"copy_time_ns\":null,\"copy_speedup\":null,"
        "\"value\":null,\"error\":null,\"reason\":\"wrong: 1, not 2\"}\n"
        "]}\n");
    free(text);
}

TEST(table)
{
    static const char *const parts[] = {"  cpu    4 threads\n",
                                        "  cuda   not available: no \"usable\" GPU\n",
                                        "\nsum of floats, 3.8147 MiB\n",
                                        " 123.46 us     32.4    0.250      2.00     2.35 ms",
                                        "33554432            7.3e-01\n",
                                        "1.23       not run: no \"usable\" GPU, alas\n",
                                        "1.23       wrong: wrong: 1, not 2\n"};
    char *text = report_of(IH_BENCH_TABLE, false), *verbose = report_of(IH_BENCH_TABLE, true);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is not in:\n%s", parts[i], text);
    assert_null(strstr(text, "it teaches nothing"));
    assert_non_null(strstr(verbose, "it teaches nothing"));
    free(text);
    free(verbose);
}
