// The compilers that turn what was emitted into programs: found, asked what they have, called.
#ifndef CAMEO_CODEGEN_TOOLCHAIN_H
#define CAMEO_CODEGEN_TOOLCHAIN_H

#include "codegen/cache.h"
#include "codegen/compile.h"
#include "codegen/custom.h"
#include "codegen/libraries.h"

// One compilation. Files are named within `dir`, where the compilers run: nothing they write tells
// where that was, and a cache of compilations knows the same text again.
typedef struct Build {
    Arena *arena;
    const CompileOptions *o;
    CompileReport *report;
    const char *dir, *prefix, *cc;
    const char *cpus[MAX_CPUS];           // codegen/cpus.h; the first is the least
    uint32_t ncpus;                       // at least 1
    bool may_leave;                       // out those for words that the model may not need
    bool left_out[MAX_CPUS];              // as the model does not
    bool has_lists;                       // among inputs and outputs
    bool has_blobs;                       // PREFIX_blobs.c holds what the program includes as bytes
    bool has_products;                    // PREFIX_products.c holds the functions of products
    bool has_tiles;                       // PREFIX_tiles.c holds what they call
    bool has_figures;                     // kernels of the text at hand take figures of float64
    bool attaches;                        // weights go behind the linked program (codegen/attach.h)
    bool includes;                        // the assembler includes files in PREFIX_blobs.c
    Cache *cache;                         // NULL: none
    Buf *described;                       // the compiler and the machine, once asked for
    Buf *compiler;                        // the compiler alone, by no path
    const char *shelf;                    // units that came with Cameo (codegen/shelf.h); NULL
    const char *kept[MAX_CPUS][2];        // of these tiles and products; NULL: not there
    CustomSources custom, custom_kernels; // of C functions, of kernels on a device
    const Library *libraries[MAX_LIBRARIES + 1];
    struct Jobs *models; // compilations of the model's texts (codegen/jobs.h); NULL: none has begun
} Build;

// Each gives 0, or the exit status with report->error set.

int build_write_text(Build *b, const char *name, const Buf *text);
// The compiler to use: b->cc.
int toolchain_find_compiler(Build *b);
// The same, and that it finds the libraries the program needs.
int toolchain_find(Build *b);
// The files of runtime/ in the build's folder.
int toolchain_write_runtime(Build *b);
// One of the model's texts, for n of the build's processors from number `first` on.
typedef struct ModelText {
    const char *name; // without ".c"
    uint32_t first, n;
} ModelText;
// Begins to compile it; the best processors' text comes first.
void toolchain_begin(Build *b, const ModelText *t);
// What was begun, and what is around it, to PREFIX.out in the build's folder: a program, library or
// object, as the options say.
int toolchain_compile(Build *b);
// Waits for compilers that run.
void toolchain_abandon(Build *b);
// "PREFIX.out"
const char *toolchain_result(Build *b);
// Kernels in CUDA to PTX for all, and machine code for the architectures asked for.
int toolchain_compile_kernels(Build *b, const char *source, const char *image);

#endif
