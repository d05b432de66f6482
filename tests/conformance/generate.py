#!/usr/bin/env python3
"""Writes the ONNX backend suite of the installed onnx package as folders: model, data sets, tolerance.

    python3 generate.py OUT

Node cases are computed by the package in memory; the others lie in its data folder (light models get their
inputs and reference outputs from there too). OUT/cases.json lists all of them.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

# Cases whose expected values are rounding noise of NumPy's float32 FFT, where zero is right: judged with this atol.
NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


def to_proto(value, type_proto, name):
    """The value as the protobuf message that backend tests store, with the file's kind."""
    kind = type_proto.WhichOneof("value") if type_proto is not None else "tensor_type"
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, name)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), name)


def write_case(out, case):
    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    if case.model is not None:
        onnx.save(case.model, folder / "model.onnx")
        infos = {"input": case.model.graph.input, "output": case.model.graph.output}
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{i}"
            data.mkdir(exist_ok=True)
            for kind, values in (("input", inputs), ("output", outputs)):
                for k, value in enumerate(values):
                    info = infos[kind][k]
                    (data / f"{kind}_{k}.pb").write_bytes(to_proto(value, info.type, info.name).SerializeToString())
    else:
        shutil.copytree(case.model_dir, folder, dirs_exist_ok=True)
    tolerance = {"rtol": case.rtol, "atol": case.atol}
    if case.name in NOISE:
        tolerance |= {"atol": NOISE[case.name], "noise": True}
    (folder / "tolerance.json").write_text(json.dumps(tolerance))
    return {"name": case.name, "kind": case.kind}


def light_cases():
    """The light models: their graphs and reference values come with the package."""
    base = pathlib.Path(loader.DATA_DIR) / "light"
    for model in sorted(base.glob("light_*.onnx")):
        yield base, model


def write_light(out, base, model):
    name = "test_" + model.stem.removeprefix("light_")
    folder = out / name
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    shutil.copy(model, folder / "model.onnx")
    loaded = onnx.load(model)
    weights = {i.name for i in loaded.graph.initializer}
    inputs = [i for i in loaded.graph.input if i.name not in weights]
    # As onnx.backend.test.runner: inputs are counted up to 1, the outputs are stored beside the model.
    for k, info in enumerate(inputs):
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        n = int(np.prod(shape))
        value = (np.arange(n).reshape(shape) / n).astype(np.float32)
        (folder / "test_data_set_0" / f"input_{k}.pb").write_bytes(
            numpy_helper.from_array(value, info.name).SerializeToString())
    for k, info in enumerate(loaded.graph.output):
        stored = base / f"{model.stem}_output_{k}.pb"
        if stored.exists():
            shutil.copy(stored, folder / "test_data_set_0" / f"output_{k}.pb")
    (folder / "tolerance.json").write_text(json.dumps({"rtol": 2e-3, "atol": 1e-5}))
    return {"name": name, "kind": "light"}


def main():
    out = pathlib.Path(sys.argv[1])
    done = out / "cases.json"
    if done.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    import warnings
    warnings.filterwarnings("ignore")
    rows, seen = [], set()
    cases = list(loader.load_node_model_tests())
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        cases += loader.load_model_tests(kind=kind)
    # The package lists its folders as the file system does: a part of the cases must be the same part everywhere.
    for case in sorted(cases, key=lambda c: c.name):
        if case.name in seen:
            continue
        seen.add(case.name)
        rows.append(write_case(out, case))
    for base, model in light_cases():
        rows.append(write_light(out, base, model))
    done.write_text(json.dumps(rows))
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
