// Inference of dtypes, shapes and contents, forward over the sorted graph.

#include "ir/infer.h"
#include "ir/contract.h"
#include "ir/lists.h"
#include "ir/ops/ranks.h"
#include "ir/said.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_CONTENT = 1024, MAX_TYPE_VARS = 32 };

// ---- dims ---------------------------------------------------------------------------------------

static Index dim_keyed(Model *m, Map *map, Str key, Str name, bool is_input, GraphId g)
{
    bool added;
    map->arena = m->arena;
    uint32_t *slot = map_get(map, key);
    if (!slot) {
        slot = map_put(map, str_copy(m->arena, key), &added);
        *slot = dim_new(m->polys, name, 0);
        dim_note(m, *slot, is_input, g);
    }
    return poly_dim(m->polys, *slot);
}

// "?" names no dim: it is what the text form has for one that is not known, and what exporters
// write for each of several that differ.
static bool dim_is_named(const DeclDim *d)
{
    return d->kind == DIM_PARAM && d->param.len && !str_is(d->param, "?");
}

static Index declared_dim(Model *m, ValueId v, uint32_t k, const DeclDim *d)
{
    if (d->kind == DIM_VALUE && d->value >= 0)
        return poly_const(m->polys, d->value);
    if (dim_is_named(d))
        return dim_keyed(m, &m->dim_params, d->param, d->param, true, 0);
    uint32_t key[2] = {v, k};
    return dim_keyed(m, &m->data_dims, (Str){(const char *)key, sizeof key}, STR_NONE, true, 0);
}

Index infer_dim_of_value(Infer *s, ValueId v, uint32_t k, const char *name)
{
    uint32_t key[2] = {v, k};
    return dim_keyed(s->model, &s->model->data_dims, (Str){(const char *)key, sizeof key},
                     str_of(name), false, value_at(s->model, v)->graph);
}

Index infer_data_dim(Infer *s, uint32_t o, uint32_t k, const char *name)
{
    if (o >= s->n->nout || s->n->out[o] == 0)
        o = 0;
    return infer_dim_of_value(s, s->n->out[o], k, name);
}

typedef struct LocalTest {
    const Model *m;
    GraphId g;
} LocalTest;

static bool atom_is_local(void *context, const Atom *a)
{
    const LocalTest *t = context;
    if (a->kind != ATOM_DIM || a->var >= t->m->dim_infos.len)
        return false;
    for (GraphId g = t->m->dim_infos.at[a->var].graph; g; g = graph_at(t->m, g)->parent)
        if (g == t->g)
            return true;
    return false;
}

bool infer_dim_is_local(Infer *s, Index dim, GraphId g)
{
    LocalTest t = {s->model, g};
    return poly_any(dim, atom_is_local, &t);
}

// ---- values -------------------------------------------------------------------------------------

static void set_dims(Model *m, Value *v, uint32_t rank, const Index *dims)
{
    v->rank = (int32_t)rank;
    v->dims = NEWS(m->arena, Index, rank);
    if (rank)
        memcpy(v->dims, dims, rank * sizeof *dims);
}

void infer_value(Infer *s, ValueId id, DType t, int32_t rank, const Index *dims)
{
    Value *v = value_at(s->model, id);
    v->kind = TYPE_TENSOR;
    v->dtype = t;
    v->rank = rank;
    if (rank >= 0)
        set_dims(s->model, v, (uint32_t)rank, dims);
}

static void take_declared(Model *m, ValueId id, const Type *t)
{
    Value *v = value_at(m, id);
    if (kind_is_list(t->kind)) {
        infer_declared_list(m, id, t);
        v->why_dtype = v->why_shape = (Why){.kind = WHY_DECLARED};
        return;
    }
    v->kind = t->kind;
    v->type = t;
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE)
        return;
    v->dtype = t->elem > 0 && t->elem < DT_COUNT ? (DType)t->elem : DT_NONE;
    v->why_dtype = (Why){.kind = WHY_DECLARED};
    if (!t->has_shape || t->rank > MAX_RANK)
        return;
    Index dims[MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = declared_dim(m, id, i, &t->dims[i]);
    set_dims(m, v, t->rank, dims);
    v->why_shape = (Why){.kind = WHY_DECLARED};
}

