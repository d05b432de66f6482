#include "passes/config_words.h"

#include <string.h>

static const char *kind_of(Str word)
{
    static const struct {
        const char *word, *kind;
    } kinds[] = {{"SEQUENCE", "a list, [a, b]"},
                 {"MAPPING", "a mapping, {key: value}"},
                 {"STRING", "text"},
                 {"INT", "a number"},
                 {"SCALAR", "text"},
                 {"SEQUENCE_START", "a list"},
                 {"MAPPING_START", "a mapping"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(word, kinds[i].word))
            return kinds[i].kind;
    return NULL;
}

Str config_said(Arena *a, Str message, Str field)
{
    static const char first[] = "Expecting ", middle[] = ", got event: ";
    const char *comma = str_starts(message, first) ? strstr(message.at, middle) : NULL;
    size_t n = sizeof first - 1,
           from = comma ? (size_t)(comma - message.at) + sizeof middle - 1 : 0;
    const char *want = comma ? kind_of((Str){message.at + n, (size_t)(comma - message.at) - n}) : 0;
    const char *have = comma ? kind_of((Str){message.at + from, message.len - from}) : NULL;
    Str where = field.len ? str_escaped(a, field) : STR("the file");
    if (want && have)
        return str_printf(a, "%.*s is %s, not %s", STR_ARG(where), want, have);
    if (str_starts(message, "STRING length < 1"))
        return str_printf(a, "%.*s is empty", STR_ARG(where));
    if (field.len && str_starts(message, "Invalid INT value"))
        return str_printf(a, "%.*s is a number, not %.*s", STR_ARG(where),
                          STR_ARG(str_escaped(a, (Str){message.at + 18, message.len - 18})));
    return str_escaped(a, message);
}
