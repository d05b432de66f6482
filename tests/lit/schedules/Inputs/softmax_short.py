"""DIR PROGRAM ..: runs each program of softmax_short.onnxtxt in DIR and compares with float64, but for what float32
subtracts from the scores."""
import subprocess
import sys

import numpy as np

from softmax import softmax

folder, programs = sys.argv[1], sys.argv[2:]
random = np.random.default_rng(7)

for scale in 1, 10, 60:
    feeds, want = {}, {}
    for n in 16, 21, 32, 49, 64, 65:
        x = (random.normal(size=(9, n)) * scale).astype("f4")
        x[1, random.integers(n)] = np.nan
        x[2, -1] = np.inf
        x[3] = -np.inf
        x[4] = -1e9
        x[4, -1] = 0
        x[5, :-1] = -np.inf
        feeds[f"x{n}"] = x
        m = np.where(random.random((9, n)) < 0.3, -np.inf, 0).astype("f4") if n == 49 else np.float32(0)
        if n == 49:
            feeds["m"] = m
        want[f"y{n}"] = softmax(x + m, False)
    q, k, v = (random.normal(size=(1, 2, length, 8)).astype("f4") for length in (5, 50, 50))
    kept = random.random((5, 50)) < 0.7
    kept[2] = False
    s = np.where(kept, q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) / np.sqrt(8), -np.inf)
    want["p"] = softmax(s, True)
    want["a"] = want["p"] @ v.astype("f8")
    np.savez(f"{folder}/in.npz", **feeds, q=q, k=k, v=v, kept=kept)
    for program in programs:
        subprocess.run([f"{folder}/{program}", f"{folder}/in.npz", "-o", f"{folder}/out"], check=True)
        for name, y in want.items():
            got = np.load(f"{folder}/out/{name}.npy")
            assert (np.isnan(got) == np.isnan(y)).all(), (name, scale, program)
            near = {"rtol": 3e-6, "atol": 1e-37} if name[0] == "y" else {"rtol": 1e-4, "atol": 2e-6}
            np.testing.assert_allclose(got, y, err_msg=f"{name} {scale} {program}", **near)
