"""Faults put into valid models, one at a time.

FAULTS lists the kinds. Each is a function of a model that gives its sites, (what, make) pairs: make(random) puts the fault
there. A Fault knows what was done: where it begins, the rule that has to find it where that does not follow from dtypes,
and inputs that are to be fed in another dtype. Values stay what they were wherever the other dtype holds them.
"""
import dataclasses

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from typeflow import Flow, formal, schema_of

FLOAT, DOUBLE, HALF, BFLOAT = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16
INT32, INT64, INT8, UINT8 = TensorProto.INT32, TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8


@dataclasses.dataclass
class Fault:
    model: onnx.ModelProto
    origins: frozenset  # (kind, name), any of which is the place where it began
    feeds: dict = dataclasses.field(default_factory=dict)
    rule: str = None  # None: what follows from the dtypes
    mends: bool = True  # does the catalogue name a fix?
    exact: bool = True  # may outputs be compared bit by bit?
    narrow: bool = False  # has the fault rounded something to 16 bits?
    rounded: onnx.ModelProto = None  # the valid model that rounds so too; a repair cannot bring back what is lost
    control: onnx.ModelProto = None  # the valid model, where more than the fault was put into it
    files: dict = dataclasses.field(default_factory=dict)  # beside the model: name -> text
    control_files: dict = dataclasses.field(default_factory=dict)
    most_casts: int = None  # more than the valid model has; None: the repair's own figures say it


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


def all_nodes(model):
    """(graph, node) of the graphs and the graphs within, in order; not of functions."""
    return [(g, n) for g in graphs(model.graph) for n in g.node]


def body_nodes(model):
    """The same of the functions' bodies and the graphs within those."""
    held = lambda f: [g for n in f.node for a in n.attribute if a.type == a.GRAPH for g in graphs(a.g)]  # noqa: E731
    return [(g, n) for f in model.functions for g in [f, *held(f)] for n in g.node]


def inner_nodes(model):
    """The same of the graphs within the model's own."""
    return [(g, n) for g in list(graphs(model.graph))[1:] for n in g.node]


# ---- tensors ------------------------------------------------------------------------------------

def tensors(model):
    """(kind, name, tensor): initializers that nobody overrides, values of Constant nodes, in order."""
    inputs = {i.name for i in model.graph.input} if model.ir_version >= 4 else set()
    for graph in graphs(model.graph):
        yield from (("initializer", t.name, t) for t in graph.initializer if t.name not in inputs)
        for node in graph.node:
            yield from (("constant", node.output[0], a.t) for a in node.attribute
                        if node.op_type == "Constant" and a.name == "value")


def body_tensors(model):
    """Constants of functions' bodies, in the same form."""
    for _, node in body_nodes(model):
        yield from (("constant", node.output[0], a.t) for a in node.attribute
                    if node.op_type == "Constant" and a.name == "value")


def retyped(tensor, dtype):
    values = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(dtype)), tensor.name))


def declare(graph, name, dtype):
    """Before IR version 4 an initializer is listed as an input too."""
    for entry in graph.input:
        if entry.name == name:
            entry.type.tensor_type.elem_type = dtype


def store(model, i, dtype):
    faulty = copy_of(model)
    kind, name, tensor = list(tensors(faulty))[i]
    retyped(tensor, dtype)
    declare(faulty.graph, name, dtype)
    return Fault(faulty, frozenset([(kind, name)]))


def each_tensor(model, dtype, choices, wanted):
    for i, (kind, name, tensor) in enumerate(tensors(model)):
        if tensor.data_type == dtype and not tensor.external_data and wanted(kind, tensor):
            for to in choices:
                yield f"{name} as {TensorProto.DataType.Name(to)}", lambda random, i=i, to=to: store(model, i, to)


def is_exact(tensor, dtype):
    values = numpy_helper.to_array(tensor)
    with numpy.errstate(all="ignore"):
        narrow = values.astype(helper.tensor_dtype_to_np_dtype(dtype))
        return numpy.array_equal(values, narrow.astype(values.dtype), equal_nan=values.dtype.kind == "f")


def initializer_f64(model):
    return each_tensor(model, FLOAT, [DOUBLE], lambda kind, t: kind == "initializer")


