#!/usr/bin/env python3
"""Latency, start-up, memory and size beside other runtimes (peers.py), interleaved in one run.

    python3 bench.py --cameo PATH MODEL_FOLDER... [--rounds 30] [--threads 1,2] [--out docs/performance.md]

Each MODEL_FOLDER holds model.onnx and test_data_set_0, as the backend suite lays them out; make_models.py writes some.
All sides take as many threads and are pinned to as many cores; peers stay loaded, and rounds go A B C A B C; the minimum and the median of all
rounds are printed, the share of the machine's peak, measured in the same run, that the minimum is, and by the side of what is
asked of it what the floor allows (floors.py). Outputs are compared with the data set before anything is timed; a peer whose
own are off by more than 1 % is listed, but is no opponent. --error says another share, which Cameo's are held to as well: those
of quantised models differ by steps. --out replaces the table in that file.
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

import peers
from floors import Peak, Target, Work, on_cores, pinned

ERROR = 1e-2  # a peer whose outputs are further off, root mean square, is no opponent


def apart(command):
    """The same from a small shell: the peak memory that a process reports begins with that of the one it was forked from."""
    return ["sh", "-c", '"$@"; exit $?', "sh", *command]


def time_ours(net, data, runs, threads):
    line = json.loads(pinned(apart([net, "--inputs-from", data, "--bench", runs,
                                    *(["--threads", threads] if threads > 1 else [])]), threads).stdout)
    return {"times": [line["min_ms"], line["median_ms"]], "rss_kb": line["max_rss_kb"]}


def error_of(net, data, scratch):
    """The greatest root mean square of the difference to an output of the data set, as a share of that output's."""
    import onnx
    from onnx import numpy_helper
    pinned([net, "--inputs-from", data, "-o", scratch / "out", "--format", "pb"])
    worst = 0.0
    for path in sorted(data.glob("output_*.pb")):
        want, got = (numpy_helper.to_array(onnx.load_tensor(p)).astype(np.float64) for p in (path, scratch / "out" / path.name))
        worst = max(worst, float(np.sqrt(np.mean((got - want) ** 2) / max(np.mean(want ** 2), 1e-300))))
    return worst


def compiled(cameo, folder, scratch, options):
    net, data, more = scratch / "net", folder / "test_data_set_0", options.options.split()
    begin = time.perf_counter()
    said = subprocess.run([cameo, "compile", folder / "model.onnx", "-o", net, "--no-cache", "--report", "json", *more],
                          check=True, capture_output=True)
    seconds = time.perf_counter() - begin
    if options.error:
        error = error_of(net, data, scratch)
        if not error <= options.error:
            raise RuntimeError(f"the outputs are {error:.1%} off those of the data set")
    elif subprocess.run([cameo, "verify", folder / "model.onnx", data, *more], capture_output=True).returncode != 0:
        raise RuntimeError("the outputs are not those of the data set")
    return net, {"compile_s": seconds, "packed": json.loads(said.stdout)["weights_bytes"]}


def measure(net, folder, threads, options):
    """A row: for Cameo and each peer that loads the model the least and the median time, and what else it takes."""
    data = folder / "test_data_set_0"
    once = time_ours(net, data, 3, threads)["times"][0]
    runs = max(3, min(100, int(options.round_ms / once)))
    loaded = {p.name: p.loaded(on_cores(apart([]), threads), folder, threads, options.peers_in) for p in options.peers}
    found = {name: peer for name, peer in loaded.items() if peer}
    ours = []
    for _ in range(options.rounds):
        ours.append(time_ours(net, data, runs, threads))
        for peer in found.values():
            peer.round(runs)
    for peer in found.values():
        peer.end()
    begin = time.perf_counter()
    pinned([net, "--inputs-from", data], threads)
    sides = {"Cameo": {"min": min(o["times"][0] for o in ours), "median": statistics.median(o["times"][1] for o in ours),
                       "start": (time.perf_counter() - begin) * 1e3, "rss": ours[-1]["rss_kb"] / 1024, "error": 0.0}}
    for name, peer in found.items():
        sides[name] = {"min": min(min(r["times"]) for r in peer.rounds),
                       "median": statistics.median(statistics.median(r["times"]) for r in peer.rounds),
                       "start": peer.first["start_ms"], "rss": peer.rounds[-1]["rss_kb"] / 1024, "error": peer.first["error"]}
    return {"model": folder.name, "threads": threads, "sides": sides, "size": net.stat().st_size / 1e6,
            "allowed": options.error or ERROR, "model_size": (folder / "model.onnx").stat().st_size / 1e6}


def of_sides(row, names, key, form):
    sides = row["sides"]
    return " / ".join(form.format(sides[n][key]) if n in sides else "-" for n in names)


