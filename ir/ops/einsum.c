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

static void lower_einsum(Lower *l)
{
    Tensor y = output(l, 0);
    Equation q;
    int32_t ranks[MAX_OPERANDS];
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, place[LETTERS + DOTS] = {NULL}, vars[64] = {0};
    uint32_t nvars = 0;
    DType t = accumulator(y.dtype);
    for (uint32_t i = 0; i < l->n->nin && i < MAX_OPERANDS; i++)
        ranks[i] = (int32_t)input(l, i).rank;
    if (!einsum_read(l->n, ranks, &q)) {
        not_supported(l, "the equation of this Einsum");
        return;
    }
    for (uint32_t i = 0; i < q.n; i++)
        note_dims(NULL, l->polys, &q, i, input(l, i).dims);
    kernel(l, "einsum");
    par_all(l, y, o);
    for (uint32_t k = 0; k < q.out.n; k++)
        place[q.out.label[k]] = o[k];
    const Expr *e = NULL;
    for (uint32_t i = 0; i < q.n; i++) {
        Tensor x = input(l, i);
        for (uint32_t k = 0; k < q.in[i].n; k++) {
            uint32_t label = q.in[i].label[k];
            if (!place[label] && nvars == 64) {
                not_supported(l, "Einsum over more than 64 letters");
                return;
            }
            if (!place[label])
                place[label] = vars[nvars++] = red(l, q.dim[label]);
            // The dims of a letter are one, or 1 as is known; those of an ellipsis may turn out to
            // be.
            bool open = label >= LETTERS && q.dim[label] != x.dims[k];
            at[k] = poly_equals(x.dims[k], 1) ? ix(l, 0)
                    : open                    ? ix_min(l, place[label], ix_addc(l, x.dims[k], -1))
                                              : place[label];
        }
        const Expr *factor = cast(l, t, load(l, x, at));
        e = e ? mul(l, e, factor) : factor;
    }
    store(l, y, o, cast(l, y.dtype, reduce_add(l, nvars, vars, NULL, e)));
    kernel_end(l);
}

const OpDef ops_einsum[] = {
    {"Einsum", 12, infer_einsum, lower_einsum, {NULL}, NULL},
    {0},
};
