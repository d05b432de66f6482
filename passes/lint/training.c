// TR001 to TR006: training with ai.onnx.preview.training.
//
// Loss scaling is checked as units are: each value has a degree in the scale S. The scaled loss has
// 1; what is linear keeps it, products add, a quotient subtracts, a power multiplies; what is added
// or chosen between has to agree. An optimizer's gradients must have degree 0. What is not known
// stays unknown, and nothing is said of it.

#include "ir/ops/gradient.h"
#include "passes/elements.h"
#include "passes/lint/lint.h"

#include <math.h>
#include <string.h>

enum { UNKNOWN = 127, MAX_DEGREE = 100 };

typedef struct Train {
    Lint *l;
    Model *m;
    Map names; // "graph name" -> value, of graphs with a Gradient
    VEC(NodeId) gradients;
    int8_t *degree; // by value: of S; UNKNOWN
    bool *scaled;   // by value: it depends on S
    bool *derived;  // by value: it depends on what a Gradient gives
    bool *limited;  // by value: derived, and behind limits that an infinity comes to
    ValueId scale;  // S; 0: none
    double number;  // of S where it is a constant, else 0
} Train;

// ---- the optimizers

static const char *role_of(uint32_t operand, uint32_t group)
{
    uint32_t k = (operand - 2) / group;
    return k == 0 ? "parameter" : k == 1 ? "gradient" : "state";
}

// ---- TR001

static bool is_half(const Model *m, ValueId v)
{
    return v && (value_at(m, v)->dtype == DT_F16 || value_at(m, v)->dtype == DT_BF16);
}

bool lint_optimizes_halves(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    for (uint32_t i = 2; optimizer_group(n) && i < n->nin; i++)
        if (is_half(m, n->in[i]))
            return true;
    return false;
}

void lint_optimizer_dtypes(Lint *l)
{
    const Model *m = l->m;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        uint32_t group = n->dead ? 0 : optimizer_group(n);
        for (uint32_t i = 2; group && i < n->nin; i++) {
            if (!is_half(m, n->in[i]))
                continue;
            const char *t = dtype_name(value_at(m, n->in[i])->dtype);
            Str op = str_escaped(l->arena, n->op), name = lint_name(l, n->in[i]);
            Diag *d = diag(l->diags, "TR001", SEV_ERROR, location_operand(m, l->arena, id, i),
                           "%.*s takes no %s: %s \"%.*s\" has to be float32", STR_ARG(op), t,
                           role_of(i, group), STR_ARG(name));
            d->value = name;
            lint_about_node(l, d, id);
            diag_note(l->diags, d, "an update of one part in %d of a %s number is rounded away",
                      value_at(m, n->in[i])->dtype == DT_F16 ? 4096 : 512, t);
            diag_help(
                l->diags, d,
                "keep a float32 copy of the parameters, and cast it where the model reads it");
        }
    }
}

// ---- degrees

static Str key_of(Arena *a, GraphId g, Str name)
{
    return str_printf(a, "%u %.*s", g, STR_ARG(name));
}

static ValueId named(Train *t, GraphId g, Str name)
{
    const uint32_t *v = map_get(&t->names, key_of(t->l->arena, g, name));
    return v ? *v : 0;
}

static bool scalar_number(Train *t, ValueId v, double *number)
{
    const Value *value = value_at(t->m, v);
    TensorData *c = value->constant                 ? (TensorData *)(uintptr_t)value->constant
                    : value->def == DEF_INITIALIZER ? value->init
                                                    : NULL;
    const Elements of =
        elements_in(t->m, c && tensor_count(c) == 1 && dtype_is_float((DType)c->dtype) ? c : NULL);
    *number = of.n ? element_at(&of, 0) : 0;
    return of.n == 1;
}

