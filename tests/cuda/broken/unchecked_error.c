/* EXPECT: unchecked error: cuMemAlloc gave 2
 * Broken: nobody looks at what an allocation returns that cannot succeed. */
#include "simple.h"

int main(void)
{
    CUdeviceptr large = 0;
    const char *text;
    simple_start();
    int error = cuMemAlloc(&large, (size_t)1 << 50);
#ifndef BROKEN
    if (error)
        cuGetErrorName(error, &text);
#else
    (void)error, (void)text;
#endif
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    return simple_end();
}
