// The text form of a module: what dumps show, and what ir/kernel_parse.c reads back.
//
// An expression that is used twice in a statement and is more than a few nodes large is printed
// once, as "%1=...", and "%1" from then on: text grows with what there is, not with its unfolding.

#include "ir/kernel_text.h"
#include "ir/text_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAMED_WEIGHT = 6 }; // smaller ones are easier to read where they stand

typedef struct Mark {
    uint32_t stamp; // of the statement for which the rest holds
    uint32_t uses, weight, name;
} Mark;

typedef struct Printer {
    const Module *mod;
    Buf *out;
    Arena *arena;
    Order order;
    Mark *marks; // by Expr.id
    uint32_t stamp, names;
    unsigned char *dims; // by DimId: used
    uint32_t *ordinals;  // by NodeId
} Printer;

static void print_expr(Printer *p, const Expr *e);

// ---- what a statement uses twice

typedef struct Visit {
    Printer *p;
    uint32_t (*each)(Printer *p, const Expr *e);
    uint32_t sum;
} Visit;

static bool visit_atom(void *context, const Atom *a)
{
    Visit *v = context;
    if (a->kind == ATOM_EXPR)
        v->sum += v->each(v->p, a->e);
    return false;
}

// The sum of `each` over what stands directly under e.
static uint32_t visit_below(Printer *p, const Expr *e, uint32_t (*each)(Printer *, const Expr *))
{
    Visit v = {p, each, 0};
    if (e->index)
        poly_any(e->index, visit_atom, &v);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], visit_atom, &v);
    for (uint32_t i = 0; e->vars && i < e->rank; i++)
        poly_any(loop_extent(p->mod->polys, e->vars[i]), visit_atom, &v);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            v.sum += each(p, operands[i]);
    return v.sum;
}

static uint32_t count_expr(Printer *p, const Expr *e)
{
    Mark *m = &p->marks[e->id];
    if (m->stamp == p->stamp) {
        m->uses++;
        return 0;
    }
    *m = (Mark){.stamp = p->stamp, .uses = 1};
    return visit_below(p, e, count_expr);
}

static bool is_named(const Mark *m)
{
    return m->uses > 1 && m->weight > NAMED_WEIGHT;
}

// How long e's text is, where what has a name counts as one. After all uses are counted.
static uint32_t weigh_expr(Printer *p, const Expr *e)
{
    Mark *m = &p->marks[e->id];
    if (!m->weight) {
        uint64_t weight = 1u + (e->kind == EX_LOAD || e->kind == EX_REDUCE);
        weight += visit_below(p, e, weigh_expr);
        m->weight = weight < UINT32_MAX / 8 ? (uint32_t)weight : UINT32_MAX / 8;
    }
    return is_named(m) ? 1 : m->weight;
}

// Counts what one statement or step is going to print.
static void count_line(Printer *p, const Expr *value, Index extent, uint32_t rank, const Index *at)
{
    p->stamp++;
    p->names = 0;
    for (int pass = 0; pass < 2; pass++) {
        Visit v = {p, pass ? weigh_expr : count_expr, 0};
        if (extent)
            poly_any(extent, visit_atom, &v);
        for (uint32_t i = 0; at && i < rank; i++)
            poly_any(at[i], visit_atom, &v);
        if (value)
            v.each(p, value);
    }
}

// ---- indices

static void print_index(Printer *p, Index i);

static void print_dim(Printer *p, DimId d)
{
    Str name = dim_name(p->mod->polys, d);
    bool word = name.len > 0 && name.len < 64;
    for (size_t i = 0; i < name.len && word; i++) {
        char c = name.at[i];
        word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (i && c >= '0' && c <= '9');
    }
    if (word)
        buf_str(p->out, name);
    buf_printf(p->out, "$%u", d);
    p->dims[d] = 1;
}

static void print_atom(Printer *p, const Atom *a)
{
    if (a->kind == ATOM_DIM) {
        print_dim(p, a->var);
    } else if (a->kind == ATOM_LOOP) {
        buf_printf(p->out, "i%u", a->var);
    } else if (a->kind == ATOM_EXPR) {
        buf_char(p->out, '[');
        print_expr(p, a->e);
        buf_char(p->out, ']');
    } else {
        bool commutes = a->kind == ATOM_MIN || a->kind == ATOM_MAX;
        bool swap = commutes && order_index(&p->order, a->b) < order_index(&p->order, a->a);
        buf_printf(p->out, "%s(", kernel_pair[a->kind]);
        print_index(p, swap ? a->b : a->a);
        buf_printf(p->out, ", ");
        print_index(p, swap ? a->a : a->b);
        buf_char(p->out, ')');
    }
}

