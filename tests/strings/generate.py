#!/usr/bin/env python3
"""Cases of strings that the backend suite lacks, as folders that tests/conformance/run.py reads.

    python3 generate.py OUT

Expected values are onnxruntime's or, where it does not take the input (bytes that are no UTF-8, strings in operators
that only move elements), computed here. The reference evaluator differs from the specification in StringNormalizer
(it strips accents and drops empty strings) and in TfIdfVectorizer (weights by column, not by n-gram).
"""
import json
import pathlib
import random
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

WORDS = ["", "a", "b", "ab", "abc", "Monday", "MONDAY", "monday", " x ", "a b  c", "\t", "1.5", "-7", "é", "É", "ß",
         "ÄÖÜ", "日本語", "🙂", "Ωmega", "ωMEGA", "İ", "ı", "a\nb", "foo-bar_9", "x" * 70, "\u00a0y\u2003z", "Ǆ", "ǅ"]


class Suite:
    def __init__(self, out):
        self.out, self.rows = out, []

    def add(self, name, nodes, inputs, expected=None, outputs=None, opset=23, initializers=(), symbolic=True):
        """One model of `nodes`; inputs by name, arrays or (shape, list of bytes). expected None: onnxruntime."""
        values = {k: tensor(k, v) for k, v in inputs.items()}
        outputs = outputs or [nodes[-1].output[0]]
        infos = []
        for k, t in values.items():
            dims = [f"{k}{i}" if symbolic and d != 1 else d for i, d in enumerate(t.dims)]
            infos.append(helper.make_tensor_value_info(k, t.data_type, dims))
        ins = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 4 if opset > 20 else 2)]
        graph = helper.make_graph(nodes, name, infos, [onnx.ValueInfoProto(name=o) for o in outputs],
                                  [tensor(k, v) for k, v in dict(initializers).items()])
        model = helper.make_model(graph, opset_imports=ins, ir_version=10)
        if expected is None:
            expected = evaluate(model, {k: numpy_helper.to_array(t) for k, t in values.items()})
        expected = [tensor(o, e) for o, e in zip(outputs, expected)]
        del graph.output[:]
        del model.graph.output[:]
        for o, e in zip(outputs, expected):
            info = helper.make_tensor_value_info(o, e.data_type, [f"{o}{i}" for i in range(len(e.dims))])
            model.graph.output.append(info)
        folder = self.out / name
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        for k, t in enumerate(values.values()):
            (data / f"input_{k}.pb").write_bytes(t.SerializeToString())
        for k, t in enumerate(expected):
            (data / f"output_{k}.pb").write_bytes(t.SerializeToString())
        (folder / "tolerance.json").write_text(json.dumps({"rtol": 1e-6, "atol": 1e-6}))
        self.rows.append({"name": name, "kind": "node"})


def tensor(name, v):
    if isinstance(v, onnx.TensorProto):
        v.name = name
        return v
    if isinstance(v, tuple):
        return onnx.TensorProto(name=name, data_type=T.STRING, dims=v[0], string_data=v[1])
    v = np.asarray(v)
    if v.dtype.kind in "OU":
        return onnx.TensorProto(name=name, data_type=T.STRING, dims=v.shape,
                                string_data=[x.encode() if isinstance(x, str) else bytes(x) for x in v.ravel()])
    return numpy_helper.from_array(v, name)


