// roundtrip IN OUT: imports a model and exports it again. "-" as OUT: import only.
#include "frontend/export.h"
#include "frontend/load.h"

#include <string.h>

static void print_findings(const Diags *diags)
{
    Buf b = {0};
    for (uint32_t i = 0; i < diags->all.len; i++)
        diag_print(diags->all.at[i], &b, false);
    fwrite(b.at ? b.at : "", 1, b.len, stderr);
    buf_free(&b);
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
    if (m && strcmp(argv[2], "-") != 0) {
        Buf out = {0};
        Str error = STR_NONE;
        bool ok = export_onnx(m, &out, &error) &&
                  file_write(argv[2], out.at ? out.at : "", out.len, 0644, &error, a);
        if (!ok)
            fprintf(stderr, "error: %.*s\n", STR_ARG(error));
        status = ok ? 0 : 3;
        buf_free(&out);
    }
    if (m)
        load_close(m);
    arena_free(a);
    return status;
}
