#!/usr/bin/env python3
"""Compiles kernels for real devices with every compiler that is found: nvcc, and clang as a second opinion.

    device_compilers.py [--cameo PATH] [FILE.cu | MODEL.onnx | FOLDER ...]

Models are compiled to .cu by cameo first; a folder stands for the .cu files and models in it. Without arguments: the
kernels of these tests, and with --cameo the models of examples/. nvcc makes machine code for two architectures and PTX,
warnings are errors; clang needs no toolkit (cuda_min.h), and with the toolkit its PTX goes through ptxas. Exit 77 if no
compiler is there at all.
"""
import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from build import toolkit  # noqa: E402

ARCHITECTURES = ("80", "90")
SKIPPED = 77


def find(name):
    home = toolkit("bin/" + name)
    return str(home / "bin" / name) if home else shutil.which(name)


def call(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else f"{' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}"


def with_nvcc(nvcc, source, folder):
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
    return call([nvcc, "-std=c++17", "-O3", "-Werror", "all-warnings", *codes, "-gencode=arch=compute_75,code=compute_75",
                 "-fatbin", source, "-o", folder / (source.stem + ".fatbin")])


def with_clang(clang, source, folder):
    device, ptx = "nvvm/libdevice/libdevice.10.bc", folder / (source.stem + ".ptx")
    home = toolkit(device)
    link = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", home / device] if home else []
    wrong = call([clang, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
                  "--cuda-feature=+ptx83", f"--cuda-gpu-arch=sm_{ARCHITECTURES[-1]}", "-std=c++17", "-O2", "-Wall", "-Werror",
                  "-include", HERE / "cuda_min.h", *link, "-S", source, "-o", ptx])
    ptxas = find("ptxas")
    if wrong or not link or not ptxas:
        return wrong
    return call([ptxas, "-arch", f"sm_{ARCHITECTURES[-1]}", ptx, "-o", ptx.with_suffix(".cubin")])


def emitted(cameo, model, folder):
    """The .cu that cameo makes of a model; RuntimeError if it makes none."""
    name = "".join(c if c.isalnum() else "_" for c in model.stem if c.isascii())
    where = folder / f"{abs(hash(model)):x}"
    where.mkdir()
    wrong = call([cameo, "compile", model, "-o", where / f"m_{name}.c", "--emit", "c", "--device", "cuda"])
    if wrong:
        raise RuntimeError(wrong)
    return where / f"m_{name}.cu"


def sources(args, folder):
    given = [pathlib.Path(a) for a in args.files]
    if not given:
        given = [HERE / "features.cu"]
        if args.cameo:
            given += sorted(p for p in (HERE.parent.parent / "examples").rglob("*.onnx") if "broken" not in p.name)
    for path in given:
        inside = sorted(p for p in path.rglob("*") if p.suffix in (".cu", ".onnx")) if path.is_dir() else [path]
        for p in inside:
            try:
                yield (p, emitted(args.cameo, p, folder)) if p.suffix == ".onnx" else (p, p)
            except RuntimeError as refused:
                yield p, refused


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo")
    p.add_argument("files", nargs="*")
    args = p.parse_args()
    compilers = {}
    for name, path, how in (("nvcc", find("nvcc"), with_nvcc), ("clang", shutil.which("clang-19"), with_clang)):
        if path:
            compilers[name] = (path, how)
        else:
            print(f"SKIPPED: no {name} on this machine; kernels are not compiled by it")
    if not compilers:
        return SKIPPED
    if not find("ptxas"):
        print("SKIPPED: no ptxas on this machine; clang's PTX is not assembled")
    wrong, results, begin = 0, [], {n: 0.0 for n in compilers}

    def one(name, source, folder):
        path, how = compilers[name]
        start = time.monotonic()
        said = how(path, source, folder)
        begin[name] += time.monotonic() - start
        return said

    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, (origin, source) in enumerate(sources(args, pathlib.Path(temporary))):
            if isinstance(source, RuntimeError):
                print(f"no kernels of {origin}: {str(source).splitlines()[-1]}")
                continue
            for name in compilers:
                folder = pathlib.Path(temporary) / f"{number}{name}"
                folder.mkdir()
                results.append((origin, name, pool.submit(one, name, source, folder)))
        for origin, name, result in results:
            if result.result():
                wrong += 1
                print(f"{origin} by {name}:\n{result.result()}")
    spent = ", ".join(f"{n} {s:.1f} s" for n, s in begin.items())
    print(f"{len(results)} compilations ({spent}), {wrong} wrong")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