def evaluate(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def strings(*shape, seed=0, words=WORDS):
    r = random.Random(seed)
    return np.array([r.choice(words) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)


def node(op, ins, outs=("y",), **attrs):
    domain = attrs.pop("domain", "")
    return helper.make_node(op, list(ins), list(outs), domain=domain, **attrs)


# ---- operators on strings


def concat(s):
    for i, (a, b) in enumerate([((3, 1), (1, 4)), ((0,), (1,)), ((2, 0), (1, 1)), ((), (2, 2)), ((5,), (3, 5)),
                                ((2, 1, 3), (4, 1))]):
        x, z = strings(*a, seed=i), strings(*b, seed=i + 50)
        y = np.broadcast_to(x, np.broadcast_shapes(a, b)) + np.broadcast_to(z, np.broadcast_shapes(a, b))
        s.add(f"concat_{i}", [node("StringConcat", ["a", "b"])], {"a": x, "b": z}, [np.asarray(y, dtype=object)])
    raw = ([3], [b"\xff\xfe", b"a\x00b", b"\xe2\x82"])
    s.add("concat_bytes", [node("StringConcat", ["a", "b"])], {"a": raw, "b": ([1], [b"\x80"])},
          [([3], [x + b"\x80" for x in raw[1]])])


def split_of(x, by, most):
    lists = [v.split(by or None, -1 if most is None else most) for v in x.ravel()]
    n = max([len(p) for p in lists], default=0)
    y = [w for p in lists for w in p + [""] * (n - len(p))]
    return [(list(x.shape) + [n], [w.encode() for w in y]), np.array([len(p) for p in lists], np.int64).reshape(x.shape)]


def split(s):
    words = WORDS + ["a,b,,c", ",", ",,", "a--b---c", " lead", "trail ", "a b c d e", "aaa", "\u3000"]
    k = 0
    for by in (None, "", ",", "--", "a", " ", "é", "aa"):
        for most in (None, 0, 1, 2):
            shape = [(7,), (2, 3), (), (0,), (3, 0, 2)][k % 5]
            attrs = {n: v for n, v in (("delimiter", by), ("maxsplit", most)) if v is not None}
            x = strings(*shape, seed=k, words=words)
            s.add(f"split_{k}", [node("StringSplit", ["x"], ["y", "n"], **attrs)], {"x": x}, split_of(x, by, most),
                  outputs=["y", "n"])
            k += 1
    s.add("split_bytes", [node("StringSplit", ["x"], ["y", "n"], delimiter=",")], {"x": ([1], [b"\xff,\xc3,\x00"])},
          [([1, 3], [b"\xff", b"\xc3", b"\x00"]), np.array([3])], outputs=["y", "n"])


def normalize(s):
    plain = [w for w in WORDS if w not in ("İ", "ß")]
    k = 0
    for change in ("NONE", "LOWER", "UPPER"):
        for sensitive in (0, 1):
            for stop in ((), ("monday", "É"), ("Monday", "ab", "日本語", "ωmega"), tuple(plain)):
                for shape in ((6,), (1, 9)):
                    attrs = dict(case_change_action=change, is_case_sensitive=sensitive, locale="C.UTF-8")
                    if stop:
                        attrs["stopwords"] = list(stop)
                    s.add(f"normalize_{k}", [node("StringNormalizer", ["x"], **attrs)],
                          {"x": strings(*shape, seed=k, words=plain)})
                    k += 1
    s.add("normalize_bytes", [node("StringNormalizer", ["x"], case_change_action="UPPER")],
          {"x": ([2], [b"a\xffb", b"\xc3\xa9"])}, [([2], [b"A\xffB", b"\xc3\x89"])])
    s.add("normalize_none", [node("StringNormalizer", ["x"], case_change_action="UPPER")], {"x": strings(0)},
          [([1], [b""])])


PATTERNS = [
    "", "a", "a*", "a+b", "(ab|cd)*", "[a-c]+", "[^a-c]+", r"\d{3}-\d{4}", r"\w+@\w+\.com", ".", ".*", "(?s).*", "a.c",
    "(?i)monday", "(?i)É", "(?i:A)b", r"[[:alpha:]]+", r"[[:^digit:]]*", r"\x41\x{e9}", r"\101", r"\Qa.b*\E+", "a{2,4}",
    "a{3}", "a{2,}", "(a{1,2}){2}", "x{70}", "a??b", "(?:a|ab)(?:c|bcd)(?:d*)", "^a$", "^abc", "abc$", r"\Aabc\z",
    r"\babc\b", r"a\Bb", r"a\bb", "(?m)a$\nb", "(?m)^a$(?s).^b$", "[]a]+", "[a-]+", "[-a]+", r"[\d\s]+", r"[^\D]+",
    r"[\w-]+", "日本語", "[日-語]+", "🙂", "[🙂é]", "é|ß", r"\s+", r"\S+\s\S+", "a|b|", "(|a)+b", "(a*)*", "(a*)+b",
    "((a?){10})a{10}", "(?P<word>[A-Z])([a-z]+)", "(?U)a+", "(?i)[k]", "(?i)ω.*", "(?-i)a", "a{,2}", "x{", "(a|b|ab)*c",
    r"[\x00-\x7f]*", r"\t", r"[[:punct:]]+", r"[[:word:]]+", r"[[:space:]]+", "(?i)[a-c]*", "(?i)[^a]*", "a\\.b", "[.]",
    "$", "^", "()", "(?:)*", "[a-z]+?", "(x+x+)+y"]
TEXTS = ["", "a", "A", "b", "ab", "AB", "abc", "aab", "aaa", "aaaa", "abcd", "cdab", "abbcd", "123-4567", "me@x.com",
         "a\nb", "a.b*", "a.b**", "a.c", "aXc", "Monday", "mOnDaY", "É", "é", "ß", "Aé", "日本語", "🙂", "x" * 70,
         "x" * 71, " \t", "foo bar", "Word", "]a]", "-a-", "1 2", "a,b", "a" * 20, "a{,2}", "x{", "ababc", "K", "k",
         "\u212a", "ΩMEGA", "!?", "a_1", ".", "\t", "a\n", "\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]


def match(s):
    texts = np.array(TEXTS, dtype=object)
    for k, pattern in enumerate(PATTERNS):
        s.add(f"match_{k}", [node("RegexFullMatch", ["x"], pattern=pattern)], {"x": texts})
    s.add("match_bytes", [node("RegexFullMatch", ["x"], pattern="a.[^b]")], {"x": ([3], [b"a\xffc", b"axc", b"ax\xff"])},
          [np.array([False, True, False])])
    s.add("match_none", [node("RegexFullMatch", ["x"], pattern="a")], {"x": strings(0, 3)}, [np.zeros((0, 3), bool)])


# ---- tables of words


def tfidf(s):
    for k in range(24):
        r = random.Random(k)
        texts = k % 3 == 0
        letters = ["a", "b", "é", ""] if texts else [1, 2, 3, -4]
        longest = r.randint(1, 3)
        counts, pool, n = [], [], 0
        for length in range(1, longest + 1):
            counts.append(len(pool))
            grams = {tuple(r.choice(letters) for _ in range(length)) for _ in range(r.randint(0 if length > 1 else 1, 4))}
            for g in sorted(grams):
                pool += g
                n += 1
        columns = list(range(n))
        r.shuffle(columns)
        mode = ["TF", "IDF", "TFIDF"][r.randint(0, 2)]
        attrs = dict(min_gram_length=r.randint(1, longest), max_gram_length=longest, max_skip_count=r.randint(0, 3),
                     mode=mode, ngram_counts=counts, ngram_indexes=columns)
        attrs["pool_strings" if texts else "pool_int64s"] = pool
        if r.random() < 0.6:
            attrs["weights"] = [r.random() for _ in range(n)]
        shape = [(9,), (3, 7), (2, 1), (1, 12)][k % 4]
        x = np.array([r.choice(letters) for _ in range(int(np.prod(shape)))]).reshape(shape)
        x = x.astype(object) if texts else x.astype(np.int32 if k % 2 else np.int64)
        s.add(f"tfidf_{k}", [node("TfIdfVectorizer", ["x"], **attrs)], {"x": x})


def labels(s):
    ints, floats, words = [3, -1, 7, 10**12], [0.5, -2.0, float("nan"), 3.25], ["a", "é", "", "zz"]
    data = {"int64s": np.array([[3, 8], [7, -1]]), "floats": np.array([0.5, np.nan, 9, -2], np.float32),
            "strings": np.array([["zz", "é"], ["no", ""]], dtype=object)}
    lists = {"int64s": ints, "floats": floats, "strings": words}
    for keys, values in [(a, b) for a in lists for b in lists]:
        for default in (False, True):
            attrs = {f"keys_{keys}": lists[keys], f"values_{values}": lists[values]}
            if default:
                attrs["default_" + values[:-1]] = {"int64s": 77, "floats": 1.5, "strings": "none"}[values]
            s.add(f"label_{keys}_{values}_{default}", [node("LabelEncoder", ["x"], domain="ai.onnx.ml", **attrs)],
                  {"x": data[keys]}, opset=15)
    s.add("label_none", [node("LabelEncoder", ["x"], domain="ai.onnx.ml", keys_strings=["a"], values_int64s=[1])],
          {"x": strings(0, 2)}, [np.zeros((0, 2), np.int64)])
    tensors = dict(keys_tensor=numpy_helper.from_array(np.array([1.5, 2.5]), "k"),
                   values_tensor=numpy_helper.from_array(np.array([4.0, 5.0]), "v"),
                   default_tensor=numpy_helper.from_array(np.array([-1.0]), "d"))
    s.add("label_doubles", [node("LabelEncoder", ["x"], domain="ai.onnx.ml", **tensors)],
          {"x": np.array([2.5, 0.0, 1.5])})
    for zeros in (0, 1):
        for kind, cats in (("cats_strings", ["a", "b", "é"]), ("cats_int64s", [3, 4])):
            x = strings(2, 3, words=["a", "é"]) if kind == "cats_strings" else np.array([[3, 4, 3]])
            s.add(f"one_hot_{kind}_{zeros}",
                  [node("OneHotEncoder", ["x"], domain="ai.onnx.ml", zeros=zeros, **{kind: cats})], {"x": x})


# ---- numbers and strings


def casts(s):
    numbers = ["1", "-2.5", "+3e2", "1e-5", " 7 ", "inf", "-Infinity", "NaN", ".5", "5.", "0", "-0", "123456789.125"]
    for t in (np.float32, np.float64, np.float16):
        s.add(f"cast_text_{t.__name__}", [node("Cast", ["x"], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(t))))],
              {"x": np.array(numbers, dtype=object)}, [np.array([float(v) for v in numbers]).astype(t)])
    for t in (np.int8, np.int32, np.int64, np.uint8, np.uint64):
        text = [str(v) for v in (0, 1, 100, np.iinfo(t).max, np.iinfo(t).min)]
        s.add(f"cast_text_{t.__name__}", [node("Cast", ["x"], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(t))))],
              {"x": np.array(text, dtype=object)}, [np.array([int(v) for v in text], dtype=t)])
    for t in (np.float32, np.float64, np.float16, np.int8, np.int64, np.uint64, np.bool_):
        r = np.random.default_rng(1)
        values = np.array([0, 1, 100, 3, 7]).astype(t)
        if t in (np.float32, np.float64):
            some = 10.0 ** r.uniform(-30, 30, 200) * r.choice([-1, 1], 200)
            values = np.concatenate([some, [0.0, -0.0, 1, 0.1, 1e16, 1e15, 123456.75, 1e-4, 9.999e-5, np.nan, np.inf,
                                            -np.inf, 1 / 3]]).astype(t)
        elif t == np.float16:
            values = np.array([0.1, 1, 65504, 6e-8, 3.14, -2], t)
        elif t != np.bool_:
            values = np.array([0, 1, 100, np.iinfo(t).min, np.iinfo(t).max], t)
        text = np.array([str(v) for v in values.tolist()] if t in (np.float64, np.int64, np.uint64, np.int8, np.bool_)
                        else [shortest(v) for v in values], dtype=object)
        s.add(f"cast_number_{t.__name__}", [node("Cast", ["x"], to=T.STRING)], {"x": values}, [text])
    s.add("cast_none", [node("Cast", ["x"], to=T.STRING)], {"x": np.zeros((2, 0), np.float32)}, [strings(2, 0)])


