// Derivatives of the outputs by every value: see passes/sensitivity.h.
//
// 1. The model gets its float64 shadow (passes/shadow.c): the error that each node makes, and
//    copies of nodes in float64.
// 2. The nodes that the model had are visited from the last to the first. What the readers of a
//    value say of it is added up (Total) and is its adjoint; a node's Back makes of the adjoints
//    of its results those of its operands. In a model of floats narrower than float32 that is
//    done on the copies: an adjoint would not fit float16.
// 3. Where a node has no Back, its copy is run once more for each operand, moved a little.
// 4. Every value and its adjoint become numbers (Sense), which are the outputs of the model.
//
// in:  what pass_pipeline leaves.   out: a model with one input more; types have to be inferred.

#include "passes/sensitivity.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/lower.h"
#include "ir/ops/random.h"
#include "ir/ops/sensitivity.h"
#include "ir/ops/shadow.h"
#include "passes/clone.h"
#include "passes/pass.h"
#include "passes/shadow_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPAQUE_OPERANDS = 24, MAX_BACK_OPERANDS = 64, MAX_DECISIONS = 64 };

typedef VEC(ValueId) Ids;

typedef struct Sweep {
    Shadow s;
    Model *m;
    Arena *scratch;
    SensReport *report;
    GraphId g;
    ValueId probe;
    bool wide;    // adjoints are float64, derivatives those of the shadow
    Ids *parts;   // by value: what its readers say of it
    ValueId *bar; // by value: their sum
    uint8_t *assumed, *opaque, *blind, *seen;
    VEC(ValueInfo) outputs;
} Sweep;

// ---- nodes of our own --------------------------------------------------------------------------

static NodeId own(Sweep *w, const char *op, const ValueId *in, uint32_t nin, const char *what)
{
    Str name = str_printf(w->m->arena, "%s#%u", what, w->m->values.len);
    NodeId n = node_build(w->m, w->g, op, in, nin, name);
    Node *node = node_at(w->m, n);
    node->domain = STR(SHADOW_DOMAIN);
    node->has |= NODE_HAS_DOMAIN;
    node->reason = STR("sensitivity");
    return n;
}

static ValueId finish(Sweep *w, NodeId n)
{
    infer_node(w->m, n, NULL);
    graph_append(w->m, w->g, n);
    return node_at(w->m, n)->out[0];
}

static DType bar_dtype(const Sweep *w, ValueId v)
{
    return w->wide ? DT_F64 : value_at(w->m, v)->dtype;
}

static bool is_mine(const Sweep *w, ValueId v)
{
    return v && v < w->s.nvalues && shadow_is_float(&w->s, v) && value_at(w->m, v)->rank >= 0;
}

// The sum of what was said of v; 0: nothing.
static ValueId total_of(Sweep *w, ValueId v)
{
    Ids *parts = &w->parts[v];
    if (!w->bar[v] && parts->len == 1)
        w->bar[v] = parts->at[0];
    else if (!w->bar[v] && parts->len)
        w->bar[v] = finish(w, own(w, TOTAL_OP, parts->at, parts->len, "bar"));
    return w->bar[v];
}

static void add_part(Sweep *w, ValueId v, ValueId part)
{
    if (part)
        vec_push(w->scratch, &w->parts[v], part);
}

// ---- numbers -----------------------------------------------------------------------------------

