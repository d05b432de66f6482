/* EXPECT: missing graph edge|uninitialised read of device memory
 * PLAIN: y is
 * A graph: copy in, plus_one, twice, copy out. Broken: nothing says that twice comes after
 * plus_one. */
#include "driver.h"

static CUgraphNode add_kernel(CUgraph g, CUgraphNode before, const char *name, CUdeviceptr x,
                              CUdeviceptr y, int n)
{
    void *args[] = {&x, &y, &n, NULL};
    KernelNode k = {NULL, {4, 1, 1}, {32, 1, 1}, 0, args, NULL, driver_kernel(name), context};
    CUgraphNode node;
    CHECK(cuGraphAddKernelNode(&node, g, &before, 1, &k));
    return node;
}

int main(void)
{
    enum { N = 100 };
    int x[N], y[N];
    CUdeviceptr d[3];
    CUgraph g;
    CUgraphExec exec;
    CUgraphNode in, one, two, out;
    CUstream stream;
    driver_start();
    for (int i = 0; i < 3; i++)
        CHECK(cuMemAlloc(&d[i], sizeof x));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuGraphCreate(&g, 0));
    CopyNode c = {.src_type = HOST,
                  .src_host = x,
                  .dst_type = DEVICE,
                  .dst_device = d[0],
                  .width = sizeof x,
                  .height = 1,
                  .depth = 1};
    CHECK(cuGraphAddMemcpyNode(&in, g, NULL, 0, &c, context));
    one = add_kernel(g, in, "plus_one", d[0], d[1], N);
#ifdef BROKEN
    two = add_kernel(g, in, "twice", d[1], d[2], N);
#else
    two = add_kernel(g, one, "twice", d[1], d[2], N);
#endif
    c = (CopyNode){.src_type = DEVICE,
                   .src_device = d[2],
                   .dst_type = HOST,
                   .dst_host = y,
                   .width = sizeof y,
                   .height = 1,
                   .depth = 1};
    CHECK(cuGraphAddMemcpyNode(&out, g, &two, 1, &c, context));
    CHECK(cuGraphInstantiate(&exec, g, 0));
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < N; i++)
            x[i] = i + run;
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        for (int i = 0; i < N; i++)
            if (y[i] != 2 * (i + run + 1)) {
                fprintf(stderr, "y is %d, not %d\n", y[i], 2 * (i + run + 1));
                return 1;
            }
    }
    (void)one;
    return 0;
}
