// DT016: data files that an input does not take as they are, or takes for something else.

#include "passes/data.h"
#include "ir/infer.h"
#include "passes/config.h"
#include "passes/lint/numbers.h"
#include "passes/lint/story.h"

#include <math.h>
#include <string.h>

enum { MAX_TOLD = 3, MAX_WALK = 16 };
// Of the values, so many have to be outside of what the first nodes take to be told.
static const double SHARE = 0.1;

typedef struct Check {
    Lint *l;
    const DataTensor *d;
    Str input, file; // as messages say them
    DType want;
    DataFit fit;
    uint32_t rank;
    int64_t dims[DATA_MAX_RANK]; // of the input
    bool ranked;                 // are they known?
    NodeId channels_by;
} Check;

static Diag *report(Check *c, Severity severity, Str message)
{
    Lint *l = c->l;
    Diag *d = diag(l->diags, "DT016", severity, location_value(l->m, l->arena, c->d->input), "%.*s",
                   STR_ARG(message));
    d->value = c->input;
    return d;
}

static void offer_conversion(Check *c, Diag *d, bool safe, Str what)
{
    diag_fix(c->l->diags, d, safe, "%.*s: cameo convert-data %.*s --for %.*s \"%.*s\" -o OUT.npy",
             STR_ARG(what), STR_ARG(str_escaped(c->l->arena, c->d->file)),
             STR_ARG(str_escaped(c->l->arena, str_of(c->l->m->path))), STR_ARG(c->input));
}

// ---- dtypes

// Where the input's dtype comes from: its declaration, and the constant beside which it is used.
static void note_reason(Check *c, Diag *d)
{
    Lint *l = c->l;
    const Uses *uses = lint_uses(l);
    Buf b = {0};
    bool said = false;
    buf_printf(&b, "%s is declared by input \"%.*s\"", dtype_name(c->want), STR_ARG(c->input));
    for (uint32_t i = uses->first[c->d->input]; i < uses->first[c->d->input + 1]; i++) {
        const Use *u = &uses->uses[i];
        const Node *n = u->node ? node_at(l->m, u->node) : NULL;
        const SchemaParam *mine = n ? param_of_operand(n, u->index) : NULL;
        for (uint32_t k = 0; mine && k < n->nin && !said; k++) {
            if (k == u->index || !n->in[k] || !origin_payload(l->m, n->in[k]) ||
                !params_are_tied(mine, param_of_operand(n, k)) ||
                lint_dtype(l->m, n->in[k]) != c->want)
                continue;
            buf_printf(&b, "; %.*s %.*s takes it with %.*s of %s",
                       STR_ARG(str_escaped(l->arena, n->op)), STR_ARG(lint_short(l, u->node)),
                       STR_ARG(lint_source_words(l, n->in[k])), dtype_name(c->want));
            said = true;
        }
    }
    diag_note(l->diags, d, "%s", b.at);
    buf_free(&b);
    if (dtype_is_float(c->want))
        lint_note_side(l, d, c->want);
}

static void note_maker(Check *c, Diag *d)
{
    DType have = c->d->dtype;
    Diags *all = c->l->diags;
    if (c->d->hint.len)
        diag_note(all, d, "%.*s", STR_ARG(c->d->hint));
    if (c->d->by_text)
        diag_note(all, d, "pandas.read_csv makes %s of it",
                  have == DT_NONE ? "objects" : dtype_name(have));
    else if (have == DT_F64)
        diag_note(all, d, "NumPy and pandas make float64 of numbers unless told otherwise");
    else if (have == DT_I64)
        diag_note(all, d, "NumPy and pandas make int64 of integers unless told otherwise");
    else if (str_is(c->d->type, "|O"))
        diag_note(all, d, "pandas makes objects of columns that are not of one type");
    else if (have == DT_NONE && c->d->type.len && c->d->type.at[0] == '>')
        diag_note(all, d, "its bytes stand in the order of other machines");
    else if (str_is(c->d->type, "record"))
        diag_note(all, d, "a record array has several columns of their own types");
}

