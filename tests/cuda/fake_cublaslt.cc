// fake_cublaslt.cc: a libcublasLt.so.13 that multiplies on the host. Test only, never shipped.
//
// Types fp32, fp64, fp16 and bf16, batches by stride, either order of elements, transposes, and the
// epilogues bias, ReLU and GELU (the tanh form, as the real one's). What it does not know it
// refuses with CUBLAS_STATUS_NOT_SUPPORTED. As the real one, it finds no algorithm while a stream
// captures.
#include "fake_device.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#ifdef CUEMU_TOOLKIT
#include <cublasLt.h>
#else
#include "fake_cublaslt.h"
#endif

namespace
{

constexpr uint64_t MAGIC = 0x63756d656d6d756cu;

// What the opaque structs hold.
struct Layout {
    int32_t type, order;
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t batch, used;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
struct Product {
    int32_t compute, scale, op_a, op_b, epilogue, bias_type, pointers;
    const void *bias;
    int64_t bias_stride;
};
static_assert(sizeof(Product) <= sizeof(cublasLtMatmulDescOpaque_t));
struct Work {
    Product p;
    Layout a, b, c, d;
    double alpha, beta;
    const void *A, *B, *C;
    void *D;
};

size_t size_of(int type)
{
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    default:
        return 0;
    }
}

float from_bits(uint32_t b)
{
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}
uint32_t to_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}
double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -v : v;
}
// To nearest, ties to even, from double: one rounding only.
uint16_t half_bits(double v)
{
    uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    double m = fabs(v);
    int exponent;
    if (std::isnan(v))
        return 0x7e00;
    if (m >= 65520)
        return sign | 0x7c00;
    frexp(m, &exponent);
    double step = ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
    m = nearbyint(m / step) * step;
    if (m < ldexp(1, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(m, 24));
    m = frexp(m, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(m, 11) & 1023));
}

double get(const char *p, int type)
{
    uint16_t half;
    float single;
    double d;
    switch (type) {
    case CUDA_R_64F:
        memcpy(&d, p, 8);
        return d;
    case CUDA_R_32F:
        memcpy(&single, p, 4);
        return single;
    case CUDA_R_16F:
        memcpy(&half, p, 2);
        return half_value(half);
    default:
        memcpy(&half, p, 2);
        return from_bits((uint32_t)half << 16);
    }
}
void put(char *p, int type, double v)
{
    uint16_t half;
    float single = (float)v;
    uint32_t bits = to_bits(single);
    switch (type) {
    case CUDA_R_64F:
        memcpy(p, &v, 8);
        return;
    case CUDA_R_32F:
        memcpy(p, &single, 4);
        return;
    case CUDA_R_16F:
        half = half_bits(v);
        break;
    default:
        half = std::isnan(single) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    memcpy(p, &half, 2);
}

// One matrix of a batch: line by line, so that what lies between the lines is not touched.
struct Lines {
    std::vector<char *> at;
    int type;
    bool by_row;
    char *element(size_t r, size_t c) const
    {
        return by_row ? at[r] + c * size_of(type) : at[c] + r * size_of(type);
    }
};
Lines lines_of(const Layout &l, const void *base, int batch, bool write, const char *by)
{
    Lines m = {{}, l.type, l.order == CUBLASLT_ORDER_ROW};
    size_t count = m.by_row ? l.rows : l.cols, length = m.by_row ? l.cols : l.rows;
    for (size_t i = 0; i < count; i++) {
        int64_t at = (int64_t)batch * l.stride + (int64_t)i * l.ld;
        const char *p = (const char *)base + at * (int64_t)size_of(l.type);
        m.at.push_back((char *)cuemu_device_bytes(p, length * size_of(l.type), write, by));
    }
    return m;
}

// A matrix as rows of T, transposed if asked.
template <class T> std::vector<T> plain(const Lines &m, size_t rows, size_t cols, bool turn)
{
    std::vector<T> v(rows * cols);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            v[r * cols + c] = (T)get(turn ? m.element(c, r) : m.element(r, c), m.type);
    return v;
}

double finish(const Work &w, double v, size_t row, const char *bias)
{
    int e = w.p.epilogue;
    if (bias)
        v += get(bias + row * size_of(w.p.bias_type), w.p.bias_type);
    if (e & 2)
        v = v > 0 || std::isnan(v) ? v : 0;
    if (e & 32)
        v = 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    return v;
}

template <class T> void multiply(const Work &w, int batch)
{
    size_t m = w.d.rows, n = w.d.cols, k = w.p.op_a ? w.a.rows : w.a.cols;
    const char *by = "cublasLtMatmul";
    std::vector<T> a = plain<T>(lines_of(w.a, w.A, batch, false, by), m, k, w.p.op_a);
    std::vector<T> b = plain<T>(lines_of(w.b, w.B, batch, false, by), k, n, w.p.op_b);
    std::vector<T> sum(m * n);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++) {
            T x = a[i * k + l];
            const T *y = &b[l * n];
            T *s = &sum[i * n];
            for (size_t j = 0; j < n; j++)
                s[j] += x * y[j];
        }
    Lines c = {{}, 0, false};
    if (w.beta != 0)
        c = lines_of(w.c, w.C, batch, false, by);
    const char *bias = nullptr;
    if (w.p.epilogue & 4) {
        const char *at =
            (const char *)w.p.bias + batch * w.p.bias_stride * (int64_t)size_of(w.p.bias_type);
        bias = (const char *)cuemu_device_bytes(at, m * size_of(w.p.bias_type), 0, by);
    }
    Lines d = lines_of(w.d, w.D, batch, true, by);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double v = w.alpha * (double)sum[i * n + j];
            if (w.beta != 0)
                v += w.beta * get(c.element(i, j), c.type);
            put(d.element(i, j), d.type, finish(w, v, i, bias));
        }
}