static void sense(Sweep *w, ValueId v, NodeId n, SensKind kind)
{
    Model *m = w->m;
    ValueId y = v, in[4] = {0}, bar = total_of(w, v), exact = w->s.shadow[v];
    ValueId local = shadow_local(&w->s, v);
    DType t = value_at(m, v)->dtype;
    uint32_t k = 0;
    if (w->seen[v])
        return;
    w->seen[v] = 1;
    if (t != DT_F32 && t != DT_F64 && t != DT_F16 && t != DT_BF16)
        y = shadow_wide(&w->s, v);
    in[k++] = y;
    if (bar)
        in[k++] = bar;
    if (local)
        in[k++] = local;
    if (exact)
        in[k++] = exact;
    NodeId id = own(w, SENSE_OP, in, k, "sense");
    node_set_int(m, id, "bar", bar != 0);
    node_set_int(m, id, "made", local != 0);
    node_set_int(m, id, "exact", exact != 0);
    ValueId numbers = finish(w, id);
    SensValue r = {.value = v, .node = n, .kind = kind, .dtype = t, .made = local != 0};
    r.assumed = w->assumed[v];
    r.opaque = w->opaque[v];
    r.blind = w->blind[v];
    r.exact = n && shadow_is_exact(node_at(m, n));
    r.output = w->outputs.len;
    r.name = value_shown_name(m, v);
    r.op = n ? node_at(m, n)->op : STR_NONE;
    r.path = n ? location_node(m, m->arena, n) : location_value(m, m->arena, v);
    vec_push(m->arena, &w->outputs, ((ValueInfo){.value = numbers, .has = 1}));
    vec_push(m->arena, &w->report->values, r);
}

// ---- derivatives of a node ---------------------------------------------------------------------

// The node whose derivative is taken, and its values: the node itself, or its float64 copy.
typedef struct Stand {
    NodeId id;        // 0: there is none
    const ValueId *x; // by operand and by result of the node itself, those of `id`
    const ValueId *y;
} Stand;

static Stand stand_for(const Sweep *w, NodeId id)
{
    const Node *n = node_at(w->m, id);
    Stand s = {id, n->in, n->out};
    if (!w->wide)
        return s;
    s.id = 0;
    for (uint32_t o = 0; o < n->nout; o++)
        if (is_mine(w, n->out[o]) && w->s.shadow[n->out[o]])
            s.id = value_at(w->m, w->s.shadow[n->out[o]])->node;
    const Node *copy = s.id ? node_at(w->m, s.id) : NULL;
    if (!copy || copy->nin != n->nin || copy->nout != n->nout || !str_eq(copy->op, n->op))
        s.id = 0;
    s.x = copy ? copy->in : NULL;
    s.y = copy ? copy->out : NULL;
    return s;
}

static bool is_first(const ValueId *in, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (in[k] == in[i])
            return false;
    return true;
}

static void append_attrs(Sweep *w, NodeId to, const Node *from, uint32_t nx, uint32_t ny)
{
    Model *m = w->m;
    Node *n = node_at(m, to);
    n->attrs = NEWS(m->arena, Attr, from->nattrs + 4u);
    if (from->nattrs)
        memcpy(n->attrs, from->attrs, from->nattrs * sizeof *n->attrs);
    n->nattrs = from->nattrs;
    node_set_str(m, to, "cameo.op", from->op);
    node_set_str(m, to, "cameo.domain", from->domain);
    node_set_int(m, to, "cameo.operands", nx);
    node_set_int(m, to, "cameo.results", ny);
}

// A Back of the stand; its results are fresh values. Not in the list yet.
static NodeId build_back(Sweep *w, NodeId id, const Stand *stand)
{
    Model *m = w->m;
    Node n = *node_at(m, id), from = *node_at(m, stand->id);
    ValueId *in = NEWS(w->scratch, ValueId, n.nin + 2u * n.nout + 1u);
    ValueId *out = NEWS(m->arena, ValueId, n.nin + 1u);
    uint32_t k = 0, nout = 0;
    for (uint32_t i = 0; i < n.nin; i++)
        in[k++] = stand->x[i];
    for (uint32_t o = 0; o < n.nout; o++)
        in[k++] = stand->y[o];
    for (uint32_t o = 0; o < n.nout; o++)
        in[k++] = is_mine(w, n.out[o]) ? total_of(w, n.out[o]) : 0;
    NodeId back = own(w, BACK_OP, in, k, "back");
    for (uint32_t i = 0; i < n.nin; i++) {
        if (!is_mine(w, n.in[i]) || !shadow_is_variable(&n, i) || !is_first(n.in, i))
            continue;
        out[i] = value_new(m, w->g, str_printf(m->arena, "bar#%u", m->values.len));
        Value *v = value_at(m, out[i]);
        v->def = DEF_NODE;
        v->node = back;
        v->index = i;
        nout = i + 1;
    }
    Node *node = node_at(m, back);
    node->out = out;
    node->nout = nout;
    append_attrs(w, back, &from, n.nin, n.nout);
    return nout ? back : 0;
}