// "1 of 3 values is", "2 of 3 values are"
static Str counted(Lint *l, uint64_t n, uint64_t all)
{
    if (n == all)
        return n == 1 ? STR("its value is")
                      : str_printf(l->arena, "all %llu values are", (unsigned long long)n);
    return str_printf(l->arena, "%llu of %llu values %s", (unsigned long long)n,
                      (unsigned long long)all, n == 1 ? "is" : "are");
}

// What the values come to in the input's dtype.
static void note_values(Check *c, Diag *d)
{
    Lint *l = c->l;
    const DataFit *f = &c->fit;
    const char *to = dtype_name(c->want);
    if (!f->count) {
        diag_note(l->diags, d, "it holds no values");
        return;
    }
    if (!data_changes(f)) {
        diag_note(l->diags, d, "%.*s exact in %s", STR_ARG(counted(l, f->count, f->count)), to);
        return;
    }
    Str value = data_value(l->arena, c->d, f->at), place = data_place(l->arena, c->d, f->at);
    if (f->beyond)
        diag_note(l->diags, d, "%.*s beyond what %s holds: %.*s at %.*s",
                  STR_ARG(counted(l, f->beyond, f->count)), to, STR_ARG(value), STR_ARG(place));
    else if (f->nans)
        diag_note(l->diags, d, "%.*s no number that %s holds: %.*s at %.*s",
                  STR_ARG(counted(l, f->nans, f->count)), to, STR_ARG(value), STR_ARG(place));
    else if (f->cut)
        diag_note(l->diags, d, "%.*s no %s: %.*s at %.*s", STR_ARG(counted(l, f->cut, f->count)),
                  c->want == DT_BOOL ? "truth value" : "integer", STR_ARG(value), STR_ARG(place));
    else
        diag_note(l->diags, d, "%.*s rounded in %s: %.*s at %.*s by %.3g, the most",
                  STR_ARG(counted(l, f->rounded, f->count)), to, STR_ARG(value), STR_ARG(place),
                  f->worst);
}

// What to do about values that the input's dtype does not have.
static void help_values(Check *c, Diag *d)
{
    Diags *all = c->l->diags;
    if (c->fit.nans || (c->fit.beyond && !dtype_is_float(c->want)))
        diag_help(all, d, "say what these are to be, then store it as %s", dtype_name(c->want));
    else if (c->fit.beyond)
        diag_help(all, d, "scale it as the training did: in %s they would be infinite",
                  dtype_name(c->want));
    else
        diag_help(all, d, "%s, if the file is the right one, then store it as %s",
                  c->want == DT_BOOL ? "compare it with what is meant by true" : "round it",
                  dtype_name(c->want));
}

// numpy.datetime64 and timedelta64: "<M8[D]"
static bool is_of_times(Str type)
{
    return type.len > 2 && (type.at[1] == 'M' || type.at[1] == 'm') && type.at[2] == '8';
}

// What to do about elements of which no number is made.
static void help_elements(Check *c, Diag *d)
{
    Diags *all = c->l->diags;
    if (str_is(c->d->type, "record"))
        diag_help(all, d,
                  "give each column to an input, or join them: "
                  "numpy.lib.recfunctions.structured_to_unstructured");
    else if (c->d->by_text && !c->d->count)
        diag_help(all, d, "write the rows that are meant into it");
    else if (c->d->by_text)
        diag_help(all, d,
                  "leave columns of words out (usecols), or encode them as the training did");
    else if (c->d->dtype == DT_C64 || c->d->dtype == DT_C128)
        diag_help(all, d, "take the part that is meant: .real, .imag or numpy.abs");
    else if (c->d->dtype == DT_NONE && is_of_times(c->d->type))
        diag_help(all, d,
                  "make numbers of its times as the training did: seconds, days, parts of a "
                  "date");
    else if (c->d->dtype == DT_STRING || str_is(c->d->type, "|O") || str_starts(c->d->type, "|S"))
        diag_help(all, d, "encode what is no number as the training did, then .astype(\"%s\")",
                  dtype_name(c->want));
    else
        diag_help(all, d, "store it as %s", dtype_name(c->want));
}

