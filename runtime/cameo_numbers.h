/* Casts between strings and numbers. */
#ifndef CAMEO_NUMBERS_H
#define CAMEO_NUMBERS_H

#include "cameo_strings.h"

#include <errno.h>
#include <locale.h>

enum { CAMEO_DIGITS = 512 };

/* The decimal point of the process's locale, which C's functions heed. */
CAMEO_FN char cameo_point(void)
{
    const char *point = localeconv()->decimal_point;
    return point && *point ? *point : '.';
}

/* A number's text with the locale's point, without white space around; NULL: it is none. Real:
 * "1", "-.5", "1e-5", "inf", "nan" in any case. */
CAMEO_FN const char *cameo_number_text(cameo_str s, int real, char *to)
{
    int64_t n = 0, digits = 0, point = 0, power = 0;
    int64_t skip = cameo_space_span(s, 1);
    for (int64_t i = skip; i < s.len && n < CAMEO_DIGITS - 1; i++, n++)
        to[n] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] + 32 : s.at[i]);
    while (n > 0 && cameo_is_space((unsigned char)to[n - 1]))
        n--;
    to[n] = 0;
    const char *word = to + (*to == '-' || *to == '+');
    if (real && (!strcmp(word, "inf") || !strcmp(word, "infinity") || !strcmp(word, "nan")))
        return to;
    for (int64_t i = word - to; i < n; i++) {
        if (to[i] >= '0' && to[i] <= '9') {
            digits++;
        } else if (real && to[i] == '.' && !point && !power) {
            to[i] = cameo_point();
            point = 1;
        } else if (real && to[i] == 'e' && digits && !power) {
            power = 1;
            digits = 0;
            i += to[i + 1] == '-' || to[i + 1] == '+';
        } else {
            return NULL;
        }
    }
    return digits && s.len - skip < CAMEO_DIGITS - 1 ? to : NULL;
}

CAMEO_FN int cameo_no_number(cameo_objects *o, cameo_str s, const char *what)
{
    char shown[64];
    int n = 0;
    for (int64_t i = 0; i < s.len && n < 40; i++)
        shown[n++] = s.at[i] >= ' ' && s.at[i] < 127 ? s.at[i] : '?';
    return cameo_objects_fail(o, "the string \"%.*s\" is no %s", n, shown, what);
}

/* (x) => (y) [dtype]: floats, rounded to float32 where that is asked for. */
CAMEO_FN int cameo_string_to_float(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    double *y = (double *)(uintptr_t)c->writes[0].at;
    char text[CAMEO_DIGITS];
    if (cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        cameo_str s = cameo_string_of(o, cameo_symbols_in(&c->reads[0])[i]);
        const char *at = cameo_number_text(s, 1, text);
        if (!at)
            return cameo_no_number(o, s, "number");
        y[i] = c->n[0] == 1 ? (double)strtof(at, NULL) : strtod(at, NULL);
    }
    return 0;
}

/* (x) => (y) [signed]: 64-bit integers; without a sign as the same bits. */
CAMEO_FN int cameo_string_to_integer(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    int64_t *y = (int64_t *)(uintptr_t)c->writes[0].at;
    char text[CAMEO_DIGITS];
    if (cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        cameo_str s = cameo_string_of(o, cameo_symbols_in(&c->reads[0])[i]);
        const char *at = cameo_number_text(s, 0, text);
        errno = 0;
        if (at)
            y[i] = c->n[0] || *at == '-' ? (int64_t)strtoll(at, NULL, 10)
                                         : (int64_t)strtoull(at, NULL, 10);
        if (!at || errno)
            return cameo_no_number(o, s, "integer of 64 bits");
    }
    return 0;
}

/* A float of dtype t that has been stored as a double is read back from these digits. */
CAMEO_FN int cameo_reads_back(const char *digits, double v, int32_t t)
{
    double r = t == 1 ? (double)strtof(digits, NULL) : strtod(digits, NULL);
    if (t == 10)
        r = (double)cameo_cast_f16_f32(cameo_cast_f64_f16(r));
    else if (t == 16)
        r = (double)cameo_cast_bf16_f32(cameo_cast_f64_bf16(r));
    return r == v;
}

/* The shortest text that reads back as the number: "1.0", "0.25", "1e-05", "1e+16", "nan", "-inf";
 * powers of ten from 1e16 on and below 1e-4. Returns its length. */
CAMEO_FN int cameo_format_float(double v, int32_t t, char *to, size_t room)
{
    char digits[64];
    int precision = 0, n = 0;
    if (isnan(v) || isinf(v))
        return snprintf(to, room, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    do
        snprintf(digits, sizeof digits, "%.*e", precision, v);
    while (precision++ < 17 && !cameo_reads_back(digits, v, t));
    const char *at = digits;
    if (*at == '-')
        to[n++] = *at++;
    char mantissa[32];
    int count = 0, power = atoi(strchr(digits, 'e') + 1);
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            mantissa[count++] = *at;
    while (count > 1 && mantissa[count - 1] == '0')
        count--;
    if (power >= 16 || power < -4) {
        n += snprintf(to + n, room - (size_t)n, "%c%s%.*s", mantissa[0], count > 1 ? "." : "",
                      count - 1, mantissa + 1);
        return n + snprintf(to + n, room - (size_t)n, "e%c%02d", power < 0 ? '-' : '+',
                            power < 0 ? -power : power);
    }
    for (int i = power < 0 ? power : 0; i <= power || i < count || i == power + 1; i++) {
        if (i == power + 1)
            to[n++] = '.';
        to[n++] = i >= 0 && i < count ? mantissa[i] : '0';
    }
    return n;
}

/* (x) => (y) [dtype]: floats as text. */
CAMEO_FN int cameo_float_to_string(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    if (cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        char text[64];
        int n = cameo_format_float(((const double *)c->reads[0].at)[i], (int32_t)c->n[0], text,
                                   sizeof text);
        int64_t symbol = cameo_intern(o, text, n, 0);
        if (symbol < 0)
            return -1;
        cameo_symbols_out(&c->writes[0])[i] = symbol;
    }
    return 0;
}

/* (x) => (y) [kind]: integers as text; 0 without a sign, 1 with one, 2 "False" and "True". */
CAMEO_FN int cameo_integer_to_string(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    if (cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        char text[32];
        int64_t v = ((const int64_t *)c->reads[0].at)[i];
        int n = c->n[0] == 2 ? snprintf(text, sizeof text, "%s", v ? "True" : "False")
                : c->n[0]    ? snprintf(text, sizeof text, "%lld", (long long)v)
                             : snprintf(text, sizeof text, "%llu", (unsigned long long)v);
        int64_t symbol = cameo_intern(o, text, n, 0);
        if (symbol < 0)
            return -1;
        cameo_symbols_out(&c->writes[0])[i] = symbol;
    }
    return 0;
}

#endif
