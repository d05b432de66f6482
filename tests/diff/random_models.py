#!/usr/bin/env python3
"""cameo diff of random models and what was done to them: random_models.py CAMEO [--count N] [--seed S].

Each model is a random graph with branches, shared values, weights, an If now and then. Then:
 * everything inner is renamed (or loses its name), nodes are put in another topological order, initializers shuffled:
   no difference may be told, every node has its partner;
 * on top of that one thing is changed, and exactly that has to be told: an attribute, an element of a weight, an operator,
   a node put in between, a node taken out, an input's dtype, an output's name, an opset, an operand.
What is right is known from how the model was made, never from Cameo.
"""
import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

UNARY = ["Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Floor"]
BINARY = ["Add", "Mul", "Sub", "Max"]


def branch(r, name, outer):
    """A graph for If that reads a value from around it."""
    out = f"{name}_out"
    nodes = [helper.make_node(r.choice(UNARY), [outer], [f"{name}_t"]),
             helper.make_node(r.choice(UNARY), [f"{name}_t"], [out])]
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(out, TensorProto.FLOAT, [4, 8])])


def draw(r):
    values, nodes, weights = ["x", "z"], [], []
    for i in range(r.randint(4, 40)):
        out, kind = f"v{i}", r.random()
        near = values[-6:]
        name = f"node_{i}" if r.random() < 0.7 else ""
        if kind < 0.3:
            nodes.append(helper.make_node(r.choice(UNARY), [r.choice(near)], [out], name))
        elif kind < 0.55:
            nodes.append(helper.make_node(r.choice(BINARY), [r.choice(near), r.choice(values)], [out], name))
        elif kind < 0.75:
            w = f"weight_{i}"
            weights.append(numpy_helper.from_array(np.float32(r.random()) + np.arange(64, dtype=np.float32).reshape(8, 8), w))
            nodes.append(helper.make_node("Gemm", [r.choice(near), w], [out], name, alpha=round(r.random(), 3), transB=1))
        elif kind < 0.9:
            nodes.append(helper.make_node("LeakyRelu", [r.choice(near)], [out], name, alpha=round(r.random(), 3)))
        else:
            a, b = branch(r, f"then_{i}", r.choice(near)), branch(r, f"else_{i}", r.choice(near))
            nodes.append(helper.make_node("If", ["flag"], [out], name, then_branch=a, else_branch=b))
        values.append(out)
    read = {v for n in nodes for v in n.input} | {
        v for n in nodes for a in n.attribute if a.HasField("g") for k in a.g.node for v in k.input}
    ends = [v for v in values[2:] if v not in read]
    f32 = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8])
    graph = helper.make_graph(nodes, "g", [f32("x"), f32("z"), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
                              [f32(v) for v in ends], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    return model


def rename(r, model):
    """Another exporter's names, order of nodes and order of weights."""
    g = model.graph
    kept = {v.name for v in list(g.input) + list(g.output)}
    names = {}
    fresh = iter(r.sample(range(100000), 4000))

    def take(graph):
        for n in graph.node:
            n.name = f"op{next(fresh)}" if r.random() < 0.5 else ""
            for o in n.output:
                if o not in kept:
                    names[o] = f"t{next(fresh)}"
            for a in n.attribute:
                if a.HasField("g"):
                    take(a.g)

    def put(graph):
        for n in graph.node:
            n.input[:] = [names.get(i, i) for i in n.input]
            n.output[:] = [names.get(o, o) for o in n.output]
            for a in n.attribute:
                if a.HasField("g"):
                    put(a.g)
        for o in graph.output:
            o.name = names.get(o.name, o.name)

    take(g)
    for t in g.initializer:
        names[t.name] = f"w{next(fresh)}"
        t.name = names[t.name]
    put(g)
    weights = list(g.initializer)
    r.shuffle(weights)
    del g.initializer[:]
    g.initializer.extend(weights)
    reorder(r, g)


def reads(n):
    inner = [v for a in n.attribute if a.HasField("g") for k in a.g.node for v in k.input]
    return list(n.input) + inner


def reorder(r, g):
    left, order = list(g.node), []
    made = {o for n in left for o in n.output}
    while left:
        ready = [n for n in left if not any(v in made for v in reads(n))]
        n = r.choice(ready)
        left.remove(n)
        order.append(n)
        made -= set(n.output)
    order = [copy.deepcopy(n) for n in order]
    del g.node[:]
    g.node.extend(order)


def made_by(g, value):
    return next((n for n in g.node if value in n.output), None)


# ---- one change, and what has to be told of it: (kind, change) -> count, without types that follow

def change_attribute(r, m):
    n = r.choice([n for n in m.graph.node if n.op_type in ("Gemm", "LeakyRelu")])
    next(a for a in n.attribute if a.name == "alpha").f += 1.5
    return {("nodes", "changed"): 1}


def change_weight(r, m):
    t = r.choice(list(m.graph.initializer))
    v = numpy_helper.to_array(t).copy()
    v[2, 3] += 0.25
    t.CopyFrom(numpy_helper.from_array(v, t.name))
    return {("initializers", "changed"): 1}


def change_operator(r, m):
    n = r.choice([n for n in m.graph.node if n.op_type in UNARY])
    n.op_type = "Softsign"
    return {("nodes", "changed"): 1}


def put_between(r, m):
    g = m.graph
    at, n = r.choice([(i, n) for i, n in enumerate(g.node) if n.input and n.op_type != "If"])
    n_in, fresh = n.input[0], "put_between"
    n.input[0] = fresh
    g.node.insert(at, helper.make_node("Softplus", [n_in], [fresh]))
    return {("nodes", "changed"): 1, ("nodes", "added"): 1}


def take_out(r, m):
    """A node that one other node reads, once, and no output: its reader takes its operand."""
    g = m.graph
    outputs = {o.name for o in g.output}
    uses = [v for n in g.node for v in reads(n)]
    able = [n for n in g.node if n.op_type in UNARY and n.output[0] not in outputs and uses.count(n.output[0]) == 1
            and any(n.output[0] in k.input for k in g.node)]
    if not able:
        return None
    n = r.choice(able)
    for k in g.node:
        k.input[:] = [n.input[0] if v == n.output[0] else v for v in k.input]
    g.node.remove(n)
    return {("nodes", "changed"): 1, ("nodes", "removed"): 1}


def change_dtype(r, m):
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    return {("inputs", "changed"): 1}


def rename_output(r, m):
    o = r.choice(list(m.graph.output))
    old, o.name = o.name, "another_name"
    for n in m.graph.node:
        n.output[:] = [o.name if v == old else v for v in n.output]
        n.input[:] = [o.name if v == old else v for v in n.input]
    return {("outputs", "changed"): 1}


def change_opset(r, m):
    m.opset_import[0].version = 20
    return {("header", "changed"): 1}


def change_metadata(r, m):
    p = m.metadata_props.add()
    p.key, p.value = "author", "someone"
    return {("metadata", "changed"): 1}


CHANGES = [change_attribute, change_weight, change_operator, put_between, take_out, change_dtype, rename_output, change_opset,
           change_metadata]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for models on which it fails")
    o = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    failed = tried = twins = 0
    for i in range(o.count):
        r = random.Random(f"{o.seed} {i}")
        a = draw(r)
        b = copy.deepcopy(a)
        expect, what = {}, "nothing"
        if i % 3:
            change = CHANGES[i % len(CHANGES)]
            what = change.__name__
            try:
                expect = change(r, b)
            except IndexError:  # nothing there to be changed
                expect = None
            if expect is None:
                continue
        if i % 2:
            rename(r, b)
        onnx.save(a, folder / "a.onnx")
        onnx.save(b, folder / "b.onnx")
        tried += 1
        for one, two in (("a", "b"), ("b", "a")):
            done = subprocess.run([o.cameo, "diff", "--format", "json", folder / f"{one}.onnx", folder / f"{two}.onnx"],
                                  capture_output=True, text=True)
            swap = {"added": "removed", "removed": "added", "changed": "changed"}
            told = {}
            for d in json.loads(done.stdout)["differences"] if done.stdout else []:
                if d["kind"] != "types":
                    key = (d["kind"], d["change"] if one == "a" else swap[d["change"]])
                    told[key] = told.get(key, 0) + 1
            # Of equal nodes in a row any may be the one that came or went: then as few differences tell it as well.
            other = what in ("put_between", "take_out") and 0 < sum(told.values()) <= sum(expect.values())
            twins += told != expect and other
            ok = (told == expect or other) and done.returncode == (1 if expect else 0)
            if not ok:
                failed += 1
                print(f"{i} {what} {one} {two}: exit {done.returncode}, told {told}, expected {expect} {done.stderr[:200]}")
                if o.keep:
                    pathlib.Path(o.keep).mkdir(exist_ok=True)
                    for side in "ab":
                        (pathlib.Path(o.keep) / f"{i}{side}.onnx").write_bytes((folder / f"{side}.onnx").read_bytes())
    print(f"{tried} pairs of models, both ways round: {failed} wrong, {twins} told by as few other differences")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