static void check_dtype(Check *c)
{
    const DataTensor *t = c->d;
    Lint *l = c->l;
    if (t->dtype == c->want)
        return;
    Str have = t->dtype != DT_NONE
                   ? str_of(dtype_name(t->dtype))
                   : str_printf(l->arena, "elements of the type \"%.*s\", which no tensor has",
                                STR_ARG(str_escaped(l->arena, t->type)));
    Diag *d =
        report(c, SEV_ERROR,
               str_printf(l->arena, "input \"%.*s\" is %s but %.*s holds %.*s", STR_ARG(c->input),
                          dtype_name(c->want), STR_ARG(c->file), STR_ARG(have)));
    d->origin_kind = STR("input");
    d->origin_name = c->input;
    note_maker(c, d);
    note_reason(c, d);
    if (!data_converts(t->dtype, c->want)) {
        if (t->dtype != DT_NONE)
            diag_note(l->diags, d, "no %s is made of %.*s", dtype_name(c->want), STR_ARG(have));
        if (t->turned == c->want)
            offer_conversion(c, d, true, STR("turn its bytes"));
        else
            help_elements(c, d);
        return;
    }
    note_values(c, d);
    if (!c->fit.beyond && !c->fit.nans && !c->fit.cut)
        offer_conversion(c, d, !data_changes(&c->fit),
                         str_printf(l->arena, "store it as %s", dtype_name(c->want)));
    else
        help_values(c, d);
}

// ---- shapes

static void note_channels(Check *c, Diag *d)
{
    if (c->channels_by)
        diag_note(c->l->diags, d, "Conv %.*s has weights for %lld channels",
                  STR_ARG(lint_short(c->l, c->channels_by)), (long long)c->dims[1]);
}

// How many channels a picture for an NCHW input of three has, if it has one or four; 0: others.
static int64_t odd_channels(const Check *c)
{
    const DataTensor *t = c->d;
    if (c->rank != 4 || c->dims[1] != 3 || t->rank != 4)
        return 0;
    for (uint32_t k = 1; k < 4; k += 2)
        if (t->dims[k] == 1 || t->dims[k] == 4)
            return t->dims[k];
    return 0;
}

static void help_misfit(Check *c, Diag *d)
{
    const DataTensor *t = c->d;
    Diags *all = c->l->diags;
    bool fits = t->rank == 2 && c->rank == 2;
    for (uint32_t k = 0; fits && k < 2; k++)
        fits = c->dims[k] < 0 || c->dims[k] == t->dims[1 - k];
    if (fits)
        diag_help(all, d, "turned around it fits: .T, if its rows are the input's columns");
    else if (odd_channels(c))
        diag_help(all, d, "a picture of %s: Pillow's .convert(\"RGB\") makes 3 of it",
                  odd_channels(c) == 1 ? "1 channel, grey" : "4 channels, the last one alpha");
    else if (t->rank == c->rank)
        diag_help(all, d, "take the file that was meant, or cut it as the training did");
    else if (t->rank > c->rank)
        diag_help(all, d,
                  "give one element of it, or join its dims, if several stand for one of "
                  "the input's");
    else
        diag_help(all, d, "give it with all dims: leaving one out fits none of them");
}

static void report_misfit(Check *c, const DataPlan *p, Str have, Str want)
{
    Lint *l = c->l;
    const DataTensor *t = c->d;
    Diag *d = report(c, SEV_ERROR,
                     t->rank != c->rank
                         ? str_printf(l->arena, "input \"%.*s\" has rank %u but %.*s has rank %u",
                                      STR_ARG(c->input), c->rank, STR_ARG(c->file), t->rank)
                         : str_printf(l->arena,
                                      "input \"%.*s\" has size %lld in dim %u but %.*s has %lld",
                                      STR_ARG(c->input), (long long)c->dims[p->wrong], p->wrong,
                                      STR_ARG(c->file), (long long)t->dims[p->wrong]));
    diag_note(l->diags, d, "the file has dims %.*s, the input %.*s", STR_ARG(have), STR_ARG(want));
    if (c->d->by_text && c->d->hint.len)
        diag_note(l->diags, d, "%.*s", STR_ARG(c->d->hint));
    if (t->rank != c->rank || p->wrong == 1)
        note_channels(c, d);
    help_misfit(c, d);
}