def shortest(v):
    """As Python writes a float64, with the digits that v's own type needs."""
    if not np.isfinite(v):
        return str(float(v))
    digits, _, power = np.format_float_scientific(v, unique=True, trim="-").partition("e")
    return repr(float(f"{digits}e{power}"))


def unique(s):
    for k, (shape, axis) in enumerate([((12,), None), ((3, 4), None), ((4, 3), 0), ((3, 4), 1), ((0,), None), ((), None)]):
        for ordered in (0, 1):
            x = strings(*shape, seed=k, words=["b", "a", "é", "", "aa", "Z", "日"])
            attrs = {"sorted": ordered, **({"axis": axis} if axis is not None else {})}
            s.add(f"unique_{k}_{ordered}", [node("Unique", ["x"], ["y", "i", "r", "c"], **attrs)], {"x": x},
                  unique_of(x, axis, ordered), outputs=["y", "i", "r", "c"])


def unique_of(x, axis, ordered):
    flat = x.ravel() if axis is None else x
    lines = [(v,) for v in flat] if axis is None else [tuple(np.take(x, i, axis).ravel()) for i in range(x.shape[axis])]
    order = list(dict.fromkeys(lines))
    if ordered:
        order.sort(key=lambda line: [v.encode() for v in line])
    first = np.array([lines.index(v) for v in order], np.int64)
    inverse = np.array([order.index(v) for v in lines], np.int64)
    return [np.take(flat, first, axis or 0), first, inverse, np.array([lines.count(v) for v in order], np.int64)]