static bool add_back(Sweep *w, NodeId id)
{
    Model *m = w->m;
    Node n = *node_at(m, id);
    if (!shadow_may_copy(&w->s, &n) || n.nin > MAX_BACK_OPERANDS || n.nout > MAX_BACK_OPERANDS)
        return false;
    Stand stand = stand_for(w, id);
    if (!stand.id)
        return false;
    NodeId back = build_back(w, id, &stand);
    if (!back)
        return true;
    Diags quiet;
    diags_init(&quiet, w->scratch, STR_NONE);
    infer_node(m, back, &quiet);
    bool lowers = !quiet.errors && lower_node_alone(m, back, &quiet) != NULL && !quiet.errors;
    if (!lowers) {
        node_at(m, back)->dead = true;
        return false;
    }
    graph_append(m, w->g, back);
    Node made = *node_at(m, back);
    for (uint32_t i = 0; i < made.nout; i++)
        if (made.out[i])
            add_part(w, n.in[i], made.out[i]);
    return true;
}

// A cast between floats hands its adjoint on.
static bool add_cast(Sweep *w, NodeId id)
{
    const Node *n = node_at(w->m, id);
    if (!w->wide || !(node_is(n, "Cast") || node_is(n, "CastLike")) || !is_mine(w, n->in[0]) ||
        !is_mine(w, n->out[0]))
        return false;
    add_part(w, n->in[0], total_of(w, n->out[0]));
    return true;
}

// ---- nodes taken as a whole --------------------------------------------------------------------

typedef struct Reads {
    Sweep *w;
    Ids *found;
} Reads;

static void note_read(Reads *r, ValueId v)
{
    if (!is_mine(r->w, v) || value_at(r->w->m, v)->graph != r->w->g)
        return;
    for (uint32_t i = 0; i < r->found->len; i++)
        if (r->found->at[i] == v)
            return;
    vec_push(r->w->scratch, r->found, v);
}

static void note_node(void *context, NodeId id)
{
    Reads *r = context;
    const Node *n = node_at(r->w->m, id);
    for (uint32_t i = 0; i < n->nin; i++)
        note_read(r, n->in[i]);
    for (uint32_t i = 0; i < n->nattrs; i++)
        for (uint32_t o = 0; n->attrs[i].g && o < graph_at(r->w->m, n->attrs[i].g)->outputs.len;
             o++)
            note_read(r, graph_at(r->w->m, n->attrs[i].g)->outputs.at[o].value);
}

// The floats of the main graph that the node and what it holds reads.
static Ids reads_of(Sweep *w, NodeId id)
{
    Ids found = {0};
    Reads r = {w, &found};
    const Node *n = node_at(w->m, id);
    note_node(&r, id);
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g)
            graph_walk(w->m, n->attrs[i].g, note_node, &r);
    return found;
}

// The shadow's node once more with `x` replaced by `by`; NULL map entries of results are fresh.
static Clone run_again(Sweep *w, NodeId twin, ValueId x, ValueId by)
{
    Model *m = w->m;
    Clone c = {.m = m, .nmap = m->values.len, .limit = 1 << 20, .scratch = w->scratch};
    c.map = NEWS(w->scratch, ValueId, c.nmap);
    clone_map(&c, x, by);
    NodeId again = clone_node(&c, twin, w->g);
    infer_node(m, again, NULL);
    graph_append(m, w->g, again);
    return c;
}

