// Outputs that may lie where an input does.
#ifndef CAMEO_CODEGEN_SHARE_OUTPUTS_H
#define CAMEO_CODEGEN_SHARE_OUTPUTS_H

#include "codegen/printer.h"

// Sets Buffer.shares of each output that may lie in an input's memory.
void share_outputs_module(Module *mod);

// The output for which k has nothing to do where it lies in the memory of the input that it shares;
// 0: none.
BufferId shared_output_of(const Module *mod, const Kernel *k);
// The input in whose memory an output may lie, as a kernel of the module's can be left out for it;
// 0: none.
BufferId shared_input_of(const Module *mod, BufferId output);

#endif
