"""Images and signals: resizing, sampling, boxes, Fourier transforms; quantization."""
import numpy as np

from cases import (BOOL, F32, F64, I8, I32, I64, U8, case, const, floats, ints, numbers, operators, scalar, values)


@operators("Upsample")
def upsample(v):
    x = floats(1, 1, 2, 3)
    for mode in ("nearest", "linear"):
        if v.has("scales"):
            yield case(x, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])
            yield case(x, mode=mode, scales=[1.0, 1.0, 1.5, 2.5])
        else:
            yield case(x, const([1, 1, 2, 3], F32), mode=mode)
            yield case(x, const([1, 1, 1.5, 2.5], F32), mode=mode)
    if v.has("scales"):
        yield case(values(F64, 2, 3), scales=[2.0, 1.0])
    else:
        yield case(values(U8, 1, 1, 2, 3), const([1, 1, 2, 2], F32))


def resize_old(v):
    x = floats(1, 1, 4, 3)
    for mode in ("nearest", "linear"):
        for s in ([1, 1, 2, 2], [1, 1, 0.5, 1], [1, 1, 1.5, 2.3]):
            yield case(x, const(s, F32), mode=mode)
    yield case(values(I32, 1, 1, 2, 2), const([1, 1, 2, 2], F32))


@operators("Resize")
def resize(v):
    if v.since < 11:
        yield from resize_old(v)
        return
    x = floats(1, 1, 4, 3)
    no_roi = const([], F32) if v.since < 13 else None
    scales = const([1, 1, 1.5, 2.3], F32)
    empty = const([], F32) if v.since < 13 else None
    for t in numbers(v)[:3]:
        yield case(values(t, 1, 1, 2, 2, low=0, high=9), no_roi, const([1, 1, 2, 2], F32), tag=t.name)
    for mode in ("nearest", "linear", "cubic"):
        yield case(x, no_roi, scales, mode=mode)
        yield case(x, no_roi, empty, const([1, 1, 6, 2]), mode=mode)
        for how in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
                    "half_pixel_symmetric", "tf_half_pixel_for_nn"):
            if (how == "half_pixel_symmetric" and v.since < 19) or (how == "tf_half_pixel_for_nn" and v.since > 11):
                continue
            roi = const([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9], F32) if how.startswith("tf_crop") else no_roi
            yield case(x, roi, scales if roi is no_roi else empty, *([const([1, 1, 6, 5])] if roi is not no_roi else []),
                       mode=mode, coordinate_transformation_mode=how, tag=f"{mode}_{how}")
    yield case(x, const([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9], F32), const([1, 1, 2.0, 3.0], F32), mode="linear",
               coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0, tag="crop_by_scales")
    yield case(x, const([0, 0, -0.5, 0.1, 1, 1, 1.2, 0.9], F32), empty, const([1, 1, 4, 4]), mode="linear",
               coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0, tag="crop_outside")
    for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield case(x, no_roi, scales, mode="nearest", nearest_mode=how, tag=how)
    yield case(x, no_roi, scales, mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)
    if v.has("antialias"):
        for mode in ("linear", "cubic"):
            yield case(x, None, const([1, 1, 0.6, 0.7], F32), mode=mode, antialias=1)
        yield case(x, None, const([1.5, 2.0], F32), axes=[2, 3])
        for policy in ("not_larger", "not_smaller"):
            yield case(x, None, None, const([6, 7]), axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear")


@operators("GridSample")
def grid_sample(v):
    modes = ("bilinear", "nearest", "bicubic") if v.since < 20 else ("linear", "nearest", "cubic")
    x, grid = floats(1, 2, 4, 4), floats(1, 3, 3, 2, low=-1.2, high=1.2)
    for mode in modes:
        yield case(x, grid, mode=mode)
        # ONNX Runtime moves the place to the border before it weighs the neighbours of a bicubic one.
        later = {"opset": 22, "mode": {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)}
        yield case(x, grid, mode=mode, align_corners=1, padding_mode="border", like=later)
        yield case(x, grid, mode=mode, padding_mode="reflection")
    yield case(values(F64, 1, 1, 3, 3), values(F64, 1, 2, 2, 2, low=-1, high=1), tag="float64")
    if v.since >= 20:
        yield case(floats(1, 1, 3, 3, 3), floats(1, 2, 2, 2, 3, low=-1, high=1), mode="linear")
        yield case(floats(1, 1, 3, 3, 3), floats(1, 2, 2, 2, 3, low=-1, high=1), mode="nearest")


@operators("AffineGrid")
def affine_grid(v):
    for corners in (0, 1):
        yield case(floats(1, 2, 3), const([1, 1, 3, 4]), align_corners=corners)
    yield case(floats(1, 3, 4), const([1, 1, 2, 3, 2]))


@operators("NonMaxSuppression")
def non_max_suppression(v):
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1]]],
                     np.float32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5]]], np.float32)
    yield case(boxes, scores, const([3]), const([0.5], F32), const([0.0], F32))
    yield case(boxes, scores, ints(2), scalar(0.5)[None], scalar(0.7)[None], tag="given")
    yield case(boxes, scores)
    yield case(boxes, scores, const(3), const(0.5, F32)) if v.since >= 11 else case(boxes, scores, const([1]))
    centers = np.array([[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 10.5, 1, 1]]], np.float32)
    yield case(centers, scores[:, :, :3], const([3]), const([0.5], F32), center_point_box=1)


