// What findings about dtypes say: where a dtype begins, how it comes here, what mends it.

#include "passes/lint/story.h"

#include "ir/lists.h"
#include "passes/lint/mends.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

enum { MAX_SHOWN = 3, MAX_PATH = 8, MAX_CHAIN = 64, MAX_SOURCES = 256 };

DType lint_dtype(const Model *m, ValueId v)
{
    return v && value_at(m, v)->kind == TYPE_TENSOR ? value_at(m, v)->dtype : DT_NONE;
}

DType lint_held(const Model *m, ValueId v)
{
    return v && kind_is_list(value_at(m, v)->kind) ? value_at(m, v)->dtype : lint_dtype(m, v);
}

// ---- where it began

bool lint_widens(DType from, DType to)
{
    return from != to && dtype_holds(to, from);
}

// "weight W" or "input X": what the schema calls the operand; of a variadic one, the value.
Str lint_operand_words(Lint *l, const Node *n, uint32_t i)
{
    const SchemaParam *p = param_of_operand(n, i);
    const char *kind = value_at(l->m, n->in[i])->init ? "weight" : "input";
    if (p && p->option != PARAM_VARIADIC)
        return str_printf(l->arena, "%s %s", kind, p->name);
    return str_printf(l->arena, "%s \"%.*s\"", kind, STR_ARG(lint_name(l, n->in[i])));
}

static ValueId first_operand(const Model *m, ValueId v)
{
    const Node *n = node_at(m, value_at(m, v)->node);
    return n->nin ? n->in[0] : 0;
}

// "initializer "std" (3 elements)", "Cast node[/Cast]", "input "x"".
Str lint_source_words(Lint *l, ValueId v)
{
    const char *kind = origin_kind(l->m, v);
    const TensorData *t = origin_payload(l->m, v);
    uint64_t n = t ? tensor_count(t) : UINT64_MAX;
    Str name = lint_name(l, value_written(l->m, v));
    const Value *value = value_at(l->m, v);
    if (n != UINT64_MAX)
        return str_printf(l->arena, "%s \"%.*s\" (%llu element%s)", kind, STR_ARG(name),
                          (unsigned long long)n, n == 1 ? "" : "s");
    if (value->def != DEF_NODE || strcmp(kind, "value_info") == 0)
        return str_printf(l->arena, "%s \"%.*s\"", kind, STR_ARG(name));
    return str_printf(l->arena, "%.*s %.*s",
                      STR_ARG(str_escaped(l->arena, node_at(l->m, value->node)->op)),
                      STR_ARG(lint_short(l, value->node)));
}

void lint_note_begin(Lint *l, Diag *d, DType have, ValueId origin)
{
    const Model *m = l->m;
    Buf by = {0};
    if (m->producer_name.len)
        buf_printf(&by, ", written by %.*s", STR_ARG(str_escaped(l->arena, m->producer_name)));
    if (by.len && m->producer_version.len)
        buf_printf(&by, " %.*s", STR_ARG(str_escaped(l->arena, m->producer_version)));
    d->origin_kind = str_of(origin_kind(m, origin));
    d->origin_name = lint_name(l, value_written(m, origin));
    diag_note(l->diags, d, "%s begins at %.*s%s", dtype_name(have),
              STR_ARG(lint_source_words(l, origin)), by.at ? by.at : "");
    buf_free(&by);
}

static Str others_words(Lint *l, const Origin *o)
{
    Buf b = {0};
    for (uint32_t i = 0; i < o->others.len && i < MAX_SHOWN; i++) {
        ValueId v = o->others.at[i];
        bool cast = strcmp(origin_kind(l->m, v), "cast") == 0;
        buf_printf(&b, "%s", i ? ", " : "   -> also ");
        if (cast)
            buf_printf(&b, "converts \"%.*s\" via Cast %.*s",
                       STR_ARG(lint_name(l, first_operand(l->m, v))),
                       STR_ARG(lint_short(l, value_at(l->m, v)->node)));
        else
            buf_printf(&b, "%.*s", STR_ARG(lint_source_words(l, v)));
    }
    if (o->others.len > MAX_SHOWN)
        buf_printf(&b, " and %u more", o->others.len - MAX_SHOWN);
    Str s = {arena_copy(l->arena, b.at ? b.at : "", b.len), b.len};
    buf_free(&b);
    return s;
}

