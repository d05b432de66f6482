"""DIR PROGRAM ..: runs each program of heads_shared.onnxtxt in DIR, by one thread and by three, and compares with float64."""
import pathlib
import sys

import numpy as np

import alike

folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
random = np.random.default_rng(23)


def attention(q, k, v, first=None):
    """Of [batch, heads, rows, 16]; first: the row of keys that the first query is, where later ones are not seen."""
    share = q.shape[1] // k.shape[1]
    k, v = (x.astype("f8").repeat(share, axis=1) for x in (k, v))
    s = q.astype("f8") @ k.swapaxes(-1, -2) / 4
    if first is not None:
        s = np.where(np.arange(k.shape[2]) <= np.arange(q.shape[2])[:, None] + first, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def apart(x):
    return x.reshape(*x.shape[:2], -1, 16).swapaxes(1, 2)


for batch, rows, past, heads, groups in (1, 1, 0, 4, 2), (2, 1, 37, 3, 1), (2, 2, 5, 6, 2), (1, 263, 0, 5, 5), (1, 300, 33, 8, 2):
    def normal(*shape):
        return random.normal(size=shape).astype("f4")
    x = {"q": normal(batch, rows, 96), "k": normal(batch, rows, 32), "v": normal(batch, rows, 32),
         "pk": normal(batch, 2, past, 16), "pv": normal(batch, 2, past, 16), "qo": normal(batch, heads, rows, 16),
         "ko": normal(batch, groups, rows + 3, 16), "vo": normal(batch, groups, rows + 3, 16)}
    np.savez(f"{folder}/in.npz", **x)
    nk, nv = (np.concatenate([x["p" + n], apart(x[n])], axis=2) for n in "kv")
    want = {"y": attention(apart(x["q"]), nk, nv, past).swapaxes(1, 2).reshape(batch, rows, 96), "nk": nk, "nv": nv,
            "z": attention(x["qo"], x["ko"], x["vo"])}
    alike.compare(folder, programs, want, ("y", "z", "nk", "nv"), (rows, past), rtol=0, atol=5e-6)
