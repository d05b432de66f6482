#!/usr/bin/env python3
"""Latency, start-up, memory and size beside ONNX Runtime, interleaved in one run.

    python3 bench.py --cameo PATH MODEL_FOLDER... [--rounds 10] [--out docs/performance.md]

Each MODEL_FOLDER holds model.onnx and test_data_set_0, as the backend suite lays them out. Both sides take one
thread and are pinned to one core; rounds go A B A B; the minimum and the median of all rounds are printed.
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


def measure(cameo, folder, rounds, scratch):
    net = scratch / "net"
    begin = time.perf_counter()
    subprocess.run([cameo, "compile", folder / "model.onnx", "-o", net], check=True, capture_output=True)
    compile_s = time.perf_counter() - begin
    data = folder / "test_data_set_0"
    ours, theirs, peer = [], [], {}
    for _ in range(rounds):
        line = json.loads(pinned([net, "--inputs-from", data, "--bench", 20]).stdout)
        ours.append((line["min_ms"], line["median_ms"]))
        rss = line["max_rss_kb"]
        peer = json.loads(pinned([sys.executable, "-c", PEER, folder, 20]).stdout)
        theirs.append((min(peer["times"]), statistics.median(peer["times"])))
    begin = time.perf_counter()
    pinned([net, "--inputs-from", data])
    return {"model": folder.name, "min": (min(o[0] for o in ours), min(t[0] for t in theirs)),
            "median": (statistics.median(o[1] for o in ours), statistics.median(t[1] for t in theirs)),
            "start": ((time.perf_counter() - begin) * 1e3, peer["start_ms"]), "rss": (rss, peer["rss_kb"]),
            "size": net.stat().st_size, "compile_s": compile_s}


def table(rows, peak):
    import onnxruntime
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    out = [f"Machine: {cpu}, {os.cpu_count()} cores visible, one used; measured peak of one core "
           f"{peak['gflops']} GFLOP/s (float32), {peak['read_gb_s']} GB/s read from memory. "
           f"Peer: ONNX Runtime {onnxruntime.__version__}, one thread, default optimisations.", "",
           "| model | Cameo ms, min / median | ONNX Runtime ms, min / median | ratio of minima | first output ms | peak MB | shipped KB | compile s |",
           "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        out.append(f"| {r['model']} | {r['min'][0]:.3f} / {r['median'][0]:.3f} | {r['min'][1]:.3f} / {r['median'][1]:.3f} "
                   f"| {r['min'][1] / r['min'][0]:.2f}x | {r['start'][0]:.0f} / {r['start'][1]:.0f} "
                   f"| {r['rss'][0] / 1024:.0f} / {r['rss'][1] / 1024:.0f} | {r['size'] / 1024:.0f} / {library_size() / 1024:.0f} + model "
                   f"| {r['compile_s']:.1f} |")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--out", type=pathlib.Path)
    args = p.parse_args()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        source = pathlib.Path(__file__).parent / "peak.c"
        subprocess.run(["gcc", "-O3", "-march=native", source, "-o", scratch / "peak"], check=True)
        peak = json.loads(pinned([scratch / "peak"]).stdout)
        for folder in args.folders:
            try:
                rows.append(measure(args.cameo, folder, args.rounds, scratch))
            except subprocess.CalledProcessError as e:
                print(f"{folder.name}: {(e.stderr or '')[-300:]}", file=sys.stderr)
    text = table(rows, peak)
    print(text)
    if args.out:
        args.out.write_text("# Performance\n\n`tests/bench/bench.py` measures latency at batch 1, the time from start to the first "
                            "output, peak memory and shipped size, interleaved with its peer. Pairs are Cameo / peer.\n\n" + text + "\n")


if __name__ == "__main__":
    main()
