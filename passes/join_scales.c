// Scales of what is quantised, joined to one number for each operand.
//
//     QuantizeLinear(Cast(sum) * s + b + DequantizeLinear(q, t, u), y, z)
//         = QuantizeLinear(Cast(sum) * (s / y) + (b - u * t) / y + Cast(q) * (t / y), 1, z)
//
// In real numbers both sides are one. The left one divides, and rounds at every step; on the right
// a product and a sum an operand are left, of constants that are rounded once. A result may lie one
// step off where it was near the middle of two. Only sums of whole numbers times constants, and of
// constants; Relu and Clip may be between. PassContext.strict leaves it out.
//
// What is dequantised, only moved or compared (MaxPool), and quantised again by the same scale and
// zero point stays the bytes that it was; that gives the same numbers. What Concat joins and is
// then quantised is quantised part by part, and the bytes are joined: the same numbers again, those
// of a part being the bytes that it was, or one rounding behind its sums.
//
// in:  inferred types, sorted nodes, constants folded.   out: the same.

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/pass.h"

#include <math.h>
#include <string.h>

enum { MOST_TERMS = 8, MOST_CONSTANTS = 1 << 20 };

typedef struct Join {
    Model *m;
    Arena *scratch;
    uint32_t *uses; // by value that was there before
    VEC(NodeId) found;
    Builder builder;
    NodeId origin; // the QuantizeLinear
    double step;   // its scale
} Join;

// What is summed: products of what is whole and a constant, and constants.
typedef struct Terms {
    ValueId core[MOST_TERMS], factor[MOST_TERMS]; // factor 0: `by` alone
    double by[MOST_TERMS];
    uint32_t ncores;
    ValueId added[MOST_TERMS];
    double sign[MOST_TERMS];
    uint32_t nadded;
    double number; // constants of all elements
} Terms;

// ---- constants ---------------------------------------------------------------------------------

static const void *elements_of(const Join *j, ValueId v, DType t, uint64_t *n)
{
    TensorData *c = v ? (TensorData *)(uintptr_t)value_at(j->m, v)->constant : NULL;
    Str error;
    if (!c || c->dtype != (int32_t)t || tensor_count(c) > MOST_CONSTANTS)
        return NULL;
    const void *at = tensor_elements(j->m, c, &error);
    *n = at ? c->nelements : 0;
    return *n ? at : NULL;
}

// A scale that is one number, as every step of what is divided by it stays a normal one.
static bool scale_of(const Join *j, ValueId v, double *to)
{
    uint64_t n = 0;
    float f;
    const void *at = elements_of(j, v, DT_F32, &n);
    if (!at || n != 1)
        return false;
    memcpy(&f, at, sizeof f);
    *to = f;
    return f >= ldexpf(1, -60) && f <= ldexpf(1, 60);
}

// One byte, or none, which is 0.
static bool zero_of(const Join *j, ValueId v, double *to)
{
    uint64_t n = 0;
    *to = 0;
    if (!v)
        return true;
    const DType t = value_at(j->m, v)->dtype;
    const void *at = t == DT_U8 || t == DT_I8 ? elements_of(j, v, t, &n) : NULL;
    if (!at || n != 1)
        return false;
    *to = t == DT_U8 ? *(const uint8_t *)at : *(const int8_t *)at;
    return true;
}

static bool is_finite(const Join *j, ValueId v)
{
    uint64_t n = 0;
    const char *at = elements_of(j, v, DT_F32, &n);
    for (uint64_t i = 0; at && i < n; i++) {
        float f;
        memcpy(&f, at + i * sizeof f, sizeof f);
        if (!isfinite(f))
            return false;
    }
    return at != NULL;
}

// ---- finding -----------------------------------------------------------------------------------

static const Node *maker_of(const Join *j, ValueId v)
{
    const Value *value = value_at(j->m, v);
    const Node *n = value->def == DEF_NODE ? node_at(j->m, value->node) : NULL;
    return n && n->def && !n->domain.len && !n->fault.len && n->nout == 1 ? n : NULL;
}

