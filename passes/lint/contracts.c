// ST008: custom operators beside the kernels that are written for them, as libclang reads their
// signatures (ir/contract.h).

#include "ir/contract.h"
#include "passes/adaptor.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <string.h>

enum { MAX_TOLD = 4 };

static const char *what_it_is(const CustomFunction *f)
{
    return f->is_kernel ? "CUDA kernel" : f->is_cuda ? "CUDA function" : "C function";
}

static Str op_words(Lint *l, const Node *n)
{
    return str_printf(l->arena, "custom op %.*s::%.*s", STR_ARG(str_escaped(l->arena, n->domain)),
                      STR_ARG(str_escaped(l->arena, n->op)));
}

static Diag *report(Lint *l, NodeId id, uint32_t operand, Str message)
{
    const Node *n = node_at(l->m, id);
    Str where = operand == UINT32_MAX ? location_node(l->m, l->arena, id)
                : operand < n->nin    ? location_operand(l->m, l->arena, id, operand)
                                      : location_result(l->m, l->arena, id, operand - n->nin);
    Diag *d = diag(l->diags, "ST008", SEV_ERROR, where, "%.*s", STR_ARG(message));
    lint_about_node(l, d, id);
    return d;
}

static void note_contract(Lint *l, Diag *d, const CustomFunction *f)
{
    diag_note(l->diags, d, "contract: %.*s:%u:%u  %.*s", STR_ARG(str_escaped(l->arena, f->path)),
              f->line, f->column, STR_ARG(lint_shown_code(l->arena, f->text)));
}

// "float, double"
static Str types_words(Lint *l, TypeSet types)
{
    Buf b = {0};
    for (int t = 1; t < DT_COUNT; t++)
        if (types >> t & 1)
            buf_printf(&b, "%s%s", b.len ? ", " : "", custom_type_name((DType)t));
    Str s = str_printf(l->arena, "%s", b.at ? b.at : "");
    buf_free(&b);
    return s;
}

// ---- what does not fit

static ValueId operand_value(const Node *n, uint32_t i)
{
    return i < n->nin ? n->in[i] : n->out[i - n->nin];
}

static void note_origin(Lint *l, Diag *d, NodeId id, const CustomMisfit *x)
{
    const Node *n = node_at(l->m, id);
    ValueId v = operand_value(n, x->operand);
    d->value = lint_name(l, v);
    if (x->operand >= n->nin)
        return;
    Origin o = origin_find(lint_origins(l), v);
    origin_trace(lint_origins(l), v, &o);
    lint_note_begin(l, d, x->have, o.value);
    lint_note_path(l, d, &o, id);
}

// What a Cast in front of the operand converts, if that has the dtype wanted; 0: there is none.
static ValueId before_cast(const Model *m, ValueId v, DType want)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    bool cast = n && node_is(n, "Cast") && n->nin == 1 && lint_dtype(m, n->in[0]) == want;
    return cast ? n->in[0] : 0;
}

// What Casts to t of all that the node hands to a type variable cost: values that t does not hold
// count most, then Casts, then bits. UINT32_MAX: one of them is a number of another kind.
static uint32_t cost_of_type(const Model *m, const CustomFunction *f, const Node *n,
                             int32_t variable, DType t)
{
    uint32_t cost = dtype_info(t)->bits;
    for (uint32_t i = 0; i < f->nparams; i++) {
        DType have = lint_dtype(m, custom_value(f, n, i));
        if (f->params[i].variable != variable || have == DT_NONE || have == t)
            continue;
        if (dtype_is_float(have) != dtype_is_float(t) ||
            dtype_is_integer(have) != dtype_is_integer(t))
            return UINT32_MAX;
        cost += dtype_holds(t, have) ? 256 : 256 + (1 << 20);
    }
    return cost;
}

