#!/usr/bin/env python3
"""Is what `cameo drift` predicts what happens?

A model is calibrated on some inputs: `cameo drift` says what rounding each value to float16 or bfloat16 adds to the variance
of each output. Then ONNX Runtime runs the model on other inputs with values really rounded (a Cast to the narrow dtype and
back behind each, weights rounded in the file), all of them in float16, all in bfloat16, and mixed at random. Printed are
predicted over measured, and how often an error went beyond three predicted standard deviations. With --ran, `cameo drift` is asked
about each of these choices (`--precision FILE`): it runs the model so on the calibration inputs, and says the greater of what
is predicted and what it measured there. --save FILE adds a line for each model, and takes from there what it has already:
results.py prints such files as one table.

    predict.py PROGRAM [--random N] [--seed S] [--models DIR] [--exporters DIR] [--only NAME,...] [--save FILE] [--mixed M] [--ran]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import inputs
import results

F32 = TensorProto.FLOAT
NARROW = {"f16": (TensorProto.FLOAT16, np.float16), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


# ---- random networks -------------------------------------------------------------------------------

class Network:
    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.counter = rng, [], {}, 0

    def name(self):
        self.counter += 1
        return f"v{self.counter}"

    def constant(self, *shape, scale=1.0, offset=0.0):
        name = f"w{len(self.constants)}"
        self.constants[name] = (offset + scale * self.rng.normal(size=shape)).astype(np.float32)
        return name

    def add(self, op, inputs, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out


def dense_layer(net, x, width):
    rng, kind = net.rng, net.rng.integers(8)
    if kind == 0:
        out = int(rng.integers(4, 96))
        y = net.add("Gemm", [x, net.constant(width, out, scale=width ** -0.5), net.constant(out, scale=0.3)])
        return y, out
    if kind == 1:
        out = int(rng.integers(4, 96))
        return net.add("MatMul", [x, net.constant(width, out, scale=1.4 * width ** -0.5)]), out
    if kind == 2:
        return net.add(str(rng.choice(["Relu", "Tanh", "Sigmoid", "Softplus", "Elu"])), [x]), width
    if kind == 3:
        return net.add("LayerNormalization", [x, net.constant(width, scale=0.2, offset=1), net.constant(width, scale=0.1)]), width
    if kind == 4:
        gate = net.add("Sigmoid", [net.add("MatMul", [x, net.constant(width, width, scale=width ** -0.5)])])
        return net.add("Mul", [x, gate]), width
    if kind == 5:
        y = net.add("Tanh", [net.add("MatMul", [x, net.constant(width, width, scale=width ** -0.5)])])
        return net.add("Add", [x, y]), width
    if kind == 6:
        scores = net.add("Softmax", [net.add("MatMul", [x, net.constant(width, width, scale=2 * width ** -0.5)])], axis=-1)
        return net.add("MatMul", [scores, net.constant(width, width)]), width
    erf = net.add("Erf", [net.add("Mul", [x, net.constant(scale=0, offset=0.7071)])])
    return net.add("Mul", [x, net.add("Add", [erf, net.constant(scale=0, offset=1)])]), width


def conv_layer(net, x, channels):
    rng, kind = net.rng, net.rng.integers(5)
    if kind <= 1:
        out, k = int(rng.integers(3, 24)), int(rng.choice([1, 3]))
        w = net.constant(out, channels, k, k, scale=(channels * k * k) ** -0.5)
        return net.add("Conv", [x, w, net.constant(out, scale=0.1)], pads=[k // 2] * 4), out
    if kind == 2:
        c = channels
        return net.add("BatchNormalization", [x, net.constant(c, scale=0.2, offset=1), net.constant(c, scale=0.2), net.constant(c, scale=0.2),
                                              net.constant(c, scale=0.0, offset=0.8)]), c
    if kind == 3:
        return net.add(str(rng.choice(["Relu", "Sigmoid", "LeakyRelu", "HardSwish"])), [x]), channels
    return net.add("Add", [x, net.add("Tanh", [x])]), channels


def random_network(seed):
    net = Network(np.random.default_rng(seed))
    rng = net.rng
    images = rng.random() < 0.4
    shape = [2, int(rng.integers(2, 6)), int(rng.integers(6, 14)), int(rng.integers(6, 14))] if images else [int(rng.integers(2, 9)),
                                                                                                          int(rng.integers(4, 64))]
    x, width = "x", shape[1]
    for _ in range(int(rng.integers(3, 14))):
        x, width = (conv_layer if images else dense_layer)(net, x, width)
    if images:
        x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    out = int(rng.integers(3, 12))
    x = net.add("MatMul", [x, net.constant(width, out, scale=width ** -0.5)])
    if rng.random() < 0.3:
        x = net.add("Softmax", [x], axis=-1)
    graph = helper.make_graph(net.nodes, "g", [helper.make_tensor_value_info("x", F32, shape)], [helper.make_tensor_value_info(x, F32, None)],
                              [numpy_helper.from_array(v, n) for n, v in net.constants.items()])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    scale = 10 ** rng.uniform(-1, 1)
    feeds = [{"x": (scale * rng.normal(size=shape)).astype(np.float32)} for _ in range(12)]
    return model, feeds


# ---- models of others ------------------------------------------------------------------------------

def input_names(model):
    weights = {t.name for t in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in weights]


def read_folder(model, folder):
    feeds = {}
    for k, name in enumerate(input_names(model)):
        feeds[name] = numpy_helper.to_array(onnx.load_tensor(str(folder / f"input_{k}.pb")))
    return feeds


def moved(feeds, rng):
    """The same kind of input once more: a few percent of noise on what is float."""
    return {n: (v * (1 + 0.05 * rng.normal(size=v.shape))).astype(v.dtype) if v.dtype == np.float32 else v for n, v in feeds.items()}


def fits(model, feeds):
    """Has each input the dims that the model declares?"""
    for i in model.graph.input:
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in i.type.tensor_type.shape.dim]
        if i.name in feeds and any(d > 0 and d != n for d, n in zip(dims, feeds[i.name].shape)):
            return False
    return True


def model_cases(folder, only, known):
    for path in sorted(pathlib.Path(folder).glob("*/model.onnx")):
        name = path.parent.name
        if only and name not in only or name in known:
            continue
        model = onnx.load(str(path))
        sets = sorted(path.parent.glob("test_data_set_*"))
        npz = sorted(path.parent.glob("data_*.npz"))
        feeds = [read_folder(model, s) for s in sets] if sets else [dict(np.load(f)) for f in npz]
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        feeds = [f for f in feeds[:6] if fits(model, f)]
        plain = session(model)
        feeds = inputs.more_inputs(folder, name, rng, lambda f, s=plain: s.run(None, f), input_names(model)) or feeds
        count = len(feeds)
        while 0 < len(feeds) < 4:
            feeds.append(moved(feeds[len(feeds) % count], rng))
        yield name, model, feeds


# ---- measured --------------------------------------------------------------------------------------

def with_rounding(model, choice):
    """choice: dtype by value of the main graph."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    graph = out.graph
    for t in graph.initializer:
        if t.name in choice:
            narrow = NARROW[choice[t.name]][1]
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(narrow).astype(np.float32), t.name))
    nodes, made, renamed = [], set(t.name for t in graph.initializer), {}
    opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    out.ir_version = max(out.ir_version, 4)
    split = "bfloat16#split"
    graph.initializer.append(numpy_helper.from_array(np.float32(65537), split))

    def rounding(name, dtype, source):
        if dtype == "bf16" and opset < 13:  # no Cast to bfloat16: Veltkamp's splitting leaves the 8 leading bits, rounded to nearest
            big, rest = f"{name}#big", f"{name}#rest"
            return [helper.make_node("Mul", [source, split], [big]), helper.make_node("Sub", [big, source], [rest]),
                    helper.make_node("Sub", [big, rest], [name])]
        middle = f"{name}#narrow"
        return [helper.make_node("Cast", [source], [middle], to=NARROW[dtype][0]), helper.make_node("Cast", [middle], [name], to=F32)]

    for i in graph.input:
        if i.name in choice and i.name not in made:
            renamed[i.name] = f"{i.name}#rounded"
            nodes += rounding(renamed[i.name], choice[i.name], i.name)

    def rename(node):
        for k, name in enumerate(node.input):
            node.input[k] = renamed.get(name, name)
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                for inner in a.g.node:
                    rename(inner)

    for node in list(graph.node):
        rename(node)
        after = []
        for k, name in enumerate(node.output):
            if name in choice:
                node.output[k] = f"{name}#own"
                after += rounding(name, choice[name], node.output[k])
        nodes += [node, *after]
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del graph.node[:]
    graph.node.extend(nodes)
    return out


