#include "codegen/units.h"

#include <string.h>

typedef struct Form {
    const char *begin, *head_ends, *ends; // "ends" closes the line that head_ends is not part of
    const char *defined, *declared;       // what stands instead of `begin`
} Form;

static const Form forms[] = {
    {"static __attribute__((noinline, unused))", "\n{\n", "\n}\n",
     "__attribute__((visibility(\"hidden\"), noinline))",
     "__attribute__((visibility(\"hidden\")))"},
    {"static __attribute__((unused))", " = {\n", "\n};\n",
     "__attribute__((visibility(\"hidden\")))", "extern __attribute__((visibility(\"hidden\")))"},
};

static const char *find(const char *at, const char *end, const char *what)
{
    const char *found = memmem(at, (size_t)(end - at), what, strlen(what));
    return found ? found : end;
}

// The form that begins here, or NULL.
static const Form *form_at(const char *at, const char *end)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t n = strlen(forms[i].begin);
        if ((size_t)(end - at) > n && memcmp(at, forms[i].begin, n) == 0)
            return &forms[i];
    }
    return NULL;
}

static void print_unit(Buf *out, Str text, bool declared)
{
    const char *end = text.at + text.len;
    for (const char *at = text.at, *next; at < end; at = next) {
        const Form *f = form_at(at, end);
        if (!f) {
            next = find(at, end, "\n");
            next += next < end;
            buf_put(out, at, (size_t)(next - at));
            continue;
        }
        const char *rest = at + strlen(f->begin), *head = find(rest, end, f->head_ends);
        next = find(head, end, f->ends);
        next = next < end ? next + strlen(f->ends) : end;
        buf_printf(out, "%s", declared ? f->declared : f->defined);
        buf_put(out, rest, (size_t)((declared ? head : next) - rest));
        if (declared)
            buf_printf(out, ";\n");
    }
}

void unit_define(Buf *out, Str text)
{
    print_unit(out, text, false);
}

void unit_declare(Buf *out, Str text)
{
    print_unit(out, text, true);
}
