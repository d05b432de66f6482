// DV008: device configurations (IR version 11) that contradict themselves or the graph.

#include "passes/lint/lint.h"

enum { FIRST_IR_VERSION = 11 };

static void report(Lint *l, NodeId id, Str what, Str help)
{
    Diag *d = diag(l->diags, "DV008", SEV_ERROR, location_node(l->m, l->arena, id), "%.*s",
                   STR_ARG(what));
    lint_about_node(l, d, id);
    d->origin_kind = STR("attribute");
    d->origin_name = STR("device_configurations");
    diag_help(l->diags, d, "%.*s", STR_ARG(help));
}

static void check_configurations(Lint *l)
{
    Map seen = {.arena = l->arena};
    for (uint32_t i = 0; i < l->m->configurations.len; i++) {
        const DeviceConfiguration *c = &l->m->configurations.at[i];
        Str name = str_escaped(l->arena, c->name), what = STR_NONE;
        const char *help = "give one of the two another name, and the nodes that mean it";
        bool added;
        map_put(&seen, c->name, &added);
        if (!added)
            what = STR("it is there twice");
        else if (c->num_devices < 1) {
            what = str_printf(l->arena, "num_devices is %d", c->num_devices);
            help = "set num_devices to as many as there are";
        } else if (c->ndevices && c->ndevices != (uint32_t)c->num_devices) {
            what = str_printf(l->arena, "it names %u device%s, but num_devices is %d", c->ndevices,
                              c->ndevices == 1 ? "" : "s", c->num_devices);
            help = "name each device, or none: the names may be left out";
        }
        if (what.len)
            diag_help(l->diags,
                      diag(l->diags, "DV008", SEV_ERROR,
                           str_printf(l->arena, "configuration[%.*s]", STR_ARG(name)),
                           "device configuration \"%.*s\": %.*s", STR_ARG(name), STR_ARG(what)),
                      "%s", help);
    }
}

static ValueId value_of(const Model *m, const Node *n, Str name)
{
    for (uint32_t i = 0; i < n->nin + n->nout; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        if (v && str_eq(value_at(m, v)->name, name))
            return v;
    }
    return 0;
}

static void check_dims(Lint *l, NodeId id, const ShardingSpec *s, ValueId v)
{
    int32_t rank = value_at(l->m, v)->rank;
    Str name = str_escaped(l->arena, s->tensor);
    for (uint32_t i = 0; i < s->ndims; i++) {
        int64_t axis = s->dims[i].axis;
        if (rank >= 0 && (axis < -rank || axis >= rank))
            report(l, id,
                   str_printf(l->arena, "\"%.*s\" is sharded along axis %lld, but has rank %d",
                              STR_ARG(name), (long long)axis, rank),
                   rank ? str_printf(l->arena, "its axes are %d to %d", -rank, rank - 1)
                        : STR("leave sharded_dim out: one number lies on each device whole"));
        for (uint32_t k = 0; k < s->dims[i].nsimple; k++)
            if (s->dims[i].simple[k].num_shards < 1)
                report(l, id,
                       str_printf(l->arena, "\"%.*s\" is cut into %lld shards", STR_ARG(name),
                                  (long long)s->dims[i].simple[k].num_shards),
                       STR("set num_shards to 1 or more, or leave the axis out of sharded_dim"));
    }
}

static void check_index(Lint *l, NodeId id, const DeviceConfiguration *c, const ShardingSpec *s,
                        int64_t index)
{
    if (c && (index < 0 || index >= c->num_devices))
        report(l, id,
               str_printf(l->arena,
                          "\"%.*s\" is placed on device %lld, but configuration "
                          "\"%.*s\" has %d of them",
                          STR_ARG(str_escaped(l->arena, s->tensor)), (long long)index,
                          STR_ARG(str_escaped(l->arena, c->name)), c->num_devices),
               index < 0 ? STR("a negative index names a group: list it in "
                               "index_to_device_group_map")
                         : str_printf(l->arena, "its last is device %d", c->num_devices - 1));
}

// "the node's are "x", "y""
static Str operand_words(Lint *l, const Node *n)
{
    enum { MOST = 6 };
    Buf b = {0};
    for (uint32_t i = 0, told = 0; i < n->nin + n->nout && told < MOST; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        if (v)
            buf_printf(&b, "%s\"%.*s\"", told++ ? ", " : "the node's are ",
                       STR_ARG(lint_name(l, v)));
    }
    Str s = str_copy(l->arena, (Str){b.at, b.len});
    buf_free(&b);
    return s;
}

static void check_spec(Lint *l, NodeId id, const DeviceConfiguration *c, const ShardingSpec *s)
{
    ValueId v = value_of(l->m, node_at(l->m, id), s->tensor);
    // A negative index names a group of devices that holds copies.
    for (uint32_t i = 0; i < s->ndevices; i++) {
        const struct IndexGroup *group = NULL;
        for (uint32_t k = 0; k < s->ngroups && !group; k++)
            group = s->groups[k].key == s->devices[i] ? &s->groups[k] : NULL;
        if (!group)
            check_index(l, id, c, s, s->devices[i]);
        for (uint32_t k = 0; group && k < group->nvalues; k++)
            check_index(l, id, c, s, group->values[k]);
    }
    if (!v)
        report(l, id,
               str_printf(l->arena, "the sharding of \"%.*s\" is no input or output of it",
                          STR_ARG(str_escaped(l->arena, s->tensor))),
               operand_words(l, node_at(l->m, id)));
    else
        check_dims(l, id, s, v);
}

// "the model's are "two", "four""
static Str configuration_words(Lint *l)
{
    enum { MOST = 6 };
    Buf b = {0};
    for (uint32_t i = 0; i < l->m->configurations.len && i < MOST; i++)
        buf_printf(&b, "%s\"%.*s\"", i ? ", " : "the model's are ",
                   STR_ARG(str_escaped(l->arena, l->m->configurations.at[i].name)));
    Str s = b.len ? str_copy(l->arena, (Str){b.at, b.len})
                  : STR("the model has none: add it to its field configuration");
    buf_free(&b);
    return s;
}

void lint_sharding(Lint *l)
{
    Map names = {.arena = l->arena};
    NodeId first = 0;
    check_configurations(l);
    for (uint32_t i = 0; i < l->m->configurations.len; i++) {
        bool added;
        uint32_t *at = map_put(&names, l->m->configurations.at[i].name, &added);
        *at = added ? i : *at;
    }
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        for (uint32_t i = 0; !n->dead && i < n->ndevices; i++) {
            const uint32_t *at = map_get(&names, n->devices[i].configuration);
            const DeviceConfiguration *c = at ? &l->m->configurations.at[*at] : NULL;
            first = first ? first : id;
            if (!c)
                report(l, id,
                       str_printf(l->arena, "there is no device configuration \"%.*s\"",
                                  STR_ARG(str_escaped(l->arena, n->devices[i].configuration))),
                       configuration_words(l));
            for (uint32_t k = 0; k < n->devices[i].nspecs; k++)
                check_spec(l, id, c, &n->devices[i].specs[k]);
        }
    }
    if (first && l->m->ir_version < FIRST_IR_VERSION)
        report(l, first,
               str_printf(l->arena,
                          "device configurations exist since IR version %d; "
                          "the model says %lld",
                          FIRST_IR_VERSION, (long long)l->m->ir_version),
               str_printf(l->arena,
                          "write it as IR version %d: readers of earlier ones pass over them",
                          FIRST_IR_VERSION));
}
