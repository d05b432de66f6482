"""What a model meets on the runtime that it is meant for: kernels, devices, quantization, custom operators."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from case import Case, Finding, Model, Run, count

HALF = np.float16
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
HEAD21 = '<ir_version: 10, opset_import: ["" : 21]>\n'
RNG = np.random.default_rng(26311)
X = RNG.uniform(-1, 1, (2, 8)).astype(np.float32)
W = RNG.uniform(-1, 1, (8, 8)).astype(np.float32)
BRAIN = W.astype(ml_dtypes.bfloat16)
STEP = np.float32(0.5)


def exact(*arrays):
    return [np.asarray(a).astype(np.float64) for a in arrays]


def place(**devices):
    """Gives nodes a device, as the metadata that ONNX has no field for."""
    def change(m):
        for n in m.graph.node:
            if n.name in devices:
                n.metadata_props.add(key="cameo.device", value=devices[n.name])
    return change


def quantized(x, lo=-128, hi=127):
    return (np.clip(np.rint(exact(x)[0] / STEP), lo, hi)) * STEP


CUDA = "cuda:0"
KERNELS = """#include <cuda_fp16.h>
__global__ void swirl(const __half *x, __half *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }
__global__ void twist(const __half *x, __half *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }
"""
FLOAT_KERNELS = KERNELS.replace("void twist(const __half *x", "void twist(const float *x")
CONTRACT = 'version: 1\ncustom:\n  my.ops: {sources: ["kernels.cu"]}\n'
CUSTOM = """<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]>
pipeline (float16[8] x) => (float16[8] y) <float16[8] h> {
  [Swirl_0] h = my.ops.Swirl(x)
  [Twist_1] y = my.ops.Twist(h)
}"""

CASES = [
    Case(24, "bfloat16 without a kernel", ("microsoft/onnxruntime#26311", "microsoft/onnxruntime#13262",
                                          "pytorch/pytorch#143643"),
         "The CPU provider has no MatMul of bfloat16 and does not fall back to float32: the session cannot be made.",
         [Model(HEAD + """tirex (float[2,8] x) => (float[2,8] y) {
  [Cast_0] low = Cast<to = 16>(x)
  [MatMul_1] h = MatMul(low, kernel)
  [Tanh_2] g = Tanh(h)
  [MatMul_3] s = MatMul(g, kernel)
  [Cast_4] y = Cast<to = 1>(s)
}""", {"kernel": BRAIN},
                [Finding("DV005", "graph/node[MatMul_1]", ("MatMul of bfloat16 does not run", "2 nodes of it")),
                 Finding("DV005", "graph/node[Tanh_2]", ("Tanh of bfloat16",))],
                args=("--target", "onnxruntime-cpu", "--select", "DV005"), fix="--unsafe-fixes",
                refused="NOT_IMPLEMENTED : Could not find an implementation for MatMul(13) node with name 'MatMul_1'",
                run=Run({"x": X}, {"y": np.tanh(exact(X)[0] @ exact(BRAIN)[0]) @ exact(BRAIN)[0]}, 1e-4, 1e-4),
                fixed=lambda m: None if count(m, "Cast") <= 3 else "more Casts than one for the weight and those there were")],
         "All of the bfloat16 part runs in float32 as one island: the Casts at its edges change their target, the weight takes "
         "one. Run against float64."),
    Case(26, "Memcpy nodes", ("microsoft/onnxruntime#18032", "microsoft/onnxruntime#23154", "Geekgineer/YOLOs-CPP#45"),
         "\"4 Memcpy nodes are added to the graph\": a warning that names neither the operator nor the reason, and the bytes go "
         "over and back in every run.",
         [Model('<ir_version: 8, opset_import: ["" : 18]>\n' + """yolov4 (float[1,1,8,8] image) => (float[1,1,8,8] y) {
  [Conv_0] a = Conv(image, w)
  [Mish_1] b = Mish(a)
  [Conv_2] y = Conv(b, w)
}""", {"w": np.float32([[[[1]]]])},
                [Finding("DV005", "graph/node[Mish_1]", ("Mish of any dtype runs on cpu", "1 node of it; 512 B go to cpu and back"))],
                args=("--target", "onnxruntime-cuda", "--select", "DV005"), what="an operator without a kernel",
                run=Run({"image": np.zeros((1, 1, 8, 8), np.float32)}, {"y": np.zeros((1, 1, 8, 8))})),
          Model("""<ir_version: 10, opset_import: ["" : 17]>