// Integer elements of a constant as polynomials.
static void content_of_constant(Model *m, Value *v)
{
    Str error;
    DType t = v->dtype;
    if (v->content || !v->constant || v->rank > 1 || !(dtype_is_integer(t) || t == DT_BOOL))
        return;
    uint64_t n = tensor_count(v->constant);
    if (n > MAX_CONTENT)
        return;
    const unsigned char *at = tensor_elements(m, (TensorData *)(uintptr_t)v->constant, &error);
    if (!at)
        return;
    v->content = NEWS(m->arena, Index, n);
    v->ncontent = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++)
        v->content[i] = poly_const(m->polys, scalar_load(t, at + i * dtype_info(t)->bytes).i);
}

void infer_tensor(Model *m, ValueId id, const TensorData *t, int why)
{
    Value *v = value_at(m, id);
    Index dims[MAX_RANK];
    if (t->dtype <= 0 || t->dtype >= DT_COUNT || t->rank > MAX_RANK ||
        tensor_count(t) == UINT64_MAX)
        return;
    v->kind = TYPE_TENSOR;
    v->dtype = (DType)t->dtype;
    v->constant = t;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = poly_const(m->polys, t->dims[i]);
    set_dims(m, v, t->rank, dims);
    v->why_dtype.kind = v->why_shape.kind = why;
    content_of_constant(m, v);
}

// ---- what rules ask -----------------------------------------------------------------------------

const Value *infer_in(Infer *s, uint32_t i)
{
    return i < s->n->nin && s->n->in[i] ? value_at(s->model, s->n->in[i]) : NULL;
}

int32_t infer_rank(Infer *s, uint32_t i)
{
    const Value *v = infer_in(s, i);
    return v ? v->rank : -1;
}

Index infer_dim(Infer *s, uint32_t i, int64_t axis)
{
    const Value *v = infer_in(s, i);
    return v->dims[axis < 0 ? axis + v->rank : axis];
}

const Index *infer_content(Infer *s, uint32_t i, uint32_t *len)
{
    const Value *v = infer_in(s, i);
    if (!v || !v->content)
        return NULL;
    *len = v->ncontent;
    return v->content;
}

const void *infer_constant(Infer *s, uint32_t i, const TensorData **data)
{
    Str error;
    const Value *v = infer_in(s, i);
    if (!v || !v->constant || tensor_count(v->constant) == 0)
        return NULL;
    if (data)
        *data = v->constant;
    return tensor_elements(s->model, (TensorData *)(uintptr_t)v->constant, &error);
}

int64_t infer_axis(Infer *s, int64_t axis, int64_t rank)
{
    if (axis >= -rank && axis < rank)
        return axis < 0 ? axis + rank : axis;
    infer_error(s, "axis %lld is out of range for rank %lld", (long long)axis, (long long)rank);
    return -1;
}

// ---- what rules say -----------------------------------------------------------------------------

static Value *out_value(Infer *s, uint32_t o)
{
    return o < s->n->nout && s->n->out[o] ? value_at(s->model, s->n->out[o]) : NULL;
}

