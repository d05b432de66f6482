// fake_work.cc: launches, copies and fills of the emulated driver, on streams and as nodes of
// graphs.
#include "fake_state.h"

#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace
{

// Arguments are copied when the work is given, as the driver does.
struct Launch {
    CUkern_st *kernel;
    unsigned grid[3], block[3];
    size_t shared;
    std::vector<std::vector<char>> values;
};

bool readable(const void *p, size_t bytes)
{
    char copy[64];
    iovec local = {copy, bytes}, remote = {const_cast<void *>(p), bytes};
    return bytes <= sizeof copy &&
           process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

void check_pointers(const Launch &l)
{
    const CuemuKernel *k = l.kernel->kernel;
    for (size_t i = 0; i < k->count; i++) {
        CUdeviceptr p;
        if (!k->args[i].pointer)
            continue;
        memcpy(&p, l.values[i].data(), sizeof p);
        if (p)
            memory_check(p, 0, (std::string(k->name) + ", argument " + std::to_string(i)).c_str());
    }
}

void take_buffer(Launch *l, void **extra)
{
    const CuemuKernel *k = l->kernel->kernel;
    const char *buffer = nullptr;
    size_t size = 0, at = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = (const char *)extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[i + 1];
    }
    for (size_t i = 0; i < k->count; i++) {
        size_t bytes = k->args[i].size;
        at = (at + bytes - 1) / bytes * bytes;
        if (at + bytes > size)
            fault("wrong number of arguments: %s wants %zu, the buffer of %zu bytes ends in %zu",
                  k->name, k->count, size, i);
        l->values.emplace_back(buffer + at, buffer + at + bytes);
        at += bytes;
    }
    if (at != size)
        fault("wrong number of arguments: %s wants %zu bytes, the buffer has %zu", k->name, at,
              size);
}

// An array of pointers has no length. Each must be there; with settings.terminated a null must
// follow.
void take_pointers(Launch *l, void **params)
{
    const CuemuKernel *k = l->kernel->kernel;
    if (!params && k->count)
        fault("wrong number of arguments: %s wants %zu and got none", k->name, k->count);
    for (size_t i = 0; i < k->count; i++) {
        if (!readable(params + i, sizeof *params) || !params[i])
            fault("wrong number of arguments: %s wants %zu and got %zu", k->name, k->count, i);
        if (!readable(params[i], k->args[i].size))
            fault("wrong number of arguments: %s, argument %zu is at no address", k->name, i);
        const char *p = (const char *)params[i];
        l->values.emplace_back(p, p + k->args[i].size);
    }
    if (settings.terminated && params && params[k->count])
        fault("wrong number of arguments: %s wants %zu and got more", k->name, k->count);
}

void run_launch(const Launch &l)
{
    std::vector<void *> pointers;
    check_pointers(l);
    for (const auto &v : l.values)
        pointers.push_back(const_cast<char *>(v.data()));
    l.kernel->module->run(&memory, l.kernel->kernel, l.grid, l.block, l.shared, pointers.data());
    if (graph_runs())
        return;
    for (size_t i = 0; i < l.values.size(); i++) {
        const CuemuArg &a = l.kernel->kernel->args[i];
        CUdeviceptr p;
        if (!a.pointer || a.constant)
            continue;
        memcpy(&p, l.values[i].data(), sizeof p);
        if (p)
            memory_keep_rest(p);
    }
}

CUresult make_launch(Op *op, CUfunction f, const unsigned grid[3], const unsigned block[3],
                     size_t shared, void **params, void **extra)
{
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    Launch l = {
        (CUkern_st *)f, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, {}};
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > 0x7fffffff || grid[1] > 65535 ||
        grid[2] > 65535 || !threads || threads > 1024 || block[2] > 64 ||
        shared > l.kernel->dynamic)
        return CUDA_ERROR_INVALID_VALUE;
    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        take_buffer(&l, extra);
    else
        take_pointers(&l, params);
    check_pointers(l);
    *op = {OP_KERNEL, l.kernel->kernel->name, [l] { run_launch(l); }};
    return CUDA_SUCCESS;
}

// ---- copies ----

struct End {
    bool device;
    uintptr_t at;
    size_t pitch, height;
};

