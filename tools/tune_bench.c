// Measuring for `cameo tune`: programs that the compiler makes, and what the instructions can do.

#include "base/file.h"
#include "base/process.h"
#include "codegen/embedded.h"
#include "codegen/toolchain.h"
#include "tools/tune_parts.h"

#include <stdlib.h>
#include <time.h>

double tune_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *within(Tune *t, const char *name)
{
    return str_printf(t->arena, "%s/%s", t->dir, name).at;
}

static bool write_text(Tune *t, const char *name, const Buf *text)
{
    return file_write(within(t, name), text->at, text->len, 0644, &t->error, t->arena);
}

// Runs argv in the folder; what it says in `output`. false where it fails: its first line is the
// error.
static bool call(Tune *t, const char *const *argv, Buf *output)
{
    int status = 0;
    output->len = 0;
    if (!process_run(t->arena, t->dir, argv, output, &status, &t->error))
        return false;
    if (status == 0)
        return true;
    const Str said = str_escaped(t->arena, (Str){output->at ? output->at : "", output->len});
    t->error = str_printf(t->arena, "%s: exit status %d: %.*s", argv[0], status, STR_ARG(said));
    return false;
}

// ---- what the instructions can do --------------------------------------------------------------

static const char measurement[] =
    "#include \"cameo_peaks.h\"\n#include <stdio.h>\n"
    "int main(int argc, char **argv)\n{\n"
    "    const size_t second = argc > 1 ? (size_t)strtoull(argv[1], 0, 10) : 1 << 20;\n"
    "    const size_t memory = (size_t)256 << 20;\n"
    "    printf(\"%g %g %g %g %g %g\\n\", cameo_peak(), cameo_peak_of_pairs(),\n"
    "           cameo_peak_of_words(), cameo_peak_of_squares(0), cameo_peak_of_squares(1),\n"
    "           cameo_peak_clock());\n"
    "    printf(\"%g %g %g %g %g %g %g\\n\", cameo_peak_read(16384, 0),\n"
    "           cameo_peak_read(second / 2, 0), cameo_peak_read(4 * second, 0),\n"
    "           cameo_peak_read(memory, 0), cameo_peak_read(memory, 2048),\n"
    "           cameo_peak_read(memory, 4096), cameo_peak_read(memory, 8192));\n"
    "    return 0;\n}\n";

static bool write_measurement(Tune *t)
{
    static const char *const headers[] = {"cameo_matrix.h", "cameo_peak.h", "cameo_peaks.h"};
    for (const EmbeddedFile *f = embedded_files; f->name; f++)
        for (int i = 0; i < 3; i++)
            if (strcmp(f->name, headers[i]) == 0 &&
                !write_text(t, f->name, &(Buf){.at = (char *)(uintptr_t)f->text, .len = f->len}))
                return false;
    Buf text = {0};
    buf_printf(&text, "%s", measurement);
    const bool ok = write_text(t, "peaks.c", &text);
    buf_free(&text);
    return ok;
}

// Without -mprefer-vector-width clang makes halves of vectors that are as wide as can be.
static bool compile_measurement(Tune *t, Buf *output)
{
    CompileOptions o = {.cc = t->cc};
    CompileReport report = {0};
    Build b = {.arena = t->arena, .o = &o, .report = &report, .dir = "/"};
    if (toolchain_find_compiler(&b) != 0) {
        t->error = report.error;
        return false;
    }
    const char *argv[] = {b.cc,
                          "-std=c11",
                          "-D_GNU_SOURCE",
                          "-O3",
                          "-ffp-contract=fast",
                          "-march=native",
                          "peaks.c",
                          "-o",
                          "peaks",
#if defined(__x86_64__)
                          "-mprefer-vector-width=512",
#endif
                          NULL};
    return call(t, argv, output);
}

bool tune_peaks(Tune *t)
{
    Peaks *p = &t->peaks;
    double *const to[] = {&p->floats,       &p->pairs,  &p->bytes,    &p->square_pairs,
                          &p->square_bytes, &p->clock,  &p->first,    &p->second,
                          &p->third,        &p->memory, &p->ahead[0], &p->ahead[1],
                          &p->ahead[2]};
    Buf output = {0};
    const char *argv[] = {"./peaks", str_printf(t->arena, "%.0f", t->row.second).at, NULL};
    bool ok = write_measurement(t) && compile_measurement(t, &output) && call(t, argv, &output);
    char *at = output.at;
    for (size_t i = 0; ok && i < sizeof to / sizeof *to; i++) {
        char *end;
        *to[i] = strtod(at, &end);
        ok = end != at;
        at = end;
    }
    if (!ok && !t->error.len)
        t->error = STR("the measurement of the peaks did not say what it found");
    buf_free(&output);
    return ok;
}

// ---- programs ----------------------------------------------------------------------------------