@operators("BlackmanWindow", "HannWindow", "HammingWindow")
def windows(v):
    yield case(const(8))
    yield case(scalar(7, I64), periodic=0, tag="given")
    yield case(const(6, I32), output_datatype=11)


@operators("MelWeightMatrix")
def mel(v):
    yield case(const(8), const(16), const(8192), const(0.0, F32), const(4096.0, F32))
    yield case(scalar(8, I64), scalar(16, I64), scalar(8192, I64), scalar(0), scalar(4096), output_datatype=11,
               tag="given")


@operators("DFT")
def dft(v):
    t = floats(2, 6, 1)
    axis = (lambda a: ((), {"axis": a})) if v.has("axis") else (lambda a: ((const(a),), {}))
    for inverse, onesided, x in ((0, 0, t), (1, 0, floats(2, 6, 2)), (0, 1, t)):
        more, attrs = axis(1)
        yield case(x, None, *more, inverse=inverse, onesided=onesided, **attrs, rtol=1e-3, atol=1e-5)
    yield case(floats(2, 6, 1), rtol=1e-3, atol=1e-5)
    yield case(floats(2, 6, 3, 1), rtol=1e-3, atol=1e-5, tag="rank")
    more, attrs = axis(2)
    yield case(floats(2, 3, 5, 1), const(8), *more, **attrs, rtol=1e-3, atol=1e-5)
    yield case(values(F64, 2, 4, 1), tag="float64")


@operators("STFT")
def stft(v):
    yield case(floats(1, 16, 1), const(4), floats(8), const(8), rtol=1e-3, atol=1e-5)
    yield case(floats(1, 16, 1), const(4), None, const(8), onesided=0, rtol=1e-3, atol=1e-5)


@operators("TfIdfVectorizer")
def tfidf(v):
    attrs = dict(max_gram_length=2, max_skip_count=1, min_gram_length=1, ngram_counts=[0, 4],
                 ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    x = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32)
    yield case(x, mode="TF", **attrs)
    yield case(x, mode="IDF", weights=[0.5, 1.0, 2.0, 3.0, 0.1, 0.2, 0.3], **attrs)
    yield case(x.astype(I64), mode="TFIDF", weights=[0.5, 1.0, 2.0, 3.0, 0.1, 0.2, 0.3], **attrs)


@operators("StringConcat")
def string_concat(v):
    yield case(np.array(["a", "b"], object), np.array(["c"], object))


@operators("StringSplit")
def string_split(v):
    yield case(np.array(["a b", "c"], object), outputs=2)
    yield case(np.array(["a,b,c"], object), delimiter=",", maxsplit=1, outputs=2)


@operators("StringNormalizer")
def string_normalizer(v):
    yield case(np.array(["Monday", "tuesday"], object), case_change_action="UPPER", stopwords=["monday"])
    yield case(np.array(["Monday", "tuesday"], object), case_change_action="LOWER", is_case_sensitive=1,
               stopwords=["monday"])


@operators("RegexFullMatch")
def regex(v):
    yield case(np.array(["abc", "ab", "b"], object), pattern="a.*")


# ---- quantization ---------------------------------------------------------------------------------------


def narrow(v, i):
    """The kinds that a version quantizes to, the new ones of a later version."""
    kinds = [t for t in (v.new_types(i) if v.before else v.types(i))]
    base = [t for t in v.types(i) if t == U8]
    return base + [t for t in kinds if t not in base]


