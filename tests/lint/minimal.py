"""The fewest Casts that make a model's dtypes fit, by trying: what a repair is held to.

A variable is what must have one dtype: a type variable of a node, a carried value, the results of two branches, a
constant, what a Cast makes. Its label is a dtype. A value that is made under one label and used under others takes one
Cast for each of those, unless a Cast of it to that dtype is there already.
"""
import collections

import numpy
from onnx import TensorProto, helper, numpy_helper

from typeflow import elements, formal, schema_of, variable

FLOAT = TensorProto.FLOAT
FLOATS = {1: 32, 10: 16, 11: 64, 16: 16}
DEEPEST = 300  # variables that are tried: the search calls itself for each
INTEGERS = {2, 3, 4, 5, 6, 7, 12, 13, 9}


class Variable:
    def __init__(self, allowed, own=0, kind="node"):
        self.allowed, self.own, self.kind = allowed, own, kind


class Problem:
    """Values and variables of a model of one graph; None of it where the model has what this does not know."""

    def __init__(self, model):
        self.opset = max([o.version for o in model.opset_import if o.domain in ("", "ai.onnx")], default=0)
        self.variables, self.uses = [], collections.defaultdict(list)
        self.maker, self.dtype, self.casts = {}, {}, {}
        self.tensors, self.fixed = {}, {}
        self.known = not model.functions and not any(
            a.type in (a.GRAPH, a.GRAPHS) for n in model.graph.node for a in n.attribute)
        if self.known:
            self.dominant = dominant_dtype(model)
            self.sources(model)
            for node in model.graph.node:
                self.node(node)
            for entry in model.graph.output:
                if entry.type.tensor_type.elem_type and entry.name in self.maker:
                    self.use(entry.name, self.one(entry.type.tensor_type.elem_type))

    def new(self, allowed, own=0, kind="node"):
        self.variables.append(Variable(set(allowed), own, kind))
        return len(self.variables) - 1

    def one(self, dtype):
        if dtype not in self.fixed:
            self.fixed[dtype] = self.new({dtype}, dtype, "fixed")
        return self.fixed[dtype]

    def make(self, name, var, dtype):
        self.maker[name], self.dtype[name] = var, dtype

    def use(self, name, var):
        self.uses[name].append(var)

    def sources(self, model):
        weights = {t.name for t in model.graph.initializer}
        given = {i.name for i in model.graph.input} if model.ir_version >= 4 else set()
        for entry in model.graph.input:
            if entry.name not in weights or entry.name in given:
                self.make(entry.name, self.one(entry.type.tensor_type.elem_type), entry.type.tensor_type.elem_type)
        for tensor in model.graph.initializer:
            if tensor.name not in given:
                self.tensors[tensor.name] = tensor
                self.make(tensor.name, self.new(TENSOR_TYPES, tensor.data_type, "constant"), tensor.data_type)

    def node(self, node):
        schema = schema_of(node.op_type, node.domain, self.opset)
        if schema is None:
            self.known = False
            return
        given = {}
        for i, name in enumerate(node.input):
            param = formal(schema.inputs, i)
            if not name or name not in self.maker or param is None or not elements(param):
                continue
            var = variable(param)
            if "(" in param.type_str:
                given[i] = self.new(elements(param))
            elif var is not None and var not in given:
                given[var] = self.new(elements(param))
            if var is not None or "(" in param.type_str:
                self.use(name, given[var if var is not None else i])
        for k, name in enumerate(node.output):
            self.result(node, k, name, formal(schema.outputs, k), given)

    def result(self, node, k, name, param, given):
        if not name:
            return
        if node.op_type == "Cast":
            to = next(a.i for a in node.attribute if a.name == "to")
            self.make(name, self.new(TENSOR_TYPES, to, "cast"), to)
            self.casts[node.input[0], to] = name
        elif node.op_type in ("Constant", "ConstantOfShape"):
            tensor = next((a.t for a in node.attribute if a.name == "value"), None)
            dtype = tensor.data_type if tensor is not None else FLOAT
            self.known &= tensor is not None
            self.tensors[name] = tensor
            self.make(name, self.new(TENSOR_TYPES, dtype, "constant"), dtype)
        elif param is not None and param.type_str in given:
            schema = schema_of(node.op_type, node.domain, self.opset)
            dtypes = [self.dtype[name] for i, name in enumerate(node.input)
                      if name in self.dtype and variable(formal(schema.inputs, i)) == param.type_str]
            self.make(name, given[param.type_str], dtypes[0] if dtypes else 0)
        elif param is not None and len(elements(param)) == 1:
            dtype = next(iter(elements(param)))
            self.make(name, self.one(dtype), dtype)
        else:
            self.known = False  # a result whose dtype an attribute names, or nothing

    # ---- what is allowed ------------------------------------------------------------------------

    def labels(self, name):
        """dtypes that a constant or Cast may be given, by what the catalogue says of repairs."""
        var = self.variables[self.maker[name]]
        if var.kind == "cast":
            alike = FLOATS if var.own in FLOATS else INTEGERS if var.own in INTEGERS else {}
            return {var.own} | (set(alike) if var.own != self.dominant else set())
        return {var.own} | {t for t in TENSOR_TYPES if self.may_store(name, var.own, t)}

    def is_required(self, name, own):
        return any(own not in self.variables[u].allowed for u in self.uses[name])

    def may_store(self, name, own, to):
        numbers = set(FLOATS) | INTEGERS
        if own not in numbers or to not in numbers or 9 in (own, to):
            return False
        required = self.is_required(name, own)
        if own == self.dominant and not required:
            return False
        if self.spoils(own, to) and not required:
            return False
        both = own in FLOATS and to in FLOATS
        return both or is_exact(self.tensors[name], to)

    def spoils(self, own, to):
        return own in FLOATS and to in FLOATS and FLOATS[to] > FLOATS[own] and to != self.dominant

    def may_cast(self, name, to):
        own = self.variables[self.maker[name]].own
        weight = self.variables[self.maker[name]].kind == "constant"
        if 8 in (self.dtype[name], to) or self.dtype[name] in (14, 15) or to in (14, 15):
            return False
        return not (weight and self.spoils(own, to) and not self.is_required(name, own))


