// Inputs of a model in this process, from files: what commands that run one share.
#ifndef CAMEO_TOOLS_INPUTS_H
#define CAMEO_TOOLS_INPUTS_H

#include "tools/session.h"

// The values that a context was given; they have to live until it has run.
typedef struct Inputs {
    cameo_tensor *tensors; // by input
    cameo_loaded *lists;   // of inputs that are no tensors
    bool *given;
    char **paths; // by input: the file it came from; NULL: none (may be NULL itself)
    int32_t n;
    const char *from; // the folder or file that all came from; NULL: several
} Inputs;

// 0, or an exit status with everything said. An argument is FILE or NAME=FILE.
int inputs_begin(const Tool *t, const cameo_model *m, Inputs *in);
int inputs_from_file(const Tool *t, const cameo_model *m, int32_t input, const char *path,
                     Inputs *in);
// An archive of arrays (stored, not compressed) that have names of inputs.
int inputs_from_npz(const Tool *t, const cameo_model *m, const char *path, Inputs *in);
int inputs_from_argument(const Tool *t, const cameo_model *m, const char *argument, Inputs *in);
// Numbers from -1 to 1 for what is not given (integers: 0; dims that are open: 1).
int inputs_make_up(const Tool *t, const cameo_model *m, Inputs *in);
// The next of numbers from 0 to 2^24 - 1 that look random: the greatest bits of a linear congruence
// modulo 2^64 (Knuth, The Art of Computer Programming 2, 3.3.4). The same in each run.
uint32_t inputs_draw(uint64_t *seed);
// Hands them to a context.
int inputs_set(const Tool *t, const cameo_model *m, cameo_context *x, const Inputs *in);
void inputs_free(const cameo_model *m, Inputs *in);

#endif
