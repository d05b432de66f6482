// Functions of products of matrices, of convolutions and of what they call: in the model's unit, in
// units of their own, or in those that a target has for all models.
#ifndef CAMEO_CODEGEN_EMIT_PRODUCTS_H
#define CAMEO_CODEGEN_EMIT_PRODUCTS_H

#include "codegen/cpu/gemm.h"
#include "codegen/emit_c.h"

// Functions of products and their tiles, where they are units of their own.
typedef struct Apart {
    Str tiles, products;
    size_t begin, end; // where the unit that calls them declares them
} Apart;

// Does any kernel use products of this kind, other than those of cameo_wide.h?
bool products_any(const Step *s, GemmKind kind);
// All that the module needs of them, in the model's unit or declared there.
void products_emit(const Module *mod, Arena *scratch, const EmitOptions *o, Buf *out, Apart *apart);
// What was declared, each in its unit, as far as `out`, the model's, needs it from there.
void products_define(const EmitOptions *o, const Apart *apart, const Buf *out);

// Units that depend on nothing but the row of a processor: all functions, under names that end with
// CAMEO_TARGET. The tables of tiles are in the model's unit, which so says which tiles a program
// has (EmitOptions.kept).
void products_of_target(const Processor *row, Buf *tiles, Buf *products);
// Are all that the module needs among those?
bool products_kept(const Module *mod);

#endif