# ---- operators that move, choose and compare


def movement(s):
    x, i = strings(3, 4, seed=9), np.array([[2, 0], [-1, 1]])
    c = {"x": x}
    ints = lambda **k: {n: np.array(v, np.int64) for n, v in k.items()}  # noqa: E731
    s.add("move_identity", [node("Identity", ["x"])], c)
    s.add("move_gather", [node("Gather", ["x", "i"], axis=1)], {**c, "i": i})
    s.add("move_gather_elements", [node("GatherElements", ["x", "i"])], {**c, "i": i})
    s.add("move_gather_nd", [node("GatherND", ["x", "i"])], {**c, "i": np.abs(i)}, symbolic=False)
    s.add("move_scatter_elements", [node("ScatterElements", ["x", "i", "u"])], {**c, "i": i, "u": strings(2, 2, seed=1)})
    s.add("move_scatter_nd", [node("ScatterND", ["x", "i", "u"])], {**c, "i": np.array([[1], [2]]), "u": strings(2, 4, seed=2)})
    s.add("move_concat", [node("Concat", ["x", "z"], axis=0)], {**c, "z": strings(0, 4)},
          [x])
    s.add("move_reshape", [node("Reshape", ["x", "t"])], c, initializers=ints(t=[2, -1]))
    s.add("move_flatten", [node("Flatten", ["x"], axis=1)], c)
    s.add("move_transpose", [node("Transpose", ["x"])], c)
    s.add("move_slice", [node("Slice", ["x", "a", "b", "d", "e"])], c, initializers=ints(a=[3], b=[-9], d=[1], e=[-2]))
    s.add("move_split", [node("Split", ["x"], ["y", "z"], axis=1, num_outputs=2)], c, outputs=["y", "z"])
    s.add("move_squeeze", [node("Unsqueeze", ["x", "a"], ["u"]), node("Squeeze", ["u", "a"])], c, initializers=ints(a=[1]))
    s.add("move_expand", [node("Expand", ["x", "t"])], c, [np.broadcast_to(x, (2, 3, 4))], initializers=ints(t=[2, 3, 4]))
    s.add("move_tile", [node("Tile", ["x", "t"])], c, initializers=ints(t=[2, 1]))
    s.add("move_pad", [node("Pad", ["x", "p", "v"])], c,
          [np.pad(x, ((1, 0), (0, 2)), constant_values="#")], initializers={**ints(p=[1, 0, 0, 2]), "v": np.array("#")})
    s.add("move_pad_none", [node("Pad", ["x", "p"])], c, [np.pad(x, ((1, 0), (0, 2)), constant_values="")],
          initializers=ints(p=[1, 0, 0, 2]))
    s.add("move_pad_edge", [node("Pad", ["x", "p"], mode="edge")], c, [np.pad(x, ((1, 0), (0, 2)), mode="edge")],
          initializers=ints(p=[1, 0, 0, 2]))
    s.add("move_where", [node("Where", ["b", "x", "z"])], {"b": np.array([[True], [False], [True]]), **c,
                                                           "z": strings(1, 4, seed=3)})
    s.add("move_equal", [node("Equal", ["x", "z"])], {**c, "z": strings(3, 1, seed=9)})
    s.add("move_compress", [node("Compress", ["x", "b"], axis=0)], {**c, "b": np.array([True, False, True])})
    s.add("move_nonzero", [node("NonZero", ["x"])], c, [np.array(np.nonzero(x != ""))])
    s.add("move_one_hot", [node("OneHot", ["i", "n", "v"])], {"i": i},
          [np.where(np.arange(3) == (i % 3)[..., None], "on", "off").astype(object)],
          initializers={"n": np.array(3), "v": np.array(["off", "on"])})
    s.add("move_depth_to_space", [node("DepthToSpace", ["x"], blocksize=2)], {"x": strings(1, 4, 2, 3)},
          [strings(1, 4, 2, 3).reshape(1, 2, 2, 1, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 6)])
    s.add("move_reverse_sequence", [node("ReverseSequence", ["x", "n"], batch_axis=0, time_axis=1)],
          {**c, "n": np.array([1, 4, 2])}, [np.array([[r[n - 1 - k] if k < n else r[k] for k in range(4)]
                                                      for r, n in zip(x, (1, 4, 2))], dtype=object)])
    s.add("move_trilu", [node("Trilu", ["x"])], c, [np.where(np.triu(np.ones((3, 4), bool)), x, "").astype(object)])
    s.add("move_shape", [node("Shape", ["x"], ["s"]), node("Size", ["x"], ["z"])], c, outputs=["s", "z"])
    s.add("move_constant", [node("Constant", [], ["k"], value_strings=["é", ""]), node("Concat", ["x", "k"], axis=0)],
          {"x": strings(3)})
    s.add("move_chain", [node("Constant", [], ["k"], value_string="mid"), node("StringConcat", ["x", "k"], ["a"]),
                         node("Gather", ["a", "i"], ["g"]), node("Equal", ["g", "a"], ["e"]),
                         node("Where", ["e", "g", "x"])], {"x": strings(4), "i": np.array([3, 1, 1, 0])},
          [np.array([(a if a == b else x) for x, a, b in
                     zip(strings(4), strings(4)[[3, 1, 1, 0]] + "mid", strings(4) + "mid")], dtype=object)])


