/* EXPECT: uninitialised read of device memory: kernel plus_one
 * PLAIN: y is
 * Broken: the input is never copied to the device. */
#include "driver.h"

enum { N = 100 };

int main(void)
{
    static int x[N], y[N];
    int n = N;
    CUdeviceptr dx, dy;
    for (int i = 0; i < N; i++)
        x[i] = i;
    driver_start();
    CHECK(cuMemAlloc(&dx, sizeof x));
    CHECK(cuMemAlloc(&dy, sizeof y));
#ifndef BROKEN
    CHECK(cuMemcpyHtoD(dx, x, sizeof x));
#endif
    void *args[] = {&dx, &dy, &n, NULL};
    CHECK(cuLaunchKernel(driver_kernel("plus_one"), 4, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 0; i < N; i++)
        if (y[i] != i + 1) {
            fprintf(stderr, "y is %d, not %d\n", y[i], i + 1);
            return 1;
        }
    return 0;
}
