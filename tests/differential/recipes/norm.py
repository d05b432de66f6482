"""Normalisations, losses."""
import numpy as np

import draw
from recipes import recipe


@recipe("LayerNormalization", "RMSNormalization")
def layer(d):
    name = d.dtype("T")
    if "U" in [c.type_param_str for c in d.schema.type_constraints]:
        d.types["U"] = "float"
    d.types.setdefault("V", name)
    shape = d.shape(low=1, high=4, least=1)
    shape = (*shape[:-1], max(2, shape[-1]))
    axis = d.axis(len(shape))
    axis = len(shape) - 1 if axis is None else axis
    d.input(name, shape)
    inner = shape[axis:]
    d.input(name, d.broadcast_of(inner) if d.op == "RMSNormalization" else inner)
    if d.op == "LayerNormalization" and d.chance(0.6):
        d.input(name, inner)
    d.attr("epsilon", float(np.float32(d.choice([1e-5, 1e-2, 0.5]))), 0.6)
    d.wild = False
    d.ulps, d.terms, d.scale = 4.0, int(np.prod(inner)), 6.0
    eps = d.real("epsilon", 1e-5)
    if eps < 1e-3:
        d.scale = 200.0  # a small variance makes large what little is lost of the mean

    def run(d, arrays):
        x, scale, *bias = (v.astype(np.float64) for v in arrays)
        axes = tuple(range(axis, x.ndim))
        mean = x.mean(axes, keepdims=True) if d.op == "LayerNormalization" else 0.0
        var = ((x - mean) ** 2).mean(axes, keepdims=True)
        y = (x - mean) / np.sqrt(var + eps) * scale
        return [y + bias[0] if bias else y]
    d.oracle = run


@recipe("GroupNormalization", "InstanceNormalization")
def group(d):
    name = d.dtype("T")
    n, groups, c = d.integer(1, 2), d.integer(1, 3), d.integer(1, 2)
    if d.op == "InstanceNormalization":
        c = 1
    spatial = [d.integer(2, 4) for _ in range(d.integer(1, 3))]
    channels = groups * c
    d.input(name, (n, channels, *spatial))
    d.input(name, (channels,))
    d.input(name, (channels,))
    if d.op == "GroupNormalization":
        d.attr("num_groups", groups)
    d.attr("epsilon", float(np.float32(d.choice([1e-2, 0.5]))), 0.7)
    eps = d.real("epsilon", 1e-5)
    d.wild = False
    d.ulps, d.terms, d.scale = 4.0, 16, 6.0 if "epsilon" in d.attrs else 200.0

    def run(d, arrays):
        x, scale, bias = (v.astype(np.float64) for v in arrays)
        y = x.reshape(n, groups, -1)
        mean = y.mean(-1, keepdims=True)
        var = ((y - mean) ** 2).mean(-1, keepdims=True)
        y = ((y - mean) / np.sqrt(var + eps)).reshape(x.shape)
        over = (1, channels, *[1] * len(spatial))
        return [y * scale.reshape(over) + bias.reshape(over)]
    d.oracle = run


@recipe("BatchNormalization")
def batch(d):
    name, t1, t2 = d.dtype("T"), d.dtype("T1"), d.dtype("T2")
    shape = d.shape(low=2, high=5, least=1)
    c = (shape[1],)
    d.input(name, shape)
    d.input(t1, c)
    d.input(t1, c)
    d.input(t2, c)
    d.input(t2, c, lambda rng, extreme: rng.integers(1, 9, c) / 4)
    d.attr("epsilon", float(np.float32(d.choice([1e-3, 0.1]))), 0.6)
    training = d.chance(0.3)
    momentum = 0.9
    if training:
        d.attr("training_mode", 1)
        d.outputs = 3
        momentum = d.choice([0.9, 0.5])
        d.attr("momentum", float(np.float32(momentum)))
    d.wild = False
    d.ulps, d.terms, d.scale = 4.0, 16, 10.0 if not training else 200.0
    d.rounds = True

    def run(d, arrays):
        x, scale, bias, mean, var = (v.astype(np.float64) for v in arrays)
        over = (1, -1, *[1] * (x.ndim - 2))
        axes = tuple(k for k in range(x.ndim) if k != 1)
        m, v = (x.mean(axes), x.var(axes)) if training else (mean, var)
        eps = d.real("epsilon", 1e-5)
        y = (x - m.reshape(over)) / np.sqrt(v.reshape(over) + eps) * scale.reshape(over) + bias.reshape(over)
        p = d.real("momentum", 0.9)
        return [y, mean * p + m * (1 - p), var * p + v * (1 - p)][:d.count()]
    d.oracle = run


