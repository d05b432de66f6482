#!/usr/bin/env python3
"""judge.py: does the judge of repairs (repair.py, compare.py, minimal.py) see what is wrong?

Valid models are damaged as no repair may damage them: their values by as little as a last place or the sign of a zero, their
file in each field of it. The judge has to refuse each, and to take what is the same. Fewest Casts are known of models made for it.
"""
import itertools
import re
import sys
import tempfile

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

import faults
import generated
import samples
from compare import changes
from minimal import fewest_casts
from repair import CHECKER_ERRORS, Failed, Repairs
from witness import draws, run_plainly, same_bits

HEAD = '<ir_version: 9, opset_import: ["" : 20]>\n'
HALVES = HEAD + """m (float16[2,4] x) => (float[2,4] y)
  <float16[4,4] w = {14368,15200,47552,47136, 47520,47904,13056,43008, 11520,14528,13056,47520, 13440,14624,48128,47904},
   float16[4] b = {11878,12902,13517,13926}, float[4] c = {0.1,0.2,0.3,0.4}> {
  h = MatMul(x, w)  o = Optional(h)  g = OptionalGetElement(o)  a = Add(g, b)  s = Sigmoid(a)  k = Cast<to = 1>(s)  y = Sub(k, c)
}"""
FLOATS = HEAD + """m (float[2,4] x) => (float[2,4] y, float[2,4] z) <float[4] c = {0.1,0.2,0.3,0.4}, float[4] d = {0,0,0,0}> {
  a = Mul(x, c)  y = Sub(a, c)  z = Mul(a, d)
}"""
SHORTS = HEAD + """m (bfloat16[2,4] x) => (bfloat16[2,4] y) <float[4] c = {0.1,0.2,0.3,0.4}> {
  f = Cast<to = 1>(x)  s = Sigmoid(f)  d = Sub(s, c)  y = Cast<to = 16>(d)
}"""
DTYPES = {HALVES: numpy.float16, SHORTS: ml_dtypes.bfloat16}  # of x


DRAWN = HEAD + "m (float[2,4] x) => (float[2,4] y) { r = RandomUniformLike(x)  y = Sub(x, r) }"
SEEDED = HEAD + "m (float[2,4] x) => (float[2,4] y) { r = RandomUniformLike<seed = 1.0>(x)  y = Sub(x, r) }"


def rounded_between(model, name, dtype):
    """What nodes read as `name` is rounded to `dtype` before."""
    own = TensorProto.FLOAT16 if dtype == TensorProto.BFLOAT16 else TensorProto.FLOAT
    for node in model.graph.node:
        node.input[:] = ["back" if i == name else i for i in node.input]
    at = next(i for i, n in enumerate(model.graph.node) if name in n.output) + 1
    for node in (helper.make_node("Cast", ["narrow"], ["back"], to=own), helper.make_node("Cast", [name], ["narrow"], to=dtype)):
        model.graph.node.insert(at, node)


def turned(model):
    node = next(n for n in model.graph.node if n.op_type == "Sub")
    node.input[:] = reversed(node.input)


def next_weight(model):
    tensor = next(t for t in model.graph.initializer if t.name == "c")
    values = numpy_helper.to_array(tensor).copy()
    values[1] = numpy.nextafter(values[1], numpy.float32(1))
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def next_step(model):
    """Every number by a unit in bfloat16's last place."""
    tensor = next(t for t in model.graph.initializer if t.name == "c")
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + numpy.float32(2 ** -8), tensor.name))


def other_zero(model):
    tensor = next(t for t in model.graph.initializer if t.name == "d")
    tensor.CopyFrom(numpy_helper.from_array(numpy.full(4, -0.0, numpy.float32), tensor.name))


def turned_over(model):
    model.graph.node[-1].input[0] = "t"
    model.graph.node.insert(0, helper.make_node("Transpose", ["x"], ["t"]))
    model.graph.node[1].input[0] = "t"
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")


