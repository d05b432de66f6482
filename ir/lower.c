// Lowering a graph to a module: values become buffers, nodes are handed to their rows, steps are
// collected.

#include "ir/contract.h"
#include "ir/lists.h"
#include "ir/lower.h"
#include "ir/lower_state.h"
#include "ir/ops/ranks.h"

#include <stdarg.h>
#include <string.h>

// ---- values and buffers

// The strings of a weight join the module's. What cannot be read is said where it is emitted.
static void learn_strings(Lower *l, const TensorData *t)
{
    Str error;
    const Str *strings = t->dtype == DT_STRING
                             ? tensor_elements(l->model, (TensorData *)(uintptr_t)t, &error)
                             : NULL;
    for (uint64_t i = 0; strings && i < t->nelements; i++)
        module_symbol(l->module, strings[i]);
}

Tensor table(Lower *l, const char *name, DType t, uint64_t n, const void *elements)
{
    int64_t dims[1] = {(int64_t)n};
    Index dim = ix(l, (int64_t)n);
    BufferId b = buffer_new(l->module, BUF_WEIGHT, str_of(name), t, 1, &dim);
    TensorData *data = tensor_new(l->arena, t, 1, dims, elements);
    buffer_at(l->module, b)->data = data;
    learn_strings(l, data);
    return (Tensor){b, t, 1, buffer_at(l->module, b)->dims};
}

static Tensor weight_of(Lower *l, const Value *v)
{
    Index dims[MAX_RANK];
    for (uint32_t i = 0; i < v->constant->rank; i++)
        dims[i] = poly_const(l->polys, v->constant->dims[i]);
    BufferId b = buffer_new(l->module, BUF_WEIGHT, v->name, (DType)v->constant->dtype,
                            v->constant->rank, dims);
    buffer_at(l->module, b)->data = v->constant;
    learn_strings(l, v->constant);
    return (Tensor){b, (DType)v->constant->dtype, v->constant->rank, buffer_at(l->module, b)->dims};
}

Tensor tensor_of_value(Lower *l, ValueId id)
{
    Tensor *t = &l->state->tensors[id];
    const Value *v = value_at(l->model, id);
    if (id == 0 || t->buffer)
        return *t;
    if (v->constant && v->constant->rank <= MAX_RANK)
        *t = weight_of(l, v);
    else if (kind_is_list(v->kind))
        *t = (Tensor){buffer_new(l->module, BUF_TEMP, v->name, DT_OBJECT, 0, NULL), DT_OBJECT, 0,
                      NULL};
    else if (v->rank >= 0 && v->dtype != DT_NONE) {
        BufferId b = buffer_new(l->module, BUF_TEMP, v->name, v->dtype, (uint32_t)v->rank, v->dims);
        *t = (Tensor){b, v->dtype, (uint32_t)v->rank, buffer_at(l->module, b)->dims};
    }
    if (t->buffer)
        buffer_at(l->module, t->buffer)->value = id;
    return *t;
}

void bind_value(Lower *l, ValueId v, Tensor t)
{
    l->state->tensors[v] = t;
}

bool has_input(Lower *l, uint32_t i)
{
    if (l->part)
        return i < l->n->nin && l->part->in[i].buffer != 0;
    return i < l->n->nin && l->n->in[i] != 0;
}

bool has_output(Lower *l, uint32_t i)
{
    if (l->part)
        return i < l->n->nout && l->part->out[i].buffer != 0;
    return i < l->n->nout && l->n->out[i] != 0;
}

Tensor input(Lower *l, uint32_t i)
{
    return !has_input(l, i) ? (Tensor){0}
           : l->part        ? l->part->in[i]
                            : tensor_of_value(l, l->n->in[i]);
}

Tensor output(Lower *l, uint32_t i)
{
    return !has_output(l, i) ? (Tensor){0}
           : l->part         ? l->part->out[i]
                             : tensor_of_value(l, l->n->out[i]);
}

Tensor temp(Lower *l, const char *name, DType t, uint32_t rank, const Index *dims)
{
    BufferId b = buffer_new(l->module, BUF_TEMP, str_of(name), t, rank, dims);
    return (Tensor){b, t, rank, buffer_at(l->module, b)->dims};
}

