#include "passes/devices.h"
#include "base/file.h"
#include "passes/config.h"

#include <string.h>

// ---- the four sources, in order

// "/embed/*" of "graph/node[/embed/*]".
static Str shown_glob(Str at)
{
    for (size_t i = 0; i + 5 < at.len; i++)
        if (memcmp(at.at + i, "node[", 5) == 0 && at.at[at.len - 1] == ']')
            return (Str){at.at + i + 5, at.len - i - 6};
    return at;
}

static bool by_config(Model *m, NodeId id)
{
    if (!m->config || !m->config->places.len)
        return false;
    Node *n = node_at(m, id);
    const ConfigPlace *p = config_place_of(m->config, location_node(m, m->arena, id), n->name);
    if (!p)
        return false;
    Str glob = str_escaped(m->arena, shown_glob(p->at));
    n->device = device_id(m, p->device);
    n->why_device = (Why){.kind = WHY_CONFIG, .node = id};
    n->why_device.what = str_printf(m->arena, "%s:%u (place \"%.*s\")", path_base(m->config->path),
                                    p->line, STR_ARG(glob))
                             .at;
    return true;
}

// What a call says of its device holds for the nodes of its function's body, unless they say it
// themselves.
static bool by_metadata(Model *m, NodeId id)
{
    Node *n = node_at(m, id);
    Str name = props_get(&n->metadata, "cameo.device");
    NodeId call = n->call;
    for (; !name.len && call; call = node_at(m, call)->call)
        name = props_get(&node_at(m, call)->metadata, "cameo.device");
    if (!name.len)
        return false;
    n->device = device_id(m, name);
    n->why_device = (Why){.kind = WHY_METADATA, .node = id};
    n->why_device.what = props_get(&n->metadata, "cameo.device").len
                             ? "its metadata \"cameo.device\""
                             : "metadata \"cameo.device\" of the call";
    return true;
}

// The device of which a configuration's index speaks: its name there, else "NAME:INDEX".
static DeviceId sharding_device(Model *m, Str configuration, int64_t index)
{
    for (uint32_t i = 0; i < m->configurations.len; i++) {
        const DeviceConfiguration *c = &m->configurations.at[i];
        if (str_eq(c->name, configuration) && index >= 0 && index < c->ndevices &&
            c->devices[index].len)
            return device_id(m, c->devices[index]);
    }
    return device_id(m,
                     str_printf(m->arena, "%.*s:%lld", STR_ARG(configuration), (long long)index));
}

// A spec with one device and no sharded dimension places the node, where all of them agree.
static bool by_sharding(Model *m, NodeId id)
{
    Node *n = node_at(m, id);
    for (uint32_t i = 0; i < n->ndevices; i++) {
        const NodeDeviceConfig *c = &n->devices[i];
        bool one = c->nspecs > 0;
        for (uint32_t k = 0; k < c->nspecs; k++)
            one &= c->specs[k].ndevices == 1 && c->specs[k].ndims == 0 &&
                   c->specs[k].devices[0] == c->specs[0].devices[0];
        if (!one)
            continue;
        n->device = sharding_device(m, c->configuration, c->specs[0].devices[0]);
        n->why_device = (Why){.kind = WHY_SHARDING, .node = id};
        n->why_device.what = "the file's device_configurations";
        return true;
    }
    return false;
}

static bool is_control(const Node *n)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g || n->attrs[i].ngraphs)
            return true;
    return false;
}

// Every result is known symbolically or a constant: the host computes it where it is needed.
static bool is_shape_arithmetic(const Model *m, const Node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        const Value *v = n->out[i] ? value_at(m, n->out[i]) : NULL;
        if (v && !v->content && !v->constant)
            return false;
    }
    return n->nout > 0;
}

// It only moves elements about: as well done on the host as on a device.
static bool moves_only(const Node *n)
{
    static const char *const known[] = {"Identity",  "Reshape", "Flatten",  "Squeeze",
                                        "Unsqueeze", "Expand",  "Concat",   "Split",
                                        "Slice",     "Tile",    "Transpose"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(n, known[i]))
            return true;
    return false;
}

