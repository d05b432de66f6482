/* Products of matrices by cuBLASLt, opened when a model first runs; where it is not there, the
 * model's own kernels do them. Names and values are those of cublasLt.h 12 and 13. */
#ifndef CAMEO_CUBLASLT_H
#define CAMEO_CUBLASLT_H

#include "cameo_cuda_api.h"

/* y[b][i][j] = sum over k of a[b][i][k] * b[b][k][j], all addresses on the device. Row-major with
 * `ld` elements from row to row; transposed: stored as columns. Every field has eight bytes: a
 * product is recorded as they stand here. */
typedef struct cameo_product {
    int64_t is_double, rows, columns, depth, batch;
    int64_t a_transposed, b_transposed, a_ld, b_ld, y_ld;
    int64_t a_stride, b_stride, y_stride; /* elements from one of the batch to the next */
    uint64_t a, b, y;
} cameo_product;

enum { CAMEO_PRODUCT_WORDS = sizeof(cameo_product) / 8, CAMEO_PRODUCT_SHAPE = 13 };

typedef struct cameo_lt_choice { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} cameo_lt_choice;

#define CAMEO_LT_ENTRIES(X)                                                                        \
    X(cublasLtCreate, (void **))                                                                   \
    X(cublasLtDestroy, (void *))                                                                   \
    X(cublasLtMatmulDescCreate, (void **, int, int))                                               \
    X(cublasLtMatmulDescDestroy, (void *))                                                         \
    X(cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                         \
    X(cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))                     \
    X(cublasLtMatrixLayoutDestroy, (void *))                                                       \
    X(cublasLtMatrixLayoutSetAttribute, (void *, int, const void *, size_t))                       \
    X(cublasLtMatmulPreferenceCreate, (void **))                                                   \
    X(cublasLtMatmulPreferenceDestroy, (void *))                                                   \
    X(cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))                   \
    X(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (void *, void *, void *, void *, void *, void *, void *, int, cameo_lt_choice *, int *))     \
    X(cublasLtMatmul,                                                                              \
      (void *, void *, const void *, uint64_t, void *, uint64_t, void *, const void *, uint64_t,   \
       void *, uint64_t, void *, const uint64_t *, uint64_t, size_t, void *))

#define CAMEO_LT_MEMBER(name, params) int(*name) params;

enum { CAMEO_LT_PLANS = 256, CAMEO_LT_WORKSPACE = 32 << 20 };

/* What was chosen for a shape. */
typedef struct cameo_lt_plan {
    int64_t shape[CAMEO_PRODUCT_SHAPE];
    void *desc, *layouts[3]; /* first and second factor and result, by columns */
    cameo_lt_choice choice;
    int is_warm;
} cameo_lt_plan;

typedef struct cameo_lt {
    void *library, *handle;
    CAMEO_LT_ENTRIES(CAMEO_LT_MEMBER)
    int tried;
    int32_t nplans;
    cameo_lt_plan plans[CAMEO_LT_PLANS];
} cameo_lt;

/* Opens the library once. 0 where it cannot be used. */
CAMEO_FN int cameo_lt_open(cameo_lt *lt)
{
#define CAMEO_LT_NAME(name, params) {#name, offsetof(cameo_lt, name)},
    static const struct {
        const char *name;
        size_t at;
    } entries[] = {CAMEO_LT_ENTRIES(CAMEO_LT_NAME)};
    if (lt->tried)
        return lt->handle != NULL;
    lt->tried = 1;
    lt->library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!lt->library)
        lt->library = dlopen("libcublasLt.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!lt->library)
        return 0;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(lt->library, entries[i].name);
        if (!entry)
            return 0;
        memcpy((char *)lt + entries[i].at, &entry, sizeof entry);
    }
    return lt->cublasLtCreate(&lt->handle) == 0;
}

CAMEO_FN void cameo_lt_drop(cameo_lt *lt, cameo_lt_plan *p)
{
    for (int i = 0; i < 3; i++)
        if (p->layouts[i])
            lt->cublasLtMatrixLayoutDestroy(p->layouts[i]);
    if (p->desc)
        lt->cublasLtMatmulDescDestroy(p->desc);
    memset(p, 0, sizeof *p);
}

CAMEO_FN void cameo_lt_close(cameo_lt *lt)
{
    for (int32_t i = 0; i < lt->nplans; i++)
        cameo_lt_drop(lt, &lt->plans[i]);
    if (lt->handle)
        lt->cublasLtDestroy(lt->handle);
    lt->handle = NULL;
    lt->nplans = 0;
}

