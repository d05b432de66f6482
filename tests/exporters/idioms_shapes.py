"""Shapes that are computed: how exporters write view, expand, interpolate, arange and slices of unknown length."""
import numpy as np

MAX, MIN = 2 ** 63 - 1, -2 ** 63


def floats(*shape, name="X", **more):
    """A function that draws one float32 input of this shape; `more` are further inputs, arrays."""
    return lambda random: {name: random.standard_normal(shape).astype(np.float32), **more}


def batches(*rest, of=(1, 2, 3, 4, 5, 0), name="X"):
    return [floats(b, *rest, name=name) for b in of]


def ints(*values):
    return np.array(values, np.int64)


def views(s):
    s.text("view_gather_concat_reshape", """
        g (float[n,c,h,w] X) => (float[n,a,b] Y) <int64 zero = {0}, int64 one = {1}, int64[1] rest = {-1}, int64[1] ax = {0}> {
          s0 = Shape(X)  a0 = Gather<axis = 0>(s0, zero)  s1 = Shape(X)  a1 = Gather<axis = 0>(s1, one)
          u0 = Unsqueeze(a0, ax)  u1 = Unsqueeze(a1, ax)  t = Concat<axis = 0>(u0, u1, rest)  Y = Reshape(X, t) }""",
           floats(2, 3, 4, 5), floats(1, 6, 2, 2), floats(5, 1, 1, 7))
    s.text("view_heads_and_back", """
        g (float[n,l,12] X) => (float[n,l,12] Y) <int64 i0 = {0}, int64 i1 = {1}, int64[1] ax = {0}, int64[1] h = {3},
            int64[1] d = {4}, int64[1] w = {12}> {
          s = Shape(X)  n = Gather(s, i0)  l = Gather(s, i1)  un = Unsqueeze(n, ax)  ul = Unsqueeze(l, ax)
          t = Concat<axis = 0>(un, ul, h, d)  r = Reshape(X, t)  p = Transpose<perm = [0, 2, 1, 3]>(r)
          q = Softmax<axis = -1>(p)  b = Transpose<perm = [0, 2, 1, 3]>(q)
          t2 = Concat<axis = 0>(un, ul, w)  Y = Reshape(b, t2) }""", floats(2, 5, 12), floats(1, 1, 12), floats(0, 3, 12), floats(3, 0, 12))
    s.text("view_by_division", """
        g (float[n,c,h,w] X) => (float[a,b,c1,d] Y) <int64 i1 = {1}, int64 two = {2}, int64[1] ax = {0}, int64[1] m = {-1}, int64[1] g2 = {2}> {
          s = Shape(X)  n = Slice(s, zero, one)  c = Gather(s, i1)  q = Div(c, two)  uq = Unsqueeze(q, ax)
          zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()
          t = Concat<axis = 0>(n, g2, uq, m)  r = Reshape(X, t)  p = Transpose<perm = [0, 2, 1, 3]>(r)  Y = Identity(p) }""",
           floats(2, 4, 3, 3), floats(1, 6, 2, 2))
    s.text("flatten_by_product", """
        g (float[n,c,h,w] X) => (float[a,b] Y) <int64[1] one = {1}, int64[1] big = {9223372036854775807}, int64[1] ax = {0}> {
          s = Shape(X)  tail = Slice(s, one, big, ax)  p = ReduceProd<axes = [0], keepdims = 1>(tail)
          head = Slice(s, ax, one, ax)  t = Concat<axis = 0>(head, p)  Y = Reshape(X, t) }""",
           floats(2, 3, 4, 5), floats(3, 1, 2, 2), floats(0, 1, 2, 2))
    s.text("shape_start_end", """
        g (float[n,c,h,w] X) => (float[a,b] Y, int64[2] S, int64 Z) {
          a = Shape<end = 1>(X)  m = Constant<value_ints = [-1]>()  t = Concat<axis = 0>(a, m)  Y = Reshape(X, t)
          S = Shape<start = -2>(X)  Z = Size(X) }""", floats(2, 3, 4, 5), floats(1, 1, 2, 2))
    s.text("reshape_zero_and_minus_one", """
        g (float[n,c,h] X) => (float[n,a] Y, float[n,b,2] Z) { a = Constant<value_ints = [0, -1]>()  Y = Reshape(X, a)
          b = Constant<value_ints = [0, -1, 2]>()  Z = Reshape(X, b) }""", *batches(4, 6, of=(1, 2, 3, 4, 5)))
    s.text("reshape_target_in_int32", """
        g (float[n,h,w,4] X) => (float[a,b] Y) <int32 one = {1}, int32[1] ax = {0}> {
          s = Shape(X)  i = Cast<to = 6>(s)  n = Gather(i, z)  z = Constant<value_int = 0>()  un = Unsqueeze(n, zz)
          zz = Constant<value_ints = [0]>()  m = Constant<value = int32[1] {-1}>()  t = Concat<axis = 0>(un, m)
          t64 = Cast<to = 7>(t)  Y = Reshape(X, t64) }""", *batches(2, 3, 4, of=(1, 3)))


