"""DIR PROGRAM ..: runs each program of few.onnxtxt in DIR for many sizes and compares with NumPy, and threads with one another."""
import pathlib
import sys

import numpy as np
from alike import compare

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(3)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


for b, n in (1, 1), (2, 15), (3, 16), (2, 31), (3, 32), (2, 33), (4, 63), (3, 64), (2, 96), (1, 129), (40, 200):
    floats = {f"x{k}": random.normal(size=(b, n, k)).astype("f4") for k in (4, 3, 16)}
    feeds = {**floats, "x7": random.integers(0, 256, (b, n, 7), "u1"), "x2": random.normal(size=(b, n, 2)),
             "short4": random.normal(size=(b, 9, 4)).astype("f4"), "scale": random.normal(size=(b, 1, 3)).astype("f4")}
    feeds["x16"] = (1 + feeds["x16"] / 64).astype("f4")
    if b > 1:
        feeds["x4"][1, n // 2, 3] = feeds["x2"][1, n - 1, 0] = feeds["x3"][1, 0, 1] = np.nan
        feeds["x4"][0, n - 1, 0] = np.inf
    np.savez(folder / "in.npz", **feeds)
    x = {k: v.astype("f8") if v.dtype != np.uint8 else v for k, v in feeds.items()}
    with np.errstate(all="ignore"):
        want = {"max4": x["x4"].max(1), "sum3": x["x3"].sum(1), "max7": x["x7"].max(1), "min2": x["x2"].min(1),
                "prod16": x["x16"].prod(1), "maxs": x["short4"].max(1), "soft4": softmax(x["x4"]),
                "log3": np.log(softmax(x["x3"])), "scaled": x["x3"] * x["scale"]}
    compare(folder, programs, want, ("sum", "prod", "soft", "log", "scaled"), f"{b} {n}")
