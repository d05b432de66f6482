// fake_stream.cc: streams and graphs of the emulated driver.
//
// Work on a stream is kept until something waits for it, so that a missing wait shows. A graph runs
// its ready nodes newest first (seed 0) or in random order, and memory that only graphs write is
// poisoned before it runs, so that a missing edge shows as a wrong value; checked kernels find it
// by name.
#include "fake_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

struct CUevent_st {
    std::chrono::steady_clock::time_point at;
};

namespace
{

CUstream_st default_stream = {true, {}, nullptr, false, {}};
std::set<CUstream> streams;
std::set<CUgraph> graphs;
std::set<CUgraphExec> execs;

// The graph that runs now: which node began at which epoch.
const CUgraphExec_st *running;
size_t running_node;
std::vector<std::pair<uint32_t, size_t>> begun;

bool node_ordered(uint32_t before)
{
    auto it = std::upper_bound(begun.begin(), begun.end(), std::make_pair(before, ~(size_t)0));
    if (it == begun.begin())
        return true;
    size_t from = std::prev(it)->second;
    const auto &bits = running->nodes[running_node].ancestors;
    return from == running_node || (bits[from / 64] >> (from % 64) & 1);
}

size_t pick(const std::vector<size_t> &ready)
{
    if (!settings.seed) // the newest node
        return (size_t)(std::max_element(ready.begin(), ready.end()) - ready.begin());
    uint64_t &d = memory.dice;
    d ^= d << 13, d ^= d >> 7, d ^= d << 17;
    return (size_t)((d >> 32) % ready.size());
}

bool fresh = true; // no graph ran since a thread took the context

void run_graph(CUgraphExec exec)
{
    // A run begins with its inputs or with its context; graphs after that, of the same run, read
    // what it wrote.
    bool begins = exec->copies_in || fresh;
    fresh = false;
    if (settings.poison == "always" || (settings.poison == "runs" && begins))
        memory_poison_rest();
    memory_begin_op(false, nullptr);
    running = exec;
    begun.clear();
    std::vector<size_t> waits(exec->nodes.size()), ready;
    for (size_t i = 0; i < exec->nodes.size(); i++) {
        waits[i] = exec->nodes[i].before.size();
        if (!waits[i])
            ready.push_back(i);
    }
    while (!ready.empty()) {
        size_t at = pick(ready), n = ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        running_node = n;
        memory_begin_op(true, node_ordered);
        begun.push_back({memory.launch_epoch, n});
        exec->nodes[n].op.run();
        memory_check_redzones(exec->nodes[n].op.name.c_str());
        for (size_t next : exec->nodes[n].after)
            if (!--waits[next])
                ready.push_back(next);
    }
    running = nullptr;
    memory.ordered = nullptr;
}

CUresult add_node(CUgraphNode *out, CUgraph g, const CUgraphNode *before, size_t count, Op op)
{
    if (!graphs.count(g) || (count && !before) || !out)
        return CUDA_ERROR_INVALID_VALUE;
    auto node = std::make_unique<CUgraphNode_st>();
    node->graph = g;
    node->id = g->nodes.size();
    node->op = std::move(op);
    for (size_t i = 0; i < count; i++) {
        if (!before[i] || before[i]->graph != g)
            return CUDA_ERROR_INVALID_VALUE;
        if (std::find(node->before.begin(), node->before.end(), before[i]) != node->before.end())
            return CUDA_ERROR_INVALID_VALUE;
        node->before.push_back(before[i]);
    }
    *out = node.get();
    g->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
}

// False if the nodes have a cycle.
bool find_ancestors(CUgraphExec exec)
{
    size_t n = exec->nodes.size(), seen = 0;
    std::vector<size_t> waits(n), ready;
    for (size_t i = 0; i < n; i++) {
        exec->nodes[i].ancestors.assign(n / 64 + 1, 0);
        waits[i] = exec->nodes[i].before.size();
        if (!waits[i])
            ready.push_back(i);
    }
    while (!ready.empty()) {
        size_t i = ready.back();
        ready.pop_back();
        seen++;
        for (size_t next : exec->nodes[i].after) {
            auto &bits = exec->nodes[next].ancestors;
            for (size_t w = 0; w < bits.size(); w++)
                bits[w] |= exec->nodes[i].ancestors[w];
            bits[i / 64] |= (uint64_t)1 << (i % 64);
            if (!--waits[next])
                ready.push_back(next);
        }
    }
    return seen == n;
}

} // namespace

