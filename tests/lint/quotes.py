#!/usr/bin/env python3
"""quotes.py ROOT: what the pages of rules say that frameworks say, they do say.

Each quote in a page's "Frameworks say" (passes/lint/explain/ID.txt) is provoked with onnx, ONNX Runtime, NumPy or, where it is
installed, PyTorch, and has to be in the message, blanks apart. Quotes that need a GPU or another framework are listed in
ELSEWHERE with where they stand; one that is neither provoked nor listed is a failure.
"""
import os
import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnxruntime

HEAD = '<ir_version: 10, opset_import: ["" : %d%s]>\n'

# Needs hardware or software that this test has not; where the words are published.
ELSEWHERE = {
    "TensorRT": "log of trtexec and onnx-tensorrt",
    "Memcpy nodes": "ONNX Runtime's CUDA provider, transformer_memcpy.cc",
    "Force fallback to CPU execution for node": "ONNX Runtime's CUDA provider, fallback_cpu_capability.cc",
    "Some nodes were not assigned": "ONNX Runtime with a second provider, session_state.cc",
    "Issues when switching to float": "title of a page of skl2onnx's documentation",
    "doing these two operations separately": "torch.nn.functional.log_softmax, documentation",
    "Expected all tensors to be on the same device": "PyTorch with a GPU",
}


def logged(call):
    """What a call writes to the process's stderr, and its exception."""
    with tempfile.TemporaryFile() as f:
        kept = os.dup(2)
        os.dup2(f.fileno(), 2)
        said = ""
        try:
            call()
        except Exception as e:  # ONNX Runtime's have no common class
            said = str(e)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        f.seek(0)
        return f.read().decode(errors="replace") + said


def proto(text, domains="", change=None, opset=18):
    m = onnx.parser.parse_model(HEAD % (opset, domains) + text)
    if change:
        change(m)
    return m


def runtime(text, domains="", feeds=None, change=None, severity=4, opset=18):
    """What ONNX Runtime says when it loads the model, and runs it if there are feeds."""
    def call():
        options = onnxruntime.SessionOptions()
        options.log_severity_level = severity
        session = onnxruntime.InferenceSession(proto(text, domains, change, opset).SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        if feeds is not None:
            session.run(None, feeds)
    return logged(call)


def checker(text, domains="", full=False, change=None, opset=18):
    try:
        onnx.checker.check_model(proto(text, domains, change, opset), full_check=full)
    except Exception as e:
        return str(e)
    return ""


def sparse_initializer(model):
    values = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [2], [1.0, 2.0])
    places = onnx.helper.make_tensor("places", onnx.TensorProto.INT64, [2], [0, 3])
    model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, places, [4]))


def message(call):
    try:
        call()
    except Exception as e:
        return str(e)
    return ""


def torch_says(call):
    try:
        import torch
    except ImportError:
        return None
    return message(lambda: call(torch))


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return " ".join(f"{w.category.__name__}: {w.message}" for w in caught)


def short_initializer(m):
    m.graph.initializer[0].float_data.pop()


def raw_runtime(data):
    return logged(lambda: onnxruntime.InferenceSession(data))


def outside(location, offset=0, length=16, size=64):
    """A model whose weight lies in another file, in a folder: what the checker and ONNX Runtime say."""
    with tempfile.TemporaryDirectory() as folder:
        m = proto("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }")
        t = m.graph.initializer[0]
        t.ClearField("float_data")
        t.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", length)):
            t.external_data.add(key=key, value=str(value))
        path = pathlib.Path(folder) / "model.onnx"
        path.write_bytes(m.SerializeToString())
        (path.parent / "w.bin").write_bytes(bytes(size))
        said = message(lambda: onnx.checker.check_model(str(path)))
        return said + "\n" + logged(lambda: onnxruntime.InferenceSession(str(path)))


