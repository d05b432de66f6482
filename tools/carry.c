#include "tools/carry.h"

#include "base/file.h"

#include <string.h>

static void add_tensor(Model *m, const TensorData *t, Map *known, Carried *c, Arena *a)
{
    ExternalRange range;
    Str error = STR_NONE;
    bool added = false;
    if (!t || t->payload != PAYLOAD_EXTERNAL ||
        tensor_external(m, t, &range, &error) != EXTERNAL_FINE)
        return;
    map_put(known, range.file->location, &added);
    if (added)
        vec_push(a, &c->locations, str_copy(a, range.file->location));
}

Carried carried_by(Model *m, Arena *a)
{
    Carried c = {0};
    Map known = {.arena = a};
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->initializers.len; i++)
            add_tensor(m, graph_at(m, g)->initializers.at[i].data, &known, &c, a);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        for (uint32_t i = 0; !n->dead && i < n->nattrs; i++) {
            add_tensor(m, n->attrs[i].t, &known, &c, a);
            for (uint32_t k = 0; k < n->attrs[i].ntensors; k++)
                add_tensor(m, n->attrs[i].tensors[k], &known, &c, a);
        }
    }
    return c;
}

// A file beside a model.
static const char *beside(Arena *a, const char *model, Str location)
{
    const char *slash = strrchr(model, '/');
    int folder = slash ? (int)(slash - model) + 1 : 0;
    return str_printf(a, "%.*s%.*s", folder, model, STR_ARG(location)).at;
}

static bool same_bytes(Arena *a, const char *x, const char *y)
{
    FileView v = {0}, w = {0};
    Str ignored = STR_NONE;
    bool same = file_open(a, x, &v, &ignored);
    if (same && file_open(a, y, &w, &ignored)) {
        same = v.len == w.len && (v.len == 0 || memcmp(v.at, w.at, v.len) == 0);
        file_close(&w);
    } else {
        same = false;
    }
    if (v.at)
        file_close(&v);
    return same;
}

static bool is_there(Arena *a, const char *from, const char *to)
{
    return file_exists(to) && (file_same(from, to) || same_bytes(a, from, to));
}

bool carried_is(const Carried *c, const char *from, const char *path, Arena *a)
{
    for (uint32_t i = 0; i < c->locations.len; i++)
        if (file_same(beside(a, from, c->locations.at[i]), path))
            return true;
    return false;
}

bool carry_data(const Carried *c, const char *from, const char *to, Str *error, Arena *a)
{
    for (uint32_t i = 0; i < c->locations.len; i++) {
        const char *x = beside(a, from, c->locations.at[i]), *y = beside(a, to, c->locations.at[i]);
        if (!file_exists(y) || is_there(a, x, y))
            continue;
        *error = str_printf(a, "the model's external data is \"%s\", and %s is another file", x, y);
        return false;
    }
    for (uint32_t i = 0; i < c->locations.len; i++) {
        const char *x = beside(a, from, c->locations.at[i]), *y = beside(a, to, c->locations.at[i]);
        const char *slash = strrchr(y, '/');
        if (is_there(a, x, y))
            continue;
        if (slash && !dir_make(a, str_printf(a, "%.*s", (int)(slash - y), y).at, error))
            return false;
        if (!file_copy(x, y, 0644, error, a))
            return false;
    }
    return true;
}