static void check_shape(Check *c)
{
    Lint *l = c->l;
    if (!c->ranked)
        return;
    DataPlan p = data_plan(c->d, c->rank, c->dims);
    Str have = data_shown_dims(l->arena, c->d->rank, c->d->dims);
    Str want = data_shown_dims(l->arena, c->rank, c->dims);
    Str becomes = data_shown_dims(l->arena, p.rank, p.dims);
    if (p.shape == DATA_FITS)
        return;
    if (p.shape == DATA_MISFIT) {
        report_misfit(c, &p, have, want);
        return;
    }
    if (p.shape == DATA_LAYOUT) {
        Diag *d =
            report(c, SEV_ERROR,
                   str_printf(l->arena, "input \"%.*s\" is %s but %.*s is %s", STR_ARG(c->input),
                              p.want, STR_ARG(c->file), p.have + p.expanded));
        diag_note(l->diags, d, "the file has dims %.*s, the input %.*s: transposed they fit",
                  STR_ARG(have), STR_ARG(want));
        note_channels(c, d);
        offer_conversion(c, d, false,
                         str_printf(l->arena, "transpose it to %.*s", STR_ARG(becomes)));
        return;
    }
    Diag *d = report(c, SEV_ERROR,
                     str_printf(l->arena, "input \"%.*s\" has rank %u but %.*s has rank %u",
                                STR_ARG(c->input), c->rank, STR_ARG(c->file), c->d->rank));
    diag_note(l->diags, d, "the file has dims %.*s, the input %.*s: with dims of 1 %s they fit",
              STR_ARG(have), STR_ARG(want), p.shape == DATA_EXPANDS ? "added" : "left out");
    offer_conversion(c, d, true, str_printf(l->arena, "give it dims %.*s", STR_ARG(becomes)));
}

// ---- values that the first nodes do not take

// What a node says of the values that it is made for.
typedef struct Made {
    NodeId node;
    double lo, hi;
    Str why; // "QuantizeLinear node[/q] holds"
} Made;

static bool constant_bounds(NumberFacts *x, ValueId v, double *lo, double *hi)
{
    const ConstantStats *s = v ? range_stats(x->ranges, v) : NULL;
    if (!s || !s->read || !s->count || s->nans || s->lo > s->hi)
        return false;
    *lo = s->lo;
    *hi = s->hi;
    return true;
}

// QuantizeLinear saturates outside of scale * (its dtype's range - zero point).
static bool made_for_quantize(Lint *l, NumberFacts *x, NodeId id, Made *m)
{
    const Node *n = node_at(l->m, id);
    double least, scale, zlo = 0, zhi = 0, lo, hi;
    DType t = n->nout ? lint_dtype(l->m, n->out[0]) : DT_NONE;
    if (!constant_bounds(x, numbers_in(x, id, 1), &least, &scale) || !dtype_is_integer(t) ||
        !(scale > 0) ||
        (numbers_in(x, id, 2) && !constant_bounds(x, numbers_in(x, id, 2), &zlo, &zhi)))
        return false;
    range_of_dtype(t, &lo, &hi);
    m->lo = (lo - zhi) * scale;
    m->hi = (hi - zlo) * scale;
    m->why = str_printf(l->arena, "QuantizeLinear %.*s holds %.4g to %.4g and saturates beyond",
                        STR_ARG(lint_short(l, id)), m->lo, m->hi);
    return true;
}

static bool made_for_clip(Lint *l, NumberFacts *x, NodeId id, Made *m)
{
    double lo = -INFINITY, hi = INFINITY, ignored;
    const Node *n = node_at(l->m, id);
    const Attr *min = attr_find(n, "min"), *max = attr_find(n, "max");
    if (numbers_in(x, id, 1) && !constant_bounds(x, numbers_in(x, id, 1), &lo, &ignored))
        return false;
    if (numbers_in(x, id, 2) && !constant_bounds(x, numbers_in(x, id, 2), &ignored, &hi))
        return false;
    m->lo = min ? (double)min->f : lo;
    m->hi = max ? (double)max->f : hi;
    m->why = str_printf(l->arena, "Clip %.*s cuts at %.4g and %.4g", STR_ARG(lint_short(l, id)),
                        m->lo, m->hi);
    return m->lo < m->hi;
}

