// DV001: operands that lie on another device than the node that reads them.

#include "passes/devices.h"
#include "passes/lint/lint.h"

enum { MAX_NOTES = 8, MAX_PATH = 32 };

// "256 B x seq": what moving the value costs in a run; absent where its shape is not known.
static Str price(Lint *l, ValueId id)
{
    const Value *v = value_at(l->m, id);
    const DTypeInfo *info = dtype_info(v->dtype);
    uint64_t bytes = info->bytes;
    Buf symbols = {0};
    bool known = v->kind == TYPE_TENSOR && v->dtype != DT_NONE && v->rank >= 0;
    for (int32_t i = 0; known && i < v->rank; i++) {
        int64_t k;
        if (!poly_is_const(v->dims[i], &k)) {
            buf_printf(&symbols, " x ");
            poly_print(l->m->polys, v->dims[i], &symbols);
        } else {
            known = k >= 0 && !__builtin_mul_overflow(bytes, (uint64_t)k, &bytes);
        }
    }
    Str s = known ? str_printf(l->arena, "%llu B%s", (unsigned long long)bytes,
                               symbols.len ? symbols.at : "")
                  : STR_NONE;
    buf_free(&symbols);
    return s;
}

static bool is_cheaper(Lint *l, ValueId a, ValueId b)
{
    const Value *x = value_at(l->m, a), *y = value_at(l->m, b);
    uint64_t size[2] = {dtype_info(x->dtype)->bytes, dtype_info(y->dtype)->bytes};
    for (int side = 0; side < 2; side++) {
        const Value *v = side ? y : x;
        if (v->rank < 0)
            return false;
        for (int32_t i = 0; i < v->rank; i++) {
            int64_t k;
            if (!poly_is_const(v->dims[i], &k) || k < 0 ||
                __builtin_mul_overflow(size[side], (uint64_t)k, &size[side]))
                return false;
        }
    }
    return size[0] < size[1];
}

// From the value back to where its device begins; the last is the origin's. Of a long way the
// middle is left out.
typedef VEC(ValueId) Path;

static Path path_of(Lint *l, ValueId v)
{
    Path path = {0};
    NodeId origin = device_origin(l->m, v);
    while (path.len < MAX_PATH) {
        const Value *at = value_at(l->m, v);
        vec_push(l->arena, &path, v);
        bool follows = at->why_device.kind == WHY_OPERAND || at->why_device.kind == WHY_BRANCH;
        if (!follows || !at->why_device.from || at->why_device.from == v)
            return path;
        v = at->why_device.from;
    }
    for (uint32_t o = 0; o < node_at(l->m, origin)->nout; o++)
        if (node_at(l->m, origin)->out[o]) {
            vec_push(l->arena, &path, node_at(l->m, origin)->out[o]);
            break;
        }
    return path;
}

static void note_origin(Lint *l, Diag *d, const Path *path, Str device)
{
    const Model *m = l->m;
    NodeId origin = value_at(m, path->at[path->len - 1])->node;
    Str why = device_reason(l->m, origin);
    bool by_target = node_at(m, origin)->why_device.kind == WHY_TARGET;
    d->origin_kind = by_target                                           ? STR("target")
                     : node_at(m, origin)->why_device.kind == WHY_CONFIG ? STR("config")
                                                                         : STR("node");
    d->origin_name = location_node(m, l->arena, origin);
    diag_note(l->diags, d, "%.*s begins at %.*s: %.*s", STR_ARG(device),
              STR_ARG(lint_short(l, origin)), STR_ARG(why));
    Buf line = {0};
    for (uint32_t i = path->len; i-- > 0;) {
        NodeId n = value_at(m, path->at[i])->node;
        vec_push(l->arena, &d->chain, location_node(m, l->arena, n));
        buf_printf(&line, "%.*s -> ", STR_ARG(lint_short(l, n)));
    }
    vec_push(l->arena, &d->chain, d->path);
    if (path->len > 1)
        diag_note(l->diags, d, "  %shere", line.at);
    buf_free(&line);
}

// The cheapest place on the way; of equal ones the last.
static void offer_transfer(Lint *l, Diag *d, const Path *path)
{
    uint32_t best = 0, same = 0;
    for (uint32_t i = 1; i < path->len; i++)
        if (is_cheaper(l, path->at[i], path->at[best]))
            best = i;
    Str cost = price(l, path->at[best]);
    for (uint32_t i = best + 1; i < path->len && cost.len; i++)
        if (str_eq(cost, price(l, path->at[i])))
            same = i;
    Buf text = {0};
    buf_printf(&text, "insert 1 transfer after %.*s",
               STR_ARG(lint_short(l, value_at(l->m, path->at[best])->node)));
    if (cost.len)
        buf_printf(&text, " (%.*s)", STR_ARG(cost));
    if (same)
        buf_printf(&text, "; after %.*s costs the same",
                   STR_ARG(lint_short(l, value_at(l->m, path->at[same])->node)));
    diag_fix(l->diags, d, true, "%s", text.at)->transfers = 1;
    buf_free(&text);
}

