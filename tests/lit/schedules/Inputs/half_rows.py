"""Programs beside NumPy: every number of float16, by every length that ends a row differently."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

every = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)
random = np.random.default_rng(1)
grid = random.standard_normal((4, 40)).astype(np.float16)
for n in (1, 7, 16, 129, 1000, 65539):
    x = np.resize(every if n > 60000 else random.permutation(every), n)
    z = random.permutation(x)
    full = np.resize(random.permutation(1 << 32 - 11).astype(np.uint32) << 11, n).view(np.float32)
    with np.errstate(all="ignore"):
        t = x + z
        s = (1 / (1 + np.exp(-t.astype(np.float64)))).astype(np.float16)
        want = t * s
    for program in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as to:
            to = pathlib.Path(to)
            np.savez(to / "in.npz", x=x, z=z, grid=grid, full=full)
            subprocess.run([program, to / "in.npz", "-o", to], check=True)
            y = np.load(to / "y.npy")
            assert (np.isnan(y) == np.isnan(want)).all()
            some = ~np.isnan(want)
            # a sigmoid within a hair of the middle of two numbers may be either
            np.testing.assert_allclose(y[some].astype("f8"), want[some].astype("f8"), rtol=2e-3, atol=1.2e-7)
            assert (y[some] != want[some]).sum() <= n // 1000
            np.testing.assert_array_equal(np.load(to / "up.npy"), x.astype(np.float32))
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.load(to / "down.npy"), full.astype(np.float16))
            np.testing.assert_array_equal(np.load(to / "turned.npy"), grid.T + np.float16(1))
