// The text form of a module, as people read it in dumps.

#include "ir/kernel.h"

static const char *const unary_names[] = {
    "neg",   "abs",   "not",   "bitnot", "sqrt",  "exp",   "log",   "sin",   "cos",   "tan",
    "asin",  "acos",  "atan",  "sinh",   "cosh",  "tanh",  "asinh", "acosh", "atanh", "erf",
    "expm1", "log1p", "floor", "ceil",   "round", "trunc", "isnan", "isinf"};
static const char *const binary_names[] = {"+",   "-", "*", "/", "mod", "fmod", "min",  "max",
                                           "pow", "&", "|", "^", "<<",  ">>",   "atan2"};
static const char *const compare_names[] = {"==", "!=", "<", "<="};
static const char *const reduce_names[] = {"add", "mul", "max",    "min",
                                           "and", "or",  "argmax", "argmin"};

typedef struct Printer {
    const Module *mod;
    Buf *out;
} Printer;

static void print_expr(Printer *p, const Expr *e);

static void print_atom(Printer *p, const Atom *a);

static void print_index(Printer *p, Index i)
{
    if (i->nterms == 0)
        buf_char(p->out, '0');
    for (uint32_t n = 0; n < i->nterms; n++) {
        const Term *t = &i->terms[n];
        bool hidden = t->natoms && (t->coeff == 1 || t->coeff == -1);
        buf_printf(p->out, "%s", t->coeff < 0 ? "-" : n ? "+" : "");
        if (!hidden)
            buf_printf(
                p->out, "%llu%s",
                (unsigned long long)(t->coeff < 0 ? 0 - (uint64_t)t->coeff : (uint64_t)t->coeff),
                t->natoms ? "*" : "");
        for (uint32_t k = 0; k < t->natoms; k++) {
            if (k)
                buf_char(p->out, '*');
            print_atom(p, t->atoms[k]);
        }
    }
}

