#!/usr/bin/env python3
"""table.py SUITE CPU.json CUDA.json PEERS.json OUT: docs/conformance.md of what run.py --json and peers.py --json wrote."""
import collections
import json
import pathlib
import sys

import batch

HEAD = """# Conformance

The backend suite of onnx {onnx}, {count} cases, each judged by its own tolerance: as compiled C, as CUDA on the emulated
device, and the same cases in ONNX Runtime {ort} (CPU, from PyPI) and in the reference evaluator of onnx. A case that a peer does
not load, or says that it does not implement, is refused; a case whose outputs differ, or that ends in an error, failed. The
suite is newer than the release of ONNX Runtime: opsets that it does not load yet count as refused.

Written by `tests/conformance/table.py` from what `run.py --json` and `peers.py --json` report.

| | passed | refused | failed | judged by what is drawn |
|---|---|---|---|---|
"""
NOTES = """
Cases of operators that draw random numbers cannot be compared: Cameo's are judged by dtype, shape, support, scaling, repeatability
for a seed and a chi-square over 100,000 draws (`tests/conformance/draws.py`), and count as passed: {drawn}. They are left
out for the peers.

In {noise} the expected values are the rounding noise of NumPy's float32 transform, so atol is 1e-6 there.

By operator, where any of the four has a case that does not pass:

| operator | cases | C | CUDA | ONNX Runtime | reference evaluator |
|---|---|---|---|---|---|
"""


def main():
    import onnx
    import onnxruntime
    suite, cpu, cuda, peers, out = map(pathlib.Path, sys.argv[1:6])
    rows = json.loads((suite / "cases.json").read_text())
    cases = [batch.Case(i, suite / r["name"], r["kind"]) for i, r in enumerate(rows)]
    ours = [json.loads(p.read_text()) for p in (cpu, cuda)]
    theirs = json.loads(peers.read_text())
    status = {c.name: [o[c.name][0] for o in ours] + [theirs[c.name][p][0] for p in ("onnxruntime", "reference")] for c in cases}
    names = ["Cameo, C", "Cameo, CUDA", "ONNX Runtime", "reference evaluator"]
    text = HEAD.format(onnx=onnx.__version__, ort=onnxruntime.__version__, count=f"{len(cases):,}")
    for k, name in enumerate(names):
        n = collections.Counter(s[k] for s in status.values())
        text += f"| {name} | {n['passed']:,} | {n['refused']:,} | {n['failed'] + n['crashed']:,} | {n['drawn'] or ''} |\n"
    drawn = [c.name for c in cases if batch.draws.is_judged(c.folder, c.model)]
    noise = [c.name for c in cases if c.noise]
    text += NOTES.format(drawn=", ".join(f"`{n}`" for n in drawn), noise=" and ".join(f"`{n}`" for n in noise))
    table = collections.defaultdict(list)
    for c in cases:
        kinds = sorted({n.op_type for n in c.model.graph.node})
        table[kinds[0] if len(kinds) == 1 else "(several)"].append(status[c.name])
    for op in sorted(table):
        counted = [[s[k] for s in table[op] if s[k] != "drawn"] for k in range(4)]
        if all(set(c) <= {"passed"} for c in counted):
            continue
        cells = [f"{c.count('passed')} of {len(c)}" if c else "" for c in counted]
        text += f"| {op} | {len(table[op])} | {' | '.join(cells)} |\n"
    out.write_text(text)


if __name__ == "__main__":
    main()
