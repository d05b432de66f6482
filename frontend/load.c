#include "frontend/load.h"

#include "ir/text.h"

#include <string.h>

// Text begins with a letter, '<', a comment or blanks; the first byte of a binary model is the tag
// of one of its fields, and the second is no such character.
static bool looks_textual(Str s)
{
    size_t i = 0;
    while (i < s.len && i < 64 && strchr(" \t\r\n", s.at[i]) && s.at[i])
        i++;
    Str rest = {s.at + i, s.len - i};
    if (rest.len && (rest.at[0] == '<' || rest.at[0] == '#' || rest.at[0] == '/'))
        return true;
    return str_starts(rest, "cameo.ir/");
}

static bool is_text(const char *path, Str bytes)
{
    Str name = str_of(path);
    if (str_ends(name, ".onnxtxt") || str_ends(name, ".cir"))
        return true;
    return !str_ends(name, ".onnx") && looks_textual(bytes);
}

Model *load_model_within(Arena *a, const char *path, const ImportLimits *limits, Diags *diags,
                         int *exit_status)
{
    FileView view;
    Str error = STR_NONE;
    *exit_status = 0;
    if (!file_open(a, path, &view, &error)) {
        diag(diags, "", SEV_ERROR, STR_NONE, "%.*s", STR_ARG(error));
        *exit_status = 3;
        return NULL;
    }
    Str bytes = {(const char *)view.at, view.len};
    bool text = is_text(path, bytes);
    Model *m =
        text ? text_parse(a, path, bytes, diags) : import_onnx(a, path, &view, limits, diags);
    if (!m) {
        *exit_status = 3;
        file_close(&view);
        return NULL;
    }
    m->view = view;
    return m;
}

Model *load_model(Arena *a, const char *path, Diags *diags, int *exit_status)
{
    ImportLimits limits = import_limits_default();
    return load_model_within(a, path, &limits, diags, exit_status);
}

Model *load_text(Arena *a, const char *path, Str text, Diags *diags, int *exit_status)
{
    Model *m = text_parse(a, path, text, diags);
    *exit_status = m ? 0 : 3;
    return m;
}

Model *load_copy(Arena *a, const Model *m, Diags *diags)
{
    const ImportLimits limits = import_limits_default();
    Str bytes = {(const char *)m->view.at, m->view.len};
    Model *copy = is_text(m->path, bytes) ? text_parse(a, m->path, bytes, diags)
                                          : import_onnx(a, m->path, &m->view, &limits, diags);
    if (!copy)
        return NULL;
    copy->view = m->view;
    model_lend(copy, m);
    copy->config = m->config;
    copy->contracts = m->contracts;
    copy->known = a == m->arena ? m->known : NULL; // it lies there
    return copy;
}

void load_close(Model *m)
{
    FileView view = m->view;
    model_close(m);
    m->view = (FileView){0};
    file_close(&view);
}
