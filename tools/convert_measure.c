// Calibration: what the values of a model are on data sets, how much their rounding moves its
// outputs, and how far a converted model's outputs are from the model's own.

#include "tools/calib.h"
#include "tools/convert.h"
#include "tools/mixtures.h"
#include "tools/sensitivity.h"
#include "tools/tails.h"

#include <math.h>
#include <stdlib.h>

// ---- what values are ----------------------------------------------------------------------------

int convert_measure_values(ConvertRun *r)
{
    return calib_measure(r->tool, r->model, r->calibration, r->arena, &r->measured);
}

// Relative variance that value k's rounding adds, the sum over the outputs.
static double variance_of(const ConvertRun *r, const SensTable *t, uint32_t k)
{
    double sum = 0;
    if (t->report.values.at[k].exact && t->report.values.at[k].kind == SENS_OF_NODE)
        return 0;
    for (uint32_t o = 0; o < t->report.outputs.len; o++) {
        const double *n = sens_numbers(t, o, k);
        double scale = sens_scale(t, o);
        sum += scale > 0 ? n[r->options.to == DT_F16 ? SENS_F16 : SENS_BF16] / scale : 0;
    }
    return isfinite(sum) ? sum : 1;
}

int convert_measure_noise(ConvertRun *r)
{
    SensOptions o = {.model = r->model, .data = &r->calibration, .ndata = 1};
    SensTable t = {0};
    o.compile.threads = 1;
    int status = sens_run(r->tool, &o, &t);
    r->noise_ids.arena = r->arena;
    for (uint32_t k = 0; !status && k < t.report.values.len; k++) {
        bool added;
        Str name = str_copy(r->arena, t.report.values.at[k].name);
        uint32_t *at = map_put(&r->noise_ids, name, &added);
        if (added) {
            *at = r->noises.len;
            vec_push(r->arena, &r->noises, 0.0);
        }
        r->noises.at[*at] += variance_of(r, &t, k);
    }
    sens_free(&t);
    return status;
}

// ---- how far outputs are ------------------------------------------------------------------------

typedef struct Running {
    ConvertRun *r;
    const int32_t *given; // the dtypes that data come in
    const cameo_model *m;
    cameo_context *x;
    uint32_t set;
    Mixtures *mixtures; // NULL: of the data sets alone
    int (*take)(ConvertRun *r, const cameo_model *m, const cameo_context *x, uint32_t set);
} Running;

// An input in the dtype that the model takes, in memory of its own.
static int cast_input(const Tool *t, cameo_tensor *x, DType to)
{
    const size_t bytes = dtype_info(to)->bytes;
    char *fresh = malloc((size_t)x->count * bytes + 1);
    if (!fresh)
        return tool_error(t, EXIT_BYTES, "not enough memory");
    for (int64_t i = 0; i < x->count; i++)
        scalar_store(to, fresh + (size_t)i * bytes, (Scalar){.f = cameo_element(x, i)});
    x->elements = fresh;
    x->dtype = (int32_t)to;
    return EXIT_CLEAN;
}

static int run_inputs(Running *run, const Inputs *in, uint32_t set)
{
    const Tool *t = run->r->tool;
    Inputs as = *in;
    int status = EXIT_CLEAN;
    as.tensors = calloc((size_t)in->n + 1, sizeof *as.tensors);
    if (!as.tensors)
        return tool_error(t, EXIT_BYTES, "not enough memory");
    for (int32_t i = 0; i < in->n; i++)
        as.tensors[i] = in->tensors[i];
    for (int32_t i = 0; i < in->n && !status; i++)
        if (in->given[i] && run->given[i] != run->m->inputs[i].dtype)
            status = cast_input(t, &as.tensors[i], (DType)run->m->inputs[i].dtype);
    if (!status)
        status = inputs_set(t, run->m, run->x, &as);
    if (!status && run->m->run(run->x) != 0)
        status = tool_error(t, EXIT_FINDINGS, "%s", run->m->error(run->x));
    if (!status)
        status = run->take(run->r, run->m, run->x, set);
    for (int32_t i = 0; i < in->n; i++)
        if (as.tensors[i].elements != in->tensors[i].elements)
            free(as.tensors[i].elements);
    free(as.tensors);
    return status;
}

