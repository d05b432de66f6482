/* EXPECT: wrong number of arguments: plus_one wants 3 and got 2
 * Broken: one argument is forgotten. */
#include "simple.h"

int main(void)
{
    simple_start();
#ifdef BROKEN
    simple_launch((void *[]){&dx, &dy, NULL}, NULL);
#else
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
#endif
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    return simple_end();
}
