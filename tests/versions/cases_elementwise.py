"""Operators on each element alone, of one operand or of several that broadcast."""
import numpy as np

from cases import (BOOL, F32, F64, I32, I64, STRING, U8, case, const, distinct, everything, floats, is_float, ints,
                   numbers, operators, scalar, values)

LOW_HIGH = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 4), "Log": (0.1, 4), "Sqrt": (0.1, 4),
            "Reciprocal": (1, 4), "Tan": (-1, 1)}


@operators("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
           "HardSwish", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
           "Softplus", "Softsign", "Sqrt", "Tan", "Tanh")
def unary(v):
    low, high = LOW_HIGH.get(v.name, (-3, 3))
    for t in numbers(v):
        yield case(values(t, 2, 3, low=low, high=high), tag=t.name)


@operators("Celu", "Elu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Selu", "Shrink", "Swish")
def with_alpha(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), tag=t.name)
    own = {"Selu": {"alpha": 1.5, "gamma": 1.2}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
           "Shrink": {"bias": 0.5, "lambd": 1.0}}
    yield case(floats(4), **own.get(v.name, {"alpha": 0.7}))


@operators("Gelu")
def gelu(v):
    for t in numbers(v):
        yield case(values(t, 5), tag=t.name)
    yield case(floats(5), approximate="tanh")


@operators("Not")
def logical_not(v):
    yield case(values(BOOL, 2, 3))


@operators("BitwiseNot")
def bitwise_not(v):
    for t in v.types():
        yield case(values(t, 2, 3), tag=t.name)


@operators("IsNaN", "IsInf")
def is_special(v):
    for t in numbers(v):
        x = values(t, 6)
        with np.errstate(all="ignore"):
            x[1], x[2], x[3] = np.array([np.inf, -np.inf, np.nan]).astype(t)
        if t.name.endswith("fnuz") or t.name == "float8_e4m3fn":
            x = x[3:] if v.name == "IsNaN" else x[4:]
        yield case(x, tag=t.name)
        if v.name == "IsInf" and t == F32:
            yield case(x, detect_negative=0)
            yield case(x, detect_positive=0)


@operators("Add", "Sub", "Mul")
def arithmetic(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 3), tag=t.name)
    yield case(floats(2, 1, 3), floats(4, 1))
    yield case(floats(2, 3), scalar(1.5))


@operators("Div")
def division(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, low=0, high=60), values(t, 3, low=1, high=5), tag=t.name)
    yield case(ints(6, -9, 8, dtype=I32), ints(3, 3, -2, dtype=I32), tag="signs")


@operators("Mod")
def modulo(v):
    for t in numbers(v):
        fmod = {"fmod": 1} if is_float(t) else {}
        yield case(values(t, 2, 3, low=-9, high=60), values(t, 3, low=1, high=5), tag=t.name, **fmod)
    yield case(ints(7, -7, 7, -7), ints(3, 3, -3, -3))
    yield case(ints(7, -7, 7, -7), ints(3, 3, -3, -3), fmod=1)
    if v.since >= 28:
        yield case(ints(7.5, -7.5, 7.5, -7.5, 0, -0.0, np.inf, 5, -5, 3, dtype=F32),
                   ints(2, 2, -2, -2, -3, 3, 2, np.inf, np.inf, 0, dtype=F32), tag="floor")


@operators("Pow")
def power(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, low=1, high=3), values(t if v.since < 12 else F32, 3, low=0, high=2), tag=t.name)
    if v.since >= 12:
        for t in v.types(1):
            if t not in (F32,) and "bfloat" not in t.name:
                yield case(floats(2, 3, low=1), values(t, 3, low=0, high=3), tag="exponent_" + t.name)
        yield case(ints(1, 2, 3, dtype=I32), floats(3, low=0.0), tag="truncates")


@operators("Min", "Max", "Sum", "Mean")
def variadic(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 2, 3), values(t, 2, 3), tag=t.name)
    yield case(floats(2, 3))
    if v.since >= 8:
        yield case(floats(2, 3), floats(3), floats(2, 1))


@operators("And", "Or", "Xor")
def logical(v):
    yield case(values(BOOL, 2, 3), values(BOOL, 2, 3))
    yield case(values(BOOL, 2, 3), values(BOOL, 3))


@operators("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(v):
    for t in v.types():
        yield case(values(t, 2, 3, low=-9, high=99), values(t, 3, low=-9, high=99), tag=t.name)


@operators("BitShift")
def bit_shift(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, low=0, high=9), values(t, 3, low=0, high=3), direction="LEFT", tag=t.name)
    yield case(values(U8, 4, low=0, high=200), values(U8, 4, low=0, high=3), direction="RIGHT")
    if np.dtype(np.int8) in v.types():
        x, by = ints(-7, -7, 100, -128, 5, -5, dtype=np.int8), ints(1, 9, 8, 7, -1, -2, dtype=np.int8)
        yield case(x, by, direction="RIGHT", tag="signed")
        yield case(x, by, direction="LEFT", tag="signed")


