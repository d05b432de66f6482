"""Operands of different dtypes: what exporters and converters leave behind."""
import numpy as np

from case import Case, Finding, Model, Run, count

HALF = np.float16
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
RNG = np.random.default_rng(11245)
X = RNG.uniform(-1, 1, (2, 8)).astype(HALF)
W = RNG.uniform(-1, 1, (8, 8)).astype(HALF)
RESIDUAL = RNG.uniform(0.5, 2, 8).astype(np.float32)


def exact(*arrays):
    return [a.astype(np.float64) for a in arrays]


def residual(x, w, scale):
    x, w, scale = exact(x, w, scale)
    return x @ w + x * scale


def signal(x):
    peak = np.abs(x.astype(np.float64)).max(-1, keepdims=True)
    return x.astype(np.float64) / (peak + 1e-5)


def conv_1x1(x, w):
    return np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0].astype(np.float64))


IMAGE = RNG.uniform(-1, 1, (1, 3, 4, 4))
KERNEL = RNG.uniform(-1, 1, (2, 3, 1, 1)).astype(np.float32)
ANGLES = np.array([0.1, 1.0])
TABLE = RNG.uniform(-2, 2, (2, 3, 4)).astype(np.float32)

CASES = [
    Case(1, "Add of float16 and float32 behind a block list", ("microsoft/onnxruntime#11245",),
         "A T5 decoder was converted to float16 with Add, Mul and others left in float32. The converter put no Cast on the edge "
         "between a converted MatMul and such an Add; the session cannot be made.",
         [Model(HEAD + """t5_decoder (float16[2,8] x) => (float16[2,8] y) {
  [MatMul_72] projected = MatMul(x, w)
  [Cast_70] x32 = Cast<to = 1>(x)
  [Mul_71] residual = Mul(x32, scale)
  [Add_73] sum = Add(projected, residual)
  [Cast_74] y = Cast<to = 10>(sum)
}""", {"w": W, "scale": RESIDUAL},
                [Finding("DT001", "graph/node[Add_73]:in1(residual)",
                         ("Add input B is float32 but input A is float16", "node[Mul_71] -> here",
                          "\"projected\" (float16) is made by MatMul node[MatMul_72]"), "initializer scale")],
                refused="Type parameter (T) of Optype (Add) bound to different types (tensor(float16) and tensor(float) in node "
                "(Add_73)", fix="--unsafe-fixes",
                run=Run({"x": X}, {"y": residual(X, W, RESIDUAL)}, 2e-3, 2e-3),
                fixed=lambda m: None if count(m, "Cast") <= 1 else "more Casts than before")],
         "No Cast: the one constant on the float32 side is stored as float16, and the Casts that served it are deleted. "
         "The result is run against the same sum in float64."),
    Case(2, "An epsilon that the converter passed over", ("microsoft/onnxruntime#6501",),
         "`signal / (max(abs(signal)) + eps)`: the scalar Constant stayed float32, all around it became float16.",
         [Model(HEAD + """jasper (float16[2,8] signal) => (float16[2,8] y) {
  [Abs_8] magnitude = Abs(signal)
  [ReduceMax_9] peak = ReduceMax<axes = [-1], keepdims = 1>(magnitude)
  [Constant_10] eps = Constant<value = float {0.00001}>()
  [Add_11] guarded = Add(peak, eps)
  [Div_12] y = Div(signal, guarded)
}""", {}, [Finding("DT001", "graph/node[Add_11]:in1(eps)", ("float32 begins at constant \"eps\"",), "constant eps")],
                refused="Type parameter (T) of Optype (Add) bound to different types (tensor(float16) and tensor(float) in node "
                "(Add_11)", fix="--unsafe-fixes", run=Run({"signal": X}, {"y": signal(X)}, 2e-3, 1e-5),
                fixed=lambda m: None if not count(m, "Cast") else "a Cast for a constant")],
         "The constant is stored as float16 and no Cast is added. That rounds 1e-5 to 1.0014e-5, so the fix counts as unsafe; "
         "the result is run against float64."),
    Case(3, "Einsum of float16 and float64", ("microsoft/Olive#1287",),
         "The table of positions was computed with NumPy, float64 by default, and no conversion to float16 touches float64.",
         [Model(HEAD + """rotary (float16[3] position) => (float16[3,2] y) {
  [Einsum_0] angle = Einsum<equation = "i,j->ij">(position, inv_freq)
  [Sin_1] y = Sin(angle)
}""", {"inv_freq": ANGLES},
                [Finding("DT001", "graph/node[Einsum_0]:in1(inv_freq)", ("float64 begins at initializer \"inv_freq\"",),
                         "initializer inv_freq")],
                refused="Type parameter (T) of Optype (Einsum) bound to different types (tensor(float16) and tensor(double)",
                fix="--unsafe-fixes",
                run=Run({"position": HALF([0, 1, 2])}, {"y": np.sin(np.outer([0, 1, 2], ANGLES))}, 2e-3, 1e-3))],
         "The table is stored as float16, like its peer: 0 Casts. Run against the sine of the float64 table."),
    Case(4, "A Python number that became float64", ("pytorch/pytorch#81869", "pytorch/pytorch#26184", "pytorch/pytorch#20941",
                                                    "pytorch/pytorch#58367"),
         "A Python scalar is exported as a 0-dim float64 constant and meets float32 activations.",
         [Model(HEAD + """scaled (float[2,8] x) => (float[2,8] y) {
  [Constant_0] half = Constant<value = double {0.5}>()
  [Mul_1] s = Mul(x, half)
  [MatMul_2] y = MatMul(s, w)
}""", {"w": W.astype(np.float32)},
                [Finding("DT001", "graph/node[Mul_1]:in1(half)", ("float64 begins at constant \"half\"",), "constant half")],
                refused="Type parameter (T) of Optype (Mul) bound to different types (tensor(float) and tensor(double) in node "
                "(Mul_1)", fix="--fix", what="a number that float32 holds: the fix is safe",
                run=Run({"x": X.astype(np.float32)}, {"y": exact(X)[0] * 0.5 @ exact(W)[0]}, 1e-5, 1e-6)),
          Model(HEAD + """scaled (float[2,8] x) => (float[2,8] y) {
  [Constant_0] tenth = Constant<value = double {0.1}>()
  [Mul_1] s = Mul(x, tenth)
  [MatMul_2] y = MatMul(s, w)
}""", {"w": W.astype(np.float32)},
                [Finding("DT001", "graph/node[Mul_1]:in1(tenth)", ("float64 begins at constant \"tenth\"",), "constant tenth")],
                refused="Type parameter (T) of Optype (Mul) bound to different types", fix="--unsafe-fixes",
                what="a number that it does not hold: unsafe",
                run=Run({"x": X.astype(np.float32)}, {"y": exact(X)[0] * 0.1 @ exact(W)[0]}, 1e-5, 1e-6))],
         "The literal is stored as float32: safe for 0.5, which float32 holds, and unsafe for 0.1. Both are run against "
         "float64."),
    Case(6, "Conv with a float64 input", ("deepinsight/insightface#1337",),
         "NumPy and OpenCV pictures are float64 after a division; the exported input was declared so, the weights are float32.",
         [Model(HEAD + """embed (double[1,3,4,4] data) => (float[1,2,4,4] y) {
  [conv0] y = Conv(data, weight)
}""", {"weight": KERNEL}, [Finding("DT001", "graph/node[conv0]:in0(data)",
                                   ("Conv input X is float64 but weight W is float32",), "input data")],
                refused="Type parameter (T) of Optype (Conv) bound to different types (tensor(double) and tensor(float)",
                fix="--unsafe-fixes",
                run=Run({"data": IMAGE}, {"y": conv_1x1(IMAGE, KERNEL)}, 1e-5, 1e-6))],
         "One Cast at the input: the interface stays as declared and the weights are never widened. Run against the "
         "convolution in float64."),
    Case(18, "Slice with indices of two dtypes", ("wangzhaode/llm-export#76",),
         "`starts` came from a framework constant (int32), `ends` from a shape (int64).",
         [Model(HEAD + """cache (float[4,3] past) => (float[k,3] y) {
  [Slice_5] y = Slice(past, starts, ends)
}""", {"starts": np.int32([1]), "ends": np.int64([3])},
                [Finding("DT001", "graph/node[Slice_5]:in1(starts)", ("starts is int32 but", "ends is int64"),
                         "initializer starts")],
                refused="Type parameter (Tind) of Optype (Slice) bound to different types (tensor(int32) and tensor(int64)",
                fix="--fix", run=Run({"past": np.float32(np.arange(12).reshape(4, 3))},
                                     {"y": np.arange(12).reshape(4, 3)[1:3]}))],
         "The int32 constant is widened, which loses nothing: safe. The slice equals NumPy's."),
    Case(19, "Concat without the framework's promotion", ("microsoft/onnxruntime#15082", "enpasos/jax2onnx#66"),
         "Frameworks promote what they join, ONNX does not: bool with int64, int32 with double.",
         [Model(HEAD + """joined (int64[2] ids, float[2] score) => (int64[4] y) {
  [zero] zero = Constant<value = float {0.0}>()
  [Greater_3] chosen = Greater(score, zero)
  [Concat_4] y = Concat<axis = 0>(ids, chosen)
}""", {}, [Finding("DT001", "graph/node[Concat_4]:in1(chosen)", ("int64", "bool"))],
                refused="Type parameter (T) of Optype (Concat) bound to different types (tensor(int64) and tensor(bool)",
                fix="--fix", what="bool and int64",
                run=Run({"ids": np.int64([7, 8]), "score": np.float32([-1, 1])}, {"y": np.int64([7, 8, 0, 1])})),
          Model(HEAD + """bad_concat () => (double[6] y) {
  [concat_0] y = Concat<axis = 0>(a, b)
}""", {"a": np.int32([1, 2, 3]), "b": np.float64([1.1, 2.2, 3.3])},
                [Finding("DT001", "graph/node[concat_0]:in0(a)", ("int32", "float64"))],
                refused="Type parameter (T) of Optype (Concat) bound to different types (tensor(int32) and tensor(double)",
                fix="--fix", what="int32 and float64",
                run=Run({}, {"y": np.float64([1, 2, 3, 1.1, 2.2, 3.3])}))],
         "The narrower side is cast to the dtype that NumPy and JAX promote to (int64, float64), which holds every value of "
         "both. The result equals NumPy's."),
    Case(35, "PRelu with a float32 slope", ("the-database/mpv-AnimeJaNai#36",),
         "A strongly typed engine takes the graph at its word: input half, slope float.",
         [Model(HEAD + """upscaler (float16[1,2,2,2] image) => (float16[1,2,2,2] y) {
  [Conv_0] features = Conv(image, weight)
  [PRelu_1] y = PRelu(features, slope)
}""", {"weight": RNG.uniform(0.5, 1, (2, 2, 1, 1)).astype(HALF), "slope": np.float32([0.25, 0.5]).reshape(2, 1, 1)},
                [Finding("DT001", "graph/node[PRelu_1]:in1(slope)",
                         ("PRelu weight slope is float32 but input X is float16",), "initializer slope")],
                refused="Type parameter (T) of Optype (PRelu) bound to different types (tensor(float16) and tensor(float)",
                fix="--fix", fixed=lambda m: None if not count(m, "Cast") else "a Cast for a constant")],
         "The slope is stored as float16; both values are exact there, so this is safe."),
    Case(37, "What the checker does not look for", ("onnx/onnx#4619", "onnx/onnx#3849", "onnx/onnx#2292"),
         "`onnx.checker.check_model` accepts the model, since types are checked with `full_check=True` only, which is off by "
         "default.",
         [Model(HEAD + """par1 (double[2,2,1,1] i0, float scalar) => (double[2,2,1,1] y) {
  [Max_0] y = Max(i0, scalar)
}""", {}, [Finding("DT001", "graph/node[Max_0]:in1(scalar)", ("float32", "float64"))],
                refused="Type parameter (T) of Optype (Max) bound to different types (tensor(double) and tensor(float)",
                fix="--fix", what="Max of float64 and float32",
                run=Run({"i0": np.float64([[[[1]], [[-1]]], [[[0]], [[0.2]]]]), "scalar": np.array(0.1, np.float32)},
                        {"y": np.maximum([[[[1]], [[-1]]], [[[0]], [[0.2]]]], np.float64(np.float32(0.1)))})),
          Model(HEAD + """agraph (float[3] x, int64[3] n) => (float[3] w) {
  [Div_0] z = Div(x, n)
  [Identity_1] w = Identity(z)
}""", {}, [Finding("DT001", "graph/node[Div_0]:in1(n)", ("int64", "float32"))],
                refused="Type parameter (T) of Optype (Div) bound to different types (tensor(float) and tensor(int64)",
                fix="--unsafe-fixes", what="Div of float32 and int64",
                run=Run({"x": np.float32([1, 2, 3]), "n": np.int64([2, 4, 5])}, {"w": [0.5, 0.5, 0.6]}, 1e-6))],
         "As for case 1. The models pass `check_model` as they are and `full_check=True` after the repair."),
]