// Running statistics of the values that the model was trained on: beyond ten deviations there were
// hardly any (by Chebyshev's inequality at most 1 %).
static bool made_for_norm(Lint *l, NumberFacts *x, NodeId id, Made *m)
{
    double mlo, mhi, vlo, vhi;
    if (!constant_bounds(x, numbers_in(x, id, 3), &mlo, &mhi) ||
        !constant_bounds(x, numbers_in(x, id, 4), &vlo, &vhi) || !(vhi > 0))
        return false;
    m->lo = mlo - 10 * sqrt(vhi);
    m->hi = mhi + 10 * sqrt(vhi);
    m->why = str_printf(l->arena,
                        "BatchNormalization %.*s was trained on values of mean %.4g to %.4g and "
                        "deviation at most %.4g",
                        STR_ARG(lint_short(l, id)), mlo, mhi, sqrt(vhi));
    return true;
}

// (x - mean) / std with a mean between 0 and 1 is the mean of values between 0 and 1.
static bool made_for_mean(Lint *l, NumberFacts *x, NodeId id, Made *m)
{
    double mlo, mhi, slo, shi;
    const Node *n = node_at(l->m, id);
    const Uses *uses = lint_uses(l);
    ValueId y = n->nout ? n->out[0] : 0;
    if (!constant_bounds(x, numbers_in(x, id, 1), &mlo, &mhi) || mlo <= 0 || mhi >= 1 || !y ||
        uses->first[y + 1] - uses->first[y] != 1)
        return false;
    const Use *u = &uses->uses[uses->first[y]];
    if (!u->node || u->index != 0)
        return false;
    bool divides = node_is(node_at(l->m, u->node), "Div");
    if ((!divides && !node_is(node_at(l->m, u->node), "Mul")) ||
        !constant_bounds(x, numbers_in(x, u->node, 1), &slo, &shi) || slo <= 0 ||
        (divides ? shi >= 1 : slo <= 1))
        return false;
    m->lo = 0;
    m->hi = 1;
    Str mean = mlo == mhi ? str_printf(l->arena, "%.4g", mlo)
                          : str_printf(l->arena, "%.4g to %.4g", mlo, mhi);
    m->why =
        str_printf(l->arena, "Sub %.*s takes off a mean of %.*s, so values of 0 to 1 are meant",
                   STR_ARG(lint_short(l, id)), STR_ARG(mean));
    return true;
}

static bool made_for(Lint *l, NumberFacts *x, const Use *u, Made *m)
{
    const Node *n = node_at(l->m, u->node);
    m->node = u->node;
    if (u->index != 0)
        return false;
    return (node_is(n, "QuantizeLinear") && made_for_quantize(l, x, u->node, m)) ||
           (node_is(n, "Clip") && made_for_clip(l, x, u->node, m)) ||
           (node_is(n, "BatchNormalization") && made_for_norm(l, x, u->node, m)) ||
           (node_is(n, "Sub") && made_for_mean(l, x, u->node, m));
}

// The first node behind the input, past Casts and what moves elements only, that says what values
// it is made for.
static bool find_made(Check *c, Made *m)
{
    Lint *l = c->l;
    const Uses *uses = lint_uses(l);
    ValueId v = c->d->input;
    for (int step = 0; v && step < MAX_WALK; step++) {
        ValueId next = 0;
        for (uint32_t i = uses->first[v]; i < uses->first[v + 1]; i++) {
            const Use *u = &uses->uses[i];
            const Node *n = u->node ? node_at(l->m, u->node) : NULL;
            if (!n || n->dead)
                continue;
            if (made_for(l, lint_numbers(l), u, m))
                return true;
            bool only = uses->first[v + 1] - uses->first[v] == 1;
            if (only && u->index == 0 && n->nout == 1 && (node_is(n, "Cast") || numbers_moves(n)))
                next = n->out[0];
        }
        v = next;
    }
    return false;
}