// One operand only: what the node computes has the dtype of that.
static bool keeps_dtype(const Model *m, const Step *s)
{
    const Node *n = node_at(m, s->node);
    for (uint32_t i = 0; i < n->nin; i++)
        if (i != s->operand && n->in[i] &&
            params_are_tied(param_of_operand(n, i), param_of_operand(n, s->operand)))
            return false;
    return true;
}

// The way from the origin: "  std -> node[/Div]:in1", then "  node[/Div] -> node[/Transpose] (keeps
// dtype) -> here". Where the finding is about what a node makes, that node ends the way.
void lint_note_path(Lint *l, Diag *d, const Origin *o, NodeId place)
{
    Str name = lint_name(l, value_written(l->m, o->value));
    vec_push(l->arena, &d->chain, name);
    for (uint32_t i = 0; i < o->path.len; i++) {
        if (o->path.len > MAX_CHAIN && i == MAX_CHAIN / 2) {
            i = o->path.len - MAX_CHAIN / 2;
            vec_push(l->arena, &d->chain,
                     str_printf(l->arena, "(%u more)", o->path.len - MAX_CHAIN));
        }
        vec_push(l->arena, &d->chain, location_node(l->m, l->arena, o->path.at[i].node));
    }
    vec_push(l->arena, &d->chain, d->path);
    Str others = others_words(l, o);
    if (!o->path.len) {
        if (others.len)
            diag_note(l->diags, d, "  %.*s -> here%.*s", STR_ARG(name), STR_ARG(others));
        return;
    }
    const Step *first = &o->path.at[0];
    diag_note(l->diags, d, "  %.*s -> %.*s:in%u%.*s", STR_ARG(name),
              STR_ARG(lint_short(l, first->node)), first->operand, STR_ARG(others));
    Buf line = {0};
    bool here = o->path.at[o->path.len - 1].node != place;
    buf_printf(&line, "%.*s", STR_ARG(lint_short(l, first->node)));
    for (uint32_t i = 1; i < o->path.len; i++) {
        if (o->path.len > MAX_PATH && i == MAX_PATH / 2) {
            buf_printf(&line, " -> %u more", o->path.len - MAX_PATH);
            i += o->path.len - MAX_PATH;
        }
        const Step *s = &o->path.at[i];
        buf_printf(&line, " -> %.*s%s", STR_ARG(lint_short(l, s->node)),
                   keeps_dtype(l->m, s) ? " (keeps dtype)" : "");
    }
    if (here || o->path.len > 1)
        diag_note(l->diags, d, "  %s%s", line.at, here ? " -> here" : "");
    buf_free(&line);
}

void lint_weigh(Lint *l)
{
    for (GraphId g = 1; g < l->m->graphs.len && !l->weighed; g++) {
        NodeId owner = graph_at(l->m, g)->owner;
        bool copy = owner && node_at(l->m, owner)->copy_of;
        for (uint32_t i = 0; !copy && i < graph_at(l->m, g)->initializers.len; i++) {
            const TensorData *t = graph_at(l->m, g)->initializers.at[i].data;
            uint64_t n = tensor_count(t);
            if (t->dtype <= 0 || t->dtype >= DT_COUNT || n == UINT64_MAX ||
                !dtype_is_float((DType)t->dtype))
                continue;
            l->weight_bytes[t->dtype] += n * dtype_info((DType)t->dtype)->bytes;
            l->weight_count[t->dtype]++;
        }
    }
    l->weighed = true;
}