CAMEO_FN int cameo_lt_layout(cameo_lt *lt, void **layout, const cameo_product *s, int64_t rows,
                             int64_t columns, int64_t ld, int64_t stride)
{
    enum { BATCH_COUNT = 5, BATCH_STRIDE = 6 };
    int32_t batch = (int32_t)s->batch;
    if (lt->cublasLtMatrixLayoutCreate(layout, s->is_double ? 1 : 0, (uint64_t)rows,
                                       (uint64_t)columns, ld) != 0)
        return -1;
    return batch == 1 ? 0
           : lt->cublasLtMatrixLayoutSetAttribute(*layout, BATCH_COUNT, &batch, sizeof batch) ||
                   lt->cublasLtMatrixLayoutSetAttribute(*layout, BATCH_STRIDE, &stride,
                                                        sizeof stride)
               ? -1
               : 0;
}

/* The library counts by columns, where our y is its transpose: y' = b' a'. */
CAMEO_FN int cameo_lt_describe(cameo_lt *lt, cameo_lt_plan *p, const cameo_product *s)
{
    enum { TRANSPOSE_A = 3, TRANSPOSE_B = 4, MAX_WORKSPACE = 1 };
    int32_t first = s->b_transposed ? 1 : 0, second = s->a_transposed ? 1 : 0;
    int found = 0, bad = 0;
    size_t workspace = CAMEO_LT_WORKSPACE;
    void *preference = NULL;
    bad |= lt->cublasLtMatmulDescCreate(&p->desc, s->is_double ? 70 : 68, s->is_double ? 1 : 0);
    if (bad)
        return -1;
    bad |= lt->cublasLtMatmulDescSetAttribute(p->desc, TRANSPOSE_A, &first, sizeof first);
    bad |= lt->cublasLtMatmulDescSetAttribute(p->desc, TRANSPOSE_B, &second, sizeof second);
    bad |= cameo_lt_layout(lt, &p->layouts[0], s, first ? s->depth : s->columns,
                           first ? s->columns : s->depth, s->b_ld, s->b_stride);
    bad |= cameo_lt_layout(lt, &p->layouts[1], s, second ? s->rows : s->depth,
                           second ? s->depth : s->rows, s->a_ld, s->a_stride);
    bad |= cameo_lt_layout(lt, &p->layouts[2], s, s->columns, s->rows, s->y_ld, s->y_stride);
    bad |= lt->cublasLtMatmulPreferenceCreate(&preference);
    if (bad)
        return -1;
    lt->cublasLtMatmulPreferenceSetAttribute(preference, MAX_WORKSPACE, &workspace,
                                             sizeof workspace);
    bad = lt->cublasLtMatmulAlgoGetHeuristic(lt->handle, p->desc, p->layouts[0], p->layouts[1],
                                             p->layouts[2], p->layouts[2], preference, 1,
                                             &p->choice, &found);
    lt->cublasLtMatmulPreferenceDestroy(preference);
    return bad || found < 1 ? -1 : 0;
}

/* What was chosen for a shape, or is now. NULL: the library does not do it. */
CAMEO_FN cameo_lt_plan *cameo_lt_choose(cameo_lt *lt, const cameo_product *s)
{
    int64_t shape[CAMEO_PRODUCT_SHAPE];
    memcpy(shape, s, sizeof shape);
    for (int32_t i = 0; i < lt->nplans; i++)
        if (memcmp(lt->plans[i].shape, shape, sizeof shape) == 0)
            return lt->plans[i].desc ? &lt->plans[i] : NULL;
    if (lt->nplans == CAMEO_LT_PLANS)
        return NULL;
    cameo_lt_plan *p = &lt->plans[lt->nplans++];
    if (cameo_lt_describe(lt, p, s) != 0)
        cameo_lt_drop(lt, p);
    memcpy(p->shape, shape, sizeof shape);
    return p->desc ? p : NULL;
}

/* Queues a product on a stream. 0, or the library's status. */
CAMEO_FN int cameo_lt_multiply(cameo_lt *lt, cameo_lt_plan *p, const cameo_product *s,
                               uint64_t workspace, void *stream)
{
    const double one = 1, zero = 0;
    const float one_f = 1, zero_f = 0;
    const void *alpha = s->is_double ? (const void *)&one : (const void *)&one_f;
    const void *beta = s->is_double ? (const void *)&zero : (const void *)&zero_f;
    return lt->cublasLtMatmul(lt->handle, p->desc, alpha, s->b, p->layouts[0], s->a, p->layouts[1],
                              beta, s->y, p->layouts[2], s->y, p->layouts[2], p->choice.algorithm,
                              workspace, CAMEO_LT_WORKSPACE, stream);
}

#endif
