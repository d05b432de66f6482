"""Expected values: ONNX Runtime and the reference evaluator, where both speak they are held together."""
import dataclasses
import os
import sys
import warnings

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

import cases
import explained
import schemas

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import values  # noqa: E402

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
import onnxruntime  # noqa: E402

onnxruntime.set_default_logger_severity(4)
warnings.filterwarnings("ignore")
RUNTIME_IR, RUNTIME_OPSET = 13, 27


def outputs_of(c):
    return [f"y{k}" for k in range(c.outputs) if k not in c.skip]


def by_runtime(c):
    """The outputs, or what ONNX Runtime says against it."""
    v = c.version
    opset = v.opset if v.domain else min(v.opset, RUNTIME_OPSET)
    if opset < v.since:
        return f"no opset {v.since} yet"
    feeds = cases.fed(c)
    for value in feeds.values():
        if isinstance(value, np.ndarray) and value.dtype.isbuiltin != 1:
            return f"{value.dtype} cannot be given"
    try:
        model = cases.model_of(c, opset, c.out_types)
        model.ir_version = min(model.ir_version, RUNTIME_IR)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        return [named(tidy(o), t.type) for o, t in zip(session.run(outputs_of(c), feeds), session.get_outputs())]
    except Exception as error:  # noqa: BLE001: whatever it cannot do is what is asked
        return first_line(error)


def by_reference(c):
    try:
        model = cases.model_of(c, c.version.opset, c.out_types)
        evaluator = ReferenceEvaluator(model)
        with np.errstate(all="ignore"):
            got = evaluator.run(outputs_of(c), cases.fed(c))
        for o in got:
            if isinstance(o, np.ndarray):
                helper.np_dtype_to_tensor_dtype(o.dtype)
        return as_declared(c, [tidy(o) for o in got])
    except Exception as error:  # noqa: BLE001
        return first_line(error)


def named(value, text):
    """Kinds that ONNX Runtime hands out as bytes, as what they are."""
    t = schemas.numpy_type(text)
    if isinstance(value, np.ndarray) and t is not None and value.dtype == np.uint8 and t != value.dtype:
        if any(s in t.name for s in ("4", "2_", "int2")) and "float8" not in t.name:
            raise ValueError(f"{t} cannot be taken")
        return value.view(t)
    return value


def as_declared(c, outputs):
    """The reference evaluator computes in wider types here and there: what the schema gives, of the same numbers."""
    params, known = c.version.schema.outputs, {}
    for param, value in zip(c.version.schema.inputs, c.inputs):
        array = value.array if isinstance(value, cases.Const) else value
        if isinstance(array, np.ndarray):
            known[param.type_str] = array.dtype
    positions = [k for k in range(c.outputs) if k not in c.skip]
    for n, k in enumerate(positions):
        param = params[min(k, len(params) - 1)]
        fixed = schemas.numpy_type(param.type_str) if "(" in param.type_str else None
        t = fixed or (known.get(param.type_str) if param.option.name != "Variadic" or len(params) == 1 else None)
        if t is not None and isinstance(outputs[n], np.ndarray) and outputs[n].dtype != t != object:
            outputs[n] = outputs[n].astype(t)
    return outputs


def tidy(value):
    if isinstance(value, (np.generic, bytes, str)):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return value.astype(object)
    if isinstance(value, np.ndarray) and value.dtype == object:
        if not all(isinstance(e, (str, bytes)) for e in value.ravel()):
            raise ValueError("an array of strings that holds something else")
    if isinstance(value, (list, tuple)):
        return [tidy(v) for v in value]
    return value


def first_line(error):
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def tolerance(c, arrays):
    """(rtol, atol) by the coarsest float among operands and results."""
    names = {str(getattr(a, "dtype", "")) for a in
             [x.array if isinstance(x, cases.Const) else x for x in c.inputs] + list(arrays)}
    if c.rtol or c.atol:
        return c.rtol, c.atol
    if "bfloat16" in names:
        return 1.6e-2, 1.6e-2
    if "float16" in names:
        return 2e-3, 2e-3
    return 1e-4, 2e-6


def by_later_version(c):
    """The reference evaluator at a later opset, where the meaning is the same under other names of attributes."""
    later = dict(c.like)
    twin = dataclasses.replace(c, like=None, attrs=c.attrs | {k: a for k, a in later.items() if k != "opset"})
    twin.version = dataclasses.replace(c.version, opset=later["opset"])
    return by_reference(twin)


def differences(c, a, b):
    rtol, atol = tolerance(c, a)
    for k, (x, y) in enumerate(zip(a, b)):
        if type(x) is not type(y):
            return f"output {k}: {type(x).__name__}, expected {type(y).__name__}"
        why = values.difference(x, y, rtol, atol)
        if why:
            return f"output {k}: {why}"
    return None


def expected(c):
    """(outputs or None, who says so, remark)."""
    if c.expect is not None:
        return [np.asarray(o) if o is not None else None for o in c.expect], "NumPy", ""
    if c.like:
        got = by_later_version(c)
        return (got, "reference", "") if isinstance(got, list) else (None, "none", got)
    runtime = by_runtime(c) if c.oracle != "reference" else "not asked"
    reference = by_reference(c) if c.oracle != "runtime" else "not asked"
    both = isinstance(runtime, list) and isinstance(reference, list)
    if both:
        why = differences(c, reference, runtime)
        if why is None:
            return runtime, "both", ""
        choice = explained.choice(c)
        if choice is None:
            return runtime, "runtime", "unexplained: reference differs: " + why
        return (runtime if choice[0] == "runtime" else reference), choice[0], choice[1]
    if isinstance(runtime, list):
        return runtime, "runtime", ""
    if isinstance(reference, list):
        return reference, "reference", ""
    return None, "none", f"runtime: {runtime}; reference: {reference}"


def check_valid(c, model):
    """None, or what the checker says of the model."""
    try:
        onnx.checker.check_model(model, full_check=False)
    except Exception as error:  # noqa: BLE001
        return first_line(error)
    return None
