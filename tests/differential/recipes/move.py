"""Operators that move, repeat, pick or make elements by place alone: results are exact."""
import numpy as np

import draw
import oracle
from recipes import recipe


def data(d, var="T", **shape):
    """The moved operand: any dtype, extreme values included."""
    name = d.dtype(var)
    size = d.shape(**shape)
    d.input(name, size)
    d.exact = True
    return name, size


def exact(function):
    """An oracle on the operands as they are."""
    return lambda d, arrays: [np.asarray(r) for r in function(d, *arrays)]


@recipe("Transpose")
def transpose(d):
    _, shape = data(d)
    if shape and d.chance(0.8):
        d.attr("perm", [int(p) for p in d.rng.permutation(len(shape))])
    d.oracle = exact(lambda d, x: [np.transpose(x, d.attrs.get("perm"))])


@recipe("Reshape")
def reshape(d):
    _, shape = data(d)
    total = int(np.prod(shape))
    dims = []
    left = total
    for _ in range(d.integer(0, 4)):
        divisors = [n for n in range(1, left + 1) if left % n == 0][:8] or [1]
        dims.append(d.choice(divisors) if left else d.integer(0, 3))
        left //= max(1, dims[-1])
    if total and (left > 1 or d.chance(0.3)):
        dims.append(left)
    if not total:
        dims.append(0)
    target = list(dims)
    if d.chance(0.3):
        d.attr("allowzero", 1)
    zero = 0 in dims
    if zero and "allowzero" not in d.attrs:
        d.attr("allowzero", 1)
    if dims and not zero and d.chance(0.5):
        target[d.integer(0, len(dims) - 1)] = -1
    elif "allowzero" not in d.attrs:
        for k, n in enumerate(dims):
            if k < len(shape) and shape[k] == n and n and d.chance(0.5):
                target[k] = 0
    d.fixed(target)
    d.oracle = exact(lambda d, x, to: [x.reshape(dims)])


@recipe("Flatten")
def flatten(d):
    _, shape = data(d)
    rank = len(shape)
    axis = d.integer(-rank, rank)
    d.attr("axis", axis, 0.8)
    at = d.attrs.get("axis", 1)
    if rank == 0 and "axis" not in d.attrs:
        at = 0
        d.attr("axis", 0)
    at = at + rank if at < 0 else at
    d.oracle = exact(lambda d, x: [x.reshape(int(np.prod(shape[:at])), int(np.prod(shape[at:])))])


@recipe("Squeeze")
def squeeze(d):
    name = d.dtype("T")
    shape = tuple(1 if d.chance(0.5) else n for n in d.shape())
    d.input(name, shape)
    d.exact = True
    ones = [k for k, n in enumerate(shape) if n == 1]
    axes = None
    if d.chance(0.7):
        axes = [k for k in ones if d.chance(0.7)]
        d.fixed([k - len(shape) if d.chance(0.4) else k for k in axes], constant=True)
    else:
        d.symbols = False
    gone = tuple(ones if axes is None else axes)
    d.oracle = exact(lambda d, x, *rest: [np.squeeze(x, gone)])


@recipe("Unsqueeze")
def unsqueeze(d):
    _, shape = data(d, high=3)
    rank = len(shape) + d.integer(0, 2)
    axes = [int(a) for a in d.rng.permutation(rank)[:rank - len(shape)]]
    d.fixed([a - rank if d.chance(0.4) else a for a in axes], constant=True)
    d.oracle = exact(lambda d, x, _: [np.expand_dims(x, tuple(axes))])


@recipe("Concat")
def concat(d):
    name = d.dtype("T")
    shape = list(d.shape(low=1, count=80))
    axis = d.integer(0, len(shape) - 1)
    for _ in range(d.integer(1, 4)):
        one = list(shape)
        one[axis] = d.integer(0, 4)
        d.input(name, one)
    d.attr("axis", axis - len(shape) if d.chance(0.4) else axis)
    d.exact = True
    d.oracle = exact(lambda d, *xs: [np.concatenate(xs, axis)])


