/* EXPECT: device pointer into no allocation: plus_one, argument 1
 * Broken: the result is freed before it is written. */
#include "simple.h"

int main(void)
{
    simple_start();
#ifdef BROKEN
    CHECK(cuMemFree(dy));
#endif
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    CHECK(cuMemFree(dx));
    return simple_end();
}
