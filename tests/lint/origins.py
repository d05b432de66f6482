"""Is the origin that a finding names right?

The origin of a fault is the smallest set of sources whose retyping makes the model fit: a fault put into one source is
mended by that one. Another single source is as right if retyping it alone mends the model, by onnx.checker, and it does
not come later by the catalogue's order: another dtype than the model's own, then float64, then fewer bytes.
"""
import itertools
import math
import re

import onnx
from onnx import TensorProto, helper

import faults
from minimal import FLOATS, dominant_dtype
from repair import checker_error, load_error

MOST_SETS = 200  # sets of sources that are tried


def of(fault, flow):
    """The fault's origins; of a removed Cast those of its operand."""
    found = set()
    for kind, name in fault.origins:
        if kind != "of":
            found.add((kind, name))
            continue
        for (_, value), sources in flow.sources.items():
            found |= sources if value == name else set()
    return found


def is_right(fault, flow, control, findings):
    if fault.rule in ("DV001", "DV008", "QN002", "QN004") or (fault.rule == "ST008" and fault.most_casts):
        return all(names_place(fault, f) for f in findings)
    return all(names_source(fault, flow, control, f) for f in findings)


def names_place(fault, finding):
    """The place itself is what is wrong: a node, a scale, a configuration."""
    text = " ".join([finding["path"], finding["node"], finding["value"], finding["message"], *finding["notes"]])
    return any(name is None or name in text for _, name in fault.origins)


def names_source(fault, flow, control, finding):
    origin = finding.get("origin")
    if not origin:
        return False
    named = said_by_call(fault.model, (origin["kind"], origin["name"]), finding)
    expected = of(fault, flow)
    if named in expected and (len(expected) == 1 or names_all(fault.model, finding, expected)):
        return True
    if any(name == named[1] and {kind, named[0]} <= {"node", "attribute", "cast"} for kind, name in expected):
        return True
    return is_as_good(fault, flow, control, named, expected, finding)


def target_attributes(function):
    """By the result of each Cast of a body whose target its calls say: the attribute that they say it by."""
    return {n.output[0]: a.ref_attr_name for n in function.node if n.op_type == "Cast"
            for a in n.attribute if a.name == "to" and a.ref_attr_name}


def calls_of(model):
    """Calls with the functions that they are of."""
    functions = {(f.domain, f.name): f for f in model.functions}
    return [(node, functions[node.domain, node.op_type]) for _, node in faults.all_nodes(model)
            if (node.domain, node.op_type) in functions]


def said_by_call(model, source, finding):
    """A Cast of a body whose target its call says is the call that the finding names: its attribute is the source."""
    kind, name = source
    if kind == "cast":
        for node, function in calls_of(model):
            said = target_attributes(function).get(name)
            if any(a.name == said for a in node.attribute) and re.search(rf"at node\[{re.escape(node.name)}\]", words_of(finding)):
                return "call", node.output[0]
    return source


def words_of(finding):
    """Without the places that the fault reaches, which name values that are not to blame."""
    notes = [note for note in finding["notes"] if not note.startswith("it reaches ")]
    return " ".join([finding["origin"]["name"], *notes, *(fix["text"] for fix in finding["fixes"])])


def told(model, finding):
    """Constants and declarations of inner values that the finding names between quotes."""
    names = set(re.findall(r'"([^"]+)"', words_of(finding)))
    stored = {(kind, name) for kind, name, _ in [*faults.tensors(model), *faults.body_tensors(model)] if name in names}
    return stored | {("value_info", v.name) for v in model.graph.value_info if v.name in names}


def names_all(model, finding, sources):
    """Does the finding name all of them? What begins a dtype first is its origin, the others are in its notes, or in its
    repair; a long list is cut off ("and 5 more")."""
    text = words_of(finding)
    nodes = {node.output[0]: node.name for _, node in [*faults.all_nodes(model), *faults.body_nodes(model)] if node.output}
    cut = re.search(r" and \d+ more", text)
    return bool(cut) or all(name in text or (nodes.get(name) or name) in text for _, name in sources)