CUstream stream_of(CUstream s)
{
    return (uintptr_t)s <= 2 ? &default_stream : s; // null, legacy and per-thread
}
bool stream_known(CUstream s)
{
    return (uintptr_t)s <= 2 || streams.count(s);
}

static void drain(CUstream s)
{
    std::vector<Op> work;
    work.swap(s->queue);
    for (Op &op : work) {
        memory_begin_op(false, nullptr);
        op.run();
        memory_check_redzones(op.name.c_str());
    }
}

void streams_drain(bool all)
{
    drain(&default_stream);
    for (CUstream s : streams)
        if (all || s->blocking)
            drain(s);
}

CUresult stream_push(CUstream handle, Op op)
{
    if (!stream_known(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    CUstream s = stream_of(handle);
    if (s->capture) {
        CUgraphNode node;
        CUresult r = add_node(&node, s->capture, s->tail.data(), s->tail.size(), std::move(op));
        if (r == CUDA_SUCCESS)
            s->tail = {node};
        return r;
    }
    if (s == &default_stream) // waits for the blocking ones, and they for it
        streams_drain(false);
    else if (s->blocking)
        drain(&default_stream);
    s->queue.push_back(std::move(op));
    return CUDA_SUCCESS;
}

bool streams_capturing()
{
    return default_stream.capture ||
           std::any_of(streams.begin(), streams.end(), [](CUstream s) { return s->capture; });
}
void graphs_begin()
{
    fresh = true;
}
bool graph_runs()
{
    return running;
}
size_t streams_live()
{
    return streams.size();
}
size_t graphs_live()
{
    return graphs.size() + execs.size();
}

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
    ENTER(cuStreamCreate);
    if (!out || flags > 1)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *out = new CUstream_st{flags == 0, {}, nullptr, false, {}};
    streams.insert(*out);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamDestroy(CUstream s)
{
    ENTER(cuStreamDestroy);
    if (!streams.count(s))
        return done(entry, CUDA_ERROR_INVALID_HANDLE);
    drain(s);
    streams.erase(s);
    delete s;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamSynchronize(CUstream s)
{
    ENTER(cuStreamSynchronize);
    if (!stream_known(s))
        return done(entry, CUDA_ERROR_INVALID_HANDLE);
    if (stream_of(s)->capture)
        return done(entry, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (stream_of(s) == &default_stream)
        streams_drain(false);
    else
        drain(s);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamQuery(CUstream s)
{
    ENTER(cuStreamQuery);
    if (!stream_known(s))
        return done(entry, CUDA_ERROR_INVALID_HANDLE);
    drain(stream_of(s));
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuCtxSynchronize(void)
{
    ENTER(cuCtxSynchronize);
    if (streams_capturing())
        return done(entry, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    streams_drain(true);
    return done(entry, CUDA_SUCCESS);
}

// ---- events: a time on a stream ----

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int)
{
    ENTER(cuEventCreate);
    if (!out)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *out = new CUevent_st();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuEventDestroy(CUevent e)
{
    ENTER(cuEventDestroy);
    streams_drain(true); // one may still be about to record it
    delete e;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuEventRecord(CUevent e, CUstream s)
{
    ENTER(cuEventRecord);
    return done(entry, stream_push(s, {OP_EMPTY, "event",
                                       [e] { e->at = std::chrono::steady_clock::now(); }}));
}
CUresult CUDAAPI cuEventSynchronize(CUevent)
{
    ENTER(cuEventSynchronize);
    streams_drain(true);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent a, CUevent b)
{
    ENTER(cuEventElapsedTime);
    if (!ms || !a || !b)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
    return done(entry, CUDA_SUCCESS);
}

// ---- capture ----

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream handle, CUgraph g, const CUgraphNode *before,
                                             const CUgraphEdgeData *, size_t count,
                                             CUstreamCaptureMode)
{
    ENTER(cuStreamBeginCaptureToGraph);
    CUstream s = stream_of(handle);
    if (!stream_known(handle) || s == &default_stream || !graphs.count(g) || s->capture)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    s->capture = g;
    s->owns_capture = false;
    s->tail.assign(before, before + count);
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode)
{
    ENTER(cuStreamBeginCapture);
    CUstream s = stream_of(handle);
    if (!stream_known(handle) || s == &default_stream || s->capture)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    s->capture = *graphs.insert(new CUgraph_st()).first;
    s->owns_capture = true;
    s->tail.clear();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    ENTER(cuStreamEndCapture);
    CUstream s = stream_of(handle);
    if (!stream_known(handle) || !s->capture || !out)
        return done(entry, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    *out = s->capture;
    s->capture = nullptr;
    s->tail.clear();
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status,
                                        cuuint64_t *id, CUgraph *graph, const CUgraphNode **before,
                                        const CUgraphEdgeData **edges, size_t *count)
{
    ENTER(cuStreamGetCaptureInfo);
    if (!stream_known(handle) || !status)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    CUstream s = stream_of(handle);
    *status = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (id)
        *id = 1;
    if (graph)
        *graph = s->capture;
    if (before)
        *before = s->tail.data();
    if (edges)
        *edges = nullptr;
    if (count)
        *count = s->tail.size();
    return done(entry, CUDA_SUCCESS);
}

// ---- graphs ----

CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned int flags)
{
    ENTER(cuGraphCreate);
    if (!out || flags)
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *out = *graphs.insert(new CUgraph_st()).first;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuGraphDestroy(CUgraph g)
{
    ENTER(cuGraphDestroy);
    if (!graphs.erase(g))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    delete g;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *before,
                                     size_t count)
{
    ENTER(cuGraphAddEmptyNode);
    return done(entry, add_node(out, g, before, count, {OP_EMPTY, "empty node", [] {}}));
}
CUresult CUDAAPI cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                        const CUgraphEdgeData *, size_t count)
{
    ENTER(cuGraphAddDependencies);
    if (!graphs.count(g) || (count && (!from || !to)))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        if (from[i]->graph != g || to[i]->graph != g || from[i] == to[i])
            return done(entry, CUDA_ERROR_INVALID_VALUE);
        to[i]->before.push_back(from[i]);
    }
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long)
{
    ENTER(cuGraphInstantiate);
    if (!out || !graphs.count(g))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    auto exec = std::make_unique<CUgraphExec_st>();
    for (const auto &node : g->nodes) {
        CUgraphExec_st::Node n = {node.get(), node->op, {}, {}, {}};
        for (CUgraphNode b : node->before)
            n.before.push_back(b->id);
        exec->nodes.push_back(std::move(n));
        exec->copies_in |= node->op.kind == OP_COPY_IN;
    }
    for (size_t i = 0; i < exec->nodes.size(); i++)
        for (size_t b : exec->nodes[i].before)
            exec->nodes[b].after.push_back(i);
    if (!find_ancestors(exec.get()))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    *out = *execs.insert(exec.release()).first;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec e)
{
    ENTER(cuGraphExecDestroy);
    if (!execs.count(e))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    streams_drain(true);
    execs.erase(e);
    delete e;
    return done(entry, CUDA_SUCCESS);
}
CUresult CUDAAPI cuGraphUpload(CUgraphExec e, CUstream s)
{
    ENTER(cuGraphUpload);
    return done(entry, execs.count(e) && stream_known(s) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec e, CUstream s)
{
    ENTER(cuGraphLaunch);
    if (!execs.count(e) || !stream_known(s))
        return done(entry, CUDA_ERROR_INVALID_VALUE);
    if (stream_of(s)->capture)
        return done(entry, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return done(entry, stream_push(s, {OP_GRAPH, "graph", [e] { run_graph(e); }}));
}

} // extern "C"

CUresult graph_add(CUgraphNode *out, CUgraph g, const CUgraphNode *before, size_t count, Op op)
{
    return add_node(out, g, before, count, std::move(op));
}
CUresult graph_exec_set(CUgraphExec e, CUgraphNode node, Op op)
{
    if (!execs.count(e))
        return CUDA_ERROR_INVALID_VALUE;
    for (auto &n : e->nodes)
        if (n.origin == node) {
            n.op = std::move(op);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}
