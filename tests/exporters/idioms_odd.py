"""What is out of the ordinary and still runs: stale declarations, shadowed names, sizes and shapes that are inputs."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from idioms_graphs import info, linear, model, node, weight
from idioms_shapes import batches, floats, ints

F, I64, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def stale(s):
    def output_fixed():
        m = linear()
        m.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1
        return m
    s.model("stale_output_dim", output_fixed, *batches(6, of=(1, 2, 5)))

    def inner_fixed():
        m = linear()
        m.graph.value_info.append(info("h", F, [1, 5]))
        m.graph.value_info.append(info("r", F, [1, 5]))
        return m
    s.model("stale_inner_dims", inner_fixed, *batches(6, of=(1, 2, 5)))

    def inner_named():
        m = linear()
        m.graph.value_info.append(info("h", F, ["n", "k"]))
        m.graph.value_info.append(info("r", F, ["batch_again", "k"]))
        return m
    s.model("inner_dims_of_other_names", inner_named, *batches(6, of=(1, 2, 5)))


def unnamed(s):
    """Several dims named "?", which are not one dim."""
    def image():
        return model([node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2])], [info("X", F, ["?", 3, "?", "?"])],
                     [info("Y", F, ["?", 3, "?", "?"])])
    s.model("dims_named_question_mark", image, *({"X": np.arange(n * 3 * h * w, dtype=np.float32).reshape(n, 3, h, w) / 50}
                                                 for n, h, w in ((1, 4, 9), (2, 7, 3))))


def thin(s):
    """Windows of one channel each over lines and over images of which one row is left."""
    line = model([node("Conv", ["X", "W"], ["Y"], group=4, pads=[1, 1])], [info("X", F, ["n", 4, "l"])], [info("Y", F, ["n", 4, "l"])],
                 [weight("W", 4, 1, 3)])
    s.model("depthwise_line", lambda: line, *({"X": np.arange(n * 4 * l, dtype=np.float32).reshape(n, 4, l) / 50}
                                              for n, l in ((1, 9), (2, 40), (1, 70))))
    for name, height, pad in (("one_row", 1, 1), ("row_left", 3, 0)):
        def build(height=height, pad=pad):
            w = weight("W", 4, 1, 3, 3)
            return model([node("Conv", ["X", "W"], ["Y"], group=4, pads=[pad, 1, pad, 1])], [info("X", F, ["n", 4, height, "w"])],
                         [info("Y", F, ["n", 4, 1, "w"])], [w])
        s.model("depthwise_" + name, build, *({"X": np.arange(n * 4 * height * w, dtype=np.float32).reshape(n, 4, height, w) / 50}
                                              for n, w in ((1, 5), (2, 13), (1, 50))))


def inner(s):
    def outer(then):
        branch = helper.make_graph([node("Identity", ["h"], ["u"])] if then == "u" else [], "t", [], [info(then, F, None)])
        other = helper.make_graph([node("Neg", ["h"], ["v"])], "e", [], [info("v", F, None)])
        return model([node("Exp", ["X"], ["h"]), node("If", ["C"], ["Y"], then_branch=branch, else_branch=other)],
                     [info("X", F, ["n", 2]), info("C", B, [])], [info("Y", F, ["n", 2])])
    s.model("branch_gives_outer_value", lambda: outer("h"), *({"X": np.ones((2, 2), np.float32), "C": np.array(c)} for c in (True, False)),
            asked=lambda: outer("u"))
    s.text("body_passes_through", """
        g (float[n,4] X, int64 M) => (float[n,4] Y, float[k,n,4] Z) <bool c = {1}> {
          Y, Z = Loop(M, c, X) <body = b (int64 i, bool ci, float[n,4] h) => (bool ci, float[n,4] hn, float[n,4] h) { hn = Add(h, X) }> }""",
           lambda r: {"X": r.standard_normal((2, 4)).astype(np.float32), "M": np.int64(3)})
    s.text("bodies_with_equal_names", """
        g (float[n,4] X, bool C) => (float[n,4] Y, float[n,4] Z) {
          Y = If(C) <then_branch = t () => (float[n,4] out) <float k = {2.0}> { a = Mul(X, k) out = Exp(a) }, else_branch = e () => (float[n,4] out) <float k = {3.0}> { a = Mul(X, k) out = Neg(a) }>
          Z = If(C) <then_branch = t () => (float[n,4] out) <float k = {4.0}> { a = Mul(Y, k) out = Neg(a) }, else_branch = e () => (float[n,4] out) <float k = {5.0}> { a = Add(Y, k) out = Neg(a) }> }""",
           *({"X": np.ones((2, 4), np.float32), "C": np.array(c)} for c in (True, False)))

    def mixed_order():
        then = helper.make_graph([node("Neg", ["b"], ["c"]), node("Exp", ["X"], ["b"])], "t", [], [info("c", F, None)])
        other = helper.make_graph([node("Abs", ["X"], ["d"])], "e", [], [info("d", F, None)])
        return model([node("Relu", ["q"], ["Y"]), node("If", ["C"], ["q"], then_branch=then, else_branch=other)], [info("X", F, ["n", 2]), info("C", B, [])], [info("Y", F, ["n", 2])])

    def in_order():
        m = mixed_order()
        nodes = list(m.graph.node)[::-1]
        sub = next(a.g for a in nodes[0].attribute if a.name == "then_branch")
        inner_nodes = list(sub.node)[::-1]
        del m.graph.node[:], sub.node[:]
        sub.node.extend(inner_nodes)
        m.graph.node.extend(nodes)
        return m
    s.model("subgraph_out_of_order", mixed_order, *({"X": np.array([[1, -2]], np.float32), "C": np.array(c)} for c in (True, False)), asked=in_order)
    s.text("shrinking_state", """
        g (float[n] X, int64 M) => (float[m] Y) <bool c = {1}, int64[1] one = {1}, int64[1] big = {9223372036854775807}> {
          Y = Loop(M, c, X) <body = b (int64 i, bool ci, float[k] h) => (bool co, float[l] hn) { hn = Slice(h, one, big)  co = Identity(ci) }> }""",
           {"X": np.arange(5, dtype=np.float32), "M": np.int64(2)}, {"X": np.arange(5, dtype=np.float32), "M": np.int64(9)})
    s.text("shrinking_state_of_two_dims", """
        g (float[n,m] X, int64 M) => (float[a,b] Y, float[s] Z) <bool c = {1}, int64[1] one = {1}, int64[1] z = {0}, int64[1] big = {9223372036854775807}> {
          Y, Z = Loop(M, c, X) <body = b (int64 i, bool ci, float[k,l] h) => (bool co, float[p,q] hn, float t) {
            r = Slice(h, one, big, one)  d = Slice(r, one, big, z)  hn = Exp(d)  t = ReduceSum<keepdims = 0>(hn)  co = Identity(ci) }> }""",
           *(lambda r, m=m: {"X": r.standard_normal((4, 5)).astype(np.float32), "M": np.int64(m)} for m in (2, 3)))
    s.text("swapping_states", """
        g (float[n,m] X, float[p,q] V, int64 M) => (float[a,b] Y, float[c,d] Z) <bool c = {1}> {
          Y, Z = Loop(M, c, X, V) <body = b (int64 i, bool ci, float[k,l] g, float[r,s] h) => (bool co, float[r,s] gn, float[l,k] hn) {
            gn = Exp(h)  hn = Transpose(g)  co = Identity(ci) }> }""",
           *(lambda r, m=m: {"X": r.standard_normal((4, 5)).astype(np.float32), "V": r.standard_normal((2, 3)).astype(np.float32), "M": np.int64(m)} for m in (2, 3)))
    s.text("growing_by_squares", """
        g (float[n] X, int64 M) => (float[a] Y) <bool c = {1}> {
          Y = Loop(M, c, X) <body = b (int64 i, bool ci, float[k] h) => (bool co, float[l] hn) {
            m1 = Constant<value_ints = [-1]>()  one = Constant<value_ints = [-1, 1]>()  r = Reshape(h, one)  p = Mul(r, h)  hn = Reshape(p, m1)  co = Identity(ci) }> }""",
           *(lambda r, m=m: {"X": r.standard_normal(3).astype(np.float32), "M": np.int64(m)} for m in (1, 2)))
    s.text("beam_like_growth", """
        g (int64[n,one] X, int64 M) => (int64[n,m] Y) <bool c = {1}> {
          Y = Loop(M, c, X) <body = b (int64 i, bool ci, int64[n,k] h) => (bool co, int64[n,l] hn) {
            t = Constant<value_ints = [-1]>()  big = Constant<value_ints = [9223372036854775807]>()  ax = Constant<value_ints = [1]>()  last = Slice(h, t, big, ax)
            nxt = Add(last, ax)  hn = Concat<axis = 1>(h, nxt)  s = ReduceMax<keepdims = 0>(nxt)  lim = Constant<value_int = 6>()  co = Less(s, lim) }> }""",
           {"X": np.array([[1], [2]]), "M": np.int64(10)}, {"X": np.array([[0]]), "M": np.int64(3)})


def from_inputs(s):
    x = lambda r, *d: r.standard_normal(d).astype(np.float32)  # noqa: E731
    s.text("reshape_by_input", "g (float[n] X, int64[2] S) => (float[a,b] Y) { Y = Reshape(X, S) }",
           lambda r: {"X": x(r, 6), "S": ints(2, 3)}, lambda r: {"X": x(r, 6), "S": ints(-1, 2)}, lambda r: {"X": x(r, 6), "S": ints(0, 1)})
    s.text("expand_by_input", "g (float[n,1] X, int64[3] S) => (float[a,b,c] Y) { Y = Expand(X, S) }", lambda r: {"X": x(r, 3, 1), "S": ints(2, 1, 4)})
    s.text("tile_by_input", "g (float[n,m] X, int64[2] R) => (float[a,b] Y) { Y = Tile(X, R) }", lambda r: {"X": x(r, 2, 3), "R": ints(2, 1)}, lambda r: {"X": x(r, 2, 3), "R": ints(0, 1)})
    s.text("slice_by_inputs", "g (float[n,m] X, int64[2] S, int64[2] E, int64[2] T) => (float[a,b] Y) { A = Constant<value_ints = [0, 1]>()  Y = Slice(X, S, E, A, T) }",
           lambda r: {"X": x(r, 4, 6), "S": ints(1, -1), "E": ints(2 ** 63 - 1, -2 ** 63), "T": ints(1, -2)}, lambda r: {"X": x(r, 4, 6), "S": ints(0, 0), "E": ints(-1, 9), "T": ints(2, 1)})
    s.text("slice_axes_by_input", "g (float[n,m] X, int64[1] S, int64[1] E, int64[1] A) => (float[a,b] Y) { Y = Slice(X, S, E, A) }",
           lambda r: {"X": x(r, 4, 6), "S": ints(1), "E": ints(3), "A": ints(1)}, lambda r: {"X": x(r, 4, 6), "S": ints(1), "E": ints(3), "A": ints(-2)})
    s.text("pad_by_input", "g (float[n,m] X, int64[4] P) => (float[a,b] Y) { Y = Pad(X, P) }", lambda r: {"X": x(r, 2, 3), "P": ints(1, 0, 0, 2)}, lambda r: {"X": x(r, 2, 3), "P": ints(0, -1, 0, 0)})
    s.text("topk_by_input", "g (float[n,m] X, int64[1] K) => (float[n,a] V, int64[n,a] I) { V, I = TopK(X, K) }", lambda r: {"X": x(r, 2, 5), "K": ints(3)}, lambda r: {"X": x(r, 2, 5), "K": ints(0)})
    s.text("range_by_inputs", "g (int64 A, int64 B, int64 D) => (int64[a] Y) { Y = Range(A, B, D) }", {"A": np.int64(1), "B": np.int64(8), "D": np.int64(3)}, {"A": np.int64(5), "B": np.int64(-2), "D": np.int64(-2)}, {"A": np.int64(5), "B": np.int64(5), "D": np.int64(1)})
    s.text("resize_by_inputs", "g (float[1,1,h,w] X, float[4] C) => (float[a,b,c,d] Y) { Y = Resize<mode = \"linear\">(X, , C) }", lambda r: {"X": x(r, 1, 1, 4, 4), "C": np.array([1, 1, 2, 1.5], np.float32)})
    s.text("sum_axes_by_input", "g (float[n,m,k] X, int64[1] A) => (float[a,b,c] Y) { Y = ReduceSum<keepdims = 1>(X, A) }", lambda r: {"X": x(r, 2, 3, 4), "A": ints(1)}, lambda r: {"X": x(r, 2, 3, 4), "A": ints(-1)})
    s.text("split_by_input", "g (float[n] X, int64[2] S) => (float[a] Y, float[b] Z) { Y, Z = Split(X, S) }", lambda r: {"X": x(r, 5), "S": ints(2, 3)}, lambda r: {"X": x(r, 5), "S": ints(0, 5)})
    s.text("constant_of_input", "g (int64[2] S) => (float[a,b] Y) { Y = ConstantOfShape(S) }", {"S": ints(2, 3)}, {"S": ints(0, 3)})
    s.text("trilu_and_cumsum_by_input", "g (float[n,m] X, int64 K, int64 A) => (float[n,m] Y, float[n,m] Z) { Y = Trilu(X, K)  Z = CumSum(X, A) }",
           lambda r: {"X": x(r, 3, 4), "K": np.int64(1), "A": np.int64(1)}, lambda r: {"X": x(r, 3, 4), "K": np.int64(-1), "A": np.int64(0)})
    s.text("squeeze_of_unit_dims", "g (float[n,1,m,1] X) => (float[n,m] Y) { Y = Squeeze(X) }", floats(2, 1, 3, 1), floats(5, 1, 4, 1))
    s.text("rank_from_another", "g (float[n,m] X, float[a,b,c] L) => (float[p,q,r] Y) { s = Shape(L)  k = Size(s)  o = Constant<value_ints = [0]>()  u = Unsqueeze(k, o)  f = ConstantOfShape<value = int64[1] {-1}>(u)  h = Mul(s, f)  w = Abs(h)  Y = Reshape(X, w) }",
           lambda r: {"X": x(r, 4, 6), "L": np.zeros((2, 3, 4), np.float32)})


def ranks(s):
    s.text("branches_of_two_ranks", """
        g (float[n,1,4] X, bool C) => (float Y) { h = If(C) <then_branch = t () => (float[n,4] u) { a = Constant<value_ints = [1]>() u = Squeeze(X, a) }, else_branch = e () => (float[n,p,4] v) { v = Identity(X) }>
          e = Exp(h)  Y = ReduceSum<keepdims = 0>(e) }""", *({"X": np.ones((2, 1, 4), np.float32), "C": np.array(c)} for c in (True, False)))
    s.text("reshape_to_scalar", "g (float[n] X) => (float Y) { s = Constant<value = int64[0] {}>()  a = ReduceSum<keepdims = 1>(X)  Y = Reshape(a, s) }", *batches(of=(1, 3, 0)))
    s.model("empty_weights", lambda: model([node("Concat", ["X", "e"], ["Y"], axis=0)], [info("X", F, ["n", 2])], [info("Y", F, ["m", 2])],
                                           [numpy_helper.from_array(np.zeros((0, 2), np.float32), "e")]), *batches(2))
    s.text("conv_transpose_shapes", """
        g (float[n,2,h,w] X) => (float[n,3,a,b] Y, float[n,3,c,d] Z, float[n,3,p,q] V) <float[2,3,3,3] W = {%s}> {
          Y = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>(X, W)  Z = ConvTranspose<strides = [2, 2], auto_pad = "SAME_UPPER">(X, W)
          V = ConvTranspose<strides = [2, 2], output_shape = [8, 7]>(X, W) }""" % ", ".join(str(i % 5 - 2) for i in range(54)), floats(1, 2, 3, 3))
    s.text("einsums_of_attention", "g (float[b,q,h,4] Q, float[b,k,h,4] K) => (float[b,h,q,k] S, float[b,q,h,4] O) { S = Einsum<equation = \"bqhd,bkhd->bhqk\">(Q, K)  O = Einsum<equation = \"bhqk,bkhd->bqhd\">(S, K) }",
           lambda r: {"Q": r.standard_normal((2, 3, 2, 4)).astype(np.float32), "K": r.standard_normal((2, 5, 2, 4)).astype(np.float32)})
    s.text("softmax_of_an_empty_row", "g (float[n,m] X, bool[n,m] M) => (float[n,m] Y, float[n,m] Z) { l = Constant<value_float = -1.0>() z = Constant<value_float = 0.0>()  i = Div(l, z)  w = Where(M, X, i)  Y = Softmax<axis = -1>(w)  n = IsNaN(Y)  Z = Where(n, z, Y) }",
           {"X": np.ones((2, 3), np.float32), "M": np.array([[1, 0, 1], [0, 0, 0]], bool)})


def write(s):
    for part in (stale, unnamed, thin, inner, from_inputs, ranks):
        part(s)
