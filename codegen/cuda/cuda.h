// CUDA as a dialect of the kernel printer, and what its host side needs to know of each kernel.
#ifndef CAMEO_CODEGEN_CUDA_CUDA_H
#define CAMEO_CODEGEN_CUDA_CUDA_H

#include "base/diag.h"
#include "codegen/emit_c.h"

enum { CUDA_THREADS = 256 };

// How many threads a kernel is launched with.
typedef struct CudaGrid {
    Index points;     // iterations of the loops that are divided; NULL: known on the device alone
    uint32_t threads; // of the block that each point is; 0: each point is a thread
    uint32_t parts;   // if a point may be several threads: how many its reduction has work for
    uint32_t least;   // and how many pay
} CudaGrid;

typedef struct CudaTarget {
    Arena *arena;
    VEC(CudaGrid) grids; // by Kernel.id, after the kernel was printed
} CudaTarget;

extern const Dialect dialect_cuda;

// Kernels of nodes that are placed on the host run there; before fusion, which keeps them apart.
void cuda_place_kernels(Module *mod);
// Makes a module fit for CUDA, before legalize_module: each kernel is one nest of parallel loops or
// the work of one block, rows whose size is not constant are buffers, what the host must know of
// values on the device is stored by kernels of its own. false with diagnostics: not supported.
bool cuda_prepare_module(Module *mod, Diags *diags);
// After override_module(GEMM_CUBLASLT): what is applied to a product becomes a kernel of its own.
void cuda_split_products(Module *mod);
// Prints a product as a call of the library; the kernel that does the same follows it.
void cuda_print_product(Printer *p, const Kernel *k, const char *launch);
// Prints a kernel's body and notes its grid in the target (a CudaTarget).
void cuda_print_body(Printer *p, const Kernel *k);
// The kernels' file.
void emit_cu(Module *mod, Printer *p, const EmitOptions *o);
// The host's file: C11. `kernels` printed the kernels' file.
void emit_cuda_host(Module *mod, const Plan *plan, const EmitOptions *o, Printer *kernels,
                    Buf *out);
// Of a step's condition or value: may the host evaluate it from inputs and weights alone?
bool cuda_host_knows(Module *mod, const Step *s);

#endif
