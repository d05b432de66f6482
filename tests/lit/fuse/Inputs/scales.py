"""make DIR: the inputs of scales.onnxtxt; check DIR OUTPUTS: what it has computed, beside float64's."""
import sys

import numpy as np

work, folder = sys.argv[2], "/".join(sys.argv[2:4])
if sys.argv[1] == "make":
    rng = np.random.default_rng(3)
    np.save(f"{work}/q.npy", rng.standard_normal((2, 3, 37, 16)).astype("f4"))
    np.save(f"{work}/k.npy", rng.standard_normal((2, 3, 41, 16)).astype("f4"))
    sys.exit()
q, k = (np.load(f"{work}/{name}.npy").astype("f8") for name in "qk")
scores = q @ k.swapaxes(2, 3)
weights = np.exp(scores / 8)
expected = {"y": weights / weights.sum(-1, keepdims=True) @ k, "other": 1 / (1 + np.exp(-np.tanh(q) * 2 @ k.swapaxes(2, 3))),
            "shown": q / 2, "z": scores / 2}
for name, wanted in expected.items():
    np.testing.assert_allclose(np.load(f"{folder}/{name}.npy"), wanted, rtol=2e-5, atol=2e-5, err_msg=name)