// The dtype that the parameter takes where the node gets Casts; DT_NONE: none helps, or any does.
static DType taken_dtype(const Model *m, const CustomFunction *f, const Node *n,
                         const CustomParam *p)
{
    if (p->variable < 0)
        return p->dtype;
    TypeSet types = f->variables[p->variable].types, had = 0;
    uint32_t least = UINT32_MAX;
    DType best = DT_NONE;
    for (uint32_t i = 0; i < f->nparams; i++) {
        DType have = lint_dtype(m, custom_value(f, n, i));
        if (f->params[i].variable == p->variable && have != DT_NONE)
            had |= (TypeSet)1 << have;
    }
    for (int t = 1; t < DT_COUNT; t++) {
        uint32_t cost = (types ? types : had) >> t & 1
                            ? cost_of_type(m, f, n, p->variable, (DType)t)
                            : UINT32_MAX;
        if (cost < least) {
            least = cost;
            best = (DType)t;
        }
    }
    return best;
}

// "Cast(float16->float32)", joined by " and ", each pair of dtypes once.
typedef struct CastWords {
    Buf text;
    uint32_t count;
    bool said[DT_COUNT][DT_COUNT];
} CastWords;

static void add_cast(CastWords *w, DType from, DType to)
{
    w->count++;
    if (w->said[from][to])
        return;
    w->said[from][to] = true;
    buf_printf(&w->text, "%sCast(%s->%s)", w->text.len ? " and " : "", dtype_name(from),
               dtype_name(to));
}

// Casts around the node: before each input of another dtype, behind each such output.
static void offer_casts(Lint *l, Diag *d, NodeId id, const CustomFunction *f)
{
    const Node *n = node_at(l->m, id);
    CastWords before = {0}, behind = {0};
    TypeSet needed = 0;
    bool from_template = false;
    for (uint32_t i = 0; i < f->nparams; i++) {
        const CustomParam *p = &f->params[i];
        if (p->kind != CUSTOM_INPUT && p->kind != CUSTOM_OUTPUT)
            continue;
        ValueId v = custom_value(f, n, i);
        DType have = lint_dtype(l->m, v);
        DType want = taken_dtype(l->m, f, n, p);
        if (have == DT_NONE || want == DT_NONE || have == want)
            continue;
        ValueId source = p->kind == CUSTOM_INPUT ? before_cast(l->m, v, want) : 0;
        if (source) {
            diag_fix(l->diags, d, false, "read \"%.*s\", which is %s, in front of its Cast",
                     STR_ARG(lint_name(l, source)), dtype_name(want));
            continue;
        }
        if (p->kind == CUSTOM_INPUT)
            add_cast(&before, have, want);
        else
            add_cast(&behind, want, have);
        needed |= (TypeSet)1 << have;
        from_template |= p->variable >= 0;
    }
    const uint32_t casts = before.count + behind.count;
    if (!casts && !d->fixes.len)
        diag_help(l->diags, d, "give it what the %s takes, or add a function for it",
                  what_it_is(f));
    if (casts) {
        Fix *fix = diag_fix(l->diags, d, false, "add %s%s%s%s%s: %u cast%s",
                            before.count ? before.text.at : "", before.count ? " before" : "",
                            before.count && behind.count ? " and " : "",
                            behind.count ? behind.text.at : "", behind.count ? " after" : "", casts,
                            casts == 1 ? "" : "s");
        fix->casts = casts;
        Str types = types_words(l, needed);
        diag_help(l->diags, d,
                  from_template ? "or make it for %.*s too" : "or add a function that takes %.*s",
                  STR_ARG(types));
    }
    buf_free(&before.text);
    buf_free(&behind.text);
}

static Diag *report_counts(Lint *l, NodeId id, const CustomFunction *f)
{
    const Node *n = node_at(l->m, id);
    uint32_t in = custom_count(f, CUSTOM_INPUT), out = custom_count(f, CUSTOM_OUTPUT);
    Diag *d = report(l, id, UINT32_MAX,
                     str_printf(l->arena,
                                "%.*s has %u input%s and %u output%s, but its %s takes %u and %u",
                                STR_ARG(op_words(l, n)), n->nin, n->nin == 1 ? "" : "s", n->nout,
                                n->nout == 1 ? "" : "s", what_it_is(f), in, out));
    note_contract(l, d, f);
    diag_note(l->diags, d, "pointers to const are inputs, other pointers outputs");
    if (n->nin < in && n->nout == out)
        diag_help(l->diags, d,
                  "an input that is left out on purpose is written as \"\": the function gets a "
                  "null pointer");
    else
        diag_help(l->diags, d,
                  "give the function a pointer for each operand, inputs first, or the node what "
                  "the function takes");
    return d;
}

