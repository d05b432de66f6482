"""What programs give at sizes that their cut loops take, and at those that these do not, beside NumPy."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

random = np.random.default_rng(1)
planes = [(2, 4, 7, 40), (1, 1, 1, 1), (3, 2, 2, 2), (1, 3, 40, 3), (2, 1, 3, 5), (1, 2, 5, 6), (1, 2, 1, 300), (2, 3, 300, 1)]
pairs = [((6, 50), (6, 50)), ((1, 50), (6, 50)), ((6, 1), (6, 50)), ((6, 50), (1, 1)), ((6, 1), (1, 7)), ((1, 1), (1, 1)),
         ((6, 50), (6, 1)), ((1, 1), (0, 3)), ((6, 1), (1, 0))]
for program in sys.argv[1:]:
    for k in range(max(len(planes), len(pairs))):
        shape, (one, two) = planes[k % len(planes)], pairs[k % len(pairs)]
        # few values, so that the first of equal ones is asked for
        x = random.integers(-3, 3, shape).astype(np.float32)
        b, e = (random.standard_normal(s).astype(np.float32) for s in (one, two))
        pads = [(0, 0), (0, 0), (2, 1), (3, 5)]
        want = {"mirrored": np.pad(x, pads, mode="reflect"), "edge": np.pad(x, pads, mode="edge"),
                "wrapped": np.pad(x, pads, mode="wrap"), "sum": b + e, "spread": np.broadcast_to(b, (4, 6, 50)),
                "best": x.argmax(2)}
        with tempfile.TemporaryDirectory() as to:
            to = pathlib.Path(to)
            for name, value in {"a": x, "b": b, "e": e}.items():
                np.save(to / f"{name}.npy", value)
            subprocess.run([program, *(to / f"{n}.npy" for n in "abe"), "-o", to], check=True)
            for name, y in want.items():
                np.testing.assert_array_equal(np.load(to / f"{name}.npy"), y, err_msg=f"{name} {shape} {one} {two}")
