// cuemu.cc: the emulator's scheduler and its checks. Compiled without instrumentation.
#include "cuemu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

constexpr size_t STACK = 128 << 10, REDZONE = 256;

struct Fiber {
    char *stack;
    void *sp;
    ucontext_t context;
};
enum State { NEW, READY, AT_BLOCK, AT_WARP, DONE };
struct Thread {
    State state;
    Fiber *fiber;
    int line;
    unsigned mask;
    uint3 index;
};
struct Access {
    uint64_t block, phase, warp_phase;
    int thread;
    bool atomic;
};
struct Cell {
    Access write, reads[2];
};
struct Region {
    uintptr_t from, to;
};

std::mt19937 &dice()
{
    static std::mt19937 d(getenv("CUEMU_SEED") ? (unsigned)atoi(getenv("CUEMU_SEED")) : 1);
    return d;
}

std::vector<Fiber *> all_fibers, free_fibers;
std::vector<Thread> threads;
std::vector<int> queue;
std::vector<uint64_t> warp_phase, slots;
std::vector<Region> regions;
std::unordered_map<uintptr_t, Cell> shadow;
const std::function<void()> *body;
Fiber scheduler;
int current = -1;
uint64_t block_number, phase;
uintptr_t host_stack; // where the launching frame lies: what it captured is above

[[noreturn]] void fault(const char *what, const void *at = nullptr)
{
    fprintf(stderr, "cuemu: %s: block %u,%u,%u thread %u,%u,%u address %p\n", what, blockIdx.x,
            blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, at);
    _exit(3);
}

#if defined(__x86_64__)
extern "C" void cuemu_switch(void **save, void *load);
asm(".text\n.type cuemu_switch,@function\ncuemu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void switch_to(Fiber *from, Fiber *to)
{
    cuemu_switch(&from->sp, to->sp);
}
void fiber_prepare(Fiber *f, void (*entry)())
{
    size_t offset = all_fibers.size() % 64 * 64;
    void **top = (void **)(f->stack + STACK - 4096 - offset) - 1; // as after a call
    top[0] = nullptr;
    *--top = (void *)entry;
    f->sp = top - 6;
    memset(f->sp, 0, 6 * sizeof *top);
}
#else
void switch_to(Fiber *from, Fiber *to)
{
    swapcontext(&from->context, &to->context);
}
void fiber_prepare(Fiber *f, void (*entry)())
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, entry, 0);
}
#endif

void enter(int t)
{
    current = t;
    threadIdx = threads[t].index;
}

// A fiber runs unstarted threads one after another; the first that waits keeps its stack.
void fiber_main()
{
    for (;;) {
        int mine = current;
        (*body)();
        Fiber *f = threads[mine].fiber;
        threads[mine].state = DONE;
        if (!queue.empty() && threads[queue.back()].state == NEW) {
            int next = queue.back();
            queue.pop_back();
            threads[next].fiber = f;
            enter(next);
            continue;
        }
        free_fibers.push_back(f);
        switch_to(f, &scheduler);
    }
}

Fiber *fiber_take()
{
    if (!free_fibers.empty()) {
        Fiber *f = free_fibers.back();
        free_fibers.pop_back();
        fiber_prepare(f, fiber_main);
        return f;
    }
    Fiber *f = new Fiber();
    f->stack =
        (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->stack == MAP_FAILED)
        fault("no memory for a stack");
    all_fibers.push_back(f);
    fiber_prepare(f, fiber_main);
    return f;
}

void wait_here(State state, unsigned mask, int line)
{
    Thread &t = threads[current];
    t.state = state;
    t.mask = mask;
    t.line = line;
    switch_to(t.fiber, &scheduler);
}

void release(size_t t)
{
    threads[t].state = READY;
    queue.push_back((int)t);
}

bool release_warps()
{
    bool any = false;
    for (size_t w = 0; w * 32 < threads.size(); w++) {
        size_t from = w * 32, to = std::min(from + 32, threads.size());
        uint32_t here = 0, asked = 0, exist = 0;
        for (size_t t = from; t < to; t++) {
            exist |= 1u << (t - from);
            if (threads[t].state != AT_WARP)
                continue;
            here |= 1u << (t - from);
            asked |= threads[t].mask;
        }
        if (!here || (asked & exist) != here)
            continue;
        warp_phase[w]++;
        for (size_t t = from; t < to; t++)
            if (threads[t].state == AT_WARP)
                release(t);
        any = true;
    }
    return any;
}

bool release_block()
{
    size_t waiting = 0;
    int line = 0;
    for (Thread &t : threads) {
        if (t.state == DONE)
            continue;
        if (t.state != AT_BLOCK || (waiting && t.line != line))
            fault("divergent barrier");
        line = t.line;
        waiting++;
    }
    if (!waiting)
        return false;
    if (waiting != threads.size())
        fault("divergent barrier");
    phase++;
    for (size_t t = 0; t < threads.size(); t++)
        release(t);
    return true;
}