static ValueId input_of(const Node *n, uint32_t i)
{
    return i < n->nin ? n->in[i] : 0;
}

// A quantisation whose scale and zero point are one number each.
typedef struct Quantized {
    double scale, zero;
} Quantized;

static bool read_quantized(const Join *j, const Node *n, Quantized *to)
{
    return node_int(n, "block_size", 0) == 0 && node_int(n, "precision", 0) == 0 && n->nin >= 2 &&
           scale_of(j, input_of(n, 1), &to->scale) && zero_of(j, input_of(n, 2), &to->zero);
}

static bool is_byte(const Join *j, ValueId v)
{
    const DType t = v ? value_at(j->m, v)->dtype : DT_NONE;
    return t == DT_U8 || t == DT_I8;
}

static bool is_cast_integer(const Join *j, ValueId v)
{
    const Node *n = maker_of(j, v);
    return n && node_is(n, "Cast") && value_at(j->m, v)->dtype == DT_F32 && n->nin == 1 &&
           dtype_is_integer(value_at(j->m, n->in[0])->dtype);
}

static bool add_core(Terms *t, ValueId core, ValueId factor, double by)
{
    if (t->ncores == MOST_TERMS)
        return false;
    t->core[t->ncores] = core;
    t->factor[t->ncores] = factor;
    t->by[t->ncores++] = by;
    return true;
}

static bool add_constant(const Join *j, Terms *t, ValueId v, double sign)
{
    if (t->nadded == MOST_TERMS || !is_finite(j, v))
        return false;
    t->added[t->nadded] = v;
    t->sign[t->nadded++] = sign;
    return true;
}

static bool read_product(const Join *j, const Node *n, double sign, Terms *t)
{
    for (int i = 0; i < 2; i++)
        if (is_cast_integer(j, n->in[i]) && is_finite(j, n->in[1 - i]))
            return add_core(t, n->in[i], n->in[1 - i], sign);
    return false;
}

// The terms of v, times sign; false: it has others, or somebody else reads what is between.
static bool read_terms(const Join *j, ValueId v, double sign, Terms *t)
{
    const Value *value = value_at(j->m, v);
    if (value->dtype != DT_F32 || value->rank < 0)
        return false;
    if (value->constant)
        return add_constant(j, t, v, sign);
    const Node *n = maker_of(j, v);
    Quantized q;
    if (n && node_is(n, "DequantizeLinear") && is_byte(j, n->in[0]) && read_quantized(j, n, &q)) {
        t->number -= sign * q.zero * q.scale;
        return add_core(t, n->in[0], 0, sign * q.scale);
    }
    if (!n || j->uses[v] != 1 || n->nin != 2)
        return false;
    if (node_is(n, "Mul"))
        return read_product(j, n, sign, t);
    const bool difference = node_is(n, "Sub");
    return (node_is(n, "Add") || difference) && read_terms(j, n->in[0], sign, t) &&
           read_terms(j, n->in[1], difference ? -sign : sign, t);
}

// A bound of a Clip: a constant number; 0 is none.
static bool is_bound(const Join *j, ValueId v)
{
    uint64_t n = 0;
    return !v || (elements_of(j, v, DT_F32, &n) && n == 1);
}

// Relu or Clip, which may stand between; what it is of.
static ValueId clipped(const Join *j, ValueId v)
{
    const Node *n = maker_of(j, v);
    if (!n || j->uses[v] != 1)
        return 0;
    const bool clip = node_is(n, "Clip") && n->nattrs == 0 && n->nin >= 1 &&
                      is_bound(j, input_of(n, 1)) && is_bound(j, input_of(n, 2));
    return clip || node_is(n, "Relu") ? n->in[0] : 0;
}

static float nearest_byte(float v, const Quantized *as, int low)
{
    return fminf(fmaxf(rintf(v) + (float)as->zero, (float)low), (float)(low + 255));
}

