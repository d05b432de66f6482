"""What a repair changed, told apart from everything that has to stay."""
import numpy
import onnx
from onnx import numpy_helper

# What a repair may set: a Cast's target, a constant's elements.
MAY_CHANGE = {"Cast": {"to"}, "Constant": {"value"}, "ConstantOfShape": {"value"}}


SCALARS = {"value_int", "value_float"}


def but(message, *fields):
    """A message without some of its fields."""
    rest = type(message)()
    rest.CopyFrom(message)
    for field in fields:
        rest.ClearField(field)
    return rest


# A tensor's dtype and elements, and where those lie.
ELEMENTS = ("data_type", "raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data",
            "data_location")
# What is compared one by one.
OF_GRAPH = ("node", "initializer", "input", "output", "value_info")


def same_values(a, b):
    if a.data_type == b.data_type:
        return a == b
    x, y = numpy_helper.to_array(a), numpy_helper.to_array(b)
    if x.shape != y.shape or but(a, *ELEMENTS) != but(b, *ELEMENTS):
        return False
    kind = numpy.result_type(x, y)
    return numpy.allclose(x.astype(kind), y.astype(kind), rtol=1e-2, atol=1e-6, equal_nan=True)


def is_adaptor(node):
    placed = any(p.key == "cameo.device" for p in node.metadata_props)
    return len(node.input) == len(node.output) == 1 and (node.op_type == "Cast" or (node.op_type == "Identity" and placed))


def plain_adaptor(node):
    """An inserted node as the repair says it: nothing but a name, operand, result, target, and a transfer's device."""
    wanted = onnx.NodeProto(op_type=node.op_type, name=node.name or None, input=node.input, output=node.output[:1])
    if node.op_type == "Cast":
        to = [a.i for a in node.attribute if a.name == "to"]
        wanted.attribute.append(onnx.helper.make_attribute("to", to[0] if to else 0))
    else:
        device = [p.value for p in node.metadata_props if p.key == "cameo.device"]
        wanted.metadata_props.add(key="cameo.device", value=device[0])
    return node == wanted


def casting_functions(model):
    """Functions that are a Cast of what they are given: a call of one is idle where that Cast would be."""
    return {(f.domain, f.name) for f in model.functions
            if [n.op_type for n in f.node] == ["Cast"] and f.node[0].input[0] in f.input and f.node[0].output[0] in f.output}