void infer_shape(Infer *s, uint32_t o, uint32_t rank, const Index *dims)
{
    Value *v = out_value(s, o);
    int64_t k;
    if (!v || rank > MAX_RANK || s->failed) // what does not fit gives nothing that others could fit
        return;
    for (uint32_t i = 0; i < rank; i++)
        if (poly_is_overflow(dims[i]) || (poly_is_const(dims[i], &k) && k < 0)) {
            infer_error(s, "dimension %u of output %u %s", i, o,
                        poly_is_overflow(dims[i]) ? "overflows" : "is negative");
            return;
        }
    Index kept[MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        kept[i] = size_in_short(s->model, dims[i]);
    set_dims(s->model, v, rank, kept);
    v->why_shape = (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->nin ? s->n->in[0] : 0};
}

void infer_same(Infer *s, uint32_t o, uint32_t i)
{
    const Value *v = infer_in(s, i);
    Value *out = out_value(s, o);
    if (v && out && kind_is_list(v->kind) && out->kind == v->kind) {
        infer_list(s, s->n->out[o], v->type, item_of(v));
        if (v->items)
            infer_items(s, o, v->nitems, v->items);
    } else if (v && v->rank >= 0)
        infer_shape(s, o, (uint32_t)v->rank, v->dims);
}

// Has it an operand of which no dtype is known?
static bool is_in_the_dark(Infer *s)
{
    for (uint32_t i = 0; i < s->n->nin; i++)
        if (infer_in(s, i) && infer_in(s, i)->dtype == DT_NONE)
            return true;
    return false;
}

void infer_dtype(Infer *s, uint32_t o, DType t)
{
    Value *v = out_value(s, o);
    if (!v || (t == DT_NONE && is_in_the_dark(s)))
        return;
    if (t <= DT_NONE || t >= DT_COUNT) {
        infer_error(s, "%d is no element type", (int)t);
        return;
    }
    v->kind = TYPE_TENSOR;
    v->dtype = t;
    v->why_dtype = (Why){.kind = WHY_ATTRIBUTE, .node = s->node, .what = "dtype"};
}

void infer_dtype_of(Infer *s, uint32_t o, uint32_t i)
{
    const Value *x = infer_in(s, i);
    Value *v = out_value(s, o);
    if (!x || x->dtype == DT_NONE || !v)
        return;
    infer_dtype(s, o, x->dtype);
    v->why_dtype = (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->in[i]};
}

void infer_set_content(Infer *s, uint32_t o, uint32_t len, const Index *elements)
{
    Value *v = out_value(s, o);
    if (!v || len > MAX_CONTENT)
        return;
    v->content = NEWS(s->arena, Index, len);
    v->ncontent = len;
    if (len)
        memcpy(v->content, elements, len * sizeof *elements);
}

void infer_set_constant(Infer *s, uint32_t o, const TensorData *t)
{
    if (out_value(s, o))
        infer_tensor(s->model, s->n->out[o], t, WHY_ATTRIBUTE);
}

void infer_note(Infer *s, Index a, Index b, Fit fit)
{
    Node *n = node_at(s->model, s->node);
    for (uint32_t i = 0; i < n->needs.len; i++)
        if (n->needs.at[i].a == a && n->needs.at[i].b == b && n->needs.at[i].fit == fit)
            return;
    vec_push(s->arena, &n->needs, ((Requirement){a, b, fit}));
}

bool infer_require(Infer *s, Index a, Index b)
{
    int64_t x, y;
    if (a == b)
        return true;
    if (poly_is_const(a, &x) && poly_is_const(b, &y))
        return false;
    infer_note(s, a, b, FIT_SAME);
    return true;
}

bool infer_require_into(Infer *s, Index a, Index b)
{
    int64_t is;
    if (a == b || poly_equals(a, 1))
        return true;
    if (poly_is_const(a, &is))
        return infer_require(s, a, b);
    infer_note(s, a, b, FIT_INTO);
    return true;
}

void infer_fits(Infer *s, uint32_t i, uint32_t rank, const Index *dims)
{
    const Value *v = infer_in(s, i);
    int64_t is, wanted;
    if (!v || v->rank != (int32_t)rank)
        return;
    for (uint32_t k = 0; k < rank; k++)
        if (dims[k] && !infer_require(s, v->dims[k], dims[k]) && poly_is_const(v->dims[k], &is) &&
            poly_is_const(dims[k], &wanted))
            infer_error(s, "dimension %u of input %u is %lld, not %lld", k, i, (long long)is,
                        (long long)wanted);
}

static void set_fault(Infer *s, Str text)
{
    Node *n = node_at(s->model, s->node);
    if (!n->fault.at)
        n->fault = str_copy(s->arena, text);
}

void infer_error(Infer *s, const char *format, ...)
{
    va_list args;
    Buf text = {0};
    bool moved = node_at(s->model, s->node)->moved;
    s->failed = true;
    if (!moved && !s->diags)
        return;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (moved) {
        set_fault(s, (Str){text.at, text.len});
        buf_free(&text);
        return;
    }
    Diag *g = diag(s->diags, "ST012", SEV_ERROR, location_node(s->model, s->arena, s->node),
                   "%.*s: %s", STR_ARG(str_escaped(s->arena, s->n->op)), text.at);
    g->op = str_escaped(s->arena, s->n->op);
    g->node = str_escaped(s->arena, s->n->name);
    buf_free(&text);
}

void same_as_0(Infer *s)
{
    for (uint32_t o = 0; o < s->n->nout; o++)
        infer_same(s, o, 0);
}

void infer_content_binary(Infer *s, ContentFn fn)
{
    uint32_t na = 0, nb = 0;
    const Index *a = infer_content(s, 0, &na), *b = infer_content(s, 1, &nb);
    if (!a || !b || (na != nb && na != 1 && nb != 1))
        return;
    uint32_t n = na == 1 ? nb : na;
    Index *out = NEWS(s->arena, Index, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = fn(s->polys, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
        if (!out[i] || poly_is_overflow(out[i]))
            return;
    }
    infer_set_content(s, 0, n, out);
}

void infer_content_copy(Infer *s, uint32_t o, uint32_t i)
{
    uint32_t n;
    const Index *content = infer_content(s, i, &n);
    if (content)
        infer_set_content(s, o, n, content);
}

// ---- dtypes from the schema ---------------------------------------------------------------------

typedef struct TypeVar {
    const char *name;
    ValueId from; // the value that bound it
} TypeVar;

typedef struct TypeVars {
    TypeVar at[MAX_TYPE_VARS];
    uint32_t n;
} TypeVars;

static ValueId var_find(const TypeVars *vars, const char *name)
{
    for (uint32_t i = 0; i < vars->n; i++)
        if (strcmp(vars->at[i].name, name) == 0)
            return vars->at[i].from;
    return 0;
}

// Which of two dtypes do declarations say of a result of the same type variable? DT_NONE: neither.
static DType declared_of(Model *m, const Node *n, const char *name, DType a, DType b)
{
    for (uint32_t o = 0; o < n->nout; o++) {
        const SchemaParam *p = schema_param(n->schema->outputs, n->schema->noutputs, o);
        bool tied = p && p->type_var && strcmp(p->type_var, name) == 0;
        DType t = tied && n->out[o] ? said_dtype(m, n->out[o]) : DT_NONE;
        if (t != DT_NONE && (t == a || t == b))
            return t;
    }
    return DT_NONE;
}

// The first operand binds; where operands differ the one that has the dtype declared of the result,
// or of what follows from it, else the model's dominant one.
static void bind_var(Model *m, const Node *n, TypeVars *vars, const char *name, ValueId from)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        if (strcmp(vars->at[i].name, name) != 0)
            continue;
        DType bound = value_at(m, vars->at[i].from)->dtype, other = value_at(m, from)->dtype;
        if (bound == other)
            return;
        DType declared = declared_of(m, n, name, bound, other);
        DType want = declared ? declared : m->dominant == DT_NONE ? DT_F32 : m->dominant;
        // Neither is the model's own: what is wide by habit gives way, or what is narrow by
        // mistake.
        bool second = bound != want && (bound == DT_F64 || (bound == DT_I32 && other == DT_I64));
        if (other == want || second)
            vars->at[i].from = from;
        return;
    }
    if (vars->n < MAX_TYPE_VARS)
        vars->at[vars->n++] = (TypeVar){name, from};
}

