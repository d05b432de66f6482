#!/usr/bin/env python3
"""indices.py CAMEO: inputs that may be int32 or int64 by their schemas, held to what loads a model.

Every input of the standard whose types are just these two, at every version of its operator, is given constants and inputs of
int32. Where onnx.checker with full_check or onnxruntime refuses the model, which they take in int64, lint has to warn (DT003)
and `--fix` to mend it; where both take it, lint says nothing of it.
"""
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, defs, helper

from repair import checker_error, lint, load_error

BOTH = {"tensor(int32)", "tensor(int64)"}
F = TensorProto.FLOAT
# One node of each operator: its inputs, by name or, those that may be of both types, as their elements; its attributes.
SAMPLES = {
    "CenterCropPad": (["x", [2, 2]], {}), "CumProd": (["x", 0], {}), "CumSum": (["x", 0], {}),
    "DFT": (["signal", 4], {"inverse": 0}), "Gather": (["x", [0, 1]], {}), "GatherElements": (["x", [[0, 1]]], {}),
    "BlackmanWindow": ([4], {}), "HammingWindow": ([4], {}), "HannWindow": ([4], {}),
    "MelWeightMatrix": ([4, 8, 100, "low", "high"], {}), "NegativeLogLikelihoodLoss": (["x", [0, 1]], {}),
    "Pad": (["x", "pads", "value", [1]], {}), "STFT": (["wave", 2, "window", 4], {}),
    "Scatter": (["x", [[0, 1]], "one_row"], {}), "ScatterElements": (["x", [[0, 1]], "one_row"], {}),
    "SequenceAt": (["list", 0], {}), "SequenceErase": (["list", 0], {}), "SequenceInsert": (["list", "x", 0], {}),
    "Slice": (["x", [0], [1], [1], [1]], {}), "SoftmaxCrossEntropyLoss": (["x", [0, 1]], {}), "SplitToSequence": (["x", [1, 1]], {}),
}
FLOATS = {"x": [2, 3], "one_row": [1, 2], "signal": [1, 4, 1], "wave": [1, 8, 1], "window": [4], "low": [], "high": [], "value": []}
RANKS = {"DFT": 3, "STFT": 4, "BlackmanWindow": 1, "HammingWindow": 1, "HannWindow": 1, "NegativeLogLikelihoodLoss": 0,
         "SoftmaxCrossEntropyLoss": 0}  # of the results; of the others 2


def shape_of(elements):
    dims = []
    while isinstance(elements, list):
        dims.append(len(elements))
        elements = elements[0]
    return dims


def flat(elements):
    return [x for e in elements for x in flat(e)] if isinstance(elements, list) else [elements]


def result_of(op):
    if op in ("SequenceErase", "SequenceInsert", "SplitToSequence"):
        return helper.make_tensor_sequence_value_info("y", F, None)
    return helper.make_tensor_value_info("y", F, [f"d{k}" for k in range(RANKS.get(op, 2))])


def model_of(op, version, dtype, constant):
    operands, attributes = SAMPLES[op]
    nodes, inputs, weights, names = [], [], [], []
    for i, operand in enumerate(operands):
        if operand == "list":
            inputs.append(helper.make_tensor_value_info("x", F, [2, 3]))
            nodes.append(helper.make_node("SequenceConstruct", ["x"], ["list"]))
            names.append("list")
        elif operand == "pads":
            weights.append(helper.make_tensor("pads", TensorProto.INT64, [2], [1, 1]))
            names.append("pads")
        elif operand in ("low", "high", "value"):
            weights.append(helper.make_tensor(operand, F, [], [{"low": 1.0, "high": 50.0, "value": 0.0}[operand]]))
            names.append(operand)
        elif isinstance(operand, str):
            if operand not in [n.name for n in inputs]:
                inputs.append(helper.make_tensor_value_info(operand, F, FLOATS[operand]))
            names.append(operand)
        elif constant:
            weights.append(helper.make_tensor(f"i{i}", dtype, shape_of(operand), flat(operand)))
            names.append(f"i{i}")
        else:
            inputs.append(helper.make_tensor_value_info(f"i{i}", dtype, shape_of(operand)))
            names.append(f"i{i}")
    nodes.append(helper.make_node(op, names, ["y"], **attributes))
    graph = helper.make_graph(nodes, op.lower(), inputs, [result_of(op)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


def versions():
    """(operator, version) for each schema that has such an input."""
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated and any(set(p.types) == BOTH for p in schema.inputs):
            yield schema.name, schema.since_version


def refused(model):
    """By whom; kernels that onnxruntime lacks are no fault of the model."""
    error = load_error(model)
    return checker_error(model) or (error if error and "NOT_IMPLEMENTED" not in error else None)


def judge(cameo, op, version, constant, folder):
    """(is it refused in int32, what is wrong or None); None where the sample itself is refused in int64."""
    if refused(model_of(op, version, TensorProto.INT64, constant)):
        return None
    model = model_of(op, version, TensorProto.INT32, constant)
    path, out = folder / "m.onnx", folder / "fixed.onnx"
    onnx.save(model, path)
    _, report = lint(cameo, path)
    told = [f for f in report["findings"] if f["rule"] == "DT003"]
    bad = refused(model)
    if bool(bad) != bool(told):
        return bool(bad), f"refused: {bad and bad[:160]}; lint says {[f['message'] for f in told]}"
    if not bad:
        return False, None
    subprocess.run([cameo, "lint", "--fix", str(path), "-o", str(out)], capture_output=True, timeout=60)
    left = refused(onnx.load(out))
    return True, left and f"after --fix refused: {left[:160]}"


def main():
    cameo = str(pathlib.Path(sys.argv[1]).resolve())
    failed = asked = count = 0
    known = set()
    for op, version in versions():
        if op not in SAMPLES:
            print(f"{op}: no sample")
            failed += 1
            continue
        for constant in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                found = judge(cameo, op, version, constant, pathlib.Path(folder))
            if found is None:
                continue
            known.add(op)
            asked += 1
            count += found[0]
            if found[1]:
                failed += 1
                print(f"{op}-{version}, {'constant' if constant else 'input'}: {found[1]}")
    for op in sorted(set(SAMPLES) - known):
        failed += 1
        print(f"{op}: its sample is refused in int64")
    print(f"{asked} models in int32, {count} of them refused by onnx.checker or onnxruntime; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
