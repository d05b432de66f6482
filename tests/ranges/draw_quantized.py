"""Quantized operators in random models: Q and DQ around products, integer products, and what ONNX Runtime adds."""
import numpy as np
from onnx import TensorProto, helper

F = TensorProto.FLOAT
MS = "com.microsoft"
LAYERS = ["Pairs", "QdqConv", "QdqMatMul", "QdqGemm", "Before", "Blocks", "ConvInteger", "MatMulInteger", "Dynamic", "QLinearConv", "QLinearMatMul",
          "Integers", "Elementwise", "FewBits"]


class Quantized:
    """Layers over float32 values of shape [2, 4, 3, 3]."""

    def integers(self, dtype, *dims):
        info = np.iinfo(dtype)
        part = self.rng.choice([1, 4])
        return self.rng.integers(info.min // part, info.max // part, dims, dtype, endpoint=True)

    def steps(self, *dims):
        return (self.rng.uniform(0.2, 1, dims) * self.rng.choice([0.001, 0.02, 0.3])).astype(np.float32)

    def kind(self):
        return self.rng.choice([np.uint8, np.int8])

    def zero(self, dtype, *dims):
        """Zero points; sometimes 0."""
        return np.zeros(dims, dtype) if self.rng.random() < 0.4 else self.integers(dtype, *dims)

    def pair(self, x, dtype=None):
        """x through Q and DQ."""
        q, scale, zero = self.quantized(x, dtype)
        return self.node("DequantizeLinear", [q, scale, zero])

    def quantized(self, x, dtype=None):
        dtype = dtype or self.kind()
        scale, zero = self.weight(self.steps()), self.weight(self.zero(dtype))
        return self.node("QuantizeLinear", [x, scale, zero]), scale, zero

    def dequantized(self, dims, axis, dtype=None):
        """Constant weights behind a DQ, one scale for each index of the axis or one for all."""
        dtype = dtype or self.kind()
        many = (dims[axis],) if self.rng.random() < 0.75 else ()
        inputs = [self.weight(self.integers(dtype, *dims)), self.weight(self.steps(*many))]
        if self.rng.random() < 0.6:
            inputs.append(self.weight(self.zero(dtype, *many)))
        return self.node("DequantizeLinear", inputs, axis=int(self.rng.choice([axis, axis - len(dims)])))

    def bias(self, n):
        many = (n,) if self.rng.random() < 0.7 else ()
        return self.node("DequantizeLinear", [self.weight(self.rng.integers(-2000, 2000, n).astype(np.int32)), self.weight(self.steps(*many))], axis=0)

    def layer_pairs(self, x):
        y = self.channels(x) if self.rng.random() < 0.7 else x
        if self.rng.random() < 0.5:
            return self.pair(y)
        dtype = self.kind()
        scale, zero = self.weight(self.steps(4)), self.weight(self.zero(dtype, 4))
        q = self.node("QuantizeLinear", [y, scale, zero], axis=1)
        q = self.node(str(self.rng.choice(["Identity", "Transpose", "MaxPool"])), [q]) if self.rng.random() < 0.3 else q
        op = self.nodes[-1].op_type
        if op == "MaxPool":
            self.nodes[-1].attribute.extend([helper.make_attribute("kernel_shape", [3, 3]), helper.make_attribute("pads", [1, 1, 1, 1])])
        if op == "Transpose":
            self.nodes[-1].attribute.append(helper.make_attribute("perm", [0, 1, 3, 2]))
        return self.node("DequantizeLinear", [q, scale, zero], axis=int(self.rng.choice([1, -3])))

    def layer_qdqconv(self, x):
        group = int(self.rng.choice([1, 2, 4]))
        y = self.pair(self.channels(x) if self.rng.random() < 0.5 else x)
        inputs = [y, self.dequantized((4, 4 // group, 3, 3), 0)] + ([self.bias(4)] if self.rng.random() < 0.7 else [])
        op = "Conv" if self.rng.random() < 0.7 else "ConvTranspose"
        if op == "ConvTranspose":
            inputs[1:2] = [self.dequantized((4, 4 // group, 3, 3), int(self.rng.integers(2)))]
        return self.node(op, inputs, pads=[1, 1, 1, 1], group=group)

    def layer_qdqmatmul(self, x):
        y = self.pair(x)
        if self.rng.random() < 0.5:
            return self.node("MatMul", [y, self.dequantized((3, 3), int(self.rng.integers(2)))])
        return self.node("MatMul", [y, self.node("Transpose", [self.dequantized((3, 3), 0)], perm=[1, 0])])

    def layer_qdqgemm(self, x):
        flat, trans = self.node("Reshape", [self.pair(x), self.dims(8, 9)]), int(self.rng.integers(2))
        w = self.dequantized((9, 9), int(self.rng.integers(2)))
        w = self.node("Transpose", [w]) if self.rng.random() < 0.3 else w
        y = self.node("Gemm", [flat, w, self.bias(9)], transB=trans, alpha=float(self.rng.choice([1, -0.5])), beta=float(self.rng.choice([1, 2])))
        return self.node("Reshape", [y, self.dims(2, 4, 3, 3)])

    def layer_before(self, x):
        """A constant matrix as the first factor."""
        w = self.weight(self.floats(3, 3)) if self.rng.random() < 0.5 else self.dequantized((3, 3), int(self.rng.integers(2)))
        if self.rng.random() < 0.5:
            return self.node("MatMul", [w, self.node("MatMul", [self.bounded(), self.weight(self.floats(3, 3))])])
        flat = self.node("Reshape", [self.bounded(), self.dims(9, 8)])
        ta, tb = (int(k) for k in self.rng.integers(0, 2, 2))
        flat = self.node("Transpose", [flat]) if tb else flat
        a = self.weight(self.floats(9, 9)) if self.rng.random() < 0.5 else self.dequantized((9, 9), 0)
        y = self.node("Gemm", [a, flat, self.weight(self.floats(*[(9, 1), (8,), ()][self.rng.integers(3)]))], transA=ta, transB=tb, alpha=0.5)
        return self.node("Reshape", [y, self.dims(2, 4, 3, 3)])

    def layer_blocks(self, x):
        """Blocks of two rows or columns with a scale each."""
        axis, dims = int(self.rng.integers(2)), (3, 3)
        of = [2 if k == axis else 3 for k in range(2)]
        w = self.node("DequantizeLinear", [self.weight(self.integers(np.int8, *dims)), self.weight(self.steps(*of)), self.weight(self.zero(np.int8, *of))],
                      axis=axis, block_size=2)
        return self.node("MatMul", [x if self.rng.random() < 0.3 else self.bounded(), w])

    def layer_fewbits(self, x):
        """Weights of 4 bits."""
        raw = self.rng.integers(-8, 8, (3, 3))
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.INT4, (3, 3), raw.flatten().tolist()))
        w = self.node("DequantizeLinear", [name, self.weight(self.steps(3))], axis=1)
        return self.node("MatMul", [self.bounded(), w])

    def layer_convinteger(self, x):
        dtype, group = self.kind(), int(self.rng.choice([1, 2]))
        q, scale, zero = self.quantized(self.channels(x), np.uint8)
        w = self.weight(self.integers(dtype, 4, 4 // group, 3, 3))
        inputs = [q, w] + ([zero] if self.rng.random() < 0.7 else [])
        if len(inputs) == 3 and self.rng.random() < 0.7:
            inputs.append(self.weight(self.zero(dtype)))
        y = self.node("ConvInteger", inputs, pads=[1, 1, 1, 1], group=group)
        return self.node("Mul", [self.node("Cast", [y], to=F), scale])

    def layer_matmulinteger(self, x):
        dtype = self.kind()
        q, scale, zero = self.quantized(x, np.uint8)
        w = self.weight(self.integers(dtype, 3, 3)) if self.rng.random() < 0.7 else self.quantized(self.bounded(), dtype)[0]
        inputs = [q, w] + ([zero] if self.rng.random() < 0.7 else [])
        if len(inputs) == 3 and self.rng.random() < 0.7:
            many = (3,) if self.rng.random() < 0.5 and w.startswith("w") else ()
            inputs.append(self.weight(self.zero(dtype, *many)))
        y = self.node("MatMulInteger", inputs)
        return self.node("Mul", [self.node("Cast", [y], to=F), scale])

    def layer_dynamic(self, x):
        x = self.bounded()
        if self.rng.random() < 0.4:
            b = [self.weight(self.integers(np.int8, 3, 3)), self.weight(self.steps(3)), self.weight(np.zeros(3, np.int8)), self.weight(self.floats(3))]
            return self.node("DynamicQuantizeMatMul", [x] + b[:self.rng.integers(2, 5)], domain=MS)
        q = self.node("DynamicQuantizeLinear", [x], outputs=3)
        scale, zero = self.nodes[-1].output[1:]
        w = self.weight(self.integers(np.int8, 3, 3))
        if self.rng.random() < 0.4:
            b = [q, w, scale, self.weight(self.steps()), zero, self.weight(np.int8(0)), self.weight(self.floats(3))]
            return self.node("MatMulIntegerToFloat", b[:self.rng.integers(5, 8)], domain=MS)
        y = self.node("Cast", [self.node("MatMulInteger", [q, w, zero])], to=F)
        return self.node("Mul", [y, self.node("Mul", [scale, self.weight(self.steps(3))])])

    def layer_qlinearconv(self, x):
        q, scale, zero = self.quantized(self.channels(x), np.uint8)
        dtype, group = self.kind(), int(self.rng.choice([1, 2]))
        many = (4,) if self.rng.random() < 0.5 and dtype is np.int8 else ()
        w = [self.weight(self.integers(dtype, 4, 4 // group, 3, 3)), self.weight(self.steps(*many)), self.weight(np.zeros(many, dtype) if many else self.zero(dtype))]
        out = [self.weight(self.steps() * 20), self.weight(self.zero(np.uint8))]
        bias = [self.weight(self.rng.integers(-2000, 2000, 4).astype(np.int32))] if self.rng.random() < 0.6 else []
        y = self.node("QLinearConv", [q, scale, zero] + w + out + bias, pads=[1, 1, 1, 1], group=group)
        return self.node("DequantizeLinear", [y] + out)

    def layer_qlinearmatmul(self, x):
        q, scale, zero = self.quantized(x, np.uint8)
        dtype = self.kind()
        many = (3,) if self.rng.random() < 0.5 else ()
        w = [self.weight(self.integers(dtype, 3, 3)), self.weight(self.steps(*many)), self.weight(np.zeros(many, dtype) if many else self.zero(dtype))]
        out = [self.weight(self.steps() * 20), self.weight(self.zero(np.uint8))]
        return self.node("DequantizeLinear", [self.node("QLinearMatMul", [q, scale, zero] + w + out)] + out)

    def layer_integers(self, x):
        """int32 with bounds for each channel, through what moves and adds them."""
        q, scale, zero = self.quantized(self.channels(x), np.uint8)
        y = self.node("ConvInteger", [q, self.weight(self.integers(np.int8, 4, 4, 1, 1)), zero])
        y = self.node(str(self.rng.choice(["Abs", "Neg", "Identity", "Relu"])), [y])
        y = self.node("Add", [y, self.weight(self.rng.integers(-99, 99, (4, 1, 1)).astype(np.int32))])
        y = self.node("Mul", [y, self.weight(np.int32(self.rng.choice([3, 1 << 12, 1 << 20])))])
        return self.node("Mul", [self.node("Cast", [y], to=F), scale])

    def layer_elementwise(self, x):
        """What ONNX Runtime has for quantized operands."""
        a, b = self.quantized(x, np.uint8), self.quantized(self.bounded(), np.uint8)
        out = (self.weight(self.steps()), self.weight(self.zero(np.uint8)))
        kind = self.rng.integers(6)
        if kind == 0:
            y = self.node(str(self.rng.choice(["QLinearAdd", "QLinearMul"])), [*a, *b, *out], domain=MS)
        elif kind == 1:
            y = self.node("QLinearSigmoid", [*a, *out], domain=MS)
        elif kind == 2:
            y = self.node("QLinearLeakyRelu", [*a, *out], domain=MS, alpha=0.1)
        elif kind == 3:
            y = self.node("QLinearConcat", [*out, *a, *b], domain=MS, axis=1)
            y = self.node("Slice", [y, self.dims(1), self.dims(5), self.dims(1)])
        elif kind == 4:
            y = self.node("QLinearAveragePool", [*a, *out], domain=MS, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=int(self.rng.integers(2)))
        else:
            y = self.node("QLinearWhere", [self.node("Less", [x, self.weight(self.floats())]), *a, *b, *out], domain=MS)
        return self.node("DequantizeLinear", [y, *out])