static int run_set(void *user, Inputs *in)
{
    Running *run = user;
    int status = run_inputs(run, in, run->set++);
    if (!status && run->mixtures)
        mixtures_take(run->mixtures, in);
    return status;
}

// What fails on mixtures, or has no room, says nothing of the data sets.
static void run_mixtures(Running *run)
{
    const bool quiet = tool_style.quiet;
    tool_style.quiet = true;
    run->r->mixing = true;
    for (uint32_t n = mixtures_count(run->mixtures); n > 0; n--)
        if (run_inputs(run, mixtures_next(run->mixtures), run->set++) != EXIT_CLEAN)
            break;
    run->r->mixing = false;
    tool_style.quiet = quiet;
}

// A model whose inputs are declared in the dtypes that data come in: those of the first that is
// run.
static cameo_model as_given(ConvertRun *r, const cameo_model *m)
{
    cameo_model as = *m;
    const size_t n = (size_t)m->ninputs;
    cameo_port *ports = NEWS(r->arena, cameo_port, n + 1);
    bool first = !r->given;
    if (first)
        r->given = NEWS(r->arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        ports[i] = m->inputs[i];
        if (first)
            r->given[i] = ports[i].dtype;
        ports[i].dtype = r->given[i];
    }
    as.inputs = ports;
    return as;
}

// What is held out is taken as it is, and what is written in float64 rounds nothing.
static bool takes_mixtures(const ConvertRun *r)
{
    return r->calibration != r->held && !(r->margin > 0) && r->options.to != DT_F64;
}

// Runs a model on every set, and on mixtures of them.
static int run_sets(ConvertRun *r, const char *path,
                    int (*take)(ConvertRun *r, const cameo_model *m, const cameo_context *x,
                                uint32_t set))
{
    CompileOptions o = {.gemm = GEMM_PACKED, .threads = 1, .once = true};
    Session s;
    bool made_up = false;
    int status = session_open(r->tool, path, &o, &s);
    Running run = {.r = r, .m = s.model, .take = take};
    if (!status && !(run.x = s.model->create(&s.options)))
        status = tool_error(r->tool, EXIT_BYTES, "not enough memory");
    cameo_model as = {0};
    if (!status)
        as = as_given(r, s.model);
    run.given = r->given;
    Mixtures mixtures = {.arena = s.arena, .model = &as};
    if (takes_mixtures(r))
        run.mixtures = &mixtures;
    DataSets d = {.tool = r->tool, .arena = r->arena, .model = &as, .path = path};
    d.data = &r->calibration;
    d.ndata = 1;
    d.user = &run;
    d.run = run_set;
    if (!status)
        status = datasets_each(&d, &made_up);
    r->sets = run.set;
    if (!status && run.mixtures)
        run_mixtures(&run);
    if (run.x)
        s.model->destroy(run.x);
    session_close(&s);
    return status;
}

static bool is_compared(const cameo_model *m, int32_t k)
{
    return !(m->output_types && m->output_types[k]) && dtype_is_float((DType)m->outputs[k].dtype);
}

static cameo_tensor output_of(const cameo_model *m, const cameo_context *x, int32_t k)
{
    cameo_tensor t = {.name = "", .dtype = m->outputs[k].dtype, .count = 1};
    const int64_t *dims = NULL;
    t.elements = (void *)(uintptr_t)m->output(x, k, &t.rank, &dims);
    for (int32_t i = 0; i < t.rank; i++)
        t.count *= dims[i];
    return t;
}

// For the outputs of one more mixture.
static bool has_room(const ConvertRun *r, const cameo_model *m, const cameo_context *x)
{
    int64_t kept = 0;
    for (uint32_t i = 0; i < r->wanted.len; i++)
        kept += r->wanted.at[i].count;
    for (int32_t k = 0; k < m->noutputs; k++)
        kept += is_compared(m, k) ? output_of(m, x, k).count : 0;
    return kept <= CONVERT_KEPT;
}

