// cuemu_core.h: what the scheduler (cuemu.cc) and the checks (cuemu_check.cc) share.
#pragma once
#include "cuemu_abi.h"

constexpr size_t CUEMU_STACK = 128 << 10, CUEMU_STACKS = 1024 + 8;

struct CuemuRun {
    CuemuMemory *memory;
    uintptr_t stacks;      // [stacks, stacks + CUEMU_STACK * CUEMU_STACKS)
    int thread;            // which runs now, or -1
    uint32_t block_epoch;  // first epoch of the block that runs
    const uint32_t *warps; // of each warp: how often it met since the last block barrier
    uintptr_t dynamic;     // `extern __shared__`: where it begins
    size_t dynamic_size;   // what the launch gave
};
extern CuemuRun cuemu_now;
extern "C" char __start_cuemu_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_cuemu_shared[] __attribute__((weak, visibility("hidden")));
