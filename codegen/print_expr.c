// Expressions and indices as C text.

#include "codegen/parts.h"
#include "codegen/repeats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *dtype_suffix(DType t)
{
    return dtype_info(t)->abbrev;
}

static const char *text(Printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *text(Printer *p, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *out = arena_alloc(p->arena, (size_t)n + 1);
    vsnprintf(out, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return out;
}

// ---- literals --------------------------------------------------------------------------------

static const char *float_literal(Printer *p, bool is_double, double v)
{
    if (isnan(v))
        return is_double ? "(double)NAN" : "NAN";
    if (isinf(v))
        return text(p, is_double ? "(%s(double)INFINITY)" : "(%sINFINITY)", v < 0 ? "-" : "");
    char digits[64];
    snprintf(digits, sizeof digits, is_double ? "%.17g" : "%.9g", v);
    for (int n = 1; n < 17; n++) { // the shortest text that reads back as the same number
        char few[64];
        snprintf(few, sizeof few, "%.*g", n, v);
        if (is_double ? strtod(few, NULL) == v : strtof(few, NULL) == (float)v) {
            memcpy(digits, few, sizeof digits);
            break;
        }
    }
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    bool negative = signbit(v) != 0;
    return text(p, "%s%s%s%s%s", negative ? "(" : "", digits, point, is_double ? "" : "f",
                negative ? ")" : "");
}

const char *print_literal(Printer *p, DType t, Scalar v)
{
    const DTypeInfo *info = dtype_info(t);
    if (t == DT_F64X2)
        return text(p, "cameo_make_f64x2(%s, 0)", float_literal(p, true, v.f));
    if (t == DT_F32 || t == DT_F64)
        return float_literal(p, t == DT_F64, v.f);
    if (dtype_is_complex(t))
        return text(p, "cameo_make_%s(%s, %s)", dtype_suffix(t),
                    float_literal(p, t == DT_C128, v.c.re), float_literal(p, t == DT_C128, v.c.im));
    if (dtype_is_small_float(t)) {
        uint8_t bits[8] = {0};
        scalar_store(t, bits, v);
        return text(p, "0x%0*x", info->bytes * 2, bits[0] | (unsigned)bits[1] << 8);
    }
    if (t == DT_BOOL)
        return v.i ? "1" : "0";
    if (t == DT_U64)
        return text(p, "UINT64_C(%" PRIu64 ")", (uint64_t)v.i);
    if (t == DT_U32)
        return text(p, "%" PRIu32 "u", (uint32_t)v.i);
    if (t == DT_I64 && v.i == INT64_MIN)
        return "INT64_MIN";
    if (t == DT_I32 && v.i == INT32_MIN)
        return "INT32_MIN";
    const char *format = t == DT_I64 && (v.i > INT32_MAX || v.i < INT32_MIN)
                             ? (v.i < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")")
                             : (v.i < 0 ? "(-%" PRId64 ")" : "%" PRId64);
    char out[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(out, sizeof out, format, v.i < 0 ? -v.i : v.i);
#pragma GCC diagnostic pop
    return text(p, "%s", out);
}

// ---- indices ---------------------------------------------------------------------------------

static const char *print_compound(Printer *p, const Atom *a)
{
    Polys *polys = p->mod->polys;
    if (a->kind == ATOM_MIN || a->kind == ATOM_MAX)
        return text(p, "cameo_%s_i64(%s, %s)", a->kind == ATOM_MIN ? "min" : "max",
                    print_index(p, a->a), print_index(p, a->b));
    bool div = a->kind == ATOM_FLOORDIV;
    bool plain = poly_nonnegative(polys, a->a) && poly_less(polys, poly_const(polys, 0), a->b);
    const bool marks = p->marks;
    p->marks = false; // compilers divide by what they know
    const char *x = print_index(p, a->a), *y = print_index(p, a->b);
    p->marks = marks;
    return plain ? text(p, "(%s %s %s)", x, div ? "/" : "%", y)
                 : text(p, "cameo_%s(%s, %s)", div ? "floordiv" : "floormod", x, y);
}

static const char *print_atom(Printer *p, const Atom *a)
{
    const char *steady;
    switch (a->kind) {
    case ATOM_DIM:
        access_note(p->arena, &p->printed.dims, a->var, ACCESS_READ);
        return text(p, "d%u", a->var);
    case ATOM_LOOP:
        return text(p, "i%u", a->var);
    case ATOM_EXPR:
        return a->e->dtype == DT_I64 ? print_expr(p, a->e)
                                     : text(p, "(%s)%s", p->dialect->index, print_expr(p, a->e));
    case ATOM_MIN:
    case ATOM_MAX:
    case ATOM_FLOORDIV:
    case ATOM_MOD:
        break;
    }
    steady = parts_steady(p, a, print_compound);
    return steady ? steady : print_compound(p, a);
}

static void print_term(Printer *p, const Term *t, bool first, Buf *out)
{
    int64_t k = t->coeff;
    if (!first)
        buf_printf(out, k < 0 ? " - " : " + ");
    else if (k < 0)
        buf_char(out, '-');
    uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
    bool number = t->natoms == 0 || size != 1;
    if (number && p->marks && size <= INT32_MAX)
        buf_char(out, MARK_SIZE);
    if (number)
        buf_printf(out, size > INT32_MAX ? "INT64_C(%" PRIu64 ")" : "%" PRIu64, size);
    for (uint32_t i = 0; i < t->natoms; i++)
        buf_printf(out, "%s%s", i || number ? " * " : "", print_atom(p, t->atoms[i]));
}

static const char *keep(Printer *p, Buf *b)
{
    const char *out = arena_copy(p->arena, b->at ? b->at : "", b->len);
    buf_free(b);
    return out;
}

// The constant term stands last: "i1 - 1".
static const char *index_text(Printer *p, Index i)
{
    if (i->nterms == 0)
        return "0";
    Buf out = {0};
    bool constant = i->terms[0].natoms == 0;
    bool first = true;
    // Atoms are printed before anything is written, since they may print statements.
    for (uint32_t k = constant && i->nterms > 1 ? 1 : 0; k < i->nterms; k++) {
        print_term(p, &i->terms[k], first, &out);
        first = false;
    }
    if (constant && i->nterms > 1)
        print_term(p, &i->terms[0], false, &out);
    return keep(p, &out);
}

const char *print_size(Printer *p, int64_t size)
{
    const bool marked = p->marks && size >= 0 && size <= INT32_MAX;
    return text(p, "%s%" PRId64, marked ? repeats_mark(p, MARK_SIZE) : "", size);
}

const char *print_index(Printer *p, Index i)
{
    const char *s = index_text(p, i);
    bool simple =
        i->nterms <= 1 && (i->nterms == 0 || (i->terms[0].natoms <= 1 &&
                                              (i->terms[0].natoms == 0 || i->terms[0].coeff == 1)));
    return simple && *s != '-' ? s : text(p, "(%s)", s);
}

const char *print_index_bare(Printer *p, Index i)
{
    return index_text(p, i);
}

static Index zero_collapsed(void *context, const Atom *a)
{
    const Printer *p = context;
    bool zero = a->kind == ATOM_LOOP && a->var < p->nloops && p->zeroed[a->var];
    return zero ? poly_const(p->mod->polys, 0) : NULL;
}

Index linear_index(Printer *p, uint32_t rank, const Index *dims, const Index *at)
{
    Polys *polys = p->mod->polys;
    Index sum = poly_const(polys, 0);
    for (uint32_t i = 0; i < rank; i++)
        sum = poly_add(polys, poly_mul(polys, sum, dims[i]), at[i]);
    if (p->nzeroed)
        sum = poly_map(polys, sum, zero_collapsed, p);
    return sum;
}

static const char *print_linear(Printer *p, uint32_t rank, const Index *dims, const Index *at)
{
    Index sum = linear_index(p, rank, dims, at);
    if (!poly_is_overflow(sum))
        return print_index_bare(p, sum);
    const char *s = "0";
    for (uint32_t i = 0; i < rank; i++)
        s = text(p, "(%s * %s + %s)", s, print_index(p, dims[i]), print_index(p, at[i]));
    return s;
}

const char *without_parentheses(Printer *p, const char *s)
{
    size_t n = strlen(s);
    if (n < 2 || s[0] != '(' || s[n - 1] != ')')
        return s;
    int depth = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        depth += (s[i] == '(') - (s[i] == ')');
        if (depth == 0)
            return s; // the first one closes before the end
    }
    return arena_copy(p->arena, s + 1, n - 2);
}

const char *print_element(Printer *p, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(p->mod, b);
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    return text(p, "b%u[%s]", b, print_linear(p, buf->rank, buf->dims, at));
}

static const char *print_local(Printer *p, const Expr *e)
{
    if (p->is_row[e->local] != p->round)
        return text(p, "v%u", e->local);
    const Stmt *row = p->rows[e->local];
    if (row->rank == 0)
        return p->turned ? text(p, "v%u[i%u - low%u]", e->local, p->turned, p->turned)
                         : text(p, "v%u", e->local);
    return text(p, "v%u[%s]", e->local, print_linear(p, row->rank, row->at, e->at));
}

const char *print_row_element(Printer *p, const Stmt *set)
{
    Expr e = {.kind = EX_LOCAL, .local = set->local, .rank = set->rank, .at = set->at};
    return print_local(p, &e);
}

// ---- operations ------------------------------------------------------------------------------

// C functions of one float64 argument; of float32 with an f behind the name.
static const char *const unary_function[U_COUNT] = {
    [U_ABS] = "fabs",  [U_SQRT] = "sqrt",   [U_EXP] = "exp",     [U_LOG] = "log",
    [U_SIN] = "sin",   [U_COS] = "cos",     [U_TAN] = "tan",     [U_ASIN] = "asin",
    [U_ACOS] = "acos", [U_ATAN] = "atan",   [U_SINH] = "sinh",   [U_COSH] = "cosh",
    [U_TANH] = "tanh", [U_ASINH] = "asinh", [U_ACOSH] = "acosh", [U_ATANH] = "atanh",
    [U_ERF] = "erf",   [U_EXPM1] = "expm1", [U_LOG1P] = "log1p", [U_FLOOR] = "floor",
    [U_CEIL] = "ceil", [U_ROUND] = "rint",  [U_TRUNC] = "trunc"};

static const char *const binary_name[B_COUNT] = {
    [B_ADD] = "+",     [B_SUB] = "-",   [B_MUL] = "*",   [B_DIV] = "div", [B_MOD] = "mod",
    [B_FMOD] = "fmod", [B_MIN] = "min", [B_MAX] = "max", [B_POW] = "pow", [B_AND] = "&",
    [B_OR] = "|",      [B_XOR] = "^",   [B_SHL] = "shl", [B_SHR] = "shr", [B_ATAN2] = "atan2"};

// Integers compute in the narrowest of i32, u32, i64, u64 that holds them: "cameo_div_i32".
static const char *integer_class(DType t)
{
    bool wide = dtype_info(t)->bits > 32;
    return dtype_is_signed(t) ? (wide ? "i64" : "i32") : (wide ? "u64" : "u32");
}

const char *arithmetic_suffix(DType t)
{
    return t == DT_F32 ? "f32" : t == DT_F64 ? "f64" : integer_class(t);
}

// The result of integer arithmetic brought back to its dtype: a conversion that wraps.
static const char *wrapped(Printer *p, DType t, const char *s)
{
    if (dtype_info(t)->bits < 8 && t != DT_BOOL)
        return text(p, "cameo_wrap_%s((uint64_t)%s)", dtype_suffix(t), s);
    return text(p, "(%s)%s", p->dialect->type[t], s);
}

static const char *print_integer_op(Printer *p, BinaryOp op, DType t, const char *a, const char *b)
{
    const DTypeInfo *info = dtype_info(t);
    const char *name = binary_name[op];
    if (op == B_ADD || op == B_SUB || op == B_MUL) { // in unsigned, where overflow is defined
        const char *u = info->bits > 32 ? "uint64_t" : "uint32_t";
        return wrapped(p, t, text(p, "((%s)%s %s (%s)%s)", u, a, name, u, b));
    }
    if (op == B_AND || op == B_OR || op == B_XOR)
        return text(p, "(%s)(%s %s %s)", p->dialect->type[t], a, name, b);
    if (op == B_SHL || op == B_SHR)
        return wrapped(
            p, t,
            text(p, "cameo_%s_%s(%s, (uint64_t)%s, %u)", name, integer_class(t), a, b, info->bits));
    if ((op == B_MIN || op == B_MAX) && (info->bits == 8 || info->bits == 16))
        return text(p, "cameo_%s_%s(%s, %s)", name, dtype_suffix(t), a, b);
    return wrapped(p, t, text(p, "cameo_%s_%s(%s, %s)", name, integer_class(t), a, b));
}

static const char *pair_word(BinaryOp op)
{
    return op == B_ADD ? "add" : op == B_SUB ? "sub" : op == B_MUL ? "mul" : binary_name[op];
}

const char *print_binary_op(Printer *p, BinaryOp op, DType t, const char *a, const char *b)
{
    const char *name = binary_name[op];
    if (t == DT_BOOL) {
        const char *symbol = op == B_AND   ? "&&"
                             : op == B_OR  ? "||"
                             : op == B_XOR ? "^"
                             : op == B_MAX ? "|"
                             : op == B_MIN ? "&"
                                           : NULL;
        if (symbol)
            return text(p, "(%s %s %s)", a, symbol, b);
        return text(p, "(%s != 0)", print_integer_op(p, op, DT_U8, a, b));
    }
    if (dtype_is_complex(t)) {
        const char *word = op == B_ADD ? "add" : op == B_SUB ? "sub" : "mul";
        return text(p, "cameo_%s_%s(%s, %s)", word, dtype_suffix(t), a, b);
    }
    if (!dtype_is_float(t))
        return print_integer_op(p, op, t, a, b);
    if (t == DT_F64X2)
        return text(p, "cameo_%s_f64x2(%s, %s)", pair_word(op), a, b);
    if (op == B_ADD || op == B_SUB || op == B_MUL || op == B_DIV)
        return text(p, "(%s %s %s)", a, op == B_DIV ? "/" : name, b);
    if (op == B_FMOD && p->dialect->rows)
        return text(p, "cameo_fmod_%s(%s, %s)", dtype_suffix(t), a, b);
    if (op == B_POW || op == B_FMOD || op == B_ATAN2)
        return text(p, "%s%s(%s, %s)", name, t == DT_F32 ? "f" : "", a, b);
    return text(p, "cameo_%s_%s(%s, %s)", name, dtype_suffix(t), a, b);
}

bool unary_is_arithmetic(UnaryOp op, DType t)
{
    static const bool f32[U_COUNT] = {
        [U_EXP] = true,  [U_EXPM1] = true, [U_LOG] = true,   [U_LOG1P] = true, [U_TANH] = true,
        [U_ERF] = true,  [U_SIN] = true,   [U_COS] = true,   [U_TAN] = true,   [U_ASIN] = true,
        [U_ACOS] = true, [U_ATAN] = true,  [U_ASINH] = true, [U_ACOSH] = true, [U_ATANH] = true};
    return t == DT_F32 ? f32[op] : t == DT_F64 && (op == U_TANH || op == U_EXP);
}

static const char *print_unary(Printer *p, const Expr *e)
{
    const char *a = print_expr(p, e->a);
    DType t = e->a->dtype;
    if (e->op == U_NOT)
        return text(p, "(!%s)", a);
    if (dtype_is_complex(t))
        return text(p, "cameo_neg_%s(%s)", dtype_suffix(t), a);
    if (e->op == U_ISNAN || e->op == U_ISINF)
        return dtype_is_float(t) ? text(p, "cameo_%s_%s(%s)", e->op == U_ISNAN ? "isnan" : "isinf",
                                        dtype_suffix(t), a)
                                 : "0";
    if (t == DT_F64X2)
        return text(p, "cameo_%s_f64x2(%s)", e->op == U_NEG ? "neg" : unary_function[e->op], a);
    if (p->dialect->rows && unary_is_arithmetic((UnaryOp)e->op, t))
        return text(p, "cameo_%s_%s(%s)", unary_function[e->op], dtype_suffix(t), a);
    if (dtype_is_float(t))
        return e->op == U_NEG
                   ? text(p, "(-%s)", a)
                   : text(p, "%s%s(%s)", unary_function[e->op], t == DT_F32 ? "f" : "", a);
    if (e->op == U_NEG)
        return print_integer_op(p, B_SUB, t, "0", a);
    if (e->op == U_BITNOT)
        return wrapped(p, t, text(p, "(~%s)", a));
    if (e->op == U_ABS)
        return dtype_is_signed(t) ? wrapped(p, t, text(p, "cameo_abs_%s(%s)", integer_class(t), a))
                                  : a;
    return a; // roundings of integers
}

static bool is_zero(const Expr *e)
{
    return e->kind == EX_CONST && e->value.i == 0;
}

// A place that an int32 holds: a vector has twice as many of them as of int64.
static bool is_short_index(const Printer *p, const Expr *e)
{
    Polys *polys = p->mod->polys;
    return e->kind == EX_INDEX && poly_nonnegative(polys, e->index) &&
           poly_less(polys, e->index, poly_const(polys, INT32_MAX));
}

static const char *print_compare(Printer *p, const Expr *e)
{
    static const char *const names[] = {"==", "!=", "<", "<="};
    const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
    if (dtype_is_complex(e->a->dtype))
        return text(p, "%scameo_eq_%s(%s, %s)", e->op == C_NE ? "!" : "", dtype_suffix(e->a->dtype),
                    a, b);
    static const char *const words[] = {"eq", "eq", "lt", "le"};
    if (e->a->dtype == DT_F64X2)
        return text(p, "%scameo_%s_f64x2(%s, %s)", e->op == C_NE ? "!" : "", words[e->op], a, b);
    if (!dtype_is_float(e->a->dtype)) { // compilers warn of comparisons that always hold
        bool unsigned_type = dtype_info(e->a->dtype)->kind == KIND_UNSIGNED;
        if (e->a == e->b)
            return e->op == C_EQ || e->op == C_LE ? "1" : "0";
        if (unsigned_type && e->op == C_LE && is_zero(e->a))
            return "1";
        if (unsigned_type && e->op == C_LT && is_zero(e->b))
            return "0";
    }
    if (p->dialect->rows && is_short_index(p, e->a) && is_short_index(p, e->b))
        return text(p, "((int32_t)%s %s (int32_t)%s)", a, names[e->op], b);
    return text(p, "(%s %s %s)", a, names[e->op], b);
}

// A cast to or from a pair. NULL: *a is a float64 that has what e has once it is cast.
static const char *print_pair_cast(Printer *p, const Expr *e, const char **a)
{
    DType from = e->a->dtype, to = e->dtype;
    if (to == DT_F64X2 && dtype_is_integer(from) && dtype_info(from)->bits == 64)
        return text(p, "cameo_cast_%s_f64x2(%s)", dtype_suffix(from), *a);
    if (to == DT_F64X2)
        return text(p, "cameo_make_f64x2((double)%s, 0)", *a);
    if (to == DT_U64)
        return text(p, "cameo_whole_u64_f64x2(%s)", *a);
    if (to == DT_I64)
        return text(p, "cameo_whole_f64x2(%s, INT64_MIN, INT64_MAX)", *a);
    if (to == DT_F64 || to == DT_BOOL)
        *a = text(p, "%s.hi", *a);
    else if (dtype_is_integer(to))
        *a = text(p, "cameo_trunc_f64x2(%s).hi", *a);
    else
        *a = text(p, "cameo_odd_f64x2(%s)", *a);
    return to == DT_F64 ? *a : NULL;
}

// A C conversion where it is the same as ONNX's for all values; else a helper.
static const char *print_cast(Printer *p, const Expr *e)
{
    DType from = e->a->dtype, to = e->dtype;
    const DTypeInfo *f = dtype_info(from), *t = dtype_info(to);
    const char *a = print_expr(p, e->a);
    bool sub_byte = t->bits < 8 && to != DT_BOOL;
    if (to == DT_F64X2 || from == DT_F64X2) {
        const char *pair = print_pair_cast(p, e, &a);
        if (pair)
            return pair;
        from = DT_F64;
    }
    bool from_plain = f->kind != KIND_FLOAT || from == DT_F32 || from == DT_F64;
    bool to_real = to == DT_F32 || to == DT_F64;
    if (t->kind == KIND_COMPLEX && f->kind != KIND_COMPLEX)
        return text(p, "cameo_make_%s((%s)%s, 0)", dtype_suffix(to),
                    to == DT_C64 ? "float" : "double", a);
    if (t->kind == KIND_COMPLEX)
        return text(p, "cameo_cast_%s_%s(%s)", dtype_suffix(from), dtype_suffix(to), a);
    if (to == DT_BOOL && from_plain)
        return text(p, "(%s != 0)", a);
    if (to_real && from_plain)
        return text(p, "(%s)%s", p->dialect->type[to], a);
    if (f->kind != KIND_FLOAT && dtype_is_integer(to))
        return wrapped(p, to, a);
    if (to == DT_U64)
        return text(p, "cameo_to_u64(%s)", a);
    if (dtype_is_integer(to) && from_plain && sub_byte)
        return text(p, "cameo_wrap_%s((uint64_t)cameo_to_int(%s, INT64_MIN, INT64_MAX))",
                    dtype_suffix(to), a);
    if (dtype_is_integer(to) && from_plain) {
        bool is_signed = dtype_is_signed(to);
        uint64_t most = ((uint64_t)1 << (t->bits - is_signed)) - 1;
        int64_t least = is_signed ? -(int64_t)most - 1 : 0;
        bool narrow = from == DT_F32 && most <= INT32_MAX;
        return text(p, "(%s)cameo_to_%s(%s, %s, %s)", p->dialect->type[to], narrow ? "i32" : "int",
                    a, print_literal(p, narrow ? DT_I32 : DT_I64, (Scalar){.i = least}),
                    print_literal(p, DT_I64, (Scalar){.i = (int64_t)most}));
    }
    bool half = to == DT_F16 || to == DT_BF16;
    if (dtype_is_small_float(to) && !half)
        return text(p, "cameo_cast_f64_%s(%s, %d)", dtype_suffix(to), a, e->saturate);
    return text(p, "cameo_cast_%s_%s(%s)", dtype_suffix(from), dtype_suffix(to), a);
}

// Small floats are their bits already; integers of one size are converted.
static const char *print_bitcast(Printer *p, const Expr *e)
{
    const char *a = print_expr(p, e->a);
    DType from = e->a->dtype, to = e->dtype;
    bool real = from == DT_F32 || from == DT_F64 || to == DT_F32 || to == DT_F64 ||
                dtype_is_complex(from) || dtype_is_complex(to);
    if (to == DT_BOOL)
        return text(p, "(%s != 0)", a);
    if (!real)
        return text(p, "(%s)%s", type_of_value(p, to), a);
    return text(p, "cameo_bits_%s_%s(%s)", dtype_suffix(from), dtype_suffix(to), a);
}

// ---- sharing and laziness ----------------------------------------------------------------------

static bool is_plain(const Expr *e)
{
    return e->kind == EX_CONST || (e->kind == EX_LOCAL && e->rank == 0);
}

const char *type_of_value(Printer *p, DType t)
{
    if (t == DT_F64X2)
        return "cameo_f64x2";
    t = dtype_stored(t);
    return p->dialect->type[t] ? p->dialect->type[t] : "void";
}

void memo_add(Printer *p, const Expr *e, uint32_t temp)
{
    Memo m = {e->id, p->temp_of[e->id], expr_changes(p, e)};
    vec_push(p->arena, &p->memos, m);
    p->temp_of[e->id] = temp;
}

// Weight of the text of an arm; large or statement-making arms become an if statement.
static uint32_t arm_weight(Printer *p, const Expr *e, uint32_t limit)
{
    if (p->temp_of[e->id] || is_plain(e))
        return 1;
    if (e->kind == EX_REDUCE || expr_facts(p, e)->reduces || p->uses[e->id] > 1)
        return limit;
    uint32_t w = e->kind == EX_LOAD ? 2 : 1;
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3 && w < limit; i++)
        if (operands[i])
            w += arm_weight(p, operands[i], limit);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        w += index_weight(p, e->at[i], limit);
    if (e->index)
        w += index_weight(p, e->index, limit);
    return w < limit ? w : limit;
}

typedef struct IndexWeight {
    Printer *p;
    uint32_t sum, limit;
} IndexWeight;

static bool weigh_atom(void *context, const Atom *a)
{
    IndexWeight *w = context;
    if (a->kind == ATOM_EXPR)
        w->sum += arm_weight(w->p, a->e, w->limit);
    return w->sum >= w->limit;
}

uint32_t index_weight(Printer *p, Index i, uint32_t limit)
{
    IndexWeight w = {p, 0, limit};
    poly_any(i, weigh_atom, &w);
    return w.sum;
}

enum { ARM_LIMIT = 24 };

static void print_arm(Printer *p, uint32_t temp, const Expr *arm)
{
    uint32_t mark = print_block_begin(p);
    const bool together = p->together;
    p->together = together && !p->slices; // other points of the block may take the other arm
    const char *v = print_expr(p, arm);
    p->together = together;
    print_line(p, "t%u = %s;", temp, without_parentheses(p, v));
    print_block_end(p, mark);
}

static const char *print_select(Printer *p, const Expr *e)
{
    const char *cond = print_expr(p, e->a);
    if (arm_weight(p, e->b, ARM_LIMIT) + arm_weight(p, e->c, ARM_LIMIT) < ARM_LIMIT) {
        p->in_arm++;
        const char *b = print_expr(p, e->b), *c = print_expr(p, e->c);
        p->in_arm--;
        return text(p, "(%s ? %s : %s)", cond, b, c);
    }
    uint32_t t = ++p->ntemps;
    print_line(p, "%s t%u;", type_of_value(p, e->dtype), t);
    print_line(p, "if (%s) {", without_parentheses(p, cond));
    print_arm(p, t, e->b);
    print_line(p, "} else {");
    print_arm(p, t, e->c);
    print_line(p, "}");
    memo_add(p, e, t);
    return text(p, "t%u", t);
}

// An operand of && and || may be skipped when the program runs, so nothing of it may be hoisted:
// where the right one makes statements, both are evaluated as a select.
static const char *print_logic(Printer *p, const Expr *e)
{
    const char *a = print_expr(p, e->a);
    if (arm_weight(p, e->b, ARM_LIMIT) < ARM_LIMIT) {
        p->in_arm++;
        const char *b = print_expr(p, e->b);
        p->in_arm--;
        return print_binary_op(p, (BinaryOp)e->op, DT_BOOL, a, b);
    }
    uint32_t t = ++p->ntemps;
    print_line(p, "%s t%u = %s;", type_of_value(p, DT_BOOL), t, a);
    print_line(p, "if (%st%u) {", e->op == B_AND ? "" : "!", t);
    print_arm(p, t, e->b);
    print_line(p, "}");
    memo_add(p, e, t);
    return text(p, "t%u", t);
}

const char *print_product_added(Printer *p, const Expr *e, bool negative, const char *c)
{
    if (!p->dialect->rows || !forms_is_product(p, e))
        return NULL;
    const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
    return text(p, "cameo_muladd_%s(%s%s, %s, %s)", dtype_suffix(e->dtype), negative ? "-" : "",
                negative ? a : without_parentheses(p, a), without_parentheses(p, b),
                without_parentheses(p, c));
}

// A sum or difference, one of whose operands may be a product that is not rounded: the first, if
// both are.
static const char *print_sum(Printer *p, const Expr *e)
{
    const bool difference = e->op == B_SUB, first = forms_is_product(p, e->a);
    const Expr *product = first ? e->a : e->b, *other = first ? e->b : e->a;
    if (!p->dialect->rows || !forms_is_product(p, product))
        return NULL;
    const char *c = print_expr(p, other);
    if (difference && first)
        c = text(p, "-%s", c);
    return print_product_added(p, product, difference && !first, c);
}

static const char *print_binary(Printer *p, const Expr *e)
{
    if (e->dtype == DT_BOOL && (e->op == B_AND || e->op == B_OR))
        return print_logic(p, e);
    const char *sum = e->op == B_ADD || e->op == B_SUB ? print_sum(p, e) : NULL;
    if (sum)
        return sum;
    const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
    return print_binary_op(p, (BinaryOp)e->op, e->dtype, a, b);
}

static const char *print_operation(Printer *p, const Expr *e)
{
    switch (e->kind) {
    case EX_CONST:
        return print_literal(p, e->dtype, e->value);
    case EX_INDEX:
        return print_index(p, e->index);
    case EX_LOAD:
        return e->dtype == DT_BOOL ? text(p, "(%s != 0)", print_element(p, e->buffer, e->at))
                                   : print_element(p, e->buffer, e->at);
    case EX_LOCAL:
        return print_local(p, e);
    case EX_UNARY:
        return print_unary(p, e);
    case EX_BINARY:
        return print_binary(p, e);
    case EX_COMPARE:
        return print_compare(p, e);
    case EX_SELECT:
        return print_select(p, e);
    case EX_CAST:
        return print_cast(p, e);
    case EX_BITCAST:
        return print_bitcast(p, e);
    case EX_REDUCE:
        break;
    }
    return print_reduce(p, e);
}

enum { LONG_TEXT = 160 };

const char *print_expr(Printer *p, const Expr *e)
{
    if (p->temp_of[e->id])
        return text(p, "t%u", p->temp_of[e->id]);
    const char *s = forms_print(p, e);
    if (!s)
        s = print_operation(p, e);
    if (p->temp_of[e->id] || is_plain(e)) // an if statement or a loop made it
        return s;
    bool shared = p->uses[e->id] > 1 && e->kind != EX_INDEX;
    if (!shared && (strlen(s) < LONG_TEXT || p->in_arm))
        return s;
    uint32_t t = ++p->ntemps;
    print_line(p, "const %s t%u = %s;", type_of_value(p, e->dtype), t, without_parentheses(p, s));
    memo_add(p, e, t);
    return text(p, "t%u", t);
}