static void print_index(Printer *p, Index i)
{
    Term *terms = NEWS(p->arena, Term, i->nterms);
    order_terms(&p->order, i, terms);
    if (i->nterms == 0)
        buf_char(p->out, '0');
    for (uint32_t n = 0; n < i->nterms; n++) {
        const Term *t = &terms[n];
        uint64_t size = t->coeff < 0 ? 0 - (uint64_t)t->coeff : (uint64_t)t->coeff;
        buf_printf(p->out, "%s", t->coeff < 0 ? "-" : n ? "+" : "");
        if (size != 1 || t->natoms == 0)
            buf_printf(p->out, "%" PRIu64 "%s", size, t->natoms ? "*" : "");
        for (uint32_t k = 0; k < t->natoms; k++) {
            if (k)
                buf_char(p->out, '*');
            print_atom(p, t->atoms[k]);
        }
    }
}

static void print_at(Printer *p, uint32_t rank, const Index *at)
{
    buf_char(p->out, '[');
    for (uint32_t i = 0; i < rank; i++) {
        if (i)
            buf_char(p->out, ',');
        print_index(p, at[i]);
    }
    buf_char(p->out, ']');
}

// ---- expressions

static void print_reduce(Printer *p, const Expr *e)
{
    buf_printf(p->out, "(reduce %s ", kernel_reduce[e->op]);
    for (uint32_t i = 0; i < e->rank; i++) {
        buf_printf(p->out, "%si%u < ", i ? ", " : "", e->vars[i]);
        print_index(p, loop_extent(p->mod->polys, e->vars[i]));
    }
    if (e->a) {
        buf_printf(p->out, " where ");
        print_expr(p, e->a);
    }
    buf_printf(p->out, " : ");
    print_expr(p, e->b);
    buf_char(p->out, ')');
}

static void print_infix(Printer *p, const char *op, const Expr *a, const Expr *b)
{
    bool word = op[0] >= 'a' && op[0] <= 'z';
    buf_printf(p->out, "%s(", word ? op : "");
    print_expr(p, a);
    buf_printf(p->out, word ? ", %s" : " %s ", word ? "" : op);
    print_expr(p, b);
    buf_char(p->out, ')');
}

static void print_binary(Printer *p, const Expr *e)
{
    bool swap = kernel_commutes(e) && order_swaps(&p->order, e->a, e->b);
    print_infix(p, kernel_binary[e->op], swap ? e->b : e->a, swap ? e->a : e->b);
}

static void print_real(Printer *p, double f)
{
    int64_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f))
        buf_printf(p->out, "bits(%" PRId64 ")", bits);
    else if (isinf(f))
        buf_printf(p->out, f < 0 ? "-inf" : "inf");
    else
        buf_printf(p->out, "%.17g", f);
}

static void print_const(Printer *p, const Expr *e)
{
    if (dtype_is_complex(e->dtype)) {
        buf_printf(p->out, "complex(");
        print_real(p, e->value.c.re);
        buf_printf(p->out, ", ");
        print_real(p, e->value.c.im);
        buf_char(p->out, ')');
    } else if (dtype_is_float(e->dtype)) {
        print_real(p, e->value.f);
    } else {
        buf_printf(p->out, "%" PRId64, e->value.i);
    }
    buf_printf(p->out, ":%s", dtype_info(e->dtype)->abbrev);
}

static void print_call(Printer *p, const char *word, const char *name, const Expr *a)
{
    buf_printf(p->out, "%s%s(", word, name);
    print_expr(p, a);
    buf_char(p->out, ')');
}

static void print_node(Printer *p, const Expr *e)
{
    switch (e->kind) {
    case EX_CONST:
        print_const(p, e);
        return;
    case EX_INDEX:
        buf_char(p->out, '{');
        print_index(p, e->index);
        buf_char(p->out, '}');
        return;
    case EX_LOAD:
        buf_printf(p->out, "b%u", e->buffer);
        print_at(p, e->rank, e->at);
        return;
    case EX_LOCAL:
        buf_printf(p->out, "v%u", e->local);
        if (e->rank)
            print_at(p, e->rank, e->at);
        return;
    case EX_UNARY:
        print_call(p, "", kernel_unary[e->op], e->a);
        return;
    case EX_BINARY:
        print_binary(p, e);
        return;
    case EX_COMPARE:
        print_infix(p, kernel_compare[e->op], e->a, e->b);
        return;
    case EX_SELECT:
        buf_printf(p->out, "(");
        print_expr(p, e->a);
        buf_printf(p->out, " ? ");
        print_expr(p, e->b);
        buf_printf(p->out, " : ");
        print_expr(p, e->c);
        buf_char(p->out, ')');
        return;
    case EX_CAST:
        print_call(p, e->saturate ? "sat_" : "", dtype_info(e->dtype)->abbrev, e->a);
        return;
    case EX_BITCAST:
        print_call(p, "bits_", dtype_info(e->dtype)->abbrev, e->a);
        return;
    case EX_REDUCE:
        print_reduce(p, e);
        return;
    }
}

