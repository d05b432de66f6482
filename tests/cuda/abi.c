// The declarations of runtime/cameo_cuda_api.h and runtime/cameo_cublaslt.h against the toolkit's
// own headers: only compiled.
#include <cublasLt.h>
#include <cuda.h>

#define CAMEO_FN static inline __attribute__((unused))
#include "cameo_cublaslt.h"

#define SAME(what, a, b) _Static_assert((a) == (b), what)
#define SAME_PLACE(ours, member, theirs, their_member)                                             \
    SAME(#their_member, offsetof(ours, member), offsetof(theirs, their_member))

SAME("kernel node", sizeof(cameo_cu_kernel_node), sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
SAME_PLACE(cameo_cu_kernel_node, grid_x, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_PLACE(cameo_cu_kernel_node, block_z, CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ);
SAME_PLACE(cameo_cu_kernel_node, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_PLACE(cameo_cu_kernel_node, params, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_PLACE(cameo_cu_kernel_node, kern, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_PLACE(cameo_cu_kernel_node, ctx, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME("copy node", sizeof(cameo_cu_copy_node), sizeof(CUDA_MEMCPY3D));
SAME_PLACE(cameo_cu_copy_node, from.memory_type, CUDA_MEMCPY3D, srcMemoryType);
SAME_PLACE(cameo_cu_copy_node, from.host, CUDA_MEMCPY3D, srcHost);
SAME_PLACE(cameo_cu_copy_node, from.device, CUDA_MEMCPY3D, srcDevice);
SAME_PLACE(cameo_cu_copy_node, to.memory_type, CUDA_MEMCPY3D, dstMemoryType);
SAME_PLACE(cameo_cu_copy_node, to.host, CUDA_MEMCPY3D, dstHost);
SAME_PLACE(cameo_cu_copy_node, to.device, CUDA_MEMCPY3D, dstDevice);
SAME_PLACE(cameo_cu_copy_node, width, CUDA_MEMCPY3D, WidthInBytes);
SAME("host memory", CU_MEMORYTYPE_HOST, 1);
SAME("device memory", CU_MEMORYTYPE_DEVICE, 2);
SAME("stream flag", CU_STREAM_NON_BLOCKING, 1);
SAME("capture mode", CU_STREAM_CAPTURE_MODE_RELAXED, 2);
SAME("device pointer", sizeof(CUdeviceptr), sizeof(uint64_t));

SAME("heuristic", sizeof(cameo_lt_choice), sizeof(cublasLtMatmulHeuristicResult_t));
SAME_PLACE(cameo_lt_choice, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_PLACE(cameo_lt_choice, state, cublasLtMatmulHeuristicResult_t, state);
SAME("first factor", CUBLASLT_MATMUL_DESC_TRANSA, 3);
SAME("second factor", CUBLASLT_MATMUL_DESC_TRANSB, 4);
SAME("batch", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5);
SAME("batch stride", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6);
SAME("workspace", CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1);
SAME("float32", CUBLAS_COMPUTE_32F, 68);
SAME("float64", CUBLAS_COMPUTE_64F, 70);
SAME("float", CUDA_R_32F, 0);
SAME("double", CUDA_R_64F, 1);
SAME("transposed", CUBLAS_OP_T, 1);