static void by_target(Model *m, NodeId id)
{
    const Target *t = m->config ? m->config->target : NULL;
    Node *n = node_at(m, id);
    if (!t || is_control(n) || is_shape_arithmetic(m, n))
        return;
    DType lacks;
    const char *host = target_host_reason(t, n);
    bool runs = target_has_kernel(t, m, id, &lacks) && !host;
    if (runs && moves_only(n))
        return;
    n->device = runs ? device_id(m, str_of(t->device)) : DEVICE_HOST;
    n->why_device = (Why){.kind = WHY_TARGET, .node = id};
    Str op = str_escaped(m->arena, n->op);
    Str why = runs   ? str_printf(m->arena, "target %s has a kernel for it", t->name)
              : host ? str_printf(m->arena, "%s (target %s)", host, t->name)
              : lacks
                  ? str_printf(m->arena, "target %s has no kernel for %.*s of %s", t->name,
                               STR_ARG(op), dtype_name(lacks))
                  : str_printf(m->arena, "target %s has no kernel for %.*s", t->name, STR_ARG(op));
    n->why_device.what = why.at;
}

// ---- values, forward

bool is_transfer(const Model *m, NodeId n)
{
    const Node *node = node_at(m, n);
    return node_is(node, "Identity") && (props_get(&node->metadata, "cameo.device").len > 0 ||
                                         node->why_device.kind == WHY_CONFIG);
}

bool device_may_transfer(const Model *m, ValueId v)
{
    Node identity = {.graph = value_at(m, v)->graph};
    const Schema *s = schema_find(STR(""), STR("Identity"), opset_of(m, &identity));
    TypeKind kind = value_at(m, v)->kind;
    TypeSet needed = kind == TYPE_SEQUENCE   ? TYPESET_SEQUENCE
                     : kind == TYPE_OPTIONAL ? TYPESET_OPTIONAL
                                             : 0;
    return !s || (s->inputs[0].types & needed) == needed;
}

DeviceId device_of_node(Model *m, NodeId n)
{
    Str said =
        node_at(m, n)->device ? STR_NONE : props_get(&node_at(m, n)->metadata, "cameo.device");
    return said.len ? device_id(m, said) : node_at(m, n)->device;
}

DeviceId device_of_value(Model *m, ValueId v)
{
    const Value *at = value_at(m, v);
    return at->device || at->def != DEF_NODE ? at->device : device_of_node(m, at->node);
}