const void *constant_input(Lower *l, uint32_t i, const TensorData **data)
{
    Str error;
    if (!has_input(l, i))
        return NULL;
    const TensorData *t = l->part ? buffer_at(l->module, l->part->in[i].buffer)->data
                                  : value_at(l->model, l->n->in[i])->constant;
    if (data)
        *data = t;
    return t && tensor_count(t) ? tensor_elements(l->model, (TensorData *)(uintptr_t)t, &error)
                                : NULL;
}

Index input_element(Lower *l, uint32_t i, uint32_t k)
{
    const Value *v = has_input(l, i) ? value_at(l->model, l->n->in[i]) : NULL;
    if (v && v->content && k < v->ncontent)
        return v->content[k];
    Tensor t = input(l, i);
    Index at[1] = {ix(l, k)};
    int64_t known;
    if (!t.buffer || t.rank > 1 || (t.rank == 0 && k > 0) ||
        (t.rank == 1 && poly_is_const(t.dims[0], &known) && known <= k)) {
        if (!l->failed)
            not_supported(l, "%.*s: input %u has no element %u",
                          STR_ARG(str_escaped(l->arena, l->n->op)), i, k);
        return ix(l, 0);
    }
    return to_index(l, load(l, t, at));
}

void not_supported(Lower *l, const char *format, ...)
{
    va_list args;
    Buf text = {0};
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    diag(l->diags, "", SEV_ERROR, location_node(l->model, l->arena, l->node), "not supported: %s",
         text.at);
    buf_free(&text);
    l->failed = l->state->failed = true;
}

void lower_unfit(Lower *l, const char *what)
{
    if (!l->failed)
        not_supported(l, "%.*s: %s",
                      STR_ARG(l->n ? str_escaped(l->arena, l->n->op) : STR("the graph")), what);
}

bool lower_indices_fit(Lower *l, uint32_t n, const Index *at)
{
    const char *fault = n && !at ? "an operand has a rank that does not fit" : NULL;
    for (uint32_t i = 0; i < n && !fault; i++)
        fault = !at[i]                    ? "an operand has a rank that does not fit"
                : poly_is_overflow(at[i]) ? "a size or an index is too large"
                                          : NULL;
    if (fault)
        lower_unfit(l, fault);
    return !fault;
}

// ---- steps

Step *lower_step(Lower *l, StepKind kind)
{
    Step *s = NEW(l->arena, Step);
    s->kind = kind;
    s->node = l->node;
    *l->state->tail = s;
    l->state->tail = &s->next;
    return s;
}

void define_dim(Lower *l, Index dim, Index value)
{
    Index both_[2] = {dim, value};
    if (!lower_indices_fit(l, 2, both_))
        return;
    if (dim->nterms != 1 || dim->terms[0].natoms != 1 || dim->terms[0].atoms[0]->kind != ATOM_DIM)
        return; // already known
    DimId d = dim->terms[0].atoms[0]->var;
    bool bound = dim_is_input(l->model, d);
    if (dim == value || bound)
        return;
    Step *s = lower_step(l, STEP_DIM);
    s->dim = dim->terms[0].atoms[0]->var;
    s->value = value;
}

void check(Lower *l, const Expr *cond, const char *format, ...)
{
    if (!cond || (cond->kind == EX_CONST && cond->value.i))
        return;
    va_list args;
    Buf text = {0};
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    Step *s = lower_step(l, STEP_CHECK);
    s->cond = cond;
    s->message = (Str){arena_copy(l->arena, text.at, text.len), text.len};
    buf_free(&text);
}

static Step *open_step(Lower *l, StepKind kind)
{
    Step *s = lower_step(l, kind);
    if (l->state->nopen_steps == MAX_NESTING) {
        not_supported(l, "control flow nested deeper than %d", MAX_NESTING);
        return s;
    }
    l->state->open_steps[l->state->nopen_steps++] = s;
    l->state->tail = &s->body;
    return s;
}

