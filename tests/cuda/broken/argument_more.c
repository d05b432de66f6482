/* EXPECT: wrong number of arguments: plus_one wants 3 and got more
 * SETTINGS: args=terminated
 * Broken: one argument too many. */
#include "simple.h"

int main(void)
{
    simple_start();
#ifdef BROKEN
    simple_launch((void *[]){&dx, &dy, &n, &n, NULL}, NULL);
#else
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
#endif
    CHECK(cuMemcpyDtoH(y, dy, sizeof y));
    return simple_end();
}
