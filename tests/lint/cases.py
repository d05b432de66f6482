#!/usr/bin/env python3
"""cases.py CAMEO ROOT [--write FILE] [--keep DIR] [NUMBER...]: real faults from public trackers, as models.

For each case of tests/lint/cases/: the model shows the fault (ONNX Runtime refuses it with the message that people saw, or it
gives what they saw), `cameo lint` finds it where the case says and finds nothing else, and the repair gives a model that
onnx.checker accepts in full and that computes what NumPy does in float64. docs/cases.md is made of the same table; --write
writes it anew, otherwise it has to be up to date. --keep leaves the models in a folder. Numbers: only these cases.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "cases"))

import numpy as np
import onnx
import onnx.checker
import onnx.reference
import onnxruntime

import case as case_module
import declared
import float16
import operands
import targets
from marks import unmarked

FAMILIES = [operands, declared, float16, targets]


class Wrong(Exception):
    pass


def lint(cameo, path, *args):
    return subprocess.run([cameo, "lint", *args, path.name], capture_output=True, text=True, timeout=60, cwd=path.parent)


def session(path, plain=False):
    options = onnxruntime.SessionOptions()
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def refusal(path, run):
    """What ONNX Runtime says against a model; None: nothing."""
    try:
        s = session(path)
        if run:
            s.run(None, run.feeds)
    except Exception as e:  # its exceptions have no common class
        return str(e)
    return None


def outputs(path, feeds, plain):
    s = session(path, plain)
    return dict(zip([o.name for o in s.get_outputs()], s.run(None, feeds)))


def as_written(path, feeds):
    """Node by node in the dtypes of the file, by the reference implementation."""
    with np.errstate(all="ignore"):
        evaluator = onnx.reference.ReferenceEvaluator(str(path))
        return dict(zip(evaluator.output_names, evaluator.run(None, feeds)))


def compare(found, run):
    for name, meant in run.meant.items():
        value = np.asarray(found[name])
        meant = np.asarray(meant)
        if value.shape != meant.shape:
            raise Wrong(f"output {name} has shape {value.shape}, not {meant.shape}")
        if value.dtype.kind in "iub":
            if not np.array_equal(value, meant):
                raise Wrong(f"output {name} is {value}, not {meant}")
        elif not np.allclose(value.astype(np.float64), meant.astype(np.float64), run.rtol, run.atol):
            raise Wrong(f"output {name} is {value.ravel()[:6]}, not {meant.ravel()[:6]}")


def check_findings(model, found):
    bare = [text for text in map(unmarked, found) if text]
    if bare:
        raise Wrong(f"says of values what is neither proved nor measured nor assumed: {bare[0]}")
    left = list(found)
    for wanted in model.finds:
        match = next((f for f in left if f["rule"] == wanted.rule and f["path"] == wanted.path), None)
        if match is None:
            raise Wrong(f"no {wanted.rule} at {wanted.path}; found " + str([(f["rule"], f["path"], f["message"]) for f in found]))
        text = "\n".join([match["message"], *match["notes"], *[f["text"] for f in match["fixes"]]])
        for part in wanted.says:
            if part not in text:
                raise Wrong(f"{wanted.rule} does not say {part!r}:\n{text}")
        origin = match.get("origin") or {}
        if wanted.origin and f"{origin.get('kind')} {origin.get('name')}" != wanted.origin:
            raise Wrong(f"{wanted.rule} begins at {origin}, not {wanted.origin}")
        left.remove(match)
    if left:
        raise Wrong("reports too much: " + str([(f["rule"], f["path"], f["message"]) for f in left]))


def judge(cameo, model, folder):
    """The lint output of a model that is as it should be."""
    path = folder / "model.onnx"
    proto = case_module.build(model)
    if model.folder:
        model.folder(proto, path)
    else:
        onnx.save(proto, path)
    for name, text in model.files.items():
        (folder / name).write_text(text)
    says = refusal(path, model.run)
    if model.refused and (not says or model.refused not in says):
        raise Wrong(f"ONNX Runtime says {says!r}")
    if model.wrong and not model.wrong(as_written(path, model.run.feeds)):
        raise Wrong(f"the fault does not show: {as_written(path, model.run.feeds)}")
    done = lint(cameo, path, "--format", "json", *model.args)
    try:
        found = json.loads(done.stdout)["findings"]
    except ValueError:
        raise Wrong(f"no report: {done.stderr}") from None
    check_findings(model, found)
    text = lint(cameo, path, *model.args).stdout
    ready = path
    if model.fix:
        ready = folder / "fixed.onnx"
        done = lint(cameo, path, model.fix, "-o", ready.name, "--format", "json", *model.args)
        fixed = json.loads(done.stdout)
        if fixed["findings"]:
            raise Wrong(f"not repaired: {[(f['rule'], f['path'], f['message']) for f in fixed['findings']]}")
        repaired = onnx.load(ready)
        onnx.checker.check_model(str(ready), full_check=True)
        said = model.fixed(repaired) if model.fixed else None
        if said:
            raise Wrong(f"the repair: {said}")
    if model.run and (model.fix or model.plain or not model.refused):
        compare(outputs(ready, model.run.feeds, model.plain), model.run)
    return text


def link(evidence):
    name, _, number = evidence.partition("#")
    return f"[{evidence}](https://github.com/{name}/issues/{number})" if number.isdigit() else evidence


def rules_of(case):
    return sorted({f.rule for m in case.models for f in m.finds})


def fix_of(case):
    fixes = {m.fix for m in case.models if m.finds}
    return "unsafe" if "--unsafe-fixes" in fixes and "--fix" not in fixes else \
        "safe" if fixes == {"--fix"} else "safe or unsafe" if len(fixes - {""}) == 2 else "safe" if "--fix" in fixes else "none"


HEAD = """# Real faults

