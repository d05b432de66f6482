// Tiles of products in a processor's matrix registers (AMX), printed from one description.
//
// Both factors are words of 32 bits that hold neighbouring values of k: two of 16 bits, or four
// bytes. The second one is packed as for the tiles of vectors (tiles.h, narrow.c, byte_product.c):
// a panel's row of words is 64 bytes for each 16 columns, and 16 rows of it are a tile. So weights
// are packed once, whatever processor the program meets.
#ifndef CAMEO_CODEGEN_CPU_AMX_H
#define CAMEO_CODEGEN_CPU_AMX_H

#include "base/str.h"

// What the elements are, the first factor's before the second's. The tables of functions are
// called cameo_amx_bf16, cameo_amx_u8s8 ...
typedef enum AmxKind { AMX_BF16, AMX_U8S8, AMX_S8U8, AMX_S8S8, AMX_KINDS } AmxKind;

// Tiles of these kinds, 1 << AmxKind each, behind runtime/cameo_matrix.h, which asks the system for
// the registers; of `placed` those whose first factor lies at a place of its own for each step of
// k. What drives them is runtime/cameo_amx.h, which comes behind.
void amx_tiles_print(Buf *out, uint32_t kinds, uint32_t placed);
// The same kinds by vectors, for processors without matrix registers, behind
// runtime/cameo_words.h: tables called cameo_words_bf16 ...; there is none of s8u8.
void amx_words_print(Buf *out, uint32_t kinds, uint32_t placed);
// Tiles of float32, each number a sum of three of bfloat16, behind runtime/cameo_split_words.h;
// what drives them is runtime/cameo_split.h.
void amx_split_print(Buf *out);

#endif