pipeline (float[64] x) => (float[64] y) {
  [Relu_0] a = Relu(x)
  [Neg_1] b = Neg(a)
  [Abs_2] c = Abs(b)
  [Relu_3] y = Relu(c)
}""", {}, [Finding("DV002", "graph/node[Neg_1]", ("on cpu between nodes on cuda:0",))],
                change=place(Relu_0=CUDA, Neg_1="cpu", Abs_2="cpu", Relu_3=CUDA), args=("--select", "DV002"),
                fix="--unsafe-fixes", what="two nodes on the host between nodes of a device",
                run=Run({"x": np.float32(np.arange(64) - 32)}, {"y": np.maximum(np.arange(64) - 32, 0)}))],
         "The finding names the operator, the dtype that it lacks and the bytes. Nodes on the host that cost less than the way "
         "are moved to the device; the outputs stay the same."),
    Case(27, "float16 on a CPU is slower", ("microsoft/onnxruntime#16778", "microsoft/onnxruntime#25824",
                                           "microsoft/onnxruntime#11831"),
         "The CPU provider has no float16 kernels for most operators and puts a pair of Casts around each node.",
         [Model(HEAD + """halved (float16[2,8] x) => (float16[2,8] y) {
  [MatMul_0] a = MatMul(x, w)
  [Relu_1] b = Relu(a)
  [MatMul_2] c = MatMul(b, w)
  [Tanh_3] y = Tanh(c)
}""", {"w": W.astype(HALF)},
                [Finding("PF001", "graph/node[MatMul_0]", ("4 of 4 float16 nodes", "onnxruntime-cpu", "up to 8 Casts"))],
                args=("--target", "onnxruntime-cpu"), fix="--unsafe-fixes",
                run=Run({"x": X.astype(HALF)},
                        {"y": np.tanh(np.maximum(exact(X.astype(HALF))[0] @ exact(W.astype(HALF))[0], 0)
                                      @ exact(W.astype(HALF))[0])}, 2e-3, 1e-3),
                fixed=lambda m: None if count(m, "Cast") <= 3 else "more Casts than at the edges")],
         "One island in float32 with Casts at its edges only. Run against float64."),
    Case(28, "A Cast between two custom operators", ("microsoft/onnxruntime#25692",),
         "Both operators take and give float16; the runtime knows nothing of them, assumes float32 and puts a Cast between, after "
         "which the second refuses its input.",
         [Model(CUSTOM, {}, [Finding("ST009", "graph/node[Swirl_0]", ("my.ops::Swirl has no contract",)),
                             Finding("ST009", "graph/node[Twist_1]", ("my.ops::Twist has no contract",))],
                args=("--select", "ST009"), what="nothing says what they take"),
          Model(CUSTOM, {}, [], args=("--select", "ST008,ST009"), files={"cameo.yaml": CONTRACT, "kernels.cu": KERNELS},
                what="with the kernels' source named in cameo.yaml, which says float16: nothing to report"),
          Model(CUSTOM, {}, [Finding("ST008", "graph/node[Twist_1]:in0(h)", ("float16", "kernels.cu"))],
                files={"cameo.yaml": CONTRACT, "kernels.cu": FLOAT_KERNELS},
                what="with a kernel that does read float: an error before anything runs")],
         "cameo.yaml names the sources; dtypes are read from the kernels' signatures.",
         "Custom operators do not run in ONNX Runtime without their library, so that nothing is run here."),
    Case(29, "Expected all tensors to be on the same device", ("pytorch/pytorch#102947", "pytorch/pytorch#72175",
                                                               "pytorch/pytorch#81096", "pytorch/pytorch#154093",
                                                               "WongKinYiu/yolov7#1005"),
         "A constant made while tracing stays on the CPU and meets activations on the GPU.",
         [Model("""<ir_version: 10, opset_import: ["" : 17]>
