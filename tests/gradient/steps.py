"""Whole steps of training in one graph: a network of two layers, Gradient of its loss, an optimizer over all parameters;
and thirty of them in a Loop. Expected are the formulas of the operators' text in NumPy, with the derivatives by hand."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TRAINING = "ai.onnx.preview.training"
PARAMETERS = {"w1": (5, 7), "b1": (7,), "w2": (7, 3), "b2": (3,)}
OPTIMIZERS = {
    "adam": ("Adam", 2, dict(alpha=0.9, beta=0.99, epsilon=1e-3, norm_coefficient=0.01, norm_coefficient_post=0.02)),
    "momentum": ("Momentum", 1, dict(alpha=0.9, beta=0.8, norm_coefficient=0.01, mode="standard")),
    "nesterov": ("Momentum", 1, dict(alpha=0.9, beta=0.8, norm_coefficient=0.01, mode="nesterov")),
    "adagrad": ("Adagrad", 1, dict(epsilon=1e-3, decay_factor=0.1, norm_coefficient=0.01)),
}


def gradients(p, x, y):
    h = np.tanh(x @ p["w1"] + p["b1"])
    d2 = 2 * (h @ p["w2"] + p["b2"] - y) / y.size
    d1 = d2 @ p["w2"].T * (1 - h * h)
    return {"w1": x.T @ d1, "b1": d1.sum(0), "w2": h.T @ d2, "b2": d2.sum(0)}


def updated(op, a, rate, t, x, g, states):
    """A parameter and its states after one update, in the dtype of x."""
    f = lambda v: x.dtype.type(np.float32(v))  # noqa: E731 attributes are float32
    g = g + f(a["norm_coefficient"]) * x
    if op == "Adagrad":
        h = states[0] + g * g
        return x - rate / (1 + f(t) * f(a["decay_factor"])) * g / (np.sqrt(h) + f(a["epsilon"])), [h]
    alpha, beta = f(a["alpha"]), f(a["beta"])
    if op == "Momentum":
        v = alpha * states[0] + (beta if t > 0 else f(1)) * g
        return x - rate * (g + alpha * v if a["mode"] == "nesterov" else v), [v]
    v, h = alpha * states[0] + (1 - alpha) * g, beta * states[1] + (1 - beta) * g * g
    r = rate * np.sqrt(1 - beta ** f(t)) / (1 - alpha ** f(t)) if t > 0 else rate
    return (1 - f(a["norm_coefficient_post"])) * (x - r * v / (np.sqrt(h) + f(a["epsilon"]))), [v, h]


def step_nodes(op, nstates, attributes):
    """Parameters P and states P_v, P_h become P_new, P_v_new, P_h_new."""
    states = [f"_{s}" for s in "vh"[:nstates]]
    node = helper.make_node
    return [
        node("MatMul", ["x", "w1"], ["xw"]), node("Add", ["xw", "b1"], ["z1"]), node("Tanh", ["z1"], ["h1"]),
        node("MatMul", ["h1", "w2"], ["hw"]), node("Add", ["hw", "b2"], ["z2"]), node("Sub", ["z2", "y"], ["wrong"]),
        node("Mul", ["wrong", "wrong"], ["square"]), node("ReduceMean", ["square"], ["loss"], keepdims=0),
        node("Gradient", list(PARAMETERS), [f"{p}_g" for p in PARAMETERS], domain=TRAINING, xs=list(PARAMETERS), y="loss"),
        node(op, ["rate", "t", *(p + s for s in ("", "_g", *states) for p in PARAMETERS)],
             [p + s + "_new" for s in ("", *states) for p in PARAMETERS], domain=TRAINING, **attributes)]


def model_of(nodes, dtype, values, outputs, looped):
    kind = TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
    info = lambda n, v, s="": helper.make_tensor_value_info(  # noqa: E731
        n + s, TensorProto.INT64 if v.dtype == np.int64 else kind, v.shape)
    if looped:
        carried = [n for n in values if n.split("_")[0] in PARAMETERS]
        body = helper.make_graph(
            [helper.make_node("Identity", ["go"], ["more"]), *nodes], "body",
            [helper.make_tensor_value_info("t", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
             *(info(n, values[n]) for n in carried)],
            [helper.make_tensor_value_info("more", TensorProto.BOOL, []), *(info(n, values[n], "_new") for n in carried)])
        nodes = [helper.make_node("Loop", ["steps", "", *(n + "_0" for n in carried)], [n + "_new" for n in carried], body=body)]
        inputs = [info(n, v, "_0" if n in carried else "") for n, v in values.items() if n != "t"]
        weights = [numpy_helper.from_array(np.array(looped, np.int64), "steps")]
    else:
        inputs, weights = [info(n, v) for n, v in values.items()], []
    graph = helper.make_graph(nodes, "training", inputs, [info(n, v) for n, v in outputs.items()], weights)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)])


def train(s, rng):
    for name, (op, nstates, attributes) in OPTIMIZERS.items():
        for dtype in (np.float32, np.float64):
            for looped, t in ((0, 0 if dtype == np.float32 else 3), (30, 0)):
                draw = lambda shape: rng.normal(size=shape).astype(dtype)  # noqa: E731
                values = {"rate": dtype(0.05) * np.ones((), dtype), "t": np.array(t, np.int64), "x": draw((16, 5)), "y": draw((16, 3)),
                          **{p: draw(d) for p, d in PARAMETERS.items()}}
                values |= {f"{p}_{k}": np.abs(draw(d)) for k in "vh"[:nstates] for p, d in PARAMETERS.items()}
                now = dict(values)
                for k in range(t, t + max(looped, 1)):
                    g = gradients(now, values["x"], values["y"])
                    for p in PARAMETERS:
                        old = [now[f"{p}_{k_}"] for k_ in "vh"[:nstates]]
                        now[p], new = updated(op, attributes, values["rate"], k, now[p], g[p], old)
                        now |= {f"{p}_{k_}": v for k_, v in zip("vh", new)}
                order = [p + k_ for k_ in ("", *(f"_{c}" for c in "vh"[:nstates])) for p in PARAMETERS]
                outputs = {n + "_new": np.asarray(now[n], dtype) for n in order}
                model = model_of(step_nodes(op, nstates, attributes), dtype, values, outputs, looped)
                given = {n: v for n, v in values.items() if n != "t" or not looped}
                double = dtype == np.float64
                # Each step rounds parameters near 1, of which a small one is what is left.
                s.save(f"{name}_{dtype.__name__}_{'loop' if looped else f'after_{t}'}", model, given, outputs,
                       1e-9 if double else 2e-5 * max(1, looped // 5), 1e-7 if double else max(1e-7, looped * 2.0**-24))
