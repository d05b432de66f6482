// fake_state.h: what the parts of the emulated libcuda.so.1 share. Test only, never shipped.
#pragma once
#include "cuemu_abi.h"
#include "fake_device.h"
#include "fake_cuda.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct CUlib_st {
    void *handle;
    int file;
    const CuemuModule *module;
    std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
};
struct CUkern_st {
    const CuemuModule *module;
    const CuemuKernel *kernel;
    size_t dynamic; // how much dynamic shared memory a launch may ask for
};
// One piece of work, on a stream or as a node of a graph.
enum OpKind { OP_KERNEL, OP_COPY_IN, OP_COPY, OP_SET, OP_EMPTY, OP_LIBRARY, OP_GRAPH };
struct Op {
    OpKind kind;
    std::string name;
    std::function<void()> run;
};
struct CUgraphNode_st {
    CUgraph graph;
    size_t id;
    Op op;
    std::vector<CUgraphNode> before;
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
    struct Node {
        CUgraphNode origin;
        Op op;
        std::vector<size_t> before, after;
        std::vector<uint64_t> ancestors; // a bit a node
    };
    std::vector<Node> nodes;
    bool copies_in;
};
struct CUstream_st {
    bool blocking; // waits for the default stream, and is waited for by it
    std::vector<Op> queue;
    CUgraph capture;
    bool owns_capture;
    std::vector<CUgraphNode> tail;
};

struct Settings {
    bool check, leaks, terminated;
    int devices;
    uint64_t seed;
    std::string poison, fail;
};
extern Settings settings;
extern CuemuMemory memory;
extern std::recursive_mutex lock;

// Prints `what` as a fault found by the emulator and ends the process with status 3.
[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- memory ----
void memory_start();
CUresult memory_alloc(CUdeviceptr *p, size_t bytes);
CUresult memory_free(CUdeviceptr p);
bool memory_is_device(uintptr_t p);
// Faults unless [p, p + bytes) lies in one allocation; `by` names the caller.
void memory_check(CUdeviceptr p, size_t bytes, const char *by);
void memory_check_host(const void *p, const char *by);
enum MemoryUse { USE_READ, USE_READ_ANY, USE_WRITE }; // ANY: unwritten bytes too
// The bytes of a range, noted as read or written by the operation that runs now.
char *memory_use(CUdeviceptr p, size_t bytes, MemoryUse use, const char *by);
void memory_copy_state(CUdeviceptr to, CUdeviceptr from, size_t bytes);
void memory_keep(CUdeviceptr p, size_t bytes); // written outside of graphs: never poisoned
void memory_keep_rest(CUdeviceptr p);
void memory_poison_rest();
void memory_check_redzones(const char *after);
size_t memory_live();
void memory_begin_op(bool in_graph, bool (*ordered)(uint32_t)); // new epochs for one operation

// ---- streams and graphs ----
CUstream stream_of(CUstream s);
bool stream_known(CUstream s);
CUresult stream_push(CUstream s, Op op);
void streams_drain(bool all);
bool streams_capturing();
bool graph_runs();
// A thread takes the context: what follows is a run of its own.
void graphs_begin(); // whether the operation that runs now is a node
CUresult graph_add(CUgraphNode *out, CUgraph g, const CUgraphNode *before, size_t count, Op op);
CUresult graph_exec_set(CUgraphExec e, CUgraphNode node, Op op);
size_t streams_live();
size_t graphs_live();

// ---- every entry point begins with ENTER and ends with done() ----
CUresult done(const char *name, CUresult r);
bool inject(const char *name);
bool have_context();
#define ENTER(name)                                                                                \
    std::lock_guard<std::recursive_mutex> guard(lock);                                             \
    const char *entry = #name;                                                                     \
    if (inject(entry))                                                                             \
        return done(entry, CUDA_ERROR_OUT_OF_MEMORY);                                              \
    if (!have_context())                                                                           \
    return done(entry, CUDA_ERROR_INVALID_CONTEXT)
