"""Operators that compute each element of the output from one element of each operand."""
import math

import numpy as np

import draw
import oracle
from recipes import recipe

# ---- one operand -----------------------------------------------------------------------------------------------


def unary(d, **values):
    name = d.dtype(d.schema.inputs[0].type_str)
    shape = d.shape()
    d.input(name, shape, **values)
    return name, shape


@recipe("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Relu", "Identity", "Not", "BitwiseNot")
def exact_unary(d):
    name, _ = unary(d)
    d.exact = True
    if d.op == "Abs" and not draw.is_float(name) or d.op in ("Neg", "Identity", "Sign", "Relu"):
        d.oracle = {"Abs": wrap(np.abs), "Neg": wrap(np.negative), "Identity": wrap(lambda x: x),
                    "Sign": wrap(sign), "Relu": wrap(relu)}[d.op]


def wrap(function):
    """An oracle that applies a NumPy function to the operands as they are."""
    def run(d, arrays):
        with np.errstate(all="ignore"):
            return [np.asarray(function(*arrays))]
    return run


def sign(x):
    return np.where(x > 0, np.ones_like(x), np.where(x < 0, -np.ones_like(x) if x.dtype.kind != "u" else 0, x)).astype(x.dtype)


def relu(x):
    return np.where(x < 0, np.zeros_like(x), x)


@recipe("Sqrt", "Exp", "Log", "Reciprocal", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Sin", "Cos", "Tan",
        "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Mish", "HardSwish")
def smooth_unary(d):
    unary(d)
    d.ulps, d.scale, d.rounds = 1.0, 0.1, True
    if d.op in ("Sin", "Cos", "Tan"):
        d.wild = False  # of 3.4e38 NumPy and libm agree, but it says nothing
    if d.op in ("Sqrt", "Reciprocal"):
        d.ulps, d.scale = 0.5, 0.0
    if d.op in ("Acosh", "HardSwish"):
        d.scale = 1.0
    if d.op == "Erf":  # the reference evaluator's has float32 for a result
        d.oracle = lambda d, arrays: [erf(arrays[0].astype(np.float64))]
    if d.op == "HardSwish":  # alpha is 1/6, in the text; the reference evaluator's is a float32
        d.oracle = wrap(lambda x: x.astype(np.float64) * np.clip(x.astype(np.float64) / 6 + 0.5, 0, 1))
    if d.op == "Softsign":
        d.oracle = wrap(lambda x: (x.astype(np.float64) / (1 + np.abs(x.astype(np.float64)))))


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x) if x.size else x


def gelu(d, arrays):
    x = arrays[0].astype(np.float64)
    if d.attrs.get("approximate") == "tanh":
        return [x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))]
    return [x / 2 * (1 + erf(x / np.sqrt(2)))]


@recipe("Elu", "Selu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Swish", "Shrink", "Gelu")
def with_parameters(d):
    unary(d)
    d.ulps, d.scale = 2.0, 2.0
    for name in ("alpha", "beta", "gamma", "lambd", "bias"):
        if name in d.schema.attributes:
            d.attr(name, float(np.float32(d.choice([0.1, 0.5, 1.0, 2.0, 0.25]))), 0.7)
    if d.op == "Gelu":
        d.attr("approximate", d.choice(["none", "tanh"]), 0.6)
        d.oracle = gelu
    if d.op == "Shrink":
        d.oracle = shrink
        d.wild = draw.is_float(d.types["T"])  # float64 holds integers of 53 bits
        if d.types["T"].startswith("u"):
            d.attrs.pop("bias", None)  # what is negative then has no cast
        d.exact = not draw.is_float(d.types["T"])


def shrink(d, arrays):
    """The text of Shrink-9: integers are compared and shifted as real numbers, then cast."""
    x = arrays[0].astype(np.float64)
    lambd, bias = d.real("lambd", 0.5), d.real("bias", 0.0)
    with np.errstate(all="ignore"):
        y = np.where(x < -lambd, x + bias, np.where(lambd < x, x - bias, 0.0))
    return [y if draw.is_float(d.types["T"]) else np.trunc(y).astype(np.int64)]