static uint64_t count_outside(const DataTensor *d, double lo, double hi)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < d->count; i++) {
        Scalar s = data_element(d, i);
        double v = dtype_is_float(d->dtype) ? s.f
                   : d->dtype == DT_U64     ? (double)(uint64_t)s.i
                                            : (double)s.i;
        n += v < lo || v > hi;
    }
    return n;
}

// Bytes, or numbers of another scale, where the first nodes show what the model was made for.
static void check_scale(Check *c)
{
    Lint *l = c->l;
    const DataFit *f = &c->fit;
    Made m;
    if (f->lo > f->hi || !find_made(c, &m))
        return;
    uint64_t n = f->lo < m.lo || f->hi > m.hi ? count_outside(c->d, m.lo, m.hi) : 0;
    if ((double)n < SHARE * (double)f->count || n == 0)
        return;
    bool bytes = f->integer && f->lo >= 0 && f->hi <= 255 && f->hi > 1;
    Str message =
        bytes ? str_printf(l->arena,
                           "input \"%.*s\" is normalised but %.*s holds bytes, %.0f to %.0f",
                           STR_ARG(c->input), STR_ARG(c->file), f->lo, f->hi)
              : str_printf(l->arena,
                           "input \"%.*s\" is of another scale than %.*s, which holds %.6g to %.6g",
                           STR_ARG(c->input), STR_ARG(c->file), f->lo, f->hi);
    Diag *d = report(c, SEV_WARNING, message);
    diag_note(l->diags, d, "%.*s", STR_ARG(m.why));
    diag_note(l->diags, d, "%.*s outside of that", STR_ARG(counted(l, n, f->count)));
    diag_help(l->diags, d,
              bytes ? "divide by 255 as the training did, or as its preprocessing says"
                    : "scale it as the training did");
}

static bool has_one_of(const Model *m, const char *const *ops)
{
    for (NodeId id = 1; id < m->nodes.len; id++)
        for (uint32_t k = 0; ops[k] && !node_at(m, id)->dead; k++)
            if (node_is(node_at(m, id), ops[k]))
                return true;
    return false;
}

// NaN and infinities that the input's dtype holds as they are, where no node of the model is made
// to meet them.
static void check_finite(Check *c)
{
    static const char *const meet_nan[] = {
        "IsNaN", "Imputer", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor",
        NULL};
    static const char *const meet_infinity[] = {"IsInf",   "Clip",      "Min", "Max",
                                                "Softmax", "Attention", NULL};
    Lint *l = c->l;
    const DataFit *f = &c->fit;
    const bool nan = f->without > 0;
    const uint64_t n = nan ? f->without : f->endless;
    if (!dtype_is_float(c->want) || !n || has_one_of(l->m, meet_nan) ||
        (!nan && has_one_of(l->m, meet_infinity)))
        return;
    Str place = data_place(l->arena, c->d, f->no_number_at);
    Diag *d = report(c, SEV_WARNING,
                     str_printf(l->arena, "%.*s holds %s for input \"%.*s\"", STR_ARG(c->file),
                                nan ? "NaN" : "infinities", STR_ARG(c->input)));
    diag_note(l->diags, d, "%.*s %s; the first that is no finite number stands at %.*s",
              STR_ARG(counted(l, n, f->count)), nan ? "NaN" : "infinite", STR_ARG(place));
    diag_note(l->diags, d, "no node of the model looks for them: what is computed of them is %s",
              nan ? "NaN too" : "infinite or NaN");
    if (nan && c->d->by_text)
        diag_note(l->diags, d, "pandas.read_csv makes NaN of cells that are empty");
    diag_help(l->diags, d, "%s",
              nan ? "fill them as the training did, or leave their rows out"
                  : "look where they come from: a division by 0, or a number "
                    "beyond its dtype");
}

