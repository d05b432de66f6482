"""What float16 does to numbers: overflow, underflow, sums, positions."""
import numpy as np
from onnx import TensorProto, helper

from case import Case, Finding, Model, Run, count

HALF = np.float16
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
HEAD18 = '<ir_version: 8, opset_import: ["" : 18]>\n'
RNG = np.random.default_rng(323)
X = RNG.uniform(-1, 1, (2, 8)).astype(HALF)
W = RNG.uniform(-1, 1, (8, 8)).astype(HALF)
LARGE = (RNG.uniform(-1, 1, (1, 64)) * 30000).astype(HALF)
SMALL = np.zeros((1, 8), HALF)
SCORES = HALF([[-20, 1, 2, 3], [1, 2, 3, 4]])
BIG = np.array([[20000.0, -12000.0], [3.5, 15000.0], [0.25, 9.0]])


def exact(*arrays):
    return [a.astype(np.float64) for a in arrays]


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def rms_norm(x, eps=1e-6):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def l2_norm(x):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def layer_norm(x, eps=1e-12):
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def any_bad(name):
    return lambda got: not np.isfinite(got[name].astype(np.float64)).all()


def masked(scores, keep):
    """Softmax over the columns that are kept; of a row without any, uniform."""
    return softmax(np.where(keep, scores.astype(np.float64), scores.astype(np.float64) - 1e6))


IMAGE = np.full((1, 1, 512, 512), 2, HALF)
KEEP = np.array([[False, True, True, True], [True, True, False, False]])
NONE_KEPT = np.array([[False, False, False, False], [True, True, False, False]])
TABLE = np.concatenate([RNG.uniform(-4, 4, (15, 4)), [[400, -380, 350, 300]]]).astype(HALF)

