"""What NumPy says of never_nan.onnxtxt: never_nan.py A B FOLDER."""
import sys

import numpy as np

a, b = np.load(sys.argv[1]), np.load(sys.argv[2])
with np.errstate(invalid="ignore"):
    number = np.where(np.abs(b) <= np.float32(1e30), b, np.float32(0))
want = {"most": np.maximum(a, number), "least": np.minimum(-number, a), "either": np.maximum(a, b)}
for name, value in want.items():
    got = np.load(f"{sys.argv[3]}/{name}.npy")
    assert np.array_equal(got, value, equal_nan=True), (name, got, value)