static Diag *report_misfit(Lint *l, NodeId id, const CustomFunction *f, const CustomMisfit *x)
{
    const Node *n = node_at(l->m, id);
    bool is_input = x->operand < n->nin;
    const char *gets = is_input ? "gets" : "gives";
    Str op = op_words(l, n), message;
    if (x->want == DT_NONE)
        message = str_printf(l->arena, "%.*s %s %s, but its %s is made for {%.*s}", STR_ARG(op),
                             gets, dtype_name(x->have), what_it_is(f),
                             STR_ARG(types_words(l, x->variable->types)));
    else if (x->variable)
        message = str_printf(l->arena,
                             "%.*s %s %s here and %s as operand %u, but its %s has one type %.*s "
                             "for both",
                             STR_ARG(op), gets, dtype_name(x->have), dtype_name(x->want), x->other,
                             what_it_is(f), STR_ARG(x->variable->name));
    else
        message = str_printf(l->arena, "%.*s %s %s, but its %s %s %s", STR_ARG(op), gets,
                             dtype_name(x->have), what_it_is(f), is_input ? "reads" : "writes",
                             custom_type_name(x->want));
    Diag *d = report(l, id, x->operand, message);
    uint32_t have = dtype_info(x->have)->bytes, want = dtype_info(x->want)->bytes;
    note_contract(l, d, f);
    note_origin(l, d, id, x);
    if (x->variable && x->variable->by.len)
        diag_note(l->diags, d, "the dispatch macro %.*s covers {%.*s} only",
                  STR_ARG(str_escaped(l->arena, x->variable->by)),
                  STR_ARG(types_words(l, x->variable->types)));
    if (x->want != DT_NONE && !x->variable)
        diag_note(l->diags, d, "%u-byte data %s as %u-byte %s: wrong values%s", have,
                  is_input ? "read" : "written", want, custom_type_name(x->want),
                  have < want ? " and accesses out of bounds" : "");
    return d;
}

// Does a function that fits run where the node was placed? What a .cu has for the host takes
// pointers of a device.
static bool any_runs(Lint *l, NodeId id, const CustomOp *op, bool on_host)
{
    CustomMisfit ignored;
    for (uint32_t i = 0; i < op->functions.len; i++) {
        const CustomFunction *f = op->functions.at[i];
        if (f->is_cuda != on_host && !custom_misfit(l->m, f, id, &ignored))
            return true;
    }
    return false;
}

// The kernel runs elsewhere than where the node was placed.
static void check_device(Lint *l, NodeId id, const CustomOp *op, const CustomFunction *f)
{
    const Node *n = node_at(l->m, id);
    bool placed = n->why_device.kind == WHY_CONFIG || n->why_device.kind == WHY_METADATA ||
                  n->why_device.kind == WHY_SHARDING;
    if (!placed || !n->device)
        return;
    Str device = str_escaped(l->arena, l->m->devices.at[n->device]);
    bool on_host = n->device == 1;
    if (any_runs(l, id, op, on_host))
        return;
    Diag *d = report(l, id, UINT32_MAX,
                     str_printf(l->arena, "%.*s is placed on %.*s, but its %s runs on %s",
                                STR_ARG(op_words(l, n)), STR_ARG(device), what_it_is(f),
                                on_host ? "a CUDA device" : "the host"));
    note_contract(l, d, f);
    diag_note(l->diags, d, "placed by %s",
              n->why_device.what                   ? n->why_device.what
              : n->why_device.kind == WHY_METADATA ? "its metadata cameo.device"
                                                   : "the model's device configurations");
    diag_help(l->diags, d, "place it on %s, or add a %s of that name to the sources",
              on_host ? "a CUDA device" : "cpu", on_host ? "C function" : "CUDA kernel");
}