CASES = [
    Case(10, "ReduceMean over a picture in float16", ("microsoft/onnxconverter-common#323",
                                                      "microsoft/onnxconverter-common#299"),
         "The mean of a 512 x 512 plane after the conversion is 0 or NaN: the sum of 262,144 numbers around 1 leaves float16 at "
         "65504, or stops growing at 2048.",
         [Model(HEAD18 + """efficientdet (float16[1,1,512,512] image) => (float16[1,1,1,1] y) {
  [Sigmoid_0] gate = Sigmoid(image)
  [ReduceMean_1] y = ReduceMean<keepdims = 1>(gate, plane)
}""", {"plane": np.int64([2, 3])},
                [Finding("PR006", "graph/node[ReduceMean_1]", ("262144", "up to 262144 (proved)", "65504"))],
                args=("--select", "PR006"), fix="--unsafe-fixes",
                run=Run({"image": IMAGE}, {"y": sigmoid(IMAGE).mean((2, 3), keepdims=True)}, 1e-3),
                wrong=lambda got: np.add.accumulate(sigmoid(IMAGE).astype(HALF).ravel(), dtype=HALF)[-1] < 4096)],
         "The mean runs in float32, with 2 Casts. Run against float64."),
    Case(11, "A norm that overflows", ("NVIDIA/TensorRT#4111", "pytorch/TensorRT#4061", "microsoft/onnxruntime#21345"),
         "An L2 norm was exported as Pow, ReduceSum, Sqrt and Div; in float16 the square of 256 is infinite.",
         [Model(HEAD + """l2 (float16[1,64] x) => (float16[1,64] y) {
  [two] two32 = Constant<value = float {2.0}>()
  [Cast_0] two = Cast<to = 10>(two32)
  [Pow_1] square = Pow(x, two)
  [ReduceSum_2] total = ReduceSum<keepdims = 1>(square, axes)
  [Sqrt_3] norm = Sqrt(total)
  [Div_4] y = Div(x, norm)
}""", {"axes": np.int64([-1])}, [Finding("PR007", "graph/node[Pow_1]:in0(x)", ("inf in float16 from 255.9 on",))],
                args=("--select", "PR007"), fix="--unsafe-fixes", wrong=lambda got: (got["y"] == 0).all(),
                run=Run({"x": LARGE}, {"y": l2_norm(LARGE)}, 2e-3, 1e-4))],
         "The square and what follows it up to the division run in float32. Run on numbers up to 30000 against float64."),
    Case(12, "RMSNorm that gives zeros without a word", ("microsoft/onnxruntime#29034",),
         "SkipSimplifiedLayerNormalization in float16 summed squares in float16 on CUDA. For large rows the sum is infinite and "
         "every output exactly 0: no NaN, no warning.",
         [Model("""<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
decoder (float16[1,64] x, float16[1,64] skip) => (float16[1,64] y) {
  [SkipNorm_0] y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.000001>(x, skip, gamma)
}""", {"gamma": np.ones(64, HALF)},
                [Finding("MP008", "graph/node[SkipNorm_0]", ("float16", "onnxruntime-cuda"))],
                args=("--target", "onnxruntime-cuda"), fix="--unsafe-fixes", what="the fused operator",
                run=Run({"x": LARGE, "skip": np.zeros_like(LARGE)}, {"y": rms_norm(LARGE)}, 2e-3, 1e-4)),
          Model(HEAD18 + """decoder (float16[1,64] x) => (float16[1,64] y) {
  [Mul_0] square = Mul(x, x)
  [ReduceMean_1] mean = ReduceMean<keepdims = 1>(square, axes)
  [Add_2] guarded = Add(mean, eps)
  [Sqrt_3] root = Sqrt(guarded)
  [Div_4] y = Div(x, root)
}""", {"axes": np.int64([-1]), "eps": HALF(1e-6)},
                [Finding("PR007", "graph/node[Mul_0]:in0(x)", ("inf in float16 from 255.9 on",))],
                args=("--select", "PR007"), fix="--unsafe-fixes", wrong=lambda got: (got["y"] == 0).all(),
                what="the same, written out", run=Run({"x": LARGE}, {"y": rms_norm(LARGE)}, 2e-3, 1e-4))],
         "The norm runs in float32. Run on numbers up to 30000 against float64."),
    Case(13, "The epsilon of a LayerNorm becomes 0", ("pytorch/pytorch#86580", "pytorch/pytorch#41527"),
         "BERT's 1e-12 is 0 in float16; where all elements of a row are equal, 0 is divided by 0.",
         [Model(HEAD18 + """bert (float16[1,8] x) => (float16[1,8] y) {
  [eps] eps32 = Constant<value = float {0.000000000001}>()
  [Cast_0] eps = Cast<to = 10>(eps32)
  [ReduceMean_1] mean = ReduceMean<keepdims = 1>(x, axes)
  [Sub_2] centred = Sub(x, mean)
  [Mul_3] square = Mul(centred, centred)
  [ReduceMean_4] variance = ReduceMean<keepdims = 1>(square, axes)
  [Add_5] guarded = Add(variance, eps)
  [Sqrt_6] root = Sqrt(guarded)
  [Div_7] y = Div(centred, root)
}""", {"axes": np.int64([-1])},
                [Finding("PR002", "graph/node[Add_5]:in1(eps)", ("epsilon 1e-12 becomes 0 in float16", "node[Sqrt_6]"))],
                fix="--unsafe-fixes", wrong=any_bad("y"), run=Run({"x": SMALL + HALF(3)}, {"y": layer_norm(SMALL + HALF(3))}))],
         "What the epsilon guards runs in float32; it is not raised. A row of equal elements gives 0 instead of NaN."),
    Case(14, "A mask of -1e9 in float16", ("apple/coremltools#2669", "NVIDIA/TensorRT#2466"),
         "-1e9 and -3.4e38 become -inf in float16; a row that is masked as a whole is NaN after Softmax.",
         [Model(HEAD + """attention (float16[2,4] scores, bool[2,4] keep) => (float16[2,4] y) {
  [mask] mask32 = Constant<value = float {-1000000000.0}>()
  [Cast_0] low = Cast<to = 10>(mask32)
  [Where_1] hidden = Where(keep, scores, low)
  [Softmax_2] y = Softmax<axis = -1>(hidden)
}""", {}, [Finding("PR001", "graph/node[Cast_0]:in0(mask32)", ("-1e+09", "Softmax"))], fix="--unsafe-fixes",
                wrong=any_bad("y"),
                run=Run({"scores": SCORES, "keep": NONE_KEPT},
                        {"y": np.stack([np.full(4, 0.25), masked(SCORES, NONE_KEPT)[1]])}, 2e-3, 1e-3))],
         "The mask is stored as -65504, which Softmax takes as well: a row of nothing but masked elements is uniform."),
    Case(15, "The lowest float16 plus a score", ("huggingface/transformers#17306",),
         "`torch.finfo(torch.float16).min` is finite, but -65504 + (-20) is not.",
         [Model(HEAD + """attention (float16[2,4] scores, float16[2,4] bias) => (float16[2,4] y) {
  [mask] mask = Mul(bias, low)
  [Add_1] hidden = Add(scores, mask)
  [Softmax_2] y = Softmax<axis = -1>(hidden)
}""", {"low": HALF(-65504)}, [Finding("PR003", "graph/node[Softmax_2]:in0(hidden)", ("-65504", "-inf"))],
                args=("--select", "PR003"), fix="--unsafe-fixes", wrong=any_bad("y"),
                run=Run({"scores": np.minimum(SCORES, HALF(-20)), "bias": np.ones((2, 4), HALF)},
                        {"y": np.full((2, 4), 0.25)}, 1e-3, 1e-3))],
         "Half of the lowest, -32752, masks as well and stays finite when a score is added."),
    Case(16, "Weights that were clamped without a word", ("microsoft/onnxconverter-common (float16.py, max_finite_val)",),
         "The converter clamps everything beyond 1e4 to 1e4, though float16 goes to 65504.",
         [Model(HEAD + """dense (float16[1,3] x) => (float16[1,2] y) {
  [MatMul_0] y = MatMul(x, w)
}""", {"w": np.clip(BIG, -1e4, 1e4).astype(HALF)},
                [Finding("PR001", "graph/initializer(w)", ("3 of 6", "10000", "clamped"))], what="the clamped model"),
          Model(HEAD + """dense (float[1,3] x) => (float[1,2] y) {
  [MatMul_0] y = MatMul(x, w)
}""", {"w": BIG.astype(np.float32)}, [Finding("PF002", "graph/node[MatMul_0]", ("float16",))],
                args=("--target", "tensorrt-strongly-typed"), fix="--unsafe-fixes",
                what="the original, converted by Cameo (`--target tensorrt-strongly-typed`)",
                run=Run({"x": np.float32([[1, 1, 1]])}, {"y": BIG.sum(0, keepdims=True)}, 1e-3))],
         "What was clamped is not in the file any more. Converted by Cameo, the weights are rounded exactly; a weight beyond "
         "65504 stays float32."),
    Case(17, "Mixed precision that was tried on one sample", ("microsoft/onnxconverter-common#249",),
         "The search for operators that may run in float16 looked at the outputs for one input. Another token overflows.",
         [Model(HEAD18 + """layoutlm (int64[1,2] tokens) => (float16[1,2,4] y) {
  [Gather_0] embedded = Gather(table, tokens)
  [Mul_1] square = Mul(embedded, embedded)
  [ReduceMean_2] mean = ReduceMean<keepdims = 1>(square, axes)
  [Add_3] guarded = Add(mean, eps)
  [Sqrt_4] root = Sqrt(guarded)
  [Div_5] y = Div(embedded, root)
}""", {"table": TABLE, "axes": np.int64([-1]), "eps": HALF(1e-4)},
                [Finding("PR007", "graph/node[Mul_1]:in0(embedded)", ("[-380, 400] (proved)",))],
                args=("--select", "PR007"), fix="--unsafe-fixes", wrong=lambda got: (got["y"][0, 1] == 0).all(),
                run=Run({"tokens": np.int64([[0, 15]])}, {"y": rms_norm(TABLE[[0, 15]], 1e-4)[None]}, 2e-3, 1e-3))],
         "The bound is proved from the table of embeddings, so that no sample decides. The square and what follows run in "
         "float32; both tokens are right against float64."),
    Case(25, "bfloat16 written as float16", ("onnx/tensorflow-onnx#2337",),
         "The exporter mapped TensorFlow's bfloat16 to float16. What float16 cannot hold is infinite in the file.",
         [Model(HEAD + """exported (float16[1,2] x) => (float16[1,2] y) {
  [MatMul_0] y = MatMul(x, w)
}""", {"w": HALF([[1, np.inf], [-np.inf, 2]])},
                [Finding("NS007", "graph/initializer(w)", ("2 of 4", "MatMul"))])],
         "Nothing: the values are lost. Export the model again, with bfloat16 as bfloat16."),
    Case(33, "Range in float16", ("openvinotoolkit/openvino#6590",),
         "Range(0, 100000, 1) cannot be float16: above 2048 not every integer is, above 65504 none.",
         [Model(HEAD + """positions (float16[1] scale) => (float16[100000] y) {
  [a] a = Constant<value = float {0.0}>()
  [b] b = Constant<value = float {100000.0}>()
  [c] c = Constant<value = float {1.0}>()
  [Range_0] at = Range(a, b, c)
  [Cast_1] at16 = Cast<to = 10>(at)
  [Mul_2] angle = Mul(at16, scale)
  [Sin_3] y = Sin(angle)
}""", {}, [Finding("PR010", "graph/node[Cast_1]", ("99999", "2048"))], fix="--unsafe-fixes",
                wrong=any_bad("y"),
                run=Run({"scale": HALF([0.25])}, {"y": np.sin(np.arange(100000) * 0.25)}, 2e-3, 1e-3))],
         "Positions and what is computed of them run in float32. All 100,000 sines are right against float64."),
]
