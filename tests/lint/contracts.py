#!/usr/bin/env python3
"""contracts.py CAMEO [--mutants N] [--seed S]: sources of custom operators that are cut short, altered or nested deeply. Each lint
ends with an exit code of the command line and in bounded time, whatever libclang makes of the source."""
import argparse
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

SOURCE = """#include <cuda_fp16.h>
#include "not_there.cuh"
#define N 4
namespace a { struct Options { int x; }; }
template <typename T, typename U = float>
__global__ void __launch_bounds__(256) fused(const T *__restrict__ x, const U *const b, T *y, int64_t n, a::Options *o);
template <> __global__ void fused<__half, float>(const __half *x, const float *b, __half *y, int64_t n, a::Options *o) { }
extern "C" void fused(const float *x, const float (&b)[4], float **y, ...);
void launch(int n) { AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, n, "x", [&] { fused<scalar_t><<<1, N>>>(0, 0, 0, n, 0); }); }
"""
MODEL = """<ir_version: 10, opset_import: ["" : 20, "d" : 1]>
net (float16[n] x, float[n] b) => (float16[n] y) { y = d.Fused(x, b) }
"""
PIECES = ["(", ")", "<", ">", "{", "}", ";", "*", "&", ",", "const ", "template <", "T", "#", '"', "/*", "\\\n", "\0", "\xff", "auto", "..."]


def mutate(rng):
    text = SOURCE
    for _ in range(rng.randint(1, 6)):
        at, kind = rng.randrange(len(text)), rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 12):]
        elif kind == 1:
            text = text[:at] + rng.choice(PIECES) * rng.choice([1, 1, 3, 200]) + text[at:]
        elif kind == 2:
            end = at + rng.randrange(60)
            text = text[:at] + text[at:end] + text[at:]
        else:
            text = text[:rng.randrange(len(text)) + 1]
    return text


NESTED = ["void fused(const float *x, const float *b, float *y) { " + "(" * 5000 + ")" * 5000 + "; }",
          "template <int N> struct A { A<N - 1> a; }; A<100000> a;\n" + SOURCE,
          "#include \"k.cu\"\n" + SOURCE,
          "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(x))))))\nint a[] = { B(1,) };\n" + SOURCE,
          "void fused(" + ", ".join(f"const float *a{i}" for i in range(5000)) + ", float *y);",
          "template <" + ", ".join(f"typename T{i}" for i in range(500)) + "> void fused(const T0 *x, const T1 *b, T499 *y);"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng, wrong, slowest = random.Random(args.seed), 0, 0
    sources = NESTED + [mutate(rng) for _ in range(args.mutants)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.onnxtxt").write_text(MODEL)
        (folder / "cameo.yaml").write_text("version: 1\ncustom: {d: {sources: [k.cu]}}\n")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        for i, text in enumerate(sources):
            (folder / "k.cu").write_bytes(text.encode("latin1"))
            done = subprocess.run([args.cameo.resolve(), "lint", "m.onnxtxt"], capture_output=True, text=True, timeout=120, cwd=folder)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds, used = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, now
            slowest = max(slowest, seconds)
            bad = done.returncode not in (0, 1, 2) or "Sanitizer" in done.stderr or "runtime error" in done.stderr
            if bad or seconds > 10:
                wrong += 1
                print(f"source {i} of seed {args.seed}: exit {done.returncode}, {seconds:.1f} s: {done.stderr[-500:]}\n{text[:2000]}")
    print(f"{len(sources)} sources, {wrong} wrong, at most {slowest:.2f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
