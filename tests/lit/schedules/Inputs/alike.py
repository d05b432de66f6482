"""Programs that are to compute the same, with the same bits for any number of threads."""
import subprocess

import numpy as np


def compare(folder, programs, want, loose, what, rtol=1e-5, atol=1e-5):
    """Runs each program of `folder` with its in.npz and compares with `want`: exactly, but for names that begin as one of `loose`."""
    for program in programs:
        made = []
        for threads in "1", "3":
            subprocess.run([folder / program, folder / "in.npz", "--threads", threads, "-o", folder / "out"], check=True)
            made.append({p.stem: np.load(p) for p in (folder / "out").glob("*.npy")})
        assert made[0].keys() == want.keys()
        for name, got in made[0].items():
            assert got.tobytes() == made[1][name].tobytes(), (name, program, what)
            near = (rtol, atol) if name.startswith(loose) else (0, 0)
            np.testing.assert_allclose(got, want[name], *near, err_msg=f"{name} {program} {what}")
