#include "tools/lint_mends.h"

#include "passes/lint/lint.h"
#include "passes/lint/origin.h"
#include "passes/retype.h"

#include <string.h>

typedef struct Done {
    Str what; // a name, or where a node stands
    DType to;
} Done;

typedef VEC(Done) DoneList;

struct Mends {
    Arena *a;
    uint32_t nvalues, nnodes;
    TensorData *was; // by value: a constant's tensor; dtype 0: none
    int32_t *target; // by node: of a live Cast; 0: none
    ValueId **read;  // by node: its operands
    uint32_t *reads; // by node: how many
    DoneList stored, deleted, turned, inserted;
    DoneList shared;          // Casts that stood there, and whose results more nodes read
    uint64_t values, inexact; // of what was stored
};

enum { MAX_SHOWN = 3 };

static int32_t target_of_cast(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    bool cast = !n->dead && is_standard_domain(n->domain) && node_is(n, "Cast") && n->nout;
    return cast ? (int32_t)node_int(n, "to", 0) : 0;
}

// A constant's tensor, also of a Constant in a body that nobody inferred.
static const TensorData *payload_of(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    const Attr *a = n && node_is(n, "Constant") ? attr_find(n, "value") : NULL;
    return a && a->t ? a->t : origin_payload(m, v);
}

Mends *mends_begin(Model *m, Arena *a)
{
    Mends *w = NEW(a, Mends);
    *w = (Mends){.a = a, .nvalues = m->values.len, .nnodes = m->nodes.len};
    w->was = NEWS(a, TensorData, w->nvalues);
    w->target = NEWS(a, int32_t, w->nnodes);
    w->read = NEWS(a, ValueId *, w->nnodes);
    w->reads = NEWS(a, uint32_t, w->nnodes);
    for (ValueId v = 1; v < w->nvalues; v++) {
        const TensorData *t = payload_of(m, v);
        if (t)
            w->was[v] = *t;
    }
    for (NodeId id = 1; id < w->nnodes; id++) {
        const Node *n = node_at(m, id);
        w->target[id] = target_of_cast(m, id);
        w->reads[id] = n->nin;
        w->read[id] = NEWS(a, ValueId, n->nin + 1u);
        for (uint32_t i = 0; i < n->nin; i++)
            w->read[id][i] = n->in[i];
    }
    return w;
}

// Is it a copy for a call that stands again? What was done to it shows in the body.
static bool is_put_back(const Model *m, NodeId id)
{
    for (NodeId call = node_at(m, id)->call; call; call = node_at(m, call)->call)
        if (!node_at(m, call)->dead)
            return true;
    return false;
}

static void add(Mends *w, DoneList *list, Str what, DType to)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (str_eq(list->at[i].what, what))
            return;
    vec_push(w->a, list, ((Done){what, to}));
}

static void find_stored(Mends *w, Lint *l)
{
    Model *m = l->m;
    for (ValueId v = 1; v < w->nvalues; v++) {
        const Value *value = value_at(m, v);
        const TensorData *t = w->was[v].dtype ? payload_of(m, v) : NULL;
        bool gone = value->def == DEF_NODE &&
                    (node_at(m, value->node)->dead || is_put_back(m, value->node));
        if (!t || t->dtype == w->was[v].dtype || gone ||
            (value->copy_of && value->def == DEF_INITIALIZER))
            continue;
        uint32_t before = w->stored.len;
        add(w, &w->stored, lint_name(l, v), (DType)t->dtype);
        if (w->stored.len == before)
            continue;
        w->values += tensor_count(&w->was[v]);
        w->inexact += constant_inexact(m, &w->was[v], (DType)t->dtype);
    }
}

static bool is_output(const Model *m, ValueId v)
{
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].value == v)
            return true;
    return false;
}

// Where a new Cast stands. The result of one that gives an output has the output's name.
static Str place_of(Lint *l, const Node *cast)
{
    ValueId v = cast->in[0];
    const Value *value = value_at(l->m, v);
    if (is_output(l->m, cast->out[0]))
        return str_printf(l->arena, "in front of output \"%.*s\"",
                          STR_ARG(lint_name(l, cast->out[0])));
    return value->def == DEF_NODE
               ? str_printf(l->arena, "right after %.*s", STR_ARG(lint_short(l, value->node)))
               : str_printf(l->arena, "right after %s \"%.*s\"", origin_kind(l->m, v),
                            STR_ARG(lint_name(l, v)));
}

// Operands that are read through a Cast which stood there before.
static void find_shared(Mends *w, Lint *l)
{
    const Model *m = l->m;
    for (NodeId id = 1; id < w->nnodes; id++) {
        const Node *n = node_at(m, id);
        for (uint32_t i = 0; !n->dead && i < n->nin && i < w->reads[id]; i++) {
            ValueId v = n->in[i];
            NodeId cast = v && v != w->read[id][i] && value_at(m, v)->def == DEF_NODE
                              ? value_at(m, v)->node
                              : 0;
            if (!cast || cast >= w->nnodes || !w->target[cast] ||
                node_at(m, cast)->in[0] != w->read[id][i] || is_put_back(m, id))
                continue;
            add(w, &w->shared, lint_short(l, cast), DT_NONE);
        }
    }
}

