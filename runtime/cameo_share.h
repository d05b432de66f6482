/* What a compiled model's kernels need to share their work among threads. */
#ifndef CAMEO_SHARE_H
#define CAMEO_SHARE_H

#include "cameo_pool.h"
#include "cameo_runtime.h"

/* The least number of units of so much work that another thread is worth its while for. `much`: the
 * work of some microseconds. */
CAMEO_FN int64_t cameo_grain(int64_t much, int64_t work)
{
    return work < 1 ? much : work >= much ? 1 : (much + work - 1) / work;
}

/* The same of units that are so much work in all. */
CAMEO_FN int64_t cameo_grain_of(int64_t much, int64_t work, int64_t units)
{
    return cameo_grain(much, units > 0 ? work / units : 0);
}

/* Among how many threads. */
CAMEO_FN int64_t cameo_parts(const cameo_threads *t)
{
    return t->pool ? t->pool->threads : 1;
}

/* Has a kernel's units done. With one thread it is a call of its function, of which there is one
 * copy that way. */
CAMEO_ONCE void cameo_share(const cameo_threads *t, int64_t units, int64_t grain, cameo_part *part,
                            void *with)
{
    if (t->pool && units > grain)
        t->pool->run(t->pool, units, grain, part, with);
    else if (units > 0)
        part(with, 0, units, 0);
}

/* Where a thread has what the first one has at `own`: in its scratch memory. */
CAMEO_FN void *cameo_scratch(const cameo_threads *t, int32_t thread, void *own)
{
    return thread ? t->scratch + (thread - 1) * t->each : own;
}

#ifdef CAMEO_APART
/* Where it has that in memory of its own, as large as the first one's, until its part is done. */
CAMEO_FN void *cameo_own_begin(int32_t thread, void *own)
{
    void *at = thread ? cameo_aligned_alloc((int64_t)malloc_usable_size(own) - CAMEO_BEHIND) : own;
    if (!at)
        abort();
    return at;
}

CAMEO_FN void cameo_own_end(int32_t thread, void *at)
{
    if (thread)
        free(at);
}
#endif

CAMEO_ONCE void cameo_close_threads(cameo_context *c)
{
    if (c->threads.own)
        cameo_pool_destroy(c->threads.pool);
    free(c->threads.scratch);
    c->threads = (cameo_threads){0};
}

/* So many bytes of scratch memory for each thread but the first. 0, or -1 with an error. */
CAMEO_ONCE int cameo_reserve_scratch(cameo_context *c, int64_t each)
{
    cameo_threads *t = &c->threads;
    each = cameo_aligned(each);
    if (!t->pool || t->pool->threads < 2 || each <= t->each)
        return 0;
    if (each > (INT64_C(1) << 46) / t->pool->threads)
        return cameo_fail(c, "these input shapes need more memory than there is");
    const int64_t more = cameo_aligned(t->each + t->each / 2); /* loops ask little by little */
    each = each > more ? each : more;
    free(t->scratch);
    t->each = each;
    t->scratch = (unsigned char *)cameo_aligned_alloc(each * (t->pool->threads - 1));
    if (t->scratch)
        return 0;
    t->each = 0;
    return cameo_fail(c, "no memory for the scratch buffers of %d threads", (int)t->pool->threads);
}

CAMEO_FN int cameo_open_threads(cameo_context *c, const cameo_options *options)
{
    cameo_pool *given = options ? options->pool : NULL;
    const int32_t said = options ? options->threads : 0, n = said ? said : c->program->threads;
    c->threads.own = !given && n > 1;
    c->threads.pool = given ? given : n > 1 ? cameo_pool_create(n) : NULL;
    if (n > 1 && !c->threads.pool)
        return -1;
    return cameo_reserve_scratch(c, c->program->scratch);
}

CAMEO_FN int32_t cameo_count_threads(const cameo_context *c)
{
    return c->threads.pool ? c->threads.pool->threads : 1;
}

#endif
