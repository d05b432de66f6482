/* driver.h: the driver API for small host programs of the tests, found as emitted programs find it:
 * by dlopen and cuGetProcAddress. Every call is checked by CHECK. */
#pragma once
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct {
    void *func;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    CUkernel kernel;
    CUcontext context;
} KernelNode;
typedef struct {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array, *reserved0;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array, *reserved1;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
} CopyNode;
enum { HOST = 1, DEVICE = 2 };

/* NAME, version of its form, arguments */
#define ENTRIES(X)                                                                                 \
    X(cuInit, 2000, unsigned)                                                                      \
    X(cuDevicePrimaryCtxRetain, 7000, CUcontext *, int)                                            \
    X(cuCtxSetCurrent, 4000, CUcontext)                                                            \
    X(cuLibraryLoadData, 12000, CUlibrary *, const void *, void *, void *, unsigned, void *,       \
      void *, unsigned)                                                                            \
    X(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *)                              \
    X(cuMemAlloc, 3020, CUdeviceptr *, size_t)                                                     \
    X(cuMemFree, 3020, CUdeviceptr)                                                                \
    X(cuMemcpyHtoD, 3020, CUdeviceptr, const void *, size_t)                                       \
    X(cuMemcpyDtoH, 3020, void *, CUdeviceptr, size_t)                                             \
    X(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream)                        \
    X(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream)                              \
    X(cuStreamCreate, 2000, CUstream *, unsigned)                                                  \
    X(cuStreamSynchronize, 2000, CUstream)                                                         \
    X(cuStreamDestroy, 4000, CUstream)                                                             \
    X(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const void *,    \
      size_t, int)                                                                                 \
    X(cuStreamEndCapture, 10000, CUstream, CUgraph *)                                              \
    X(cuStreamGetCaptureInfo, 12030, CUstream, int *, unsigned long long *, CUgraph *,             \
      const CUgraphNode **, const void **, size_t *)                                               \
    X(cuLaunchKernel, 4000, CUkernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
      unsigned, CUstream, void **, void **)                                                        \
    X(cuGraphCreate, 10000, CUgraph *, unsigned)                                                   \
    X(cuGraphAddKernelNode, 12000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,            \
      const KernelNode *)                                                                          \
    X(cuGraphAddMemcpyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,            \
      const CopyNode *, CUcontext)                                                                 \
    X(cuGraphInstantiate, 12000, CUgraphExec *, CUgraph, unsigned long long)                       \
    X(cuGraphLaunch, 10000, CUgraphExec, CUstream)                                                 \
    X(cuGetErrorName, 6000, int, const char **)
#define DECLARE(name, since, ...) static int (*name)(__VA_ARGS__) __attribute__((unused));
ENTRIES(DECLARE)

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        const char *text_ = "?";                                                                   \
        if (error_) {                                                                              \
            cuGetErrorName(error_, &text_);                                                        \
            fprintf(stderr, "%s: %s\n", #call, text_);                                             \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static CUcontext context;

static void driver_find(void *library, const char *name, int since, void *to)
{
    int (*get)(const char *, void **, int, unsigned long long, int *);
    int status = 1;
    *(void **)&get = dlsym(library, "cuGetProcAddress_v2");
    if (!get || get(name, to, since, 0, &status) || status) {
        fprintf(stderr, "%s is not there\n", name);
        exit(2);
    }
}

static CUkernel driver_kernel(const char *name)
{
    static CUlibrary images;
    static const char none[64] = "";
    CUkernel k;
    if (!images)
        CHECK(cuLibraryLoadData(&images, none, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&k, images, name));
    return k;
}

static void driver_start(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
#define FIND(name, since, ...) driver_find(library, #name, since, (void *)&name);
    ENTRIES(FIND)
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
}
