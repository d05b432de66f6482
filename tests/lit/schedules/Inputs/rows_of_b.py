"""Products of whole numbers by programs of rows_of_b.onnxtxt, against NumPy: rows_of_b.py PROGRAM... SHARED

SHARED, of several threads, gives the bits of the first program for any numbers."""
import subprocess
import sys
import tempfile

import numpy as np

SIZES = [(1, 600, 700), (1, 7, 700), (1, 8, 1), (1, 1, 3), (2, 600, 700), (3, 100, 513), (5, 9, 2000), (8, 17, 512),
         (9, 40, 700), (64, 64, 96), (70, 64, 101), (300, 40, 200), (3, 0, 50), (1, 0, 5), (40, 300, 24), (514, 90, 700), (521, 90, 40),
         (40, 300, 52), (33, 33, 4), (9, 67, 3), (21, 64, 49), (520, 40, 51), (16, 90, 7)]

for m, k, n in SIZES:
    rng = np.random.default_rng(m + k + n)
    feeds = {name: rng.integers(-9, 9, shape).astype(np.float32)
             for name, shape in (("x", (m, k)), ("w", (k, n)), ("z", (m, 20)), ("s", (m, 12)), ("u", (70, k)))}
    v = (np.arange(60) % 7 - 3).reshape(20, 3).astype(np.float32)
    want = {"y": feeds["x"] @ feeds["w"], "few": feeds["z"] @ v, "brief": feeds["s"] @ v[:12], "turned": feeds["x"] @ feeds["u"].T}
    with tempfile.TemporaryDirectory() as scratch:
        np.savez(f"{scratch}/data.npz", **feeds)
        for program in sys.argv[1:]:
            subprocess.run([program, f"{scratch}/data.npz", "-o", f"{scratch}/out"], check=True)
            for name, y in want.items():
                assert np.array_equal(np.load(f"{scratch}/out/{name}.npy"), y), (program, name, m, k, n)

    with tempfile.TemporaryDirectory() as scratch:
        np.savez(f"{scratch}/data.npz", **{name: rng.standard_normal(x.shape).astype(np.float32) for name, x in feeds.items()})
        for program in sys.argv[1], sys.argv[-1]:
            subprocess.run([program, f"{scratch}/data.npz", "-o", f"{scratch}/{program == sys.argv[1]}"], check=True)
        for name in want:
            one, shared = (np.load(f"{scratch}/{first}/{name}.npy") for first in (True, False))
            assert np.array_equal(one, shared), (name, m, k, n)
