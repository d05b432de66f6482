/* EXPECT: missing graph edge
 * PLAIN: y is
 * A graph whose two halves share memory, as a planner arranges it: plus_one writes t, twice reads
 * it; then plus_one writes t again for another input. Broken: nothing keeps the second writer
 * behind the first reader. */
#include "driver.h"

enum { N = 100 };
static int n = N;

static CUgraphNode add_kernel(CUgraph g, const CUgraphNode *before, size_t count, const char *name,
                              CUdeviceptr x, CUdeviceptr y)
{
    void *args[] = {&x, &y, &n, NULL};
    KernelNode k = {NULL, {4, 1, 1}, {32, 1, 1}, 0, args, NULL, driver_kernel(name), context};
    CUgraphNode node;
    CHECK(cuGraphAddKernelNode(&node, g, before, count, &k));
    return node;
}

int main(void)
{
    static int x[2][N], y[2][N];
    CUdeviceptr in[2], t, out[2];
    CUgraph g;
    CUgraphExec exec;
    CUgraphNode first, second, reader[2];
    CUstream stream;
    driver_start();
    CHECK(cuMemAlloc(&t, sizeof x[0]));
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            x[k][i] = i + 1000 * k;
        CHECK(cuMemAlloc(&in[k], sizeof x[0]));
        CHECK(cuMemAlloc(&out[k], sizeof x[0]));
        CHECK(cuMemcpyHtoD(in[k], x[k], sizeof x[0]));
    }
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuGraphCreate(&g, 0));
    first = add_kernel(g, NULL, 0, "plus_one", in[0], t);
    reader[0] = add_kernel(g, &first, 1, "twice", t, out[0]);
#ifdef BROKEN
    second = add_kernel(g, &first, 1, "plus_one", in[1], t);
#else
    second = add_kernel(g, &reader[0], 1, "plus_one", in[1], t);
#endif
    reader[1] = add_kernel(g, &second, 1, "twice", t, out[1]);
    (void)reader;
    CHECK(cuGraphInstantiate(&exec, g, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int k = 0; k < 2; k++) {
        CHECK(cuMemcpyDtoH(y[k], out[k], sizeof y[0]));
        for (int i = 0; i < N; i++)
            if (y[k][i] != 2 * (x[k][i] + 1)) {
                fprintf(stderr, "y is %d, not %d\n", y[k][i], 2 * (x[k][i] + 1));
                return 1;
            }
    }
    return 0;
}
