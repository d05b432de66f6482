"""Small random graphs: shared values, views, reductions followed by elementwise work, products, If and Loop.

Numbers are small integers (or halves) and every value's greatest magnitude is tracked, so that float32 holds each
result exactly whatever the order of sums: outputs are judged bit for bit. A graph that ends in smooth functions has a
tolerance instead.
"""
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import oracle

KIND = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
NUMPY = {"f": np.float32, "i": np.int64, "b": bool}
MOST = 2.0 ** 20  # sums and products beyond it are not made


class Value:
    """A tensor of the graph: kind f, i or b, its shape, and a bound of its magnitude."""

    def __init__(self, name, kind, shape, bound):
        self.name, self.kind, self.shape, self.bound = name, kind, tuple(shape), bound


class Graph:
    """A graph in the making; a body of If or Loop has an outer one, whose values it may capture."""

    def __init__(self, rng, outer=None, prefix="v"):
        self.rng, self.outer, self.prefix = rng, outer, prefix
        self.nodes, self.values, self.weights = [], [], []
        self.counter = 0

    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def choice(self, some):
        return some[int(self.rng.integers(len(some)))]

    def name(self):
        self.counter += 1
        return f"{self.prefix}{self.counter}"

    def pick(self, kind=None, fits=None):
        """A value, the later the likelier; None where no value fits. Bodies capture outer values."""
        some = self.values
        if self.outer and (not some or self.chance(0.4)):
            some = self.outer.values
        some = [v for v in some if (kind is None or v.kind in kind) and (fits is None or fits(v))]
        if not some:
            return None
        return some[max(self.integer(0, len(some) - 1), self.integer(0, len(some) - 1))]

    def weight(self, array):
        name = self.name()
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def data(self, kind, shape):
        """A weight of small numbers."""
        return Value(self.weight(numbers(self.rng, kind, shape)), kind, shape, 4)

    def add(self, op, inputs, kind, shape, bound, **attrs):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        value = Value(name, kind, shape, bound)
        self.values.append(value)
        return value


def numbers(rng, kind, shape):
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(-4, 5, shape).astype(NUMPY[kind])


# ---- operators -------------------------------------------------------------------------------------------------


def partner(g, v):
    """A value that broadcasts with v: another of the graph, or a weight."""
    def fits(u):
        try:
            return int(np.prod(np.broadcast_shapes(u.shape, v.shape))) <= 400
        except ValueError:
            return False
    if g.chance(0.7):
        return g.pick(v.kind, fits)
    shape = [1 if g.chance(0.3) else n for n in v.shape[g.integer(0, len(v.shape)):]]
    return g.data(v.kind, shape)


def binary(g):
    v = g.pick("fi")
    u = partner(g, v) if v else None
    if not u:
        return
    op = g.choice(["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"])
    bound = {"Add": u.bound + v.bound, "Sub": u.bound + v.bound, "Mul": u.bound * v.bound}.get(op, max(u.bound, v.bound))
    if bound <= MOST:
        pair = [v, u] if g.chance(0.5) else [u, v]
        g.add(op, [x.name for x in pair], v.kind, np.broadcast_shapes(u.shape, v.shape), bound)


def unary(g):
    v = g.pick("fi")
    if v:
        op = g.choice(["Neg", "Abs", "Relu", "Sign", "Identity"] if v.kind == "f" else ["Neg", "Abs", "Sign"])
        g.add(op, [v.name], v.kind, v.shape, 1 if op == "Sign" else v.bound)


def compare(g):
    v = g.pick("fi")
    u = partner(g, v) if v else None
    if u:
        op = g.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"])
        g.add(op, [v.name, u.name], "b", np.broadcast_shapes(u.shape, v.shape), 1)


def logic(g):
    v = g.pick("b")
    if not v:
        return
    u = partner(g, v)
    if g.chance(0.3) or not u:
        g.add("Not", [v.name], "b", v.shape, 1)
    else:
        g.add(g.choice(["And", "Or", "Xor"]), [v.name, u.name], "b", np.broadcast_shapes(u.shape, v.shape), 1)


def where(g):
    c = g.pick("b")
    v = g.pick("fi", lambda u: c and broadcasts(u.shape, c.shape))
    if c and v:
        shape = np.broadcast_shapes(c.shape, v.shape)
        u = g.pick(v.kind, lambda u: broadcasts(u.shape, shape)) or v
        shape = np.broadcast_shapes(shape, u.shape)
        if np.prod(shape) <= 400:
            g.add("Where", [c.name, v.name, u.name], v.kind, shape, max(u.bound, v.bound))


