// cuemu.cc: runs the threads of a kernel as fibers, in an order that follows the driver's dice.
// Linked into every object of emulated kernels. Compiled without instrumentation.
#include "cuemu.h"
#include "cuemu_core.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
CuemuRun cuemu_now = {nullptr, 0, -1, 0, nullptr, 0, 0};
extern const CuemuKernel cuemu_kernels[];
extern const size_t cuemu_kernel_count;
extern char *const cuemu_dynamic;

namespace
{

struct Fiber {
    char *stack;
    void *sp;
    ucontext_t context;
};
enum State : uint8_t { NEW, READY, AT_BLOCK, AT_WARP, DONE };
struct Thread {
    Fiber *fiber;
    uint64_t value; // given to the warp, or got from it
    unsigned mask;
    int line, lane;
    CuemuWarp what;
    State state;
    bool vote;
};

std::vector<Fiber *> all_fibers, free_fibers;
std::vector<Thread> threads;
std::vector<uint3> index_of;
std::vector<int> queue, first_order;
std::vector<uint32_t> warps;
size_t at_warp; // how many wait in a warp function
int votes;
const CuemuKernel *kernel;
void **arguments;
Fiber scheduler;

uint32_t roll(uint32_t below)
{
    uint64_t &d = cuemu_now.memory->dice;
    d ^= d << 13, d ^= d >> 7, d ^= d << 17;
    return (uint32_t)((d >> 32) * below >> 32);
}
void shuffle(std::vector<int> &v)
{
    if (!cuemu_now.memory->dice)
        return;
    for (size_t i = v.size(); i > 1; i--)
        std::swap(v[i - 1], v[roll((uint32_t)i)]);
}

#if defined(__x86_64__)
extern "C" void cuemu_switch(void **save, void *load) __attribute__((visibility("hidden")));
asm(".text\n.globl cuemu_switch\n.hidden cuemu_switch\n.type "
    "cuemu_switch,@function\ncuemu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void switch_to(Fiber *from, Fiber *to)
{
    cuemu_switch(&from->sp, to->sp);
}
// Stacks begin at different lines of the cache: equal ones would push each other out.
void fiber_prepare(Fiber *f, void (*entry)())
{
    size_t offset = ((uintptr_t)f->stack - cuemu_now.stacks) / CUEMU_STACK % 64 * 64;
    void **top = (void **)(f->stack + CUEMU_STACK - 4096 - offset) - 1; // as after a call
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
    f->context.uc_stack.ss_size = CUEMU_STACK;
    makecontext(&f->context, entry, 0);
}
#endif

void enter(int t)
{
    cuemu_now.thread = t;
    threadIdx = index_of[(size_t)t];
}

// A fiber runs unstarted threads one after another; the first that waits keeps its stack.
void fiber_main()
{
    for (;;) {
        int mine = cuemu_now.thread;
        kernel->call(arguments, cuemu_now.memory->shift);
        Fiber *f = threads[(size_t)mine].fiber;
        threads[(size_t)mine].state = DONE;
        if (!queue.empty() && threads[(size_t)queue.back()].state == NEW) {
            int next = queue.back();
            queue.pop_back();
            threads[(size_t)next].fiber = f;
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
    if (!cuemu_now.stacks) {
        void *p = mmap(nullptr, CUEMU_STACK * CUEMU_STACKS, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            cuemu_fault("no memory for stacks", nullptr);
        cuemu_now.stacks = (uintptr_t)p;
    }
    if (all_fibers.size() == CUEMU_STACKS)
        cuemu_fault("more threads than stacks", nullptr);
    Fiber *f = new Fiber();
    f->stack = (char *)cuemu_now.stacks + all_fibers.size() * CUEMU_STACK;
    mprotect(f->stack, 4096, PROT_NONE); // an overrun ends here, not in another thread's stack
    all_fibers.push_back(f);
    fiber_prepare(f, fiber_main);
    return f;
}

void wait_here(State state)
{
    Thread &t = threads[(size_t)cuemu_now.thread];
    t.state = state;
    switch_to(t.fiber, &scheduler);
}

void release(size_t t)
{
    threads[t].state = READY;
    queue.push_back((int)t);
}

// Lets `group` go on if all of its lanes wait at the same warp function.
bool release_group(size_t warp, uint32_t group)
{
    size_t from = warp * 32, first = from + (size_t)__builtin_ctz(group);
    CuemuWarp what = threads[first].what;
    uint32_t ballot = 0;
    uint64_t given[32];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        size_t l = (size_t)__builtin_ctz(rest);
        const Thread &t = threads[from + l];
        if (t.state != AT_WARP || t.mask != threads[first].mask)
            return false;
        if (t.what != what)
            cuemu_fault("divergent warp functions", nullptr);
        given[l] = t.value;
        ballot |= (uint32_t)(t.value != 0) << l;
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        size_t l = (size_t)__builtin_ctz(rest);
        Thread &t = threads[from + l];
        if (what == CUEMU_SHUFFLE && !(group >> t.lane & 1)) {
            enter((int)(from + l));
            cuemu_fault("shuffle from a lane that takes no part", nullptr);
        }
        t.value = what == CUEMU_SHUFFLE ? given[t.lane] : ballot;
        release(from + l);
        at_warp--;
    }
    warps[warp]++;
    return true;
}

bool release_warps()
{
    bool any = false;
    if (!at_warp)
        return false;
    for (size_t w = 0; w < warps.size(); w++) {
        size_t count = std::min<size_t>(32, threads.size() - w * 32);
        uint32_t exist = count == 32 ? ~0u : (1u << count) - 1, seen = 0;
        for (size_t l = 0; l < count; l++) {
            const Thread &t = threads[w * 32 + l];
            if (t.state != AT_WARP || (seen >> l & 1))
                continue;
            if (!(t.mask >> l & 1))
                cuemu_fault("warp function by a lane outside of its mask", nullptr);
            seen |= t.mask;
            any |= release_group(w, t.mask & exist);
        }
    }
    return any;
}

void new_epoch()
{
    if (++cuemu_now.memory->epoch == 0)
        cuemu_fault("too many phases for one process", nullptr);
    std::fill(warps.begin(), warps.end(), 0);
}

bool release_block()
{
    size_t waiting = 0;
    int line = 0;
    for (size_t i = 0; i < threads.size(); i++) {
        Thread &t = threads[i];
        if (t.state == DONE)
            continue;
        enter((int)i);
        if (t.state == AT_WARP)
            cuemu_fault("divergent barrier: a lane waits for its warp", nullptr);
        if (waiting && t.line != line)
            cuemu_fault("divergent barrier: two of them at once", nullptr);
        line = t.line;
        waiting++;
    }
    if (!waiting)
        return false;
    if (waiting != threads.size())
        cuemu_fault("divergent barrier: part of the block has ended", nullptr);
    votes = 0;
    for (size_t t = 0; t < threads.size(); t++) {
        votes += threads[t].vote;
        release(t);
    }
    new_epoch();
    return true;
}

void run_block()
{
    for (Thread &t : threads)
        t.state = NEW;
    new_epoch();
    cuemu_now.block_epoch = cuemu_now.memory->epoch;
    queue = first_order;
    do {
        shuffle(queue);
        while (!queue.empty()) {
            int t = queue.back();
            queue.pop_back();
            if (threads[(size_t)t].state == NEW)
                threads[(size_t)t].fiber = fiber_take();
            enter(t);
            switch_to(&scheduler, threads[(size_t)t].fiber);
        }
    } while (release_warps() || release_block());
    cuemu_now.thread = -1;
}

void set_up(const unsigned block[3])
{
    size_t n = (size_t)block[0] * block[1] * block[2];
    threads.assign(n, Thread{});
    warps.assign((n + 31) / 32, 0);
    cuemu_now.warps = warps.data();
    index_of.resize(n);
    first_order.resize(n);
    for (unsigned t = 0; t < n; t++) {
        index_of[t] = {t % block[0], t / block[0] % block[1], t / block[0] / block[1]};
        first_order[t] = (int)(n - 1 - t); // taken from the back
    }
    at_warp = 0;
}

void run(CuemuMemory *m, const CuemuKernel *k, const unsigned grid[3], const unsigned block[3],
         size_t shared, void **args)
{
    cuemu_now.memory = m;
    m->kernel = k->name;
    m->launch_epoch = m->epoch + 1;
    cuemu_now.dynamic = (uintptr_t)cuemu_dynamic;
    cuemu_now.dynamic_size = shared;
    gridDim = dim3(grid[0], grid[1], grid[2]);
    blockDim = dim3(block[0], block[1], block[2]);
    kernel = k;
    arguments = args;
    if (shared > (cuemu_dynamic ? CUEMU_DYNAMIC : 0))
        cuemu_fault("dynamic shared memory that the kernels do not declare", nullptr);
    set_up(block);
    // Blocks: a random start and stride through all of them.
    uint64_t n = (uint64_t)grid[0] * grid[1] * grid[2], at = 0, step = 1;
    if (m->dice && n > 1) {
        at = roll((uint32_t)std::min<uint64_t>(n, ~0u));
        for (step = 1 + roll((uint32_t)std::min<uint64_t>(n - 1, ~0u)); std::__gcd(step, n) != 1;)
            step++;
    }
    for (uint64_t i = 0; i < n; i++, at = (at + step) % n) {
        blockIdx = {(unsigned)(at % grid[0]), (unsigned)(at / grid[0] % grid[1]),
                    (unsigned)(at / grid[0] / grid[1])};
        run_block();
    }
    m->kernel = nullptr;
}

} // namespace

void cuemu_fault(const char *what, const void *at)
{
    const CuemuMemory *m = cuemu_now.memory;
    char place[128] = "";
    if (at && m && m->describe)
        m->describe((uintptr_t)at, place, sizeof place);
    fflush(stdout);
    fprintf(stderr, "cuemu: %s: kernel %s block %u,%u,%u thread %u,%u,%u%s%s\n", what,
            m && m->kernel ? m->kernel : "?", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
            threadIdx.y, threadIdx.z, *place ? " at " : "", place);
    _exit(3);
}

int cuemu_lane()
{
    return cuemu_now.thread % 32;
}

int cuemu_block(int line, bool vote)
{
    Thread &t = threads[(size_t)cuemu_now.thread];
    t.line = line;
    t.vote = vote;
    wait_here(AT_BLOCK);
    return votes;
}

uint64_t cuemu_warp(CuemuWarp what, unsigned mask, uint64_t mine, int lane)
{
    Thread &t = threads[(size_t)cuemu_now.thread];
    t.what = what;
    t.mask = mask;
    t.value = mine;
    t.lane = lane & 31;
    at_warp++;
    wait_here(AT_WARP);
    return t.value;
}

extern "C" __attribute__((visibility("default"))) const CuemuModule *cuemu_module(void)
{
#ifdef CUEMU_CHECKED
    constexpr bool checked = true;
#else
    constexpr bool checked = false;
#endif
    static CuemuModule module = {CUEMU_VERSION, checked, cuemu_kernels, cuemu_kernel_count, run};
    return &module;
}
