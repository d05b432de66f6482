// Looking up the schemas' facts. The generated rows are sorted by domain, name and version.

#include "ir/registry.h"

#include <string.h>

#include "ir/schema.inc"

enum { NSCHEMAS = sizeof schemas / sizeof *schemas };

const Schema *schema_at(uint32_t i)
{
    return i < NSCHEMAS ? &schemas[i] : NULL;
}

static int compare_key(Str domain, Str op, const Schema *s)
{
    int c = str_cmp(domain, str_of(s->domain));
    return c ? c : str_cmp(op, str_of(s->name));
}

const Schema *schema_find(Str domain, Str op, int64_t opset)
{
    uint32_t low = 0, high = NSCHEMAS;
    const Schema *best = NULL;
    if (str_is(domain, "ai.onnx"))
        domain = STR("");
    while (low < high) { // the first row of (domain, op)
        uint32_t mid = (low + high) / 2;
        if (compare_key(domain, op, &schemas[mid]) > 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < NSCHEMAS && compare_key(domain, op, &schemas[low]) == 0; low++)
        if (schemas[low].since <= opset)
            best = &schemas[low];
    return best;
}

bool schema_has_domain(Str domain)
{
    if (str_is(domain, "ai.onnx"))
        return true;
    for (uint32_t i = 0; i < NSCHEMAS; i++)
        if (str_is(domain, schemas[i].domain))
            return true;
    return false;
}