void copy_row(const End &to, uintptr_t t, const End &from, uintptr_t f, size_t bytes)
{
    const char *by = from.device ? (to.device ? "copy on the device" : "copy to the host")
                                 : "copy to the device";
    const char *source =
        from.device ? memory_use((CUdeviceptr)f, bytes, to.device ? USE_READ_ANY : USE_READ, by)
                    : (const char *)f;
    char *target = to.device ? memory_use((CUdeviceptr)t, bytes, USE_WRITE, by) : (char *)t;
    memmove(target, source, bytes);
    if (from.device && to.device)
        memory_copy_state((CUdeviceptr)t, (CUdeviceptr)f, bytes);
    if (to.device && !graph_runs())
        memory_keep((CUdeviceptr)t, bytes);
}

Op make_copy(End to, End from, size_t width, size_t height, size_t depth)
{
    const char *by = "copy";
    size_t last_to = ((depth - 1) * to.height + height - 1) * to.pitch + width;
    size_t last_from = ((depth - 1) * from.height + height - 1) * from.pitch + width;
    if (width && height && depth) {
        if (to.device)
            memory_check((CUdeviceptr)to.at, last_to, by);
        else
            memory_check_host((void *)to.at, by);
        if (from.device)
            memory_check((CUdeviceptr)from.at, last_from, by);
        else
            memory_check_host((void *)from.at, by);
    }
    return {to.device && !from.device ? OP_COPY_IN : OP_COPY, by, [=] {
                for (size_t z = 0; z < depth; z++)
                    for (size_t y = 0; y < height; y++)
                        copy_row(to, to.at + (z * to.height + y) * to.pitch, from,
                                 from.at + (z * from.height + y) * from.pitch, width);
            }};
}

Op flat_copy(bool to_device, uintptr_t to, bool from_device, uintptr_t from, size_t bytes)
{
    return make_copy({to_device, to, 0, 0}, {from_device, from, 0, 0}, bytes, bytes ? 1 : 0, 1);
}

CUresult now(Op op)
{
    if (streams_capturing())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUresult r = stream_push(nullptr, std::move(op));
    streams_drain(false);
    return r;
}

// ---- fills ----

Op make_set(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width,
            size_t height)
{
    if (width && height)
        memory_check(dst, (height - 1) * pitch + width * element, "fill");
    return {OP_SET, "fill", [=] {
                for (size_t y = 0; y < height && width; y++) {
                    CUdeviceptr row = dst + y * pitch;
                    char *p = memory_use(row, width * element, USE_WRITE, "fill");
                    for (size_t x = 0; x < width; x++)
                        memcpy(p + x * element, &value, element);
                    if (!graph_runs())
                        memory_keep(row, width * element);
                }
            }};
}

} // namespace

extern "C" {

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, CUstream s,
                                void **params, void **extra)
{
    ENTER(cuLaunchKernel);
    Op op;
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    CUresult r = make_launch(&op, f, grid, block, shared, params, extra);
    return done(entry, r == CUDA_SUCCESS ? stream_push(s, std::move(op)) : r);
}

