"""DIR PROGRAM ..: runs each program of short_reductions.onnxtxt in DIR and compares with NumPy, and threads with one another."""
import pathlib
import re
import subprocess
import sys

import numpy as np

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(3)
SIZES = 16, 17, 21, 31, 33, 50, 64, 97, 100, 127, 128
WHAT = {"max": np.max, "min": np.min, "sum": np.sum, "prod": np.prod, "argmax": np.argmax, "argmin": np.argmin}


def row(rows, n):
    x = random.normal(size=(rows, n)).astype("f4")
    x[1, random.integers(n)] = np.nan
    x[2, -1] = np.nan
    x[3, [0, n // 2]] = np.nan
    x[4, random.integers(n)] = np.inf
    x[5] = -np.inf
    x[6] = np.inf
    x[7, -2:] = 9  # equals, in the last places
    x[8, -2:] = -9
    x[9, 0] = 9
    x[10, 15] = -9
    return x


feeds = {f"x{n}": row(40, n) for n in SIZES}
feeds["plane"] = row(120, 49).reshape(40, 3, 7, 7)
np.savez(folder / "in.npz", **feeds)
for program in programs:
    made = []
    for threads in "1", "3":
        subprocess.run([folder / program, folder / "in.npz", "--threads", threads, "-o", folder / "out"], check=True)
        made.append({p.stem: np.load(p) for p in (folder / "out").glob("*.npy")})
    for name, got in made[0].items():
        assert got.tobytes() == made[1][name].tobytes(), (name, program)
        kind = re.fullmatch(r"([a-z]+)(\d+)", name)
        with np.errstate(all="ignore"):
            if kind:
                x = feeds[f"x{kind[2]}"]
                want = WHAT[kind[1]](x.astype("f8"), -1)
            else:
                want = (np.mean if name == "mean" else np.max)(feeds["plane"].astype("f8"), (2, 3))
        near = dict(rtol=1e-5, atol=1e-5) if name[:3] in ("sum", "mea") else dict(rtol=2e-5 if name[:4] == "prod" else 0, atol=0)
        np.testing.assert_allclose(got, want, err_msg=f"{name} {program}", **near)
    assert len(made[0]) == 27, program