static void bind_vars(Infer *s, TypeVars *vars)
{
    const Schema *schema = s->n->schema;
    for (uint32_t i = 0; i < s->n->nin; i++) {
        const SchemaParam *p = schema_param(schema->inputs, schema->ninputs, i);
        const Value *v = infer_in(s, i);
        if (!p || !p->type_var || !v || (v->kind == TYPE_TENSOR && v->dtype == DT_NONE) ||
            v->kind == TYPE_NONE)
            continue;
        if (p->option == PARAM_VARIADIC && !p->homogeneous)
            continue;
        bind_var(s->model, s->n, vars, p->type_var, s->n->in[i]);
    }
}

static DType only_dtype(TypeSet types)
{
    for (int t = 1; t < DT_COUNT; t++)
        if (types == (TypeSet)1 << t)
            return (DType)t;
    return DT_NONE;
}

static void dtypes_from_schema(Infer *s)
{
    TypeVars vars = {.n = 0};
    const Schema *schema = s->n->schema;
    bind_vars(s, &vars);
    for (uint32_t o = 0; o < s->n->nout; o++) {
        const SchemaParam *p = schema_param(schema->outputs, schema->noutputs, o);
        Value *v = out_value(s, o);
        if (!p || !v)
            continue;
        ValueId from = p->type_var ? var_find(&vars, p->type_var) : 0;
        if (from) {
            const Value *f = value_at(s->model, from);
            v->kind = f->kind;
            v->dtype = f->dtype;
            v->type = f->type;
            v->why_dtype = (Why){.kind = WHY_OPERAND, .node = s->node, .from = from};
        } else if (only_dtype(p->types)) {
            v->kind = TYPE_TENSOR;
            v->dtype = only_dtype(p->types);
            v->why_dtype = (Why){.kind = WHY_SCHEMA, .node = s->node};
        }
    }
}