def handed_on(model):
    """A transfer behind each node: the same bits."""
    for k, node in reversed(list(enumerate(model.graph.node))):
        if node.op_type != "Optional" and node.output[0] not in ("y", "z"):
            name, node.output[0] = node.output[0], f"{node.output[0]}_there"
            model.graph.node.insert(k + 1, helper.make_node("Identity", [node.output[0]], [name]))


# model, what is done to it, is it another model then, is it so far off that float16 is no excuse?
DAMAGE = [
    (HALVES, handed_on, False, False), (FLOATS, handed_on, False, False),
    (HALVES, lambda m: rounded_between(m, "g", TensorProto.BFLOAT16), True, False),
    (HALVES, lambda m: rounded_between(m, "k", TensorProto.FLOAT16), False, False),  # it is one
    (HALVES, next_weight, True, False), (HALVES, turned, True, True),
    (SHORTS, handed_on, False, False), (SHORTS, next_step, True, False), (SHORTS, turned, True, True),
    (FLOATS, lambda m: rounded_between(m, "a", TensorProto.FLOAT16), True, False),
    (FLOATS, next_weight, True, False), (FLOATS, other_zero, True, False), (FLOATS, turned, True, True),
    (DRAWN, lambda m: None, False, False), (DRAWN, turned, False, False), (DRAWN, turned_over, True, True),
    (SEEDED, lambda m: None, False, False), (SEEDED, turned, True, True),
]


# Does a model draw random numbers that no seed decides?
DRAWS = [
    (True, 20, "r = RandomUniformLike(x)  y = Sub(x, r)"), (False, 20, "r = RandomNormalLike<seed = 2.0>(x)  y = Sub(x, r)"),
    (True, 20, "c = Sigmoid(x)  y = Bernoulli(c)"), (False, 20, "y = Dropout(x)"), (False, 10, "y = Dropout<ratio = 0.5>(x)"),
    (True, 6, "y = Dropout(x)"), (False, 6, "y = Dropout<is_test = 1>(x)"),
    (True, 20, "n = Constant<value = bool {1}>()  y = Dropout(x, , n)"),
    (False, 20, "n = Constant<value = bool {0}>()  y = Dropout(x, , n)"),
    (True, 20, "n = Constant<value = bool {1}>()  y = If(n)<then_branch = g () => (float[2,4] a) { a = Bernoulli(x) }, "
               "else_branch = h () => (float[2,4] b) { b = Neg(x) }>"),
]


def judge_draws(wrong):
    for drawn, opset, body in DRAWS:
        head = f'<ir_version: 9, opset_import: ["" : {opset}]>\n'
        if draws(parser.parse_model(head + "m (float[2,4] x) => (float[2,4] y) { " + body + " }")) != drawn:
            wrong.append(f"random numbers are {'not ' if drawn else ''}said to be drawn: {body}")
    return len(DRAWS)


def refuses(repairs, before, after, inputs, exact):
    fault = faults.Fault(after, frozenset())
    try:
        repairs.check_results(fault, before, after, inputs, exact, True)
    except Failed as error:
        return str(error)
    return None


def judge_results(wrong):
    repairs = Repairs("cameo", tempfile.mkdtemp())
    x = (numpy.random.default_rng(1).standard_normal((2, 4)) * 2).astype(numpy.float32)
    for text, damage, differs, far in DAMAGE:
        before = parser.parse_model(text)
        after = faults.copy_of(before)
        damage(after)
        inputs = {"x": x.astype(DTYPES.get(text, x.dtype))}
        for exact, refused in ((True, differs), (False, far)):
            said = refuses(repairs, before, after, inputs, exact)
            if (said is not None) != refused:
                wrong.append(f"{getattr(damage, '__name__', damage)}, exact {exact}: {said}")
    plain = run_plainly(parser.parse_model(HALVES), {"x": x.astype(numpy.float16)})
    if plain is None:
        wrong.append("onnx's evaluator runs no optional value")
    if same_bits([x], [x, x]) or same_bits([[x]], [[x + 1]]) or same_bits([None], [x]) or not same_bits([[x], None], [[x], None]):
        wrong.append("outputs that are lists, absent or missing are not told apart")
    return 2 * len(DAMAGE)


