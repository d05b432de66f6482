// Inputs from folders of serialized tensors, from files by name or in order, or made up.

#include "tools/inputs.h"
#include "base/file.h"
#include "ir/dtype.h"

#include <stdlib.h>
#include <string.h>

static bool is_list(const cameo_model *m, int32_t i)
{
    return m->input_types && m->input_types[i];
}

int inputs_begin(const Tool *t, const cameo_model *m, Inputs *in)
{
    size_t n = (size_t)m->ninputs + 1;
    *in = (Inputs){calloc(n, sizeof *in->tensors),
                   calloc(n, sizeof *in->lists),
                   calloc(n, sizeof *in->given),
                   calloc(n, sizeof *in->paths),
                   m->ninputs,
                   NULL};
    return in->tensors && in->lists && in->given && in->paths
               ? EXIT_CLEAN
               : tool_error(t, EXIT_BYTES, "not enough memory");
}

static void note_given(Inputs *in, int32_t i, const char *path)
{
    in->given[i] = true;
    in->paths[i] = strdup(path); // without one a message says less
}

static int load(const Tool *t, const cameo_model *m, int32_t i, const char *path, Inputs *in)
{
    char error[512];
    if (in->given[i])
        return tool_error(t, EXIT_USAGE, "%s: input %s is given twice", path, m->inputs[i].name);
    note_given(in, i, path);
    int status =
        is_list(m, i)
            ? cameo_load_object(path, m->input_types[i], &in->lists[i], error, sizeof error)
            : cameo_load_tensor(path, m->inputs[i].dtype, &in->tensors[i], error, sizeof error);
    return status ? tool_error(t, status, "%s", error) : EXIT_CLEAN;
}

int inputs_from_file(const Tool *t, const cameo_model *m, int32_t input, const char *path,
                     Inputs *in)
{
    return load(t, m, input, path, in);
}

// Is it one that a tool has added, and gives itself?
static bool is_ours(const cameo_model *m, int32_t i)
{
    return strncmp(m->inputs[i].name, "cameo.", 6) == 0;
}

// The names of the inputs that files may be given for.
static void put_names(const cameo_model *m, Buf *names)
{
    for (int32_t i = 0; i < m->ninputs; i++) {
        if (is_ours(m, i))
            continue;
        buf_printf(names, names->len ? ", " : "");
        buf_quoted(names, str_of(m->inputs[i].name));
    }
}

static int no_such_member(const Tool *t, const cameo_model *m, const char *path, const char *name)
{
    Buf names = {0};
    put_names(m, &names);
    int status = tool_error(
        t, EXIT_USAGE, "%s: holds \"%s\", which is no input that is a tensor: the model has %.*s",
        path, name, (int)names.len, names.at ? names.at : "no input");
    buf_free(&names);
    return status;
}

static int load_member(const Tool *t, const cameo_model *m, const char *path, const char *name,
                       Str bytes, Inputs *in)
{
    char error[512];
    int32_t i = 0;
    while (i < m->ninputs && strcmp(m->inputs[i].name, name) != 0)
        i++;
    if (i == m->ninputs || is_list(m, i))
        return no_such_member(t, m, path, name);
    if (in->given[i])
        return tool_error(t, EXIT_USAGE, "%s: input %s is given twice", path, name);
    if (cameo_read_npy((const unsigned char *)bytes.at, bytes.len, m->inputs[i].dtype,
                       &in->tensors[i], error, sizeof error))
        return tool_error(t, EXIT_USAGE, "%s: %s", path, error);
    note_given(in, i, path);
    return EXIT_CLEAN;
}

int inputs_from_npz(const Tool *t, const cameo_model *m, const char *path, Inputs *in)
{
    char error[512] = "", name[256];
    size_t len, next = 0, n;
    const unsigned char *member;
    unsigned char *at = cameo_read_file(path, &len, error, sizeof error);
    if (!at)
        return tool_error(t, EXIT_BYTES, "%s", error);
    int status = EXIT_CLEAN, more;
    while ((more = cameo_next_npz(at, len, &next, &member, &n, name, sizeof name, error,
                                  sizeof error)) == 1 &&
           !status)
        status = load_member(t, m, path, name, (Str){(const char *)member, n}, in);
    if (more < 0 && !status)
        status = tool_error(t, EXIT_USAGE, "%s: %s", path, error);
    free(at);
    return status;
}

