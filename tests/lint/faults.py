"""Faults put into valid models, one at a time.

Each fault is a generator of (what was done, the faulty model, names of inputs to feed in another dtype). Values stay
what they were wherever the other dtype holds them.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, HALF = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
INT32, INT64 = TensorProto.INT32, TensorProto.INT64


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                if inner.node or inner.output:
                    yield from graphs(inner)


def copy_of(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def tensors(model):
    """Initializers of all graphs that nobody overrides, and values of Constant nodes, in order."""
    inputs = {i.name for i in model.graph.input} if model.ir_version >= 4 else set()
    for graph in graphs(model.graph):
        yield from (t for t in graph.initializer if t.name not in inputs)
        for node in graph.node:
            yield from (a.t for a in node.attribute if node.op_type == "Constant" and a.name == "value")


def retyped(tensor, dtype):
    values = numpy_helper.to_array(tensor)
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    tensor.CopyFrom(numpy_helper.from_array(values.astype(kind), tensor.name))


def declare(graph, name, dtype):
    """Before IR version 4 an initializer is listed as an input too."""
    for entry in graph.input:
        if entry.name == name:
            entry.type.tensor_type.elem_type = dtype


def each_tensor(model, dtype, to, wanted=lambda t: True):
    """The model with one tensor stored as `to`."""
    for i, tensor in enumerate(tensors(model)):
        if tensor.data_type != dtype or tensor.external_data or not wanted(tensor):
            continue
        faulty = copy_of(model)
        retyped(list(tensors(faulty))[i], to)
        declare(faulty.graph, tensor.name, to)
        yield f"{tensor.name or 'constant'} {i}", faulty, {}


def initializer_f64(model):
    yield from each_tensor(model, FLOAT, DOUBLE)


def exact_in_half(tensor):
    values = numpy_helper.to_array(tensor)
    return len(tensor.dims) <= 1 and numpy.array_equal(values, values.astype(numpy.float16))


def bias_f16(model):
    yield from each_tensor(model, FLOAT, HALF, exact_in_half)


def index_i32(model):
    small = lambda t: t.dims and abs(numpy_helper.to_array(t)).max(initial=0) < 2 ** 31  # noqa: E731
    yield from each_tensor(model, INT64, INT32, small)


def each_input(model, dtype, to):
    weights = {t.name for t in model.graph.initializer}
    for i, entry in enumerate(model.graph.input):
        if entry.type.tensor_type.elem_type != dtype or entry.name in weights:
            continue
        faulty = copy_of(model)
        faulty.graph.input[i].type.tensor_type.elem_type = to
        yield entry.name, faulty, {entry.name: helper.tensor_dtype_to_np_dtype(to)}


def input_f64(model):
    yield from each_input(model, FLOAT, DOUBLE)


def input_i32(model):
    yield from each_input(model, INT64, INT32)


def cast_target(model):
    for i, node in enumerate(model.graph.node):
        for k, attribute in enumerate(node.attribute):
            if node.op_type != "Cast" or attribute.name != "to" or attribute.i not in (FLOAT, INT64):
                continue
            faulty = copy_of(model)
            faulty.graph.node[i].attribute[k].i = DOUBLE if attribute.i == FLOAT else INT32
            yield node.output[0], faulty, {}


def output_declared(model):
    """The repaired model's interface is the declared one: results are compared as numbers."""
    for i, entry in enumerate(model.graph.output):
        if entry.type.tensor_type.elem_type == FLOAT:
            faulty = copy_of(model)
            faulty.graph.output[i].type.tensor_type.elem_type = DOUBLE
            yield entry.name, faulty, {}


def value_declared(model):
    for i, entry in enumerate(model.graph.value_info):
        if entry.type.tensor_type.elem_type == FLOAT:
            faulty = copy_of(model)
            faulty.graph.value_info[i].type.tensor_type.elem_type = HALF
            yield entry.name, faulty, {}


def place(node, device):
    entry = node.metadata_props.add()
    entry.key, entry.value = "cameo.device", device


def devices(model):
    """Nodes placed on two devices: cut in the middle, and every other node."""
    nodes = model.graph.node
    if len(nodes) < 2:
        return
    for name, where in (("halves", lambda i: i >= len(nodes) // 2), ("turns", lambda i: i % 2)):
        faulty = copy_of(model)
        faulty.ir_version = max(faulty.ir_version, 10)
        for i, node in enumerate(faulty.graph.node):
            place(node, "cuda:0" if where(i) else "cpu")
        yield name, faulty, {}


FAULTS = [initializer_f64, bias_f16, index_i32, input_f64, input_i32, cast_target, output_declared,
          value_declared, devices]