def expansions(s):
    s.text("expand_where_minus_one", """
        g (float[1,c,1] X, float[n,c,w] L) => (float[a,b,d] Y) <int64[3] want = {-1, -1, 7}> {
          s = Shape(L)  k = Shape(want)  ones = ConstantOfShape<value = int64[1] {1}>(k)  m = Constant<value_ints = [-1]>()
          f = Mul(ones, m)  e = Equal(want, f)  t = Where(e, ones, want)  Y = Expand(X, t) }""",
           lambda r: {"X": r.standard_normal((1, 3, 1)).astype(np.float32), "L": np.zeros((2, 3, 4), np.float32)})
    s.text("expand_as", "g (float[1,c] X, float[n,c] L) => (float[n,c] Y) { s = Shape(L)  Y = Expand(X, s) }",
           lambda r: {"X": r.standard_normal((1, 3)).astype(np.float32), "L": np.zeros((4, 3), np.float32)},
           lambda r: {"X": r.standard_normal((1, 1)).astype(np.float32), "L": np.zeros((2, 1), np.float32)})
    s.text("tile_by_shape", """
        g (float[n,4] X) => (float[a,b] Y) { s = Shape<start = 0, end = 1>(X)  o = Constant<value_ints = [1]>()
          t = Concat<axis = 0>(s, o)  w = Constant<value = float[1,4] {1.0, 2.0, 3.0, 4.0}>()  r = Tile(w, t)  Y = Add(r, X) }""",
           *batches(4))
    s.text("arange_positions", """
        g (int64[n,l] X) => (float[n,l,2] Y) <float[9,2] W = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17}, int64 z = {0}, int64 o = {1}> {
          s = Shape(X)  l = Gather<axis = 0>(s, o)  r = Range(z, l, o)  u = Unsqueeze(r, ax)  ax = Constant<value_ints = [0]>()
          e = Expand(u, s)  Y = Gather<axis = 0>(W, e) }""",
           {"X": np.zeros((2, 5), np.int64)}, {"X": np.zeros((1, 9), np.int64)}, {"X": np.zeros((3, 0), np.int64)})
    s.text("causal_mask_of_infinities", """
        g (float[n,l,l] X) => (float[n,l,l] Y) <int64 o = {1}, float low = {-1.0}, float z = {0.0}> {
          s = Shape<start = 1>(X)  f = Div(low, z)  m = Expand(f, s)  t = Trilu<upper = 1>(m, o)
          a = Add(X, t)  Y = Softmax<axis = -1>(a) }""", floats(2, 4, 4), floats(1, 1, 1))
    s.text("mask_less_than_range", """
        g (float[n,l] X, int64[n] lengths) => (float[n,l] Y) <int64 z = {0}, int64 o = {1}> {
          s = Shape(X)  l = Gather(s, o)  r = Range(z, l, o)  ax = Constant<value_ints = [1]>()  u = Unsqueeze(lengths, ax)
          k = Less(r, u)  c = Cast<to = 1>(k)  one = Constant<value_float = 1.0>()  d = Sub(one, c)  b = Constant<value_float = -10000.0>()
          m = Mul(d, b)  a = Add(X, m)  Y = Softmax<axis = 1>(a) }""", floats(2, 4, lengths=ints(4, 1)), floats(1, 6, lengths=ints(3)))