void do_work(void *data)
{
    Work w;
    memcpy(&w, data, sizeof w);
    for (int i = 0; i < w.d.batch; i++) {
        if (w.p.compute == CUBLAS_COMPUTE_64F || w.p.compute == CUBLAS_COMPUTE_64F_PEDANTIC)
            multiply<double>(w, i);
        else
            multiply<float>(w, i);
    }
}

bool good_layout(const Layout &l)
{
    int64_t least = (int64_t)(l.order == CUBLASLT_ORDER_ROW ? l.cols : l.rows);
    return l.used && size_of(l.type) && l.ld >= least && l.batch >= 1 &&
           l.order <= CUBLASLT_ORDER_ROW;
}

cublasStatus_t check(const Product &p, const Layout &a, const Layout &b, const Layout &c,
                     const Layout &d)
{
    constexpr int known = 2 | 4 | 32 | 1;
    if (!good_layout(a) || !good_layout(b) || !good_layout(c) || !good_layout(d))
        return CUBLAS_STATUS_INVALID_VALUE;
    uint64_t m = p.op_a ? a.cols : a.rows, k = p.op_a ? a.rows : a.cols;
    uint64_t n = p.op_b ? b.rows : b.cols, k2 = p.op_b ? b.cols : b.rows;
    if (k != k2 || d.rows != m || d.cols != n || c.rows != m || c.cols != n || !m || !n || !k)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a.batch != d.batch || b.batch != d.batch || c.batch != d.batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a.type != b.type || c.type != d.type || (p.epilogue & ~known) || p.pointers)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    bool wide = p.compute == CUBLAS_COMPUTE_64F || p.compute == CUBLAS_COMPUTE_64F_PEDANTIC;
    bool fast = p.compute >= CUBLAS_COMPUTE_32F && p.compute <= CUBLAS_COMPUTE_32F_FAST_TF32;
    if (wide ? a.type != CUDA_R_64F || p.scale != CUDA_R_64F
             : !fast || a.type == CUDA_R_64F || p.scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (d.type != a.type && !(d.type == CUDA_R_32F && a.type != CUDA_R_64F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

template <class T, class Opaque> T read(Opaque o)
{
    T v = {};
    if (o)
        memcpy(&v, o, sizeof v);
    return v;
}
template <class T> bool take(T *field, const void *value, size_t size)
{
    if (size != sizeof *field)
        return false;
    memcpy(field, value, size);
    return true;
}

} // namespace

extern "C" {

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = (cublasLtHandle_t) new uint64_t(MAGIC);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle)
{
    delete (uint64_t *)handle;
    return CUBLAS_STATUS_SUCCESS;
}
size_t CUBLASWINAPI cublasLtGetVersion(void)
{
    return 130000;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                       cudaDataType type, uint64_t rows,
                                                       uint64_t cols, int64_t ld)
{
    *out = new cublasLtMatrixLayoutOpaque_t();
    Layout l = {(int32_t)type, CUBLASLT_ORDER_COL, rows, cols, ld, 0, 1, 1};
    memcpy(*out, &l, sizeof l);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    delete l;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t what,
                                                             const void *value, size_t size)
{
    Layout l = read<Layout>(layout);
    bool good = what == CUBLASLT_MATRIX_LAYOUT_TYPE                   ? take(&l.type, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_ORDER                ? take(&l.order, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_ROWS                 ? take(&l.rows, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_COLS                 ? take(&l.cols, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_LD                   ? take(&l.ld, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT          ? take(&l.batch, value, size)
                : what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET ? take(&l.stride, value, size)
                                                                      : false;
    if (!good)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(layout, &l, sizeof l);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                                     cublasComputeType_t compute,
                                                     cudaDataType_t scale)
{
    *out = new cublasLtMatmulDescOpaque_t();
    Product p = {};
    p.compute = compute;
    p.scale = scale;
    p.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    p.bias_type = -1;
    memcpy(*out, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p)
{
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t what,
                                                           const void *value, size_t size)
{
    Product p = read<Product>(desc);
    bool good = what == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE        ? take(&p.compute, value, size)
                : what == CUBLASLT_MATMUL_DESC_SCALE_TYPE        ? take(&p.scale, value, size)
                : what == CUBLASLT_MATMUL_DESC_POINTER_MODE      ? take(&p.pointers, value, size)
                : what == CUBLASLT_MATMUL_DESC_TRANSA            ? take(&p.op_a, value, size)
                : what == CUBLASLT_MATMUL_DESC_TRANSB            ? take(&p.op_b, value, size)
                : what == CUBLASLT_MATMUL_DESC_EPILOGUE          ? take(&p.epilogue, value, size)
                : what == CUBLASLT_MATMUL_DESC_BIAS_POINTER      ? take(&p.bias, value, size)
                : what == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE ? take(&p.bias_stride, value, size)
                : what == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE    ? take(&p.bias_type, value, size)
                                                                 : false;
    if (!good)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(desc, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = new cublasLtMatmulPreferenceOpaque_t();
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t, const void *value, size_t)
{
    return p && value ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int asked,
    cublasLtMatmulHeuristicResult_t results[], int *count)
{
    if (asked < 1 || !count)
        return CUBLAS_STATUS_INVALID_VALUE;
    *count = 0;
    if (cuemu_capturing())
        return CUBLAS_STATUS_NOT_SUPPORTED;
    cublasStatus_t s = check(read<Product>(desc), read<Layout>(a), read<Layout>(b), read<Layout>(c),
                             read<Layout>(d));
    if (s != CUBLAS_STATUS_SUCCESS)
        return s;
    memset(results, 0, sizeof *results);
    results->algo.data[0] = MAGIC;
    results->state = CUBLAS_STATUS_SUCCESS;
    *count = 1;
    return s;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
    cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta,
    const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
    const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    Work w = {read<Product>(desc),
              read<Layout>(a),
              read<Layout>(b),
              read<Layout>(c),
              read<Layout>(d),
              0,
              0,
              A,
              B,
              C,
              D};
    if (!handle || *(uint64_t *)handle != MAGIC)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (algo && algo->data[0] != MAGIC)
        cuemu_library_fault("cublasLtMatmul with an algorithm that the heuristic did not give");
    if (!algo && cuemu_capturing())
        return CUBLAS_STATUS_NOT_SUPPORTED;
    cublasStatus_t s = check(w.p, w.a, w.b, w.c, w.d);
    if (s != CUBLAS_STATUS_SUCCESS)
        return s;
    if (w.p.bias_type < 0)
        w.p.bias_type = w.d.type;
    w.alpha = get((const char *)alpha, w.p.scale);
    w.beta = get((const char *)beta, w.p.scale);
    cuemu_device_check(A, 1, "cublasLtMatmul, A");
    cuemu_device_check(B, 1, "cublasLtMatmul, B");
    cuemu_device_check(C, 1, "cublasLtMatmul, C");
    cuemu_device_check(D, 1, "cublasLtMatmul, D");
    if (w.p.epilogue & 4)
        cuemu_device_check(w.p.bias, 1, "cublasLtMatmul, bias");
    if (workspace_bytes)
        cuemu_device_check(workspace, workspace_bytes, "cublasLtMatmul, workspace");
    int r = cuemu_enqueue((void *)stream, "cublasLtMatmul", do_work, &w, sizeof w);
    return r ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
