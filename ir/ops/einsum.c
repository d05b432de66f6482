// Einsum: any equation. A letter of the output is a parallel loop, any other letter a reduction; an
// ellipsis stands for as many leading dims as its operand has left, broadcast from the right.

#include "ir/ops/einsum.h"

#include "ir/ops/common.h"

#include <ctype.h>
#include <string.h>

// One term up to ',' or '-' or the end; `rank` bounds the ellipsis (-1: the output's, as long as
// the longest).
static bool read_term(const char **p, const char *stop, int32_t rank, uint32_t dots, TermLabels *t)
{
    uint32_t before = 0, letters = 0;
    char names[MAX_RANK];
    memset(t, 0, sizeof *t);
    for (; *p < stop && **p != ',' && **p != '-'; ++*p) {
        if (isspace((unsigned char)**p))
            continue;
        if (**p == '.') {
            if (t->has_dots || stop - *p < 3 || memcmp(*p, "...", 3) != 0)
                return false;
            t->has_dots = true;
            before = letters;
            *p += 2;
        } else if (isalpha((unsigned char)**p) && letters < MAX_RANK) {
            names[letters++] = **p;
        } else {
            return false;
        }
    }
    if (rank >= 0 && (letters > (uint32_t)rank || (!t->has_dots && letters != (uint32_t)rank)))
        return false;
    t->dots = t->has_dots ? rank >= 0 ? (uint32_t)rank - letters : dots : 0;
    if (letters + t->dots > MAX_RANK)
        return false;
    for (uint32_t i = 0; i < letters + t->dots; i++) {
        bool dot = t->has_dots && i >= before && i < before + t->dots;
        t->label[i] =
            dot ? LETTERS + (t->dots - 1 - (i - before))
                : (uint32_t)(unsigned char)names[i < before || !t->has_dots ? i : i - t->dots];
    }
    t->n = letters + t->dots;
    return true;
}

// Without "->": the ellipsis, then the letters that occur once, in order of the alphabet.
static void implicit_output(Equation *q)
{
    uint32_t count[LETTERS] = {0};
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t k = 0; k < q->in[i].n; k++)
            if (q->in[i].label[k] < LETTERS)
                count[q->in[i].label[k]]++;
    for (uint32_t d = q->dots; d-- > 0;)
        q->out.label[q->out.n++] = LETTERS + d;
    for (uint32_t c = 0; c < LETTERS && q->out.n < MAX_RANK; c++)
        if (count[c] == 1)
            q->out.label[q->out.n++] = c;
}

bool einsum_read(const Node *n, const int32_t *ranks, Equation *q)
{
    Str e = node_str(n, "equation", "");
    const char *p = e.at, *stop = e.at + e.len;
    memset(q, 0, sizeof *q);
    if (n->nin > MAX_OPERANDS || n->nin == 0)
        return false;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (i && (p >= stop || *p++ != ','))
            return false;
        if (!read_term(&p, stop, ranks[i], 0, &q->in[i]))
            return false;
        q->dots = q->in[i].dots > q->dots ? q->in[i].dots : q->dots;
        q->n++;
    }
    if (p == stop) {
        implicit_output(q);
        return true;
    }
    if (stop - p < 2 || p[0] != '-' || p[1] != '>')
        return false;
    p += 2;
    return read_term(&p, stop, -1, q->dots, &q->out) && p == stop;
}

// s: where dims that must be one, or broadcast, are noted; NULL once they are.
static bool note_dims(Infer *s, Polys *p, Equation *q, uint32_t i, const Index *dims)
{
    for (uint32_t k = 0; k < q->in[i].n; k++) {
        Index *d = &q->dim[q->in[i].label[k]];
        if (*d && q->in[i].label[k] >= LETTERS)
            *d = s ? infer_broadcast_dim(s, *d, dims[k]) : dims_broadcast(p, *d, dims[k]);
        else if (!*d || poly_equals(*d, 1))
            *d = dims[k];
        else if (s && !poly_equals(dims[k], 1) && !infer_require(s, *d, dims[k]))
            return false;
    }
    return true;
}

