"""Casts and quantised arithmetic: results are exact in every bit."""
import numpy as np

import draw
from recipes import recipe

QUANTISED = ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")


def cast_bits(x, to, saturate=True):
    """The tables of Cast: x as the NumPy dtype of `to`; integers out of range are not asked for."""
    kind = draw.numpy_of(to)
    with np.errstate(all="ignore"):
        if to == "bool":
            return x.astype(np.float64) != 0 if x.dtype.kind not in "iub" else x != 0
        if to in ("int4", "uint4", "int2", "uint2"):
            whole = np.trunc(x.astype(np.float64)).astype(np.int64) if x.dtype.kind not in "iub" else x.astype(np.int64)
            bits = 4 if "4" in to else 2
            whole = whole & ((1 << bits) - 1)
            if to.startswith("int"):
                whole = np.where(whole >> (bits - 1), whole - (1 << bits), whole)
            return whole.astype(np.int8).astype(kind)
        if not to.startswith("float8") and to not in draw.FINITE:
            return x.astype(np.float32).astype(kind) if x.dtype.kind == "V" or "float" in x.dtype.name and \
                x.dtype.itemsize == 1 else x.astype(kind)
        wide = x.astype(np.float64) if x.dtype.kind in "iubf" else x.astype(np.float32)
        if to in draw.FINITE or not saturate:
            return wide.astype(np.float32).astype(kind)
        return saturated(wide.astype(np.float32), to)


def saturated(x, to):
    """Beyond the greatest number there is the greatest number; NaN stays."""
    most = float(draw.ml_dtypes.finfo(draw.numpy_of(to)).max)
    y = np.where(np.isnan(x), x, np.clip(x, -most, most)).astype(np.float32)
    return y.astype(draw.numpy_of(to))


def pair(d, to_var):
    """A dtype to cast from and one to cast to."""
    source = d.dtype("T1", without=("float8e8m0",))
    return source, d.dtype(to_var, without=("float8e8m0",))


def castable(source, to, shape):
    """Values that the target holds, where the specification leaves the rest undefined."""
    def make(rng, extreme):
        x = np.array((draw.wild if extreme else draw.tame)(rng, source, shape))
        if draw.is_float(source) and not draw.is_float(to) and to != "bool":
            low, high = draw.limits(to)
            wide = x.astype(np.float64)
            fits = np.isfinite(wide) & (np.trunc(wide) >= low) & (np.trunc(wide) <= min(high, 2.0 ** 62))
            x = np.where(fits, x, np.ones_like(x))
        if to in draw.FINITE and draw.is_float(source):
            x = np.where(np.isfinite(x.astype(np.float64)), x, np.ones_like(x))
        return x
    return make


@recipe("Cast")
def cast(d):
    source, to = pair(d, "T2")
    shape = d.shape()
    d.input(source, shape, castable(source, to, shape))
    d.attr("to", draw.SCHEMA_NAMES[to])
    saturate = d.integer(0, 1) if to.startswith("float8") else 1
    d.attr("saturate", saturate, 1.0 if not saturate else 0.3)
    d.exact = True
    d.oracle = lambda d, arrays: [cast_bits(arrays[0], to, bool(saturate))]


@recipe("CastLike")
def cast_like(d):
    source, to = pair(d, "T2")
    shape = d.shape()
    d.input(source, shape, castable(source, to, shape))
    d.input(to, d.shape(high=2))
    d.exact = True
    d.oracle = lambda d, arrays: [cast_bits(arrays[0], to)]


# ---- QuantizeLinear and its inverse ----------------------------------------------------------------------------


def granularity(d, shape):
    """Shape of scale and zero point; how an index of the operand becomes one of theirs."""
    rank = len(shape)
    kind = d.choice(["tensor", "axis", "block"]) if rank and all(shape) else "tensor"
    if kind == "tensor":
        return (), lambda scale: scale
    axis = d.integer(0, rank - 1)
    default = axis == 1 and d.chance(0.5)
    if not default:
        d.attr("axis", axis - rank if d.chance(0.4) else axis)
    if kind == "axis":
        over = [1] * rank
        over[axis] = shape[axis]
        return (shape[axis],), lambda scale: scale.reshape(over)
    block = d.integer(1, shape[axis])
    d.attr("block_size", block)
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // block)
    return tuple(blocks), lambda scale: np.take(np.repeat(scale, block, axis), range(shape[axis]), axis)


def scales(shape):
    return lambda rng, extreme: rng.choice([0.25, 0.5, 1.0, 2.0, 0.0625], shape)


