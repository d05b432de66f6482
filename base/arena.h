// Region memory: everything that lives as long as a compilation comes from one arena.
#ifndef CAMEO_BASE_ARENA_H
#define CAMEO_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

// A new, empty arena. Freed with arena_free, which frees all that was taken from it.
Arena *arena_new(void);
void arena_free(Arena *a);

// `size` zeroed bytes, aligned to 16. Never NULL: exhaustion calls the handler below.
void *arena_alloc(Arena *a, size_t size);

// As arena_alloc for `n` elements of `size` bytes; a product that overflows is exhaustion.
void *arena_array(Arena *a, size_t n, size_t size);

// A copy of `size` bytes followed by a NUL.
char *arena_copy(Arena *a, const void *bytes, size_t size);

// A copy of `size` bytes that nobody writes to: of longer ones the arena holds one copy of the same
// bytes, however often it is asked for them.
const void *arena_share(Arena *a, const void *bytes, size_t size);

// `size` zeroed bytes to fill in, for arena_keep. Until then they are the caller's.
void *arena_lend(Arena *a, size_t size);
// What `lent`, of that size, holds from now on stays as it is: gives it, or a copy that the arena
// already has, and then `lent` goes back to the system.
const void *arena_keep(Arena *a, void *lent, size_t size);

// Bytes taken from the system so far, and not given back.
size_t arena_size(const Arena *a);

// The arena asks the system for at most `bytes` in all (0: no limit, the default).
void arena_limit(Arena *a, size_t bytes);

// What happens when memory runs out or a limit is exceeded; must not return (tools longjmp or
// exit).
void arena_on_exhausted(void (*handler)(void));
// It happens: to who asks for memory elsewhere and cannot go on without.
_Noreturn void arena_run_out(void);

#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define NEWS(arena, T, n) ((T *)arena_array((arena), (n), sizeof(T)))

// A growable array of T in an arena: `VEC(Node) nodes;` then vec_push(arena, &nodes, n) and
// nodes.at[i].
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t len, cap;                                                                         \
    }
#define vec_push(arena, v, x)                                                                      \
    ((v)->len == (v)->cap                                                                          \
         ? (void)((v)->at = vec_grow_((arena), (v)->at, &(v)->cap, sizeof *(v)->at, (v)->len))     \
         : (void)0,                                                                                \
     (void)((v)->at[(v)->len++] = (x)))
void *vec_grow_(Arena *a, void *at, uint32_t *cap, size_t size, uint32_t len);
// Room for n elements more: growing by doubling leaves as much behind in the arena as there is.
#define vec_reserve(arena, v, n)                                                                   \
    ((void)((v)->at = vec_reserve_((arena), (v)->at, &(v)->cap, sizeof *(v)->at, (v)->len, (n))))
void *vec_reserve_(Arena *a, void *at, uint32_t *cap, size_t size, uint32_t len, size_t more);

#endif
