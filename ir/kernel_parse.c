// Reading the "kernels" section: statements, steps and buffers. Expressions:
// ir/kernel_parse_expr.c.

#include "ir/kernel_parse.h"

#include <string.h>

uint32_t parse_id(KernelParser *k, char letter, uint32_t limit)
{
    Parser *p = k->p;
    uint64_t id = 0;
    Str s = p->lexeme;
    bool ok = p->tok == TOK_NAME && s.len > 1 && s.len < 11 && s.at[0] == letter;
    for (size_t i = 1; ok && i < s.len; i++) {
        ok = s.at[i] >= '0' && s.at[i] <= '9';
        id = id * 10 + (uint64_t)(s.at[i] - '0');
    }
    char what[64];
    snprintf(what, sizeof what, "expected %c and a number below %u", letter, limit);
    if (!ok || id == 0 || id >= limit)
        parse_fail(p, what);
    else
        parse_next(p);
    return p->failed ? 0 : (uint32_t)id;
}

BufferId parse_buffer_id(KernelParser *k)
{
    return parse_id(k, 'b', k->mod->buffers.len);
}

// The number after a punctuation mark that is taken: "$3", "@4", "%5".
uint32_t parse_small(KernelParser *k, uint32_t limit)
{
    uint64_t v = parse_unsigned(k->p);
    if (v >= limit)
        parse_fail(k->p, "a number that is too large before this");
    return k->p->failed ? 0 : (uint32_t)v;
}

DType kernel_dtype_of(Str name)
{
    static const DType inner[] = {DT_OBJECT, DT_F64X2}; // no graph names them
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (str_is(name, dtype_info(inner[i])->abbrev))
            return inner[i];
    return dtype_of(name);
}

DType parse_dtype(KernelParser *k)
{
    DType t = k->p->tok == TOK_NAME ? kernel_dtype_of(k->p->lexeme) : DT_NONE;
    DTypeKind kind = dtype_info(t)->kind;
    if (kind == KIND_NONE)
        parse_fail(k->p, "expected the dtype of a number");
    else
        parse_next(k->p);
    return t;
}

// ---- statements

static void parse_block(KernelParser *k, Stmt **tail);

static void deeper(KernelParser *k)
{
    if (++k->p->depth > KERNEL_MAX_DEPTH)
        parse_fail(k->p, "nested too deeply");
}

static void parse_if(KernelParser *k, Stmt *s)
{
    s->value = parse_typed_expr(k, DT_BOOL);
    parse_block(k, &s->body);
    if (s->kind == S_IF && parse_take(k->p, "else"))
        parse_block(k, &s->other);
}

static void parse_row(KernelParser *k, Stmt *s)
{
    s->local = parse_id(k, 'v', KERNEL_MAX_IDS);
    s->dtype = parse_dtype(k);
    s->at = parse_at(k, &s->rank);
    local_define(k, s->local, s->dtype, s->rank, true);
}

static void parse_let(KernelParser *k, Stmt *s)
{
    s->local = parse_id(k, 'v', KERNEL_MAX_IDS);
    parse_expect(k->p, "=");
    s->value = parse_expr(k);
    if (s->value)
        local_define(k, s->local, s->value->dtype, 0, false);
}

static void parse_set(KernelParser *k, Stmt *s)
{
    s->kind = S_SET;
    s->local = parse_id(k, 'v', KERNEL_MAX_IDS);
    s->at = parse_at(k, &s->rank);
    const LocalInfo *v = local_info(k, s->local);
    if (!v || !v->row || v->rank != s->rank)
        parse_fail(k->p, "no row of that rank is set before this");
    parse_expect(k->p, "=");
    s->value = parse_typed_expr(k, v ? v->dtype : DT_NONE);
}

// "b3[...] = e", "b3[...] += e", "b3[...] max= e".
static void parse_store(KernelParser *k, Stmt *s)
{
    static const BinaryOp updates[] = {B_ADD, B_MUL, B_MIN, B_MAX};
    s->kind = S_STORE;
    s->buffer = parse_buffer_id(k);
    s->at = parse_at(k, &s->rank);
    for (int i = 0; i < 4; i++)
        if (s->kind == S_STORE && parse_take(k->p, kernel_binary[updates[i]])) {
            s->kind = S_UPDATE;
            s->op = updates[i];
        }
    parse_expect(k->p, "=");
    if (k->p->failed)
        return;
    const Buffer *b = buffer_at(k->mod, s->buffer);
    if (b->rank != s->rank)
        parse_fail(k->p, "indices before this are not as many as the buffer's dims");
    s->value = parse_typed_expr(k, b->dtype);
}

static void parse_stmt(KernelParser *k, Stmt *s)
{
    Parser *p = k->p;
    k->nnames = 0;
    s->par = parse_is(p, "par");
    if (parse_take(p, "par") || parse_take(p, "seq")) {
        s->kind = S_FOR;
        s->var = parse_loop_binder(k);
        parse_block(k, &s->body);
    } else if (parse_take(p, "let")) {
        s->kind = S_LET;
        parse_let(k, s);
    } else if (parse_take(p, "row")) {
        s->kind = S_ROW;
        parse_row(k, s);
    } else if (parse_take(p, "if")) {
        s->kind = S_IF;
        parse_if(k, s);
    } else if (parse_take(p, "while")) {
        s->kind = S_WHILE;
        parse_if(k, s);
    } else if (p->tok == TOK_NAME && p->lexeme.at[0] == 'v') {
        parse_set(k, s);
    } else {
        parse_store(k, s);
    }
}

