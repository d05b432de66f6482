"""GroupQueryAttention of com.microsoft: first prompts, single tokens and more tokens behind a cache."""
import itertools

import numpy as np

from suite import generator, normal

CLOSE = {"rtol": 1e-3, "atol": 1e-4}
H = 16


def operands(r, heads, kv, length, past, packed, rotary, lengths, cache):
    """The first nine inputs. `lengths`: positions that each row holds once the new ones are in; `cache`: its size."""
    b = len(lengths)
    queries = normal(r, b, length, heads * H)
    if packed:
        inputs = [("query", normal(r, b, length, (heads + 2 * kv) * H)), ("key", None), ("value", None)]
    else:
        inputs = [("query", queries), ("key", normal(r, b, length, kv * H)), ("value", normal(r, b, length, kv * H))]
    held = [("past_key", normal(r, b, kv, cache, H)), ("past_value", normal(r, b, kv, cache, H))]
    inputs += held if past else [(n, None) for n, _ in held]
    inputs += [("seqlens_k", np.array(lengths, np.int32) - 1),
               ("total", np.array(max(lengths), np.int32))]
    angle = np.outer(np.arange(24), 0.7 ** np.arange(H // 2)).astype(np.float32)
    return inputs + ([("cos", np.cos(angle)), ("sin", np.sin(angle))] if rotary else [])


def attention(s):
    kinds = {"prompt": dict(length=6, past=False, lengths=(6, 6), cache=0),
             "token": dict(length=1, past=True, lengths=(8, 5), cache=7),
             "tokens": dict(length=3, past=True, lengths=(9,), cache=6),
             "room": dict(length=1, past=True, lengths=(8, 5), cache=20)}
    variants = {"plain": {}, "scale": {"scale": 0.2}, "softcap": {"softcap": 1.5}, "window": {"local_window_size": 3},
                "smooth": {"smooth_softmax": 1}}
    for kind, packed, rotary, (variant, attrs) in itertools.product(kinds, (0, 1), (0, 1, 2), variants.items()):
        if variant != "plain" and packed != rotary % 2:
            continue
        name = f"group_query_{kind}_{packed}{rotary}_{variant}"
        r = generator(name)
        heads, kv = (4, 2) if packed else (6, 3)
        inputs = operands(r, heads, kv, packed=packed, rotary=rotary, **kinds[kind])
        given = {"num_heads": heads, "kv_num_heads": kv} | attrs
        given |= {"do_rotary": 1, "rotary_interleaved": rotary - 1} if rotary else {}
        s.node(name, "GroupQueryAttention", inputs, ("Y", "present_key", "present_value"), given,
               weights=("total",) if variant == "scale" else ("cos", "sin"), **CLOSE)
    for kind, one, sink in itertools.product(kinds, (0, 1), (0, 1)):
        name = f"group_query_{kind}_bias_{one}{sink}"
        r = generator(name)
        inputs = operands(r, 4, 2, packed=0, rotary=0, **kinds[kind])
        total, length = max(kinds[kind]["lengths"]), kinds[kind]["length"]
        inputs += [("cos", None), ("sin", None), ("position_ids", None),
                   ("attention_bias", normal(r, 1 if one else len(kinds[kind]["lengths"]), 4 if one else 1, length, total)),
                   ("head_sink", normal(r, 4) if sink else None)]
        s.node(name, "GroupQueryAttention", inputs, ("Y", "present_key", "present_value"),
               {"num_heads": 4, "kv_num_heads": 2}, **CLOSE)


def halves(s):
    """Operands of float16: ONNX Runtime turns heads and multiplies in float32 too, and rounds the result and the caches."""
    for length, past, rotary, more in itertools.product((1, 5), (0, 9), (0, 1), ("", "window", "sink")):
        name = f"group_query_half_{length}_{past}{rotary}{more}"
        r = generator(name)
        inputs = operands(r, 4, 2, length, past, 0, rotary, (length + past,), past)
        inputs += [(n, None) for n in ("cos", "sin")[:0 if rotary else 2]]
        inputs += [("position_ids", None), ("attention_bias", None), ("head_sink", normal(r, 4))] if more == "sink" else []
        inputs = [(n, a.astype(np.float16) if a is not None and a.dtype == np.float32 else a) for n, a in inputs]
        given = {"num_heads": 4, "kv_num_heads": 2} | ({"do_rotary": 1} if rotary else {})
        given |= {"local_window_size": 3} if more == "window" else {}
        s.node(name, "GroupQueryAttention", inputs, ("Y", "present_key", "present_value"), given, rtol=4e-3, atol=2e-3)


def write(s):
    attention(s)
    halves(s)
