"""share_outputs.py FOLDER: a model of caches and an input for its program; share_outputs.py FOLDER LIBRARY THREADS: some steps in which its outputs lie
where its inputs do, beside NumPy, ONNX Runtime and a context whose outputs have memory of their own."""
import ctypes
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, save

BATCH, HEADS, KV, LENGTH, WIDTH, PREFIX = 2, 4, 2, 24, 8, 5
FLOAT, I64, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
CACHE = [BATCH, KV, LENGTH, WIDTH]
SHARED = {"nd": "a", "elements": "b", "linear": "c", "circular": "d", "keys": "k", "values": "v", "copy": "e"}
NODES = [
    helper.make_node("ScatterND", ["a", "at", "rows"], ["nd"]),
    helper.make_node("ScatterElements", ["b", "which", "single"], ["elements"], axis=2),
    helper.make_node("TensorScatter", ["c", "new", "begin"], ["linear"], axis=2),
    helper.make_node("TensorScatter", ["d", "new", "begin"], ["circular"], axis=-2, mode="circular"),
    helper.make_node("Identity", ["e"], ["copy"]),
    helper.make_node("ScatterND", ["f", "at", "rows"], ["other"]),
    helper.make_node("ReduceSum", ["f"], ["sum"]),
]
GROUP = helper.make_node("GroupQueryAttention", ["q", "", "", "k", "v", "seqlens", "total"], ["y", "keys", "values"], domain="com.microsoft",
                         num_heads=HEADS, kv_num_heads=KV)
GROUP_IN = {"q": (FLOAT, [BATCH, "S", (HEADS + 2 * KV) * WIDTH]), "k": (FLOAT, [BATCH, KV, "P", WIDTH]), "v": (FLOAT, [BATCH, KV, "P", WIDTH]),
            "seqlens": (I32, [BATCH]), "total": (I32, [1])}
GROUP_OUT = {"y": (FLOAT, None), "keys": (FLOAT, None), "values": (FLOAT, None)}
IN = {**{n: (FLOAT, CACHE) for n in "abcd"}, "e": (FLOAT, ["N"]), "f": (FLOAT, CACHE), "at": (I64, [BATCH, KV, 1, 3]), "rows": (FLOAT, [BATCH, KV, 1, WIDTH]),
      "which": (I64, [BATCH, KV, 1, WIDTH]), "single": (FLOAT, [BATCH, KV, 1, WIDTH]), "new": (FLOAT, [BATCH, KV, 2, WIDTH]), "begin": (I64, [BATCH]), **GROUP_IN}
OUT = {**{n: (FLOAT, None) for n in ("nd", "elements", "linear", "circular", "copy", "other", "sum")}, **GROUP_OUT}


def model(nodes, inputs, outputs, opset):
    def ports(of):
        return [helper.make_tensor_value_info(n, t, dims) for n, (t, dims) in of.items()]
    graph = helper.make_graph(nodes, "net", ports(inputs), ports(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


class Options(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_void_p), ("path", ctypes.c_char_p), ("threads", ctypes.c_int32), ("pool", ctypes.c_void_p)]


def aligned(a):
    room = np.zeros(a.nbytes + 64, np.uint8)
    begin = -room.ctypes.data % 64
    b = room[begin:begin + a.nbytes].view(a.dtype).reshape(a.shape)
    b[...] = a
    return b


class Context:
    def __init__(self, library, threads):
        self.net, self.kept = library, {}
        self.at = ctypes.c_void_p(library.net_create(ctypes.byref(Options(None, None, threads, None))))

    def feed(self, name, a):
        dims = (ctypes.c_int64 * max(1, a.ndim))(*a.shape)
        self.kept[name] = (a, dims)
        dtype = {"f4": FLOAT, "i8": I64, "i4": I32}[a.dtype.str[1:]]
        assert self.net.net_set_input(self.at, list(IN).index(name), dtype, a.ndim, dims, ctypes.c_void_p(a.ctypes.data)) == 0, self.error()

    def lend(self, name, a):
        at = ctypes.c_void_p(None if a is None else a.ctypes.data)
        assert self.net.net_set_output(self.at, list(OUT).index(name), at, ctypes.c_int64(0 if a is None else a.nbytes)) == 0, self.error()

    def run(self):
        return self.net.net_run(self.at) == 0

    def error(self):
        return self.net.net_error(self.at).decode()

    def output(self, name):
        rank, dims = ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
        at = self.net.net_output(self.at, list(OUT).index(name), ctypes.byref(rank), ctypes.byref(dims))
        shape = [dims[i] for i in range(rank.value)]
        return np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(ctypes.c_float)), shape if shape else (1,)).copy().reshape(shape)