# ---- another source -----------------------------------------------------------------------------

def is_as_good(fault, flow, control, named, expected, finding):
    """Is it in a smallest set that mends the model, of which all are named, and before the fault's own where that is as small?"""
    candidates = near(flow) | expected | {named} | told(fault.model, finding)
    dtypes = {d for (_, value), d in flow.made.items() if value == named[1]}
    alike = [(kind, name) for kind, name, t in [*faults.tensors(fault.model), *faults.body_tensors(fault.model)]
             if t.data_type in dtypes]
    candidates |= set(alike if len(alike) < 6 else [])
    sets = smallest_sets(fault.model, control, sorted(candidates))
    if not any(named in chosen and names_all(fault.model, finding, chosen) for chosen in sets):
        return False
    own = [key_of(fault.model, flow, source) for source in expected if any(source in chosen for chosen in sets)]
    return not own or key_of(fault.model, flow, named) <= min(own)


def near(flow):
    """Sources of all operands of the nodes where something does not fit."""
    nodes = {misfit.node for misfit in flow.misfits}
    return {s for (_, node), values in flow.operands.items() if node in nodes for v in values for s in v.sources
            if s[0] != "node"}


def smallest_sets(model, control, candidates):
    """All sets of sources of the least size, up to four, that mend the model where they are given one dtype."""
    for size in (1, 2, 3, 4):
        subsets = list(itertools.combinations(candidates, size))
        if len(subsets) > MOST_SETS:
            return []
        found = [chosen for chosen in subsets if mends(model, control, chosen)]
        if found:
            return found
    return []


def key_of(model, flow, source):
    kind, name = source
    dtypes = {d for (_, value), d in flow.made.items() if value == name}
    dtype = min(dtypes) if dtypes else 0
    if kind in ("value_info", "output"):
        dtype = next((v.type.tensor_type.elem_type for v in [*model.graph.value_info, *model.graph.output]
                      if v.name == name), dtype)
    return dtype == dominant_dtype(model), dtype != TensorProto.DOUBLE, size_of(model, name, dtype)


def size_of(model, name, dtype):
    for _, other, tensor in [*faults.tensors(model), *faults.body_tensors(model)]:
        if other == name:
            return math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(dtype).itemsize
    for entry in model.graph.input:
        dims = [d.dim_value for d in entry.type.tensor_type.shape.dim]
        if entry.name == name and all(dims):
            return math.prod(dims) * helper.tensor_dtype_to_np_dtype(dtype).itemsize
    return math.inf


def mends(model, control, sources):
    """Is the model right once these sources have another dtype, by the checker and onnxruntime?"""
    loads = load_error(control) is None
    for dtype in [*FLOATS, TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8]:
        other = model
        for source in sources:
            other = other and retype(other, source, dtype)
        if other is None or checker_error(other):
            continue
        error = load_error(other) if loads else None
        if not error or "NOT_IMPLEMENTED" in error:
            return True
    return False


def retype(model, source, dtype):
    kind, name = source
    other = faults.copy_of(model)
    if kind in ("initializer", "constant"):
        for _, candidate, tensor in [*faults.tensors(other), *faults.body_tensors(other)]:
            if candidate == name:
                faults.retyped(tensor, dtype)
                faults.declare(other.graph, name, dtype)
                return other
    elif kind == "call":
        for node, function in calls_of(other):
            if node.output[0] == name:
                said = set(target_attributes(function).values())
                next(a for a in node.attribute if a.name in said).i = dtype
                return other
    elif kind == "cast":
        for _, node in [*faults.all_nodes(other), *faults.body_nodes(other)]:
            if node.op_type == "Cast" and node.output[0] == name:
                next(a for a in node.attribute if a.name == "to").i = dtype
                return other
    else:
        entries = {"input": other.graph.input, "output": other.graph.output}.get(kind, other.graph.value_info)
        for entry in entries:
            if entry.name == name:
                entry.type.tensor_type.elem_type = dtype
                return other
    return None
