#!/usr/bin/env python3
"""What `cameo verify --layers` takes beside a plain run: time and memory, model by model.

    python3 layers.py --cameo PATH MODEL... [--threads 1] [--rounds 3] [--out docs/performance.md]

Two programs are compiled of each model by the same compiler: the model as it is, fused and with its fastest kernels, and
the model with its shadow, as --layers has it. Compiling is not counted. Time is processor
time a run, the difference between many runs and few, the least of several rounds in turn: what else runs on the machine
counts little. Memory is the greatest that the process had resident, less what an empty model's program has, of several
starts the median: how many pages the system maps around one that is read differs by where it puts a program. Inputs are a
data set beside the model (test_data_set_0, data_0.npz) or made up.
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

# What a model has been through before it is given its shadow: pass_pipeline.
PASSES = ["inline_functions", "sort_nodes", "bind_gradients", "sort_nodes", "eliminate_dead", "infer", "integer_products",
          "fold_constants", "sink_if", "eliminate_dead", "shadow"]
EMPTY = """<ir_version: 8, opset_import: ["" : 17]>
empty (float[1] x) => (float[1] y) { y = Neg(x) }
"""


def quiet(*command):
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def inputs(model):
    if (model.parent / "test_data_set_0").is_dir():
        return ["--inputs-from", model.parent / "test_data_set_0"]
    return [model.parent / "data_0.npz"] if (model.parent / "data_0.npz").exists() else ["--random"]


def run(program, given, runs, threads):
    """Processor seconds and the greatest resident size, in KB, of a process of so many runs."""
    # from a small shell: the peak that a process reports begins with that of the one it was forked from
    child = subprocess.Popen(["sh", "-c", '"$@"; exit $?', "sh", str(program), *map(str, given), "--bench", str(runs),
                              "--threads", str(threads)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, str(program))
    return used.ru_utime + used.ru_stime, json.loads(said.splitlines()[-1])["max_rss_kb"]


def peak(program, given, threads, starts=7):
    """The median of the greatest resident sizes, in KB."""
    return statistics.median(run(program, given, 1, threads)[1] for _ in range(starts))


class Program:
    def __init__(self, cameo, source, folder, name, given):
        self.at, self.given, self.best, self.peak = folder / name, given, None, 0
        quiet(cameo, "compile", source, "-o", self.at, "-q", "--cc", "clang-19")

    def measure(self, threads, seconds=1.0):
        few, _ = run(self.at, self.given, 1, threads)
        runs = 2
        while True:
            many, _ = run(self.at, self.given, runs, threads)
            if many - few > seconds / 4 or runs > 100000:
                break
            runs *= 4
        one = (many - few) / (runs - 1)
        self.best = one if self.best is None else min(self.best, one)


def measure(cameo, model, folder, threads, rounds, empty):
    given = inputs(model)
    quiet(cameo, "opt", model, "--passes", ",".join(PASSES), "-o", folder / "shadow.cir")
    plain = Program(cameo, model, folder, "plain", given)
    shadow = Program(cameo, folder / "shadow.cir", folder, "shadow", given)
    for _ in range(rounds):
        plain.measure(threads)
        shadow.measure(threads)
    plain.peak, shadow.peak = peak(plain.at, given, threads), peak(shadow.at, given, threads)
    return 1e3 * plain.best, 1e3 * shadow.best, max(plain.peak - empty, 1) / 1024, (shadow.peak - empty) / 1024


def name_of(model):
    return model.parent.name if model.name == "model.onnx" else model.stem


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--cameo", required=True, type=pathlib.Path)
    p.add_argument("models", nargs="+", type=pathlib.Path)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--out", type=pathlib.Path)
    a = p.parse_args()
    cameo, failed = a.cameo.resolve(), 0
    lines = ["| model | plain ms | with layers ms | times | plain MB | with layers MB | times |", "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "empty.onnxtxt").write_text(EMPTY)
        nothing = Program(cameo, folder / "empty.onnxtxt", folder, "empty", ["--random"])
        empty = peak(nothing.at, nothing.given, a.threads)
        for model in a.models:
            model = model / "model.onnx" if model.is_dir() else model
            try:
                t, u, m, n = measure(cameo, model.resolve(), folder, a.threads, a.rounds, empty)
                lines.append(f"| {name_of(model)} | {t:.3g} | {u:.3g} | {u / t:.1f} | {m:.1f} | {n:.1f} | {n / m:.1f} |")
            except subprocess.CalledProcessError as e:
                lines.append(f"| {name_of(model)} | does not run: {pathlib.Path(str(e.cmd if isinstance(e.cmd, str) else e.cmd[1])).name} | | | | | |")
                failed += 1
            print(lines[-1], flush=True)
    head = f"Machine: {platform.processor() or platform.machine()}, {a.threads} thread{'s' * (a.threads > 1)}; load " \
           f"{' / '.join(f'{x:.1f}' for x in os.getloadavg())}; processor time."
    if a.out:
        text = a.out.read_text()
        begin, end = text.index("<!-- layers -->"), text.index("<!-- end of layers -->")
        a.out.write_text(text[:begin] + "<!-- layers -->\n" + head + "\n\n" + "\n".join(lines) + "\n" + text[end:])
    print(head)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
