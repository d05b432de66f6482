"""What a file says of itself twice: declarations, casts, external data, subgraphs."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case, Finding, Model, Run, count

HALF = np.float16
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
RNG = np.random.default_rng(304)
X = RNG.uniform(-1, 1, (2, 8)).astype(HALF)
W = RNG.uniform(-1, 1, (8, 8)).astype(HALF)
PICTURE = RNG.uniform(0, 1, (1, 1, 2, 2)).astype(HALF)


def exact(*arrays):
    return [a.astype(np.float64) for a in arrays]


def declare(name, dtype, dims):
    def change(m):
        m.graph.value_info.append(helper.make_tensor_value_info(name, dtype, dims))
    return change


def declare_input(name, dtype, dims):
    def change(m):
        m.graph.input.append(helper.make_tensor_value_info(name, dtype, dims))
    return change


def outside(dtype, data):
    """A function that puts the only initializer's bytes into a file of their own, and says they are of dtype."""
    def write(m, path):
        (path.parent / "weights.bin").write_bytes(data.tobytes())
        t = m.graph.initializer[0]
        t.ClearField("raw_data")
        t.data_type = dtype
        t.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", str(data.nbytes))):
            t.external_data.add(key=key, value=value)
        onnx.save(m, path)
    return write


def nearest_twice(x):
    return x.repeat(2, -1).repeat(2, -2)


GRID = (np.arange(4) + 0.5) * 8
WEIGHTS = RNG.normal(0, 10, (8, 8)).astype(np.float32)

