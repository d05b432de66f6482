"""Runs the programs in a folder, with batches and rows of several sizes, by one thread and by three, beside loops."""
import pathlib
import subprocess
import sys

import numpy as np

at = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(1)


def run(program, threads):
    subprocess.run([at / program, at / "in.npz", "-o", at / "out", "--threads", str(threads)], check=True, capture_output=True)
    return [np.load(at / "out" / f"{y}.npy") for y in ("known", "open", "apart")]


near = dict.fromkeys(sys.argv[2:], True)
for batch, rows in ((1, 1), (4, 1), (1, 9), (5, 3), (2, 300), (0, 3), (3, 0)):
    shapes = {"x": (3, 2, 40), "z": (batch, rows, 40), "r": (batch, rows, 64), "each": (batch,)}
    np.savez(at / "in.npz", **{n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()})
    want = run("loops", 1)
    for program in near:
        one, three = run(program, 1), run(program, 3)
        near[program] &= all(np.allclose(a, w, rtol=1e-4, atol=1e-4) and a.tobytes() == b.tobytes()
                             for a, b, w in zip(one, three, want))
print(", ".join(f"{n}: {'near' if ok else 'far'}" for n, ok in near.items()))