void mends_end(Mends *w, Model *m)
{
    Lint l = {.m = m, .arena = w->a};
    find_stored(w, &l);
    find_shared(w, &l);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        int32_t was = id < w->nnodes ? w->target[id] : 0, now = target_of_cast(m, id);
        if (was == now || is_put_back(m, id))
            continue;
        if (!now)
            add(w, &w->deleted, lint_short(&l, id), DT_NONE);
        else if (was)
            add(w, &w->turned, lint_short(&l, id), (DType)now);
        else if (id >= w->nnodes)
            vec_push(w->a, &w->inserted, ((Done){place_of(&l, node_at(m, id)), (DType)now}));
    }
}

uint32_t mends_casts(const Mends *w)
{
    return w->inserted.len;
}

static bool names_all(Str text, const DoneList *list)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (!memmem(text.at, text.len, list->at[i].what.at, list->at[i].what.len))
            return false;
    return true;
}

static bool says(Str text, const char *word)
{
    return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

// How many quoted names the text holds.
static uint32_t names_in(Str text)
{
    uint32_t quotes = 0;
    for (size_t i = 0; i < text.len; i++)
        quotes += text.at[i] == '"' && (i == 0 || text.at[i - 1] != '\\');
    return quotes / 2;
}

bool mends_agree(const Mends *w, const Fix *f)
{
    Str text = f->text;
    bool inserts = says(text, "insert "), here = says(text, "in front of");
    if (inserts != (w->inserted.len > 0) || f->casts != w->inserted.len ||
        says(text, "delete ") != (w->deleted.len > 0) ||
        says(text, " give ") != (w->turned.len > 0) || says(text, "store ") != (w->stored.len > 0))
        return false;
    if (here || says(text, " more"))
        return true;
    bool nodes = w->deleted.len || w->turned.len || inserts; // paths hold quotes of their own
    return names_all(text, &w->stored) && names_all(text, &w->deleted) &&
           names_all(text, &w->turned) && names_all(text, &w->inserted) &&
           (nodes || names_in(text) == w->stored.len);
}

// ---- words --------------------------------------------------------------------------------------

static void put_list(Buf *b, const DoneList *list, DType to, bool quoted)
{
    uint32_t shown = 0, all = 0;
    for (uint32_t i = 0; i < list->len; i++)
        all += list->at[i].to == to;
    for (uint32_t i = 0; i < list->len; i++) {
        if (list->at[i].to != to || shown == MAX_SHOWN)
            continue;
        buf_printf(b, "%s%s%.*s%s",
                   shown == 0         ? " "
                   : shown + 1 == all ? " and "
                                      : ", ",
                   quoted ? "\"" : "", STR_ARG(list->at[i].what), quoted ? "\"" : "");
        shown++;
    }
    if (all > shown)
        buf_printf(b, " and %u more", all - shown);
}

// The dtypes of a list, each once: `from` is the first that is not told yet.
static bool is_first_of_dtype(const DoneList *list, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (list->at[k].to == list->at[i].to)
            return false;
    return true;
}

Str mends_words(const Mends *w)
{
    Buf b = {0};
    for (uint32_t i = 0; i < w->stored.len; i++)
        if (is_first_of_dtype(&w->stored, i)) {
            buf_printf(&b, "%sstore", b.len ? ", " : "");
            put_list(&b, &w->stored, w->stored.at[i].to, true);
            buf_printf(&b, " as %s", dtype_name(w->stored.at[i].to));
        }
    if (w->inexact)
        buf_printf(&b, " (%llu of %llu values change)", (unsigned long long)w->inexact,
                   (unsigned long long)w->values);
    else if (w->stored.len)
        buf_printf(&b, w->values == 1 ? " (its value is exact)" : " (all %llu values exact)",
                   (unsigned long long)w->values);
    if (w->deleted.len) {
        buf_printf(&b, "%sdelete", b.len ? ", " : "");
        put_list(&b, &w->deleted, DT_NONE, false);
    }
    for (uint32_t i = 0; i < w->turned.len; i++)
        if (is_first_of_dtype(&w->turned, i)) {
            buf_printf(&b, "%slet", b.len ? ", " : "");
            put_list(&b, &w->turned, w->turned.at[i].to, false);
            buf_printf(&b, " give %s", dtype_name(w->turned.at[i].to));
        }
    if (w->shared.len) {
        buf_printf(&b, "%sread the result%s of", b.len ? ", " : "", w->shared.len == 1 ? "" : "s");
        put_list(&b, &w->shared, DT_NONE, false);
        buf_printf(&b, " that %s there already", w->shared.len == 1 ? "is" : "are");
    }
    for (uint32_t i = 0; i < w->inserted.len && i < MAX_SHOWN; i++)
        buf_printf(&b, "%s to %s %.*s",
                   i       ? " and 1"
                   : b.len ? ", insert 1 Cast"
                           : "insert 1 Cast",
                   dtype_name(w->inserted.at[i].to), STR_ARG(w->inserted.at[i].what));
    if (w->inserted.len > MAX_SHOWN)
        buf_printf(&b, " and %u more", w->inserted.len - MAX_SHOWN);
    if (!b.len)
        return STR_NONE;
    buf_printf(&b, ": %u cast%s added", w->inserted.len, w->inserted.len == 1 ? "" : "s");
    Str text = str_copy(w->a, (Str){b.at, b.len});
    buf_free(&b);
    return text;
}
