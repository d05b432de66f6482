"""Cases whose graph draws random numbers: what they draw cannot be compared, so it is judged.

`prepare` puts such a case aside as a model with more outputs: what each drawing node drew, and for each of them
probes: the same node, with the same attributes, over DRAWS elements. `judge` then asks of every drawing node, by the row
of its operator in DRAWN: support (scaling is part of it), and a chi-square of the probe; the same seed gives the same
numbers and another seed others. Two runs give the same bits. What the rest of the graph makes of the drawn numbers is
compared with the reference evaluator, which is given them. dtypes and shapes are those of the suite.
"""
import json
import math
import pathlib
import shutil

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import values

DRAWS, CELLS, SIGMAS = 100_000, 50, 4.5


def attribute(node, name, otherwise=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), otherwise)


def with_attribute(node, name, value):
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))
    return node


# ---- operators ---------------------------------------------------------------------------------------------------
# probe(node, given): the node's inputs, or changed attributes, for DRAWS elements; None: an input stays as it is.
# cells(node, given, outputs): by element its cell, by cell its probability; None where an element is outside the support.


def probe_shape(node, given):
    with_attribute(node, "shape", [DRAWS])
    return []


def probe_like(node, given):
    return [np.zeros(DRAWS, given[0].dtype)]


def uniform_cells(node, given, outputs):
    low, high = attribute(node, "low", 0.0), attribute(node, "high", 1.0)
    y = outputs[0].astype(np.float64).ravel()
    if not ((y >= low) & (y <= high)).all():
        return None
    cell = np.minimum((y - low) / (high - low) * CELLS, CELLS - 1).astype(int)
    return cell, np.full(CELLS, 1 / CELLS)


def normal_cells(node, given, outputs):
    z = (outputs[0].astype(np.float64).ravel() - attribute(node, "mean", 0.0)) / attribute(node, "scale", 1.0)
    if not np.isfinite(z).all():
        return None
    below = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    return np.minimum(below * CELLS, CELLS - 1).astype(int), np.full(CELLS, 1 / CELLS)


def probe_probability(node, given):
    return [np.resize(np.linspace(0, 1, 11), DRAWS).astype(given[0].dtype)]


def bernoulli_cells(node, given, outputs):
    p, y = given[0].astype(np.float64).ravel(), outputs[0].astype(np.float64).ravel()
    if not ((y == 0) | (y == 1)).all() or (y[p == 0] != 0).any() or (y[p == 1] != 1).any():
        return None
    kinds, kind, count = np.unique(p, return_inverse=True, return_counts=True)
    share = count / y.size
    return 2 * kind + y.astype(int), np.stack([share * (1 - kinds), share * kinds], 1).ravel()


def probe_samples(node, given):
    with_attribute(node, "sample_size", DRAWS // given[0].shape[0])
    return [None]


def multinomial_cells(node, given, outputs):
    weight = np.exp(given[0].astype(np.float64) - given[0].max(1, keepdims=True))
    y, (rows, classes) = outputs[0], weight.shape
    if y.min() < 0 or y.max() >= classes:
        return None
    p = weight / weight.sum(1, keepdims=True) / rows
    return (y + classes * np.arange(rows)[:, None]).ravel(), p.ravel()


def probe_dropout(node, given):
    return [np.arange(1, DRAWS + 1).astype(given[0].dtype)] + [None] * (len(node.input) - 1)


def dropout_cells(node, given, outputs):
    x, y = given[0].astype(np.float64).ravel(), outputs[0].astype(np.float64).ravel()
    ratio = float(given[1]) if len(given) > 1 and given[1] is not None else 0.5
    trains = len(given) > 2 and given[2] is not None and bool(given[2])
    ratio = ratio if trains else 0.0
    kept = outputs[1].ravel() if len(outputs) > 1 else (y != 0) | (x == 0)
    scaled = x / (1 - ratio) if ratio < 1 else x
    near = np.abs(y - np.where(kept, scaled, 0)) <= 1e-2 * np.abs(y)
    return (kept.astype(int), np.array([ratio, 1 - ratio])) if near.all() else None


DRAWN = {
    "RandomUniform": (probe_shape, uniform_cells),
    "RandomNormal": (probe_shape, normal_cells),
    "RandomUniformLike": (probe_like, uniform_cells),
    "RandomNormalLike": (probe_like, normal_cells),
    "Bernoulli": (probe_probability, bernoulli_cells),
    "Multinomial": (probe_samples, multinomial_cells),
    "Dropout": (probe_dropout, dropout_cells),
}


def chi_square(cell, p):
    """By how many standard deviations the statistic is off its mean (Wilson and Hilferty)."""
    count = np.bincount(cell, minlength=p.size)
    if (count[p == 0] != 0).any():
        return math.inf
    n, some = cell.size, p > 0
    freedom = some.sum() - 1
    if freedom < 1:
        return 0.0
    statistic = ((count[some] - n * p[some]) ** 2 / (n * p[some])).sum()
    return ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


# ---- cases -------------------------------------------------------------------------------------------------------


def drawing(model):
    """The nodes of the main graph that draw. Dropout does only if it is told whether to train."""
    return [n for n in model.graph.node
            if n.op_type in DRAWN and n.domain == "" and (n.op_type != "Dropout" or len(n.input) > 2)]


def is_judged(folder, model):
    """Does a case draw numbers that the suite cannot know?"""
    return bool(drawing(model)) and "known_draws" not in json.loads((folder / "tolerance.json").read_text())


class Drawn:
    """What is judged beside the case's own outputs."""

    def __init__(self, case):
        self.model = case.model
        self.nodes = drawing(case.model)
        self.sets = {d: self.inputs_of(d) for d in case.sets}
        self.probes = []  # (node, its place among self.nodes, inputs)

    def inputs_of(self, data):
        weights = {w.name: numpy_helper.to_array(w) for w in self.model.graph.initializer}
        names = [i.name for i in self.model.graph.input if i.name not in weights]
        return weights | {n: values.read(data / f"input_{k}.pb") for k, n in enumerate(names)}

    def given(self, node, known):
        return [known.get(n) for n in node.input]


def add_probes(drawn, model, known):
    """Three of each drawing node: as it is, and twice with another seed. Returns inputs to be written."""
    written = []
    for place, original in enumerate(drawn.nodes):
        for copy in range(3):
            node = onnx.NodeProto()
            node.CopyFrom(original)
            tag = f"probe_{place}_{copy}"
            node.name = tag
            given = drawn.given(original, known)
            for k, array in enumerate(DRAWN[node.op_type][0](node, given)):
                if array is not None:
                    node.input[k] = f"{tag}_in{k}"
                    given[k] = array
                    written.append((node.input[k], array))
            for k in range(len(node.output)):
                node.output[k] = f"{tag}_out{k}"
            if copy:
                seed = next((a for a in original.attribute if a.name == "seed"), None)
                whole = node.op_type == "Dropout"
                with_attribute(node, "seed", (seed.i if whole else seed.f) + 1 if seed else 77 if whole else 77.0)
            drawn.probes.append((node, place, given))
            model.graph.node.append(node)
            model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in node.output)
    for name, array in written:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    return written


