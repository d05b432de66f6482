"""What a case is, and how one is made: a few lines say operands and attributes, the rest follows.

A file of cases has functions under @operators("Name", ...), each given a Version and yielding cases:

    @operators("Softmax")
    def softmax(v):
        yield case(floats(2, 3, 4), axis=1)
"""
import dataclasses
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

import schemas

MAKERS = {}
generator = np.random.default_rng(0)
F32, F64, F16, I32, I64, U8, I8 = (np.dtype(t) for t in
                                   ("float32", "float64", "float16", "int32", "int64", "uint8", "int8"))
BOOL, STRING = np.dtype(bool), np.dtype(object)


@dataclasses.dataclass
class Const:
    """An input that is an initializer of the model."""
    array: np.ndarray


@dataclasses.dataclass
class Case:
    inputs: list  # arrays, lists (sequences), dicts, Const, None where left out
    attrs: dict
    outputs: int = 1
    skip: tuple = ()  # outputs left out
    tag: str = ""
    expect: object = None  # arrays by NumPy where no evaluator has this version
    oracle: str = ""  # "reference" or "runtime" where only that one is right
    like: dict = None  # a later opset, and the attributes under their names there: the reference evaluator's answer
    rtol: float = 0
    atol: float = 0
    types: list = None  # TypeProtos of inputs that arrays do not say
    out_types: list = None
    name: str = ""
    version: object = None


def operators(*names, domain=""):
    def add(fn):
        for name in names:
            MAKERS.setdefault((domain, name), []).append(fn)
        return fn
    return add


def case(*inputs, outputs=1, skip=(), tag="", expect=None, oracle="", like=None, rtol=0, atol=0,
         types=None, out_types=None, **attrs):
    return Case(list(inputs), attrs, outputs, skip, tag, expect, oracle, like, rtol, atol, types, out_types)


def const(values, dtype=I64):
    return Const(np.array(values, dtype))


def ints(*values, dtype=I64):
    return np.array(values, dtype)


def scalar(value, dtype=F32):
    return np.array(value, dtype)


def is_float(t):
    return t.kind == "f" or "float" in t.name


def is_small(t):
    """Kinds of less than a byte, and float8: values that few evaluators compute with."""
    return any(s in t.name for s in ("float8", "float4", "int4", "int2"))


def values(dtype, *shape, low=-2.0, high=2.0):
    """Random elements of any dtype; integers between low and high too, as far as there are any."""
    dtype = np.dtype(dtype)
    if dtype == BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype == STRING:
        return np.array([f"s{i}" for i in generator.integers(0, 5, shape).ravel()], object).reshape(shape)
    if dtype.kind == "c":
        return (generator.uniform(low, high, shape) + 1j * generator.uniform(low, high, shape)).astype(dtype)
    if is_float(dtype):
        return generator.uniform(low, high, shape).astype(np.float32).astype(dtype)
    if dtype.kind == "u" or dtype.name.startswith("uint"):
        low = max(low, 0)
    high = max(high, low + 2)
    return generator.integers(int(low), int(high) + 1, shape).astype(dtype)


def floats(*shape, low=-2.0, high=2.0):
    return values(F32, *shape, low=low, high=high)


def distinct(dtype, *shape):
    """No two alike, so that orders are clear."""
    n = int(np.prod(shape))
    return (generator.permutation(n).reshape(shape) - n // 3).astype(dtype) if np.dtype(dtype).kind != "u" \
        else generator.permutation(n).reshape(shape).astype(dtype)


def numbers(v, i=0):
    """dtypes worth a case of this version: float32 (else the first), and what it newly allows."""
    known = [t for t in v.types(i) if t != STRING and t.kind != "c"]
    base = F32 if F32 in known else known[0]
    return [base] + [t for t in v.new_types(i) if t in known and t != base]


def everything(v, i=0):
    """The same with strings and complex numbers."""
    known = v.types(i)
    base = F32 if F32 in known else known[0]
    return [base] + [t for t in v.new_types(i) if t != base]


# ---- models ---------------------------------------------------------------------------------------------


def type_of(value):
    """The TypeProto of an array, a list or a dict."""
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0]))
    if isinstance(value, dict):
        key, element = next(iter(value.items()))
        key_type = onnx.TensorProto.STRING if isinstance(key, str) else onnx.TensorProto.INT64
        # A number of Python's own: what evaluators give for the float32 of a map.
        element = np.float32(element) if type(element) is float else np.asarray(element)
        return helper.make_map_type_proto(key_type, type_of(element))
    array = np.asarray(value)
    array = array.astype(object) if array.dtype.kind in "SU" else array
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def tensor_type_without_dims(value):
    made = type_of(value)
    if made.HasField("tensor_type"):
        made.tensor_type.ClearField("shape")
    return made


def attribute(name, value):
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value, name))
    return helper.make_attribute(name, value)


def model_of(c, opset, out_types):
    """The case as a model of one node at this opset. out_types: None while nothing is known of them."""
    v = c.version
    node = onnx.NodeProto(op_type=v.name, domain=v.domain, name="node")
    graph = onnx.GraphProto(name="case")
    for i, value in enumerate(c.inputs):
        node.input.append("" if value is None else f"x{i}")
        if isinstance(value, Const):
            graph.initializer.append(numpy_helper.from_array(value.array, f"x{i}"))
        elif value is not None:
            given = c.types[i] if c.types and c.types[i] else type_of(value)
            graph.input.append(helper.make_value_info(f"x{i}", given))
    for k in range(c.outputs):
        node.output.append("" if k in c.skip else f"y{k}")
        if k not in c.skip:
            graph.output.append(helper.make_value_info(f"y{k}", out_types[k]) if out_types
                                else onnx.ValueInfoProto(name=f"y{k}"))
    node.attribute.extend(attribute(n, a) for n, a in c.attrs.items() if a is not None)
    graph.node.append(node)
    imports = [helper.make_opsetid(v.domain, opset)]
    if v.domain:
        imports.append(helper.make_opsetid("", schemas.STANDARD_BESIDE))
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = max(8, helper.find_min_ir_version_for(imports, ignore_unknown=True))
    return model


def fed(c):
    """The model's inputs by name."""
    return {f"x{i}": a for i, a in enumerate(c.inputs) if a is not None and not isinstance(a, Const)}


def cases_of(v):
    """All cases of a version, named and with values that depend on nothing else."""
    global generator
    found = []
    for maker in MAKERS.get((v.domain, v.name), []):
        generator = np.random.default_rng(zlib.crc32(f"{v.label} {v.since} {maker.__name__}".encode()))
        for c in maker(v):
            c.version = v
            c.name = f"{v.label.replace('.', '_')}_{v.since}_{len(found)}{'_' if c.tag else ''}{c.tag}"
            found.append(c)
    return found