static bool is_source(Train *t, ValueId v)
{
    double number;
    const Value *value = value_at(t->m, v);
    int64_t size = 0;
    bool one =
        value->rank == 0 || (value->rank == 1 && poly_is_const(value->dims[0], &size) && size == 1);
    return scalar_number(t, v, &number) ? number > 1 : value->def == DEF_INPUT && one;
}

// y = loss * S: S is an input, or a constant above 1.
static ValueId scale_of(Train *t, ValueId y)
{
    const Value *value = value_at(t->m, y);
    const Node *n = value->def == DEF_NODE ? node_at(t->m, value->node) : NULL;
    if (!n || !node_is(n, "Mul") || n->nin != 2 || !n->in[0] || !n->in[1])
        return 0;
    bool left = is_source(t, n->in[0]), right = is_source(t, n->in[1]);
    return left == right ? 0 : n->in[left ? 0 : 1];
}

static int degree_of(Train *t, ValueId v)
{
    double number;
    if (!v)
        return 0;
    if (v == t->scale)
        return 1;
    // The same number, or its reciprocal, stored again.
    if (t->number && value_at(t->m, v)->def != DEF_INPUT && scalar_number(t, v, &number)) {
        if (number == t->number)
            return 1;
        if (fabs(number * t->number - 1) < 1e-6)
            return -1;
    }
    return t->degree[v];
}

static bool is_any(const Node *n, const char *const *ops)
{
    for (; *ops; ops++)
        if (node_is(n, *ops))
            return true;
    return false;
}

static const char *const products[] = {"Mul", "MatMul", "Conv", "ConvTranspose", "Einsum", NULL};
static const char *const keepers[] = {"Identity",  "Cast",        "Reshape",
                                      "Transpose", "Slice",       "Gather",
                                      "Expand",    "Squeeze",     "Unsqueeze",
                                      "Flatten",   "ReduceSum",   "ReduceMean",
                                      "ReduceMax", "ReduceMin",   "Neg",
                                      "Abs",       "Relu",        "ReduceL1",
                                      "ReduceL2",  "Tile",        "Pad",
                                      "Split",     "Clip",        "LeakyRelu",
                                      "GatherND",  "AveragePool", "GlobalAveragePool",
                                      "MaxPool",   "Dropout",     NULL};
static const char *const agreers[] = {"Add", "Sub", "Sum", "Concat", "Max", "Min", "Mean", NULL};
static const char *const tests[] = {
    "IsInf", "IsNaN", "Greater", "Less", "Equal",  "Shape", "GreaterOrEqual", "LessOrEqual", "Size",
    "Not",   "And",   "Or",      "Xor",  "ArgMax", NULL};

// So small a constant that it guards a divisor and nothing else.
static bool is_guard(Train *t, ValueId v)
{
    double number;
    return scalar_number(t, v, &number) && fabs(number) <= 1e-4;
}

// All of these operands have one degree. A constant 0 has any, and so has an epsilon.
static int agreed(Train *t, const Node *n, uint32_t from)
{
    int degree = UNKNOWN;
    bool any = false;
    for (uint32_t i = from; i < n->nin; i++) {
        if (!n->in[i] || is_guard(t, n->in[i]))
            continue;
        int d = degree_of(t, n->in[i]);
        if (any && d != degree)
            return UNKNOWN;
        degree = d;
        any = true;
    }
    return any ? degree : 0;
}

static int sum_of(int a, int b)
{
    int s = a + b;
    return a == UNKNOWN || b == UNKNOWN || s > MAX_DEGREE || s < -MAX_DEGREE ? UNKNOWN : s;
}

static int power_of(Train *t, const Node *n, int a)
{
    double e;
    if (n->nin < 2 || !scalar_number(t, n->in[1], &e) || a == UNKNOWN || e != floor(e))
        return a == 0 ? 0 : UNKNOWN;
    return fabs(a * e) > MAX_DEGREE ? UNKNOWN : (int)(a * e);
}