def control(s):
    body = helper.make_graph(
        [node("StringConcat", ["v", "x"], ["v2"]), node("Identity", ["c"], ["c2"]), node("Identity", ["v2"], ["scan"])],
        "body", [helper.make_tensor_value_info("n", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, []),
                 helper.make_tensor_value_info("v", T.STRING, [2])],
        [helper.make_tensor_value_info("c2", T.BOOL, []), helper.make_tensor_value_info("v2", T.STRING, [2]),
         helper.make_tensor_value_info("scan", T.STRING, [2])])
    x = np.array(["a", "é"], dtype=object)
    s.add("loop", [node("Loop", ["t", "", "x"], ["y", "all"], body=body)], {"x": x, "t": np.array(3)},
          [x * 4, np.array([x * 2, x * 3, x * 4], dtype=object)], outputs=["y", "all"])
    branch = [helper.make_graph([node(op, ins, [out])], out, [], [helper.make_tensor_value_info(out, T.STRING, [2])])
              for op, ins, out in (("Identity", ["x"], "yes"), ("StringConcat", ["x", "x"], "no"))]
    for b in (True, False):
        s.add(f"if_{b}", [node("If", ["b"], then_branch=branch[0], else_branch=branch[1])],
              {"b": np.array(b), "x": x}, [x if b else x * 2])


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    s = Suite(out)
    for part in (concat, split, normalize, match, tfidf, labels, casts, unique, movement, control):
        part(s)
    (out / "cases.json").write_text(json.dumps(s.rows))
    print(len(s.rows), "cases")


if __name__ == "__main__":
    main()
