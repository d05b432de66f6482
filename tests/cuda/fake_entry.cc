// fake_entry.cc: cuGetProcAddress of the emulated driver: names as programs ask for them, and the
// version from which each form is the one that is meant.
#include "fake_state.h"

#include <cstring>

namespace
{

struct Entry {
    const char *name;
    int since;
    void *function;
};
#define ROW(name, since) {#name, since, (void *)name}
const Entry entries[] = {
    ROW(cuInit, 2000),
    ROW(cuDriverGetVersion, 2020),
    ROW(cuDeviceGetCount, 2000),
    ROW(cuDeviceGet, 2000),
    ROW(cuDeviceGetName, 2000),
    ROW(cuDeviceTotalMem, 3020),
    ROW(cuDeviceGetAttribute, 2000),
    ROW(cuDevicePrimaryCtxRetain, 7000),
    ROW(cuDevicePrimaryCtxRelease, 11000),
    ROW(cuCtxSetCurrent, 4000),
    ROW(cuCtxGetCurrent, 4000),
    ROW(cuCtxPushCurrent, 4000),
    ROW(cuCtxPopCurrent, 4000),
    ROW(cuCtxSynchronize, 2000),
    ROW(cuLibraryLoadData, 12000),
    ROW(cuLibraryUnload, 12000),
    ROW(cuLibraryGetKernel, 12000),
    ROW(cuKernelGetFunction, 12000),
    ROW(cuKernelGetParamInfo, 12040),
    ROW(cuKernelSetAttribute, 12000),
    ROW(cuFuncSetAttribute, 9000),
    ROW(cuMemAlloc, 3020),
    ROW(cuMemFree, 3020),
    ROW(cuMemGetInfo, 3020),
    ROW(cuMemAllocHost, 3020),
    ROW(cuMemHostAlloc, 2020),
    ROW(cuMemFreeHost, 2000),
    ROW(cuMemcpyHtoD, 3020),
    ROW(cuMemcpyDtoH, 3020),
    ROW(cuMemcpyDtoD, 3020),
    ROW(cuMemcpyHtoDAsync, 3020),
    ROW(cuMemcpyDtoHAsync, 3020),
    ROW(cuMemcpyDtoDAsync, 3020),
    ROW(cuMemsetD8, 3020),
    ROW(cuMemsetD32, 3020),
    ROW(cuMemsetD8Async, 3020),
    ROW(cuMemsetD32Async, 3020),
    ROW(cuStreamCreate, 2000),
    ROW(cuStreamDestroy, 4000),
    ROW(cuStreamSynchronize, 2000),
    ROW(cuStreamQuery, 2000),
    ROW(cuStreamBeginCapture, 10010),
    ROW(cuStreamBeginCaptureToGraph, 12030),
    ROW(cuStreamEndCapture, 10000),
    ROW(cuStreamGetCaptureInfo, 12030),
    ROW(cuEventCreate, 2000),
    ROW(cuEventRecord, 2000),
    ROW(cuEventSynchronize, 2000),
    ROW(cuEventDestroy, 4000),
    ROW(cuEventElapsedTime, 12080),
    ROW(cuLaunchKernel, 4000),
    ROW(cuGraphCreate, 10000),
    ROW(cuGraphDestroy, 10000),
    ROW(cuGraphAddKernelNode, 12000),
    ROW(cuGraphAddMemcpyNode, 10000),
    ROW(cuGraphAddMemsetNode, 10000),
    ROW(cuGraphAddEmptyNode, 10000),
    ROW(cuGraphAddDependencies, 12030),
    ROW(cuGraphInstantiate, 12000),
    {"cuGraphInstantiateWithFlags", 11040, (void *)cuGraphInstantiate},
    ROW(cuGraphExecDestroy, 10000),
    ROW(cuGraphUpload, 11010),
    ROW(cuGraphLaunch, 10000),
    ROW(cuGraphKernelNodeSetParams, 12000),
    ROW(cuGraphExecKernelNodeSetParams, 12000),
    ROW(cuGetErrorName, 6000),
    ROW(cuGetErrorString, 6000),
    ROW(cuGetProcAddress, 12000),
};

} // namespace

extern "C" CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version,
                                             cuuint64_t, CUdriverProcAddressQueryResult *status)
{
    if (!symbol || !function || version > 13000)
        return CUDA_ERROR_INVALID_VALUE;
    *function = nullptr;
    CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (const Entry &e : entries) {
        if (strcmp(e.name, symbol))
            continue;
        // Older forms differ in their arguments, and are not here.
        result = version >= e.since ? CU_GET_PROC_ADDRESS_SUCCESS
                                    : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (version >= e.since)
            *function = e.function;
    }
    if (status)
        *status = result;
    return result == CU_GET_PROC_ADDRESS_SUCCESS || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
