/* The part of the CUDA driver's interface that compiled models use, opened when a model first runs:
 * a program that is linked with the driver would not even start where there is none. Names, types
 * and values are those of cuda.h 12.3. */
#ifndef CAMEO_CUDA_API_H
#define CAMEO_CUDA_API_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cameo_cu_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *func;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params, **extra;
    void *kern, *ctx;
} cameo_cu_kernel_node;

typedef struct cameo_cu_copy_side {
    size_t x, y, z, lod;
    int memory_type; /* 1 host, 2 device */
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} cameo_cu_copy_side;

typedef struct cameo_cu_copy_node { /* CUDA_MEMCPY3D_v2 */
    cameo_cu_copy_side from, to;
    size_t width, height, depth;
} cameo_cu_copy_node;

/* name, parameters; each returns a CUresult. */
#define CAMEO_CU_ENTRIES(X)                                                                        \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (int *, int))                                                                   \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                    \
    X(cuDevicePrimaryCtxRelease, (int))                                                            \
    X(cuCtxSetCurrent, (void *))                                                                   \
    X(cuLibraryLoadData,                                                                           \
      (void **, const void *, void *, void *, unsigned, void *, void *, unsigned))                 \
    X(cuLibraryUnload, (void *))                                                                   \
    X(cuLibraryGetKernel, (void **, void *, const char *))                                         \
    X(cuKernelGetFunction, (void **, void *))                                                      \
    X(cuMemAlloc, (uint64_t *, size_t))                                                            \
    X(cuMemFree, (uint64_t))                                                                       \
    X(cuMemAllocHost, (void **, size_t))                                                           \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemcpyHtoD, (uint64_t, const void *, size_t))                                              \
    X(cuMemcpyDtoH, (void *, uint64_t, size_t))                                                    \
    X(cuMemcpyDtoD, (uint64_t, uint64_t, size_t))                                                  \
    X(cuMemsetD8, (uint64_t, unsigned char, size_t))                                               \
    X(cuMemcpyHtoDAsync, (uint64_t, const void *, size_t, void *))                                 \
    X(cuMemcpyDtoHAsync, (void *, uint64_t, size_t, void *))                                       \
    X(cuStreamCreate, (void **, unsigned))                                                         \
    X(cuStreamDestroy, (void *))                                                                   \
    X(cuStreamSynchronize, (void *))                                                               \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, void *, void **, void **))                                        \
    X(cuGraphCreate, (void **, unsigned))                                                          \
    X(cuGraphDestroy, (void *))                                                                    \
    X(cuGraphAddKernelNode,                                                                        \
      (void **, void *, void *const *, size_t, const cameo_cu_kernel_node *))                      \
    X(cuGraphAddMemcpyNode,                                                                        \
      (void **, void *, void *const *, size_t, const cameo_cu_copy_node *, void *))                \
    X(cuGraphAddEmptyNode, (void **, void *, void *const *, size_t))                               \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                          \
    X(cuGraphExecDestroy, (void *))                                                                \
    X(cuGraphUpload, (void *, void *))                                                             \
    X(cuGraphLaunch, (void *, void *))                                                             \
    X(cuStreamBeginCaptureToGraph, (void *, void *, void *const *, const void *, size_t, int))     \
    X(cuStreamGetCaptureInfo,                                                                      \
      (void *, int *, uint64_t *, void **, void *const **, const void **, size_t *))               \
    X(cuStreamEndCapture, (void *, void **))                                                       \
    X(cuGetErrorString, (int, const char **))

#define CAMEO_CU_MEMBER(name, params) int(*name) params;
typedef struct cameo_cu {
    void *library;
    CAMEO_CU_ENTRIES(CAMEO_CU_MEMBER)
} cameo_cu;

enum { CAMEO_CU_VERSION = 12030 };

/* Opens the driver. NULL, or what is missing. */
CAMEO_FN const char *cameo_cu_open(cameo_cu *cu)
{
#define CAMEO_CU_NAME(name, params) {#name, offsetof(cameo_cu, name)},
    static const struct {
        const char *name;
        size_t at;
    } entries[] = {CAMEO_CU_ENTRIES(CAMEO_CU_NAME)};
    cu->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *at = cu->library ? dlsym(cu->library, "cuGetProcAddress_v2") : NULL;
    int (*find)(const char *, void **, int, uint64_t, int *) = NULL;
    memcpy(&find, &at, sizeof at);
    if (!find)
        return "libcuda.so.1 (an NVIDIA driver for CUDA 12.3 or newer)";
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = NULL;
        int status = 0;
        if (find(entries[i].name, &entry, CAMEO_CU_VERSION, 0, &status) != 0 || !entry)
            return entries[i].name;
        memcpy((char *)cu + entries[i].at, &entry, sizeof entry);
    }
    return NULL;
}

#endif
