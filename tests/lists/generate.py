#!/usr/bin/env python3
"""Writes cases of sequences, optionals and maps that the backend suite lacks, in its form, for run.py of
tests/conformance and of tests/interp.

    python3 generate.py OUT

Expected values are NumPy's, written beside each model; where they are not, the reference evaluator's.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

F, I = np.float32, np.int64
CASES = []


def case(name, text, inputs, expected=None, opset=18, ml=False, atol=1e-6):
    CASES.append((name, text, inputs, expected, opset, ml, atol))


def f(*values):
    return np.array(values, F)


def ramp(*shape):
    return np.arange(int(np.prod(shape)), dtype=F).reshape(shape)


class Map(dict):
    """A map with the dtypes of its keys (onnx number) and values."""

    def __init__(self, key, dtype, items):
        super().__init__(items)
        self.key, self.dtype = key, dtype


# ---- single operators ------------------------------------------------------------------------------------------

S3 = [ramp(2, 3), ramp(1, 3), ramp(0, 3)]
case("at_items_of_several_shapes", "g (seq(float[N,3]) s, int64 p) => (float[n,3] y) { y = SequenceAt(s, p) }",
     [S3, np.array(-2, I)], [S3[1]])
case("at_zero_sized", "g (seq(float[N,3]) s, int32 p) => (float[n,3] y) { y = SequenceAt(s, p) }",
     [S3, np.array(2, np.int32)], [S3[2]])
case("at_rank_declared", "g (seq(float) s, int64 p) => (float[a,b] y) { y = SequenceAt(s, p) }",
     [S3, np.array(0, I)], [S3[0]])
case("at_of_two_ranks", """g (float[2] a, float[2,2] b) => (float[c] x, float[d,e] y, seq(float) s)
     { s = SequenceConstruct(a, b)
       zero = Constant<value_int = 0>() one = Constant<value_int = 1>()
       x = SequenceAt(s, zero) y = SequenceAt(s, one) }""",
     [f(1, 2), ramp(2, 2)], [f(1, 2), ramp(2, 2), [f(1, 2), ramp(2, 2)]])
case("at_scalars", "g (seq(float) s, int64 p) => (float y) { y = SequenceAt(s, p) }",
     [[np.array(3, F), np.array(4, F)], np.array(1, I)], [np.array(4, F)])
case("length_empty", "g (seq(float[N]) s) => (int64 n) { n = SequenceLength(s) }", [[]], [np.array(0, I)])
case("length_as_shape", """g (seq(float[N]) s) => (float[n] y)
     { n = SequenceLength(s) axes = Constant<value_ints = [0]>() shape = Unsqueeze(n, axes)
       y = ConstantOfShape(shape) }""", [[f(1), f(2, 3)]], [np.zeros(2, F)])
case("empty_output", "g () => (seq(double) s) { s = SequenceEmpty<dtype = 11>() }", [], [[]])
case("erase_default", "g (seq(float[N]) s) => (seq(float[N]) y) { y = SequenceErase(s) }",
     [[f(1), f(2, 3)]], [[f(1)]])
case("erase_first", "g (seq(int64[N]) s, int64 p) => (seq(int64[N]) y) { y = SequenceErase(s, p) }",
     [[np.array([1], I), np.array([2, 3], I)], np.array(-2, I)], [[np.array([2, 3], I)]])
case("insert_middle_twice", """g (seq(float[N]) s, float[M] x) => (seq(float[N]) a, seq(float[N]) b)
     { one = Constant<value_int = 1>() a = SequenceInsert(s, x, one) minus = Constant<value_int = -1>()
       b = SequenceInsert(s, x, minus) }""",
     [[f(1), f(2, 3)], f(7)], [[f(1), f(7), f(2, 3)], [f(1), f(7), f(2, 3)]])
case("insert_shares_its_start", """g (seq(float[N]) s, float[M] x, float[K] z)
     => (seq(float[N]) a, seq(float[N]) b, seq(float[N]) c)
     { a = SequenceInsert(s, x) b = SequenceInsert(s, z) c = SequenceInsert(a, z) }""",
     [[f(1)], f(7, 7), f(8)], [[f(1), f(7, 7)], [f(1), f(8)], [f(1), f(7, 7), f(8)]])
case("split_dynamic", "g (float[A,B] x, int64[n] parts) => (seq(float) s) { s = SplitToSequence<axis = -1>(x, parts) }",
     [ramp(2, 5), np.array([2, 0, 3], I)], [[ramp(2, 5)[:, :2], ramp(2, 5)[:, 2:2], ramp(2, 5)[:, 2:]]])
case("split_chunks_uneven", "g (int32[A] x, int32 n) => (seq(int32) s) { s = SplitToSequence(x, n) }",
     [np.arange(7, dtype=np.int32), np.array(3, np.int32)],
     [[np.arange(3, dtype=np.int32), np.arange(3, 6, dtype=np.int32), np.arange(6, 7, dtype=np.int32)]])
case("split_nothing", "g (float[A,B] x) => (seq(float) s) { s = SplitToSequence<axis = 0, keepdims = 0>(x) }",
     [np.zeros((0, 3), F)], [[]])
case("split_zero_wide", "g (float[A,B] x) => (seq(float) s) { s = SplitToSequence<axis = 0>(x) }",
     [np.zeros((2, 0), F)], [[np.zeros((1, 0), F)] * 2])
case("split_strings", "g (string[A,B] x) => (seq(string) s) { s = SplitToSequence<axis = 1, keepdims = 0>(x) }",
     [np.array([["a", ""], ["ccc", "dé"]], object)],
     [[np.array(["a", "ccc"], object), np.array(["", "dé"], object)]])
case("concat_dynamic", "g (seq(float[N,3]) s) => (float[n,3] y) { y = ConcatFromSequence<axis = -2>(s) }",
     [S3], [np.concatenate(S3)])
case("concat_new_axis", "g (seq(float[2,3]) s) => (float[2,n,3] y) { y = ConcatFromSequence<axis = 1, new_axis = 1>(s) }",
     [[ramp(2, 3), ramp(2, 3) + 1]], [np.stack([ramp(2, 3), ramp(2, 3) + 1], 1)])
case("concat_scalars", "g (seq(int64) s) => (int64[n] y) { y = ConcatFromSequence<axis = 0, new_axis = 1>(s) }",
     [[np.array(3, I), np.array(-1, I), np.array(2, I)]], [np.array([3, -1, 2], I)])
case("construct_strings", """g (string[N] a, string[M] b) => (seq(string) s, string[K] y)
     { s = SequenceConstruct(a, b, a) y = ConcatFromSequence<axis = 0>(s) }""",
     [np.array(["x", "y"], object), np.array([], object)],
     [[np.array(["x", "y"], object), np.array([], object), np.array(["x", "y"], object)],
      np.array(["x", "y", "x", "y"], object)])
case("half_and_bool", """g (float16[N] a, bool[M] b) => (seq(float16) s, seq(bool) t)
     { s = SequenceConstruct(a, a) t = SequenceConstruct(b) }""",
     [np.array([1.5, -2], np.float16), np.array([True, False])],
     [[np.array([1.5, -2], np.float16)] * 2, [np.array([True, False])]])

# ---- optionals ---------------------------------------------------------------------------------------------------

case("optional_of_tensor", """g (float[N] x) => (optional(float[N]) o, bool has, float[M] y)
     { o = Optional(x) has = OptionalHasElement(o) y = OptionalGetElement(o) }""",
     [f(1, 2)], [f(1, 2), np.array(True), f(1, 2)])
case("optional_input_empty", """g (optional(seq(float[N])) o) => (bool has, optional(seq(float[N])) same)
     { has = OptionalHasElement(o) same = Identity(o) }""", [None], [np.array(False), None])
case("optional_of_sequence", """g (seq(float[N]) s, int64 p) => (float[M] y)
     { o = Optional(s) t = OptionalGetElement(o) y = SequenceAt(t, p) }""",
     [[f(1), f(2, 3)], np.array(1, I)], [f(2, 3)])
case("optional_in_branches", """g (bool c, optional(float[N]) o, float[2] z) => (float[M] y)
     { has = OptionalHasElement(o)
       y = If(has) <then_branch = t () => (float[K] a) { a = OptionalGetElement(o) },
                    else_branch = e () => (float[L] b) { b = Neg(z) }> }""",
     [np.array(True), None, f(1, 2)], [f(-1, -2)])
case("optional_or_plain_in_branches", """g (bool c, seq(float[N]) s) => (optional(seq(float[N])) y)
     { y = If(c) <then_branch = t () => (optional(seq(float[K])) a) { a = Optional(s) },
                  else_branch = e () => (optional(seq(float[L])) b) { b = Optional<type = seq(float[N])>() }> }""",
     [np.array(True), [f(4)]], [[f(4)]])

# ---- control flow --------------------------------------------------------------------------------------------------

GROW = """g (int64 n) => (seq(int64[1]) y, int64 count) {
  t = Constant<value = bool {1}>() s0 = SequenceEmpty<dtype = 7>() axes = Constant<value_ints = [0]>()
  y = Loop(n, t, s0) <body = b (int64 i, bool c, seq(int64[1]) s) => (bool c2, seq(int64[1]) s2)
       { c2 = Identity(c) x = Unsqueeze(i, axes) s2 = SequenceInsert(s, x) }>
  count = SequenceLength(y) }"""
for n in (0, 1, 10000):
    case(f"loop_grows_to_{n}", GROW, [np.array(n, I)],
         [[np.array([i], I) for i in range(n)], np.array(n, I)])
case("loop_grows_at_the_front", GROW.replace("SequenceInsert(s, x)", "SequenceInsert(s, x, zero)")
     .replace("axes = ", "zero = Constant<value_int = 0>() axes = "),
     [np.array(200, I)], [[np.array([i], I) for i in reversed(range(200))], np.array(200, I)])
case("loop_items_grow", """g (int64 n) => (seq(float) y, float[k] last) {
  t = Constant<value = bool {1}>() s0 = SequenceEmpty() one = Constant<value = float[1] {1.0}>()
  none = ConstantOfShape(zero) zero = Constant<value_ints = [0]>() minus = Constant<value_int = -1>()
  y, x2 = Loop(n, t, s0, none) <body = b (int64 i, bool c, seq(float[K]) s, float[K] x)
        => (bool c2, seq(float[K]) s2, float[L] z)
       { c2 = Identity(c) z = Concat<axis = 0>(x, one) s2 = SequenceInsert(s, z) }>
  last = SequenceAt(y, minus) }""",
     [np.array(5, I)], [[np.ones(k + 1, F) for k in range(5)], np.ones(5, F)])
case("loop_over_a_captured_sequence", """g (seq(float[N,2]) s) => (float[M,2] y) {
  n = SequenceLength(s) t = Constant<value = bool {1}>() shape = Constant<value_ints = [1,2]>()
  zero = ConstantOfShape(shape)
  y = Loop(n, t, zero) <body = b (int64 i, bool c, float[A,2] acc) => (bool c2, float[B,2] out)
       { c2 = Identity(c) x = SequenceAt(s, i) out = Concat<axis = 0>(acc, x) }> }""",
     [[ramp(2, 2), ramp(0, 2), ramp(1, 2)]],
     [np.concatenate([np.zeros((1, 2), F), ramp(2, 2), ramp(1, 2)])])
case("loop_shrinks_while_there_is_more", """g (seq(int64[N]) s) => (seq(int64[N]) rest, int64[k] lengths) {
  t = Constant<value = bool {1}>() two = Constant<value_int = 2>()
  rest, lengths = Loop("", t, s) <body = b (int64 i, bool c, seq(int64[N]) a) => (bool c2, seq(int64[N]) r, int64 n)
       { r = SequenceErase(a) n = SequenceLength(r) c2 = Less(two, n) }> }""",
     [[np.array([k], I) for k in range(6)]], [[np.array([0], I), np.array([1], I)], np.array([5, 4, 3, 2], I)])
case("loop_in_loop", """g (int64 n) => (seq(int64) y) {
  t = Constant<value = bool {1}>() s0 = SequenceEmpty<dtype = 7>()
  y = Loop(n, t, s0) <body = b (int64 i, bool c, seq(int64) s) => (bool c2, seq(int64) s2)
    { c2 = Identity(c)
      s2 = Loop(i, t, s) <body = d (int64 j, bool e, seq(int64) u) => (bool e2, seq(int64) u2)
        { e2 = Identity(e) v = Mul(i, j) u2 = SequenceInsert(u, v) }> }> }""",
     [np.array(4, I)], [[np.array(i * j, I) for i in range(4) for j in range(i)]])
case("loop_two_sequences_swap", """g (int64 n, seq(float[A]) a, seq(float[B]) b) => (seq(float[A]) x, seq(float[B]) y) {
  t = Constant<value = bool {1}>()
  x, y = Loop(n, t, a, b) <body = d (int64 i, bool c, seq(float[A]) p, seq(float[B]) q)
      => (bool c2, seq(float[A]) p2, seq(float[B]) q2)
    { c2 = Identity(c) p2 = Identity(q) q2 = Identity(p) }> }""",
     [np.array(3, I), [f(1)], [f(2, 2), f(3)]], [[f(2, 2), f(3)], [f(1)]])
case("loop_optional_becomes_a_tensor", """g (int64 n, optional(float[2]) o) => (float[2] y) {
  t = Constant<value = bool {1}>()
  y = Loop(n, t, o) <body = d (int64 i, bool c, optional(float[2]) p) => (bool c2, float[2] q)
    { c2 = Identity(c) has = OptionalHasElement(p)
      v = If(has) <then_branch = a () => (float[2] r) { r = OptionalGetElement(p) },
                   else_branch = b () => (float[2] w) { w = Constant<value = float[2] {1.0, 2.0}>() }>
      q = Add(v, v) }> }""",
     [np.array(3, I), None], [f(8, 16)])
case("if_of_sequences_of_several_lengths", """g (bool c, float[N] x) => (seq(float) y, int64 n)
     { y = If(c) <then_branch = t () => (seq(float) a) { a = SequenceConstruct(x, x) },
                  else_branch = e () => (seq(float) b) { b = SequenceEmpty() }>
       n = SequenceLength(y) }""",
     [np.array(False), f(1, 2)], [[], np.array(0, I)])
case("if_of_items_of_two_ranks", """g (bool c, float[N] x, float[K,M] z) => (seq(float) y)
     { y = If(c) <then_branch = t () => (seq(float) a) { a = SequenceConstruct(x) },
                  else_branch = e () => (seq(float) b) { b = SequenceConstruct(z, z) }> }""",
     [np.array(False), f(1, 2), ramp(1, 2)], [[ramp(1, 2), ramp(1, 2)]])
case("scan_carries_a_sequence_outside", """g (seq(float[2]) s, float[K,2] x) => (float[K,2] y)
     { first = Constant<value_int = 0>() bias = SequenceAt(s, first)
       y = Scan<num_scan_inputs = 1, body = b (float[2] r) => (float[2] o) { o = Add(r, bias) }>(x) }""",
     [[f(1, 2)], ramp(3, 2)], [ramp(3, 2) + f(1, 2)])

# ---- SequenceMap ------------------------------------------------------------------------------------------------------

case("map_empty", """g (seq(float[N]) s) => (seq(float[N]) y)
     { y = SequenceMap(s) <body = b (float[K] x) => (float[K] z) { z = Neg(x) }> }""", [[]], [[]])
case("map_captures", """g (seq(float[N]) s, float[1] w) => (seq(float[N]) y, seq(int64[1]) shapes)
     { y, shapes = SequenceMap(s) <body = b (float[K] x) => (float[K] z, int64[1] n)
       { z = Mul(x, w) n = Shape(x) }> }""",
     [[f(1, 2), np.zeros(0, F), f(3)], f(10)],
     [[f(10, 20), np.zeros(0, F), f(30)], [np.array([k], I) for k in (2, 0, 1)]])
case("map_with_branches", """g (seq(float[N]) s, float[M] w) => (seq(float) y)
     { one = Constant<value_int = 1>()
       y = SequenceMap(s, w) <body = b (float[K] x, float[M] v) => (float[L] z)
       { n = Size(x) big = Less(one, n)
         z = If(big) <then_branch = t () => (float[A] a) { a = Concat<axis = 0>(x, v) },
                      else_branch = e () => (float[B] c) { c = Neg(x) }> }> }""",
     [[f(1, 2), f(3)], f(9)], [[f(1, 2, 9), f(-3)]])
case("map_of_unknown_rank", """g (seq(float) s) => (seq(float) y)
     { y = SequenceMap(s) <body = b (float[A,B] x) => (float[B,A] z) { z = Transpose(x) }> }""",
     [[ramp(2, 3), ramp(1, 2)]], [[ramp(2, 3).T, ramp(1, 2).T]])
case("map_in_map", """g (seq(float[N]) s, seq(float[M]) t) => (seq(float) y)
     { y = SequenceMap(s) <body = b (float[K] x) => (float[L] z)
       { u = SequenceMap(t, x) <body = d (float[P] p, float[Q] q) => (float[R] r)
              { r = Concat<axis = 0>(p, q) }>
         z = ConcatFromSequence<axis = 0>(u) }> }""",
     [[f(1), f(2, 3)], [f(8), f(9)]], [[f(8, 1, 9, 1), f(8, 2, 3, 9, 2, 3)]])
case("function_with_a_sequence", """<ir_version: 10, opset_import: ["": 18, "local": 1]>
     g (seq(float[N]) s) => (seq(float[N]) y) { y = local.twice(s) }
     <opset_import: ["": 18], domain: "local"> twice (a) => (b)
     { zero = Constant<value_int = 0>() x = SequenceAt(a, zero) b = SequenceInsert(a, x) }""",
     [[f(1), f(2, 3)]], [[f(1), f(2, 3), f(1)]])


# ---- maps ------------------------------------------------------------------------------------------------------

STR, INT = onnx.TensorProto.STRING, onnx.TensorProto.INT64


def ml(name, text, inputs, expected):
    case(name, text, inputs, expected, ml=True)


ml("dict_vectorizer", """g (map(string, tensor(int64)) x) => (int64[4] y)
   { y = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a", "c", "b", "z"]>(x) }""".replace("tensor(int64)", "int64"),
   [Map(STR, I, {"a": 4, "c": 8, "unknown": 5})], [np.array([4, 8, 0, 0], I)])
