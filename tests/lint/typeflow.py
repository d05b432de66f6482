"""Which dtype every value of a model has, and what does not fit: an opinion of its own, from onnx's schemas alone.

The mutation test asks it which rule a fault has to be found by. It follows dtypes node by node, through branches, loops
and calls of functions, and takes of a node whose operands do not fit the result that the valid model has there.
"""
import collections
import re

import onnx
from onnx import TensorProto, defs

Value = collections.namedtuple("Value", "dtype sources outer")
Misfit = collections.namedtuple("Misfit", "rule node value")
UNKNOWN = Value(0, frozenset(), False)

# "One fault, one finding": the first of these that a fault breaks is the rule to name.
ORDER = ["QN001", "DT004", "DT005", "DT015", "DT002", "DT003", "DT001"]

# Operands that are quantized, with the operand that is their zero point.
ZERO_POINTS = {"DequantizeLinear": [(0, 2)], "QLinearConv": [(0, 2), (3, 5)], "QLinearMatMul": [(0, 2), (3, 5)],
               "ConvInteger": [(0, 2), (1, 3)], "MatMulInteger": [(0, 2), (1, 3)]}
# Of a sequence or an optional value the dtype is that of the tensors within.
WRAPPERS = {"SequenceConstruct", "SequenceInsert", "SequenceAt", "SequenceErase", "ConcatFromSequence", "SplitToSequence", "Optional",
            "OptionalGetElement"}
# Attributes that name a result's dtype, and what holds without them (None: that of the first operand).
NAMED = {"RandomNormal": ("dtype", 1), "RandomUniform": ("dtype", 1), "RandomNormalLike": ("dtype", None),
         "RandomUniformLike": ("dtype", None), "EyeLike": ("dtype", None), "Bernoulli": ("dtype", None),
         "Multinomial": ("dtype", 6), "HannWindow": ("output_datatype", 1), "HammingWindow": ("output_datatype", 1),
         "BlackmanWindow": ("output_datatype", 1), "MelWeightMatrix": ("output_datatype", 1),
         "QuantizeLinear": ("output_dtype", 2)}
# Optimizers, with how many states they keep of each tensor. Their inputs: rate, count, tensors, gradients, states.
# Inputs that may be int32 by the schema, and that who loads the model refuses so (indices.py asks them): DT003, as a warning.
INT64_FOR_OTHERS = {("Pad", 3), ("CenterCropPad", 1)}
OPTIMIZERS = {"Adagrad": 1, "Momentum": 1, "Adam": 2}
TENSORS = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}


def schema_of(op, domain, version):
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None


def formal(params, i):
    if i < len(params):
        return params[i]
    return params[-1] if params and params[-1].option == defs.OpSchema.FormalParameterOption.Variadic else None


def variable(param, op=None):
    """The type variable that ties this operand to others, None where nothing does."""
    variadic = param.option == defs.OpSchema.FormalParameterOption.Variadic
    if "(" in param.type_str or (variadic and not param.is_homogeneous):
        return None
    return "T" if op in WRAPPERS and param.type_str in ("S", "O", "V") else param.type_str


def followed(node, k, inputs):
    """The operand whose dtype result k has by what the operator means, where the schema ties neither to the other."""
    if node.op_type == "DequantizeLinear" and not any(a.name == "output_dtype" and a.i for a in node.attribute):
        return inputs[1] if len(inputs) > 1 else None
    if node.domain != "ai.onnx.preview.training":
        return None
    if node.op_type == "Gradient":  # by its tensor of xs, which are the first inputs
        return inputs[k] if k < len(inputs) else None
    states = OPTIMIZERS.get(node.op_type)
    count = (len(inputs) - 2) // (2 + states) if states else 0
    at = 2 + k if k < count else 2 + count + k
    return inputs[at] if count and at < len(inputs) else None


def elements(param):
    """dtypes of the tensors, or of those that a sequence or an optional value holds."""
    return {TENSORS[t] for t in re.findall(r"tensor\(\w+\)", " ".join(param.types)) if t in TENSORS}


def declared(info):
    return info.type.tensor_type.elem_type if info.type.HasField("tensor_type") else 0


class Scope:
    def __init__(self, path, outer=None):
        self.path, self.outer, self.values = path, outer, {}

    def find(self, name):
        scope, outer = self, False
        while scope:
            if name in scope.values:
                return scope.values[name]._replace(outer=outer or scope.values[name].outer)
            scope, outer = scope.outer, True
        return UNKNOWN


