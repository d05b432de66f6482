"""Products, convolutions, pools, normalizations, recurrences, losses, attention."""
import numpy as np

from cases import (BOOL, F32, I32, I64, case, const, distinct, floats, ints, numbers, operators, scalar,
                   values)


@operators("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
           "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reductions(v):
    def axes(*which):
        return ((), {"axes": list(which)}) if v.has("axes") else ((const(list(which)),), {})

    for t in numbers(v):
        more, attrs = axes(1)
        yield case(values(t, 2, 3, 2, low=1, high=4), *more, **attrs, tag=t.name)
    for which, keep in (((0, 2), 0), ((1,), 0), ((0,), 1)) + ((((-1,), 1),) if v.since >= 11 else ()):
        more, attrs = axes(*which)
        yield case(floats(2, 3, 2, low=0.5), *more, keepdims=keep, **attrs)
    yield case(floats(2, 3, low=0.5))
    yield case(floats(2, 3, low=0.5), keepdims=0)
    if not v.has("axes"):
        yield case(floats(2, 3, low=0.5), ints(1), tag="given")
        yield case(floats(2, 3, low=0.5), const([]), noop_with_empty_axes=1)
        yield case(floats(2, 3, low=0.5), const([]))


@operators("ArgMax", "ArgMin")
def arg(v):
    for t in numbers(v):
        yield case(distinct(t, 3, 4), axis=1, tag=t.name)
    yield case(distinct(F32, 3, 4))
    yield case(distinct(F32, 3, 4), axis=1, keepdims=0)
    yield case(np.array([[1, 3, 3, 1]], np.float32), axis=1, tag="equal")
    if v.since >= 11:
        yield case(distinct(F32, 3, 4), axis=-2)
    if v.has("select_last_index"):
        yield case(np.array([[1, 3, 3, 1]], np.float32), axis=1, select_last_index=1)


@operators("Softmax", "LogSoftmax", "Hardmax")
def softmax(v):
    for t in numbers(v):
        if v.since >= 13 or t.name == "float32":
            yield case(values(t, 2, 3, 4), tag=t.name)
        else:  # the same numbers in one dim behind the axis
            yield case(values(t, 6, 4), tag=t.name)
    for axis in (0, 1, 2) + ((-1, -2) if v.since >= 11 else ()):
        yield case(floats(2, 3, 4), axis=axis)
    yield case(floats(3, 4))


@operators("MatMul")
def matmul(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 3, 4), tag=t.name)
    yield case(floats(2, 1, 2, 3), floats(4, 3, 2))
    yield case(floats(3), floats(2, 3, 4))


@operators("Gemm")
def gemm(v):
    for t in numbers(v):
        yield case(values(t, 2, 3), values(t, 3, 4), values(t, 4), tag=t.name)
    yield case(floats(3, 2), floats(4, 3), floats(2, 1), transA=1, transB=1, alpha=0.5, beta=2.0)
    yield case(floats(2, 3), floats(3, 4), scalar(1.5))
    if v.since >= 11:
        yield case(floats(2, 3), floats(3, 4))


@operators("Conv")
def conv(v):
    for t in numbers(v):
        yield case(values(t, 1, 2, 5, 4), values(t, 3, 2, 3, 3), values(t, 3), tag=t.name)
    yield case(floats(1, 4, 7), floats(4, 2, 3), group=2, strides=[2], pads=[1, 2], dilations=[2])
    yield case(floats(1, 1, 5, 5), floats(1, 1, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2])
    yield case(floats(1, 1, 5, 5), floats(1, 1, 2, 2), auto_pad="SAME_LOWER")


