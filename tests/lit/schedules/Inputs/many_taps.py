"""Depthwise windows of many elements by programs of many_taps.onnxtxt, beside NumPy: many_taps.py PROGRAM... SHARED

SHARED, of several threads, gives the bits of the first program."""
import subprocess
import sys
import tempfile

import numpy as np


def window(x, w, stride, pads, apart=1):
    w = np.kron(w, np.eye(1, apart))[..., : (w.shape[3] - 1) * apart + 1]  # zeros between
    taps, padded = w.shape[2:], np.pad(x, [(0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1])])
    views = np.lib.stride_tricks.sliding_window_view(padded, taps, (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,cij->nchw", views.astype(np.float64), w[:, 0])


for h, w in ((1, 1), (1, 37), (1, 200), (3, 60), (4, 9), (13, 13), (57, 56), (30, 8), (9, 200)):
    rng = np.random.default_rng(h + w)
    x = rng.standard_normal((2, 3, h, w)).astype(np.float32)
    seven, five, line, brief = (np.sin(np.arange(3 * a * b)).reshape(3, 1, a, b) for a, b in ((7, 7), (5, 4), (1, 31), (1, 5)))
    want = {"y": window(x, seven, 1, (3, 3)), "z": window(x, five, 2, (2, 2)), "line": window(x, line, 1, (0, 15)),
            "brief": window(x, brief, 1, (0, 4), 2)}
    with tempfile.TemporaryDirectory() as scratch:
        np.savez(f"{scratch}/data.npz", x=x)
        for program in sys.argv[1:]:
            subprocess.run([program, f"{scratch}/data.npz", "-o", f"{scratch}/{program == sys.argv[-1]}"], check=True)
            for name, y in want.items():
                got = np.load(f"{scratch}/{program == sys.argv[-1]}/{name}.npy")
                np.testing.assert_allclose(got, y, rtol=1e-4, atol=1e-5)
        subprocess.run([sys.argv[1], f"{scratch}/data.npz", "-o", f"{scratch}/False"], check=True)
        for name in want:
            one, shared = (np.load(f"{scratch}/{last}/{name}.npy") for last in (False, True))
            assert np.array_equal(one, shared), (name, h, w)