ml("dict_vectorizer_row", """g (map(int64, float) x) => (float[1,3] y)
   { y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [7, -1, 3]>(x) }""",
   [Map(INT, F, {3: 1.5, -1: 2})], [f(0, 2, 1.5).reshape(1, 3)])
ml("dict_vectorizer_strings", """g (map(int64, string) x) => (string[3] y)
   { y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [7, -1, 3]>(x) }""",
   [Map(INT, object, {3: "three", 7: "seven"})], [np.array(["seven", "", "three"], object)])
ml("dict_vectorizer_empty", """g (map(int64, double) x) => (double[2] y)
   { y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [7, -1]>(x) }""", [Map(INT, np.float64, {})], [np.zeros(2)])
ml("cast_map", "g (map(int64, float) x) => (float[1,n] y) { y = ai.onnx.ml.CastMap(x) }",
   [Map(INT, F, {3: 1.5, -1: 2, 2: 0.25})], [f(2, 0.25, 1.5).reshape(1, 3)])
ml("cast_map_sparse", """g (map(int64, float) x) => (int64[1,5] y)
   { y = ai.onnx.ml.CastMap<cast_to = "TO_INT64", map_form = "SPARSE", max_map = 5>(x) }""",
   [Map(INT, F, {3: 1.5, 1: 2})], [np.array([[0, 2, 0, 1, 0]], I)])
