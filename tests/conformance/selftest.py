#!/usr/bin/env python3
"""selftest.py CAMEO SUITE: the runner tells right from wrong. Cases of the suite are spoiled one way each."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import draws

CASE, DRAWN = "test_add", "test_training_dropout_mask"


def spoil_value(folder):
    path = folder / "test_data_set_0" / "output_0.pb"
    array = numpy_helper.to_array(onnx.load_tensor(path)).copy()
    array.ravel()[-1] += 1e-2
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())


def spoil_nan(folder):
    path = folder / "test_data_set_0" / "output_0.pb"
    array = numpy_helper.to_array(onnx.load_tensor(path)).copy()
    array.ravel()[0] = np.nan
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())


def spoil_dtype(folder):
    path = folder / "test_data_set_0" / "output_0.pb"
    array = numpy_helper.to_array(onnx.load_tensor(path)).astype(np.float64)
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())


def spoil_shape(folder):
    path = folder / "test_data_set_0" / "output_0.pb"
    array = numpy_helper.to_array(onnx.load_tensor(path))[None]
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())


def spoil_output(folder):
    (folder / "test_data_set_0" / "output_0.pb").unlink()


def spoil_input(folder):
    (folder / "test_data_set_0" / "input_1.pb").unlink()


def spoil_sets(folder):
    shutil.rmtree(folder / "test_data_set_0")


def spoil_operator(folder):
    model = onnx.load(folder / "model.onnx")
    model.opset_import.add(domain="com.example", version=1)
    model.graph.node[0].domain, model.graph.node[0].op_type = "com.example", "Unheard"
    onnx.save(model, folder / "model.onnx")


WANTED = {"kept": (None, "passed"), "value": (spoil_value, "failed"), "nan": (spoil_nan, "failed"),
          "dtype": (spoil_dtype, "failed"), "shape": (spoil_shape, "failed"), "output": (spoil_output, "failed"),
          "input": (spoil_input, "failed"), "sets": (spoil_sets, "failed"), "operator": (spoil_operator, "refused"),
          "drawn": (None, "passed"), "drawn value": (spoil_value, "passed"), "drawn dtype": (spoil_dtype, "failed"),
          "drawn shape": (spoil_shape, "failed")}


def statistics_wrong():
    """Does the chi-square of draws.py tell what is even from what is not?"""
    rng, p = np.random.default_rng(3), np.full(10, 0.1)
    even = draws.chi_square(rng.integers(0, 10, draws.DRAWS), p)
    uneven = draws.chi_square(np.minimum(rng.integers(0, 1010, draws.DRAWS) // 100, 9), p)
    too_even = draws.chi_square(np.arange(draws.DRAWS) % 10, p)
    return abs(even) > 3 or uneven < draws.SIGMAS or too_even > -draws.SIGMAS


def main():
    cameo, suite = sys.argv[1], pathlib.Path(sys.argv[2])
    runner = pathlib.Path(__file__).with_name("run.py")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name, (spoil, _) in WANTED.items():
            shutil.copytree(suite / (DRAWN if name.startswith("drawn") else CASE), scratch / name)
            if spoil:
                spoil(scratch / name)
        (scratch / "cases.json").write_text(json.dumps([{"name": n, "kind": "node"} for n in WANTED]))
        done = subprocess.run([sys.executable, runner, "--cameo", cameo, "--suite", scratch, "--json",
                               scratch / "result.json"], capture_output=True, text=True)
        got = {n: r[0] for n, r in json.loads((scratch / "result.json").read_text()).items()}
    wrong = [f"{n}: {got[n]}, expected {w}" for n, (_, w) in WANTED.items() if got[n] != w]
    wrong += ["the chi-square of draws.py is wrong"] if statistics_wrong() else []
    print("\n".join(wrong) or f"{len(WANTED)} cases told apart")
    sys.exit(1 if wrong or done.returncode != 1 else 0)


if __name__ == "__main__":
    main()
