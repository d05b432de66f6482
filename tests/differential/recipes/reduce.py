"""Reductions over axes, running sums and what normalises along an axis."""
import numpy as np

import draw
from recipes import recipe
from recipes.elementwise import wrap


def axes_of(d, rank):
    """Distinct axes of either sign; all of them now and then."""
    count = d.integer(0, rank)
    axes = [int(a) for a in d.rng.permutation(rank)[:count]]
    return [a - rank if d.chance(0.4) else a for a in axes]


def count_of(shape, axes):
    return int(np.prod([shape[a] for a in axes])) if axes else int(np.prod(shape))


@recipe("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
        "ReduceLogSumExp", "ReduceMax", "ReduceMin")
def reduction(d):
    name = d.dtype("T")
    product = d.op == "ReduceProd"
    inner = d.op not in ("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1")
    shape = d.shape(least=1 if inner else 0, count=24 if product else 240)
    make = None
    if d.op == "ReduceLogSum" or not draw.is_float(name) and d.op == "ReduceLogSumExp":
        make = positive(name, shape)
    d.input(name, shape, make)
    d.wild = d.op in ("ReduceMax", "ReduceMin")
    axes = axes_of(d, len(shape))
    if d.chance(0.8):
        d.fixed(axes, constant=True)
    else:
        axes = []
    d.attr("keepdims", d.integer(0, 1), 0.7)
    d.attr("noop_with_empty_axes", d.integer(0, 1), 0.3)
    d.terms, d.scale = count_of(shape, axes), 9.0 * max(1, count_of(shape, axes)) ** 0.5
    if product:
        d.ulps, d.scale = 1.0, 0.0
    if d.op in ("ReduceMax", "ReduceMin"):
        d.exact = True
        d.oracle = extremum
    elif not draw.is_float(name):
        d.oracle = integer_reduction


def positive(name, shape):
    return lambda rng, extreme: np.abs(draw.tame(rng, name, shape).astype(np.float64)) + 1


def axes_from(d, arrays):
    """(axes or None for all, keepdims) of a node; the string "none" where nothing is reduced."""
    axes = arrays[1].tolist() if len(arrays) > 1 and arrays[1] is not None else []
    if not axes:
        axes = "none" if d.attrs.get("noop_with_empty_axes", 0) else None
    return axes, bool(d.attrs.get("keepdims", 1))


def reduced(function, x, axes, keep):
    return function(x, axis=None if axes is None else tuple(axes), keepdims=keep)


def extremum(d, arrays):
    axes, keep = axes_from(d, arrays)
    if axes == "none":
        return [arrays[0]]
    pick = np.maximum if d.op == "ReduceMax" else np.minimum
    if arrays[0].dtype == bool:
        pick = np.logical_or if d.op == "ReduceMax" else np.logical_and
    axes = tuple(range(arrays[0].ndim)) if axes is None else tuple(a % arrays[0].ndim for a in axes)
    x = arrays[0]
    for axis in axes:
        parts = np.split(x, x.shape[axis], axis) if x.shape[axis] else []
        total = parts[0]
        for part in parts[1:]:
            total = pick(total, part)
        x = total
    return [x if keep else np.squeeze(x, axes)]


def integer_reduction(d, arrays):
    """Sums of integers wrap; means and roots are taken of the exact value and truncated, as a Cast does."""
    axes, keep = axes_from(d, arrays)
    x = arrays[0]
    inner = {"ReduceL1": np.abs, "ReduceL2": np.square, "ReduceSumSquare": np.square}.get(d.op, lambda v: v)
    x = inner(x.astype(np.float64) if d.op in ("ReduceLogSumExp",) else x.astype(np.int64))
    if d.op == "ReduceLogSumExp":
        x = np.exp(x)
    if axes == "none":
        total = x
    elif d.op == "ReduceProd":
        total = reduced(np.prod, x, axes, keep)
    else:
        total = reduced(np.sum, x, axes, keep)
    if d.op == "ReduceMean" and axes != "none":
        count = x.size // max(1, np.asarray(total).size)
        total = np.trunc(np.asarray(total, np.float64) / count)
    if d.op == "ReduceL2":
        total = np.sqrt(np.asarray(total, np.float64))
    if d.op in ("ReduceLogSum", "ReduceLogSumExp"):
        total = np.log(np.asarray(total, np.float64))
    return [np.asarray(total)]


