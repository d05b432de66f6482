// LSTM, GRU and RNN as loops over time: the input's product is one contraction before the loop.
//
// Gates lie one behind the other in W [directions, gates * H, I] and R [directions, gates * H, H].
// Spec: LSTM-14 (gates i, o, f, c), GRU-14 (z, r, h), RNN-14. DynamicQuantizeLSTM of com.microsoft
// is an LSTM with transposed, quantised weights, whose other factors are quantised by their own
// range.

#include "ir/lower_state.h"
#include "ir/ops/common.h"
#include "ir/ops/shadow.h"

enum { MAX_STEPS = 512 }; // that are written out

typedef enum Cell { CELL_RNN, CELL_GRU, CELL_LSTM } Cell;

typedef struct Quantized { // a factor that is quantised by its own range
    Tensor t, scale, point;
} Quantized;

typedef struct Recurrent {
    Cell cell;
    bool quantized;   // the weights are, and stand transposed
    Quantized xq, hq; // then: the input, and the state before the step
    uint32_t gates, ndir;
    bool batch_first;
    Index steps, batch, hidden, inputs; // dims
    Tensor x, w, r, b, lens, y, peephole;
    Tensor h, product; // a state and what it gives all gates, where steps are written out
    DType t;
} Recurrent;

static const uint32_t gate_counts[] = {1, 3, 4};

static bool is_quantized(const Node *n)
{
    return str_is(n->op, "DynamicQuantizeLSTM");
}

// Weights, biases, lengths, first states and peepholes, by their places among the inputs.
static void fit_operands(Infer *s, Index width, Index hidden, Index dirs, Index batch)
{
    Polys *p = s->polys;
    bool lstm = str_is(s->n->op, "LSTM"), batch_first = node_int(s->n, "layout", 0) != 0;
    int64_t gates = lstm ? 4 : str_is(s->n->op, "GRU") ? 3 : 1;
    bool quantized = is_quantized(s->n);
    lstm |= quantized;
    gates = quantized ? 4 : gates;
    Index rows = poly_scale(p, hidden, gates), both = poly_scale(p, rows, 2);
    Index state[3] = {batch_first ? batch : dirs, batch_first ? dirs : batch, hidden};
    infer_fits(s, 1, 3, quantized ? (Index[]){dirs, width, rows} : (Index[]){dirs, rows, width});
    infer_fits(s, 2, 3, quantized ? (Index[]){dirs, hidden, rows} : (Index[]){dirs, rows, hidden});
    for (uint32_t i = 8; quantized && i < 12;
         i++) { // one for each direction, or gate and unit of it
        infer_fits(s, i, 1, &dirs);
        if (infer_rank(s, i) == 2)
            infer_fits(s, i, 2, (Index[]){dirs, poly_equals(infer_dim(s, i, 1), 1) ? NULL : rows});
    }
    infer_fits(s, 3, 2, (Index[]){dirs, both});
    infer_fits(s, 4, 1, &batch);
    infer_fits(s, 5, 3, state);
    if (lstm)
        infer_fits(s, 6, 3, state);
    if (lstm)
        infer_fits(s, 7, 2, (Index[]){dirs, poly_scale(p, hidden, 3)});
}

static void infer_recurrent(Infer *s)
{
    const Value *x = infer_in(s, 0), *r = infer_in(s, 2);
    Index dims[4] = {0};
    int64_t h;
    if (!x || x->rank != 3)
        return;
    Index hidden = node_has_attr(s->n, "hidden_size")
                       ? poly_const(s->polys, node_int(s->n, "hidden_size", 0))
                   : r && r->rank == 3 ? r->dims[is_quantized(s->n) ? 1 : 2]
                                       : NULL;
    if (!hidden)
        return;
    if (poly_is_const(hidden, &h) && h < 1) {
        infer_error(s, "hidden_size is %lld", (long long)h);
        return;
    }
    bool batch_first = node_int(s->n, "layout", 0) != 0;
    Index dirs = poly_const(
        s->polys, str_is(node_str(s->n, "direction", "forward"), "bidirectional") ? 2 : 1);
    Index steps = x->dims[batch_first ? 1 : 0], batch = x->dims[batch_first ? 0 : 1];
    fit_operands(s, x->dims[2], hidden, dirs, batch);
    dims[0] = batch_first ? batch : steps;
    dims[1] = batch_first ? steps : dirs;
    dims[2] = batch_first ? dirs : batch;
    dims[3] = hidden;
    infer_shape(s, 0, 4, dims);
    Index state[3] = {batch_first ? batch : dirs, batch_first ? dirs : batch, hidden};
    infer_shape(s, 1, 3, state);
    infer_shape(s, 2, 3, state);
}

