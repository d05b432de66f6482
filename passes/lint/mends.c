#include "passes/lint/mends.h"

#include "passes/retype.h"

enum { MAX_SHOWN = 3 };

void mends_add(Arena *a, Mends *w, Mend mend)
{
    for (uint32_t i = 0; i < w->len && mend.kind != MEND_INSERT; i++)
        if (w->at[i].kind == mend.kind && str_eq(w->at[i].what, mend.what))
            return;
    vec_push(a, w, mend);
}

static Str number_of(Arena *a, DType t, Scalar s)
{
    static const int digits[] = {[1] = 3, [2] = 5, [4] = 9, [8] = 17};
    if (dtype_is_float(t))
        return str_printf(a, "%.*g", digits[dtype_info(t)->bytes], s.f);
    return dtype_is_signed(t) ? str_printf(a, "%lld", (long long)s.i)
                              : str_printf(a, "%llu", (unsigned long long)s.i);
}

static bool is_number(DType t)
{
    return dtype_is_float(t) || dtype_is_integer(t);
}

void mends_store(Model *m, Arena *a, TensorData *t, Mend *mend)
{
    Str error;
    DType from = t->dtype > 0 && t->dtype < DT_COUNT ? (DType)t->dtype : DT_NONE, to = mend->to;
    mend->values = tensor_count(t);
    const Losses lost = constant_losses(m, t, to);
    mend->inexact = lost.inexact;
    mend->infinite = lost.infinite;
    mend->loses = mend->inexact > 0;
    if (mend->values != 1 || !mend->inexact)
        return;
    bool numbers = is_number(from) && is_number(to);
    const unsigned char *at = numbers ? tensor_elements(m, t, &error) : NULL;
    mend->change = STR("its value changes");
    if (at)
        mend->change = str_printf(
            a, "%.*s becomes %.*s", STR_ARG(number_of(a, from, scalar_load(from, at))),
            STR_ARG(number_of(a, to, scalar_cast(from, to, scalar_load(from, at), false))));
}

bool mends_have(const Mends *w, MendKind kind)
{
    bool any = false;
    for (uint32_t i = 0; i < w->len; i++)
        any |= w->at[i].kind == kind;
    return any;
}

// What is said around the list of one kind, with the dtype where there is one.
static const struct {
    const char *before, *after;
    bool quoted;
} words[] = {
    [MEND_STORE] = {"store", " as ", true},
    [MEND_DELETE] = {"delete", NULL, false},
    [MEND_TURN] = {"let", " give ", false},
    [MEND_READ] = {"read what", NULL, false},
    [MEND_GIVE] = {"give", " a zero point of ", false},
    [MEND_DECLARE] = {"declare", " as ", true},
};

static bool is_of(const Mend *a, const Mend *b)
{
    return a->kind == b->kind && a->to == b->to;
}

// All of the kind and dtype of w->at[first].
static void put_list(Buf *b, const Mends *w, uint32_t first)
{
    const Mend *of = &w->at[first];
    const char *quote = words[of->kind].quoted ? "\"" : "";
    uint32_t shown = 0, all = 0;
    for (uint32_t i = first; i < w->len; i++)
        all += is_of(&w->at[i], of);
    buf_printf(b, "%s", words[of->kind].before);
    for (uint32_t i = first; i < w->len && shown < MAX_SHOWN; i++)
        if (is_of(&w->at[i], of)) {
            const char *between = shown == 0 ? " " : shown + 1 == all ? " and " : ", ";
            buf_printf(b, "%s%s%.*s%s", between, quote, STR_ARG(w->at[i].what), quote);
            shown++;
        }
    if (all > shown)
        buf_printf(b, " and %u more", all - shown);
    if (of->kind == MEND_READ)
        buf_printf(b, all == 1 ? " gives already" : " give already");
    else if (words[of->kind].after)
        buf_printf(b, "%s%s", words[of->kind].after, dtype_name(of->to));
}

static void put_exactness(Buf *b, const Mends *w)
{
    uint64_t values = 0, inexact = 0, infinite = 0;
    Str change = STR_NONE;
    for (uint32_t i = 0; i < w->len; i++) {
        if (w->at[i].kind == MEND_STORE && w->at[i].inexact)
            change = w->at[i].change;
        infinite += w->at[i].kind == MEND_STORE ? w->at[i].infinite : 0;
        values += w->at[i].kind == MEND_STORE ? w->at[i].values : 0;
        inexact += w->at[i].kind == MEND_STORE ? w->at[i].inexact : 0;
    }
    if (inexact && values == 1)
        buf_printf(b, " (%.*s)", STR_ARG(change));
    else if (inexact)
        buf_printf(b, " (%llu of %llu values change%s%s)", (unsigned long long)inexact,
                   (unsigned long long)values, inexact == 1 ? "s" : "",
                   infinite == 0         ? ""
                   : infinite == inexact ? ", to infinity"
                                         : ", some to infinity");
    else
        buf_printf(b, values == 1 ? " (its value is exact)" : " (all %llu values exact)",
                   (unsigned long long)values);
}

// "insert 1 Cast to float32 right after input "x" and 1 to float64 in front of output "y"".
static uint32_t put_inserted(Buf *b, const Mends *w)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < w->len; i++) {
        const Mend *at = &w->at[i];
        if (at->kind == MEND_INSERT && all++ < MAX_SHOWN)
            buf_printf(b, "%s to %s %.*s", all > 1 ? " and 1" : "insert 1 Cast", dtype_name(at->to),
                       STR_ARG(at->what));
    }
    if (all > MAX_SHOWN)
        buf_printf(b, " and %u more", all - MAX_SHOWN);
    return all;
}

// Is it the first of its kind and dtype? Of those to insert, of its kind.
static bool is_first(const Mends *w, uint32_t i)
{
    bool first = true;
    for (uint32_t k = 0; k < i; k++)
        first &= !(w->at[i].kind == MEND_INSERT ? w->at[k].kind == MEND_INSERT
                                                : is_of(&w->at[k], &w->at[i]));
    return first;
}

Fix mends_fix(Arena *a, const Mends *w)
{
    Buf b = {0};
    uint32_t parts = 0, put = 0, casts = 0, stores = 0;
    bool safe = true;
    for (uint32_t i = 0; i < w->len; i++) {
        safe &= !w->at[i].loses;
        parts += is_first(w, i);
        stores += is_first(w, i) && w->at[i].kind == MEND_STORE;
    }
    for (int kind = 0; kind <= MEND_DECLARE; kind++)
        for (uint32_t i = 0; i < w->len; i++) {
            if (w->at[i].kind != (MendKind)kind || !is_first(w, i))
                continue;
            buf_printf(&b, "%s", put == 0 ? "" : put + 1 == parts ? " and " : ", ");
            if (kind == MEND_INSERT)
                casts = put_inserted(&b, w);
            else
                put_list(&b, w, i);
            put++;
            if (kind == MEND_STORE && put == stores)
                put_exactness(&b, w);
        }
    buf_printf(&b, ": %u cast%s added", casts, casts == 1 ? "" : "s");
    Fix f = {.safe = safe, .text = str_copy(a, (Str){b.at, b.len}), .casts = casts};
    buf_free(&b);
    return f;
}
