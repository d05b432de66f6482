#include "passes/lint/numbers.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_MOVES = 8 };

NumberFacts *numbers_open(Model *m, Arena *a)
{
    NumberFacts *x = NEW(a, NumberFacts);
    *x = (NumberFacts){.m = m, .a = a, .ranges = ranges_of(m, a), .uses = uses_of(m, a)};
    x->proofs = m->measured ? ranges_without_data(m, a) : x->ranges;
    x->told.arena = a;
    x->variances.arena = a;
    x->nvalues = m->values.len;
    x->counting = NEWS(a, uint8_t, x->nvalues + 1u);
    return x;
}

NumberFacts *lint_numbers(Lint *l)
{
    if (!l->numbers)
        l->numbers = numbers_open(l->m, l->arena);
    return l->numbers;
}

// ---- patterns

bool numbers_alive(const NumberFacts *x, NodeId n)
{
    return !node_at(x->m, n)->dead && node_at(x->m, n)->graph && node_at(x->m, n)->nout;
}

NodeId numbers_made_by(const NumberFacts *x, ValueId v, const char *op)
{
    const Value *value = v ? value_at(x->m, v) : NULL;
    if (!value || value->def != DEF_NODE || value->index != 0)
        return 0;
    const Node *n = node_at(x->m, value->node);
    return !n->dead && node_is(n, op) ? value->node : 0;
}

ValueId numbers_in(const NumberFacts *x, NodeId n, uint32_t operand)
{
    return operand < node_at(x->m, n)->nin ? node_at(x->m, n)->in[operand] : 0;
}

ValueId numbers_beside_one(const NumberFacts *x, ValueId v)
{
    NodeId add = numbers_made_by(x, v, "Add");
    double one;
    for (uint32_t i = 0; add && i < 2; i++)
        if (numbers_constant(x, numbers_in(x, add, i), &one) && one == 1)
            return numbers_in(x, add, 1 - i);
    return 0;
}

DType numbers_dtype(const NumberFacts *x, ValueId v)
{
    return v && value_at(x->m, v)->kind == TYPE_TENSOR ? value_at(x->m, v)->dtype : DT_NONE;
}

bool numbers_moves(const Node *n)
{
    static const char *const known[] = {
        "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand", "Transpose",     "Flatten",
        "Slice",    "Gather",  "Tile",    "Dropout",   "Split",  "GatherElements"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(n, known[i]))
            return true;
    return false;
}

ValueId numbers_moved(const NumberFacts *x, ValueId v)
{
    for (int i = 0; v && i < MAX_MOVES; i++) {
        const Value *value = value_at(x->m, v);
        if (value->def != DEF_NODE || !numbers_moves(node_at(x->m, value->node)))
            break;
        v = numbers_in(x, value->node, 0);
    }
    return v;
}

static bool one_number(const NumberFacts *x, ValueId v, double *number)
{
    const ConstantStats *s = range_stats(x->ranges, v);
    *number = s->lo;
    return s->read && s->count && !s->nans && s->lo == s->hi;
}

// A Cast of a constant is one: converters leave them.
bool numbers_constant(const NumberFacts *x, ValueId v, double *number)
{
    NodeId cast = numbers_made_by(x, v, "Cast");
    ValueId of = cast ? numbers_in(x, cast, 0) : 0;
    DType from = numbers_dtype(x, of), to = numbers_dtype(x, v);
    if (!of || !dtype_is_float(from) || !dtype_is_float(to))
        return one_number(x, v, number);
    if (!one_number(x, of, number))
        return false;
    *number = scalar_cast(from, to, (Scalar){.f = *number}, false).f;
    return true;
}

ValueId numbers_square_of(const NumberFacts *x, ValueId v)
{
    double e;
    NodeId n = numbers_made_by(x, v, "Mul");
    if (n && numbers_in(x, n, 0) == numbers_in(x, n, 1))
        return numbers_in(x, n, 0);
    n = numbers_made_by(x, v, "Pow");
    return n && numbers_constant(x, numbers_in(x, n, 1), &e) && e == 2 ? numbers_in(x, n, 0) : 0;
}

bool numbers_axes(const NumberFacts *x, NodeId id, int64_t axes[MAX_AXES], uint32_t *count)
{
    const Node *n = node_at(x->m, id);
    const Value *v = n->nin && n->in[0] ? value_at(x->m, n->in[0]) : NULL;
    const int64_t *given = NULL;
    int64_t read[MAX_AXES];
    uint32_t len = 0;
    if (!v || v->rank < 0 || v->rank > MAX_AXES)
        return false;
    if (!node_ints(n, "axes", &given, &len) && numbers_in(x, id, 1)) {
        const Elements of = elements_of(x->m, n->in[1]);
        if (of.dtype != DT_I64 || of.n > MAX_AXES)
            return false;
        for (len = 0; len < of.n; len++)
            read[len] = element_scalar(&of, len).i;
        given = read;
    }
    if (len > MAX_AXES || (len == 0 && node_int(n, "noop_with_empty_axes", 0)))
        return false;
    bool has[MAX_AXES] = {false};
    for (uint32_t i = 0; i < len; i++) {
        int64_t k = given[i] < 0 ? given[i] + v->rank : given[i];
        if (k < 0 || k >= v->rank)
            return false;
        has[k] = true;
    }
    *count = 0;
    for (int32_t k = 0; k < v->rank; k++)
        if (has[k] || len == 0)
            axes[(*count)++] = k;
    return true;
}