TENSOR_TYPES = set(range(1, 24))


def dominant_dtype(model):
    """The float dtype of most bytes of weights, which are of more than one number; what one weight has only if no more of the weights, inputs and
    outputs are of another, float64 only if fewer are of any other; without weights float32, by the same count. Without a weight of two axes what inputs
    and outputs agree on, but for float64. Of as many the first in ONNX's numbers."""
    def most(counter):
        return min(counter, key=lambda dtype: (-counter[dtype], dtype))

    size, count = collections.Counter(), collections.Counter()
    matrix = False
    for tensor in weights_of(model):
        if tensor.data_type in FLOATS and numpy.prod(tensor.dims) > 1:
            size[tensor.data_type] += int(numpy.prod(tensor.dims)) * FLOATS[tensor.data_type]
            count[tensor.data_type] += 1
            matrix |= sum(dim > 1 for dim in tensor.dims) > 1
    best = most(size) if size else FLOAT
    names = {t.name for t in model.graph.initializer}
    inputs, outputs = ([e.type.tensor_type.elem_type for e in entries if e.type.tensor_type.elem_type in FLOATS and e.name not in names]
                       for entries in (model.graph.input, model.graph.output))
    if not matrix and inputs and outputs and len({*inputs, *outputs}) == 1 and inputs[0] != TensorProto.DOUBLE:
        return inputs[0]
    if best != TensorProto.DOUBLE and count[best] > 1:
        return best
    count.update(inputs + outputs)
    if not count:
        return best
    return most(count) if count[most(count)] > count[best] - (best == TensorProto.DOUBLE) else best


def weights_of(model):
    yield from model.graph.initializer
    for nodes in [model.graph.node, *(f.node for f in model.functions)]:
        yield from (a.t for n in nodes for a in n.attribute if n.op_type == "Constant" and a.name == "value")


