#include "ir/ops/window.h"

static int64_t listed(const Node *n, const char *name, uint32_t i, int64_t otherwise)
{
    const int64_t *at;
    uint32_t len;
    return node_ints(n, name, &at, &len) && i < len ? at[i] : otherwise;
}

static bool list_fits(const Node *n, const char *name, uint32_t want, int64_t least)
{
    const int64_t *at;
    uint32_t len;
    if (!node_ints(n, name, &at, &len))
        return true;
    for (uint32_t i = 0; i < len; i++)
        if (at[i] < least || at[i] > INT32_MAX)
            return false;
    return len == want;
}

const char *window_fault(const Node *n, uint32_t rank)
{
    const int64_t *at;
    uint32_t len;
    bool listed_whole = node_ints(n, "output_shape", &at, &len) && len == rank + 2;
    return !list_fits(n, "strides", rank, 1)                                  ? "strides"
           : !list_fits(n, "dilations", rank, 1)                              ? "dilations"
           : !list_fits(n, "pads", 2 * rank, INT32_MIN)                       ? "pads"
           : !list_fits(n, "output_padding", rank, 0)                         ? "output_padding"
           : !list_fits(n, "output_shape", listed_whole ? rank + 2 : rank, 0) ? "output_shape"
                                                                              : NULL;
}

// floor or ceil of (x + pads - (dilation * (size - 1) + 1)) / stride, + 1. Spec: MaxPool-12.
static Index out_size(Polys *p, Index x, Index pads, Index span, int64_t stride, bool ceil_mode)
{
    Index room = poly_sub(p, poly_add(p, x, pads), span), s = poly_const(p, stride);
    return poly_add_const(p, ceil_mode ? poly_ceildiv(p, room, s) : poly_floordiv(p, room, s), 1);
}

// Does a window leave fewer than no places in what is not empty? It is larger than that by more
// than a stride.
static bool is_less_than_none(Index x, Index out)
{
    int64_t have, places;
    return poly_is_const(x, &have) && have > 0 && poly_is_const(out, &places) && places < 0;
}

bool window_of(Polys *p, const Node *n, uint32_t rank, const Index *x, const Index *size, Window *w,
               const char **fault)
{
    Str mode = node_str(n, "auto_pad", "NOTSET");
    bool upper = str_is(mode, "SAME_UPPER"), lower = str_is(mode, "SAME_LOWER"),
         valid = str_is(mode, "VALID");
    bool ceil_mode = node_int(n, "ceil_mode", 0) != 0;
    w->rank = rank;
    *fault = window_fault(n, rank);
    if (*fault)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t stride = w->stride[i] = listed(n, "strides", i, 1);
        int64_t dilation = w->dilation[i] = listed(n, "dilations", i, 1);
        w->size[i] = size[i];
        Index span = poly_add_const(p, poly_scale(p, poly_add_const(p, size[i], -1), dilation), 1),
              zero = poly_const(p, 0);
        if (upper || lower) {
            w->out[i] = poly_ceildiv(p, x[i], poly_const(p, stride));
            Index need = poly_add(p, poly_scale(p, poly_add_const(p, w->out[i], -1), stride), span);
            Index pads = poly_max(p, zero, poly_sub(p, need, x[i]));
            w->before[i] = upper ? poly_floordiv(p, pads, poly_const(p, 2))
                                 : poly_ceildiv(p, pads, poly_const(p, 2));
            continue;
        }
        int64_t before = valid ? 0 : listed(n, "pads", i, 0),
                after = valid ? 0 : listed(n, "pads", i + rank, 0);
        w->before[i] = poly_const(p, before);
        Index out = out_size(p, x[i], poly_const(p, before + after), span, stride, ceil_mode);
        if (is_less_than_none(x[i], out)) {
            *fault = "kernel_shape";
            return false;
        }
        w->out[i] = poly_max(p, zero, out);
        if (ceil_mode) { // a window that begins in the padding behind does not count
            Index last = poly_floordiv(p, poly_add_const(p, poly_add(p, x[i], w->before[i]), -1),
                                       poly_const(p, stride));
            w->out[i] = poly_min(p, w->out[i], poly_add_const(p, last, 1));
        }
    }
    return true;
}

Index window_at(Lower *l, const Window *w, uint32_t i, Index o, Index r)
{
    Index at = ix_add(l, ix_scale(l, o, w->stride[i]), ix_scale(l, r, w->dilation[i]));
    return ix_sub(l, at, w->before[i]);
}
