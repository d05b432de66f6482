// roundtrip IN OUT: imports a model and exports it again.
// roundtrip IN -:   imports only.
// roundtrip IN =:   imports, and reads the elements of every initializer; exit 1 where one is bad.
#include "frontend/export.h"
#include "frontend/load.h"

#include <string.h>

static void print_findings(const Diags *diags)
{
    Buf b = {0};
    for (uint32_t i = 0; i < diags->all.len; i++)
        diag_print(diags->all.at[i], &b, false, 0);
    fwrite(b.at ? b.at : "", 1, b.len, stderr);
    buf_free(&b);
}

static int write_model(const Model *m, const char *path)
{
    Buf out = {0};
    Str error = STR_NONE;
    bool ok = export_onnx(m, &out, &error) &&
              file_write(path, out.at ? out.at : "", out.len, 0644, &error, m->arena);
    if (!ok)
        fprintf(stderr, "error: %.*s\n", STR_ARG(error));
    buf_free(&out);
    return ok ? 0 : 3;
}

// Reads each tensor once, byte by byte of what is in memory.
static int read_elements(Model *m)
{
    int status = 0;
    uint64_t sum = 0;
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->initializers.len; i++) {
            TensorData *t = graph_at(m, g)->initializers.at[i].data;
            Str error = STR_NONE;
            const unsigned char *at = tensor_elements(m, t, &error);
            if (!at) {
                fprintf(stderr, "error: %.*s\n", STR_ARG(error));
                status = 1;
                continue;
            }
            uint64_t bytes = t->nelements * dtype_info((DType)t->dtype)->bytes;
            for (uint64_t k = 0; t->dtype != DT_STRING && k < bytes; k++)
                sum += at[k];
        }
    printf("%llu\n", (unsigned long long)sum);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    Arena *a = arena_new();
    Diags diags;
    diags_init(&diags, a, str_of(argv[1]));
    int status = 0;
    Model *m = load_model(a, argv[1], &diags, &status);
    print_findings(&diags);
    if (m && strcmp(argv[2], "=") == 0)
        status = read_elements(m);
    else if (m && strcmp(argv[2], "-") != 0)
        status = write_model(m, argv[2]);
    if (m)
        load_close(m);
    arena_free(a);
    return status;
}
