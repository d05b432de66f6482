// A compiled model inside a program of your own. See README.md.
#include "digits.h"

#include <stdio.h>

int main(void)
{
    float image[64];
    for (int i = 0; i < 64; i++) // a vertical stroke
        image[i] = i % 8 == 3 || i % 8 == 4 ? 16.0f : 0.0f;

    cameo_context *net = digits_create(NULL);
    if (!net)
        return 1;
    int64_t dims[16] = {0};
    const cameo_port *port = &digits_model.inputs[0];
    for (int k = 0; k < port->rank; k++)
        dims[k] = port->dims[k] < 0 ? 1 : port->dims[k];
    if (digits_set_input(net, 0, port->dtype, port->rank, dims, image) != 0 ||
        digits_run(net) != 0) {
        fprintf(stderr, "%s\n", digits_error(net));
        digits_destroy(net);
        return 1;
    }
    const float *scores = digits_output(net, 0, NULL, NULL);
    int best = 0;
    for (int i = 1; i < 10; i++)
        best = scores[i] > scores[best] ? i : best;
    printf("%d (%.3f)\n", best, scores[best]);
    digits_destroy(net);
    return 0;
}