static bool follow(Sweep *w, NodeId id, NodeId twin, ValueId x)
{
    Model *m = w->m;
    Node n = *node_at(m, id);
    ValueId wide = shadow_of(&w->s, x), in[2] = {wide, w->probe};
    NodeId nudge = own(w, NUDGE_OP, in, 2, "nudge");
    node_set_int(m, nudge, "salt", x);
    Clone c = run_again(w, twin, wide, finish(w, nudge));
    Ids operands = {0};
    vec_push(w->scratch, &operands, wide);
    vec_push(w->scratch, &operands, w->probe);
    for (uint32_t o = 0; o < n.nout; o++) {
        ValueId y = n.out[o], bar = is_mine(w, y) ? total_of(w, y) : 0;
        if (!bar)
            continue;
        vec_push(w->scratch, &operands, bar);
        vec_push(w->scratch, &operands, clone_mapped(&c, w->s.shadow[y]));
        vec_push(w->scratch, &operands, w->s.shadow[y]);
    }
    NodeId f = own(w, FOLLOW_OP, operands.at, operands.len, "follow");
    node_set_int(m, f, "salt", x);
    node_set_int(m, f, "dtype", bar_dtype(w, x));
    add_part(w, x, finish(w, f));
    w->assumed[x] = 1;
    return !c.failed;
}

// The node in float64 that gives the shadow of every result that counts; 0: there is none.
static NodeId twin_of(const Sweep *w, NodeId id)
{
    const Node *n = node_at(w->m, id);
    NodeId twin = 0;
    for (uint32_t o = 0; o < n->nout; o++) {
        ValueId y = n->out[o];
        if (!is_mine(w, y) || !(w->bar[y] || w->parts[y].len))
            continue;
        const Value *v = w->s.shadow[y] ? value_at(w->m, w->s.shadow[y]) : NULL;
        if (!v || v->def != DEF_NODE || (twin && twin != v->node))
            return 0;
        twin = v->node;
    }
    return twin && !node_is_widen(node_at(w->m, twin)) ? twin : 0;
}

static bool is_recurrent(const Node *n)
{
    return node_is(n, "LSTM") || node_is(n, "GRU") || node_is(n, "RNN");
}

static void take_whole(Sweep *w, NodeId id)
{
    const Node *n = node_at(w->m, id);
    const Value *x = is_recurrent(n) && n->nin ? value_at(w->m, n->in[0]) : NULL;
    if (x && x->rank == 3 && !poly_is_const(x->dims[node_int(n, "layout", 0) ? 1 : 0], NULL))
        w->report->wants_sizes = true;
    NodeId twin = node_is_random(n) ? 0 : twin_of(w, id);
    Ids reads = reads_of(w, id);
    bool followed = twin && reads.len <= MAX_OPAQUE_OPERANDS;
    for (uint32_t o = 0; o < n->nout; o++)
        if (is_mine(w, n->out[o])) {
            w->opaque[n->out[o]] = 1;
            w->blind[n->out[o]] = !followed && reads.len;
        }
    for (uint32_t i = 0; followed && i < reads.len; i++)
        follow(w, id, twin, reads.at[i]);
}

// ---- the sweep ---------------------------------------------------------------------------------

static bool has_graphs(const Node *n)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g || n->attrs[i].ngraphs)
            return true;
    return false;
}

static void sweep_node(Sweep *w, NodeId id)
{
    Node n = *node_at(w->m, id);
    bool counts = false, assumed = false;
    for (uint32_t o = 0; o < n.nout; o++) {
        if (!is_mine(w, n.out[o]) || value_at(w->m, n.out[o])->constant)
            continue;
        counts = total_of(w, n.out[o]) || counts;
        assumed = assumed || w->assumed[n.out[o]];
    }
    if (counts && (has_graphs(&n) || !(add_cast(w, id) || add_back(w, id))))
        take_whole(w, id);
    for (uint32_t i = 0; assumed && i < n.nin; i++)
        if (is_mine(w, n.in[i]))
            w->assumed[n.in[i]] = 1;
    for (uint32_t o = n.nout; o-- > 0;)
        if (is_mine(w, n.out[o]) && !value_at(w->m, n.out[o])->constant)
            sense(w, n.out[o], id, SENS_OF_NODE);
}

