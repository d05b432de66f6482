/* Threads that share the work of a kernel. A kernel's work is a number of units. Each thread begins
 * with a part of its own, the same in every kernel, since what it wrote lies in its core's caches;
 * it takes a half of what is left of it at a time, and then of the others' parts, so that one that
 * is late or was interrupted is not waited for while there is work. What a unit computes does not
 * depend on who computes it nor on where a share begins: results are the same for any number of
 * threads.
 *
 * Between two kernels threads wait by turning for CAMEO_CPU_TURNS nanoseconds, then in the kernel
 * (futex). So does the thread that called, where others are not done when nothing is left to take:
 * its core is free for one of them then. Nothing blocks another context: where the pool is taken,
 * a caller does all of its units itself. */
#ifndef CAMEO_POOL_H
#define CAMEO_POOL_H

#include "cameo_model.h"
#include "cameo_processor.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef CAMEO_FN
#define CAMEO_FN static inline __attribute__((unused))
#endif
#ifndef CAMEO_ONCE
#define CAMEO_ONCE static __attribute__((noinline, unused))
#endif

enum {
    CAMEO_POOL_MOST = 1024, /* threads */
    /* Of cameo_crew.state: how many threads are inside, is there a job, and its number. */
    CAMEO_POOL_INSIDE = 0x7ff,
    CAMEO_POOL_OPEN = 0x800,
    CAMEO_POOL_JOB = 0x1000
};

/* A thread's part of the units: the first one that nobody took, and the end. */
typedef struct cameo_range {
    _Alignas(64) int64_t next;
    int64_t end;
} cameo_range;

/* What stands behind a cameo_pool. Fields that different threads write lie in lines of their own,
 * and what a waiting thread looks at in one line with the job, which so comes to it at once. */
typedef struct cameo_crew {
    cameo_pool pool;
    int32_t started;
    int64_t turns;
    pthread_t *threads;
    _Alignas(64) uint32_t taken; /* 1: a caller has the pool */
    _Alignas(64) uint32_t state; /* see above */
    uint32_t quit;
    /* the job: written by the caller while it is closed and nobody is inside */
    cameo_part *part;
    void *with;
    int64_t grain;
    _Alignas(64) uint32_t asleep; /* threads that wait in the kernel, or are about to */
    uint32_t awaits, left;        /* does the caller wait; how often the last one told it */
    _Alignas(64) cameo_range ranges[];
} cameo_crew;

CAMEO_FN void cameo_futex_wait(uint32_t *at, uint32_t seen)
{
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

CAMEO_FN void cameo_futex_wake(uint32_t *at)
{
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

CAMEO_FN int64_t cameo_pool_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

CAMEO_FN void cameo_pool_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Has the time for turning passed? Looks at the clock now and then. */
CAMEO_FN int cameo_pool_tired(const cameo_crew *c, uint32_t *turn, int64_t *begin)
{
    cameo_pool_pause();
    if (++*turn % 32)
        return 0;
    const int64_t now = cameo_pool_now();
    if (*turn == 32)
        *begin = now;
    return now - *begin >= c->turns;
}

/* Takes units of one range until none are left. */
CAMEO_FN void cameo_pool_take(cameo_crew *c, cameo_range *r, int32_t thread)
{
    int64_t at = __atomic_load_n(&r->next, __ATOMIC_RELAXED);
    while (at < r->end) {
        const int64_t left = r->end - at;
        int64_t n = left / 2 > c->grain ? left / 2 : c->grain;
        n = n < left ? n : left;
        if (!__atomic_compare_exchange_n(&r->next, &at, at + n, 0, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        c->part(c->with, at, at + n, thread);
        at = __atomic_load_n(&r->next, __ATOMIC_RELAXED);
    }
}

/* Takes units until none are left, a thread's own first. */
CAMEO_FN void cameo_pool_work(cameo_crew *c, int32_t thread)
{
    for (int32_t i = 0; i < c->pool.threads; i++)
        cameo_pool_take(c, &c->ranges[(thread + i) % c->pool.threads], thread);
}

/* Waits for a job other than `seen` and enters it. Its number, or `seen` where the pool ends. */
CAMEO_FN uint32_t cameo_pool_enter(cameo_crew *c, uint32_t seen)
{
    const uint32_t number = ~(uint32_t)(CAMEO_POOL_JOB - 1);
    uint32_t turn = 0;
    int64_t begin = 0;
    for (;;) {
        uint32_t state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&c->quit, __ATOMIC_ACQUIRE))
            return seen;
        if ((state & CAMEO_POOL_OPEN) && (state & number) != seen) {
            if (__atomic_compare_exchange_n(&c->state, &state, state + 1, 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED))
                return state & number;
            continue;
        }
        if (!cameo_pool_tired(c, &turn, &begin) && c->turns)
            continue;
        __atomic_fetch_add(&c->asleep, 1, __ATOMIC_SEQ_CST);
        state = __atomic_load_n(&c->state, __ATOMIC_SEQ_CST);
        if (!((state & CAMEO_POOL_OPEN) && (state & number) != seen) &&
            !__atomic_load_n(&c->quit, __ATOMIC_SEQ_CST))
            cameo_futex_wait(&c->state, state);
        __atomic_fetch_sub(&c->asleep, 1, __ATOMIC_SEQ_CST);
        turn = 0;
    }
}

typedef struct cameo_worker {
    cameo_crew *crew;
    int32_t thread;
} cameo_worker;

CAMEO_FN void *cameo_pool_thread(void *at)
{
    const cameo_worker me = *(cameo_worker *)at;
    cameo_crew *c = me.crew;
    uint32_t seen = 0, job;
    free(at);
    while ((job = cameo_pool_enter(c, seen)) != seen) {
        seen = job;
        cameo_pool_work(c, me.thread);
        const uint32_t state = __atomic_sub_fetch(&c->state, 1, __ATOMIC_SEQ_CST);
        if (!(state & (CAMEO_POOL_OPEN | CAMEO_POOL_INSIDE)) &&
            __atomic_load_n(&c->awaits, __ATOMIC_SEQ_CST)) {
            __atomic_fetch_add(&c->left, 1, __ATOMIC_SEQ_CST);
            cameo_futex_wake(&c->left);
        }
    }
    return NULL;
}

/* No thread may enter the job any more; returns when all are out of it. */
CAMEO_FN void cameo_pool_close(cameo_crew *c)
{
    uint32_t turn = 0;
    int64_t begin = 0;
    __atomic_fetch_and(&c->state, ~(uint32_t)CAMEO_POOL_OPEN, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) & CAMEO_POOL_INSIDE) {
        if (!cameo_pool_tired(c, &turn, &begin) && c->turns)
            continue;
        __atomic_store_n(&c->awaits, 1, __ATOMIC_SEQ_CST);
        const uint32_t left = __atomic_load_n(&c->left, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&c->state, __ATOMIC_SEQ_CST) & CAMEO_POOL_INSIDE)
            cameo_futex_wait(&c->left, left);
        __atomic_store_n(&c->awaits, 0, __ATOMIC_SEQ_CST);
    }
}