def initializer_f16(model):
    return each_tensor(model, FLOAT, [HALF], lambda kind, t: kind == "initializer" and is_exact(t, HALF))


def bias(model):
    """What is added to each channel: rank 1, and the last operand of an operator that adds it."""
    added = {n.input[-1] for _, n in all_nodes(model)
             if (n.op_type in ("Conv", "Gemm", "ConvTranspose") and len(n.input) == 3) or n.op_type == "Add"}
    wanted = lambda kind, t: t.name in added and len(t.dims) <= 1  # noqa: E731
    for to in (HALF, BFLOAT, DOUBLE):
        yield from each_tensor(model, FLOAT, [to], lambda kind, t, to=to: wanted(kind, t) and is_exact(t, to))


def constant(model):
    yield from each_tensor(model, FLOAT, [DOUBLE], lambda kind, t: kind == "constant")
    yield from each_tensor(model, FLOAT, [HALF], lambda kind, t: kind == "constant" and is_exact(t, HALF))


def index_i32(model):
    return each_tensor(model, INT64, [INT32], lambda kind, t: t.dims and is_exact(t, INT32))


# ---- inputs and declarations --------------------------------------------------------------------

def declare_input(model, i, to):
    faulty = copy_of(model)
    entry = faulty.graph.input[i]
    entry.type.tensor_type.elem_type = to
    # What is fed in float64 may be computed in it until it meets what is not.
    return Fault(faulty, frozenset([("input", entry.name)]), {entry.name: helper.tensor_dtype_to_np_dtype(to)},
                 exact=to not in (DOUBLE, HALF), narrow=to == HALF)


def each_input(model, dtype, choices):
    weights = {t.name for t in model.graph.initializer}
    for i, entry in enumerate(model.graph.input):
        if entry.type.tensor_type.elem_type == dtype and entry.name not in weights:
            for to in choices:
                yield f"{entry.name} as {to}", lambda random, i=i, to=to: declare_input(model, i, to)


def input_float(model):
    return each_input(model, FLOAT, [DOUBLE, HALF])


def input_i32(model):
    return each_input(model, INT64, [INT32])


def redeclare(model, field, i, to):
    """The repaired model's interface is the declared one: results are compared as numbers."""
    faulty = copy_of(model)
    entry = getattr(faulty.graph, field)[i]
    entry.type.tensor_type.elem_type = to
    return Fault(faulty, frozenset([("output" if field == "output" else "value_info", entry.name)]),
                 exact=field != "output", narrow=field == "output" and to == HALF)


def each_declaration(model, field, choices):
    kept = {t.name for t in model.graph.initializer} | {i.name for i in model.graph.input}
    for i, entry in enumerate(getattr(model.graph, field)):
        for to in choices.get(entry.type.tensor_type.elem_type, []):
            if entry.name not in kept:
                yield f"{entry.name} as {to}", lambda random, i=i, to=to: redeclare(model, field, i, to)


def output_declared(model):
    return each_declaration(model, "output", {FLOAT: [DOUBLE, HALF], INT64: [INT32]})


def value_declared(model):
    return each_declaration(model, "value_info", {FLOAT: [HALF, DOUBLE, INT32], INT64: [INT32, FLOAT], HALF: [FLOAT],
                                                  DOUBLE: [FLOAT], UINT8: [INT8]})


# ---- Casts --------------------------------------------------------------------------------------

CAST_TO = {FLOAT: [DOUBLE, HALF], HALF: [FLOAT, DOUBLE], DOUBLE: [FLOAT], INT64: [INT32]}


def rounding(model, i, to, nodes):
    """The model whose i-th node, a Cast, rounds to another dtype before it gives its own."""
    other = copy_of(model)
    graph, node = nodes(other)[i]
    name = fresh(model, f"{node.output[0]}_rounded")
    graph.node.insert(list(graph.node).index(node), helper.make_node("Cast", [node.input[0]], [name], to=to))
    node.input[0] = name
    return other


def retarget(model, i, to, nodes):
    faulty = copy_of(model)
    node = nodes(faulty)[i][1]
    next(a for a in node.attribute if a.name == "to").i = to
    return Fault(faulty, frozenset([("cast", node.output[0])]), exact=False, narrow=to == HALF,
                 rounded=rounding(model, i, to, nodes))