// Operands that say how large, where or along which axes: every target reads them on the host.
static bool is_host_operand(const Node *n, uint32_t operand)
{
    static const struct {
        const char *op;
        uint32_t from, to;
    } rows[] = {{"Reshape", 1, 1},         {"Expand", 1, 1},       {"Tile", 1, 1},
                {"Slice", 1, 4},           {"Pad", 1, 1},          {"Pad", 3, 3},
                {"Unsqueeze", 1, 1},       {"Squeeze", 1, 1},      {"Split", 1, 1},
                {"Resize", 1, 3},          {"Upsample", 1, 1},     {"Range", 0, 2},
                {"ConstantOfShape", 0, 0}, {"TopK", 1, 1},         {"OneHot", 1, 1},
                {"CumSum", 1, 1},          {"AffineGrid", 1, 1},   {"CenterCropPad", 1, 1},
                {"ReduceMax", 1, 1},       {"ReduceMean", 1, 1},   {"ReduceMin", 1, 1},
                {"ReduceSum", 1, 1},       {"ReduceProd", 1, 1},   {"ReduceL1", 1, 1},
                {"ReduceL2", 1, 1},        {"ReduceLogSum", 1, 1}, {"ReduceLogSumExp", 1, 1},
                {"ReduceSumSquare", 1, 1}, {"If", 0, 0},           {"Loop", 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (operand >= rows[i].from && operand <= rows[i].to && node_is(n, rows[i].op))
            return true;
    return false;
}

// The operand that a free node runs beside: the first that does not lie on the host, else the
// first that lies anywhere at all. 0: none.
static ValueId followed(Model *m, NodeId n)
{
    ValueId first = 0;
    for (uint32_t i = 0; i < node_at(m, n)->nin; i++) {
        ValueId v = node_at(m, n)->in[i];
        bool matters = v && !is_host_operand(node_at(m, n), i);
        DeviceId d = matters ? device_of_value(m, v) : 0;
        if (d > DEVICE_HOST)
            return v;
        first = d && !first ? v : first;
    }
    return first;
}

DeviceId device_run(Model *m, NodeId n)
{
    DeviceId own = device_of_node(m, n);
    ValueId beside = own ? 0 : followed(m, n);
    return own || !beside ? own : device_of_value(m, beside);
}

static void place_results(void *context, NodeId id)
{
    Model *m = context;
    Node *n = node_at(m, id);
    Why why = {.kind = WHY_OPERAND, .node = id};
    DeviceId device = n->device;
    if (device)
        why = n->why_device;
    else if (!is_shape_arithmetic(m, n) && (why.from = followed(m, id))) {
        device = device_of_value(m, why.from);
        why.node = device_origin(m, why.from);
    }
    for (uint32_t o = 0; o < n->nout; o++) {
        Value *v = n->out[o] ? value_at(m, n->out[o]) : NULL;
        if (!v || !device || is_control(n))
            continue;
        v->device = device;
        v->why_device = why;
    }
}

// What If, Loop and Scan give lies where the value does that the body ends with. A Loop's body has
// its condition in front of what it gives.
static void place_control(Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Graph *g = n->attrs[i].g ? graph_at(m, n->attrs[i].g) : NULL;
        uint32_t skip = node_is(n, "Loop") ? 1 : 0;
        for (uint32_t o = 0; g && o < n->nout && o + skip < g->outputs.len; o++) {
            ValueId from = g->outputs.at[o + skip].value;
            Value *v = n->out[o] ? value_at(m, n->out[o]) : NULL;
            if (!v || v->device || !device_of_value(m, from))
                continue;
            v->device = device_of_value(m, from);
            v->why_device = (Why){.kind = WHY_BRANCH, .node = device_origin(m, from), .from = from};
        }
    }
}

void devices_place(Model *m)
{
    for (ValueId v = 1; v < m->values.len; v++) {
        value_at(m, v)->device = 0;
        value_at(m, v)->why_device = (Why){0};
    }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        n->device = 0;
        n->why_device = (Why){0};
        if (!n->dead && !by_config(m, id) && !by_metadata(m, id) && !by_sharding(m, id))
            by_target(m, id);
    }
    // Twice: behind control flow devices are known after the first time.
    for (int round = 0; m->main && round < 2; round++) {
        graph_walk(m, m->main, place_results, m);
        for (NodeId id = 1; id < m->nodes.len; id++)
            if (!node_at(m, id)->dead && is_control(node_at(m, id)))
                place_control(m, id);
    }
}

// ---- edges

static bool is_size_query(const Node *n)
{
    return node_is(n, "Shape") || node_is(n, "Size");
}

static bool is_explicit(const Model *m, NodeId n)
{
    int kind = n ? (int)node_at(m, n)->why_device.kind : WHY_NONE;
    return kind == WHY_CONFIG || kind == WHY_METADATA;
}

NodeId device_origin(Model *m, ValueId v)
{
    const Value *at = value_at(m, v);
    return at->why_device.kind != WHY_NONE ? at->why_device.node
           : at->def == DEF_NODE           ? at->node
                                           : 0;
}

bool device_matters(const Model *m, NodeId id, uint32_t operand)
{
    const Node *n = node_at(m, id);
    return !n->dead && n->in[operand] && !is_transfer(m, id) && !is_host_operand(n, operand) &&
           !is_size_query(n) && !is_control(n);
}

bool device_crosses(Model *m, NodeId id, uint32_t operand)
{
    const Node *n = node_at(m, id);
    ValueId v = n->in[operand];
    if (!device_matters(m, id, operand))
        return false;
    DeviceId there = device_of_value(m, v), here = there ? device_run(m, id) : 0;
    if (!here || !there || here == there)
        return false;
    ValueId beside = device_of_node(m, id) ? 0 : followed(m, id);
    NodeId placed = beside ? device_origin(m, beside) : id, from = device_origin(m, v);
    bool implicit = node_at(m, placed)->why_device.kind == WHY_SHARDING ||
                    node_at(m, from)->why_device.kind == WHY_SHARDING;
    return !implicit && (is_explicit(m, placed) || is_explicit(m, from));
}

Str device_reason(Model *m, NodeId n)
{
    const char *what = node_at(m, n)->why_device.what;
    return what ? str_of(what) : STR("");
}
