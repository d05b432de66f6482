#!/usr/bin/env python3
"""selftest.py CAMEO SUITE: what pack.py writes builds and runs under the emulated driver, and finds what is wrong.

The shipped classifier stands for the real models, every 100th case for the suite. A second run has one expected output
changed, and must say so.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/cuda"))
from build import Tools  # noqa: E402


def make_model(folder):
    digits = ROOT / "examples/digits"
    images = np.load(digits / "heldout.npz")["image"].astype(np.float32)[:3]
    want = onnxruntime.InferenceSession(str(digits / "digits.onnx"), providers=["CPUExecutionProvider"]).run(
        None, {"image": images})[0]
    data = folder / "digits" / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copy(digits / "digits.onnx", folder / "digits" / "model.onnx")
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(images).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(want).SerializeToString())


def run(packed, env):
    done = subprocess.run([sys.executable, str(packed / "run.py"), "--jobs", "2", "--bench", "2", "--sanitizer", "0"],
                          env=env, capture_output=True, text=True, timeout=1200)
    print(done.stdout[-2000:] + done.stderr[-2000:])
    return done


def main():
    cameo, suite = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_model(folder / "models")
        packed = folder / "pack"
        subprocess.run([sys.executable, str(HERE / "pack.py"), "--cameo", cameo, "--suite", suite, "--models",
                        str(folder / "models"), "-o", str(packed), "--every", "100"], check=True)
        env = Tools().environment()
        if run(packed, env).returncode != 0:
            return "the pack does not run as it should"
        outputs = [(p, TensorProto.FromString(p.read_bytes())) for p in sorted((packed / "cases").rglob("output_0.pb"))]
        expected, tensor = next((p, t) for p, t in outputs if t.data_type != TensorProto.STRING)
        value = numpy_helper.to_array(tensor).copy()
        value.flat[0] = value.flat[0] + 1 if value.dtype != bool else not value.flat[0]
        expected.write_bytes(numpy_helper.from_array(value).SerializeToString())
        again = run(packed, env)
        if again.returncode != 1 or f"differs {expected.parent.parent.name}" not in again.stdout:
            return "a wrong output is not found"
    return 0


if __name__ == "__main__":
    sys.exit(main())