def cast_target(model, nodes=all_nodes):
    for i, (_, node) in enumerate(nodes(model)):
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to":
                for to in CAST_TO.get(attribute.i, []):
                    yield f"{node.output[0]} to {to}", lambda random, i=i, to=to: retarget(model, i, to, nodes)


def replace_uses(graph, old, new):
    for inner in graphs(graph):
        for node in inner.node:
            for k, name in enumerate(node.input):
                if name == old:
                    node.input[k] = new


def remove_cast(model, i, nodes):
    faulty = copy_of(model)
    graph, node = nodes(faulty)[i]
    replace_uses(graph, node.output[0], node.input[0])
    graph.node.remove(node)
    # Where that began is where its operand did: typeflow says.
    return Fault(faulty, frozenset([("of", node.input[0])]), exact=False, narrow=True)


def result_names(graph):
    return {o if isinstance(o, str) else o.name for o in graph.output}


def cast_removed(model, nodes=all_nodes):
    for i, (graph, node) in enumerate(nodes(model)):
        if node.op_type == "Cast" and node.output[0] not in result_names(graph):
            yield node.output[0], lambda random, i=i: remove_cast(model, i, nodes)


def fresh(model, stem):
    names = {name for _, n in [*all_nodes(model), *body_nodes(model)] for name in [*n.output, *n.input]}
    while stem in names:
        stem += "_"
    return stem


def add_cast(model, i, k, to, nodes):
    faulty = copy_of(model)
    graph, node = nodes(faulty)[i]
    name = fresh(model, f"{node.input[k]}_cast")
    cast = helper.make_node("Cast", [node.input[k]], [name], to=to)
    node.input[k] = name
    graph.node.insert(list(graph.node).index(node), cast)
    return Fault(faulty, frozenset([("cast", name)]), exact=to == DOUBLE, narrow=to == HALF)


def cast_added(model, wanted=lambda node: node.domain in ("", "ai.onnx"), nodes=all_nodes):
    flow = Flow(model)
    lists = lists_of(model)  # no Cast takes one
    known = {name: dtype for (path, name), dtype in flow.made.items()
             if ("()" in path) == (nodes == body_nodes) and name not in lists}
    for i, (_, node) in enumerate(nodes(model)):
        for k, name in enumerate(node.input):
            for to in CAST_TO.get(known.get(name), []) if name and wanted(node) else []:
                yield f"{node.output[0]} operand {k} to {to}", lambda random, i=i, k=k, to=to: add_cast(model, i, k, to, nodes)


# ---- branches, loops, functions -----------------------------------------------------------------

def cast_output(model, i, name, o, to, declared):
    """A Cast behind a subgraph's result; the subgraph declares what it gives, or nothing."""
    faulty = copy_of(model)
    graph = next(a.g for a in all_nodes(faulty)[i][1].attribute if a.name == name)
    entry = graph.output[o]
    new = fresh(model, f"{entry.name}_cast")
    graph.node.append(helper.make_node("Cast", [entry.name], [new], to=to))
    entry.name = new
    if declared:
        entry.type.tensor_type.elem_type = to
    else:
        entry.ClearField("type")
    return Fault(faulty, frozenset([("cast", new)]), exact=to == DOUBLE, narrow=to == HALF)


def each_output(model, operators, first):
    for i, (_, node) in enumerate(all_nodes(model)):
        for a in node.attribute if node.op_type in operators else []:
            for o in range(first.get(node.op_type, 0), len(a.g.output) if a.type == a.GRAPH else 0):
                for to in CAST_TO.get(a.g.output[o].type.tensor_type.elem_type, []):
                    yield f"{node.output[0]} {a.name} {o} to {to}", lambda random, i=i, a=a.name, o=o, to=to: \
                        cast_output(model, i, a, o, to, random.integers(2))


def branch_output(model):
    return each_output(model, ["If"], {})


def carried_start(model):
    """What a loop begins with, cast in front of it."""
    return cast_added(model, lambda node: node.op_type in ("Loop", "Scan"))


