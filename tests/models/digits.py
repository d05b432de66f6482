#!/usr/bin/env python3
"""digits.py CAMEO FOLDER: the shipped classifier, compiled, agrees with onnxruntime on all held-out images."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime


def main():
    cameo, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    held = np.load(folder / "heldout.npz")
    images = held["image"].astype(np.float32)
    session = onnxruntime.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        subprocess.run([cameo, "compile", folder / "digits.onnx", "-o", scratch / "digits"], check=True)
        for batch in (1, 3, len(images)):  # one binary for every batch size
            np.save(scratch / "in.npy", images[:batch])
            subprocess.run([scratch / "digits", scratch / "in.npy", "-o", scratch / "out"], check=True)
            got = np.load(scratch / "out" / "probabilities.npy")
            want = session.run(None, {"image": images[:batch]})[0]
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
        right = (got.argmax(1) == held["label"]).mean()
    print(f"right on {len(images)} held-out images: {right:.2%}")
    assert right >= 0.97


if __name__ == "__main__":
    main()
