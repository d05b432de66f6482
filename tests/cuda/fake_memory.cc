// fake_memory.cc: device memory of the emulated driver.
//
// Device addresses are a reservation that nobody may follow; their bytes lie in a second one, at
// address + memory.shift. Each allocation has unowned bytes on both sides, filled with a pattern
// that is compared after every operation, and an unmapped page behind. Freed addresses are not used
// again.
#include "fake_state.h"

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

CuemuMemory memory;

namespace
{

constexpr size_t ARENA = (size_t)64 << 30, DEVICE_BYTES = (size_t)16 << 30;
constexpr size_t PAGE = 4096, REDZONE = 512;
constexpr unsigned char PATTERN = 0xa5;

struct Allocation {
    size_t offset, bytes, end; // end: of the pages
    int number;
};
std::map<size_t, Allocation> allocations; // by offset
std::map<size_t, size_t> kept;            // from -> to, never overlapping
size_t next_offset, live_bytes;
int next_number = 1;

const Allocation *find(size_t offset)
{
    auto it = allocations.upper_bound(offset);
    if (it == allocations.begin())
        return nullptr;
    const Allocation &a = std::prev(it)->second;
    return offset <= a.offset + a.bytes ? &a : nullptr;
}

size_t offset_of(CUdeviceptr p)
{
    return (size_t)(p + (CUdeviceptr)memory.shift - memory.bytes);
}

void describe(uintptr_t at, char *text, size_t size)
{
    size_t offset = at - memory.bytes;
    if (offset >= memory.size) {
        snprintf(text, size, "%p", (void *)at);
        return;
    }
    auto it = allocations.upper_bound(offset + REDZONE);
    if (it == allocations.begin()) {
        snprintf(text, size, "device memory that was never allocated");
        return;
    }
    const Allocation &a = std::prev(it)->second;
    snprintf(text, size, "allocation %d (%zu bytes) %+td", a.number, a.bytes,
             (ptrdiff_t)(offset - a.offset));
}

unsigned char poison_byte()
{
    return settings.seed % 2 ? 0xff : 0xcd;
}

void *reserve(size_t bytes, int access)
{
    void *p = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        fault("no address space for device memory");
    return p;
}

struct sigaction old_action;

void on_segv(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    char place[128];
    if (at - (memory.bytes - (uintptr_t)memory.shift) < memory.size) {
        describe(at + (uintptr_t)memory.shift, place, sizeof place);
        fault("host code follows a device address: %s", place);
    }
    if (memory.kernel) {
        describe(at, place, sizeof place);
        fault("access outside every region: kernel %s at %s", memory.kernel, place);
    }
    sigaction(SIGSEGV, &old_action, nullptr);
    (void)number, (void)context; // the access is made again, under the old action
}

} // namespace

void fault(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("cuemu: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    _exit(3);
}

void memory_start()
{
    if (memory.size)
        return;
    uintptr_t addresses = (uintptr_t)reserve(ARENA, PROT_NONE);
    memory.bytes = (uintptr_t)reserve(ARENA, PROT_NONE);
    memory.shift = (ptrdiff_t)(memory.bytes - addresses);
    memory.size = ARENA;
    memory.describe = describe;
    memory.dice = settings.seed * 0x9e3779b97f4a7c15u;
    if (settings.check) {
        memory.state = (uint8_t *)reserve(ARENA, PROT_READ | PROT_WRITE);
        memory.cells = (uint64_t *)reserve(ARENA * 24, PROT_READ | PROT_WRITE);
    }
    stack_t alternate = {};
    alternate.ss_sp = reserve(64 << 10, PROT_READ | PROT_WRITE);
    alternate.ss_size = 64 << 10;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &old_action);
}

CUresult memory_alloc(CUdeviceptr *p, size_t bytes)
{
    if (!p || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > DEVICE_BYTES || live_bytes + bytes > DEVICE_BYTES)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t pages = (bytes + 2 * REDZONE + PAGE - 1) / PAGE * PAGE;
    if (next_offset + pages + PAGE > ARENA)
        return CUDA_ERROR_OUT_OF_MEMORY;
    Allocation a = {next_offset + REDZONE, bytes, next_offset + pages, next_number++};
    char *base = (char *)memory.bytes + next_offset;
    if (mprotect(base, pages, PROT_READ | PROT_WRITE))
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(base, PATTERN, REDZONE);
    memset(base + REDZONE, poison_byte(), bytes);
    memset(base + REDZONE + bytes, PATTERN, pages - REDZONE - bytes);
    if (memory.state)
        memset(memory.state + a.offset, CUEMU_UNWRITTEN, bytes);
    next_offset += pages + PAGE;
    live_bytes += bytes;
    allocations[a.offset] = a;
    *p = (CUdeviceptr)(memory.bytes + a.offset) - (CUdeviceptr)memory.shift;
    return CUDA_SUCCESS;
}

void memory_copy_state(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    if (memory.state)
        memmove(memory.state + offset_of(to), memory.state + offset_of(from), bytes);
}