@recipe("Split")
def split(d):
    _, shape = data(d, low=1)
    axis = d.axis(len(shape))
    axis = 0 if axis is None else axis
    total = shape[axis]
    parts = d.integer(1, 4)
    d.outputs = parts
    if d.chance(0.5):
        sizes = d.sizes_of_split(total, parts)
        d.fixed(sizes, constant=d.chance(0.8))
    else:
        d.attr("num_outputs", parts)
        step = -(-total // parts)
        sizes = [step] * (parts - 1) + [total - step * (parts - 1)]
        if sizes[-1] < 0:  # such a number of parts does not exist
            d.attrs.pop("num_outputs")
            sizes = d.sizes_of_split(total, parts)
            d.fixed(sizes)
    at = np.cumsum(sizes)[:-1]
    d.oracle = exact(lambda d, x, *rest: np.split(x, at, axis))


@recipe("Slice")
def slice_(d):
    _, shape = data(d, low=1)
    rank = len(shape)
    axes = [int(a) for a in d.rng.permutation(rank)[:d.integer(0, rank)]]
    kind = d.choice(["int32", "int64"])
    d.types["Tind"] = kind
    far = draw.limits(kind)
    starts, ends, steps = [], [], []
    for a in axes:
        n = shape[a]
        steps.append(d.choice([1, 1, 1, 2, 3, -1, -2]))
        ends.append(d.choice([d.integer(-n - 2, n + 2), *far]))
        starts.append(d.choice([d.integer(-n - 2, n + 2)] * 4 + [*far]))
    plain = d.chance(0.2)
    if plain:
        axes = list(range(len(axes)))
        steps = [1] * len(axes)
    constant = d.chance(0.7)
    d.fixed(starts, kind, constant)
    d.fixed(ends, kind, constant)
    if not plain:
        d.fixed([a - rank if d.chance(0.4) else a for a in axes], kind, True)
        if d.chance(0.7):
            d.fixed(steps, kind, constant)
        else:
            steps = [1] * len(axes)
    d.oracle = exact(lambda d, x, *rest: [sliced(x, axes, starts, ends, steps)])


def sliced(x, axes, starts, ends, steps):
    """The formula of Slice-13: negative indices count from the end, then both are clamped."""
    for a, begin, end, step in zip(axes, starts, ends, steps):
        n = x.shape[a]
        begin, end = (begin + n if begin < 0 else begin), (end + n if end < 0 else end)
        if step > 0:
            begin, end = min(max(begin, 0), n), min(max(end, 0), n)
        else:
            begin, end = min(max(begin, 0), n - 1), min(max(end, -1), n - 1)
        x = np.take(x, list(range(begin, end, step)), a) if n else x
    return x


@recipe("Tile")
def tile(d):
    _, shape = data(d, count=60, high=4)
    repeats = [d.choice([1, 1, 2, 3, 0]) for _ in shape]
    d.fixed(repeats)
    d.oracle = exact(lambda d, x, _: [np.tile(x, repeats) if shape else x])


@recipe("Expand")
def expand(d):
    name = d.dtype("T")
    full = d.shape()
    d.input(name, d.broadcast_of(full))
    given = d.inputs[0].shape
    target = list(full)
    for k in range(len(full)):  # a 1 there leaves the operand's dim
        back = len(full) - k
        if back <= len(given) and given[-back] == full[k] and d.chance(0.2):
            target[k] = 1
    if len(given) == len(full) and d.chance(0.2):
        while target and given[len(full) - len(target)] == full[len(full) - len(target)] and d.chance(0.7):
            target = target[1:]
    d.fixed(target)
    d.exact = True
    d.oracle = exact(lambda d, x, to: [x * np.ones(to, x.dtype) if x.dtype.kind in "iu" and x.dtype.itemsize > 4
                                       else np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(to)))])


PADS = ["constant", "reflect", "edge", "wrap"]


@recipe("Pad")
def pad(d):
    mode = d.choice(PADS)
    name, shape = data(d, low=1, count=60, least=0 if mode == "constant" else 1)
    rank = len(shape)
    axes = list(range(rank))
    explicit = d.chance(0.4)
    if explicit:
        axes = [int(a) for a in d.rng.permutation(rank)[:d.integer(1, rank)]]
    pads = [[0, 0] for _ in range(rank)]
    for a in axes:
        most = {"constant": 3, "edge": 3, "reflect": shape[a] - 1, "wrap": shape[a]}[mode]
        pads[a] = [d.integer(0, min(3, most)), d.integer(0, min(3, most))]
        if mode == "constant" and shape[a] > 2 and d.chance(0.2):
            pads[a][d.integer(0, 1)] = -1
    d.fixed([pads[a][0] for a in axes] + [pads[a][1] for a in axes], constant=d.chance(0.7))
    value = draw.tame(d.rng, name, ())
    given = mode == "constant" and d.chance(0.7)
    if given:
        d.fixed(value, name)
    elif explicit:
        d.skip()
    if explicit:
        kind = d.choice(["int32", "int64"])
        d.types["Tind"] = kind
        d.fixed([a - rank if d.chance(0.4) else a for a in axes], kind, True)
    d.attr("mode", mode, 1.0 if mode != "constant" else 0.5)

    def run(d, x, *rest):
        for a, (low, high) in enumerate(pads):
            cut = [slice(None)] * rank
            cut[a] = slice(max(0, -low), x.shape[a] - max(0, -high))
            x = x[tuple(cut)]
        width = [(max(0, low), max(0, high)) for low, high in pads]
        if mode == "constant":
            return [np.pad(x, width, constant_values=np.asarray(value if given else 0).astype(x.dtype))]
        return [np.pad(x, width, mode)]
    d.oracle = exact(run)