// Where neither schema nor rule say, what is known of a call is taken, else the declaration.
static void fill_from_declared(Infer *s, uint32_t o)
{
    Value *v = out_value(s, o);
    ValueId id = v ? s->n->out[o] : 0;
    bool given = id < s->model->ngiven && s->model->given[id];
    const Type *t = given ? s->model->given[id] : v ? v->declared : NULL;
    const Why why = {.kind = given ? WHY_SCHEMA : WHY_DECLARED, .node = s->node};
    if (!t)
        return;
    if (v->kind == TYPE_NONE && kind_is_list(t->kind)) {
        infer_declared_list(s->model, id, t);
        v->why_dtype = why;
        return;
    }
    if (v->kind == TYPE_NONE || (v->kind == TYPE_TENSOR && v->dtype == DT_NONE)) {
        v->kind = t->kind;
        v->type = t;
        if (t->elem > 0 && t->elem < DT_COUNT && (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE))
            v->dtype = (DType)t->elem;
        v->why_dtype = why;
    }
    // A rule that gave no shape found operands that do not fit, or cannot know: no declaration
    // mends that.
    bool ruled = s->n->def && s->n->def->infer;
    if (v->rank >= 0 || ruled || !t->has_shape || t->rank > MAX_RANK ||
        (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE))
        return;
    Index dims[MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        bool known = t->dims[i].kind == DIM_VALUE && t->dims[i].value >= 0;
        dims[i] =
            known ? poly_const(s->polys, t->dims[i].value) : infer_dim_of_value(s, id, i, NULL);
    }
    set_dims(s->model, v, t->rank, dims);
    v->why_shape = why;
}

// What neither a schema nor a declaration says of a user's own operator, its source does.
static void fill_from_contract(Infer *s, uint32_t o)
{
    Value *v = out_value(s, o);
    CustomMisfit misfit;
    const CustomFunction *nearest;
    uint32_t seen = 0;
    if (!v || v->kind != TYPE_NONE || !s->model->contracts || s->n->schema || s->n->def)
        return;
    const CustomOp *op = contract_of(s->model->contracts, s->arena, s->n);
    const CustomFunction *f = op ? custom_fitting(s->model, op, s->node, &nearest, &misfit) : NULL;
    f = op && !f ? nearest : f;
    for (uint32_t i = 0; f && i < f->nparams; i++) {
        if (f->params[i].kind != CUSTOM_OUTPUT || seen++ != o || f->params[i].dtype == DT_NONE)
            continue;
        v->kind = TYPE_TENSOR;
        v->dtype = f->params[i].dtype;
        v->why_dtype = (Why){.kind = WHY_SCHEMA, .node = s->node};
    }
}

// A content that is all numbers is a constant.
static void content_to_constant(Infer *s, uint32_t o)
{
    Value *v = out_value(s, o);
    if (!v || !v->content || v->constant || v->rank < 0 || v->rank > 1 ||
        !dtype_is_integer(v->dtype))
        return;
    int64_t k, n = v->ncontent, dims[1] = {n};
    size_t width = dtype_info(v->dtype)->bytes;
    if (v->rank == 0 && n != 1)
        return;
    unsigned char *bytes = NEWS(s->arena, unsigned char, (size_t)n *width + 1);
    for (int64_t i = 0; i < n; i++) {
        if (!poly_is_const(v->content[i], &k))
            return;
        scalar_store(v->dtype, bytes + (size_t)i * width, (Scalar){.i = k});
    }
    v->constant = tensor_new(s->arena, v->dtype, (uint32_t)v->rank, dims, bytes);
}

