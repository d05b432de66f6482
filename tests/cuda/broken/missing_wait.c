/* EXPECT: y is
 * Broken: the host reads the result of a stream it has not waited for. */
#include "simple.h"

int main(void)
{
    CUstream stream;
    simple_start();
    CHECK(cuStreamCreate(&stream, 1));
    simple_launch((void *[]){&dx, &dy, &n, NULL}, stream);
    CHECK(cuMemcpyDtoHAsync(y, dy, sizeof y, stream));
#ifndef BROKEN
    CHECK(cuStreamSynchronize(stream));
#endif
    return simple_end();
}