def declare_carried(model, i, k, to):
    faulty = copy_of(model)
    entry = next(a.g for a in all_nodes(faulty)[i][1].attribute if a.name == "body").input[k]
    entry.type.tensor_type.elem_type = to
    return Fault(faulty, frozenset([("value_info", entry.name), ("input", entry.name)]))


def carried_declared(model):
    for i, (_, node) in enumerate(all_nodes(model)):
        for a in node.attribute:
            for k, entry in enumerate(a.g.input if node.op_type in ("Loop", "Scan") and a.name == "body" else []):
                for to in [DOUBLE, HALF] if entry.type.tensor_type.elem_type == FLOAT else []:
                    yield f"{entry.name} as {to}", lambda random, i=i, k=k, to=to: declare_carried(model, i, k, to)


def carried_result(model):
    return each_output(model, ["Loop", "Scan"], {"Loop": 1})


def function_call(model):
    """One of a function's calls gets another dtype than the others."""
    domains = {f.domain for f in model.functions}
    return cast_added(model, lambda node: node.domain in domains)


# ---- inside of functions and of graphs within ----------------------------------------------------

def body_cast_target(model):
    return cast_target(model, body_nodes)


def body_cast_removed(model):
    return cast_removed(model, body_nodes)


def body_cast_added(model):
    return cast_added(model, nodes=body_nodes)


def cast_result(model, f, o, to):
    faulty = copy_of(model)
    function = faulty.functions[f]
    name, before = function.output[o], fresh(model, f"{function.output[o]}_before")
    replace_uses(function, name, before)
    for node in function.node:
        node.output[:] = [before if n == name else n for n in node.output]
    function.node.append(helper.make_node("Cast", [before], [name], to=to))
    return Fault(faulty, frozenset([("cast", name)]), exact=to == DOUBLE, narrow=to == HALF)


def body_result(model):
    """A Cast behind what a function gives in one dtype: where calls differ, no target of the Cast mends it."""
    given = {}
    for (path, name), dtype in Flow(model).made.items():
        if "()" in path:
            given.setdefault(name, set()).add(dtype)
    known = {name: dtypes.pop() for name, dtypes in given.items() if len(dtypes) == 1}
    lists = lists_of(model)
    for f, function in enumerate(model.functions):
        for o, name in enumerate(function.output):
            for to in CAST_TO.get(known.get(name), []) if name not in lists else []:
                yield f"{function.name} {name} to {to}", lambda random, f=f, o=o, to=to: cast_result(model, f, o, to)


def store_constant(model, i, to, nodes):
    faulty = copy_of(model)
    node = nodes(faulty)[i][1]
    retyped(node.attribute[0].t, to)
    return Fault(faulty, frozenset([("constant", node.output[0])]))


def body_constant(model, nodes=body_nodes):
    for i, (_, node) in enumerate(nodes(model)):
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = node.attribute[0].t
            for to in {FLOAT: [DOUBLE, HALF], DOUBLE: [FLOAT]}.get(tensor.data_type, []):
                if is_exact(tensor, to):
                    yield f"{node.output[0]} as {to}", lambda random, i=i, to=to: store_constant(model, i, to, nodes)


def inner_cast_added(model):
    return cast_added(model, nodes=inner_nodes)


def inner_constant(model):
    return body_constant(model, inner_nodes)


# ---- quantization -------------------------------------------------------------------------------

SCALES = {"QuantizeLinear": [(1, 2)], "DequantizeLinear": [(1, 2)], "QLinearConv": [(1, 2), (4, 5), (6, 7)],
          "QLinearMatMul": [(1, 2), (4, 5), (6, 7)]}


def named(model, operand, kinds):
    """Indices of tensors that some quantized operator reads as a scale (0) or zero point (1)."""
    names = {n.input[pair[operand]] for _, n in all_nodes(model) for pair in kinds.get(n.op_type, [])
             if pair[operand] < len(n.input)}
    return [(i, name, t) for i, (_, name, t) in enumerate(tensors(model)) if name in names]


