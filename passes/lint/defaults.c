// DT014: dtypes that nobody wrote.

#include "passes/lint/story.h"

#include <string.h>

const char *lint_default_dtype(const Node *n)
{
    static const char *const random[] = {"RandomNormal", "RandomUniform"};
    if (node_is(n, "ConstantOfShape"))
        return node_has_attr(n, "value") ? NULL : "value";
    for (size_t i = 0; i < sizeof random / sizeof *random; i++)
        if (node_is(n, random[i]))
            return node_has_attr(n, "dtype") ? NULL : "dtype";
    return NULL;
}
