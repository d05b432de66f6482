"""Small models for the tests of precision: (name, model, inputs). Each has what converters get wrong."""
import numpy as np
from onnx import parser


def text(graph, functions="", opset=17, more="", ir=10):
    imports = f'"" : {opset}' + (f", {more}" if more else "")
    return parser.parse_model(f'<ir_version: {ir}, opset_import: [{imports}]>\n{graph}\n{functions}')


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(seed, *shape):
    flat = (numbers(seed, *shape) / np.sqrt(max(shape[0], 1))).ravel()
    dims = ",".join(map(str, shape))
    return f"float[{dims}]", "{" + ",".join(repr(float(np.float32(v))) for v in flat) + "}"


def weight(name, seed, *shape):
    t, v = weights(seed, *shape)
    return f"{t} {name} = {v}"


def perceptron():
    model = text(f"""mlp (float[N,8] x) => (float[N,4] y) <{weight("w", 1, 8, 16)}, {weight("b", 2, 16)}, {weight("v", 3, 16, 4)}> {{
        h = Gemm(x, w, b)
        r = Relu(h)
        y = MatMul(r, v) }}""")
    return model, {"x": numbers(4, 5, 8)}


def norm():
    """A normalization in its parts: squares, a mean, an epsilon that float16 makes 0, a root, a quotient."""
    model = text(f"""norm (float[N,32] x) => (float[N,8] y) <{weight("w", 1, 32, 32)}, {weight("v", 2, 32, 8)}, float two = {{2.0}}, float eps = {{1e-12}}> {{
        h = MatMul(x, w)
        m = ReduceMean<axes=[-1]>(h)
        d = Sub(h, m)
        q = Pow(d, two)
        s = ReduceMean<axes=[-1]>(q)
        e = Add(s, eps)
        r = Sqrt(e)
        n = Div(d, r)
        y = MatMul(n, v) }}""")
    return model, {"x": 100 * numbers(3, 4, 32)}


def attention():
    """Scores under a mask of -1e9, which is infinite in float16."""
    model = text(f"""attention (float[N,6,16] x, bool[N,1,6] keep) => (float[N,6,16] y) <{weight("wq", 1, 16, 16)}, {weight("wk", 2, 16, 16)}, {weight("wv", 3, 16, 16)}, float scale = {{0.25}}, float none = {{-1e9}}, float zero = {{0.0}}> {{
        q = MatMul(x, wq)
        k = MatMul(x, wk)
        v = MatMul(x, wv)
        kt = Transpose<perm=[0,2,1]>(k)
        s = MatMul(q, kt)
        t = Mul(s, scale)
        mask = Where(keep, zero, none)
        u = Add(t, mask)
        p = Softmax<axis=-1>(u)
        y = MatMul(p, v) }}""")
    keep = np.ones((2, 1, 6), bool)
    keep[1, 0, 4:] = False
    return model, {"x": numbers(5, 2, 6, 16), "keep": keep}


def branches():
    """Branches that read values and weights from outside, one of which gives an outer value as it is."""
    model = text(f"""branches (float[4,8] x, bool c) => (float[4,8] y) <{weight("w", 1, 8, 8)}, {weight("v", 2, 8, 8)}> {{
        h = MatMul(x, w)
        z = If (c) <then_branch = then_graph () => (float[4,8] a) {{ a = MatMul(h, v) }},
                    else_branch = else_graph () => (float[4,8] b) {{ t = Relu(h)  b = Add(t, x) }}>
        y = MatMul(z, w) }}""")
    return model, {"x": numbers(3, 4, 8), "c": np.array(True)}


def loop():
    """A carried state and a gathered result; the body reads a weight from outside."""
    model = text(f"""loop (float[4,8] x) => (float[4,8] y, float[3,4,8] all) <{weight("w", 1, 8, 8)}, int64 n = {{3}}, bool yes = {{1}}> {{
        h = MatMul(x, w)
        z, all = Loop(n, yes, h) <body = body (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t, float[4,8] o) {{
            d = Identity(c)
            m = MatMul(s, w)
            t = Tanh(m)
            o = Identity(t) }}>
        y = MatMul(z, w) }}""")
    return model, {"x": numbers(3, 4, 8)}