ml("cast_map_of_strings", """g (map(int64, string) x) => (float[5] y)
   { y = ai.onnx.ml.CastMap<map_form = "SPARSE", max_map = 5>(x) }""",
   [Map(INT, object, {4: "1.5", 0: "-2"})], [f(-2, 0, 0, 0, 1.5)])
ml("cast_map_to_strings", """g (map(int64, string) x) => (string[n] y)
   { y = ai.onnx.ml.CastMap<cast_to = "TO_STRING">(x) }""",
   [Map(INT, object, {4: "b", 0: "a"})], [np.array(["a", "b"], object)])
ml("zip_map_strings", """g (float[N,2] x) => (seq(map(string, float)) y)
   { y = ai.onnx.ml.ZipMap<classlabels_strings = ["no", "yes"]>(x) }""",
   [ramp(3, 2)], [[Map(STR, F, {"no": 2 * i, "yes": 2 * i + 1}) for i in range(3)]])
ml("zip_map_numbers", """g (float[2] x) => (seq(map(int64, float)) y)
   { y = ai.onnx.ml.ZipMap<classlabels_int64s = [9, -4]>(x) }""", [f(1, 2)], [[Map(INT, F, {9: 1, -4: 2})]])
ml("zip_map_of_nothing", """g (float[N,2] x) => (seq(map(int64, float)) y)
   { y = ai.onnx.ml.ZipMap<classlabels_int64s = [9, -4]>(x) }""", [np.zeros((0, 2), F)], [[]])
