"""Operators that read or write at places given by data."""
import numpy as np

import draw
from recipes import recipe
from recipes.move import data, exact

INDEX = ["int32", "int64"]


def indices(d, shape, size, var="Tind"):
    """An operand of indices into a dim of this size, of either sign."""
    kind = d.dtype(var) if any(c.type_param_str == var for c in d.schema.type_constraints) else "int64"
    d.input(kind, shape, lambda rng, extreme: rng.integers(-size, size, shape) if size else np.zeros(shape))


@recipe("Gather")
def gather(d):
    _, shape = data(d, low=1, high=4, least=1, count=60)
    axis = d.axis(len(shape))
    axis = 0 if axis is None else axis
    indices(d, d.shape(high=2, count=8), shape[axis])
    d.oracle = exact(lambda d, x, at: [np.take(x, at, axis)])


@recipe("GatherElements")
def gather_elements(d):
    _, shape = data(d, low=1, least=1, count=80)
    axis = d.axis(len(shape))
    axis = 0 if axis is None else axis
    size = [d.integer(0 if d.chance(0.1) else 1, n) for n in shape]
    size[axis] = d.integer(1, 5)
    indices(d, tuple(size), shape[axis])

    def run(d, x, at):
        x = x[tuple(slice(None) if k == axis else slice(0, n) for k, n in enumerate(size))]
        return [np.take_along_axis(x, at.astype(np.int64) % shape[axis], axis)]
    d.oracle = exact(run)


def tuples(d, shape, batch):
    """Shape and maker of indices of GatherND and ScatterND."""
    depth = d.integer(1, len(shape) - batch)
    lead = shape[:batch] + d.shape(high=2, count=8)
    sizes = np.array(shape[batch:batch + depth])
    return depth, lead, lambda rng, extreme: rng.integers(-sizes, sizes, (*lead, depth))


@recipe("GatherND")
def gather_nd(d):
    _, shape = data(d, low=1, high=4, least=1, count=80)
    batch = d.integer(0, len(shape) - 1) if d.chance(0.5) else 0
    d.attr("batch_dims", batch, 1.0 if batch else 0.4)
    depth, lead, make = tuples(d, shape, batch)
    d.input("int64", (*lead, depth), make)
    d.inputs[-1].whole = True  # its last dim says how many dims the result has

    def run(d, x, at):
        count = int(np.prod(shape[:batch]))
        rest = shape[batch + depth:]
        x = x.reshape(count, *shape[batch:])
        at = at.reshape(count, -1, depth)
        rows = [x[b][tuple(at[b, k])] for b in range(count) for k in range(at.shape[1])]
        y = np.array(rows, x.dtype) if rows else np.zeros((0, *rest), x.dtype)
        return [y.reshape((*lead, *rest))]
    d.oracle = exact(run)


REDUCTIONS = ["none", "add", "mul", "max", "min"]


def combine(reduction, a, b):
    with np.errstate(all="ignore"):
        return {"none": lambda: b, "add": lambda: a + b, "mul": lambda: a * b, "max": lambda: np.maximum(a, b),
                "min": lambda: np.minimum(a, b)}[reduction]()


def scatter_reduction(d, name):
    """The attribute, and what it means for tolerance: sums of narrow floats are rounded at each step."""
    reduction = d.choice(REDUCTIONS) if name not in (*draw.SMALL_FLOATS, "bool") else "none"
    if "reduction" not in d.schema.attributes:
        return "none"
    d.attr("reduction", reduction, 1.0 if reduction != "none" else 0.4)
    if reduction in ("add", "mul") and draw.is_float(name):
        d.exact, d.wild, d.rounds = False, False, True
        d.terms, d.scale = 6, 8.0 if reduction == "add" else 20.0
    return reduction


@recipe("ScatterElements")
def scatter_elements(d):
    name, shape = data(d, low=1, high=4, least=1, count=80)
    axis = d.axis(len(shape))
    axis = 0 if axis is None else axis
    reduction = scatter_reduction(d, name)
    size = [d.integer(1, n) for n in shape]
    if reduction == "none":  # two updates of one place have no order: each place once
        def make(rng, extreme):
            lines = rng.random((*[n for k, n in enumerate(size) if k != axis], shape[axis])).argsort(-1)
            at = np.moveaxis(lines[..., :size[axis]], -1, axis)
            return np.where(rng.random(at.shape) < 0.4, at - shape[axis], at)
        kind = d.dtype("Tind")
        d.input(kind, tuple(size), make)
    else:
        size[axis] = d.integer(1, 5)
        indices(d, tuple(size), shape[axis])
    d.input(name, tuple(size))

    def run(d, x, at, updates):
        y = np.array(x)
        for place in np.ndindex(*size):
            to = list(place)
            to[axis] = int(at[place]) % shape[axis]
            y[tuple(to)] = combine(reduction, y[tuple(to)], updates[place])
        return [y]
    d.oracle = exact(run)