static bool begin_outputs(Sweep *w, const ValueInfo *outputs, uint32_t n)
{
    Model *m = w->m;
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        ValueId v = outputs[i].value, in[2] = {v, w->probe};
        if (!is_mine(w, v) || value_at(m, v)->constant)
            continue;
        NodeId r = own(w, PROBE_OP, in, 2, "probe");
        node_set_int(m, r, "output", i);
        node_set_int(m, r, "dtype", bar_dtype(w, v));
        add_part(w, v, finish(w, r));
        vec_push(m->arena, &w->report->outputs,
                 ((SensOutput){.value = v, .name = value_shown_name(m, v), .number = i}));
        any = true;
    }
    return any;
}

// ---- decisions ---------------------------------------------------------------------------------

typedef struct Deciding {
    const char *op;
    int kind;
} Deciding;

static const Deciding deciding[] = {
    {"ArgMax", MARGIN_GREATEST},
    {"ArgMin", MARGIN_LOWEST},
    {"TopK", MARGIN_GREATEST},
    {"Less", MARGIN_ZERO},
    {"LessOrEqual", MARGIN_ZERO},
    {"Greater", MARGIN_ZERO},
    {"GreaterOrEqual", MARGIN_ZERO},
    {"Sign", MARGIN_ZERO},
    {"Round", MARGIN_HALF},
    {"Floor", MARGIN_WHOLE},
    {"Ceil", MARGIN_WHOLE},
    {"Cast", MARGIN_WHOLE},
    {"NonMaxSuppression", MARGIN_ZERO},
};

enum { NMS_SCORES = 1, NMS_THRESHOLD = 4 };

// What a node decides by: a, or a - b. Of NonMaxSuppression: scores and their threshold.
static void operands_of(const Sweep *w, const Node *n, ValueId *a, ValueId *b)
{
    bool nms = node_is(n, "NonMaxSuppression");
    uint32_t first = nms ? NMS_SCORES : 0, second = nms ? NMS_THRESHOLD : 1;
    *a = n->nin > first ? n->in[first] : 0;
    *b = n->nin > second && !node_is(n, "TopK") && is_mine(w, n->in[second]) ? n->in[second] : 0;
    if (nms && !*b)
        *a = 0; // no score is too low
}

// -1: the node decides nothing by floats.
static int decision_kind(const Sweep *w, const Node *n)
{
    int kind = -1;
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++)
        if (node_is(n, deciding[i].op))
            kind = deciding[i].kind;
    ValueId a, b;
    operands_of(w, n, &a, &b);
    bool known =
        !is_mine(w, a) || n->nout == 0 || !n->out[0] || value_at(w->m, n->out[0])->constant;
    if (known || (node_is(n, "Cast") && (shadow_is_float(&w->s, n->out[0]) ||
                                         value_at(w->m, n->out[0])->dtype == DT_BOOL ||
                                         value_at(w->m, n->out[0])->dtype == DT_STRING)))
        return -1;
    if (node_is(n, "TopK") && !node_int(n, "largest", 1))
        kind = MARGIN_LOWEST;
    return kind;
}

// What is decided by: the operand, or the difference of both.
static ValueId decided_by(Sweep *w, ValueId a, ValueId b)
{
    ValueId in[2] = {a, b};
    if (!b)
        return a;
    NodeId d = node_build(w->m, w->g, "Sub", in, 2,
                          str_printf(w->m->arena, "difference#%u", w->m->values.len));
    node_at(w->m, d)->reason = STR("sensitivity");
    return finish(w, d);
}

