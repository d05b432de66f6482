"""Operators of com.microsoft on quantised tensors."""
import itertools

import ml_dtypes
import numpy as np

from suite import generator, integers, normal

LIMITS = {np.uint8: (0, 256), np.int8: (-128, 128), np.uint16: (0, 65536), np.int16: (-32768, 32768)}


def operand(r, name, shape, dtype, point=True, scale=None):
    """The three inputs of a quantised tensor."""
    low, high = LIMITS[dtype]
    scale = np.float32(scale or r.uniform(0.01, 0.04))
    return [(name, integers(r, low, high, shape, dtype)), (f"{name}_scale", np.array(scale, np.float32)),
            (f"{name}_point", np.array(integers(r, low // 4 + 5, high // 4 + 5, (), dtype)) if point else None)]


def parameters(r, name, dtype, point=True, scale=0.05):
    return operand(r, name, (), dtype, point, scale)[1:]


def real(x, scale, point):
    return (x[1].astype(np.float64) - (0 if point[1] is None else float(point[1]))) * float(scale[1])


def quantized(value, scale, point, dtype):
    info = np.iinfo(dtype)
    value = np.rint(value / float(scale[1])) + (0 if point[1] is None else float(point[1]))
    return np.clip(value, info.min, info.max).astype(dtype)


STEP = {"rtol": 0, "atol": 1}  # one step of the result's scale


def elementwise(s):
    for dtype, op in itertools.product((np.uint8, np.int8), ("QLinearAdd", "QLinearMul")):
        for k, (a, b) in enumerate([((3, 4, 5), (3, 4, 5)), ((3, 4, 5), (5,)), ((3, 1, 5), (4, 1)), ((), (6,))]):
            for point in (True, False):
                name = f"{op.lower()}_{np.dtype(dtype).name}_{k}{'' if point else '_symmetric'}"
                r = generator(name)
                left, right = operand(r, "A", a, dtype, point), operand(r, "B", b, dtype, point)
                to = parameters(r, "C", dtype, point)
                exact = real(*left) + real(*right) if op == "QLinearAdd" else real(*left) * real(*right)
                # The shape inference of onnxruntime stumbles over zero points that are left out.
                s.node(name, op, left + right + to, ("C",), dynamic=k == 1, **STEP,
                       expected=None if point else [quantized(exact, *to, dtype)])
    for dtype, op in itertools.product((np.uint8, np.int8), ("QLinearSigmoid", "QLinearLeakyRelu")):
        for point in (True, False):
            name = f"{op.lower()}_{np.dtype(dtype).name}{'' if point else '_symmetric'}"
            r = generator(name)
            s.node(name, op, operand(r, "X", (4, 65), dtype, point) + parameters(r, "Y", dtype, point, 1 / 128),
                   attrs={"alpha": 0.2} if op == "QLinearLeakyRelu" and point else {}, **STEP)
    for dtype in (np.uint8, np.int8):
        name = f"qlinear_where_{np.dtype(dtype).name}"
        r = generator(name)
        s.node(name, "QLinearWhere", [("c", r.random((3, 1, 5)) < 0.5)] + operand(r, "X", (3, 4, 5), dtype)
               + operand(r, "Y", (5,), dtype) + parameters(r, "Z", dtype), ("Z",), **STEP)
        for opset, axis in ((12, 1), (13, 1), (13, -1)):
            name = f"qlinear_softmax_{np.dtype(dtype).name}_{opset}_{axis + 1}"
            r = generator(name)
            s.node(name, "QLinearSoftmax", operand(r, "X", (3, 6, 7), dtype) + [
                ("y_scale", np.array(1 / 256, np.float32)), ("y_point", np.array(LIMITS[dtype][0], dtype))],
                attrs={"axis": axis, "opset": opset}, **STEP)


def concats(s):
    for axis, dtype in itertools.product((0, 1, -1), (np.uint8, np.int8)):
        name = f"qlinear_concat_{axis + 1}_{np.dtype(dtype).name}"
        r = generator(name)
        shape = lambda n: tuple(n if i == axis % 3 else d for i, d in enumerate((2, 3, 4)))  # noqa: E731
        inputs = parameters(r, "Y", dtype) + sum((operand(r, f"X{n}", shape(n), dtype) for n in (1, 3, 5)), [])
        s.node(name, "QLinearConcat", inputs, attrs={"axis": axis}, dynamic=axis == 1,
               weights=[n for n, _ in inputs if "_" in n], **STEP)


def pools(s):
    variants = [{}, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {"ceil_mode": 1, "strides": [2, 3]},
                {"pads": [1, 0, 1, 1], "count_include_pad": 1}, {"auto_pad": "SAME_UPPER"}]
    for dtype, last in itertools.product((np.uint8, np.int8), (0, 1)):
        shape = (2, 9, 10, 3) if last else (2, 3, 9, 10)
        for k, attrs in enumerate(variants):
            name = f"qlinear_average_pool_{np.dtype(dtype).name}_{last}{k}"
            r = generator(name)
            s.node(name, "QLinearAveragePool", operand(r, "X", shape, dtype) + parameters(r, "Y", dtype, scale=0.02),
                   attrs={"kernel_shape": [3, 2], "channels_last": last, **attrs}, **STEP)
        name = f"qlinear_global_average_pool_{np.dtype(dtype).name}_{last}"
        r = generator(name)
        s.node(name, "QLinearGlobalAveragePool", operand(r, "X", shape, dtype)
               + parameters(r, "Y", dtype, scale=0.02), attrs={"channels_last": last}, **STEP)


def products(s):
    for ta, tb, wide, c in itertools.product((0, 1), (0, 1), (0, 1), (0, 1)):
        for a_type, b_type in ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)):
            name = f"qgemm_{ta}{tb}{wide}{c}_{np.dtype(a_type).name}_{np.dtype(b_type).name}"
            r = generator(name)
            a, b = operand(r, "A", (7, 5) if ta else (5, 7), a_type), operand(r, "B", (6, 7) if tb else (7, 6), b_type)
            if c:  # scales and points of B by column
                b[1:] = [("B_scale", r.uniform(0.01, 0.03, 6).astype(np.float32)),
                         ("B_point", np.zeros(6, b_type) + b[2][1])]
            more = [("C", integers(r, -9000, 9000, (6,) if tb else (1, 6), np.int32) if c else None)]
            more += [] if wide else parameters(r, "Y", a_type)
            s.node(name, "QGemm", a + b + more, attrs={"transA": ta, "transB": tb, "alpha": 0.5 + 0.5 * ta},
                   weights=("B", "B_scale", "B_point", "C"), **({} if wide else STEP))
    for b_type, batch, columns, bias in itertools.product((np.uint8, np.int8), (0, 1), (0, 1), (0, 1)):
        suffix = f"{np.dtype(b_type).name}_{batch}{columns}{bias}"
        r = generator(suffix)
        b = operand(r, "B", (2, 7, 6) if batch else (7, 6), b_type)
        if columns:
            b[1:] = [("B_scale", r.uniform(0.01, 0.03, 6).astype(np.float32)),
                     ("B_point", integers(r, *(n // 4 for n in LIMITS[b_type]), (6,), b_type))]
        if batch and columns:
            b[1:] = [(n, np.ascontiguousarray(np.broadcast_to(v, (2, 1, 6)))) for n, v in b[1:]]
        a = operand(r, "A", (2, 5, 7), np.uint8)
        vector = ("bias", normal(r, 6) if bias else None)
        s.node(f"integer_to_float_{suffix}", "MatMulIntegerToFloat", [a[0], b[0], a[1], b[1], a[2], b[2], vector])
        s.node(f"dynamic_matmul_{suffix}", "DynamicQuantizeMatMul",
               [("A", normal(r, 2, 5, 7)), b[0], b[1], b[2] if bias else None or ("B_point", None), vector],
               dynamic=not batch, atol=2e-3, rtol=1e-3)


def blocks(r, n, k, size, bits, points):
    """Inputs B, scales and zero_points of MatMulNBits."""
    per_row, each = -(-k // size), 8 // bits
    scales = r.uniform(0.02, 0.1, (n, per_row)).astype(np.float32)
    held = {"none": None, "packed": integers(r, 0, 256, (n, -(-per_row // each)), np.uint8),
            "float": r.uniform(0, 1 << bits, (n, per_row)).astype(np.float32)}[points]
    return [("B", integers(r, 0, 256, (n, per_row, size // each), np.uint8)), ("scales", scales), ("points", held)]


def product_of_blocks(inputs, k, size, bits):
    """What NumPy says: 8 / bits numbers to a byte, the lowest bits first."""
    given = {n: a for n, a in inputs}
    spread = lambda a: (a[..., None] >> (bits * np.arange(8 // bits))).reshape(*a.shape[:-1], -1) % (1 << bits)  # noqa: E731
    n, per_row = given["scales"].shape
    b = spread(given["B"]).reshape(n, per_row, size).astype(np.float64)
    points = given["points"]
    points = 1 << (bits - 1) if points is None else points if points.dtype != np.uint8 else spread(points)[:, :per_row]
    points = np.broadcast_to(points, (n, per_row))[..., None]
    b = ((b - points) * given["scales"][..., None]).reshape(n, -1)[:, :k]
    return (given["A"].astype(np.float64) @ b.T + (given.get("bias") if "bias" in given else 0)).astype(np.float32)


def nbits(s):
    for bits, size, points, bias in itertools.product((2, 4, 8), (16, 32), ("none", "packed", "float"), (0, 1)):
        name = f"matmul_{bits}bits_{size}_{points}_{bias}"
        r = generator(name)
        inputs = [("A", normal(r, 2, 3, 72))] + blocks(r, 10, 72, size, bits, points)
        inputs += [("g_idx", None), ("bias", normal(r, 10))] if bias else []
        exact = [product_of_blocks(inputs, 72, size, bits)]
        s.node(name, "MatMulNBits", inputs, attrs={"N": 10, "K": 72, "block_size": size, "bits": bits}, rtol=1e-3,
               atol=1e-4, expected=exact if bits == 8 and points == "float" else None,
               weights=("B", "scales", "points", "bias"), dynamic=size == 32 and points == "none")
    r = generator("matmul_4bits_flat")
    inputs = blocks(r, 10, 64, 32, 4, "packed")
    s.node("matmul_4bits_flat", "MatMulNBits",
           [("A", normal(r, 4, 64))] + [(n, a if n == "B" else a.reshape(-1)) for n, a in inputs],
           attrs={"N": 10, "K": 64, "block_size": 32, "bits": 4}, weights=("B", "scales", "points"), rtol=1e-3, atol=1e-4)
    r = generator("matmul_4bits_groups")
    s.node("matmul_4bits_groups", "MatMulNBits",
           [("A", normal(r, 4, 64))] + blocks(r, 10, 64, 32, 4, "none")
           + [("g_idx", integers(r, 0, 2, (64,), np.int32))],
           attrs={"N": 10, "K": 64, "block_size": 32, "bits": 4}, weights=("B", "scales", "g_idx"), rtol=1e-3, atol=1e-4)


def picked(s):
    """Rows of blocks, as embeddings of few bits are."""
    for bits, points, half in itertools.product((2, 4, 8), (0, 1), (0, 1)):
        name = f"gather_{bits}bits_{points}{half}"
        r = generator(name)
        given = dict(blocks(r, 11, 80, 16, bits, "packed" if points else "none"))
        scales = given["scales"].astype(np.float16 if half else np.float32)
        s.node(name, "GatherBlockQuantized",
               [("data", given["B"].reshape(11, -1)), ("indices", integers(r, -11, 11, (2, 3), np.int64)), ("scales", scales),
                ("zero_points", given["points"])],
               attrs={"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": -1},
               weights=("data", "scales", "zero_points"), dynamic=bits == 4)
    for dtype, axes in itertools.product((ml_dtypes.int4, ml_dtypes.uint4), ((1, 2), (2, 0), (0, 1))):
        low, high = (-8, 8) if dtype == ml_dtypes.int4 else (0, 16)
        name = f"gather_{np.dtype(dtype).name}_{axes[0]}{axes[1]}"
        r = generator(name)
        shape = [5, 7, 6]
        shape[axes[1]] = 40
        of_blocks = [3 if i == axes[1] else n for i, n in enumerate(shape)]
        codes = lambda dims: integers(r, low, high, dims, np.int8).astype(dtype)  # noqa: E731, B023
        s.node(name, "GatherBlockQuantized",
               [("data", codes(shape)), ("indices", integers(r, 0, 5, (4,), np.int32)),
                ("scales", r.uniform(0.02, 0.1, of_blocks).astype(np.float32)), ("points", codes(of_blocks))],
               attrs={"block_size": 16, "gather_axis": axes[0], "quantize_axis": axes[1]}, weights=("data", "scales", "points"))


def recurrent(s):
    steps, batch, width, hidden = 5, 2, 6, 4
    for way, dtype, columns, more in itertools.product(("forward", "reverse", "bidirectional"), (np.int8, np.uint8),
                                                       (0, 1), (0, 1)):
        name = f"dynamic_lstm_{way}_{np.dtype(dtype).name}_{columns}{more}"
        r = generator(name)
        d = 2 if way == "bidirectional" else 1
        shape = (d, 4 * hidden) if columns else (d,)
        # By column onnxruntime takes the middle of the range only.
        point = lambda: (np.full(shape, sum(LIMITS[dtype]) // 2, dtype) if columns else  # noqa: E731
                         integers(r, *(n // 8 for n in LIMITS[dtype]), shape, dtype))
        scale = lambda: r.uniform(0.002, 0.006, shape).astype(np.float32)  # noqa: E731
        inputs = [("X", normal(r, steps, batch, width)), ("W", integers(r, *LIMITS[dtype], (d, width, 4 * hidden), dtype)),
                  ("R", integers(r, *LIMITS[dtype], (d, hidden, 4 * hidden), dtype)),
                  ("B", normal(r, d, 8 * hidden) if more else None),
                  ("lens", np.array([5, 3], np.int32) if more else None),
                  ("h", normal(r, d, batch, hidden) if more else None), ("c", normal(r, d, batch, hidden) if more else None),
                  ("P", normal(r, d, 3 * hidden) if more else None),
                  ("W_scale", scale()), ("W_point", point()), ("R_scale", scale()), ("R_point", point())]
        attrs = {"hidden_size": hidden, "direction": way} | ({"clip": 3.0} if more else {})
        s.node(name, "DynamicQuantizeLSTM", inputs, ("Y", "Y_h", "Y_c"), attrs, rtol=1e-2, atol=5e-3,
               weights=("W", "R", "B", "P", "W_scale", "W_point", "R_scale", "R_point"))


def linear(s):
    """QuantizeLinear and DequantizeLinear of this domain."""
    for dtype, axis in itertools.product(LIMITS, (None, 1)):
        name = f"{np.dtype(dtype).name}_{'tensor' if axis is None else axis}"
        r = generator(name)
        shape = () if axis is None else (5,)
        scale = r.uniform(0.01, 0.05, shape).astype(np.float32)
        point = integers(r, *(n // 4 for n in LIMITS[dtype]), shape, dtype)
        attrs = {} if axis is None else {"axis": axis}
        s.node(f"quantize_{name}", "QuantizeLinear",
               [("x", normal(r, 3, 5, 4)), ("scale", np.array(scale)), ("point", np.array(point))], attrs=attrs, **STEP)
        s.node(f"dequantize_{name}", "DequantizeLinear",
               [("x", integers(r, *LIMITS[dtype], (3, 5, 4), dtype)), ("scale", np.array(scale)),
                ("point", np.array(point))], attrs=attrs)
    r = generator("dequantize_int32")
    s.node("dequantize_int32", "DequantizeLinear",
           [("x", integers(r, -9000, 9000, (3, 5), np.int32)), ("scale", np.array(0.01, np.float32))])


def write(s):
    for part in (elementwise, concats, pools, products, nbits, picked, recurrent, linear):
        part(s)
