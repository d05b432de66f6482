#!/usr/bin/env python3
"""rules.py CAMEO [FILE...]: models on which a lint rule fires, and near misses on which it is silent.

tests/lint/rules/ID.txt holds the models of rule ID. A model begins with a line

    --- fires PATH | MESSAGE        the rule reports at PATH, and its message or a note contains MESSAGE
    --- mended PATH | MESSAGE       the same, and `--fix --unsafe-fixes` leaves nothing of the rule and no error that
                                    was not there
    --- silent                      the rule reports nothing

and is in Cameo's text (its first line is cameo.ir/1) or in ONNX's. Further lines that begin with "--- " right behind the first
are further findings of the model, `--- args ARGUMENTS` for `cameo lint`, or `--- file NAME EXPRESSION`: a file beside the model
that holds what the expression of NumPy (np) gives: an array, a dict of them for .npz, bytes or text. A model gives the findings
it names and no others of that rule. Each rule has at least two models of each kind. A number about values has a mark (marks.py),
and each finding says what to do.
"""
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

from marks import unmarked

HERE = pathlib.Path(__file__).resolve().parent


def models(path):
    """(line number, heads, text) of each model of a file."""
    found, heads, lines, first = [], [], [], 0
    for number, line in enumerate(path.read_text().splitlines() + ["--- end"], 1):
        if not line.startswith("--- "):
            lines.append(line)
            continue
        if any(text.strip() for text in lines):
            if not heads:
                sys.exit(f"{path}: text before the first model")
            found.append((first, heads, "\n".join(lines).strip("\n") + "\n"))
            heads = []
        first = first if heads else number
        heads.append(line[4:])
        lines = []
    return found


def lint(cameo, rule, model, args):
    done = subprocess.run([cameo, "lint", "--select", rule, "--format", "json", *args, str(model)],
                          capture_output=True, text=True, timeout=60, cwd=model.parent)
    try:
        return json.loads(done.stdout)["findings"], done
    except ValueError:
        return None, done


def helpless(cameo, rule, model, args):
    """The headlines of findings that do not say what to do."""
    done = subprocess.run([cameo, "lint", "--select", rule, "--color", "never", *args, str(model)],
                          capture_output=True, text=True, timeout=60, cwd=model.parent)
    findings = re.split(r"\n(?=(?:error|warning|info)\[)", done.stdout)
    return [f.strip().split("\n")[0] for f in findings if f"[{rule}]" in f.strip().split("\n")[0] and "\n   = help: " not in f]


def says(finding, text):
    return text in finding["message"] or any(text in note for note in finding["notes"])


def write_file(path, content):
    """A data file: of arrays as NumPy and the onnx package write them, of bytes and text as they are."""
    if isinstance(content, (bytes, str)):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    elif isinstance(content, dict):
        (np.savez_compressed if "compressed" in path.name else np.savez)(path, **content)
    elif path.suffix == ".pb":
        import onnx.numpy_helper
        path.write_bytes(onnx.numpy_helper.from_array(content).SerializeToString())
    else:
        np.save(path, content, allow_pickle=True)


@functools.cache
def mends(cameo, rule):
    rules = json.loads(subprocess.run([cameo, "rules", "--format", "json"], capture_output=True, text=True, check=True).stdout)["rules"]
    return next(r["fix"] for r in rules if r["id"] == rule) != "-"


def judge(cameo, rule, heads, text, folder):
    """What is wrong with the findings of one model; None if nothing is."""
    expected, args, kinds = [], [], set()
    for head in heads:
        kind, _, rest = head.partition(" ")
        if kind == "args":
            args += shlex.split(rest)
            continue
        if kind == "file":
            name, _, expression = rest.partition(" ")
            write_file(folder / name, eval(expression, {"np": np}))
            continue
        kinds.add(kind)
        if kind in ("fires", "mended"):
            path, _, message = rest.partition("|")
            expected.append((path.strip(), message.strip()))
        elif kind != "silent":
            return f"unknown head: {head}"
    model = folder / ("model.cir" if text.startswith("cameo.ir/1") else "model.onnxtxt")
    model.write_text(text)
    findings, done = lint(cameo, rule, model, args)
    if findings is None:
        return f"no report: {done.stderr.strip()}"
    if done.returncode > (3 if rule == "SE006" else 1):
        return f"exit {done.returncode}: {done.stderr.strip()}"
    bare = [text for text in map(unmarked, findings) if text]
    if bare:
        return f"says of values what is neither proved nor measured nor assumed: {bare[0]}"
    found = [finding for finding in findings if finding["rule"] == rule]
    if any(f["fixes"] for f in found) and not mends(cameo, rule):
        return "offers a fix, and the rule has none"
    for path, message in expected:
        match = next((f for f in found if f["path"] == path and says(f, message)), None)
        if match is None:
            return f"no finding at {path} says {message!r}; found: " + str([(f["path"], f["message"]) for f in found])
        found.remove(match)
    if found:
        return f"reports too much: {found[0]['path']}: {found[0]['message']}"
    lost = helpless(cameo, rule, model, args) if expected else []
    if lost:
        return f"does not say what to do: {lost[0]}"
    if "mended" in kinds:
        out, again = folder / ("fixed" + model.suffix), folder / ("again" + model.suffix)
        for source, mended in ((model, out), (out, again)):
            subprocess.run([cameo, "lint", "--select", rule, "--fix", "--unsafe-fixes", *args, str(source), "-o", str(mended)],
                           capture_output=True, text=True, timeout=60)
        if again.read_bytes() != out.read_bytes():
            return "mending again changes the model"
        left, done = lint(cameo, rule, out, args)
        if left is None or any(f["rule"] == rule or f["severity"] == "error" for f in left):
            return f"not mended: {done.stderr.strip()} {left}"
        more = errors(cameo, out, args) - errors(cameo, model, args)
        if more:
            return f"mended, and broken otherwise: {sorted(more)}"
    return None


def errors(cameo, model, args):
    """The rules that find an error in the model, of all that run by default."""
    done = subprocess.run([cameo, "lint", "--format", "json", *args, str(model)], capture_output=True, text=True, timeout=60,
                          cwd=model.parent, check=False)
    return {f["rule"] for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"}


def main():
    cameo = str(pathlib.Path(sys.argv[1]).resolve())
    rules = json.loads(subprocess.run([cameo, "rules", "--format", "json"], capture_output=True, text=True, check=True).stdout)
    ids = [rule["id"] for rule in rules["rules"]]
    files = [pathlib.Path(f) for f in sys.argv[2:]] or sorted((HERE / "rules").glob("*.txt"))
    failed = count = 0
    for path in files:
        if path.stem not in ids:
            print(f"{path.name}: there is no such rule")
            failed += 1
            continue
        firing = silent = 0
        for line, heads, text in models(path):
            with tempfile.TemporaryDirectory() as folder:
                wrong = judge(cameo, path.stem, heads, text, pathlib.Path(folder))
            count += 1
            firing += heads[0] != "silent"
            silent += heads[0] == "silent"
            if wrong:
                failed += 1
                print(f"{path.name}:{line}: {wrong}")
        if firing < 2 or silent < 2:
            failed += 1
            print(f"{path.name}: {firing} models fire and {silent} do not; at least two of each")
    missing = [] if sys.argv[2:] else [i for i in ids if not (HERE / "rules" / f"{i}.txt").exists()]
    for rule in missing:
        failed += 1
        print(f"{rule}: no models in tests/lint/rules/")
    print(f"{count} models for {len(files)} rules, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