def ratio_to_best(row):
    """Least time of the best peer that is right, over ours."""
    best = [s["min"] for n, s in row["sides"].items() if n != "Cameo" and s["error"] <= row["allowed"]]
    return min(best) / row["sides"]["Cameo"]["min"] if best else None


def cells(r, names, peak, options):
    """Those of a row of the table, in the order of HEADING."""
    work, threads, ours = r["work"], r["threads"], r["sides"]["Cameo"]["min"]
    halves = "bf16" in options.options
    definition = work.milliseconds(peak, halves, threads, work.products)
    read = work.weights_read(r["packed"], halves)
    floors = [] if read is None else [work.milliseconds(peak, halves, threads, work.least),
                                      1e-6 * read / peak.read_gb_s(threads, read)]
    best = ratio_to_best(r)
    wrong = [f"; {n} is {s['error']:.0%} off" for n, s in r["sides"].items() if s["error"] > r["allowed"]]
    target = Target(r["model"], work.precision(halves), threads, peak.of["amx_int8"] > 0, best and best * ours, max(floors, default=None))
    return [r["model"], str(threads), f"{sum(work.products.values()) / 1e6:.1f}" if work.products else "-",
            of_sides(r, names, "min", "{:.3f}"), of_sides(r, names, "median", "{:.3f}"),
            (f"{best:.2f}x" if best else "-") + "".join(wrong), f"{definition / ours:.0%}" if definition else "-",
            ", ".join(f"{f:.3f}" for f in floors) or "-", target.said(best),
            of_sides(r, names, "start", "{:.0f}"), of_sides(r, names, "rss", "{:.0f}"),
            " / ".join([f"{r['size']:.1f}"] + [f"{p.megabytes() + r['model_size']:.1f}" for p in options.peers]),
            f"{r['compile_s']:.1f}"]


HEADING = ["model", "threads", "million MACs", "ms, min", "ms, median", "best peer's time over Cameo's", "share of peak",
           "floors, ms", "asked | allowed by the floor | met", "first output ms", "peak MB", "shipped MB", "compile s"]


def table(rows, peak, options):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    load = " / ".join(f"{v:.1f}" for v in os.getloadavg())
    names = ["Cameo"] + [p.name for p in options.peers]
    versions = ", ".join(f"{p.name} {p.version()}" for p in options.peers)
    missing = "".join(f" {p.name} is not installed and was not compared." for p in peers.PEERS if p not in options.peers)
    head = " | ".join(HEADING)
    out = [f"Machine: {cpu}, {os.cpu_count()} cores visible; measured peak of one core {peak.said()}; load {load}. {versions}; "
           f"{options.rounds} rounds.{missing}",
           f"Figures are {' / '.join(names)}. Floors: arithmetic at the peak of what is multiplied, and the packed weights that a run "
           "needs, read at the best rate measured for so many bytes.",
           "", f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return "\n".join(out + [f"| {' | '.join(cells(r, names, peak, options))} |" for r in rows])


def replace_table(path, name, text):
    """The table stands between two lines of the file that name it; the words around it are kept."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    old = path.read_text()
    if begin not in old or end not in old:
        sys.exit(f"{path}: there is no {begin} with an {end} behind it; the table is above")
    head, _, rest = old.partition(begin)
    path.write_text(head + begin + "\n" + text + "\n" + end + rest.partition(end)[2])


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--round-ms", type=float, default=100, help="about how long one side runs in a round")
    p.add_argument("--threads", default="1", help="counts, with commas between")
    p.add_argument("--peers-in", default="f32", choices=("f32", "bf16"), help="what peers that can be told are to compute in")
    p.add_argument("--error", type=float, help="how far outputs may be off, root mean square, as a share of the output's")
    p.add_argument("--options", default="", help="more options of compile and verify, as one word")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--table", default="table", help="which table of the file: it stands after <!-- NAME -->")
    options = p.parse_args()
    options.peers = [peer for peer in peers.PEERS if peer.installed()]
    return options


def main():
    options = arguments()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        peak = Peak(scratch)
        for folder in options.folders:
            try:
                net, built = compiled(options.cameo, folder, scratch, options)
                work = Work(folder)
                for threads in map(int, options.threads.split(",")):
                    rows.append(measure(net, folder, threads, options) | built | {"work": work})
            except (subprocess.CalledProcessError, RuntimeError) as e:
                failed += 1
                print(f"{folder.name}: {getattr(e, 'stderr', None) or e}", file=sys.stderr)
            else:
                print(f"{folder.name} done", file=sys.stderr, flush=True)
        text = table(rows, peak, options)
    print(text)
    if options.out:
        replace_table(options.out, options.table, text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
