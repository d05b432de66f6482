"""What a run cannot take less than, and what is asked of it: bench.py prints both beside what was measured.

The floor of a run is the greater of two times. Arithmetic: its products at the peak of the quickest instruction that can make
them, one of float32 being six of bfloat16 where matrix registers make these quicker; a 3x3 convolution of float32 that moves by
one counts as a quarter, which is what the largest of Winograd's tiles leave of it. Weights: the bytes of the packed ones that a
run needs, at the rate at which so many bytes are read again and again, from memory or from a cache that holds them; rows of a
table that a run does not look up do not count. What is measured is the best of several loops, by as many threads as the run has.

targets.json says what is asked: the best peer's time over Cameo's, by precision, model and threads. Where the floor allows less,
85 % of what it allows counts as met.
"""
import json
import os
import pathlib
import subprocess

import numpy as np

HERE = pathlib.Path(__file__).parent
PART = 0.85  # of what the floor allows, where that is less than what is asked
OF_WINDOW = {3: 16 * 9, 5: 4 * 25}  # products of as many places as a tile of a window of 3 by 3, or 5 by 5, has, for which
TILE = 36
STEPPED = 25  # of the 36 of four places whose window of 3 by 3 moves by two
IN_A_LINE = {3: 12, 5: 10}  # products of a window of so many places for which a tile in one line has
LINE = 6
TERMS = 6  # products of bfloat16 that one of float32 is, each factor three terms (docs/numerics.md)
MOST = 1 << 30  # bytes that no cache holds: more are read as fast


def on_cores(command, threads=1):
    return ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads])), *map(str, command)]


def pinned(command, threads=1):
    return subprocess.run(on_cores(command, threads), capture_output=True, text=True, check=True)


class Peak:
    """What the machine can do at most, as peak.c measures it here: products of one core, and reading by some threads."""

    def __init__(self, scratch):
        self.program = scratch / "peak"
        subprocess.run(["gcc", "-O3", "-march=native", "-pthread", "-I", HERE.parents[1] / "runtime", HERE / "peak.c", "-o",
                        self.program], check=True)
        self.of = json.loads(pinned([self.program]).stdout)
        self.reads = {}

    def gflops(self, kind):
        """Of products of f32, bf16 or int8: of the instructions that can make them the quickest."""
        return max(self.of["f32"], self.of.get(kind, 0), self.of.get(f"amx_{kind}", 0), self.of.get("amx_bf16", 0) / TERMS)

    def read_gb_s(self, threads=1, n=MOST):
        """Of n bytes that were read before: the best of three times, since others may use the memory meanwhile."""
        n = min(max(int(n), 4096 * threads), MOST)
        if (threads, n) not in self.reads:
            found = [json.loads(pinned([self.program, n, threads], threads).stdout)["read_gb_s"] for _ in range(3)]
            self.reads[threads, n] = max(found)
        return self.reads[threads, n]

    def said(self):
        parts = [f"{self.of['f32']} GFLOP/s (float32)"]
        for kind in ("bf16", "int8"):
            several = [f"{self.of[k]} {where}" for k, where in ((kind, "in vectors"), (f"amx_{kind}", "in matrix registers")) if self.of[k]]
            parts += [f"{' and '.join(several)} ({kind})"] if several else []
        return ", ".join(parts) + "; read from memory " + " and ".join(
            f"{self.read_gb_s(t):.1f} GB/s by {t}" for t in sorted({1, min(2, os.cpu_count())}))


def kind_of_products(node, makers):
    """int8 where both factors are bytes, or are what such were dequantised to, else f32."""
    if node.op_type in ("ConvInteger", "MatMulInteger"):
        return "int8"
    return "int8" if all(makers.get(v) == "DequantizeLinear" for v in node.input[:2]) else "f32"


def least(node, weights, shape, products):
    """Of so many products, those that the largest of Winograd's tiles leave."""
    said = {a.name: list(a.ints) or a.i for a in node.attribute}
    strides = set(said.get("strides", [1]))
    if node.op_type != "Conv" or set(said.get("dilations", [1])) != {1} or said.get("group", 1) != 1:
        return products
    if strides == {2} and list(weights[2:]) == [3, 3]:
        return products * STEPPED // 36
    if strides != {1}:
        return products
    if list(weights[2:]) in ([3, 3], [5, 5]):
        return products * TILE // OF_WINDOW[weights[2]]
    window = [n for n, size in zip(weights[2:], shape[2:]) if (n, size) != (1, 1)]
    return products * LINE // IN_A_LINE[window[0]] if len(window) == 1 and window[0] in IN_A_LINE else products


