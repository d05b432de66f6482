// From a model to a program, a library, an object or a C file.
#ifndef CAMEO_CODEGEN_COMPILE_H
#define CAMEO_CODEGEN_COMPILE_H

#include "base/diag.h"
#include "codegen/cpu/gemm.h"
#include "codegen/emit_c.h"
#include "codegen/fuse.h"
#include "codegen/libraries.h"
#include "codegen/stages.h"

typedef enum EmitKind {
    EMIT_EXE,
    EMIT_SHARED,
    EMIT_STATIC,
    EMIT_OBJ,
    EMIT_C,
    EMIT_LOADED // for `cameo run`: an object made by clang, weights given in memory
} EmitKind;

typedef enum CompileDevice { ON_CPU, ON_CUDA } CompileDevice;

// A size that the user fixes: of a named dim ("batch=4"), or of an input ("x=1x3x224x224").
typedef struct FixedSize {
    const char *text;
    bool is_shape;
} FixedSize;
enum { MAX_FIXED = 64 };

typedef struct CompileOptions {
    EmitKind kind;
    const char *out;    // the file to write; EMIT_LOADED: where the object goes
    const char *prefix; // of all symbols; NULL: from out's stem, a program's from the model's
    const char *cc;     // NULL: gcc, else clang-19, else cc
    const char *cpu;    // NULL: native
    Processor tuned;    // a row for the last of `cpu`; no lanes: that of the table
    CompileDevice device;
    const char
        *cuda_arch;   // "sm_90,sm_80"; NULL: those in wide use. PTX for newer ones is always there
    const char *keep; // a folder for all that is made on the way; NULL: a temporary one
    uint32_t grain;   // the least work that a thread takes (codegen/parts.h); 0: the usual
    uint32_t threads; // of the program where it is not told otherwise; 0: one
    // Each value has memory of its own, as large as it is, and up to 8 MB of weights are an array
    // each, so that address sanitizers see what is read and written beside them.
    bool apart;
    bool weights_file, no_override, no_fuse, no_winograd, no_split, strict_fp, profile, verbose;
    // The program runs a few times and is thrown away: -O1, and the first plan of memory that will
    // do. Loops that -O3 writes out give LLVM blocks that take it longer to order than they run.
    bool once;
    bool no_cache; // call compilers for what was made before too (codegen/cache.h)
    GemmKind gemm;
    int tile;               // of Winograd, 2 or 4, wherever it can be; 0: by cost
    bool fix, unsafe_fixes; // repair the model first: the safe fixes, or all
    FixedSize fixed[MAX_FIXED];
    uint32_t nfixed;
    void (*after)(void *user, const char *pass, const Model *m); // after each pass, where set
    void *user;
    // The model of the same bytes once more, before anything was done to it; NULL with diagnostics.
    // Not set: processors that lay values out in other ways share one text.
    Model *(*again)(Arena *a, const Model *m, Diags *diags);
    bool checked; // a copy of a model that lint found nothing in that keeps it from being compiled
    // Does the work in a process of its own, which gives 0 where that gave true: its id, or -1.
    // NULL: what may be done meanwhile is done behind.
    int64_t (*beside)(bool (*work)(void *of), void *of);
    // Where set, changes the model that all graph passes have seen; they run again behind it.
    // false: an error was reported.
    bool (*rewrite)(void *rewriter, Model *m, Diags *diags);
    void *rewriter;
    // Tells `rewriter` before that for which processor, the best of those that the model is lowered
    // for. NULL: it does not ask.
    void (*aim)(void *rewriter, const Processor *best);
    bool wide; // what the rewritten model has in bfloat16 may stay float32 within a kernel
} CompileOptions;

// What came of it; for reports.
typedef struct CompileReport {
    uint32_t nkernels;
    FuseReport fused;                   // zeros with no_fuse
    uint32_t casts, transfers, retyped; // what the repair inserted and changed
    bool bug;                           // a pass left a fault behind, reported as VERIFY: status 4
    bool fixed;                         // all sizes are known: peak and bound hold
    int64_t peak, bound;                // bytes of the arena, and what no plan can do without
    int64_t weights_size;               // bytes
    const char *libraries[MAX_LIBRARIES + 1]; // "png": that the program needs; NULL ends them
    Buf weights;                              // EMIT_LOADED: the blob (freed by the caller)
    Stages stages;                            // that were done, also where it failed
    const char *beside[3];                    // what was written beside `out`: ".h"; NULL ends them
    Str error; // what to print where the status is not 0 and no diagnostic says it
} CompileReport;

// Compiles a loaded model. The exit status of the command: 0; 1 with diagnostics (ill-typed, not
// supported); 2 no C compiler; 3 a file cannot be written, or a compiler had no room; 4 it rejects
// what we wrote. Nothing is written unless it is 0.
int compile_model(Model *m, const CompileOptions *o, Diags *diags, CompileReport *report);

// The front half alone: types, shapes, lowering, legal kernels. NULL with diagnostics.
Module *compile_to_module(Model *m, const CompileOptions *o, Diags *diags, CompileReport *report);

// "dir/net.so" and ".h" to "dir/net.h": where header and weights go. "" gives `out`.
const char *compile_beside(Arena *a, const CompileOptions *o, const char *ending);

// "net-v2.onnx" to "net_v2": a C identifier from a file's stem, and none of runtime/'s own.
const char *prefix_of(Arena *a, const char *path);

#endif
