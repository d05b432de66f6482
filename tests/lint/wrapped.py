#!/usr/bin/env python3
"""wrapped.py CAMEO [RULE...]: repairs reach into functions, branches and loops.

Each model of tests/lint/rules/ on which a rule with a repair fires is put into a function, into both branches of an If and into
the body of a Loop. `--fix --unsafe-fixes` has to leave no finding of the rule that still offers a fix, and no error that was not
there; a fix that the model as it is gets, the wrapped one gets too, but for APART. What was repaired is what the model as it is
becomes: onnx.checker takes it where it takes that one, onnxruntime loads it, and outputs are the same bits, or near where halves
are computed with. A function stays one: its body is repaired, its call is not written out. In a fourth form the function holds
the second half of the nodes; there a repair may be impossible, and is not offered then.
"""
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import rules
from repair import checker_error, has_half, load_error
from witness import run

# What is said of the model's own inputs and outputs, of data and of sources beside the model.
APART = {"MP009", "DT016", "PR008", "ST008"}
DOMAIN = "local.wrap"


def inputs_of(graph):
    weights = {t.name for t in graph.initializer}
    return [i for i in graph.input if i.name not in weights]


def remade(model, graph, functions=()):
    opsets = [*model.opset_import, *([helper.make_opsetid(DOMAIN, 1)] if functions else [])]
    made = helper.make_model(graph, opset_imports=opsets, functions=[*model.functions, *functions],
                             ir_version=max(model.ir_version, 8 if functions else 1))
    made.metadata_props.extend(model.metadata_props)
    return made


def as_function(name, graph, nodes, given, results, opsets):
    read = {x for n in nodes for x in n.input}
    constants = [helper.make_node("Constant", [], [t.name], value=t) for t in graph.initializer if t.name in read]
    return helper.make_function(DOMAIN, name, given, results, [*constants, *nodes], opsets)


def in_function(model):
    g = model.graph
    if g.sparse_initializer or any(n.domain not in ("", "ai.onnx") for n in g.node) or captured(g.node):
        return None
    given = [i.name for i in inputs_of(g)]
    body = as_function("F", g, g.node, given, [o.name for o in g.output], model.opset_import)
    call = helper.make_node("F", given, [o.name for o in g.output], domain=DOMAIN)
    return remade(model, helper.make_graph([call], "wrapped", inputs_of(g), g.output), [body])


def captured(nodes):
    """Do graphs within read by a name? The functions here are made of nodes that say all they read."""
    return any(a.type in (a.GRAPH, a.GRAPHS) for n in nodes for a in n.attribute)


def is_sorted(graph):
    seen = {i.name for i in graph.input} | {t.name for t in graph.initializer} | {""}
    for n in graph.node:
        if not set(n.input) <= seen:
            return False
        seen |= set(n.output)
    return True


