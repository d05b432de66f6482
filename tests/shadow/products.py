"""Products and convolutions of float64 against the onnx package's reference evaluator.

    products.py CAMEO [SEED]

One model holds them all: any strides, windows, groups, sides transposed, few rows; by one
thread and by three, of float64, of float32 that the model casts to float64, and of float32 beside the
same products in float32, as a shadow has them: weights are packed for those, and stored once.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


# A plane's size, places of its window in a line, the window's step, padding: rows of the result that are fewer than a tile's,
# no multiple of them, and more than are widened at once; of as many elements as the longest vector and more; planes of one row.
OWN_WINDOWS = [((1, 8), 3, 1, [1, 1, 1, 1]), ((3, 9), 3, 1, [1, 1, 1, 1]), ((5, 41), 3, 1, [0, 2, 1, 3]),
               ((70, 65), 3, 1, [1, 1, 1, 1]), ((9, 401), 3, 1, [2, 0, 0, 0]), ((2, 8), 5, 1, [2, 2, 2, 2]),
               ((37, 48), 5, 1, [2, 2, 2, 2]), ((11, 19), 5, 1, [4, 3, 0, 1]), ((1, 15), 3, 2, [1, 1, 1, 1]),
               ((60, 80), 3, 2, [1, 1, 1, 1]), ((13, 33), 3, 2, [0, 0, 2, 1]), ((21, 34), 3, 2, [0, 2, 1, 0]),
               ((29, 50), 5, 2, [2, 2, 2, 2]), ((8, 27), 5, 2, [1, 3, 4, 0]), ((4, 18), 5, 2, [2, 1, 2, 1])]


class Cases:
    def __init__(self, rng):
        self.rng, self.nodes, self.feeds, self.constants, self.outputs = rng, [], {}, {}, []
        self.declared = {}

    def number(self, *shape):
        return self.rng.normal(size=shape)

    def add(self, op, x, w, open_from=None, **attributes):
        """`open_from`: dims of x from there on only the running program knows."""
        k = len(self.outputs)
        dims = enumerate(x.shape)
        self.declared[f"x{k}"] = [d if open_from is None or i < open_from else f"d{k}_{i}" for i, d in dims]
        self.feeds[f"x{k}"], self.constants[f"w{k}"] = x, w
        self.nodes.append(helper.make_node(op, [f"x{k}", f"w{k}"], [f"y{k}"], **attributes))
        self.outputs.append(f"y{k}")

    def model(self, narrow, beside=False):
        """`narrow`: inputs and constants are float32, and every node reads them through a Cast. `beside`: through a
        cameo.Widen, and the nodes are there in float32 too, their results named .narrow."""
        def info(n, v, t=TensorProto.DOUBLE):
            return helper.make_tensor_value_info(n, t, v)
        nodes, constants, t = self.nodes, self.constants, TensorProto.DOUBLE
        if narrow:
            names, t = [*self.feeds, *constants], TensorProto.FLOAT
            widen = (lambda n, to: helper.make_node("Widen", n, to, domain="cameo")) if beside else \
                    (lambda n, to: helper.make_node("Cast", n, to, to=TensorProto.DOUBLE))
            nodes = [widen([n], [f"{n}_wide"]) for n in names] + \
                    [helper.make_node(n.op_type, [f"{i}_wide" for i in n.input], n.output) for n in nodes]
            for old, new in zip(self.nodes, nodes[len(names):]):
                new.attribute.extend(old.attribute)
            for n in self.nodes if beside else []:
                nodes.append(helper.make_node(n.op_type, n.input, [f"{n.output[0]}.narrow"]))
                nodes[-1].attribute.extend(n.attribute)
            constants = {n: v.astype(np.float32) for n, v in constants.items()}
        graph = helper.make_graph(nodes, "products", [info(n, self.declared[n], t) for n in self.feeds],
                                  [info(n, None) for n in self.outputs] +
                                  [info(f"{n}.narrow", None, t) for n in self.outputs if beside],
                                  [numpy_helper.from_array(v, n) for n, v in constants.items()])
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("cameo", 1)]
        return helper.make_model(graph, ir_version=8, opset_imports=domains[:1 + beside])


def cases_of(seed):
    c = Cases(np.random.default_rng(seed))
    c.add("Conv", c.number(2, 8, 17, 23), c.number(22, 4, 3, 2), group=2, strides=[2, 1], dilations=[1, 2], pads=[2, 1, 3, 1])
    c.add("Conv", c.number(1, 20, 9, 30), c.number(64, 20, 3, 3), pads=[1, 1, 1, 1])
    c.add("Conv", c.number(1, 20, 9, 30), c.number(33, 20, 1, 1), strides=[2, 2])
    c.add("Conv", c.number(2, 5, 300), c.number(70, 5, 5), pads=[2, 2])
    c.add("Conv", c.number(1, 3, 7, 8, 9), c.number(9, 3, 3, 3, 3), pads=[1] * 6, strides=[1, 2, 2])
    # more values of k than a block of packed weights has, in blocks that do not end where those do
    c.add("Conv", c.number(1, 60, 9, 30), c.number(64, 60, 3, 3), pads=[1, 1, 1, 1])
    c.add("Conv", c.number(1, 70, 90, 1), c.number(24, 70, 5, 1))
    c.add("Conv", c.number(1, 40, 70, 410), c.number(9, 40, 3, 3), pads=[1, 1, 1, 1], strides=[3, 2])
    # planes by their own windows: rows too few for panels
    c.add("Conv", c.number(2, 6, 19, 30), c.number(6, 1, 3, 3), group=6, pads=[1, 1, 1, 1])
    c.add("Conv", c.number(1, 6, 19, 31), c.number(12, 1, 5, 5), group=6, pads=[2, 2, 2, 2], strides=[2, 2])
    c.add("Conv", c.number(1, 4, 15, 9), c.number(4, 1, 3, 3), group=4, pads=[3, 3, 3, 3], dilations=[3, 3])
    for size, taps, step, pads in OWN_WINDOWS:
        c.add("Conv", c.number(1, 7, *size), c.number(7, 1, taps, taps), group=7, pads=pads, strides=[step, step])
    c.add("Conv", c.number(1, 16, 12, 21), c.number(1, 16, 3, 3), pads=[0, 1, 2, 0])
    c.add("Conv", c.number(1, 3, 5), c.number(3, 1, 7), group=3, pads=[3, 3])
    c.add("Conv", c.number(1, 2, 6, 7, 20), c.number(2, 1, 2, 3, 3), group=2, pads=[0, 1, 1, 1, 0, 2])
    c.add("MatMul", c.number(37, 301), c.number(301, 203))
    c.add("MatMul", c.number(1, 301), c.number(301, 203))
    c.add("Gemm", c.number(2, 301), c.number(203, 301), transB=1)
    c.add("Gemm", c.number(130, 67), c.number(130, 203), transA=1)
    c.add("MatMul", c.number(3, 4, 30, 40), c.number(4, 40, 50))
    # few columns, whose sums are taken by rows of the first factor
    c.add("MatMul", c.number(37, 1030), c.number(1030, 3))
    c.add("Gemm", c.number(19, 21), c.number(4, 21), transB=1)
    c.add("Gemm", c.number(519, 9), c.number(519, 2), transA=1)
    c.add("Conv", c.number(1, 129, 3), c.number(64, 129, 3), pads=[1, 1])
    c.add("Conv", c.number(1, 40, 5, 6), c.number(10, 20, 4, 4), group=2, pads=[1, 0, 0, 2], strides=[2, 3])
    # windows of one place that lie as columns do, and that do not
    c.add("Conv", c.number(1, 20, 9, 30), c.number(33, 20, 1, 1))
    c.add("Conv", c.number(1, 20, 9, 30), c.number(33, 20, 1, 1), pads=[1, 1, 1, 1])
    # so few places that rows of weights are neighbours in y
    c.add("Conv", c.number(1, 129, 3), c.number(60, 129, 3), open_from=2, pads=[1, 1])
    c.add("Conv", c.number(1, 24, 2, 2), c.number(22, 12, 3, 3), open_from=2, group=2, pads=[1, 1, 1, 1])
    c.add("Conv", c.number(1, 300, 1), c.number(13, 300, 1), open_from=2)
    c.add("Conv", c.number(1, 70, 9, 9), c.number(70, 70, 3, 3), open_from=2)
    return c


def weights_stored(program, folder, cases):
    """Bytes of weights in the program of these products in float32, each there twice, since weights that are read once
    may be cut, and with those of float64 beside."""
    sizes = []
    for beside in (False, True):
        model = cases.model(True, beside)
        if not beside:
            del model.graph.node[:]
            model.graph.node.extend(cases.nodes)
            for o in model.graph.output:
                o.type.tensor_type.elem_type = TensorProto.FLOAT
            for n in cases.nodes:
                model.graph.node.append(helper.make_node(n.op_type, n.input, [f"{n.output[0]}.again"]))
                model.graph.node[-1].attribute.extend(n.attribute)
                model.graph.output.append(helper.make_tensor_value_info(f"{n.output[0]}.again", TensorProto.FLOAT, None))
        onnx.save(model, folder / "w.onnx")
        done = subprocess.run([program, "compile", folder / "w.onnx", "-o", folder / "w", "-q", "--no-winograd", "--report", "json"],
                              check=True, capture_output=True)
        sizes.append(json.loads(done.stdout)["weights_bytes"])
    return sizes


def check(program, cases, seed, narrow, beside=False):
    model, wrong = cases.model(narrow, beside), 0
    feeds = {n: v.astype(np.float32) for n, v in cases.feeds.items()} if narrow else cases.feeds
    want = ReferenceEvaluator(cases.model(narrow)).run(None, feeds)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        onnx.save(model, folder / "m.onnx")
        files = []
        for n, v in feeds.items():
            np.save(folder / f"{n}.npy", v)
            files.append(f"{n}={folder / n}.npy")
        subprocess.run([program, "compile", folder / "m.onnx", "-o", folder / "m", "-q", "--grain", "100"], check=True)
        for threads in ("1", "3"):
            subprocess.run([folder / "m", *files, "-o", folder / "out", "--threads", threads], check=True)
            for n, exact in zip(cases.outputs, want):
                error = np.abs(np.load(folder / "out" / f"{n}.npy") - exact).max() / np.abs(exact).max()
                if not error < 1e-14:
                    print(f"{n}, {threads} threads: off by {error:.2e} of the greatest")
                    wrong += 1
        if beside:
            alone, both = weights_stored(program, folder, cases)
            if both > alone:
                print(f"{alone} bytes of weights became {both} by products of float64 beside")
                wrong += 1
    what = " beside float32" if beside else " of float32" if narrow else ""
    print(f"{len(want)} products of float64{what}, {wrong} wrong (seed {seed})")
    return wrong


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cases = cases_of(seed)
    return 1 if sum(check(program, cases, seed, *how) for how in ((False,), (True,), (True, True))) else 0


if __name__ == "__main__":
    sys.exit(main())