static int result_degree(Train *t, const Node *n)
{
    int a = n->nin ? degree_of(t, n->in[0]) : 0, b = n->nin > 1 ? degree_of(t, n->in[1]) : 0;
    if (is_any(n, tests))
        return 0;
    if (is_any(n, keepers))
        return a;
    if (is_any(n, products))
        return n->nin > 2 && n->in[2] && degree_of(t, n->in[2]) != sum_of(a, b) ? UNKNOWN
                                                                                : sum_of(a, b);
    if (node_is(n, "Gemm"))
        return n->nin > 2 && n->in[2] && degree_of(t, n->in[2]) != sum_of(a, b) ? UNKNOWN
                                                                                : sum_of(a, b);
    if (node_is(n, "Div"))
        return b == UNKNOWN ? UNKNOWN : sum_of(a, -b);
    if (node_is(n, "Reciprocal"))
        return a == UNKNOWN ? UNKNOWN : -a;
    if (node_is(n, "Sqrt"))
        return a == UNKNOWN || a % 2 ? UNKNOWN : a / 2;
    if (node_is(n, "ReduceSumSquare"))
        return sum_of(a, a);
    if (node_is(n, "Pow"))
        return power_of(t, n, a);
    if (node_is(n, "Where"))
        return agreed(t, n, 1);
    if (is_any(n, agreers))
        return agreed(t, n, 0);
    for (uint32_t i = 0; i < n->nin; i++)
        if (degree_of(t, n->in[i]) != 0)
            return UNKNOWN;
    return 0;
}

// Does a limit come of an infinite operand, or the answer of a test? Or is the result made, without
// a quotient, of nothing but such?
static bool is_limited(const Train *t, const Node *n)
{
    static const char *const limits[] = {"Tanh", "Sigmoid",  "HardSigmoid",
                                         "Sign", "Softsign", NULL};
    static const char *const more[] = {"Sqrt", "ReduceSumSquare", NULL};
    bool derived = false;
    if (is_any(n, limits) || is_any(n, tests) ||
        (node_is(n, "Clip") && n->nin > 2 && n->in[1] && n->in[2]))
        return true;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (n->in[i] && t->derived[n->in[i]] && !t->limited[n->in[i]])
            return false;
        derived |= n->in[i] && t->derived[n->in[i]];
    }
    return derived &&
           (is_any(n, keepers) || is_any(n, agreers) || is_any(n, products) || is_any(n, more));
}

static void visit(void *context, NodeId id)
{
    Train *t = context;
    const Node *n = node_at(t->m, id);
    bool gradient = node_is_training(n, "Gradient"), scaled = false, derived = gradient;
    for (uint32_t i = 0; i < n->nin; i++) {
        scaled |= n->in[i] && (t->scaled[n->in[i]] || n->in[i] == t->scale);
        derived |= n->in[i] && t->derived[n->in[i]];
    }
    ValueId y = gradient ? named(t, n->graph, node_str(n, "y", "")) : 0;
    int degree = gradient ? (y ? degree_of(t, y) : UNKNOWN) : result_degree(t, n);
    bool control = !n->schema;
    for (uint32_t i = 0; i < n->nattrs; i++)
        control |= n->attrs[i].g || n->attrs[i].ngraphs;
    for (uint32_t o = 0; o < n->nout; o++) {
        if (!n->out[o])
            continue;
        t->degree[n->out[o]] = (int8_t)(control ? UNKNOWN : degree);
        t->scaled[n->out[o]] = scaled || (y && t->scaled[y]);
        t->derived[n->out[o]] = derived;
        t->limited[n->out[o]] = derived && is_limited(t, n);
    }
}

