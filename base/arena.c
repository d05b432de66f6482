#include "base/arena.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Bytes; PAGE: of a large one. Pieces longer than APART have blocks of their own.
enum { FIRST = 1 << 14, APART = 1 << 18, PAGE = 1 << 21, LARGE = 2 * PAGE };

typedef struct Block {
    struct Block *next;
    size_t size, used;
    void *from; // what is freed
    _Alignas(16) unsigned char data[];
} Block;

// Bytes that are the same wherever they are asked for.
typedef struct Shared {
    struct Shared *next;
    uint64_t hash;
    size_t size;
    const void *at;
} Shared;

enum { SHARED_LISTS = 256, SHARED_LEAST = 1024 }; // bytes: below, a search costs more than it saves

struct Arena {
    Block *head;
    size_t taken, limit;
    Shared **shared; // SHARED_LISTS lists; NULL: there are none
};

static void (*exhausted)(void) = abort;

void arena_on_exhausted(void (*handler)(void))
{
    exhausted = handler;
}

_Noreturn void arena_run_out(void)
{
    exhausted();
    abort();
}

Arena *arena_new(void)
{
    Arena *a = calloc(1, sizeof *a);
    if (!a)
        arena_run_out();
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

static Block *new_block(Arena *a, size_t size)
{
    if (size > SIZE_MAX - sizeof(Block) - PAGE || (a->limit && a->taken + size > a->limit))
        arena_run_out();
    const size_t bytes = sizeof(Block) + size;
    Block *b = bytes < LARGE ? small_block(bytes) : large_block(bytes);
    if (!b)
        arena_run_out();
    b->size = size;
    a->taken += size;
    return b;
}

static Block *add_block(Arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST;
    if (size > LARGE - sizeof(Block))
        size = LARGE - sizeof(Block);
    Block *b = new_block(a, size < need ? need : size);
    b->next = a->head;
    a->head = b;
    return b;
}

// A block of its own, behind the one that short pieces are taken from, whose rest stays in use.
static void *alloc_apart(Arena *a, size_t size)
{
    if (!a->head)
        add_block(a, 0);
    Block *b = new_block(a, size);
    b->used = size;
    b->next = a->head->next;
    a->head->next = b;
    return b->data;
}

void *arena_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX - 32)
        arena_run_out();
    size = (size + 15) & ~(size_t)15;
    Block *b = a->head;
    if (size > APART && (!b || b->size - b->used < size))
        return alloc_apart(a, size);
    if (!b || b->size - b->used < size)
        b = add_block(a, size);
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

void *arena_array(Arena *a, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        arena_run_out();
    return arena_alloc(a, n * size);
}

char *arena_copy(Arena *a, const void *bytes, size_t size)
{
    if (size == SIZE_MAX)
        arena_run_out();
    char *p = arena_alloc(a, size + 1);
    if (size)
        memcpy(p, bytes, size);
    return p;
}

// ---- the same bytes, once ----------------------------------------------------------------------

// Of long bytes, words at equal steps: whether two are the same a comparison decides.
static uint64_t hash_sampled(const unsigned char *at, size_t size)
{
    enum { SAMPLES = 64 };
    const size_t step = size / SAMPLES;
    uint64_t h = size, word;
    for (size_t i = 0; i < SAMPLES; i++) {
        memcpy(&word, at + i * step, sizeof word);
        h = hash_word(h, word);
    }
    return hash_end(h);
}

static Shared **shared_list(Arena *a, uint64_t hash)
{
    if (!a->shared)
        a->shared = NEWS(a, Shared *, SHARED_LISTS);
    return &a->shared[hash % SHARED_LISTS];
}

static const void *shared_find(Arena *a, uint64_t hash, const void *bytes, size_t size)
{
    for (const Shared *s = *shared_list(a, hash); s; s = s->next)
        if (s->hash == hash && s->size == size && memcmp(s->at, bytes, size) == 0)
            return s->at;
    return NULL;
}

static const void *shared_add(Arena *a, uint64_t hash, const void *at, size_t size)
{
    Shared **list = shared_list(a, hash), *s = NEW(a, Shared);
    *s = (Shared){*list, hash, size, at};
    *list = s;
    return at;
}

const void *arena_share(Arena *a, const void *bytes, size_t size)
{
    if (size < SHARED_LEAST)
        return arena_copy(a, bytes, size);
    const uint64_t hash = hash_sampled(bytes, size);
    const void *there = shared_find(a, hash, bytes, size);
    return there ? there : shared_add(a, hash, arena_copy(a, bytes, size), size);
}

void *arena_lend(Arena *a, size_t size)
{
    if (size < SHARED_LEAST || size > SIZE_MAX - 32)
        return arena_alloc(a, size);
    return alloc_apart(a, (size + 15) & ~(size_t)15);
}

static void give_back(Arena *a, const void *lent)
{
    Block **b = &a->head;
    while ((*b)->data != lent)
        b = &(*b)->next;
    Block *gone = *b;
    *b = gone->next;
    a->taken -= gone->size;
    free(gone->from);
}

const void *arena_keep(Arena *a, void *lent, size_t size)
{
    if (size < SHARED_LEAST)
        return lent;
    const uint64_t hash = hash_sampled(lent, size);
    const void *there = shared_find(a, hash, lent, size);
    if (!there)
        return shared_add(a, hash, lent, size);
    give_back(a, lent);
    return there;
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
        arena_run_out();
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
        arena_run_out();
    if (len + more <= *cap)
        return at;
    void *fresh = arena_array(a, len + more, size);
    if (len)
        memcpy(fresh, at, (size_t)len * size);
    *cap = len + (uint32_t)more;
    return fresh;
}
