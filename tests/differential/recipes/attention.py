"""Attention in its forms, by their formulas in float64."""
import numpy as np

import draw
from recipes import recipe


@recipe("SwiGLU")
def swiglu(d):
    name = d.dtype("T")
    shape = d.shape()
    d.input(name, shape)
    d.input(name, shape)
    d.attr("alpha", d.choice([0.5, 1.0, 1.5]), 0.5)
    d.wild = False
    d.ulps, d.scale, d.rounds = 2.0, 8.0, True

    def run(d, arrays):
        a, b = (x.astype(np.float64) for x in arrays)
        return [a / (1 + np.exp(-d.real("alpha", 1.0) * a)) * b]
    d.oracle = run


@recipe("CausalConvWithState")
def causal_conv(d):
    name = d.dtype("T")
    b, c, n, k = d.integer(1, 2), d.integer(1, 3), d.integer(1, 4), d.integer(1, 4)
    d.input(name, (b, c, n))
    d.input(name, (c, 1, k))
    for shape in ((c,), (b, c, k - 1)):
        if d.chance(0.6):
            d.input(name, shape)
        else:
            d.skip()
    d.attr("activation", d.choice(["silu", "swish", "none"]), 0.7)
    d.outputs = 2
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 2.0, k, 12.0, True

    def run(d, arrays):
        x, w, bias, past = (list(None if a is None else a.astype(np.float64) for a in arrays) + [None] * 2)[:4]
        line = np.concatenate([np.zeros((b, c, k - 1)) if past is None else past, x], 2)
        y = sum(line[:, :, t:t + n] * w[None, :, 0, t:t + 1] for t in range(k))
        y = y if bias is None else y + bias[None, :, None]
        if d.attrs.get("activation", "none") != "none":
            y = y / (1 + np.exp(-y))
        return [y, line[:, :, n:]]
    d.oracle = run


def softmax(x):
    """Over the last axis; a row of nothing but minus infinity gives zeros."""
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, -1, keepdims=True))
        e = np.where(np.isnan(e), 0.0, e)
        total = e.sum(-1, keepdims=True)
        return np.where(total == 0, 0.0, e / np.where(total == 0, 1, total))


class Sizes:
    """Drawn sizes of an attention."""

    def __init__(self, d):
        self.batch, self.kv_heads = d.integer(1, 2), d.integer(1, 2)
        self.heads = self.kv_heads * d.integer(1, 2)
        self.queries, self.keys, self.past = d.integer(1, 4), d.integer(1, 4), d.integer(0, 3)
        self.size, self.value_size = d.integer(1, 4), d.integer(1, 4)


def half(shape):
    return lambda rng, extreme: rng.integers(-6, 7, shape) / 4


@recipe("Attention")
def attention(d):
    t1 = d.dtype("T1")
    t2 = d.types["T2"] = t1
    s = Sizes(d)
    flat = d.chance(0.4)
    shapes = []
    for heads, length, size in ((s.heads, s.queries, s.size), (s.kv_heads, s.keys, s.size), (s.kv_heads, s.keys, s.value_size)):
        shapes.append((s.batch, length, heads * size) if flat else (s.batch, heads, length, size))
    for name, shape in zip((t1, t1, t2), shapes):
        d.input(name, shape, half(shape))
    if flat:
        d.attr("q_num_heads", s.heads)
        d.attr("kv_num_heads", s.kv_heads)
    past = d.chance(0.4)
    total = s.keys + (s.past if past else 0)
    full = (s.batch, s.heads, s.queries, total)
    if d.chance(0.6):
        d.types["U"] = "bool" if d.chance(0.5) else t1
        shape = tuple(1 if k < len(full) - 1 and d.chance(0.3) else n for k, n in enumerate(full))[d.integer(0, 2):]
        d.input(d.types["U"], shape, half(shape) if d.types["U"] != "bool" else None)
    else:
        d.skip()
    valid = not past and d.chance(0.25)
    for size in (s.size, s.value_size):
        if past:
            shape = (s.batch, s.kv_heads, s.past, size)
            d.input(t1, shape, half(shape))
        else:
            d.skip()
    if valid:
        d.input("int64", (s.batch,), lambda rng, extreme: rng.integers(0, total + 1, s.batch))
    causal = d.integer(0, 1)
    d.attr("is_causal", causal, 1.0 if causal else 0.3)
    d.attr("scale", d.choice([0.5, 1.0]), 0.4)
    d.attr("softcap", d.choice([2.0, 5.0]), 0.3)
    for side in ("left_window_size", "right_window_size"):
        d.attr(side, d.integer(-1, 2), 0.2)
    d.outputs = 1 if not past or d.chance(0.3) else 3
    if d.outputs == 3 and d.chance(0.5):
        d.outputs = 4
        d.attr("qk_matmul_output_mode", d.integer(0, 3), 0.8)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 4.0, 8, 6.0, True
    d.oracle = lambda d, arrays: attended(d, arrays, s, flat, causal)