CUresult memory_free(CUdeviceptr p)
{
    if (!p)
        return CUDA_SUCCESS;
    auto it = allocations.find(offset_of(p));
    if (it == allocations.end())
        fault("cuMemFree of what cuMemAlloc did not give, or twice");
    memory_check_redzones("cuMemFree");
    const Allocation a = it->second;
    char *base = (char *)memory.bytes + a.offset - REDZONE;
    madvise(base, a.end - a.offset + REDZONE, MADV_DONTNEED);
    mprotect(base, a.end - a.offset + REDZONE, PROT_NONE);
    if (memory.state)
        memset(memory.state + a.offset, CUEMU_OUTSIDE, a.bytes);
    live_bytes -= a.bytes;
    allocations.erase(it);
    for (auto k = kept.begin(); k != kept.end();)
        k = k->first >= a.offset && k->first < a.end ? kept.erase(k) : std::next(k);
    return CUDA_SUCCESS;
}

bool memory_is_device(uintptr_t p)
{
    return offset_of(p) < memory.size;
}

void memory_check(CUdeviceptr p, size_t bytes, const char *by)
{
    char place[128];
    if (!memory_is_device((uintptr_t)p))
        fault("host pointer where a device pointer is due: %s (%p)", by, (void *)p);
    const Allocation *a = find(offset_of(p));
    describe((uintptr_t)p + (uintptr_t)memory.shift, place, sizeof place);
    if (!a)
        fault("device pointer into no allocation: %s at %s", by, place);
    if (offset_of(p) + bytes > a->offset + a->bytes)
        fault("access outside every region: %s, %zu bytes at %s", by, bytes, place);
}

void memory_check_host(const void *p, const char *by)
{
    if (memory_is_device((uintptr_t)p) || (uintptr_t)p - memory.bytes < memory.size)
        fault("device pointer where a host pointer is due: %s", by);
}

// The same rule as for kernels: what no path of the graph orders must not meet.
static void note_use(size_t offset, size_t bytes, bool write, bool any, const char *by)
{
    char place[128];
    uint64_t now = (uint64_t)memory.epoch << 32;
    for (size_t i = offset; i < offset + bytes; i++) {
        uint64_t *cell = memory.cells + i * 3;
        if (!write && !any && memory.state[i] == CUEMU_UNWRITTEN) {
            describe(memory.bytes + i, place, sizeof place);
            fault("uninitialised read of device memory: %s at %s", by, place);
        }
        for (int k = 0; k < (write ? 3 : 1); k++) {
            uint32_t then = (uint32_t)(cell[k] >> 32);
            if (then < memory.graph_epoch || then >= memory.launch_epoch || !memory.ordered)
                continue;
            if (!memory.ordered(then)) {
                describe(memory.bytes + i, place, sizeof place);
                fault("missing graph edge: %s at %s", by, place);
            }
        }
        cell[write ? 0 : 1] = now;
    }
}

char *memory_use(CUdeviceptr p, size_t bytes, MemoryUse use, const char *by)
{
    bool write = use == USE_WRITE;
    memory_check(p, bytes, by);
    size_t offset = offset_of(p);
    if (memory.cells) {
        note_use(offset, bytes, write, use == USE_READ_ANY, by);
        if (write)
            memset(memory.state + offset, CUEMU_WRITTEN, bytes);
    }
    return (char *)memory.bytes + offset;
}

void memory_keep(CUdeviceptr p, size_t bytes)
{
    size_t from = offset_of(p), to = from + bytes;
    auto it = kept.upper_bound(from);
    if (it != kept.begin() && std::prev(it)->second >= from)
        it = std::prev(it);
    while (it != kept.end() && it->first <= to) {
        from = std::min(from, it->first);
        to = std::max(to, it->second);
        it = kept.erase(it);
    }
    if (from < to)
        kept[from] = to;
}

void memory_keep_rest(CUdeviceptr p)
{
    const Allocation *a = find(offset_of(p));
    if (a)
        memory_keep(p, a->offset + a->bytes - offset_of(p));
}

static void poison(size_t from, size_t to)
{
    memset((char *)memory.bytes + from, poison_byte(), to - from);
    if (memory.state)
        memset(memory.state + from, CUEMU_UNWRITTEN, to - from);
}

void memory_poison_rest()
{
    for (const auto &[offset, a] : allocations) {
        size_t at = offset, end = offset + a.bytes;
        for (auto k = kept.lower_bound(offset); k != kept.end() && k->first < end; ++k) {
            if (k->first > at)
                poison(at, k->first);
            at = k->second;
        }
        if (at < end)
            poison(at, end);
    }
}

void memory_check_redzones(const char *after)
{
    static const std::vector<unsigned char> pattern(2 * PAGE, PATTERN);
    const unsigned char *base = (unsigned char *)memory.bytes;
    for (const auto &[offset, a] : allocations) {
        size_t behind = offset + a.bytes;
        if (!memcmp(base + offset - REDZONE, pattern.data(), REDZONE) &&
            !memcmp(base + behind, pattern.data(), a.end - behind))
            continue;
        size_t i = offset - REDZONE;
        while (base[i] == PATTERN || (i >= offset && i < behind))
            i++;
        fault("write outside every region: %s, allocation %d (%zu bytes) %+td", after, a.number,
              a.bytes, (ptrdiff_t)(i - offset));
    }
}

size_t memory_live()
{
    return allocations.size();
}

void memory_begin_op(bool in_graph, bool (*ordered)(uint32_t))
{
    memory.launch_epoch = ++memory.epoch;
    memory.ordered = ordered;
    if (!in_graph)
        memory.graph_epoch = memory.epoch;
}