@recipe("LRN")
def lrn(d):
    name = d.dtype("T")
    shape = (d.integer(1, 2), d.integer(1, 6), *d.shape(high=2, count=12, least=1))
    d.input(name, shape)
    size = d.integer(1, 5)
    d.attr("size", size)
    for attr, some in (("alpha", [0.1, 1.0]), ("beta", [0.75, 0.5, 1.0]), ("bias", [1.0, 2.0])):
        d.attr(attr, float(np.float32(d.choice(some))), 0.6)
    d.wild = False
    d.ulps, d.scale = 4.0, 3.0
    d.rounds = True

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        total = np.zeros_like(x)
        for c in range(shape[1]):
            low, high = max(0, c - (size - 1) // 2), min(shape[1], c + size // 2 + 1)
            total[:, c] = (x[:, low:high] ** 2).sum(1)
        return [x / (d.real("bias", 1.0) + d.real("alpha", 1e-4) / size * total) ** d.real("beta", 0.75)]
    d.oracle = run


@recipe("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(d):
    name = d.dtype("T")
    classes = d.integer(1, 4)
    spatial = d.shape(high=2, count=12, least=1)
    n = d.integer(1, 3)
    d.input(name, (n, classes, *spatial))
    kind = d.dtype("Tind")
    ignore = d.choice([None, 0, classes - 1, -1])

    def labels(rng, extreme):
        values = rng.integers(0, classes, (n, *spatial))
        if ignore is not None and ignore < 0:
            values = np.where(rng.random(values.shape) < 0.3, ignore, values)
        if ignore is not None and (values == ignore).all():
            values.flat[0] = next((c for c in range(classes) if c != ignore), 0)
        return values
    d.input(kind, (n, *spatial), labels)
    if d.chance(0.5):
        d.input(name, (classes,), lambda rng, extreme: rng.integers(1, 5, classes) / 2)
    reduction = d.choice(["none", "sum", "mean"])
    d.attr("reduction", reduction, 1.0 if reduction != "mean" else 0.5)
    if ignore is not None:
        d.attr("ignore_index", ignore)
    softmax = d.op == "SoftmaxCrossEntropyLoss"
    d.outputs = d.integer(1, 2) if softmax else 1
    d.wild = False
    d.ulps, d.terms, d.scale = 2.0, n * int(np.prod(spatial)), 60.0
    if ignore is not None and classes == 1 and ignore == 0:
        d.symbols = d.symbols  # every label may be ignored: the mean is 0 / 0, NaN on all sides

    def run(d, arrays):
        x, target = arrays[0].astype(np.float64), arrays[1].astype(np.int64)
        weight = arrays[2].astype(np.float64) if len(arrays) > 2 else np.ones(classes)
        log = x
        if softmax:
            e = x - x.max(1, keepdims=True)
            log = e - np.log(np.exp(e).sum(1, keepdims=True))
        seen = np.ones(target.shape, bool) if ignore is None else target != ignore
        safe = np.where(seen, target, 0)
        w = np.where(seen, weight[safe], 0.0)
        each = -np.take_along_axis(log, safe[:, None], 1)[:, 0] * w
        with np.errstate(all="ignore"):
            total = {"none": each, "sum": each.sum(), "mean": each.sum() / w.sum()}[reduction]
        return [np.asarray(total), log][:d.count()]
    d.oracle = run


assert draw