void step_if(Lower *l, const Expr *cond)
{
    open_step(l, STEP_IF)->cond = cond;
}

void step_else(Lower *l)
{
    l->state->tail = &l->state->open_steps[l->state->nopen_steps - 1]->other;
}

void step_end(Lower *l)
{
    Step *s = l->state->open_steps[--l->state->nopen_steps];
    l->state->tail = &s->next;
}

Index step_loop(Lower *l, Index trip)
{
    Step *s = open_step(l, STEP_LOOP);
    if (trip && !lower_indices_fit(l, 1, &trip))
        trip = ix(l, 0);
    s->dim = dim_new(l->polys, STR("iteration"), 0);
    s->value = trip;
    return poly_dim(l->polys, s->dim);
}

void step_break(Lower *l, const Expr *cond)
{
    lower_step(l, STEP_BREAK)->cond = cond;
}

static const BufferId *buffers_of(Lower *l, uint32_t n, const Tensor *t)
{
    BufferId *at = NEWS(l->arena, BufferId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        at[i] = t[i].buffer;
    return at;
}

void step_call(Lower *l, const char *intrinsic, uint32_t nreads, const Tensor *reads,
               uint32_t nwrites, const Tensor *writes, uint32_t nnumbers, const Index *numbers)
{
    Call *call = NEW(l->arena, Call);
    Index *kept = NEWS(l->arena, Index, nnumbers + 1u);
    for (uint32_t i = 0; i < nnumbers; i++)
        kept[i] = numbers[i];
    *call = (Call){
        intrinsic_find(str_of(intrinsic)), nreads, nwrites, nnumbers, buffers_of(l, nreads, reads),
        buffers_of(l, nwrites, writes),    kept};
    if (l->state->kernel)
        kernel_end(l);
    lower_step(l, STEP_CALL)->call = call;
}

// ---- nodes

// More than shapes are inferred of, which stands in the file alone.
static bool has_many_dims(const Value *v)
{
    const Type *t = v->declared;
    return v->rank < 0 && t && t->has_shape && t->rank > MAX_RANK;
}

// Why no buffer can hold the value, NULL if one can.
static const char *value_fault(const Value *v)
{
    if (v->kind == TYPE_SPARSE || v->kind == TYPE_OPAQUE)
        return "is no tensor";
    if (kind_is_list(v->kind) && v->dtype != DT_NONE)
        return NULL;
    return v->dtype == DT_NONE                              ? "has no known dtype"
           : v->rank > MAX_RANK || has_many_dims(v)         ? "has too many dimensions"
           : v->rank < 0                                    ? "has no known rank"
           : dims_are_too_large((uint32_t)v->rank, v->dims) ? "is too large"
                                                            : NULL;
}

static bool value_is_ready(Lower *l, ValueId id, bool quiet)
{
    const Value *v = value_at(l->model, id);
    const char *fault = id ? value_fault(v) : NULL;
    Buf name = {0};
    if (fault && !quiet) {
        buf_quoted(&name, v->name);
        not_supported(l, "%.*s: value %s %s", STR_ARG(str_escaped(l->arena, l->n->op)), name.at,
                      fault);
        buf_free(&name);
    }
    return !fault;
}

static bool outputs_are_constant(Lower *l)
{
    for (uint32_t i = 0; i < l->n->nout; i++)
        if (l->n->out[i] && !value_at(l->model, l->n->out[i])->constant)
            return false;
    return l->n->nout > 0;
}

static const Expr *requirement(Lower *l, const Requirement *r)
{
    Index one_ = ix(l, 1);
    const Expr *same = index_eq(l, r->a, r->b);
    if (r->fit == FIT_SAME)
        return same;
    if (r->fit == FIT_INTO)
        return or_(l, same, index_eq(l, r->a, one_));
    const Expr *either = NULL; // a constant is not 1 here
    if (!poly_is_const(r->a, NULL))
        either = index_eq(l, r->a, one_);
    if (!poly_is_const(r->b, NULL))
        either = either ? or_(l, either, index_eq(l, r->b, one_)) : index_eq(l, r->b, one_);
    return either ? or_(l, same, either) : same;
}

static void lower_requirement(Lower *l, const Requirement *r)
{
    Buf text = {0};
    poly_print(l->polys, r->a, &text);
    buf_printf(&text, " and ");
    poly_print(l->polys, r->b, &text);
    check(l, requirement(l, r), "%.*s: the dimensions %.*s do not fit each other",
          STR_ARG(str_escaped(l->arena, l->n->op)),
          STR_ARG(str_escaped(l->arena, (Str){text.at, text.len})));
    buf_free(&text);
}

// What dims of inputs alone decide is checked once, before the first step: kernels stay together.
static void lower_requirements(Lower *l)
{
    LowerState *st = l->state;
    for (uint32_t i = 0; i < l->n->needs.len; i++) {
        Requirement r = l->n->needs.at[i];
        bool early = st->nopen_steps == 0 && !poly_any(r.a, atom_is_not_of_inputs, l->model) &&
                     !poly_any(r.b, atom_is_not_of_inputs, l->model);
        if (!early) {
            lower_requirement(l, &r);
            continue;
        }
        bool added;
        struct {
            Index a, b;
            uint64_t fit;
        } key = {r.a, r.b, r.fit};
        char *kept = arena_copy(l->arena, &key, sizeof key);
        map_put(&st->checked, (Str){kept, sizeof key}, &added);
        if (!added)
            continue;
        Step **tail = st->tail, *rest = *st->before;
        st->tail = st->before;
        lower_requirement(l, &r);
        *st->tail = rest;
        if (tail == st->before)
            tail = st->tail;
        st->before = st->tail;
        st->tail = tail;
    }
}

// Operators whose first result may be left out though the schema asks for it.
static bool may_lack_first(const Node *n)
{
    static const char *const names[] = {"TopK", "Dropout", "LayerNormalization",
                                        "SoftmaxCrossEntropyLoss"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(n->op, names[i]))
            return true;
    return false;
}

static bool has_results(const Node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i])
            return true;
    return false;
}