X = np.float32([1, 2, 3, 4])
LOOP = """g (int64 n, bool c, float[2] s) => (float[2] y) {
  y = Loop(n, c, s) <body = b (int64 i, bool k, float[2] t) => (bool m, double[2] u) { m = Identity(k) u = Cast<to = 11>(t) }>
}"""
DECLARED_LOOP = """g (int64 n, bool c, float[2] s) => (float[2] y) {
  y = Loop(n, c, s) <body = b (int64 i, bool k, double[2] t) => (bool m, double[2] u) { m = Identity(k) u = Neg(t) }>
}"""
IF = """g (bool c, float[2] x) => (float[2] y) {
  y = If(c) <then_branch = a () => (float[2] t) { t = Relu(x) }, else_branch = b () => (double[2] e) { e = Cast<to = 11>(x) }>
}"""
RESIZE = """g (float[1,1,2,2] x, float[4] s, int64[4] z) => (float[1,1,4,4] y) { [up] y = Resize<mode = "nearest">(x, , s, z) }"""

PROVOKED = {
    "DT001": [lambda: torch_says(lambda t: t.conv2d(t.ones(1, 1, 2, 2).double(), t.ones(1, 1, 1, 1), t.ones(1))),
              lambda: torch_says(lambda t: t.addmm(t.ones(2), t.ones(2, 2).double(), t.ones(2, 2))),
              lambda: runtime("g (double[1,1,2,2] x, float[1,1,1,1] w) => (float[1,1,2,2] y) { y = Conv(x, w) }")],
    "DT002": [lambda: runtime("g (float[4] x) => (double[4] y) { [Relu] y = Relu(x) }"),
              lambda: checker("g (float[4] x) => (double[4] y) { [Relu] y = Relu(x) }", full=True)],
    "DT003": [lambda: runtime("g (int32[4] x) => (int32[4] y) { [exp] y = Exp(x) }"),
              lambda: checker("g (float[4] x) => (float[4] y) { y = Add(x, w) }", full=True, change=sparse_initializer)],
    "DT004": [lambda: runtime(IF), lambda: checker(IF, full=True)],
    "DT005": [lambda: runtime(LOOP), lambda: runtime(DECLARED_LOOP), lambda: checker(DECLARED_LOOP, full=True)],
    "DT012": [lambda: warned(lambda: np.float32([np.nan, 1e20]).astype(np.int32))],
    "DT015": [lambda: runtime("""g (bool c, double[2] d, float[2] x) => (float[2] y) {
  y = If(c) <then_branch = a () => (float[2] t) { t = Mul(x, d) }, else_branch = b () => (float[2] e) { e = Relu(x) }>
}""")],
    "DT016": [lambda: runtime("g (float[4] x) => (float[4] y) { y = Relu(x) }", feeds={"x": np.float64([1, 2, 3, 4])}),
              lambda: runtime("g (float[4] x) => (float[4] y) { y = Relu(x) }", feeds={"x": X[:2]})],
    "DV005": [lambda: runtime("g (bfloat16[2,2] x) => (bfloat16[2,2] y) { [m] y = MatMul(x, x) }")],
    "QN001": [lambda: runtime("g (uint8[4] x, int8 z) => (float[4] y) <float s = {0.5}> { [dq] y = DequantizeLinear(x, s, z) }",
                              opset=21),
              lambda: runtime("g (float[4] x) => (int8[4] y) <float s = {0.5}, uint8 z = {0}> "
                              "{ y = QuantizeLinear<output_dtype = 3>(x, s, z) }", opset=21)],
    "QN004": [lambda: runtime("g (float[4,4] x) => (uint8[4,4] y) <float[3] s = {1, 2, 3}, uint8[3] z = {0, 0, 0}> "
                              "{ y = QuantizeLinear<axis = 0>(x, s, z) }", feeds={"x": np.ones((4, 4), np.float32)})],
    "SE001": [lambda: outside("../w.bin")],
    "SE002": [lambda: outside("w.bin", 60)],
    "SE006": [lambda: raw_runtime(b"\x08\xff\xff\xff"),
              lambda: runtime("g () => (float[n] y) <int64[1] d = {1099511627776}> { y = ConstantOfShape(d) }", feeds={})],
    "ST001": [lambda: checker("g (float[4] x) => (float[4] y) { y = Relu(x) y = Neg(x) }")],
    "ST002": [lambda: checker("g (float[4] x) => (float[4] y) { y = Add(x, z) }")],
    "ST003": [lambda: checker("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }",
                              change=short_initializer),
              lambda: runtime("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }",
                              change=short_initializer)],
    "ST004": [lambda: checker("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }",
                              change=lambda m: m.graph.initializer[0].dims.__setitem__(0, -4)),
              lambda: message(lambda: np.zeros([-4]))],
    "ST005": [lambda: checker("g (float[4] x) => (float[4] y) { y = Gelu(x) }"),
              lambda: runtime("g (float[4] x) => (float[4] y) { y = Gelu(x) }")],
    "ST006": [lambda: runtime("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Relu(x) }", severity=0)],
    "ST007": [lambda: runtime("g (float[4] x, float[4] w) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }",
                              severity=0)],
    "ST008": [lambda: torch_says(lambda t: t.bmm(t.ones(1, 2, 2), t.ones(1, 2, 2).half()))],
    "ST009": [lambda: runtime("g (float[4] x) => (float[4] y) { y = my.ops.Swirl(x) }", ', "my.ops" : 1')],
    "ST010": [lambda: checker("g (float[4] x) => (float[4] y) { y = Neg(a) a = Relu(x) }")],
    "ST011": [lambda: runtime(RESIZE),
              lambda: checker("g (float[4] x) => (float[4] y) { [add] y = Add(x) }")],
    "ST012": [lambda: checker("g (float[2,3] x, float[4,5] z) => (float[2,5] y) { y = MatMul(x, z) }", full=True)],
    "ST013": [lambda: checker("g (float[2,3] x) => (float[3,2] y) { y = Relu(x) }", full=True),
              lambda: runtime("g (float[2,3] x) => (float[3,2] y) { y = Relu(x) }", severity=2),
              lambda: runtime("g (float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")],
    "ST014": [lambda: runtime("g (bool c, float[4] x) => (float[4] y) { a = Relu(x) y = If(c) <then_branch = t () => "
                              "(float[4] a) {}, else_branch = e () => (float[4] b) { b = Neg(x) }> }"),
              lambda: checker("g (float[1,1,2,2] x, float[4] s) => (float[1,1,4,4] y) { y = Upsample(x, s) }", opset=17),
              lambda: checker("g (float[4] x) => (float[4] y) { y = LeakyRelu<alpha = 0.5, alpha = 0.25>(x) }"),
              lambda: checker("g (float[4] x) => (float[4] y) { y = Relu(x) }", change=lambda m: m.graph.ClearField("name")),
              lambda: checker("g (float[4] x) => (float[4] y) { y = Relu(x) }",
                              change=lambda m: [m.metadata_props.add(key="k", value=v) for v in "ab"]),
              lambda: runtime("g (float[4] x) => (float[4] y) { y = Relu(x) }", change=lambda m: setattr(m, "ir_version", 99))],
    "TR001": [lambda: checker("""g (float r, int64 t, float16[2] x, float16[2] g, float16[2] h) => (float16[2] y, float16[2] z) {
  y, z = ai.onnx.preview.training.Adagrad(r, t, x, g, h)
}""", ', "ai.onnx.preview.training" : 1', full=True)],
}


