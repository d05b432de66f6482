// Printing what was inferred of a value: " : f32[N,16,8] @"cpu"".

#include "ir/lists.h"
#include "ir/text_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_dim(Text *t, Index i);

// Dims that programs find are called by what they are; of those with one name all but the first
// get their number too.
static Str distinct_name(Text *t, DimId d)
{
    Str name = dim_name(t->m->polys, d);
    for (DimId k = t->named_dims + 1; k <= dim_count(t->m->polys); k++) {
        bool added;
        uint32_t *first = map_put(&t->dims, dim_name(t->m->polys, k), &added);
        *first = added ? k : *first;
        t->named_dims = k;
    }
    uint32_t *first = map_get(&t->dims, name);
    if (name.len && first && *first == d)
        return name;
    return str_printf(t->m->arena, "%.*s?%u", STR_ARG(name), d);
}

static Str dim_text(Text *t, Index i)
{
    Buf b = {0}, *out = t->out;
    t->out = &b;
    print_dim(t, i);
    Str text = str_copy(t->m->arena, (Str){b.at, b.len});
    buf_free(&b);
    t->out = out;
    return text;
}

// Operands of min and max, which may change places, in the order of their text, as terms are.
static void print_dim_atom(Text *t, const Atom *a)
{
    static const char *const words[] = {
        [ATOM_FLOORDIV] = "div", [ATOM_MOD] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};
    if (a->kind == ATOM_DIM) {
        text_name(t, distinct_name(t, a->var));
        return;
    }
    Str x = dim_text(t, a->a), y = dim_text(t, a->b);
    if ((a->kind == ATOM_MIN || a->kind == ATOM_MAX) && str_cmp(x, y) > 0) {
        Str first = y;
        y = x;
        x = first;
    }
    buf_printf(t->out, "%s(%.*s, %.*s)", words[a->kind], STR_ARG(x), STR_ARG(y));
}

// Terms in the order of their text, the constant last: whatever order they were made in.
static int compare_strs(const void *a, const void *b)
{
    return str_cmp(*(const Str *)a, *(const Str *)b);
}

static Str term_text(Text *t, const Term *term)
{
    Buf b = {0}, *out = t->out;
    Str *atoms = NEWS(t->m->arena, Str, term->natoms);
    for (uint32_t k = 0; k < term->natoms; k++) {
        Buf atom = {0};
        t->out = &atom;
        print_dim_atom(t, term->atoms[k]);
        atoms[k] = str_copy(t->m->arena, (Str){atom.at, atom.len});
        buf_free(&atom);
    }
    qsort(atoms, term->natoms, sizeof *atoms, compare_strs);
    for (uint32_t k = 0; k < term->natoms; k++)
        buf_printf(&b, "%s%.*s", k ? "*" : "", STR_ARG(atoms[k]));
    Str text = str_copy(t->m->arena, (Str){b.at, b.len});
    buf_free(&b);
    t->out = out;
    return text;
}

typedef struct TermText {
    Str text;
    int64_t coeff;
} TermText;

static int compare_term_texts(const void *a, const void *b)
{
    const TermText *x = a, *y = b;
    if (!x->text.len || !y->text.len)
        return x->text.len ? -1 : y->text.len ? 1 : 0;
    return str_cmp(x->text, y->text);
}

static void print_dim(Text *t, Index i)
{
    TermText *terms = NEWS(t->m->arena, TermText, i->nterms);
    for (uint32_t n = 0; n < i->nterms; n++)
        terms[n] = (TermText){term_text(t, &i->terms[n]), i->terms[n].coeff};
    qsort(terms, i->nterms, sizeof *terms, compare_term_texts);
    if (i->nterms == 0)
        buf_char(t->out, '0');
    for (uint32_t n = 0; n < i->nterms; n++) {
        bool number = terms[n].coeff != 1 || terms[n].text.len == 0;
        buf_printf(t->out, "%s", n && (terms[n].coeff > 0 || !number) ? " + " : n ? " " : "");
        if (number)
            buf_printf(t->out, "%" PRId64 "%s", terms[n].coeff, terms[n].text.len ? "*" : "");
        buf_str(t->out, terms[n].text);
    }
}

// "f32[N,16,8]"
static void print_tensor_type(Text *t, const Value *v)
{
    buf_printf(t->out, "%s", dtype_info(v->dtype)->abbrev);
    if (v->rank < 0)
        buf_printf(t->out, v->rank == RANK_NONE ? "[none]" : "[*]");
    if (v->rank > 0)
        buf_char(t->out, '[');
    for (int32_t i = 0; i < v->rank; i++) {
        buf_printf(t->out, "%s", i ? "," : "");
        print_dim(t, v->dims[i]);
    }
    if (v->rank > 0)
        buf_char(t->out, ']');
}

// " : f32[N,16,8] @cpu", " : optional(seq(f32[N,8]))"
void text_inferred(Text *t, ValueId id)
{
    static const char *const words[] = {
        [TYPE_SEQUENCE] = "seq", [TYPE_OPTIONAL] = "optional", [TYPE_MAP] = "map"};
    const Value *v = value_at(t->m, id);
    uint32_t depth = 0;
    if (!t->types || t->form != TEXT_CIR || v->dtype == DT_NONE ||
        (v->kind != TYPE_TENSOR && !kind_is_list(v->kind)))
        return;
    buf_printf(t->out, " : ");
    for (const Type *type = v->type; kind_is_list(v->kind) && type && kind_is_list(type->kind);
         type = type->sub, depth++) {
        buf_printf(t->out, "%s(", words[type->kind]);
        if (type->kind == TYPE_MAP)
            buf_printf(t->out, "%s, ", dtype_info((DType)type->elem)->abbrev);
    }
    print_tensor_type(t, v);
    while (depth-- > 0)
        buf_char(t->out, ')');
    if (v->device && v->device < t->m->devices.len) {
        buf_printf(t->out, " @");
        text_quoted(t, t->m->devices.at[v->device]);
    }
}