// A dim of the value that is not known; absent where all are.
static Str open_dim(Lint *l, ValueId v)
{
    const Value *value = value_at(l->m, v);
    Str open = STR_NONE;
    for (int32_t i = 0; i < value->rank && !open.len; i++) {
        Buf name = {0};
        int64_t k;
        if (poly_is_const(value->dims[i], &k))
            continue;
        poly_print(l->m->polys, value->dims[i], &name);
        open = str_copy(l->arena, (Str){name.at, name.len});
        buf_free(&name);
    }
    return open;
}

// Does the value follow from sizes and constants alone, so that it is a constant where its own size
// is fixed?
static bool follows_from_sizes(const Model *m, ValueId v)
{
    enum { MOST = 256 };
    ValueId queue[MOST];
    uint32_t tail = 0, head = 0, sizes = 0;
    queue[tail++] = v;
    while (head < tail) {
        const Value *at = value_at(m, queue[head++]);
        if (at->constant)
            continue;
        const Node *n = at->def == DEF_NODE ? node_at(m, at->node) : NULL;
        if (!n || !n->schema || str_starts(n->op, "Random") || tail + n->nin > MOST)
            return false;
        bool size = node_is(n, "Shape") || node_is(n, "Size");
        sizes += size;
        for (uint32_t i = 0; i < n->nin; i++)
            if (n->in[i] && !size)
                queue[tail++] = n->in[i];
    }
    return sizes > 0;
}

static void offer_fold(Lint *l, Diag *d, ValueId v)
{
    Str open = open_dim(l, v);
    if (open.len && follows_from_sizes(l->m, v))
        diag_help(l->diags, d, "fold \"%.*s\" to a constant if %.*s is fixed (0 transfers per run)",
                  STR_ARG(lint_name(l, v)), STR_ARG(str_escaped(l->arena, open)));
}

static const char *how_many(const Node *n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->nin; i++)
        count += n->in[i] != 0;
    return count == 1 ? "its input" : count == 2 ? "both inputs" : "all inputs";
}

static void report(Lint *l, NodeId id, uint32_t operand)
{
    Model *m = l->m;
    ValueId v = node_at(m, id)->in[operand];
    Str here = str_escaped(l->arena, m->devices.at[device_run(m, id)]);
    Str there = str_escaped(l->arena, m->devices.at[device_of_value(m, v)]);
    const Node *n = node_at(m, id);
    Diag *d = diag(l->diags, "DV001", SEV_ERROR, location_operand(m, l->arena, id, operand),
                   "%.*s needs %s on %.*s, but \"%.*s\" is on %.*s",
                   STR_ARG(str_escaped(l->arena, n->op)), how_many(n), STR_ARG(here),
                   STR_ARG(lint_name(l, v)), STR_ARG(there));
    d->value = lint_name(l, v);
    lint_about_node(l, d, id);
    if (device_of_node(m, id))
        diag_note(l->diags, d, "placed on %.*s by %.*s", STR_ARG(here),
                  STR_ARG(device_reason(m, id)));
    else
        diag_note(l->diags, d, "nothing places it; its other operands lie on %.*s", STR_ARG(here));
    Path path = path_of(l, v);
    if (!value_at(m, path.at[path.len - 1])->node)
        return;
    note_origin(l, d, &path, there);
    if (device_may_transfer(m, v)) {
        offer_transfer(l, d, &path);
        offer_fold(l, d, v);
    } else
        diag_help(l->diags, d,
                  "move tensors: a transfer is an Identity, and at opset %lld that takes no %s",
                  (long long)opset_of(m, n),
                  value_at(m, v)->kind == TYPE_SEQUENCE ? "sequence" : "optional value");
}

// The value whose transfer mends it: that of the operand's origin.
static ValueId fault_of(Lint *l, ValueId v)
{
    NodeId origin = device_origin(l->m, v);
    if (!origin || value_at(l->m, v)->node == origin)
        return v;
    for (uint32_t o = 0; o < node_at(l->m, origin)->nout; o++)
        if (node_at(l->m, origin)->out[o])
            return node_at(l->m, origin)->out[o];
    return v;
}

// One finding for each origin and the device that it is needed on: one transfer mends all of them.
void lint_devices(Lint *l)
{
    Map told = {.arena = l->arena};
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        for (uint32_t i = 0; !node_at(l->m, id)->dead && i < node_at(l->m, id)->nin; i++) {
            if (!device_crosses(l->m, id, i))
                continue;
            uint32_t key[2] = {fault_of(l, node_at(l->m, id)->in[i]), device_run(l->m, id)};
            bool added;
            uint32_t *where =
                map_put(&told, str_copy(l->arena, (Str){(const char *)key, sizeof key}), &added);
            if (added) {
                *where = l->diags->all.len;
                report(l, id, i);
            } else {
                Diag *d = l->diags->all.at[*where];
                if (d->notes.len < MAX_NOTES)
                    diag_note(l->diags, d, "also needed by %.*s", STR_ARG(lint_short(l, id)));
            }
        }
}
