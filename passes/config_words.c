#include "passes/config_words.h"

#include <stdlib.h>
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
    static const char missing[] = "Missing required mapping field: ";
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
    if (str_starts(message, missing))
        return str_printf(a, "the entry lacks the key %.*s", (int)(message.len - strlen(missing)),
                          message.at + strlen(missing));
    if (str_starts(message, "YAML alias unsupported"))
        return STR("an alias (*name) is not taken here: write out what it stands for");
    if (field.len && str_starts(message, "Invalid INT value"))
        return str_printf(a, "%.*s is a number, not %.*s", STR_ARG(where),
                          STR_ARG(str_escaped(a, (Str){message.at + 18, message.len - 18})));
    return str_escaped(a, message);
}

bool config_is_date(const char *s)
{
    static const char form[] = "dddd-dd-dd";
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    size_t i = 0;
    for (; form[i] && s[i]; i++)
        if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
            return false;
    if (form[i] || s[i])
        return false;
    int year = atoi(s), month = atoi(s + 5), day = atoi(s + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}
