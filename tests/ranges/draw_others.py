"""Attention, samples, norms, signals, Einsum and what ONNX Runtime adds, in random models."""
import numpy as np
from onnx import TensorProto, helper

F = TensorProto.FLOAT
MS = "com.microsoft"
LAYERS = ["Einsum", "EinsumTwo", "Grid", "Regions", "Norms", "Neighbours", "Signal", "Heads", "MultiHead", "GroupQuery", "Rotary", "SkipNorm", "Embed", "Fused",
          "FewBlocks", "Recurrent", "Gelus", "Bits", "Trees", "Features"]
OF_WEIGHTS = ["abcd,de->abce", "abcd,ed->abce", "abcd,bde->abce", "abcd,abde->abce", "de,abcd->abce", "...d,de->...e", "abcd,bc->acd", "abcd,d->abcd", "abcd,bed->abce"]
OF_TWO = ["abcd,abed->abce", "abcd,abcd->abcd", "abcd,abde->abce", "abcd,cb->ad"]


class Others:
    """Layers over float32 values of shape [2, 4, 3, 3]."""

    def shaped(self, y):
        """Back to the shape that all values have: the first elements of y, repeated where there are too few."""
        y = self.node("Reshape", [y, self.dims(-1)])
        y = self.node("Tile", [y, self.dims(72)])
        return self.node("Reshape", [self.node("Slice", [y, self.dims(0), self.dims(72), self.dims(0)]), self.dims(2, 4, 3, 3)])

    def rows(self, x, *dims):
        return self.node("Reshape", [x, self.dims(*dims)])

    def some(self, x):
        return x if self.rng.random() < 0.3 else self.bounded()

    def layer_einsum(self, x):
        equation = str(self.rng.choice(OF_WEIGHTS))
        size = dict(a=2, b=4, c=3, d=3, e=3)
        first, second = equation.split("->")[0].split(",")
        weight = first if first == "de" else second
        w = self.weight(self.floats(*[size[k] for k in weight]))
        if weight == "de" and self.rng.random() < 0.4:
            w = self.dequantized((3, 3), int(self.rng.integers(2)))
            w = self.node("Transpose", [w]) if self.rng.random() < 0.5 else w
        y = self.channels(x) if self.rng.random() < 0.5 else self.some(x)
        y = self.node("Einsum", [w, y] if first == "de" else [y, w], equation=equation)
        return y if equation.endswith(("abce", "...e", "abcd")) else self.shaped(y)

    def layer_einsumtwo(self, x):
        equation = str(self.rng.choice(OF_TWO))
        other = self.bounded()
        if equation.endswith("ad"):
            other = self.node("Slice", [self.rows(other, -1), self.dims(0), self.dims(12), self.dims(0)])
            other = self.rows(other, 3, 4)
        return self.shaped(self.node("Einsum", [self.some(x), other], equation=equation))

    def layer_grid(self, x):
        grid = self.node("Mul", [self.bounded(), self.weight(np.float32(0.7))])
        grid = self.rows(self.node("Slice", [self.rows(grid, -1), self.dims(0), self.dims(36), self.dims(0)]), 2, 3, 3, 2)
        return self.node("GridSample", [self.channels(x), grid], mode=str(self.rng.choice(["linear", "nearest"])), align_corners=int(self.rng.integers(2)),
                         padding_mode=str(self.rng.choice(["zeros", "border", "reflection"])))

    def layer_regions(self, x):
        y = self.channels(x)
        rois = self.weight(self.rng.uniform(-1, 4, (2, 4)).astype(np.float32))
        if self.rng.random() < 0.7:
            return self.node("RoiAlign", [y, rois, self.dims(0, 1)], output_height=3, output_width=3, mode=str(self.rng.choice(["avg", "max"])),
                             sampling_ratio=int(self.rng.integers(3)))
        rois = self.weight(np.array([[0, 0, 0, 2, 2], [1, 1, 0, 2, 1]], np.float32))
        return self.node("MaxRoiPool", [y, rois], pooled_shape=[3, 3])

    def layer_norms(self, x):
        p = int(self.rng.choice([1, 2, 3]))
        kind = self.rng.integers(3)
        if kind == 0:
            return self.node("LpPool", [self.some(x)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], p=p)
        if kind == 1:
            return self.whole(self.node("GlobalLpPool", [self.some(x)], p=p))
        return self.node("LpNormalization", [x], axis=int(self.rng.integers(-1, 3)), p=1 + p % 2)

    def layer_neighbours(self, x):
        return self.node("LRN", [self.channels(x)], size=3, alpha=float(self.rng.choice([1e-4, 0.5])), beta=float(self.rng.choice([0.75, 0.3])),
                         bias=float(self.rng.choice([1, 2, 0.1])))

    def layer_signal(self, x):
        y = self.rows(self.some(x), 2, 36, 1)
        if self.rng.random() < 0.5:
            return self.shaped(self.node("DFT", [y, "", self.weight(np.array(1, np.int64))], inverse=0, onesided=int(self.rng.integers(2))))
        window = self.node(str(self.rng.choice(["HannWindow", "HammingWindow", "BlackmanWindow"])), [self.weight(np.array(12, np.int64))])
        return self.shaped(self.node("STFT", [y, self.weight(np.array(6, np.int64)), window]))

    def projected(self, shape):
        y = self.node("MatMul", [self.bounded(), self.weight(self.floats(3, 3))])
        return self.rows(y, *shape)

    def layer_heads(self, x):
        shape = (2, 4, 9) if self.rng.random() < 0.5 else (2, 4, 3, 3)
        more = dict(q_num_heads=3, kv_num_heads=3) if len(shape) == 3 else {}
        inputs = [self.projected(shape) for _ in range(3)]
        if self.rng.random() < 0.4:
            mask = np.where(self.rng.random((1, 1, shape[-2], shape[-2])) < 0.5, 0, -np.inf)
            mask[..., 0] = 0
            inputs.append(self.weight(mask.astype(np.float32)))
        self.opset = 23
        return self.shaped(self.node("Attention", inputs, **more))

    def layer_multihead(self, x):
        inputs = [self.projected((2, 4, 9)) for _ in range(3)]
        if self.rng.random() < 0.5:
            inputs.append(self.weight(self.floats(27)))
        return self.shaped(self.node("MultiHeadAttention", inputs, domain=MS, num_heads=3))

    def layer_groupquery(self, x):
        def first(*dims):
            y = self.node("Slice", [self.rows(self.bounded(), -1), self.dims(0), self.dims(int(np.prod(dims))), self.dims(0)])
            return self.rows(y, *dims)
        past = [self.weight(self.floats(2, 1, 2, 8)) for _ in range(2)]
        lengths = self.weight(np.array([2, 2], np.int32))
        y = self.node("GroupQueryAttention", [first(2, 1, 16), first(2, 1, 8), first(2, 1, 8), *past, lengths, self.weight(np.array(3, np.int32))],
                      outputs=3, domain=MS, num_heads=2, kv_num_heads=1)
        return self.shaped(y)

    def layer_rotary(self, x):
        y = self.rows(self.some(x), 2, 4, 9)
        y = self.rows(self.node("Slice", [self.node("Concat", [y, y], axis=2), self.dims(0), self.dims(16), self.dims(2)]), 2, 4, 16)
        angles = self.rng.uniform(-4, 4, (6, 8)).astype(np.float32)
        places = self.weight(self.rng.integers(0, 6, (2, 4)))
        caches = [self.weight(np.cos(angles)), self.weight(np.sin(angles))]
        if self.rng.random() < 0.5:
            self.opset = 23
            return self.shaped(self.node("RotaryEmbedding", [y, *caches, places], num_heads=1))
        return self.shaped(self.node("RotaryEmbedding", [y, places, *caches], domain=MS))

    def layer_skipnorm(self, x):
        op = str(self.rng.choice(["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"]))
        a, b = self.rows(x, 2, 4, 9), self.rows(self.bounded(), 2, 4, 9)
        inputs = [a, b, self.weight(self.floats(9))] + ([self.weight(self.floats(9))] if op == "SkipLayerNormalization" else [])
        y = self.node(op, inputs + [self.weight(self.floats(9))], outputs=4, domain=MS)
        self.nodes[-1].output[1] = self.nodes[-1].output[2] = ""
        return self.shaped(self.node("Add", [y, self.nodes[-1].output[3]]))

    def layer_embed(self, x):
        ids = self.weight(self.rng.integers(0, 5, (2, 4)).astype(np.int32))
        tables = [self.weight(self.floats(5, 9)), self.weight(self.floats(4, 9))]
        y = self.node("EmbedLayerNormalization", [ids, "", *tables, "", self.weight(self.floats(9)), self.weight(self.floats(9))], outputs=2, domain=MS)
        return self.shaped(y)

    def layer_fused(self, x):
        ta, tb = (int(k) for k in self.rng.integers(0, 2, 2))
        pair = [self.some(x), self.weight(self.floats(3, 3)) if self.rng.random() < 0.6 else self.bounded()]
        pair = pair[::-1] if self.rng.random() < 0.3 else pair
        return self.node("FusedMatMul", pair, domain=MS, transA=ta if not pair[0].startswith("w") else 0, transB=tb, alpha=float(self.rng.choice([1, -0.3, 4])))

    def layer_fewblocks(self, x):
        bits, n, k, size = int(self.rng.choice([4, 8])), 9, 32, 16
        y = self.rows(self.some(x), 2, 36)
        y = self.node("Slice", [y, self.dims(0), self.dims(k), self.dims(1)])
        inputs = [y, self.weight(self.rng.integers(0, 256, (n, k // size, size * bits // 8)).astype(np.uint8)), self.weight(self.steps(n * (k // size)))]
        if self.rng.random() < 0.5:
            inputs.append(self.weight(self.rng.integers(0, 256, n * ((k // size * bits + 7) // 8)).astype(np.uint8)))
        return self.shaped(self.node("MatMulNBits", inputs, domain=MS, N=n, K=k, bits=bits, block_size=size))

    def layer_recurrent(self, x):
        op = str(self.rng.choice(["LSTM", "GRU", "RNN"]))
        gates, hidden = dict(LSTM=4, GRU=3, RNN=1)[op], 3
        y = self.rows(self.some(x), 8, 3, 3)
        inputs = [y, self.weight(self.floats(1, gates * hidden, 3)), self.weight(self.floats(1, gates * hidden, hidden)), self.weight(self.floats(1, 2 * gates * hidden))]
        if self.rng.random() < 0.5:
            inputs += ["", self.weight(self.floats(1, 3, hidden))] + ([self.weight(self.floats(1, 3, hidden))] if op == "LSTM" else [])
        out = self.node(op, inputs, outputs=3 if op == "LSTM" else 2, hidden_size=hidden)
        return self.shaped(self.nodes[-1].output[2] if op == "LSTM" else out)

    def layer_gelus(self, x):
        op = str(self.rng.choice(["Gelu", "QuickGelu", "FastGelu", "BiasGelu"]))
        more = dict(alpha=float(self.rng.choice([1.702, 0.5, 3]))) if op == "QuickGelu" else {}
        bias = [self.weight(self.floats(3))] if op in ("FastGelu", "BiasGelu") else []
        return self.node(op, [self.channels(x)] + bias, domain=MS, **more)

    def layer_bits(self, x):
        q = [self.quantized(self.bounded(), np.uint8)[0] for _ in range(2)]
        q = [self.node("Cast", [k], to=TensorProto.INT32) for k in q]
        y = self.node(str(self.rng.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"])), q)
        return self.node("Cast", [y], to=F)

    def layer_trees(self, x):
        """Two trees of one test each, with two targets."""
        v = [float(k) for k in self.rng.uniform(-2, 2, 8)]
        attributes = dict(n_targets=2, nodes_treeids=[0] * 3 + [1] * 3, nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[0, 0, 0, 1, 0, 0],
                          nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2, nodes_values=[0.1, 0.0, 0.0, -0.2, 0.0, 0.0], nodes_truenodeids=[1, 0, 0] * 2,
                          nodes_falsenodeids=[2, 0, 0] * 2, target_treeids=[0, 0, 0, 1, 1, 1], target_nodeids=[1, 1, 2, 1, 2, 2],
                          target_ids=[0, 1, 0, 1, 0, 1], target_weights=v[:6])
        if self.rng.random() < 0.5:
            attributes["base_values"] = v[6:]
        return self.shaped(self.node("TreeEnsembleRegressor", [self.rows(x, 24, 3)], domain="ai.onnx.ml",
                                     aggregate_function=str(self.rng.choice(["SUM", "AVERAGE"])), **attributes))

    def layer_features(self, x):
        y = self.rows(self.some(x), 24, 3)
        if self.rng.random() < 0.5:
            numbers = [[float(k) for k in self.rng.uniform(-3, 3, 3)] for _ in range(2)]
            return self.shaped(self.node("Scaler", [y], domain="ai.onnx.ml", offset=numbers[0], scale=numbers[1]))
        return self.shaped(self.node("Normalizer", [y], domain="ai.onnx.ml", norm=str(self.rng.choice(["L1", "L2"]))))
