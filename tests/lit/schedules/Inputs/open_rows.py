"""DIR PROGRAM ..: runs each program of open_rows.onnxtxt in DIR for many lengths and compares with NumPy, and threads with
one another."""
import pathlib
import sys

import numpy as np
from alike import compare

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(3)


def row(n):
    x = random.normal(size=(40, n)).astype("f4") * 4
    x[1, random.integers(n)] = np.nan
    x[2, -1] = np.nan
    x[3, [0, n // 2]] = np.nan
    x[4, random.integers(n)] = np.inf
    x[5] = -np.inf
    x[6, random.integers(n)] = -np.inf
    x[7, -2:] = 19  # equals, in the last places
    x[8, -2:] = -19
    x[9, 0] = 19
    return x


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


for n in 1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 129, 200:
    feeds = {"x": row(n), "x5": row(5), "x130": row(130), "u": random.integers(0, 256, (40, n), "u1"),
             "s": random.integers(-128, 128, (40, n), "i1")}
    np.savez(folder / "in.npz", **feeds)
    x, x5 = feeds["x"].astype("f8"), feeds["x5"].astype("f8")
    with np.errstate(all="ignore"):
        want = {"max": x.max(-1), "min": x.min(-1), "sum": x.sum(-1), "argmax": x.argmax(-1), "argmin": x.argmin(-1),
                "soft": softmax(x), "log": log_softmax(x), "max5": x5.max(-1), "argmax5": x5.argmax(-1), "soft5": softmax(x5),
                "log5": log_softmax(x5), "argmax130": feeds["x130"].argmax(-1), "maxu": feeds["u"].max(-1),
                "mins": feeds["s"].min(-1)}
    compare(folder, programs, want, ("sum", "soft", "log"), n)
