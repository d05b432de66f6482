"""What a model gives, and who says that two models give the same bits.

First ONNX Runtime without its optimizations. It computes float16 in float32 between nodes as it likes, and a node that only hands
a value on may change where: then onnx's own evaluator, which computes each node in the dtype that it has, runs both models.
"""
import numpy
import onnx.reference
import onnxruntime
from onnx import numpy_helper
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19


class Optional(OpRun):
    """Hands its operand on, as the standard has it; the evaluator's own gives a list of it, which no node behind takes."""
    op_domain = ""

    def _run(self, x=None, type=None):  # noqa: A002
        return (x,)


class DequantizeLinear(DequantizeLinear_19):
    """Opsets 10 to 18 say the same of fewer dtypes; the evaluator begins with 19."""
    op_domain = ""

    def _run(self, x, x_scale, x_zero_point=None, axis=None, **_later):
        return super()._run(x, x_scale, x_zero_point, axis=1 if axis is None else axis)


def standard_opset(message):
    return max((o.version for o in message.opset_import if o.domain in ("", "ai.onnx")), default=0)


def lacking(model):
    """What the evaluator lacks of the operators of the model's opset."""
    return [Optional, DequantizeLinear] if standard_opset(model) < 19 else [Optional]


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, inputs):
    try:
        return session(model).run(None, inputs)
    except Exception as error:
        return str(error)


def same_numbers(a, b):
    """Of one dtype: a NaN is a NaN, and 0 is not -0."""
    if a.shape != b.shape or a.dtype.kind not in "fc":
        return numpy.array_equal(a, b)
    numbers = ~numpy.isnan(a)
    return numpy.array_equal(a, b, equal_nan=True) and \
        numpy.array_equal(numpy.signbit(a.real[numbers]), numpy.signbit(b.real[numbers]))


def same_value(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same_value, a, b))
    if not isinstance(a, numpy.ndarray):
        return type(a) is type(b) and a == b
    return isinstance(b, numpy.ndarray) and (same_numbers(a.astype(b.dtype), b) or same_numbers(a, b.astype(a.dtype)))


def same_bits(expected, got):
    """An output whose declared dtype was the fault is the interface now: it is what was expected, rounded to its dtype, or the
    other way round."""
    return len(expected) == len(got) and all(map(same_value, expected, got))


def run_plainly(model, inputs):
    """By onnx's own evaluator, which computes each node in the dtype that it has; None where it has no such node."""
    try:
        with numpy.errstate(all="ignore"):
            return onnx.reference.ReferenceEvaluator(model, new_ops=lacking(model)).run(None, inputs)
    except Exception:  # it raises what its nodes raise
        return None


# Who says it; DRAWN: nobody can, since the model draws random numbers anew in each run.
RUNTIME, EVALUATOR, SECOND, DRAWN = "ONNX Runtime", "onnx's evaluator", "onnx's evaluator, not ONNX Runtime", "random numbers"
DRAWING = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}


def constants(nodes, initializers=()):
    known = {t.name: numpy_helper.to_array(t) for t in initializers}
    known.update({n.output[0]: numpy_helper.to_array(a.t) for n in nodes if n.op_type == "Constant" for a in n.attribute
                  if a.name == "value"})
    return known


def node_draws(node, opset, known):
    """Without a seed; Dropout draws in training alone, as an operand says since opset 12, and an attribute before opset 7."""
    attributes = {a.name: a for a in node.attribute}
    if node.op_type not in DRAWING or node.domain not in ("", "ai.onnx") or "seed" in attributes:
        return False
    if node.op_type != "Dropout":
        return True
    trains = node.input[2] if len(node.input) > 2 else ""
    return not ("is_test" in attributes and attributes["is_test"].i) if opset < 7 else bool(trains) and bool(known.get(trains, True))


def nodes_draw(nodes, opset, known):
    return any(node_draws(n, opset, known) or
               any(nodes_draw(g.node, opset, known | constants(g.node, g.initializer)) for a in n.attribute for g in [a.g, *a.graphs])
               for n in nodes)


def draws(model):
    """Does a node of the model, of graphs within or of functions draw random numbers that no seed decides?"""
    return nodes_draw(model.graph.node, standard_opset(model), constants(model.graph.node, model.graph.initializer)) or \
        any(nodes_draw(f.node, standard_opset(f), constants(f.node)) for f in model.functions)


def results(a, b, given):
    """(who, what model `a` gives, what `b` gives): each of its own inputs, by ONNX Runtime, or by the evaluator where that does not
    run `a`. What an evaluator says instead of giving something is text or None."""
    first = run(a, given[0])
    if isinstance(first, str):
        return EVALUATOR, run_plainly(a, given[0]), run_plainly(b, given[1])
    return RUNTIME, first, run(b, given[1])


def witness_of(a, b, given, found):
    """Who says that the two models give the same bits; None: nobody. `found`: their results."""
    who, *both = found
    if same_bits(*both):
        return who
    plain = (None, None) if who == EVALUATOR else (run_plainly(a, given[0]), run_plainly(b, given[1]))
    return SECOND if None not in plain and same_bits(*plain) else None