def broadcasts(a, b):
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) <= 400
    except ValueError:
        return False


def cast(g):
    v = g.pick("fib")
    if v:
        to = g.choice([k for k in "fib" if k != v.kind])
        g.add("Cast", [v.name], to, v.shape, 1 if "b" in (to, v.kind) else v.bound, to=KIND[to])


def clip(g):
    v = g.pick("fi")
    if v:
        low, high = sorted([g.integer(-6, 6), g.integer(-6, 6)])
        names = [g.weight(np.array(n, NUMPY[v.kind])) for n in (low, high)]
        g.add("Clip", [v.name, *names], v.kind, v.shape, max(abs(low), abs(high)))


def reduce(g):
    v = g.pick("fi", lambda u: u.shape and all(u.shape))
    if not v:
        return
    axes = [int(a) for a in g.rng.permutation(len(v.shape))[:g.integer(1, len(v.shape))]]
    keep = g.integer(0, 1)
    op = g.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1"])
    count = int(np.prod([v.shape[a] for a in axes]))
    bound = v.bound * count if op in ("ReduceSum", "ReduceL1") else v.bound
    if bound > MOST:
        return
    shape = [1 if k in axes else n for k, n in enumerate(v.shape) if keep or k not in axes]
    y = g.add(op, [v.name, g.weight(np.array(axes, np.int64))], v.kind, shape, bound, keepdims=keep)
    if keep and bound + v.bound <= MOST and g.chance(0.6):  # as normalisations do
        g.add(g.choice(["Sub", "Add", "Max"]), [v.name, y.name], v.kind, v.shape, bound + v.bound)


def arg(g):
    v = g.pick("fi", lambda u: u.shape and all(u.shape))
    if v:
        axis, keep = g.integer(0, len(v.shape) - 1), g.integer(0, 1)
        shape = [1 if k == axis else n for k, n in enumerate(v.shape) if keep or k != axis]
        g.add(g.choice(["ArgMax", "ArgMin"]), [v.name], "i", shape, v.shape[axis], axis=axis, keepdims=keep)


