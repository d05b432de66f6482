"""Operators that slide a window: convolutions and pools, and what undoes them."""
import itertools

import numpy as np

import draw
import oracle
from recipes import recipe


class Window:
    """Drawn sizes, strides, dilations and pads of `rank` axes; every output dim is positive."""

    def __init__(self, d, rank, dilations=True, auto=True):
        self.kernel = [d.integer(1, 3) for _ in range(rank)]
        self.strides = [d.integer(1, 3) if d.chance(0.5) else 1 for _ in range(rank)]
        self.dilations = [d.integer(1, 2) if dilations and d.chance(0.4) else 1 for _ in range(rank)]
        self.auto = d.choice(["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]) if auto else "NOTSET"
        self.span = [(k - 1) * f + 1 for k, f in zip(self.kernel, self.dilations)]
        pad = self.auto == "NOTSET" and d.chance(0.6)
        self.low = [d.integer(0, k - 1) if pad else 0 for k in self.kernel]
        self.high = [d.integer(0, k - 1) if pad else 0 for k in self.kernel]
        self.size = [max(1, d.integer(s - a - b, s + 4)) if s - a - b < s else s + d.integer(0, 4)
                     for s, a, b in zip(self.span, self.low, self.high)]
        self.ceil = 0
        self.rank = rank
        self.same()

    def same(self):
        if self.auto.startswith("SAME"):
            for k in range(self.rank):
                out = -(-self.size[k] // self.strides[k])
                total = max(0, (out - 1) * self.strides[k] + self.span[k] - self.size[k])
                small = total // 2
                up = self.auto == "SAME_UPPER"
                self.low[k], self.high[k] = (small, total - small) if up else (total - small, small)

    def attributes(self, d, kernel_shape=1.0):
        d.attr("kernel_shape", self.kernel, kernel_shape)
        for name, values, plain in (("strides", self.strides, 1), ("dilations", self.dilations, 1)):
            if name in d.schema.attributes:
                d.attr(name, values, 1.0 if any(v != plain for v in values) else 0.3)
        if self.auto != "NOTSET":
            d.attr("auto_pad", self.auto)
        elif any(self.low + self.high) or d.chance(0.3):
            d.attr("pads", [*self.low, *self.high])

    def outputs(self):
        dims = []
        for k in range(self.rank):
            room = self.size[k] + self.low[k] + self.high[k] - self.span[k]
            n = (-(-room // self.strides[k]) if self.ceil else room // self.strides[k]) + 1
            if self.ceil and (n - 1) * self.strides[k] >= self.size[k] + self.low[k]:
                n -= 1  # a window that begins in the padding at the end is left out
            dims.append(n)
        return dims

    def places(self, out):
        """Positions in the operand under the window of one output position, with their offsets in the kernel."""
        for r in itertools.product(*[range(k) for k in self.kernel]):
            at = [o * s + i * f - p for o, s, i, f, p in zip(out, self.strides, r, self.dilations, self.low)]
            yield r, at, all(0 <= a < n for a, n in zip(at, self.size))


def convolved(w, x, weights, groups, bias=None):
    """The sum of products that defines Conv, by loops over output and kernel positions."""
    n, c = x.shape[:2]
    m = weights.shape[0]
    y = np.zeros((n, m, *w.outputs()), x.dtype)
    per_in, per_out = c // groups, m // groups
    for out in np.ndindex(*w.outputs()):
        for r, at, inside in w.places(out):
            if inside:
                for g in range(groups):
                    part = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *at)]
                    some = weights[(slice(g * per_out, (g + 1) * per_out), slice(None), *r)]
                    y[(slice(None), slice(g * per_out, (g + 1) * per_out), *out)] += part @ some.T
    if bias is not None:
        y += bias.reshape(1, -1, *[1] * len(w.kernel))
    return y


def conv_shapes(d, w):
    groups = d.integer(1, 3) if d.chance(0.4) else 1
    c, m = groups * d.integer(1, 3), groups * d.integer(1, 3)
    n = d.integer(1, 2)
    d.attr("group", groups, 1.0 if groups > 1 else 0.3)
    return groups, (n, c, *w.size), (m, c // groups, *w.kernel)


@recipe("Conv")
def conv(d):
    name = d.dtype("T")
    w = Window(d, d.integer(1, 3))
    groups, x, weights = conv_shapes(d, w)
    d.input(name, x)
    d.input(name, weights)
    if d.chance(0.5):
        d.input(name, weights[:1])
    w.attributes(d, 0.5)
    d.wild = False
    terms = int(np.prod(weights[1:]))
    d.terms, d.scale = terms, 8.0 * terms ** 0.5
    d.oracle = lambda d, arrays: [convolved(w, *[a.astype(np.float64) for a in arrays[:2]], groups, *[
        a.astype(np.float64) for a in arrays[2:]])]


@recipe("ConvInteger")
def conv_integer(d):
    t1, t2 = d.dtype("T1"), d.dtype("T2")
    w = Window(d, d.integer(1, 3))
    groups, x, weights = conv_shapes(d, w)
    d.input(t1, x)
    d.input(t2, weights)
    if d.chance(0.6):
        d.input(t1, ())
        if d.chance(0.6):
            d.input(t2, () if d.chance(0.5) else weights[:1])
    w.attributes(d, 0.5)
    d.exact = True

    def run(d, arrays):
        a, b, *zeros = (v.astype(np.int64) for v in arrays)
        if zeros:
            a = a - zeros[0]
        if len(zeros) > 1:
            b = b - (zeros[1].reshape(-1, *[1] * (b.ndim - 1)) if zeros[1].ndim else zeros[1])
        return [convolved(w, a, b, groups).astype(np.int32)]
    d.oracle = run


@recipe("ConvTranspose")
def conv_transpose(d):
    name = d.dtype("T")
    rank = d.integer(1, 2) if d.chance(0.9) else 3
    kernel = [d.integer(1, 3) for _ in range(rank)]
    strides = [d.integer(1, 3) for _ in range(rank)]
    dilations = [d.integer(1, 2) if d.chance(0.3) else 1 for _ in range(rank)]
    groups = d.integer(1, 2)
    c, m, n = groups * d.integer(1, 2), d.integer(1, 3), d.integer(1, 2)
    size = [d.integer(1, 4) for _ in range(rank)]
    d.input(name, (n, c, *size))
    d.input(name, (c, m, *kernel))
    if d.chance(0.5):
        d.input(name, (groups * m,))
    extra = [d.integer(0, max(s, f) - 1) if d.chance(0.4) else 0 for s, f in zip(strides, dilations)]
    span = [(k - 1) * f + 1 for k, f in zip(kernel, dilations)]
    low = [d.integer(0, min(1, s // 2)) for s in span]
    high = [d.integer(0, min(1, s // 2)) for s in span]
    full = [s * (i - 1) + e + p for s, i, e, p in zip(strides, size, extra, span)]
    how = d.choice(["pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "shape"])
    if how == "pads":
        d.attr("pads", [*low, *high], 1.0 if any(low + high) else 0.3)
    elif how == "VALID":
        d.attr("auto_pad", "VALID")
        low = high = [0] * rank
    else:
        upper = how == "SAME_UPPER"
        want = [i * s for i, s in zip(size, strides)]
        if how == "shape":
            want = [max(1, f - d.integer(0, 2)) for f in full]
            d.attr("output_shape", want)
            upper = d.chance(0.5)
        if how != "shape" or upper or d.chance(0.3):
            d.attr("auto_pad", "SAME_UPPER" if upper else "SAME_LOWER")
        total = [f - v for f, v in zip(full, want)]
        if any(t < 0 for t in total):  # padding below zero: no such convolution in the text
            d.attrs.pop("auto_pad", None)
            d.attrs.pop("output_shape", None)
            low = high = [0] * rank
        else:
            small = [t // 2 for t in total]
            big = [t - s for t, s in zip(total, small)]
            low, high = (small, big) if upper else (big, small)
    d.attr("strides", strides, 1.0 if any(s > 1 for s in strides) else 0.3)
    d.attr("dilations", dilations, 1.0 if any(s > 1 for s in dilations) else 0.3)
    d.attr("output_padding", extra, 1.0 if any(extra) else 0.2)
    d.attr("group", groups, 1.0 if groups > 1 else 0.3)
    d.attr("kernel_shape", kernel, 0.4)
    out = [f - a - b for f, a, b in zip(full, low, high)]
    d.wild = False
    terms = c * int(np.prod(kernel))
    d.terms, d.scale = terms, 8.0 * terms ** 0.5

    def run(d, arrays):
        x, w, *bias = (a.astype(np.float64) for a in arrays)
        y = np.zeros((n, groups * m, *out))
        per = c // groups
        for at in np.ndindex(*size):
            for r in np.ndindex(*kernel):
                to = [a * s + i * f - p for a, s, i, f, p in zip(at, strides, r, dilations, low)]
                if all(0 <= t < o for t, o in zip(to, out)):
                    for g in range(groups):
                        part = x[(slice(None), slice(g * per, (g + 1) * per), *at)]
                        y[(slice(None), slice(g * m, (g + 1) * m), *to)] += part @ w[(slice(g * per, (g + 1) * per),
                                                                                      slice(None), *r)]
        return [y + bias[0].reshape(1, -1, *[1] * rank) if bias else y]
    d.oracle = run


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(d):
    name = d.dtype("T")
    w = Window(d, d.integer(1, 3))
    w.ceil = d.integer(0, 1) if w.auto == "NOTSET" else 0
    d.attr("ceil_mode", w.ceil, 1.0 if w.ceil else 0.3)
    n, c = d.integer(1, 2), d.integer(1, 3)
    d.input(name, (n, c, *w.size))
    w.attributes(d)
    d.wild = d.op == "MaxPool" and not draw.is_float(name)
    p = 2
    include = 0
    column = 0
    if d.op == "MaxPool":
        d.outputs = d.integer(1, 2)
        column = d.integer(0, 1)
        d.attr("storage_order", column, 1.0 if column else 0.3)
        d.exact = True
    elif d.op == "AveragePool":
        include = d.integer(0, 1)
        d.attr("count_include_pad", include, 1.0 if include else 0.3)
        d.scale = 4.0
    else:
        p = d.integer(1, 3)
        d.attr("p", p, 1.0 if p != 2 else 0.5)
        d.ulps, d.scale = 4.0, 4.0
    d.terms = int(np.prod(w.kernel))
    d.oracle = lambda d, arrays: pooled(d, w, arrays[0], p, include, column)


def pooled(d, w, x, p, include, column):
    wide = x.astype(np.float64) if draw.is_float(d.types["T"]) else x
    n, c = x.shape[:2]
    y = np.zeros((n, c, *w.outputs()), wide.dtype)
    index = np.zeros(y.shape, np.int64)
    for place in np.ndindex(*y.shape):
        b, ch, *out = place
        rows = [(at, inside) for _, at, inside in w.places(out)]
        inner = [at for at, inside in rows if inside]
        values = [wide[(b, ch, *at)] for at in inner]
        if d.op == "MaxPool":
            best = int(np.argmax(values))
            y[place] = values[best]
            at, dims = inner[best], w.size
            flat = int(np.ravel_multi_index(at[::-1], dims[::-1])) if column else int(np.ravel_multi_index(at, dims))
            index[place] = (b * c + ch) * int(np.prod(dims)) + flat
        elif d.op == "AveragePool":
            # Padding counts, what ceil_mode adds beyond it does not.
            count = len(inner) if not include else sum(
                all(-lo <= a < s + hi for a, s, lo, hi in zip(at, w.size, w.low, w.high)) for at, _ in rows)
            y[place] = sum(values) / count if count else np.nan
        else:
            y[place] = (np.abs(values) ** float(p)).sum() ** (1 / p)
    return [y, index][:d.count()]


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    name = d.dtype("T")
    shape = d.shape(low=3, high=5, least=1)
    d.input(name, shape)
    d.wild = False
    p = d.integer(1, 3)
    if d.op == "GlobalLpPool":
        d.attr("p", p)
        d.ulps = 4.0
    d.exact = d.op == "GlobalMaxPool"
    d.terms, d.scale = int(np.prod(shape[2:])), 4.0

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        axes = tuple(range(2, x.ndim))
        if d.op == "GlobalLpPool":
            return [(np.abs(x) ** float(p)).sum(axes, keepdims=True) ** (1 / p)]
        return [(x.mean if d.op == "GlobalAveragePool" else x.max)(axes, keepdims=True)]
    d.oracle = run


@recipe("MaxUnpool")
def max_unpool(d):
    name = d.dtype("T1")
    rank = d.integer(1, 2)
    shape = (d.integer(1, 2), d.integer(1, 2), *[d.integer(1, 3) for _ in range(rank)])
    kernel = [d.integer(1, 3) for _ in range(rank)]
    strides = [d.integer(1, 3) for _ in range(rank)]
    out = [(n - 1) * s + k for n, s, k in zip(shape[2:], strides, kernel)]
    full = (*shape[:2], *out)
    count = int(np.prod(shape))
    d.input(name, shape)
    d.input("int64", shape, lambda rng, extreme: rng.permutation(int(np.prod(full)))[:count].reshape(shape))
    d.attr("kernel_shape", kernel)
    d.attr("strides", strides, 1.0 if any(s > 1 for s in strides) else 0.3)
    d.exact = True

    def run(d, arrays):
        y = np.zeros(int(np.prod(full)), arrays[0].dtype)
        y[arrays[1].ravel()] = arrays[0].ravel()
        return [y.reshape(full)]
    d.oracle = run


@recipe("Col2Im")
def col2im(d):
    name = d.dtype("T", without=("bool", *draw.SMALL_FLOATS))
    w = Window(d, d.integer(1, 3), auto=False)
    n, c = d.integer(1, 2), d.integer(1, 2)
    blocks = int(np.prod(w.outputs()))
    d.input(name, (n, c * int(np.prod(w.kernel)), blocks))
    d.fixed(w.size, constant=True)
    d.fixed(w.kernel, constant=True)
    d.attr("strides", w.strides, 1.0 if any(v > 1 for v in w.strides) else 0.3)
    d.attr("dilations", w.dilations, 1.0 if any(v > 1 for v in w.dilations) else 0.3)
    d.attr("pads", [*w.low, *w.high], 1.0 if any(w.low + w.high) else 0.3)
    d.wild = False
    d.terms, d.scale, d.rounds = 9, 20.0, True

    def run(d, arrays):
        x = arrays[0].astype(np.float64) if draw.is_float(name) else arrays[0]
        y = np.zeros((n, c, *w.size), x.dtype)
        x = x.reshape(n, c, *w.kernel, *w.outputs())
        for out in np.ndindex(*w.outputs()):
            for r, at, inside in w.places(out):
                if inside:
                    y[(slice(None), slice(None), *at)] += x[(slice(None), slice(None), *r, *out)]
        return [y]
    d.oracle = run


@recipe("DeformConv")
def deform(d):
    name = d.dtype("T")
    w = Window(d, 2, auto=False)
    groups = d.integer(1, 2)
    offset_groups = d.choice([1, groups])
    c, m, n = groups * d.integer(1, 2), groups * d.integer(1, 2), d.integer(1, 2)
    d.input(name, (n, c, *w.size))
    d.input(name, (m, c // groups, *w.kernel))
    places = int(np.prod(w.kernel))
    offsets = (n, offset_groups * places * 2, *w.outputs())
    d.input(name, offsets, lambda rng, extreme: rng.integers(-7, 8, offsets) / 4 + 0.125)
    if d.chance(0.6):
        d.input(name, (m,))
        if d.chance(0.6):
            d.input(name, (n, offset_groups * places, *w.outputs()))
    elif d.chance(0.5):
        d.skip()
        d.input(name, (n, offset_groups * places, *w.outputs()))
    w.attributes(d, 0.5)
    d.attr("group", groups, 1.0 if groups > 1 else 0.3)
    d.attr("offset_group", offset_groups, 1.0 if offset_groups > 1 else 0.3)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 4.0, places * c, 30.0, True


assert oracle
