/* EXPECT: access outside every region: copy, 404 bytes at allocation 2
 * Broken: one element more is copied than there is. */
#include "simple.h"

int main(void)
{
    int more[N + 1];
    size_t bytes = sizeof y;
    simple_start();
#ifdef BROKEN
    bytes = sizeof more;
#endif
    simple_launch((void *[]){&dx, &dy, &n, NULL}, NULL);
    CHECK(cuMemcpyDtoH(more, dy, bytes));
    memcpy(y, more, sizeof y);
    return simple_end();
}