@operators("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(v):
    for t in everything(v):
        yield case(values(t, 2, 3), values(t, 3), tag=t.name)


@operators("PRelu")
def prelu(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 3), tag=t.name)
    yield case(floats(2, 3, 4), floats(3, 1))
    yield case(floats(2, 3), floats(1))


@operators("Clip")
def clip(v):
    if v.has("min"):
        yield case(floats(2, 3))
        yield case(floats(2, 3), min=-0.5)
        yield case(floats(2, 3), max=0.5)
        yield case(floats(2, 3), min=-0.5, max=0.5)
        yield case(values(F64, 2, 3), min=-0.5, max=0.5)
        return
    for t in numbers(v):
        yield case(values(t, 2, 3, high=9), scalar(1, t), scalar(5, t), tag=t.name)
    yield case(floats(2, 3))
    yield case(floats(2, 3), None, const(0.5, F32))
    yield case(floats(2, 3), const(-0.5, F32), None)
    yield case(floats(2, 3), const(-0.5, F32))
    yield case(floats(2, 3), const(0.5, F32), const(-0.5, F32), tag="crossed")


def cast_pairs(v):
    """Of each kind of number the version newly has: from and to float32; and the old ones at its first version."""
    news = [t for t in v.new_types()] if v.before else v.types()
    if v.since == 6:
        news = v.types()
    for t in news:
        yield (t, F32)
        yield (F32, t)
    if v.since == 6:
        yield from ((F64, I64), (I64, BOOL), (BOOL, U8), (I64, U8), (F64, np.dtype(np.float16)))


def castable(source, target):
    if source == STRING:
        return np.array(["1", "-2.5", "3e2"] if target != BOOL else ["1", "0", "2"], object)
    if target == STRING:
        return np.array([1.5, -2.25, 0.125], source)
    if target.name == "float8_e8m0fnu":
        return values(source, 8, low=0.1, high=9)
    return values(source, 8, low=0 if target.kind == "u" or "uint" in target.name else -3, high=3)


def scale_table(to, target):
    """What the table of Cast-24 says of special values; the reference evaluator leaves infinity out."""
    x = np.array([0, np.inf, 3e38, 1e-40, np.nan, 1], np.float32)
    least, most, nan = 2.0**-127, 2.0**127, np.nan
    for saturate, want in ((1, [least, most, most, least, nan, 1]), (0, [nan, nan, nan, nan, nan, 1])):
        expected = np.array(want, np.float32).astype(target)
        yield case(x, to=to, saturate=saturate, expect=[expected], tag=f"table_{saturate}")


@operators("Cast")
def cast(v):
    from onnx import helper
    for source, target in cast_pairs(v):
        to = helper.np_dtype_to_tensor_dtype(target)
        yield case(castable(source, target), to=to, tag=f"{source.name}_{target.name}")
        if v.has("saturate") and "float8" in target.name:
            big = np.array([1e6, -1e6, 0.3, np.inf, -np.inf, np.nan, 448, 57344], np.float32)
            if target.name == "float8_e8m0fnu":
                yield from scale_table(to, target)
                continue
            yield case(big, to=to, tag=f"saturates_{target.name}")
            yield case(big, to=to, saturate=0, tag=f"overflows_{target.name}")
    if v.has("round_mode"):
        e8m0 = next(t for t in v.types() if t.name == "float8_e8m0fnu")
        for mode in ("up", "down", "nearest"):
            yield case(np.array([1, 1.4, 1.5, 3, 5, 6, 7.5], np.float32), to=helper.np_dtype_to_tensor_dtype(e8m0),
                       round_mode=mode, tag=mode)
    yield case(floats(3), to=helper.np_dtype_to_tensor_dtype(I32))


@operators("CastLike")
def cast_like(v):
    news = v.new_types() if v.before else [t for t in v.types() if t != STRING]
    for t in [F64] + news:
        yield case(castable(F32, t), np.zeros(1, t), tag=t.name)
        if v.has("saturate") and "float8" in t.name and t.name != "float8_e8m0fnu":
            yield case(np.array([1e6, -1e6, 0.3], np.float32), np.zeros(1, t), saturate=0, tag="overflows_" + t.name)


@operators("BitCast")
def bit_cast(v):
    from onnx import helper
    for source, target in (("float32", "int32"), ("int64", "float64"), ("uint16", "float16"), ("int8", "uint8")):
        yield case(values(source, 2, 3), to=helper.np_dtype_to_tensor_dtype(np.dtype(target)), tag=source)


