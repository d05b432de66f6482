// cameo ops: each operator with the versions and dtypes that are supported, from the registry.

#include "base/json.h"
#include "ir/registry.h"
#include "tools/tool.h"

#include <string.h>

enum { OPT_FORMAT, NEWEST = 1 << 20 };

static const ToolOption options[] = {
    [OPT_FORMAT] = {"--format", "FORMAT", "text (default) or json"},
    {0},
};

// One version of an operator in the standard, and the row that gives it a meaning.
typedef struct Version {
    const Schema *schema;
    int until; // the last opset version it holds in; NEWEST: still
    const OpDef *def;
} Version;

static Version version_at(uint32_t i)
{
    const Schema *s = schema_at(i), *next = schema_at(i + 1);
    Version v = {s, NEWEST, NULL};
    if (next && strcmp(next->name, s->name) == 0 && strcmp(next->domain, s->domain) == 0)
        v.until = next->since - 1;
    if (!s->deprecated)
        v.def = op_find(str_of(s->domain), str_of(s->name), s->since);
    if (v.def && !v.def->lower)
        v.def = NULL;
    return v;
}

// Programs hold numbers and truth values: what else the standard allows is refused.
static TypeSet supported_types(const SchemaParam *p)
{
    TypeSet kept = 0;
    for (int t = 1; t < DT_COUNT; t++) {
        DTypeKind kind = dtype_info((DType)t)->kind;
        if (kind != KIND_STRING && kind != KIND_COMPLEX)
            kept |= p->types & (TypeSet)1 << t;
    }
    return kept;
}

static const SchemaParam *param_at(const Schema *s, uint32_t i)
{
    return i < s->ninputs ? &s->inputs[i] : &s->outputs[i - s->ninputs];
}

// Is it the first parameter with its type variable?
static bool names_variable_first(const Schema *s, uint32_t i)
{
    const SchemaParam *p = param_at(s, i);
    for (uint32_t k = 0; p->type_var && k < i; k++) {
        const char *var = param_at(s, k)->type_var;
        if (var && strcmp(var, p->type_var) == 0)
            return false;
    }
    return true;
}

static void put_types(Buf *b, TypeSet types)
{
    bool any = false;
    for (int t = 1; t < DT_COUNT; t++)
        if (types >> t & 1) {
            buf_printf(b, "%s%s", any ? " " : "", dtype_info((DType)t)->abbrev);
            any = true;
        }
    if (!any)
        buf_printf(b, "none");
}

static void print_types(const Schema *s)
{
    Buf b = {0};
    for (uint32_t i = 0; i < s->ninputs + s->noutputs; i++) {
        const SchemaParam *p = param_at(s, i);
        if (!names_variable_first(s, i))
            continue;
        buf_printf(&b, "    %s: ", p->type_var ? p->type_var : p->name);
        put_types(&b, supported_types(p));
        buf_char(&b, '\n');
    }
    if (b.len)
        fwrite(b.at, 1, b.len, stdout);
    buf_free(&b);
}

static void print_name(const Schema *s)
{
    printf("%s%s%s", s->domain, s->domain[0] ? "." : "", s->name);
}

static void print_range(const Version *v)
{
    if (v->until == NEWEST)
        printf("%d and later", v->schema->since);
    else if (v->until > v->schema->since)
        printf("%d to %d", v->schema->since, v->until);
    else
        printf("%d", v->schema->since);
}

static void json_version(Json *j, const Version *v)
{
    const Schema *s = v->schema;
    json_object(j);
    json_key(j, "since");
    json_int(j, s->since);
    json_key(j, "until");
    if (v->until == NEWEST)
        json_null(j);
    else
        json_int(j, v->until);
    json_key(j, "deprecated");
    json_bool(j, s->deprecated);
    json_key(j, "devices");
    json_array(j);
    if (v->def)
        json_str(j, STR("cpu"));
    json_end_array(j);
    json_key(j, "types");
    json_object(j);
    for (uint32_t i = 0; v->def && i < s->ninputs + s->noutputs; i++) {
        const SchemaParam *p = param_at(s, i);
        if (!names_variable_first(s, i))
            continue;
        json_key(j, p->type_var ? p->type_var : p->name);
        json_array(j);
        for (int t = 1; t < DT_COUNT; t++)
            if (supported_types(p) >> t & 1)
                json_str(j, str_of(dtype_name((DType)t)));
        json_end_array(j);
    }
    json_end_object(j);
    json_end_object(j);
}

