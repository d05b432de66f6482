#!/usr/bin/env python3
"""pages.py CAMEO ROOT [--write]: each lint rule has a page in one form, and docs/rules.md is what the table and the pages say.

A page (passes/lint/explain/ID.txt): what the rule finds; then "Example:" with lines indented by two spaces, "Frameworks say:",
"Fix:" and "Reference:", each at the start of a line of its own, in this order. Lines of at most 100 columns. What a reference
quotes of an ONNX operator, and the attributes that it names, are in that operator's schema. An example begins with a whole model, and in comments of it with the commands that show the finding: what is typed so
gives it. --write writes docs/rules.md anew.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

HEADINGS = ["Example:", "Frameworks say:", "Fix:", "Reference:"]


def faults(text):
    """What is wrong with a page's form."""
    lines = text.splitlines()
    at = [(i, h) for i, line in enumerate(lines) for h in HEADINGS if line.startswith(h)]
    found = [h for _, h in at]
    if found != HEADINGS:
        return [f"headings {found}, not {HEADINGS}"]
    wrong = [] if any(line.strip() for line in lines[:at[0][0]]) else ["says nothing in front of the example"]
    for (i, heading), (end, _) in zip(at, at[1:] + [(len(lines), "")]):
        body = [lines[i][len(heading):]] + lines[i + 1:end]
        if not any(line.strip() for line in body):
            wrong.append(f"nothing under {heading}")
        if heading == "Example:" and not any(line.startswith("  ") for line in body):
            wrong.append("the example is not indented")
        if i == 0 or lines[i - 1].strip():
            wrong.append(f"no empty line in front of {heading}")
    wrong += [f"a line of {len(line)} columns" for line in lines if len(line) > 100]
    return wrong + (["a tab or a space at a line's end"] if re.search(r"\t| $", text, re.M) else [])


def untrue(text):
    """What a page's reference says of ONNX operators that their newest schemas do not."""
    schemas = {s.name: s for s in onnx.defs.get_all_schemas()}
    wrong = []
    for clause in " ".join(text.split("Reference:")[1].split()).split("; "):
        if not re.match(r"ONNX (operators? |docs/Operators\.md)", clause):
            continue
        outside = re.sub(r'"[^"]*"', "", clause)
        named = [schemas[word] for word in re.findall(r"\b[A-Z]\w+", outside) if word in schemas]
        said = " ".join(" ".join([s.doc] + [o.description for o in [*s.inputs, *s.outputs]]) for s in named)
        said = " ".join(said.split())
        wrong += [f"no operator of this reference says {q!r}" for q in re.findall(r'"([^"]*)"', clause)
                  if named and q not in said]
        listed = re.search(r"attributes? (\w+(?:, \w+)*)", outside)
        wrong += [f"{s.name} has no attribute {a}" for s in named for a in (listed[1].split(", ") if listed else [])
                  if a not in s.attributes]
        if clause.startswith("ONNX operator") and not named:
            wrong.append(f"no operator in {clause!r}")
    return wrong


def typed(cameo, rule, text):
    """What is wrong with what comes of a page's example where it is typed into a file as it stands."""
    block = text.split("Example:\n")[1].split("\n\n")[0]
    model = "".join(line[2:] + "\n" for line in block.splitlines())
    commands = [line[2:] for line in model.splitlines() if line.startswith("# ")]
    if not commands or any(not line.startswith("  ") for line in block.splitlines()):
        return ["its example does not begin with a model and a command"]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for name, program in (("cameo", cameo), ("python3", sys.executable)):
            (place / "bin").mkdir(exist_ok=True)
            (place / "bin" / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
            (place / "bin" / name).chmod(0o755)
        (place / commands[-1].split()[-1]).write_text(model)
        env = {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd=place, env=env, capture_output=True, text=True, timeout=60)
    return [] if f"[{rule}]: " in done.stdout else [f"its example does not fire: {done.stdout}{done.stderr}"]


def main():
    cameo, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    rules = json.loads(subprocess.run([cameo, "rules", "--format", "json"], capture_output=True, text=True, check=True).stdout)
    ids = [rule["id"] for rule in rules["rules"]]
    wrong = [] if ids == sorted(ids) else ["rules.def is not in the order of the ids"]
    for page in sorted((root / "passes/lint/explain").glob("*.txt")):
        if page.stem not in ids:
            wrong.append(f"{page.name}: there is no such rule")
        wrong += [f"{page.name}: {fault}" for fault in faults(page.read_text()) or untrue(page.read_text())]
        wrong += [f"{page.name}: {fault}" for fault in typed(cameo, page.stem, page.read_text())]
    wrong += [f"{i}: no page in passes/lint/explain/" for i in ids if not (root / f"passes/lint/explain/{i}.txt").exists()]
    done = subprocess.run([cameo, "rules", "--format", "markdown"], capture_output=True, text=True, check=True)
    if "--write" in sys.argv:
        (root / "docs/rules.md").write_text(done.stdout)
    elif (root / "docs/rules.md").read_text() != done.stdout:
        wrong.append("docs/rules.md is not what `cameo rules --format markdown` prints")
    print("\n".join(wrong + [f"{len(ids)} rules, {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