static bool train_open(Train *t, Lint *l)
{
    *t = (Train){.l = l, .m = l->m, .names = {.arena = l->arena}};
    const NodeIds of = LINT_NODES(l, "Gradient");
    for (uint32_t at = 0; at < of.len; at++) {
        const Node *n = node_at(l->m, of.at[at]);
        if (!n->dead && node_is_training(n, "Gradient"))
            vec_push(l->arena, &t->gradients, of.at[at]);
    }
    if (!t->gradients.len)
        return false;
    for (ValueId v = 1; v < l->m->values.len; v++)
        if (value_at(l->m, v)->def != DEF_NONE && !value_at(l->m, v)->copy_of)
            *map_put(&t->names, key_of(l->arena, value_at(l->m, v)->graph, value_at(l->m, v)->name),
                     NULL) = v;
    t->degree = NEWS(l->arena, int8_t, l->m->values.len);
    t->scaled = NEWS(l->arena, bool, l->m->values.len);
    t->derived = NEWS(l->arena, bool, l->m->values.len);
    t->limited = NEWS(l->arena, bool, l->m->values.len);
    for (uint32_t i = 0; i < t->gradients.len && !t->scale; i++) {
        const Node *n = node_at(l->m, t->gradients.at[i]);
        ValueId y = named(t, n->graph, node_str(n, "y", ""));
        t->scale = y ? scale_of(t, y) : 0;
    }
    if (t->scale && !scalar_number(t, t->scale, &t->number))
        t->number = 0;
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        if (!graph_at(l->m, g)->owner && !graph_at(l->m, g)->function)
            graph_walk(l->m, g, visit, t);
    return true;
}

// The gradients of the optimizers; `say` is called with each.
static void each_gradient(Train *t, void (*say)(Train *t, NodeId id, uint32_t operand))
{
    for (NodeId id = 1; id < t->m->nodes.len; id++) {
        const Node *n = node_at(t->m, id);
        uint32_t group = n->dead ? 0 : optimizer_group(n);
        for (uint32_t i = 2 + group; i < 2 + 2 * group; i++)
            if (n->in[i])
                say(t, id, i);
    }
}

// ---- TR002, TR003

static void say_unscaled(Train *t, NodeId id, uint32_t operand)
{
    Lint *l = t->l;
    ValueId v = node_at(t->m, id)->in[operand];
    int degree = degree_of(t, v);
    if (degree == UNKNOWN || degree == 0 || !t->scaled[v])
        return;
    Str s = lint_name(l, t->scale), name = lint_name(l, v);
    Diag *d = diag(l->diags, "TR002", SEV_WARNING, location_operand(t->m, l->arena, id, operand),
                   "%.*s gets gradient \"%.*s\" times the loss scale \"%.*s\"%s",
                   STR_ARG(str_escaped(l->arena, node_at(t->m, id)->op)), STR_ARG(name), STR_ARG(s),
                   degree == 1 ? "" : str_printf(l->arena, " to the power of %d", degree).at);
    d->value = name;
    d->origin_kind = str_of(value_at(t->m, t->scale)->def == DEF_INPUT ? "input" : "initializer");
    d->origin_name = s;
    lint_about_node(l, d, id);
    diag_note(l->diags, d,
              "proved by degrees: the scaled loss has degree 1 in \"%.*s\", and so has "
              "its gradient; nothing divides by \"%.*s\" on the way",
              STR_ARG(s), STR_ARG(s));
    diag_help(l->diags, d, "divide the gradient by \"%.*s\" in front of the optimizer", STR_ARG(s));
}

void lint_unscaled(Lint *l)
{
    Train t;
    if (train_open(&t, l) && t.scale)
        each_gradient(&t, say_unscaled);
}

// Some test of a value that depends on the gradients and has their infinities. *behind: a tested
// value that has none, as it is behind a limit; 0: there is no such.
static bool is_tested(const Train *t, ValueId *behind)
{
    *behind = 0;
    for (NodeId id = 1; id < t->m->nodes.len; id++) {
        const Node *n = node_at(t->m, id);
        bool test = !n->dead && (node_is(n, "IsInf") || node_is(n, "IsNaN") || node_is(n, "Less") ||
                                 node_is(n, "LessOrEqual") || node_is(n, "Greater") ||
                                 node_is(n, "GreaterOrEqual") || node_is(n, "Equal"));
        for (uint32_t i = 0; test && i < n->nin; i++) {
            if (!n->in[i] || !t->derived[n->in[i]])
                continue;
            if (!t->limited[n->in[i]])
                return true;
            *behind = *behind ? *behind : n->in[i];
        }
    }
    return false;
}