static void add_decision(Sweep *w, NodeId id, uint32_t number)
{
    Model *m = w->m;
    Node n = *node_at(m, id);
    int kind = decision_kind(w, &n);
    ValueId a, b;
    operands_of(w, &n, &a, &b);
    DType t = kind >= 0 ? value_at(m, a)->dtype : DT_NONE;
    if (t != DT_F32 && t != DT_F64 && t != DT_F16 && t != DT_BF16)
        return;
    int64_t rank = value_at(m, a)->rank;
    int64_t axis = node_int(&n, "axis", node_is(&n, "TopK") ? -1 : 0);
    axis += axis < 0 ? rank : 0;
    if (kind >= MARGIN_GREATEST && (axis < 0 || axis >= rank))
        return;
    // The operand that is computed: the error there is what may cross the threshold.
    bool top = node_is(&n, "TopK"), ordered = top && n.nout > 1 && n.out[1];
    ValueId moves = value_at(m, a)->constant && b ? b : a;
    ValueId in[2] = {decided_by(w, a, b), top && n.nin > 1 ? n.in[1] : 0};
    NodeId margin = own(w, MARGIN_OP, in, in[1] ? 2 : 1, "margin");
    node_set_int(m, margin, "kind", kind);
    node_set_int(m, margin, "axis", kind >= MARGIN_GREATEST ? axis : 0);
    node_set_int(m, margin, "ordered", ordered && node_int(&n, "sorted", 1) != 0);
    ValueId numbers = finish(w, margin), probed[2] = {moves, w->probe};
    NodeId r = own(w, PROBE_OP, probed, 2, "probe");
    node_set_int(m, r, "output", number);
    node_set_int(m, r, "dtype", bar_dtype(w, moves));
    add_part(w, moves, finish(w, r));
    SensDecision d = {.value = moves, .node = id, .number = number, .output = w->outputs.len};
    d.name = value_shown_name(m, moves);
    d.op = n.op;
    d.path = location_node(m, m->arena, id);
    vec_push(m->arena, &w->outputs, ((ValueInfo){.value = numbers, .has = 1}));
    vec_push(m->arena, &w->report->decisions, d);
}

// ---- what runs as it is ------------------------------------------------------------------------

// Quantised integers: what rounds to them, and what computes with them.
static const char *const quantised[] = {
    "QuantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearConv",
    "QLinearMatMul",
    "ConvInteger",
    "MatMulInteger",
    "QLinearAdd",
    "QLinearMul",
    "MatMulIntegerToFloat",
    "DynamicQuantizeMatMul",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "QLinearConcat",
    "QLinearSoftmax",
    "QGemm",
    "QAttention",
};

static bool is_plain(const Sweep *w, const Node *n)
{
    for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++)
        if (str_is(n->op, quantised[i]))
            return true;
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] && value_at(w->m, n->in[i])->dtype == DT_STRING)
            return true;
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && value_at(w->m, n->out[i])->dtype == DT_STRING)
            return true;
    return false;
}

static void note_plain(Sweep *w, const NodeId *nodes, uint32_t count)
{
    Arena *a = w->m->arena;
    for (uint32_t i = 0; i < count; i++) {
        const Node *n = node_at(w->m, nodes[i]);
        if (is_plain(w, n))
            vec_push(a, &w->report->plain,
                     ((SensPlain){.op = n->op, .path = location_node(w->m, a, nodes[i])}));
    }
}

static bool is_narrow(const Sweep *w)
{
    for (ValueId v = 1; v < w->s.nvalues; v++)
        if (is_mine(w, v) && value_at(w->m, v)->graph == w->g &&
            value_at(w->m, v)->dtype != DT_F32 && value_at(w->m, v)->dtype != DT_F64)
            return true;
    return false;
}

static void begin(Sweep *w, Model *m, Diags *diags, SensReport *report, ShadowReport *shadow)
{
    *w = (Sweep){.m = m, .scratch = arena_new(), .report = report, .g = m->main};
    shadow_begin(&w->s, m, diags, shadow, w->scratch);
    uint32_t n = m->values.len;
    w->parts = NEWS(w->scratch, Ids, n);
    w->bar = NEWS(w->scratch, ValueId, n);
    w->assumed = NEWS(w->scratch, uint8_t, n);
    w->opaque = NEWS(w->scratch, uint8_t, n);
    w->blind = NEWS(w->scratch, uint8_t, n);
    w->seen = NEWS(w->scratch, uint8_t, n);
    w->wide = is_narrow(w);
}