def slices(s):
    s.text("slice_to_int64_max", f"""
        g (float[n,l,4] X) => (float[n,a,4] Y, float[n,1,4] Z, float[n,b,4] R, float[n,l,4] V) <int64[1] one = {{1}}, int64[1] big = {{{MAX}}}, int64[1] last = {{-1}},
            int64[1] low = {{{MIN}}}, int64[1] z = {{0}}, int64[1] far = {{-{MAX}}}> {{
          Y = Slice(X, one, big, one, one)  Z = Slice(X, last, big, one)  R = Slice(X, z, last, one)  V = Slice(X, big, far, one, last) }}""",
           floats(2, 5, 4), floats(1, 2, 4), floats(3, 1, 4))
    s.text("slice_int32_max", """
        g (float[n,l] X) => (float[n,a] Y) <int32[1] one = {1}, int32[1] big = {2147483647}> { Y = Slice(X, one, big, one, one) }""",
           floats(2, 5), floats(2, 1))
    s.text("slice_roll", """
        g (float[n,8,8] X) => (float[n,8,8] Y) <int64[1] k = {-3}, int64[1] big = {9223372036854775807}, int64[1] ax = {1}, int64[1] z = {0}, int64[1] m3 = {-3}> {
          a = Slice(X, k, big, ax)  b = Slice(X, z, m3, ax)  Y = Concat<axis = 1>(a, b) }""", *batches(8, 8, of=(1, 2)))
    s.text("slice_by_shape", """
        g (float[n,l] X, float[p,q] O) => (float[a,b] Y) <int64[1] ax = {1}, int64[1] one = {1}, int64[1] z = {0}> {
          s = Shape<start = 1>(O)  Y = Slice(X, z, s, ax, one) }""",
           lambda r: {"X": r.standard_normal((2, 5)).astype(np.float32), "O": np.zeros((1, 3), np.float32)},
           lambda r: {"X": r.standard_normal((2, 5)).astype(np.float32), "O": np.zeros((1, 9), np.float32)})
    s.text("slice_by_half", """
        g (float[n,l] X) => (float[n,a] Y) <int64 one = {1}, int64 two = {2}, int64[1] z = {0}> {
          s = Shape(X)  l = Gather<axis = 0>(s, one)  h = Div(l, two)  ax = Constant<value_ints = [0]>()  e = Unsqueeze(h, ax)
          o = Constant<value_ints = [1]>()  a = Slice(X, z, e, o)  m = Mul(h, two)  t = Unsqueeze(m, ax)  b = Slice(X, e, t, o)  Y = Mul(a, b) }""",
           floats(2, 6), floats(1, 2), floats(3, 7))
    s.text("split_by_shape", """
        g (float[n,l] X) => (float[n,a] Y, float[n,b] Z) <int64 one = {1}> {
          s = Shape(X)  l = Gather<axis = 0>(s, one)  r = Sub(l, one)  ax = Constant<value_ints = [0]>()  u = Unsqueeze(r, ax)  o = Unsqueeze(one, ax)
          t = Concat<axis = 0>(u, o)  Y, Z = Split<axis = 1>(X, t) }""", floats(2, 6), floats(1, 2), floats(3, 1))


