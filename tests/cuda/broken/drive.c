/* drive GRID BLOCK INDEX VALUE ...: runs k(x, y, 100) with x = 0..99 and y = 0 on the first image,
 * and exits 0 if each y[INDEX] is VALUE, else 1. */
#include "driver.h"

int main(int argc, char **argv)
{
    int x[100], y[100] = {0}, n = 100;
    CUdeviceptr dx, dy;
    for (int i = 0; i < n; i++)
        x[i] = i;
    driver_start();
    CHECK(cuMemAlloc(&dx, sizeof x));
    CHECK(cuMemAlloc(&dy, sizeof y));
    CHECK(cuMemcpyHtoD(dx, x, sizeof x));
    CHECK(cuMemcpyHtoD(dy, y, sizeof y));
    void *args[] = {&dx, &dy, &n, NULL};
    CHECK(cuLaunchKernel(driver_kernel("k"), (unsigned)atoi(argv[1]), 1, 1, (unsigned)atoi(argv[2]),
                         1, 1, 0, NULL, args, NULL));
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    for (int i = 3; i + 1 < argc; i += 2)
        if (y[atoi(argv[i])] != atoi(argv[i + 1])) {
            fprintf(stderr, "y[%s] is %d, not %s\n", argv[i], y[atoi(argv[i])], argv[i + 1]);
            return 1;
        }
    return 0;
}
