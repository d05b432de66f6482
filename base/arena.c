#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST = 1 << 14, PAGE = 1 << 21, LARGE = 2 * PAGE }; // bytes; PAGE: of a large one

typedef struct Block {
    struct Block *next;
    size_t size, used;
    void *from; // what is freed
    _Alignas(16) unsigned char data[];
} Block;

struct Arena {
    Block *head;
    size_t taken, limit;
};

static void (*exhausted)(void) = abort;

void arena_on_exhausted(void (*handler)(void))
{
    exhausted = handler;
}

static _Noreturn void run_out(void)
{
    exhausted();
    abort();
}

Arena *arena_new(void)
{
    Arena *a = calloc(1, sizeof *a);
    if (!a)
        run_out();
    return a;
}

void arena_free(Arena *a)
{
    if (!a)
        return;
    for (Block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b->from);
    }
    free(a);
}

// Zeroed bytes that begin with a large page, of which the system makes one at a time: pages of the
// usual size cost a fault each. NULL: there is no memory.
static Block *large_block(size_t bytes)
{
    char *from = calloc(1, bytes + PAGE);
    if (!from)
        return NULL;
    char *at = from + (PAGE - (uintptr_t)from % PAGE);
#ifdef MADV_HUGEPAGE
    madvise(at, bytes / PAGE * PAGE, MADV_HUGEPAGE);
#endif
    Block *b = (Block *)at;
    b->from = from;
    return b;
}

static Block *small_block(size_t bytes)
{
    Block *b = calloc(1, bytes);
    if (b)
        b->from = b;
    return b;
}

static Block *add_block(Arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST;
    if (size > LARGE - sizeof(Block))
        size = LARGE - sizeof(Block);
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof(Block) - PAGE || (a->limit && a->taken + size > a->limit))
        run_out();
    const size_t bytes = sizeof(Block) + size;
    Block *b = bytes < LARGE ? small_block(bytes) : large_block(bytes);
    if (!b)
        run_out();
    b->size = size;
    b->next = a->head;
    a->head = b;
    a->taken += size;
    return b;
}

void *arena_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX - 32)
        run_out();
    size = (size + 15) & ~(size_t)15;
    Block *b = a->head;
    if (!b || b->size - b->used < size)
        b = add_block(a, size);
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

void *arena_array(Arena *a, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        run_out();
    return arena_alloc(a, n * size);
}

char *arena_copy(Arena *a, const void *bytes, size_t size)
{
    if (size == SIZE_MAX)
        run_out();
    char *p = arena_alloc(a, size + 1);
    if (size)
        memcpy(p, bytes, size);
    return p;
}

size_t arena_size(const Arena *a)
{
    return a->taken;
}

void arena_limit(Arena *a, size_t bytes)
{
    a->limit = bytes;
}

void *vec_grow_(Arena *a, void *at, uint32_t *cap, size_t size, uint32_t len)
{
    if (*cap > UINT32_MAX / 2)
        run_out();
    uint32_t more = *cap ? *cap * 2 : 4;
    void *fresh = arena_array(a, more, size);
    if (len)
        memcpy(fresh, at, (size_t)len * size);
    *cap = more;
    return fresh;
}

void *vec_reserve_(Arena *a, void *at, uint32_t *cap, size_t size, uint32_t len, size_t more)
{
    if (more > UINT32_MAX / 2 - len)
        run_out();
    if (len + more <= *cap)
        return at;
    void *fresh = arena_array(a, len + more, size);
    if (len)
        memcpy(fresh, at, (size_t)len * size);
    *cap = len + (uint32_t)more;
    return fresh;
}