@recipe("ArgMax", "ArgMin")
def arg(d):
    name = d.dtype("T")
    shape = d.shape(low=1, least=1)
    d.input(name, shape)
    d.axis(len(shape))
    d.attr("keepdims", d.integer(0, 1), 0.6)
    d.attr("select_last_index", d.integer(0, 1), 0.5)
    d.wild = not draw.is_float(name)

    def run(d, arrays):
        x = arrays[0].astype(np.float64) if draw.is_float(name) else arrays[0]
        axis = d.attrs.get("axis", 0) % x.ndim
        pick = np.argmax if d.op == "ArgMax" else np.argmin
        if d.attrs.get("select_last_index", 0):
            found = x.shape[axis] - 1 - pick(np.flip(x, axis), axis)
        else:
            found = pick(x, axis)
        return [(np.expand_dims(found, axis) if d.attrs.get("keepdims", 1) else found).astype(np.int64)]
    d.oracle = run


@recipe("CumSum", "CumProd")
def running(d):
    name = d.dtype(d.schema.inputs[0].type_str)
    shape = d.shape(low=1)
    d.input(name, shape)
    d.fixed(d.integer(-len(shape), len(shape) - 1), d.choice(["int32", "int64"]))
    d.types["T2"] = d.inputs[1].dtype
    d.attr("exclusive", d.integer(0, 1), 0.6)
    d.attr("reverse", d.integer(0, 1), 0.6)
    d.wild = False
    d.terms, d.scale = 5, 15.0 if d.op == "CumSum" else 0.0

    def run(d, arrays):
        x = arrays[0].astype(np.float64) if draw.is_float(name) else arrays[0]
        axis = int(arrays[1])
        neutral = 0 if d.op == "CumSum" else 1
        if d.attrs.get("reverse", 0):
            x = np.flip(x, axis)
        y = (np.cumsum if d.op == "CumSum" else np.cumprod)(x, axis, dtype=x.dtype)
        if d.attrs.get("exclusive", 0) and x.size:
            first = np.full_like(np.take(x, [0], axis), neutral)
            y = np.concatenate([first, np.take(y, range(x.shape[axis] - 1), axis)], axis)
        return [np.flip(y, axis) if d.attrs.get("reverse", 0) else y]
    d.oracle = run


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    name = d.dtype("T")
    shape = d.shape(low=1, least=0 if d.op == "Softmax" else 1)
    d.input(name, shape)
    d.axis(len(shape))
    d.wild = False
    d.exact = d.op == "Hardmax"
    d.terms, d.scale = 8, 4.0 if d.op == "LogSoftmax" else 0.01

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        axis = d.attrs.get("axis", -1)
        if d.op == "Hardmax":
            at = np.expand_dims(np.argmax(x, axis), axis)
            y = np.zeros_like(x)
            np.put_along_axis(y, at, 1, axis)
            return [y]
        e = x - (np.max(x, axis, keepdims=True) if x.size else 0)
        total = np.sum(np.exp(e), axis, keepdims=True)
        return [e - np.log(total) if d.op == "LogSoftmax" else np.exp(e) / total]
    d.oracle = run


@recipe("LpNormalization")
def lp_normalization(d):
    name = d.dtype("T")
    shape = d.shape(low=1, least=1)
    d.input(name, shape, away_from_zero(name, shape))
    d.axis(len(shape))
    d.attr("p", d.choice([1, 2]), 0.7)
    d.wild = False
    d.terms = 8


def away_from_zero(name, shape):
    """Sums of such values do not cancel."""
    return lambda rng, extreme: np.abs(draw.tame(rng, name, shape).astype(np.float64)) + 0.5


@recipe("MeanVarianceNormalization")
def mean_variance(d):
    name = d.dtype("T")
    shape = d.shape(low=4, high=4, least=1)
    d.input(name, shape)
    if d.chance(0.6):
        axes = axes_of(d, 4) or [0]
        d.attr("axes", [a % 4 for a in axes])
    d.wild = False
    # A variance of zero leaves rounding noise over 1e-9: such shapes say nothing.
    axes = d.attrs.get("axes", [0, 2, 3])
    if count_of(shape, axes) < 2:
        d.inputs.pop()
        d.input(name, tuple(max(n, 2) for n in shape))
    d.ulps, d.terms, d.scale = 16.0, 20, 3.0

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        axes = tuple(d.attrs.get("axes", [0, 2, 3]))
        mean = x.mean(axes, keepdims=True)
        var = ((x - mean) ** 2).mean(axes, keepdims=True)
        return [(x - mean) / (np.sqrt(var) + 1e-9)]
    d.oracle = run


assert wrap
