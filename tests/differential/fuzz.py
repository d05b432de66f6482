#!/usr/bin/env python3
"""Random nodes and graphs: compiled C, the interpreter and emulated CUDA against an independent oracle.

    python3 fuzz.py --cameo PATH --interp PATH [--seed S] [--count N] [--ops RE] [--only OP:SEED] [--cuda [N]] [--sanitize]
                    [--keep DIR] [--log FILE] [--coverage]
    python3 fuzz.py --cameo PATH --interp PATH --cuda 20 --chunks 40 --count 1500 --log FILE

Each case is a folder as those of the backend suite, judged by its runners (tests/conformance, tests/interp). A case is
named OPERATOR-SEED and can be made again from its name. Exit 1 if one differs, fails or crashes.

With --chunks the seeds S, S + 1, ... are run one after the other, each in four of five chunks through clang without
optimization, which takes a third of the time, else through gcc -O1; the log has a line of JSON a chunk, and
`--totals FILE` adds them up.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import onnx

import draw
import graphs
import oracle
import recipes
import regressions

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SETS = 3


def make_node_case(folder, op, seed):
    """Writes one case; returns how many data sets it has, and the dtypes of its tensors."""
    if op == "graph":
        return graphs.make_case(folder, seed, write_case, write_set, SETS), set()
    function, options = recipes.TABLE[op]
    d = draw.Draw(op, seed)
    function(d, **options)
    sets = SETS if any(i is not None and not i.constant for i in d.inputs) else 1
    data = [d.data_set(k) for k in range(sets)]
    results = [oracle.expected(d, arrays) for arrays in data]
    write_case(folder, draw.make_model(d, results[0]), oracle.tolerance(d, results[0]))
    for k, (arrays, outs) in enumerate(zip(data, results)):
        given = [(i.name, i.dtype, a) for i, a in zip(d.inputs, arrays) if i is not None and not i.constant]
        write_set(folder / f"test_data_set_{k}", given, [(f"y{j}", d.output_dtype(j), r) for j, r in enumerate(outs)])
    return sets, {i.dtype for i in d.inputs if i is not None} | {d.output_dtype(k) for k in range(len(results[0]))}


def write_case(folder, model, tolerance):
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    rtol, atol = tolerance
    (folder / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))


def write_set(data, inputs, outputs):
    data.mkdir()
    for kind, rows in (("input", inputs), ("output", outputs)):
        for k, (name, dtype, array) in enumerate(rows):
            (data / f"{kind}_{k}.pb").write_bytes(draw.tensor_of(name, array, dtype).SerializeToString())


def chosen(options):
    """Pairs of operator and seed."""
    if options.only:
        op, _, seed = options.only.partition(":")
        return [(op, int(seed))]
    ops = [op for op in recipes.TABLE if re.search(options.ops, op)]
    # One case in three is a graph, where all operators are asked for.
    ops += ["graph"] * (max(1, len(ops) // 2) if re.search(options.ops, "graph") else 0)
    rng = np.random.default_rng(options.seed)
    # Each operator in turn, so that a chunk reaches all of them.
    return [(ops[k % len(ops)], int(rng.integers(1 << 31))) for k in range(options.count)]


def generate(options, suite):
    rows, without, sets, broken, dtypes = [], collections.Counter(), 0, 0, collections.Counter()
    if options.regressions:
        rows = [{"name": n, "kind": "node"} for n in regressions.write(suite, write_case)]
        sets = len(rows)
    for op, seed in chosen(options):
        name = f"{op}-{seed}"
        try:
            made, types = make_node_case(suite / name, op, seed)
            sets += made
            dtypes.update(types)
            rows.append({"name": name, "kind": "node"})
        except oracle.NoOracle as e:
            without[op] += 1
            shutil.rmtree(suite / name, ignore_errors=True)
            if options.verbose:
                print(f"no oracle {name}: {e}")
        except Exception:  # a recipe that cannot make its node
            broken += 1
            print(f"recipe {name}: {traceback.format_exc().strip()[-600:]}")
    (suite / "cases.json").write_text(json.dumps(rows))
    return rows, without, sets, broken, dtypes


def conformance(options, suite, *extra):
    """Results by case of the suite's runner."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, ROOT / "tests/conformance/run.py", "--cameo", options.cameo, "--suite", suite,
                   "-j", str(options.jobs), "--json", out.name, *extra]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
        try:
            return json.loads(pathlib.Path(out.name).read_text())
        except ValueError:
            return {"(runner)": ["crashed", (done.stdout + done.stderr)[-2000:]]}


def interpreted(options, suite, *extra):
    command = [sys.executable, ROOT / "tests/interp/run.py", "--interp", options.interp, "--suite", suite,
               "-j", str(options.jobs), "--verbose", *extra]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
    results = {r: ["passed", ""] for r in (row["name"] for row in json.loads((suite / "cases.json").read_text()))}
    for line in done.stdout.splitlines():
        found = re.match(r"(failed|crashed|refused|too large) (\S+): (.*)", line)
        if found:
            results[found[2]] = [found[1], found[3]]
    if done.returncode not in (0, 1):
        results["(runner)"] = ["crashed", done.stderr[-500:]]
    return results


