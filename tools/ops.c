// cameo ops: each operator with the versions and dtypes that are supported, from the registry.

#include "base/json.h"
#include "ir/registry.h"
#include "tools/tool.h"

#include <string.h>

enum { OPT_FORMAT, OPT_JSON, NEWEST = 1 << 20, FIRST_OPSET = 7, NAME_WIDTH = 34, RANGE_WIDTH = 24 };

static const ToolOption options[] = {
    [OPT_FORMAT] = {"--format", "FORMAT", "text (default) or json"},
    [OPT_JSON] = {"--json", NULL, "the same as --format json"},
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

// What is no tensor, by the bits of a TypeSet.
static const struct {
    TypeSet bit;
    const char *name;
} nested[] = {{TYPESET_SEQUENCE, "sequence"}, {TYPESET_OPTIONAL, "optional"}, {TYPESET_MAP, "map"}};
enum { NNESTED = sizeof nested / sizeof *nested };

// Programs hold tensors of every dtype, and what is made of them.
static TypeSet supported_types(const SchemaParam *p)
{
    TypeSet kept = 0;
    for (int t = 1; t < DT_COUNT; t++)
        kept |= p->types & (TypeSet)1 << t;
    for (int i = 0; i < NNESTED; i++)
        kept |= p->types & nested[i].bit;
    return kept;
}

static const SchemaParam *param_at(const Schema *s, uint32_t i)
{
    return i < s->ninputs ? &s->inputs[i] : &s->outputs[i - s->ninputs];
}

// The operand that most dtypes are allowed for, which a line of the table shows.
static TypeSet widest_types(const Schema *s)
{
    TypeSet widest = 0;
    for (uint32_t i = 0; i < s->ninputs + s->noutputs; i++) {
        TypeSet types = supported_types(param_at(s, i));
        if (__builtin_popcountll(types) > __builtin_popcountll(widest))
            widest = types;
    }
    return widest;
}

// Values that are no tensors of numbers live on the host; kernels run everywhere.
static bool runs_on_cuda(const Schema *s)
{
    TypeSet types = widest_types(s);
    for (int t = 1; t < DT_COUNT; t++)
        if (types >> t & 1 && t != DT_STRING)
            return true;
    return false;
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

// dtypes by kind and width, as tables show them: the place of t among them.
static int rank_of(DType t)
{
    static const int kinds[] = {[KIND_BOOL] = 0,  [KIND_UNSIGNED] = 1, [KIND_SIGNED] = 2,
                                [KIND_FLOAT] = 3, [KIND_COMPLEX] = 4,  [KIND_STRING] = 5};
    return kinds[dtype_info(t)->kind] * 10000 + dtype_info(t)->bits * 32 + (int)t;
}

static void put_types(Buf *b, TypeSet types)
{
    bool any = false;
    for (int last = -1;;) {
        int best = 0;
        for (int t = 1; t < DT_COUNT; t++)
            if (types >> t & 1 && rank_of((DType)t) > last &&
                (!best || rank_of((DType)t) < rank_of((DType)best)))
                best = t;
        if (!best)
            break;
        buf_printf(b, "%s%s", any ? " " : "", dtype_info((DType)best)->abbrev);
        last = rank_of((DType)best);
        any = true;
    }
    for (int i = 0; i < NNESTED; i++)
        if (types & nested[i].bit) {
            buf_printf(b, "%s%s", any ? " " : "", nested[i].name);
            any = true;
        }
    if (!any)
        buf_printf(b, "none");
}

static void put_all_types(Buf *b, const Schema *s)
{
    for (uint32_t i = 0; i < s->ninputs + s->noutputs; i++) {
        const SchemaParam *p = param_at(s, i);
        if (!names_variable_first(s, i))
            continue;
        buf_printf(b, "    %s: ", p->type_var ? p->type_var : p->name);
        put_types(b, supported_types(p));
        buf_char(b, '\n');
    }
}

static void put_name(Buf *b, const Schema *s)
{
    buf_printf(b, "%s%s%s", s->domain, s->domain[0] ? "." : "", s->name);
}

static void put_range(Buf *b, int first, int until)
{
    if (until == NEWEST)
        buf_printf(b, "%d and later", first);
    else if (until > first)
        buf_printf(b, "%d to %d", first, until);
    else
        buf_printf(b, "%d", first);
}

static void print_buf(Buf *b)
{
    if (b->len)
        fwrite(b->at, 1, b->len, stdout);
    buf_free(b);
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
    if (v->def && runs_on_cuda(s))
        json_str(j, STR("cuda"));
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
        for (int n = 0; n < NNESTED; n++)
            if (supported_types(p) & nested[n].bit)
                json_str(j, str_of(nested[n].name));
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

// The opsets from FIRST_OPSET on (all, of other domains than the standard one) at which the
// operator has a meaning here: "all since 7", or the ranges. False if there are none.
static bool put_versions(Buf *b, uint32_t first, uint32_t end)
{
    bool gap = false, any = false;
    int begin = 0, until = 0;
    Buf ranges = {0};
    for (uint32_t i = first; i < end; i++) {
        Version v = version_at(i);
        int since = v.schema->since;
        if (!v.schema->domain[0] && v.until < FIRST_OPSET)
            continue;
        since = !v.schema->domain[0] && since < FIRST_OPSET ? FIRST_OPSET : since;
        gap = gap || (!v.def && !v.schema->deprecated);
        if (!v.def)
            continue;
        if (any && until + 1 == since) {
            until = v.until;
            continue;
        }
        if (any) {
            put_range(&ranges, begin, until);
            buf_printf(&ranges, ", ");
        }
        begin = since;
        until = v.until;
        any = true;
    }
    if (any)
        put_range(&ranges, begin, until);
    if (any && !gap && until == NEWEST)
        buf_printf(b, "all since %d", begin);
    else if (any)
        buf_printf(b, "%.*s", (int)ranges.len, ranges.at);
    buf_free(&ranges);
    return any;
}

static void pad_to(Buf *b, size_t column)
{
    do
        buf_char(b, ' ');
    while (b->len < column);
}

// One line an operator: name, versions with a meaning, dtypes of the newest one's widest operand.
static bool print_line(uint32_t first, uint32_t end)
{
    Buf b = {0};
    const Schema *newest = NULL;
    put_name(&b, schema_at(first));
    pad_to(&b, NAME_WIDTH);
    bool any = put_versions(&b, first, end);
    for (uint32_t i = first; i < end; i++)
        if (version_at(i).def)
            newest = schema_at(i);
    if (any) {
        pad_to(&b, NAME_WIDTH + RANGE_WIDTH);
        put_types(&b, widest_types(newest));
    }
    buf_char(&b, '\n');
    if (any)
        print_buf(&b);
    else
        buf_free(&b);
    return any;
}

static const char *standing(const Version *v)
{
    if (!v->def)
        return v->schema->deprecated ? "deprecated" : "not supported";
    return runs_on_cuda(v->schema) ? "cpu, cuda" : "cpu";
}

static void print_whole(uint32_t first, uint32_t end)
{
    Buf b = {0};
    put_name(&b, schema_at(first));
    buf_char(&b, '\n');
    for (uint32_t i = first; i < end; i++) {
        Version v = version_at(i);
        buf_printf(&b, "  ");
        put_range(&b, v.schema->since, v.until);
        buf_printf(&b, ": %s\n", standing(&v));
        if (v.def)
            put_all_types(&b, v.schema);
    }
    print_buf(&b);
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

// Those without any meaning here, at the foot of the table.
static void print_missing(void)
{
    Buf b = {0};
    for (uint32_t i = 0; schema_at(i); i = end_of(i)) {
        bool any = false, current = false;
        for (uint32_t k = i; k < end_of(i); k++) {
            any = any || version_at(k).def;
            current = current || !schema_at(k)->deprecated;
        }
        if (any || !current)
            continue;
        buf_printf(&b, "%s", b.len ? ", " : "not supported: ");
        put_name(&b, schema_at(i));
    }
    if (b.len)
        buf_char(&b, '\n');
    print_buf(&b);
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
    if (!j->out && !op) {
        print_missing();
        printf("%u of %u operators\n", meant, names);
    }
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
        else if (option == OPT_JSON || strcmp(value, "json") == 0)
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

const Tool tool_ops = {"ops", "[OP] [--json]", "lists the operators and dtypes that are supported",
                       options, run};