def shapes_of(folder, model, wanted):
    """Of these values with this data set, as ONNX Runtime finds them."""
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    known = {i.name for i in model.graph.input} | {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=v) for v in wanted if v not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for i, info in enumerate(session.get_inputs()):
        tensor = onnx.load_tensor(folder / "test_data_set_0" / f"input_{i}.pb")
        feeds[info.name] = numpy_helper.to_array(tensor)
    names = [o.name for o in session.get_outputs()]
    shapes = {n: v.shape for n, v in zip(names, session.run(names, feeds))}
    shapes.update({n: v.shape for n, v in feeds.items()})
    return shapes


class Work:
    """What a run of the model has to do, with its first data set. `products`: millions by what is multiplied, or None if
    they are in subgraphs; `least`: those of them that Winograd's tiles leave; `unread`: elements of tables that it does not
    look up, by ONNX's number of their dtype."""

    def __init__(self, folder):
        import onnx
        model = onnx.load(folder / "model.onnx")
        weights = {w.name: w for w in model.graph.initializer}
        inside = any(a.HasField("g") for n in model.graph.node for a in n.attribute)
        nodes = [n for n in model.graph.node if n.op_type in ("Conv", "Gemm", "MatMul", "ConvInteger", "MatMulInteger")]
        tables = [n for n in model.graph.node if n.op_type == "Gather" and n.input[0] in weights]
        wanted = {v for n in nodes for v in (n.input[0], n.input[1], n.output[0])} | {n.output[0] for n in tables}
        shapes = {n: tuple(w.dims) for n, w in weights.items()}
        shapes |= shapes_of(folder, model, sorted(wanted - set(weights)))
        self.unread = self.rows_unread(tables, weights, shapes)
        makers = {v: n.op_type for n in model.graph.node for v in n.output}
        self.products = self.least = None
        if not inside:
            self.count(nodes, makers, shapes)

    @staticmethod
    def rows_unread(tables, weights, shapes):
        unread = {}
        for name in {n.input[0] for n in tables}:
            read = sum(int(np.prod(shapes[n.output[0]])) for n in tables if n.input[0] == name)
            left = int(np.prod(shapes[name])) - read
            if left > 0:
                unread[weights[name].data_type] = unread.get(weights[name].data_type, 0) + left
        return unread

    def count(self, nodes, makers, shapes):
        self.products, self.least = {"f32": 0, "int8": 0}, {"f32": 0, "int8": 0}
        for n in nodes:
            a, b, y = (shapes[v] for v in (n.input[0], n.input[1], n.output[0]))
            transposed = any(t.name == "transA" and t.i for t in n.attribute)
            summed = np.prod(b[1:]) if n.op_type.startswith("Conv") else a[0] if transposed else a[-1]
            kind, products = kind_of_products(n, makers), int(np.prod(y)) * int(summed)
            self.products[kind] += products
            self.least[kind] += least(n, b, y, products) if kind == "f32" else products

    def weights_read(self, packed, halves):
        """Bytes, of so many packed ones; None where a run needs those of the branches that it takes. halves: float32 is stored
        in 16 bits."""
        import onnx
        if self.products is None:
            return None
        FLOAT = onnx.TensorProto.FLOAT
        sizes = {t: 2 if halves and t == FLOAT else onnx.helper.tensor_dtype_to_np_dtype(t).itemsize for t in self.unread}
        return max(packed - sum(n * sizes[t] for t, n in self.unread.items()), 0)

    def precision(self, halves):
        return "int8" if self.products and self.products["int8"] else "bf16" if halves else "float32"

    def milliseconds(self, peak, halves, threads, products):
        """Of so many products at the peak of what is multiplied."""
        floats = "bf16" if halves else "f32"
        return sum(2e-6 * n / peak.gflops(floats if kind == "f32" else kind) for kind, n in (products or {}).items()) / threads


class Target:
    """What is asked of a model, and what the floor lets it be."""

    def __init__(self, folder, precision, threads, amx, peer_ms, floor_ms):
        all_asked = json.loads((HERE / "targets.json").read_text())
        asked = dict(all_asked[precision])
        if precision == "int8" and amx:
            asked |= all_asked["int8 in matrix registers"]
        self.asked = asked.get(folder, {}).get(str(threads))
        self.allowed = peer_ms / floor_ms if peer_ms and floor_ms else None
        self.wanted = self.asked
        if self.asked and self.allowed:
            self.wanted = min(self.asked, PART * self.allowed)

    def said(self, ratio):
        """The cells: asked, what the floor allows, and whether it is met."""
        asked = f"{self.asked}x" if self.asked else "-"
        allowed = f"{self.allowed:.2f}x" if self.allowed else "-"
        if not self.wanted or ratio is None:
            return f"{asked} | {allowed} | -"
        by_floor = f", by {PART:.0%} of the floor's" if self.wanted < self.asked else ""
        return f"{asked} | {allowed} | " + (f"yes{by_floor if ratio < self.asked else ''}" if ratio >= self.wanted
                                            else f"no, below {self.wanted:.2f}x{by_floor}")