// "float32 side: 61 of 62 weights (99.99% of weight bytes)"
void lint_note_side(Lint *l, Diag *d, DType side)
{
    uint64_t bytes = 0, count = 0;
    lint_weigh(l);
    for (int t = 1; t < DT_COUNT; t++) {
        bytes += l->weight_bytes[t];
        count += l->weight_count[t];
    }
    // Cut off, not rounded: 100.00% says all of them.
    if (l->weight_count[side])
        diag_note(l->diags, d, "%s side: %llu of %llu weights (%.2f%% of weight bytes)",
                  dtype_name(side), (unsigned long long)l->weight_count[side],
                  (unsigned long long)count,
                  floor(10000.0 * ((double)l->weight_bytes[side] / (double)bytes)) / 100.0);
}

Str lint_shape_words(Lint *l, const Value *v)
{
    Buf b = {0};
    for (int32_t i = 0; i < v->rank; i++) {
        buf_char(&b, i ? ',' : '[');
        poly_print(l->m->polys, v->dims[i], &b);
    }
    buf_printf(&b, v->rank ? "]" : "[]");
    Str s = str_copy(l->arena, (Str){b.at, b.len});
    buf_free(&b);
    return str_escaped(l->arena, s);
}

// ---- what mends it

Str lint_behind(Lint *l, ValueId v)
{
    if (value_at(l->m, v)->def == DEF_NODE)
        return str_printf(l->arena, "right after %.*s",
                          STR_ARG(lint_short(l, value_at(l->m, v)->node)));
    return str_printf(l->arena, "right after %s \"%.*s\"", origin_kind(l->m, v),
                      STR_ARG(lint_name(l, v)));
}

// What gives one source the dtype `want`; false: it takes a Cast.
static bool plan_source(Lint *l, Mends *w, ValueId v, DType want)
{
    const Model *m = l->m;
    TensorData *t = origin_payload(m, v);
    Mend mend = {.kind = MEND_STORE, .to = want, .at = value_written(m, v)};
    if (t) {
        mend.what = lint_name(l, v);
        mends_store(l->m, l->arena, t, &mend);
    } else if (strcmp(origin_kind(m, v), "cast") == 0) {
        bool undone = lint_dtype(m, first_operand(m, v)) == want;
        mend.kind = undone ? MEND_DELETE : MEND_TURN;
        mend.to = undone ? DT_NONE : want;
        mend.loses = !undone; // one undone: what it widened was of the dtype before
        mend.what = lint_short(l, value_at(m, v)->node);
    } else {
        return false;
    }
    mends_add(l->arena, w, mend);
    return true;
}

