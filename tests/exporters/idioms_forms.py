"""What single exporters write: tf2onnx and keras around NHWC, quantizers' pairs, and forms of opsets 7 to 13."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from idioms_graphs import info, model, node, weight
from idioms_shapes import batches, floats, ints

F = TensorProto.FLOAT


def tf2onnx(s):
    def nhwc():
        w = [weight("w", 8, 3, 3, 3), weight("dw", 8, 1, 3, 3, seed=1), weight("b", 8, seed=2), numpy_helper.from_array(ints(0, 0, 0, 0, 0, 0, 1, 1), "pads"),
             *(weight(n, 8, seed=i) for i, n in enumerate(("g", "s", "m"))), numpy_helper.from_array(np.linspace(0.5, 2, 8).astype(np.float32), "v"),
             numpy_helper.from_array(ints(-1, 8), "flat"), weight("d", 8, 4)]
        nodes = [node("Transpose", ["image:0"], ["t:0"], perm=[0, 3, 1, 2], name="model/conv/Conv2D__6"), node("Pad", ["t:0", "pads"], ["p:0"]),
                 node("Conv", ["p:0", "w"], ["c:0"], strides=[2, 2], auto_pad="SAME_UPPER"),
                 node("BatchNormalization", ["c:0", "g", "s", "m", "v"], ["n:0"], epsilon=1e-3), node("Clip", ["n:0", "lo", "hi"], ["r:0"]),
                 node("Conv", ["r:0", "dw", "b"], ["e:0"], group=8, auto_pad="SAME_LOWER", strides=[1, 1], dilations=[1, 1]),
                 node("Transpose", ["e:0"], ["h:0"], perm=[0, 2, 3, 1]), node("Transpose", ["h:0"], ["i:0"], perm=[0, 3, 1, 2]),
                 node("MaxPool", ["i:0"], ["j:0"], kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER"),
                 node("GlobalAveragePool", ["j:0"], ["k:0"]), node("Squeeze", ["k:0", "sp"], ["l:0"]), node("Reshape", ["l:0", "flat"], ["q:0"]),
                 node("MatMul", ["q:0", "d"], ["z:0"]), node("Softmax", ["z:0"], ["Identity:0"], axis=-1)]
        w += [numpy_helper.from_array(np.float32(0), "lo"), numpy_helper.from_array(np.float32(6), "hi"), numpy_helper.from_array(ints(2, 3), "sp")]
        return model(nodes, [info("image:0", F, ["unk__1", "unk__2", "unk__3", 3])], [info("Identity:0", F, ["unk__1", 4])], w, graph="tf2onnx")
    s.model("tf_nhwc_and_back", nhwc, floats(1, 8, 8, 3, name="image:0"), floats(2, 9, 7, 3, name="image:0"), floats(5, 5, 6, 3, name="image:0"))
    s.text("tf_shape_in_int32", """
        g (float[n,h,w,3] X) => (float[a,b,c] Y) <int32 one = {1}, int32 i3 = {3}, int32[1] z = {0}, int64[1] ax = {0}> {
          s = Shape(X)  t = Cast<to = 6>(s)  n0 = Slice(t, z, o1, z)  o1 = Constant<value = int32[1] {1}>()  n = Squeeze(n0, ax)
          h0 = Slice(t, o1, o2, z)  o2 = Constant<value = int32[1] {2}>()  h = Squeeze(h0, ax)  w0 = Slice(t, o2, o3, z)  o3 = Constant<value = int32[1] {3}>()  w = Squeeze(w0, ax)
          m = Mul(h, w)  un = Unsqueeze(n, ax)  um = Unsqueeze(m, ax)  uc = Unsqueeze(i3, ax)  c32 = Concat<axis = 0>(un, um, uc)  c = Cast<to = 7>(c32)  Y = Reshape(X, c) }""",
           floats(2, 3, 4, 3), floats(1, 1, 5, 3))
    s.text("keras_conv1d_as_conv2d", """
        g (float[n,l,4] X) => (float[n,k,5] Y) <float[5,4,1,3] W = {%s}, int64[1] a1 = {1}, int64[1] a2 = {2}> {
          e = Unsqueeze(X, a1)  t = Transpose<perm = [0, 3, 1, 2]>(e)  c = Conv<auto_pad = "VALID", kernel_shape = [1, 3]>(t, W)
          q = Squeeze(c, a2)  Y = Transpose<perm = [0, 2, 1]>(q) }""" % ", ".join(str(i % 7 - 3) for i in range(60)), *batches(6, 4, of=(1, 2, 5)), floats(2, 9, 4))
    s.text("keras_dense_over_time", """
        g (float[n,l,3] X) => (float[n,l,2] Y) <float[3,2] W = {1.0, 2.0, -1.0, 0.5, 0.25, 3.0}, float[2] b = {0.5, -0.5}, int64[1] m1 = {-1}, int64[2] two = {-1, 3}> {
          s = Shape(X)  f = Reshape(X, two)  d = MatMul(f, W)  z = Constant<value_ints = [0]>()  t2 = Constant<value_ints = [2]>()  head = Slice(s, z, t2, z)
          t = Concat<axis = 0>(head, t2)  r = Reshape(d, t)  Y = Add(r, b) }""", floats(2, 4, 3), floats(1, 1, 3), floats(3, 2, 3))
    s.text("keras_lstm_reversed", """
        g (float[n,l,2] X) => (float[n,3] Y) <float[1,12,2] W = {%s}, float[1,12,3] R = {%s}, float[1,24] B = {%s}, int64[1] z = {0}> {
          t = Transpose<perm = [1, 0, 2]>(X)  s = Shape(X)  o = Constant<value_ints = [1]>()  n = Slice(s, z, o)  h = Constant<value_ints = [3]>()
          d = Concat<axis = 0>(o, n, h)  i = Expand(zero, d)  zero = Constant<value_float = 0.0>()
          y, yh, yc = LSTM<hidden_size = 3, direction = "reverse">(t, W, R, B, , i, i)  Y = Squeeze(yh, z) }""" % tuple(
               ", ".join(f"{((i * 7) % 11 - 5) / 8}" for i in range(k)) for k in (24, 36, 24)), floats(2, 4, 2), floats(1, 1, 2))
    s.text("squeeze_unsqueeze_chain", """
        g (float[n,4] X) => (float[n,4] Y) <int64[2] a = {1, 3}, int64[1] l = {-1}, int64[1] one = {1}> {
          u = Unsqueeze(X, a)  v = Unsqueeze(u, l)  q = Squeeze(v, l)  w = Squeeze(q, one)  x = Squeeze(w, l)  Y = Exp(x) }""", *batches(4))


def quantized(s):
    def pairs(channel, kind):
        def build():
            shape = lambda *d: np.random.default_rng(len(d)).integers(-100, 100, d).astype(np.int8)  # noqa: E731
            scale = np.linspace(0.01, 0.03, 5).astype(np.float32) if channel else np.float32(0.02)
            w = [numpy_helper.from_array(shape(5, 3, 3, 3), "wq"), numpy_helper.from_array(scale, "ws"), numpy_helper.from_array(np.zeros_like(scale).astype(np.int8), "wz"),
                 numpy_helper.from_array(np.array([100, -200, 0, 50, 7], np.int32), "bq"), numpy_helper.from_array((scale * np.float32(0.05)).astype(np.float32), "bs"),
                 numpy_helper.from_array(np.zeros(scale.shape, np.int32), "bz"),
                 numpy_helper.from_array(np.float32(0.05), "xs"), numpy_helper.from_array(kind(3), "xz"), numpy_helper.from_array(np.float32(0.2), "ys")]
            axis = {"axis": 0} if channel else {}
            nodes = [node("QuantizeLinear", ["X", "xs", "xz"], ["xq"]), node("DequantizeLinear", ["xq", "xs", "xz"], ["x"]),
                     node("DequantizeLinear", ["wq", "ws", "wz"], ["w"], **axis), node("DequantizeLinear", ["bq", "bs", "bz"], ["b"], **axis),
                     node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
                     node("QuantizeLinear", ["r", "ys", "xz"], ["yq"]), node("DequantizeLinear", ["yq", "ys", "xz"], ["Y"])]
            return model(nodes, [info("X", F, ["n", 3, "h", "w"])], [info("Y", F, ["n", 5, "h", "w"])], w)
        return build
    for channel in (False, True):
        for kind in (np.int8, np.uint8):
            s.model(f"qdq_conv_{'channel' if channel else 'tensor'}_{kind.__name__}", pairs(channel, kind), floats(1, 3, 6, 6), floats(2, 3, 4, 5), atol=0.201)
    s.text("dynamic_quantization", """
        g (float[n,4] X) => (float[n,3] Y) <int8[4,3] W = {1,-2,3,4,5,-6,7,8,9,-10,11,12}, float ws = {0.01}, int8 wz = {0}> {
          q, s, z = DynamicQuantizeLinear(X)  i = MatMulInteger(q, W, z, wz)  f = Cast<to = 1>(i)  m = Mul(s, ws)  Y = Mul(f, m) }""", *batches(4, of=(1, 2, 5)), atol=1e-2)
    s.text("integers_convolved", """
        g (uint8[n,1,h,w] X) => (uint8[n,1,a,b] Y) <int8[1,1,2,2] W = {1, 2, -3, 4}, uint8 z = {128}, int8 wz = {0}, float xs = {0.1}, float ws = {0.2}, float ys = {0.5}> {
          Y = QLinearConv(X, xs, z, W, ws, wz, ys, z) }""", {"X": np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4) * 15}, {"X": np.full((2, 1, 2, 3), 255, np.uint8)})


def older(s):
    text = lambda name, opset, body, *sets, ir=4, **more: s.text(f"opset{opset}_{name}", body, *sets, opset=opset, ir=ir, **more)  # noqa: E731
    text("attributes_for_inputs", 9, """
        g (float[n,2,4] X) => (float[a,b,c] Y) { s = Slice<axes = [2], starts = [1], ends = [9223372036854775807]>(X)  c = Clip<min = -0.5, max = 0.5>(s)
          u = Unsqueeze<axes = [0, 3]>(c)  q = Squeeze<axes = [0]>(u)  p = Pad<mode = "constant", pads = [0, 0, 0, 0, 0, 1, 0, 1], value = 2.0>(q)
          r = ReduceSum<axes = [2], keepdims = 0>(p)  Y = Neg(r) }""", *batches(2, 4))
    text("softmax_over_the_rest", 11, "g (float[n,3,4] X) => (float[n,3,4] Y, float[n,3,4] Z) { Y = Softmax(X)  Z = LogSoftmax<axis = 2>(X) }", *batches(3, 4))
    text("batch_norm_and_upsample", 7, """
        g (float[n,2,h,w] X) => (float[n,2,a,b] Y) <float[2] g = {1.0, 2.0}, float[2] b = {0.0, 1.0}, float[2] m = {0.5, 0.25}, float[2] v = {1.0, 4.0}> {
          n = BatchNormalization<epsilon = 0.001, momentum = 0.9>(X, g, b, m, v)  Y = Upsample<mode = "nearest", scales = [1.0, 1.0, 2.0, 3.0]>(n) }""",
         floats(1, 2, 3, 4), floats(2, 2, 1, 1))
    text("upsample_by_input", 9, """
        g (float[n,2,h,w] X) => (float[n,2,a,b] Y) { c = Constant<value = float[4] {1.0, 1.0, 2.0, 2.0}>()  Y = Upsample<mode = "linear">(X, c) }""", floats(1, 2, 3, 4), floats(2, 2, 1, 2))
    text("resize_by_scales", 10, """
        g (float[n,2,h,w] X) => (float[n,2,a,b] Y) <float[4] c = {1.0, 1.0, 2.0, 1.5}> { Y = Resize<mode = "nearest">(X, c) }""", floats(1, 2, 3, 4), floats(2, 2, 1, 2))
    text("resize_with_empty_roi", 11, """
        g (float[n,2,h,w] X) => (float[n,2,a,b] Y) <float[4] c = {1.0, 1.0, 0.5, 0.5}> { r = Constant<value = float[0] {}>()
          Y = Resize<mode = "cubic", coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -0.75>(X, r, c) }""", floats(1, 2, 8, 8), floats(2, 2, 6, 4))
    text("topk_by_attribute", 7, "g (float[n,5] X) => (float[n,2] V, int64[n,2] I) { V, I = TopK<axis = 1, k = 2>(X) }", *batches(5))
    text("gemm_with_a_row", 7, "g (float[n,3] X) => (float[n,2] Y) <float[2,3] W = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float[2] b = {1.0, -1.0}> { Y = Gemm<alpha = 0.5, beta = 2.0, transB = 1>(X, W, b) }", *batches(3))
    text("lstm_with_lengths", 7, """
        g (float[l,n,2] X, int32[n] len) => (float[l,1,n,1] Y, float[1,n,1] H) <float[1,4,2] W = {1.0, 0.5, -1.0, 0.25, 0.75, -0.5, 0.5, 1.0}, float[1,4,1] R = {0.5, -0.5, 0.25, 1.0}> {
          Y, H = LSTM<hidden_size = 1>(X, W, R, , len) }""",
         floats(4, 2, 2, len=np.array([4, 2], np.int32)), floats(2, 1, 2, len=np.array([1], np.int32)))
    text("split_by_attribute", 11, "g (float[n,6] X) => (float[n,2] Y, float[n,4] Z, float[n,3] A, float[n,3] B) { Y, Z = Split<axis = 1, split = [2, 4]>(X)  A, B = Split<axis = -1>(X) }", *batches(6))
    text("scatter", 9, "g (float[n,4] X, int64[n,1] I, float[n,1] U) => (float[n,4] Y) { Y = Scatter<axis = 1>(X, I, U) }",
         lambda r: {"X": np.zeros((2, 4), np.float32), "I": np.array([[1], [3]]), "U": np.ones((2, 1), np.float32)})
    text("one_hot_and_where", 9, """
        g (int64[n] X) => (float[n,4] Y) <int64 d = {4}, float[2] v = {0.0, 1.0}> { h = OneHot<axis = -1>(X, d, v)  z = Constant<value = float {0.5}>()  k = Greater(h, z)  i = IsNaN(h)  c = Cast<to = 1>(i)  Y = Where(k, h, c) }""",
         {"X": ints(0, 3)}, {"X": ints(2)})
    text("expand_and_shape", 8, """
        g (float[n,1] X, float[p,3] L) => (float[n,3] Y) { s = Shape(L)  e = Expand(X, s)  m = Max(e, L)  Y = Mean(e, m, L) }""",
         lambda r: {"X": r.standard_normal((2, 1)).astype(np.float32), "L": r.standard_normal((2, 3)).astype(np.float32)})
    text("pool_ceil_and_indices", 10, "g (float[n,1,h,w] X) => (float[n,1,a,b] Y, int64[n,1,a,b] I, float[n,1,c,d] A) { Y, I = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(X)  A = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1>(X) }",
         floats(1, 1, 6, 7), floats(2, 1, 5, 5))
    text("negative_axes", 11, "g (float[n,3,4] X) => (float[n,a] Y, float[n,1,4] Z, int64[n,3] A) { Y = Flatten<axis = -2>(X)  Z = ReduceMax<axes = [-2]>(X)  A = ArgMax<axis = -1, keepdims = 0, select_last_index = 1>(X) }".replace(", select_last_index = 1", ""), *batches(3, 4, of=(1, 2, 3)))
    text("clip_with_inputs", 11, "g (float[n,4] X) => (float[n,4] Y) { lo = Constant<value = float {-0.1}>()  Y = Clip(X, lo) }", *batches(4))
    text("loop_and_scan", 8, """
        g (float[n,3] X) => (float[3] L) <int64 m = {4}, bool c = {1}> { z = Constant<value = float[3] {0.0, 0.0, 0.0}>()
          L = Loop(m, c, z) <body = b (int64 i, bool k, float[3] h) => (bool kn, float[3] hn) { s = ReduceSum<axes = [0], keepdims = 0>(X)  hn = Add(h, s)  kn = Identity(k) }> }""", *batches(3, of=(1, 3)))
    text("bitshift_mod_and_sign", 11, "g (uint8[n] X) => (uint8[n] Y, float[n] Z) <uint8 two = {2}> { s = BitShift<direction = \"LEFT\">(X, two)  Y = Mod(s, seven)  seven = Constant<value = uint8 {7}>()  f = Cast<to = 1>(s)  Z = Sign(f) }",
         {"X": np.array([1, 70, 255], np.uint8)})


def write(s):
    for part in (tf2onnx, quantized, older):
        part(s)