def scan():
    model = text(f"""scan (float[5,8] x, float[8] s) => (float[8] y, float[5,8] all) <{weight("w", 1, 8, 8)}> {{
        h = MatMul(x, w)
        y, all = Scan <num_scan_inputs = 1, body = body (float[8] a, float[8] b) => (float[8] c, float[8] d) {{
            p = MatMul(a, w)
            q = Add(p, b)
            c = Tanh(q)
            d = Identity(c) }}>(s, h) }}""")
    return model, {"x": numbers(3, 5, 8), "s": numbers(4, 8)}


def function():
    """One body, called twice; the second call reads what the first gave."""
    functions = """<domain: "local", opset_import: ["" : 17]>
    block (x, w) => (y) { h = MatMul(x, w)  k = Constant<value = float {0.5}>()  g = Mul(h, k)  y = Tanh(g) }"""
    model = text(f"""calls (float[4,8] x) => (float[4,8] y) <{weight("w", 1, 8, 8)}, {weight("v", 2, 8, 8)}> {{
        a = local.block(x, w)
        y = local.block(a, v) }}""", functions, more='"local" : 1')
    return model, {"x": numbers(3, 4, 8)}


def cells():
    model = text(f"""cells (float[5,2,8] x) => (float[2,4] y) <{weight("w", 1, 1, 24, 8)}, {weight("r", 2, 1, 24, 6)}, {weight("v", 3, 6, 4)}, int64[1] zero = {{0}}> {{
        all, last, state = LSTM<hidden_size=6>(x, w, r)
        h = Squeeze(last, zero)
        y = MatMul(h, v) }}""")
    return model, {"x": numbers(4, 5, 2, 8)}


def quantised():
    model = text(f"""qdq (float[4,8] x) => (float[4,8] y) <{weight("w", 1, 8, 8)}, float s = {{0.05}}, uint8 z = {{128}}> {{
        q = QuantizeLinear(x, s, z)
        d = DequantizeLinear(q, s, z)
        h = MatMul(d, w)
        p = QuantizeLinear(h, s, z)
        y = DequantizeLinear(p, s, z) }}""", opset=19)
    return model, {"x": numbers(3, 4, 8)}


def positions():
    """Integers as floats: 4097 is not exact in float16. A product of what is small stays."""
    model = text(f"""positions (float[4,16] x, int64 start) => (float[4,16] y) <{weight("w", 1, 16, 16)}, float[16] f = {{1,0.5,0.25,0.125,0.0625,0.03125,0.015625,0.0078125,0.00390625,0.001953125,1,1,1,1,1,1}}> {{
        i = Constant<value = int64[4,1] {{0,1,4097,8191}}>()
        p = Add(i, start)
        c = Cast<to=1>(p)
        a = Mul(c, f)
        s = Sin(a)
        h = MatMul(x, w)
        y = Add(h, s) }}""")
    return model, {"x": numbers(2, 4, 16), "start": np.array(3, np.int64)}


def mixture():
    """Float16 already in the middle, with the Casts that someone put around it."""
    model = text(f"""mixture (float[4,8] x) => (float[4,8] y, float16[4,8] h) <{weight("w", 1, 8, 8)}, float16[8,8] v = {{{",".join(["12288"] * 64)}}}> {{
        a = MatMul(x, w)
        b = Cast<to=10>(a)
        h = MatMul(b, v)
        c = Cast<to=1>(h)
        y = MatMul(c, w) }}""")
    return model, {"x": numbers(3, 4, 8)}


