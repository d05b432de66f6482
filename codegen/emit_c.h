// A module as one C file: kernels, the function that runs them, the tables of its API.
#ifndef CAMEO_CODEGEN_EMIT_C_H
#define CAMEO_CODEGEN_EMIT_C_H

#include "codegen/cpu/processor.h"
#include "codegen/plan.h"
#include "codegen/printer.h"

typedef enum WeightsMode {
    WEIGHTS_ARRAYS,   // C arrays: small models, and wherever one text must hold all
    WEIGHTS_INCBIN,   // a blob that the assembler includes
    WEIGHTS_ATTACHED, // a blob behind the linked program (codegen/attach.h)
    WEIGHTS_FILE      // a blob read when a context is created, or given by the caller
} WeightsMode;

// Bytes behind the weights in their file, made of those: CAMEO_WEIGHTS_TAG of runtime/.
enum { WEIGHTS_TAG = 8 };

typedef struct EmitOptions {
    const char *prefix;
    const char *source; // the model as the user named it, for the headline; may be NULL
    WeightsMode weights;
    const char *weights_path; // INCBIN: for the assembler; FILE: where the program looks
    // The file ends in a tag that the program knows; that, where `blobs` is NULL.
    bool weights_tagged;
    unsigned char weights_tag[WEIGHTS_TAG];
    bool profile;           // time each kernel
    uint32_t grain;         // the least work of a thread's share (codegen/parts.h); 0: the usual
    uint32_t threads;       // of a context that is not told otherwise; 0: one
    bool strict;            // each multiplication and each addition rounds
    bool has_lists;         // among inputs and outputs
    const char *libraries;  // "-lm": what to link with
    const char *image_path; // of compiled kernels, for the assembler; NULL: no device
    Buf *blobs;   // takes what the assembler includes but weights; NULL: all is in the unit itself
    bool several; // processors, each with a program of the model (codegen/cpus.h)
    Buf *api;     // takes what stands around these, but emit_choice; NULL: another text's has it
    const Processor *rows; // of the processors, the best one last
    uint32_t nrows;
    Buf *products, *tiles; // take the functions of products and their tiles; NULL: as blobs
    bool apart;            // each value has memory of its own (codegen/plan.h)
    bool kept;             // they are kept for the targets (codegen/shelf.h)
    bool beside;           // functions of contexts are a unit of the program, cameo_context.c
    bool shared;           // other models' text may be in the unit too, and use its tiles
} EmitOptions;

// The whole translation unit. The module must be legal (legalize_module). false with *error where
// a weight cannot be read.
bool emit_c(Module *mod, const Plan *plan, const EmitOptions *o, Buf *out, Str *error);
// The header that belongs to it.
void emit_header(const EmitOptions *o, Buf *out);
// The bytes of the blob, at the plan's offsets: of several modules that share one, in their order
// (codegen/lowered.h). false with *error where one cannot be read or written.
bool emit_weights(Module *mod, const Plan *plan, ByteSink *out, Str *error);
// Are there few enough weights for C arrays?
bool weights_fit_arrays(const Plan *plan);

// ---- parts ----------------------------------------------------------------------------------
bool emit_weight_arrays(Printer *p, const Plan *plan, Str *error);
void emit_steps(Printer *p, const Plan *plan, const EmitOptions *o);
// What chooses among the programs of several processors, which these numbers are of, from the least
// to the best.
void emit_choice(const char *prefix, const uint32_t *numbers, uint32_t n, Buf *out);
// Where weights of that size are, in the way that the options say; nothing for those that are no
// part of a program.
void emit_weights_blob(const EmitOptions *o, int64_t size, Buf *out);
// The definition of PREFIX_weights_tag, which a tagged file of weights ends in.
void emit_weights_tag(const EmitOptions *o, const unsigned char *tag, Buf *out);
// The declaration of PREFIX_weights; and what emit_weights_blob prints, where that is in the unit.
void emit_weights_symbol(Printer *p, const Plan *plan, const EmitOptions *o);
// A page-aligned constant PREFIX_name with the contents of a file, as C.
void blob_print(Buf *out, const char *prefix, const char *name, const char *path);
void emit_blob(Printer *p, const EmitOptions *o, const char *name, const char *path);
void emit_bind(Printer *p, const Plan *plan);
// How the model is run; what it is called by.
void emit_program(Printer *p, const Plan *plan, const EmitOptions *o);
void emit_api(Printer *p, const EmitOptions *o);
// Where each operation rounds: says so to what follows of runtime/.
void emit_rounding(const EmitOptions *o, Buf *out);
// The text of files of runtime/, without their includes of each other.
void emit_runtime(Buf *out, const char *const *names);
// What of runtime/ complex numbers, strings and lists need, behind the first n of `parts`, which
// has room for MAX_PARTS and a NULL; the table of strings. Nothing where the module has none.
enum { MAX_PARTS = 64 };
void emit_add_parts(const Module *mod, const char **parts, uint32_t n);
// A file of runtime/ behind those that it includes, unless it is there; how many there are then.
uint32_t emit_add_part(const char **parts, uint32_t n, const char *name);
void emit_symbols(Printer *p);
// Does a buffer hold complex numbers? Is an input or output a sequence, an optional or a map?
bool module_has_complex(const Module *mod);
bool module_has_list_ports(const Module *mod);
// What a kernel does, and each operand: "b3 <- float32[N,16] name".
void print_kernel_comment(Printer *p, const Kernel *k, const KernelUses *u);
// "net_k3_conv"
const char *kernel_name(Printer *p, const Kernel *k);

#endif