CASES = [
    Case(5, "An island of float64 between float32", ("Deci-AI/super-gradients#1392",),
         "The grid of anchor points of YOLO-NAS was made with NumPy: Expand runs on float64, the boxes are cast back.",
         [Model(HEAD + """yolo_nas (float[1,16,400] distances) => (float[1,16,2] boxes) {
  [Unsqueeze_0] column = Unsqueeze(centers, axis0)
  [Expand_1] gx = Expand(column, square)
  [Transpose_2] gy = Transpose<perm = [1, 0]>(gx)
  [Unsqueeze_3] ux = Unsqueeze(gx, axis2)
  [Unsqueeze_4] uy = Unsqueeze(gy, axis2)
  [Concat_5] grid = Concat<axis = -1>(ux, uy)
  [Reshape_6] points = Reshape(grid, flat)
  [Mul_7] scaled = Mul(points, stride)
  [Cast_8] anchors = Cast<to = 1>(scaled)
  [MatMul_9] offsets = MatMul(distances, regression)
  [Add_10] boxes = Add(anchors, offsets)
}""", {"regression": np.zeros((400, 2), np.float32), "centers": np.arange(4) + 0.5, "stride": np.float64([8.0]), "axis0": np.int64([0]), "axis2": np.int64([2]),
       "square": np.int64([4, 4]), "flat": np.int64([1, 16, 2])},
                [Finding("DT006", "graph/node[Mul_7]", ("float64",))],
                fix="--unsafe-fixes", run=Run({"distances": np.ones((1, 16, 400), np.float32)},
                                              {"boxes": np.stack(np.meshgrid(GRID, GRID), -1).reshape(1, 16, 2)}))],
         "The constants are stored as float32 and the Cast goes; the anchors are the same numbers."),
    Case(7, "Resize with float16 scales", ("microsoft/onnxruntime#8327", "microsoft/onnxruntime#14827",
                                           "microsoft/onnxruntime#1782", "onnx/onnxmltools#361",
                                           "microsoft/onnxconverter-common#306"),
         "Converters decide by operator, not by operand: `scales` must stay float32 whatever the picture is.",
         [Model(HEAD + """dbnet (float16[1,1,2,2] image) => (float16[1,1,4,4] y) {
  [Resize_74] y = Resize<mode = "nearest">(image, , scales)
}""", {"scales": HALF([1, 1, 2, 2])},
                [Finding("DT003", "graph/node[Resize_74]:in2(scales)", ("float16", "float32"), "initializer scales")],
                refused="Type Error: Type 'tensor(float16)' of input parameter (scales) of operator (Resize) in node (Resize_74) "
                "is invalid.", fix="--fix", run=Run({"image": PICTURE}, {"y": nearest_twice(PICTURE)}),
                fixed=lambda m: None if not count(m, "Cast") else "a Cast for a constant")],
         "Only operand 2 is stored as float32, which is exact. The picture equals NumPy's, bit for bit."),
    Case(8, "Resize with both sizes and scales", ("onnx/tensorflow-onnx#2305", "microsoft/onnxruntime#17447"),
         "`scales` was an empty constant that says \"not given\". The converter put a Cast behind it, and what a node computes "
         "is given.",
         [Model(HEAD + """bisenet (float16[1,1,2,2] image) => (float16[1,1,4,4] y) {
  [Cast_845] scales = Cast<to = 1>(const_empty_float)
  [Resize__846] y = Resize<mode = "nearest">(image, const_empty_float, scales, sizes)
}""", {"const_empty_float": HALF([]), "sizes": np.int64([1, 1, 4, 4])},
                [Finding("ST011", "graph/node[Resize__846]:in2(scales)", ("scales and sizes", "made by Cast node[Cast_845]"))],
                refused="Either `sizes` or `scales` must be provided, but not both of them", fix="--fix",
                run=Run({"image": PICTURE}, {"y": nearest_twice(PICTURE)}))],
         "The empty operand becomes absent (\"\") and its Cast goes."),
    Case(9, "A Cast whose output is declared otherwise", ("microsoft/onnxconverter-common#331",
                                                          "microsoft/onnxconverter-common#328",
                                                          "microsoft/onnxruntime#2974", "microsoft/onnxruntime#25522"),
         "The converter turned the declared type of every float32 value into float16, but not the `to` of a Cast that was there "
         "before.",
         [Model(HEAD + """features (int64[2,8] tokens) => (float16[2,8] y) {
  [Cast_9] floats = Cast<to = 1>(tokens)
  [MatMul_10] y = MatMul(floats, w)
}""", {"w": W}, [Finding("DT002", "graph/node[Cast_9]:out0(floats)", ("float32", "float16"))], declare("floats", 10, [2, 8]),
                refused="Type Error: Type (tensor(float16)) of output arg (floats) of node (Cast_9) does not match expected type "
                "(tensor(float)).", fix="--unsafe-fixes", run=Run({"tokens": np.arange(16).reshape(2, 8)},
                                                           {"y": np.arange(16.).reshape(2, 8) @ exact(W)[0]}, 4e-3, 2e-2))],
         "`to` becomes float16, as the weights and the declaration say; no Cast is added."),
    Case(20, "A declared type that is not what is computed", ("enpasos/jax2onnx#76", "enpasos/jax2onnx#78"),
         "The exporter wrote the type that it had planned: a Concat of int32 declared float32, a GatherND of float64 declared "
         "float32.",
         [Model(HEAD + """func () => (float[2] y) {
  [concat_0] var_3 = Concat<axis = 0>(a, b)
  [cast_1] y = Cast<to = 1>(var_3)
}""", {"a": np.int32([1]), "b": np.int32([2])},
                [Finding("DT002", "graph/node[concat_0]:out0(var_3)", ("int32", "float32"))], declare("var_3", 1, [2]),
                refused="Type Error: Type (tensor(float)) of output arg (var_3) of node (concat_0) does not match expected type "
                "(tensor(int32)).", fix="--fix", run=Run({}, {"y": np.float32([1, 2])}), what="an inner value"),
          Model(HEAD + """func (double[4,3] data, int64[2,1] indices) => (float[2,3] var_9) {
  [gathernd_0] var_9 = GatherND(data, indices)
}""", {}, [Finding("DT002", "graph/node[gathernd_0]:out0(var_9)", ("float64", "float32"))],
                refused="Type Error: Type (tensor(float)) of output arg (var_9) of node (gathernd_0) does not match expected type "
                "(tensor(double)).", fix="--unsafe-fixes",
                run=Run({"data": np.arange(12.).reshape(4, 3), "indices": np.int64([[0], [2]])},
                        {"var_9": np.float32([[0, 1, 2], [6, 7, 8]])}), what="an output of the graph")],
         "An inner declaration is corrected. An output's is the interface: one Cast is put in front of it instead."),
    Case(21, "An initializer of one type, declared as another", ("microsoft/onnxconverter-common#304",),
         "The tensor was converted, the declaration beside it was not.",
         [Model(HEAD + """norm (float16[2,8] x) => (float16[2,8] y) {
  [Add_2877] y = Add(x, bias)
}""", {"bias": W[0]}, [Finding("DT002", "graph/input(bias)", ("float16", "float32"))],
                declare_input("bias", 1, [8]),
                refused="Type Error: Data in initializer 'bias' has element type tensor(float16) but usage of initializer in graph "
                "expects tensor(float)", fix="--unsafe-fixes", run=Run({"x": X}, {"y": (X + W[0])}, 1e-3, 1e-3))],
         "The tensor is the truth; the declaration is corrected."),
    Case(22, "External data that was not converted", ("microsoft/onnxconverter-common#308",),
         "`data_type` became float16, the bytes in the other file stayed float32: twice as many as 64 float16 numbers take.",
         [Model(HEAD + """outside (float16[2,8] X) => (float16[2,8] Y) {
  [MatMul_0] Y = MatMul(X, weight)
}""", {"weight": WEIGHTS}, [Finding("ST003", "graph/initializer(weight)", ("128", "256", "float32"))],
                folder=outside(TensorProto.FLOAT16, WEIGHTS), fix="--unsafe-fixes",
                refused="", run=Run({"X": X}, {"Y": exact(X)[0] @ exact(WEIGHTS)[0]}, 2e-3, 2e-2))],
         "The dtype that the bytes have is restored."),
    Case(23, "Bodies and branches of other types", ("microsoft/onnxruntime#7981", "NVIDIA/Model-Optimizer#1628"),
         "The graph was converted, the body of a Loop was not; and in the branch of an If weights became float16 that meet a "
         "float32 value of the graph around.",
         [Model(HEAD + """f16model_loop (int64 trips, bool keep, float16[2] start) => (float16[2] y) {
  [loop_test_loop] y = Loop(trips, keep, start) <body = step (int64 i, bool go, float16[2] state) =>
    (bool more, float[2] next) {
      [more] more = Identity(go)
      [wide] wide = Cast<to = 1>(state)
      [next] next = Add(wide, wide)
  }>
}""", {}, [Finding("DT005", "graph/node[loop_test_loop]:in2(start)", ("float16", "float32"))],
                refused="[TypeInferenceError]", fix="--unsafe-fixes", what="Loop",
                run=Run({"trips": np.array(3), "keep": np.array(True), "start": HALF([1, 2])}, {"y": HALF([8, 16])})),
          Model(HEAD + """branches (bool cond, float[2,8] x) => (float[2,8] y) {
  [If_0] y = If(cond) <
    then_branch = dense () => (float[2,8] t) { [Gemm_1] t = Gemm(x, w) },
    else_branch = same () => (float[2,8] e) { [Identity_2] e = Identity(x) }
  >
}""", {"w": W}, [Finding("DT015", "graph/If_0.then_branch/node[Gemm_1]:in1(w)", ("float16", "float32"))],
                refused="Type Error", fix="--unsafe-fixes", what="If",
                run=Run({"cond": np.array(True), "x": X.astype(np.float32)}, {"y": exact(X)[0] @ exact(W)[0]}, 1e-5, 1e-4))],
         "What differs is mended inside the body or the branch."),
    Case(34, "Narrowed and widened again", ("microsoft/onnxruntime#20346", "microsoft/onnxconverter-common#271"),
         "The converter left pairs of Casts. float32 to float16 and back rounds, though the value is float32 all the way; "
         "float16 to float32 and back changes nothing.",
         [Model(HEAD + """pair (float[2,8] x) => (float[2,8] y) {
  [Cast_0] low = Cast<to = 10>(x)
  [Cast_1] back = Cast<to = 1>(low)
  [MatMul_2] y = MatMul(back, w)
}""", {"w": W.astype(np.float32)}, [Finding("DT009", "graph/node[Cast_1]", ("float16",))], args=("--select", "DT009"),
                fix="--unsafe-fixes", what="digits are lost",
                run=Run({"x": np.float32(RNG.uniform(-1, 1, (2, 8)))}, {}, 1e-6, 1e-6)),
          Model(HEAD + """pair (float16[2,8] x) => (float16[2,8] y) {
  [Cast_0] high = Cast<to = 1>(x)
  [Cast_1] back = Cast<to = 10>(high)
  [MatMul_2] y = MatMul(back, w)
}""", {"w": W}, [Finding("DT007", "graph/node[Cast_0]", ("float32",))], fix="--fix", what="nothing is lost",
                run=Run({"x": X}, {"y": exact(X)[0] @ exact(W)[0]}, 2e-3, 2e-3))],
         "The lossless pair is dropped by `--fix`; the other, whose removal changes results, only by `--unsafe-fixes`."),
]

_pair = CASES[-1].models[0]
_pair.run.meant["y"] = exact(_pair.run.feeds["x"])[0] @ exact(W)[0]