@operators("QuantizeLinear")
def quantize(v):
    x = np.array([[-3, -1.5, 0, 0.5], [1.5, 2.5, 100, -300]], np.float32)
    for t in narrow(v, 2):
        zero = np.zeros((), t)
        yield case(x, const(0.5, F32), zero, tag=t.name)
    for s in [t for t in v.new_types(1) if v.before]:
        yield case(x.astype(v.types(0)[0] if s not in v.types(0) else s), np.ones((), s), np.zeros((), np.uint8),
                   tag="scale_" + s.name)
    yield case(x, scalar(0.5))
    yield case(x, scalar(0.5), scalar(3, I8))
    if v.has("axis"):
        yield case(x, floats(4, low=0.1), ints(0, 1, 2, 3, dtype=U8))
        yield case(x, floats(2, low=0.1), ints(0, 1, dtype=I8), axis=0)
        yield case(x, floats(4, low=0.1), ints(0, 1, 2, 3, dtype=U8), axis=-1)
    if v.has("saturate"):
        f8 = next(t for t in v.types(2) if t.name == "float8_e4m3fn")
        yield case(x * 10, scalar(0.5), np.zeros((), f8), saturate=0)
    if v.has("block_size"):
        yield case(x, floats(2, 2, low=0.1), block_size=2, axis=1)
        yield case(x, scalar(0.5), output_dtype=3)
        yield case(x, scalar(0.5), output_dtype=5)
    if v.has("precision"):
        yield case(x, scalar(0.5), precision=1)


@operators("DequantizeLinear")
def dequantize(v):
    for t in narrow(v, 0):
        x = values(t, 2, 4, low=0, high=3)
        yield case(x, scalar(0.5), np.zeros((), t), tag=t.name)
    for s in [t for t in v.new_types(1) if v.before]:
        yield case(ints(1, 2, 3, dtype=U8), np.ones((), s), tag="scale_" + s.name)
    x = values(U8, 2, 4, low=0, high=255)
    yield case(x, scalar(0.5))
    yield case(x, scalar(0.5), scalar(128, U8))
    yield case(values(I32, 4, low=-999, high=999), scalar(0.5))
    if v.has("axis"):
        yield case(x, floats(4, low=0.1), ints(0, 1, 2, 3, dtype=U8))
        yield case(x, floats(2, low=0.1), ints(0, 1, dtype=U8), axis=0)
    if v.has("block_size"):
        yield case(x, floats(2, 2, low=0.1), values(U8, 2, 2, high=9), block_size=2, axis=1)
    if v.has("output_dtype"):
        yield case(x, scalar(0.5), output_dtype=10)


@operators("DynamicQuantizeLinear")
def dynamic_quantize(v):
    yield case(floats(3, 4), outputs=3)
    yield case(floats(3, 4, low=1, high=3), outputs=3)


@operators("MatMulInteger")
def matmul_integer(v):
    for a in (U8, I8):
        yield case(values(a, 2, 3, low=-99, high=99), values(U8, 3, 4, high=99), scalar(3, a), scalar(5, U8),
                   tag=a.name)
    yield case(values(U8, 2, 3, high=99), values(I8, 3, 4, low=-99, high=99))
    yield case(values(U8, 2, 3, high=99), values(U8, 3, 4, high=99), None, ints(1, 2, 3, 4, dtype=U8))


@operators("ConvInteger")
def conv_integer(v):
    yield case(values(U8, 1, 1, 4, 4, high=99), values(U8, 2, 1, 2, 2, high=99), scalar(3, U8), scalar(5, U8))
    yield case(values(U8, 1, 1, 4, 4, high=99), values(U8, 2, 1, 2, 2, high=99), scalar(3, U8), pads=[1, 1, 1, 1])


@operators("QLinearMatMul")
def qlinear_matmul(v):
    for t in (U8, I8):
        yield case(values(t, 2, 3, low=-99, high=99), scalar(0.02), scalar(3, t), values(t, 3, 4, low=-99, high=99),
                   scalar(0.03), scalar(5, t), scalar(0.1), scalar(7, t), tag=t.name)
    if v.since >= 21:
        half = np.dtype(np.float16)
        yield case(values(U8, 2, 3, high=99), scalar(0.02, half), scalar(3, U8), values(U8, 3, 4, high=99),
                   scalar(0.03, half), scalar(5, U8), scalar(0.1, half), scalar(7, U8), tag="half")


@operators("QLinearConv")
def qlinear_conv(v):
    yield case(values(U8, 1, 1, 4, 4, high=99), scalar(0.02), scalar(3, U8), values(U8, 2, 1, 2, 2, high=99),
               scalar(0.03), scalar(5, U8), scalar(0.1), scalar(7, U8))
    yield case(values(U8, 1, 1, 4, 4, high=99), scalar(0.02), scalar(3, U8), values(I8, 2, 1, 2, 2, low=-99, high=99),
               ints(0.03, 0.01, dtype=F32), ints(0, 0, dtype=I8), scalar(0.1), scalar(7, U8),
               ints(3, -9, dtype=I32), strides=[2, 2])


# ---- random numbers: judged by dtype and shape only, by the runner of the backend suite -------------------