static void print_expr(Printer *p, const Expr *e)
{
    Mark *m = &p->marks[e->id];
    if (m->stamp == p->stamp && m->name) {
        buf_printf(p->out, "%%%u", m->name);
        return;
    }
    if (m->stamp == p->stamp && is_named(m)) {
        m->name = ++p->names;
        buf_printf(p->out, "%%%u=", m->name);
    }
    print_node(p, e);
}

// ---- statements

static void indent(Printer *p, int depth)
{
    buf_printf(p->out, "%*s", depth * 2, "");
}

static void print_stmts(Printer *p, const Stmt *s, int depth);

// " {", what stands in it, and the arm behind it.
static void print_block(Printer *p, const Stmt *s, int depth)
{
    buf_printf(p->out, " {\n");
    print_stmts(p, s->body, depth + 1);
    indent(p, depth);
    buf_char(p->out, '}');
    if (s->other) {
        buf_printf(p->out, " else {\n");
        print_stmts(p, s->other, depth + 1);
        indent(p, depth);
        buf_char(p->out, '}');
    }
}

static void print_stmt(Printer *p, const Stmt *s, int depth)
{
    Index extent = s->kind == S_FOR ? loop_extent(p->mod->polys, s->var) : NULL;
    count_line(p, s->value, extent, s->rank, s->at);
    indent(p, depth);
    switch (s->kind) {
    case S_FOR:
        buf_printf(p->out, "%s i%u < ", s->par ? "par" : "seq", s->var);
        print_index(p, extent);
        break;
    case S_LET:
        buf_printf(p->out, "let v%u = ", s->local);
        break;
    case S_ROW:
        buf_printf(p->out, "row v%u %s", s->local, dtype_info(s->dtype)->abbrev);
        print_at(p, s->rank, s->at);
        break;
    case S_SET:
    case S_STORE:
    case S_UPDATE:
        buf_printf(p->out, s->kind == S_SET ? "v%u" : "b%u",
                   s->kind == S_SET ? s->local : s->buffer);
        print_at(p, s->rank, s->at);
        buf_printf(p->out, " %s= ", s->kind == S_UPDATE ? kernel_binary[s->op] : "");
        break;
    case S_IF:
    case S_WHILE:
        buf_printf(p->out, s->kind == S_IF ? "if " : "while ");
        break;
    }
    if (s->value)
        print_expr(p, s->value);
    if (s->kind == S_FOR || s->kind == S_IF || s->kind == S_WHILE)
        print_block(p, s, depth);
    buf_char(p->out, '\n');
}

static void print_stmts(Printer *p, const Stmt *s, int depth)
{
    for (; s; s = s->next)
        print_stmt(p, s, depth);
}

// ---- steps

// " @4", the node that it was lowered from; of a kernel all whose work it does: " @4(3, 4)".
static void print_nodes(Printer *p, NodeId node, const Kernel *k)
{
    if (node && p->ordinals[node])
        buf_printf(p->out, " @%u", p->ordinals[node]);
    if (!k || (k->fused.len == 1 && k->fused.at[0] == node) || k->fused.len == 0)
        return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->fused.len; i++)
        if (p->ordinals[k->fused.at[i]])
            buf_printf(p->out, "%s%u",
                       n++    ? ", "
                       : node ? "("
                              : " @0(",
                       p->ordinals[k->fused.at[i]]);
    if (n)
        buf_char(p->out, ')');
}

static void print_steps(Printer *p, const Step *s, int depth);

static void print_arms(Printer *p, const Step *s, int depth)
{
    buf_printf(p->out, " {\n");
    print_steps(p, s->body, depth + 1);
    indent(p, depth);
    buf_char(p->out, '}');
    if (s->other) {
        buf_printf(p->out, " else {\n");
        print_steps(p, s->other, depth + 1);
        indent(p, depth);
        buf_char(p->out, '}');
    }
}

static void print_kernel(Printer *p, const Kernel *k, int depth)
{
    buf_printf(p->out, " k%u ", k->id);
    buf_quoted(p->out, k->name);
    print_nodes(p, k->node, k);
    buf_printf(p->out, k->rest ? " rest {\n" : " {\n");
    print_stmts(p, k->body, depth + 1);
    indent(p, depth);
    buf_char(p->out, '}');
}

static void print_buffers(Printer *p, const BufferId *at, uint32_t n)
{
    buf_printf(p->out, "(");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(p->out, "%sb%u", i ? ", " : "", at[i]);
    buf_printf(p->out, ")");
}

