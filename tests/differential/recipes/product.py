"""Products of matrices and sums of products."""
import numpy as np

import draw
from recipes import recipe


def matrices(d, high=4):
    """Shapes of two operands of MatMul."""
    m, k, n = (d.choice([0, 1, 2, 3, 5, 17]) if d.chance(0.5) else d.integer(1, 5) for _ in range(3))
    batch = d.shape(high=high - 2, largest=3, count=12)
    a = (*d.broadcast_of(batch), m, k)
    b = (*d.broadcast_of(batch), k, n)
    if d.chance(0.15):
        a = (k,)
    if d.chance(0.15):
        b = (k,)
    return a, b, k


@recipe("MatMul")
def matmul(d):
    name = d.dtype("T")
    a, b, k = matrices(d)
    d.input(name, a)
    d.input(name, b)
    d.wild = False
    d.terms, d.scale = k, 6.0 * max(1, k) ** 0.5

    def run(d, arrays):
        wide = np.float64 if draw.is_float(name) else arrays[0].dtype
        return [np.matmul(*[x.astype(wide) for x in arrays])]
    d.oracle = run


@recipe("MatMulInteger")
def matmul_integer(d):
    t1, t2 = d.dtype("T1"), d.dtype("T2")
    a, b, _ = matrices(d)
    d.input(t1, a)
    d.input(t2, b)
    zeros = []
    for k, name in enumerate((t1, t2)):
        shape = (a, b)[k]
        if not d.chance(0.6):
            if k == 0 or not zeros:
                d.skip()
            zeros.append(False)
            continue
        per = d.chance(0.4) and len(shape) == 2
        size = () if not per else (shape[-2] if k == 0 else shape[-1],)
        d.input(name, size)
        zeros.append(True)
    d.exact = True

    def run(d, arrays):
        arrays = list(arrays) + [None] * 2
        x, y = (v.astype(np.int32) for v in arrays[:2])
        if arrays[2] is not None:
            x = x - (arrays[2].astype(np.int32)[:, None] if arrays[2].ndim else arrays[2].astype(np.int32))
        if arrays[3] is not None:
            y = y - arrays[3].astype(np.int32)
        return [np.matmul(x, y).astype(np.int32)]
    d.oracle = run


@recipe("Gemm")
def gemm(d):
    name = d.dtype("T")
    m, k, n = (d.choice([0, 1, 2, 4, 7, 19]) for _ in range(3))
    ta, tb = d.integer(0, 1), d.integer(0, 1)
    d.input(name, (k, m) if ta else (m, k))
    d.input(name, (n, k) if tb else (k, n))
    if d.chance(0.7):
        d.input(name, d.broadcast_of((m, n)))
    d.attr("transA", ta, 1.0 if ta else 0.4)
    d.attr("transB", tb, 1.0 if tb else 0.4)
    real = draw.is_float(name)
    for factor in ("alpha", "beta"):
        d.attr(factor, float(d.choice([1.0, 2.0, 0.5, 0.0] if real else [1.0, 2.0])), 0.5)
    d.wild = False
    d.terms, d.scale, d.rounds = k + 2, 12.0 * max(1, k) ** 0.5, True

    def run(d, arrays):
        a, b, *c = (x.astype(np.float64 if real else x.dtype) for x in arrays)
        kind = a.dtype.type
        y = (a.T if ta else a) @ (b.T if tb else b) * kind(d.attrs.get("alpha", 1.0))
        return [y + c[0] * kind(d.attrs.get("beta", 1.0)) if c else y]
    d.oracle = run


@recipe("Einsum")
def einsum(d):
    name = d.dtype("T")
    letters = "abcde"[:d.integer(1, 5)]
    sizes = {c: d.integer(1, 4) for c in letters}
    operands = []
    for _ in range(d.integer(1, 3)):
        term = [d.choice(letters) for _ in range(d.integer(0, 3))]
        if d.chance(0.7):  # a repeated letter is a diagonal
            term = list(dict.fromkeys(term))
        operands.append("".join(term))
    used = sorted(set("".join(operands)))
    out = [c for c in used if d.chance(0.5)]
    d.rng.shuffle(out)
    equation = ",".join(operands)
    dots = d.chance(0.25)
    batch = d.shape(high=2, largest=3, count=6) if dots else ()
    if dots:
        equation = ",".join("..." + t for t in operands)
    explicit = d.chance(0.8)
    if explicit:
        equation += "->" + ("..." if dots else "") + "".join(out)
    if d.chance(0.3):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    for term in operands:
        d.input(name, (*(d.broadcast_of(batch) if dots else ()), *[sizes[c] for c in term]))
    d.attr("equation", equation)
    terms = int(np.prod([sizes[c] for c in used]))
    d.wild = False
    d.terms, d.scale = terms, 20.0 * terms ** 0.5
    d.rounds = True

    def run(d, arrays):
        wide = np.float64 if draw.is_float(name) else arrays[0].dtype
        return [np.einsum(equation.replace(" ", ""), *[x.astype(wide) for x in arrays])]
    d.oracle = run


@recipe("Det")
def det(d):
    name = d.dtype("T")
    n = d.integer(1, 4)
    shape = (*d.shape(high=2, count=6), n, n)
    d.input(name, shape, lambda rng, extreme: rng.integers(-3, 4, shape))
    d.wild = False
    d.ulps, d.scale, d.rounds = 8.0, 30.0, True


@recipe("RotaryEmbedding")
def rotary(d):
    name = d.dtype("T")
    b, s, h = d.integer(1, 2), d.integer(1, 3), d.integer(1, 3)
    size = 2 * d.integer(1, 4)
    flat = d.chance(0.4)
    d.input(name, (b, s, h * size) if flat else (b, h, s, size))
    part = 0
    if d.chance(0.4):
        part = 2 * d.integer(1, size // 2)
        d.attr("rotary_embedding_dim", part)
    half = (part or size) // 2
    most = d.integer(s, s + 3)
    ids = d.chance(0.6)
    for _ in range(2):
        d.input(name, (most, half) if ids else (b, s, half))
    if ids:
        d.input("int64", (b, s), lambda rng, extreme: rng.integers(0, most, (b, s)))
    if flat:
        d.attr("num_heads", h)
    d.attr("interleaved", d.integer(0, 1), 0.6)
    d.wild = False
    d.scale = 12.0
