// How the processor's time of one lint went.
#ifndef CAMEO_PASSES_TIMES_H
#define CAMEO_PASSES_TIMES_H

#include <stdint.h>

enum { TIMES_RULES = 128 };

// Seconds of processor time.
typedef struct Times {
    double read;    // decoding and import
    double types;   // functions inlined, dtypes and shapes inferred, nodes placed
    double weights; // elements of constants measured, which the rules' own time leaves out
    double rules[TIMES_RULES]; // by the rule's number (lint_rule_index)
    uint64_t read_bytes, weight_bytes;
} Times;

// Processor time that this process has taken so far, in seconds.
double times_now(void);
void times_add(Times *to, const Times *from);

#endif