def is_exact(tensor, to):
    values = numpy_helper.to_array(tensor)
    with numpy.errstate(all="ignore"):
        other = values.astype(helper.tensor_dtype_to_np_dtype(to))
        return numpy.array_equal(values, other.astype(values.dtype))


class Search:
    """Depth first over the variables, those of one value next to each other; what costs `limit` Casts is left."""

    def __init__(self, problem, limit, tries):
        self.p, self.limit, self.tries = problem, limit, tries
        self.label = [None] * len(problem.variables)
        self.seen = set(problem.dtype.values()) | {t for v in problem.fixed for t in [v]} | {problem.dominant}
        self.near = [[] for _ in problem.variables]  # values around a variable
        self.choices = [self.choices_of(v) for v in problem.variables]
        for name, var in problem.maker.items():
            if problem.variables[var].kind in ("constant", "cast"):
                self.choices[var] = sorted(problem.labels(name) & self.seen)
            for v in {var, *problem.uses[name]}:
                self.near[v].append(name)
        self.found = None

    def choices_of(self, var):
        return sorted(var.allowed & self.seen) or sorted(var.allowed)[:1]

    def order(self):
        """From what does not fit outwards; what fits as it is and is reached by no misfit is not looked at."""
        p, queue, seen = self.p, collections.deque(), set()
        for name, var in p.maker.items():
            have = p.dtype[name]
            for use in p.uses[name]:
                dtypes = {p.dtype[n] for n in self.near[use] if use in p.uses[n]}
                if have not in p.variables[use].allowed or len(dtypes) > 1 or \
                        (p.variables[var].kind != "node" and have not in p.variables[var].allowed and var not in seen):
                    queue.extend([use, var])
        order = []
        while queue:
            var = queue.popleft()
            if var in seen:
                continue
            seen.add(var)
            order.append(var)
            if p.variables[var].kind == "fixed":
                continue
            for name in self.near[var]:
                queue.extend({p.maker[name], *p.uses[name]} - seen)
        return order

    def price(self, name):
        """Casts of a value, from the labels that are chosen; None where one is not possible."""
        p, made = self.p, self.label[self.p.maker[name]]
        if made is None:
            return 0
        asked = {self.label[u] for u in p.uses[name]} - {None, made}
        total = 0
        for to in asked:
            cast = p.casts.get((name, to))
            if cast and self.label[p.maker[cast]] in (None, to):
                continue
            if not p.may_cast(name, to):
                return None
            total += 1
        return total

    def least(self):
        order = self.order()
        if len(order) > DEEPEST:
            self.tries = -1
            return None
        order.sort(key=lambda v: self.p.variables[v].kind != "fixed")  # stable: what has no choice first
        self.walk(order, 0, 0, {})
        return self.found

    def walk(self, order, i, cost, prices):
        self.tries -= 1
        if self.tries < 0 or cost >= self.limit:
            return
        if i == len(order):
            self.found, self.limit = cost, cost
            return
        var = order[i]
        for label in self.choices[var]:
            self.label[var] = label
            changed, total, possible = {}, cost, True
            for name in {*self.near[var], *(n for n, _ in self.of_cast(var))}:
                price = self.price(name)
                if price is None:
                    possible = False
                    break
                changed[name] = price
                total += price - prices.get(name, 0)
            if possible:
                self.walk(order, i + 1, total, {**prices, **changed})
            self.label[var] = None
            if self.tries < 0:
                return

    def of_cast(self, var):
        if self.p.variables[var].kind != "cast":
            return []
        return [(n, t) for (n, t), out in self.p.casts.items() if self.p.maker[out] == var]


def fewest_casts(model, done, tries):
    """The least number of Casts if that is below `done`, `done` if nothing less will do, None where that is not known:
    the model has subgraphs or functions, or the search would take more than `tries` steps."""
    problem = Problem(model)
    if not problem.known:
        return None
    if done == 0:
        return 0
    search = Search(problem, done, tries)
    found = search.least()
    if search.tries < 0 and found is None:
        return None
    return done if found is None else found