def zero_point(model):
    kinds = dict(SCALES, ConvInteger=[(0, 2), (0, 3)], MatMulInteger=[(0, 2), (0, 3)])
    for i, name, tensor in named(model, 1, kinds):
        to = {UINT8: INT8, INT8: UINT8}.get(tensor.data_type)
        if to and is_exact(tensor, to):
            yield name, lambda random, i=i, to=to: store(model, i, to)


def scale_dtype(model):
    for i, name, tensor in named(model, 0, SCALES):
        if tensor.data_type == FLOAT:
            yield name, lambda random, i=i: store(model, i, DOUBLE)


def set_scale(model, i, bad):
    faulty = copy_of(model)
    kind, name, tensor = list(tensors(faulty))[i]
    values = numpy_helper.to_array(tensor).copy()
    values.reshape(-1)[-1] = bad
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return Fault(faulty, frozenset([(kind, name)]), rule="QN002", mends=False)


def scale_value(model):
    divided = {name for _, name, _ in named(model, 0, {k: v for k, v in SCALES.items() if k != "DequantizeLinear"})}
    for i, name, _ in named(model, 0, SCALES):
        for bad in (*[0] * (name in divided), -0.5, numpy.nan, numpy.inf):
            yield f"{name} {bad}", lambda random, i=i, bad=bad: set_scale(model, i, bad)


def longer(model, i):
    faulty = copy_of(model)
    kind, name, tensor = list(tensors(faulty))[i]
    values = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(numpy.append(values, values[-1:]), tensor.name))
    return Fault(faulty, frozenset([(kind, name)]), rule="QN004", mends=False)


def scale_count(model):
    for i, name, tensor in named(model, 0, SCALES):
        if len(tensor.dims) == 1 and tensor.dims[0] > 1:
            yield name, lambda random, i=i: longer(model, i)


def lists_of(model):
    """Sequences and optional values of the main graph, with the number of the node that makes each."""
    makers = ("SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceEmpty", "SplitToSequence", "SequenceMap", "Optional")
    return {o: i for i, n in enumerate(model.graph.node) for o in n.output if n.op_type in makers}


# ---- custom operators ---------------------------------------------------------------------------

KERNEL = """#include <stdint.h>
void gain(const {} *x, {} *y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
}}
"""
CONFIG = "version: 1\ncustom: {shop: {sources: [gain.c], ops: {Gain: gain}}}\n"


def kernel(reads, writes):
    return {"cameo.yaml": CONFIG, "gain.c": KERNEL.format(reads, writes)}


def with_custom(model, i, k):
    """The model with an operator of the user's own on the edge to operand k of node i."""
    custom = copy_of(model)
    node = custom.graph.node[i]
    name = fresh(model, f"{node.input[k]}_gain")
    gain = helper.make_node("Gain", [node.input[k]], [name], name=f"/{name}", domain="shop")
    node.input[k] = name
    custom.graph.node.insert(i, gain)
    custom.graph.value_info.append(onnx.ValueInfoProto(name=name))
    custom.graph.value_info[-1].type.tensor_type.elem_type = FLOAT
    custom.opset_import.append(helper.make_opsetid("shop", 1))
    return custom, gain


def break_contract(model, i, k, how):
    right = kernel("float", "float")
    control, gain = with_custom(model, i, k)
    where = frozenset([("node", gain.name)])
    if how == "reads":
        return Fault(copy_of(control), where, rule="ST008", control=control, files=kernel("double", "float"), control_files=right,
                     most_casts=1)
    if how == "writes":
        return Fault(copy_of(control), where, rule="ST008", control=control, files=kernel("float", "double"), control_files=right,
                     most_casts=1)
    fault = add_cast(control, i, 0, DOUBLE if how == "double" else HALF, lambda m: [(m.graph, n) for n in m.graph.node])
    return dataclasses.replace(fault, rule="ST008", control=control, files=right, control_files=right, most_casts=0)


def custom_contract(model):
    """The kernel's source reads or writes another dtype than the graph gives it, or the graph another than it reads."""
    lists = lists_of(model)
    known = {name: dtype for (path, name), dtype in Flow(model).made.items() if not path and name not in lists}
    for i, node in enumerate(model.graph.node):
        for k, name in enumerate(node.input):
            if name and known.get(name) == FLOAT and node.domain in ("", "ai.onnx"):
                for how in ("reads", "writes", "double", "half"):
                    yield f"{how} at operand {k} of {i}", lambda random, i=i, k=k, how=how: break_contract(model, i, k, how)


