"""DIR PROGRAM ..: runs each program of heads_apart.onnxtxt in DIR, by one thread and by three, and compares with float64."""
import pathlib
import subprocess
import sys

import numpy as np

import alike

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(11)
for batch, rows, columns, at in (1, 1, 1, 0), (2, 5, 17, -1), (1, 263, 300, 2), (2, 390, 97, -3):
    q, k = (random.normal(size=(batch, n, 64)).astype("f4") for n in (rows, columns))
    x = random.normal(size=(batch, columns, 32)).astype("f4")
    w, shifts = random.normal(size=(32, 64)).astype("f4"), random.normal(size=(3, 64)).astype("f4")
    np.savez(f"{folder}/in.npz", q=q, k=k, x=x, w=w, shifts=shifts, at=np.int64(at))
    v = x.astype("f8") @ w + shifts[at]
    a, b, c = (m.astype("f8").reshape(batch, -1, 4, 16).swapaxes(1, 2) for m in (q, k, v))
    s = a @ b.swapaxes(-1, -2)
    e = np.exp(s - s.max(-1, keepdims=True))
    want = (e / e.sum(-1, keepdims=True) @ c).swapaxes(1, 2).reshape(batch, rows, 64)
    alike.compare(folder, programs, {"y": want}, "y", (rows, columns), rtol=0, atol=5e-5)
    if at == 0:
        np.savez(f"{folder}/in.npz", q=q, k=k, x=x, w=w, shifts=shifts, at=np.int64(3))
        for program in programs:
            run = subprocess.run([f"{folder}/{program}", f"{folder}/in.npz", "-o", f"{folder}/out"], capture_output=True, text=True)
            assert run.returncode and "an index is out of range" in run.stderr, (program, run.stderr)