@recipe("QuantizeLinear")
def quantize(d):
    source = d.dtype("T1", among=("float", "float16", "bfloat16"))
    shape = d.shape(high=4)
    d.input(source, shape)
    size, spread = granularity(d, shape)
    d.types["T2"] = source
    d.input(source, size, scales(size))
    to = d.choice([n for n in d.allowed("T3") if n in QUANTISED or n.startswith("float8") and n != "float8e8m0"])
    zero = d.chance(0.7)
    if not zero and d.chance(0.5):
        to = "uint8"
    elif not zero:
        d.attr("output_dtype", draw.SCHEMA_NAMES[to])
    d.types["T3"] = to
    real = draw.is_float(to)
    if zero:
        d.input(to, size, (lambda rng, extreme: np.zeros(size)) if real else None)
        d.attr("output_dtype", draw.SCHEMA_NAMES[to], 0.2)
    if real:
        d.attr("saturate", 1, 0.3)
    d.wild = False
    d.exact = True

    def run(d, arrays):
        x, scale, *rest = arrays
        # The dtype of the scale is the precision of the division.
        ratio = (x / spread(scale)).astype(source_kind(source)).astype(np.float64)
        shift = spread(rest[0]).astype(np.float64) if rest else 0.0
        if real:
            return [saturated((ratio + shift).astype(np.float32), to)]
        low, high = draw.limits(to)
        return [np.clip(np.rint(ratio) + shift, low, high).astype(np.int64).astype(draw.numpy_of(to))]
    d.oracle = run


def source_kind(name):
    return draw.numpy_of(name)


@recipe("DequantizeLinear")
def dequantize(d):
    source = d.dtype("T1", without=("float8e8m0",))
    shape = d.shape(high=4)
    d.input(source, shape)
    size, spread = granularity(d, shape)
    to = d.dtype("T2", among=("float", "float16", "bfloat16"))
    d.types.setdefault("T3", to)
    d.input(to, size, scales(size))
    zero = source != "int32" and d.chance(0.6)
    if zero:
        d.input(source, size, (lambda rng, extreme: np.zeros(size)) if draw.is_float(source) else None)
    d.attr("output_dtype", draw.SCHEMA_NAMES[to], 0.2)
    d.wild = source != "int32"
    d.exact = True

    def run(d, arrays):
        x, scale, *rest = (a.astype(np.float64) for a in arrays)
        shift = spread(rest[0]) if rest else 0.0
        return [((x - shift) * spread(scale))]
    d.oracle = run


@recipe("DynamicQuantizeLinear")
def dynamic(d):
    shape = d.shape(least=1)
    d.input("float", shape)
    d.outputs = 3
    d.wild = False
    d.types |= {"T1": "float", "T2": "uint8"}

    def run(d, arrays):
        x = arrays[0]
        low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
        scale = np.float32((high - low) / np.float32(255))
        if scale == 0:
            return [np.zeros(x.shape, np.uint8), scale, np.uint8(0)]
        zero = np.clip(np.rint(np.float32(np.float32(0) - low) / scale), 0, 255)
        y = np.clip(np.rint(x / scale) + zero, 0, 255)
        return [y.astype(np.uint8), np.float32(scale), np.uint8(zero)]
    d.oracle = run


def whole_scale(d):
    return float(d.choice([0.5, 0.25, 1.0, 2.0]))


@recipe("QLinearMatMul")
def qlinear_matmul(d):
    from recipes.product import matrices
    t1, t2, t3 = (d.dtype(v, among=("int8", "uint8")) for v in ("T1", "T2", "T3"))
    d.types["TS"] = kind = "float"
    a, b, _ = matrices(d)
    per_row, per_column = (len(a) == 2 and d.chance(0.3), len(b) == 2 and d.chance(0.3))
    sa, sb = (a[-2],) if per_row else (), (b[-1],) if per_column else ()
    for name, shape, size in ((t1, a, sa), (t2, b, sb)):
        d.input(name, shape)
        d.input(kind, size, scales(size), True)
        d.input(name, size)
    d.fixed(whole_scale(d), kind)
    d.input(t3, ())
    d.wild = False
    d.exact = True

    def run(d, arrays):
        x, xs, xz, w, ws, wz, ys, yz = (v.astype(np.float64) for v in arrays)
        left = (x - (xz[:, None] if per_row else xz)) * (xs[:, None] if per_row else xs)
        right = (w - wz) * ws
        low, high = draw.limits(t3)
        return [np.clip(np.rint(left @ right / ys) + yz, low, high).astype(np.int64)]
    d.oracle = run


@recipe("QLinearConv")
def qlinear_conv(d):
    from recipes.window import Window, conv_shapes, convolved
    t1, t2, t3 = (d.dtype(v) for v in ("T1", "T2", "T3"))
    w = Window(d, d.integer(1, 2))
    groups, x, weights = conv_shapes(d, w)
    per = (weights[0],) if d.chance(0.5) else ()
    d.input(t1, x)
    d.fixed(whole_scale(d), "float")
    d.input(t1, ())
    d.input(t2, weights)
    d.input("float", per, scales(per), True)
    d.input(t2, per)
    d.fixed(whole_scale(d), "float")
    d.input(t3, ())
    if d.chance(0.5):
        d.types["T4"] = "int32"
        d.input("int32", weights[:1])
    w.attributes(d, 0.5)
    d.wild = False
    d.exact = True

    def run(d, arrays):
        a, xs, xz, b, ws, wz, ys, yz, *bias = (v.astype(np.float64) for v in arrays)
        over = (-1, *[1] * (b.ndim - 1))
        y = convolved(w, a - xz, b - (wz.reshape(over) if per else wz), groups, *bias)
        y = y * (xs * (ws.reshape(1, -1, *[1] * (b.ndim - 2)) if per else ws) / ys)
        low, high = draw.limits(t3)
        return [np.clip(np.rint(y) + yz, low, high).astype(np.int64)]
    d.oracle = run
