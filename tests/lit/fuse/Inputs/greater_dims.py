"""greater_dims.py DIR: DIR/net against NumPy, with a cache as long as what it holds, longer, and none."""
import subprocess
import sys

import numpy as np

at, random = sys.argv[1], np.random.default_rng(1)
draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
for s, p, held in ((1, 7, (7, 7)), (1, 40, (9, 4)), (3, 20, (5,)), (70, 0, (0, 0)), (90, 200, (11,))):
    b, t = len(held), max(held) + s
    x = {"q": draw(b, s, 64), "k": draw(b, s, 32), "v": draw(b, s, 32), "pk": draw(b, 2, p, 16), "pv": draw(b, 2, p, 16),
         "last": np.array(held, np.int32) + s - 1, "mask": np.ones((b, t), np.int64)}
    np.savez(f"{at}/in.npz", **x)
    subprocess.run([f"{at}/net", f"{at}/in.npz", "-o", f"{at}/out"], check=True)
    y, nk, nv = (np.load(f"{at}/out/{n}.npy") for n in ("y", "nk", "nv"))
    for row, past in enumerate(held):
        kept = []
        for new, old, got in (("k", "pk", nk), ("v", "pv", nv)):
            kept.append(np.concatenate([x[old][row, :, :past], x[new][row].reshape(s, 2, 16).swapaxes(0, 1)], 1).astype(np.float64))
            assert got.shape == (b, 2, max(p, t), 16) and np.array_equal(got[row, :, :past + s], kept[-1]), (s, p, new)
        q = x["q"][row].reshape(s, 2, 2, 16).astype(np.float64)
        scores = np.einsum("sgrc,gtc->grst", q, kept[0]) / 4
        scores = np.where(np.arange(past + s) <= past + np.arange(s)[:, None], scores, -np.inf)
        parts = np.exp(scores - scores.max(-1, keepdims=True))
        parts /= parts.sum(-1, keepdims=True)
        wanted = np.einsum("grst,gtc->sgrc", parts, kept[1]).reshape(s, 64)
        assert np.allclose(y[row], wanted, rtol=1e-4, atol=1e-5), (s, p, held)
