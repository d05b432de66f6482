// cuemu_abi.h: what the emulated driver and an object of emulated kernels know of each other.
//
// The driver hands out device addresses that nobody may follow; the bytes of address p lie at
// p + shift. Kernels get every pointer argument shifted, so a device address that host code follows
// is a segmentation fault, and a host address given to a kernel is seen at launch.
#pragma once
#include <cstddef>
#include <cstdint>

struct CuemuArg {
    uint32_t size;
    bool pointer, constant; // a pointer; one whose target the kernel cannot write
};
struct CuemuKernel {
    const char *name;
    void (*call)(void **args, ptrdiff_t shift);
    const CuemuArg *args;
    size_t count;
};

enum CuemuState : uint8_t { CUEMU_OUTSIDE = 0, CUEMU_UNWRITTEN = 1, CUEMU_WRITTEN = 2 };

// Owned by the driver, one a process. An epoch is one phase (between two block barriers) of one
// block of one launch: numbers grow, so what is older than a launch's first epoch came before that
// launch.
struct CuemuMemory {
    uintptr_t bytes; // where the bytes lie; their addresses are [bytes - shift, ... + size)
    size_t size;
    ptrdiff_t shift;
    uint8_t *state;  // one CuemuState a byte, or null where accesses are not checked
    uint64_t *cells; // three accesses a byte: last write, last read, last read of another warp
    uint32_t epoch, launch_epoch, graph_epoch;
    const char *kernel; // what runs now, for messages
    bool (*ordered)(
        uint32_t before); // whether the graph has a path from that epoch's node to this one
    void (*describe)(uintptr_t at, char *text, size_t size); // names the allocation of an address
    uint64_t dice;                                           // state of the random order; 0: none
};

struct CuemuModule {
    uint32_t version;
    bool checked;
    const CuemuKernel *kernels;
    size_t count;
    void (*run)(CuemuMemory *m, const CuemuKernel *k, const unsigned grid[3],
                const unsigned block[3], size_t shared, void **args);
};
constexpr uint32_t CUEMU_VERSION = 3;

// The only symbol of an object of emulated kernels.
extern "C" const CuemuModule *cuemu_module(void);
