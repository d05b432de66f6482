#!/usr/bin/env python3
"""Writes docs/operators.md from what `cameo ops --json` prints, or says whether it is so.

    python3 operators.py CAMEO [--write]

Without --write: exit 1 if docs/operators.md is not what would be written.
"""
import difflib
import json
import pathlib
import subprocess
import sys

FIRST = 7
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"
HEAD = """\
# Operators

What `cameo ops` says of the registry: every operator of the standard that opset {first} or a later one has in force
(of other domains: every version), with the versions that have a meaning in Cameo and the dtypes of the operand that
most are allowed for, at the newest of these. `cameo ops OPERATOR` prints all of its operands at each version. Kernels
run on the CPU and as CUDA; "host" are those whose values are no tensors of numbers, which stay on the host.

Each version is compiled, run and compared with ONNX Runtime or the reference evaluator at the highest opset at which it
is in force (`tests/versions/`). This page is written by `tests/versions/operators.py` and a test holds it to the
registry.
"""
# Dtypes that mostly come together, by one word; longer ones first.
GROUPS = [
    ("floats", "float16 float32 float64 bfloat16"),
    ("ints", "int8 int16 int32 int64 uint8 uint16 uint32 uint64"),
    ("float8", "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"),
    ("4 bits", "int4 uint4"),
    ("2 bits", "int2 uint2"),
    ("float6", "float6e2m3 float6e3m2"),
]


def words(types):
    left, said = list(types), []
    for word, members in GROUPS:
        if all(m in left for m in members.split()):
            said.append(word)
            left = [t for t in left if t not in members.split()]
    nested = [t for t in ("sequence", "optional", "map") if t in left]
    return ", ".join(said + sorted(set(left) - set(nested)) + nested)


def ranges(versions, standard):
    """("all since 7" or the ranges of opsets with a meaning, or "", "missing" ones)."""
    first = FIRST if standard else 1
    spans, missing = [], []
    for v in versions:
        if v["until"] is not None and v["until"] < first:
            continue
        begin = max(v["since"], first)
        if v["devices"]:
            if spans and spans[-1][1] is not None and spans[-1][1] + 1 == begin:
                spans[-1][1] = v["until"]
            else:
                spans.append([begin, v["until"]])
        elif not v["deprecated"]:
            missing.append(span(begin, v["until"]))
    if len(spans) == 1 and not missing and spans[0][1] is None:
        return f"all since {spans[0][0]}", []
    return ", ".join(span(*s) for s in spans), missing


def span(begin, end):
    return f"{begin} and later" if end is None else f"{begin} to {end}" if end > begin else str(begin)


def line(op):
    versions, missing = ranges(op["versions"], op["domain"] == "")
    newest = next((v for v in reversed(op["versions"]) if v["devices"]), None)
    if newest is None:
        return None
    types = max(newest["types"].values(), key=len, default=[])
    host = "" if "cuda" in newest["devices"] else " (host)"
    said = versions + (f"; not {', '.join(missing)}" if missing else "")
    return f"| {op['name']}{host} | {said} | {words(types)} |\n"


def page(table):
    text = HEAD.format(first=FIRST)
    text += "\nDtypes in one word: " + "; ".join(f"*{w}* are {', '.join(m.split())}" for w, m in GROUPS) + ".\n"
    missing, counted = [], 0
    for domain in sorted({o["domain"] for o in table["ops"]}):
        ops = [o for o in table["ops"] if o["domain"] == domain]
        lines = [(o, line(o)) for o in ops]
        held = [said for _, said in lines if said]
        counted += len(held)
        missing += [f"{domain + '.' if domain else ''}{o['name']}" for o, said in lines
                    if not said and not all(v["deprecated"] for v in o["versions"])]
        if held:
            text += f"\n## {domain or 'The standard domain'}\n\n| operator | opsets | dtypes |\n|---|---|---|\n"
            text += "".join(held)
    if missing:
        text += "\n## Not supported\n\nRefused by a diagnostic that names the operator: " + ", ".join(missing) + ".\n"
    return text + f"\n{counted} operators.\n"


def main():
    cameo, write = sys.argv[1], "--write" in sys.argv[2:]
    done = subprocess.run([cameo, "ops", "--json"], capture_output=True, text=True, check=True)
    want = page(json.loads(done.stdout))
    if write:
        PAGE.write_text(want)
        return 0
    have = PAGE.read_text() if PAGE.exists() else ""
    changes = list(difflib.unified_diff(have.splitlines(), want.splitlines(), "docs/operators.md", "cameo ops",
                                        lineterm="", n=0))
    print("\n".join(changes[:40]) or "docs/operators.md is what the registry says")
    if changes:
        print("write it anew: python3 tests/versions/operators.py CAMEO --write")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
