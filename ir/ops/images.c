// Operators on encoded images: ImageDecoder. What decodes is runtime/cameo_images.h.

#include "ir/ops/common.h"

static const char *const orders[] = {"RGB", "BGR", "Grayscale"};
enum { ORDERS = 3, GRAYSCALE = 2 };

static int order_of(const Node *n)
{
    Str name = node_str(n, "pixel_format", "RGB");
    int k = 0;
    while (k < ORDERS && !str_is(name, orders[k]))
        k++;
    return k;
}

static void infer_image_decoder(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (x && x->rank >= 0 && x->rank != 1) {
        infer_error(s, "an encoded image has rank 1, not %d", (int)x->rank);
        return;
    }
    Index dims[3] = {infer_data_dim(s, 0, 0, "height"), infer_data_dim(s, 0, 1, "width"),
                     poly_const(s->polys, order_of(s->n) == GRAYSCALE ? 1 : 3)};
    infer_shape(s, 0, 3, dims);
}

static void lower_image_decoder(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    int order = order_of(l->n);
    if (order == ORDERS) {
        Str name = str_escaped(l->arena, node_str(l->n, "pixel_format", ""));
        not_supported(l, "ImageDecoder with pixel_format \"%.*s\"", STR_ARG(name));
        return;
    }
    Tensor size[2] = {temp(l, "height", DT_I64, 0, NULL), temp(l, "width", DT_I64, 0, NULL)};
    Index how = ix(l, order);
    step_call(l, "image_size", 1, &x, 2, size, 0, NULL);
    for (int k = 0; k < 2; k++)
        define_dim(l, y.dims[k], to_index(l, load(l, size[k], NULL)));
    step_call(l, "image_decode", 1, &x, 1, &y, 1, &how);
}

const OpDef ops_images[] = {
    {"ImageDecoder", 20, infer_image_decoder, lower_image_decoder, {NULL}, NULL},
    {0},
};