static void forget_outputs(Model *m, const Node *n)
{
    for (uint32_t o = 0; o < n->nout; o++) {
        if (!n->out[o])
            continue;
        Value *v = value_at(m, n->out[o]);
        v->kind = TYPE_NONE;
        v->type = NULL;
        v->dtype = DT_NONE;
        v->rank = -1;
        v->dims = v->content = NULL;
        v->items = NULL;
        v->nitems = v->ncontent = 0;
        v->constant = NULL;
    }
}

// Do the operands of a moved node have ranks that its operator takes?
static void check_moved(Infer *s)
{
    for (uint32_t i = 0; i < s->n->nin; i++)
        if (s->n->in[i] && value_at(s->model, s->n->in[i])->rank < 0)
            return;
    const char *fault = rank_fault(s->model, s->n);
    if (fault)
        infer_error(s, "%s", fault);
}

static void infer_one(Infer *s, NodeId id)
{
    Infer own = *s;
    own.node = id;
    own.n = node_at(s->model, id);
    own.failed = false;
    node_at(s->model, id)->fault = STR_NONE;
    node_at(s->model, id)->needs.len = 0;
    forget_outputs(s->model, own.n);
    if (own.n->schema && !own.n->schema->deprecated)
        dtypes_from_schema(&own);
    const char *fault = schema_fault(own.n);
    fault = fault ? fault : kind_fault(s->model, own.n);
    if (fault)
        infer_error(&own, "%s", fault);
    else if (own.n->def && own.n->def->infer)
        own.n->def->infer(&own);
    if (node_at(s->model, id)->moved)
        check_moved(&own);
    for (uint32_t o = 0; o < own.n->nout; o++) {
        fill_from_declared(&own, o);
        fill_from_contract(&own, o);
        content_to_constant(&own, o);
    }
}

// ---- graphs and models -------------------------------------------------------------------------

static void begin_graph(Model *m, GraphId g)
{
    const Graph *graph = graph_at(m, g);
    for (uint32_t i = 0; i < graph->initializers.len; i++)
        if (graph->initializers.at[i].value)
            infer_tensor(m, graph->initializers.at[i].value, graph->initializers.at[i].data,
                         WHY_INITIALIZER);
    for (uint32_t i = 0; i < graph->sparse.len; i++) {
        Str error;
        const SparseInitializer *sparse = &graph->sparse.at[i];
        const TensorData *dense =
            sparse->value && sparse->data ? sparse_dense(m, sparse->data, &error) : NULL;
        if (dense)
            infer_tensor(m, sparse->value, dense, WHY_INITIALIZER);
    }
}

void infer_graph(Infer *s, GraphId g)
{
    begin_graph(s->model, g);
    graph_at(s->model, g)->fails = 0;
    for (uint32_t i = 0; i < graph_at(s->model, g)->nodes.len; i++) {
        NodeId n = graph_at(s->model, g)->nodes.at[i];
        if (graph_at(s->model, g)->fails) {
            forget_outputs(s->model, node_at(s->model, n));
            continue;
        }
        infer_one(s, n);
        if (node_at(s->model, n)->fault.at)
            graph_at(s->model, g)->fails = n;
    }
}

NodeId infer_failing_node(const Model *m, GraphId g)
{
    NodeId n = 0;
    while (g && graph_at(m, g)->fails) {
        const Node *node = node_at(m, n = graph_at(m, g)->fails);
        g = 0;
        for (uint32_t i = 0; i < node->nattrs && !g; i++)
            if (node->attrs[i].g && graph_at(m, node->attrs[i].g)->fails)
                g = node->attrs[i].g;
    }
    return n;
}

