// fake_cuda.h: the part of the driver API that the emulated libcuda.so.1 has.
//
// Where the CUDA toolkit is found (CUEMU_TOOLKIT), its own cuda.h is used instead, so that every
// definition is checked against the real signatures.
#pragma once
#ifdef CUEMU_TOOLKIT
#include <cuda.h>
#else
#include <stddef.h>
#include <stdint.h>

#define CUDAAPI
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v3
#define cuEventDestroy cuEventDestroy_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#define cuGraphAddKernelNode cuGraphAddKernelNode_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2
#define cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
#define cuGetProcAddress cuGetProcAddress_v2

typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef uint64_t cuuint64_t;
typedef struct CUctx_st *CUcontext;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUarray_st *CUarray;
typedef enum cudaError_enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_UNKNOWN = 999
} CUresult;
typedef enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
} CUdevice_attribute;
typedef enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 } CUfunction_attribute;
typedef enum {
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_ARRAY = 3,
    CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;
typedef enum { CU_JIT_MAX_REGISTERS = 0 } CUjit_option;
typedef enum { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE = 0 } CUlibraryOption;
typedef enum { CU_STREAM_CAPTURE_MODE_GLOBAL = 0 } CUstreamCaptureMode;
typedef enum {
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1
} CUstreamCaptureStatus;
typedef enum {
    CU_GET_PROC_ADDRESS_SUCCESS = 0,
    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
typedef struct {
    unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;
typedef struct {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

extern "C" {
CUresult CUDAAPI cuInit(unsigned flags);
CUresult CUDAAPI cuDriverGetVersion(int *version);
CUresult CUDAAPI cuDeviceGetCount(int *count);
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal);
CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice);
CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice);
CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice);
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice);
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice);
CUresult CUDAAPI cuCtxSetCurrent(CUcontext c);
CUresult CUDAAPI cuCtxGetCurrent(CUcontext *c);
CUresult CUDAAPI cuCtxPushCurrent(CUcontext c);
CUresult CUDAAPI cuCtxPopCurrent(CUcontext *c);
CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *, void **,
                                   unsigned, CUlibraryOption *, void **, unsigned);
CUresult CUDAAPI cuLibraryUnload(CUlibrary l);
CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name);
CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel k);
CUresult CUDAAPI cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *size);
CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel k,
                                      CUdevice);
CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value);
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *p, size_t bytes);
CUresult CUDAAPI cuMemFree(CUdeviceptr p);
CUresult CUDAAPI cuMemGetInfo(size_t *unused, size_t *total);
CUresult CUDAAPI cuMemHostAlloc(void **p, size_t bytes, unsigned);
CUresult CUDAAPI cuMemAllocHost(void **p, size_t bytes);
CUresult CUDAAPI cuMemFreeHost(void *p);
CUresult CUDAAPI cuGetErrorName(CUresult r, const char **text);
CUresult CUDAAPI cuGetErrorString(CUresult r, const char **text);
CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, CUstream s,
                                void **params, void **extra);
CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS *p);
CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_MEMCPY3D *c, CUcontext);
CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext);
CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n);
CUresult CUDAAPI cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n);
CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n);
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream s);
CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream s);
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s);
CUresult CUDAAPI cuMemsetD8(CUdeviceptr dst, unsigned char v, size_t n);
CUresult CUDAAPI cuMemsetD32(CUdeviceptr dst, unsigned v, size_t n);
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream s);
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dst, unsigned v, size_t n, CUstream s);
CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags);
CUresult CUDAAPI cuStreamDestroy(CUstream s);
CUresult CUDAAPI cuStreamSynchronize(CUstream s);
CUresult CUDAAPI cuStreamQuery(CUstream s);
CUresult CUDAAPI cuCtxSynchronize(void);
CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int);
CUresult CUDAAPI cuEventDestroy(CUevent e);
CUresult CUDAAPI cuEventRecord(CUevent e, CUstream s);
CUresult CUDAAPI cuEventSynchronize(CUevent);
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent a, CUevent b);
CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream handle, CUgraph g, const CUgraphNode *before,
                                             const CUgraphEdgeData *, size_t count,
                                             CUstreamCaptureMode);
CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode);
CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *out);
CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status,
                                        cuuint64_t *id, CUgraph *graph, const CUgraphNode **before,
                                        const CUgraphEdgeData **edges, size_t *count);
CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned int flags);
CUresult CUDAAPI cuGraphDestroy(CUgraph g);
CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                     size_t count);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                        const CUgraphEdgeData *, size_t count);
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long);
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec e);
CUresult CUDAAPI cuGraphUpload(CUgraphExec e, CUstream s);
CUresult CUDAAPI cuGraphLaunch(CUgraphExec e, CUstream s);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t,
                                  CUdriverProcAddressQueryResult *status);
}
#endif