// A node that nobody placed, and a function that fits it: does none of those for the other side,
// the host or a device, though there are such?
static void check_other_side(Lint *l, NodeId id, const CustomOp *op, const CustomFunction *fits)
{
    const CustomFunction *other = NULL;
    CustomMisfit misfit = {0};
    if (node_at(l->m, id)->device || any_runs(l, id, op, fits->is_cuda))
        return;
    for (uint32_t i = 0; i < op->functions.len && !other; i++)
        if (op->functions.at[i]->is_cuda != fits->is_cuda &&
            custom_misfit(l->m, op->functions.at[i], id, &misfit))
            other = op->functions.at[i];
    if (!other)
        return;
    Diag *d = misfit.operand == UINT32_MAX ? report_counts(l, id, other)
                                           : report_misfit(l, id, other, &misfit);
    d->severity = SEV_WARNING;
    diag_note(l->diags, d, "the %s at %.*s:%u fits: %s", what_it_is(fits),
              STR_ARG(str_escaped(l->arena, fits->path)), fits->line,
              fits->is_cuda ? "the model compiles for a CUDA device, not for the CPU"
                            : "on a CUDA device the model calls it on the host");
    if (!d->helps.len)
        diag_help(l->diags, d, "write the %s for the types that the other one takes",
                  what_it_is(other));
}

static void report_missing(Lint *l, NodeId id, const CustomOp *op)
{
    const Contracts *c = l->m->contracts;
    bool broken = false;
    Diag *d = report(l, id, UINT32_MAX,
                     str_printf(l->arena, "%.*s has no function %.*s in its sources",
                                STR_ARG(op_words(l, node_at(l->m, id))),
                                STR_ARG(str_escaped(l->arena, op->symbol))));
    diag_note(l->diags, d, "sources by %s:%u", str_escaped(l->arena, str_of(c->config)).at,
              op->line);
    for (uint32_t i = 0; i < c->sources.len && i < MAX_TOLD; i++) {
        Str source = str_escaped(l->arena, c->sources.at[i]),
            fault = i < c->faults.len ? c->faults.at[i] : STR_NONE;
        if (fault.len)
            diag_note(l->diags, d, "  %.*s, which does not parse: %.*s:%.*s", STR_ARG(source),
                      STR_ARG(source), STR_ARG(fault));
        else
            diag_note(l->diags, d, "  %.*s", STR_ARG(source));
        broken |= fault.len > 0;
    }
    if (broken)
        diag_help(l->diags, d, "mend what does not parse: behind it no function is found");
    diag_help(l->diags, d, "a function of another name is said in cameo.yaml: ops: {%.*s: NAME}",
              STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)));
}

void lint_contracts(Lint *l)
{
    const Model *m = l->m;
    if (!m->contracts || !m->contracts->ops.len)
        return;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        const CustomOp *op = n->dead || n->schema ? NULL : contract_of(m->contracts, l->arena, n);
        CustomMisfit misfit = {0};
        const CustomFunction *nearest;
        if (!op || !lint_first_time(l, "ST008", id))
            continue;
        const CustomFunction *f = custom_fitting(m, op, id, &nearest, &misfit);
        if (f) {
            check_device(l, id, op, f);
            check_other_side(l, id, op, f);
        } else if (!nearest)
            report_missing(l, id, op);
        else if (misfit.operand == UINT32_MAX)
            report_counts(l, id, nearest);
        else
            offer_casts(l, report_misfit(l, id, nearest, &misfit), id, nearest);
    }
}

// ---- repair

// What declares v says another dtype from now on.
static void declare(Model *m, ValueId v, DType t)
{
    Value *value = value_at(m, v);
    const Type *old = value->declared;
    if (!old || old->kind != TYPE_TENSOR)
        return;
    Type *fresh = NEW(m->arena, Type);
    *fresh = *old;
    fresh->elem = (int32_t)t;
    fresh->has_elem = true;
    value->declared = fresh;
    Graph *g = graph_at(m, value->graph);
    for (uint32_t i = 0; i < g->infos.len; i++)
        if (g->infos.at[i].value == v)
            g->infos.at[i].type = fresh;
}