uint32_t numbers_use_count(const NumberFacts *x, ValueId v)
{
    return v < x->nvalues ? x->uses.first[v + 1] - x->uses.first[v] : 0;
}

NodeId numbers_product(const NumberFacts *x, ValueId v)
{
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++) {
        const Use *u = &x->uses.uses[i];
        const Node *n = u->node ? node_at(x->m, u->node) : NULL;
        if (n && !n->dead && u->index < 2 &&
            (node_is(n, "MatMul") || node_is(n, "Gemm") || node_is(n, "Conv") ||
             node_is(n, "ConvTranspose")))
            return u->node;
    }
    return 0;
}

// ---- words

Str numbers_words(Arena *a, const Range *x, DType t)
{
    uint8_t worst = x->lo_by > x->hi_by ? x->lo_by : x->hi_by;
    // What an unsigned integer or a float8 is at least and at most is proved, too.
    bool lo = range_has_lo(x, t) || (isfinite(x->lo) && x->lo_by == RANGE_PROVED) ||
              x->lo_by == RANGE_MEASURED;
    bool hi = range_has_hi(x, t) || (isfinite(x->hi) && x->hi_by == RANGE_PROVED) ||
              x->hi_by == RANGE_MEASURED;
    if (!x->known || (!lo && !hi))
        return str_printf(a, "any %s (assumed)", dtype_name(t));
    if (!hi)
        return str_printf(a, "%.6g and above (%s)", x->lo, range_basis(x->lo_by));
    if (!lo)
        return str_printf(a, "at most %.6g (%s)", x->hi, range_basis(x->hi_by));
    if (x->lo_by != x->hi_by && (x->lo_by == RANGE_MEASURED || x->hi_by == RANGE_MEASURED))
        return str_printf(a, "[%.6g (%s), %.6g (%s)]", x->lo, range_basis(x->lo_by), x->hi,
                          range_basis(x->hi_by));
    return str_printf(a, "[%.6g, %.6g] (%s)", x->lo, x->hi, range_basis(worst));
}

void numbers_note_measured(Lint *l, Diag *d, ValueId v)
{
    const Measured *x = v ? measured_of(l->m, v) : NULL;
    if (!x)
        return;
    Buf text = {0};
    buf_printf(&text, "measured: \"%.*s\" has %.0f elements in %u data set%s",
               STR_ARG(lint_name(l, v)), x->count, l->m->measured->sets,
               l->m->measured->sets == 1 ? "" : "s");
    if (x->least <= x->greatest)
        buf_printf(&text, ", the least %.6g, the greatest %.6g", x->least, x->greatest);
    if (x->tiny > 0 && (x->zeros > 0 || (x->least < 0 && x->greatest > 0)))
        buf_printf(&text, ", nearest to 0 %.3g", x->tiny);
    const struct {
        double n;
        const char *what;
    } kinds[] = {{x->zeros, "0"}, {x->nans, "NaN"}, {x->above, "inf"}, {x->below, "-inf"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].n > 0)
            buf_printf(&text, "; %.0f %s %s", kinds[i].n, kinds[i].n == 1 ? "is" : "are",
                       kinds[i].what);
    diag_note(l->diags, d, "%s", text.at);
    buf_free(&text);
}

Diag *numbers_report(Lint *l, const char *rule, NodeId id, uint32_t operand, const char *format,
                     ...)
{
    const Node *n = node_at(l->m, id);
    NumberFacts *x = lint_numbers(l);
    bool added = true;
    if (n->copy_of)
        map_put(&x->told, str_printf(l->arena, "%s %u %u", rule, n->copy_of, operand), &added);
    if (!added)
        return NULL;
    Buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    const LintRule *r = lint_rules;
    while (r->id && strcmp(r->id, rule) != 0)
        r++;
    bool whole = operand == UINT32_MAX;
    Diag *d = diag(l->diags, rule, r->severity,
                   whole ? location_node(l->m, l->arena, id)
                         : location_operand(l->m, l->arena, id, operand),
                   "%s", text.at);
    buf_free(&text);
    if (!whole && n->in[operand])
        d->value = lint_name(l, n->in[operand]);
    lint_about_node(l, d, id);
    return d;
}
