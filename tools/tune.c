// cameo tune: measures this machine, and prints the row that code for it is chosen by.
//
// What the instructions can do and what caches and memory deliver is measured by loops of their
// own. What the code reaches of it, and which of several sizes are best, is measured with programs
// that the compiler itself makes of small networks, each time with another row. Equal within a
// hundredth counts as no better: what the table says is kept then.

#include "base/file.h"
#include "base/host.h"
#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/winograd.h"
#include "tools/tune_parts.h"

#include <math.h>
#include <stdlib.h>

enum { OPT_OUT, OPT_CC, OPT_SECONDS };

static const ToolOption options[] = {
    [OPT_OUT] = {"-o", "FILE", "write the row there, for --tuning of compile and run"},
    [OPT_CC] = {"--cc", "CC", "the C compiler"},
    [OPT_SECONDS] = {"--seconds", "N", "leave what is not measured then as it is (default: 100)"},
    {0},
};

enum { SECONDS = 100, MOST_SECONDS = 3600, MOST_TRIES = 12 };

static void progress(const char *what)
{
    if (!tool_style.quiet)
        fprintf(stderr, "measuring %s\n", what);
}

// ---- rates -------------------------------------------------------------------------------------

static double limited(double v, double least, double most)
{
    return v < least ? least : v > most ? most : v;
}

// Sets what cycles are counted by.
static void set_rates(Tune *t)
{
    const Peaks *p = &t->peaks;
    double memory = p->memory, best = 1.02 * memory;
    t->row.products = p->floats / (2 * t->row.lanes * p->clock);
    t->row.squares = p->square_bytes > 0 && p->square_pairs > 0;
    t->row.words = t->row.squares == 0 && p->pairs > 1.5 * p->floats && p->bytes > 2 * p->floats;
    t->row.stream = 0;
    for (int i = 0; i < 3; i++)
        if (p->ahead[i] > best) {
            best = memory = p->ahead[i];
            t->row.stream = TUNE_AHEAD << i;
        }
    t->row.bytes = memory / p->clock;
}

// x and y of a*x + b*y = c for two equations; false: they do not tell.
static bool solve(const double a[2], const double b[2], const double c[2], double *x, double *y)
{
    const double det = a[0] * b[1] - a[1] * b[0];
    if (!(fabs(det) > 1e-6 * fabs(a[0] * b[1])))
        return false;
    *x = (c[0] * b[1] - c[1] * b[0]) / det;
    *y = (a[0] * c[1] - a[1] * c[0]) / det;
    return *x > 0 && *y > 0;
}

static TuneTry convolution(const Tune *t, int64_t channels, int64_t size, int64_t window,
                           const char *first, const char *second)
{
    return (TuneTry){
        {TUNE_CONV, channels, channels, size, window}, t->row, {first, second, NULL}, 0};
}

// What direct convolutions and Winograd's tiles reach: many channels are products, few are moves.
static bool measure_windows(Tune *t)
{
    static const int64_t channels[] = {256, 16}, sizes[] = {28, 112};
    TuneTry tries[4];
    double a[2], b[2], c[2], direct = 0, share, moves;
    progress("convolutions directly and by Winograd's tiles");
    for (int i = 0; i < 2; i++) {
        tries[2 * i] = convolution(t, channels[i], sizes[i], 3, "--no-winograd", NULL);
        tries[2 * i + 1] = convolution(t, channels[i], sizes[i], 3, "--winograd", "4");
    }
    if (!tune_times(t, tries, 4))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t size[2] = {sizes[i], sizes[i]};
        const double cycles = 1e6 * t->peaks.clock; // in a millisecond
        ConvWork w = winograd_work(channels[i], channels[i], size, 0, 3, t->row.lanes);
        direct += w.products / t->row.products / (tries[2 * i].ms * cycles) / 2;
        w = winograd_work(channels[i], channels[i], size, 4, 3, t->row.lanes);
        a[i] = w.products / t->row.products;
        b[i] = w.moves;
        c[i] = tries[2 * i + 1].ms * cycles;
    }
    t->row.direct = limited(direct, 0.05, 1);
    if (solve(a, b, c, &share, &moves)) {
        t->row.transformed = limited(1 / share, 0.05, 1);
        t->row.moves = limited(1 / moves, 0.1, 16);
    }
    return true;
}