// The input that the argument names, at the longest name in front of a '='; -1: none.
static int32_t named(const cameo_model *m, const char *argument, size_t *len)
{
    int32_t best = -1;
    for (const char *at = strchr(argument, '='); at; at = strchr(at + 1, '='))
        for (int32_t i = 0; i < m->ninputs; i++)
            if (strlen(m->inputs[i].name) == (size_t)(at - argument) &&
                memcmp(m->inputs[i].name, argument, (size_t)(at - argument)) == 0) {
                best = i;
                *len = (size_t)(at - argument);
            }
    return best;
}

// "NAME=FILE" of no name that the model has.
static int no_such_input(const Tool *t, const cameo_model *m, const char *argument)
{
    Buf names = {0};
    put_names(m, &names);
    int status = tool_error(t, EXIT_USAGE, "%s: the model has no input \"%.*s\", it has %.*s",
                            argument, (int)strcspn(argument, "="), argument, (int)names.len,
                            names.at ? names.at : "none");
    buf_free(&names);
    return status;
}

int inputs_from_argument(const Tool *t, const cameo_model *m, const char *argument, Inputs *in)
{
    size_t len = 0;
    int32_t i = named(m, argument, &len);
    if (i >= 0)
        return load(t, m, i, argument + len + 1, in);
    if (strchr(argument, '=') && !file_exists(argument))
        return no_such_input(t, m, argument);
    for (i = 0; i < m->ninputs && in->given[i]; i++)
        ;
    int32_t own = 0;
    for (int32_t k = 0; k < m->ninputs; k++)
        own += !is_ours(m, k);
    if (i == m->ninputs)
        return tool_error(t, EXIT_USAGE, "%s: the model has only %d input%s", argument, (int)own,
                          own == 1 ? "" : "s");
    return load(t, m, i, argument, in);
}

uint32_t inputs_draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 40);
}

static int make_up(const Tool *t, const cameo_port *p, uint64_t seed, cameo_tensor *x)
{
    const DTypeInfo *info = dtype_info((DType)p->dtype);
    x->dtype = p->dtype;
    x->rank = p->rank;
    for (int32_t k = 0; k < p->rank; k++)
        x->dims[k] = p->dims[k] >= 0 ? p->dims[k] : 1;
    x->count = cameo_bytes(1, x->rank, x->dims);
    bool numbers = info->kind != KIND_STRING && info->kind != KIND_NONE && x->count >= 0;
    x->elements = numbers ? calloc((size_t)x->count + 1, info->bytes) : NULL;
    if (!x->elements)
        return tool_error(t, EXIT_USAGE, "input %s cannot be made up: it has to be given", p->name);
    for (int64_t k = 0; k < x->count && dtype_is_float((DType)p->dtype); k++) {
        double v = (double)inputs_draw(&seed) / (1 << 23) - 1;
        scalar_store((DType)p->dtype, (char *)x->elements + (size_t)k * info->bytes,
                     (Scalar){.f = v});
    }
    return EXIT_CLEAN;
}

int inputs_make_up(const Tool *t, const cameo_model *m, Inputs *in)
{
    int status = EXIT_CLEAN;
    for (int32_t i = 0; i < m->ninputs && !status; i++) {
        if (in->given[i])
            continue;
        if (is_list(m, i))
            status = tool_error(t, EXIT_USAGE, "input %s is no tensor: it has to be given",
                                m->inputs[i].name);
        else
            status = make_up(t, &m->inputs[i], 0x9e3779b97f4a7c15u + (uint64_t)i, &in->tensors[i]);
        in->given[i] = true;
    }
    return status;
}

int inputs_set(const Tool *t, const cameo_model *m, cameo_context *x, const Inputs *in)
{
    for (int32_t i = 0; i < m->ninputs; i++) {
        const cameo_tensor *v = &in->tensors[i];
        if (!in->given[i])
            return tool_error(t, EXIT_USAGE, "input %s is missing", m->inputs[i].name);
        int failed = is_list(m, i) ? m->set_object(x, i, &in->lists[i].object)
                                   : m->set_input(x, i, v->dtype, v->rank, v->dims, v->elements);
        if (failed && in->paths && in->paths[i])
            return tool_error(t, EXIT_USAGE, "%s: %s", in->paths[i], m->error(x));
        if (failed)
            return tool_error(t, EXIT_USAGE, "%s", m->error(x));
    }
    return EXIT_CLEAN;
}

void inputs_free(const cameo_model *m, Inputs *in)
{
    for (int32_t i = 0; in->tensors && in->lists && i < in->n; i++) {
        cameo_tensor_free(&in->tensors[i]);
        if (is_list(m, i))
            cameo_free_object(&in->lists[i]);
    }
    for (int32_t i = 0; in->paths && i < in->n; i++)
        free(in->paths[i]);
    free(in->paths);
    free(in->tensors);
    free(in->lists);
    free(in->given);
    *in = (Inputs){0};
}