// A fault that every run of the program comes to is one of the model.
static void report_failing(Model *m, Diags *diags)
{
    NodeId n = infer_failing_node(m, m->main);
    if (!n || !diags)
        return;
    Str op = str_escaped(m->arena, node_at(m, n)->op);
    Diag *g = diag(diags, "ST012", SEV_ERROR, location_node(m, m->arena, n), "%.*s: %.*s",
                   STR_ARG(op), STR_ARG(node_at(m, n)->fault));
    g->op = op;
    g->node = str_escaped(m->arena, node_at(m, n)->name);
}

static void note_declarations(Model *m)
{
    said_forget(m);
    for (ValueId v = 1; v < m->values.len; v++)
        value_at(m, v)->declared = v < m->ngiven ? m->given[v] : NULL;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->infos.len; i++)
            value_at(m, graph->infos.at[i].value)->declared = graph->infos.at[i].type;
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            if (graph->outputs.at[i].type)
                value_at(m, graph->outputs.at[i].value)->declared = graph->outputs.at[i].type;
        for (uint32_t i = 0; i < graph->inputs.len; i++)
            if (graph->inputs.at[i].type)
                value_at(m, graph->inputs.at[i].value)->declared = graph->inputs.at[i].type;
    }
}

// Gives inputs that are declared without a shape the rank that their uses fix; false if there is
// none.
static bool ranks_from_uses(Model *m)
{
    const Graph *g = graph_at(m, m->main);
    const WantedRank *wanted = NULL;
    bool any = false;
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId id = g->inputs.at[i].value;
        Value *v = value_at(m, id);
        if (v->kind != TYPE_TENSOR || v->rank >= 0)
            continue;
        wanted = wanted ? wanted : ranks_wanted(m);
        Index dims[MAX_RANK];
        if (wanted[id].rank < 0 || wanted[id].rank > MAX_RANK)
            continue;
        for (int32_t k = 0; k < wanted[id].rank; k++)
            dims[k] = declared_dim(m, id, (uint32_t)k, &(DeclDim){.kind = DIM_UNSET});
        set_dims(m, v, (uint32_t)wanted[id].rank, dims);
        v->why_shape = (Why){.kind = WHY_SCHEMA, .node = wanted[id].by};
        any = true;
    }
    return any;
}

// What one input's rank decides may decide another's.
static void find_ranks_of_inputs(Infer *s)
{
    Infer quiet = *s;
    const Graph *g = graph_at(s->model, s->model->main);
    bool open = false;
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        const Value *v = value_at(s->model, g->inputs.at[i].value);
        open |= v->kind == TYPE_TENSOR && v->rank < 0;
    }
    quiet.diags = NULL;
    for (int round = 0; open && round < 4; round++) {
        infer_graph(&quiet, s->model->main);
        open = ranks_from_uses(s->model);
    }
}

// A function's inputs have no types but those that its calls give them (Model.given).
static void take_inputs(Model *m, GraphId g)
{
    for (uint32_t i = 0; i < graph_at(m, g)->inputs.len; i++) {
        const ValueInfo *in = &graph_at(m, g)->inputs.at[i];
        const Type *given = in->value < m->ngiven ? m->given[in->value] : NULL;
        value_at(m, in->value)->rank = -1;
        if (in->type || given)
            take_declared(m, in->value, in->type ? in->type : given);
    }
}

void infer_model(Model *m, Diags *diags)
{
    Infer s = {.model = m, .polys = m->polys, .arena = m->arena, .diags = diags};
    registry_bind(m);
    note_declarations(m);
    m->dominant = infer_dominant_dtype(m);
    if (!m->main)
        return;
    take_inputs(m, m->main);
    find_ranks_of_inputs(&s);
    infer_graph(&s, m->main);
    report_failing(m, diags);
    s.diags = NULL;
    for (uint32_t f = 0; m->given && f < m->functions.len; f++) {
        if (!m->called[f])
            continue;
        take_inputs(m, m->functions.at[f].body);
        infer_graph(&s, m->functions.at[f].body);
    }
}

void infer_node(Model *m, NodeId n, Diags *diags)
{
    Infer s = {.model = m, .polys = m->polys, .arena = m->arena, .diags = diags};
    registry_bind_node(m, n);
    infer_one(&s, n);
}
