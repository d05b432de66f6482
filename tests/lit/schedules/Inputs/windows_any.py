"""What programs give for planes of several sizes, narrow and wide, beside NumPy's windows."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def windows(x, taps, step, pad, fill):
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (taps, taps), (2, 3))[:, :, ::step, ::step]


random = np.random.default_rng(1)
for program in sys.argv[1:]:
    for h, w in ((13, 13), (1, 1), (30, 5), (8, 151), (27, 152), (2, 15), (9, 64), (6, 1500), (1, 90), (40, 600), (5, 3000)):
        x = random.standard_normal((2, 3, h, w)).astype(np.float32)
        inside = windows(np.ones_like(x), 3, 2, 1, 0).sum((4, 5))
        want = {
            "wide": windows(x, 13, 1, 6, -np.inf).max((4, 5)),
            "pairs": windows(x, 2, 2, 0, 0).max((4, 5)) if h > 1 < w else x[:, :, : h // 2, : w // 2],
            "three": windows(x, 3, 2, 1, -np.inf).max((4, 5)),
            "near": windows(x, 3, 1, 1, -np.inf).max((4, 5)),
            "five": windows(-x, 5, 1, 2, -np.inf).max((4, 5)),
            "mean": windows(x, 3, 2, 1, 0).sum((4, 5)) / inside,
        }
        with tempfile.TemporaryDirectory() as to:
            to = pathlib.Path(to)
            np.save(to / "a.npy", x)
            subprocess.run([program, to / "a.npy", to / "a.npy", "-o", to], check=True)
            for name, y in want.items():
                np.testing.assert_allclose(np.load(to / f"{name}.npy"), y, rtol=1e-5, atol=1e-6)
