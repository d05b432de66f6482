// fake_libcuda.cc: a libcuda.so.1 whose device is the emulator. Test only, never shipped.
//
// Built with the toolkit's cuda.h where there is one, so that every signature is checked. A program
// finds it by LD_LIBRARY_PATH and is not changed for it. Settings come from the environment:
//
//   CAMEO_EMU_KERNELS  object of emulated kernels that stands for every image; without it the image
//   itself
//                      must be one (build.py writes it where the fatbin would be)
//   CAMEO_EMU_SEED     0: everything in its own order, graphs newest first; else random orders
//   CAMEO_EMU_CHECK    1: kernels are instrumented, every access is checked
//   CAMEO_EMU_POISON   runs (default): before a graph that copies inputs in, or is the first since
//   a thread
//                      took the context; always; never
//   CAMEO_EMU_FAIL     NAME:N  the N-th call of the entry point NAME fails
//   CAMEO_EMU_LEAKS    1: what is still allocated when the process ends is a fault
//   CAMEO_EMU_ARGS     terminated: a null must end each array of pointers to arguments
//   CAMEO_EMU_DEVICES  how many devices there are (1)
#include "fake_state.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

Settings settings;
std::recursive_mutex lock;

struct CUctx_st {
    int retained;
};

namespace
{

CUctx_st primary;
bool started;
thread_local std::vector<CUcontext> contexts;
std::map<CUlibrary, std::unique_ptr<CUlib_st>> libraries;
std::map<std::string, int> calls;
size_t host_blocks;
std::string unchecked; // the entry point whose error nobody has looked at
CUresult unchecked_code;

const char *environment(const char *name, const char *otherwise)
{
    const char *v = getenv(name);
    return v && *v ? v : otherwise;
}

void at_exit(int status, void *)
{
    if (status == 0 && !unchecked.empty())
        fault("unchecked error: %s gave %d, and the program ends as if all were well",
              unchecked.c_str(), (int)unchecked_code);
    if (status == 0 && settings.leaks &&
        (memory_live() || streams_live() || graphs_live() || libraries.size() || host_blocks ||
         primary.retained))
        fault("leak: %zu allocations, %zu streams, %zu graphs, %zu libraries, %zu host blocks, "
              "%d contexts",
              memory_live(), streams_live(), graphs_live(), libraries.size(), host_blocks,
              primary.retained);
}

// Errors that need nobody's eye: questions with that answer, releases at the end when nothing is
// left to save, and a context that cannot be made current, as the next call fails for it.
bool is_ignorable(const std::string &name)
{
    static const std::set<std::string> names = {
        "cuInit",          "cuGetProcAddress",     "cuDeviceGetCount",
        "cuStreamQuery",   "cuCtxSetCurrent",      "cuMemFree",
        "cuMemFreeHost",   "cuDeviceGetAttribute", "cuStreamDestroy",
        "cuEventDestroy",  "cuGraphDestroy",       "cuGraphExecDestroy",
        "cuLibraryUnload", "cuCtxPopCurrent",      "cuDevicePrimaryCtxRelease"};
    return names.count(name);
}

} // namespace

CUresult done(const char *name, CUresult r)
{
    if (r != CUDA_SUCCESS && !is_ignorable(name)) {
        unchecked = name;
        unchecked_code = r;
    }
    return r;
}

bool inject(const char *name)
{
    if (settings.fail.empty())
        return false;
    return settings.fail == std::string(name) + ":" + std::to_string(++calls[name]);
}

bool have_context()
{
    return !contexts.empty() && contexts.back() && primary.retained;
}

#define ENTER_BARE(name)                                                                           \
    std::lock_guard<std::recursive_mutex> guard(lock);                                             \
    const char *entry = #name;                                                                     \
    if (inject(entry))                                                                             \
        return done(entry, CUDA_ERROR_UNKNOWN);                                                    \
    if (!started)                                                                                  \
    return done(entry, CUDA_ERROR_NOT_INITIALIZED)

