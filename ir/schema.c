// Looking up the schemas' facts. The generated rows are sorted by domain, name and version.

#include "ir/registry.h"

#include <string.h>

#include "ir/schema.inc"
#include "ir/schema_microsoft.inc"

// Each is sorted by itself; the first one that knows an operator answers for it.
static const struct {
    const Schema *at;
    uint32_t n;
} tables[] = {
    {schemas, sizeof schemas / sizeof *schemas},
    {schemas_microsoft, sizeof schemas_microsoft / sizeof *schemas_microsoft},
};
enum { NTABLES = sizeof tables / sizeof *tables };

const Schema *schema_at(uint32_t i)
{
    for (uint32_t t = 0; t < NTABLES; i -= tables[t++].n)
        if (i < tables[t].n)
            return &tables[t].at[i];
    return NULL;
}

static int compare_key(Str domain, Str op, const Schema *s)
{
    int c = str_cmp(domain, str_of(s->domain));
    return c ? c : str_cmp(op, str_of(s->name));
}

static const Schema *find_in(const Schema *rows, uint32_t n, Str domain, Str op, int64_t opset)
{
    uint32_t low = 0, high = n;
    const Schema *best = NULL;
    while (low < high) { // the first row of (domain, op)
        uint32_t mid = (low + high) / 2;
        if (compare_key(domain, op, &rows[mid]) > 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < n && compare_key(domain, op, &rows[low]) == 0; low++)
        if (rows[low].since <= opset)
            best = &rows[low];
    return best;
}

const Schema *schema_find(Str domain, Str op, int64_t opset)
{
    const Schema *best = NULL;
    if (str_is(domain, "ai.onnx"))
        domain = STR("");
    for (uint32_t t = 0; t < NTABLES && !best; t++)
        best = find_in(tables[t].at, tables[t].n, domain, op, opset);
    return best;
}

bool schema_has_domain(Str domain)
{
    if (str_is(domain, "ai.onnx"))
        return true;
    for (uint32_t i = 0; schema_at(i); i++)
        if (str_is(domain, schema_at(i)->domain))
            return true;
    return false;
}