class Comparison:
    def __init__(self, old, moved=False, casting=frozenset()):
        self.old = old  # the model's IR version is below 4: weights are among its inputs
        self.casting = casting
        self.moved = moved  # of two Casts in a row it is the first that was there, and its result was renamed
        self.wrong, self.casts, self.transfers = [], 0, 0
        self.around = []  # graphs whose values the present one sees
        self.gone = {}  # result of a Cast that was deleted -> its operand
        self.behind = {}  # result of an inserted node -> what it converts

    def is_cast(self, node):
        return node.op_type == "Cast" or (node.domain, node.op_type) in self.casting

    def source(self, name):
        while name in self.behind:
            name = self.behind[name]
        return name

    def present(self, name):
        while name in self.gone:
            name = self.gone[name]
        return name

    def tensors(self, a, b, where):
        if len(a) != len(b):
            self.wrong.append(f"{where}: {len(a)} tensors became {len(b)}")
        for x, y in zip(a, b):
            if not same_values(x, y):
                self.wrong.append(f"{where}: tensor {x.name}")

    def declarations(self, a, b, where, interface):
        """Names and shapes stay; dtypes stay at the model's interface."""
        for x, y in zip(a, b):
            kept = type(x)()
            kept.CopyFrom(y)
            if (not interface or x.name in self.weights) and x.type.HasField("tensor_type"):
                kept.type.tensor_type.elem_type = x.type.tensor_type.elem_type
            kept.name = self.renamed(kept.name) if not interface else kept.name
            if x != kept:
                self.wrong.append(f"{where}: declaration of {x.name}")
        if len(a) != len(b):
            self.wrong.append(f"{where}: number of declarations")

    def results(self, a, b, where):
        """Of a body: what is given may be another value's Cast, declared as that."""
        if [self.present(o.name) for o in a] != [self.source(o.name) for o in b]:
            self.wrong.append(f"{where}: outputs")
            return
        named = [onnx.ValueInfoProto() for _ in b]
        for to, x, y in zip(named, a, b):
            to.CopyFrom(y)
            to.name = x.name
        self.declarations(a, named, where, False)

    def renamed(self, name):
        return self.names.get(name, name)

    def attributes(self, a, b, where, before):
        for x, y in zip(a.attribute, b.attribute):
            if a.op_type == "Constant" and x.name in SCALARS and y.name == "value":
                if not numpy.allclose(x.i or x.f, numpy_helper.to_array(y.t)):
                    self.wrong.append(f"{where}: value")
            elif x.name in MAY_CHANGE.get(a.op_type, ()):
                if but(x, "i", "t") != but(y, "i", "t") or (x.HasField("t") and not same_values(x.t, y.t)):
                    self.wrong.append(f"{where}: value")
            elif x.type == x.GRAPH and but(x, "g") == but(y, "g"):
                self.around.append(before)
                self.graphs(x.g, y.g, f"{where}.{x.name}", False)
                self.around.pop()
            elif x != y:
                self.wrong.append(f"{where}: attribute {x.name}")
        added = {y.name for y in b.attribute[len(a.attribute):]}
        if len(a.attribute) > len(b.attribute) or added - MAY_CHANGE.get(a.op_type, set()):
            self.wrong.append(f"{where}: number of attributes")

    def node(self, a, b, where, before):
        plain = [but(node, "attribute", "input", "output") for node in (a, b)]
        outputs = [self.renamed(o) for o in b.output]
        if plain[0] != plain[1] or list(a.output) != outputs:
            self.wrong.append(f"{where}: node {a.op_type} {a.name or a.output}")
        read = [self.renamed(self.source(i)) for i in b.input]
        if not self.same_operands([self.present(i) for i in a.input], read, before):
            self.wrong.append(f"{where}: operands of {a.op_type} {a.name or a.output}")
        self.attributes(a, b, f"{where}/{a.op_type}", before)

    def insertions(self, a, b):
        """The nodes of b that are a's, in a's order; the rest, if they convert something, were inserted."""
        of = {(n.op_type, n.name, *[self.renamed(o) for o in n.output]): n for n in reversed(b.node)}
        kept = [of.get((n.op_type, n.name, *n.output)) for n in a.node]
        self.gone.update({n.output[0]: n.input[0] for n, k in zip(a.node, kept)
                          if k is None and self.is_cast(n)})
        known = {id(n) for n in kept}
        for node in b.node:
            if id(node) in known:
                continue
            if not is_adaptor(node):
                self.wrong.append(f"a new {node.op_type}")
                continue
            if not plain_adaptor(node):
                self.wrong.append(f"an inserted {node.op_type} says more than it has to: {node}")
            self.behind[node.output[0]] = node.input[0]
            self.casts += node.op_type == "Cast"
            self.transfers += node.op_type == "Identity"
        return kept

    def same_operands(self, a, b, before):
        """Up to inserted nodes; up to those that were there where a repair makes use of them."""
        if a == b:
            return True
        there = {n.output[0]: n.input[0] for g in [*self.around, before] for n in g.node if is_adaptor(n)}
        def far(name):
            while name in there:
                name = there[name]
            return name
        return [far(x) for x in a] == [far(y) for y in b]

    @staticmethod
    def but_results(node):
        return (node.op_type, node.name, *node.input, *(x.SerializeToString() for x in node.attribute))

    def find_renames(self, a, b):
        """An output that is cast keeps its name, and the value that bore it gets another."""
        made, given = ({o for n in graph.node for o in n.output} for graph in (a, b))
        self.names = {}
        there = {self.but_results(n) for n in a.node if self.moved}
        inserted = {n.output[0] for n in b.node if is_adaptor(n) and n.output[0] not in made and n.input[0] in made
                    and self.but_results(n) not in there}
        for node in b.node:
            # A name that was not there, and is not of an inserted node, converted to one that was.
            if is_adaptor(node) and node.output[0] in made and node.input[0] in given - made - inserted:
                self.names[node.input[0]] = node.output[0]

    def graphs(self, a, b, where, main):
        outer = getattr(self, "names", {})
        if but(a, *OF_GRAPH) != but(b, *OF_GRAPH):
            self.wrong.append(f"{where}: fields of the graph")
        self.find_renames(a, b)
        kept = self.insertions(a, b)
        own = self.names
        for x, y in zip(a.node, kept):
            self.names = own
            if y is None and self.is_cast(x):
                pass  # idle once its operand has the right dtype: in self.gone
            elif y is None:
                self.wrong.append(f"{where}: no {x.op_type} {x.name or x.output} any more")
            else:
                self.node(x, y, where, a)
        self.names = own
        self.tensors(a.initializer, b.initializer, where)
        self.weights = {i.name for i in a.initializer} if self.old else set()
        declared = [v for v in a.value_info if v.name not in self.gone]
        self.declarations(declared, b.value_info, where, False)
        self.declarations(a.input, b.input, where, main)
        if main:
            self.declarations(a.output, b.output, where, True)
        else:
            self.results(a.output, b.output, where)
        self.names = outer


def body_of(function):
    """A function's nodes and results as a graph's."""
    return onnx.GraphProto(node=function.node, output=[onnx.ValueInfoProto(name=o) for o in function.output])


def changes(before, after, casts=None, transfers=None):
    """What differs between a model and its repair beyond the repair; [] if nothing does. None: as many as there are."""
    wrong = changes_as(before, after, casts, transfers, False)
    return wrong and changes_as(before, after, casts, transfers, True) and wrong


def changes_as(before, after, casts, transfers, moved):
    c = Comparison(before.ir_version < 4, moved, casting_functions(before))
    rest = [but(model, "graph", "functions") for model in (before, after)]
    bodies = [[but(f, "node") for f in model.functions] for model in (before, after)]
    if rest[0] != rest[1] or bodies[0] != bodies[1]:
        c.wrong.append("the model's own fields")
    c.graphs(before.graph, after.graph, "graph", True)
    for x, y in zip(before.functions, after.functions):
        inner = Comparison(False, moved)  # names in a body are its own
        inner.graphs(body_of(x), body_of(y), f"function {x.name}", False)
        c.wrong += inner.wrong
        c.casts += inner.casts
        c.transfers += inner.transfers
    if casts is not None and (c.casts, c.transfers) != (casts, transfers):
        c.wrong.append(f"{c.casts} casts and {c.transfers} transfers, {casts} and {transfers} said")
    return c.wrong
