/* The C API of a compiled model. Every model NAME gives a constant `const cameo_model NAME_model`
 * and the functions NAME_create, NAME_run ... of its own header, which are the same functions.
 *
 * Contexts are independent: each may be used by one thread at a time, different ones by different
 * threads at once. There is no global state. */
#ifndef CAMEO_MODEL_H
#define CAMEO_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cameo_context cameo_context;
typedef struct cameo_type cameo_type;     /* cameo_object.h */
typedef struct cameo_object cameo_object; /* cameo_object.h */

#ifndef CAMEO_STR
#define CAMEO_STR
/* A string element: bytes that somebody else owns. */
typedef struct cameo_str {
    const char *at;
    int64_t len;
} cameo_str;
#endif

/* An input or output. Dtypes are numbered as in ONNX's TensorProto. */
typedef struct cameo_port {
    const char *name;
    int32_t dtype, rank;
    const int64_t *dims;          /* -1: any size */
    const char *const *dim_names; /* "" where a dim has no name */
    int32_t shares; /* of an output: 1 + the number of the input whose memory it may be lent; 0: of
                     * none (see set_output) */
} cameo_port;

/* Does units from .. to of a kernel's work, as thread `thread` of a pool. */
typedef void cameo_part(void *with, int64_t from, int64_t to, int32_t thread);

/* Threads that share the work of kernels. Contexts of one model or of several may have the same
 * one; a run that finds it taken by another does its kernels' work itself. */
typedef struct cameo_pool cameo_pool;
struct cameo_pool {
    int32_t threads; /* that work, the caller's (0) among them */
    /* Has all units done, `grain` or more at a time, each once; returns when they are. */
    void (*run)(cameo_pool *pool, int64_t units, int64_t grain, cameo_part *part, void *with);
};

typedef struct cameo_options {
    const void *weights;      /* of a model compiled with --weights file: the whole file's bytes, if
                               * in memory */
    const char *weights_path; /* or the file to read it from; both NULL: the default path */
    int32_t threads;          /* 0: as many as the model was compiled for (--threads), else one */
    cameo_pool *pool; /* the caller's, which outlives the context; NULL: a context of more than one
                       * thread makes its own */
} cameo_options;

/* What sums of products multiply, as far as processors have instructions for it. */
enum cameo_factors { CAMEO_FLOAT32, CAMEO_BFLOAT16, CAMEO_BYTES, CAMEO_FACTORS };

/* What a kernel did in all runs of a context, of a model compiled with --profile. */
typedef struct cameo_kernel_time {
    const char *kernel; /* its number and name, and the nodes that it computes */
    int64_t runs, nanoseconds;
    /* Operations of floats and in products of bytes (2*M*N*K of a product of matrices), and bytes
     * that have to be read and written, each element once; -1: they depend on data. */
    int64_t operations, bytes;
    int32_t factors; /* enum cameo_factors: what the kernel's sums multiply */
} cameo_kernel_time;

typedef struct cameo_kernel_event {
    int32_t kernel;
    int64_t begin, nanoseconds; /* begin: since 1970 */
} cameo_kernel_event;

typedef struct cameo_model {
    const char *name;
    const char *version; /* of the compiler, and what the program needs */
    int32_t ninputs, noutputs;
    const cameo_port *inputs, *outputs;
    /* A new context, or NULL for want of memory, of weights (those of another compilation are
     * refused) or of instructions. `options` may be NULL. */
    cameo_context *(*create)(const cameo_options *options);
    void (*destroy)(cameo_context *context);
    /* Sets input i: row-major elements that stay the caller's and must live until run returns;
     * strings (dtype 8) are cameo_str.
     * 0, or -1 with an error that names both sides. */
    int (*set_input)(cameo_context *context, int32_t i, int32_t dtype, int32_t rank,
                     const int64_t *dims, const void *elements);
    /* Has output i written to memory of the caller's from the next run on: `bytes` of it, as many
     * as the output takes or more, which begin at a multiple of 64, lie apart from inputs and other
     * outputs, and must live until the last run with them. What they hold after a run that failed
     * is not defined. NULL: to the context's own memory again. Not for outputs of strings or lists.
     * The memory of the input that the output shares (cameo_port), if both are as large, may be its
     * own too: what the model leaves as it is, such as the rows that a cache had, is not copied
     * then, and what an output has 0 in for want of anything, such as rows behind those that are
     * filled, stays what it was.
     * 0, or -1 with an error; run refuses what is too small. */
    int (*set_output)(cameo_context *context, int32_t i, void *elements, int64_t bytes);
    /* Computes all outputs from the inputs set. 0, or -1 with an error. Allocates nothing where all
     * shapes are fixed or are as in the run before. */
    int (*run)(cameo_context *context);
    /* Output i of the last run: valid until the next run or destroy, or where set_output has it;
     * strings are cameo_str. */
    const void *(*output)(const cameo_context *context, int32_t i, int32_t *rank,
                          const int64_t **dims);
    const char *(*error)(const cameo_context *context);
    /* Of a model compiled with --profile, else NULL: what kernel i did in this context, and the
     * i-th of the last times that a kernel ran, in order. 0, or -1 where there is no i-th. */
    int (*profile)(const cameo_context *context, int32_t i, cameo_kernel_time *time);
    int (*event)(const cameo_context *context, int64_t i, cameo_kernel_event *event);
    /* The measured peak of one core in GFLOP/s, float32, with the instructions of this program. */
    double (*peak)(void);
    /* Of a model that has lists (sequences, optionals, maps) as inputs or outputs, else NULL: their
     * types, NULL where port i is a tensor; and set_input, output for those that are none: a value
     * set is the caller's and must live until run returns, an output lives as other outputs do. */
    const cameo_type *const *input_types, *const *output_types;
    int (*set_object)(cameo_context *context, int32_t i, const cameo_object *object);
    const cameo_object *(*output_object)(const cameo_context *context, int32_t i);
    /* How many threads the context's runs have. A pool of so many threads for several contexts, or
     * NULL for want of memory; destroy it after them. NULL: no kernel of the model has work enough
     * for more than one thread, and options.threads and options.pool have no effect. */
    int32_t (*threads)(const cameo_context *context);
    cameo_pool *(*create_pool)(int32_t threads);
    void (*destroy_pool)(cameo_pool *pool);
    /* What this machine lacks of the instructions that the program was compiled for ("avx512f"), or
     * NULL. Where it lacks any there is no context. */
    const char *(*lacks)(void);
    /* As peak, in giga-operations a second, with the quickest instructions of this program that
     * multiply these factors (enum cameo_factors). */
    double (*peak_of)(int32_t factors);
} cameo_model;

#ifdef __cplusplus
}
#endif
#endif