// Bytes that nothing is added to are others by a table: is it the same one when scales are joined?
static bool same_bytes(const Join *j, const Terms *t, const Quantized *as)
{
    if (t->ncores != 1 || t->factor[0] || t->nadded)
        return true;
    const float scale = (float)t->by[0], joined = (float)(t->by[0] / as->scale);
    const float plus = (float)(t->number / as->scale), step = (float)as->scale;
    const double zero = rint(t->number / -t->by[0]);
    const int from = value_at(j->m, t->core[0])->dtype == DT_I8 ? -128 : 0;
    const int low = value_at(j->m, node_at(j->m, j->origin)->out[0])->dtype == DT_I8 ? -128 : 0;
    for (int q = from; q < from + 256; q++) {
        const float want = nearest_byte((float)(q - zero) * scale / step, as, low);
        if (want != nearest_byte((float)q * joined + plus, as, low) ||
            want != nearest_byte(fmaf((float)q, joined, plus), as, low))
            return false;
    }
    return true;
}

// Leaves what it is given as it is, or takes the greatest of it.
static bool is_move(const Join *j, const Node *n)
{
    enum { MAX_POOL_OF_BYTES = 12 };
    static const char *const moves[] = {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"};
    if (node_is(n, "MaxPool"))
        return opset_of(j->m, n) >= MAX_POOL_OF_BYTES;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (node_is(n, moves[i]))
            return true;
    return false;
}

// The bytes of type t that v was dequantised from, as they are quantised; 0: it is made otherwise.
static ValueId dequantized_by(const Join *j, ValueId v, const Quantized *as, DType t)
{
    Quantized from;
    const Node *d = maker_of(j, v);
    const bool same = d && node_is(d, "DequantizeLinear") && read_quantized(j, d, &from) &&
                      from.scale == as->scale && from.zero == as->zero;
    return same && is_byte(j, d->in[0]) && t == value_at(j->m, d->in[0])->dtype ? d->in[0] : 0;
}

// The bytes that are moved and quantised as they were; 0: they are not, or somebody else reads the
// moved ones too.
static ValueId moved(const Join *j, const Node *q, const Quantized *as)
{
    const Node *n = maker_of(j, q->in[0]);
    if (!n || j->uses[q->in[0]] != 1 || !is_move(j, n) || !n->in[0])
        return 0;
    return dequantized_by(j, n->in[0], as, value_at(j->m, q->out[0])->dtype);
}

// ---- building ----------------------------------------------------------------------------------

static ValueId build(Join *j, const char *op, ValueId a, ValueId b, ValueId c)
{
    const ValueId in[] = {a, b, c};
    const GraphId g = node_at(j->m, j->origin)->graph;
    const NodeId n = builder_node(&j->builder, g, j->origin, op, in, c ? 3 : b ? 2 : 1);
    graph_insert_before(j->m, j->origin, n);
    return node_at(j->m, n)->out[0];
}

static ValueId constant(Join *j, const char *what, uint32_t rank, const int64_t *dims,
                        const float *elements)
{
    const GraphId g = node_at(j->m, j->origin)->graph;
    const Str base = value_at(j->m, node_at(j->m, j->origin)->out[0])->name;
    return builder_constant(&j->builder, g, base, what,
                            tensor_new(j->m->arena, DT_F32, rank, dims, elements));
}

static ValueId number(Join *j, const char *what, double v)
{
    const float f = (float)v;
    return constant(j, what, 0, NULL, &f);
}

// (v * by + number) / step, element by element.
static ValueId scaled(Join *j, const char *what, ValueId v, double by, double plus)
{
    uint64_t n = 0;
    const char *at = elements_of(j, v, DT_F32, &n);
    const TensorData *c = value_at(j->m, v)->constant;
    float *to = arena_alloc(j->scratch, n * sizeof *to);
    for (uint64_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, at + i * sizeof f, sizeof f);
        to[i] = (float)((f * by + plus) / j->step);
    }
    return constant(j, what, c->rank, c->dims, to);
}

