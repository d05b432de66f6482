"""Small models that do not fit, each of which once crashed the compiler, tripped its verifier or read outside of a
buffer: (text of onnx.parser without the header, opset, what the refusal says; None: it compiles)."""

MISFITS = [
    ("g (float[4] x, float[2,2] s) => (uint8[4] y) { y = QuantizeLinear <block_size = 2> (x, s) }", 25, "scales of rank 2"),
    ("g (uint8[4] x, float[2,2,1,1] s) => (float[4] y) { y = DequantizeLinear <block_size = 2, axis = 0> (x, s) }", 25,
     "scales of rank 4"),
    ("g (uint8[4,2] x, float[4,2] s) => (float[4,2] y) { y = DequantizeLinear <block_size = 1, axis = 7> (x, s) }", 25,
     "along axis 7"),
    ("g (float[2,3] x) => (float[] y) { y = Transpose <perm = [0, 0]> (x) }", 25, "given twice"),
    ("g (float[2,3] x) => (float[] y) { y = Transpose <perm = [4294967296, 1]> (x) }", 25, "out of range"),
    ("g (float[2,3] x) => (float[] y) { y = MeanVarianceNormalization <axes = [-15]> (x) }", 25, "out of range"),
    ("g (float[2,3] x) => (float[2,3] y) { y = LRN <size = -9223372036854775808> (x) }", 25, "size"),
    ("g (float[2,3,4] x, float[3] s, float[3] b) => (float[2,3,4] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
     21, "num_groups"),
    ("g (float[1,1,4,4] x) => (float[] y) <int64[2] n = {8, 8}> { y = Resize (x, , , n) }", 25, "is 2, not 4"),
    ("g (float[1,1,4,4] x) => (float[] y) <int64 n = {8}> { y = Resize (x, , , n) }", 25, "rank 0"),
    ("g (float[4] x) => (float[] y) <float[1] s = {-1.0}> { y = Resize (x, , s) }", 25, "a scale is"),
    ("g (float[4] x) => (float[] y) <float[1] s = {2.0}> "
     "{ y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, , s) }", 25, "roi"),
    ("g (float[4,4] x) => (float[] y) <float[2] s = {2.0, 2.0}> { y = Resize <axes = [1, 1]> (x, , s) }", 25,
     "given twice"),
    ("g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[] y) "
     "{ y = Attention <softmax_precision = -1> (q, k, v) }", 25, "softmax_precision"),
    ("g (float[1,3,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[] y) { y = Attention (q, k, v) }", 25,
     "no multiple"),
    ("g (float[1,2,3,4] x, float[3,2] c, float[3,2] s) => (float[1,2,3,4] y) { y = RotaryEmbedding (x, c, s) }", 25,
     "whose rank is not 3"),
    ("g (float[1,2,3,4] x, float[1,3,3] c, float[1,3,3] s) => (float[1,2,3,4] y) { y = RotaryEmbedding (x, c, s) }", 25,
     "half as wide"),
    ("g (float[N] x) => (float[] y) <int64[2] p = {9223372036854775807, 0}> { y = Pad <mode = \"wrap\"> (x, p) }", 25,
     "too large"),
    ("g (float[2] x) => (float[] y) { y = Pad <pads = [1]> (x) }", 2, "two pads"),
    ("g (float[9223372036854775807] x) => (float[] y) { y = Relu (x) }", 25, "the limit is"),
    ("g (float[2,3] x) => (float[] y) <int64[1] n = {2}> { y = Tile (x, n) }", 25, "is 1, not 2"),
    ("g (float[3,1] x, int64[3,2] i) => (float[3,2] y) { y = GatherElements (x, i) }", 25, "indices is 2, of the data 1"),
    ("g (float[3] x, int64[1099511627776] a, int64[1099511627776] b) => (float[] y) { y = Slice (x, a, b) }", 25,
     "greater than the rank"),
    ("g (float[3] x) => (float[] y) <int64[1] a = {0}, int64[1] b = {3}, int64[1] c = {0}, "
     "int64[1] d = {-9223372036854775808}> { y = Slice (x, a, b, c, d) }", 25, "a step is"),
    ("g (float[5] x) => (float[] y, float[] z) { y, z = Split <num_outputs = 3> (x) }", 25, "3 parts"),
    ("g (float[5] x) => (float[] y, float[] z) <int64[2] n = {3, 3}> { y, z = Split (x, n) }", 25, "make up the whole"),
    ("g (float[2,3] x, int64[2] n) => (float[2,3] y) { y = ReverseSequence <time_axis = 7> (x, n) }", 25, "do not fit"),
    ("g (float[1,1,3] x, float[1,1,2] w) => (float[] y) { y = ConvTranspose <strides = [0]> (x, w) }", 25, "strides"),
    ("g (float[1,1,3] x, float[1,1,2] w) => (float[] y) "
     "{ y = ConvTranspose <pads = [-9223372036854775808, 0]> (x, w) }", 25, "pads"),
    ("g (float[1,4,3] x, float[3,2,2] w) => (float[] y) { y = Conv <group = 2> (x, w) }", 25, "do not divide"),
    ("g (float[4,4] x) => (float[] y) { y = EyeLike <dtype = 4294967297> (x) }", 25, "no element type"),
    ("g (int64[1] n) => (float[] y) { y = ConstantOfShape <value = float[0] {}> (n) }", 25, "one element"),
    ("g (int64 i) => (int64[] y) <int64[0] n = {}> { y = Range (n, n, i) }", 25, "not one number"),
    ("g (float x, int64 d) => (float[] y) <float[1] v = {1.0}> { y = OneHot (x, d, v) }", 25, "is 1, not 2"),
    ("g (float[2,3] x, int64[3] i) => (float y) { y = NegativeLogLikelihoodLoss (x, i) }", 25, "is 3, not 2"),
    ("g (float r, int64 t, float[3] x, float[3] g, double[3] h) => (float[] y) "
     "{ y = ai.onnx.preview.training.Adagrad (r, t, x, g, h) }", 25, "rank and dtype"),
    ("g (float r, int64 t, float[3] x, float[2,3] g, float[3] h) => (float[] y) "
     "{ y = ai.onnx.preview.training.Adagrad (r, t, x, g, h) }", 25, "rank and dtype"),
    ("g (float[2] x) => (float[2] y) { y = Max (\"\", x) }", 25, "missing"),
    ("g (complex128[1] x) => (bool[] y) <uint16[1] w = {3}> { y = Greater (w, x) }", 25, "complex128"),
    ("g (float[2] x) => (float[2] y) { , y = Split <num_outputs = 1> (x) }", 25, "parts"),
    ("g (bool c, float[2] x) => (float[] y) { y = If (c) <then_branch = a (float[2] p) => (float[2] q) { q = Relu (p) }, "
     "else_branch = b () => (float[2] q) { q = Identity (x) }> }", 25, "inputs"),
    ("g (float[2] x, int64 n) => (float[] y) { y = Loop (n, , x) <body = b (int64 i, bool c, float[2] p) => "
     "(float[2] d, float[2] q) { d = Identity (p) q = Relu (p) }> }", 25, "Loop"),
    ("g (float[3,2] x, float s) => (float[] y) { y = Scan <num_scan_inputs = 2, body = b (float[2] p, float t) => "
     "(float[2] q) { q = Relu (p) }> (x, s) }", 25, "Scan"),
    ("g (float[3,2] x) => (float[] y) { y = Scan <num_scan_inputs = 1, scan_output_axes = [9], body = b (float[2] p) "
     "=> (float[2] q) { q = Relu (p) }> (x) }", 25, "out of range"),
]
