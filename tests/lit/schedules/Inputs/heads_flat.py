"""DIR PROGRAM ..: runs each program of heads_flat.onnxtxt in DIR, by one thread and by three, and compares with float64."""
import pathlib
import sys

import numpy as np

import alike

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(5)
for batch, rows, columns in (1, 1, 1), (3, 5, 17), (2, 263, 30), (1, 390, 97):
    q, k, v, bias = (random.normal(size=(batch, 4, *n)).astype("f4")
                     for n in ((rows, 16), (16, columns), (columns, 16), (1, columns)))
    np.savez(f"{folder}/in.npz", q=q, k=k, v=v, bias=bias)
    s = q.astype("f8") @ k + bias
    e = np.exp(s - s.max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True) @ v
    alike.compare(folder, programs, {"y": want}, "y", (rows, columns), rtol=0, atol=1e-5)
