// cuemu_check.cc: what every instrumented access of a kernel goes through. Compiled without
// instrumentation; linked only into checked objects. libtsan is never linked.
//
// An access is one word: its epoch, its thread, how often the thread's warp had met in that epoch,
// and whether it was atomic. Two accesses of one place conflict if one writes, not both are atomic,
// and nothing orders them: different blocks of a launch, different warps of a phase, or lanes of a
// warp that has not met in between; of earlier launches, nodes of a graph with no path between
// them.
#include "cuemu.h"
#include "cuemu_core.h"

#include <sys/mman.h>

extern "C" char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" char _end[] __attribute__((visibility("hidden")));

namespace
{

constexpr uint64_t ATOMIC = 1;
// Behind the last array of shared memory: what is linked last lies last.
__shared__ char shared_end[4096];
uint64_t *shared_cells;

uint64_t access_word(bool atomic)
{
    uint64_t met = cuemu_now.warps[cuemu_now.thread / 32] & 0x1fffff;
    return (uint64_t)cuemu_now.memory->epoch << 32 | (uint64_t)cuemu_now.thread << 22 | met << 1 |
           (atomic ? ATOMIC : 0);
}
uint32_t epoch_of(uint64_t a)
{
    return (uint32_t)(a >> 32);
}
uint64_t thread_of(uint64_t a)
{
    return a >> 22 & 0x3ff;
}

// What is wrong with doing `now` after `before`, one of them a write; null if nothing.
const char *conflict(uint64_t before, uint64_t now)
{
    const CuemuMemory *m = cuemu_now.memory;
    uint32_t then = epoch_of(before);
    if (then < m->graph_epoch || !before)
        return nullptr;
    if (then < m->launch_epoch)
        return m->ordered && !m->ordered(then) ? "missing graph edge" : nullptr;
    if (before & now & ATOMIC)
        return nullptr;
    if (then < cuemu_now.block_epoch)
        return "race between blocks";
    if (then != epoch_of(now) || thread_of(before) == thread_of(now))
        return nullptr;
    if (thread_of(before) / 32 != thread_of(now) / 32)
        return "race between warps";
    return (before >> 1 & 0x1fffff) == (now >> 1 & 0x1fffff) ? "race within a warp" : nullptr;
}

[[noreturn]] void race(const char *what, uint64_t before, const void *at)
{
    char text[96];
    snprintf(text, sizeof text, "%s (with thread %d)", what, (int)thread_of(before));
    cuemu_fault(text, at);
}

void touch_cell(uint64_t *cell, uint64_t now, bool write, const void *at)
{
    if (const char *what = conflict(cell[0], now))
        race(what, cell[0], at);
    if (write) {
        for (int i = 1; i < 3; i++)
            if (const char *what = conflict(cell[i], now))
                race(what, cell[i], at);
        cell[0] = now;
        return;
    }
    if (epoch_of(cell[1]) != epoch_of(now) || thread_of(cell[1]) / 32 != thread_of(now) / 32)
        cell[2] = cell[1];
    else if (cell[1] != now &&
             (epoch_of(cell[2]) != epoch_of(now) || thread_of(cell[2]) / 32 == thread_of(now) / 32))
        cell[2] = cell[1]; // one warp only so far: keep two of its lanes
    cell[1] = now;
}

void touch_shared(uintptr_t p, size_t bytes, bool write, bool atomic)
{
    uintptr_t from = (uintptr_t)__start_cuemu_shared, to = (uintptr_t)__stop_cuemu_shared;
    uintptr_t dynamic = cuemu_now.dynamic;
    if (p + bytes > (uintptr_t)shared_end || (p >= dynamic && p < dynamic + CUEMU_DYNAMIC &&
                                              p + bytes > dynamic + cuemu_now.dynamic_size))
        cuemu_fault("access outside every region (shared)", (void *)p);
    if (!shared_cells) {
        void *m = mmap(nullptr, (to - from) * 24, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED)
            cuemu_fault("no memory for the checks", nullptr);
        shared_cells = (uint64_t *)m;
    }
    uint64_t now = access_word(atomic);
    for (size_t i = 0; i < bytes; i++) {
        uint64_t *cell = shared_cells + (p + i - from) * 3;
        if (epoch_of(cell[0]) < cuemu_now.block_epoch) {
            if (!write || atomic)
                cuemu_fault("uninitialised read of shared memory", (void *)p);
            for (int k = 0; k < 3; k++)
                cell[k] = 0;
        }
        touch_cell(cell, now, write, (void *)p);
    }
}

void touch_device(size_t offset, size_t bytes, bool write, bool atomic, const void *at)
{
    CuemuMemory *m = cuemu_now.memory;
    uint64_t now = access_word(atomic);
    bool written = !atomic; // an atomic update of a part of a word reads the rest, whatever it is
    for (size_t i = offset; atomic && i < offset + bytes; i++)
        written |= i < m->size && m->state[i] == CUEMU_WRITTEN;
    for (size_t i = offset; i < offset + bytes; i++) {
        if (i >= m->size || m->state[i] == CUEMU_OUTSIDE)
            cuemu_fault(write ? "access outside every region (write)"
                              : "access outside every region (read)",
                        at);
        if (m->state[i] == CUEMU_UNWRITTEN && (!write || !written))
            cuemu_fault("uninitialised read of device memory", at);
        touch_cell(m->cells + i * 3, now, write, at);
        if (write && !atomic)
            m->state[i] = CUEMU_WRITTEN;
    }
}

void touch(const void *at, size_t bytes, bool write, bool atomic)
{
    if (cuemu_now.thread < 0)
        return;
    uintptr_t p = (uintptr_t)at;
    if (p - cuemu_now.stacks < CUEMU_STACK * CUEMU_STACKS)
        return;
    CuemuMemory *m = cuemu_now.memory;
    if (p - m->bytes < m->size) {
        touch_device(p - m->bytes, bytes, write, atomic, at);
        return;
    }
    if (p >= (uintptr_t)__start_cuemu_shared && p < (uintptr_t)__stop_cuemu_shared) {
        touch_shared(p, bytes, write, atomic);
        return;
    }
    if (!write && p >= (uintptr_t)__ehdr_start && p < (uintptr_t)_end)
        return; // constants, and threadIdx and its like
    cuemu_fault(
        write ? "access outside every region (write)" : "access outside every region (read)", at);
}

} // namespace