// What bfloat16 is worth to convolutions: products are many in the first, elements in the second.
static bool measure_halves(Tune *t)
{
    static const int64_t channels[] = {256, 64}, sizes[] = {14, 56}, windows[] = {3, 1};
    TuneTry tries[4];
    double a[2], b[2], c[2], share, copied;
    if (!processor_has_words(&t->row)) {
        t->row.halves = 1; // they are float32's
        return true;
    }
    progress("convolutions of bfloat16");
    for (int i = 0; i < 2; i++) {
        tries[2 * i] = convolution(t, channels[i], sizes[i], windows[i], "--no-winograd", NULL);
        tries[2 * i + 1] = convolution(t, channels[i], sizes[i], windows[i], "--precision", "bf16");
        tries[2 * i + 1].row.halves = 64; // whatever it costs
        tries[2 * i + 1].row.copied = 0;
    }
    if (!tune_times(t, tries, 4))
        return false;
    for (int i = 0; i < 2; i++) {
        const double elements = (double)(channels[i] * sizes[i] * sizes[i]);
        a[i] = elements * (double)(channels[i] * windows[i] * windows[i]);
        b[i] = 2 * elements;
        c[i] = a[i] * tries[2 * i + 1].ms / tries[2 * i].ms;
    }
    if (solve(a, b, c, &share, &copied)) {
        t->row.halves = limited(1 / share, 0.1, 64);
        t->row.copied = limited(copied, 0, 10000);
    }
    return true;
}

// From how many rows on products of float32 go by three terms of bfloat16: the time of both is a
// line over the rows.
static bool measure_split(Tune *t)
{
    static const int64_t rows[] = {64, 128};
    TuneTry tries[4];
    t->row.split = 0;
    if (t->row.squares == 0)
        return true;
    progress("products by terms of bfloat16");
    for (int i = 0; i < 4; i++) {
        tries[i] = (TuneTry){{TUNE_PRODUCT, 1536, 1536, rows[i / 2], 0}, t->row, {NULL}, 0};
        tries[i].row.split = i % 2;
    }
    if (!tune_times(t, tries, 4))
        return false;
    const double few = tries[1].ms - tries[0].ms, many = tries[3].ms - tries[2].ms;
    if (many < 0) {
        const double even = (double)rows[0] + (double)(rows[1] - rows[0]) * few / (few - many);
        t->row.split = ceil(limited(even, 16, (double)rows[1]) / 16) * 16;
    }
    return true;
}

// What convolutions by terms reach beside what else the cost model counts for them.
static bool measure_terms(Tune *t)
{
    enum { CHANNELS = 512, SIDE = 28 };
    if (t->row.squares == 0)
        return true;
    progress("convolutions by terms of bfloat16");
    TuneTry try = convolution(t, CHANNELS, SIDE, 1, "--no-winograd", NULL);
    try.row.direct = 0.05; // whatever they cost
    try.row.terms = 64;
    if (!tune_times(t, &try, 1))
        return false;
    t->row.terms = limited(
        split_conv_rate(&t->row, CHANNELS, CHANNELS, SIDE * SIDE, 1e6 * t->peaks.clock * try.ms), 0,
        64);
    return true;
}

// ---- sizes -------------------------------------------------------------------------------------

// The best of some values of one column of the row, the first of which is what holds: `models` are
// run with each, and their times multiplied.
static bool choose(Tune *t, const char *what, double *column, const double *values, uint32_t n,
                   const TuneModel *models, uint32_t nmodels)
{
    TuneTry tries[MOST_TRIES];
    const double before = *column;
    double least = 0.99;
    progress(what);
    for (uint32_t i = 0; i < n * nmodels; i++) {
        *column = values[i / nmodels];
        tries[i] = (TuneTry){models[i % nmodels], t->row, {"--no-winograd"}, 0};
    }
    *column = before;
    if (!tune_times(t, tries, n * nmodels))
        return false;
    for (uint32_t i = 1; i < n; i++) {
        double ratio = 1;
        for (uint32_t k = 0; k < nmodels; k++)
            ratio *= pow(tries[i * nmodels + k].ms / tries[k].ms, 1.0 / nmodels);
        if (ratio < least) {
            least = ratio;
            *column = values[i];
        }
    }
    return true;
}

static bool measure_sizes(Tune *t)
{
    static const TuneModel products[] = {{TUNE_PRODUCT, 768, 768, 128, 0},
                                         {TUNE_CONV, 256, 256, 14, 1}},
                           deep[] = {{TUNE_PRODUCT, 1536, 512, 128, 0}},
                           chains[] = {{TUNE_CHAIN, 24, 144, 56, 0}, {TUNE_CHAIN, 32, 192, 28, 0}};
    Processor *r = &t->row;
    const double rows[] = {0, r->lanes < 16 ? 8 : 4}, ahead[] = {0, 32, 192};
    const double steps[] = {0, 4, r->lanes == 8 ? 2 : 1}, values[] = {256, 128, 96};
    const double kept[] = {r->kept, floor(r->second * 3 / 16), floor(r->second * 5 / 8)};
    const double band[] = {r->band, floor(r->second * 3 / 8), floor(r->second * 7 / 8)};
    r->rows = r->step = r->ahead = 0;
    r->deep = values[0];
    return choose(t, "tiles: rows", &r->rows, rows, 2, products, 2) &&
           choose(t, "tiles: values of k in a turn", &r->step, steps, 3, products, 2) &&
           choose(t, "tiles: what is asked for", &r->ahead, ahead, 3, products, 2) &&
           choose(t, "products: values of k in a block", &r->deep, values, 3, products, 1) &&
           choose(t, "products: what stays in the second cache", &r->kept, kept, 3, deep, 1) &&
           choose(t, "chains: what stays in the second cache", &r->band, band, 3, chains, 2);
}