CAMEO_ONCE void cameo_pool_run(cameo_pool *pool, int64_t units, int64_t grain, cameo_part *part,
                               void *with)
{
    cameo_crew *c = (cameo_crew *)(void *)pool;
    if (__atomic_exchange_n(&c->taken, 1, __ATOMIC_ACQUIRE)) {
        part(with, 0, units, 0);
        return;
    }
    c->part = part;
    c->with = with;
    c->grain = grain > 0 ? grain : 1;
    for (int32_t i = 0; i < pool->threads; i++) {
        c->ranges[i].next = units / pool->threads * i + units % pool->threads * i / pool->threads;
        c->ranges[i].end = i + 1 < pool->threads ? 0 : units;
        if (i > 0)
            c->ranges[i - 1].end = c->ranges[i].next;
    }
    const uint32_t state = __atomic_load_n(&c->state, __ATOMIC_RELAXED);
    uint32_t job = (state & ~(uint32_t)(CAMEO_POOL_JOB - 1)) + CAMEO_POOL_JOB;
    job = job ? job : CAMEO_POOL_JOB; /* 0 is the number that no thread has seen */
    __atomic_store_n(&c->state, job | CAMEO_POOL_OPEN, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST))
        cameo_futex_wake(&c->state);
    cameo_pool_work(c, 0);
    cameo_pool_close(c);
    __atomic_store_n(&c->taken, 0, __ATOMIC_RELEASE);
}

CAMEO_ONCE void cameo_pool_destroy(cameo_pool *pool)
{
    cameo_crew *c = (cameo_crew *)(void *)pool;
    if (!c)
        return;
    __atomic_store_n(&c->quit, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->state, CAMEO_POOL_JOB, __ATOMIC_SEQ_CST);
    cameo_futex_wake(&c->state);
    for (int32_t i = 0; i < c->started; i++)
        pthread_join(c->threads[i], NULL);
    free(c);
}

/* How many processors this process may use. */
CAMEO_FN int32_t cameo_pool_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (int32_t)CPU_COUNT(&set) : INT_MAX;
}

CAMEO_FN void cameo_pool_start(cameo_crew *c)
{
    cameo_worker *w = (cameo_worker *)malloc(sizeof *w);
    if (!w)
        return;
    *w = (cameo_worker){c, c->started + 1};
    if (pthread_create(&c->threads[c->started], NULL, cameo_pool_thread, w) == 0)
        c->started++;
    else
        free(w);
}

/* A pool of so many threads, the caller's among them, or of as many as could be started. NULL: no
 * memory. turns: nanoseconds that they turn while they wait, if they do not outnumber the
 * processors. */
CAMEO_ONCE cameo_pool *cameo_pool_of(int32_t threads, int64_t turns)
{
    threads = threads < 1 ? 1 : threads > CAMEO_POOL_MOST ? CAMEO_POOL_MOST : threads;
    const size_t size =
        sizeof(cameo_crew) + (size_t)threads * (sizeof(cameo_range) + sizeof(pthread_t));
    cameo_crew *c = (cameo_crew *)aligned_alloc(64, (size + 63) / 64 * 64);
    sigset_t all, before;
    if (!c)
        return NULL;
    *c = (cameo_crew){.turns = threads <= cameo_pool_processors() ? turns : 0};
    c->threads = (pthread_t *)(void *)&c->ranges[threads];
    c->pool.run = cameo_pool_run;
    c->pool.threads = threads;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    for (int32_t i = 1; i < threads; i++)
        cameo_pool_start(c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->pool.threads = c->started + 1;
    return &c->pool;
}

/* As cameo_pool_of, with the turns of the processor that the text is compiled for. */
CAMEO_FN cameo_pool *cameo_pool_create(int32_t threads)
{
    return cameo_pool_of(threads, CAMEO_CPU_TURNS);
}

#endif
