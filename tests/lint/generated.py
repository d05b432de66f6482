"""Valid models made at random of what people's models have: dense layers, shape arithmetic, If, Loop, Scan, one within
another and within functions, functions that are called several times, sequences and optional values, quantization, blocks
in float16 and float64; of opset 7 to 26.

All hold float32 [2, 4] between blocks. Weights are multiples of 1/64 below 2, which every float dtype of 16 bits and
more holds.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from samples import Builder, floats, info

FLOAT, DOUBLE, HALF = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
INT64, BOOL = TensorProto.INT64, TensorProto.BOOL
SIZE = [2, 4]


class Blocks(Builder):
    def __init__(self, seed):
        super().__init__(seed)
        self.count = 0
        self.inputs = [("x", FLOAT, SIZE)]
        self.feeds = {"x": floats(seed, *SIZE)}
        self.called = set()

    def new(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def made(self, op, inputs, **attributes):
        return self.node(op, inputs, self.new(op.lower()), **attributes)

    def square(self):
        return self.weight(self.new("w"), 4, 4)

    def row(self):
        return self.weight(self.new("b"), 4)

    def constant(self, value):
        return self.made("Constant", [], value=numpy_helper.from_array(numpy.asarray(value)))

    # ---- blocks ---------------------------------------------------------------------------------

    def dense(self, x):
        h = self.made("Add", [self.made("MatMul", [x, self.square()]), self.row()])
        return self.made(str(self.random.choice(["Relu", "Tanh", "Sigmoid", "Neg"])), [h])

    def gemm(self, x):
        return self.made("Gemm", [x, self.square(), self.row()], transB=1)

    def scaled(self, x):
        half = self.constant(numpy.float32(0.5))
        return self.made("Sub", [self.made("Mul", [x, half]), self.row()])

    def shapes(self, x):
        two = self.tensor(self.new("two"), numpy.array([2], numpy.int64))
        rest = self.tensor(self.new("rest"), numpy.array([-1], numpy.int64))
        zero = self.tensor(self.new("zero"), numpy.array([0], numpy.int64))
        dim = self.made("Gather", [self.made("Shape", [x]), zero])
        flat = self.made("Reshape", [x, self.made("Concat", [rest, self.made("Mul", [dim, two])], axis=0)])
        cut = self.made("Slice", [flat, zero, self.tensor(self.new("end"), numpy.array([8], numpy.int64)), zero])
        return self.made("Reshape", [cut, self.tensor(self.new("to"), numpy.array(SIZE, numpy.int64))])

    def joined(self, x):
        y = self.made("Concat", [x, self.made("Exp", [self.made("Neg", [self.made("Abs", [x])])])], axis=0)
        zero = self.tensor(self.new("first"), numpy.array([0], numpy.int64))
        two = self.tensor(self.new("last"), numpy.array([2], numpy.int64))
        return self.made("Slice", [y, zero, two, zero])

    def branch(self, x):
        then, other, out = self.new("then"), self.new("else"), self.new("if")
        w, b, flag = self.square(), self.row(), self.flag()
        inner = numpy_helper.from_array(numpy.full(4, 0.25, numpy.float32), f"{other}_shift")
        yes = helper.make_graph([helper.make_node("MatMul", [x, w], [f"{then}_0"]),
                                 helper.make_node("Add", [f"{then}_0", b], [then])],
                                "yes", [], [info(then, FLOAT, SIZE)])
        no = helper.make_graph([helper.make_node("Sub", [x, inner.name], [other])],
                               "no", [], [info(other, FLOAT, SIZE)], [inner])
        return self.node("If", [flag], out, then_branch=yes, else_branch=no)

    def flag(self):
        if "flag" not in self.feeds:
            self.inputs.append(("flag", BOOL, []))
            self.feeds["flag"] = numpy.array(bool(self.random.integers(2)))
        return "flag"

    def loop(self, x):
        name, w = self.new("loop"), self.square()
        start = self.weight(self.new("start"), *SIZE)
        times = self.tensor(self.new("times"), numpy.int64(2))
        go = self.tensor(self.new("go"), numpy.array(True))
        state, after = f"{name}_state", f"{name}_next"
        body = helper.make_graph(
            [helper.make_node("Identity", [f"{name}_c"], [f"{name}_more"]),
             helper.make_node("MatMul", [state, w], [f"{name}_0"]),
             helper.make_node("Add", [f"{name}_0", x], [f"{name}_1"]),
             helper.make_node("Tanh", [f"{name}_1"], [after])],
            "body", [info(f"{name}_i", INT64, []), info(f"{name}_c", BOOL, []), self.maybe(state)],
            [info(f"{name}_more", BOOL, []), info(after, FLOAT, SIZE)])
        return self.node("Loop", [times, go, start], name, body=body)

    def maybe(self, name):
        """A body's input: its dtype declared, or left to what is handed in."""
        if self.random.integers(2):
            return info(name, FLOAT, SIZE)
        return onnx.ValueInfoProto(name=name)

    def scan(self, x):
        name, start = self.new("scan"), self.weight(self.new("s"), 4)
        w = self.row()
        body = helper.make_graph(
            [helper.make_node("Mul", [f"{name}_item", w], [f"{name}_0"]),
             helper.make_node("Add", [f"{name}_state", f"{name}_0"], [f"{name}_next"]),
             helper.make_node("Identity", [f"{name}_next"], [f"{name}_seen"])],
            "body", [info(f"{name}_state", FLOAT, [4]), info(f"{name}_item", FLOAT, [4])],
            [info(f"{name}_next", FLOAT, [4]), info(f"{name}_seen", FLOAT, [4])])
        self.nodes.append(helper.make_node("Scan", [start, x], [f"{name}_last", name], name=f"/{name}", body=body,
                                           num_scan_inputs=1))
        return name

    def function(self, x):
        """Two calls of one function; the second function calls the first."""
        outer = bool(self.random.integers(2))
        self.called |= {"Dense", "Twice"} if outer else {"Dense"}
        y = self.node("Dense", [x, self.square(), self.row()], self.new("call"), domain="local")
        return self.node("Twice" if outer else "Dense", [y, self.square(), self.row()], self.new("call"), domain="local")

    def bodies(self, x):
        """Calls of functions that hold constants, Casts and branches of their own."""
        self.called |= {"Gate", "Pick"}
        y = self.node("Gate", [x], self.new("gate"), domain="local")
        if self.random.integers(2):
            y = self.node("Gate", [y], self.new("gate"), domain="local")
        return self.node("Pick", [y, self.flag()], self.new("pick"), domain="local")

    def mixed(self, x):
        """A call of a function that computes a part in float16 and a part in float64."""
        self.called.add("Mixed")
        w = self.tensor(self.new("h"), (self.random.integers(-64, 64, (4, 4)) / 64).astype(numpy.float16))
        return self.node("Mixed", [x, w], self.new("mixed"), domain="local")

    def nested(self, x):
        """A branch within a loop; both read what is made outside."""
        name, w, b = self.new("nest"), self.square(), self.row()
        flag, state, after = self.flag(), f"{name}_state", f"{name}_next"
        times, go = self.tensor(self.new("times"), numpy.int64(2)), self.tensor(self.new("go"), numpy.array(True))
        far = numpy_helper.from_array(numpy.float32(0.25))
        yes = helper.make_graph([helper.make_node("MatMul", [state, w], [f"{name}_p"]),
                                 helper.make_node("Add", [f"{name}_p", x], [f"{name}_y"])],
                                "yes", [], [info(f"{name}_y", FLOAT, SIZE)])
        no = helper.make_graph([helper.make_node("Constant", [], [f"{name}_far"], value=far),
                                helper.make_node("Mul", [state, f"{name}_far"], [f"{name}_n"])],
                               "no", [], [info(f"{name}_n", FLOAT, SIZE)])
        body = helper.make_graph(
            [helper.make_node("Identity", [f"{name}_c"], [f"{name}_more"]),
             helper.make_node("If", [flag], [f"{name}_if"], then_branch=yes, else_branch=no),
             helper.make_node("Add", [f"{name}_if", b], [f"{name}_s"]), helper.make_node("Tanh", [f"{name}_s"], [after])],
            "body", [info(f"{name}_i", INT64, []), info(f"{name}_c", BOOL, []), self.maybe(state)],
            [info(f"{name}_more", BOOL, []), info(after, FLOAT, SIZE)])
        return self.node("Loop", [times, go, x], name, body=body)

    def quantized(self, x):
        # Nothing saturates, neither in uint8 nor in int8.
        scale = self.tensor(self.new("scale"), numpy.float32(1 / 4))
        zero = self.tensor(self.new("zp"), numpy.uint8(60))
        back = self.tensor(self.new("zp"), numpy.uint8(60))
        w = self.tensor(self.new("wq"), self.random.integers(-100, 100, (4, 4)).astype(numpy.int8))
        ws = self.tensor(self.new("ws"), numpy.full(4, 1 / 128, numpy.float32))
        wz = self.tensor(self.new("wz"), numpy.zeros(4, numpy.int8))
        q = self.made("QuantizeLinear", [x, scale, zero])
        h = self.made("DequantizeLinear", [q, scale, back])
        return self.made("MatMul", [h, self.made("DequantizeLinear", [w, ws, wz], axis=1)])

    def channels(self, x):
        """What is computed with and the weights, both quantized by channels."""
        scale = self.tensor(self.new("scales"), (2.0 ** -self.random.integers(2, 4, 4)).astype(numpy.float32))
        zero = self.tensor(self.new("zps"), self.random.integers(56, 64, 4).astype(numpy.uint8))
        w = self.tensor(self.new("wq"), self.random.integers(-100, 100, (4, 4)).astype(numpy.int8))
        ws = self.tensor(self.new("ws"), (2.0 ** -self.random.integers(5, 8, 4)).astype(numpy.float32))
        q = self.made("QuantizeLinear", [self.made("Tanh", [x]), scale, zero], axis=1)
        h = self.made("DequantizeLinear", [q, scale, zero], axis=1)
        return self.made("Gemm", [h, self.made("DequantizeLinear", [w, ws], axis=0), self.row()])

    def integers(self, x):
        z = [self.tensor(self.new("iz"), numpy.uint8(60)), self.tensor(self.new("iz"), numpy.int8(0))]
        scale = self.tensor(self.new("scale"), numpy.float32(1 / 4))
        w = self.tensor(self.new("wi"), self.random.integers(-8, 8, (4, 4)).astype(numpy.int8))
        q = self.made("QuantizeLinear", [x, scale, z[0]])
        y = self.made("Cast", [self.made("MatMulInteger", [q, w, z[0], z[1]])], to=FLOAT)
        return self.made("Mul", [y, self.tensor(self.new("product"), numpy.float32(1 / 256))])

    def lower(self, x):
        """A block in float16, as mixed precision writes it."""
        w = self.tensor(self.new("h"), (self.random.integers(-64, 64, (4, 4)) / 64).astype(numpy.float16))
        b = self.tensor(self.new("h"), (self.random.integers(-64, 64, 4) / 64).astype(numpy.float16))
        h = self.made("MatMul", [self.made("Cast", [x], to=HALF), w])
        return self.made("Cast", [self.made("Relu", [self.made("Add", [h, b])])], to=FLOAT)

    def higher(self, x):
        """A sum in float64, as it is written for precision."""
        d = self.made("Cast", [x], to=DOUBLE)
        y = self.made("Add", [d, self.tensor(self.new("d"), numpy.full(4, 0.125))])
        return self.made("Cast", [y], to=FLOAT)

    def masked(self, x):
        if "mask" not in self.feeds:
            self.inputs.append(("mask", INT64, SIZE))
            self.feeds["mask"] = self.random.integers(0, 2, SIZE)
        return self.made("Mul", [x, self.made("Cast", ["mask"], to=FLOAT)])

    def sized(self, x):
        """A shape that is given, and computed with."""
        if "size" not in self.feeds:
            self.inputs.append(("size", INT64, [2]))
            self.feeds["size"] = numpy.array([4, 2])
        zero = self.tensor(self.new("none"), numpy.array([0, 0], numpy.int64))
        flat = self.made("Reshape", [x, self.made("Add", ["size", zero])])
        return self.made("Transpose", [self.made("Neg", [flat])], perm=[1, 0])

    def deep(self, x):
        """A call of a function that holds a loop within a branch; what both read is two graphs up."""
        self.called.add("Deep")
        return self.node("Deep", [x, self.square(), self.flag()], self.new("deep"), domain="local")

    def captured(self, x):
        """A branch within a branch: weights and values of the main graph, two graphs down."""
        name, w, b, flag = self.new("cap"), self.square(), self.row(), self.flag()
        far = numpy_helper.from_array(numpy.full(4, 0.125, numpy.float32), f"{name}_far")
        inner = helper.make_graph([helper.make_node("MatMul", [x, w], [f"{name}_p"]),
                                   helper.make_node("Add", [f"{name}_p", far.name], [f"{name}_q"])],
                                  "inner", [], [info(f"{name}_q", FLOAT, SIZE)])
        other = helper.make_graph([helper.make_node("Mul", [f"{name}_h", b], [f"{name}_r"])],
                                  "other", [], [info(f"{name}_r", FLOAT, SIZE)])
        yes = helper.make_graph([helper.make_node("Neg", [x], [f"{name}_h"]),
                                 helper.make_node("If", [flag], [f"{name}_i"], then_branch=inner, else_branch=other),
                                 helper.make_node("Add", [f"{name}_i", f"{name}_h"], [f"{name}_t"])],
                                "yes", [], [info(f"{name}_t", FLOAT, SIZE)], [far])
        no = helper.make_graph([helper.make_node("Sub", [x, b], [f"{name}_e"])], "no", [], [info(f"{name}_e", FLOAT, SIZE)])
        return self.node("If", [flag], name, then_branch=yes, else_branch=no)

    def scans(self, x):
        """Scan with states of two dtypes, two scanned inputs and two results of all steps."""
        name, w = self.new("scans"), self.row()
        start, count = self.weight(self.new("s"), 4), self.tensor(self.new("n"), numpy.int64(0))
        one = self.tensor(self.new("one"), numpy.int64(1))
        again = self.made("Neg", [x])
        body = helper.make_graph(
            [helper.make_node("Add", [f"{name}_n", one], [f"{name}_n1"]),
             helper.make_node("Mul", [f"{name}_a", w], [f"{name}_0"]),
             helper.make_node("Sub", [f"{name}_0", f"{name}_b"], [f"{name}_1"]),
             helper.make_node("Add", [f"{name}_s", f"{name}_1"], [f"{name}_s1"]),
             helper.make_node("Tanh", [f"{name}_s1"], [f"{name}_y"]),
             helper.make_node("Identity", [f"{name}_n1"], [f"{name}_k"])],
            "body", [info(f"{name}_s", FLOAT, [4]), info(f"{name}_n", INT64, []), info(f"{name}_a", FLOAT, [4]),
                     info(f"{name}_b", FLOAT, [4])],
            [info(f"{name}_s1", FLOAT, [4]), info(f"{name}_n1", INT64, []), info(f"{name}_y", FLOAT, [4]),
             info(f"{name}_k", INT64, [])])
        self.nodes.append(helper.make_node("Scan", [start, count, x, again], [f"{name}_last", f"{name}_steps", name, f"{name}_all"],
                                           name=f"/{name}", body=body, num_scan_inputs=2))
        scale = self.made("Cast", [f"{name}_steps"], to=FLOAT)
        return self.made("Add", [self.made("Mul", [name, scale]), f"{name}_last"])

    def sequence(self, x):
        """Values put into a sequence and taken out of it."""
        zero, one = (self.tensor(self.new("at"), numpy.int64(k)) for k in (0, 1))
        s = self.made("SequenceConstruct", [x, self.made("Mul", [x, self.row()])])
        s = self.made("SequenceInsert", [s, self.made("Abs", [x]), one])
        joined = self.made("ConcatFromSequence", [s], axis=0)
        part = self.made("Slice", [joined, *(self.tensor(self.new("cut"), numpy.array([k], numpy.int64)) for k in (2, 4, 0))])
        return self.made("Add", [self.made("SequenceAt", [s, zero]), part])

    def optional(self, x):
        """A value that may be missing, and is there."""
        y = self.made("OptionalGetElement", [self.made("Optional", [x])])
        return self.made("Add", [y, self.row()])

    def attribute(self, x):
        """Calls of a function whose Cast goes where the call says."""
        self.called.add("As")
        h = self.node("As", [x], self.new("as"), domain="local", to=HALF)
        w = self.tensor(self.new("h"), (self.random.integers(-64, 64, (4, 4)) / 64).astype(numpy.float16))
        h = self.made("MatMul", [h, w])
        return self.node("As", [h], self.new("as"), domain="local", to=FLOAT)

    def deep_function(self, imports):
        eighth = numpy_helper.from_array(numpy.full(4, 0.125, numpy.float32))
        two, true = numpy_helper.from_array(numpy.array(2)), numpy_helper.from_array(numpy.array(True))
        body = helper.make_graph(
            [helper.make_node("Identity", ["go_in"], ["go_on"]), helper.make_node("MatMul", ["s", "w"], ["p"]),
             helper.make_node("Mul", ["p", "c"], ["q"]), helper.make_node("Add", ["q", "a"], ["r"]),
             helper.make_node("Tanh", ["r"], ["s_next"])],
            "body", [info("k", INT64, []), info("go_in", BOOL, []), onnx.ValueInfoProto(name="s")],
            [info("go_on", BOOL, []), info("s_next", FLOAT, SIZE)])
        yes = helper.make_graph([helper.make_node("Constant", [], ["times"], value=two),
                                 helper.make_node("Constant", [], ["go"], value=true),
                                 helper.make_node("Loop", ["times", "go", "a"], ["t"], body=body)],
                                "yes", [], [info("t", FLOAT, SIZE)])
        no = helper.make_graph([helper.make_node("Sub", ["a", "c"], ["e"])], "no", [], [info("e", FLOAT, SIZE)])
        return helper.make_function("local", "Deep", ["a", "w", "flag"], ["y"],
                                    [helper.make_node("Constant", [], ["c"], value=eighth),
                                     helper.make_node("If", ["flag"], ["i"], then_branch=yes, else_branch=no),
                                     helper.make_node("Neg", ["i"], ["y"])], imports)

    def functions(self, opset):
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
        dense = helper.make_function("local", "Dense", ["a", "w", "b"], ["y"],
                                     [helper.make_node("MatMul", ["a", "w"], ["p"], name="product"),
                                      helper.make_node("Add", ["p", "b"], ["s"]),
                                      helper.make_node("Tanh", ["s"], ["y"])], imports[:1])
        twice = helper.make_function("local", "Twice", ["a", "w", "b"], ["y"],
                                     [helper.make_node("Dense", ["a", "w", "b"], ["m"], domain="local"),
                                      helper.make_node("Dense", ["m", "w", "b"], ["y"], domain="local")], imports)
        half, eighth = (numpy_helper.from_array(numpy.asarray(v)) for v in (numpy.float32(0.5), numpy.float64(0.125)))
        gate = helper.make_function("local", "Gate", ["a"], ["y"],
                                    [helper.make_node("Constant", [], ["c"], value=half, name="half"),
                                     helper.make_node("Mul", ["a", "c"], ["m"]),
                                     helper.make_node("Cast", ["m"], ["d"], to=DOUBLE),
                                     helper.make_node("Constant", [], ["o"], value=eighth),
                                     helper.make_node("Add", ["d", "o"], ["e"]),
                                     helper.make_node("Cast", ["e"], ["y"], to=FLOAT)], imports[:1])
        yes = helper.make_graph([helper.make_node("Neg", ["a"], ["t"])], "yes", [], [info("t", FLOAT, SIZE)])
        no = helper.make_graph([helper.make_node("Constant", [], ["q"], value=half), helper.make_node("Sub", ["a", "q"], ["u"])],
                               "no", [], [info("u", FLOAT, SIZE)])
        pick = helper.make_function("local", "Pick", ["a", "flag"], ["y"],
                                    [helper.make_node("If", ["flag"], ["i"], then_branch=yes, else_branch=no),
                                     helper.make_node("Relu", ["i"], ["y"])], imports[:1])
        mixed = helper.make_function("local", "Mixed", ["a", "w"], ["y"],
                                     [helper.make_node("Cast", ["a"], ["mixed_h"], to=HALF),
                                      helper.make_node("MatMul", ["mixed_h", "w"], ["mixed_p"]),
                                      helper.make_node("Cast", ["mixed_p"], ["mixed_d"], to=DOUBLE),
                                      helper.make_node("Constant", [], ["mixed_o"], value=eighth),
                                      helper.make_node("Sub", ["mixed_d", "mixed_o"], ["mixed_e"]),
                                      helper.make_node("Cast", ["mixed_e"], ["mixed_f"], to=FLOAT),
                                      helper.make_node("Add", ["mixed_f", "a"], ["y"])], imports[:1])
        cast = helper.make_node("Cast", ["a"], ["y"])
        cast.attribute.add(name="to", ref_attr_name="to", type=onnx.AttributeProto.INT)
        turn = helper.make_function("local", "As", ["a"], ["y"], [cast], imports[:1], attributes=["to"])
        made = (dense, twice, gate, pick, turn, mixed, self.deep_function(imports[:1]))
        return [f for f in made if f.name in self.called]