def session(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_all(model, names, feeds):
    s = session(model)
    return [dict(zip(names, s.run(names, f))) for f in feeds]


# ---- predicted -------------------------------------------------------------------------------------

def write_case(folder, model, calibration):
    """The model and its data sets, in one place for all that is asked about it: what is compiled for it is compiled once."""
    onnx.save(model, str(folder / "m.onnx"))
    for k, feeds in enumerate(calibration):
        (folder / f"test_data_set_{k}").mkdir()
        for i, name in enumerate(input_names(model)):
            tensor = numpy_helper.from_array(feeds[name], name)
            (folder / f"test_data_set_{k}" / f"input_{i}.pb").write_bytes(tensor.SerializeToString())


def drift_of(program, folder, projections, choice=None):
    command = [program, "drift", folder / "m.onnx", "--projections", str(projections), "--format", "json", "-q"]
    if choice:
        (folder / "mix.txt").write_text("".join(f"{v} {t}\n" for v, t in choice.items()), encoding="utf-8")
        command += ["--precision", folder / "mix.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0]
    return json.loads(done.stdout), ""


def assignments(report, model, mixed, rng):
    """(what, dtype by value): only values that make an error, are in the main graph of the file, and fit the dtype."""
    named = {o for n in model.graph.node for o in n.output} | {t.name for t in model.graph.initializer if t.data_type == F32}
    named |= {i.name for i in model.graph.input}
    rows = [r for r in report["values"] if r["value"] in named and not r["exact"] and not r["blind"] and r["dtype"] == "float32"]
    over = {r["value"] for r in rows if r["over_f16"] > 0 or r["greatest"] > 60000}
    result = [(t, {r["value"]: t for r in rows if not (t == "f16" and r["value"] in over)}) for t in ("f16", "bf16")]
    for _ in range(mixed):
        drawn = {r["value"]: str(rng.choice(["f16", "bf16", "f32", "f32"])) for r in rows}
        chosen = {v: t for v, t in drawn.items() if t != "f32" and not (t == "f16" and v in over)}
        if chosen:
            result.append(("mixed", chosen))
    return rows, result


def check_model(program, folder, table, name, model, feeds, mixed, projections, ran):
    if len(feeds) < 2:
        table.skipped.append(f"{name}: no data that fit its inputs")
        return
    half = min(8, max(len(feeds) // 2, len(feeds) - 4)) if len(feeds) <= 12 else len(feeds) // 2
    write_case(folder, model, feeds[:half])
    report, why = drift_of(program, folder, projections)
    if report is None:
        table.skipped.append(f"{name}: {why}")
        return
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows, choices = assignments(report, model, mixed, rng)
    outputs = [o["name"] for o in report["outputs"]]
    present = {o.name for o in model.graph.output}
    names = [o for o in outputs if o in present]
    held = feeds[half:]
    exact = run_all(model, names, held)
    for what, choice in choices:
        rough = run_all(with_rounding(model, choice), names, held)
        said, why = drift_of(program, folder, projections, choice) if ran else (None, "")
        if ran and said is None:
            table.skipped.append(f"{name} {what}: {why}")
            continue
        for o in names:
            k = outputs.index(o)
            predicted = float(np.sqrt(sum(r["outputs"][k][choice[r["value"]]] for r in rows if r["value"] in choice)))
            pairs = [(np.asarray(a[o], np.float64), np.asarray(b[o], np.float64)) for a, b in zip(exact, rough)]
            if any(a.shape != b.shape for a, b in pairs):
                table.skipped.append(f"{name} {what} {o}: another shape (a decision flipped)")
                continue
            errors = [float(np.sqrt(np.sum((a - b) ** 2))) for a, b in pairs]
            scales = [float(np.sqrt(np.sum(a ** 2))) for a, _ in pairs]
            if not np.all(np.isfinite(errors)) or not all(s > 0 for s in scales):
                table.skipped.append(f"{name} {what} {o}: not finite, or all 0")
                continue
            bound = predicted * max(report["outputs"][k]["reach_f16"], report["outputs"][k]["reach_bf16"])
            if said:
                predicted, bound = said["outputs"][k]["error"], said["outputs"][k]["bound"]
            table.add(name, what, o, predicted, bound, errors, scales)


def cases_of(a, only, known):
    """(name, model, feeds) of what is asked for and not known yet, made when its turn comes."""
    for seed in range(a.seed, a.seed + a.random):
        if f"random {seed}" not in known:
            yield f"random {seed}", *random_network(seed)
    for folder in filter(None, (a.models, a.exporters)):
        for case in model_cases(folder, only, known):
            yield case


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--random", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--models")
    p.add_argument("--exporters")
    p.add_argument("--only")
    p.add_argument("--mixed", type=int, default=2)
    p.add_argument("--projections", type=int, default=8)
    p.add_argument("--save")
    p.add_argument("--ran", action="store_true")
    a = p.parse_args()
    only = set(a.only.split(",")) if a.only else None
    known = {t.name: t for t in results.read(a.save)} if a.save else {}
    total = results.Table("all")
    for name, model, feeds in cases_of(a, only, known):
        table = results.Table(name)
        try:
            with tempfile.TemporaryDirectory() as folder:
                check_model(a.program, pathlib.Path(folder), table, name, model, feeds, a.mixed, a.projections, a.ran)
        except KeyboardInterrupt:
            total.skipped.append(f"{name} and what follows: interrupted")
            break
        except Exception as e:  # a runtime that cannot run a model says nothing of the prediction
            table.skipped.append(f"{name}: {type(e).__name__}: {str(e).splitlines()[0][:150]}")
        total.join(table)
        if a.save:
            table.save(a.save)
    for table in known.values():
        total.join(table)
    total.print()
    return 0 if total.holds() else 1


if __name__ == "__main__":
    sys.exit(main())
