#include "base/json.h"

#include <math.h>

static void element(Json *j)
{
    if (j->comma)
        buf_char(j->out, ',');
    j->comma = true;
}

static void open_level(Json *j, char c)
{
    element(j);
    buf_char(j->out, c);
    j->comma = false;
}

static void close_level(Json *j, char c)
{
    buf_char(j->out, c);
    j->comma = true;
}

void json_object(Json *j)
{
    open_level(j, '{');
}

void json_end_object(Json *j)
{
    close_level(j, '}');
}

void json_array(Json *j)
{
    open_level(j, '[');
}

void json_end_array(Json *j)
{
    close_level(j, ']');
}

void json_key(Json *j, const char *key)
{
    json_str(j, str_of(key));
    buf_char(j->out, ':');
    j->comma = false;
}

void json_str(Json *j, Str s)
{
    element(j);
    buf_char(j->out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        if (c == '"' || c == '\\')
            buf_printf(j->out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(j->out, "\\u%04x", c);
        else if (n == 0)
            buf_put(j->out, "\\ufffd", 6);
        else
            buf_put(j->out, s.at + i, n);
        i += n ? n - 1 : 0;
    }
    buf_char(j->out, '"');
}

void json_int(Json *j, int64_t v)
{
    element(j);
    buf_printf(j->out, "%lld", (long long)v);
}

void json_num(Json *j, double v)
{
    element(j);
    if (isfinite(v))
        buf_printf(j->out, "%.17g", v);
    else
        buf_put(j->out, "null", 4);
}

void json_bool(Json *j, bool v)
{
    element(j);
    buf_printf(j->out, "%s", v ? "true" : "false");
}

void json_null(Json *j)
{
    element(j);
    buf_put(j->out, "null", 4);
}

void json_put_str(Json *j, const char *key, Str v)
{
    json_key(j, key);
    json_str(j, v);
}

void json_put_int(Json *j, const char *key, int64_t v)
{
    json_key(j, key);
    json_int(j, v);
}

void json_put_bool(Json *j, const char *key, bool v)
{
    json_key(j, key);
    json_bool(j, v);
}
