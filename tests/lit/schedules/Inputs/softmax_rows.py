"""DIR PROGRAM ..: runs each program of softmax_rows.onnxtxt in DIR and compares with float64, but for what float32
subtracts from the scores."""
import subprocess
import sys

import numpy as np

from softmax import softmax

folder, programs = sys.argv[1], sys.argv[2:]
random = np.random.default_rng(5)

for n in [*range(1, 36), 47, 48, 63, 64, 65, 100, 500]:
    x = (random.normal(size=(9, n)) * random.choice([1, 10, 60])).astype("f4")
    m = np.where(random.random((9, n)) < 0.3, -np.inf, 0).astype("f4")
    x[1, random.integers(n)] = np.nan
    x[2, random.integers(n)] = np.inf
    m[3] = -np.inf
    m[4] = -1e9
    m[4, random.integers(n)] = 0
    q, k, v = (random.normal(size=(1, 2, length, 8)).astype("f4") for length in (5, n, n))
    kept = random.random((5, n)) < 0.7
    kept[2] = False
    np.savez(f"{folder}/in.npz", x=x, m=m, q=q, k=k, v=v, kept=kept)
    with np.errstate(all="ignore"):
        y = softmax(x + m, False)
    s = np.where(kept, q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) / np.sqrt(8), -np.inf)
    a = softmax(s, True) @ v.astype("f8")
    for program in programs:
        subprocess.run([f"{folder}/{program}", f"{folder}/in.npz", "-o", f"{folder}/out"], check=True)
        got = np.load(f"{folder}/out/y.npy")
        assert (np.isnan(got) == np.isnan(y)).all(), (n, program)
        np.testing.assert_allclose(got, y, rtol=3e-6, atol=1e-37, err_msg=f"{n} {program}")
        np.testing.assert_allclose(np.load(f"{folder}/out/a.npy"), a, rtol=1e-4, atol=2e-6, err_msg=f"{n} {program}")