// ---- activations

static double listed_float(Lower *l, const char *name, uint32_t i, double otherwise)
{
    const float *at;
    uint32_t n;
    return node_floats(l->n, name, &at, &n) && i < n ? (double)at[i] : otherwise;
}

static bool is_known_activation(Str f)
{
    static const char *const names[] = {
        "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
        "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(f, names[i]))
            return true;
    return false;
}

static Str activation_name(Lower *l, Cell cell, uint32_t d, uint32_t i)
{
    static const char *const defaults[][3] = {
        {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    const Attr *a = attr_find(l->n, "activations");
    uint32_t each = cell == CELL_RNN ? 1 : cell == CELL_GRU ? 2 : 3;
    return a && d * each + i < a->nstrings ? a->strings[d * each + i] : str_of(defaults[cell][i]);
}

// Does the function take a value of activation_alpha, or of activation_beta?
static bool takes(Str f, bool beta)
{
    bool both = str_is(f, "Affine") || str_is(f, "ScaledTanh") || str_is(f, "HardSigmoid");
    return both ||
           (!beta && (str_is(f, "LeakyRelu") || str_is(f, "ThresholdedRelu") || str_is(f, "Elu")));
}

// The function's value of a list that is consumed in the order of the functions that take one.
static double consumed(Lower *l, Cell cell, uint32_t d, uint32_t i, bool beta, double otherwise)
{
    uint32_t each = cell == CELL_RNN ? 1 : cell == CELL_GRU ? 2 : 3, before = 0;
    for (uint32_t k = 0; k < d * each + i; k++)
        before += takes(activation_name(l, cell, k / each, k % each), beta);
    return listed_float(l, beta ? "activation_beta" : "activation_alpha", before, otherwise);
}

static const Expr *activate(Lower *l, const Recurrent *q, uint32_t d, uint32_t i, const Expr *x)
{
    Str f = activation_name(l, q->cell, d, i);
    DType t = x->dtype;
    const Expr *z = zero(l, t), *u = one(l, t);
    double clip = node_float(l->n, "clip", 0);
    if (clip > 0)
        x = min_(l, max_(l, x, num(l, t, -clip)), num(l, t, clip));
    if (str_is(f, "Relu"))
        return max_(l, x, z);
    if (str_is(f, "Tanh"))
        return tanh_(l, x);
    if (str_is(f, "Sigmoid"))
        return sigmoid(l, x);
    if (str_is(f, "Softsign"))
        return div_(l, x, add(l, u, abs_(l, x)));
    if (str_is(f, "Softplus"))
        return log_(l, add(l, u, exp_(l, x)));
    bool hard = str_is(f, "HardSigmoid"), leaky = str_is(f, "LeakyRelu");
    double beta_default = hard ? 0.5 : str_is(f, "ScaledTanh") ? 1 : 0;
    const Expr *alpha = num(l, t, consumed(l, q->cell, d, i, false, hard ? 0.2 : leaky ? 0.01 : 1));
    const Expr *beta = num(l, t, consumed(l, q->cell, d, i, true, beta_default));
    if (hard)
        return max_(l, z, min_(l, u, add(l, mul(l, alpha, x), beta)));
    if (leaky)
        return select_(l, lt(l, x, z), mul(l, alpha, x), x);
    if (str_is(f, "ThresholdedRelu"))
        return select_(l, lt(l, x, alpha), z, x);
    if (str_is(f, "ScaledTanh"))
        return mul(l, alpha, tanh_(l, mul(l, beta, x)));
    if (str_is(f, "Elu"))
        return select_(l, lt(l, x, z), mul(l, alpha, unary(l, U_EXPM1, x)), x);
    return add(l, mul(l, alpha, x), beta); // Affine
}

// ---- the loop

static Tensor state_buffer(Lower *l, const Recurrent *q, const char *name, uint32_t i, uint32_t d)
{
    Index dims[2] = {q->batch, q->hidden}, o[MAX_RANK] = {0};
    Tensor t = temp(l, name, q->t, 2, dims);
    kernel(l, name);
    par_all(l, t, o);
    const Expr *first = zero(l, q->t);
    if (has_input(l, i)) {
        Index at[3] = {q->batch_first ? o[0] : ix(l, d), q->batch_first ? ix(l, d) : o[0], o[1]};
        first = load(l, input(l, i), at);
    }
    store(l, t, o, first);
    kernel_end(l);
    return t;
}

static Quantized quantized_like(Lower *l, uint32_t rank, const Index *dims)
{
    return (Quantized){temp(l, "quantized", DT_U8, rank, dims), temp(l, "scale", DT_F32, 0, NULL),
                       temp(l, "zero_point", DT_U8, 0, NULL)};
}

static void quantize_by_range(Lower *l, const Quantized *to, Tensor x)
{
    lower_part(
        l, &(Part){.op = "DynamicQuantizeLinear", .in = {x}, .out = {to->t, to->scale, to->point}});
}

// Scale (input i) or zero point (i + 1) of the weights of direction d: for all, or by column.
static const Expr *weight_parameter(Lower *l, uint32_t i, uint32_t d, Index column)
{
    Tensor p = input(l, i);
    Index at[2] = {ix(l, d), p.rank == 2 && poly_equals(p.dims[1], 1) ? ix(l, 0) : column};
    return load(l, p, at);
}

// The sum over k of a[aat] * w[d, k, column], both quantised; parameters of w from input i on.
static const Expr *quantized_sum(Lower *l, const Quantized *a, const Index *aat, Tensor w,
                                 uint32_t i, uint32_t d, Index k, Index column)
{
    Index wat[3] = {ix(l, d), k, column};
    const Expr *x =
        sub(l, cast(l, DT_I32, load(l, a->t, aat)), cast(l, DT_I32, load(l, a->point, NULL)));
    const Expr *y = sub(l, cast(l, DT_I32, load(l, w, wat)),
                        cast(l, DT_I32, weight_parameter(l, i + 1, d, column)));
    const Expr *sum = reduce_add(l, 1, &k, NULL, mul(l, x, y));
    return mul(l, cast(l, DT_F32, sum),
               mul(l, load(l, a->scale, NULL), weight_parameter(l, i, d, column)));
}

// x * W' + Wb + Rb for all steps at once; the GRU keeps Rb of its last gate for later.
static Tensor input_product(Lower *l, const Recurrent *q, uint32_t d)
{
    Index wide = ix_scale(l, q->hidden, q->gates), dims[3] = {q->steps, q->batch, wide},
          o[MAX_RANK] = {0};
    Tensor t = temp(l, "input_product", q->t, 3, dims);
    kernel(l, "input_product");
    par_all(l, t, o);
    Index k = red(l, q->inputs),
          xat[3] = {q->batch_first ? o[1] : o[0], q->batch_first ? o[0] : o[1], k},
          wat[3] = {ix(l, d), o[2], k};
    const Expr *e =
        q->quantized ? quantized_sum(l, &q->xq, xat, q->w, 8, d, k, o[2])
                     : reduce_add(l, 1, &k, NULL, mul(l, load(l, q->x, xat), load(l, q->w, wat)));
    if (q->b.buffer) {
        Index wb[2] = {ix(l, d), o[2]}, rb[2] = {ix(l, d), ix_add(l, wide, o[2])};
        e = add(l, e, load(l, q->b, wb));
        const Expr *r = load(l, q->b, rb);
        if (q->cell == CELL_GRU)
            r = select_(l, index_lt(l, o[2], ix_scale(l, q->hidden, 2)), r, zero(l, q->t));
        e = add(l, e, r);
    }
    store(l, t, o, e);
    kernel_end(l);
    return t;
}

// h * R' for gate g at (batch, unit).
static const Expr *recurrence(Lower *l, const Recurrent *q, Tensor h, uint32_t d, uint32_t g,
                              Index n, Index j)
{
    Index k = red(l, q->hidden), hat[2] = {n, k},
          rat[3] = {ix(l, d), ix_add(l, ix_scale(l, q->hidden, g), j), k};
    if (q->quantized)
        return quantized_sum(l, &q->hq, hat, q->r, 10, d, k, rat[1]);
    if (q->product.buffer && h.buffer == q->h.buffer)
        return load(l, q->product, (const Index[]){n, rat[1]});
    return reduce_add(l, 1, &k, NULL, mul(l, load(l, h, hat), load(l, q->r, rat)));
}

// Is R a constant, as it is or widened?
static bool is_constant(Lower *l, const Recurrent *q)
{
    if (buffer_at(l->module, q->r.buffer)->kind == BUF_WEIGHT)
        return true;
    const Value *r = value_at(l->model, l->n->in[2]);
    const Node *n = r->def == DEF_NODE ? node_at(l->model, r->node) : NULL;
    return n && node_is_widen(n) && value_at(l->model, n->in[0])->constant;
}

// The sums of all gates of a step as one product, where R is a constant: packed once, it is read
// once, from its first byte to its last. buffer 0: each gate has its own sum.
static Tensor recurrent_product(Lower *l, const Recurrent *q, Tensor xw, Tensor h, uint32_t d,
                                Index t)
{
    if (q->cell != CELL_LSTM || !is_constant(l, q))
        return (Tensor){0};
    Index dims[2] = {q->batch, ix_scale(l, q->hidden, q->gates)}, o[MAX_RANK] = {0};
    Tensor sums = temp(l, "recurrent_product", q->t, 2, dims);
    kernel(l, "recurrent_product");
    par_all(l, sums, o);
    Index at[3] = {t, o[0], o[1]};
    store(l, sums, o, add(l, load(l, xw, at), recurrence(l, q, h, d, 0, o[0], o[1])));
    kernel_end(l);
    return sums;
}

static const Expr *peep(Lower *l, const Recurrent *q, uint32_t d, uint32_t g, Index j,
                        const Expr *c)
{
    Index at[2] = {ix(l, d), ix_add(l, ix_scale(l, q->hidden, g), j)};
    return q->peephole.buffer ? mul(l, load(l, q->peephole, at), c) : NULL;
}

static const Expr *plus(Lower *l, const Expr *a, const Expr *b)
{
    return b ? add(l, a, b) : a;
}

typedef struct Next {
    const Expr *h, *c;
} Next;

static Next lstm_cell(Lower *l, const Recurrent *q, const Expr *const *gate, Tensor c, uint32_t d,
                      const Index *o)
{
    const Expr *before = load(l, c, o),
               *i = activate(l, q, d, 0, plus(l, gate[0], peep(l, q, d, 0, o[1], before))), *f;
    if (node_int(l->n, "input_forget", 0))
        f = sub(l, one(l, q->t), i);
    else
        f = activate(l, q, d, 0, plus(l, gate[2], peep(l, q, d, 2, o[1], before)));
    const Expr *g = activate(l, q, d, 1, gate[3]), *now = add(l, mul(l, f, before), mul(l, i, g));
    const Expr *out = activate(l, q, d, 0, plus(l, gate[1], peep(l, q, d, 1, o[1], now)));
    return (Next){mul(l, out, activate(l, q, d, 2, now)), now};
}

// h' = (1 - z) * g + z * h; the candidate needs r * h of all units, so that comes from a kernel
// before.
static Next gru_cell(Lower *l, const Recurrent *q, Tensor xw, Tensor h, Tensor rh, uint32_t d,
                     Index t, const Index *o)
{
    Index zat[3] = {t, o[0], o[1]}, hat[3] = {t, o[0], ix_add(l, ix_scale(l, q->hidden, 2), o[1])};
    const Expr *z =
        activate(l, q, d, 0, add(l, load(l, xw, zat), recurrence(l, q, h, d, 0, o[0], o[1])));
    const Expr *g = activate(l, q, d, 1, add(l, load(l, xw, hat), load(l, rh, o)));
    return (Next){add(l, mul(l, sub(l, one(l, q->t), z), g), mul(l, z, load(l, h, o))), NULL};
}

// What the candidate of a GRU adds: (r*h)*R' + Rb, or r*(h*R' + Rb) with linear_before_reset.
static Tensor gru_reset(Lower *l, const Recurrent *q, Tensor xw, Tensor h, uint32_t d, Index t)
{
    Index dims[2] = {q->batch, q->hidden}, o[MAX_RANK] = {0};
    bool linear = node_int(l->n, "linear_before_reset", 0) != 0;
    Tensor reset = temp(l, "reset", q->t, 2, dims), sum = temp(l, "candidate", q->t, 2, dims);
    kernel(l, "gru_reset");
    par_all(l, reset, o);
    Index at[3] = {t, o[0], ix_add(l, q->hidden, o[1])};
    const Expr *r =
        activate(l, q, d, 0, add(l, load(l, xw, at), recurrence(l, q, h, d, 1, o[0], o[1])));
    store(l, reset, o, linear ? r : mul(l, r, load(l, h, o)));
    kernel_end(l);
    kernel(l, "gru_candidate");
    par_all(l, sum, o);
    const Expr *e = recurrence(l, q, linear ? h : reset, d, 2, o[0], o[1]);
    if (q->b.buffer) {
        Index rb[2] = {ix(l, d), ix_add(l, ix_scale(l, q->hidden, 5), o[1])};
        e = add(l, e, load(l, q->b, rb));
    }
    store(l, sum, o, linear ? mul(l, load(l, reset, o), e) : e);
    kernel_end(l);
    return sum;
}

// One step: states after it into next_h, next_c; rows that are over keep theirs.
static void step_kernels(Lower *l, const Recurrent *q, uint32_t d, Index t, Tensor xw, Tensor h,
                         Tensor c, Tensor next_h, Tensor next_c)
{
    Index o[MAX_RANK] = {0};
    Tensor rh = {0}, sums = recurrent_product(l, q, xw, h, d, t);
    if (q->cell == CELL_GRU)
        rh = gru_reset(l, q, xw, h, d, t);
    kernel(l, q->cell == CELL_LSTM ? "lstm_step" : q->cell == CELL_GRU ? "gru_step" : "rnn_step");
    par_all(l, next_h, o);
    Next next;
    if (q->cell == CELL_GRU) {
        next = gru_cell(l, q, xw, h, rh, d, t, o);
    } else {
        const Expr *gate[4];
        for (uint32_t g = 0; g < q->gates; g++) {
            Index j = ix_add(l, ix_scale(l, q->hidden, g), o[1]);
            Index at[3] = {t, o[0], j}, sum[2] = {o[0], j};
            gate[g] = sums.buffer ? load(l, sums, sum)
                                  : add(l, load(l, xw, at), recurrence(l, q, h, d, g, o[0], o[1]));
        }
        next = q->cell == CELL_LSTM ? lstm_cell(l, q, gate, c, d, o)
                                    : (Next){activate(l, q, d, 0, gate[0]), NULL};
    }
    const Expr *live = NULL;
    if (q->lens.buffer) {
        Index at[1] = {o[0]};
        live = lt(l, expr_index(l->module, t), cast(l, DT_I64, load(l, q->lens, at)));
    }
    store(l, next_h, o, live ? select_(l, live, next.h, load(l, h, o)) : next.h);
    if (next.c)
        store(l, next_c, o, live ? select_(l, live, next.c, load(l, c, o)) : next.c);
    kernel_end(l);
    if (!q->y.buffer)
        return;
    kernel(l, "output_step");
    par_all(l, next_h, o);
    Index at[4] = {q->batch_first ? o[0] : t, q->batch_first ? t : ix(l, d),
                   q->batch_first ? ix(l, d) : o[0], o[1]};
    const Expr *e = load(l, next_h, o);
    if (q->lens.buffer) {
        Index n[1] = {o[0]};
        e = select_(l, lt(l, expr_index(l->module, t), cast(l, DT_I64, load(l, q->lens, n))), e,
                    zero(l, q->t));
    }
    store(l, q->y, at, e);
    kernel_end(l);
}

static void final_state(Lower *l, const Recurrent *q, Tensor out, Tensor state, uint32_t d)
{
    Index o[MAX_RANK] = {0};
    if (!out.buffer)
        return;
    kernel(l, "final_state");
    par_all(l, state, o);
    Index at[3] = {q->batch_first ? o[0] : ix(l, d), q->batch_first ? ix(l, d) : o[0], o[1]};
    store(l, out, at, load(l, state, o));
    kernel_end(l);
}

// Steps one by one, each with states of its own and its products in a kernel of theirs: what
// ir/adjoint.c can derive.
static void lower_steps(Lower *l, Recurrent *q, uint32_t d, bool reverse, int64_t steps, Tensor xw,
                        Tensor *h, Tensor *c)
{
    Index dims[2] = {q->batch, q->hidden}, wide[2] = {q->batch, ix_scale(l, q->hidden, q->gates)};
    for (int64_t i = 0; i < steps; i++) {
        Index o[MAX_RANK] = {0}, k = red(l, q->hidden);
        Tensor next_h = temp(l, "next_h", q->t, 2, dims), next_c = *c;
        if (c->buffer)
            next_c = temp(l, "next_c", q->t, 2, dims);
        q->h = *h;
        q->product = temp(l, "product", q->t, 2, wide);
        kernel(l, "state_product");
        par_all(l, q->product, o);
        Index hat[2] = {o[0], k}, rat[3] = {ix(l, d), o[1], k};
        store(l, q->product, o,
              reduce_add(l, 1, &k, NULL, mul(l, load(l, *h, hat), load(l, q->r, rat))));
        kernel_end(l);
        step_kernels(l, q, d, ix(l, reverse ? steps - 1 - i : i), xw, *h, *c, next_h, next_c);
        *h = next_h;
        *c = next_c;
    }
    q->product = (Tensor){0};
}

static void lower_direction(Lower *l, Recurrent *q, uint32_t d, bool reverse)
{
    Index dims[2] = {q->batch, q->hidden};
    int64_t steps;
    bool lstm = q->cell == CELL_LSTM;
    Tensor h = state_buffer(l, q, "h", 5, d),
           c = lstm ? state_buffer(l, q, "c", 6, d) : (Tensor){0};
    Tensor xw = input_product(l, q, d);
    if (l->state->written_out && !q->quantized && poly_is_const(q->steps, &steps) &&
        steps <= MAX_STEPS) {
        lower_steps(l, q, d, reverse, steps, xw, &h, &c);
        final_state(l, q, output(l, 1), h, d);
        if (lstm)
            final_state(l, q, output(l, 2), c, d);
        return;
    }
    Tensor next_h = temp(l, "next_h", q->t, 2, dims),
           next_c = lstm ? temp(l, "next_c", q->t, 2, dims) : (Tensor){0};
    Index i = step_loop(l, q->steps), t = reverse ? ix_addc(l, ix_sub(l, q->steps, i), -1) : i;
    if (q->quantized)
        quantize_by_range(l, &q->hq, h);
    step_kernels(l, q, d, t, xw, h, c, next_h, next_c);
    copy_tensor(l, h, next_h);
    if (lstm)
        copy_tensor(l, c, next_c);
    step_end(l);
    final_state(l, q, output(l, 1), h, d);
    if (lstm)
        final_state(l, q, output(l, 2), c, d);
}

static void lower_recurrent(Lower *l)
{
    Recurrent q = {.cell = (Cell)l->n->def->fn.mode,
                   .x = input(l, 0),
                   .w = input(l, 1),
                   .r = input(l, 2),
                   .b = input(l, 3)};
    Str direction = node_str(l->n, "direction", "forward");
    if (!str_is(direction, "forward") && !str_is(direction, "reverse") &&
        !str_is(direction, "bidirectional")) {
        not_supported(l, "direction \"%.*s\"", STR_ARG(str_escaped(l->arena, direction)));
        return;
    }
    bool both_ways = str_is(direction, "bidirectional");
    q.gates = gate_counts[q.cell];
    q.ndir = both_ways ? 2 : 1;
    q.batch_first = node_int(l->n, "layout", 0) != 0;
    q.steps = q.x.dims[q.batch_first ? 1 : 0];
    q.batch = q.x.dims[q.batch_first ? 0 : 1];
    q.inputs = q.x.dims[2];
    q.quantized = is_quantized(l->n);
    q.hidden = q.r.dims[q.quantized ? 1 : 2];
    q.lens = input(l, 4);
    q.y = output(l, 0);
    q.t = q.x.dtype;
    if (q.cell == CELL_LSTM)
        q.peephole = input(l, 7);
    for (uint32_t d = 0; d < q.ndir; d++)
        for (uint32_t i = 0; i < (q.cell == CELL_RNN ? 1u : q.cell == CELL_GRU ? 2u : 3u); i++)
            if (!is_known_activation(activation_name(l, q.cell, d, i))) {
                not_supported(l, "activation \"%.*s\"",
                              STR_ARG(str_escaped(l->arena, activation_name(l, q.cell, d, i))));
                return;
            }
    if (q.quantized) {
        q.xq = quantized_like(l, 3, q.x.dims);
        q.hq = quantized_like(l, 2, (const Index[]){q.batch, q.hidden});
        quantize_by_range(l, &q.xq, q.x);
    }
    for (uint32_t d = 0; d < q.ndir; d++)
        lower_direction(l, &q, d, d == 1 || str_is(direction, "reverse"));
}

const OpDef ops_recurrent[] = {
    {"RNN", 7, infer_recurrent, lower_recurrent, {.mode = CELL_RNN}, NULL},
    {"GRU", 7, infer_recurrent, lower_recurrent, {.mode = CELL_GRU}, NULL},
    {"LSTM", 7, infer_recurrent, lower_recurrent, {.mode = CELL_LSTM}, NULL},
    {"DynamicQuantizeLSTM",
     1,
     infer_recurrent,
     lower_recurrent,
     {.mode = CELL_LSTM},
     "com.microsoft"},
    {0},
};