def images():
    """Convolutions with normalization, pooling, resizing by scales that stay float32, an output that two read."""
    model = text(f"""images (float[1,3,16,16] x) => (float[1,4,16,16] y, float[1,4,1,1] g) <{weight("w", 1, 4, 3, 3, 3)}, {weight("b", 2, 4)}, float[4] s = {{1,0.5,2,1}}, float[4] m = {{0.1,0,-0.1,0.2}}, float[4] v = {{1,2,0.5,1}}, {weight("k", 3, 4, 4, 1, 1)}, float[4] scales = {{1,1,2,2}}> {{
        a = Conv<pads=[1,1,1,1]>(x, w, b)
        n = BatchNormalization(a, s, b, m, v)
        r = Relu(n)
        p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)
        u = Resize<mode="nearest">(p, , scales)
        y = Conv(u, k)
        g = GlobalAveragePool(y) }}""")
    return model, {"x": numbers(4, 1, 3, 16, 16)}


def sequences():
    model = text(f"""sequences (float[4,8] x) => (float[4,8] y) <{weight("w", 1, 8, 8)}, int64 zero = {{0}}, int64 one = {{1}}> {{
        h = MatMul(x, w)
        l = SequenceConstruct(h, x)
        a = SequenceAt(l, zero)
        b = SequenceAt(l, one)
        s = Add(a, b)
        y = MatMul(s, w) }}""")
    return model, {"x": numbers(3, 4, 8)}


def turned():
    """A Transpose that brings the first of open dims last but one, in front of a product: where ONNX Runtime 1.31.1 crashes."""
    model = text(f"""turned (float[L,N,8] x) => (float[N,L,4] y) <{weight("v", 2, 8, 4)}> {{
        t = Transpose<perm=[1,0,2]>(x)
        h = MatMul(t, v)
        y = Relu(h) }}""")
    return model, {"x": numbers(3, 5, 2, 8)}


def filled():
    """ConstantOfShape, which gives no bfloat16 before opset 20."""
    model = text(f"""filled (float[N,8] x) => (float[N,4] y) <{weight("w", 1, 8, 8)}, {weight("v", 2, 8, 4)}> {{
        s = Shape(x)
        o = ConstantOfShape<value: tensor = float[1] {{0.5}}>(s)
        h = MatMul(x, w)
        a = Add(h, o)
        y = MatMul(a, v) }}""")
    return model, {"x": numbers(3, 5, 8)}


def kernel():
    """A Gaussian process: numbers near 1000, summed by weights that cancel but for a thousandth."""
    centers, signs = 3 + 0.1 * numbers(1, 24, 4), np.resize([1.0, -1.0], 24)
    signs[-1] += 0.004
    flat = ",".join(repr(float(np.float32(v))) for v in centers.ravel())
    model = text(f"""kernel (float[N,1,4] x) => (float[N,1] y) <float[24,4] c = {{{flat}}}, float wide = {{40.0}}, float size = {{1000.0}},
        float[24,1] w = {{{",".join(map(str, signs))}}}> {{
        e = Sub(x, c)
        d = Div(e, wide)
        q = ReduceSumSquare<axes=[2], keepdims=0>(d)
        m = Neg(q)
        k = Exp(m)
        s = Mul(k, size)
        y = MatMul(s, w) }}""")
    return model, {"x": 3 + numbers(5, 6, 1, 4)}


def unsorted():
    model, feeds = perceptron()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    return model, feeds


def shared():
    """One weight for a product and, as it is, for an output; an input that is an output; a fan-out."""
    model = text(f"""shared (float[8,8] x) => (float[8,8] y, float[8,8] z, float[8,8] u) <{weight("w", 1, 8, 8)}> {{
        h = MatMul(x, w)
        z = Exp(w)
        a = MatMul(h, w)
        b = MatMul(h, x)
        y = Add(a, b)
        u = Identity(x) }}""")
    return model, {"x": numbers(3, 8, 8)}


def models():
    for make in (perceptron, norm, attention, branches, loop, scan, function, cells, quantised, positions, mixture,
                 images, sequences, shared, turned, filled, kernel):
        model, feeds = make()
        yield (make.__name__, model, feeds)