@recipe("IsInf")
def is_inf(d):
    d.input(d.dtype("T1"), d.shape())
    d.attr("detect_positive", d.integer(0, 1), 0.5)
    d.attr("detect_negative", d.integer(0, 1), 0.5)


@recipe("IsNaN")
def is_nan(d):
    d.input(d.dtype("T1"), d.shape())


@recipe("Clip")
def clip(d):
    name, _ = unary(d)
    d.exact = True
    bounds = sorted([draw.tame(d.rng, name, ()).item() for _ in range(2)])
    for bound in bounds:
        if d.chance(0.7):
            d.fixed(bound, name, constant=d.chance(0.5))
        else:
            d.skip()

    def run(d, arrays):
        x = arrays[0]
        low, high = (list(arrays[1:]) + [None, None])[:2]
        if low is not None:
            x = np.where(x < low, low, x)
        if high is not None:
            x = np.where(x > high, high, x)
        return [x]
    d.oracle = run


@recipe("Dropout")
def dropout(d):
    d.input(d.dtype("T"), d.shape())
    d.exact = True
    d.outputs = d.integer(1, 2)
    if d.chance(0.5):
        d.fixed(0.5, d.dtype("T1"))
    d.oracle = lambda d, arrays: [arrays[0], np.ones(arrays[0].shape, bool)][:d.outputs]


@recipe("BitCast")
def bit_cast(d):
    sizes = {n: draw.numpy_of(n).itemsize for n in d.allowed("T1") if "4" not in n[-3:] or n.endswith("64")}
    sizes = {n: s for n, s in sizes.items() if n not in ("int4", "uint4", "int2", "uint2", "bool", *draw.FINITE)}
    name = d.choice(list(sizes))
    to = d.choice([n for n in d.allowed("T2") if sizes.get(n) == sizes[name]])
    d.types |= {"T1": name, "T2": to}
    d.input(name, d.shape())
    d.attr("to", draw.SCHEMA_NAMES[to])
    d.exact = True
    d.oracle = lambda d, arrays: [arrays[0].view(draw.numpy_of(to))]


# ---- broadcasting ----------------------------------------------------------------------------------------------


def two_shapes(d):
    """Two shapes that broadcast against each other, either way."""
    full = d.shape()
    a, b = (full, d.broadcast_of(full)) if d.chance(0.6) else (d.broadcast_of(full), d.broadcast_of(full))
    return (a, b) if d.chance(0.5) else (b, a)


def binary(d, var="T"):
    name = d.dtype(var)
    for shape in two_shapes(d):
        d.input(name, shape)
    return name


ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}


@recipe("Add", "Sub", "Mul")
def arithmetic(d):
    name = binary(d)
    d.ulps = 0.5
    d.exact = name in ("float", "double")
    if d.exact or not draw.is_float(name):
        d.oracle = wrap(ARITHMETIC[d.op])


def truncated_division(a, b):
    """C's quotient, as the specification says of integers; b has no zero."""
    quotient = np.abs(a.astype(object)) // np.abs(b.astype(object))
    exact = np.where((a < 0) != (b < 0), -quotient, quotient)
    bits = a.dtype.itemsize * 8
    wrapped = np.vectorize(lambda v: int(v) & ((1 << bits) - 1), otypes=[object])(exact) if exact.size else exact
    return wrapped.astype(np.dtype(f"u{a.dtype.itemsize}")).astype(a.dtype) if exact.size else np.zeros(exact.shape, a.dtype)


def nonzero(name, shape):
    def make(rng, extreme):
        values = np.array((draw.wild if extreme else draw.tame)(rng, name, shape))
        return np.where(values == 0, np.ones_like(values), values)
    return make


@recipe("Div")
def division(d):
    name = d.dtype("T")
    a, b = two_shapes(d)
    d.input(name, a)
    if draw.is_float(name):
        d.input(name, b)
        d.exact = name in ("float", "double")
        d.oracle = wrap(np.divide) if d.exact else None
        d.ulps = 0.5
    else:
        d.input(name, b, nonzero(name, b))
        d.oracle = lambda d, arrays: [truncated_division(*arrays)]


