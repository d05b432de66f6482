"""RNN, GRU and LSTM, by their equations in float64."""
import numpy as np

import draw
from recipes import recipe

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {
    "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)), "Softplus": lambda x: np.log1p(np.exp(x)),
    "HardSigmoid": lambda x: np.clip(np.float32(0.2) * x + 0.5, 0, 1),
    "Affine": lambda x: np.float64(0.5) * x + 0.25, "LeakyRelu": lambda x: np.where(x < 0, 0.25 * x, x),
    "ScaledTanh": lambda x: 0.5 * np.tanh(1.5 * x), "Elu": lambda x: np.where(x < 0, np.exp(x) - 1, x),
    "ThresholdedRelu": lambda x: np.where(x >= 0.5, x, 0),
}
PARAMETERS = {"HardSigmoid": (0.2, 0.5), "Affine": (0.5, 0.25), "LeakyRelu": (0.25, None),
              "ScaledTanh": (0.5, 1.5), "Elu": (1.0, None), "ThresholdedRelu": (0.5, None)}


def small(shape):
    return lambda rng, extreme: rng.integers(-8, 9, shape) / 8


@recipe("RNN", "GRU", "LSTM")
def recurrent(d):
    name = d.dtype("T")
    d.types["T1"] = "int32"
    direction = d.choice(["forward", "reverse", "bidirectional"])
    dirs = 2 if direction == "bidirectional" else 1
    layout = d.integer(0, 1) if d.chance(0.4) else 0
    seq, batch, size, hidden = d.integer(1, 4), d.integer(1, 3), d.integer(1, 3), d.integer(1, 3)
    g = GATES[d.op]

    def place(*shape):  # batch first with layout 1
        return (shape[1], shape[0], *shape[2:]) if layout else shape
    d.input(name, place(seq, batch, size), small(place(seq, batch, size)))
    for shape in ((dirs, g * hidden, size), (dirs, g * hidden, hidden)):
        d.input(name, shape, small(shape))
    optional(d, name, (dirs, 2 * g * hidden))
    if d.chance(0.5):
        d.input("int32", (batch,), lambda rng, extreme: rng.integers(1, seq + 1, batch))
    else:
        d.skip()
    optional(d, name, place(dirs, batch, hidden))
    if d.op == "LSTM":
        optional(d, name, place(dirs, batch, hidden))
        optional(d, name, (dirs, 3 * hidden))
    d.outputs = d.integer(1, 3 if d.op == "LSTM" else 2)
    d.attr("hidden_size", hidden)
    d.attr("direction", direction, 1.0 if direction != "forward" else 0.4)
    d.attr("layout", layout, 1.0 if layout else 0.3)
    functions = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[d.op] * dirs
    if d.chance(0.4):
        functions = [d.choice(list(FUNCTIONS)) for _ in functions]
        d.attr("activations", functions)
        alpha = [PARAMETERS[f][0] for f in functions if f in PARAMETERS]
        beta = [PARAMETERS[f][1] for f in functions if f in PARAMETERS and PARAMETERS[f][1] is not None]
        if alpha:
            d.attr("activation_alpha", alpha)
        if beta:
            d.attr("activation_beta", beta)
    clip = None
    if d.chance(0.25):
        clip = d.choice([0.5, 1.0])
        d.attr("clip", clip)
    if d.op == "GRU":
        d.attr("linear_before_reset", d.integer(0, 1), 0.6)
    if d.op == "LSTM":
        d.attr("input_forget", d.integer(0, 1), 0.3)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 4.0, seq * (size + hidden), 2.0, True
    d.oracle = lambda d, arrays: computed(d, arrays, dirs, hidden, layout, functions, clip)


def optional(d, name, shape):
    if d.chance(0.5):
        d.input(name, shape, small(shape))
    else:
        d.skip()


def computed(d, arrays, dirs, hidden, layout, functions, clip):
    arrays = [None if a is None else a.astype(np.float64) for a in arrays] + [None] * 8
    x, w, r, bias, lengths, h0, c0, peep = arrays[:8]
    if layout:
        x = x.swapaxes(0, 1)
        h0, c0 = (None if v is None else v.swapaxes(0, 1) for v in (h0, c0))
    seq, batch = x.shape[:2]
    g = GATES[d.op]
    y = np.zeros((seq, dirs, batch, hidden))
    last = np.zeros((dirs, batch, hidden))
    cells = np.zeros((dirs, batch, hidden))
    per = len(functions) // dirs
    for k in range(dirs):
        backward = k == 1 or d.attrs.get("direction") == "reverse"
        f = [FUNCTIONS[n] for n in functions[k * per:(k + 1) * per]]
        b = np.zeros(2 * g * hidden) if bias is None else bias[k]
        for n in range(batch):
            h = np.zeros(hidden) if h0 is None else h0[k, n]
            c = np.zeros(hidden) if c0 is None else c0[k, n]
            count = seq if lengths is None else int(lengths[n])
            for t in (range(count - 1, -1, -1) if backward else range(count)):
                h, c = step(d, x[t, n], h, c, w[k], r[k], b, None if peep is None else peep[k], f, clip)
                y[t, k, n] = h
            last[k, n], cells[k, n] = h, c
    if layout:
        return [y.transpose(2, 0, 1, 3), last.swapaxes(0, 1), cells.swapaxes(0, 1)][:d.count()]
    return [y, last, cells][:d.count()]


def step(d, x, h, c, w, r, b, peep, f, clip):
    """One step of one sequence: the equations of the specification."""
    hidden = len(h)

    def cut(v):
        return v if clip is None else np.clip(v, -clip, clip)

    def part(v, k):
        return v[k * hidden:(k + 1) * hidden]
    g = GATES[d.op]
    wb, rb = b[:g * hidden], b[g * hidden:]
    if d.op == "RNN":
        return f[0](cut(w @ x + r @ h + wb + rb)), c
    if d.op == "GRU":
        z, reset = (f[0](cut(part(w, k) @ x + part(r, k) @ h + part(wb, k) + part(rb, k))) for k in (0, 1))
        if d.attrs.get("linear_before_reset", 0):
            new = part(w, 2) @ x + reset * (part(r, 2) @ h + part(rb, 2)) + part(wb, 2)
        else:
            new = part(w, 2) @ x + part(r, 2) @ (reset * h) + part(rb, 2) + part(wb, 2)
        return (1 - z) * f[1](cut(new)) + z * h, c
    p = np.zeros(3 * hidden) if peep is None else peep
    gates = [part(w, k) @ x + part(r, k) @ h + part(wb, k) + part(rb, k) for k in range(4)]
    i = f[0](cut(gates[0] + part(p, 0) * c))
    forget = f[0](cut(gates[2] + part(p, 2) * c))
    if d.attrs.get("input_forget", 0):
        forget = 1 - i
    new = forget * c + i * f[1](cut(gates[3]))
    o = f[0](cut(gates[1] + part(p, 1) * new))
    return o * f[2](cut(new)), new


assert draw
