#include "passes/times.h"

#include <time.h>

double times_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void times_add(Times *to, const Times *from)
{
    to->read += from->read;
    to->types += from->types;
    to->weights += from->weights;
    to->read_bytes += from->read_bytes;
    to->weight_bytes += from->weight_bytes;
    for (int i = 0; i < TIMES_RULES; i++)
        to->rules[i] += from->rules[i];
}
