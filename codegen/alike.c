// A kernel's form is a hash of all that its text depends on but the ids of its variables, the sizes
// in which kernels with one function may differ, and those float32 numbers that are added and
// multiplied. Of kernels with one form the numbers that differ are read from constants: the same
// bits, and what is read at one place stays in a register.
//
// That two forms are equal decides only what is worth it: an operand is right for any kernel.

#include "codegen/alike.h"
#include "codegen/cpu/conv.h"
#include "codegen/cpu/gemm.h"
#include "codegen/repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(const Expr *) Exprs;

typedef struct Form {
    Module *mod;
    Kernel *kernel;
    uint64_t hash;
    Exprs numbers; // added or multiplied, in order
} Form;

typedef VEC(Form) Forms;

// ---- forms -------------------------------------------------------------------------------------

static void add_word(Form *f, uint64_t word)
{
    f->hash = hash_bytes(&word, sizeof word, f->hash);
}

static void add_index(Form *f, Index i)
{
    for (uint32_t t = 0; t < i->nterms; t++) {
        if (!repeats_by_sizes(f->kernel))
            add_word(f, (uint64_t)i->terms[t].coeff);
        add_word(f, i->terms[t].natoms);
    }
}

static void add_buffer(Form *f, BufferId b, uint32_t rank, const Index *at)
{
    const Buffer *buffer = buffer_at(f->mod, b);
    add_word(f, buffer->dtype);
    for (uint32_t i = 0; i < buffer->rank; i++)
        add_index(f, buffer->dims[i]);
    for (uint32_t i = 0; i < rank; i++)
        add_index(f, at[i]);
}

// Is `operand` of e such a number? 1 and a half are what forms are recognised by
// (codegen/cpu/forms.c).
static bool is_number(const Expr *e, const Expr *operand)
{
    const bool sums = e->kind == EX_BINARY && (e->op == B_ADD || e->op == B_SUB || e->op == B_MUL);
    const double size = fabs(operand->value.f);
    return sums && operand->kind == EX_CONST && operand->dtype == DT_F32 &&
           isnormal(operand->value.f) && size != 1 && size != 0.5;
}

// A GELU is recognised by what its x is multiplied by.
static void add_erf(Form *f, const Expr *x)
{
    const Expr *operands[] = {x->a, x->b};
    for (int i = 0; i < 2 && x->kind == EX_BINARY; i++)
        if (operands[i]->kind == EX_CONST)
            add_word(f, (uint64_t)operands[i]->value.i);
}

static void add_expr(void *context, const Expr *e)
{
    Form *f = context;
    const Expr *operands[] = {e->a, e->b, e->c};
    add_word(f, (uint64_t)e->kind << 32 | (uint64_t)e->dtype << 16 | e->op);
    if (e->kind == EX_LOAD)
        add_buffer(f, e->buffer, e->rank, e->at);
    if (e->kind == EX_INDEX)
        add_index(f, e->index);
    if (e->kind == EX_UNARY && e->op == U_ERF)
        add_erf(f, e->a);
    for (int i = 0; i < 3; i++) {
        if (!operands[i] || operands[i]->kind != EX_CONST)
            continue;
        if (is_number(e, operands[i]))
            vec_push(f->mod->arena, &f->numbers, operands[i]);
        else
            add_word(f, (uint64_t)operands[i]->value.i);
    }
}

static void add_stmts(Form *f, const Stmt *s)
{
    for (; s; s = s->next) {
        add_word(f,
                 (uint64_t)s->kind << 32 | (uint64_t)s->rank << 16 | (uint64_t)s->op << 1 | s->par);
        if (s->kind == S_FOR)
            add_index(f, loop_extent(f->mod->polys, s->var));
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            add_buffer(f, s->buffer, s->rank, s->at);
        if (s->value)
            expr_walk(f->mod, s->value, add_expr, f);
        add_stmts(f, s->body);
        add_word(f, 0);
        add_stmts(f, s->other);
    }
}