static ValueId product(Join *j, const Terms *t, uint32_t i)
{
    ValueId core = t->core[i];
    if (t->factor[i])
        return build(j, "Mul", core, scaled(j, "scale", t->factor[i], t->by[i], 0), 0);
    core = build(j, "Cast", core, 0, 0);
    node_set_int(j->m, value_at(j->m, core)->node, "to", DT_F32);
    return build(j, "Mul", core, number(j, "scale", t->by[i] / j->step), 0);
}

// Each product is added to what there is, so that the two can be one operation.
static ValueId build_terms(Join *j, const Terms *t)
{
    ValueId sum = product(j, t, 0);
    for (uint32_t i = 0; i < t->nadded; i++)
        sum = build(j, "Add", sum,
                    scaled(j, "bias", t->added[i], t->sign[i], i == 0 ? t->number : 0), 0);
    if (t->nadded == 0 && t->number != 0)
        sum = build(j, "Add", sum, number(j, "bias", t->number / j->step), 0);
    for (uint32_t i = 1; i < t->ncores; i++)
        sum = build(j, "Add", sum, product(j, t, i), 0);
    return sum;
}

// As `from`, the Relu or Clip that v comes of.
static ValueId build_clip(Join *j, ValueId from, ValueId sum)
{
    const Node *n = maker_of(j, from);
    if (node_is(n, "Relu"))
        return build(j, "Relu", sum, 0, 0);
    const ValueId bounds[] = {input_of(n, 1), input_of(n, 2)};
    ValueId in[3] = {sum};
    for (int i = 0; i < 2; i++)
        in[1 + i] = bounds[i] ? scaled(j, i ? "most" : "least", bounds[i], 1, 0) : 0;
    const GraphId g = node_at(j->m, j->origin)->graph;
    const NodeId made = builder_node(&j->builder, g, j->origin, "Clip", in, 3);
    graph_insert_before(j->m, j->origin, made);
    return node_at(j->m, made)->out[0];
}

// v, quantised as the origin does but for the scale.
static NodeId quantize(Join *j, ValueId v, ValueId scale)
{
    const Node *q = node_at(j->m, j->origin);
    const ValueId in[] = {v, scale, input_of(q, 2)};
    const uint32_t nin = in[2] ? 3 : 2;
    const NodeId n = builder_node(&j->builder, q->graph, j->origin, "QuantizeLinear", in, nin);
    q = node_at(j->m, j->origin);
    node_at(j->m, n)->attrs = q->attrs;
    node_at(j->m, n)->nattrs = q->nattrs;
    node_at(j->m, n)->def = q->def;
    graph_insert_before(j->m, j->origin, n);
    return n;
}

// As `by` does with floats.
static NodeId move(Join *j, const Node *by, const ValueId *in)
{
    const NodeId from = value_at(j->m, by->out[0])->node;
    const GraphId g = node_at(j->m, j->origin)->graph;
    const Str op = str_printf(j->scratch, "%.*s", STR_ARG(by->op));
    const NodeId n = builder_node(&j->builder, g, j->origin, op.at, in, by->nin);
    node_at(j->m, n)->attrs = node_at(j->m, from)->attrs;
    node_at(j->m, n)->nattrs = node_at(j->m, from)->nattrs;
    graph_insert_before(j->m, j->origin, n);
    return n;
}

static NodeId move_bytes(Join *j, const Node *by, ValueId bytes)
{
    ValueId *in = NEWS(j->scratch, ValueId, by->nin);
    memcpy(in, by->in, by->nin * sizeof *in);
    in[0] = bytes;
    return move(j, by, in);
}

// Do parts of images begin where blocks of channels do, wherever bytes lie in such blocks? Others
// would keep what is joined, and all around it, out of them.
static bool begins_block(const Join *j, const Node *concat, ValueId part)
{
    enum { IMAGES = 4, BLOCK = 64 };
    const Value *v = value_at(j->m, part);
    int64_t channels;
    return v->rank != IMAGES || (node_int(concat, "axis", 0) == 1 &&
                                 poly_is_const(v->dims[1], &channels) && channels % BLOCK == 0);
}

