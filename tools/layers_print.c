// The report of cameo verify --layers as text, JSON and CSV.

#include "base/json.h"
#include "ir/float_form.h"
#include "tools/layers.h"

#include <math.h>
#include <stdlib.h>

enum { NAME_WIDTH = 36, OP_WIDTH = 18, LISTED = 5 };

// ---- text --------------------------------------------------------------------------------------

// At most `width` bytes of the name, its end where it is longer, padded.
static void put_name(Buf *out, Str name, size_t width)
{
    Buf text = {0};
    buf_escaped(&text, name);
    size_t skip = text.len > width ? text.len - width + 2 : 0;
    buf_printf(out, "%s%-*s ", skip ? ".." : "", (int)(skip ? width - 2 : width),
               text.at ? text.at + skip : "");
    buf_free(&text);
}

static void put_calls(const ShadowValue *v, const char *between, Buf *out)
{
    if (v->call.len)
        buf_printf(out, "%scalled at %.*s", between, STR_ARG(v->call));
}

static void put_note(const Layers *s, const Layer *l, Buf *out)
{
    const double *n = l->numbers;
    if (l->missing)
        buf_printf(out, "  not compared%s%s", l->why ? ": " : "", l->why ? l->why : "");
    if (!l->missing && !(n[DRIFT_COUNT] > 0))
        buf_printf(out, "  not computed");
    if (l->partner)
        buf_printf(out, "  beside %s", l->partner);
    if (n[DRIFT_FLIPS] > 0)
        buf_printf(out, "  %.0f of %.0f flip", n[DRIFT_FLIPS], n[DRIFT_COUNT]);
    if (n[DRIFT_NONFINITE] > 0)
        buf_printf(out, "  %.0f not finite from [%.0f]", n[DRIFT_NONFINITE], n[DRIFT_NONFINITE_AT]);
    if (n[DRIFT_LOST] > 0)
        buf_printf(out, ", %.0f of them finite in the shadow", n[DRIFT_LOST]);
    if (l->value.kind == SHADOW_RESTART)
        buf_printf(out, "  runs as it is: the shadow begins anew");
    if (l->value.anew)
        buf_printf(out, "  of what is no float: the shadow begins anew");
    bool apart = n[DRIFT_MAX_TOTAL] > 0 || n[DRIFT_FLIPS] > 0;
    if (l->rows && apart)
        buf_printf(out, "  worst in iteration %.0f of %lld", n[DRIFT_ITERATION],
                   (long long)l->nrows);
    else if (l->value.loops && apart)
        buf_printf(out, "  worst in iteration %.0f", n[DRIFT_ITERATION]);
    if (layer_is_over(s, l))
        buf_printf(out, "  <-- over %g", s->threshold);
    put_calls(&l->value, "  ", out);
}

// Is an element off by as much as it is, so that units in its last place say nothing?
static bool no_digits(const Layer *l)
{
    return dtype_is_float(l->value.dtype) &&
           l->numbers[DRIFT_MAX_ULP] >= ldexp(2, float_form(l->value.dtype).bits);
}

static void put_row(const Layers *s, const Layer *l, Buf *out)
{
    const double *n = l->numbers;
    put_name(out, l->value.name, NAME_WIDTH);
    put_name(out, l->value.op, OP_WIDTH);
    buf_printf(out, "%-9s", dtype_name(l->value.dtype));
    bool floats = dtype_is_float(l->value.dtype);
    if (!floats || l->missing || !(n[DRIFT_COUNT] > 0)) {
        buf_printf(out, "%9s %9s %9s %9s %9s %9s", "-", "-", "-", "-", "-", "-");
    } else {
        buf_printf(out, "%9.2e %9.2e %9.2e ", n[DRIFT_MAX_TOTAL], layer_rms(l, DRIFT_SUM_TOTAL),
                   layer_relative(l));
        if (no_digits(l))
            buf_printf(out, "%9s", "all");
        else
            buf_printf(out, "%9.3g", n[DRIFT_MAX_ULP]);
        if (l->value.kind == SHADOW_FLOAT)
            buf_printf(out, " %9.2e %9.2e", layer_rms(l, DRIFT_SUM_MADE),
                       layer_rms(l, DRIFT_SUM_INHERITED));
        else
            buf_printf(out, " %9s %9s", "-", "-");
    }
    put_note(s, l, out);
    buf_char(out, '\n');
}