static void say_untested_at(Train *t, NodeId id, uint32_t operand, Str what)
{
    Lint *l = t->l;
    ValueId behind;
    Diag *d = diag(l->diags, "TR003", SEV_WARNING, location_operand(t->m, l->arena, id, operand),
                   "scaled gradients reach %.*s, and nothing looks whether they overflowed",
                   STR_ARG(what));
    d->value = lint_name(l, node_at(t->m, id)->in[operand]);
    lint_about_node(l, d, id);
    diag_note(l->diags, d, "one infinite gradient makes every parameter that it updates NaN");
    if (!is_tested(t, &behind) && behind)
        diag_note(l->diags, d, "what looks at \"%.*s\" comes behind a limit, which is finite",
                  STR_ARG(lint_name(l, behind)));
    diag_help(l->diags, d,
              "skip the update (If, Where) where IsInf or IsNaN of a gradient is true");
}

static void say_untested(Train *t, NodeId id, uint32_t operand)
{
    uint32_t group = optimizer_group(node_at(t->m, id));
    if (t->scaled[node_at(t->m, id)->in[operand]] && operand == 2 + group) // one an optimizer
        say_untested_at(t, id, operand, str_escaped(t->l->arena, node_at(t->m, id)->op));
}

// Updates that are written out: an output from which something that gradients made is subtracted.
static void say_untested_outputs(Train *t)
{
    const Graph *g = graph_at(t->m, t->m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        const Value *v = value_at(t->m, g->outputs.at[i].value);
        const Node *n = v->def == DEF_NODE ? node_at(t->m, v->node) : NULL;
        if (n && node_is(n, "Sub") && n->nin == 2 && t->derived[n->in[1]] && t->scaled[n->in[1]] &&
            !t->derived[n->in[0]])
            say_untested_at(t, v->node, 1,
                            str_printf(t->l->arena, "the update \"%.*s\"",
                                       STR_ARG(lint_name(t->l, g->outputs.at[i].value))));
    }
}

// Is v one of two, of which what the gradients are decides?
static bool is_chosen(const Train *t, const Uses *uses, ValueId v)
{
    for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++) {
        const Node *n = node_at(t->m, uses->uses[u].node);
        if (!n->dead && node_is(n, "Where") && uses->uses[u].index > 0 && t->derived[n->in[0]])
            return true;
    }
    return false;
}

static bool is_output(const Train *t, ValueId v)
{
    const Graph *g = graph_at(t->m, t->m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].value == v)
            return true;
    return false;
}

// Does v leave the graph as it is?
static bool leaves(const Train *t, const Uses *uses, ValueId v)
{
    bool out = is_output(t, v);
    for (uint32_t u = uses->first[v]; !out && u < uses->first[v + 1]; u++) {
        const Node *n = node_at(t->m, uses->uses[u].node);
        out = !n->dead && (node_is(n, "Identity") || node_is(n, "Cast")) && is_output(t, n->out[0]);
    }
    return out;
}

// What an optimizer gives is skipped in part: the first result that is, and the first that is not.
static void say_half_skipped(Train *t, NodeId id, const Uses *uses)
{
    Lint *l = t->l;
    const Node *n = node_at(t->m, id);
    uint32_t skipped = n->nout, taken = n->nout;
    for (uint32_t o = n->nout; o > 0; o--) {
        const ValueId v = n->out[o - 1];
        if (v && is_chosen(t, uses, v))
            skipped = o - 1;
        else if (v && leaves(t, uses, v))
            taken = o - 1;
    }
    if (skipped == n->nout || taken == n->nout)
        return;
    Str name = lint_name(l, n->out[taken]), other = lint_name(l, n->out[skipped]);
    Diag *d = diag(l->diags, "TR003", SEV_WARNING, location_result(t->m, l->arena, id, taken),
                   "\"%.*s\" of %.*s is not skipped where \"%.*s\" is, after an overflow",
                   STR_ARG(name), STR_ARG(str_escaped(l->arena, n->op)), STR_ARG(other));
    d->value = name;
    lint_about_node(l, d, id);
    diag_note(l->diags, d, "one infinite gradient stays in it, and reaches every later update");
    diag_help(l->diags, d, "choose \"%.*s\" as \"%.*s\" is chosen", STR_ARG(name), STR_ARG(other));
}

