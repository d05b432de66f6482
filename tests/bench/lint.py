#!/usr/bin/env python3
"""lint.py CAMEO [--models DIR] [--only PART,...] [--by cameo,checker,ort] [--keep DIR] [--runs N] [--write FILE]

Time and memory of `cameo lint`, of onnx.checker with full_check and of making an ONNX Runtime session, on models made
for it: many nodes; documentation and metadata; a folder of small models (--models: a folder of folders with a
model.onnx each); weights, looked at by all rules that read them. CPU time beside wall time, the best of --runs; of the
peers, what the call itself takes, without importing them.

--only measures some of it: nodes, text, folder, weights (of one dtype: weights-float16), sums (sums-int8-rows-apart), read
(read-LSTM-float32), foreign (foreign-float64-float32); --by with some of the columns; --make only makes the models; --keep leaves them in a folder, for the next part. --write puts what was
measured into the page's table, and leaves its other cells as they are.
"""
import argparse
import itertools
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# What is selected where weights are to be read: all rules on by default, and those that look at single elements.
READS_WEIGHTS = "ALL,PR004,NS008"
PEERS = {
    "checker": "import onnx\ncall = lambda p: onnx.checker.check_model(p, full_check=True)",
    "ort": "import onnxruntime as o\no.set_default_logger_severity(4)\n"
           "call = lambda p: o.InferenceSession(p, providers=['CPUExecutionProvider'])",
}
COLUMNS = ["cameo", "checker", "ort"]
HEAD = ["", "cameo lint", "", "onnx.checker, full_check", "ONNX Runtime session"]
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
SUMMED = ["float32", "float64", "float16", "bfloat16", *FLOAT8, "float4e2m1", "int8", "uint8", "int4", "uint4"]
DTYPES = ["float32", "float64", "float16", "bfloat16", *FLOAT8, "float8e8m0", "float4e2m1", "int8", "uint8", "int16", "int32", "int64",
          "int4", "uint4", "bool"]
HALVES = ("int4", "uint4", "float4e2m1")  # two to a byte
READERS = ["Conv", "ConvTranspose", "LSTM", "Gather"]  # beside products of matrices, and of which dtypes
FOREIGN = [("float64", "float32"), ("float32", "float16"), ("float32", "bfloat16"), ("bfloat16", "float16"), ("int64", "int32")]  # stored, the model's
READ = ["float32", "float64", "float16", "bfloat16", "float8e4m3fn", "int8", "int4"]
STORED = {"float32": "FLOAT", "float64": "DOUBLE"}
TAIL = """
import sys, time, resource
paths = sys.argv[1:]
begin, cpu, failed = time.perf_counter(), time.process_time(), 0
for p in paths:
    try:
        call(p)
    except Exception:
        failed += 1
print(time.perf_counter() - begin, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, failed)
"""
MARKS = ["<!-- lint speed: begin -->", "<!-- lint speed: end -->"]


# ---- models --------------------------------------------------------------------------------------

def save(graph, path, **fields):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, **fields)
    onnx.save(model, path)


def newest(graph):
    """In the first version that has all dtypes."""
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=12)


def is_quantized(dtype):
    return "int" in dtype or dtype.startswith(("float8", "float4"))