extern "C" {

CUresult CUDAAPI cuInit(unsigned flags)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (!started) {
        settings.check = atoi(environment("CAMEO_EMU_CHECK", "0"));
        settings.leaks = atoi(environment("CAMEO_EMU_LEAKS", "0"));
        settings.terminated = !strcmp(environment("CAMEO_EMU_ARGS", ""), "terminated");
        settings.devices = atoi(environment("CAMEO_EMU_DEVICES", "1"));
        settings.seed = strtoull(environment("CAMEO_EMU_SEED", "0"), nullptr, 10);
        settings.poison = environment("CAMEO_EMU_POISON", "runs");
        settings.fail = environment("CAMEO_EMU_FAIL", "");
    }
    if (flags)
        return done("cuInit", CUDA_ERROR_INVALID_VALUE);
    if (inject("cuInit"))
        return done("cuInit", CUDA_ERROR_UNKNOWN);
    if (settings.devices < 1)
        return done("cuInit", CUDA_ERROR_NO_DEVICE);
    if (!started) {
        memory_start();
        on_exit(at_exit, nullptr);
    }
    started = true;
    return done("cuInit", CUDA_SUCCESS);
}
CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    if (!version)
        return done("cuDriverGetVersion", CUDA_ERROR_INVALID_VALUE);
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    ENTER_BARE(cuDeviceGetCount);
    *count = settings.devices;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER_BARE(cuDeviceGet);
    if (ordinal < 0 || ordinal >= settings.devices)
        return done(entry, CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice)
{
    ENTER_BARE(cuDeviceGetName);
    snprintf(name, (size_t)size, "Emulated device");
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice)
{
    ENTER_BARE(cuDeviceTotalMem);
    *bytes = (size_t)16 << 30;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice)
{
    static const std::map<int, int> table = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10}};
    ENTER_BARE(cuDeviceGetAttribute);
    auto it = table.find(attribute);
    *value = it == table.end() ? 0 : it->second;
    return done(entry, CUDA_SUCCESS);
}

