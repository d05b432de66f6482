"""Where ONNX Runtime and the reference evaluator differ: which of them keeps to the specification, and why.

A row: operators, first and last version it holds for, pattern of case names, who is right, why.
"""
import re

LAST = 99
ROWS = [
    ("Softmax LogSoftmax Hardmax", 1, 12, "", "runtime",
     "the reference evaluator has one axis at every opset; before 13 all dims from the axis on are one line"),
    ("BatchNormalization", 9, 9, "", "runtime", "the reference evaluator takes the statistics of the batch"),
    ("Cast Constant", 6, LAST, "float8|float4", "reference", "ONNX Runtime hands out bytes for these types"),
    ("GRU LSTM RNN", 7, LAST, "", "runtime",
     "the reference evaluator leaves out sequence_lens, clip, input_forget and activations"),
    ("Gather", 1, 1, "object", "reference", "ONNX Runtime copies one string of each line"),
    ("LRN", 1, LAST, "", "runtime", "the reference evaluator counts channels up to the batch size"),
    ("LpNormalization", 1, LAST, "", "runtime", "the reference evaluator sums signed numbers"),
    ("LpPool", 18, LAST, "", "runtime", "the reference evaluator leaves out dilations and ceil_mode"),
    ("MaxPool", 8, LAST, "", "runtime", "the reference evaluator's indices are those of one channel of another shape"),
    ("MaxUnpool", 9, LAST, "", "reference",
     "test_maxunpool_export_with_output_shape: indices are of the smallest output, which is then padded"),
    ("NegativeLogLikelihoodLoss", 13, LAST, "outside", "runtime",
     "the reference evaluator does not leave out ignored weights where ignore_index is no class"),
    ("ReduceSumSquare", 1, LAST, "int", "runtime", "the reference evaluator widens integers"),
    ("Resize", 11, LAST, "align_corners", "reference",
     "test_resize_downsample_scales_linear_align_corners: length_resized is scale * length, not rounded"),
    ("Resize", 11, LAST, "crop_outside", "reference",
     "ONNX Runtime leaves the region out along an axis whose size stays the same"),
    ("Attention", 23, LAST, "", "runtime",
     "qk_matmul_output_mode 0 is the product itself; the reference evaluator caps it"),
    ("RoiAlign", 10, 10, "", "runtime", "the reference evaluator's half pixels came with version 16"),
    ("LinearClassifier", 1, LAST, "binary", "runtime", "scores of two classes from one line of coefficients"),
    ("LinearRegressor", 1, LAST, "", "runtime", "the reference evaluator makes NaN of absent intercepts"),
    ("Normalizer", 1, LAST, "", "runtime", "Max is X / max(X), the sign is kept; the output is float32"),
    ("Scaler", 1, LAST, "", "runtime", "the output is float32"),
    ("TreeEnsembleRegressor", 1, LAST, "float64|int", "runtime", "the output is float32"),
    ("TreeEnsembleRegressor", 1, LAST, "min|max", "runtime", "a target that no leaf adds to is 0"),
    ("TreeEnsembleRegressor", 1, LAST, "_13$", "reference",
     "base values are added where no leaf adds, too"),
]
NO_CASE = {
    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike":
        "draws random numbers: tests/conformance/philox.py has its cases",
    "ImageDecoder": "needs an encoded image: the backend suite has them",
    "Gradient": "its nodes are no function of their inputs alone",
}


def choice(c):
    """(who, why) for a case, or None."""
    v = c.version
    for names, first, last, pattern, who, why in ROWS:
        if v.name in names.split() and first <= v.since <= last and re.search(pattern, c.name):
            return who, why
    return None


def no_case(v):
    """Why a version cannot have one, or None."""
    return next((why for names, why in NO_CASE.items() if v.name in names.split()), None)
