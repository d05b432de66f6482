#!/usr/bin/env python3
"""run_custom.py CAMEO: CUDA kernels of custom operators in programs for a device, emulated, every access checked: the example of
examples/custom_op/, a template for two dtypes, sizes that only the data says, a node that is placed on the host."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import build

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["" : 20, "my.ops" : 1]>\n'
SCALE = """template <typename T> __global__ void __launch_bounds__(256) scale(const T *x, T *y, int n_x, int by)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_x; i += gridDim.x * blockDim.x)
        y[i] = x[i] * T(by);
}
"""
CPU = "void scale(const float *x, float *y, int n_x, int by) { for (int i = 0; i < n_x; i++) y[i] = x[i] * -(float)by; }\n"
CONFIG = "version: 1\ncustom: {my.ops: {sources: ['*.cu', '*.c']}}\n"
X = np.array([[1, 2, 3], [-1, 0, 1]], np.float32)
wrong = []


def leaky(x):
    p = x @ np.array([[1, 2], [3, 4], [5, 6]]) + [-20, 1]
    return np.where(p > 0, p, p / 2) ** 2


def run(cameo, tools, folder, model, seed, *more):
    env = tools.environment(None, True, seed)
    return subprocess.run([cameo, "run", *more, model, "x.npy", "-o", "."], capture_output=True, text=True, env=env, cwd=folder)


def expect(cameo, tools, folder, name, text, config, x, want, sources, more=("--device", "cuda"), seed=1):
    for old in (*folder.glob("*.c"), *folder.glob("*.cu"), *folder.glob("*.npy")):
        old.unlink()
    for file, content in {"k.c": "", "cameo.yaml": config, "m.onnxtxt": HEAD + text, **sources}.items():
        (folder / file).write_text(content)
    np.save(folder / "x.npy", x)
    done = run(cameo, tools, folder, "m.onnxtxt", seed, *more)
    if isinstance(want, tuple):
        ok = done.returncode == want[0] and want[1] in done.stderr
    else:
        ok = done.returncode == 0 and np.array_equal(np.load(folder / "y.npy"), want.astype(x.dtype))
    if not ok:
        wrong.append(name)
        print(f"{name}: exit {done.returncode}: {done.stdout}{done.stderr}")


def main():
    cameo, tools = pathlib.Path(sys.argv[1]).resolve(), build.Tools()
    scaled = "net ({t}[n, m] x) => ({t}[n, m] y) {{ y = my.ops.Scale<by = 3>(x) }}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in (0, 5):
            example = ROOT / "examples/custom_op/net.onnxtxt"
            np.save(folder / "x.npy", X)
            done = run(cameo, tools, folder, example, seed, "--device", "cuda")
            if done.returncode or not np.array_equal(np.load(folder / "y.npy"), leaky(X).astype(np.float32)):
                wrong.append("example")
                print(f"example, seed {seed}: {done.stderr}")
        for t, dtype in (("float", "f4"), ("double", "f8")):
            x = np.arange(600, dtype=dtype).reshape(30, 20)
            expect(cameo, tools, folder, t, scaled.format(t=t), CONFIG, x, x * 3, {"k.cu": SCALE})
        expect(cameo, tools, folder, "on the host", scaled.format(t="float"), CONFIG + "place: [{at: 'graph/node*', device: cpu}]\n",
               X, X * -3, {"k.cu": SCALE, "k.c": CPU})
        expect(cameo, tools, folder, "for the CPU", scaled.format(t="float"), CONFIG, X, X * -3, {"k.cu": SCALE, "k.c": CPU}, ())
        expect(cameo, tools, folder, "no C function", scaled.format(t="float"), CONFIG, X,
               (1, "not supported: my.ops::Scale: its sources have no C function"), {"k.cu": SCALE}, ())
        expect(cameo, tools, folder, "rejected", scaled.format(t="float"), CONFIG, X,
               (2, "the CUDA compiler rejects the kernels with k.cu"), {"k.cu": SCALE.replace("T(by)", "oops")})
    print(f"kernels of custom operators: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