@recipe("DepthToSpace", "SpaceToDepth")
def depth_space(d):
    name = d.dtype("T")
    b = d.integer(1, 3)
    n, c, h, w = d.integer(0, 2), d.integer(1, 3), d.integer(1, 3), d.integer(1, 3)
    deep = d.op == "DepthToSpace"
    d.input(name, (n, c * b * b, h, w) if deep else (n, c, h * b, w * b))
    d.attr("blocksize", b)
    mode = d.choice(["DCR", "CRD"])
    d.exact = True
    if "mode" in d.schema.attributes:
        d.attr("mode", mode)
    else:
        mode = "DCR"

    def run(d, x):
        if deep:
            if mode == "DCR":
                y = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2)
            else:
                y = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
            return [y.reshape(n, c, h * b, w * b)]
        y = x.reshape(n, c, h, b, w, b)
        y = y.transpose(0, 3, 5, 1, 2, 4) if mode == "DCR" else y.transpose(0, 1, 3, 5, 2, 4)
        return [y.reshape(n, c * b * b, h, w)]
    d.oracle = exact(run)


@recipe("Trilu")
def trilu(d):
    _, shape = data(d, low=2)
    upper = d.integer(0, 1)
    d.attr("upper", upper, 0.0 if upper and d.chance(0.5) else 1.0)
    k = d.integer(-5, 5)
    if d.chance(0.7):
        d.fixed(k)
    else:
        k = 0

    def run(d, x, *rest):
        keep = np.triu(np.ones(shape[-2:], bool), k) if upper else np.tril(np.ones(shape[-2:], bool), k)
        return [np.where(keep, x, np.zeros((), x.dtype))]
    d.oracle = exact(run)


@recipe("EyeLike")
def eye_like(d):
    name = d.dtype("T1")
    shape = d.shape(low=2, high=2)
    d.input(name, shape)
    d.types["T2"] = name
    if d.chance(0.6):
        d.types["T2"] = d.choice(d.allowed("T2"))
        d.attr("dtype", draw.SCHEMA_NAMES[d.types["T2"]])
    k = d.integer(-3, 3)
    d.attr("k", k, 0.6)
    d.oracle = exact(lambda d, x: [np.eye(*shape, k=d.attrs.get("k", 0))])


@recipe("Shape", "Size")
def shape_of(d):
    _, shape = data(d)
    if d.op == "Size":
        d.oracle = exact(lambda d, x: [np.array(x.size, np.int64)])
        return
    rank = len(shape)
    d.attr("start", d.integer(-rank - 1, rank + 1), 0.6)
    d.attr("end", d.integer(-rank - 1, rank + 1), 0.6)

    def run(d, x):
        begin, end = d.attrs.get("start", 0), d.attrs.get("end", rank)
        begin, end = (begin + rank if begin < 0 else begin), (end + rank if end < 0 else end)
        return [np.array(shape[min(max(begin, 0), rank):min(max(end, 0), rank)], np.int64)]
    d.oracle = exact(run)


@recipe("ConstantOfShape")
def constant_of_shape(d):
    shape = d.shape()
    d.types["T1"] = "int64"
    d.fixed(shape, constant=d.chance(0.5))
    name = d.choice([n for n in d.allowed("T2")])
    value = draw.wild(d.rng, name, (1,))
    d.types["T2"] = "float"
    if d.chance(0.8):
        d.types["T2"] = name
        d.attr("value", draw.tensor_of("value", value, name))
    else:
        value = np.zeros(1, np.float32)
    d.exact = True
    d.oracle = exact(lambda d, _: [np.full(shape, value[0])])


@recipe("Range")
def range_(d):
    name = d.dtype("T", among=["float", "double", "int16", "int32", "int64"])
    delta = d.choice([1, 2, 3, -1, -2])
    if draw.is_float(name) and d.chance(0.5):
        delta = delta / 4
    start = d.integer(-5, 5)
    limit = start + delta * d.integer(-1, 9) + (d.choice([0, 1]) if abs(delta) > 1 else 0)
    constant = d.chance(0.5)
    for v in (start, limit, delta):
        d.fixed(v, name, constant)
    d.exact = True
    d.oracle = exact(lambda d, *_: [start + delta * np.arange(max(0, int(np.ceil((limit - start) / delta))))])