static void infer_einsum(Infer *s)
{
    Equation q;
    int32_t ranks[MAX_OPERANDS];
    Index dims[MAX_RANK] = {0};
    for (uint32_t i = 0; i < s->n->nin && i < MAX_OPERANDS; i++)
        if ((ranks[i] = infer_rank(s, i)) < 0)
            return;
    if (!einsum_read(s->n, ranks, &q)) {
        infer_error(s, "the equation does not fit the operands");
        return;
    }
    for (uint32_t i = 0; i < q.n; i++)
        if (!note_dims(s, s->polys, &q, i, infer_in(s, i)->dims)) {
            infer_error(s, "a letter stands for two sizes");
            return;
        }
    for (uint32_t k = 0; k < q.out.n; k++) {
        if (!q.dim[q.out.label[k]]) {
            infer_error(s, "a letter of the output stands in no operand");
            return;
        }
        dims[k] = q.dim[q.out.label[k]];
    }
    infer_shape(s, 0, q.out.n, dims);
}

// A factor: an operand, or the product of two of them.
typedef struct Factor {
    Tensor x;
    uint32_t n, label[MAX_RANK];
} Factor;

// y = the sum of the product of n factors, whose labels are `out`.
static bool lower_product(Lower *l, const Equation *q, uint32_t n, const Factor *in, Tensor y,
                          const uint32_t *out)
{
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, place[LETTERS + DOTS] = {NULL}, vars[64] = {0};
    uint32_t nvars = 0;
    DType t = accumulator(y.dtype);
    kernel(l, "einsum");
    par_all(l, y, o);
    for (uint32_t k = 0; k < y.rank; k++)
        place[out[k]] = o[k];
    const Expr *e = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const Tensor x = in[i].x;
        for (uint32_t k = 0; k < in[i].n; k++) {
            uint32_t label = in[i].label[k];
            if (!place[label] && nvars == 64) {
                not_supported(l, "Einsum over more than 64 letters");
                return false;
            }
            if (!place[label])
                place[label] = vars[nvars++] = red(l, q->dim[label]);
            // The dims of a letter are one, or 1 as is known; those of an ellipsis may turn out to
            // be.
            bool open = label >= LETTERS && q->dim[label] != x.dims[k];
            at[k] = poly_equals(x.dims[k], 1) ? ix(l, 0)
                    : open                    ? ix_min(l, place[label], ix_addc(l, x.dims[k], -1))
                                              : place[label];
        }
        const Expr *factor = cast(l, t, load(l, x, at));
        e = e ? mul(l, e, factor) : factor;
    }
    store(l, y, o, cast(l, y.dtype, reduce_add(l, nvars, vars, NULL, e)));
    kernel_end(l);
    return true;
}

// ---- three factors and more: two at a time where that is less work

enum { TYPICAL = 256 }; // an open dim

static double size_of(const Equation *q, uint32_t label)
{
    int64_t n;
    return poly_is_const(q->dim[label], &n) ? (double)n : TYPICAL;
}

static bool has_label(const Factor *f, uint32_t label)
{
    for (uint32_t k = 0; k < f->n; k++)
        if (f->label[k] == label)
            return true;
    return false;
}

// As many products as a and b have labels for.
static double work_of(const Equation *q, const Factor *a, const Factor *b)
{
    double work = 1;
    for (uint32_t label = 0; label < LETTERS + DOTS; label++)
        if (has_label(a, label) || has_label(b, label))
            work *= size_of(q, label);
    return work;
}

// What is left of a and b: labels of the output and of the other factors. False: too many.
static bool join_factors(const Equation *q, uint32_t n, const Factor *f, uint32_t a, uint32_t b,
                         Factor *to)
{
    *to = (Factor){.n = 0};
    for (uint32_t label = 0; label < LETTERS + DOTS; label++) {
        bool needed = false;
        for (uint32_t k = 0; k < q->out.n; k++)
            needed |= q->out.label[k] == label;
        for (uint32_t i = 0; i < n; i++)
            needed |= i != a && i != b && has_label(&f[i], label);
        if (!needed || (!has_label(&f[a], label) && !has_label(&f[b], label)))
            continue;
        if (to->n == MAX_RANK)
            return false;
        to->label[to->n++] = label;
    }
    return true;
}

