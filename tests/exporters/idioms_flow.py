"""Flow of control around sizes that only data says: loops over what was found, branches of other sizes, sequences that grow."""
import numpy as np

from idioms_shapes import batches, floats, ints

YES = "bool c = {1}"


def x(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def loops(s):
    s.text("loop_over_found_rows", f"""
        g (float[n,3] X) => (float[k,3] Y, int64 C) <{YES}, float half = {{0.5}}, int64[1] one = {{1}}, int64 z = {{0}}> {{
          m = ReduceMax<axes = [1], keepdims = 0>(X)  f = Greater(m, half)  i = NonZero(f)  q = Squeeze(i, zz)  zz = Constant<value_ints = [0]>()  C = Size(q)
          Y = Loop(C, c) <body = b (int64 t, bool ci) => (bool co, float[3] r) {{ p = Gather<axis = 0>(q, t)  v = Gather<axis = 0>(X, p)  r = Exp(v)  co = Identity(ci) }}> }}""",
           lambda r: {"X": x(r, 6, 3)}, {"X": -np.ones((2, 3), np.float32)})
    s.text("branch_of_another_size_in_a_loop", f"""
        g (float[n] X, int64 M) => (float[k] Y) <{YES}, int64 two = {{2}}, int64 z = {{0}}> {{
          Y = Loop(M, c, X) <body = b (int64 t, bool ci, float[a] h) => (bool co, float[d] hn) {{
            r = Mod(t, two)  even = Equal(r, z)
            hn = If(even) <then_branch = th () => (float[p] u) {{ u = Concat<axis = 0>(h, X) }}, else_branch = el () => (float[q] v) {{ o = Constant<value_ints = [1]>()  e = Constant<value_ints = [-1]>()  v = Slice(h, o, e) }}>
            co = Identity(ci) }}> }}""", *(lambda r, m=m: {"X": x(r, 4), "M": np.int64(m)} for m in (0, 1, 2, 5)))
    s.text("loop_in_a_loop", f"""
        g (float[n,m] X, int64 A, int64 B) => (float[n,m] Y, float[a,b2,n,m] Z) <{YES}> {{
          Y, Z = Loop(A, c, X) <body = o (int64 i, bool ci, float[n,m] h) => (bool co, float[n,m] hn, float[q,n,m] all) {{
            hn, all = Loop(B, c, h) <body = p (int64 j, bool cj, float[n,m] g) => (bool ck, float[n,m] gn, float[n,m] s) {{ k = Cast<to = 1>(i)  l = Cast<to = 1>(j)  a = Add(k, l)  e = Sin(g)  gn = Add(e, a)  s = Neg(gn)  ck = Identity(cj) }}>
            co = Identity(ci) }}> }}""", lambda r: {"X": x(r, 2, 3), "A": np.int64(2), "B": np.int64(3)}, lambda r: {"X": x(r, 1, 2), "A": np.int64(1), "B": np.int64(1)})
    s.text("sequence_of_other_sizes", f"""
        g (float[n] X) => (float[k] Y, int64 L) <{YES}, int64[1] z = {{0}}, int64 one = {{1}}> {{
          e = SequenceEmpty<dtype = 1>()  n = Size(X)
          q = Loop(n, c, e) <body = b (int64 t, bool ci, seq(float[a]) l) => (bool co, seq(float[b2]) ln) {{
            u = Add(t, one)  w = Unsqueeze(u, z)  p = Slice(X, z, w)  ln = SequenceInsert(l, p)  co = Identity(ci) }}>
          Y = ConcatFromSequence<axis = 0>(q)  L = SequenceLength(q) }}""", floats(1), floats(3), floats(5))
    s.text("function_in_a_loop", f"""
        g (float[n] X, int64 M) => (float[n] Y) <{YES}> {{
          w = Exp(X)  Y = Loop(M, c, X) <body = b (int64 t, bool ci, float[n] h) => (bool co, float[n] hn) {{ hn = local.mix(h, w)  co = Identity(ci) }}> }}
        <domain: "local", opset_import: ["" : 17]> mix (a, b) => (y) {{ s = Add(a, b)  two = Constant<value_float = 2.0>()  y = Div(s, two) }}""",
           *(lambda r, m=m: {"X": x(r, 4), "M": np.int64(m)} for m in (0, 3)), also={"local": 1})
    s.text("generation_with_a_cache", f"""
        g (int64[n,one] T, float[n,z0,2] K, int64 M) => (int64[n,k] Y, float[n,l,2] KO) <{YES}, float[7,2] W = {{1.0, 2.0, 0.5, -1.0, 3.0, 0.25, -2.0, 1.5, 0.75, 0.5, 2.5, -0.5, 1.0, 1.0}}, int64[1] a1 = {{1}}> {{
          t, KO, all = Loop(M, c, T, K) <body = b (int64 i, bool ci, int64[n,u] t, float[n,p,2] k) => (bool co, int64[n,v] tn, float[n,q,2] kn, int64[n,w1] o) {{
            e = Gather<axis = 0>(W, t)  kn = Concat<axis = 1>(k, e)  kt = Transpose<perm = [0, 2, 1]>(kn)  s = MatMul(e, kt)  p0 = Softmax<axis = -1>(s)  m = MatMul(p0, kn)
            f = ReduceSum<keepdims = 0>(m, ax)  ax = Constant<value_ints = [1]>()  wt = Transpose<perm = [1, 0]>(W)  l = MatMul(f, wt)  tn = ArgMax<axis = 1, keepdims = 1>(l)  o = Identity(tn)  co = Identity(ci) }}>
          r = Transpose<perm = [1, 0, 2]>(all)  d = Constant<value_ints = [2]>()  Y = Squeeze(r, d) }}""".replace("f = ReduceSum<keepdims = 0>(m, ax)  ax = Constant<value_ints = [1]>()", "f = ReduceSum<keepdims = 0>(m, a1)"),
           lambda r: {"T": np.array([[1], [4]]), "K": x(r, 2, 0, 2), "M": np.int64(4)}, lambda r: {"T": np.array([[3]]), "K": x(r, 1, 3, 2), "M": np.int64(1)})


def found(s):
    s.text("two_loops_of_one_count", f"""
        g (float[n,3] X) => (float[k,3] Y) <{YES}, float half = {{0.5}}, int64 one = {{1}}> {{
          f = Greater(X, half)  i = NonZero(f)  s = Shape(i)  C = Gather(s, one)  t = Transpose(i)  v = GatherND(X, t)
          A = Loop(C, c) <body = b (int64 j, bool ci) => (bool co, float[3] r) {{ p = Gather(v, j)  z = Constant<value_ints = [3]>()  r = Expand(p, z)  co = Identity(ci) }}>
          B = Loop(C, c) <body = b2 (int64 j, bool ci) => (bool co, float[3] r) {{ q = Cast<to = 1>(j)  z = Constant<value_ints = [3]>()  r = Expand(q, z)  co = Identity(ci) }}>
          Y = Add(A, B) }}""", lambda r: {"X": x(r, 4, 3)}, {"X": np.zeros((1, 3), np.float32)})
    s.text("loop_that_stops_early_over_found", f"""
        g (float[n] X, float L) => (float[k] Y, float T, float[m] V) <{YES}, float z = {{0.0}}> {{
          f = Greater(X, z)  i = NonZero(f)  t = Transpose(i)  V = GatherND(X, t)  C = Size(V)
          T, Y = Loop(C, c, z) <body = b (int64 j, bool ci, float a) => (bool co, float an, float r) {{ p = Gather(V, j)  an = Add(a, p)  r = Identity(an)  co = Less(an, L) }}> }}""",
           *(lambda r, l=l: {"X": x(r, 9), "L": np.float32(l)} for l in (1, 100)), {"X": -np.ones(3, np.float32), "L": np.float32(1)})
    s.text("found_in_each_turn", f"""
        g (float[n,m] X, int64 N) => (int64[k] Y, int64[a] C) <{YES}, float z = {{0.0}}, int64[0] none = {{}}, int64[1] m1 = {{-1}}> {{
          Y, C = Loop(N, c, none) <body = b (int64 j, bool ci, int64[p] h) => (bool co, int64[q] hn, int64 s) {{
            r = Gather<axis = 0>(X, j)  f = Greater(r, z)  i = NonZero(f)  w = Reshape(i, m1)  hn = Concat<axis = 0>(h, w)  s = Size(w)  co = Identity(ci) }}> }}""",
           lambda r: {"X": x(r, 3, 5), "N": np.int64(3)}, lambda r: {"X": -np.abs(x(r, 2, 4)), "N": np.int64(2)})
    s.text("inner_loop_as_long_as_the_outer_turn", f"""
        g (float[n] X, int64 N) => (float[k] Y) <{YES}, float[0] none = {{}}, int64[1] m1 = {{-1}}> {{
          Y = Loop(N, c, none) <body = b (int64 j, bool ci, float[p] h) => (bool co, float[q] hn) {{
            d = Loop(j, c) <body = e (int64 i, bool cj) => (bool ck, float r) {{ r = Gather(X, i)  ck = Identity(cj) }}>
            w = Reshape(d, m1)  hn = Concat<axis = 0>(h, w)  co = Identity(ci) }}> }}""", *(lambda r, m=m: {"X": x(r, 6), "N": np.int64(m)} for m in (1, 4, 6)))
    s.text("state_as_long_as_what_was_found", f"""
        g (float[n] X, int64 N) => (float[k] Y, float[a,b2] Z) <{YES}, float z = {{0.0}}> {{
          f = Greater(X, z)  i = NonZero(f)  t = Transpose(i)  V = GatherND(X, t)
          Y, Z = Loop(N, c, V) <body = b (int64 j, bool ci, float[p] h) => (bool co, float[q] hn, float[r] s) {{ s = Add(h, V)  hn = Tanh(s)  co = Identity(ci) }}>  }}""",
           *(lambda r, m=m: {"X": x(r, 6), "N": np.int64(m)} for m in (1, 3)))
    s.text("scan_over_found", """
        g (float[n,2] X) => (float[2] H, float[k,2] Y) <float[2] zero = {0.0, 0.0}, float z = {0.0}> {
          m = ReduceMax<axes = [1], keepdims = 0>(X)  f = Greater(m, z)  V = Compress<axis = 0>(X, f)
          H, Y = Scan<num_scan_inputs = 1, body = b (float[2] h, float[2] v) => (float[2] hn, float[2] o) { hn = Add(h, v)  o = Exp(hn) }>(zero, V) }""",
           lambda r: {"X": x(r, 6, 2)}, lambda r: {"X": np.abs(x(r, 2, 2))})
    s.text("lstm_over_found", """
        g (float[n,2] X) => (float[k,1,a,1] Y, float[1,a,1] H) <float[1,4,2] W = {1.0, 0.5, -1.0, 0.25, 0.75, -0.5, 0.5, 1.0}, float[1,4,1] R = {0.5, -0.5, 0.25, 1.0}, float z = {0.0}> {
          m = ReduceMax<axes = [1], keepdims = 0>(X)  f = Greater(m, z)  V = Compress<axis = 0>(X, f)  o = Constant<value_ints = [1]>()  u = Unsqueeze(V, o)  Y, H, C = LSTM<hidden_size = 1>(u, W, R) }""",
           lambda r: {"X": x(r, 6, 2)}, lambda r: {"X": np.abs(x(r, 2, 2))})
    s.text("detections_class_by_class", f"""
        g (float[n,4] B, float[n,2] S) => (float[k,4] D, int64[k] L) <{YES}, int64 two = {{2}}, float[0,4] nobox = {{}}, int64[0] none = {{}}, int64[1] most = {{9}}, float[1] iou = {{0.5}}, float[1] least = {{0.3}}> {{
          D, L = Loop(two, c, nobox, none) <body = b (int64 j, bool ci, float[p,4] d, int64[p2] l) => (bool co, float[q,4] dn, int64[q2] ln) {{
            s = Gather<axis = 1>(S, j)  z01 = Constant<value_ints = [0, 1]>()  z = Constant<value_ints = [0]>()  s3 = Unsqueeze(s, z01)  b3 = Unsqueeze(B, z)
            k = NonMaxSuppression(b3, s3, most, iou, least)  i2 = Constant<value_int = 2>()  r = Gather<axis = 1>(k, i2)  w = Gather<axis = 0>(B, r)  dn = Concat<axis = 0>(d, w)
            sh = Shape(r)  e = Expand(j, sh)  ln = Concat<axis = 0>(l, e)  co = Identity(ci) }}> }}""",
           lambda r: {"B": np.sort(r.random((8, 4)).astype(np.float32), 1), "S": r.random((8, 2)).astype(np.float32)}, {"B": np.ones((3, 4), np.float32), "S": np.zeros((3, 2), np.float32)})


def branches(s):
    s.text("branches_of_two_sizes", """
        g (float[n,4] X, bool C) => (float[k,4] Y) { Y = If(C) <then_branch = t () => (float[p,4] u) { u = Concat<axis = 0>(X, X) }, else_branch = e () => (float[q,4] v) { v = Identity(X) }> }""",
           *({"X": np.ones((2, 4), np.float32), "C": np.array(c)} for c in (True, False)))
    s.text("branch_over_nothing_found", """
        g (float[n,4] X) => (float[k] Y) <float half = {0.5}, int64 z = {0}> { f = Greater(X, half)  i = NonZero(f)  t = Transpose(i)  c = Size(t)  none = Equal(c, z)
          Y = If(none) <then_branch = t1 () => (float[p] u) { u = Constant<value_floats = [-1.0]>() }, else_branch = e () => (float[q] v) { v = GatherND(X, t) }> }""",
           lambda r: {"X": x(r, 3, 4)}, {"X": np.zeros((2, 4), np.float32)}, {"X": np.zeros((0, 4), np.float32)})
    s.text("optional_and_its_element", """
        g (float[n] X) => (float[n] Y, bool H) { o = Optional(X)  H = OptionalHasElement(o)  Y = OptionalGetElement(o) }""", *batches(of=(1, 3)), opset=18)


def kinds(s):
    s.text("shapes_of_scalars", """
        g (float X) => (float Y, float[1] Z, int64[0] S) { S = Shape(X)  f = ConstantOfShape<value = float[1] {2.0}>(S)  Y = Mul(X, f)  o = Constant<value_ints = [1]>()  Z = Reshape(X, o) }""", {"X": np.float32(3)})
    s.text("doubles_all_the_way", """
        g (double[n,3] X) => (double[n,2] Y) <double[3,2] W = {1.0, -2.0, 0.5, 3.0, 0.25, 1.0}, double[2] b = {1.0, 2.0}> { h = Gemm(X, W, b)  r = Tanh(h)  m = ReduceMean<axes = [0]>(r)  Y = Sub(r, m) }""",
           *({"X": np.random.default_rng(n).standard_normal((n, 3))} for n in (1, 4)), rtol=1e-9, atol=1e-12)
    s.text("integer_arithmetic", """
        g (int64[n] X, int64[n] V) => (int64[n] D, int64[n] M, int64[n] F, int32[n] I, bool[n] B) { D = Div(X, V)  M = Mod(X, V)  F = Mod<fmod = 1>(X, V)  I = Cast<to = 6>(X)  B = Cast<to = 9>(M) }""",
           {"X": ints(7, -7, 7, -7, 2 ** 40), "V": ints(2, 2, -2, -2, 3)})
    s.text("reduce_without_axes", """
        g (float[n,3] X) => (float[n,3] Y, float Z, float[1,1] V) <int64[0] none = {}> { Y = ReduceMax<noop_with_empty_axes = 1>(X, none)  Z = ReduceMean<keepdims = 0>(X)  V = ReduceL2(X, none) }""", *batches(3, of=(1, 4)), opset=18)
    s.text("split_into_so_many", "g (float[n,7] X) => (float[n,a] A, float[n,b] B, float[n,c] C) { A, B, C = Split<axis = 1, num_outputs = 3>(X) }", *batches(7), opset=18)
    s.text("gathers_from_the_end", """
        g (float[n,4] X) => (float[n] A, float[4] B, float[n,2] C, int64 D) <int64 m1 = {-1}, int64[2] ends = {-1, 0}> { A = Gather<axis = 1>(X, m1)  B = Gather<axis = 0>(X, m1)  C = Gather<axis = -1>(X, ends)  s = Shape(X)  D = Gather(s, m1) }""", *batches(4, of=(1, 3)))
    s.text("beam_step", """
        g (float[n,b,v] P, float[n,b] S) => (float[n,k] V, int64[n,k] W, int64[n,k] T) <int64[1] two = {2}, int64[1] ax = {2}> {
          u = Unsqueeze(S, ax)  a = Add(P, u)  f = Flatten<axis = 1>(a)  V, i = TopK<axis = 1>(f, two)  s = Shape(P)  d = Constant<value_int = 2>()  v = Gather(s, d)  W = Div(i, v)  T = Mod(i, v) }""",
           lambda r: {"P": x(r, 2, 3, 5), "S": x(r, 2, 3)}, lambda r: {"P": x(r, 1, 1, 4), "S": x(r, 1, 1)})
    s.text("window_partition_and_roll", """
        g (float[n,h,w,2] X) => (float[k,4,2] Y, float[n,h,w,2] Z) <int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64[1] ax = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] m1 = {-1}, int64[1] big = {9223372036854775807}> {
          s = Shape(X)  n = Gather(s, i0)  h = Gather(s, i1)  w = Gather(s, i2)  un = Unsqueeze(n, ax)  uh = Unsqueeze(h, ax)  uw = Unsqueeze(w, ax)
          a = Slice(X, one, big, one)  b = Slice(X, ax, one, one)  r = Concat<axis = 1>(a, b)
          hh = Div(uh, two)  ww = Div(uw, two)  t = Concat<axis = 0>(un, hh, two, ww, two, two)  p = Reshape(r, t)  q = Transpose<perm = [0, 1, 3, 2, 4, 5]>(p)
          four = Constant<value_ints = [4]>()  f = Concat<axis = 0>(m1, four, two)  Y = Reshape(q, f)
          back = Concat<axis = 0>(un, hh, ww, two, two, two)  u = Reshape(Y, back)  v = Transpose<perm = [0, 1, 3, 2, 4, 5]>(u)  y = Reshape(v, s)
          e = Slice(y, m1, big, one)  g2 = Slice(y, ax, m1, one)  Z = Concat<axis = 1>(e, g2) }""", floats(2, 4, 6, 2), floats(1, 2, 2, 2), floats(3, 6, 4, 2))


def write(s):
    for part in (loops, found, branches, kinds):
        part(s)
