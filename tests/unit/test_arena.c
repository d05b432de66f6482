// What an arena gives: zeroed, aligned, nobody else's, up to its limit.

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { MANY = 400, MOST = 9 << 20 };

// Pieces smaller and larger than a block, in an order that mixes them.
static size_t size_of(unsigned k)
{
    static const size_t sizes[] = {1, 40, 70000, 16, 5 << 20, 3000, 4 << 20, 1 << 20, 12, MOST};
    return k < 40 ? sizes[k % 10] + k : 30000 + k;
}

static void test_pieces(void **state)
{
    static unsigned char *pieces[MANY], zeros[MOST + MANY], same[MOST + MANY];
    size_t all = 0;
    (void)state;
    Arena *a = arena_new();
    for (unsigned k = 0; k < MANY; k++) {
        const size_t n = size_of(k);
        pieces[k] = arena_alloc(a, n);
        all += n;
        assert_int_equal((uintptr_t)pieces[k] % 16, 0);
        assert_memory_equal(pieces[k], zeros, n);
        memset(pieces[k], (int)(k % 255) + 1, n);
    }
    assert_true(arena_size(a) >= all);
    for (unsigned k = 0; k < MANY; k++) {
        memset(same, (int)(k % 255) + 1, size_of(k));
        assert_memory_equal(pieces[k], same, size_of(k));
    }
    arena_free(a);
}

// The same bytes, short and long, copied or written in place, are there once where they are long.
static void test_shared(void **state)
{
    static unsigned char bytes[MOST];
    (void)state;
    Arena *a = arena_new();
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t n = 5; n <= MOST; n = n * 3 + 1) {
        const unsigned char *first = arena_share(a, bytes, n);
        const size_t size = arena_size(a);
        assert_memory_equal(first, bytes, n);
        if (n >= 1024)
            assert_ptr_equal(first, arena_share(a, bytes, n));
        unsigned char *lent = arena_lend(a, n), *other = arena_lend(a, n);
        memcpy(lent, bytes, n);
        memcpy(other, bytes, n);
        other[n - 2] ^= 1; // between the words that are looked at first
        const unsigned char *kept = arena_keep(a, lent, n), *beside = arena_keep(a, other, n);
        if (n >= 1024)
            assert_ptr_equal(first, kept);
        assert_memory_equal(kept, bytes, n);
        assert_ptr_not_equal(beside, kept);
        assert_int_equal(beside[n - 2], bytes[n - 2] ^ 1);
        assert_memory_equal(beside, bytes, n - 2);
        assert_true(arena_size(a) <= size + n + (1 << 20)); // the other one, no third
    }
    arena_free(a);
}

static jmp_buf out;

static void leave(void)
{
    longjmp(out, 1);
}

static void test_limit(void **state)
{
    enum { LIMIT = 20 << 20, PIECE = 3 << 20 };
    (void)state;
    Arena *a = arena_new();
    volatile int given = 0;
    arena_on_exhausted(leave);
    arena_limit(a, LIMIT);
    if (setjmp(out) == 0)
        for (;;) {
            arena_alloc(a, PIECE);
            given++;
        }
    assert_in_range(given, 3, LIMIT / PIECE);
    assert_true(arena_size(a) <= LIMIT);
    if (setjmp(out) == 0) {
        arena_array(a, SIZE_MAX / 2, 4);
        fail_msg("a product that overflows was given");
    }
    if (setjmp(out) == 0) {
        arena_limit(a, 0);
        arena_alloc(a, SIZE_MAX - 40);
        fail_msg("all of memory was given");
    }
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
