"""Language models as onnxruntime-genai writes them, for make_models.py: MatMulNBits or MatMul, GroupQueryAttention that turns
its heads and keeps the caches, simplified norms, weights in a file beside the model.

Widths are those of Touvron et al. 2024 with 1 billion weights (2048, 32 heads of 64 that share 8 of keys and values, 8192 between,
128256 words, the head tied to the embeddings), two layers of it; NAME_whole has all sixteen. What else there is of this kind in one
small model each: biases and windows (qwen), half of a head turned and one joined product (phi), soft caps, norms of heads and
GELU (gemma).
"""
import dataclasses
import json
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
KINDS = {"q4": 4, "q8": 8}
FOR_TESTS = ["llama_q4_prompt", "llama_q8", "llama_f16", "qwen_like", "phi_like", "gemma_like", "points_like"]


@dataclasses.dataclass
class Sizes:
    width: int = 2048
    heads: int = 32
    shared: int = 8
    between: int = 8192
    words: int = 128256
    layers: int = 2
    block: int = 32
    level: int = 4       # accuracy_level of MatMulNBits
    turned: float = 1.0  # share of a head's channels
    bias: bool = False   # of queries, keys and values
    packed: bool = False # these are one product
    window: int = -1
    softcap: float = 0.0
    gelu: bool = False
    points: bool = False # zero points beside the middle
    longest: int = 4096

    @property
    def channels(self):
        return self.width // self.heads


SMALL = Sizes(width=64, heads=4, shared=2, between=96, words=160, longest=64)