static void parse_block(KernelParser *k, Stmt **tail)
{
    deeper(k);
    parse_expect(k->p, "{");
    while (!k->p->failed && !parse_is(k->p, "}")) {
        Stmt *s = NEW(k->p->arena, Stmt);
        parse_stmt(k, s);
        *tail = s;
        tail = &s->next;
    }
    parse_expect(k->p, "}");
    k->p->depth--;
}

// ---- steps

static NodeId parse_node_number(KernelParser *k)
{
    return k->nodes[parse_small(k, k->nnodes + 1)];
}

static NodeId parse_node_of(KernelParser *k)
{
    return parse_take(k->p, "@") ? parse_node_number(k) : 0;
}

static Kernel *parse_kernel(KernelParser *k)
{
    Parser *p = k->p;
    Kernel *out = NEW(p->arena, Kernel);
    uint32_t limit = KERNEL_MAX_IDS;
    // k0 is a kernel too: ids of kernels count from 0.
    if (parse_take(p, "k0"))
        out->id = 0;
    else
        out->id = parse_id(k, 'k', limit);
    if (out->id >= k->mod->nkernels)
        k->mod->nkernels = out->id + 1;
    out->name = parse_string(p);
    out->node = parse_node_of(k);
    if (parse_take(p, "(")) {
        do
            vec_push(p->arena, &out->fused, parse_node_number(k));
        while (parse_take(p, ","));
        parse_expect(p, ")");
    } else if (out->node) {
        vec_push(p->arena, &out->fused, out->node);
    }
    out->rest = parse_take(p, "rest");
    parse_block(k, &out->body);
    return out;
}

static void parse_steps(KernelParser *k, Step **tail);

static void parse_arms(KernelParser *k, Step *s)
{
    parse_expect(k->p, "{");
    parse_steps(k, &s->body);
    parse_expect(k->p, "}");
    if (s->kind == STEP_IF && parse_take(k->p, "else")) {
        parse_expect(k->p, "{");
        parse_steps(k, &s->other);
        parse_expect(k->p, "}");
    }
}

static const BufferId *parse_operands(KernelParser *k, uint32_t *n)
{
    VEC(BufferId) all = {0};
    parse_expect(k->p, "(");
    while (!k->p->failed && !parse_is(k->p, ")")) {
        vec_push(k->p->arena, &all, parse_buffer_id(k));
        if (!parse_take(k->p, ","))
            break;
    }
    parse_expect(k->p, ")");
    *n = all.len;
    return all.at;
}

static void parse_call(KernelParser *k, Step *s)
{
    Call *call = NEW(k->p->arena, Call);
    call->what = k->p->tok == TOK_NAME ? intrinsic_find(k->p->lexeme) : NULL;
    if (!call->what) {
        parse_fail(k->p, "expected the name of an intrinsic");
        return;
    }
    parse_next(k->p);
    call->reads = parse_operands(k, &call->nreads);
    call->writes = parse_operands(k, &call->nwrites);
    if (parse_is(k->p, "["))
        call->numbers = parse_at(k, &call->nnumbers);
    s->call = call;
}

static void parse_step(KernelParser *k, Step *s)
{
    static const char *const words[] = {"kernel", "dim", "check", "if", "loop", "break", "call"};
    Parser *p = k->p;
    int kind = 0;
    while (kind < 7 && !parse_is(p, words[kind]))
        kind++;
    if (kind == 7) {
        parse_fail(p, "expected a step");
        return;
    }
    parse_next(p);
    s->kind = (StepKind)kind;
    k->nnames = 0;
    if (s->kind == STEP_KERNEL) {
        s->kernel = parse_kernel(k);
        s->node = s->kernel->node;
        return;
    }
    s->node = parse_node_of(k);
    if (s->kind == STEP_DIM || s->kind == STEP_LOOP) {
        s->dim = parse_dim(k);
        if (parse_take(p, s->kind == STEP_DIM ? "=" : "<"))
            s->value = parse_index(k);
        else if (s->kind == STEP_DIM)
            parse_fail(p, "expected \"=\"");
    } else if (s->kind == STEP_CALL) {
        parse_call(k, s);
    } else {
        s->cond = parse_typed_expr(k, DT_BOOL);
    }
    if (s->kind == STEP_CHECK)
        s->message = parse_string(p);
    if (s->kind == STEP_IF || s->kind == STEP_LOOP)
        parse_arms(k, s);
}

static void parse_steps(KernelParser *k, Step **tail)
{
    deeper(k);
    while (!k->p->failed && !parse_is(k->p, "}")) {
        Step *s = NEW(k->p->arena, Step);
        parse_step(k, s);
        *tail = s;
        tail = &s->next;
    }
    k->p->depth--;
}

