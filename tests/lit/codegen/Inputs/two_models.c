// Two compiled models side by side in one program.
#include "one.h"
#include "two.h"

#include <stdio.h>

int main(void)
{
    const float x[3] = {0.5f, -1, 2};
    const int64_t dims[] = {1, 3};
    cameo_context *a = one_create(NULL), *b = two_create(NULL);
    int ok = a && b && one_set_input(a, 0, 1, 2, dims, x) == 0 && one_run(a) == 0;
    ok = ok && two_set_input(b, 0, 1, 2, dims, x) == 0 && two_run(b) == 0;
    if (!ok)
        return 1;
    const float *y = two_output(b, 0, NULL, NULL);
    const float *z = one_output(a, 0, NULL, NULL);
    printf("%d %d: %g %g %g\n", (int)one_model.ninputs, y[2] == z[2], y[0], y[1], y[2]);
    one_destroy(a);
    two_destroy(b);
    return 0;
}