// An operation whose result in the wider dtype, narrowed, has the bits of the operation done in the
// narrow one, by the digits of both: p >= 2q + 2 (Figueroa 1995, "When is double rounding
// innocuous?").
static const char *exact_operation(const Node *n)
{
    static const char *const known[][2] = {{"Add", "adding"},
                                           {"Sub", "subtracting"},
                                           {"Mul", "multiplying"},
                                           {"Div", "dividing"},
                                           {"Sqrt", "taking the root"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(n, known[i][0]))
            return known[i][1];
    return NULL;
}

static bool moves_only(const Node *n)
{
    static const char *const known[] = {"Transpose", "Reshape",   "Slice",   "Identity",
                                        "Squeeze",   "Unsqueeze", "Flatten", "Expand",
                                        "Split",     "Concat",    "Gather",  "Tile"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(n, known[i]))
            return true;
    return false;
}

static Str same_bits(Lint *l, const Origin *o, DType have, DType want)
{
    int p = have == DT_F64 ? 53 : have == DT_F32 ? 24 : 0;
    int q = want == DT_F32 ? 24 : want == DT_F16 ? 11 : want == DT_BF16 ? 8 : 0;
    const char *doing = o->path.len ? exact_operation(node_at(l->m, o->path.at[0].node)) : NULL;
    for (uint32_t i = 1; i < o->path.len; i++)
        if (!moves_only(node_at(l->m, o->path.at[i].node)))
            return STR_NONE;
    if (!doing || !p || !q || p < 2 * q + 2)
        return STR_NONE;
    return str_printf(l->arena,
                      "same bits as %s in %s and narrowing (%d >= 2*%d+2: double rounding is "
                      "harmless)",
                      doing, dtype_name(have), p, q);
}

void lint_blame(Lint *l, Diag *d, ValueId v)
{
    vec_push(l->arena, &d->blamed, value_written(l->m, v));
}

// What mends it, and its price.
void lint_offer(Lint *l, Diag *d, const Origin *o, ValueId culprit, DType want)
{
    DType have = lint_dtype(l->m, culprit);
    Mends w = {0};
    uint32_t computed = !plan_source(l, &w, o->value, want);
    for (uint32_t i = 0; i < o->others.len; i++)
        computed += !plan_source(l, &w, o->others.at[i], want);
    if (!computed) {
        Fix f = mends_fix(l->arena, &w);
        if (f.safe && mends_have(&w, MEND_DELETE))
            f.note = same_bits(l, o, have, want);
        vec_push(l->arena, &d->fixes, f);
        return;
    }
    // Of several sources one Cast serves where they have met.
    w.len = 0;
    mends_add(l->arena, &w,
              (Mend){.kind = MEND_INSERT,
                     .what = lint_behind(l, computed > 1 ? culprit : o->value),
                     .to = want,
                     .loses = !lint_widens(have, want)});
    vec_push(l->arena, &d->fixes, mends_fix(l->arena, &w));
}

// Would a weight of the model's own dtype grow? Nothing makes it: what it meets is cast.
static bool is_weight_to_widen(const Lint *l, const Origin *o, DType want)
{
    const TensorData *t = origin_payload(l->m, o->value);
    DType have = lint_dtype(l->m, o->value);
    bool alone = t && o->others.len == 0;
    return alone && have == l->m->dominant && lint_widens(have, want) && tensor_count(t) != 1;
}

// Sources of further values join those of the first, each once.
static void add_sources(Lint *l, Origin *o, ValueId v)
{
    Origin more = origin_find(lint_origins(l), v);
    origin_trace(lint_origins(l), v, &more);
    vec_push(l->arena, &more.others, more.value);
    for (uint32_t i = 0; i < more.others.len; i++) {
        bool known = more.others.at[i] == o->value;
        for (uint32_t k = 0; k < o->others.len; k++)
            known |= o->others.at[k] == more.others.at[i];
        if (!known)
            vec_push(l->arena, &o->others, more.others.at[i]);
    }
}

void lint_tell(Lint *l, Diag *d, ValueId v, DType want, NodeId place, const ValueId *with,
               uint32_t nwith)
{
    Origin o = origin_find(lint_origins(l), v);
    origin_trace(lint_origins(l), v, &o);
    for (uint32_t i = 0; i < nwith && o.others.len < MAX_SOURCES; i++)
        add_sources(l, &o, with[i]);
    Origin told = o;
    origin_trace_beside(lint_origins(l), v, &told);
    lint_note_begin(l, d, lint_dtype(l->m, v), o.value);
    lint_note_path(l, d, &told, place);
    if (dtype_is_float(want))
        lint_note_side(l, d, want);
    lint_blame(l, d, v);
    lint_blame(l, d, o.value);
    for (uint32_t i = 0; i < o.others.len; i++)
        lint_blame(l, d, o.others.at[i]);
    if (is_weight_to_widen(l, &o, want))
        diag_fix(l->diags, d, false, "cast what it meets to %s and the result back to %s",
                 dtype_name(lint_dtype(l->m, v)), dtype_name(want))
            ->note = STR("weights of the model's own dtype are not widened");
    else if (want != DT_NONE)
        lint_offer(l, d, &o, v, want);
}
