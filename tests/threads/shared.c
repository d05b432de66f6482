// Three threads, each with a context of its own, share one pool; what each computes is what a
// context of one thread computes.

#include "shared.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X = 2 * 16 * 20 * 20, A = 90 * 80, B = 80 * 70, OUTPUTS = 3, RUNS = 20 };

static float x[X], a[A], b[B];

static int run(cameo_context *c)
{
    static const int64_t dims[3][4] = {{2, 16, 20, 20}, {90, 80}, {80, 70}};
    return shared_set_input(c, 0, 1, 4, dims[0], x) || shared_set_input(c, 1, 1, 2, dims[1], a) ||
           shared_set_input(c, 2, 1, 2, dims[2], b) || shared_run(c);
}

static size_t bytes_of(const cameo_context *c, int32_t i)
{
    const int64_t *dims;
    int32_t rank;
    size_t n = sizeof(float);
    shared_output(c, i, &rank, &dims);
    for (int32_t k = 0; k < rank; k++)
        n *= (size_t)dims[k];
    return n;
}

typedef struct Caller {
    cameo_pool *pool;
    const cameo_context *alone;
    int wrong;
} Caller;

static void *call(void *at)
{
    Caller *me = at;
    const cameo_options options = {.pool = me->pool};
    cameo_context *c = shared_create(&options);
    me->wrong = c ? shared_model.threads(c) != me->pool->threads : 1;
    for (int n = 0; n < RUNS && c; n++) {
        me->wrong += run(c) != 0;
        for (int32_t i = 0; i < OUTPUTS && !me->wrong; i++)
            me->wrong += memcmp(shared_output(c, i, NULL, NULL),
                                shared_output(me->alone, i, NULL, NULL), bytes_of(c, i)) != 0;
    }
    shared_destroy(c);
    return NULL;
}

static void fill(float *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (float)(i * 7919 % 1000) / 500 - 1;
}

int main(void)
{
    const cameo_options one = {.threads = 1};
    cameo_context *alone = shared_create(&one), *own = shared_create(NULL);
    cameo_pool *pool = shared_model.create_pool(3);
    Caller callers[3];
    pthread_t threads[3];
    fill(x, X);
    fill(a, A);
    fill(b, B);
    if (!alone || !own || !pool || run(alone) || run(own))
        return 2;
    int wrong = shared_model.threads(alone) != 1 || shared_model.threads(own) != 2;
    for (int i = 0; i < 3; i++) {
        callers[i] = (Caller){pool, alone, 0};
        pthread_create(&threads[i], NULL, call, &callers[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        wrong += callers[i].wrong;
    }
    shared_destroy(alone);
    shared_destroy(own);
    shared_model.destroy_pool(pool);
    printf("contexts that share a pool: %s\n", wrong ? "FAILED" : "right");
    return wrong != 0;
}