// ---- dims and buffers

// dim $3 "batch" >= 1
static void parse_dim_line(KernelParser *k)
{
    Parser *p = k->p;
    Polys *q = k->mod->polys;
    parse_expect(p, "$");
    uint32_t id = parse_small(k, KERNEL_MAX_IDS);
    if (id <= dim_count(q))
        parse_fail(p, "the number of the dim before this is taken");
    Str name = parse_string(p);
    parse_expect(p, ">=");
    int64_t least = (int64_t)parse_unsigned(p);
    if (p->failed)
        return;
    while (dim_count(q) + 1 < id)
        dim_new(q, STR(""), 0);
    // Atoms are made in the order in which a lowering makes them: passes that choose by it choose
    // the same on text.
    poly_dim(q, dim_new(q, name, least < 0 ? 0 : least));
}

static void parse_weight(KernelParser *k, BufferId id)
{
    Parser *p = k->p;
    p->kernels = false;
    TensorData *t = parse_tensor(p, false);
    p->kernels = true;
    Buffer *b = buffer_at(k->mod, id);
    bool same = (DType)t->dtype == b->dtype && t->rank == b->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = poly_equals(b->dims[i], t->dims[i]);
    if (!same)
        parse_fail(p, "the tensor before this differs from its buffer in dtype or shape");
    b->data = t;
}

static void parse_buffer(KernelParser *k)
{
    static const char *const kinds[] = {"input", "output", "weight", "temp"};
    Parser *p = k->p;
    uint32_t id = parse_id(k, 'b', KERNEL_MAX_IDS), rank, port = 0;
    int kind = 0;
    k->nnames = 0;
    if (id != k->mod->buffers.len)
        parse_fail(p, "buffers are numbered from b1 without a gap; before this");
    while (kind < 4 && !parse_is(p, kinds[kind]))
        kind++;
    if (kind == 4)
        parse_fail(p, "expected input, output, weight or temp");
    parse_next(p);
    if (kind < 2) {
        parse_expect(p, "(");
        port = parse_small(k, KERNEL_MAX_IDS);
        parse_expect(p, ")");
    }
    DType t = parse_dtype(k);
    const Index *dims = parse_at(k, &rank);
    Str name = parse_string(p);
    if (p->failed)
        return;
    buffer_new(k->mod, (BufferKind)kind, name, t, rank, dims);
    buffer_at(k->mod, id)->port = port;
    if (parse_take(p, "@"))
        buffer_at(k->mod, id)->device = device_id(p->m, parse_string(p));
    if (kind == BUF_WEIGHT && parse_take(p, "="))
        parse_weight(k, id);
}

static void parse_ports(KernelParser *k, BufferKind kind)
{
    Parser *p = k->p;
    parse_expect(p, "(");
    while (!p->failed && !parse_is(p, ")")) {
        BufferId b = parse_buffer_id(k);
        if (kind == BUF_INPUT)
            vec_push(p->arena, &k->mod->inputs, b);
        else
            vec_push(p->arena, &k->mod->outputs, b);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ")");
}

// ---- the section

static void number_nodes(KernelParser *k)
{
    const Model *m = k->p->m;
    uint32_t *ordinals = node_ordinals(m, k->p->arena, &k->nnodes);
    k->nodes = NEWS(k->p->arena, NodeId, k->nnodes + 1);
    for (NodeId n = 1; n < m->nodes.len; n++)
        k->nodes[ordinals[n]] = n;
    k->nodes[0] = 0;
}

static void parse_symbols(KernelParser *k)
{
    Parser *p = k->p;
    parse_expect(p, "(");
    do {
        uint32_t before = k->mod->symbols.len;
        module_symbol(k->mod, parse_string(p));
        if (!p->failed && k->mod->symbols.len == before)
            parse_fail(p, "the string before this is there twice");
    } while (!p->failed && parse_take(p, ","));
    parse_expect(p, ")");
}

void parse_kernels(Parser *p)
{
    KernelParser k = {.p = p, .mod = module_new(p->m)};
    Str error = STR_NONE;
    k.mod->polys = polys_new(p->arena);
    number_nodes(&k);
    p->kernels = true;
    parse_expect(p, "{");
    if (parse_take(p, "symbols"))
        parse_symbols(&k);
    while (!p->failed && parse_take(p, "dim"))
        parse_dim_line(&k);
    while (!p->failed && p->tok == TOK_NAME && p->lexeme.at[0] == 'b' && !parse_is(p, "break"))
        parse_buffer(&k);
    parse_expect(p, "inputs");
    parse_ports(&k, BUF_INPUT);
    parse_expect(p, "outputs");
    parse_ports(&k, BUF_OUTPUT);
    parse_steps(&k, &k.mod->steps);
    p->kernels = false;
    parse_expect(p, "}");
    if (!p->failed && !module_verify(k.mod, &error))
        parse_fail(
            p,
            str_printf(p->arena, "the kernels before this do not hold: %.*s", STR_ARG(error)).at);
    p->m->kernels = k.mod;
}
