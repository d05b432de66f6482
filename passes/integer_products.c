// Products and convolutions of dequantised factors, computed in integers.
//
//     Conv(DequantizeLinear(x, sx, zx), DequantizeLinear(w, sw, zw), b)
//         = Cast(ConvInteger(x, w, zx, zw)) * (sx * sw) + b          MatMul, Gemm: MatMulInteger
//
// In real numbers both sides are one; in float32 the left side rounds each factor and each partial
// sum, the right one nothing before the scale. A result that is quantised again may therefore lie
// one step off, where the sum was at the middle of two. Only constant w with a scale for all or for
// each column (channel) of the result; zx and sx are one number. PassContext.strict leaves it out.
//
// A constant matrix that QGemm takes transposed is stored so, and is one that products know how to
// pack.
//
// in:  inferred types, sorted nodes.   out: the same; DequantizeLinear nobody reads is dead.

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/pass.h"

#include <string.h>

enum { SINCE_INTEGER = 10 };

typedef struct Factor {
    ValueId q, scale, zero; // zero may be 0
    int64_t axis;
} Factor;

typedef struct Rewrite {
    Model *m;
    Arena *scratch;
    VEC(NodeId) found, turned;
    Builder builder;
    NodeId origin;
} Rewrite;

// ---- finding -----------------------------------------------------------------------------------

static bool is_single(const Value *v)
{
    for (int32_t i = 0; i < v->rank; i++)
        if (!poly_equals(v->dims[i], 1))
            return false;
    return v->rank == 0 || v->rank == 1;
}

// What a DequantizeLinear of bytes to float32 made.
static bool read_factor(const Model *m, ValueId id, Factor *f)
{
    const Value *v = value_at(m, id);
    if (v->def != DEF_NODE || v->rank < 0)
        return false;
    const Node *n = node_at(m, v->node);
    if (!node_is(n, "DequantizeLinear") || !n->def || n->nin < 2 || !n->in[0] || !n->in[1] ||
        n->nout != 1 || node_int(n, "block_size", 0))
        return false;
    *f = (Factor){n->in[0], n->in[1], n->nin > 2 ? n->in[2] : 0, node_int(n, "axis", 1)};
    const Value *q = value_at(m, f->q), *s = value_at(m, f->scale);
    f->axis += f->axis < 0 ? v->rank : 0;
    return (q->dtype == DT_U8 || q->dtype == DT_I8) && s->dtype == DT_F32 && v->dtype == DT_F32 &&
           q->rank == v->rank && s->rank >= 0 && (!f->zero || value_at(m, f->zero)->rank >= 0);
}

static bool is_one(const Node *n, const char *name)
{
    const Attr *a = attr_find(n, name);
    return !a || a->f == 1.0f;
}

// The axis of w along which the result's columns run; -1: not a node of this kind.
static int64_t column_axis(Model *m, const Node *n, const Factor *w)
{
    int32_t rank = value_at(m, w->q)->rank;
    if (node_is(n, "Conv"))
        return rank >= 3 ? 0 : -1;
    if (rank != 2 || value_at(m, n->in[0])->rank < 1)
        return -1;
    if (node_is(n, "MatMul"))
        return 1;
    bool plain = node_is(n, "Gemm") && node_int(n, "transA", 0) == 0 && is_one(n, "alpha") &&
                 (is_one(n, "beta") || n->nin < 3 || !n->in[2]);
    return !plain || value_at(m, n->in[0])->rank != 2 ? -1 : node_int(n, "transB", 0) ? 0 : 1;
}

static bool read_node(Model *m, const Node *n, Factor *x, Factor *w)
{
    if (!n->def || n->domain.len || n->nin < 2 || n->nin > 3 || !n->in[0] || !n->in[1] ||
        n->nout != 1 || !n->out[0] || opset_of(m, n) < SINCE_INTEGER || n->fault.len ||
        value_at(m, n->out[0])->dtype != DT_F32 || !read_factor(m, n->in[0], x) ||
        !read_factor(m, n->in[1], w) || !value_at(m, w->q)->constant ||
        !value_at(m, w->scale)->constant || (w->zero && !value_at(m, w->zero)->constant))
        return false;
    int64_t axis = column_axis(m, n, w);
    return axis >= 0 && is_single(value_at(m, x->scale)) &&
           (!x->zero || is_single(value_at(m, x->zero))) &&
           (!w->zero || is_single(value_at(m, w->zero)) == is_single(value_at(m, w->scale))) &&
           (is_single(value_at(m, w->scale)) ||
            (w->axis == axis && value_at(m, w->scale)->rank == 1));
}

enum { GEMM_B = 3 }; // which input of a QGemm is its second factor

// A QGemm whose second factor is a constant matrix, transposed.
static bool takes_turned(const Model *m, const Node *n)
{
    if (!str_is(n->op, "QGemm") || !str_is(n->domain, "com.microsoft") || !n->def || n->fault.len ||
        n->nin <= GEMM_B || !n->in[GEMM_B] || node_int(n, "transB", 0) == 0)
        return false;
    const Value *b = value_at(m, n->in[GEMM_B]);
    return b->constant && b->rank == 2 && (b->dtype == DT_U8 || b->dtype == DT_I8);
}