{count} faults from public trackers, each as the smallest model that shows it as it happened, with what Cameo prints. For each
model the test (`tests/lint/cases.py`) checks that the fault is there (ONNX Runtime {ort} refuses the model with the words
quoted, or the model, run node by node in the dtypes of the file, gives what people saw), that Cameo finds it where the case
says and reports nothing else, that the repaired model passes `onnx.checker` with `full_check=True`, and that it computes
what NumPy does in float64. This page is made by `tests/lint/cases.py CAMEO . --write docs/cases.md`; `--keep DIR` leaves the
models in a folder.

| case | fault | rules | fix | models |
|---|---|---|---|---|
"""


def page(cases, texts):
    out = [HEAD.format(count=len(cases), ort=".".join(onnxruntime.__version__.split(".")[:2]))]
    for case in cases:
        rules = ", ".join(f"[{r}](rules.md#{r})" for r in rules_of(case))
        out.append(f"| [{case.number}](#{case.number}) | {case.title} | {rules} | {fix_of(case)} | "
                   f"[{case.family}.py](../tests/lint/cases/{case.family}.py) |\n")
    for case in cases:
        out.append(f'\n## <a name="{case.number}"></a>{case.number}. {case.title}\n\n')
        out.append("Seen in " + ", ".join(link(e) for e in case.evidence) + f".\n\n{case.seen}\n")
        for model, text in zip(case.models, texts[case.number]):
            what = f"{model.what[0].upper()}{model.what[1:]}.\n" if model.what else ""
            out.append(f"\n{what}" if what else "")
            if model.refused:
                out.append(f"\nONNX Runtime: `{model.refused}`\n")
            out.append("\n```\n$ cameo lint " + " ".join([*model.args, "model.onnx"]) + f"\n{text.rstrip()}\n```\n")
        out.append(f"\nFix: {case.repair}\n")
        if case.limits:
            out.append(f"\nLimits: {case.limits}\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cameo", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("numbers", type=int, nargs="*")
    args = parser.parse_intermixed_args()
    cameo = str(args.cameo.resolve())
    for family in FAMILIES:
        for case in family.CASES:
            case.family = family.__name__
    cases = sorted((c for family in FAMILIES for c in family.CASES), key=lambda c: c.number)
    failed = models = 0
    texts = {}
    for case in cases:
        if args.numbers and case.number not in args.numbers:
            continue
        for i, model in enumerate(case.models):
            models += 1
            with tempfile.TemporaryDirectory() as scratch:
                folder = args.keep / f"{case.number:02}-{i}" if args.keep else pathlib.Path(scratch)
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    text = judge(cameo, model, folder)
                    texts.setdefault(case.number, []).append(text)
                    if args.verbose:
                        print(f"case {case.number}: {case.title}\n{text}")
                except Exception as e:
                    failed += 1
                    print(f"case {case.number}, model {i}: {case.title}: {type(e).__name__}: {e}")
                    if args.verbose:
                        print(lint(cameo, folder / "model.onnx", *model.args).stdout)
        if len(texts.get(case.number, [])) == len(case.models):
            print(f"{case.number:3} {case.title}: {', '.join(rules_of(case))}; fix: {fix_of(case)}")
    if not failed and not args.numbers:
        made = page(cases, texts)
        if args.write:
            args.write.write_text(made)
        elif not (args.root / "docs/cases.md").exists() or (args.root / "docs/cases.md").read_text() != made:
            failed += 1
            print("docs/cases.md is not what --write writes")
    print(f"{len(cases)} cases, {models} models, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