// A Cast behind an output that the function writes as `want`: all that read it read the Cast.
static void cast_behind(Model *m, Builder *a, const Uses *uses, ValueId v, DType want)
{
    DType have = lint_dtype(m, v);
    uint32_t n = uses->first[v + 1] - uses->first[v];
    if (!n)
        return;
    const Type *declared = value_at(m, v)->declared;
    NodeId cast = adaptor_insert(a, v, "Cast", dtype_name(have), uses->uses + uses->first[v], n);
    node_set_int(m, cast, "to", have);
    value_at(m, node_at(m, cast)->out[0])->declared = declared;
    declare(m, v, want);
}

// The operand reads what its Cast converts; a Cast that nothing else reads goes.
static void read_before(Model *m, const Uses *uses, NodeId id, uint32_t k, ValueId source)
{
    ValueId v = node_at(m, id)->in[k];
    NodeId cast = value_at(m, v)->node;
    uint32_t others = 0;
    node_at(m, id)->in[k] = source;
    for (uint32_t i = uses->first[v]; i < uses->first[v + 1]; i++) {
        const Use *u = &uses->uses[i];
        others += !u->node || node_at(m, u->node)->in[u->index] == v;
    }
    if (others)
        return;
    Graph *g = graph_at(m, value_at(m, v)->graph);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->infos.len; i++)
        if (g->infos.at[i].value != v)
            g->infos.at[kept++] = g->infos.at[i];
    g->infos.len = kept;
    graph_remove(m, cast);
}

static uint32_t cast_around(Model *m, Builder *a, const Uses *uses, NodeId id,
                            const CustomFunction *f)
{
    uint32_t in = 0, out = 0, made = 0;
    DType wants[64]; // before anything is changed: types of a template depend on all operands
    for (uint32_t i = 0; i < f->nparams && i < 64; i++)
        wants[i] = taken_dtype(m, f, node_at(m, id), &f->params[i]);
    for (uint32_t i = 0; i < f->nparams; i++) {
        const CustomParam *p = &f->params[i];
        if (p->kind != CUSTOM_INPUT && p->kind != CUSTOM_OUTPUT)
            continue;
        bool is_input = p->kind == CUSTOM_INPUT;
        uint32_t k = is_input ? in++ : out++;
        ValueId v = is_input ? node_at(m, id)->in[k] : node_at(m, id)->out[k];
        DType have = lint_dtype(m, v);
        DType want = wants[i];
        if (have == DT_NONE || want == DT_NONE || have == want)
            continue;
        if (!is_input) {
            made++;
            cast_behind(m, a, uses, v, want);
            continue;
        }
        ValueId source = before_cast(m, v, want);
        if (source) {
            read_before(m, uses, id, k, source);
            made++;
            continue;
        }
        Use use = {id, node_at(m, id)->graph, k};
        NodeId cast = adaptor_insert(a, v, "Cast", dtype_name(want), &use, 1);
        node_set_int(m, cast, "to", want);
        made++;
    }
    return made;
}

uint32_t repair_contracts(Model *m, bool unsafe)
{
    if (!unsafe || !m->contracts || !m->contracts->ops.len)
        return 0;
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Builder adaptors = builder_of(m, a);
    uint32_t made = 0, nodes = m->nodes.len;
    for (NodeId id = 1; id < nodes; id++) {
        const Node *n = node_at(m, id);
        const CustomOp *op = n->dead || n->schema ? NULL : contract_of(m->contracts, a, n);
        CustomMisfit misfit = {0};
        const CustomFunction *nearest;
        if (op && !custom_fitting(m, op, id, &nearest, &misfit) && nearest &&
            misfit.operand != UINT32_MAX)
            made += cast_around(m, &adaptors, &uses, id, nearest);
    }
    if (made)
        repair_sort(m, a);
    arena_free(a);
    return made;
}