// The Concat that q quantises, if nobody else reads what it joins; NULL: there is none.
static const Node *joined_parts(const Join *j, const Node *q)
{
    const Node *n = maker_of(j, q->in[0]);
    if (!n || !node_is(n, "Concat") || j->uses[q->in[0]] != 1)
        return NULL;
    for (uint32_t i = 0; i < n->nin; i++)
        if (!n->in[i] || value_at(j->m, n->in[i])->constant || !begins_block(j, n, n->in[i]))
            return NULL;
    return n;
}

// The bytes that v is quantised to: those that it was, or a QuantizeLinear's, to be rewritten.
static ValueId quantized_part(Join *j, ValueId v, const Quantized *as)
{
    const DType type = value_at(j->m, node_at(j->m, j->origin)->out[0])->dtype;
    const ValueId bytes = dequantized_by(j, v, as, type);
    if (bytes)
        return bytes;
    const NodeId n = quantize(j, v, node_at(j->m, j->origin)->in[1]);
    vec_push(j->scratch, &j->found, n);
    value_at(j->m, node_at(j->m, n)->out[0])->dtype = type;
    return node_at(j->m, n)->out[0];
}

static NodeId join_bytes(Join *j, const Node *n, const Quantized *as)
{
    const ValueId whole = n->out[0];
    const uint32_t nin = n->nin;
    ValueId *in = NEWS(j->scratch, ValueId, nin);
    memcpy(in, n->in, nin * sizeof *in);
    for (uint32_t i = 0; i < nin; i++)
        in[i] = quantized_part(j, in[i], as);
    return move(j, maker_of(j, whole), in);
}

static bool rewrite(Join *j, NodeId id)
{
    const Node *q = node_at(j->m, id);
    Quantized as;
    if (!node_is(q, "QuantizeLinear") || !q->def || q->fault.len || q->nout != 1 || !q->out[0] ||
        !q->in[0] || !is_byte(j, q->out[0]) || value_at(j->m, q->in[0])->dtype != DT_F32 ||
        !read_quantized(j, q, &as))
        return false;
    j->origin = id;
    j->step = as.scale;
    const Node *parts = joined_parts(j, q);
    if (parts) {
        builder_replace(&j->builder, id, join_bytes(j, parts, &as));
        return true;
    }
    const ValueId bytes = moved(j, q, &as);
    if (bytes) {
        builder_replace(&j->builder, id, move_bytes(j, maker_of(j, q->in[0]), bytes));
        return true;
    }
    Terms t = {0};
    const ValueId inside = clipped(j, q->in[0]);
    if (!read_terms(j, inside ? inside : q->in[0], 1, &t) || t.ncores == 0 ||
        !same_bytes(j, &t, &as))
        return false;
    const ValueId from = q->in[0], terms = build_terms(j, &t);
    const ValueId sum = inside ? build_clip(j, from, terms) : terms;
    builder_replace(&j->builder, id, quantize(j, sum, number(j, "one", 1)));
    return true;
}

static void collect(void *context, NodeId id)
{
    Join *j = context;
    const Node *n = node_at(j->m, id);
    for (uint32_t i = 0; i < n->nin; i++)
        j->uses[n->in[i]]++;
    if (node_is(n, "QuantizeLinear"))
        vec_push(j->scratch, &j->found, id);
}

bool pass_join_scales(Model *m, PassContext *c)
{
    if (c->on_device || c->strict)
        return true;
    Join j = {.m = m, .scratch = arena_new()};
    j.uses = NEWS(j.scratch, uint32_t, m->values.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
            j.uses[graph_at(m, g)->outputs.at[i].value]++;
    graph_walk(m, m->main, collect, &j);
    bool any = false;
    if (j.found.len)
        j.builder = builder_of(m, j.scratch);
    for (uint32_t i = 0; i < j.found.len; i++)
        any |= rewrite(&j, j.found.at[i]);
    arena_free(j.scratch);
    return !any || pass_infer(m, c);
}