def prepare(case, work):
    """Makes a case that draws one that is judged: another folder, another model, each data set twice."""
    if not case.sets:
        return
    drawn = case.drawn = Drawn(case)
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    have = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for n in drawn.nodes for o in n.output if o and o not in have)
    written = add_probes(drawn, model, drawn.sets[case.sets[0]])
    model = onnx.shape_inference.infer_shapes(model)
    infos = {v.name: v for v in model.graph.value_info}
    for o in model.graph.output:
        if not o.type.WhichOneof("value"):
            o.CopyFrom(infos[o.name])
    folder = pathlib.Path(work) / "judged" / case.name
    first = len(case.model.graph.input)
    for k, data in enumerate(case.sets):
        for again in range(2):
            to = folder / f"test_data_set_{2 * k + again}"
            shutil.copytree(data, to)
            for i, (name, array) in enumerate(written):
                (to / f"input_{first + i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
            drawn.sets[to] = drawn.sets[data]
    onnx.save(model, folder / "model.onnx")
    case.folder, case.model = folder, model
    case.sets = sorted(folder.glob("test_data_set_*"), key=lambda p: int(p.name.rpartition("_")[2]))


def rest_differs(drawn, case, known, got):
    """What the graph makes of the drawn numbers, by the reference evaluator."""
    model = onnx.ModelProto()
    model.CopyFrom(drawn.model)
    outputs = [o for n in drawn.nodes for o in n.output if o]
    for n in drawn.nodes:
        model.graph.node.remove(n)
    kept = [o for o in model.graph.output if o.name not in outputs]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    for o in outputs:
        kind = helper.np_dtype_to_tensor_dtype(got[o].dtype)
        model.graph.input.append(helper.make_tensor_value_info(o, kind, got[o].shape))
    if not kept:
        return None
    feeds = {i.name: known.get(i.name, got.get(i.name)) for i in model.graph.input}
    for o, want in zip(kept, ReferenceEvaluator(model).run(None, feeds)):
        why = values.difference(got[o.name], want, case.rtol, case.atol)
        if why:
            return f"output {o.name}: {why}"
    return None


def probes_differ(drawn, got):
    for node, place, given in drawn.probes:
        outputs = [got[o] for o in node.output]
        found = DRAWN[node.op_type][1](node, given, outputs)
        if found is None:
            return f"{node.name}: outside of the support"
        if abs(chi_square(*found)) > SIGMAS:
            return f"{node.name}: chi-square is {chi_square(*found):.1f} standard deviations off"
    for place in range(len(drawn.nodes)):
        first, other, again = (got[n.output[0]] for n, p, _ in drawn.probes if p == place)
        settled = drawn.nodes[place].op_type == "Dropout" and np.array_equal(first != 0, np.ones(first.shape, bool))
        if other.tobytes() != again.tobytes():
            return f"probe {place}: one seed gives two results"
        if first.tobytes() == other.tobytes() and not settled:
            return f"probe {place}: two seeds give one result"
    return None


def judge(case, data, out):
    """None, or what is wrong with the outputs in folder `out` of a data set."""
    drawn, number = case.drawn, int(data.name.rpartition("_")[2])
    got = {}
    for k, info in enumerate(case.model.graph.output):
        path = out / f"output_{k}.pb"
        if not path.exists():
            return f"output {info.name} is not written"
        got[info.name] = values.read(path)
        expected = data / f"output_{k}.pb"
        if expected.exists():
            want = values.read(expected)
            if got[info.name].dtype != want.dtype or got[info.name].shape != want.shape:
                return f"output {info.name}: dtype or shape differs"
        before = out.parent / f"test_data_set_{number - 1}" / f"output_{k}.pb"
        if number % 2 and before.read_bytes() != path.read_bytes():
            return f"output {info.name}: two runs differ"
    known = drawn.sets[data]
    for n in drawn.nodes:
        if DRAWN[n.op_type][1](n, drawn.given(n, known | got), [got[o] for o in n.output if o]) is None:
            return f"{n.op_type}: outside of the support"
    return rest_differs(drawn, case, known, got) or probes_differ(drawn, got)
