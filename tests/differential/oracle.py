"""What a node's results should be: the reference evaluator in float64, NumPy, or ONNX Runtime.

`expected(d, arrays)` gives the results of a node in their dtypes. An oracle that does not know the operator raises; a
recipe may name its own (d.oracle: a function of the draw and the arrays, a list of arrays).
"""
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import draw

warnings.filterwarnings("ignore")


class NoOracle(Exception):
    """No oracle can compute this node."""


def to_dtype(array, name):
    """float64 results rounded to their dtype; integers and bool as they are."""
    array = np.asarray(array)
    want = draw.numpy_of(name)
    if array.dtype == want:
        return array
    with np.errstate(all="ignore"):
        return array.astype(want)


def wide(d, arrays):
    """The operands with float64 for the plain float dtypes."""
    some = []
    for i, array in zip(d.inputs, arrays):
        some.append(array.astype(np.float64) if i is not None and i.dtype in draw.REALS else array)
    return some


def oracle_model(d, arrays):
    """The node with all operands as inputs, of the dtypes of the arrays."""
    infos, feeds = [], {}
    for i, array in zip(d.inputs, arrays):
        if i is not None:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            infos.append(helper.make_tensor_value_info(i.name, kind, i.shape))
            feeds[i.name] = array
    outputs = [helper.make_tensor_value_info(f"y{k}", TensorProto.UNDEFINED, None) for k in range(d.count())]
    graph = helper.make_graph([draw.make_node(d)], "g", infos, outputs)
    opset = helper.make_opsetid(d.domain, d.opset if d.domain == "" else 1)
    return helper.make_model(graph, opset_imports=[opset], ir_version=13), feeds


def reference(d, arrays):
    """The reference evaluator on the operands as they are."""
    model, feeds = oracle_model(d, arrays)
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, feeds)]


def reference64(d, arrays):
    return reference(d, wide(d, arrays))


def runtime(d, arrays):
    """ONNX Runtime, at the newest opset it knows."""
    feeds = {}
    infos = []
    for i, array in zip(d.inputs, arrays):
        if i is not None:
            infos.append(helper.make_tensor_value_info(i.name, draw.SCHEMA_NAMES[i.dtype], i.shape))
            feeds[i.name] = array
    outputs = [helper.make_tensor_value_info(f"y{k}", draw.SCHEMA_NAMES[d.output_dtype(k)], None)
               for k in range(d.count())]
    graph = helper.make_graph([draw.make_node(d)], "g", infos, outputs)
    imports = [helper.make_opsetid("", min(d.opset, 26))]
    if d.domain:
        imports.append(helper.make_opsetid(d.domain, 1))
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return [np.asarray(r) for r in runtime_of(model)(feeds)]


def runtime_of(model):
    """A function of feeds that runs a model in ONNX Runtime, as it stands."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def expected(d, arrays):
    """The results in their dtypes, or NoOracle."""
    order = [d.oracle] if d.oracle else [reference64, reference, runtime]
    said = []
    for oracle in order:
        try:
            results = oracle(d, arrays)
            return [to_dtype(r, d.output_dtype(k)) for k, r in enumerate(results)]
        except Exception as e:  # whatever an evaluator raises means that it cannot do this node
            said.append(f"{getattr(oracle, '__name__', 'own')}: {str(e)[:200]}")
    raise NoOracle(" | ".join(said))


def tolerance(d, results):
    """rtol and atol of a node: ulps of its widest result dtype, times the terms of a reduction."""
    names = [d.output_dtype(k) for k in range(len(results))]
    floats = [n for n in names if draw.is_float(n)]
    if d.exact or not floats:
        return 0.0, 0.0
    eps = max(draw.epsilon(n) for n in floats)
    least = max(float(ml_dtypes.finfo(draw.numpy_of(n)).smallest_subnormal) for n in floats)
    inner = max(draw.epsilon(n) if n == "double" else draw.epsilon("float") for n in floats)
    steps = d.ulps * max(inner, draw.epsilon(d.inner) if d.inner else 0.0) * (4 + d.terms)
    # An operator on a dtype narrower than float32 is computed in float32 and rounded once. One that the
    # specification defines by a function of other operators is rounded after each of these.
    if eps > inner and (d.rounds or d.schema.has_function or d.schema.has_context_dependent_function):
        steps = d.ulps * eps * (1 + 0.25 * d.terms ** 0.5)
    return eps + steps, d.scale * steps + (0.5 * eps * d.scale if d.scale and eps > inner else 0.0) + 2 * least