// What is wrong with the node's operands as a whole, whose types and ranks are all known.
static const char *operand_fault(Lower *l)
{
    const Schema *s = l->n->schema;
    if (s && s->noutputs && s->outputs[0].option == PARAM_SINGLE && !has_output(l, 0) &&
        !may_lack_first(l->n))
        return "a required output is missing";
    return rank_fault(l->model, l->n);
}

// The node's meaning as kernels. What overflows on the way is refused here, whoever computed it.
static void lower_by_row(Lower *l)
{
    ModuleMark mark = module_mark(l->module);
    if (!l->state->failed)
        lower_requirements(l);
    for (uint32_t i = 0; i < l->n->nin; i++) {
        Tensor x = rank_wants_number(l->n, i) ? input(l, i) : (Tensor){0};
        check(l, index_eq(l, ix_product(l, x.rank, x.dims), ix(l, 1)),
              "%.*s: input %u is not one number", STR_ARG(str_escaped(l->arena, l->n->op)), i);
    }
    l->n->def->lower(l);
    if (!l->state->failed && module_overflows(l->module, &mark))
        lower_unfit(l, "a size or an index is too large");
    const char *misuse = l->state->failed ? NULL : module_misuse(l->module, &mark);
    if (misuse)
        not_supported(l, "%.*s: %s", STR_ARG(str_escaped(l->arena, l->n->op)), misuse);
}