// Inputs, then the constants that nodes of the graph read.
static void sense_sources(Sweep *w, const NodeId *nodes, uint32_t count)
{
    const Graph *g = graph_at(w->m, w->g);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId v = graph_at(w->m, w->g)->inputs.at[i].value;
        if (is_mine(w, v) && !value_at(w->m, v)->constant)
            sense(w, v, 0, SENS_OF_INPUT);
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < node_at(w->m, nodes[i])->nin; k++) {
            ValueId v = node_at(w->m, nodes[i])->in[k];
            if (is_mine(w, v) && value_at(w->m, v)->constant && value_at(w->m, v)->graph == w->g &&
                total_of(w, v))
                sense(w, v, 0, SENS_OF_WEIGHT);
        }
}

static int by_order(const void *a, const void *b)
{
    const SensValue *x = a, *y = b;
    if (x->kind != y->kind) // inputs, weights, nodes
        return (x->kind == SENS_OF_NODE) - (y->kind == SENS_OF_NODE) +
               2 * ((x->kind == SENS_OF_NODE) != (y->kind == SENS_OF_NODE) ? 0 : x->kind - y->kind);
    bool nodes = x->kind == SENS_OF_NODE; // these were visited from the last to the first
    int later = (x->output > y->output) - (x->output < y->output);
    return nodes ? -later : later;
}

static void finish_report(Sweep *w)
{
    SensReport *r = w->report;
    if (r->values.len)
        qsort(r->values.at, r->values.len, sizeof *r->values.at, by_order);
    for (uint32_t i = 0; i < r->outputs.len; i++)
        for (uint32_t k = 0; k < r->values.len; k++)
            if (r->values.at[k].value == r->outputs.at[i].value)
                r->outputs.at[i].record = k;
    for (uint32_t i = 0; i < r->decisions.len; i++)
        for (uint32_t k = 0; k < r->values.len; k++)
            if (r->values.at[k].value == r->decisions.at[i].value)
                r->decisions.at[i].record = k;
}

// The model's outputs from now on; what the old ones declare still holds.
static void replace_outputs(Sweep *w)
{
    Graph *g = graph_at(w->m, w->g);
    shadow_drop_outputs(w->m, g);
    for (uint32_t i = 0; i < w->outputs.len; i++)
        vec_push(w->m->arena, &g->outputs, w->outputs.at[i]);
}

bool sensitivity_model(Model *m, Diags *diags, SensReport *report)
{
    Sweep w;
    ShadowReport shadow = {0};
    ShadowList list = {0};
    begin(&w, m, diags, report, &shadow);
    uint32_t n = graph_at(m, w.g)->nodes.len;
    NodeId *nodes = NEWS(w.scratch, NodeId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = graph_at(m, w.g)->nodes.at[i];
    const Graph *g = graph_at(m, w.g);
    uint32_t nout = g->outputs.len;
    const ValueInfo *outputs = g->outputs.at;
    shadow_graph(&w.s, w.g, &list);
    note_plain(&w, nodes, n);
    w.probe = builder_vector_input(m, w.g, SENS_INPUT, DT_I64, 3);
    bool any = begin_outputs(&w, outputs, nout), decides = any || report->may_only_decide;
    for (uint32_t i = 0; decides && i < n && report->decisions.len < MAX_DECISIONS; i++)
        add_decision(&w, nodes[i], nout + report->decisions.len);
    any = any || report->decisions.len > 0;
    for (uint32_t i = n; any && i-- > 0;)
        sweep_node(&w, nodes[i]);
    if (any)
        sense_sources(&w, nodes, n);
    else
        diag(diags, "", SEV_ERROR, location_graph(m, m->arena, m->main),
             "not supported: no output of the model is a tensor of floats that depends on inputs");
    if (any) {
        replace_outputs(&w);
        finish_report(&w);
    }
    arena_free(w.scratch);
    return any;
}