static void find_half_skipped(Train *t)
{
    const Uses uses = uses_of(t->m, t->l->arena);
    for (NodeId id = 1; id < t->m->nodes.len; id++) {
        const Node *n = node_at(t->m, id);
        const uint32_t group = n->dead ? 0 : optimizer_group(n);
        bool scaled = false;
        for (uint32_t i = 2 + group; group && i < 2 + 2 * group; i++)
            scaled |= n->in[i] && t->scaled[n->in[i]];
        if (scaled)
            say_half_skipped(t, id, &uses);
    }
}

void lint_untested(Lint *l)
{
    Train t;
    ValueId behind;
    if (!train_open(&t, l) || !t.scale)
        return;
    if (is_tested(&t, &behind)) {
        find_half_skipped(&t);
        return;
    }
    each_gradient(&t, say_untested);
    say_untested_outputs(&t);
}

// ---- TR004

void lint_early_clip(Lint *l)
{
    Train t;
    if (!train_open(&t, l) || !t.scale)
        return;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        bool clip = node_is(n, "Clip");
        bool limit = node_is(n, "Min") || node_is(n, "Max");
        ValueId v = n->nin ? n->in[0] : 0;
        double number;
        if (limit && n->nin == 2 && n->in[0] && scalar_number(&t, n->in[0], &number))
            v = n->in[1];
        limit = limit && n->nin == 2 && n->in[0] && n->in[1] && v != 0 &&
                scalar_number(&t, v == n->in[0] ? n->in[1] : n->in[0], &number) && number != 0;
        if (n->dead || (!clip && !limit) || !v || !t.derived[v] || !t.scaled[v])
            continue;
        int degree = degree_of(&t, v),
            bound = clip ? 0 : degree_of(&t, v == n->in[0] ? n->in[1] : n->in[0]);
        if (clip && n->nin > 2 && n->in[2])
            bound = degree_of(&t, n->in[2]);
        if (degree == UNKNOWN || degree == 0 || bound == degree)
            continue;
        Str s = lint_name(l, t.scale), name = lint_name(l, v);
        Diag *d = diag(l->diags, "TR004", SEV_WARNING, location_node(l->m, l->arena, id),
                       degree > 0 ? "%.*s cuts gradient \"%.*s\" while it is still times the loss "
                                    "scale \"%.*s\""
                                  : "%.*s limits \"%.*s\", a factor made of the norm of gradients "
                                    "that are still times the loss scale \"%.*s\"",
                       STR_ARG(str_escaped(l->arena, n->op)), STR_ARG(name), STR_ARG(s));
        d->value = name;
        lint_about_node(l, d, id);
        if (t.number)
            diag_note(l->diags, d, "with \"%.*s\" = %g it cuts at a limit %g times too low",
                      STR_ARG(s), t.number, t.number);
        diag_help(l->diags, d, "divide by \"%.*s\" first", STR_ARG(s));
    }
}

// ---- TR005