void run_block()
{
    block_number++;
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    threads.assign(n, Thread{});
    warp_phase.assign((n + 31) / 32, 0);
    slots.assign(n, 0);
    queue.clear();
    for (unsigned t = 0; t < n; t++) {
        threads[t].index = {t % blockDim.x, t / blockDim.x % blockDim.y,
                            t / blockDim.x / blockDim.y};
        queue.push_back((int)t);
    }
    do {
        std::shuffle(queue.begin(), queue.end(), dice());
        while (!queue.empty()) {
            int t = queue.back();
            queue.pop_back();
            if (threads[t].state == NEW)
                threads[t].fiber = fiber_take();
            enter(t);
            switch_to(&scheduler, threads[t].fiber);
        }
    } while (release_warps() || release_block());
    current = -1;
}

} // namespace

void cuemu_launch(dim3 grid, dim3 block, const std::function<void()> &run)
{
    gridDim = grid;
    blockDim = block;
    body = &run;
    host_stack = (uintptr_t)__builtin_frame_address(0);
    shadow.clear();
    std::vector<unsigned> order(grid.x * grid.y * grid.z);
    for (size_t i = 0; i < order.size(); i++)
        order[i] = (unsigned)i;
    std::shuffle(order.begin(), order.end(), dice());
    for (unsigned b : order) {
        blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        run_block();
    }
}

void *cuemu_alloc(size_t bytes)
{
    char *p = (char *)malloc(bytes + 2 * REDZONE);
    if (!p)
        fault("no device memory");
    memset(p, 0xcd, bytes + 2 * REDZONE);
    regions.push_back({(uintptr_t)p + REDZONE, (uintptr_t)p + REDZONE + bytes});
    return p + REDZONE;
}

int cuemu_lane()
{
    return current % 32;
}
void cuemu_block_wait(int line)
{
    wait_here(AT_BLOCK, ~0u, line);
}
void cuemu_warp_wait(unsigned mask)
{
    wait_here(AT_WARP, mask, 0);
}

uint64_t cuemu_exchange(unsigned mask, uint64_t mine, int lane)
{
    slots[current] = mine;
    cuemu_warp_wait(mask);
    size_t from = (size_t)(current / 32 * 32 + lane);
    uint64_t got = from < slots.size() ? slots[from] : mine;
    cuemu_warp_wait(mask);
    return got;
}

// ---- what every instrumented access goes through ----

extern "C" char __start_cuemu_shared[] __attribute__((weak));
extern "C" char __stop_cuemu_shared[] __attribute__((weak));
extern "C" char __executable_start[], _end[];

static bool conflict(const Access &a, const Access &b)
{
    if (!a.block || (a.thread == b.thread && a.block == b.block))
        return false;
    if (a.atomic && b.atomic)
        return false;
    if (a.block != b.block)
        return true;
    if (a.phase != b.phase)
        return false;
    return a.thread / 32 != b.thread / 32 || a.warp_phase == b.warp_phase;
}

static void touch(const void *at, size_t bytes, bool write, bool atomic)
{
    if (current < 0)
        return;
    uintptr_t p = (uintptr_t)at;
    for (Fiber *f : all_fibers)
        if (p - (uintptr_t)f->stack < STACK)
            return;
    if (p - host_stack < 1 << 20)
        return;
    bool shared = p >= (uintptr_t)__start_cuemu_shared && p < (uintptr_t)__stop_cuemu_shared;
    if (!shared && p >= (uintptr_t)__executable_start && p < (uintptr_t)_end)
        return;
    bool known = shared && p + bytes <= (uintptr_t)__stop_cuemu_shared;
    for (const Region &r : regions)
        known |= p >= r.from && p + bytes <= r.to;
    if (!known)
        fault("access outside every region", at);
    Access now{block_number, phase, warp_phase[current / 32], current, atomic};
    for (size_t i = 0; i < bytes; i++) {
        Cell &c = shadow[p + i];
        if (shared && c.write.block != block_number) {
            if (c.write.block || c.reads[0].block)
                c = Cell{};
            if (!write || atomic)
                fault("uninitialised read of shared memory", at);
        }
        if (conflict(c.write, now))
            fault("race", at);
        if (write && (conflict(c.reads[0], now) || conflict(c.reads[1], now)))
            fault("race", at);
        if (write) {
            c.write = now;
        } else if (c.reads[0].block != now.block || c.reads[0].thread != now.thread) {
            c.reads[1] = c.reads[0];
            c.reads[0] = now;
        } else {
            c.reads[0] = now;
        }
    }
}

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
    }
extern "C" {
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)
void __tsan_init() {}
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
}