static CUresult node_launch(Op *op, const CUDA_KERNEL_NODE_PARAMS *p)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
    unsigned block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
    return make_launch(op, p->func ? p->func : (CUfunction)p->kern, grid, block, p->sharedMemBytes,
                       p->kernelParams, p->extra);
}
CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_KERNEL_NODE_PARAMS *p)
{
    ENTER(cuGraphAddKernelNode);
    Op op;
    CUresult r = node_launch(&op, p);
    return done(entry, r == CUDA_SUCCESS ? graph_add(out, g, before, count, std::move(op)) : r);
}
CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    ENTER(cuGraphKernelNodeSetParams);
    return done(entry, node ? node_launch(&node->op, p) : CUDA_ERROR_INVALID_VALUE);
}
CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS *p)
{
    ENTER(cuGraphExecKernelNodeSetParams);
    Op op;
    CUresult r = node_launch(&op, p);
    return done(entry, r == CUDA_SUCCESS ? graph_exec_set(e, node, std::move(op)) : r);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_MEMCPY3D *c, CUcontext)
{
    ENTER(cuGraphAddMemcpyNode);
    if (!c || c->srcMemoryType > CU_MEMORYTYPE_DEVICE || c->dstMemoryType > CU_MEMORYTYPE_DEVICE ||
        !c->srcMemoryType || !c->dstMemoryType || !c->WidthInBytes || !c->Height || !c->Depth)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    if ((c->Height > 1 && (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes)))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    bool from_device = c->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    bool to_device = c->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    End from = {from_device, from_device ? (uintptr_t)c->srcDevice : (uintptr_t)c->srcHost,
                c->srcPitch, c->srcHeight};
    End to = {to_device, to_device ? (uintptr_t)c->dstDevice : (uintptr_t)c->dstHost, c->dstPitch,
              c->dstHeight};
    from.at += (c->srcZ * c->srcHeight + c->srcY) * c->srcPitch + c->srcXInBytes;
    to.at += (c->dstZ * c->dstHeight + c->dstY) * c->dstPitch + c->dstXInBytes;
    return done(entry, graph_add(out, g, before, count,
                                 make_copy(to, from, c->WidthInBytes, c->Height, c->Depth)));
}
CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                      size_t count, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext)
{
    ENTER(cuGraphAddMemsetNode);
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width ||
        !p->height)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    return done(entry, graph_add(out, g, before, count,
                                 make_set(p->dst, p->pitch, p->value, p->elementSize, p->width,
                                          p->height)));
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n)
{
    ENTER(cuMemcpyHtoD);
    return done(entry, now(flat_copy(true, (uintptr_t)dst, false, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n)
{
    ENTER(cuMemcpyDtoH);
    return done(entry, now(flat_copy(false, (uintptr_t)dst, true, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    ENTER(cuMemcpyDtoD);
    return done(entry, now(flat_copy(true, (uintptr_t)dst, true, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
    ENTER(cuMemcpyHtoDAsync);
    return done(entry, stream_push(s, flat_copy(true, (uintptr_t)dst, false, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
    ENTER(cuMemcpyDtoHAsync);
    return done(entry, stream_push(s, flat_copy(false, (uintptr_t)dst, true, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
    ENTER(cuMemcpyDtoDAsync);
    return done(entry, stream_push(s, flat_copy(true, (uintptr_t)dst, true, (uintptr_t)src, n)));
}
CUresult CUDAAPI cuMemsetD8(CUdeviceptr dst, unsigned char v, size_t n)
{
    ENTER(cuMemsetD8);
    return done(entry, now(make_set(dst, 0, v, 1, n, 1)));
}
CUresult CUDAAPI cuMemsetD32(CUdeviceptr dst, unsigned v, size_t n)
{
    ENTER(cuMemsetD32);
    return done(entry, now(make_set(dst, 0, v, 4, n, 1)));
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream s)
{
    ENTER(cuMemsetD8Async);
    return done(entry, stream_push(s, make_set(dst, 0, v, 1, n, 1)));
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dst, unsigned v, size_t n, CUstream s)
{
    ENTER(cuMemsetD32Async);
    return done(entry, stream_push(s, make_set(dst, 0, v, 4, n, 1)));
}

// ---- what the emulated libcublasLt calls ----

int cuemu_enqueue(void *stream, const char *name, void (*work)(void *), const void *data,
                  size_t size)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    std::vector<char> copy((const char *)data, (const char *)data + size);
    return stream_push((CUstream)stream,
                       {OP_LIBRARY, name, [copy, work]() mutable { work(copy.data()); }});
}
void *cuemu_device_bytes(const void *device, size_t bytes, int write, const char *by)
{
    // Outside of graphs an algorithm may be tried on memory that holds nothing yet.
    MemoryUse use = write ? USE_WRITE : graph_runs() ? USE_READ : USE_READ_ANY;
    char *p = memory_use((CUdeviceptr)device, bytes, use, by);
    if (write && !graph_runs())
        memory_keep((CUdeviceptr)device, bytes);
    return p;
}
void cuemu_device_check(const void *device, size_t bytes, const char *by)
{
    memory_check((CUdeviceptr)device, bytes, by);
}
int cuemu_capturing(void)
{
    return streams_capturing();
}
void cuemu_library_fault(const char *what)
{
    fault("%s", what);
}

} // extern "C"