static int keep_outputs(ConvertRun *r, const cameo_model *m, const cameo_context *x, uint32_t set)
{
    if (set == 0) {
        r->noutputs = m->noutputs;
        for (int32_t k = 0; k < m->noutputs; k++)
            if (is_compared(m, k)) {
                ConvertError e = {.budget = -1, .number = k};
                e.output = str_printf(r->arena, "%s", m->outputs[k].name).at;
                for (uint32_t b = 0; b < r->nbudgets; b++)
                    if (!r->budgets[b].output.len || str_is(r->budgets[b].output, e.output))
                        e.budget = r->budgets[b].relative;
                vec_push(r->arena, &r->errors, e);
            }
    }
    if (r->mixing && !has_room(r, m, x))
        return EXIT_FINDINGS;
    for (int32_t k = 0; k < m->noutputs; k++) {
        cameo_tensor t = is_compared(m, k) ? output_of(m, x, k) : (cameo_tensor){0};
        ConvertOutput kept = {0}, *o = &kept;
        o->count = t.count;
        o->at = NEWS(r->arena, double, (size_t)t.count + 1);
        for (int64_t i = 0; i < t.count; i++)
            o->at[i] = cameo_element(&t, i);
        vec_push(r->arena, &r->wanted, kept);
    }
    return EXIT_CLEAN;
}

static double relative_of(double squares, double all)
{
    return squares > 0 ? sqrt(squares / fmax(all, 1e-300)) : 0;
}

// What takes its place among the parts of an output, in the order of its elements.
static int64_t part_of(int64_t i, int64_t count)
{
    return (int64_t)((double)i * CONVERT_PARTS / (double)count);
}

typedef struct Parts {
    double squares[CONVERT_PARTS], all[CONVERT_PARTS];
} Parts;

// c of convert_measure_errors.
static double apart_by(const Parts *p, double squares, double all)
{
    const double n = CONVERT_PARTS, ratio = squares / all;
    double sum = 0;
    for (int i = 0; i < CONVERT_PARTS; i++) {
        double off = p->squares[i] - ratio * p->all[i];
        sum += off * off;
    }
    return sqrt(n / (n - 1) * sum) / squares / 2;
}

// How far an output is from what it was in the model itself.
typedef struct Off {
    Parts parts;
    double squares, all, greatest;
    uint64_t lost;
    int64_t lost_at;
} Off;

static Off off_of(const ConvertOutput *o, const cameo_tensor *t)
{
    const bool same = t->count == o->count; // a shape that data decides may differ
    Off x = {0};
    for (int64_t i = 0; i < o->count; i++) {
        const int64_t part = part_of(i, o->count);
        double want = o->at[i], got = same ? cameo_element(t, i) : NAN;
        if (!isfinite(want)) {
            x.lost_at = x.lost++ == 0 ? i : x.lost_at;
            continue;
        }
        double off = isfinite(got) ? fabs(got - want) : INFINITY;
        x.greatest = fmax(x.greatest, off);
        x.parts.squares[part] += off * off;
        x.parts.all[part] += want * want;
    }
    for (int i = 0; i < CONVERT_PARTS; i++) {
        x.squares += x.parts.squares[i];
        x.all += x.parts.all[i];
    }
    return x;
}

static void take_off(ConvertError *e, const Off *x, bool large, uint32_t set)
{
    if (x->lost && !e->lost) {
        e->lost_set = set;
        e->lost_at = x->lost_at;
    }
    e->lost += x->lost;
    e->greatest = fmax(e->greatest, x->greatest);
    if (x->squares > 0 && x->all > 0)
        e->apart = fmax(e->apart, large ? apart_by(&x->parts, x->squares, x->all) : INFINITY);
    e->squares += x->squares;
    e->all += x->all;
}

