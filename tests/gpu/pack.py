#!/usr/bin/env python3
"""Writes a folder that builds and checks emitted CUDA on a machine with a GPU: pack.py --cameo PATH -o FOLDER

    [--suite DIR] [--models DIR] [--every N] [--filter RE] [--unit N]

On that machine `python3 run.py` in the folder needs the CUDA toolkit, a C compiler and NumPy: neither network, LLVM nor
cameo. The folder holds emitted sources and weights, inputs, expected outputs, and the cases of the backend suite in batches,
in 60 MiB at most. What cameo refuses is not in it; whole networks of the suite are left out for their size.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import draws  # noqa: E402

ROOT = HERE.parent.parent
LIMIT = 60 << 20
MAIN = """\
#include "cameo_main.h"
extern const cameo_model NAME_model;
int main(int argc, char **argv)
{
    return cameo_main(&NAME_model, argc, argv);
}
"""


def emit(cameo, model, out, *options):
    """None, or what cameo said."""
    done = subprocess.run([str(c) for c in (cameo, "compile", model, "--emit", "c", "--device", "cuda", "--prefix", out.stem,
                                            "-o", out, *options)], capture_output=True, text=True, errors="replace")
    return None if done.returncode == 0 else done.stderr.strip()


def without_repeats(text, seen):
    """Drops guarded parts (#ifndef CAMEO_X_H ... #endif) that an earlier text of the same unit has."""
    kept, skipping, depth = [], None, 0
    for line in text.splitlines(keepends=True):
        word = line.split()
        guard = word[1] if len(word) == 2 and word[0] == "#ifndef" and re.fullmatch(r"CAMEO_\w+_H", word[1]) else None
        if skipping is None and guard in seen:
            skipping, depth = guard, 0
        elif guard and skipping is None:
            seen.add(guard)
        if skipping is None:
            kept.append(line)
            continue
        directive = line.lstrip().startswith("#") and line.lstrip()[1:].lstrip() or ""
        depth += directive.startswith("if")
        depth -= directive.startswith("endif")
        if depth == 0:
            skipping = None
    return "".join(kept)


def one_image(text, name, unit, first):
    """The kernels of all cases of a unit are one image: each case's symbol is another name of it."""
    label, include = f'"{name}_image:\\n"', f'".incbin \\"{name}.fatbin\\"\\n"'
    if label not in text or include not in text:
        raise SystemExit(f"{name}: the image is not embedded as this script expects")
    own = f'".globl {unit}_kernels\\n" ".hidden {unit}_kernels\\n" "{unit}_kernels:\\n" ".incbin \\"{unit}.fatbin\\"\\n"'
    text = text.replace(include, own if first else '""')
    return text.replace(label, label if first else f'".set {name}_image, {unit}_kernels\\n"')


def pack_models(args, out):
    rows = []
    for folder in sorted(p for p in args.models.iterdir() if (p / "model.onnx").exists()):
        name, place = re.sub(r"\W", "_", folder.name), out / "models" / folder.name
        place.mkdir(parents=True)
        said = emit(args.cameo, folder / "model.onnx", place / f"{name}.c")
        if said:
            print(f"not packed: {folder.name}: {said.splitlines()[-1]}")
            shutil.rmtree(place)
            continue
        (place / "main.c").write_text(MAIN.replace("NAME", name))
        shutil.copy(folder / "model.onnx", place)  # for other runtimes beside it
        rows.append({"name": folder.name, "prefix": name, "rtol": 1e-3, "atol": 1e-5})
        if (folder / "tolerance.json").exists():
            rows[-1].update(json.loads((folder / "tolerance.json").read_text()))
        for data in folder.glob("test_data_set_*"):
            (place / data.name).mkdir()
            for f in data.glob("*.pb"):
                shutil.copy(f, place / data.name)
    return rows


def needs_libraries(source):
    """Does the C say that it is linked with more than a device's program is?"""
    said = re.search(r"[Ll]ink with ([^.]*)\.", source.read_text())
    return bool(set(said[1].split()) - {"-ldl", "-lm"})


def emit_cases(args, work):
    """The cases that cameo compiles, as rows of the plan."""
    rows = [r for r in json.loads((args.suite / "cases.json").read_text()) if re.search(args.filter, r["name"])]
    large = [r["name"] for r in rows if r["kind"] == "light"]
    drawn = [r["name"] for r in rows if draws.is_judged(args.suite / r["name"], onnx.load(args.suite / r["name"] / "model.onnx"))]
    print(f"left out, since what they draw is not compared: {', '.join(drawn) or 'none'}")
    rows = [r for r in rows if r["name"] not in drawn]
    rows = [dict(r, symbol=f"case{i}") for i, r in enumerate(rows[::args.every]) if r["kind"] != "light"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda r: emit(args.cameo, args.suite / r["name"] / "model.onnx", work / f"{r['symbol']}.c"), rows))
    apart = [r["name"] for r, s in zip(rows, said) if not s and needs_libraries(work / f"{r['symbol']}.c")]
    print(f"left out, since they need libraries that the machine may not have: {', '.join(apart) or 'none'}")
    good = [r for r, s in zip(rows, said) if not s and r["name"] not in apart]
    odd = [f"{r['name']}: {s.splitlines()[-1]}" for r, s in zip(rows, said) if s and "not supported" not in s]
    print(f"{len(good)} cases, {len(rows) - len(good) - len(apart) - len(odd)} refused, {len(odd)} failed to compile, "
          f"{len(large)} networks left out for their size")
    for line in odd:
        print(f"  {line}")
    return good