def half_in_function(model):
    """The second half of the nodes; what they read of the first and of the inputs is given to them."""
    g = model.graph
    half = list(g.node)[len(g.node) // 2:]
    if len(g.node) < 2 or in_function(model) is None or not is_sorted(g):
        return None
    made, weights = {o for n in half for o in n.output}, {t.name for t in g.initializer}
    given = list(dict.fromkeys(x for n in half for x in n.input if x and x not in made and x not in weights))
    before = [n for n in g.node if n not in half]
    wanted = {o.name for o in g.output}
    results = [o for n in half for o in n.output if o in wanted]
    body = as_function("H", g, half, given, results, model.opset_import)
    call = helper.make_node("H", given, results, domain=DOMAIN)
    graph = helper.make_graph([*before, call], "wrapped", g.input, g.output, g.initializer, value_info=g.value_info)
    return remade(model, graph, [body])


def body_of(graph, name):
    body = onnx.GraphProto()
    body.CopyFrom(graph)
    body.ClearField("input")
    body.name = name
    return body


def other_names(graph):
    """The same graph with names of its own: a name is defined once."""
    names = {o for n in graph.node for o in n.output if o} | {t.name for t in graph.initializer}
    for n in graph.node:
        n.input[:] = [x + "_else" if x in names else x for x in n.input]
        n.output[:] = [x + "_else" if x in names else x for x in n.output]
        n.name = n.name and n.name + "_else"
    for entry in [*graph.initializer, *graph.output, *graph.value_info]:
        entry.name += "_else" if entry.name in names else ""
    return graph


def renamed(entries, suffix):
    made = []
    for e in entries:
        made.append(onnx.ValueInfoProto())
        made[-1].CopyFrom(e)
        made[-1].name += suffix
    return made


def in_branches(model):
    g = model.graph
    if captured(g.node) or g.sparse_initializer:
        return None
    outputs = renamed(g.output, "_if")
    node = helper.make_node("If", ["wrap_if"], [o.name for o in outputs], then_branch=body_of(g, "yes"),
                            else_branch=other_names(body_of(g, "no")))
    choice = helper.make_tensor_value_info("wrap_if", TensorProto.BOOL, [])
    return remade(model, helper.make_graph([node], "wrapped", [choice, *inputs_of(g)], outputs))


def in_loop(model):
    g = model.graph
    body, outputs = body_of(g, "body"), renamed(g.output, "_loop")
    old = any(o.version < 11 for o in model.opset_import if o.domain in ("", "ai.onnx"))  # asks for a carried value
    if old or g.sparse_initializer or any(not o.type.HasField("tensor_type") for o in outputs):
        return None
    body.input.extend([helper.make_tensor_value_info("wrap_i", TensorProto.INT64, []),
                       helper.make_tensor_value_info("wrap_go", TensorProto.BOOL, [])])
    body.node.add(op_type="Identity", input=["wrap_go"], output=["wrap_on"])
    results = list(body.output)
    body.ClearField("output")
    body.output.extend([helper.make_tensor_value_info("wrap_on", TensorProto.BOOL, []), *results])
    for o in outputs:
        tensor = o.type.tensor_type
        if tensor.HasField("shape"):
            dims = list(tensor.shape.dim)
            tensor.ClearField("shape")
            tensor.shape.dim.add(dim_param="wrap_n")
            tensor.shape.dim.extend(dims)
    node = helper.make_node("Loop", ["wrap_n", ""], [o.name for o in outputs], body=body)
    count = helper.make_tensor_value_info("wrap_n", TensorProto.INT64, [])
    return remade(model, helper.make_graph([node], "wrapped", [count, *inputs_of(g)], outputs))


WAYS = {"a function": in_function, "half a function": half_in_function, "branches": in_branches, "a loop": in_loop}


class Failed(Exception):
    pass


class Case:
    def __init__(self, cameo, rule, heads, folder):
        self.cameo, self.rule, self.folder, self.args = cameo, rule, folder, []
        for head in heads:
            kind, _, rest = head.partition(" ")
            if kind == "args":
                self.args += shlex.split(rest)
            if kind == "file":
                name, _, expression = rest.partition(" ")
                rules.write_file(folder / name, eval(expression, {"np": np}))

    def lint(self, path):
        found, done = rules.lint(self.cameo, self.rule, path, self.args)
        if found is None:
            raise Failed(f"no report: {done.stderr.strip()}")
        return [f for f in found if f["rule"] == self.rule], {f["rule"] for f in found if f["severity"] == "error"}

    def mend(self, name, model):
        """Findings before and after, new errors, and the repaired model."""
        path, out = self.folder / f"{name}.onnx", self.folder / f"{name} fixed.onnx"
        onnx.save(model, path)
        before, errors = self.lint(path)
        subprocess.run([self.cameo, "lint", "--select", self.rule, "--fix", "--unsafe-fixes", *self.args, str(path), "-o", str(out)],
                       capture_output=True, text=True, timeout=60, cwd=self.folder)
        if not out.exists():
            raise Failed("nothing was written")
        after, left = self.lint(out)
        return before, after, left - errors - {self.rule}, onnx.load(out)


def offers(findings):
    return [fix["text"] for f in findings for fix in f["fixes"]]


def feed(model, rng):
    """Inputs of any kind but sequences; dims that are not known are 3. None where that cannot be."""
    given = {}
    for i in inputs_of(model.graph):
        tensor = i.type.tensor_type
        if not i.type.HasField("tensor_type") or tensor.elem_type in (8, 16) or tensor.elem_type > 16:
            return None
        dims = [d.dim_value or 3 for d in tensor.shape.dim]
        values = rng.standard_normal(dims) * 2
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        given[i.name] = np.asarray(np.abs(values) if np.dtype(dtype).kind in "ui" else values).astype(dtype)
    return given


def is_random(model):
    return any(n.op_type.startswith("Random") for n in model.graph.node)


def alike(a, b, models):
    """The same bits, but where any of them computes with halves: which nodes do depends on what is around them."""
    if np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
        return True
    return any(map(has_half, models)) and a.dtype.kind == "f" and np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True)


