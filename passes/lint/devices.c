// DV001: operands that lie on another device than the node that reads them.
//
// A node is placed by its metadata_props["cameo.device"]; in a file a transfer is an Identity so
// placed. A node that nothing places follows its operands where they agree. Inputs and weights lie
// wherever they are needed.

#include "passes/lint/lint.h"

static DeviceId placed(Model *m, NodeId n)
{
    Str name = props_get(&node_at(m, n)->metadata, "cameo.device");
    return name.len ? device_id(m, name) : 0;
}

DeviceId lint_node_device(Model *m, NodeId n)
{
    return placed(m, n);
}

DeviceId lint_device(Model *m, ValueId v)
{
    DeviceId found = 0;
    for (uint32_t steps = 0; steps < 64 && v && value_at(m, v)->def == DEF_NODE; steps++) {
        NodeId n = value_at(m, v)->node;
        if (placed(m, n))
            return placed(m, n);
        ValueId next = 0; // an unplaced node: where its first computed operand lies
        for (uint32_t i = 0; i < node_at(m, n)->nin && !next; i++)
            if (node_at(m, n)->in[i] && value_at(m, node_at(m, n)->in[i])->def == DEF_NODE)
                next = node_at(m, n)->in[i];
        v = next;
    }
    return found;
}

void lint_devices(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        DeviceId here = node_at(l->m, id)->dead ? 0 : placed(l->m, id);
        if (!here || node_is(node_at(l->m, id), "Identity"))
            continue;
        for (uint32_t i = 0; i < node_at(l->m, id)->nin; i++) {
            ValueId v = node_at(l->m, id)->in[i];
            DeviceId there = v ? lint_device(l->m, v) : 0;
            if (!there || there == here)
                continue;
            const Node *n = node_at(l->m, id);
            Str op = str_escaped(l->arena, n->op),
                name = str_escaped(l->arena, value_at(l->m, v)->name);
            Str on = str_escaped(l->arena, l->m->devices.at[here]),
                from = str_escaped(l->arena, l->m->devices.at[there]);
            Diag *d = diag(l->diags, "DV001", SEV_ERROR, location_operand(l->m, l->arena, id, i),
                           "%.*s needs its inputs on %.*s, but \"%.*s\" is on %.*s", STR_ARG(op),
                           STR_ARG(on), STR_ARG(name), STR_ARG(from));
            d->op = op;
            d->node = str_escaped(l->arena, n->name);
            d->value = name;
            d->origin_kind = STR("node");
            d->origin_name = location_node(l->m, l->arena, value_at(l->m, v)->node);
            diag_note(l->diags, d, "placed on %.*s by the node's metadata \"cameo.device\"",
                      STR_ARG(on));
            diag_note(l->diags, d, "%.*s begins at %.*s", STR_ARG(from), STR_ARG(d->origin_name));
            diag_fix(l->diags, d, true,
                     "insert 1 transfer right after \"%.*s\", shared by all its uses on %.*s",
                     STR_ARG(name), STR_ARG(on))
                ->transfers = 1;
        }
    }
}