static int by_share(const void *a, const void *b)
{
    const Layer *x = *(const Layer *const *)a, *y = *(const Layer *const *)b;
    double p = layer_share(x), q = layer_share(y);
    return p != q ? (p < q) - (p > q) : (x > y) - (x < y);
}

static void put_makers(const Layers *s, Buf *out)
{
    uint32_t n = 0;
    const Layer **order = calloc((size_t)s->all.len + 1, sizeof *order);
    for (uint32_t i = 0; order && i < s->all.len; i++)
        if (s->all.at[i].value.kind == SHADOW_FLOAT && layer_share(&s->all.at[i]) > 0)
            order[n++] = &s->all.at[i];
    if (n)
        qsort(order, n, sizeof *order, by_share);
    for (uint32_t i = 0; i < n && i < LISTED; i++) {
        const ShadowValue *v = &order[i]->value;
        buf_printf(out, "%s %.2e of its rms at %.*s (%s)",
                   i ? "                  " : "most is made here:", layer_share(order[i]),
                   STR_ARG(v->path), dtype_name(v->dtype));
        put_calls(v, ", ", out);
        buf_char(out, '\n');
    }
    free(order);
}

static void put_first(const Layers *s, Buf *out)
{
    for (uint32_t i = 0; i < s->all.len; i++) {
        const Layer *l = &s->all.at[i];
        if (!layer_is_over(s, l))
            continue;
        Buf name = {0};
        buf_quoted(&name, l->value.name);
        buf_printf(out, "first over %g: %s at %.*s", s->threshold, name.at, STR_ARG(l->value.path));
        if (l->numbers[DRIFT_LOST] > 0)
            buf_printf(out, ", element %.0f is not finite", l->numbers[DRIFT_NONFINITE_AT]);
        else if (l->value.kind == SHADOW_DECIDES)
            buf_printf(out, ", element %.0f is decided otherwise", l->numbers[DRIFT_AT]);
        else
            buf_printf(out, ", element %.0f is %.3g away, the greatest is %.3g",
                       l->numbers[DRIFT_AT], l->numbers[DRIFT_MAX_TOTAL],
                       l->numbers[DRIFT_MAX_SHADOW]);
        buf_char(out, '\n');
        buf_free(&name);
        return;
    }
    buf_printf(out, "no value is more than %g of the greatest in it away from %s\n", s->threshold,
               s->against);
}

static bool is_not_finite(const Layer *l)
{
    return !l->missing && l->numbers[DRIFT_NONFINITE] > 0;
}

// What is not finite is no part of the figures: how many values have such elements, and where the
// first is.
static void put_nonfinite(const Layers *s, Buf *out)
{
    const Layer *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->all.len; i++)
        if (is_not_finite(&s->all.at[i])) {
            first = first ? first : &s->all.at[i];
            n++;
        }
    if (!n)
        return;
    Buf name = {0};
    buf_quoted(&name, first->value.name);
    buf_printf(out,
               "%u value%s with elements that are not finite, the first %s at %.*s, element %.0f\n",
               n, n == 1 ? "" : "s", name.at, STR_ARG(first->value.path),
               first->numbers[DRIFT_NONFINITE_AT]);
    name.len = 0;
    if (s->input) {
        buf_quoted(&name, str_of(s->input));
        buf_printf(out, "  the data hold such elements: input %s, element %lld\n", name.at,
                   (long long)s->input_at);
    }
    buf_free(&name);
}