detect (float[4] x) => (float[4] y) {
  [zero] a = Constant<value = int64 {0}>()
  [four] b = Constant<value = int64 {4}>()
  [one] c = Constant<value = int64 {1}>()
  [Range_0] at = Range(a, b, c)
  [Cast_1] anchor_grid = Cast<to = 1>(at)
  [Add_2] y = Add(x, anchor_grid)
}""", {}, [Finding("DV001", "graph/node[Add_2]:in1(anchor_grid)",
                   ("Add needs both inputs on cuda:0, but \"anchor_grid\" is on cpu", "cpu begins at"))],
                change=place(Range_0="cpu", Cast_1="cpu", Add_2=CUDA), fix="--fix",
                run=Run({"x": np.float32([1, 1, 1, 1])}, {"y": np.float32([1, 2, 3, 4])}))],
         "One transfer (an Identity with a device) where the fewest bytes go over. The model gives the same numbers."),
    Case(30, "INT64 weights clamped to INT32", ("onnx/tensorflow-onnx#883", "onnx/models#334", "microsoft/onnxruntime#3821"),
         "The engine clamps int64 to int32 and warns for each weight. For the INT64_MAX of a Slice that is harmless, for "
         "identifiers it is not; the warning is the same.",
         [Model(HEAD + """slice (float[4,3] x) => (float[k,3] y) {
  [Cast_0] low = Cast<to = 6>(ends)
  [Slice_1] y = Slice(x, starts, low)
}""", {"starts": np.int32([1]), "ends": np.int64([2**63 - 1])}, [], args=("--select", "DT013"),
                what="a sentinel: nothing to report"),
          Model(HEAD + """lookup (int64[2] user_ids) => (int32[2] y) {
  [Cast_0] y = Cast<to = 6>(user_ids)
}""", {}, [Finding("DT013", "graph/node[Cast_0]:in0(user_ids)", ("int64", "int32"))], args=("--select", "DT013"),
                fix="--unsafe-fixes", what="data: reported, and saturated instead of wrapped",
                run=Run({"user_ids": np.int64([5, 2**40])}, {"y": np.int32([5, 2**31 - 1])}))],
         "Only what may hold data is saturated."),
    Case(31, "int64 falls back to the CPU on WebGPU", ("microsoft/onnxruntime#29273", "microsoft/onnxruntime#27291",
                                                      "microsoft/onnxruntime#25236"),
         "The attention mask is summed and moved in int64, for which there are no kernels; each such node goes to the CPU.",
         [Model(HEAD + """tinyllama (bool[1,16] attention, float[1,1] x) => (float[1,1] y) {
  [Cast_0] mask = Cast<to = 7>(attention)
  [ReduceSum_1] total = ReduceSum<keepdims = 1>(mask, axes)
  [Sub_2] last = Sub(total, one)
  [Cast_3] position = Cast<to = 1>(last)
  [Mul_4] y = Mul(position, x)
}""", {"axes": np.int64([1]), "one": np.int64([[1]])},
                [Finding("DV005", "graph/node[ReduceSum_1]", ("ReduceSum of int64 runs on cpu", "proved to fit int32")),
                 Finding("DV005", "graph/node[Sub_2]", ("Sub of int64 runs on cpu", "proved to fit int32")),
                 Finding("DV005", "graph/node[Cast_3]", ("Cast of int64 runs on cpu", "proved to fit int32"))],
                args=("--target", "onnxruntime-webgpu", "--select", "DV005"), fix="--fix",
                run=Run({"attention": np.arange(16)[None] < 5, "x": np.float32([[2]])}, {"y": np.float32([[8]])}),
                fixed=lambda m: None if count(m, "Cast") == 2 else "Casts added")],
         "Every value is proved to lie in int32, so the island runs in int32: safe, and without another Cast. The result is the "
         "same number.",
         "Bounds of inputs (token ids) are not in a model: they can be said in cameo.yaml (`ranges`)."),
    Case(32, "Q and DQ that disagree", ("microsoft/onnxruntime#25526", "microsoft/onnxruntime#25001",
                                       "microsoft/onnxruntime#29192", "microsoft/onnxruntime#32719"),
         "Three things say what QuantizeLinear gives: its zero point, output_dtype, and, without both, the default uint8. "
         "Optimizers that move one of them leave the others.",
         [Model(HEAD21 + """qdq (float[4] input) => (float[4] output) {
  [Q] outputq = QuantizeLinear<output_dtype = 3>(input, scale, zero_point)
  [DQ] output = DequantizeLinear(outputq, scale)
}""", {"scale": STEP, "zero_point": np.uint8(0)},
                [Finding("QN001", "graph/node[Q]:in2(zero_point)", ("zero point of uint8", "output_dtype is int8"))],
                refused="output_dtype INT8 does not match y_zero_point type UINT8", fix="--fix",
                what="output_dtype against the zero point",
                run=Run({"input": np.float32([-3, 0, 1, 100])}, {"output": quantized([-3, 0, 1, 100])})),
          Model(HEAD21 + """qdq (float[4] input) => (float[4] output) {
  [Q] outputq = QuantizeLinear(input, scale)
  [DQ] output = DequantizeLinear(outputq, scale, zero_point)
}""", {"scale": STEP, "zero_point": np.int8(0)},
                [Finding("QN001", "graph/node[DQ]:in0(outputq)", ("uint8", "int8", "gives uint8"))],
                refused="Type parameter (T1) of Optype (DequantizeLinear) bound to different types", fix="--fix",
                what="the default uint8 against a zero point of int8",
                run=Run({"input": np.float32([-3, 0, 1, 100])}, {"output": quantized([-3, 0, 1, 100])})),
          Model(HEAD21 + """qdq (float[4] input) => (float[4] output) {
  [Q] outputq = QuantizeLinear(input, scale, zero_point)
  [DQ] output = DequantizeLinear(outputq, scale)
}""", {"scale": STEP, "zero_point": np.int32(0)},
                [Finding("DT003", "graph/node[Q]:in2(zero_point)", ("int32",))],
                refused="Type Error: Type 'tensor(int32)' of input parameter (zero_point) of operator (QuantizeLinear)",
                fix="--fix", what="a zero point of int32",
                run=Run({"input": np.float32([0, 0, 1, 100])}, {"output": quantized([0, 0, 1, 100], 0, 255)})),
          Model(HEAD21 + """qdq (float16[4] input) => (float16[4] output) {
  [Q] outputq = QuantizeLinear(input, scale, zero_point)
  [DQ] wide = DequantizeLinear(outputq, scale, zero_point)
  [Cast] output = Cast<to = 10>(wide)
}""", {"scale": STEP, "zero_point": np.int8(0)},
                [Finding("DT001", "graph/node[Q]:in1(scale)", ("float32", "float16"))],
                refused="Type parameter (T1) of Optype (QuantizeLinear) bound to different types", fix="--fix",
                what="a float32 scale for float16, which opset 23 allows and 21 does not",
                run=Run({"input": HALF([-3, 0, 1, 50])}, {"output": quantized([-3, 0, 1, 50])}))],
         "The zero point takes the dtype that output_dtype says, QuantizeLinear the zero point of what reads it, the scale the "
         "dtype of its data. Run against the formula of the operator."),
    Case(36, "An fp16 flag that does nothing", ("roboflow/rf-detr#1453",),
         "TensorRT 11 networks are strongly typed: `build_engine(fp16=True)` of a float32 graph gives a float32 engine, exit 0.",
         [Model(HEAD + """rfdetr (float[2,8] x) => (float[2,8] y) {
  [MatMul_0] a = MatMul(x, w)
  [Relu_1] b = Relu(a)
  [MatMul_2] y = MatMul(b, w)
}""", {"w": W}, [Finding("PF002", "graph/node[MatMul_0]", ("0% of about 256 multiply-adds",))],
                args=("--target", "tensorrt-strongly-typed"), fix="--unsafe-fixes",
                run=Run({"x": X}, {"y": np.maximum(exact(X)[0] @ exact(W)[0], 0) @ exact(W)[0]}, 5e-3, 5e-3))],
         "Products and what only follows them run in float16, with Casts at the edges. Run against float64 with float16's "
         "tolerance.", "No engine is built here."),
]
