// libcyaml's complaints in words for people.
#ifndef CAMEO_PASSES_CONFIG_WORDS_H
#define CAMEO_PASSES_CONFIG_WORDS_H

#include "base/str.h"

// "Expecting SEQUENCE, got event: SCALAR" of field "select": "select is a list, [a, b], not text".
// `field` may be absent. Escaped.
Str config_said(Arena *a, Str message, Str field);

#endif
