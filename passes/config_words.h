// Words of cameo.yaml, and libcyaml's complaints in words for people.
#ifndef CAMEO_PASSES_CONFIG_WORDS_H
#define CAMEO_PASSES_CONFIG_WORDS_H

#include "base/str.h"

// "Expecting SEQUENCE, got event: SCALAR" of field "select": "select is a list, [a, b], not text".
// `field` may be absent. Escaped.
Str config_said(Arena *a, Str message, Str field);

// "2027-01-01", a day that is in the calendar.
bool config_is_date(const char *s);

#endif
