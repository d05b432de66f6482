#!/usr/bin/env python3
"""Trains the digit classifier of this folder and writes digits.onnx, broken.onnx and the sample image.

    pip install numpy scikit-learn onnx && python3 train.py

Two convolutions with batch normalization on scikit-learn's 8x8 digits, in plain NumPy: forward, backward and
Adam are written out below. 20 % of the data is held out and never trained on.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

RNG = np.random.default_rng(7)
EPS = 1e-5


def patches(x):
    """3x3 patches of x [N, C, H, W] with padding 1: [N, H, W, C * 9]."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def unpatch(d, shape):
    """The adjoint of patches."""
    n, c, h, w = shape
    d = d.reshape(n, h, w, c, 3, 3)
    out = np.zeros((n, c, h + 2, w + 2))
    for i in range(3):
        for j in range(3):
            out[:, :, i:i + h, j:j + w] += d[:, :, :, :, i, j].transpose(0, 3, 1, 2)
    return out[:, :, 1:-1, 1:-1]


class Net:
    def __init__(self):
        def he(*shape, fan):
            return RNG.normal(0, np.sqrt(2 / fan), shape)

        self.p = {
            "w1": he(9, 16, fan=9), "g1": np.ones(16), "b1": np.zeros(16),
            "w2": he(144, 32, fan=144), "g2": np.ones(32), "b2": np.zeros(32),
            "w3": he(512, 10, fan=512), "b3": np.zeros(10),
        }
        self.running = {"m1": np.zeros(16), "v1": np.ones(16), "m2": np.zeros(32), "v2": np.ones(32)}

    def norm(self, x, i, train):
        if train:
            m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
            for key, value in ((f"m{i}", m), (f"v{i}", v)):
                self.running[key] = 0.9 * self.running[key] + 0.1 * value
        else:
            m, v = self.running[f"m{i}"], self.running[f"v{i}"]
        xhat = (x - m) / np.sqrt(v + EPS)
        return self.p[f"g{i}"] * xhat + self.p[f"b{i}"], (xhat, v)

    def forward(self, x, train=False):
        p, t = self.p, {}
        t["x1"] = patches(x)
        a, t["n1"] = self.norm(t["x1"] @ p["w1"], 1, train)
        t["r1"] = np.maximum(a, 0)
        n = len(x)
        blocks = t["r1"].reshape(n, 4, 2, 4, 2, 16)
        t["pool"] = blocks.max((2, 4))
        t["mask"] = blocks == t["pool"][:, :, None, :, None]
        t["x2"] = patches(t["pool"].transpose(0, 3, 1, 2))
        a, t["n2"] = self.norm(t["x2"] @ p["w2"], 2, train)
        t["r2"] = np.maximum(a, 0)
        t["flat"] = t["r2"].transpose(0, 3, 1, 2).reshape(n, 512)
        z = t["flat"] @ p["w3"] + p["b3"]
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), t

    def norm_back(self, d, i, t, g):
        xhat, v = t[f"n{i}"]
        g[f"g{i}"], g[f"b{i}"] = (d * xhat).sum((0, 1, 2)), d.sum((0, 1, 2))
        d = d * self.p[f"g{i}"]
        return (d - d.mean((0, 1, 2)) - xhat * (d * xhat).mean((0, 1, 2))) / np.sqrt(v + EPS)

    def backward(self, probabilities, labels, t):
        g, n = {}, len(labels)
        d = probabilities.copy()
        d[np.arange(n), labels] -= 1
        d /= n
        g["w3"], g["b3"] = t["flat"].T @ d, d.sum(0)
        d = (d @ self.p["w3"].T).reshape(n, 32, 4, 4).transpose(0, 2, 3, 1) * (t["r2"] > 0)
        d = self.norm_back(d, 2, t, g)
        g["w2"] = t["x2"].reshape(-1, 144).T @ d.reshape(-1, 32)
        d = unpatch(d @ self.p["w2"].T, (n, 16, 4, 4)).transpose(0, 2, 3, 1)
        d = (t["mask"] * d[:, :, None, :, None]).reshape(n, 8, 8, 16) * (t["r1"] > 0)
        d = self.norm_back(d, 1, t, g)
        g["w1"] = t["x1"].reshape(-1, 9).T @ d.reshape(-1, 16)
        return g


