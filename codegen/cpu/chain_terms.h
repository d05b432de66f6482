// Chains whose products go by three terms of bfloat16 (runtime/cameo_chain_terms.h).
#ifndef CAMEO_CODEGEN_CPU_CHAIN_TERMS_H
#define CAMEO_CODEGEN_CPU_CHAIN_TERMS_H

#include "codegen/cpu/chain.h"

// Are such products possible, and expected to be quicker than those of float32? expand: NULL where
// it is missing.
bool chain_terms_worth(Module *mod, const ConvChoice *how, const Conv *expand, const Conv *windows,
                       const Conv *last);
// c with weights in the order in which they are taken apart; *to is c itself where they are. false:
// they cannot be read.
bool chain_terms_pack(Module *mod, const Conv *c, const Conv **to);
// Bytes of room that a thread needs beside a band, for k values of k of the first product; 0: there
// is none.
int64_t chain_terms_room(int64_t planes, int64_t k, const Conv *last);
// What a plane that the windows read counts for, with terms of k values of x for each place.
int64_t chain_terms_planes(int64_t k);

#endif