def resizing(s):
    s.text("upsample_by_sizes", """
        g (float[n,c,h,w] X) => (float[n,c,a,b] Y) <int64 i2 = {2}, int64 i3 = {3}, float two = {2.0}> {
          s = Shape(X)  h = Gather(s, i2)  hf = Cast<to = 1>(h)  h2 = Mul(hf, two)  hc = Cast<to = 1>(h2)  hl = Floor(hc)
          w = Gather(s, i3)  wf = Cast<to = 1>(w)  w2 = Mul(wf, two)  wl = Floor(w2)  ax = Constant<value_ints = [0]>()
          uh = Unsqueeze(hl, ax)  uw = Unsqueeze(wl, ax)  hw = Concat<axis = 0>(uh, uw)  hwi = Cast<to = 7>(hw)
          z = Constant<value_ints = [0]>()  t = Constant<value_ints = [2]>()  nc = Slice(s, z, t, z)  all = Concat<axis = 0>(nc, hwi)
          Y = Resize<mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel">(X, , , all) }""",
           floats(1, 2, 3, 4), floats(2, 1, 5, 2))
    s.text("upsample_like_another", """
        g (float[n,c,h,w] X, float[n,c,p,q] L) => (float[n,c,a,b] Y) {
          s = Shape<start = 0, end = 2>(X)  t = Shape<start = 2>(L)  all = Concat<axis = 0>(s, t)
          Y = Resize<mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">(X, , , all) }""",
           lambda r: {"X": r.standard_normal((1, 2, 3, 4)).astype(np.float32), "L": np.zeros((1, 2, 6, 7), np.float32)},
           lambda r: {"X": r.standard_normal((2, 1, 2, 2)).astype(np.float32), "L": np.zeros((2, 1, 2, 5), np.float32)})
    s.text("pad_to_multiple", """
        g (float[n,c,h,w] X) => (float[n,c,a,b] Y) <int64 i2 = {2}, int64 four = {4}, int64[1] z6 = {0}> {
          s = Shape(X)  h = Gather(s, i2)  m = Mod(h, four)  d = Sub(four, m)  p = Mod(d, four)  ax = Constant<value_ints = [0]>()  u = Unsqueeze(p, ax)
          z = Constant<value_ints = [0, 0, 0, 0, 0, 0]>()  zz = Constant<value_ints = [0]>()  pads = Concat<axis = 0>(z, u, zz)
          Y = Pad(X, pads) }""", floats(1, 2, 3, 4), floats(2, 1, 8, 2), floats(1, 1, 5, 1))
    s.text("pad_from_a_list", """
        g (float[n,c,h] X) => (float[n,c,a] Y) <int64[2] p = {2, 1}, int64 six = {6}> {
          l = Size(p)  r = Sub(six, l)  ax = Constant<value_ints = [0]>()  u = Unsqueeze(r, ax)  z = ConstantOfShape<value = int64[1] {0}>(u)
          all = Concat<axis = 0>(p, z)  two = Constant<value_ints = [-1, 2]>()  m = Reshape(all, two)
          m1 = Constant<value_ints = [-1]>()  low = Constant<value_ints = [-9223372036854775807]>()  f = Slice(m, m1, low, ax, m1)
          t = Transpose<perm = [1, 0]>(f)  flat = Reshape(t, m1)  i = Cast<to = 7>(flat)  Y = Pad<mode = "reflect">(X, i) }""",
           floats(1, 2, 5), floats(2, 1, 4))
    s.text("topk_of_min", """
        g (float[n,l] X) => (float[n,k] V, int64[n,k] I) <int64[1] most = {3}> {
          s = Shape<start = 1>(X)  c = Concat<axis = 0>(s, most)  k = ReduceMin<axes = [0], keepdims = 1>(c)  V, I = TopK<axis = 1>(X, k) }""",
           floats(2, 6), floats(1, 2), floats(3, 3))
    s.text("one_hot_depth_of_shape", """
        g (int64[n] X, float[c,d] W) => (float[n,c] Y) <float[2] v = {0.0, 1.0}, int64 z = {0}> {
          s = Shape(W)  d = Gather(s, z)  Y = OneHot<axis = -1>(X, d, v) }""",
           {"X": ints(0, 2, 1), "W": np.zeros((3, 2), np.float32)}, {"X": ints(4), "W": np.zeros((5, 1), np.float32)})
    s.text("mean_by_counted_elements", """
        g (float[n,l] X, float[n,l] M) => (float[n] Y) <float least = {1e-9}> {
          p = Mul(X, M)  a = Constant<value_ints = [1]>()  t = ReduceSum<keepdims = 0>(p, a)  c = ReduceSum<keepdims = 0>(M, a)  d = Clip(c, least)  Y = Div(t, d) }""",
           lambda r: {"X": r.standard_normal((2, 5)).astype(np.float32), "M": np.array([[1, 1, 0, 0, 0], [0] * 5], np.float32)})