// A float16 value that y is computed from. 0: none.
static ValueId half_behind(Train *t, ValueId y)
{
    bool *seen = NEWS(t->l->arena, bool, t->m->values.len);
    VEC(ValueId) open = {0};
    vec_push(t->l->arena, &open, y);
    while (open.len) {
        ValueId v = open.at[--open.len];
        const Value *value = v ? value_at(t->m, v) : NULL;
        if (!value || seen[v] || value->def != DEF_NODE)
            continue;
        seen[v] = true;
        if (value->dtype == DT_F16)
            return v;
        const Node *n = node_at(t->m, value->node);
        for (uint32_t i = 0; i < n->nin; i++)
            vec_push(t->l->arena, &open, n->in[i]);
    }
    return 0;
}

void lint_no_scaling(Lint *l)
{
    Train t;
    bool open = train_open(&t, l);
    for (uint32_t i = 0; open && i < t.gradients.len; i++) {
        NodeId id = t.gradients.at[i];
        const Node *n = node_at(l->m, id);
        ValueId y = named(&t, n->graph, node_str(n, "y", ""));
        ValueId half = y && !scale_of(&t, y) && !t.scaled[y] ? half_behind(&t, y) : 0;
        if (!half)
            continue;
        Diag *d =
            diag(l->diags, "TR005", SEV_WARNING, location_node(l->m, l->arena, id),
                 "loss \"%.*s\" goes through float16 and is not scaled", STR_ARG(lint_name(l, y)));
        d->value = lint_name(l, y);
        lint_about_node(l, d, id);
        diag_note(l->diags, d, "\"%.*s\" is float16: %.*s", STR_ARG(lint_name(l, half)),
                  STR_ARG(location_value(l->m, l->arena, half)));
        diag_note(l->diags, d, "gradients below 2.98e-8 become 0 there");
        diag_help(l->diags, d,
                  "multiply the loss by a scale such as 1024, and divide the gradients by it");
    }
}

// ---- TR006

static void report_state(Lint *l, NodeId id, Str where, Str what, const char *why, const char *help)
{
    Diag *d = diag(l->diags, "TR006", SEV_WARNING, where, "%.*s of %.*s", STR_ARG(what),
                   STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)));
    lint_about_node(l, d, id);
    diag_note(l->diags, d, "%s", why);
    diag_help(l->diags, d, "%s", help);
}

static void check_copies(Lint *l, NodeId id, uint32_t group)
{
    const Node *n = node_at(l->m, id);
    for (uint32_t i = 2; i < 2 + group; i++) {
        const Value *v = n->in[i] ? value_at(l->m, n->in[i]) : NULL;
        const Node *cast = v && v->def == DEF_NODE ? node_at(l->m, v->node) : NULL;
        if (cast && node_is(cast, "Cast") && cast->nin && is_half(l->m, cast->in[0]))
            report_state(l, id, location_operand(l->m, l->arena, id, i),
                         str_printf(l->arena, "parameter \"%.*s\" is stored as %s between updates",
                                    STR_ARG(lint_name(l, cast->in[0])),
                                    dtype_name(value_at(l->m, cast->in[0])->dtype)),
                         "what an update changes below its precision is lost",
                         "keep the float32 copy, and cast that for the model");
    }
}

void lint_optimizer_state(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Adagrad", "Adam", "Momentum");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        const Node *n = node_at(l->m, id);
        uint32_t group = n->dead ? 0 : optimizer_group(n);
        if (!group)
            continue;
        Str where = location_node(l->m, l->arena, id);
        bool divides = node_is_training(n, "Adam") || node_is_training(n, "Adagrad");
        double epsilon = node_float(n, "epsilon", 1e-6);
        if (divides && (float)epsilon == 0)
            report_state(l, id, where, STR("epsilon is 0 in float32"),
                         "a parameter whose gradients were 0 so far is divided by 0",
                         "set an epsilon that float32 holds: 1e-8 is common");
        if (node_is_training(n, "Adam") && (float)node_float(n, "beta", 0.999) == 1)
            report_state(l, id, where, STR("beta is 1 in float32"),
                         "1 - beta is 0: the second moment stays what it was",
                         "set a beta below 1 that float32 tells from it: 0.999 is common");
        check_copies(l, id, group);
    }
}