// What cameo.yaml says that the input is given.
static void check_configured(Check *c)
{
    const Config *config = c->l->m->config;
    for (uint32_t i = 0; config && i < config->ranges.len; i++) {
        const ConfigRange *r = &config->ranges.at[i];
        if (!str_eq(r->input, value_at(c->l->m, c->d->input)->name) || c->fit.lo > c->fit.hi ||
            (c->fit.lo >= r->lo && c->fit.hi <= r->hi))
            continue;
        Diag *d = report(c, SEV_ERROR,
                         str_printf(c->l->arena,
                                    "input \"%.*s\" is given %.6g to %.6g but %.*s holds %.6g to "
                                    "%.6g",
                                    STR_ARG(c->input), r->lo, r->hi, STR_ARG(c->file), c->fit.lo,
                                    c->fit.hi));
        diag_note(c->l->diags, d, "bounds by %s:%u", config->path, r->line);
        diag_help(c->l->diags, d,
                  "widen the bounds there, if the file is right: rules about "
                  "ranges go by them");
    }
}

// Indices of rows that a table does not have.
static void check_indices(Check *c)
{
    Lint *l = c->l;
    const Uses *uses = lint_uses(l);
    for (uint32_t i = uses->first[c->d->input]; i < uses->first[c->d->input + 1]; i++) {
        const Use *u = &uses->uses[i];
        const Node *n = u->node ? node_at(l->m, u->node) : NULL;
        const Attr *axis = n && node_is(n, "Gather") ? attr_find(n, "axis") : NULL;
        if (!n || u->index != 1 || !node_is(n, "Gather") || !n->in[0])
            continue;
        const Value *table = value_at(l->m, n->in[0]);
        int64_t k = axis ? axis->i : 0, rows;
        k += k < 0 ? table->rank : 0;
        if (table->rank < 1 || k < 0 || k >= table->rank || !poly_is_const(table->dims[k], &rows) ||
            c->fit.lo > c->fit.hi || (c->fit.lo >= -(double)rows && c->fit.hi < (double)rows))
            continue;
        Diag *d =
            report(c, SEV_ERROR,
                   str_printf(l->arena,
                              "%.*s holds indices %.0f to %.0f, but Gather %.*s has %lld "
                              "rows for input \"%.*s\"",
                              STR_ARG(c->file), c->fit.lo, c->fit.hi,
                              STR_ARG(lint_short(l, u->node)), (long long)rows, STR_ARG(c->input)));
        diag_note(l->diags, d, "the rows are those of %.*s",
                  STR_ARG(lint_source_words(l, n->in[0])));
        diag_help(l->diags, d,
                  "make the indices with the vocabulary that the model was trained "
                  "with: they go from 0 to %lld",
                  (long long)rows - 1);
        return;
    }
}

// A table that fits although it hardly is what was meant: it has an index in it, or no header.
static void check_header(Check *c)
{
    if (!c->d->by_text || !c->d->hint.len || c->d->member.len)
        return;
    Diag *d =
        report(c, SEV_WARNING,
               str_printf(c->l->arena, "%.*s fits input \"%.*s\", but may not be what was meant",
                          STR_ARG(c->file), STR_ARG(c->input)));
    diag_note(c->l->diags, d, "%.*s", STR_ARG(c->d->hint));
    diag_help(c->l->diags, d,
              "write it by DataFrame.to_csv(FILE, index=False), names of columns in "
              "its first line");
}

void lint_data(Lint *l)
{
    const DataSet *set = l->m->data;
    for (uint32_t i = 0; set && i < set->all.len; i++) {
        const DataTensor *t = &set->all.at[i];
        Check c = {.l = l, .d = t, .want = lint_dtype(l->m, t->input)};
        c.input = lint_name(l, t->input);
        c.file = data_shown_file(l->arena, t);
        c.ranked = data_dims(l->m, lint_uses(l), t->input, &c.rank, c.dims, &c.channels_by);
        if (c.want == DT_NONE)
            continue; // its dtype is not known: that is another rule's
        bool read = data_converts(t->dtype, c.want);
        c.fit = read ? data_fit(t, c.want) : (DataFit){.lo = 1};
        const size_t before = l->diags->all.len;
        check_dtype(&c);
        check_shape(&c);
        check_finite(&c);
        check_scale(&c);
        check_configured(&c);
        check_indices(&c);
        if (l->diags->all.len == before)
            check_header(&c);
    }
}
