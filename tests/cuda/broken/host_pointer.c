/* EXPECT: host pointer where a device pointer is due: plus_one, argument 0
 * Broken: the kernel is given the address of the host's array. */
#include "simple.h"

int main(void)
{
    simple_start();
#ifdef BROKEN
    dx = (CUdeviceptr)(size_t)x;
#endif
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    return simple_end();
}