@recipe("Mod")
def modulo(d):
    name = d.dtype("T")
    a, b = two_shapes(d)
    d.input(name, a)
    real = draw.is_float(name)
    d.input(name, b, nonzero(name, b))
    fmod = 1 if real or d.chance(0.4) else 0
    d.attr("fmod", fmod, 1.0 if fmod else 0.5)
    d.exact = True
    if name == "double" or name == "float":
        d.oracle = wrap(np.fmod)
    elif not real:
        d.oracle = wrap(np.fmod if fmod else np.mod)
    else:
        d.oracle = lambda d, arrays: [np.fmod(*[x.astype(np.float32) for x in arrays])]


@recipe("Pow")
def power(d):
    base, exponent = d.dtype("T"), d.dtype("T1")
    a, b = two_shapes(d)
    d.wild = draw.is_float(base) and draw.is_float(exponent)
    d.ulps, d.scale = 2.0, 0.0
    if draw.is_float(base):
        d.input(base, a)
        d.input(exponent, b)
    else:
        low = max(draw.limits(base)[0], -3)
        d.input(base, a, lambda rng, extreme: rng.integers(low, 4, a))
        whole = low < 0 or not draw.is_float(exponent)
        d.input(exponent, b, lambda rng, extreme: rng.integers(0, 4, b) if whole else rng.integers(0, 7, b) / 2)

    def run(d, arrays):
        with np.errstate(all="ignore"):
            y = np.power(arrays[0].astype(np.float64), arrays[1].astype(np.float64))
            return [y if draw.is_float(base) else np.trunc(y).astype(np.int64)]
    d.oracle = run


@recipe("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def logic(d):
    binary(d)


@recipe("BitShift")
def bit_shift(d):
    name = d.dtype("T")
    a, b = two_shapes(d)
    bits = draw.numpy_of(name).itemsize * 8
    d.input(name, a)
    d.input(name, b, lambda rng, extreme: rng.integers(0, bits, b))
    left = d.chance(0.5)
    d.attr("direction", "LEFT" if left else "RIGHT")
    d.oracle = wrap(np.left_shift if left else np.right_shift)


@recipe("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def comparison(d):
    binary(d)
    names = {"Equal": np.equal, "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal,
             "GreaterOrEqual": np.greater_equal}
    d.oracle = wrap(names[d.op])


@recipe("PRelu")
def prelu(d):
    name = d.dtype("T")
    shape = d.shape()
    d.input(name, shape)
    d.input(name, d.broadcast_of(shape))
    d.ulps = 0.5
    d.exact = name in ("float", "double")
    # The text's two cases; the reference evaluator's sum of products makes NaN of 0 and an infinite slope.
    wide = (lambda x: x) if d.exact or not draw.is_float(name) else (lambda x: x.astype(np.float64))
    d.oracle = wrap(lambda x, slope: np.where(wide(x) < 0, wide(x) * wide(slope), wide(x)))


@recipe("Max", "Min", "Sum", "Mean")
def variadic(d):
    name = d.dtype("T")
    full = d.shape()
    count = d.integer(1, 4)
    for _ in range(count):
        d.input(name, d.broadcast_of(full))
    if d.op in ("Max", "Min"):
        d.exact = True
        pick = np.maximum if d.op == "Max" else np.minimum

        def run(d, arrays):
            total = arrays[0]
            for x in arrays[1:]:
                total = pick(total, x)
            return [total]
        d.oracle = run
    else:
        d.wild = False
        d.scale, d.terms = 4.0, count


@recipe("Where")
def where(d):
    full = d.shape()
    name = d.dtype("T")
    d.input("bool", d.broadcast_of(full))
    d.input(name, d.broadcast_of(full))
    d.input(name, d.broadcast_of(full))
    d.exact = True
    d.oracle = wrap(np.where)


assert oracle