def compare(model, plain, wrapped, way):
    """Is the repaired model the same one, wrapped?"""
    if checker_error(plain) is None and (error := checker_error(wrapped)):
        raise Failed(f"the checker refuses: {error[:200]}")
    given = feed(plain, np.random.default_rng(3))
    if load_error(plain):
        return
    if error := load_error(wrapped):
        raise Failed(f"onnxruntime refuses: {error[:200]}")
    expected = run(plain, given) if given is not None else ""
    if isinstance(expected, str) or is_random(plain):
        return
    more = {"branches": {"wrap_if": np.array(True)}, "a loop": {"wrap_n": np.array(1, np.int64)}}.get(way, {})
    got = run(wrapped, {**given, **more})
    if isinstance(got, str):
        raise Failed(f"does not run: {got[:200]}")
    for a, b in zip(expected, got):
        same = b[0] if way == "a loop" else b
        if isinstance(a, np.ndarray) and not alike(a, same, (model, plain)):
            raise Failed(f"gives other numbers: {a.reshape(-1)[:4]} and {same.reshape(-1)[:4]}")


def judge(case, model, counts):
    """What is wrong with the wrapped forms of one model."""
    was, left, _, plain = case.mend("plain", model)
    if not was or offers(left):
        return [f"as it is: offers {offers(left)} after the repair"] if offers(left) and case.rule not in APART else []
    wrong = []
    for way, wrap in WAYS.items():
        wrapped = wrap(model)
        if wrapped is None:
            continue
        try:
            before, after, errors, repaired = case.mend(way, wrapped)
            counts[way] = counts.get(way, 0) + bool(offers(before))
            if offers(after) or errors:
                raise Failed(f"offers {offers(after)} after the repair, new errors {errors}")
            if before and not after and bool(offers(was)) > bool(offers(before)):
                raise Failed("is repaired, but that was not offered")
            if way != "half a function" and before and offers(was) and not offers(before):
                raise Failed(f"is not repaired: {before[0]['message']}")
            if len(repaired.functions) != len(wrapped.functions):
                raise Failed("the function is gone")
            if offers(before) and not after:
                compare(model, plain, repaired, way)
        except Failed as error:
            if case.rule not in APART:
                wrong.append(f"in {way}: {error}")
    return wrong


def main():
    cameo = str(pathlib.Path(sys.argv[1]).resolve())
    failed, counts = 0, {}
    for path in sorted((rules.HERE / "rules").glob("*.txt")):
        if (sys.argv[2:] and path.stem not in sys.argv[2:]) or not rules.mends(cameo, path.stem):
            continue
        for line, heads, text in rules.models(path):
            if heads[0] == "silent" or text.startswith("cameo.ir/1"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                case = Case(cameo, path.stem, heads, pathlib.Path(folder))
                try:
                    wrong = judge(case, onnx.parser.parse_model(text), counts)
                except (Failed, onnx.parser.ParseError) as error:
                    wrong = [] if isinstance(error, onnx.parser.ParseError) or path.stem in APART else [str(error)]
            for what in wrong:
                failed += 1
                print(f"{path.name}:{line}: {what}")
    print("models repaired in " + ", ".join(f"{way}: {n}" for way, n in counts.items()) + f"; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
