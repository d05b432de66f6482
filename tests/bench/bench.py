#!/usr/bin/env python3
"""Latency, start-up, memory and size beside ONNX Runtime, interleaved in one run.

    python3 bench.py --cameo PATH MODEL_FOLDER... [--rounds 10] [--out docs/performance.md]

Each MODEL_FOLDER holds model.onnx and test_data_set_0, as the backend suite lays them out; make_models.py writes some.
Both sides take one thread and are pinned to one core; rounds go A B A B; the minimum and the median of all rounds are
printed, and the share of the machine's peak, measured in the same run, that the minimum is. Outputs are compared with
the data set before anything is timed. --out replaces the table in that file.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PEER = """
import json, pathlib, resource, sys, time
begin = time.perf_counter()
import numpy as np, onnx, onnxruntime as ort
from onnx import numpy_helper
ready = time.perf_counter()
folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
feeds = {}
for i, info in enumerate(session.get_inputs()):
    t = onnx.TensorProto(); t.ParseFromString((folder / "test_data_set_0" / f"input_{i}.pb").read_bytes())
    feeds[info.name] = numpy_helper.to_array(t)
session.run(None, feeds)
first = time.perf_counter()
times = []
for _ in range(runs):
    a = time.perf_counter(); session.run(None, feeds); times.append((time.perf_counter() - a) * 1e3)
print(json.dumps({"times": times, "start_ms": (first - ready) * 1e3,
                  "rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


def pinned(command, **kw):
    return subprocess.run(["taskset", "-c", "0", *map(str, command)], capture_output=True, text=True, check=True, **kw)


def library_size():
    import onnxruntime
    return sum(p.stat().st_size for p in pathlib.Path(onnxruntime.__file__).parent.rglob("*.so*"))


def multiplications(folder):
    """Of Conv, Gemm and MatMul with this data set's shapes, as ONNX Runtime finds them; None if in subgraphs."""
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    model = onnx.load(folder / "model.onnx")
    weights = {w.name: tuple(w.dims) for w in model.graph.initializer}
    if any(a.HasField("g") for n in model.graph.node for a in n.attribute):
        return None
    nodes = [n for n in model.graph.node if n.op_type in ("Conv", "Gemm", "MatMul")]
    wanted = sorted({v for n in nodes for v in (n.input[0], n.input[1], n.output[0])} - set(weights))
    known = {i.name for i in model.graph.input} | {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=v) for v in wanted if v not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for i, info in enumerate(session.get_inputs()):
        tensor = onnx.load_tensor(folder / "test_data_set_0" / f"input_{i}.pb")
        feeds[info.name] = numpy_helper.to_array(tensor)
    names = [o.name for o in session.get_outputs()]
    shapes = {n: v.shape for n, v in zip(names, session.run(names, feeds))}
    shapes.update({n: v.shape for n, v in feeds.items()}, **weights)
    total = 0
    for n in nodes:
        a, b, y = (shapes[v] for v in (n.input[0], n.input[1], n.output[0]))
        transposed = any(t.name == "transA" and t.i for t in n.attribute)
        summed = np.prod(b[1:]) if n.op_type == "Conv" else a[0] if transposed else a[-1]
        total += int(np.prod(y)) * int(summed)
    return total


def apart(command):
    """The same from a small shell: the peak memory that a process reports begins with that of the one it was forked from."""
    return ["sh", "-c", '"$@"; exit $?', "sh", *command]


def measure(cameo, folder, rounds, scratch):
    net = scratch / "net"
    begin = time.perf_counter()
    subprocess.run([cameo, "compile", folder / "model.onnx", "-o", net], check=True, capture_output=True)
    compile_s = time.perf_counter() - begin
    data = folder / "test_data_set_0"
    if subprocess.run([cameo, "verify", folder / "model.onnx", data], capture_output=True).returncode != 0:
        raise RuntimeError("the outputs are not those of the data set")
    ours, theirs, peer = [], [], {}
    for _ in range(rounds):
        line = json.loads(pinned(apart([net, "--inputs-from", data, "--bench", 20])).stdout)
        ours.append((line["min_ms"], line["median_ms"]))
        rss = line["max_rss_kb"]
        peer = json.loads(pinned(apart([sys.executable, "-c", PEER, folder, 20])).stdout)
        theirs.append((min(peer["times"]), statistics.median(peer["times"])))
    begin = time.perf_counter()
    pinned([net, "--inputs-from", data])
    return {"model": folder.name, "min": (min(o[0] for o in ours), min(t[0] for t in theirs)),
            "median": (statistics.median(o[1] for o in ours), statistics.median(t[1] for t in theirs)),
            "start": ((time.perf_counter() - begin) * 1e3, peer["start_ms"]), "rss": (rss, peer["rss_kb"]),
            "size": net.stat().st_size, "compile_s": compile_s, "macs": multiplications(folder),
            "model_size": (folder / "model.onnx").stat().st_size}


def share(row, side, peak):
    if row["macs"] is None:
        return "-"
    return f"{2e-6 * row['macs'] / row['min'][side] / peak['gflops']:.0%}"


def table(rows, peak):
    import onnxruntime
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    load = " / ".join(f"{v:.1f}" for v in os.getloadavg())
    out = [f"Machine: {cpu}, {os.cpu_count()} cores visible, one used; measured peak of one core "
           f"{peak['gflops']} GFLOP/s (float32), {peak['read_gb_s']} GB/s read from memory; load {load}. "
           f"Peer: ONNX Runtime {onnxruntime.__version__}, one thread, default optimisations.", "",
           "| model | million MACs | ms, min | ms, median | ratio of minima | share of peak | first output ms "
           "| peak MB | shipped MB | compile s |", "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        macs = "-" if r["macs"] is None else f"{r['macs'] / 1e6:.1f}"
        out.append(f"| {r['model']} | {macs} | {r['min'][0]:.3f} / {r['min'][1]:.3f} "
                   f"| {r['median'][0]:.3f} / {r['median'][1]:.3f} | {r['min'][1] / r['min'][0]:.2f}x "
                   f"| {share(r, 0, peak)} / {share(r, 1, peak)} | {r['start'][0]:.0f} / {r['start'][1]:.0f} "
                   f"| {r['rss'][0] / 1024:.0f} / {r['rss'][1] / 1024:.0f} "
                   f"| {r['size'] / 1e6:.1f} / {(library_size() + r['model_size']) / 1e6:.1f} | {r['compile_s']:.1f} |")
    return "\n".join(out)


def replace_table(path, text):
    """The table stands between two lines of the file; the words around it are kept."""
    begin, end = "<!-- table -->", "<!-- end of table -->"
    old = path.read_text()
    head, _, rest = old.partition(begin)
    path.write_text(head + begin + "\n" + text + "\n" + end + rest.partition(end)[2])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--out", type=pathlib.Path)
    args = p.parse_args()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        source = pathlib.Path(__file__).parent / "peak.c"
        subprocess.run(["gcc", "-O3", "-march=native", source, "-o", scratch / "peak"], check=True)
        peak = json.loads(pinned([scratch / "peak"]).stdout)
        for folder in args.folders:
            try:
                rows.append(measure(args.cameo, folder, args.rounds, scratch))
            except (subprocess.CalledProcessError, RuntimeError) as e:
                failed += 1
                print(f"{folder.name}: {getattr(e, 'stderr', None) or e}", file=sys.stderr)
            else:
                print(f"{folder.name} done", file=sys.stderr, flush=True)
    text = table(rows, peak)
    print(text)
    if args.out:
        replace_table(args.out, text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