def flat(text):
    return re.sub(r"\s+", " ", text)


def quotes_of(page):
    part = re.search(r"Frameworks say:(.*?)\n\nFix:", page.read_text(), re.S)
    return [flat(q) for q in re.findall(r'"([^"]+)"', part.group(1))] if part else []


def elsewhere(quote, page_text):
    before = flat(page_text).split(quote)[0].rsplit(":", 1)[0][-12:]
    return next((why for what, why in ELSEWHERE.items() if what in quote or what in before), None)


def main():
    root = pathlib.Path(sys.argv[1])
    count = listed = failed = skipped = 0
    for page in sorted((root / "passes/lint/explain").glob("*.txt")):
        quotes = quotes_of(page)
        said = [call() for call in PROVOKED.get(page.stem, [])] if quotes else []
        for quote in quotes:
            count += 1
            if any(s is not None and quote in flat(s) for s in said):
                continue
            if elsewhere(quote, page.read_text()):
                listed += 1
            elif None in said and "PyTorch" in page.read_text():
                skipped += 1
                print(f"{page.stem}: skipped, PyTorch is not installed: {quote!r}")
            else:
                failed += 1
                print(f"{page.stem}: nothing says {quote!r}:\n  " + "\n  ".join(flat(s)[:300] for s in said if s))
    print(f"{count} quotes, {listed} from elsewhere, {skipped} skipped, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
