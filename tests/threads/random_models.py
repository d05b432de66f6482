"""Random networks of random floats: functions, sums, products, windows and recurrences that feed one another."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

UNARY = ("Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Atan", "Softplus", "Mish", "HardSwish", "Elu", "Gelu", "Relu", "Neg", "Floor",
         "Softsign", "Selu")
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Div", "Pow")
REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare")


class Network:
    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.values, self.used = rng, [], [], [], set()
        self.inputs = []
        for _ in range(2):
            shape = [int(rng.integers(1, 4)), int(rng.integers(3, 9)), *map(int, rng.integers(7, 40, 2))]
            shape = shape[:int(rng.integers(2, 5))]
            self.inputs.append((f"x{len(self.inputs)}", shape))
            self.values.append(self.inputs[-1])

    def choice(self, some):
        return some[int(self.rng.integers(len(some)))]

    def weight(self, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def floats(self, *dims):
        return self.weight(self.rng.standard_normal(dims).astype(np.float32))

    def node(self, op, operands, shape, outputs=None, keep=True, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, outputs(name) if outputs else [name], **attributes))
        self.used.update(operands)
        if keep:
            self.values.append((name, list(shape)))
        return name

    def step(self):
        x, shape = self.values[max(int(self.rng.integers(len(self.values))) for _ in range(2))]
        kinds = [self.unary, self.binary, self.reduce, self.normalize, self.product, self.move]
        kinds += [self.window] * 2 if len(shape) == 4 else [self.recurrent] if len(shape) == 3 else []
        self.choice(kinds)(x, shape)

    def unary(self, x, shape):
        self.node(self.choice(UNARY), [x], shape)

    def binary(self, x, shape):
        op = self.choice(BINARY)
        dims = [n if self.rng.random() < 0.5 else 1 for n in shape]
        y = self.floats(*dims[int(self.rng.integers(len(dims))):])
        if op == "Pow":
            x = self.node("Abs", [x], shape, keep=False)
        self.node(op, [x, y], shape)

    def reduce(self, x, shape):
        axis = int(self.rng.integers(len(shape)))
        axes = self.weight(np.array([axis], np.int64))
        self.node(self.choice(REDUCE), [x, axes], shape[:axis] + [1] + shape[axis + 1:])

    def normalize(self, x, shape):
        op, axis = self.choice(("Softmax", "LogSoftmax", "LayerNormalization", "CumSum")), int(self.rng.integers(len(shape)))
        if op == "CumSum":
            self.node(op, [x, self.weight(np.array(axis, np.int64))], shape)
        elif op == "LayerNormalization":
            self.node(op, [x, self.floats(shape[-1]), self.floats(shape[-1])], shape, axis=-1)
        else:
            self.node(op, [x], shape, axis=axis)

    def product(self, x, shape):
        n = int(self.rng.integers(1, 70))
        self.node("MatMul", [x, self.floats(shape[-1], n)], shape[:-1] + [n])

    def move(self, x, shape):
        if self.rng.random() < 0.5:
            order = [int(k) for k in self.rng.permutation(len(shape))]
            self.node("Transpose", [x], [shape[k] for k in order], perm=order)
        else:
            self.node("Concat", [x, x], shape[:-1] + [2 * shape[-1]], axis=-1)

    def window(self, x, shape):
        n, c, h, w = shape
        if min(h, w) < 3:
            return self.unary(x, shape)
        if self.rng.random() < 0.3:
            return self.node(self.choice(("MaxPool", "AveragePool")), [x], shape, kernel_shape=[3, 3], pads=[1] * 4)
        deep = self.rng.random() < 0.3
        m = c if deep else int(self.rng.integers(1, 40))
        self.node("Conv", [x, self.floats(m, 1 if deep else c, 3, 3), self.floats(m)], [n, m, h, w], pads=[1] * 4,
                  group=c if deep else 1)

    def recurrent(self, x, shape):
        op, size = self.choice(("LSTM", "GRU", "RNN")), int(self.rng.integers(2, 12))
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        weights = [self.floats(1, gates * size, shape[2]), self.floats(1, gates * size, size)]
        self.node(op, [x, *weights], [shape[0], 1, shape[1], size], hidden_size=size)


def write(folder, seed, steps=14):
    """A model, and one set of inputs beside it."""
    rng = np.random.default_rng(seed)
    net = Network(rng)
    for _ in range(steps):
        net.step()
    ends = [(n, s) for n, s in net.values if n not in net.used]
    graph = helper.make_graph(
        net.nodes, "random", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in net.inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ends], net.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for k, (name, shape) in enumerate(net.inputs):
        value = numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        (data / f"input_{k}.pb").write_bytes(value.SerializeToString())
    return folder
