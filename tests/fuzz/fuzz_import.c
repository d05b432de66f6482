// libFuzzer target: decode, import, read small constants, export, and import what was exported.
#include "frontend/export.h"
#include "frontend/import.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Model *import_bytes(Arena *a, const void *bytes, size_t size)
{
    Diags diags;
    diags_init(&diags, a, STR("fuzz.onnx"));
    ImportLimits limits = import_limits_default();
    FileView view = {bytes, size, false};
    Model *m = import_onnx(a, "fuzz.onnx", &view, &limits, &diags);
    if (!m && diags.errors == 0)
        abort(); // refused without a reason
    return m;
}

static void read_constants(Model *m)
{
    for (GraphId g = 1; g < m->graphs.len; g++) {
        location_graph(m, m->arena, g);
        for (uint32_t i = 0; i < graph_at(m, g)->initializers.len; i++) {
            TensorData *t = graph_at(m, g)->initializers.at[i].data;
            Str error = STR_NONE;
            if (t->payload != PAYLOAD_EXTERNAL && !tensor_elements(m, t, &error) && !error.len)
                abort();
        }
    }
    uses_of(m, m->arena);
    for (NodeId n = 1; n < m->nodes.len && n < 100; n++)
        location_result(m, m->arena, n, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Model *m = import_bytes(a, data, size);
    if (m) {
        Buf first = {0}, second = {0};
        Str error = STR_NONE;
        read_constants(m);
        if (export_onnx(m, &first, &error) && first.len) {
            Model *again = import_bytes(a, first.at, first.len);
            if (!again || !export_onnx(again, &second, &error) || second.len != first.len ||
                memcmp(first.at, second.at, first.len) != 0)
                abort(); // what was exported must come back as it is
        }
        buf_free(&first);
        buf_free(&second);
    }
    arena_free(a);
    return 0;
}