static void lower_node(Lower *shared, NodeId id)
{
    Lower l = *shared;
    l.node = id;
    l.n = node_at(l.model, id);
    l.opset = opset_of(l.model, l.n);
    l.failed = false;
    if (outputs_are_constant(&l) || !has_results(l.n))
        return;
    Str op = str_escaped(l.arena, l.n->op), domain = str_escaped(l.arena, l.n->domain);
    const bool custom = !l.n->def && !l.n->schema && contract_of(l.model->contracts, l.arena, l.n);
    if (!custom && (!l.n->def || !l.n->def->lower)) {
        int64_t opset = opset_of(l.model, l.n);
        not_supported(&l, "operator %.*s%s%.*s (opset %lld)", STR_ARG(domain),
                      domain.len ? "::" : "", STR_ARG(op), (long long)opset);
        return;
    }
    const char *fault = schema_fault(l.n);
    fault = fault ? fault : kind_fault(l.model, l.n);
    if (fault) {
        not_supported(&l, "%.*s: %s", STR_ARG(op), fault);
        return;
    }
    bool quiet = l.state->failed;
    for (uint32_t i = 0; i < l.n->nin; i++)
        if (!value_is_ready(&l, l.n->in[i], quiet)) {
            l.state->failed = true;
            return;
        }
    for (uint32_t i = 0; i < l.n->nout; i++)
        if (!value_is_ready(&l, l.n->out[i], quiet)) {
            l.state->failed = true;
            return;
        }
    fault = custom ? NULL : operand_fault(&l);
    if (fault)
        not_supported(&l, "%.*s: %s", STR_ARG(op), fault);
    else if (custom)
        lower_custom(&l);
    else
        lower_by_row(&l);
    if (l.state->kernel)
        kernel_end(&l);
}

static uint32_t count_given(const Tensor *at, uint32_t n)
{
    while (n && !at[n - 1].buffer)
        n--;
    return n;
}

void lower_part(Lower *l, const Part *p)
{
    ValueId none[8] = {0}; // operands are found through Lower.part
    Lower part = *l;
    Str op = str_of(p->op);
    int64_t opset = p->opset ? p->opset : INT64_MAX;
    Node n = {.op = op,
              .graph = l->n->graph,
              .in = none,
              .out = none,
              .attrs = (Attr *)(uintptr_t)p->attrs};
    n.nattrs = p->nattrs;
    n.nin = count_given(p->in, 8);
    n.nout = count_given(p->out, 4);
    n.schema = schema_find(STR(""), op, opset);
    n.def = op_find(STR(""), op, opset);
    part.n = &n;
    part.part = p;
    part.opset = opset;
    n.def->lower(&part);
    if (l->state->kernel)
        kernel_end(l);
    l->failed |= part.failed;
}

Attr attr_int(const char *name, int64_t v)
{
    return (Attr){
        .name = str_of(name), .type = ATTR_INT, .i = v, .has = ATTR_HAS_TYPE | ATTR_HAS_I};
}

Attr attr_float(const char *name, double v)
{
    return (Attr){
        .name = str_of(name), .type = ATTR_FLOAT, .f = (float)v, .has = ATTR_HAS_TYPE | ATTR_HAS_F};
}

// What a graph does before the node that it fails at has no effect outside, so it is left out.
static void lower_fault(Lower *shared, NodeId id)
{
    Lower l = *shared;
    l.node = id;
    l.n = node_at(l.model, id);
    check(&l, int_(&l, DT_BOOL, 0), "%.*s: %.*s", STR_ARG(str_escaped(l.arena, l.n->op)),
          STR_ARG(l.n->fault));
}

void lower_graph(Lower *l, GraphId g)
{
    NodeId failing = infer_failing_node(l->model, g);
    if (failing) {
        lower_fault(l, failing);
        return;
    }
    for (uint32_t i = 0; i < graph_at(l->model, g)->nodes.len; i++)
        lower_node(l, graph_at(l->model, g)->nodes.at[i]);
}

// ---- whole models

static Lower lower_begin(Model *m, Diags *diags)
{
    Lower l = {
        .model = m, .module = module_new(m), .polys = m->polys, .arena = m->arena, .diags = diags};
    l.state = NEW(m->arena, LowerState);
    l.state->nvalues = m->values.len;
    l.state->tensors = NEWS(m->arena, Tensor, m->values.len);
    l.state->tail = l.state->before = &l.module->steps;
    l.state->checked.arena = m->arena;
    return l;
}

static void bind_input(Lower *l, ValueId id)
{
    const Value *v = value_at(l->model, id);
    bool list = kind_is_list(v->kind);
    DType t = list ? DT_OBJECT : v->dtype;
    uint32_t rank = list ? 0 : (uint32_t)v->rank;
    BufferId b = buffer_new(l->module, BUF_INPUT, v->name, t, rank, v->dims);
    Buffer *buf = buffer_at(l->module, b);
    buf->value = id;
    buf->port = l->module->inputs.len;
    bind_value(l, id, (Tensor){b, t, rank, buf->dims});
    vec_push(l->arena, &l->module->inputs, b);
}