void cuemu_atomic(const void *at, size_t bytes)
{
    touch(at, bytes, true, true);
}

#define CALLBACKS(n)                                                                               \
    void __tsan_read##n(void *p)                                                                   \
    {                                                                                              \
        touch(p, n, false, false);                                                                 \
    }                                                                                              \
    void __tsan_write##n(void *p)                                                                  \
    {                                                                                              \
        touch(p, n, true, false);                                                                  \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p)                                                         \
    {                                                                                              \
        touch(p, n, false, false);                                                                 \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p)                                                        \
    {                                                                                              \
        touch(p, n, true, false);                                                                  \
    }                                                                                              \
    void __tsan_volatile_read##n(void *p)                                                          \
    {                                                                                              \
        touch(p, n, false, false);                                                                 \
    }                                                                                              \
    void __tsan_volatile_write##n(void *p)                                                         \
    {                                                                                              \
        touch(p, n, true, false);                                                                  \
    }
extern "C" {
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void __tsan_read_range(void *p, size_t n)
{
    touch(p, n, false, false);
}
void __tsan_write_range(void *p, size_t n)
{
    touch(p, n, true, false);
}
// clang calls these where the source calls memcpy and its like.
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    touch(from, n, false, false);
    touch(to, n, true, false);
    return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n)
{
    touch(from, n, false, false);
    touch(to, n, true, false);
    return memmove(to, from, n);
}
void *__tsan_memset(void *to, int v, size_t n)
{
    touch(to, n, true, false);
    return memset(to, v, n);
}
}