// Forms of figures, scheduled planes and convolutions keep numbers elsewhere too, but convolutions
// of bytes, whose sums a loop of their own makes results of.
static bool is_plain(const Kernel *k)
{
    const Override *o = k->override;
    const Conv *c = o ? o->conv : NULL;
    return k->body && !k->point &&
           (!o || (!o->figures && (!c || (c->bytes && c->epilogue && !c->pixels))));
}

static void add_steps(Module *mod, const Step *s, Forms *all)
{
    for (; s; s = s->next) {
        if (s->kernel && is_plain(s->kernel)) {
            Form f = {.mod = mod, .kernel = s->kernel};
            f.hash =
                hash_bytes(s->kernel->name.at, s->kernel->name.len, s->kernel->override != NULL);
            add_stmts(&f, s->kernel->body);
            if (f.numbers.len)
                vec_push(mod->arena, all, f);
        }
        add_steps(mod, s->body, all);
        add_steps(mod, s->other, all);
    }
}

// ---- operands ----------------------------------------------------------------------------------

typedef struct Swaps {
    Exprs from, to;
    bool within; // sums are part of what changes
} Swaps;

static const Expr *swap(void *context, const Expr *e)
{
    const Swaps *s = context;
    for (uint32_t i = 0; i < s->from.len; i++)
        if (s->from.at[i] == e)
            return s->to.at[i];
    return e->kind == EX_REDUCE && !s->within ? e : NULL;
}

static void swap_stmts(Module *mod, Stmt *s, const ExprMap *map)
{
    for (; s; s = s->next) {
        if (s->value)
            s->value = expr_map(mod, s->value, map);
        swap_stmts(mod, s->body, map);
        swap_stmts(mod, s->other, map);
    }
}

static const Expr *operand(Module *mod, const Expr *number)
{
    const float v = (float)number->value.f;
    const BufferId b = buffer_new(mod, BUF_WEIGHT, STR("number"), DT_F32, 0, NULL);
    buffer_at(mod, b)->data = tensor_new(mod->arena, DT_F32, 0, NULL, &v);
    return expr_load(mod, b, NULL);
}

// Sums that products were recognised by stay what they are.
static void give_operands(Form *f, const bool *differs)
{
    Module *mod = f->mod;
    const Override *o = f->kernel->override;
    Swaps s = {.within = !o};
    const ExprMap map = {&s, swap, NULL};
    for (uint32_t i = 0; i < f->numbers.len; i++)
        if (differs[i]) {
            vec_push(mod->arena, &s.from, f->numbers.at[i]);
            vec_push(mod->arena, &s.to, operand(mod, f->numbers.at[i]));
        }
    swap_stmts(mod, f->kernel->body, &map);
    if (o && o->begin)
        swap_stmts(mod, o->begin, &map);
    if (o && o->epilogue)
        swap_stmts(mod, o->epilogue, &map);
    if (o && o->conv)
        swap_stmts(mod, o->conv->epilogue, &map);
}

static void share_form(Form *forms, uint32_t n)
{
    const uint32_t count = forms->numbers.len;
    bool *differs = NEWS(forms->mod->arena, bool, count), any = false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 1; k < n; k++)
            any |= differs[i] |= forms[k].numbers.at[i] != forms->numbers.at[i];
    for (uint32_t k = 0; any && k < n; k++)
        give_operands(&forms[k], differs);
}

static int by_form(const void *a, const void *b)
{
    const Form *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->numbers.len != y->numbers.len)
        return x->numbers.len < y->numbers.len ? -1 : 1;
    return x->kernel->id < y->kernel->id ? -1 : x->kernel->id > y->kernel->id;
}

void alike_module(Module *mod)
{
    Forms all = {0};
    add_steps(mod, mod->steps, &all);
    if (all.len > 1)
        qsort(all.at, all.len, sizeof *all.at, by_form);
    for (uint32_t i = 0, n; i < all.len; i += n) {
        const Form *f = &all.at[i];
        for (n = 1; i + n < all.len && f[n].hash == f->hash && f[n].numbers.len == f->numbers.len;)
            n++;
        if (n > 1)
            share_form(&all.at[i], n);
    }
}
