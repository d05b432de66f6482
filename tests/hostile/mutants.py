"""Models that nearly fit: the standard's own node cases with one or two things changed."""
import copy
import warnings

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

# Numbers that trip arithmetic on ranks, axes and sizes.
ODD_INTS = [-(1 << 63), -(1 << 31) - 1, -(1 << 31), -17, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 16, 17, 64, 1000,
            (1 << 31) - 1, 1 << 31, (1 << 32) + 1, (1 << 62), (1 << 63) - 1]
ODD_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]
ODD_STRINGS = ["", "x", "nearest", "linear", "cubic", "reflect", "constant", "edge", "wrap", "SAME_UPPER", "SAME_LOWER",
               "VALID", "bidirectional", "reverse", "ij,jk->ik", "...i,...->...", "i->", "->", "mean", "none", "add",
               "Relu", "LEFT", "tf_crop_and_resize", "align_corners", "CRD", "circular", "not_larger", "a" * 300]
ODD_DIMS = [0, 1, 1, 2, 3, 4, 5, 8, 17, 1 << 31, (1 << 63) - 1, "N", "M"]
DTYPES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]


def cases():
    """(model, inputs by name) of all node cases of the installed onnx package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        np.random.seed(0)
        found = collect_testcases(None)
    out = []
    for case in sorted(found, key=lambda c: c.name):
        values = {}
        for info, value in zip(case.model.graph.input, case.data_sets[0][0] if case.data_sets else []):
            if isinstance(value, np.ndarray) and value.size <= 64:
                values[info.name] = value
        if case.model.ByteSize() < 20000:
            out.append((case.model, values))
    return out


def graphs_of(graph):
    """The graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == AttributeProto.GRAPH:
                yield from graphs_of(a.g)


def odd_list(rng, values, odd):
    """The list shortened, lengthened or with another entry."""
    values = list(values)
    what = rng.random()
    if what < 0.3 and values:
        del values[rng.randrange(len(values))]
    elif what < 0.6:
        values.insert(rng.randint(0, len(values)), rng.choice(odd))
    elif values:
        values[rng.randrange(len(values))] = rng.choice(odd)
    return values


def change_attribute(rng, node):
    if not node.attribute or rng.random() < 0.1:
        return add_attribute(rng, node)
    k = rng.randrange(len(node.attribute))
    a = node.attribute[k]
    if rng.random() < 0.15:
        del node.attribute[k]
    elif a.type == AttributeProto.INT:
        a.i = rng.choice(ODD_INTS)
    elif a.type == AttributeProto.FLOAT:
        a.f = rng.choice(ODD_FLOATS)
    elif a.type == AttributeProto.STRING:
        a.s = rng.choice(ODD_STRINGS).encode()
    elif a.type == AttributeProto.INTS:
        a.ints[:] = odd_list(rng, a.ints, ODD_INTS)
    elif a.type == AttributeProto.FLOATS:
        a.floats[:] = odd_list(rng, a.floats, ODD_FLOATS)
    elif a.type == AttributeProto.STRINGS:
        a.strings[:] = odd_list(rng, a.strings, [s.encode() for s in ODD_STRINGS])
    elif a.type == AttributeProto.TENSOR:
        change_tensor(rng, a.t)
    elif a.type == AttributeProto.GRAPH:
        change_body(rng, a.g)


def add_attribute(rng, node):
    from onnx import defs
    try:
        schema = defs.get_schema(node.op_type, node.domain)
    except defs.SchemaError:
        return
    free = [a for n, a in sorted(schema.attributes.items()) if all(n != b.name for b in node.attribute)]
    value = {"INT": rng.choice(ODD_INTS), "FLOAT": rng.choice(ODD_FLOATS), "STRING": rng.choice(ODD_STRINGS),
             "INTS": [rng.choice(ODD_INTS) for _ in range(rng.randint(0, 4))],
             "FLOATS": [rng.choice(ODD_FLOATS) for _ in range(rng.randint(0, 4))],
             "STRINGS": [rng.choice(ODD_STRINGS) for _ in range(rng.randint(0, 4))]}
    free = [a for a in free if a.type.name in value]
    if free:
        a = rng.choice(free)
        made = helper.make_attribute(a.name, value[a.type.name], attr_type=getattr(AttributeProto, a.type.name))
        node.attribute.append(made)


