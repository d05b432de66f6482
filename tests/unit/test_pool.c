// The pool of threads: every unit of every job is done once, whoever shares the pool.

#include "runtime/cameo_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 2000 };

typedef struct Job {
    int32_t done[MOST]; // how often, by unit: written by the thread that took it alone
    int32_t threads;
    int faults; // units or threads that there are not
} Job;

static void count(void *with, int64_t from, int64_t to, int32_t thread)
{
    Job *j = with;
    if (from < 0 || from >= to || to > MOST || thread < 0 || thread >= j->threads) {
        __atomic_fetch_add(&j->faults, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = from; i < to; i++)
        j->done[i]++;
}

static int run_checked(cameo_pool *pool, Job *j, int64_t units, int64_t grain)
{
    memset(j, 0, sizeof *j);
    j->threads = pool->threads;
    pool->run(pool, units, grain, count, j);
    int wrong = j->faults;
    for (int64_t i = 0; i < MOST; i++)
        wrong += j->done[i] != (i < units);
    return wrong;
}

static void every_unit_once(void **state)
{
    static const int32_t threads[] = {1, 2, 3, 7, 16};
    static Job job;
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        cameo_pool *pool = cameo_pool_create(threads[t]);
        assert_non_null(pool);
        assert_int_equal(pool->threads, threads[t]);
        uint32_t random = 1;
        for (int turn = 0; turn < 200; turn++) {
            random = random * 1664525u + 1013904223u;
            const int64_t units = turn < 4 ? turn : (int64_t)(random >> 8) % MOST;
            assert_int_equal(run_checked(pool, &job, units, 1 + (random >> 4) % 40), 0);
        }
        cameo_pool_destroy(pool);
    }
}

// What one job wrote the next one reads, in other threads.
typedef struct Sums {
    int64_t at[2][MOST];
    int turn;
} Sums;

static void add_neighbours(void *with, int64_t from, int64_t to, int32_t thread)
{
    Sums *s = with;
    const int64_t *old = s->at[s->turn % 2];
    int64_t *new = s->at[(s->turn + 1) % 2];
    (void)thread;
    for (int64_t i = from; i < to; i++)
        new[i] = old[i] + old[(i + 7) % MOST] + 1;
}

static void jobs_follow_each_other(void **state)
{
    static Sums one, many;
    cameo_pool *pool = cameo_pool_create(3);
    (void)state;
    assert_non_null(pool);
    for (int turn = 0; turn < 50; turn++) {
        one.turn = many.turn = turn;
        add_neighbours(&one, 0, MOST, 0);
        pool->run(pool, MOST, 10, add_neighbours, &many);
    }
    cameo_pool_destroy(pool);
    assert_memory_equal(one.at, many.at, sizeof one.at);
}

typedef struct Caller {
    cameo_pool *pool;
    int64_t units;
    int wrong;
} Caller;

static void *call_often(void *at)
{
    Caller *c = at;
    Job *job = calloc(1, sizeof *job);
    c->wrong = job ? 0 : 1;
    for (int turn = 0; job && turn < 300; turn++) {
        c->wrong += run_checked(c->pool, job, c->units + turn, 3);
        for (int rest = 0; rest < turn % 5; rest++) // some find the others asleep
            sched_yield();
    }
    free(job);
    return NULL;
}

static void callers_share(void **state)
{
    Caller callers[4];
    pthread_t threads[4];
    cameo_pool *pool = cameo_pool_create(3);
    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 4; i++) {
        callers[i] = (Caller){pool, 100 * (i + 1), 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    cameo_pool_destroy(pool);
}

static void sleepers_wake(void **state)
{
    static Job job;
    cameo_pool *pool = cameo_pool_create(2);
    const struct timespec rest = {0, 3000000};
    (void)state;
    assert_non_null(pool);
    for (int turn = 0; turn < 10; turn++) {
        nanosleep(&rest, NULL);
        assert_int_equal(run_checked(pool, &job, MOST, 1), 0);
    }
    nanosleep(&rest, NULL);
    cameo_pool_destroy(pool);
    cameo_pool_destroy(cameo_pool_create(5)); // that nobody ever used
    cameo_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_once),
        cmocka_unit_test(jobs_follow_each_other),
        cmocka_unit_test(callers_share),
        cmocka_unit_test(sleepers_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