static void put_weights(Buf *out, const char *name, int64_t a, int64_t b, int64_t c)
{
    buf_printf(out, "float[%lld,%lld,%lld,%lld] %s = {", (long long)a, (long long)b, (long long)c,
               (long long)c, name);
    for (int64_t i = 0; i < a * b * c * c; i++)
        buf_printf(out, "%s.01", i ? "," : "");
    buf_printf(out, "}");
}

static void put_conv(Buf *out, const TuneModel *m)
{
    const long long size = m->size, pad = m->window / 2;
    buf_printf(out, "tune (float[1,%lld,%lld,%lld] x) => (float[1,%lld,%lld,%lld] y) <",
               (long long)m->channels, size, size, (long long)m->rows, size, size);
    put_weights(out, "w", m->rows, m->channels, m->window);
    buf_printf(out, "> { y = Conv<pads = [%lld,%lld,%lld,%lld]>(x, w) }\n", pad, pad, pad, pad);
}

// An inverted residual: `rows` planes between its convolutions.
static void put_chain(Buf *out, const TuneModel *m)
{
    const long long size = m->size, channels = m->channels, rows = m->rows;
    buf_printf(out, "tune (float[1,%lld,%lld,%lld] x) => (float[1,%lld,%lld,%lld] y) <", channels,
               size, size, channels, size, size);
    put_weights(out, "u", rows, channels, 1);
    buf_printf(out, ", ");
    put_weights(out, "v", rows, 1, 3);
    buf_printf(out, ", ");
    put_weights(out, "w", channels, rows, 1);
    buf_printf(out,
               ", float low = {0}, float high = {6}> {\n  a = Conv(x, u)\n"
               "  b = Clip(a, low, high)\n  c = Conv<group = %lld, pads = [1,1,1,1]>(b, v)\n"
               "  d = Clip(c, low, high)\n  y = Conv(d, w)\n}\n",
               rows);
}

static void put_product(Buf *out, const TuneModel *m)
{
    const long long size = m->size, channels = m->channels, rows = m->rows;
    buf_printf(out, "tune (float[%lld,%lld] x) => (float[%lld,%lld] y) <float[%lld,%lld] w = {",
               size, channels, size, rows, channels, rows);
    for (int64_t i = 0; i < channels * rows; i++)
        buf_printf(out, "%s.01", i ? "," : "");
    buf_printf(out, "}> { y = MatMul(x, w) }\n");
}

static bool write_model(Tune *t, const TuneModel *m)
{
    Buf text = {0};
    buf_printf(&text, "<ir_version: 10, opset_import: [\"\" : 21]>\n");
    (m->kind == TUNE_CONV ? put_conv : m->kind == TUNE_CHAIN ? put_chain : put_product)(&text, m);
    const bool ok = write_text(t, "model.onnxtxt", &text);
    buf_free(&text);
    return ok;
}

static bool compile_try(Tune *t, TuneTry *y, uint32_t number, Buf *output)
{
    Buf row = {0};
    processor_print(&row, &y->row);
    const bool written = write_text(t, "row", &row) && write_model(t, &y->model);
    buf_free(&row);
    const char *argv[16] = {"/proc/self/exe",
                            "compile",
                            "model.onnxtxt",
                            "--tuning",
                            "row",
                            "-o",
                            str_printf(t->arena, "net%u", number).at};
    uint32_t n = 7;
    if (t->cc) {
        argv[n++] = "--cc";
        argv[n++] = t->cc;
    }
    for (uint32_t i = 0; i < 4 && y->options[i]; i++)
        argv[n++] = y->options[i];
    return written && call(t, argv, output);
}

// The least time of some runs, in ms.
static bool run_try(Tune *t, TuneTry *y, uint32_t number, Buf *output)
{
    static const char key[] = "\"min_ms\":";
    const double guess = y->ms > 0 ? y->ms : 5; // about 30 ms
    const char *runs = str_printf(t->arena, "%d", guess > 10 ? 3 : (int)(30 / guess) + 1).at;
    const char *argv[] = {str_printf(t->arena, "./net%u", number).at, "--random", "--bench", runs,
                          NULL};
    if (!call(t, argv, output))
        return false;
    const char *at = strstr(output->at, key);
    const double ms = at ? strtod(at + sizeof key - 1, NULL) : 0;
    y->ms = ms > 0 && (y->ms <= 0 || ms < y->ms) ? ms : y->ms;
    return ms > 0;
}

bool tune_times(Tune *t, TuneTry *tries, uint32_t n)
{
    enum { ROUNDS = 5 };
    Buf output = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        t->late |= tune_clock() > t->end;
        ok = !t->late && compile_try(t, &tries[i], i, &output);
    }
    for (int round = 0; ok && round < ROUNDS; round++)
        for (uint32_t i = 0; ok && i < n; i++)
            ok = run_try(t, &tries[i], i, &output);
    buf_free(&output);
    return ok;
}