void layers_print_text(const Layers *s, Buf *out)
{
    uint32_t restarts = 0, anew = 0, missing = 0, all = 0;
    put_name(out, STR("value"), NAME_WIDTH);
    put_name(out, STR("operator"), OP_WIDTH);
    buf_printf(out, "%-9s%9s %9s %9s %9s %9s %9s\n", "dtype", "greatest", "rms", "relative", "ulp",
               "made", "inherited");
    for (uint32_t i = 0; i < s->all.len; i++) {
        put_row(s, &s->all.at[i], out);
        restarts += s->all.at[i].value.kind == SHADOW_RESTART;
        anew += s->all.at[i].value.anew;
        missing += s->all.at[i].missing;
        all += !s->all.at[i].missing && no_digits(&s->all.at[i]);
    }
    buf_printf(out, "%u value%s beside %s, %u data set%s%s\n", s->all.len - missing,
               s->all.len - missing == 1 ? "" : "s", s->against, s->sets, s->sets == 1 ? "" : "s",
               s->made_up ? " (inputs made up)" : "");
    if (all)
        buf_printf(out,
                   "ulp: all: an element is off by more than itself, as any is that is 0 in %s: "
                   "no digit of it is right\n",
                   s->against);
    if (restarts)
        buf_printf(out,
                   "%u value%s of nodes that run as they are: nothing is known of the error before "
                   "them\n",
                   restarts, restarts == 1 ? " is" : "s are");
    if (anew)
        buf_printf(out,
                   "%u value%s made of integers or strings that came of floats: what was rounded "
                   "before them shows as flips alone\n",
                   anew, anew == 1 ? " is" : "s are");
    if (missing || s->alone) {
        buf_printf(out, "%u value%s of the model not compared", missing, missing == 1 ? "" : "s");
        if (s->alone)
            buf_printf(out, "; %u of %s stand%s beside none", s->alone, s->against,
                       s->alone == 1 ? "s" : "");
        buf_char(out, '\n');
    }
    put_nonfinite(s, out);
    put_first(s, out);
    put_makers(s, out);
}

// ---- JSON --------------------------------------------------------------------------------------

static void number(Json *j, const char *key, double v)
{
    json_key(j, key);
    json_num(j, v);
}

static void json_figures(Json *j, const Layer *l)
{
    const double *n = l->numbers;
    number(j, "count", n[DRIFT_COUNT]);
    if (dtype_is_float(l->value.dtype)) {
        number(j, "greatest", n[DRIFT_MAX_TOTAL]);
        number(j, "at", n[DRIFT_AT]);
        number(j, "rms", layer_rms(l, DRIFT_SUM_TOTAL));
        number(j, "relative", layer_relative(l));
        number(j, "greatest_relative", n[DRIFT_MAX_RELATIVE]);
        number(j, "spread", layer_spread(l));
        number(j, "ulp", n[DRIFT_MAX_ULP]);
        number(j, "shadow_greatest", n[DRIFT_MAX_SHADOW]);
        number(j, "shadow_rms", layer_rms(l, DRIFT_SUM_SHADOW));
        number(j, "least", n[DRIFT_COUNT] > n[DRIFT_NONFINITE] ? n[DRIFT_LEAST] : 0);
        number(j, "most", n[DRIFT_COUNT] > n[DRIFT_NONFINITE] ? n[DRIFT_GREATEST] : 0);
    }
    if (l->value.kind == SHADOW_FLOAT) {
        number(j, "made_greatest", n[DRIFT_MAX_MADE]);
        number(j, "made_rms", layer_rms(l, DRIFT_SUM_MADE));
        number(j, "inherited_greatest", n[DRIFT_MAX_INHERITED]);
        number(j, "inherited_rms", layer_rms(l, DRIFT_SUM_INHERITED));
    }
    number(j, "not_finite", n[DRIFT_NONFINITE]);
    number(j, "not_finite_at", n[DRIFT_NONFINITE_AT]);
    number(j, "lost", n[DRIFT_LOST]);
    number(j, "flips", n[DRIFT_FLIPS]);
}

