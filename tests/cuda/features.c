/* features.c: compares the kernels of features.cu, and products by cuBLASLt alone and inside a
 * graph, with plain C. Exits 1 with one line for each difference. */
#include "broken/driver.h"

#include <math.h>
#include <stdint.h>

static int differences;

static void same(const char *what, int i, double got, double want)
{
    if (fabs(got - want) > 1e-5 * (1 + fabs(want))) {
        fprintf(stderr, "%s[%d] is %g, not %g\n", what, i, got, want);
        differences++;
    }
}

static CUdeviceptr upload(const void *data, size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, bytes));
    CHECK(cuMemcpyHtoD(p, data, bytes));
    return p;
}

static void launch(const char *name, unsigned grid, unsigned block, unsigned shared, void **args)
{
    CHECK(cuLaunchKernel(driver_kernel(name), grid, 1, 1, block, 1, 1, shared, NULL, args, NULL));
}

static void test_shared(void)
{
    enum { BLOCK = 256, GRID = 5, N = BLOCK * GRID };
    static int x[N], y[N];
    long long n = N - 7;
    int sum[GRID] = {0}, block = BLOCK;
    for (int i = 0; i < N; i++) {
        x[i] = i * 7 % 31;
        y[i] = 0;
        sum[i / BLOCK] += i < n ? x[i] : 0;
    }
    CUdeviceptr dx = upload(x, sizeof x), dy = upload(y, sizeof y);
    launch("block_sum", GRID, BLOCK, 0, (void *[]){&dx, &dy, &n, NULL});
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < N; i++)
        same("block_sum", i, y[i], i < n ? sum[i / BLOCK] : 0);
    launch("reverse", GRID, BLOCK, sizeof(int) * BLOCK, (void *[]){&dx, &dy, &block, NULL});
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < N; i++)
        same("reverse", i, y[i], x[i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK]);
    CHECK(cuMemFree(dx));
    CHECK(cuMemFree(dy));
}

static int votes_of(const int *x, int i)
{
    unsigned odd = 0;
    int any = 0, all = 1, w = i / 32 * 32, count = 0;
    for (int l = 0; l < 32; l++) {
        odd |= (unsigned)(x[w + l] & 1) << l;
        any |= x[w + l] > 30;
        all &= x[w + l] >= 0;
    }
    for (int t = 0; t < 64; t++)
        count += x[t] % 3 == 0;
    int half = i % 32 < 16 ? x[i ^ 1] : x[i ^ 2], up = i % 8 ? x[i - 1] : x[i];
    return (int)(odd % 1000) + any + 2 * all + 10 * half + 1000 * up + 100000 * count;
}

static void test_votes(void)
{
    int x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = i * 5 % 37 - (i == 40);
    CUdeviceptr dx = upload(x, sizeof x), dy = upload(x, sizeof x);
    launch("votes", 1, 64, 0, (void *[]){&dx, &dy, NULL});
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < 64; i++)
        same("votes", i, y[i], votes_of(x, i));
}

static void test_atomics(void)
{
    enum { T = 3 * 96 };
    int i[4] = {0}, or = 0;
    unsigned long long u[2] = {0};
    float f = 0;
    double d = 0;
    unsigned c[2] = {0};
    for (int t = 0; t < T; t++)
        or |= 1 << t % 31;
    CUdeviceptr p[5] = {upload(i, sizeof i), upload(u, sizeof u), upload(&f, 4), upload(&d, 8),
                        upload(c, sizeof c)};
    launch("atomics", 3, 96, 0, (void *[]){&p[0], &p[1], &p[2], &p[3], &p[4], NULL});
    CHECK(cuMemcpyDtoH(i, p[0], sizeof i));
    CHECK(cuMemcpyDtoH(u, p[1], sizeof u));
    CHECK(cuMemcpyDtoH(&f, p[2], 4));
    CHECK(cuMemcpyDtoH(&d, p[3], 8));
    CHECK(cuMemcpyDtoH(c, p[4], sizeof c));
    same("atomicAdd int", 0, i[0], T * (T - 1) / 2);
    same("atomicMin", 1, i[1], -(T - 1));
    same("atomicMax", 2, i[2], T - 1);
    same("atomicOr", 3, i[3], or);
    same("atomicAdd u64", 0, (double)u[0], T * 4294967296.0);
    same("atomicMax u64", 1, (double)u[1], T - 1);
    same("atomicAdd float", 0, f, T);
    same("atomicAdd double", 0, d, T * 0.5);
    same("atomicCAS", 0, c[0], T * 3);
}

static void test_arithmetic(void)
{
    float x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i * 0.37f - 9;
    CUdeviceptr dx = upload(x, sizeof x), dy = upload(x, sizeof x);
    launch("arithmetic", 1, 64, 0, (void *[]){&dx, &dy, NULL});
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < 64; i++)
        same("arithmetic", i, y[i],
             4.0 * x[i] + 1 + fmax(x[i], 0) + __builtin_popcount((unsigned)i) + (i < 3 ? i : 3) +
                 0.5);
}

/* ---- products ---- */

typedef struct {
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} Heuristic;
static int (*ltCreate)(void **);
static int (*ltDesc)(void **, int, int);
static int (*ltDescSet)(void *, int, const void *, size_t);
static int (*ltLayout)(void **, int, uint64_t, uint64_t, int64_t);
static int (*ltLayoutSet)(void *, int, const void *, size_t);
static int (*ltPreference)(void **);
static int (*ltHeuristic)(void *, void *, void *, void *, void *, void *, void *, int, Heuristic *,
                          int *);