BLOCKS = ["dense", "gemm", "scaled", "shapes", "joined", "branch", "loop", "scan", "function", "quantized", "integers",
          "lower", "higher", "masked", "sized", "bodies", "nested", "deep", "captured", "scans", "sequence", "optional",
          "attribute", "channels", "mixed"]
# What a block needs of the standard where that is more than opset 7.
SINCE = {"shapes": 10, "joined": 10, "quantized": 13, "channels": 13, "integers": 10, "scan": 9, "scans": 9, "sequence": 11, "optional": 15,
         "bodies": 9, "mixed": 9, "lower": 9, "higher": 9, "attribute": 9, "branch": 9, "nested": 9, "deep": 9, "captured": 9, "loop": 9}
OPSETS = [7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26]


def generated(seed, blocks=None):
    """A model and its inputs, from one seed."""
    b = Blocks(seed)
    opset = int(b.random.choice(OPSETS))
    known = [n for n in BLOCKS if SINCE.get(n, 7) <= opset]
    names = blocks or [str(n) for n in b.random.choice(known, int(b.random.integers(2, 6)))]
    x, seen = "x", ["x"]
    for name in names:
        x = getattr(b, name)(x)
        seen.append(x)
    b.node("Add", [x, str(b.random.choice(seen[:-1]))], "y")
    graph = helper.make_graph(b.nodes, "_".join(names), [info(*i) for i in b.inputs], [info("y", FLOAT, SIZE)], b.weights)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("local", 1)] if b.called else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=13 if opset > 23 else 10 if opset > 20 else 9, producer_name="generated",
                              functions=b.functions(opset))
    if b.random.integers(2):
        model = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model, b.feeds


def generated_models(seed, count):
    for k in range(count):
        model, feeds = generated(seed * 1000 + k)
        yield f"generated_{seed * 1000 + k}({model.graph.name})", model, feeds