static void json_rows(Json *j, const Layer *l)
{
    json_key(j, "iterations");
    json_array(j);
    for (int64_t i = 0; i < l->nrows; i++) {
        const double *n = l->rows + i * DRIFT_FIELDS;
        json_object(j);
        number(j, "greatest", n[DRIFT_MAX_TOTAL]);
        number(j, "rms", n[DRIFT_COUNT] > 0 ? sqrt(n[DRIFT_SUM_TOTAL] / n[DRIFT_COUNT]) : 0);
        number(j, "ulp", n[DRIFT_MAX_ULP]);
        number(j, "flips", n[DRIFT_FLIPS]);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_layer(Json *j, const Layers *s, const Layer *l)
{
    json_object(j);
    json_put_str(j, "value", l->value.name);
    json_put_str(j, "op", l->value.op);
    json_put_str(j, "path", l->value.path);
    if (l->value.call.len)
        json_put_str(j, "called_at", l->value.call);
    json_put_str(j, "dtype", str_of(dtype_name(l->value.dtype)));
    json_put_str(j, "kind", str_of(layer_kind(l)));
    if (l->value.anew) {
        json_key(j, "anew");
        json_bool(j, true);
    }
    json_key(j, "loops");
    json_int(j, l->value.loops);
    if (l->partner)
        json_put_str(j, "partner", str_of(l->partner));
    if (l->missing && l->why)
        json_put_str(j, "not_compared", str_of(l->why));
    if (!l->missing && l->numbers[DRIFT_COUNT] > 0)
        json_figures(j, l);
    if (l->value.loops)
        number(j, "worst_iteration", l->numbers[DRIFT_ITERATION]);
    if (l->rows)
        json_rows(j, l);
    json_key(j, "over");
    json_bool(j, layer_is_over(s, l));
    json_end_object(j);
}

void layers_print_json(const Layers *s, Buf *out)
{
    Json j = {.out = out};
    const Layer *first = NULL;
    json_object(&j);
    json_put_str(&j, "schema", STR("cameo.layers/1"));
    json_put_str(&j, "model", str_of(s->model));
    json_put_str(&j, "against", str_of(s->against));
    number(&j, "threshold", s->threshold);
    json_key(&j, "sets");
    json_int(&j, s->sets);
    json_key(&j, "inputs_made_up");
    json_bool(&j, s->made_up);
    json_key(&j, "not_finite_input");
    if (s->input)
        json_str(&j, str_of(s->input));
    else
        json_null(&j);
    json_key(&j, "values");
    json_array(&j);
    for (uint32_t i = 0; i < s->all.len; i++) {
        const Layer *l = &s->all.at[i];
        first = first ? first : layer_is_over(s, l) ? l : NULL;
        json_layer(&j, s, l);
    }
    json_end_array(&j);
    json_key(&j, "first_over");
    if (first)
        json_str(&j, first->value.name);
    else
        json_null(&j);
    json_end_object(&j);
    buf_char(out, '\n');
}

// ---- CSV ---------------------------------------------------------------------------------------

static void csv_text(Buf *out, Str s)
{
    buf_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '"')
            buf_char(out, '"');
        buf_char(out, s.at[i]);
    }
    buf_printf(out, "\",");
}

// Escaped first: a name may hold line ends and what a spreadsheet takes for a formula.
static void csv_name(Buf *out, Str s)
{
    Buf escaped = {0};
    if (s.len && (*s.at == '=' || *s.at == '+' || *s.at == '-' || *s.at == '@'))
        buf_char(&escaped, '\'');
    buf_escaped(&escaped, s);
    csv_text(out, (Str){escaped.at ? escaped.at : "", escaped.len});
    buf_free(&escaped);
}

void layers_print_csv(const Layers *s, Buf *out)
{
    buf_printf(out, "value,operator,path,dtype,kind,count,greatest,at,rms,relative,ulp,made_rms,"
                    "inherited_rms,not_finite,lost,flips,least,most\n");
    for (uint32_t i = 0; i < s->all.len; i++) {
        const Layer *l = &s->all.at[i];
        const double *n = l->numbers;
        bool some = n[DRIFT_COUNT] > n[DRIFT_NONFINITE];
        csv_name(out, l->value.name);
        csv_name(out, l->value.op);
        csv_text(out, l->value.path);
        buf_printf(out, "%s,%s,%.0f,%.9g,%.0f,%.9g,%.9g,%.9g,%.9g,%.9g,%.0f,%.0f,%.0f,%.9g,%.9g\n",
                   dtype_name(l->value.dtype), layer_kind(l), n[DRIFT_COUNT], n[DRIFT_MAX_TOTAL],
                   n[DRIFT_AT], layer_rms(l, DRIFT_SUM_TOTAL), layer_relative(l), n[DRIFT_MAX_ULP],
                   layer_rms(l, DRIFT_SUM_MADE), layer_rms(l, DRIFT_SUM_INHERITED),
                   n[DRIFT_NONFINITE], n[DRIFT_LOST], n[DRIFT_FLIPS], some ? n[DRIFT_LEAST] : 0,
                   some ? n[DRIFT_GREATEST] : 0);
    }
}