def attended(d, arrays, s, flat, causal):
    """The steps of the text of Attention-25: scores, soft cap, masks, softmax, values."""
    q, k, v, mask, pk, pv, valid = (list(arrays) + [None] * 7)[:7]
    q, k, v, pk, pv = (None if x is None else x.astype(np.float64) for x in (q, k, v, pk, pv))
    if flat:
        q, k, v = (x.reshape(s.batch, x.shape[1], h, -1).swapaxes(1, 2)
                   for x, h in ((q, s.heads), (k, s.kv_heads), (v, s.kv_heads)))
    offset = np.zeros(s.batch, np.int64)
    if pk is not None:
        k, v = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
        offset += pk.shape[2]
    elif valid is not None:
        offset += valid - s.queries
    each = s.heads // s.kv_heads
    scale = d.real("scale", 0) or 1 / np.sqrt(q.shape[-1])
    scores = q @ np.repeat(k, each, 1).swapaxes(-1, -2) * scale
    stages = [scores]
    cap = d.real("softcap", 0.0)
    scores = cap * np.tanh(scores / cap) if cap else scores
    stages.append(scores)
    place = offset[:, None, None, None] + np.arange(s.queries)[None, None, :, None]
    j = np.arange(k.shape[2])[None, None, None, :]
    seen = np.ones((s.batch, 1, s.queries, k.shape[2]), bool)
    left, right = d.attrs.get("left_window_size", -1), d.attrs.get("right_window_size", -1)
    seen &= (j <= place) if causal else True
    seen &= (j >= place - left) if left >= 0 else True
    seen &= (j <= place + right) if right >= 0 else True
    if valid is not None:
        seen &= j < valid[:, None, None, None]
    bias = np.where(seen, 0.0, -np.inf)
    if mask is not None:
        bias = bias + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask.astype(np.float64))
    scores = scores + bias
    stages.append(scores)
    weights = softmax(scores)
    stages.append(weights)
    y = weights @ np.repeat(v, each, 1)
    if flat:
        y = y.swapaxes(1, 2).reshape(s.batch, s.queries, -1)
    return [y, k, v, stages[d.attrs.get("qk_matmul_output_mode", 0)]][:d.count()]


@recipe("LinearAttention")
def linear_attention(d):
    name, state = d.dtype("T"), d.dtype("S")
    s = Sizes(d)
    rule = d.choice(["linear", "gated", "delta", "gated_delta"])
    d.attr("update_rule", rule, 1.0 if rule != "gated_delta" else 0.5)
    for heads, size in ((s.heads, s.size), (s.kv_heads, s.size), (s.kv_heads, s.value_size)):
        shape = (s.batch, s.queries, heads * size)
        d.input(name, shape, half(shape))
    if d.chance(0.5):
        d.input(state, (s.batch, s.kv_heads, s.size, s.value_size), half((s.batch, s.kv_heads, s.size, s.value_size)))
    else:
        d.skip()
        d.types["S"] = name  # nothing else says it
    for needed, widths in (("gated" in rule, (s.kv_heads * s.size, s.kv_heads)), ("delta" in rule, (s.kv_heads, 1))):
        if needed:
            shape = (s.batch, s.queries, d.choice(widths))
            d.input(name, shape, lambda rng, extreme, shape=shape: rng.integers(-4, 1, shape) / 8)
        else:
            d.skip()
    d.attr("q_num_heads", s.heads)
    d.attr("kv_num_heads", s.kv_heads)
    d.attr("scale", 0.5, 0.4)
    d.outputs = 2
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 4.0, 16, 12.0, True
    d.oracle = lambda d, arrays: recurrence(d, arrays, s, rule)


def recurrence(d, arrays, s, rule):
    """The four recurrences of LinearAttention-27, one token after the other."""
    q, k, v, past, decay, beta = ([None if a is None else a.astype(np.float64) for a in arrays] + [None] * 6)[:6]
    each = s.heads // s.kv_heads
    scale = d.real("scale", 0.0) or 1 / np.sqrt(s.size)
    state = np.zeros((s.batch, s.kv_heads, s.size, s.value_size)) if past is None else np.array(past)
    y = np.zeros((s.batch, s.queries, s.heads, s.value_size))
    for b, t, h in np.ndindex(s.batch, s.queries, s.kv_heads):
        key = k[b, t].reshape(s.kv_heads, -1)[h]
        value = v[b, t].reshape(s.kv_heads, -1)[h]
        kept = state[b, h]
        if "gated" in rule:
            g = decay[b, t].reshape(s.kv_heads, -1)[h]
            kept = kept * np.exp(g)[:, None]
        if "delta" in rule:
            rate = beta[b, t][h if beta.shape[2] > 1 else 0]
            value = rate * (value - kept.T @ key)
        state[b, h] = kept + np.outer(key, value)
        for j in range(h * each, (h + 1) * each):
            y[b, t, j] = scale * (q[b, t].reshape(s.heads, -1)[j] @ state[b, h])
    return [y.reshape(s.batch, s.queries, -1), state]


assert draw