ml("category_mapper_to_numbers", """g (string[A,B] x) => (int64[A,B] y)
   { y = ai.onnx.ml.CategoryMapper<cats_int64s = [3, 4], cats_strings = ["x", "y"], default_int64 = -9>(x) }""",
   [np.array([["y", "q", "x"]], object)], [np.array([[4, -9, 3]], I)])
ml("category_mapper_to_strings", """g (int64[A] x) => (string[A] y)
   { y = ai.onnx.ml.CategoryMapper<cats_int64s = [3, 4], cats_strings = ["x", "y"]>(x) }""",
   [np.array([4, 5, 3], I)], [np.array(["y", "_Unused", "x"], object)])


# ---- writing -----------------------------------------------------------------------------------------------------------


def to_message(value, info):
    kind = info.type.WhichOneof("value")
    if isinstance(value, Map) or kind == "map_type":
        return map_message(value)
    if kind == "sequence_type" and info.type.sequence_type.elem_type.WhichOneof("value") == "map_type":
        out = onnx.SequenceProto(name=info.name, elem_type=onnx.SequenceProto.MAP)
        out.map_values.extend(map_message(v) for v in value)
        return out
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def map_message(value):
    out = onnx.MapProto(key_type=value.key)
    if value.key == onnx.TensorProto.STRING:
        out.string_keys.extend(k.encode() for k in value)
    else:
        out.keys.extend(value)
    out.values.CopyFrom(numpy_helper.from_list([np.array(v, value.dtype) for v in value.values()]))
    return out


def model_of(text, opset, ml):
    if "opset_import" not in text.split("g (")[0]:
        extra = ', "ai.onnx.ml": 3' if ml else ""
        text = f'<ir_version: 10, opset_import: ["": {opset}{extra}]>\n' + text
    return onnx.parser.parse_model(text)


def main():
    out = pathlib.Path(sys.argv[1])
    rows = []
    for name, text, inputs, expected, opset, ml, atol in CASES:
        model = model_of(text, opset, ml)
        if expected is None:
            names = [i.name for i in model.graph.input]
            expected = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
        data = out / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, out / name / "model.onnx")
        (out / name / "tolerance.json").write_text(json.dumps({"rtol": 1e-5, "atol": atol}))
        for kind, values, infos in (("input", inputs, model.graph.input), ("output", expected, model.graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                (data / f"{kind}_{k}.pb").write_bytes(to_message(value, info).SerializeToString())
        rows.append({"name": name, "kind": "node"})
    (out / "cases.json").write_text(json.dumps(rows))
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