@recipe("OneHot")
def one_hot(d):
    indices, depth_kind, name = d.dtype("T1", without=draw.SMALL_FLOATS), d.dtype("T2"), d.dtype("T3")
    depth = d.integer(1, 6)
    shape = d.shape(high=3, count=40)
    unsigned = indices.startswith("u")
    d.input(indices, shape, lambda rng, extreme: rng.integers(0 if unsigned else -depth - 1, depth + 2, shape))
    d.fixed(depth if d.chance(0.7) else [depth], depth_kind, constant=True)
    d.input(name, (2,))
    rank = len(shape) + 1
    axis = d.axis(rank)
    axis = rank - 1 if axis is None else axis
    d.exact = True

    def run(d, index, _, pair):
        index = index.astype(np.int64)
        index = np.where(index < 0, index + depth, index)
        hot = np.expand_dims(index, axis) == np.arange(depth).reshape([-1 if k == axis else 1 for k in range(rank)])
        return [np.where(hot, pair[1], pair[0])]
    d.oracle = exact(run)


@recipe("CenterCropPad")
def center_crop_pad(d):
    _, shape = data(d, low=1, count=60)
    rank = len(shape)
    axes = list(range(rank))
    if d.chance(0.5):
        axes = [int(a) for a in d.rng.permutation(rank)[:d.integer(1, rank)]]
        d.attr("axes", [a - rank if d.chance(0.4) else a for a in axes])
    kind = d.choice(["int32", "int64"])
    d.types["Tind"] = kind
    d.fixed([d.integer(0, 6) for _ in axes], kind)
    d.oracle = oracle.reference


@recipe("ReverseSequence")
def reverse_sequence(d):
    name, shape = data(d, low=2, least=1)
    batch = d.integer(0, 1)
    time = 1 - batch
    d.attr("batch_axis", batch, 1.0 if batch == 0 else 0.5)
    d.attr("time_axis", time, 1.0 if batch == 0 else 0.5)
    d.input("int64", (shape[batch],), lambda rng, extreme: rng.integers(1, shape[time] + 1, shape[batch]))

    def run(d, x, lengths):
        y = np.array(np.moveaxis(x, (batch, time), (0, 1)))
        for b, n in enumerate(lengths.tolist()):
            y[b, :n] = y[b, :n][::-1]
        return [np.moveaxis(y, (0, 1), (batch, time))]
    d.oracle = exact(run)


@recipe("Compress")
def compress(d):
    _, shape = data(d, low=1)
    axis = d.axis(len(shape), chance=0.6)
    n = int(np.prod(shape)) if axis is None else shape[axis]
    length = d.integer(0, n) if d.chance(0.4) else n
    d.input("bool", (length,))
    d.oracle = exact(lambda d, x, keep: [np.compress(keep, x, axis)])


@recipe("NonZero")
def non_zero(d):
    data(d, low=1)
    d.oracle = exact(lambda d, x: [np.stack(np.nonzero(x)).astype(np.int64)])


@recipe("TopK")
def top_k(d):
    name, shape = data(d, low=1, least=1)
    axis = d.axis(len(shape))
    axis = len(shape) - 1 if axis is None else axis
    k = d.integer(0 if d.chance(0.2) else 1, shape[axis])
    d.fixed([k], constant=d.chance(0.7))
    d.attr("largest", d.integer(0, 1), 0.6)
    d.attr("sorted", 1, 0.3)
    d.outputs = 2
    d.wild = not draw.is_float(name)

    def run(d, x, _):
        y = np.moveaxis(x, axis, -1)
        keys = y.astype(np.float64) if draw.is_float(name) else y.astype(object)
        order = np.argsort(-keys if d.attrs.get("largest", 1) else keys, -1, kind="stable")[..., :k]
        order = order.astype(np.int64)
        return [np.moveaxis(np.take_along_axis(y, order, -1), -1, axis), np.moveaxis(order, -1, axis)]
    d.oracle = exact(run)


@recipe("Unique")
def unique(d):
    name, shape = data(d, least=1)
    axis = d.axis(len(shape), chance=0.5) if shape else None
    order = d.integer(0, 1)
    d.attr("sorted", order, 0.5 if order else 1.0)
    d.outputs = d.integer(1, 4)
    d.wild = False

    def run(d, x):
        work = x.astype(np.float32) if x.dtype.kind == "V" or "bfloat" in x.dtype.name else x
        y, at, back, counts = np.unique(work, True, True, True, axis=axis)
        back = back.reshape(-1)
        if not order:
            by = np.argsort(at, kind="stable")
            rank = np.empty_like(by)
            rank[by] = np.arange(len(by))
            y, at, back, counts = np.take(y, by, axis or 0), at[by], rank[back], counts[by]
        return [y.astype(x.dtype), *[v.astype(np.int64) for v in (at, back, counts)]][:d.count()]
    d.oracle = exact(run)
