"""Models that once differed, each as small as it could be made, with what the specification says of it.

`write(suite, write_case)` makes them cases of the suite's runner and returns their names.
"""
import numpy as np

from onnx import numpy_helper, parser

F, I64 = np.float32, np.int64
HEAD = '<ir_version: 13, opset_import: ["" : {opset}]>\n'

# Name, opset, text, inputs in order, outputs in order, rtol.
CASES = [
    # Nothing is read of an operand without elements.
    ("tile_of_nothing", 21, """
        g (float[2, 0, N] x) => (float[?, ?, ?] y) {
          r = Constant <value = int64[3] {1, 3, 2}> ()
          y = Tile(x, r)
        }""", [np.zeros((2, 0, 3), F)], [np.zeros((2, 0, 6), F)], 0),
    # No unsigned number is less than -lambd.
    ("shrink_of_unsigned", 21, """
        g (uint8[N] x) => (uint8[?] y) { y = Shrink <lambd = 2.0, bias = 1.0> (x) }""",
     [np.array([0, 1, 2, 3, 200], np.uint8)], [np.array([0, 0, 0, 2, 199], np.uint8)], 0),
    # C of it compares an unsigned number with 0 unless the negated constant is folded.
    ("shrink_of_unsigned_zero", 21, """
        g (uint16[N] x) => (uint16[?] y) { y = Shrink <lambd = 0.5> (x) }""",
     [np.array([0, 1, 65535], np.uint16)], [np.array([0, 1, 65535], np.uint16)], 0),
    # The exponent keeps its own dtype: it is no zero in float32.
    ("pow_of_wider_exponent", 21, """
        g (float16[N] x, float[1] e) => (float16[?] y) { y = Pow(x, e) }""",
     [np.array([-2.5, 8.0], np.float16), np.array([1e-38], F)], [np.array([np.nan, 1.0], np.float16)], 0),
    ("pow_of_integer_and_fraction", 21, """
        g (int32[N] x, float[1] e) => (int32[?] y) { y = Pow(x, e) }""",
     [np.array([4, 9, 16], np.int32), np.array([0.5], F)], [np.array([2, 3, 4], np.int32)], 0),
    # Variables that nothing uses, where all is said of one element, or only a list's length is a symbol.
    ("unique_of_scalar", 21, """
        g (int16 x) => (int16[?] y, int64[?] i) { y, i = Unique <sorted = 0> (x) }""",
     [np.array(7, np.int16)], [np.array([7], np.int16), np.array([0], I64)], 0),
    ("slice_by_symbolic_list", 21, """
        g (int64[3] s, int64[E] e, int64[3] t) => (int64[?, ?, ?] y) {
          x = Constant <value = int64[2, 2, 2] {0, 1, 2, 3, 4, 5, 6, 7}> ()
          a = Constant <value = int64[3] {0, 1, 2}> ()
          y = Slice(x, s, e, a, t)
        }""", [np.array([0, 1, -1], I64), np.array([1, 9, -9], I64), np.array([1, 1, -1], I64)],
     [np.array([[[3, 2]]], I64)], 0),
    # activation_alpha is consumed by the functions that take one.
    ("rnn_alpha_of_the_second_function", 21, """
        g (float[1, 1, 1] x) => (float[?, ?, ?, ?] y) {
          w = Constant <value = float[2, 1, 1] {1.0, 1.0}> ()
          r = Constant <value = float[2, 1, 1] {0.0, 0.0}> ()
          y = RNN <hidden_size = 1, direction = "bidirectional", activations = ["Relu", "LeakyRelu"],
                   activation_alpha = [0.25]> (x, w, r)
        }""", [np.full((1, 1, 1), -1, F)], [np.array([0, -0.25], F).reshape(1, 2, 1, 1)], 0),
    # The aspect ratio of a size that only the running program knows.
    ("resize_not_larger_of_symbolic_size", 19, """
        g (float[1, A, B, 2] x) => (float[?, ?, ?, ?] y) {
          n = Constant <value = int64[2] {7, 1}> ()
          y = Resize <axes = [1, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , n)
        }""", [np.arange(4, dtype=F).reshape(1, 2, 1, 2)], [np.array([0], F).reshape(1, 1, 1, 1)], 0),
    # What was rounded up is shared by both ends, too.
    ("resize_symmetric_rounded_up", 19, """
        g (float[5, 4] x) => (float[?, ?] y) {
          n = Constant <value = int64[2] {2, 6}> ()
          y = Resize <keep_aspect_ratio_policy = "not_larger", mode = "linear",
                      coordinate_transformation_mode = "half_pixel_symmetric"> (x, , , n)
        }""", [np.tile(np.arange(4, dtype=F), (5, 1))], [np.array([[0.25, 2.75]] * 2, F)], 1e-6),
    ("zero_is_no_more_than_unsigned", 21, """
        g (uint16[N] x) => (bool[?] y) {
          z = Constant <value = uint16[1] {0}> ()
          y = LessOrEqual(z, x)
        }""", [np.array([0, 1, 65535], np.uint16)], [np.array([True] * 3)], 0),
    # C of a product that a symbolic dim of 1 broadcasts to.
    ("gemm_with_symbolic_bias", 21, """
        g (float[2, 1] x, float[2, B] c) => (float[?, ?] y) {
          w = Constant <value = float[1, 1] {2.0}> ()
          y = Gemm(x, w, c)
        }""", [np.array([[1], [2]], F), np.array([[5], [6]], F)], [np.array([[7], [10]], F)], 0),
    # One element behind a pad of a symbolic dim: the pad's own condition guards the access.
    ("element_behind_a_pad", 21, """
        g (float[N] x) => (float[?] a, float[?] b) {
          p = Constant <value = int64[2] {2, 2}> ()
          n = Constant <value = int64[2] {7, 1}> ()
          y = Pad(x, p)
          a, b = Split <axis = 0> (y, n)
        }""", [np.arange(4, dtype=F)], [np.array([0, 0, 0, 1, 2, 3, 0], F), np.array([0], F)], 0),
    ("conv_state_of_one", 27, """
        g (float[B, 1, L] x, float[B, 1, 1] s) => (float[?, ?, ?] y, float[?, ?, ?] z) {
          w = Constant <value = float[1, 1, 2] {1.0, 2.0}> ()
          y, z = CausalConvWithState(x, w, , s)
        }""", [np.array([[[1, 2]]], F), np.array([[[3]]], F)],
     [np.array([[[5, 5]]], F), np.array([[[2]]], F)], 0),
    # Slice-13: nothing is taken of nothing; the start of a negative step is clamped to 0 .. n - 1.
    ("slice_of_nothing_backwards", 21, """
        g (float[0] x, float[N] z) => (float[?] y) {
          a = Constant <value = int64[1] {0}> ()
          m = Constant <value = int64[1] {-1}> ()
          s = Slice(x, a, a, a, m)
          y = Concat <axis = 0> (s, z)
        }""", [np.zeros(0, F), np.ones(2, F)], [np.ones(2, F)], 0),
    ("slice_from_far_before", 21, """
        g (float[N] x) => (float[?] y) {
          a = Constant <value = int64[1] {0}> ()
          l = Constant <value = int64[1] {-9223372036854775808}> ()
          m = Constant <value = int64[1] {-1}> ()
          y = Slice(x, l, l, a, m)
        }""", [np.array([5, 6, 7], F)], [np.array([5], F)], 0),
    # A Loop without iterations leaves the dims of what it was given.
    ("loop_without_iterations", 21, """
        g (float[A, N] x, bool c) => (float[?, ?] y, float[?, ?, ?] z) {
          v = If (c) <then_branch = t () => (float[?, ?] t1) { t1 = Neg(x) },
                      else_branch = e () => (float[?, ?] e1) { e1 = Concat <axis = 1> (x, x) }>
          n = Constant <value = int64 {0}> ()
          on = Constant <value = bool {1}> ()
          y, z = Loop (n, on, v) <body = b (int64 i, bool g0, float[?, ?] s) =>
            (bool g1, float[?, ?] s1, float[?, ?] s2) { g1 = Identity(g0) s1 = Identity(s) s2 = Neg(v) }>
        }""", [np.ones((2, 3), F), np.array(False)], [np.ones((2, 6), F), np.zeros((0, 2, 6), F)], 0),
    # The shape rule of Loop-25: a gathered result has the dims of the body's result; so it has where there is none.
    ("loop_without_iterations_as_declared", 21, """
        g (float[A, N] x) => (float[?, ?] y, float[?, ?, ?] z, float[?, ?, ?] w) {
          n = Constant <value = int64 {0}> ()
          on = Constant <value = bool {1}> ()
          e = Constant <value = int64[1] {1}> ()
          y, z, w = Loop (n, on, x) <body = b (int64 i, bool g0, float[?, ?] s) =>
            (bool g1, float[?, ?] s1, float[?, ?] s2, float[2, 5] s3) {
              g1 = Identity(g0) s1 = Concat <axis = 1> (s, x) s2 = Neg(s) s3 = Expand(s, e) }>
        }""", [np.ones((2, 3), F)], [np.ones((2, 3), F), np.zeros((0, 2, 3), F), np.zeros((0, 2, 5), F)], 0),
    ("scan_over_nothing", 21, """
        g (float[A, N] x, float[T] t) => (float[?, ?] y, float[?, ?, ?] z) {
          y, z = Scan <num_scan_inputs = 1, scan_output_axes = [1], body = b (float[?, ?] s, float t0) =>
            (float[?, ?] s1, float[?, ?] s2) { s1 = Concat <axis = 1> (s, x) s2 = Add(s, t0) }> (x, t)
        }""", [np.ones((2, 3), F), np.zeros(0, F)], [np.ones((2, 3), F), np.zeros((2, 0, 3), F)], 0),
    # Two symbols that turn out to be 0 and 1 give 0, whatever else they are broadcast to.
    ("broadcast_of_nothing_and_one", 21, """
        g (float[A] x, float[B] y, float[C] z) => (float[?] v, float[?] w, float[?] s, float[?] t) {
          v = Add(x, y)
          w = Mul(v, x)
          u = Max(z, y, x)
          s = Sub(u, v)
          f = Constant <value = float[1] {3.0}> ()
          b = Shape(s)
          c = Expand(f, b)
          t = Add(c, z)
        }""", [np.zeros(0, F), np.ones(1, F), np.ones(1, F)], [np.zeros(0, F)] * 4, 0),
    ("broadcast_of_three_symbols", 21, """
        g (float[A, 1] x, float[B, 1] y, float[C, D] z) => (float[?, ?] v, float[?, ?] w) {
          v = Sum(x, y, z)
          w = Add(z, v)
        }""", [np.ones((1, 1), F), np.full((1, 1), 2, F), np.full((2, 3), 3, F)],
     [np.full((2, 3), 6, F), np.full((2, 3), 9, F)], 0),
    ("ellipsis_of_one", 21, """
        g (float[A, I, 2] x, float[B, 2, I] y, float[2, J] u) => (float[?, ?, ?] z, float[?] w) {
          z = Einsum <equation = "...ij,...jk->...ik"> (x, y)
          w = Einsum <equation = "ij,ij->i"> (u, u)
        }""", [np.ones((1, 1, 2), F), np.ones((3, 2, 1), F), np.ones((2, 3), F)],
     [np.full((3, 1, 1), 2, F), np.full(2, 3, F)], 0),
    # What a dim that only the program knows must be for the ranks to fit is compared.
    ("tuples_by_rank", 21, """
        g (float[2, 3] x, int64[N, K] i) => (float[?] y, float[?, ?] z) {
          y = GatherND(x, i)
          z = ScatterND(x, i, y)
        }""", [np.arange(6, dtype=F).reshape(2, 3), np.array([[1, 2], [0, -1]], I64)],
     [np.array([5, 2], F), np.arange(6, dtype=F).reshape(2, 3)], 0),
    ("transform_of_open_parts", 21, """
        g (float[1, 1, C] x, float[1, 1, D] u) => (float[?, ?, ?] y, float[?, ?, ?] z) {
          y = DFT(x)
          z = DFT(u)
        }""", [np.array([[[3]]], F), np.array([[[1, 2]]], F)],
     [np.array([[[3, 0]]], F), np.array([[[1, 2]]], F)], 0),
    # A running sum of what is known to be 0 assigns nothing to itself, which a compiler says.
    ("running_sum_of_nothing", 26, """
        g (int64[N] x) => (int64[?] y, int64[?] z) {
          n = Constant <value = int64[2] {2, 0}> ()
          p = Constant <value = int64[2] {0, 2}> ()
          a = Constant <value = int64 {0}> ()
          y, e = Split <axis = 0> (x, n)
          f = Pad (e, p)
          z = CumSum <exclusive = 1, reverse = 1> (f, a)
        }""", [np.array([1, 2], I64)], [np.array([1, 2], I64), np.zeros(2, I64)], 0),
    # A slice that takes all of a dim leaves it one dim with itself: 0 only where the dim is.
    ("broadcast_of_a_whole_slice", 21, """
        g (float[N] x, float[M] y) => (float[?] v, float[?] w) {
          a = Constant <value = int64[1] {0}> ()
          b = Constant <value = int64[1] {1000}> ()
          s = Slice(x, a, b)
          v = Add(s, x)
          u = Add(v, y)
          w = Add(u, x)
        }""", [np.ones(1, F), np.zeros(0, F)], [np.full(1, 2, F), np.zeros(0, F)], 0),
    ("product_of_no_batch", 21, """
        g (float[A, 2, 2] x, float[B, 2, N] y) => (float[?, ?, ?] z) { z = MatMul(x, y) }""",
     [np.ones((1, 2, 2), F), np.zeros((0, 2, 2), F)], [np.zeros((0, 2, 2), F)], 0),
    # A heap of no place is not read, and nothing is asked of its dim.
    ("top_of_constants_none", 21, """
        g (float[B] z) => (uint16[?, ?] y, int64[?, ?] i, float[?] w) {
          x = Constant <value = uint16[2, 2] {1, 2, 3, 4}> ()
          k = Constant <value = int64[1] {0}> ()
          y, i = TopK <axis = 0> (x, k)
          w = Neg(z)
        }""", [np.ones(1, F)], [np.zeros((0, 2), np.uint16), np.zeros((0, 2), I64), -np.ones(1, F)], 0),
    # Attention-25: the mask broadcasts to the heads, also where a symbol turns out to be 1.
    ("attention_with_one_mask_for_all_heads", 25, """
        g (float[1, 2, 1, 1] q, float[1, 2, 2, 1] k, float[1, 2, 2, 1] v, float[1, H, 1, 2] m) => (float[?, ?, ?, ?] y) {
          y = Attention <scale = 1.0> (q, k, v, m)
        }""", [np.zeros((1, 2, 1, 1), F), np.zeros((1, 2, 2, 1), F), np.array([1, 3, 5, 9], F).reshape(1, 2, 2, 1),
               np.zeros((1, 1, 1, 2), F)], [np.array([2, 7], F).reshape(1, 2, 1, 1)], 1e-6),
    # Out of float8's range stands its greatest number, for infinities at each version (Cast-24 corrects the table).
    ("cast_of_infinity_to_fnuz", 19, """
        g (float[N] x) => (float[?] y, float[?] z, float[?] w) {
          a = Cast <to = 18> (x)
          y = Cast <to = 1> (a)
          b = Cast <to = 20> (x)
          z = Cast <to = 1> (b)
          c = Cast <to = 18, saturate = 0> (x)
          w = Cast <to = 1> (c)
        }""", [np.array([np.inf, -np.inf, 1e9], F)],
     [np.array([240, -240, 240], F), np.array([57344, -57344, 57344], F), np.full(3, np.nan, F)], 0),
]


def write(suite, write_case):
    """Writes all of them; their names."""
    names = []
    for name, opset, text, inputs, outputs, rtol in CASES:
        model = parser.parse_model(HEAD.format(opset=opset) + text.strip())
        write_case(suite / name, model, (rtol, 0.0))
        (suite / name / "test_data_set_0").mkdir()
        for kind, infos, arrays in (("input", model.graph.input, inputs), ("output", model.graph.output, outputs)):
            for k, (info, array) in enumerate(zip(infos, arrays)):
                proto = numpy_helper.from_array(np.asarray(array), info.name)
                (suite / name / "test_data_set_0" / f"{kind}_{k}.pb").write_bytes(proto.SerializeToString())
        names.append(name)
    return names