@operators("Where")
def where(v):
    for t in everything(v, 1):
        yield case(values(BOOL, 2, 3), values(t, 2, 3), values(t, 3), tag=t.name)


@operators("Dropout")
def dropout(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), tag=t.name)
    if v.has("ratio"):
        yield case(floats(2, 3), ratio=0.3)
        ones = np.ones((2, 3), np.float32 if v.since < 10 else bool)
        x = floats(2, 3)
        yield case(x, ratio=0.3, outputs=2, expect=[x, ones], tag="mask")
    else:
        yield case(floats(2, 3), const(0.3, F32))
        yield case(floats(2, 3), const(0.3, F32), const(False, BOOL), outputs=2)
        yield case(floats(2, 3), const(0.0, F32), const(True, BOOL), outputs=2, tag="nothing_dropped")


@operators("CumSum", "CumProd")
def cumulative(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), const(1), tag=t.name)
    yield case(floats(2, 3), scalar(0, I64), tag="axis_given")
    yield case(floats(2, 3), const(-1, I32), exclusive=1)
    yield case(floats(2, 3), const(0), reverse=1)
    yield case(floats(2, 3), const(1), exclusive=1, reverse=1)


@operators("Identity")
def identity(v):
    for t in everything(v):
        yield case(values(t, 2, 3), tag=t.name)
    if v.since >= 14:
        yield case([floats(2), floats(2)], tag="sequence")


@operators("Det")
def det(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, 3), tag=t.name)
    yield case(floats(1, 1))


@operators("Einsum")
def einsum(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 3, 4), equation="ij,jk->ik", tag=t.name)
    yield case(floats(2, 3, 3), equation="...ii->...i")
    yield case(floats(2, 3), floats(2, 3), equation="ij,ij")


@operators("EyeLike")
def eye_like(v):
    for t in numbers(v):
        yield case(values(t, 3, 4), tag=t.name)
    yield case(floats(3, 4), k=1, dtype=11)
    yield case(floats(3, 4), k=-1, dtype=7)


@operators("Trilu")
def trilu(v):
    for t in numbers(v):
        yield case(values(t, 3, 4), tag=t.name)
    yield case(floats(2, 3, 4), const(1), upper=0)
    yield case(floats(3, 4), scalar(-1, I64))


@operators("Range")
def arange(v):
    for t in numbers(v):
        yield case(const(1, t), const(9, t), const(2, t), tag=t.name)
    yield case(scalar(5, I64), scalar(0, I64), scalar(-2, I64), tag="given")
    yield case(const(0.0, F32), const(1.0, F32), const(0.3, F32))


@operators("SwiGLU")
def swiglu(v):
    for t in numbers(v):
        yield case(values(t, 2, 4), values(t, 2, 4), tag=t.name)
    yield case(floats(2, 4), floats(2, 4), alpha=0.5)


@operators("NonZero")
def non_zero(v):
    for t in numbers(v):
        yield case(values(t, 3, 4, low=0, high=1) if not is_float(t) else
                   np.array([[0, 1, 0], [2, 0, -3]], t), tag=t.name)


@operators("Size", "Shape")
def shape_of(v):
    for t in everything(v):
        yield case(values(t, 2, 3, 4), tag=t.name)
    if v.has("start"):
        for start, end in ((1, None), (-2, None), (None, 2), (None, -1), (1, 2), (0, 9), (-9, 1)):
            yield case(floats(2, 3, 4), start=start, end=end)


@operators("Unique")
def unique(v):
    for t in numbers(v):
        yield case(values(t, 8, low=0, high=3).astype(np.int8).astype(t), outputs=4, tag=t.name)
    yield case(ints(3, 1, 3, 2, 1), sorted=0, outputs=4)
    yield case(np.array([[1, 0], [1, 0], [2, 3]], np.float32), axis=0, outputs=4)
    yield case(np.array([[1, 1, 2], [0, 0, 3]], np.float32), axis=-1)


@operators("TopK")
def top_k(v):
    x = distinct(F32, 3, 5)
    if v.has("k"):
        yield case(x, k=2, outputs=2)
        yield case(x, k=2, axis=0, outputs=2)
        return
    for t in numbers(v):
        yield case(distinct(t, 2, 5), const([3]), outputs=2, tag=t.name)
    yield case(x, const([2]), axis=0, outputs=2)
    yield case(x, ints(2), outputs=2, tag="k_given")
    if v.has("largest"):
        yield case(x, const([3]), largest=0, outputs=2)
        yield case(np.array([1, 3, 3, 2, 3], np.float32), const([3]), axis=-1, outputs=2, tag="equal")