// The row after the last of the operator that begins at i.
static uint32_t end_of(uint32_t i)
{
    const Schema *s = schema_at(i);
    uint32_t k = i + 1;
    for (const Schema *n; (n = schema_at(k)); k++)
        if (strcmp(n->name, s->name) != 0 || strcmp(n->domain, s->domain) != 0)
            break;
    return k;
}

static bool is_asked(const Schema *s, const char *op)
{
    if (!op || strcmp(s->name, op) == 0)
        return true;
    size_t n = strlen(s->domain);
    return n && strncmp(op, s->domain, n) == 0 && op[n] == '.' && strcmp(op + n + 1, s->name) == 0;
}

// One line an operator: the versions with a meaning.
static bool print_line(uint32_t first, uint32_t end)
{
    bool any = false;
    for (uint32_t i = first; i < end; i++) {
        Version v = version_at(i);
        if (!v.def)
            continue;
        if (!any)
            print_name(v.schema);
        printf("%s", any ? ", " : "  cpu ");
        print_range(&v);
        any = true;
    }
    if (any)
        printf("\n");
    return any;
}

static void print_whole(uint32_t first, uint32_t end)
{
    print_name(schema_at(first));
    printf("\n");
    for (uint32_t i = first; i < end; i++) {
        Version v = version_at(i);
        printf("  ");
        print_range(&v);
        printf(": %s\n", v.def ? "cpu" : v.schema->deprecated ? "deprecated" : "not supported");
        if (v.def)
            print_types(v.schema);
    }
}

static void json_op(Json *j, uint32_t first, uint32_t end)
{
    json_object(j);
    json_key(j, "name");
    json_str(j, str_of(schema_at(first)->name));
    json_key(j, "domain");
    json_str(j, str_of(schema_at(first)->domain));
    json_key(j, "versions");
    json_array(j);
    for (uint32_t i = first; i < end; i++) {
        Version v = version_at(i);
        json_version(j, &v);
    }
    json_end_array(j);
    json_end_object(j);
}

static uint32_t list(const char *op, Json *j)
{
    uint32_t found = 0, meant = 0, names = 0;
    for (uint32_t i = 0; schema_at(i); i = end_of(i)) {
        names++;
        if (!is_asked(schema_at(i), op))
            continue;
        found++;
        if (j->out)
            json_op(j, i, end_of(i));
        else if (op)
            print_whole(i, end_of(i));
        else
            meant += print_line(i, end_of(i));
    }
    if (!j->out && !op)
        printf("%u of the standard's %u operators\n", meant, names);
    return found;
}

static int run(const Tool *t, int argc, char **argv)
{
    Args args = args_of(t, argc, argv);
    const char *value, *op = NULL;
    Buf out = {0};
    Json j = {0};
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP)
            return EXIT_CLEAN;
        if (option == ARG_BAD)
            return EXIT_USAGE;
        if (option == ARG_FILE)
            op = value;
        else if (strcmp(value, "json") == 0)
            j.out = &out;
        else if (strcmp(value, "text") != 0)
            return tool_error(t, EXIT_USAGE, "there is no format %s", value);
    }
    if (j.out) {
        json_object(&j);
        json_key(&j, "schema");
        json_str(&j, STR("cameo.ops/1"));
        json_key(&j, "ops");
        json_array(&j);
    }
    uint32_t found = list(op, &j);
    if (j.out && found) {
        json_end_array(&j);
        json_end_object(&j);
        printf("%s\n", out.at);
    }
    buf_free(&out);
    if (!found)
        return tool_error(t, EXIT_FINDINGS, "the standard has no operator %s", op);
    return EXIT_CLEAN;
}

const Tool tool_ops = {"ops", "[OP] [--format json]",
                       "lists the operators and dtypes that are supported", options, run};