def language(base):
    """A class over make_models.Net, which this file cannot import."""

    class Language(base):
        def __init__(self, name, kind, sizes, tokens, past, batch=1):
            super().__init__(name, 21, sum(map(ord, name.removesuffix("_small").removesuffix("_prompt"))))
            self.kind, self.sizes = kind, sizes
            self.dtype = np.float16 if kind == "f16" else np.float32
            self.write(tokens, past, batch)

        def ms(self, op, *inputs, count=1, **attributes):
            return self.add(op, *inputs, count=count, domain=MS, **attributes)

        def number(self, array):
            return self.constant(np.asarray(array, self.dtype))

        # q of a matrix [outputs, inputs], with a scale for each block of inputs
        def blocks(self, inputs, outputs, scale):
            bits, size = KINDS[self.kind], self.sizes.block
            middle, count = 1 << (bits - 1), -(-inputs // size)
            parts, scales, points = [], [], []
            for first in range(0, outputs, 4096):
                rows = min(4096, outputs - first)
                w = self.random.standard_normal((rows, count, size), np.float32) * np.float32(scale / math.sqrt(inputs))
                s = np.abs(w).max(2, keepdims=True) / np.float32(middle - 1)
                z = self.random.integers(-1, 2, s.shape) if self.sizes.points else np.zeros(s.shape, np.int64)
                q = np.clip(np.rint(w / s) + z + middle, 0, 2 * middle - 1).astype(np.uint8)
                parts.append(q if bits == 8 else q[:, :, ::2] | q[:, :, 1::2] << 4)
                scales.append(s[:, :, 0])
                points.append((z[:, :, 0] + middle).astype(np.uint8))
            z = np.concatenate(points)
            if bits == 4:
                z = np.pad(z, ((0, 0), (0, count % 2)))
                z = z[:, ::2] | z[:, 1::2] << 4
            return (self.constant(np.concatenate(parts)), self.number(np.concatenate(scales)),
                    *([self.constant(z)] if self.sizes.points else []))

        def linear(self, x, inputs, outputs, scale=1.0, weights=None, bias=False):
            if self.kind in KINDS:
                weights = weights or self.blocks(inputs, outputs, scale)
                y = self.ms("MatMulNBits", x, *weights, K=inputs, N=outputs, bits=KINDS[self.kind], block_size=self.sizes.block,
                            accuracy_level=self.sizes.level)
            else:
                w = self.random.standard_normal((inputs, outputs), np.float32) * np.float32(scale / math.sqrt(inputs))
                y = self.add("MatMul", x, weights or self.number(w))
            return self.add("Add", y, self.number(0.1 * self.random.standard_normal(outputs))) if bias else y

        def norm(self, x, skip=None):
            """The norm, and the sum that it is of."""
            w = self.number(1 + 0.05 * self.random.standard_normal(self.sizes.width))
            if skip is None:
                return self.add("SimplifiedLayerNormalization", x, w, axis=-1, epsilon=1e-5, stash_type=1), x
            name = f"skip{len(self.nodes)}"
            self.nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [x, skip, w], [name, "", "", f"{name}.sum"],
                                               name=name, domain=MS, epsilon=1e-5))
            return name, f"{name}.sum"

        def embeddings(self, ids):
            """Vectors of the words, and the head's weights, which are the same."""
            s = self.sizes
            if self.kind not in KINDS:
                table = self.number(self.random.standard_normal((s.words, s.width), np.float32) / math.sqrt(s.width))
                return self.add("Gather", table, ids), self.add("Transpose", table, perm=[1, 0])
            q, scales, *points = self.blocks(s.width, s.words, 1.0)
            flat = self.constant(numpy_helper.to_array(self.weights[-2 - len(points)]).reshape(s.words, -1))
            x = self.ms("GatherBlockQuantized", flat, ids, scales, *points, bits=KINDS[self.kind], block_size=s.block,
                        gather_axis=0, quantize_axis=1)
            return x, (q, scales, *points)

        def lengths(self, mask):
            one = self.constant(np.array([1], np.int64))
            seen = self.add("Sub", self.add("ReduceSum", mask, one, keepdims=0), one)
            all_ = self.add("Gather", self.add("Shape", mask), self.constant(np.int64(1)))
            return [self.add("Cast", x, to=TensorProto.INT32) for x in (seen, all_)]

        def rotation(self):
            s = self.sizes
            turned = int(s.channels * s.turned) // 2
            angles = np.arange(s.longest)[:, None] * 500000.0 ** (-np.arange(turned) / turned)[None]
            return self.number(np.cos(angles)), self.number(np.sin(angles))

        def attention(self, x, number, lengths, caches, dims):
            s = self.sizes
            own, kept = s.width, s.shared * s.channels
            if s.packed:
                q, k, v = self.linear(x, own, own + 2 * kept, bias=s.bias), "", ""
            else:
                q, k, v = (self.linear(x, own, n, bias=s.bias) for n in (own, kept, kept))
            past = [f"past_key_values.{number}.{part}" for part in ("key", "value")]
            present = [f"present.{number}.{part}" for part in ("key", "value")]
            for name in past:
                array = self.random.standard_normal((dims[0], s.shared, dims[1], s.channels)).astype(self.dtype)
                self.input(name, ["batch", s.shared, "past", s.channels], array)
            y = f"attention{number}"
            more = {"local_window_size": s.window} if s.window > 0 else {}
            more |= {"softcap": s.softcap} if s.softcap else {}
            self.nodes.append(helper.make_node(
                "GroupQueryAttention", [q, k, v, *past, *lengths, *caches], [y, *present], name=y, domain=MS, do_rotary=1,
                num_heads=s.heads, kv_num_heads=s.shared, scale=1 / math.sqrt(s.channels), **more))
            self.later += [(p, ["batch", s.shared, "total", s.channels]) for p in present]
            return self.linear(y, own, own, 0.5)

        def write(self, tokens, past, batch):
            s, self.later = self.sizes, []
            ids = self.input("input_ids", ["batch", "sequence"], self.random.integers(0, s.words, (batch, tokens)))
            mask = self.input("attention_mask", ["batch", "total"], np.ones((batch, past + tokens), np.int64))
            lengths, caches = self.lengths(mask), self.rotation()
            x, head = self.embeddings(ids)
            total, add = x, None
            for i in range(s.layers):
                y, total = self.norm(total, add)
                y, total = self.norm(total, self.attention(y, i, lengths, caches, (batch, past)))
                gate, up = self.linear(y, s.width, s.between), self.linear(y, s.width, s.between)
                act = self.ms("FastGelu", gate) if s.gelu else self.add("Mul", gate, self.add("Sigmoid", gate))
                add = self.linear(self.add("Mul", act, up), s.between, s.width, 0.5)
            x, _ = self.norm(total, add)
            logits = self.linear(x, s.width, s.words, weights=head)
            if s.softcap:
                cap = self.number(30)
                logits = self.add("Mul", self.add("Tanh", self.add("Div", logits, cap)), cap)
            for name, shape in [(logits, ["batch", "sequence", s.words]), *self.later]:
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
                self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

        def model(self):
            model = super().model()
            model.opset_import.append(helper.make_opsetid(MS, 1))
            return model

        def store(self, path):
            (path.parent / "model.onnx.data").unlink(missing_ok=True)
            onnx.save(self.model(), path, save_as_external_data=True, location="model.onnx.data")

        def check(self, path):
            """The checker knows neither the domain nor what ONNX Runtime adds to the other one."""

        def expected(self, folder):
            """In float32; runtimes that round factors to bytes, as they may where the level says so, are far off."""
            import onnxruntime
            model = onnx.load(folder / "model.onnx", load_external_data=False)
            for a in (a for n in model.graph.node for a in n.attribute if a.name == "accuracy_level"):
                a.i = 0
            exact = folder / "exact.onnx"
            onnx.save(model, exact)
            session = onnxruntime.InferenceSession(exact, providers=["CPUExecutionProvider"])
            exact.unlink()
            if self.kind in KINDS and self.sizes.level == 4:
                (folder / "tolerance.json").write_text(json.dumps({"rtol": 0, "atol": 0.2}))
            elif self.kind == "f16":
                (folder / "tolerance.json").write_text(json.dumps({"rtol": 0.02, "atol": 0.02}))
            return session.run(None, self.feeds)

    return Language


def models(base):
    """NAME: function of its name and whether it is to be small."""
    make = language(base)

    def row(kind, tokens, past, batch=1, **more):
        def of(name, small):
            sizes = dataclasses.replace(SMALL if small else Sizes(), **({} if small else more))
            return make(name, kind, sizes, *((min(tokens, 9), min(past, 7)) if small else (tokens, past)), batch)
        return of

    def tiny(kind, tokens, past, **more):
        return lambda name, small: make(name, kind, dataclasses.replace(SMALL, **more), tokens, past, 2)

    rows = {}
    for kind in ("q4", "q8", "f16", "f32"):
        rows[f"llama_{kind}"] = row(kind, 1, 256)
        rows[f"llama_{kind}_prompt"] = row(kind, 768, 0)
    rows["llama_q4_whole"] = row("q4", 1, 256, layers=16)
    rows["qwen_like"] = tiny("q4", 20, 0, bias=True, window=6, level=0)
    rows["phi_like"] = tiny("q8", 1, 11, width=128, turned=0.5, packed=True, level=0)
    rows["gemma_like"] = tiny("f32", 20, 0, softcap=20.0, gelu=True)
    rows["points_like"] = tiny("q4", 12, 0, points=True, width=96, heads=6)
    return rows
