// What the parts of `cameo tune` share.
#ifndef CAMEO_TOOLS_TUNE_PARTS_H
#define CAMEO_TOOLS_TUNE_PARTS_H

#include "codegen/cpu/processor.h"
#include "tools/tool.h"

// What one core can do: float32, pairs of bfloat16 and bytes in vectors and in matrix registers,
// giga-operations a second (0: no such instruction); cycles a nanosecond; gigabytes a second read
// from a first, second and third cache and from memory, without and with what is read asked for.
typedef struct Peaks {
    double floats, pairs, bytes, square_pairs, square_bytes, clock;
    double first, second, third, memory, ahead[3];
} Peaks;
enum { TUNE_AHEAD = 2048 }; // bytes, of Peaks.ahead[0]; the next two are twice as many each

typedef struct Tune {
    Arena *arena;
    const char *dir, *cc; // cc: NULL unless named
    Processor row;        // what is known so far
    Peaks peaks;
    uint32_t seconds;
    double end; // when they are over, as tune_clock counts
    bool late;  // they were, before all was measured
    Str error;
} Tune;

double tune_clock(void); // seconds

// Writes, compiles and runs the measurement of Peaks; false with t->error.
bool tune_peaks(Tune *t);

// A model of random inputs, as onnxtxt.
typedef struct TuneModel {
    enum { TUNE_CONV, TUNE_CHAIN, TUNE_PRODUCT } kind;
    int64_t channels, rows, size, window; // a product: columns of x, of y; rows of x; unused
} TuneModel;

// How a model is compiled, and what came of it.
typedef struct TuneTry {
    TuneModel model;
    Processor row;
    const char *options[4]; // of cameo compile; NULL ends them
    double ms;              // the least of a run; 0: not measured
} TuneTry;

// Compiles all, then runs each by turns. false: t->error, or there is no time left (t->late).
bool tune_times(Tune *t, TuneTry *tries, uint32_t n);

#endif