@recipe("ScatterND")
def scatter_nd(d):
    name, shape = data(d, low=1, high=4, least=1, count=80)
    reduction = scatter_reduction(d, name)
    depth, lead, make = tuples(d, shape, 0)
    if reduction == "none":
        lead = (min(lead[0] if lead else 1, int(np.prod(shape[:depth]))),)

        def make(rng, extreme):
            flat = rng.permutation(int(np.prod(shape[:depth])))[:lead[0]]
            at = np.stack(np.unravel_index(flat, shape[:depth]), -1)
            return np.where(rng.random(at.shape) < 0.4, at - np.array(shape[:depth]), at)
    d.input("int64", (*lead, depth), make)
    rest = (*lead, *shape[depth:])
    d.input(name, rest)

    def run(d, x, at, updates):
        y = np.array(x)
        for place in np.ndindex(*lead):
            to = tuple(int(v) for v in at[place])
            y[to] = combine(reduction, y[to], updates[place])
        return [y]
    d.oracle = exact(run)


@recipe("TensorScatter")
def tensor_scatter(d):
    name = d.dtype("T")
    rank = d.integer(2, 4)
    shape = [d.integer(1, 3) for _ in range(rank)]
    axis = d.integer(1, rank - 1)
    shape[axis] = d.integer(2, 6)
    new = d.integer(1, shape[axis])
    circular = d.chance(0.5)
    d.input(name, shape)
    update = list(shape)
    update[axis] = new
    d.input(name, update)
    last = shape[axis] - 1 if circular else shape[axis] - new
    given = d.chance(0.7)
    if given:
        d.input("int64", (shape[0],), lambda rng, extreme: rng.integers(0, last + 1, shape[0]))
    d.attr("mode", "circular" if circular else "linear", 1.0 if circular else 0.5)
    if axis != rank - 2 or d.chance(0.5):
        d.attr("axis", axis - rank if d.chance(0.4) else axis)
    d.exact = True

    def run(d, past, update, at=None):
        y = np.array(past)
        for b in range(shape[0]):
            for k in range(new):
                to = (int(at[b]) if at is not None else 0) + k
                to = to % shape[axis] if circular else to
                np.moveaxis(y[b], axis - 1, 0)[to] = np.moveaxis(update[b], axis - 1, 0)[k]
        return [y]
    d.oracle = exact(run)


@recipe("NonMaxSuppression")
def suppression(d):
    batch, boxes, classes = d.integer(1, 2), d.integer(1, 6), d.integer(1, 3)
    center = d.integer(0, 1)

    def make(rng, extreme):
        corner = rng.integers(0, 12, (batch, boxes, 2)) / 4
        size = rng.integers(1, 9, (batch, boxes, 2)) / 4
        return np.concatenate([corner + size / 2, size] if center else [corner, corner + size], -1)
    d.input("float", (batch, boxes, 4), make)
    d.input("float", (batch, classes, boxes),
            lambda rng, extreme: rng.permutation(batch * classes * boxes).reshape(batch, classes, boxes) / 64 + 0.01)
    d.attr("center_point_box", center, 1.0 if center else 0.5)
    for values, kind in ((d.integer(0, 4), "int64"), (d.choice([0.11, 0.37, 0.73]), "float"), (d.choice([0.03, 0.21]), "float")):
        if d.chance(0.85):
            d.fixed(values if d.chance(0.5) else [values], kind, d.chance(0.5))
        else:
            d.skip()
    d.wild = False

    def run(d, boxes, scores, most=None, overlap=None, least=None):
        most = 0 if most is None else int(np.ravel(most)[0])
        overlap = 0.0 if overlap is None else float(np.ravel(overlap)[0])
        found = []
        for b, c in np.ndindex(*scores.shape[:2]):
            kept = []
            for k in np.argsort(-scores[b, c], kind="stable"):
                if len(kept) == most or least is not None and scores[b, c, k] <= np.ravel(least)[0]:
                    break
                if all(overlaps(boxes[b, k], boxes[b, j], center) <= overlap for j in kept):
                    kept.append(k)
            found += [[b, c, k] for k in kept]
        return [np.array(found, np.int64).reshape(-1, 3)]
    d.oracle = exact(run)


def overlaps(a, b, center):
    """Intersection over union."""
    ends = []
    for box in (a.astype(np.float64), b.astype(np.float64)):
        low, high = (box[:2] - box[2:] / 2, box[:2] + box[2:] / 2) if center else (box[:2], box[2:])
        ends.append((low, high))
    inner = np.prod(np.maximum(0, np.minimum(ends[0][1], ends[1][1]) - np.maximum(ends[0][0], ends[1][0])))
    areas = sum(np.prod(high - low) for low, high in ends)
    return inner / (areas - inner)
