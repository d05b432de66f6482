#!/usr/bin/env python3
"""derived.py MODELS FOLDER [--filter RE]: what tools make of the models of MODELS (NAME/model.onnx), FOLDER/NAME.TOOL/model.onnx.

Tools: the float16 converters of onnxconverter-common and of ONNX Runtime, ONNX Runtime's quantization (dynamic, and with
QuantizeLinear and DequantizeLinear), its optimizer offline, onnxslim. Needs those packages; what a tool cannot make is named.
"""
import argparse
import pathlib
import re
import warnings

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization

onnxruntime.set_default_logger_severity(4)
warnings.filterwarnings("ignore")
SIZES = {"batch": 2, "time": 8, "total": 8, "past": 4}
KINDS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_}


class Drawn(quantization.CalibrationDataReader):
    """Three sets of inputs; whole numbers are 0 or 1, so that they are in every table."""

    def __init__(self, path):
        random, self.left = np.random.default_rng(0), []
        for _ in range(3):
            feeds = {}
            for i in onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_inputs():
                shape = [d if isinstance(d, int) else SIZES.get(d, 12) for d in i.shape]
                values = random.uniform(0, 1, shape)
                feeds[i.name] = values.astype(KINDS[i.type]) if i.type in KINDS else (values > 0.5).astype(np.int64)
            self.left.append(feeds)

    def get_next(self):
        return self.left.pop() if self.left else None


def half(source, target):
    from onnxconverter_common import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def half_ort(source, target):
    from onnxruntime.transformers import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def dynamic8(source, target):
    quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)


def qdq(source, target):
    ready = target.parent / "ready.onnx"
    try:
        quantization.shape_inference.quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
        quantization.quantize_static(ready, target, Drawn(source), per_channel=True)
    finally:
        ready.unlink(missing_ok=True)


def optimized(source, target):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def slim(source, target):
    import onnxslim
    onnx.save(onnxslim.slim(onnx.load(source)), target)


TOOLS = (half, half_ort, dynamic8, qdq, optimized, slim)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", type=pathlib.Path)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--filter", default="")
    options = p.parse_args()
    written = 0
    for source in sorted(options.models.glob("*/model.onnx")):
        for tool in TOOLS:
            name = f"{source.parent.name}.{tool.__name__}"
            if not re.search(options.filter, name):
                continue
            target = options.folder / name / "model.onnx"
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                tool(source, target)
                written += 1
            except Exception as e:  # noqa: BLE001: said by name
                target.unlink(missing_ok=True)
                target.parent.rmdir()
                print(f"{name}: not made: {type(e).__name__}: {(str(e).strip() or '?').splitlines()[0][:120]}", flush=True)
    print(written, "models in", options.folder)


if __name__ == "__main__":
    main()