// ---- contexts: the primary one only ----

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice)
{
    ENTER_BARE(cuDevicePrimaryCtxRetain);
    primary.retained++;
    *c = &primary;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice)
{
    ENTER_BARE(cuDevicePrimaryCtxRelease);
    if (!primary.retained)
        return done(entry, CUDA_ERROR_INVALID_CONTEXT);
    primary.retained--;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext c)
{
    ENTER_BARE(cuCtxSetCurrent);
    if (!contexts.empty())
        contexts.pop_back();
    if (c)
        contexts.push_back(c);
    graphs_begin();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuCtxGetCurrent(CUcontext *c)
{
    ENTER_BARE(cuCtxGetCurrent);
    *c = contexts.empty() ? nullptr : contexts.back();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuCtxPushCurrent(CUcontext c)
{
    ENTER_BARE(cuCtxPushCurrent);
    if (!c)
        return done(entry, CUDA_ERROR_INVALID_CONTEXT);
    contexts.push_back(c);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuCtxPopCurrent(CUcontext *c)
{
    ENTER_BARE(cuCtxPopCurrent);
    if (contexts.empty())
        return done(entry, CUDA_ERROR_INVALID_CONTEXT);
    if (c)
        *c = contexts.back();
    contexts.pop_back();
    return done(entry, CUDA_SUCCESS);
}

// ---- images and kernels ----

// An image in memory becomes a file that the loader can open. Its sections' table ends it.
static void *open_image(const void *code, int *file)
{
    Elf64_Ehdr head;
    memcpy(&head, code, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_type != ET_DYN)
        return nullptr;
    size_t size = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    *file = memfd_create("kernels", MFD_CLOEXEC);
    if (*file < 0 || write(*file, code, size) != (ssize_t)size)
        return nullptr;
    return dlopen(("/proc/self/fd/" + std::to_string(*file)).c_str(), RTLD_NOW | RTLD_LOCAL);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *, void **,
                                   unsigned, CUlibraryOption *, void **, unsigned)
{
    ENTER(cuLibraryLoadData);
    if (!out || !code)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    auto library = std::make_unique<CUlib_st>();
    const char *path = getenv("CAMEO_EMU_KERNELS");
    library->file = -1;
    library->handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_image(code, &library->file);
    auto get = library->handle
                   ? (const CuemuModule *(*)(void))dlsym(library->handle, "cuemu_module")
                   : nullptr;
    if (!get) {
        const char *why = dlerror();
        fprintf(stderr, "cuemu: not an object of emulated kernels: %s\n", why ? why : "image");
        return done(entry, CUDA_ERROR_INVALID_IMAGE);
    }
    library->module = get();
    if (library->module->version != CUEMU_VERSION)
        fault("kernels built for another emulator: build them again");
    if (library->module->checked && !settings.check)
        fault("checked kernels need CAMEO_EMU_CHECK=1");
    for (size_t i = 0; i < library->module->count; i++) {
        const CuemuKernel *k = &library->module->kernels[i];
        library->kernels[k->name].reset(new CUkern_st{library->module, k, 48 << 10});
    }
    *out = library.get();
    libraries[*out] = std::move(library);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuLibraryUnload(CUlibrary l)
{
    ENTER(cuLibraryUnload);
    auto it = libraries.find(l);
    if (it == libraries.end())
        return done(entry, CUDA_ERROR_INVALID_HANDLE);
    streams_drain(true);
    dlclose(l->handle);
    if (l->file >= 0)
        close(l->file);
    libraries.erase(it);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name)
{
    ENTER(cuLibraryGetKernel);
    if (!out || !name || !libraries.count(l))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    auto it = l->kernels.find(name);
    if (it == l->kernels.end())
        return done(entry, CUDA_ERROR_NOT_FOUND);
    *out = it->second.get();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel k)
{
    ENTER(cuKernelGetFunction);
    if (!out || !k)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *out = (CUfunction)k;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *size)
{
    ENTER(cuKernelGetParamInfo);
    if (!k || i >= k->kernel->count)
        return CUDA_ERROR_INVALID_VALUE; // how a program learns the number
    size_t at = 0;
    for (size_t a = 0; a <= i; a++) {
        size_t bytes = k->kernel->args[a].size;
        at = (at + bytes - 1) / bytes * bytes + (a < i ? bytes : 0);
    }
    if (offset)
        *offset = at;
    if (size)
        *size = k->kernel->args[i].size;
    return done(entry, CUDA_SUCCESS);
}
static CUresult allow_shared(CUkern_st *k, CUfunction_attribute attribute, int value)
{
    if (!k || attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        value > 227 << 10)
        return CUDA_ERROR_INVALID_VALUE;
    k->dynamic = (size_t)value;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel k,
                                      CUdevice)
{
    ENTER(cuKernelSetAttribute);
    return done(entry, allow_shared(k, attribute, value));
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
    ENTER(cuFuncSetAttribute);
    return done(entry, allow_shared((CUkern_st *)f, attribute, value));
}

// ---- memory ----

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
    ENTER(cuMemAlloc);
    return done(entry, memory_alloc(p, bytes));
}
CUresult CUDAAPI cuMemFree(CUdeviceptr p)
{
    ENTER(cuMemFree);
    streams_drain(true);
    return done(entry, memory_free(p));
}
CUresult CUDAAPI cuMemGetInfo(size_t *unused, size_t *total)
{
    ENTER(cuMemGetInfo);
    *unused = *total = (size_t)16 << 30;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuMemHostAlloc(void **p, size_t bytes, unsigned)
{
    ENTER(cuMemHostAlloc);
    if (!p || !bytes)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*p)
        return done(entry, CUDA_ERROR_OUT_OF_MEMORY);
    memset(*p, 0xcd, bytes);
    host_blocks++;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuMemAllocHost(void **p, size_t bytes)
{
    ENTER(cuMemAllocHost);
    return cuMemHostAlloc(p, bytes, 0);
}
CUresult CUDAAPI cuMemFreeHost(void *p)
{
    ENTER(cuMemFreeHost);
    if (!p)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    streams_drain(true);
    free(p);
    host_blocks--;
    return done(entry, CUDA_SUCCESS);
}

// ---- errors ----

CUresult CUDAAPI cuGetErrorName(CUresult r, const char **text)
{
    static const std::map<int, const char *> names = {
        {CUDA_SUCCESS, "CUDA_SUCCESS"},
        {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
        {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
        {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
        {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"}};
    auto it = names.find(r);
    if (!text || it == names.end())
        return CUDA_ERROR_INVALID_VALUE;
    unchecked.clear(); // someone looks at it
    *text = it->second;
    return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorString(CUresult r, const char **text)
{
    return cuGetErrorName(r, text);
}

} // extern "C"
