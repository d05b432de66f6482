"""Attention, MultiHeadAttention and RotaryEmbedding of com.microsoft."""
import itertools

import numpy as np

from suite import generator, integers, normal

CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def masks(r, b, s, t):
    ends = r.integers(1, t + 1, b)
    return {"none": None, "end": ends.astype(np.int32),
            "pair": np.concatenate([ends, np.minimum(ends - 1, r.integers(0, 2, b))]).astype(np.int32),
            "flat": (np.arange(t)[None] < ends[:, None]).astype(np.int32),
            "full": (r.random((b, s, t)) < 0.7).astype(np.int32) | (np.arange(t) == 0)}


def attention(s):
    b, length, width, heads = 2, 5, 12, 3
    for kind, causal, past, bias in itertools.product(("none", "end", "pair", "flat", "full"), (0, 1), (0, 4), (0, 1)):
        if past and bias:
            continue  # onnxruntime does not take both
        name = f"attention_{kind}_{causal}{past}{bias}"
        r = generator(name)
        total = past + length
        inputs = [("input", normal(r, b, length, 8)), ("weights", normal(r, 8, 3 * width) * 0.4),
                  ("bias", normal(r, 3 * width)), ("mask", masks(r, b, length, total)[kind]),
                  ("past", normal(r, 2, b, heads, past, width // heads) if past else None),
                  ("attention_bias", normal(r, b if causal else 1, heads if past else 1, length, total) if bias else None)]
        attrs = {"num_heads": heads, "unidirectional": causal}
        attrs |= {"mask_filter_value": -1000.0, "scale": 0.3} if bias else {}
        s.node(name, "Attention", inputs, ("Y", "present") if past or bias else ("Y",), attrs, weights=("weights", "bias"),
               **CLOSE)
    r = generator("attention_widths")
    s.node("attention_widths", "Attention",
           [("input", normal(r, b, length, 8)), ("weights", normal(r, 8, 30) * 0.4), ("bias", normal(r, 30))],
           attrs={"num_heads": 3, "qkv_hidden_sizes": [12, 12, 6]}, weights=("weights", "bias"), **CLOSE)
    inputs = [("input", normal(r, b, length, 8)), ("weights", normal(r, 8, 36) * 0.4)]
    # Without a bias onnxruntime crashes.
    s.node("attention_no_bias", "Attention", inputs, attrs={"num_heads": 3}, **CLOSE,
           asked=inputs + [("bias", np.zeros(36, np.float32))])


def multi_head(s):
    b, q, k, heads, h = 2, 4, 6, 3, 4
    width = heads * h
    forms = {
        "apart": lambda r: [("query", normal(r, b, q, width)), ("key", normal(r, b, k, width)),
                            ("value", normal(r, b, k, heads * 5))],
        "itself": lambda r: [("query", normal(r, b, k, width)), ("key", normal(r, b, k, width)),
                             ("value", normal(r, b, k, heads * 5))],
        "packed": lambda r: [("query", normal(r, b, k, heads, 3, h)), ("key", None), ("value", None)],
        "packed_kv": lambda r: [("query", normal(r, b, q, width)), ("key", normal(r, b, k, heads, 2, h)), ("value", None)],
        "by_head": lambda r: [("query", normal(r, b, q, width)), ("key", normal(r, b, heads, k, h)),
                              ("value", normal(r, b, heads, k, h))],
    }

    def apart(inputs):
        """Packed tensors as three of rank 3."""
        query, key, value = (a for _, a in inputs[:3])
        if query.ndim == 5:
            query, key, value = (query[..., i, :] for i in range(3))
        elif key.ndim == 5:
            key, value = (key[..., i, :] for i in range(2))
        flat = lambda a: np.ascontiguousarray(a).reshape(*a.shape[:2], -1)  # noqa: E731
        return [("query", flat(query)), ("key", flat(key)), ("value", flat(value))] + inputs[3:]

    for form, bias, kind, causal, more in itertools.product(forms, (0, 1), ("none", "end", "flat", "full"), (0, 1), (0, 1)):
        if causal and form not in ("itself", "packed") or bias and form == "packed_kv":
            continue  # onnxruntime lets the last of fewer queries than keys see all keys
        name = f"multi_head_{form}_{bias}{causal}{more}_{kind}"
        r = generator(name)
        inputs = forms[form](r)
        length = k if form in ("itself", "packed") else q
        values = {"apart": heads * 5, "itself": heads * 5}.get(form, width)
        inputs += [("bias", normal(r, 2 * width + values) if bias else None),
                   ("mask", masks(r, b, length, k)[kind]), ("attention_bias", normal(r, b, 1, length, k) if more else None)]
        attrs = {"num_heads": heads, "unidirectional": causal} | ({"mask_filter_value": -50.0, "scale": 0.25} if more else {})
        # onnxruntime takes packed tensors on CUDA only.
        s.node(name, "MultiHeadAttention", inputs, attrs=attrs, weights=("bias",), **CLOSE,
               asked=apart(inputs) if form.startswith("packed") else None)
    for past, bias, kind, causal in itertools.product((3,), (0, 1), ("none", "flat"), (0, 1)):
        name = f"multi_head_past_{bias}{causal}_{kind}"
        r = generator(name)
        inputs = [("query", normal(r, b, q, width)), ("key", normal(r, b, q, width)), ("value", normal(r, b, q, width)),
                  ("bias", normal(r, 3 * width) if bias else None), ("mask", masks(r, b, q, past + q)[kind]),
                  ("attention_bias", normal(r, 1, heads, q, past + q) if bias else None),
                  ("past_key", normal(r, b, heads, past, h)), ("past_value", normal(r, b, heads, past, h))]
        s.node(name, "MultiHeadAttention", inputs, ("Y", "present_key", "present_value"),
               {"num_heads": heads, "unidirectional": causal}, weights=("bias",), dynamic=kind == "none" and not bias, **CLOSE)
    r = generator("multi_head_scores")
    s.node("multi_head_scores", "MultiHeadAttention", forms["apart"](r), ("Y", "", "", "qk"), {"num_heads": heads}, **CLOSE,
           types={"qk": 1})


def rotary(s):
    for interleaved, by_head, one, partial in itertools.product((0, 1), (0, 1), (0, 1), (0, 1)):
        name = f"rotary_{interleaved}{by_head}{one}{partial}"
        r = generator(name)
        turned = 4 if partial else 8
        x = normal(r, 2, 3, 5, 8) if by_head else normal(r, 2, 5, 24)
        ids = np.array([2], np.int64) if one else integers(r, 0, 12, (2, 5), np.int64)
        attrs = {"interleaved": interleaved} | ({"num_heads": 3, "rotary_embedding_dim": turned} if partial else {})
        s.node(name, "RotaryEmbedding", [("input", x), ("ids", ids), ("cos", normal(r, 12, turned // 2)),
                                         ("sin", normal(r, 12, turned // 2))], attrs=attrs)


def write(s):
    for part in (attention, multi_head, rotary):
        part(s)