static void print_atom(Printer *p, const Atom *a)
{
    static const char *const words[] = {
        [ATOM_FLOORDIV] = "div", [ATOM_MOD] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};
    if (a->kind == ATOM_DIM) {
        buf_escaped(p->out, dim_name(p->mod->polys, a->var));
        buf_printf(p->out, "#%u", a->var);
    } else if (a->kind == ATOM_LOOP) {
        buf_printf(p->out, "i%u", a->var);
    } else if (a->kind == ATOM_EXPR) {
        buf_char(p->out, '[');
        print_expr(p, a->e);
        buf_char(p->out, ']');
    } else {
        buf_printf(p->out, "%s(", words[a->kind]);
        print_index(p, a->a);
        buf_printf(p->out, ", ");
        print_index(p, a->b);
        buf_char(p->out, ')');
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

static void print_reduce(Printer *p, const Expr *e)
{
    buf_printf(p->out, "(reduce %s ", reduce_names[e->op]);
    for (uint32_t i = 0; i < e->rank; i++) {
        buf_printf(p->out, "%si%u<", i ? "," : "", e->vars[i]);
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

static void print_const(Printer *p, const Expr *e)
{
    if (dtype_is_float(e->dtype))
        buf_printf(p->out, "%.17g", e->value.f);
    else
        buf_printf(p->out, "%lld", (long long)e->value.i);
    buf_printf(p->out, ":%s", dtype_info(e->dtype)->abbrev);
}

static void print_expr(Printer *p, const Expr *e)
{
    switch (e->kind) {
    case EX_CONST:
        print_const(p, e);
        return;
    case EX_INDEX:
        print_index(p, e->index);
        return;
    case EX_LOAD:
    case EX_LOCAL:
        buf_printf(p->out, e->kind == EX_LOAD ? "b%u" : "v%u",
                   e->kind == EX_LOAD ? e->buffer : e->local);
        if (e->kind == EX_LOAD || e->rank)
            print_at(p, e->rank, e->at);
        return;
    case EX_UNARY:
        buf_printf(p->out, "%s(", unary_names[e->op]);
        print_expr(p, e->a);
        buf_char(p->out, ')');
        return;
    case EX_BINARY:
        print_infix(p, binary_names[e->op], e->a, e->b);
        return;
    case EX_COMPARE:
        print_infix(p, compare_names[e->op], e->a, e->b);
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
    case EX_BITCAST:
        buf_printf(p->out, "%s%s(", e->kind == EX_BITCAST ? "bits_" : "",
                   dtype_info(e->dtype)->abbrev);
        print_expr(p, e->a);
        buf_char(p->out, ')');
        return;
    case EX_REDUCE:
        print_reduce(p, e);
        return;
    }
}

static void indent(Printer *p, int depth)
{
    buf_printf(p->out, "%*s", depth * 2, "");
}

static void print_stmts(Printer *p, const Stmt *s, int depth);

static void print_target(Printer *p, const Stmt *s)
{
    buf_printf(p->out, s->kind == S_SET ? "v%u" : "b%u", s->kind == S_SET ? s->local : s->buffer);
    print_at(p, s->rank, s->at);
    buf_printf(p->out, s->kind == S_UPDATE ? " %s= " : " = ", binary_names[s->op]);
}

static void print_stmt(Printer *p, const Stmt *s, int depth)
{
    indent(p, depth);
    switch (s->kind) {
    case S_FOR:
        buf_printf(p->out, "%s i%u < ", s->par ? "par" : "seq", s->var);
        print_index(p, loop_extent(p->mod->polys, s->var));
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
        print_target(p, s);
        break;
    case S_IF:
    case S_WHILE:
        buf_printf(p->out, s->kind == S_IF ? "if " : "while ");
        break;
    }
    if (s->value)
        print_expr(p, s->value);
    buf_char(p->out, '\n');
    print_stmts(p, s->body, depth + 1);
    if (s->other) {
        indent(p, depth);
        buf_printf(p->out, "else\n");
        print_stmts(p, s->other, depth + 1);
    }
}

static void print_stmts(Printer *p, const Stmt *s, int depth)
{
    for (; s; s = s->next)
        print_stmt(p, s, depth);
}

static void print_steps(Printer *p, const Step *s, int depth)
{
    static const char *const words[] = {"kernel", "dim", "check", "if", "loop", "break"};
    for (; s; s = s->next) {
        indent(p, depth);
        buf_printf(p->out, "%s ", words[s->kind]);
        if (s->kernel)
            buf_printf(p->out, "k%u_%.*s", s->kernel->id, STR_ARG(s->kernel->name));
        if (s->kind == STEP_DIM || s->kind == STEP_LOOP)
            buf_printf(p->out, "#%u%s", s->dim,
                       s->value ? s->kind == STEP_DIM ? " = " : " < " : "");
        if (s->value)
            print_index(p, s->value);
        if (s->cond)
            print_expr(p, s->cond);
        buf_char(p->out, '\n');
        if (s->kernel)
            print_stmts(p, s->kernel->body, depth + 1);
        print_steps(p, s->body, depth + 1);
        if (s->other) {
            indent(p, depth);
            buf_printf(p->out, "else\n");
            print_steps(p, s->other, depth + 1);
        }
    }
}

void module_print(const Module *mod, Buf *out)
{
    static const char *const kinds[] = {"input", "output", "weight", "temp"};
    Printer p = {mod, out};
    for (uint32_t i = 1; i < mod->buffers.len; i++) {
        const Buffer *b = &mod->buffers.at[i];
        buf_printf(out, "b%u %s %s", i, kinds[b->kind], dtype_info(b->dtype)->abbrev);
        print_at(&p, b->rank, b->dims);
        buf_char(out, ' ');
        buf_quoted(out, b->name);
        buf_char(out, '\n');
    }
    print_steps(&p, mod->steps, 0);
}
