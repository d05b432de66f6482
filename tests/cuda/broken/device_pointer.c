/* EXPECT: host code follows a device address
 * Broken: the host reads the result where it lies on the device. */
#include "simple.h"

int main(void)
{
    simple_start();
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
#ifdef BROKEN
    memcpy(y, (void *)(size_t)dy, sizeof y);
#else
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
#endif
    return simple_end();
}