@operators("ConvTranspose")
def conv_transpose(v):
    for t in numbers(v):
        yield case(values(t, 1, 2, 3, 4), values(t, 2, 3, 3, 3), values(t, 3), tag=t.name)
    yield case(floats(1, 2, 3, 3), floats(2, 1, 3, 3), group=2, strides=[2, 2], output_padding=[1, 1], pads=[1, 0, 0, 1])
    yield case(floats(1, 1, 3, 3), floats(1, 2, 3, 3), strides=[3, 2], output_shape=[10, 8])
    yield case(floats(1, 1, 3, 3), floats(1, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER")


@operators("DeformConv")
def deform_conv(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 1, 1, 3, 3), values(t, 1, 1, 2, 2), values(t, 1, 8, 2, 2, low=-0.5, high=0.5), tag=t.name)
    yield case(floats(1, 2, 4, 4), floats(2, 1, 2, 2), floats(1, 8, 3, 3, low=-1, high=1), floats(2),
               floats(1, 4, 3, 3), group=2)


@operators("AveragePool", "LpPool")
def pool(v):
    for t in numbers(v):
        yield case(values(t, 1, 2, 5, 5, low=1, high=3), kernel_shape=[3, 2], tag=t.name)
    x = floats(1, 2, 5, 6, low=0.5)
    yield case(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield case(x, kernel_shape=[2, 2], auto_pad="SAME_UPPER", strides=[2, 2])
    yield case(x, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    yield case(x, kernel_shape=[2, 2], auto_pad="VALID", strides=[2, 1])
    yield case(floats(1, 1, 7), kernel_shape=[3])
    if v.has("count_include_pad"):
        yield case(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    if v.has("p"):
        yield case(x, kernel_shape=[2, 2], p=1)
        yield case(x, kernel_shape=[2, 2], p=3)
    if v.has("ceil_mode"):
        yield case(x, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
        # ONNX Runtime before 1.20 and its kernels of opsets before 19 differ where a window starts in the padding.
        yield case(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    if v.has("dilations"):
        yield case(x, kernel_shape=[2, 2], dilations=[2, 2])


@operators("MaxPool")
def max_pool(v):
    for t in numbers(v):
        yield case(values(t, 1, 2, 5, 5), kernel_shape=[3, 2], tag=t.name)
    x = distinct(F32, 1, 2, 5, 6)
    yield case(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield case(x, kernel_shape=[2, 2], auto_pad="SAME_UPPER", strides=[2, 2])
    yield case(x, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    if v.has("storage_order"):
        yield case(x, kernel_shape=[2, 2], outputs=2)
        yield case(x, kernel_shape=[2, 2], strides=[2, 2], storage_order=1, outputs=2)
    if v.has("ceil_mode"):
        yield case(x, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
        yield case(x, kernel_shape=[2, 2], dilations=[2, 2])


@operators("MaxUnpool")
def max_unpool(v):
    x, at = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[[5, 7], [13, 15]]]])
    yield case(x, at, kernel_shape=[2, 2], strides=[2, 2])
    yield case(x, at, const([1, 1, 5, 5]), kernel_shape=[2, 2], strides=[2, 2])


@operators("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(v):
    def lp(x, p):
        if v.since < 22 or not v.has("p"):
            return None
        axes = tuple(range(2, x.ndim))
        sums = (np.abs(x.astype(np.float64)) ** p).sum(axis=axes, keepdims=True)
        return [(sums ** (1 / p)).astype(x.dtype)]

    for t in numbers(v):
        x = values(t, 1, 2, 3, 4)
        yield case(x, tag=t.name, expect=lp(x, 2))
    if v.has("p"):
        x = floats(2, 2, 3)
        yield case(x, p=1, expect=lp(x, 1))


def max_of_rois(x, rois, shape, scale):
    """MaxRoiPool by loops, bins as Caffe has them: ends rounded, both included."""
    out = np.zeros((len(rois), x.shape[1], *shape), x.dtype)
    for n, roi in enumerate(rois.astype(np.float64)):
        image, (x1, y1, x2, y2) = int(roi[0]), (int(np.floor(r * scale + 0.5)) for r in roi[1:])
        height, width = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for i in range(shape[0]):
            rows = slice(max(y1 + i * height // shape[0], 0),
                         min(y1 - (-(i + 1) * height // shape[0]), x.shape[2]))
            for j in range(shape[1]):
                columns = slice(max(x1 + j * width // shape[1], 0),
                                min(x1 - (-(j + 1) * width // shape[1]), x.shape[3]))
                part = x[image, :, rows, columns].astype(np.float64)
                out[n, :, i, j] = part.max(axis=(1, 2)) if part.size else 0
    return out


@operators("MaxRoiPool")
def max_roi_pool(v):
    def wanted(x, rois, shape, scale):  # ONNX Runtime knows float32 before 22 only
        return [max_of_rois(x, rois, shape, scale)] if v.since >= 22 or x.dtype != F32 else None

    for t in numbers(v)[:2]:
        rois = np.array([[0, 0, 0, 3, 3], [0, 1, 1, 5, 4]], t)
        x = values(t, 1, 2, 6, 6)
        yield case(x, rois, pooled_shape=[2, 2], tag=t.name, expect=wanted(x, rois, (2, 2), 1))
    x, rois = floats(1, 1, 6, 6), np.array([[0, 0, 0, 6, 8]], np.float32)
    yield case(x, rois, pooled_shape=[2, 3], spatial_scale=0.5, expect=wanted(x, rois, (2, 3), 0.5))


@operators("RoiAlign")
def roi_align(v):
    rois, batch = np.array([[0.3, 0.4, 4.2, 4.9], [1, 1, 5, 5]], np.float32), ints(0, 1)
    x = floats(2, 2, 6, 6)
    for t in numbers(v)[:3]:
        yield case(x.astype(t), rois.astype(t), batch, output_height=2, output_width=2, sampling_ratio=2, tag=t.name)
    yield case(x, rois, batch, output_height=2, output_width=3, spatial_scale=0.5, mode="max", sampling_ratio=2)
    yield case(x, rois, batch, output_height=2, output_width=2)
    if v.has("coordinate_transformation_mode"):
        for mode in ("half_pixel", "output_half_pixel"):
            yield case(x, rois, batch, output_height=2, output_width=2, sampling_ratio=2,
                       coordinate_transformation_mode=mode)


@operators("BatchNormalization")
def batch_normalization(v):
    rest = [floats(3) for _ in range(3)] + [floats(3, low=0.5)]
    for t in v.types():
        if t.name in ("float32", "float64", "float16", "bfloat16"):
            yield case(values(t, 2, 3, 4), *[r.astype(t) for r in rest], tag=t.name)
    yield case(floats(2, 3, 4, 2), *rest, epsilon=1e-2)
    yield case(floats(2, 3), *rest)
    if v.has("spatial"):
        yield case(floats(2, 3, 4), *rest, spatial=1)
        each = [floats(3, 4) for _ in range(3)] + [floats(3, 4, low=0.5)]
        x = floats(2, 3, 4)
        yield case(x, *each, spatial=0, expect=[
            (each[0] * (x - each[2]) / np.sqrt(each[3] + np.float32(1e-5)) + each[1]).astype(np.float32)])
    if not v.has("training_mode"):
        x, momentum, axes = floats(2, 3, 4), np.float32(0.8), (0, 2)
        mean, var = x.mean(axis=axes), x.var(axis=axes)
        normal = (x - mean[:, None]) / np.sqrt(var[:, None] + np.float32(1e-5))
        y = normal * rest[0][:, None] + rest[1][:, None]
        running = [rest[k + 2] * momentum + stat * (1 - momentum) for k, stat in enumerate((mean, var))]
        yield case(x, *rest, momentum=0.8, outputs=5, expect=[y, *running, mean, var], tag="training", rtol=1e-4,
                   atol=1e-5)
    else:
        yield case(floats(2, 3, 4), *rest, training_mode=1, outputs=3)
        yield case(floats(2, 3, 4), *rest, training_mode=1, momentum=0.5, outputs=3)
        yield case(floats(2, 3, 4), *rest, training_mode=1)
    if v.since >= 15:
        yield case(values(np.float16, 2, 3, 4), *rest, tag="mixed")


@operators("InstanceNormalization")
def instance_normalization(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, 4), values(t, 3), values(t, 3), tag=t.name)
    yield case(floats(2, 3, 4, 2), floats(3), floats(3), epsilon=1e-2)


@operators("GroupNormalization", "LayerNormalization", "RMSNormalization")
def normalization(v):
    group = {"num_groups": 2} if v.name[0] == "G" else {}
    for t in numbers(v)[:4]:
        rest = [values(t, 4)] * (1 if v.name[0] == "R" else 2)
        yield case(values(t, 2, 4, 3) if group else values(t, 2, 3, 4), *rest, tag=t.name, **group)
    if v.name[0] == "L":
        yield case(floats(2, 3, 4), floats(3, 4), axis=1, epsilon=1e-2)
        yield case(floats(2, 3, 4), floats(4), None, outputs=3)
    if v.name[0] == "R":
        yield case(floats(2, 3, 4), floats(3, 4), axis=1, epsilon=1e-2)


@operators("MeanVarianceNormalization")
def mean_variance(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, 2, 2), tag=t.name)
    yield case(floats(2, 3, 2, 2), axes=[1, 2])


def lrn_of(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    wide, total = x.astype(np.float64), np.zeros(x.shape)
    for c in range(x.shape[1]):
        low, high = max(0, c - (size - 1) // 2), min(x.shape[1] - 1, c + size // 2)
        total[:, c] = (wide[:, low:high + 1] ** 2).sum(axis=1)
    return (wide / (bias + alpha / size * total) ** beta).astype(x.dtype)


@operators("LRN")
def lrn(v):
    for t in numbers(v):
        x = values(t, 1, 5, 2, 2)
        yield case(x, size=3, tag=t.name, expect=[lrn_of(x, 3)] if t.name != "float32" else None)
    x = floats(1, 5, 2, 2)
    yield case(x, size=2, alpha=0.1, beta=0.5, bias=2.0, expect=[lrn_of(x, 2, 0.1, 0.5, 2.0)])


@operators("LpNormalization")
def lp_normalization(v):
    for t in numbers(v):
        yield case(values(t, 2, 3, low=0.5), tag=t.name)
    yield case(floats(2, 3), axis=0, p=1)


# ---- recurrences ----------------------------------------------------------------------------------------

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent_operands(v, t, directions=1, seq=3, batch=2, size=2, hidden=3):
    g = GATES[v.name]
    return [values(t, seq, batch, size, low=-1, high=1), values(t, directions, g * hidden, size, low=-1, high=1),
            values(t, directions, g * hidden, hidden, low=-1, high=1)]


def runtime_of(c):
    import oracle
    got = oracle.by_runtime(c)
    return got if isinstance(got, list) else None


@operators("RNN", "GRU", "LSTM")
def recurrent(v):
    g, hidden, states = GATES[v.name], 3, 3 if v.name == "LSTM" else 2
    for t in numbers(v):
        yield case(*recurrent_operands(v, t), hidden_size=hidden, outputs=states, tag=t.name)
    bias, first = floats(1, 2 * g * hidden, low=-1, high=1), floats(1, 2, hidden, low=-1, high=1)
    start = [first, first] if v.name == "LSTM" else [first]
    yield case(*recurrent_operands(v, F32), bias, ints(3, 1, dtype=I32), *start, hidden_size=hidden, outputs=states,
               tag="lengths")
    yield case(*recurrent_operands(v, F32), hidden_size=hidden, direction="reverse", outputs=states)
    yield case(*recurrent_operands(v, F32, 2), hidden_size=hidden, direction="bidirectional", outputs=states)
    # One step: ONNX Runtime does not clip the cell before its activation, which only then stays below.
    yield case(*recurrent_operands(v, F32, seq=1 if v.name == "LSTM" else 3), bias, hidden_size=hidden, clip=0.2,
               outputs=states)
    if v.name == "GRU":
        yield case(*recurrent_operands(v, F32), bias, hidden_size=hidden, linear_before_reset=1, outputs=2)
    if v.name == "LSTM":
        peepholes = floats(1, 3 * hidden, low=-1, high=1)
        yield case(*recurrent_operands(v, F32), bias, None, *start, peepholes, hidden_size=hidden, outputs=3)
        yield case(*recurrent_operands(v, F32), hidden_size=hidden, input_forget=1, outputs=3)
    kinds = {"RNN": ["Relu"], "GRU": ["HardSigmoid", "Softsign"], "LSTM": ["HardSigmoid", "Softsign", "Elu"]}[v.name]
    yield case(*recurrent_operands(v, F32), hidden_size=hidden, activations=kinds, outputs=states)
    if v.has("layout"):
        x, w, r = recurrent_operands(v, F32)
        yield case(x, w, r, hidden_size=hidden, layout=1, outputs=states, tag="layout")
        # By the same recurrence with time in front.
        x, w, r = recurrent_operands(v, F32, 2)
        begin = [floats(2, 2, hidden, low=-1, high=1) for _ in range(states - 1)]
        plain = {"hidden_size": hidden, "direction": "bidirectional"}
        inner = case(x, w, r, None, None, *begin, outputs=states, **plain)
        inner.version, inner.name = v, ""
        want = runtime_of(inner)
        if want:
            turned = [want[0].transpose(2, 0, 1, 3)] + [s.transpose(1, 0, 2) for s in want[1:]]
            yield case(x.transpose(1, 0, 2).copy(), w, r, None, None, *[b.transpose(1, 0, 2).copy() for b in begin],
                       layout=1, outputs=states, expect=turned, tag="layout_both", **plain)


# ---- losses, attention ----------------------------------------------------------------------------------


@operators("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(v):
    for t in numbers(v)[:4]:
        yield case(values(t, 3, 4), ints(0, 3, 1), tag=t.name)
    for how in ("none", "sum", "mean"):
        yield case(floats(3, 4), ints(0, 3, 1, dtype=I32), floats(4, low=0.5), reduction=how)
    yield case(floats(2, 4, 2), np.array([[0, 3], [1, 2]]), ignore_index=1)
    if v.name[0] == "S":
        yield case(floats(3, 4), ints(0, 3, 1), outputs=2)
    if v.since >= 13:
        yield case(floats(3, 4), ints(0, -1, 1), ignore_index=-1, tag="outside")


@operators("Attention")
def attention(v):
    q = [floats(1, 2, 3, 4) for _ in range(3)]
    for t in numbers(v)[:4]:
        yield case(*[x.astype(t) for x in q], tag=t.name)
    yield case(*q, is_causal=1)
    yield case(*q, floats(3, 3), scale=0.5)
    yield case(floats(1, 3, 8), floats(1, 3, 8), floats(1, 3, 8), q_num_heads=2, kv_num_heads=2)
    yield case(*q, None, floats(1, 2, 2, 4), floats(1, 2, 2, 4), outputs=3)
    yield case(*q, values(BOOL, 3, 3) | np.eye(3, dtype=bool), tag="mask")
    yield case(*q, floats(3, 3), softcap=1.5)
    yield case(floats(1, 4, 3, 4), floats(1, 2, 5, 4), floats(1, 2, 5, 6), tag="groups")
    for mode in range(4):
        yield case(*q, floats(3, 3), softcap=1.5, qk_matmul_output_mode=mode, skip=(1, 2), outputs=4)
    if v.ninputs() > 6:
        yield case(*q, None, None, None, ints(2))
    if v.has("left_window_size"):
        yield case(*q, left_window_size=1, right_window_size=0)


@operators("RotaryEmbedding")
def rotary(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 1, 2, 3, 4), values(t, 5, 2), values(t, 5, 2), np.array([[0, 2, 4]]), tag=t.name)
    yield case(floats(1, 2, 3, 4), floats(1, 3, 2), floats(1, 3, 2), interleaved=1)
    yield case(floats(1, 3, 8), floats(1, 3, 2), floats(1, 3, 2), num_heads=2)


@operators("LinearAttention")
def linear_attention(v):
    q = [floats(1, 3, 8) for _ in range(3)]
    yield case(*q, q_num_heads=2, kv_num_heads=2, update_rule="linear", outputs=2)
    yield case(*q, None, floats(1, 3, 2, low=-1, high=0), q_num_heads=2, kv_num_heads=2, update_rule="gated", outputs=2)


@operators("CausalConvWithState")
def causal_conv(v):
    yield case(floats(1, 2, 5), floats(2, 1, 3), outputs=2)
    yield case(floats(1, 2, 5), floats(2, 1, 3), floats(2), floats(1, 2, 2), activation="silu", outputs=2)


@operators("FlexAttention", domain="ai.onnx.preview")
def flex_attention(v):
    q = [floats(1, 2, 3, 4) for _ in range(3)]
    yield case(*q)
    yield case(*q, scale=0.5)


@operators("Adagrad", "Adam", "Momentum", domain="ai.onnx.preview.training")
def optimizers(v):
    states = {"Adagrad": 1, "Momentum": 1, "Adam": 2}[v.name]
    attrs = {"Adagrad": {"norm_coefficient": 0.01, "epsilon": 1e-5, "decay_factor": 0.1},
             "Momentum": {"alpha": 0.9, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.01},
             "Adam": {"alpha": 0.9, "beta": 0.95, "epsilon": 1e-5, "norm_coefficient": 0.01}}[v.name]
    operands = [floats(3) for _ in range(2)] + [floats(3, low=0.1) for _ in range(states)]
    yield case(scalar(0.1), scalar(2, I64), *operands, outputs=1 + states, **attrs)
    if v.name == "Momentum":
        yield case(scalar(0.1), scalar(0, I64), *operands, outputs=2, **(attrs | {"mode": "nesterov"}))