# ---- the file ------------------------------------------------------------------------------------

def altered(value):
    if isinstance(value, bool):
        return not value
    return value + (1 if isinstance(value, (int, float)) else b"~" if isinstance(value, bytes) else "~")


def alterations(message, path=""):
    """(where, do): each scalar field set otherwise, each element of a list left out; undone by the caller, who works on a copy."""
    for field, value in message.ListFields():
        where = f"{path}.{field.name}"
        several = not isinstance(value, (int, float, str, bytes, bool)) and hasattr(value, "__len__")
        items = list(value) if several else [value]
        for k, item in enumerate(items[:6]):
            if field.message_type:
                yield from alterations(item, f"{where}[{k}]" if several else where)
            elif several and field.name != "raw_data":
                yield f"{where}[{k}]", lambda v=value, k=k, i=item: v.__setitem__(k, altered(i))
            elif not field.enum_type:
                yield where, lambda f=field.name, i=item: setattr(message, f, altered(i))
        if several and len(items) > 0:
            yield f"{where}, one less", lambda v=value: v.pop()


def may_change(copy, where):
    """What a repair may set in a file: inner dtypes, those of weights that old files list as inputs, zero points, targets of Casts."""
    if ".elem_type" in where and (".value_info" in where or ".g." in where or copy.ir_version < 4):
        return True
    return ".data_type" in where or re.search(r"attribute\[0\]\.i$", where) and cast_at(copy, where)


def cast_at(model, where):
    """Is the last node on the way a Cast?"""
    at = model
    for name, k in re.findall(r"\.(\w+)(?:\[(\d+)\])?", where)[:-2]:
        at = getattr(at, name)
        at = at[int(k)] if k else at
    return at.op_type == "Cast"


def is_seen(model, copy):
    try:
        return bool(changes(model, copy, 0, 0))
    except CHECKER_ERRORS:  # weights of another size cannot be read
        return True


def judge_comparison(wrong, models, most):
    count = 0
    for name, model, _ in models:
        if is_seen(model, faults.copy_of(model)):
            wrong.append(f"{name}: differs from itself")
        total = sum(1 for _ in alterations(model))
        for k in sorted(numpy.random.default_rng(2).permutation(total)[:most]):
            copy = faults.copy_of(model)
            where, do = next(itertools.islice(alterations(copy), int(k), None))
            do()
            count += 1
            if not may_change(copy, where) and not is_seen(model, copy):
                wrong.append(f"{name}: {where} is another, and nothing is said")
    return count


# ---- Casts ---------------------------------------------------------------------------------------

KNOWN = [  # the least number of Casts, known by looking
    (1, "m (double[1,2] a, double[1,2] b) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { s = Add(a, b)  y = MatMul(s, w) }"),
    (2, "m (double[2] a, float[2] b, double[2] c) => (float[2] y) { s = Add(a, b)  t = Add(s, c)  y = Neg(t) }"),
    (1, "m (double[2] a, float[2] b) => (float[2] y, float[2] z) { y = Add(a, b)  z = Sub(a, b) }"),
    (2, "m (double[2] a, float16[2] b, float[2] c) => (float[2] y) { y = Sum(a, b, c) }"),
    (0, "m (float[2] a) => (float[2] y) <double[2] b = {1,2}> { y = Add(a, b) }"),
]


def judge_casts(wrong):
    for least, text in KNOWN:
        found = fewest_casts(parser.parse_model(HEAD + text), least + 3, 20000)
        if found != least:
            wrong.append(f"{found} Casts are said to be the fewest, not {least}: {text}")
    return len(KNOWN)


def main():
    wrong = []
    models = [*samples.own_samples(), *generated.generated_models(3, 4)]
    done = judge_results(wrong), judge_comparison(wrong, models, 150), judge_casts(wrong), judge_draws(wrong)
    for text in wrong:
        print(text)
    print(f"{done[0]} comparisons of results, {done[1]} altered fields, {done[2]} counts of Casts, "
          f"{done[3]} models that draw random numbers or do not: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