def step(random, position, n):
    """What a step is fed beside caches."""
    row = random.integers(0, LENGTH, (BATCH, KV))
    at = np.stack([*np.indices((BATCH, KV)), row], axis=-1).reshape(BATCH, KV, 1, 3)
    return {"at": at, "rows": random.normal(size=(BATCH, KV, 1, WIDTH)).astype("f4"), "which": random.integers(-LENGTH, LENGTH, (BATCH, KV, 1, WIDTH)),
            "single": random.normal(size=(BATCH, KV, 1, WIDTH)).astype("f4"), "new": random.normal(size=(BATCH, KV, 2, WIDTH)).astype("f4"),
            "begin": random.integers(0, LENGTH - 1, BATCH), "q": random.normal(size=(BATCH, n, (HEADS + 2 * KV) * WIDTH)).astype("f4"),
            "seqlens": np.array([position + n - 1, max(position + n - 2, n - 1) if position else n - 1], "i4"), "total": np.array([position + n], "i4")}


def scattered(caches, fed):
    """The caches but for those of attention, by NumPy."""
    want = {n: a.copy() for n, a in caches.items()}
    for b, h in np.ndindex(BATCH, KV):
        want["a"][b, h, fed["at"][b, h, 0, 2]] = fed["rows"][b, h, 0]
        for i in range(WIDTH):
            want["b"][b, h, fed["which"][b, h, 0, i], i] = fed["single"][b, h, 0, i]
        for i in range(2):
            want["c"][b, h, fed["begin"][b] + i] = want["d"][b, h, (fed["begin"][b] + i) % LENGTH] = fed["new"][b, h, i]
    return want


def main(folder, library, threads):
    net = ctypes.CDLL(library)
    net.net_create.restype = net.net_output.restype = ctypes.c_void_p
    net.net_error.restype = ctypes.c_char_p
    random = np.random.default_rng(3)
    inside, apart = Context(net, threads), Context(net, threads)
    caches = {n: aligned(random.normal(size=CACHE).astype("f4")) for n in "abcdkv"}
    caches["e"] = aligned(random.normal(size=7).astype("f4"))
    more = random.normal(size=CACHE).astype("f4")
    own = {n: a.copy() for n, a in caches.items()}
    for c in (inside, apart):
        c.feed("f", more)
    for name, source in SHARED.items():
        inside.feed(source, caches[source])
        inside.lend(name, caches[source])
    group = onnxruntime.InferenceSession(model([GROUP], GROUP_IN, GROUP_OUT, 21).SerializeToString(), providers=["CPUExecutionProvider"])
    position = 0
    for n in (PREFIX, 1, 1, 1, 1, 1):
        fed = step(random, position, n)
        want = scattered(caches, fed)
        y, keys, values = group.run(None, {n: fed[n] if n in fed else own[n] for n in GROUP_IN})
        for c in (inside, apart):
            for name, a in fed.items():
                c.feed(name, a)
        for source, a in own.items():
            apart.feed(source, a)
        assert inside.run(), inside.error()
        assert apart.run(), apart.error()
        position += n
        for name, source in SHARED.items():
            if source in "kv":
                for b in range(BATCH):
                    filled = fed["seqlens"][b] + 1
                    theirs = (keys if source == "k" else values)[b, :, :filled]
                    np.testing.assert_allclose(caches[source][b, :, :filled], theirs, rtol=0, atol=1e-6)
                    np.testing.assert_array_equal(caches[source][b, :, filled:], want[source][b, :, filled:], "what is behind has changed")
                np.testing.assert_allclose(apart.output(name), keys if source == "k" else values, rtol=0, atol=1e-6)
            else:
                np.testing.assert_array_equal(caches[source], want[source], name)
                np.testing.assert_array_equal(apart.output(name), want[source], name)
            own[source] = apart.output(name)
        for c in (inside, apart):
            np.testing.assert_allclose(c.output("y"), y, rtol=0, atol=2e-6)
    # what is read elsewhere, moved, or of another size is refused
    for name, a, message in (("other", aligned(more), "the memory for output other lies over that of input f"),
                             ("nd", caches["b"], "the memory for output nd lies over that of input b"),
                             ("keys", caches["v"], "the memory for output keys lies over that of input v")):
        if name == "other":
            inside.feed("f", a)
        inside.lend(name, a)
        assert not inside.run() and inside.error() == message, inside.error()
        inside.lend(name, caches[SHARED[name]] if name in SHARED else None)
    room = aligned(np.zeros([BATCH, KV, LENGTH + 1, WIDTH], "f4"))
    inside.feed("k", room.reshape(-1)[:np.prod(CACHE)].reshape(CACHE))
    inside.lend("keys", room)
    fed = step(random, LENGTH, 1)
    for name, a in fed.items():
        inside.feed(name, a)
    assert not inside.run()
    print(inside.error())


if len(sys.argv) == 2:
    save(model([*NODES, GROUP], IN, OUT, 24), f"{sys.argv[1]}/net.onnx")
else:
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
