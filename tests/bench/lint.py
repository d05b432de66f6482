#!/usr/bin/env python3
"""lint.py CAMEO [--models DIR] [--nodes N] [--text-mb N] [--weights-mb N] [--runs N] [--only NAME,...] [--write FILE]

Time and memory of `cameo lint`, of onnx.checker with full_check and of making an ONNX Runtime session, on models made
for it: many nodes; documentation and metadata; a folder of small models (--models: a folder of folders with a
model.onnx each); weights, looked at by all rules that read them. CPU time beside wall time, the best of --runs; of the
peers, what the call itself takes, without importing them.
"""
import argparse
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# What is selected where weights are to be read: all rules on by default, and those that look at single elements.
READS_WEIGHTS = "ALL,PR004,NS008"
PEERS = {
    "onnx.checker, full_check": "import onnx\ncall = lambda p: onnx.checker.check_model(p, full_check=True)",
    "ONNX Runtime session": "import onnxruntime as o\no.set_default_logger_severity(4)\n"
                            "call = lambda p: o.InferenceSession(p, providers=['CPUExecutionProvider'])",
}
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


def packed_tensor(block, dtype, name, count):
    """Raw bytes of a dtype that NumPy lacks, as the file holds them."""
    return TensorProto(name=name, data_type=TensorProto.DataType.Value(dtype), dims=[1024, count // 1024], raw_data=block.tobytes())


def much_weight(path, megabytes, dtype):
    """Products of constant matrices as they are; what no product takes is converted in front of one. A name of odd length before
    each lays their bytes at odd addresses."""
    rng = numpy.random.default_rng(1)
    whole = dtype.startswith(("int", "uint"))
    if dtype == "int4":
        block, count = rng.integers(0, 256, 1 << 19, dtype=numpy.uint8), 1 << 20
        made = lambda name: packed_tensor(block, "INT4", name, count)  # noqa: E731
    elif dtype == "bfloat16":
        block = (rng.standard_normal(1 << 20).astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
        made = lambda name: packed_tensor(block, "BFLOAT16", name, 1 << 20)  # noqa: E731
    else:
        most = 127 if dtype == "int8" else 1000
        block = rng.integers(-most, most, (1024, 1024)) if whole else rng.standard_normal((1024, 1024))
        block = block.astype(dtype)
        made = lambda name: numpy_helper.from_array(block, name)  # noqa: E731
    graph = onnx.GraphProto(name="weights")
    last, kind = "x", made("w").data_type
    convert = kind not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    through = TensorProto.FLOAT if convert else kind
    for i in range(max(megabytes * 1000000 // block.nbytes, 1)):
        graph.initializer.append(made("w" * (1 + i % 7) + str(i)))
        weight = graph.initializer[-1].name
        if convert:
            graph.node.add(op_type="Cast", input=[weight], output=[f"c{i}"]).attribute.append(helper.make_attribute("to", through))
            weight = f"c{i}"
        graph.node.add(op_type="MatMul", input=[last, weight], output=[f"h{i}"])
        last = f"h{i}"
    graph.input.append(helper.make_tensor_value_info("x", through, [1, 1024]))
    graph.output.append(helper.make_tensor_value_info(last, through, [1, 1024]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path)


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


def measure(options, name, what, paths, arguments, figure):
    wall, cpu, memory = run([options.cameo, "lint", "-q", *arguments, *map(str, paths)], options.runs)
    files = sorted(paths[0].glob("*.onnx")) if paths[0].is_dir() else paths
    row = [what, f"{wall:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB", figure(wall, cpu)]
    row += [peer(code, files, options.limit) for code in PEERS.values()] if options.peers else ["", ""]
    print(f"{name}: " + " | ".join(row), flush=True)
    return row


def cases(options, folder):
    def wanted(name):
        return not options.only or name in options.only.split(",")

    if wanted("nodes"):
        path = folder / "nodes.onnx"
        made(many_nodes, path, options.nodes)
        yield "nodes", f"{options.nodes:,} nodes", [path], [], lambda wall, cpu: f"{options.nodes / cpu / 1e6:.2f} M nodes/s"
        path.unlink()
    if wanted("text"):
        path = folder / "text.onnx"
        made(much_text, path, options.text_mb)
        size = path.stat().st_size / 1e6
        yield "text", f"{size:.0f} MB of names, documentation, metadata", [path], [], lambda wall, cpu: f"{size / cpu:.0f} MB/s"
        path.unlink()
    if wanted("folder") and options.models:
        count = small_models(folder / "small", options.models, 500)
        yield "folder", f"a folder of {count} models", [folder / "small"], [], lambda wall, cpu: f"{count / wall:.0f} models/s"
    for dtype in ("float32", "float16", "bfloat16", "float64", "int8", "int32", "int64", "int4"):
        if not wanted("weights"):
            continue
        path = folder / "weights.onnx"
        made(much_weight, path, options.weights_mb, dtype)
        size = path.stat().st_size / 1e9
        # What a rule that reads no weights takes is taken off: that is the same for all.
        least = run([options.cameo, "lint", "-q", "--select", "ST", str(path)], options.runs)
        yield "weights", f"{size:.2f} GB of weights, {dtype}, all rules", [path], ["--select", READS_WEIGHTS], \
            lambda wall, cpu: f"{size / max(cpu - least[1], 1e-3):.2f} GB/s"


def write(path, rows):
    head = ["", "cameo lint", "", *PEERS]
    lines = ["| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows]]
    before, _, rest = path.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{MARKS[0]}\n" + "\n".join(lines) + f"\n{MARKS[1]}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("--models", type=pathlib.Path, help="a folder of folders with a model.onnx each")
    parser.add_argument("--nodes", type=int, default=1000000)
    parser.add_argument("--text-mb", type=int, default=200)
    parser.add_argument("--weights-mb", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=300, help="seconds that a peer is given")
    parser.add_argument("--only", help="nodes, text, folder, weights")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this page, between its marks")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(options, *case) for case in cases(options, pathlib.Path(folder))]
    if options.write:
        write(options.write, rows)


if __name__ == "__main__":
    main()