def train(net, x, y, epochs=40, rate=3e-3):
    m = {k: np.zeros_like(v) for k, v in net.p.items()}
    v = {k: np.zeros_like(a) for k, a in net.p.items()}
    step = 0
    for epoch in range(epochs):
        if epoch == epochs * 2 // 3:
            rate /= 10
        order = RNG.permutation(len(x))
        for i in range(0, len(x), 64):
            batch = order[i:i + 64]
            probabilities, t = net.forward(x[batch], train=True)
            step += 1
            for k, d in net.backward(probabilities, y[batch], t).items():
                d = d + (1e-4 * net.p[k] if k[0] == "w" else 0)
                m[k] = 0.9 * m[k] + 0.1 * d
                v[k] = 0.999 * v[k] + 0.001 * d * d
                net.p[k] -= rate * (m[k] / (1 - 0.9**step)) / (np.sqrt(v[k] / (1 - 0.999**step)) + 1e-8)


def export(net, scale_type, path):
    """The graph as an exporter writes it: dynamic batch, BatchNormalization unfolded, Softmax at the end."""
    f32 = {k: v.astype(np.float32) for k, v in {**net.p, **net.running}.items()}
    weights = {
        "input.scale": np.array([16], dtype=scale_type),
        "conv1.weight": f32["w1"].reshape(1, 3, 3, 16).transpose(3, 0, 1, 2),
        "conv2.weight": f32["w2"].reshape(16, 3, 3, 32).transpose(3, 0, 1, 2),
        "bn1.scale": f32["g1"], "bn1.bias": f32["b1"], "bn1.mean": f32["m1"], "bn1.var": f32["v1"],
        "bn2.scale": f32["g2"], "bn2.bias": f32["b2"], "bn2.mean": f32["m2"], "bn2.var": f32["v2"],
        "fc.weight": f32["w3"].T, "fc.bias": f32["b3"],
    }
    node = helper.make_node
    nodes = [
        node("Div", ["image", "input.scale"], ["scaled"], "/scale/Div"),
        node("Conv", ["scaled", "conv1.weight"], ["c1"], "/conv1/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c1", "bn1.scale", "bn1.bias", "bn1.mean", "bn1.var"], ["n1"], "/bn1/BatchNormalization"),
        node("Relu", ["n1"], ["r1"], "/relu1/Relu"),
        node("MaxPool", ["r1"], ["p1"], "/pool/MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "conv2.weight"], ["c2"], "/conv2/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c2", "bn2.scale", "bn2.bias", "bn2.mean", "bn2.var"], ["n2"], "/bn2/BatchNormalization"),
        node("Relu", ["n2"], ["r2"], "/relu2/Relu"),
        node("Flatten", ["r2"], ["flat"], "/Flatten"),
        node("Gemm", ["flat", "fc.weight", "fc.bias"], ["scores"], "/fc/Gemm", transB=1),
        node("Softmax", ["scores"], ["probabilities"], "/Softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="cameo-digits")
    model.ir_version = 8
    onnx.save(model, path)
    return model


def main():
    data = load_digits()
    x = data.images[:, None] / 16
    order = np.random.default_rng(1).permutation(len(x))
    held, rest = order[:len(x) // 5], order[len(x) // 5:]
    net = Net()
    train(net, x[rest], data.target[rest])
    probabilities, _ = net.forward(x[held])
    right = (probabilities.argmax(1) == data.target[held]).mean()
    print(f"right on the held-out {len(held)} images: {right:.2%}")
    assert right >= 0.97
    model = export(net, np.float32, "digits.onnx")
    onnx.checker.check_model(model, full_check=True)
    export(net, np.float64, "broken.onnx")  # what a float64 constant from NumPy does to a model
    sample = next(i for i in held if data.target[i] == 7)
    image = data.images[sample].astype(np.float32)
    np.save("image.npy", image[None, None])
    np.savez("heldout.npz", image=data.images[held, None].astype(np.uint8), label=data.target[held].astype(np.uint8))
    with open("image.pgm", "w") as f:
        f.write("P2\n8 8\n16\n" + "\n".join(" ".join(str(int(v)) for v in row) for row in image) + "\n")


if __name__ == "__main__":
    main()
