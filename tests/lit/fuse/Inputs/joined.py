"""make DIR: the inputs of joined.onnxtxt; check DIR OUTPUTS: what it has computed, beside float64's."""
import sys

import numpy as np

work, folder = sys.argv[2], "/".join(sys.argv[2:4])
if sys.argv[1] == "make":
    rng = np.random.default_rng(5)
    for name in "xz":
        np.save(f"{work}/{name}.npy", rng.standard_normal((2, 3, 5, 64)).astype("f4"))
    sys.exit()
x, z = (np.load(f"{work}/{name}.npy").astype("f8") for name in "xz")
rotated = np.concatenate([-x[..., 32:], x[..., :32]], 3)
zt = z.swapaxes(2, 3)
expected = {
    "turned": x * np.cos(z) + rotated * np.sin(z),
    "across": abs(np.concatenate([x, z[:, :1], z], 1)),
    "short": -np.concatenate([z[..., 2:4], x[..., :2]], 3),
    "one": np.concatenate([z[..., 63:], x[..., :63]], 3) * x,
    "product": np.concatenate([abs(x[..., 32:]), x[..., :32]], 3) @ zt,
    "kept": np.maximum(np.tanh(x), 0),
    "both": -np.concatenate([np.tanh(x), z], 1),
    "products": -np.concatenate([x @ zt, z @ zt], 1),
}
for name, wanted in expected.items():
    np.testing.assert_allclose(np.load(f"{folder}/{name}.npy"), wanted, rtol=2e-5, atol=2e-5, err_msg=name)