// The two of n factors whose product is the least work, with what it writes; 0 where there are
// none.
static uint32_t cheapest(const Equation *q, uint32_t n, const Factor *f, Factor *to, uint32_t *with,
                         double *work)
{
    double least = 0;
    uint32_t found = 0;
    for (uint32_t b = 1; b < n; b++)
        for (uint32_t a = 0; a < b; a++) {
            Factor joined;
            if (!join_factors(q, n, f, a, b, &joined))
                continue;
            double w = work_of(q, &f[a], &f[b]) + work_of(q, &joined, &joined);
            if (!found || w < least) {
                found = b;
                *with = a;
                *to = joined;
                least = w;
            }
        }
    *work += least;
    return found;
}

// A letter's dim is that of all, one of an ellipsis may still be broadcast by others.
static Index joined_dim(Lower *l, const Equation *q, const Factor *a, const Factor *b,
                        uint32_t label)
{
    Index d = NULL;
    for (int i = 0; i < 2; i++) {
        const Factor *f = i ? b : a;
        for (uint32_t k = 0; k < f->n && label >= LETTERS; k++)
            if (f->label[k] == label)
                d = d ? dims_broadcast(l->polys, d, f->x.dims[k]) : f->x.dims[k];
    }
    return d ? d : q->dim[label];
}

// The factors that are left, of which the last may be a product; kernels are made if `l` is not
// NULL. work: of all products.
static uint32_t two_at_a_time(Lower *l, const Equation *q, DType t, uint32_t n, Factor *f,
                              double *work)
{
    while (n > 2) {
        uint32_t a, b;
        Factor joined;
        if ((b = cheapest(q, n, f, &joined, &a, work)) == 0)
            break;
        if (l) {
            Index dims[MAX_RANK];
            for (uint32_t k = 0; k < joined.n; k++)
                dims[k] = joined_dim(l, q, &f[a], &f[b], joined.label[k]);
            joined.x = temp(l, "product", t, joined.n, dims);
            if (!lower_product(l, q, 2, (Factor[]){f[a], f[b]}, joined.x, joined.label))
                return 0;
        }
        f[a] = joined;
        memmove(f + b, f + b + 1, (n - b - 1) * sizeof *f);
        n--;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        *work += work_of(q, &f[i], &f[i + 1]);
    return n;
}

static void lower_einsum(Lower *l)
{
    Tensor y = output(l, 0);
    Equation q;
    int32_t ranks[MAX_OPERANDS];
    Factor f[MAX_OPERANDS], trial[MAX_OPERANDS];
    for (uint32_t i = 0; i < l->n->nin && i < MAX_OPERANDS; i++)
        ranks[i] = (int32_t)input(l, i).rank;
    if (!einsum_read(l->n, ranks, &q)) {
        not_supported(l, "the equation of this Einsum");
        return;
    }
    for (uint32_t i = 0; i < q.n; i++) {
        note_dims(NULL, l->polys, &q, i, input(l, i).dims);
        f[i] = (Factor){.x = input(l, i), .n = q.in[i].n};
        memcpy(f[i].label, q.in[i].label, q.in[i].n * sizeof *f[i].label);
    }
    uint32_t n = q.n;
    double apart = 0, whole = 1;
    for (uint32_t label = 0; label < LETTERS + DOTS; label++)
        whole *= q.dim[label] ? size_of(&q, label) : 1;
    if (n > 2) {
        memcpy(trial, f, sizeof f);
        two_at_a_time(NULL, &q, DT_NONE, n, trial, &apart);
        if (apart * 3 <= whole * (n - 1) * 2)
            n = two_at_a_time(l, &q, accumulator(y.dtype), n, f, &apart);
    }
    if (n)
        lower_product(l, &q, n, f, y, q.out.label);
}

const OpDef ops_einsum[] = {
    {"Einsum", 12, infer_einsum, lower_einsum, {NULL}, NULL},
    {0},
};
