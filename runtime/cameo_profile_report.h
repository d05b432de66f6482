/* What a profile says: a table of kernels, and a trace of each time that one ran. */
#ifndef CAMEO_PROFILE_REPORT_H
#define CAMEO_PROFILE_REPORT_H

#include "cameo_model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_cost(const void *a, const void *b)
{
    int64_t x = ((const cameo_kernel_time *)a)->nanoseconds,
            y = ((const cameo_kernel_time *)b)->nanoseconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* `least`: nanoseconds that the operations would take at the peak. */
static void print_time(const cameo_kernel_time *t, int64_t total, double least)
{
    const double ns = t->nanoseconds > 0 ? (double)t->nanoseconds : 1;
    fprintf(stderr, "%9.3f  %5.1f  %7lld", (double)t->nanoseconds / 1e6,
            total ? 100.0 * (double)t->nanoseconds / (double)total : 0.0, (long long)t->runs);
    if (t->operations >= 0)
        fprintf(stderr, "  %8.2f  %5.1f", (double)t->operations / ns, 100.0 * least / ns);
    else
        fprintf(stderr, "  %8s  %5s", "-", "-");
    if (t->bytes >= 0)
        fprintf(stderr, "  %9.3f  %6.2f", (double)t->bytes / 1e6 / (double)(t->runs ? t->runs : 1),
                (double)t->bytes / ns);
    else
        fprintf(stderr, "  %9s  %6s", "-", "-");
    fprintf(stderr, "  %s\n", t->kernel);
}

/* The peaks of `threads` cores for what the kernels multiply, in the headline. */
static void print_peaks(const double *peaks, long threads)
{
    static const char *const names[CAMEO_FACTORS] = {"float32", "bfloat16", "bytes"};
    fprintf(stderr, "%9s  %5s  %7s  %8s  %5s  %9s  %6s  kernel (peak: %.1f GFLOP/s, float32", "ms",
            "%", "runs", "GFLOP/s", "% pk", "MB a run", "GB/s", peaks[CAMEO_FLOAT32]);
    for (int i = CAMEO_FLOAT32 + 1; i < CAMEO_FACTORS; i++)
        if (peaks[i] > 0)
            fprintf(stderr, "; %s %.1f", names[i], peaks[i]);
    fprintf(stderr, ", %ld core%s)\n", threads, threads == 1 ? "" : "s");
}

static double least_time(const cameo_kernel_time *t, const double *peaks)
{
    const double peak = peaks[t->factors];
    return t->operations > 0 && peak > 0 ? (double)t->operations / peak : 0;
}

/* The kernels that ran, the dearest first, on stderr; shares are of the peak for what a kernel
 * multiplies. `threads` share the work. */
static void profile_table(const cameo_model *m, const cameo_context *x, long threads)
{
    int32_t n = 0, count = 0;
    cameo_kernel_time t, *all;
    cameo_kernel_time sum = {"in all", 0, 0, 0, 0, CAMEO_FLOAT32};
    double peaks[CAMEO_FACTORS] = {m->peak_of(CAMEO_FLOAT32) * (double)threads}, least = 0;
    while (m->profile(x, count, &t) == 0)
        count++;
    all = (cameo_kernel_time *)calloc((size_t)count + 1, sizeof *all);
    for (int32_t i = 0; all && i < count; i++) {
        m->profile(x, i, &t);
        if (t.runs)
            all[n++] = t;
        if (peaks[t.factors] <= 0)
            peaks[t.factors] = m->peak_of(t.factors) * (double)threads;
        sum.nanoseconds += t.nanoseconds;
        least += least_time(&t, peaks);
        sum.operations += t.operations > 0 ? t.operations : 0;
        sum.bytes += t.bytes > 0 ? t.bytes : 0;
        sum.runs = t.runs > sum.runs ? t.runs : sum.runs;
    }
    if (all)
        qsort(all, (size_t)n, sizeof *all, by_cost);
    print_peaks(peaks, threads);
    for (int32_t i = 0; all && i < n; i++)
        print_time(&all[i], sum.nanoseconds, least_time(&all[i], peaks));
    print_time(&sum, sum.nanoseconds, least);
    free(all);
}

static void put_json(FILE *f, const char *s)
{
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*s);
        else
            fputc(*s, f);
}

/* The last times that kernels ran, in the Trace Event Format, which Perfetto and chrome://tracing
 * read. False where the file cannot be written, with errno. */
static bool profile_trace(const cameo_model *m, const cameo_context *x, const char *path)
{
    cameo_kernel_event e, first;
    cameo_kernel_time t;
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
               "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"");
    put_json(f, m->name);
    fprintf(f, "\"}}");
    for (int64_t i = 0; m->event(x, i, &e) == 0 && m->profile(x, e.kernel, &t) == 0; i++) {
        if (i == 0)
            first = e;
        const double runs = (double)t.runs;
        fprintf(f, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"");
        put_json(f, t.kernel);
        fprintf(f, "\",\"ts\":%.3f,\"dur\":%.3f,\"args\":{", (double)(e.begin - first.begin) / 1e3,
                (double)e.nanoseconds / 1e3);
        if (t.operations >= 0)
            fprintf(f, "\"operations\":%.0f%s", (double)t.operations / runs,
                    t.bytes >= 0 ? "," : "");
        if (t.bytes >= 0)
            fprintf(f, "\"bytes\":%.0f", (double)t.bytes / runs);
        fprintf(f, "}}");
    }
    fprintf(f, "\n]}\n");
    const bool written = !ferror(f);
    return fclose(f) == 0 && written;
}

#endif