// "list_dims(b1, b2) (b3) [i, n]": what it reads, writes, and is told.
static void print_call_step(Printer *p, const Call *call)
{
    buf_printf(p->out, " %s", call->what->name);
    print_buffers(p, call->reads, call->nreads);
    buf_char(p->out, ' ');
    print_buffers(p, call->writes, call->nwrites);
    if (call->nnumbers) {
        buf_char(p->out, ' ');
        print_at(p, call->nnumbers, call->numbers);
    }
}

static void print_step(Printer *p, const Step *s, int depth)
{
    static const char *const words[] = {"kernel", "dim", "check", "if", "loop", "break", "call"};
    const Call *call = s->call;
    count_line(p, s->cond, s->value, call ? call->nnumbers : 0, call ? call->numbers : NULL);
    indent(p, depth);
    buf_printf(p->out, "%s", words[s->kind]);
    if (s->kernel)
        print_kernel(p, s->kernel, depth);
    else
        print_nodes(p, s->node, NULL);
    if (s->kind == STEP_DIM || s->kind == STEP_LOOP) {
        buf_char(p->out, ' ');
        print_dim(p, s->dim);
        buf_printf(p->out, "%s", s->value ? s->kind == STEP_DIM ? " = " : " < " : "");
    }
    if (call)
        print_call_step(p, call);
    if (s->value)
        print_index(p, s->value);
    if (s->cond) {
        buf_char(p->out, ' ');
        print_expr(p, s->cond);
    }
    if (s->kind == STEP_CHECK) {
        buf_char(p->out, ' ');
        buf_quoted(p->out, s->message);
    }
    if (s->kind == STEP_IF || s->kind == STEP_LOOP)
        print_arms(p, s, depth);
    buf_char(p->out, '\n');
}

static void print_steps(Printer *p, const Step *s, int depth)
{
    for (; s; s = s->next)
        print_step(p, s, depth);
}

// ---- modules

static void print_buffer(Printer *p, BufferId id)
{
    static const char *const kinds[] = {"input", "output", "weight", "temp"};
    const Buffer *b = buffer_at(p->mod, id);
    count_line(p, NULL, NULL, b->rank, b->dims);
    buf_printf(p->out, "  b%u %s", id, kinds[b->kind]);
    if (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT)
        buf_printf(p->out, "(%u)", b->port);
    buf_printf(p->out, " %s", dtype_info(b->dtype)->abbrev);
    print_at(p, b->rank, b->dims);
    buf_char(p->out, ' ');
    buf_quoted(p->out, b->name);
    if (b->device > 1 && b->device < p->mod->model->devices.len) {
        buf_printf(p->out, " @");
        buf_quoted(p->out, p->mod->model->devices.at[b->device]);
    }
    if (b->data) {
        Text t = {.m = p->mod->model, .out = p->out, .form = TEXT_CIR};
        buf_printf(p->out, " = ");
        text_tensor(&t, b->data, true);
    }
    buf_char(p->out, '\n');
}

static void print_ports(Printer *p, const char *word, const BufferId *at, uint32_t n)
{
    buf_printf(p->out, "  %s ", word);
    print_buffers(p, at, n);
    buf_char(p->out, '\n');
}

// The strings with the numbers 1, 2 ...; 0 is "".
static void print_symbols(const Module *mod, Buf *out)
{
    buf_printf(out, "  symbols (");
    for (uint32_t i = 1; i < mod->symbols.len; i++) {
        buf_printf(out, "%s", i > 1 ? ", " : "");
        buf_quoted(out, mod->symbols.at[i]);
    }
    buf_printf(out, ")\n");
}

void module_print(const Module *mod, Buf *out)
{
    uint32_t nodes, ndims = dim_count(mod->polys);
    Buf body = {0};
    Printer p = {.mod = mod, .out = &body, .arena = arena_new()};
    p.order.arena = p.arena;
    p.marks = NEWS(p.arena, Mark, mod->nexprs + 1);
    p.dims = NEWS(p.arena, unsigned char, ndims + 1);
    p.ordinals = node_ordinals(mod->model, p.arena, &nodes);
    for (BufferId b = 1; b < mod->buffers.len; b++)
        print_buffer(&p, b);
    print_ports(&p, "inputs", mod->inputs.at, mod->inputs.len);
    print_ports(&p, "outputs", mod->outputs.at, mod->outputs.len);
    print_steps(&p, mod->steps, 1);
    buf_printf(out, "kernels {\n");
    if (mod->symbols.len > 1)
        print_symbols(mod, out);
    for (DimId d = 1; d <= ndims; d++)
        if (p.dims[d]) {
            buf_printf(out, "  dim $%u ", d);
            buf_quoted(out, dim_name(mod->polys, d));
            buf_printf(out, " >= %" PRId64 "\n", dim_least(mod->polys, d));
        }
    buf_put(out, body.at, body.len);
    buf_printf(out, "}\n");
    buf_free(&body);
    arena_free(p.arena);
}