// ---- command -----------------------------------------------------------------------------------

static void print_comments(const Tune *t, Buf *out)
{
    const Peaks *p = &t->peaks;
    buf_printf(out, "// cameo tune: one core at %.2f GHz; giga-operations a second:\n", p->clock);
    buf_printf(out, "// float32 %.0f", p->floats);
    if (p->pairs > 0)
        buf_printf(out, ", bfloat16 in vectors %.0f, %.2f of float32's", p->pairs,
                   p->pairs / p->floats);
    if (p->bytes > 0)
        buf_printf(out, ", bytes in vectors %.0f", p->bytes);
    if (p->square_pairs > 0)
        buf_printf(out, ",\n// bfloat16 in matrix registers %.0f, bytes %.0f", p->square_pairs,
                   p->square_bytes);
    buf_printf(out,
               ".\n// Gigabytes a second read: first cache %.0f, second %.0f, four times its size "
               "%.0f, memory %.1f;\n"
               "// %.1f, %.1f and %.1f where what is 2, 4 and 8 KiB ahead is asked for.\n",
               p->first, p->second, p->third, p->memory, p->ahead[0], p->ahead[1], p->ahead[2]);
    if (t->late)
        buf_printf(out, "// Stopped after %u seconds: columns that were to come are the table's.\n",
                   t->seconds);
}

static bool measure(Tune *t)
{
    double load;
    if (!tool_style.quiet && getloadavg(&load, 1) == 1 && load > 1)
        fprintf(stderr,
                "other programs are running (load %.1f): the row will be of less than this "
                "machine can do\n",
                load);
    progress("what instructions can do, and reading");
    if (!tune_peaks(t))
        return false;
    set_rates(t);
    t->row.terms = 0;
    const bool done = measure_windows(t) && measure_halves(t) && measure_split(t) &&
                      measure_sizes(t) && measure_terms(t);
    return done || (t->late && !t->error.len);
}

static int tune(const Tool *tool, const char *cc, const char *out, uint32_t seconds)
{
    Tune t = {.arena = arena_new(), .cc = cc, .seconds = seconds};
    t.end = tune_clock() + seconds;
    Buf text = {0};
    t.row = processor_of(NULL);
    const char *name = host_processor();
    t.row.names = str_printf(t.arena, " %s ", *name ? name : "native").at;
    bool ok = dir_temporary(t.arena, &t.dir, &t.error);
    const bool measured = ok && measure(&t);
    if (measured) {
        print_comments(&t, &text);
        processor_print(&text, &t.row);
        ok = !out || file_write(out, text.at, text.len, 0644, &t.error, t.arena);
        if (!out)
            fputs(text.at, stdout);
    }
    if (!measured || !ok)
        tool_error(tool, 0, "%.*s", STR_ARG(t.error));
    if (t.dir)
        dir_remove(t.dir);
    buf_free(&text);
    arena_free(t.arena);
    return measured ? ok ? EXIT_CLEAN : EXIT_BYTES : EXIT_USAGE;
}

static int run(const Tool *t, int argc, char **argv)
{
    const char *value, *cc = NULL, *out = NULL;
    uint32_t seconds = SECONDS;
    Args args = args_of(t, argc, argv);
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP)
            return EXIT_CLEAN;
        if (option == ARG_BAD)
            return EXIT_USAGE;
        if (option == ARG_FILE)
            return tool_error(t, EXIT_USAGE, "what is %s? (see cameo help tune)", value);
        if (option == OPT_SECONDS && !tool_count(value, MOST_SECONDS, &seconds))
            return tool_error(t, EXIT_USAGE, "--seconds is a number from 1 to %d", MOST_SECONDS);
        if (option != OPT_SECONDS)
            *(option == OPT_CC ? &cc : &out) = value;
    }
    return tune(t, cc, out, seconds);
}

const Tool tool_tune = {"tune", "[-o FILE] [--cc CC] [--seconds N]",
                        "measures this machine: a row for --tuning of compile and run", options,
                        run};