def pack_cases(args, out, work):
    rows, units, names = emit_cases(args, work), [], {}
    place = out / "cases"
    for start in range(0, len(rows), args.unit):
        unit, group = f"unit{len(units)}", rows[start:start + args.unit]
        folder = out / "units" / unit
        folder.mkdir(parents=True)
        seen_c, seen_cu, host, kernels = set(), set(), [], []
        for r in group:
            text = without_repeats((work / f"{r['symbol']}.c").read_text(), seen_c)
            host.append(one_image(text, r["symbol"], unit, r is group[0]))
            kernels.append(without_repeats((work / f"{r['symbol']}.cu").read_text(), seen_cu))
            weights = work / f"{r['symbol']}.weights"
            if weights.exists():
                shutil.copy(weights, folder)
        table = "".join(f"    &{r['symbol']}_model,\n" for r in group)
        host.append(f"\nextern const cameo_model *const cases[];\nextern const int case_count;\n"
                    f"const cameo_model *const cases[] = {{\n{table}}};\nconst int case_count = {len(group)};\n")
        (folder / f"{unit}.c").write_text("".join(host))
        (folder / f"{unit}.cu").write_text("".join(kernels))
        units.append([r["name"] for r in group])
    for r in rows:
        source = args.suite / r["name"]
        outputs = onnx.load(source / "model.onnx", load_external_data=False).graph.output
        lists = [k for k, o in enumerate(outputs) if o.type.WhichOneof("value") != "tensor_type"]
        names[r["name"]] = json.loads((source / "tolerance.json").read_text()) | {"lists": lists}
        for data in source.glob("test_data_set_*"):
            shutil.copytree(data, place / r["name"] / data.name)
    return {"units": units, "tolerance": names}


def value_tables():
    """What each code of the small float types means: run.py has no ml_dtypes."""
    import ml_dtypes
    kinds = {17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 23: "float4_e2m1fn",
             24: "float8_e8m0fnu"}
    tables = {}
    for code, name in kinds.items():
        if onnx.TensorProto.DataType.Name(code) and hasattr(ml_dtypes, name):
            count = 16 if "float4" in name else 256
            tables[str(code)] = np.arange(count, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float64)
    return tables


def compress(out):
    """Thousands of small files as one; run.py takes them out again."""
    with tarfile.open(out / "cases.tar.xz", "w:xz", preset=6) as tar:
        for name in ("cases", "units"):
            tar.add(out / name, name)
            shutil.rmtree(out / name)


def size_of(folder):
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo", required=True)
    p.add_argument("--suite", type=pathlib.Path)
    p.add_argument("--models", type=pathlib.Path, default=os.environ.get("CAMEO_MODELS"))
    p.add_argument("-o", "--out", type=pathlib.Path, required=True)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--filter", default="")
    p.add_argument("--unit", type=int, default=100, help="cases to a translation unit")
    args = p.parse_args()
    args.cameo = str(pathlib.Path(args.cameo).resolve())
    out = args.out
    if out.exists() and any(out.iterdir()):
        p.error(f"{out} is not empty")
    (out / "runtime").mkdir(parents=True)
    for f in (ROOT / "runtime").glob("*"):
        shutil.copy(f, out / "runtime")
    shutil.copy(HERE / "run.py", out)
    shutil.copy(HERE / "driver.c", out)
    np.savez(out / "tables.npz", **value_tables())
    plan = {"models": [], "units": [], "tolerance": {}}
    if args.models and pathlib.Path(args.models).is_dir():
        args.models = pathlib.Path(args.models)
        plan["models"] = pack_models(args, out)
    else:
        print("SKIPPED: no folder of real models (--models or CAMEO_MODELS)")
    if args.suite:
        with tempfile.TemporaryDirectory() as work:
            plan.update(pack_cases(args, out, pathlib.Path(work)))
        compress(out)
    else:
        print("SKIPPED: no backend suite (--suite)")
    (out / "plan.json").write_text(json.dumps(plan))
    size = size_of(out)
    print(f"{out}: {len(plan['models'])} models, {len(plan['tolerance'])} cases in {len(plan['units'])} units, {size / 2**20:.1f} MiB")
    if size > LIMIT:
        print(f"more than {LIMIT >> 20} MiB: use --every or --filter", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
