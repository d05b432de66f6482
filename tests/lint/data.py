#!/usr/bin/env python3
"""data.py CAMEO [--mutants N] [--seed S]: `cameo lint --data` and `cameo convert-data` on data files.

What convert-data writes is held to NumPy, value by value; what it refuses, to its message and exit code. Then N files (default
300) are cut short, altered or enlarged at random places: each ends in a report and an exit code of the command line, within two
seconds of CPU time, and a file that is refused writes nothing.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper

DTYPES = {"f4": onnx.TensorProto.FLOAT, "f8": onnx.TensorProto.DOUBLE, "f2": onnx.TensorProto.FLOAT16,
          "i4": onnx.TensorProto.INT32, "i8": onnx.TensorProto.INT64, "u1": onnx.TensorProto.UINT8,
          "i1": onnx.TensorProto.INT8, "u8": onnx.TensorProto.UINT64, "?": onnx.TensorProto.BOOL}
wrong = []


def say(what):
    wrong.append(what)
    print(what)


def model(folder, dtype, dims):
    """A model whose input x has this type."""
    x, y = (oh.make_tensor_value_info(n, DTYPES[dtype], dims) for n in "xy")
    graph = oh.make_graph([oh.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    path = folder / "m.onnx"
    onnx.save(oh.make_model(graph, ir_version=10, opset_imports=[oh.make_opsetid("", 20)]), path)
    return path


def run(*args, folder):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=60, cwd=folder)


def convert(cameo, folder, data, dtype, dims, out="out.npy", name="d.npy"):
    path = model(folder, dtype, dims)
    (folder / out).unlink(missing_ok=True)
    if isinstance(data, str):
        (folder / name).write_text(data)
    else:
        np.save(folder / name, data)
    return run(cameo, "convert-data", name, "--for", path.name, "x", "-o", out, folder=folder)


def expect_array(cameo, folder, data, dtype, dims, expected, says, **more):
    done = convert(cameo, folder, data, dtype, dims, **more)
    what = f"{getattr(data, 'dtype', 'csv')} {getattr(data, 'shape', '')} for {dtype} {dims}"
    if done.returncode != 0 or says not in done.stdout:
        return say(f"{what}: exit {done.returncode}, {done.stdout}{done.stderr}")
    out = more.get("out", "out.npy")
    got = np.load(folder / out) if out.endswith("npy") else onnx.numpy_helper.to_array(onnx.load_tensor(folder / out))
    if got.dtype != expected.dtype or got.shape != expected.shape or got.tobytes() != expected.tobytes():
        say(f"{what}: wrote {got!r}, not {expected!r}")


def refuse(cameo, folder, data, dtype, dims, says, **more):
    done = convert(cameo, folder, data, dtype, dims, **more)
    if done.returncode != 2 or says not in done.stderr or (folder / more.get("out", "out.npy")).exists():
        say(f"{says}: exit {done.returncode}, {done.stdout}{done.stderr}")


def conversions(cameo, folder):
    """Every pair of dtypes on numbers that all of them hold, then rounding, shapes and files."""
    small = np.array([[0, 1], [1, 0], [1, 1]])
    for have in DTYPES:
        for want in DTYPES:
            expect_array(cameo, folder, small.astype(have), want, ["n", 2], small.astype(want), "; no value changed")
    rough = np.random.default_rng(1).normal(size=(7, 5))
    expect_array(cameo, folder, rough, "f4", ["n", 5], rough.astype("f4"), "35 of 35 values changed by rounding")
    expect_array(cameo, folder, np.asfortranarray(rough), "f2", ["n", 5], rough.astype("f2"), "changed by rounding")
    big = np.array([2**63, 2**64 - 1, 3], "u8")
    expect_array(cameo, folder, big, "f4", [3], big.astype("f4"), "1 of 3 values changed by rounding")
    edge = np.array([-2**63, 2**63 - 1, 2**53 + 1], "i8")
    expect_array(cameo, folder, edge, "f8", [3], edge.astype("f8"), "2 of 3 values changed by rounding")
    image = np.random.default_rng(2).integers(0, 255, (2, 4, 5, 3)).astype("u1")
    first = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
    expect_array(cameo, folder, image, "f4", ["n", 3, "h", "w"], first.astype("f4"), "transposed from NHWC to NCHW")
    expect_array(cameo, folder, np.asfortranarray(image), "u1", ["n", 3, "h", "w"], first, "transposed from NHWC")
    expect_array(cameo, folder, first, "u1", ["n", "h", "w", 3], image, "transposed from NCHW to NHWC")
    expect_array(cameo, folder, image[0], "u1", ["n", 3, 4, 5], first[:1], "transposed from HWC to NCHW")
    expect_array(cameo, folder, image[0, 0, 0], "u1", [1, 3], image[:1, 0, 0], "dims of 1 added")
    expect_array(cameo, folder, first[:1], "u1", [3, 4, 5], first[0], "dims of 1 left out")
    expect_array(cameo, folder, rough, "f4", [7, 5], rough.astype("f4"), "float32 [7, 5] from float64", out="o.pb")
    expect_array(cameo, folder, "a,b\n1,\n2,3.5\n", "f4", ["n", 2], np.array([[1, np.nan], [2, 3.5]], "f4"), "", name="d.csv")
    expect_array(cameo, folder, "a,x\nq,1\nq,0\n", "i4", ["n"], np.array([1, 0], "i4"), "from int64", name="d.csv")
    expect_array(cameo, folder, np.asfortranarray(rough).astype(">f8"), "f4", ["n", 5], rough.astype("f4"), 'bytes turned from ">f8"')
    expect_array(cameo, folder, edge.astype(">i8"), "i8", [3], edge, "; no value changed")
    expect_array(cameo, folder, np.array([1, np.nan]), "f4", [2], np.array([1, np.nan], "f4"), "; no value changed; 1 of 2 NaN")
    refuse(cameo, folder, np.array([1.5, 2]), "i8", [2], "1 of 2 values are none of int64, as 1.5 at [0]")
    refuse(cameo, folder, np.array([2, np.inf]), "i8", [2], "as inf at [1]")
    refuse(cameo, folder, np.array([2, 1e39]), "f4", [2], "as 1e+39 at [1]")
    refuse(cameo, folder, np.array([2, -1]), "u1", [2], "as -1 at [1]")
    refuse(cameo, folder, np.array([2.0**63]), "i8", [1], "as 9.223372036854776e+18 at [0]")
    refuse(cameo, folder, np.array(["a"]), "f4", [1], "no float32 is made of string")
    refuse(cameo, folder, np.array([None]), "f4", [1], 'elements of the type "|O", which no tensor has')
    refuse(cameo, folder, np.ones((2, 3)), "f4", ["n", 4], "its dims are [2, 3] where the input takes [?, 4]")
    refuse(cameo, folder, np.ones(3), "f4", ["n", "m"], "its dims are [3] where the input takes [?, ?]")
    refuse(cameo, folder, np.ones(3), "f4", [3], "OUT ends in .npy or .pb", out="o.txt")


def commands(cameo, folder):
    """Usage, files that are not there, and what is not overwritten."""
    path = model(folder, "f4", [3])
    other = folder / "other.onnx"
    other.write_bytes(path.read_bytes())
    np.save(folder / "d.npy", np.ones(3))
    np.savez(folder / "two.npz", a=np.ones(3), b=np.ones(3))
    (folder / "bad.npy").write_bytes(b"\x93NUMPY\1\0")
    (folder / "bad.csv").write_text('a,b\n1,2\n"3,4\n')
    (folder / "short.csv").write_text("a,b\n1,2\n3\n")
    (folder / "table.csv").write_text("a,b\n1,2\n")
    (folder / "index.csv").write_text(",x\n0,2\n")
    before = (folder / "d.npy").read_bytes()
    (folder / "semicolons.csv").write_text("a;b\n1,5;2\n")
    (folder / "tabs.csv").write_text("a\tb\n1\t2\n")
    (folder / "utf16.csv").write_text("a,b\n1,2\n", encoding="utf-16")
    lint = [cameo, "lint", path.name, "--data"]
    to = [cameo, "convert-data", "d.npy", "--for", path.name]
    for args, code, says in [
            (to + ["x", "-o", "d.npy"], 2, "d.npy is read from: it is not overwritten"),
            (to + ["x", "-o", "./d.npy"], 2, "it is not overwritten"),
            (lint + ["x=semicolons.csv"], 3, "semicolons.csv:1: its first line has semicolons and no comma"),
            (lint + ["x=tabs.csv"], 3, "tabs.csv:1: its first line has tabs and no comma"),
            (lint + ["x=utf16.csv"], 3, "utf16.csv:1: the text is UTF-16"),
            (to + ["z", "-o", "o.npy"], 2, "m.onnx has no input z"),
            (to + ["x"], 2, "FILE, --for MODEL, NAME and -o OUT are needed"),
            (to + ["x", "y", "-o", "o.npy"], 2, "y is one argument too many"),
            ([cameo, "convert-data", "no.npy", "--for", path.name, "x", "-o", "o.npy"], 3, "no.npy"),
            ([cameo, "convert-data", "bad.npy", "--for", path.name, "x", "-o", "o.npy"], 3, "bad.npy: no .npy file"),
            (lint + ["x=no.npy"], 3, "no.npy cannot be read"),
            (lint + ["z=d.npy"], 2, 'names no input of the model, which has "x"'),
            (lint + ["d.npy", "--data", "d.npy"], 2, "every input has a file already"),
            (lint + ["x=d.npy", "--data", "x=d.npy"], 2, 'input "x" is given twice'),
            (lint + ["two.npz"], 2, 'two.npz holds "a", which is no input; INPUT=two.npz takes the array of one input alone'),
            (lint + ["table.csv"], 2, 'table.csv holds column "a", which is no input; INPUT=table.csv takes all columns as one'),
            (lint + ["index.csv"], 2, 'takes all columns as one; a column without a name is pandas\' index'),
            (lint + ["x=two.npz"], 2, 'two.npz holds no array "x" but a, b'),
            (lint + ["short.csv"], 3, "short.csv:3: 1 fields where the first line names 2"),
            (lint + ["x=bad.csv"], 3, "bad.csv:4: a quote that is not closed"),
            (lint + ["x=bad.npy"], 3, "error[SE006]: bad.npy: no .npy file"),
            (lint + ["x=d.npy", other.name], 2, "--data goes with one model")]:
        done = run(*args, folder=folder)
        if done.returncode != code or says not in done.stdout + done.stderr:
            say(f"{args[1:]}: exit {done.returncode}, not {code}, {says!r}: {done.stdout}{done.stderr}")
    if (folder / "d.npy").read_bytes() != before:
        say("a file was overwritten")
    done = run(cameo, "lint", "--format", "json", path.name, "--data", "x=d.npy", "--fix", "-o", "f.onnx", folder=folder)
    report = json.loads(done.stdout)
    if [f["rule"] for f in report["findings"]] != ["DT016"] or report["findings"][0]["origin"]["kind"] != "input":
        say(f"after --fix: {done.stdout}")


def mutate(data, rng):
    data, kind = bytearray(data), rng.randrange(4)
    if kind == 0:
        return bytes(data[:rng.randrange(len(data))])
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        if kind == 1:
            data[at] = rng.choice([0, 255, 127, data[at] ^ 1 << rng.randrange(8)])
        elif kind == 2:
            data[at:at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\x80", b"9999", b"-1, ", b"'(,)"])
        else:
            data[at:at] = data[:rng.randrange(min(64, len(data)))]
    return bytes(data)


def hostile(cameo, folder, mutants, seed):
    rng = random.Random(seed)
    path = model(folder, "f4", ["n", 3])
    values = np.random.default_rng(seed).normal(size=(9, 3))
    seeds = {}
    for name, save in [("a.npy", lambda f: np.save(f, values)), ("s.npy", lambda f: np.save(f, np.array([["a", "bc"]]))),
                       ("a.npz", lambda f: np.savez(f, x=values)), ("c.npz", lambda f: np.savez_compressed(f, x=values)),
                       ("a.pb", lambda f: f.write_bytes(onnx.numpy_helper.from_array(values).SerializeToString())),
                       ("a.csv", lambda f: f.write_text('a,"b",c\n' + "1,2.5,x\n" * 5))]:
        save(folder / name)
        seeds[name] = (folder / name).read_bytes()
    bomb = folder / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", b"\0" * 10_000_000)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for i in range(mutants):
        name = rng.choice(sorted(seeds))
        file = folder / ("m" + name)
        file.write_bytes(mutate(seeds[name], rng))
        done = run(cameo, "lint", path.name, "--data", f"x={file.name}", folder=folder)
        out = folder / "h.npy"
        other = run(cameo, "convert-data", file.name, "--for", path.name, "x", "-o", out.name, folder=folder)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, used = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, now
        if done.returncode not in (0, 1, 2, 3) or other.returncode not in (0, 2, 3) or seconds > 4:
            say(f"mutant {i} of {name}, seed {seed}: exits {done.returncode}, {other.returncode}, {seconds:.1f} s: {done.stderr}")
        if any(word in done.stderr + other.stderr for word in ("Sanitizer", "runtime error")):
            say(f"mutant {i} of {name}, seed {seed}: {done.stderr}{other.stderr}")
        if other.returncode and out.exists():
            say(f"mutant {i} of {name}, seed {seed}: refused, but written")
        out.unlink(missing_ok=True)
    done = run(cameo, "lint", path.name, "--data", "x=bomb.npz", folder=folder)
    if done.returncode != 3 or "no .npy file" not in done.stdout:
        say(f"bomb: {done.returncode} {done.stdout}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    cameo = args.cameo.resolve()
    with tempfile.TemporaryDirectory() as folder:
        conversions(cameo, pathlib.Path(folder))
        commands(cameo, pathlib.Path(folder))
        hostile(cameo, pathlib.Path(folder), args.mutants, args.seed)
    print(f"data files: {args.mutants} mutants, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
