"""Softmax along the last axis, for the tests beside."""
import numpy as np


def softmax(x, empty):
    with np.errstate(all="ignore"):
        m = x.max(-1, keepdims=True)
        m = np.where(np.isneginf(m) & empty, 0, m)
        e = np.exp((x - m).astype("f8"))
        s = e.sum(-1, keepdims=True)
        return e / np.where((s == 0) & empty, 1, s)