def running(g):
    v = g.pick("fi", lambda u: u.shape and u.bound * max(u.shape) <= MOST)
    if v:
        axis = g.integer(0, len(v.shape) - 1)
        g.add("CumSum", [v.name, g.weight(np.array(axis, np.int64))], v.kind, v.shape, v.bound * max(1, v.shape[axis]),
              exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


def view(g):
    v = g.pick()
    if not v:
        return
    how = g.choice(["Transpose", "Reshape", "Slice", "Unsqueeze", "Expand", "Flatten", "Tile", "Pad", "Gather"])
    rank = len(v.shape)
    if how == "Transpose" and rank:
        perm = [int(p) for p in g.rng.permutation(rank)]
        g.add("Transpose", [v.name], v.kind, [v.shape[p] for p in perm], v.bound, perm=perm)
    elif how == "Reshape" and all(v.shape):
        total = int(np.prod(v.shape))
        first = g.choice([n for n in range(1, total + 1) if total % n == 0])
        shape = g.choice([[first, total // first], [total], [1, first, total // first], [first, 1, total // first]])
        to = list(shape)
        to[g.integer(0, len(to) - 1)] = -1 if g.chance(0.5) else to[-1] if len(to) == 1 else -1
        g.add("Reshape", [v.name, g.weight(np.array(to, np.int64))], v.kind, shape, v.bound)
    elif how == "Slice" and rank:
        slice_of(g, v)
    elif how == "Unsqueeze" and rank < 4:
        at = g.integer(0, rank)
        g.add("Unsqueeze", [v.name, g.weight(np.array([at], np.int64))], v.kind, [*v.shape[:at], 1, *v.shape[at:]], v.bound)
    elif how == "Expand":
        shape = [g.integer(1, 3), *[g.integer(2, 3) if n == 1 and g.chance(0.5) else n for n in v.shape]]
        if np.prod(shape) <= 300 and len(shape) < 6:
            g.add("Expand", [v.name, g.weight(np.array(shape, np.int64))], v.kind, shape, v.bound)
    elif how == "Flatten" and rank:
        axis = g.integer(0, rank)
        shape = [int(np.prod(v.shape[:axis])), int(np.prod(v.shape[axis:]))]
        g.add("Flatten", [v.name], v.kind, shape, v.bound, axis=axis)
    elif how == "Tile" and rank and np.prod(v.shape) < 60:
        repeats = [g.integer(1, 2) for _ in v.shape]
        g.add("Tile", [v.name, g.weight(np.array(repeats, np.int64))], v.kind,
              [n * r for n, r in zip(v.shape, repeats)], v.bound)
    elif how == "Pad" and rank and v.kind != "b":
        low, high = ([g.integer(0, 2) for _ in v.shape] for _ in range(2))
        shape = [n + a + b for n, a, b in zip(v.shape, low, high)]
        mode = g.choice(["constant", "edge"]) if all(v.shape) else "constant"
        if np.prod(shape) <= 300:
            g.add("Pad", [v.name, g.weight(np.array(low + high, np.int64))], v.kind, shape, v.bound, mode=mode)
    elif how == "Gather" and rank and all(v.shape):
        axis = g.integer(0, rank - 1)
        at = g.rng.integers(-v.shape[axis], v.shape[axis], g.integer(1, 4)).astype(np.int64)
        g.add("Gather", [v.name, g.weight(at)], v.kind, [*v.shape[:axis], len(at), *v.shape[axis + 1:]], v.bound, axis=axis)


def slice_of(g, v):
    axis = g.integer(0, len(v.shape) - 1)
    n = v.shape[axis]
    step = g.choice([1, 1, 2, -1])
    begin, end = (g.integer(0, n), g.integer(0, n))
    begin, end = (max(begin, end), min(begin, end)) if step < 0 else (min(begin, end), max(begin, end))
    count = len(range(*slice(begin, end, step).indices(n)))
    names = [g.weight(np.array([k], np.int64)) for k in (begin, end, axis, step)]
    g.add("Slice", [v.name, *names], v.kind, [*v.shape[:axis], count, *v.shape[axis + 1:]], v.bound)


def concat(g):
    v = g.pick("fib", lambda u: u.shape and np.prod(u.shape) < 150)
    if v:
        axis = g.integer(0, len(v.shape) - 1)

        def fits(u):
            return len(u.shape) == len(v.shape) and all(a == b for k, (a, b) in enumerate(zip(u.shape, v.shape)) if k != axis)
        u = g.pick(v.kind, fits) or v
        shape = list(v.shape)
        shape[axis] += u.shape[axis]
        g.add("Concat", [v.name, u.name], v.kind, shape, max(u.bound, v.bound), axis=axis)


def split(g):
    v = g.pick("fib", lambda u: u.shape and max(u.shape) > 1)
    if not v:
        return
    axis = int(np.argmax(v.shape))
    cut = g.integer(0, v.shape[axis])
    names = [g.name(), g.name()]
    sizes = g.weight(np.array([cut, v.shape[axis] - cut], np.int64))
    g.nodes.append(helper.make_node("Split", [v.name, sizes], names, axis=axis))
    for name, n in zip(names, (cut, v.shape[axis] - cut)):
        g.values.append(Value(name, v.kind, [*v.shape[:axis], n, *v.shape[axis + 1:]], v.bound))


def matmul(g):
    v = g.pick("f", lambda u: len(u.shape) >= 2 and u.bound * 4 * max(1, u.shape[-1]) <= MOST)
    if not v:
        return
    k = v.shape[-1]
    u = g.pick("f", lambda u: len(u.shape) == 2 and u.shape[0] == k and u.bound * v.bound * max(1, k) <= MOST)
    u = u if u and g.chance(0.5) else g.data("f", (k, g.integer(1, 5)))
    shape = [*v.shape[:-1], u.shape[-1]]
    if np.prod(shape) > 300:
        return
    y = g.add("MatMul", [v.name, u.name], "f", shape, max(1, k) * u.bound * v.bound)
    if g.chance(0.6) and y.bound + 4 <= MOST:
        y = g.add("Add", [y.name, g.data("f", (shape[-1],)).name], "f", shape, y.bound + 4)
        if g.chance(0.5):
            g.add("Relu", [y.name], "f", shape, y.bound)


def conv(g):
    v = g.pick("f", lambda u: len(u.shape) in (3, 4) and all(u.shape) and u.bound * 60 <= MOST)
    if v:
        c, spatial = v.shape[1], v.shape[2:]
        m = g.integer(1, 3)
        kernel = [g.integer(1, 2) for _ in spatial]
        pads = [k - 1 for k in kernel]
        w = g.data("f", (m, c, *kernel))
        shape = [v.shape[0], m, *[n + 2 * p - k + 1 for n, p, k in zip(spatial, pads, kernel)]]
        bound = v.bound * 4 * c * int(np.prod(kernel))
        if np.prod(shape) <= 300 and bound <= MOST:
            y = g.add("Conv", [v.name, w.name], "f", shape, bound, pads=[*pads, *pads])
            if g.chance(0.5):
                g.add("Relu", [y.name], "f", shape, bound)


def scalar_condition(g):
    """A bool of one element, from the data."""
    v = g.pick("f", lambda u: all(u.shape))
    if not v:
        return None
    total = g.add("ReduceMax", [v.name], v.kind, (), v.bound, keepdims=0)
    return g.add("Less", [total.name, g.weight(np.array(g.integer(-2, 6), np.float32))], "b", (), 1)


def branch(g):
    """If: both branches give a value of the same kind, shapes may differ in nothing but what a branch pads."""
    cond = scalar_condition(g)
    v = g.pick("fi")
    if not cond or not v or g.outer:
        return
    bodies, bounds = [], []
    for k in range(2):
        body = Graph(g.rng, g, f"{g.prefix}{g.counter}b{k}_")
        grow(body, g.integer(1, 4))
        fitting = [u for u in body.values if u.kind == v.kind and u.shape == v.shape]
        last = fitting[-1] if fitting else body.add("Identity" if g.chance(0.3) else "Neg", [v.name], v.kind, v.shape, v.bound)
        bodies.append(body_graph(body, [], [last]))
        bounds.append(last.bound)
    name = g.name()
    g.nodes.append(helper.make_node("If", [cond.name], [name], then_branch=bodies[0], else_branch=bodies[1]))
    g.values.append(Value(name, v.kind, v.shape, max(bounds)))


def body_graph(body, inputs, outputs):
    infos = [helper.make_tensor_value_info(v.name, KIND[v.kind], v.shape) for v in inputs]
    outs = [helper.make_tensor_value_info(v.name, KIND[v.kind], v.shape) for v in outputs]
    return helper.make_graph(body.nodes, body.prefix, infos, outs, body.weights)


def loop(g):
    """Loop: a carried value held within bounds, a captured one, a scan output; it may end early."""
    v = g.pick("fi")
    if not v or g.outer or np.prod(v.shape) > 60:
        return
    trips = g.integer(0, 5)
    body = Graph(g.rng, g, f"{g.prefix}{g.counter}l_")
    step = Value(body.name(), "i", (), 4)
    going = Value(body.name(), "b", (), 1)
    state = Value(body.name(), v.kind, v.shape, 1e9)
    low, high = (body.weight(np.array(n, NUMPY[v.kind])) for n in (-9, 9))
    bounded = body.add("Clip", [state.name, low, high], v.kind, v.shape, 9)
    body.values += [step]
    grow(body, g.integer(1, 4))
    fitting = [u for u in body.values if u.kind == v.kind and u.shape == v.shape]
    new = fitting[-1] if g.chance(0.7) else body.add("Add", [bounded.name, bounded.name], v.kind, v.shape, 18)
    if g.chance(0.4):
        limit = body.weight(np.array(g.integer(0, 4), np.int64))
        on = body.add("Less", [step.name, limit], "b", (), 1)
    else:
        on = body.add("Identity", [going.name], "b", (), 1)
    result = body.add("Identity", [new.name], new.kind, new.shape, new.bound)
    scanned = body.add("Identity", [bounded.name], v.kind, v.shape, 9)
    graph = body_graph(body, [step, going, state], [on, result, scanned])
    names = [g.name(), g.name()]
    start = g.weight(np.array(trips, np.int64))
    first = g.weight(np.array(True))
    g.nodes.append(helper.make_node("Loop", [start, first, v.name], names, body=graph))
    g.values.append(Value(names[0], v.kind, v.shape, max(v.bound, new.bound)))
    # The number of iterations is known to the program alone: the scan output is reduced to a shape that is known.
    total = g.weight(np.array([0], np.int64))
    g.add("ReduceSum", [names[1], total], v.kind, v.shape, 9 * 5, keepdims=0)


MAKERS = [binary, binary, binary, unary, compare, logic, where, cast, clip, reduce, reduce, arg, running, view, view, view,
          concat, split, matmul, matmul, conv, branch, loop]


def grow(g, steps):
    for _ in range(steps):
        g.choice(MAKERS)(g)


# ---- the case --------------------------------------------------------------------------------------------------


def smooth(g):
    """Smooth functions at the end of a graph, as models have them. False where no value fits."""
    v = g.pick("f", lambda u: u.shape and all(u.shape) and u.bound <= 200)
    if not v:
        return False
    v = g.add("Mul", [v.name, g.weight(np.array(1 / 16, np.float32))], "f", v.shape, v.bound / 16)
    for _ in range(g.integer(1, 3)):
        how = g.choice(["Softmax", "Sigmoid", "Tanh", "LayerNormalization", "Erf", "Exp", "ReduceMean", "Gelu"])
        if how == "Softmax":
            v = g.add(how, [v.name], "f", v.shape, 1, axis=g.integer(-len(v.shape), len(v.shape) - 1))
        elif how == "LayerNormalization":
            scale = g.weight(np.ones(v.shape[-1], np.float32))
            v = g.add(how, [v.name, scale], "f", v.shape, 8, epsilon=0.1)
        elif how == "ReduceMean":
            v = g.add(how, [v.name, g.weight(np.array([-1], np.int64))], "f", [*v.shape[:-1], 1], v.bound, keepdims=1)
        elif how != "Exp" or v.bound <= 8:
            v = g.add(how, [v.name], "f", v.shape, float(np.exp(v.bound)) if how == "Exp" else v.bound)
        if g.chance(0.4):
            u = g.data("f", v.shape[-1:])
            v = g.add("Mul", [v.name, u.name], "f", v.shape, v.bound * 4)
    return True


def dims(g, shape):
    return [f"N{n}" if g.chance(0.25) else n for n in shape]


def make_graph(seed):
    """A model, its inputs as (name, kind, shape), and rtol and atol."""
    rng = np.random.default_rng([seed, zlib.crc32(b"graph")])
    g = Graph(rng)
    inputs = []
    for k in range(g.integer(1, 3)):
        kind = "f" if k == 0 else g.choice("ffib")
        shape = tuple(g.integer(1, 5) if g.chance(0.95) else 0 for _ in range(g.integer(1, 4)))
        v = Value(f"x{k}", kind, shape, 4)
        inputs.append(v)
        g.values.append(v)
    grow(g, g.integer(4, 16))
    approximate = g.chance(0.3) and smooth(g)
    last = g.values[-1]
    others = [v for v in g.values[len(inputs):] if v is not last and g.chance(0.1)]
    outputs = [*others[:3], last]
    if last in inputs:
        outputs = [g.add("Identity", [last.name], last.kind, last.shape, last.bound)]
    infos = [helper.make_tensor_value_info(v.name, KIND[v.kind], dims(g, v.shape)) for v in inputs]
    outs = [helper.make_tensor_value_info(v.name, KIND[v.kind], [None] * len(v.shape)) for v in outputs]
    graph = helper.make_graph(g.nodes, "differential", infos, outs, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=10)
    tolerance = (2e-5, 2e-5) if approximate else (0.0, 0.0)
    return model, inputs, outputs, tolerance


def make_case(folder, seed, write_case, write_set, sets):
    """Writes the graph of this seed; returns the number of data sets."""
    model, inputs, outputs, tolerance = make_graph(seed)
    onnx.checker.check_model(model)
    write_case(folder, model, tolerance)
    names = {"f": "float", "i": "int64", "b": "bool"}
    try:
        evaluate = oracle.runtime_of(model)
    except Exception as e:
        raise oracle.NoOracle(str(e)) from e
    for k in range(sets):
        rng = np.random.default_rng([seed, k, 79])
        feeds = {v.name: numbers(rng, v.kind, v.shape) for v in inputs}
        try:
            results = evaluate(feeds)
        except Exception as e:
            raise oracle.NoOracle(str(e)) from e
        write_set(folder / f"test_data_set_{k}", [(v.name, names[v.kind], feeds[v.name]) for v in inputs],
                  [(v.name, names[v.kind], np.asarray(r)) for v, r in zip(outputs, results)])
    return sets
