"""The graph around the nodes: names, order, weights and where they are kept, branches, loops, functions."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from idioms_shapes import batches, floats, ints

F, I64 = TensorProto.FLOAT, TensorProto.INT64
info = helper.make_tensor_value_info
node = helper.make_node


def model(nodes, inputs, outputs, weights=(), opset=17, ir=8, functions=(), imports=(), **more):
    graph = helper.make_graph(nodes, more.pop("graph", "g"), inputs, outputs, list(weights), **more)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in imports)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir, functions=list(functions))


def weight(name, *shape, seed=0, dtype=np.float32):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(dtype), name)


def linear(**more):
    """Two layers: the model that most idioms of naming and storing are shown with."""
    w = [weight("w0", 6, 5), weight("b0", 5, seed=1), weight("w1", 5, 3, seed=2), weight("b1", 3, seed=3)]
    nodes = [node("Gemm", ["X", "w0", "b0"], ["h"], name="one"), node("Relu", ["h"], ["r"], name="two"),
             node("Gemm", ["r", "w1", "b1"], ["Y"], name="three")]
    m = model(nodes, [info("X", F, ["n", 6])], [info("Y", F, ["n", 3])], w, **more)
    return m


def names(s):
    def change(act):
        def build():
            m = linear()
            act(m)
            return m
        return build

    def same_name(m):
        for n in m.graph.node:
            n.name = "node"

    def no_name(m):
        for n in m.graph.node:
            n.name = ""

    def odd_names(m):
        for o, t in (("h", "model/dense/BiasAdd:0"), ("w0", "while (1) { /* \u00e9 */"), ("r", "a\"b\\n%s"), ("b1", "int")):
            for n in m.graph.node:
                n.input[:] = [t if v == o else v for v in n.input]
                n.output[:] = [t if v == o else v for v in n.output]
            for w in m.graph.initializer:
                w.name = t if w.name == o else w.name

    def shuffled(m):
        nodes = list(m.graph.node)[::-1]
        del m.graph.node[:]
        m.graph.node.extend(nodes)

    def surplus(m):
        m.graph.initializer.append(weight("nobody", 3, 3))
        m.graph.initializer.append(weight("nobody_half", 3, dtype=np.float16))
        m.graph.node.append(node("Exp", ["h"], ["unread"]))
        m.graph.value_info.append(info("h", F, ["n", 5]))
        m.graph.value_info.append(info("r", F, None))
        m.graph.doc_string = m.doc_string = "text\nof two lines \u2603"
        m.metadata_props.add(key="author", value="x" * 3000)
        m.producer_name = "pytorch"

    def aliased_domain(m):
        m.opset_import[0].domain = "ai.onnx"
        m.graph.node[1].domain = "ai.onnx"
    s.model("names_all_the_same", change(same_name), *batches(6), asked=linear)
    for name, act in (("names_empty", no_name), ("names_odd", odd_names),
                      ("nodes_out_of_order", shuffled), ("surplus_of_everything", surplus)):
        s.model(name, change(act), *batches(6))
    s.model("domain_by_its_long_name", change(aliased_domain), *batches(6), asked=linear)

    def loose(m):
        for v in (*m.graph.input, *m.graph.output):
            v.type.tensor_type.shape.dim[0].Clear()
    s.model("dims_without_size_or_name", change(loose), *batches(6))

    def minus_one(m):
        for v in (*m.graph.input, *m.graph.output):
            v.type.tensor_type.shape.dim[0].dim_value = -1
    s.model("dims_of_minus_one", change(minus_one), *batches(6), asked=linear)

    def untyped(m):
        m.graph.output[0].type.tensor_type.ClearField("shape")
    s.model("output_without_shape", change(untyped), *batches(6))

    def renamed_dims(m):
        m.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "GemmY_dim_0"
    s.model("output_with_a_dim_of_its_own", change(renamed_dims), *batches(6))


def storing(s):
    def as_inputs(ir):
        def build():
            m = linear(ir=ir, opset=8)
            for w in m.graph.initializer:
                m.graph.input.append(info(w.name, F, list(w.dims)))
            return m
        return build
    s.model("weights_among_inputs_ir3", as_inputs(3), *batches(6))
    s.model("weights_among_inputs_ir8", as_inputs(8), *batches(6))

    def first():
        m = as_inputs(3)()
        kept = list(m.graph.input)
        del m.graph.input[:]
        m.graph.input.extend(kept[1:] + kept[:1])
        return m
    s.model("weights_before_the_input", first, *batches(6))
    s.model("weights_beside_the_file", linear, *batches(6),
            save=lambda m, path: onnx.save(m, path, save_as_external_data=True, location="weights.bin", size_threshold=0))
    s.model("weights_a_file_each", linear, *batches(6),
            save=lambda m, path: onnx.save(m, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0))

    values = np.array([[0.5, -1, 2, 0], [3, 1, 0, 1]])
    kinds = [("float16", np.float16), ("double", np.float64), ("int8", np.int8), ("uint8", np.uint8), ("int16", np.int16),
             ("int32", np.int32), ("int64", np.int64), ("uint32", np.uint32), ("uint64", np.uint64), ("bool", np.bool_), ("float", np.float32)]
    for form in ("raw", "typed"):
        def build(form=form):
            weights, nodes, outputs = [], [], []
            for n, t in kinds:
                a = np.abs(values).astype(t)
                kind = helper.np_dtype_to_tensor_dtype(a.dtype)
                weights.append(numpy_helper.from_array(a, n) if form == "raw" else
                               helper.make_tensor(n, kind, a.shape, a.ravel().tolist()))
                nodes += [node("Cast", [n], [n + "_f"], to=F), node("Mul", [n + "_f", "X"], [n + "_y"])]
                outputs.append(info(n + "_y", F, [2, 4]))
            return model(nodes, [info("X", F, [1, 4])], outputs, weights)
        s.model(f"initializers_{form}", build, floats(1, 4))

    constants = {
        "value": numpy_helper.from_array(np.array([[2.0, 3.0]], np.float32)), "value_float": 1.5, "value_floats": [1.0, 2.0],
        "value_int": 3, "value_ints": [4, 5]}

    def forms():
        nodes, outputs = [], []
        for form, value in constants.items():
            nodes += [node("Constant", [], [form], **{form: value}), node("Cast", [form], [form + "_f"], to=F),
                      node("Add", [form + "_f", "X"], [form + "_y"])]
            outputs.append(info(form + "_y", F, None))
        sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.array([7.0, 8.0], np.float32), "v"),
                                           numpy_helper.from_array(ints(0, 3), "i"), [2, 2])
        nodes += [node("Constant", [], ["sparse"], sparse_value=sparse), node("MatMul", ["X", "sparse"], ["sparse_y"])]
        return model(nodes, [info("X", F, ["n", 2])], [*outputs, info("sparse_y", F, None)])
    s.model("constants_in_every_form", forms, *batches(2))
    s.text("constant_strings", 'g (string[n] X) => (bool[n] Y, string[2] Z) { a = Constant<value_string = "cat">()  Y = Equal(X, a)  Z = Constant<value_strings = ["a", "b c"]>() }',
           {"X": np.array(["cat", "dog"], object)}, opset=19, ir=9)


def passing(s):
    s.text("identity_chain", "g (float[n,2] X) => (float[n,2] Y, float[n,2] Z, float[2] V) <float[2] w = {1.0, 2.0}> { a = Identity(X)  b = Identity(a)  Y = Identity(b)  i = Identity(w)  Z = Add(b, i)  V = Identity(i) }", *batches(2))
    s.model("output_is_an_input", lambda: model([node("Neg", ["X"], ["Y"])], [info("X", F, ["n", 2])], [info("Y", F, ["n", 2]), info("X", F, ["n", 2])]), *batches(2))
    s.model("output_is_a_weight", lambda: model([node("Mul", ["X", "w"], ["Y"])], [info("X", F, ["n", 2])], [info("Y", F, ["n", 2]), info("w", F, [2])], [weight("w", 2)]), *batches(2))
    s.model("no_input_at_all", lambda: model([node("Exp", ["w"], ["Y"])], [], [info("Y", F, [2, 2])], [weight("w", 2, 2)]))
    s.model("inner_value_is_an_output", lambda: model([node("Exp", ["X"], ["h"]), node("Neg", ["h"], ["Y"])], [info("X", F, ["n", 2])],
            [info("Y", F, ["n", 2]), info("h", F, ["n", 2])]), *batches(2))
    for opset, text in ((7, "Y, M = Dropout<ratio = 0.3>(h)"), (10, "Y, M = Dropout<ratio = 0.3>(h)"), (12, "Y = Dropout(h)"), (13, "Y = Dropout(h, r, t)")):
        s.text(f"dropout_in_inference_{opset}", f"g (float[n,2] X) => (float[n,2] Y) <float r = {{0.4}}, bool t = {{0}}> {{ h = Exp(X)  {text} }}", *batches(2), opset=opset)
    s.text("empty_optional_inputs", """g (float[n,4] X) => (float[n,4] Y, float[n,4] Z, float[n,4] V) <float hi = {0.5}, float lo = {-0.2}> {
        Y = Clip(X, , hi)  Z = Clip(X, lo, )  V = Clip(X) }""", *batches(4))

    def empty_outputs():
        w = [weight("W", 1, 12, 4), weight("R", 1, 12, 3, seed=1)]
        return model([node("LSTM", ["X", "W", "R", "", "", "", "", ""], ["", "H"], hidden_size=3), node("TopK", ["H", "k"], ["unread", "Y"], axis=-1),
                      node("LSTM", ["X", "W", "R"], ["", "", "C"], hidden_size=3)],
                     [info("X", F, ["l", "n", 4])], [info("Y", I64, [1, "n", 1]), info("C", F, [1, "n", 3])], [*w, numpy_helper.from_array(ints(1), "k")])
    s.model("empty_optional_outputs", empty_outputs, floats(3, 2, 4), floats(1, 1, 4))


def branches(s):
    s.text("if_with_constant_condition", """
        g (float[n,4] X) => (float[n,4] Y, float[n,4] Z) <bool yes = {1}, float[4] w = {1.0, 2.0, 3.0, 4.0}> {
          Y = If(yes) <then_branch = t () => (float[n,4] a) { a = Add(X, w) }, else_branch = e () => (float[n,4] b) { b = Sub(X, w) }>
          no = Constant<value = bool {0}>()
          Z = If(no) <then_branch = t2 () => (float[n,4] a2) { a2 = Add(X, w) }, else_branch = e2 () => (float[n,4] b2) <float[4] w2 = {4.0, 3.0, 2.0, 1.0}> { b2 = Mul(Y, w2) }> }""",
           *batches(4))
    s.text("if_on_rank_squeeze", """
        g (float[n,a,4] X) => (float[m,k] Y) <int64 one = {1}, int64[1] ax = {1}> {
          s = Shape(X)  d = Gather(s, one)  c = Equal(d, one)
          q = If(c) <then_branch = t () => (float[p,4] u) { u = Squeeze(X, ax) }, else_branch = e () => (float[r,f,4] v) { v = Identity(X) }>
          flat = Constant<value_ints = [-1, 4]>()  Y = Reshape(q, flat) }""", floats(2, 1, 4), floats(2, 3, 4))
    s.text("if_on_size", """
        g (float[n,4] X) => (float[m,4] Y) <int64 three = {3}> {
          z = Size(X)  c = Greater(z, three)  Y = If(c) <then_branch = t () => (float[p,4] u) { u = Relu(X) },
            else_branch = e () => (float[q,4] v) { s = Constant<value_ints = [2, 4]>()  v = ConstantOfShape<value = float[1] {9.0}>(s) }> }""", *batches(4))
    s.text("if_inside_if", """
        g (float[n] X, bool A, bool B) => (float[n] Y) <float two = {2.0}> {
          h = Mul(X, two)
          Y = If(A) <then_branch = t () => (float[n] u) { u = If(B) <then_branch = tt () => (float[n] v) { v = Add(h, X) }, else_branch = te () => (float[n] w) { w = Neg(h) }> },
                     else_branch = e () => (float[n] x) { x = Identity(h) }> }""",
           *({"X": np.ones(3, np.float32), "A": np.array(a), "B": np.array(b)} for a in (True, False) for b in (True, False)))
    s.text("loop_that_collects", """
        g (float[n,4] X, int64 M) => (float[4] L, float[m,4] Y) <bool yes = {1}, float[4] z = {0.0, 0.0, 0.0, 0.0}> {
          L, Y = Loop(M, yes, z) <body = b (int64 i, bool c, float[4] h) => (bool co, float[4] hn, float[4] o) {
            r = Gather<axis = 0>(X, i)  a = Add(h, r)  hn = Tanh(a)  o = Identity(hn)  co = Identity(c) }> }""",
           lambda r: {"X": r.standard_normal((5, 4)).astype(np.float32), "M": np.int64(5)}, lambda r: {"X": r.standard_normal((5, 4)).astype(np.float32), "M": np.int64(0)})
    s.text("loop_until", """
        g (float X) => (float Y, int64 N) <int64 big = {9223372036854775807}, bool yes = {1}, float hundred = {100.0}, int64 z = {0}, int64 one = {1}> {
          Y, N = Loop(big, yes, X, z) <body = b (int64 i, bool c, float h, int64 k) => (bool co, float hn, int64 kn) {
            hn = Add(h, h)  kn = Add(k, one)  co = Less(hn, hundred) }> }""", {"X": np.float32(1)}, {"X": np.float32(60)})
    s.text("loop_with_empty_limit", """
        g (float X) => (float Y) <bool yes = {1}, float hundred = {100.0}> {
          Y = Loop(, yes, X) <body = b (int64 i, bool c, float h) => (bool co, float hn) { hn = Add(h, h)  co = Less(hn, hundred) }> }""",
           {"X": np.float32(1)}, {"X": np.float32(60)})
    s.text("loop_over_a_growing_sequence", """
        g (float[n,2] X) => (float[m,2] Y) <bool yes = {1}, int64 z = {0}, int64 one = {1}> {
          e = SequenceEmpty<dtype = 1>()  s = Shape(X)  n = Gather(s, z)
          q = Loop(n, yes, e) <body = b (int64 i, bool c, seq(float[2]) l) => (bool co, seq(float[2]) ln) {
            r = Gather<axis = 0>(X, i)  d = Exp(r)  ln = SequenceInsert(l, d)  co = Identity(c) }>
          Y = ConcatFromSequence<axis = 0, new_axis = 1>(q) }""", floats(3, 2), floats(1, 2))
    s.text("split_to_sequence_and_at", """
        g (float[n,6] X) => (float[n,a] Y, float[n,b] Z) <int64 two = {2}, int64 z = {0}, int64 one = {1}> {
          q = SplitToSequence<axis = 1>(X, two)  a = SequenceAt(q, z)  b = SequenceAt(q, one)  Y = Add(a, b)  Z = Concat<axis = 1>(b, a) }""", *batches(6))
    s.text("scan_over_time", """
        g (float[n,l,3] X, float[n,3] H) => (float[n,3] L, float[n,l,3] Y) {
          t = Transpose<perm = [1, 0, 2]>(X)
          L, y = Scan<num_scan_inputs = 1, body = b (float[n,3] h, float[n,3] x) => (float[n,3] hn, float[n,3] o) { a = Add(h, x)  hn = Sigmoid(a)  o = Identity(hn) }>(H, t)
          Y = Transpose<perm = [1, 0, 2]>(y) }""",
           lambda r: {"X": r.standard_normal((2, 4, 3)).astype(np.float32), "H": np.zeros((2, 3), np.float32)},
           lambda r: {"X": r.standard_normal((1, 1, 3)).astype(np.float32), "H": np.ones((1, 3), np.float32)})


def functions(s):
    s.text("function_with_attributes", """
        g (float[n,4] X) => (float[n,4] Y, float[n,4] Z) { Y = pkg.torch.leaky<slope = 0.25>(X)  Z = pkg.torch.leaky(Y) }
        <domain: "pkg.torch", opset_import: ["" : 18]>
        leaky <slope: float = 0.5>(x) => (y) { s = Constant<value_float: float = @slope>()  c = CastLike(s, x)  z = Sub(x, x)  n = Less(x, z)  m = Mul(x, c)  y = Where(n, m, x) }""",
           *batches(4), opset=18, also={"pkg.torch": 1})
    s.text("functions_in_functions", """
        g (float[n,4] X, int64[n,4] K) => (float[n,4] Y, int64[n,4] Z) { Y = local.twice(X)  Z = local.twice(K) }
        <domain: "local", opset_import: ["" : 18, "local" : 1]> twice (x) => (y) { a = local.step(x)  y = local.step(a) }
        <domain: "local", opset_import: ["" : 18]> step (x) => (y) { a = Add(x, x)  one = Constant<value_int = 1>()  c = CastLike(one, a)  y = Sub(a, c) }""",
           lambda r: {"X": r.standard_normal((2, 4)).astype(np.float32), "K": np.arange(8).reshape(2, 4)}, opset=18, also={"local": 1})
    s.text("function_with_a_branch", """
        g (float[n,4] X) => (float[n,4] Y) { Y = local.f<training = 0>(X) }
        <domain: "local", opset_import: ["" : 18]> f <training>(x) => (y) {
          t = Constant<value_int: int = @training>()  c = Cast<to = 9>(t)
          y = If(c) <then_branch = a () => (u) { u = Neg(x) }, else_branch = b () => (v) { v = Exp(x) }> }""",
           *batches(4), opset=18, also={"local": 1})
    s.text("function_of_shapes", """
        g (float[n,l,6] X) => (float[a,b,c,d] Y) { Y = pkg.heads(X) }
        <domain: "pkg", opset_import: ["" : 18]> heads (x) => (y) {
          s = Shape<start = 0, end = 2>(x)  h = Constant<value_ints = [2, -1]>()  t = Concat<axis = 0>(s, h)  r = Reshape<allowzero = 0>(x, t)  y = Transpose<perm = [0, 2, 1, 3]>(r) }""",
           floats(2, 3, 6), floats(1, 5, 6), opset=18, also={"pkg": 1})

    def optional_input():
        body = [node("Clip", ["x", "lo", "hi"], ["y"])]
        f = helper.make_function("pkg", "bound", ["x", "lo", "hi"], ["y"], body, [helper.make_opsetid("", 18)])
        return model([node("bound", ["X", "", "h"], ["a"], domain="pkg"), node("bound", ["a", "l"], ["Y"], domain="pkg")],
                     [info("X", F, ["n", 4])], [info("Y", F, ["n", 4])],
                     [numpy_helper.from_array(np.float32(0.5), "h"), numpy_helper.from_array(np.float32(-0.5), "l")], 18, functions=[f], imports=[("pkg", 1)])
    s.model("function_without_an_optional_input", optional_input, *batches(4))
    s.text("function_with_unread_outputs", """
        g (float[n,4] X) => (float[n,k] Y) { v, Y = pkg.both(X) }
        <domain: "pkg", opset_import: ["" : 18]> both (x) => (m, y) { two = Constant<value_ints = [2]>()  m, i = TopK<axis = 1>(x, two)  y = Neg(m) }""",
           *batches(4), opset=18, also={"pkg": 1})


def write(s):
    for part in (names, storing, passing, branches, functions):
        part(s)