static int (*ltMatmul)(void *, void *, const void *, CUdeviceptr, void *, CUdeviceptr, void *,
                       const void *, CUdeviceptr, void *, CUdeviceptr, void *, const uint64_t *,
                       CUdeviceptr, size_t, CUstream);
static void *handle;

static void lt_start(void)
{
    void *l = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (!l) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
#define LT(variable, name) *(void **)&variable = dlsym(l, "cublasLt" name)
    LT(ltCreate, "Create");
    LT(ltDesc, "MatmulDescCreate");
    LT(ltDescSet, "MatmulDescSetAttribute");
    LT(ltLayout, "MatrixLayoutCreate");
    LT(ltLayoutSet, "MatrixLayoutSetAttribute");
    LT(ltPreference, "MatmulPreferenceCreate");
    LT(ltHeuristic, "MatmulAlgoGetHeuristic");
    LT(ltMatmul, "Matmul");
    CHECK(ltCreate(&handle));
}

enum { BATCH = 2, ROWS = 5, INNER = 6, COLS = 7, BIAS_RELU = 6 };
typedef struct {
    void *desc, *a, *b, *c;
    Heuristic h;
} Plan;

/* y[ROWS, COLS] = relu(a[ROWS, INNER] b[INNER, COLS] + bias[COLS]), all by rows: column-major is b'
 * a'. */
static Plan lt_plan(CUdeviceptr bias)
{
    Plan p;
    void *preference;
    int count, epilogue = BIAS_RELU, batch = BATCH;
    int64_t stride[3] = {INNER * COLS, ROWS * INNER, ROWS * COLS};
    CHECK(ltDesc(&p.desc, 68, 0));
    CHECK(ltDescSet(p.desc, 7, &epilogue, sizeof epilogue));
    CHECK(ltDescSet(p.desc, 8, &bias, sizeof bias));
    CHECK(ltLayout(&p.a, 0, COLS, INNER, COLS));
    CHECK(ltLayout(&p.b, 0, INNER, ROWS, INNER));
    CHECK(ltLayout(&p.c, 0, COLS, ROWS, COLS));
    void *layouts[3] = {p.a, p.b, p.c};
    for (int i = 0; i < 3; i++) {
        CHECK(ltLayoutSet(layouts[i], 5, &batch, sizeof batch));
        CHECK(ltLayoutSet(layouts[i], 6, &stride[i], sizeof stride[i]));
    }
    CHECK(ltPreference(&preference));
    CHECK(ltHeuristic(handle, p.desc, p.a, p.b, p.c, p.c, preference, 1, &p.h, &count));
    same("algorithms", 0, count, 1);
    return p;
}

static void lt_run(Plan *p, CUdeviceptr a, CUdeviceptr b, CUdeviceptr y, CUstream s)
{
    float one = 1, zero = 0;
    CHECK(ltMatmul(handle, p->desc, &one, b, p->a, a, p->b, &zero, y, p->c, y, p->c, p->h.algo, 0,
                   0, s));
}

static void compare(const char *what, const float *a, const float *b, const float *bias,
                    CUdeviceptr dy)
{
    float y[BATCH * ROWS * COLS];
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < BATCH * ROWS * COLS; i++) {
        int n = i / (ROWS * COLS), r = i / COLS % ROWS, c = i % COLS;
        double sum = bias[c];
        for (int k = 0; k < INNER; k++)
            sum += a[(n * ROWS + r) * INNER + k] * b[(n * INNER + k) * COLS + c];
        same(what, i, y[i], sum > 0 ? sum : 0);
    }
}

static void test_product(void)
{
    float a[BATCH * ROWS * INNER], b[BATCH * INNER * COLS], bias[COLS];
    CUdeviceptr y[2];
    CUstream stream;
    CUgraph graph;
    CUgraphNode copy;
    CUgraphExec exec;
    for (int i = 0; i < BATCH * ROWS * INNER; i++)
        a[i] = (float)(i * 7 % 11) - 5;
    for (int i = 0; i < BATCH * INNER * COLS; i++)
        b[i] = (float)(i * 5 % 13) - 6;
    for (int i = 0; i < COLS; i++)
        bias[i] = (float)i;
    CUdeviceptr da = upload(a, sizeof a), db = upload(b, sizeof b),
                dbias = upload(bias, sizeof bias);
    CUdeviceptr da2;
    CHECK(cuMemAlloc(&da2, sizeof a));
    for (int i = 0; i < 2; i++)
        CHECK(cuMemAlloc(&y[i], sizeof(float) * BATCH * ROWS * COLS));
    lt_start();
    Plan p = lt_plan(dbias);
    CHECK(cuStreamCreate(&stream, 1));
    lt_run(&p, da, db, y[0], stream);
    CHECK(cuStreamSynchronize(stream));
    compare("product", a, b, bias, y[0]);
    /* The same inside a graph, after a node that copies one operand in. */
    CHECK(cuGraphCreate(&graph, 0));
    CopyNode c = {.src_type = HOST,
                  .src_host = a,
                  .dst_type = DEVICE,
                  .dst_device = da2,
                  .width = sizeof a,
                  .height = 1,
                  .depth = 1};
    CHECK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &c, context));
    CHECK(cuStreamBeginCaptureToGraph(stream, graph, &copy, NULL, 1, 0));
    lt_run(&p, da2, db, y[1], stream);
    const CUgraphNode *tail;
    size_t count;
    int status;
    CHECK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &tail, NULL, &count));
    same("capture status", 0, status, 1);
    same("nodes captured last", 0, (double)count, 1);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    compare("product in a graph", a, b, bias, y[1]);
}

int main(void)
{
    driver_start();
    test_shared();
    test_votes();
    test_atomics();
    test_arithmetic();
    test_product();
    printf("%d differences\n", differences);
    return differences != 0;
}