def ways(options):
    """Name and runner of each way that a case is computed."""
    some = [("c", lambda s: conformance(options, s, *options.extra.split()))]
    if options.interp:
        some.append(("interp", lambda s: interpreted(options, s)))
        some.append(("fused", lambda s: interpreted(options, s, "--fused")))
    if options.cuda:
        some.append(("cuda", lambda s: conformance(options, s, "--device", "cuda", "--every", options.cuda,
                                                   *options.extra.split())))
    if options.sanitize:
        some.append(("sanitized", lambda s: conformance(options, s, "--sanitize", "--compiler", "clang-19")))
    return some


def spent():
    """Seconds of the processor so far, of the processes that have ended too: others may use the machine."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run(options, suite):
    begin = spent()
    rows, without, sets, broken, dtypes = generate(options, suite)
    seconds = {"generate": spent() - begin}
    bad, refused, counts = {}, collections.Counter(), {}
    for way, runner in ways(options):
        begin = spent()
        results = runner(suite)
        seconds[way] = spent() - begin
        counts[way] = collections.Counter(status for status, _ in results.values())
        for name, (status, why) in results.items():
            if status in ("failed", "crashed"):
                bad.setdefault(name, []).append(f"{way}: {status}: {why}")
            elif status == "refused" and way == "c":
                refused[name.partition("-")[0]] += 1
                if options.verbose:
                    print(f"refused {name}: {why}")
    for name, said in sorted(bad.items()):
        for line in said:
            print(f"{name}: {line}")
    if options.keep:
        for name in bad:
            if (suite / name).exists() and not (options.keep / name).exists():
                options.keep.mkdir(parents=True, exist_ok=True)
                (suite / name).rename(options.keep / name)
    if refused:
        print("refused:", ", ".join(f"{op} {n}" for op, n in sorted(refused.items())))
    if without:
        print("no oracle:", ", ".join(f"{op} {n}" for op, n in sorted(without.items())))
    operators = collections.Counter(r["name"].partition("-")[0] for r in rows)
    return {"seed": options.seed, "count": options.count, "cases": len(rows), "sets": sets, "refused": dict(refused),
            "without an oracle": dict(without), "differ": sorted(bad), "broken": broken,
            "ways": {way: c["passed"] + c["failed"] for way, c in counts.items()} | {"optimize": options.extra},
            "operators": dict(operators), "dtypes": dict(dtypes),
            "seconds": {k: round(v, 1) for k, v in seconds.items()}}


def totals(path):
    """Adds up the lines of a log."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    seeds = sorted(r["seed"] for r in rows)
    print(f"seeds {seeds[0]} to {seeds[-1]} ({len(set(seeds))}), {rows[0]['count']} cases each")
    for key in ("cases", "sets", "broken"):
        print(f"{key}: {sum(r[key] for r in rows)}")
    print("differ:", ", ".join(n for r in rows for n in r["differ"]) or "none")
    for key in ("refused", "without an oracle", "ways", "operators", "dtypes", "seconds"):
        sums = collections.Counter()
        for r in rows:
            sums.update({k: v for k, v in r[key].items() if not isinstance(v, str)})
        print(f"{key} ({len(sums)}):", ", ".join(f"{k} {v:.10g}" for k, v in sorted(sums.items())))


def coverage():
    have = set(recipes.TABLE)
    every = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    print(f"{len(have)} operators have a recipe; without: {', '.join(sorted(every - have))}")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo")
    p.add_argument("--interp")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--ops", default="", help="a regular expression of operators")
    p.add_argument("--only", help="OPERATOR:SEED")
    p.add_argument("--regressions", action="store_true", help="what once differed, too")
    p.add_argument("--cuda", nargs="?", type=int, const=1, help="emulated CUDA, too, for every Nth case")
    p.add_argument("--chunks", type=int, default=1)
    p.add_argument("--totals", type=pathlib.Path, metavar="LOG", help="only add up what a log has")
    p.add_argument("--sanitize", action="store_true")
    p.add_argument("--extra", default="", help="more options of the suite's runner, as in --extra='--compiler clang-19'")
    p.add_argument("--keep", type=pathlib.Path, help="where cases that differ are left")
    p.add_argument("--suite", type=pathlib.Path, help="leave all cases there")
    p.add_argument("--log", type=pathlib.Path)
    p.add_argument("--coverage", action="store_true")
    p.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 2))
    p.add_argument("-v", "--verbose", action="store_true")
    return p.parse_args()


def main():
    options = arguments()
    recipes.load()
    if options.coverage or options.totals:
        return totals(options.totals) if options.totals else coverage()
    wrong, extra = 0, options.extra
    for options.seed in range(options.seed, options.seed + options.chunks):
        if options.chunks > 1 and options.seed % 5:
            options.extra = f"{extra} --compiler clang-19 --optimize=-O0"
        with tempfile.TemporaryDirectory(prefix="differential-") as work:
            row = run(options, options.suite or pathlib.Path(work))
        options.extra = extra
        print(f"seed {row['seed']}: {row['cases']} cases, {row['sets']} data sets, {sum(row['refused'].values())} refused, "
              f"{len(row['differ'])} differ; seconds of the processor: "
              + ", ".join(f"{k} {v}" for k, v in row["seconds"].items()), flush=True)
        wrong += len(row["differ"]) + row["broken"]
        if options.log:
            with options.log.open("a") as log:
                log.write(json.dumps(row) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