def value(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def many_nodes(path, count):
    """Dense layers without products: Mul and Add with weights, an activation, and a sum with what came before."""
    graph = onnx.GraphProto(name="nodes")
    weights = [numpy_helper.from_array(numpy.full(8, 0.5, numpy.float32), f"w{i}") for i in range(64)]
    graph.initializer.extend(weights)
    kinds = [("Mul", True), ("Add", True), ("Relu", False), ("Add", None)]
    last, far = "x", "x"
    for i in range(count):
        op, weight = kinds[i % 4]
        name = "y" if i == count - 1 else f"/layers.{i // 4}/{op}_{i}_output_0"
        operands = [last] + ([f"w{i % 64}"] if weight else [far] if weight is None else [])
        graph.node.add(op_type=op, input=operands, output=[name], name=f"/layers.{i // 4}/{op}_{i}")
        far = name if weight is None else far
        last = name
    graph.input.append(value("x", ["N", 8]))
    graph.output.append(value("y", ["N", 8]))
    save(graph, path)


def much_text(path, megabytes):
    """Documentation, metadata of nodes with stack traces, long names: nearly all of the bytes."""
    graph = onnx.GraphProto(name="text")
    trace = "\n".join(f'File "model/layers_{k}.py", line {k}, in forward\n    x = self.proj_{k}(x) + residual' for k in range(90))
    last, count = "x", megabytes * 1000 * 1000 // (len(trace) + 1400)
    for i in range(count):
        name = "y" if i == count - 1 else f"/encoder/{'block/' * 40}{i}"
        node = graph.node.add(op_type="Relu", input=[last], output=[name], name=name, doc_string=trace[:1000])
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
        last = name
    graph.input.append(value("x", [8]))
    graph.output.append(value("y", [8]))
    save(graph, path)


def weight_block(dtype):
    """2^20 elements of a dtype as the file holds them, and how many there are."""
    rng, count = numpy.random.default_rng(1), 1 << 20
    if dtype in HALVES or dtype.startswith("float8"):  # any bits, but for infinity and NaN of float8
        block = rng.integers(0, 256, count >> (dtype in HALVES), dtype=numpy.uint8)
        kind = {"float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2",
                "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu"}.get(dtype)
        finite = numpy.isfinite(block.view(getattr(ml_dtypes, kind)).astype(numpy.float32)) if kind else True
        return numpy.where(finite, block, 0).astype(numpy.uint8)
    if dtype == "bfloat16":
        return (rng.standard_normal(count).astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(numpy.uint8)
    if dtype.startswith(("int", "uint")):
        most = 127 if dtype.endswith("int8") else 1000
        return rng.integers(0 if dtype[0] == "u" else -most, most, count).astype(dtype)
    return rng.standard_normal(count).astype(dtype)


def much_weight(path, megabytes, dtype):
    """Products of constant matrices as they are; what no product takes is converted in front of one. A name of odd length before
    each lays their bytes at odd addresses."""
    kind, block = TensorProto.DataType.Value(STORED.get(dtype, dtype.upper())), weight_block(dtype)
    graph = onnx.GraphProto(name="weights")
    last, bytes_ = "x", block.tobytes()
    convert = kind not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    through = TensorProto.FLOAT if convert else kind
    for i in range(max(megabytes * 1000000 // len(bytes_), 1)):
        weight = "w" * (1 + i % 7) + str(i)
        graph.initializer.add(name=weight, data_type=kind, dims=[1024, 1024], raw_data=bytes_)
        if convert:
            graph.node.add(op_type="Cast", input=[weight], output=[f"c{i}"]).attribute.append(helper.make_attribute("to", through))
            weight = f"c{i}"
        graph.node.add(op_type="MatMul", input=[last, weight], output=[f"h{i}"])
        last = f"h{i}"
    graph.input.append(helper.make_tensor_value_info("x", through, [1, 1024]))
    graph.output.append(helper.make_tensor_value_info(last, through, [1, 1024]))
    onnx.save(newest(graph), path)


def quantized(dtype, rows, columns, axis):
    """(scales, axis, block): a scale for each index of what a product gives, of 4 bits one for each 32 numbers that it sums."""
    if dtype not in HALVES:
        return numpy.full((rows, columns)[axis], 1 / 256, numpy.float32), axis, 0
    dims = (rows // 32, columns) if axis else (rows, columns // 32)
    return numpy.full(dims, 1 / 64, numpy.float32), 1 - axis, 32


def much_summed(path, megabytes, dtype, layout, apart):
    """Products whose operands are bounded, by one interval or one for each index that is summed: bounds of their results are sums over
    the weights. Summed along columns (MatMul) or along rows (Gemm with transB)."""
    kind, block = TensorProto.DataType.Value(STORED.get(dtype, dtype.upper())), weight_block(dtype)
    graph = onnx.GraphProto(name="sums")
    through = TensorProto.FLOAT if is_quantized(dtype) else kind
    last, bytes_, axis = "x", block.tobytes(), 1 if layout == "columns" else 0
    scales, of, size = quantized(dtype, 1024, 1024, axis)
    shift = numpy.linspace(-0.5, 0.5, 1024, dtype=numpy.float32)
    held = shift.astype(numpy.float16) if dtype == "float16" else (shift.view(numpy.uint32) >> 16).astype(numpy.uint16) if dtype == "bfloat16" else shift
    held = shift.astype(numpy.float64) if dtype == "float64" else held
    graph.initializer.add(name="shift", data_type=through, dims=[1024], raw_data=held.tobytes())
    for i in range(max(megabytes * 1000000 // len(bytes_), 1)):
        weight = "w" * (1 + i % 7) + str(i)
        graph.initializer.add(name=weight, data_type=kind, dims=[1024, 1024], raw_data=bytes_)
        if through != kind:
            graph.initializer.append(numpy_helper.from_array(scales, f"s{i}"))
            node = graph.node.add(op_type="DequantizeLinear", input=[weight, f"s{i}"], output=[f"d{i}"])
            node.attribute.extend(helper.make_attribute(k, v) for k, v in (("axis", of), ("block_size", size)))
            weight = f"d{i}"
        graph.node.add(op_type="Tanh", input=[last], output=[f"t{i}"])
        if apart:
            graph.node.add(op_type="Add", input=[f"t{i}", "shift"], output=[f"a{i}"])
        node = graph.node.add(op_type="MatMul" if axis else "Gemm", input=[f"a{i}" if apart else f"t{i}", weight], output=[f"h{i}"])
        node.attribute.extend([] if axis else [helper.make_attribute("transB", 1)])
        last = f"h{i}"
    graph.node.add(op_type="Exp", input=[last], output=["y"])  # what asks for bounds
    graph.input.append(helper.make_tensor_value_info("x", through, [1, 1024]))
    graph.output.append(helper.make_tensor_value_info("y", through, [1, 1024]))
    onnx.save(newest(graph), path)


def much_read(path, megabytes, op, dtype):
    """Weights that something else than a product of matrices reads: convolutions, a recurrence, a table that is looked up."""
    kind, block = TensorProto.DataType.Value(STORED.get(dtype, dtype.upper())), weight_block(dtype)
    through = TensorProto.FLOAT if is_quantized(dtype) else kind
    graph, bytes_, last = onnx.GraphProto(name="read"), block.tobytes(), "x"
    dims = {"LSTM": [1, 2048, 512], "Gather": [1024, 1024]}.get(op, [256, 256, 4, 4])
    shape = {"LSTM": [2, 1, 512], "Gather": [4, 1024]}.get(op, [1, 256, 8, 8])
    graph.initializer.extend([numpy_helper.from_array(numpy.float32(1 / 64), "scale"), numpy_helper.from_array(numpy.array([1]), "axes"),
                              numpy_helper.from_array(numpy.array([3, 1, 4, 1]), "ids")])

    def weight(name):
        graph.initializer.add(name=name, data_type=kind, dims=dims, raw_data=bytes_)
        if through == kind:
            return name
        graph.node.add(op_type="DequantizeLinear", input=[name, "scale"], output=[f"{name}.real"])
        return f"{name}.real"

    def node(op, inputs, output, **attributes):
        graph.node.add(op_type=op, input=inputs, output=[output]).attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
        return output
    for i in range(max(megabytes * 1000000 // len(bytes_) // (1 + (op == "LSTM")), 1)):
        name = "w" * (1 + i % 7) + str(i)
        if op == "LSTM":
            y = node(op, [last, weight(name), weight(f"r{name}")], f"y{i}", hidden_size=512)
            last = node("Squeeze", [y, "axes"], f"h{i}")
        elif op == "Gather":
            last = node("Add", [node("Tanh", [last], f"t{i}"), node(op, [weight(name), "ids"], f"g{i}")], f"h{i}")
        else:
            last = node(op, [node("Tanh", [last], f"t{i}"), weight(name)], f"h{i}", pads=[1, 1, 2, 2])
    node("Exp", [last], "y")  # what asks for bounds
    graph.input.append(helper.make_tensor_value_info("x", through, shape))
    graph.output.append(helper.make_tensor_value_info("y", through, shape))
    onnx.save(newest(graph), path)


def foreign_weight(path, megabytes, dtype, to):
    """Weights of a dtype that the model is not of, each at odds with what it is added to: what storing them otherwise loses is said."""
    kind, through = (TensorProto.DataType.Value(STORED.get(t, t.upper())) for t in (dtype, to))
    graph, bytes_, last = onnx.GraphProto(name="foreign"), weight_block(dtype).tobytes() * 16, "x"
    for i in range(max(megabytes * 1000000 // len(bytes_), 1)):
        weight = "w" * (1 + i % 7) + str(i)
        graph.initializer.add(name=weight, data_type=kind, dims=[1 << 14, 1 << 10], raw_data=bytes_)
        last = graph.node.add(op_type="Add", input=[last, weight], output=[f"h{i}"]).output[0]
    graph.input.append(helper.make_tensor_value_info("x", through, [1 << 14, 1 << 10]))
    graph.output.append(helper.make_tensor_value_info(last, through, [1 << 14, 1 << 10]))
    onnx.save(newest(graph), path)


def small_models(folder, source, count):
    paths = sorted(p for p in source.glob("*/model.onnx") if p.stat().st_size < 100000)[:count]
    folder.mkdir()
    for p in paths:
        shutil.copyfile(p, folder / f"{p.parent.name}.onnx")
    return len(paths)


def made(make, *arguments):
    """In a process of its own: memory that this one has had would count as that of what it starts."""
    child = multiprocessing.get_context("fork").Process(target=make, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit(f"{make.__name__} failed")


# ---- measuring -----------------------------------------------------------------------------------

def run(command, runs):
    """Best wall and CPU seconds, most megabytes, of a command and its children."""
    best = [float("inf"), float("inf"), 0]
    for _ in range(runs):
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"{command}: exit {child.returncode}")
        wall = time.perf_counter() - begin
        best = [min(best[0], wall), min(best[1], used.ru_utime + used.ru_stime), max(best[2], used.ru_maxrss / 1000)]
    return best


def peer(code, paths, limit):
    try:
        done = subprocess.run([sys.executable, "-c", code + TAIL, *map(str, paths)], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"more than {limit} s"
    if done.returncode:
        return "fails"
    wall, cpu, memory, failed = done.stdout.split()
    refused = f", {failed} refused" if failed != "0" else ""
    return f"{float(wall):.2f} s, CPU {float(cpu):.2f} s, {float(memory) / 1000:.0f} MB{refused}"


def columns(options, what, paths, arguments, figure):
    """The row's cells; None where nothing was measured."""
    files = sorted(paths[0].glob("*.onnx")) if paths[0].is_dir() else paths
    row = [what] + [None] * 4
    if "cameo" in options.by:
        wall, cpu, memory = run([options.cameo, "lint", "-q", *arguments, *map(str, paths)], options.runs)
        row[1:3] = [f"{wall:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB", figure(wall, cpu)]
    for k, (name, code) in enumerate(PEERS.items()):
        if name in options.by:
            row[3 + k] = peer(code, files, options.limit)
    return row


def wanted(options, name):
    only = options.only.split(",") if options.only else [name]
    return any(f"{name}-".startswith(f"{part}-") for part in only)


def rate_of_weights(options, path, size):
    # What a rule that reads no weights takes is taken off: that is the same for all.
    least = run([options.cameo, "lint", "-q", "--select", "ST", str(path)], options.runs) if "cameo" in options.by else None
    return lambda wall, cpu: f"{size / max(cpu - least[1], 1e-3):.2f} GB/s"


def cases(options, folder):
    """What each row measures, its models made: name, first cell, paths, arguments, figure."""
    def model(name, make, *arguments):
        path = folder / f"{name}.onnx"
        if not path.exists():
            made(make, path, *arguments)
        return path, path.stat().st_size / 1e6

    if wanted(options, "nodes"):
        path, _ = model("nodes", many_nodes, options.nodes)
        yield "nodes", f"{options.nodes:,} nodes", [path], [], lambda wall, cpu: f"{options.nodes / cpu / 1e6:.2f} M nodes/s"
    if wanted(options, "text"):
        path, size = model("text", much_text, options.text_mb)
        yield "text", f"{size:.0f} MB of names, documentation, metadata", [path], [], lambda wall, cpu: f"{size / cpu:.0f} MB/s"
    if wanted(options, "folder") and options.models:
        small = folder / "small"
        count = len(list(small.iterdir())) if small.exists() else small_models(small, options.models, 500)
        yield "folder", f"a folder of {count} models", [small], [], lambda wall, cpu: f"{count / wall:.0f} models/s"
    for dtype in DTYPES:
        if wanted(options, f"weights-{dtype}"):
            path, size = model(f"weights-{dtype}", much_weight, options.weights_mb, dtype)
            yield f"weights-{dtype}", f"{size / 1000:.2f} GB of {dtype} weights, all rules", [path], ["--select", READS_WEIGHTS], \
                rate_of_weights(options, path, size / 1000)
            if not options.keep:
                path.unlink()
    for dtype, layout, apart in itertools.product(SUMMED, ("columns", "rows"), (False, True)):
        name = f"sums-{dtype}-{layout}{'-apart' * apart}"
        if wanted(options, name):
            path, size = model(name, much_summed, options.sums_mb, dtype, layout, apart)
            what = f"{size / 1000:.2f} GB of {dtype} weights, summed along {layout}{', operands bounded one by one' * apart}"
            yield name, what, [path], ["--select", READS_WEIGHTS], rate_of_weights(options, path, size / 1000)
            if not options.keep:
                path.unlink()
    for op, dtype in itertools.product(READERS, READ):
        name = f"read-{op}-{dtype}"
        # What a recurrence multiplies is bounded whatever its weights are: only their own elements are looked at, not quantized ones.
        if wanted(options, name) and not (op == "LSTM" and is_quantized(dtype)):
            path, size = model(name, much_read, options.sums_mb, op, dtype)
            yield name, f"{size / 1000:.2f} GB of {dtype} weights, read by {op}", [path], ["--select", READS_WEIGHTS], \
                rate_of_weights(options, path, size / 1000)
            if not options.keep:
                path.unlink()


    for dtype, to in FOREIGN:
        if wanted(options, f"foreign-{dtype}-{to}"):
            path, size = model(f"foreign-{dtype}-{to}", foreign_weight, options.sums_mb, dtype, to)
            yield f"foreign-{dtype}-{to}", f"{size / 1000:.2f} GB of {dtype} weights in a {to} model", [path], [], \
                rate_of_weights(options, path, size / 1000)
            if not options.keep:
                path.unlink()


def write(path, rows):
    """Rows are known by their first cell; cells that were not measured stay."""
    text = path.read_text()
    before, _, rest = text.partition(MARKS[0])
    table, _, after = rest.partition(MARKS[1])
    old = {cells[0]: cells for cells in ([c.strip() for c in line.strip("|").split("|")] for line in table.split("\n")[3:] if line)}
    for row in rows:
        known = old.get(row[0], [""] * len(HEAD))
        old[row[0]] = [was if cell is None else cell for cell, was in zip(row, known)]
    lines = ["| " + " | ".join(r) + " |" for r in [HEAD, ["---"] * len(HEAD), *old.values()]]
    path.write_text(f"{before}{MARKS[0]}\n" + "\n".join(lines) + f"\n{MARKS[1]}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("--models", type=pathlib.Path, help="a folder of folders with a model.onnx each")
    parser.add_argument("--nodes", type=int, default=1000000)
    parser.add_argument("--text-mb", type=int, default=200)
    parser.add_argument("--weights-mb", type=int, default=1000)
    parser.add_argument("--sums-mb", type=int, default=250)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=300, help="seconds that a peer is given")
    parser.add_argument("--only", help="nodes, text, folder, weights, sums, read, foreign, or one of them: weights-DTYPE")
    parser.add_argument("--by", default=",".join(COLUMNS), help="what measures: " + ",".join(COLUMNS))
    parser.add_argument("--keep", type=pathlib.Path, help="the models' folder, which stays")
    parser.add_argument("--make", action="store_true", help="make the models, measure nothing")
    parser.add_argument("--write", type=pathlib.Path, help="put the figures into this page's table, between its marks")
    options = parser.parse_args()
    options.by = [] if options.make else options.by.split(",")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        for name, *case in cases(options, options.keep or pathlib.Path(folder)):
            rows.append(columns(options, *case))
            if not options.make:
                print(f"{name}: " + " | ".join("" if c is None else c for c in rows[-1]), flush=True)
    if options.write and not options.make:
        write(options.write, rows)


if __name__ == "__main__":
    main()