# ---- devices ------------------------------------------------------------------------------------

def place(node, device):
    entry = node.metadata_props.add()
    entry.key, entry.value = "cameo.device", device


def placed(model, where):
    placed_model = copy_of(model)
    placed_model.ir_version = max(placed_model.ir_version, 10)
    for i, node in enumerate(placed_model.graph.node):
        place(node, "cuda:0" if where(i) else "cpu")
    return placed_model


def misplace(model, where):
    faulty = placed(model, where)
    # A transfer is an Identity, which takes sequences since opset 14 and optional values since 16.
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    lists = lists_of(model)
    stuck = any(where(lists[name]) != where(i) for i, n in enumerate(model.graph.node) for name in n.input if name in lists)
    return Fault(faulty, frozenset([("node", None)]), rule="DV001", control=placed(model, lambda i: False),
                 mends=not (stuck and opset < 16))


def reads_on_device(model, node, k):
    """Sizes, axes and conditions are read on the host, and control flow runs there."""
    opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    schema = schema_of(node.op_type, node.domain, opset)
    if node.op_type in ("If", "Loop", "Scan", "Shape", "Size", "ConstantOfShape", "Range", "Identity", "Resize",
                        "Upsample") or not schema:
        return False
    param = formal(schema.inputs, k)
    return bool(param) and param.type_str.startswith("T") and param.type_str not in ("Tind", "Tshape")


def crossings(model, where):
    """Edges between nodes of the main graph that lie on different devices."""
    made = {o: i for i, n in enumerate(model.graph.node) for o in n.output
            if n.op_type not in ("If", "Loop", "Scan", "Constant")}
    return [(made[name], i) for i, n in enumerate(model.graph.node) for k, name in enumerate(n.input)
            if name in made and where(made[name]) != where(i) and reads_on_device(model, n, k)]


def placement(model):
    """All nodes are on one device but one, or the second half, or every other."""
    count = len(model.graph.node)
    wheres = [(f"node {k}", lambda i, k=k: i == k) for k in range(count)]
    wheres += [("halves", lambda i: i >= count // 2), ("turns", lambda i: bool(i % 2))]
    for name, where in wheres:
        if crossings(model, where):
            yield name, lambda random, where=where: misplace(model, where)


def configured(model, i):
    """The model with a device configuration that one node follows; that node's part of it."""
    right = copy_of(model)
    right.ir_version = 11
    right.configuration.add(name="pair", num_devices=2, device=["cuda:0", "cuda:1"])
    part = right.graph.node[i].device_configurations.add(configuration_id="pair")
    part.sharding_spec.add(tensor_name=right.graph.node[i].output[0], device=[1])
    return right, part


def misconfigure(model, i, how):
    control, _ = configured(model, i)
    faulty, part = configured(model, i)
    if how == "dangling":
        part.configuration_id = "pear"
    elif how == "index":
        part.sharding_spec[0].device[0] = 2
    elif how == "tensor":
        part.sharding_spec[0].tensor_name = "nothing of it"
    else:
        faulty.configuration[0].num_devices = 3
    node = faulty.graph.node[i]
    where = ["pair"] if how == "count" else [name for name in (node.name, node.output[0]) if name]
    return Fault(faulty, frozenset(("config", name) for name in where), rule="DV008", mends=False, control=control)


def configuration(model):
    for i in range(len(model.graph.node)):
        for how in ("dangling", "index", "tensor", "count"):
            yield f"{how} at {i}", lambda random, i=i, how=how: misconfigure(model, i, how)


FAULTS = [initializer_f64, initializer_f16, bias, constant, input_float, input_i32, index_i32, cast_target, cast_removed,
          cast_added, branch_output, carried_start, carried_declared, carried_result, function_call, body_constant,
          body_cast_target, body_cast_removed, body_cast_added, body_result, inner_constant, inner_cast_added, output_declared,
          value_declared, zero_point, scale_dtype, scale_value, scale_count, custom_contract, placement, configuration]