static int take_errors(ConvertRun *r, const cameo_model *m, const cameo_context *x, uint32_t set)
{
    const uint32_t from = set * (uint32_t)r->noutputs;
    if (from >= r->wanted.len && r->mixing)
        return EXIT_FINDINGS; // the model itself stopped before it
    for (uint32_t j = 0; j < r->errors.len; j++) {
        ConvertError *e = &r->errors.at[j];
        const ConvertOutput *o = &r->wanted.at[from + (uint32_t)e->number];
        const cameo_tensor t = output_of(m, x, e->number);
        const Off off = off_of(o, &t);
        const double relative = relative_of(off.squares, off.all);
        if (!r->mixing) {
            take_off(e, &off, o->count >= CONVERT_PARTS * CONVERT_ELEMENTS, set);
            vec_push(r->arena, &e->sets, relative);
        } else if (isfinite(relative)) {
            vec_push(r->arena, &e->mixed, relative);
        } else {
            e->wild++;
        }
    }
    return EXIT_CLEAN;
}

int convert_measure_outputs(ConvertRun *r)
{
    return run_sets(r, r->model, keep_outputs);
}

// As many times the worst of few data sets as others may bring.
static double times_worst(const ConvertError *e, double least)
{
    const double c = 1 + 6 * e->apart, sets = least > 0 ? e->worst / least : 3;
    return isfinite(c) && isfinite(sets) ? fmin(3, fmax(1.5, fmax(c, sets))) : 3;
}

// What mixtures of the data sets and these say that others may bring.
static double rare_of_mixed(const ConvertRun *r, const ConvertError *e)
{
    VEC(double) all = {0};
    for (uint32_t i = 0; i < e->mixed.len; i++)
        vec_push(r->arena, &all, e->mixed.at[i]);
    for (uint32_t i = 0; i < e->sets.len; i++)
        vec_push(r->arena, &all, e->sets.at[i]);
    return e->mixed.len ? tails_mixed(all.at, e->mixed.len, all.len) : 0;
}

static void find_bound(const ConvertRun *r, ConvertError *e)
{
    double least = INFINITY;
    e->relative = relative_of(e->squares, e->all);
    for (uint32_t i = 0; i < e->sets.len; i++) {
        e->worst = fmax(e->worst, e->sets.at[i]);
        least = fmin(least, e->sets.at[i]);
    }
    if (r->margin > 0)
        e->times = r->margin;
    else
        e->times = e->sets.len < CONVERT_TAIL ? times_worst(e, least) : 0;
    e->bound =
        e->times > 0 ? e->times * e->worst : fmax(e->worst, tails_rare(e->sets.at, e->sets.len));
    const double rare = rare_of_mixed(r, e);
    if (rare > e->bound) {
        e->bound = rare;
        e->times = 0;
    }
}

int convert_measure_errors(ConvertRun *r, const char *converted)
{
    for (uint32_t j = 0; j < r->errors.len; j++) {
        ConvertError *e = &r->errors.at[j];
        e->squares = e->all = e->greatest = e->worst = e->apart = 0;
        e->sets.len = e->mixed.len = 0;
        e->lost = 0;
        e->wild = 0;
    }
    int status = run_sets(r, converted, take_errors);
    for (uint32_t j = 0; j < r->errors.len; j++)
        find_bound(r, &r->errors.at[j]);
    return status;
}

int convert_measure_held(ConvertRun *r)
{
    ConvertRun q = *r;
    q.calibration = r->held;
    q.errors.at = NULL;
    q.wanted.at = NULL;
    q.errors.len = q.errors.cap = q.wanted.len = q.wanted.cap = 0;
    int status = convert_measure_outputs(&q);
    if (!status)
        status = convert_measure_errors(&q, r->out);
    r->held_sets = q.sets;
    r->held_errors.len = 0;
    for (uint32_t i = 0; i < q.errors.len; i++)
        vec_push(r->arena, &r->held_errors, q.errors.at[i]);
    return status;
}