// The operator that a value comes from, else the first that reads it: what a refusal names.
static Str operator_beside(const Model *m, ValueId id)
{
    const Value *v = &m->values.at[id];
    if (v->def == DEF_NODE && v->node)
        return node_at(m, v->node)->op;
    for (NodeId n = 1; n < m->nodes.len; n++)
        for (uint32_t i = 0; i < node_at(m, n)->nin; i++)
            if (node_at(m, n)->in[i] == id)
                return node_at(m, n)->op;
    return STR_NONE;
}

// Of inputs each is named, since they are asked before anything is lowered.
static bool value_is_usable(Lower *l, ValueId id, bool is_input)
{
    const Value *v = value_at(l->model, id);
    const char *fault = value_fault(v);
    if (!fault)
        return true;
    Str op = str_escaped(l->arena, operator_beside(l->model, id));
    Str name = str_escaped(l->arena, v->name);
    if (is_input || !l->state->failed) {
        Diag *d = diag(l->diags, "", SEV_ERROR, location_value(l->model, l->arena, id),
                       "not supported: %.*s%s%s %.*s %s", STR_ARG(op), op.len ? ": " : "",
                       is_input ? "input" : "output", STR_ARG(name), fault);
        if (is_input && v->rank < 0 && !has_many_dims(v))
            diag_help(l->diags, d, "give its sizes, as in --shape %.*s=1x128", STR_ARG(name));
    }
    l->state->failed = true;
    return false;
}

static void bind_output(Lower *l, ValueId id)
{
    Tensor t = tensor_of_value(l, id);
    if (!t.buffer)
        return;
    if (buffer_at(l->module, t.buffer)->kind !=
        BUF_TEMP) { // an input, a weight or another output too
        BufferId b = buffer_new(l->module, BUF_OUTPUT, value_at(l->model, id)->name, t.dtype,
                                t.rank, t.dims);
        Tensor y = {b, t.dtype, t.rank, buffer_at(l->module, b)->dims};
        copy_tensor(l, y, t);
        t = y;
    }
    Buffer *buf = buffer_at(l->module, t.buffer);
    buf->kind = BUF_OUTPUT;
    buf->port = l->module->outputs.len;
    buf->value = id;
    buf->name = value_at(l->model, id)->name;
    vec_push(l->arena, &l->module->outputs, t.buffer);
}

// Before all that uses them, also before the checks of inputs.
static void define_named(Lower *l)
{
    for (DimId d = 1; d <= dim_count(l->polys); d++)
        if (dim_means(l->polys, d)) {
            Step *s = lower_step(l, STEP_DIM);
            s->dim = d;
            s->value = dim_means(l->polys, d);
        }
    l->state->before = l->state->tail;
}

Module *lower_model(Model *m, Diags *diags)
{
    Lower l = lower_begin(m, diags);
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId v = g->inputs.at[i].value;
        if (!value_at(m, v)->constant && value_is_usable(&l, v, true))
            bind_input(&l, v);
    }
    define_named(&l);
    lower_graph(&l, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (value_is_usable(&l, g->outputs.at[i].value, false))
            bind_output(&l, g->outputs.at[i].value);
    return l.state->failed ? NULL : l.module;
}

Module *lower_node_alone(Model *m, NodeId n, Diags *diags)
{
    Lower l = lower_begin(m, diags);
    const Node *node = node_at(m, n);
    for (uint32_t i = 0; i < node->nin; i++) {
        ValueId v = node->in[i];
        if (v && !l.state->tensors[v].buffer && value_is_usable(&l, v, true))
            bind_input(&l, v);
    }
    lower_node(&l, n);
    for (uint32_t i = 0; i < node->nout; i++)
        if (node->out[i] && value_is_usable(&l, node->out[i], false))
            bind_output(&l, node->out[i]);
    return l.state->failed ? NULL : l.module;
}
