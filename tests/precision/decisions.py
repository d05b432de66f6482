"""Outputs that differ since a decision of the model fell otherwise: a TopK, an order, a box that another one covers."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from onnx import numpy_helper

MOST = 0.1  # of the rows may be others


def rows_matched(got, want, near):
    """The share of rows that both have, in any order: a row is what all outputs have at one place of their first axis."""
    pairs = [(np.asarray(g), np.asarray(w)) for g, w in zip(got, want)]
    counts = {w.shape[:1] for _, w in pairs}
    if len(counts) != 1 or () in counts or (0,) in counts:
        return 0.0
    n = counts.pop()[0]
    columns = []
    for g, w in pairs:
        exact = w.dtype.kind != "f"
        scale = 1e-9 if exact else max(np.sqrt(np.mean(np.square(w, dtype=np.float64))), 1e-6) * near
        columns.append([np.asarray(x, np.float64).reshape(n, -1) / scale for x in (g, w)])
    there, here = (np.concatenate([c[k] for c in columns], axis=1) for k in (0, 1))
    free, matched = np.ones(n, bool), 0
    for row in here:
        far = np.where(free, np.abs(there - row).max(axis=1), np.inf)
        if far.min() <= 3:  # of near, the root of the mean square
            free[far.argmin()] = False
            matched += 1
    return matched / n


def may_flip(program, path, feeds, precision):
    """What `cameo drift` names: the decisions that stand nearer to their threshold than the error in that precision."""
    with tempfile.TemporaryDirectory() as folder:
        for k, v in enumerate(feeds.values()):
            (pathlib.Path(folder) / f"input_{k}.pb").write_bytes(numpy_helper.from_array(v).SerializeToString())
        done = subprocess.run([program, "drift", str(path), "--data", folder, "--precision", precision, "--format", "json", "-q"],
                              capture_output=True, text=True, check=False)
    if done.returncode:
        return []
    return [d["path"] for d in json.loads(done.stdout)["decisions"] if d["may_flip"]]
