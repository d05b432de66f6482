"""DIR PROGRAM ..: runs each program of heads_bands.onnxtxt in DIR, by one thread and by three, and compares with float64."""
import subprocess
import sys

import numpy as np

folder, programs = sys.argv[1], sys.argv[2:]
random = np.random.default_rng(7)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


for batch, rows, columns in (1, 1, 1), (2, 5, 17), (1, 130, 33), (1, 257, 300), (1, 263, 16), (2, 390, 97), (1, 64, 519):
    q, k, v = (random.normal(size=(batch, n, 64)).astype("f4") * 2 for n in (rows, columns, columns))
    mask = np.where(random.random((batch, 1, 1, columns)) < 0.2, -10000, 0).astype("f4")
    np.savez(f"{folder}/in.npz", q=q, k=k, v=v, mask=mask)
    a, b, c = (x.astype("f8").reshape(batch, -1, 4, 16).swapaxes(1, 2) for x in (q, k, v))
    s = a @ b.swapaxes(-1, -2)
    p = softmax(a @ c.swapaxes(-1, -2))
    want = {"y": (softmax(s / 4 + mask) @ c).swapaxes(1, 2).reshape(batch, rows, 64), "z": (p @ c).swapaxes(1, 2), "p": p}
    for program in programs:
        got = {}
        for threads in "1", "3":
            subprocess.run([f"{folder}/{program}", f"{folder}/in.npz", "--threads", threads, "-o", f"{folder}/out"], check=True)
            got[threads] = {name: np.load(f"{folder}/out/{name}.npy") for name in want}
        for name, exact in want.items():
            assert got["1"][name].tobytes() == got["3"][name].tobytes(), (program, name, rows)
            np.testing.assert_allclose(got["1"][name], exact, rtol=0, atol=6e-5 if name != "y" else 2e-5,
                                       err_msg=f"{program} {name} {rows} {columns}")