def change_tensor(rng, tensor):
    what = rng.random()
    if what < 0.3:
        tensor.data_type = rng.choice(DTYPES)
    elif what < 0.7:
        tensor.dims[:] = odd_list(rng, tensor.dims, [0, 1, 2, 3, 1 << 40])
    elif tensor.data_type == TensorProto.INT64:
        values = list(tensor.int64_data) or np.frombuffer(tensor.raw_data, "<i8").tolist()
        if values:
            values[rng.randrange(len(values))] = rng.choice(ODD_INTS)
            tensor.ClearField("raw_data")
            tensor.int64_data[:] = values


def change_body(rng, graph):
    """Inputs and outputs of a subgraph added, removed, swapped or of another type."""
    what = rng.randrange(6)
    if what == 0 and graph.input:
        del graph.input[rng.randrange(len(graph.input))]
    elif what == 1:
        graph.input.append(helper.make_tensor_value_info("added_input", rng.choice(DTYPES), [2]))
    elif what == 2 and graph.output:
        del graph.output[rng.randrange(len(graph.output))]
    elif what == 3 and graph.output:
        graph.output.append(copy.deepcopy(rng.choice(graph.output)))
    elif what == 4 and len(graph.output) > 1:
        last = copy.deepcopy(graph.output[-1])
        del graph.output[-1]
        graph.output.insert(0, last)
    elif graph.input:
        change_type(rng, rng.choice(graph.input))


def change_type(rng, info):
    t = info.type.tensor_type
    if info.type.WhichOneof("value") != "tensor_type":
        if rng.random() < 0.3:
            info.type.CopyFrom(helper.make_tensor_type_proto(rng.choice(DTYPES), [2]))
        return
    if rng.random() < 0.15:
        t.elem_type = rng.choice(DTYPES)
        return
    if rng.random() < 0.05:
        t.ClearField("shape")
        return
    dims = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in t.shape.dim]
    t.CopyFrom(helper.make_tensor_type_proto(t.elem_type, odd_list(rng, dims, ODD_DIMS)).tensor_type)


def change_names(rng, names):
    """Inputs or outputs of a node dropped, left empty, doubled or exchanged."""
    what = rng.randrange(5)
    if what == 0 and names:
        del names[rng.randrange(len(names))]
    elif what == 1 and names:
        names[rng.randrange(len(names))] = ""
    elif what == 2:
        names.append("added_name")
    elif what == 3 and names:
        names.append(rng.choice(list(names)))
    elif len(names) > 1:
        i, k = rng.sample(range(len(names)), 2)
        names[i], names[k] = names[k], names[i]


def make_constants(rng, graph, values):
    """Some inputs of the graph become initializers, which shape rules and folding see."""
    for info in list(graph.input):
        if info.name not in values or rng.random() < 0.5:
            continue
        try:
            tensor = numpy_helper.from_array(values[info.name], info.name)
        except (TypeError, ValueError, RuntimeError):
            continue
        tensor.data_type = tensor.data_type or info.type.tensor_type.elem_type
        if rng.random() < 0.3:
            change_tensor(rng, tensor)
        graph.initializer.append(tensor)
        graph.input.remove(info)


def mutant(rng, pool):
    seed, values = rng.choice(pool)
    model = copy.deepcopy(seed)
    make_constants(rng, model.graph, values)
    for info in model.graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        graphs = [g for g in graphs_of(model.graph)]
        graph = rng.choice(graphs)
        node = rng.choice(graph.node) if graph.node else None
        what = rng.random()
        if what < 0.4 and graph.input:
            change_type(rng, rng.choice(graph.input))
        elif what < 0.75 and node:
            change_attribute(rng, node)
        elif what < 0.83 and node:
            change_names(rng, node.input)
        elif what < 0.88 and node:
            change_names(rng, node.output)
        elif what < 0.95:
            model.opset_import[0].version = rng.randint(1, 27)
        elif graph is not model.graph:
            change_body(rng, graph)
    return model
