/* simple.h: y = x + 1 on the device by one launch, for programs that break one part of it. */
#include "driver.h"

enum { N = 100 };
static int x[N], y[N];
static int n __attribute__((unused)) = N;
static CUdeviceptr dx, dy;

static void simple_start(void)
{
    for (int i = 0; i < N; i++)
        x[i] = i;
    driver_start();
    CHECK(cuMemAlloc(&dx, sizeof x));
    CHECK(cuMemAlloc(&dy, sizeof y));
    CHECK(cuMemcpyHtoD(dx, x, sizeof x));
}

static void simple_launch(void **args, CUstream s)
{
    CHECK(cuLaunchKernel(driver_kernel("plus_one"), 4, 1, 1, 32, 1, 1, 0, s, args, NULL));
}

static int simple_end(void)
{
    for (int i = 0; i < N; i++)
        if (y[i] != i + 1) {
            fprintf(stderr, "y is %d, not %d\n", y[i], i + 1);
            return 1;
        }
    return 0;
}
