"""Data sets for calib.onnxtxt: calib_data.py FOLDER. good/ has nothing to find; bad/ all of it."""
import os
import sys

import numpy as np


def write(folder, name, x, h, keep):
    os.makedirs(folder, exist_ok=True)
    np.savez(f"{folder}/{name}.npz", x=x.astype(np.float32), h=h.astype(np.float16), keep=keep)


def main(to):
    row = np.array([0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0])
    rows = np.stack([row, 0.5 * row])
    keep = np.ones((2, 8), bool)
    keep[:, 3] = False
    write(f"{to}/good", "a", rows, rows, keep)
    write(f"{to}/good", "b", 0.75 * rows, 0.75 * rows, keep)
    bad = np.stack([2e4 + row, -1e38 * np.ones(8)])
    bad[1, 0] = 0
    keep[1] = False
    write(f"{to}/bad", "a", bad, np.stack([300 * row, 0 * row]), keep)
    os.makedirs(f"{to}/wide", exist_ok=True)
    np.savez(f"{to}/wide/a.npz", x=rows, h=rows.astype(np.float16), keep=keep)
    os.makedirs(f"{to}/dims", exist_ok=True)
    np.savez(f"{to}/dims/a.npz", x=rows[:, :7].astype(np.float32), h=rows.astype(np.float16), keep=keep)
    os.makedirs(f"{to}/files/one", exist_ok=True)
    for name, value in [("x", rows.astype(np.float32)), ("h", rows.astype(np.float16)), ("keep", keep)]:
        np.save(f"{to}/files/one/{name}.npy", value)
    os.makedirs(f"{to}/empty", exist_ok=True)


main(sys.argv[1])