def data_sizes(s):
    s.text("nonzero_gather", """
        g (float[n,4] X) => (float[m,4] Y, int64[1] C) {
          z = Constant<value_float = 0.0>()  a = Constant<value_ints = [1]>()  m = ReduceMax<axes = [1], keepdims = 0>(X)  k = Greater(m, z)
          i = NonZero(k)  t = Transpose(i)  q = Squeeze(t, a)  Y = Gather<axis = 0>(X, q)  C = Shape(q) }""",
           {"X": np.array([[1, 0, 0, 0], [-1, -2, -3, -4], [0, 0, 0, 2]], np.float32)}, {"X": -np.ones((3, 4), np.float32)},
           {"X": np.zeros((0, 4), np.float32)})
    s.text("suppress_and_pick", """
        g (float[b,n,4] B, float[b,c,n] S) => (float[m,4] Y, float[m] P, int64[m] K) <int64[1] most = {5}, float[1] iou = {0.5}, float[1] least = {0.2}> {
          i = NonMaxSuppression(B, S, most, iou, least)  a = Constant<value_ints = [1]>()  two = Constant<value_int = 2>()
          box = Gather<axis = 1>(i, two)  flat = Constant<value_ints = [-1, 4]>()  all = Reshape(B, flat)  Y = Gather<axis = 0>(all, box)
          P = GatherND(S, i)  one = Constant<value_int = 1>()  K = Gather<axis = 1>(i, one) }""",
           lambda r: {"B": np.sort(r.random((1, 12, 4)).astype(np.float32), -1), "S": r.random((1, 2, 12)).astype(np.float32)},
           lambda r: {"B": np.sort(r.random((1, 4, 4)).astype(np.float32), -1), "S": np.zeros((1, 2, 4), np.float32)})
    s.text("boolean_mask_both_ways", """
        g (float[n,c] X) => (float[m] Y, float[n,c] Z) <float half = {0.5}> {
          k = Greater(X, half)  s = Shape(X)  i = NonZero(k)  t = Transpose<perm = [1, 0]>(i)  Y = GatherND(X, t)  w = Neg(Y)  Z = ScatterND(X, t, w) }""",
           floats(3, 4), {"X": np.zeros((2, 2), np.float32)})
    s.text("count_then_pad", """
        g (int64[n] X) => (int64[a] Y, int64[u] U) <int64[1] six = {6}> {
          U, i, v, c = Unique<sorted = 1>(X)  l = Shape(U)  d = Sub(six, l)  z = Constant<value_ints = [0]>()  p = Concat<axis = 0>(z, d)  Y = Pad(U, p) }""",
           {"X": ints(3, 1, 3, 2)}, {"X": ints(1)}, {"X": ints(5, 5, 4, 3, 2, 1)})
    s.text("repeat_interleave", """
        g (float[n] X, int64[n] R) => (float[m] Y) <int64 z = {0}, int64 o = {1}, int64[1] ax = {0}> {
          c = CumSum(R, z)  t = ReduceSum<keepdims = 0>(R, ax)  r = Range(z, t, o)  a1 = Constant<value_ints = [1]>()  u = Unsqueeze(r, a1)
          g = GreaterOrEqual(u, c)  i = Cast<to = 7>(g)  p = ReduceSum<keepdims = 0>(i, a1)  Y = Gather(X, p) }""",
           lambda r: {"X": r.standard_normal(4).astype(np.float32), "R": ints(2, 0, 3, 1)},
           lambda r: {"X": r.standard_normal(2).astype(np.float32), "R": ints(0, 0)})


def write(s):
    for part in (views, expansions, slices, resizing, data_sizes):
        part(s)