class Flow:
    """`right` is the flow of the model before the fault: what nodes ought to get and to give."""

    def __init__(self, model, right=None):
        self.model, self.right = model, right
        self.misfits = []
        self.refused = False  # valid by the schemas, and refused by others
        self.given = {}  # (path, node's first result) -> dtype of each type variable
        self.made = {}  # (path, value) -> dtype
        self.sources = {}  # (path, value) -> where that begins: (kind, name)
        self.operands = {}  # (path, first result) -> Values read
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.graph(model.graph, Scope(()), [], {o.domain or "ai.onnx": o.version for o in model.opset_import}, {}, True)

    def rule(self):
        found = {m.rule for m in self.misfits}
        return next((r for r in ORDER if r in found), "DT003" if self.refused else None)

    def misfit(self, rule, node, value):
        self.misfits.append(Misfit(rule, node.output[0], value))

    def ought(self, table, path, name, otherwise):
        return getattr(self.right, table).get((path, name), otherwise) if self.right else otherwise

    def keep(self, scope):
        self.made.update({(scope.path, name): v.dtype for name, v in scope.values.items()})
        self.sources.update({(scope.path, name): v.sources for name, v in scope.values.items()})

    # ---- graphs ---------------------------------------------------------------------------------

    def graph(self, graph, scope, arguments, opsets, attributes, main=False):
        weights = {t.name for t in graph.initializer}
        for i, entry in enumerate(graph.input):
            own = Value(declared(entry), frozenset([("input", entry.name)]), False)
            scope.values[entry.name] = arguments[i] if i < len(arguments) else own
        for tensor in graph.initializer:
            scope.values[tensor.name] = Value(tensor.data_type, frozenset([("initializer", tensor.name)]), False)
        for entry in graph.value_info:
            if entry.name in weights and declared(entry) != scope.values[entry.name].dtype:
                self.misfits.append(Misfit("DT002", None, entry.name))
        said = {v.name: declared(v) for v in [*graph.value_info, *graph.output] if declared(v) and v.name not in weights}
        self.nodes(graph.node, scope, opsets, attributes, said)
        self.keep(scope)
        return [scope.find(o.name) for o in graph.output]

    def nodes(self, nodes, scope, opsets, attributes, said):
        for node in nodes:
            inputs = [scope.find(name) if name else UNKNOWN for name in node.input]
            self.operands[scope.path, node.output[0]] = inputs
            before = len(self.misfits)
            results = self.node(node, inputs, scope, opsets, attributes)
            for name, value in zip(node.output, results):
                value = value if value.dtype else value._replace(dtype=said.get(name, 0))
                scope.values[name] = value
                if said.get(name, value.dtype) != value.dtype and value.dtype and len(self.misfits) == before:
                    self.misfit("DT002", node, name)

    def node(self, node, inputs, scope, opsets, attributes):
        if node.op_type == "If":
            return self.branches(node, inputs, scope, opsets, attributes)
        if node.op_type in ("Loop", "Scan"):
            return self.loop(node, inputs, scope, opsets, attributes)
        function = self.functions.get((node.domain, node.op_type))
        if function:
            return self.call(node, function, inputs, scope, attributes)
        return self.plain(node, inputs, scope, opsets, attributes)

    def held(self, node, name, scope, arguments, opsets, attributes):
        for a in node.attribute:
            if a.name == name:
                inner = Scope((*scope.path, node.output[0], name), scope)
                return a.g, self.graph(a.g, inner, arguments, opsets, attributes)
        return None, []

    def expected(self, scope, node, k, value):
        """A result where something did not fit: what it is in the valid model, from a node."""
        dtype = self.ought("made", scope.path, node.output[k], value.dtype)
        return Value(dtype, frozenset([("node", node.output[k])]), False)

    def host(self, node, inputs, wanted):
        """Operands that have to be of one dtype: a condition, a number of iterations."""
        for name, value, dtype in zip(node.input, inputs, wanted):
            if value.dtype and value.dtype != dtype:
                self.misfit("DT003", node, name)

    def branches(self, node, inputs, scope, opsets, attributes):
        self.host(node, inputs, [TensorProto.BOOL])
        _, yes = self.held(node, "then_branch", scope, [], opsets, attributes)
        _, no = self.held(node, "else_branch", scope, [], opsets, attributes)
        results = []
        for k, (a, b) in enumerate(zip(yes, no)):
            if a.dtype and b.dtype and a.dtype != b.dtype:
                self.misfit("DT004", node, node.output[k])
                results.append(self.expected(scope, node, k, a))
            else:
                results.append(Value(a.dtype, a.sources | b.sources, False))
        return results

    def loop(self, node, inputs, scope, opsets, attributes):
        loop = node.op_type == "Loop"
        scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        carried = len(inputs) - (2 if loop else scanned)
        first = [Value(7, frozenset(), False), Value(9, frozenset(), False)] if loop else []
        starts = inputs[2:] if loop else inputs
        self.host(node, inputs, [TensorProto.INT64, TensorProto.BOOL] if loop else [])
        body = next(a.g for a in node.attribute if a.name == "body")
        arguments = list(first)
        for value, entry in zip(starts, body.input[len(first):]):
            if declared(entry) and value.dtype and declared(entry) != value.dtype:
                self.misfit("DT005", node, entry.name)
                value = value._replace(dtype=declared(entry))
            arguments.append(value)
        _, made = self.held(node, "body", scope, arguments, opsets, attributes)
        states = made[1:] if loop else made
        results = []
        for k, value in enumerate(states[:len(node.output)]):
            if k < carried and value.dtype and starts[k].dtype and value.dtype != starts[k].dtype:
                self.misfit("DT005", node, node.output[k])
                value = self.expected(scope, node, k, value)
            sources = value.sources | (starts[k].sources if k < carried else frozenset())
            results.append(Value(value.dtype, sources, False))
        return results

    def call(self, node, function, inputs, scope, attributes):
        inner = Scope((*scope.path, node.output[0], "()"))
        inner.values.update(zip(function.input, inputs))
        known = {a.name: a for a in function.attribute_proto}
        known.update({a.name: a for a in node.attribute})
        opsets = {o.domain or "ai.onnx": o.version for o in function.opset_import}
        self.nodes(function.node, inner, opsets, known, {})
        self.keep(inner)
        return [inner.find(name)._replace(outer=False) for name in function.output]

    # ---- nodes by their schemas ------------------------------------------------------------------

    def plain(self, node, inputs, scope, opsets, attributes):
        schema = schema_of(node.op_type, node.domain, opsets.get(node.domain or "ai.onnx", 1))
        if schema is None:
            return [Value(self.ought("made", scope.path, o, 0), frozenset([("node", o)]), False) for o in node.output]
        read = [(i, v, formal(schema.inputs, i)) for i, v in enumerate(inputs) if v.dtype]
        ought = self.ought("given", scope.path, node.output[0], {})
        given, fits = self.bind(node, read, ought, scope)
        self.given[scope.path, node.output[0]] = given
        results = []
        for k, name in enumerate(node.output):
            param = formal(schema.outputs, k)
            if not fits:
                results.append(self.expected(scope, node, k, UNKNOWN))
                continue
            same = followed(node, k, inputs)
            if same:
                results.append(same._replace(outer=False))
                continue
            dtype = self.result(node, k, param, given, inputs, attributes, scope)
            tied = [v for _, v, p in read if p and variable(p) and param
                    and variable(p, node.op_type) == variable(param, node.op_type) and v.dtype == dtype]
            sources = frozenset().union(*(v.sources for v in tied)) if tied else frozenset([(kind_of(node), name)])
            results.append(Value(dtype, sources, False))
        return results

    def bind(self, node, read, ought, scope):
        """dtypes by type variable; False where operands do not fit."""
        given, fits = {}, True
        groups = collections.defaultdict(list)
        for i, value, param in read:
            if param is None:
                continue
            var = variable(param, node.op_type)
            groups[var or i].append((i, value, param))
        for var, group in groups.items():
            dtypes = {v.dtype for _, v, _ in group}
            want = ought.get(var, group[0][1].dtype)
            given[var] = want if len(dtypes) > 1 else group[0][1].dtype
            if len(dtypes) == 1:
                for i, value, param in group:
                    if (node.op_type, i) in INT64_FOR_OTHERS and value.dtype == TensorProto.INT32:
                        self.refused = True
                    if elements(param) and value.dtype not in elements(param):
                        self.misfit("DT003", node, node.input[i])
                        fits = False
                continue
            fits = False
            wrong = [(i, v, p) for i, v, p in group if v.dtype != want]
            pairs = ZERO_POINTS.get(node.op_type, [])
            for i, value, param in wrong:
                zero_point = any(i in pair and {i for i, _, _ in group} >= set(pair) for pair in pairs)
                self.misfit("QN001" if zero_point else "DT003" if value.dtype not in elements(param)
                            else "DT015" if value.outer else "DT001", node, node.input[i])
        return given, fits

    def result(self, node, k, param, given, inputs, attributes, scope):
        held = {a.name: attributes.get(a.ref_attr_name, a) if a.ref_attr_name else a for a in node.attribute}
        if node.op_type == "Cast":
            return held["to"].i
        if node.op_type == "Constant":
            return constant_dtype(next(iter(held.values())))
        if node.op_type == "ConstantOfShape":
            return held["value"].t.data_type if "value" in held else TensorProto.FLOAT
        if param is None:
            return 0
        if variable(param, node.op_type) in given:
            return given[variable(param, node.op_type)]
        if node.op_type == "DequantizeLinear" and len(inputs) > 1:  # since opset 23
            return held["output_dtype"].i if "output_dtype" in held and held["output_dtype"].i else inputs[1].dtype
        if node.op_type in NAMED and k == 0:
            attribute, otherwise = NAMED[node.op_type]
            if attribute in held and held[attribute].i:
                return held[attribute].i
            return otherwise or (inputs[0].dtype if inputs else 0)
        allowed = elements(param)
        return next(iter(allowed)) if len(allowed) == 1 else self.ought("made", scope.path, node.output[k], 0)


def kind_of(node):
    return {"Cast": "cast", "Constant": "constant"}.get(node.op_type, "node")


def constant_dtype(a):
    if a.name == "value":
        return a.t.data_type
    kinds = {"value_float": 1, "value_floats": 1, "value_int": 7, "value_ints": 7, "value_string": 8, "value_strings": 8}
    return kinds.get(a.name, 0)