static void collect(void *context, NodeId id)
{
    Rewrite *r = context;
    Factor x, w;
    if (read_node(r->m, node_at(r->m, id), &x, &w))
        vec_push(r->scratch, &r->found, id);
    if (takes_turned(r->m, node_at(r->m, id)))
        vec_push(r->scratch, &r->turned, id);
}

// ---- building ----------------------------------------------------------------------------------

// A node before the one that is rewritten, which stands for it.
static NodeId build(Rewrite *r, const char *op, const ValueId *in, uint32_t nin)
{
    GraphId g = node_at(r->m, r->origin)->graph;
    NodeId id = builder_node(&r->builder, g, r->origin, op, in, nin);
    graph_insert_before(r->m, r->origin, id);
    return id;
}

static ValueId result(Rewrite *r, NodeId n)
{
    return node_at(r->m, n)->out[0];
}

static ValueId constant(Rewrite *r, const char *what, DType t, uint32_t rank, const int64_t *dims,
                        const void *elements)
{
    GraphId g = node_at(r->m, r->origin)->graph;
    Str base = value_at(r->m, node_at(r->m, r->origin)->out[0])->name;
    return builder_constant(&r->builder, g, base, what,
                            tensor_new(r->m->arena, t, rank, dims, elements));
}

// The constant matrix q with its dims swapped; 0 where it cannot be read.
static ValueId transposed(Rewrite *r, ValueId q)
{
    const Value *v = value_at(r->m, q);
    TensorData *t = (TensorData *)(uintptr_t)v->constant;
    Str error;
    const uint8_t *from = tensor_elements(r->m, t, &error);
    const int64_t rows = t->dims[0], columns = t->dims[1], dims[] = {columns, rows};
    if (!from || t->nelements == 0)
        return 0;
    uint8_t *to = arena_alloc(r->scratch, t->nelements);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
    return constant(r, "transposed", v->dtype, 2, dims, to);
}

// [-1, 1, ...]: one number a channel beside `rank - 2` dims of space.
static ValueId by_channel(Rewrite *r, ValueId v, int32_t rank)
{
    int64_t dims[MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1}, count = rank - 1;
    if (is_single(value_at(r->m, v)))
        return v;
    ValueId shape = constant(r, "shape", DT_I64, 1, &count, dims);
    return result(r, build(r, "Reshape", (ValueId[]){v, shape}, 2));
}

static ValueId integer_product(Rewrite *r, const Factor *x, const Factor *w)
{
    const Node *n = node_at(r->m, r->origin);
    bool conv = node_is(n, "Conv");
    ValueId matrix = w->q;
    if (node_is(n, "Gemm") && node_int(n, "transB", 0))
        matrix = transposed(r, w->q);
    if (!matrix) // nothing to read: the node stays a Transpose
        matrix = result(r, build(r, "Transpose", &w->q, 1));
    const ValueId in[] = {x->q, matrix, x->zero, w->zero};
    uint32_t nin = w->zero ? 4 : x->zero ? 3 : 2;
    NodeId id = build(r, conv ? "ConvInteger" : "MatMulInteger", in, nin);
    if (conv) {
        n = node_at(r->m, r->origin);
        node_at(r->m, id)->attrs = n->attrs;
        node_at(r->m, id)->nattrs = n->nattrs;
    }
    return result(r, id);
}

static void rewrite(Rewrite *r, NodeId id)
{
    Factor x, w;
    r->origin = id;
    const Node *n = node_at(r->m, id);
    read_node(r->m, n, &x, &w);
    bool conv = node_is(n, "Conv");
    int32_t rank = value_at(r->m, w.q)->rank;
    ValueId bias = n->nin > 2 ? n->in[2] : 0;
    ValueId sum = integer_product(r, &x, &w);
    NodeId cast = build(r, "Cast", &sum, 1);
    node_set_int(r->m, cast, "to", DT_F32);
    ValueId scale = conv ? by_channel(r, w.scale, rank) : w.scale;
    ValueId factor = result(r, build(r, "Mul", (ValueId[]){x.scale, scale}, 2));
    NodeId last = build(r, "Mul", (ValueId[]){result(r, cast), factor}, 2);
    if (bias) {
        ValueId b = conv ? by_channel(r, bias, rank) : bias;
        last = build(r, "Add", (ValueId[]){result(r, last), b}, 2);
    }
    builder_replace(&r->builder, id, last);
}

static void turn(Rewrite *r, NodeId id)
{
    r->origin = id;
    Node *n = node_at(r->m, id);
    const ValueId b = transposed(r, n->in[GEMM_B]);
    if (!b)
        return;
    n = node_at(r->m, id);
    ValueId *in = NEWS(r->m->arena, ValueId, n->nin);
    memcpy(in, n->in, n->nin * sizeof *in);
    in[GEMM_B] = b;
    n->in = in;
    node_set_int(r->m, id, "transB", 0);
}

bool pass_integer_products(Model *m, PassContext *c)
{
    if (c->on_device || c->strict)
        return true;
    Rewrite r = {.m = m, .scratch = arena_new()};
    graph_walk(m, m->main, collect, &r);
    const bool any = r.found.len || r.turned.len;
    if (any)
        r.builder = builder_of(m, r.scratch);
    for (uint32_t i = 0; i < r.found.len; i++)
        rewrite(&r, r.found.at[i]);
    for (uint32_t i = 0; i < r.turned.len; i++)
        turn(&r, r.turned.at[i]);
    arena_free(r.scratch);
    return !any || pass_infer(m, c);
}
