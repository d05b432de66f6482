#!/usr/bin/env python3
"""edges.py CAMEO: what is valid at the edge of the standard has no error; what onnx.checker or ONNX Runtime refuses has one.

A valid model here is accepted by onnx.checker with full_check, and ONNX Runtime loads it or lacks a kernel for it; an invalid
one is refused by one of them, and not for a kernel. Both are asked each time, so that a model cannot come to stand on the
wrong side.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import onnx
import onnx.parser
from onnx import TensorProto, helper

from repair import checker_error, load_error

VALID = {
    "attribute_reference": """<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
        g (float[2] x) => (float16[2] y, double[2] z) { y = f.As<to = 10>(x) z = f.As<to = 11>(x) }
        <domain: "f", opset_import: ["" : 17]> As <to>(a) => (b) { b = Cast<to : int = @to>(a) }""",
    "function_shadows_standard": """<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
        g (float[2] x) => (double[2] y) { y = f.Relu(x) }
        <domain: "f", opset_import: ["" : 17]> Relu (a) => (b) { b = Cast<to = 11>(a) }""",
    "initializers_as_inputs": """<ir_version: 3, opset_import: ["" : 8]>
        g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul(x, w) }""",
    "zero_size": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[0,3] x) => (float[0,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul(x, w) }""",
    "unranked": """<ir_version: 8, opset_import: ["" : 17]>
        g (float x, int64[k] s) => (float y) { r = Reshape(x, s) t = Transpose(r) y = Add(t, t) }""",
    "branches_of_other_shapes": """<ir_version: 8, opset_import: ["" : 17]>
        g (bool c, float[2,3] x, float[4] z) => (float y) {
        y = If (c) <then_branch = a () => (float[2,3] p) { p = Neg(x) }, else_branch = b () => (float[4] q) { q = Relu(z) }> }""",
    "strings": """<ir_version: 8, opset_import: ["" : 17]>
        g (string[2] x, string[2] z) => (string[4] y) { y = Concat<axis = 0>(x, z) }""",
    "loop_without_rounds": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y, float[n,2] s) <int64 m = {0}, bool t = {1}> {
        y, s = Loop (m, t, x) <body = b (int64 i, bool c, float[2] v) => (bool o, float[2] w, float[2] u) {
        o = Identity(c) w = Neg(v) u = Abs(v) }> }""",
    "float8": """<ir_version: 9, opset_import: ["" : 19]>
        g (float[4] x) => (float[4] y) <float s = {0.5}> {
        q = Cast<to = 17>(x) y = DequantizeLinear(q, s) }""",
    "old_broadcast": """<ir_version: 3, opset_import: ["" : 6]>
        g (float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<axis = 1, broadcast = 1>(x, b) }""",
    "pow_of_two_dtypes": """<ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x, int32[2] k) => (float[2] y) { y = Pow(x, k) }""",
    "where_and_gather_indices": """<ir_version: 8, opset_import: ["" : 16]>
        g (bool[2] c, double[2] a, double[2] b, int32[1] i) => (double[1] y) { w = Where(c, a, b) y = Gather(w, i) }""",
    "empty_sequence": """<ir_version: 8, opset_import: ["" : 16]>
        g (double[2] x) => (double[2] y) <int64 k = {0}> {
        e = SequenceEmpty<dtype = 11>() s = SequenceInsert(e, x) y = SequenceAt(s, k) }""",
    "optional": """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2] x) => (float[2] y, bool h) { o = Optional(x) h = OptionalHasElement(o) y = OptionalGetElement(o) }""",
    "sequence_map": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, int64[1] k) => (double[2] y) <int64 at = {0}> { s = SequenceConstruct(x, x)
        m = SequenceMap (s, k) <body = b (float[2] v, int64[1] j) => (double[2] w) { a = Cast<to = 11>(v) c = Cast<to = 11>(j) w = Add(a, c) }>
        y = SequenceAt(m, at) }""",
    "default_of_absent_operands": """<ir_version: 8, opset_import: ["" : 13]>
        g (double[1,1,4] x) => (double[1,1,8] y) <float[3] s = {1,1,2}> { y = Resize<mode = "nearest">(x, , s) }""",
    "quantized_bfloat": """<ir_version: 10, opset_import: ["" : 21]>
        g (float16[4] x) => (float16[4] y) <float16 s = {1}, uint8 z = {3}> { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }""",
    "captured_twice": """<ir_version: 8, opset_import: ["" : 17]>
        g (bool c, double[2] x) => (double[2] y) { h = Neg(x)
        y = If (c) <then_branch = a () => (double[2] p) { p = If (c) <then_branch = d () => (double[2] q) { q = Add(h, x) },
        else_branch = e () => (double[2] r) { r = Identity(h) }> }, else_branch = b () => (double[2] s) { s = Identity(x) }> }""",
    "dropout_ratio": """<ir_version: 8, opset_import: ["" : 13]>
        g (double[4] x) => (double[4] y) <float r = {0.5}> { y = Dropout(x, r) }""",
    "bitshift_and_mod": """<ir_version: 8, opset_import: ["" : 14]>
        g (uint8[4] x, uint8[4] k) => (uint8[4] y) { s = BitShift<direction = "LEFT">(x, k) y = Mod(s, k) }""",
    "range_of_doubles": """<ir_version: 8, opset_import: ["" : 14]>
        g (double a, double b, double d) => (double[n] y) { y = Range(a, b, d) }""",
}

INVALID = {
    "two_dtypes": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, double[2] z) => (float[2] y) { y = Add(x, z) }',
    "shapes": '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x, float[4,5] z) => (float[2,5] y) { y = MatMul(x, z) }',
    "branch_dtypes": """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Neg(x) }, else_branch = b () => (double[2] q) { q = Cast<to = 11>(x) }> }""",
    "branch_counts": """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p, float[2] r) { p = Neg(x) r = Abs(x) }, else_branch = b () => (float[2] q) { q = Relu(x) }> }""",
    "unknown_operator": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu7(x) }',
    "unknown_attribute": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu<alpha = 0.5>(x) }',
    "attribute_of_another_type": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Elu<alpha = 1>(x) }',
    "missing_attribute": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Cast(x) }',
    "too_many_operands": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x, x) }',
    "dangling": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Add(x, nothing) }',
    "twice_defined": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) y = Abs(x) }',
    "later_operator": '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Gelu(x) }',
    "int_softmax": '<ir_version: 8, opset_import: ["" : 17]> g (int64[2] x) => (int64[2] y) { y = Softmax(x) }',
    "concat_axis": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[4] y) { y = Concat<axis = 3>(x, x) }',
    "transpose_perm": '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[3,2] y) { y = Transpose<perm = [0,0]>(x) }',
    "loop_counts": """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <int64 m = {2}, bool t = {1}> {
        y = Loop (m, t, x) <body = b (int64 i, bool c, float[2] v) => (bool o) { o = Identity(c) }> }""",
    "loop_state": """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <int64 m = {2}, bool t = {1}> {
        y = Loop (m, t, x) <body = b (int64 i, bool c, float[2] v) => (bool o, double[2] w) { o = Identity(c) w = Cast<to = 11>(v) }> }""",
    "sequence_of_two": """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, double[2] z) => (int64 y) {
        s = SequenceConstruct(x, z) y = SequenceLength(s) }""",
    "insert_of_another": """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, double[2] z) => (int64 y) {
        s = SequenceConstruct(x) t = SequenceInsert(s, z) y = SequenceLength(t) }""",
    "declared_output": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (double[2] y) { y = Neg(x) }',
    "gather_index": '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, float[1] i) => (float[1] y) { y = Gather(x, i) }',
    "scan_counts": """<ir_version: 8, opset_import: ["" : 17]> g (float[3,2] x) => (float[3,2] y) {
        y = Scan (x) <num_scan_inputs = 1, body = b (float[2] v, float[2] u) => (float[2] w) { w = Add(v, u) }> }""",
    "no_opset": '<ir_version: 8, opset_import: ["ai.onnx.ml" : 3]> g (float[2] x) => (float[2] y) { y = Neg(x) }',
    "recursion": """<ir_version: 8, opset_import: ["" : 17, "f" : 1]> g (float[2] x) => (float[2] y) { y = f.Self(x) }
        <domain: "f", opset_import: ["" : 17, "f" : 1]> Self (a) => (c) { c = f.Self(a) }""",
    "if_on_float": """<ir_version: 8, opset_import: ["" : 17]> g (float c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Neg(x) }, else_branch = b () => (float[2] q) { q = Relu(x) }> }""",
    "split_sizes": """<ir_version: 8, opset_import: ["" : 17]> g (float[6] x) => (float[2] y, float[3] z) <int64[2] s = {2,3}> {
        y, z = Split(x, s) }""",
}


def sparse_model():
    """A Constant whose value is sparse, which nodes read as a dense one."""
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    indices = helper.make_tensor("w_at", TensorProto.INT64, [2], [0, 3])
    sparse = helper.make_sparse_tensor(values, indices, [2, 2])
    graph = helper.make_graph([helper.make_node("Constant", [], ["w"], sparse_value=sparse), helper.make_node("Add", ["x", "w"], ["y"])],
                              "sparse", [helper.make_tensor_value_info("x", 1, [2, 2])], [helper.make_tensor_value_info("y", 1, [2, 2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def int4_model():
    """Weights of 4 bits, two to a byte, an odd number of them."""
    weights = helper.make_tensor("w", TensorProto.INT4, [3], [1, -1, 7])
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])
    graph = helper.make_graph([helper.make_node("DequantizeLinear", ["w", "s"], ["d"]), helper.make_node("Mul", ["x", "d"], ["y"])],
                              "int4", [helper.make_tensor_value_info("x", 1, [3])], [helper.make_tensor_value_info("y", 1, [3])],
                              [weights, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def errors(cameo, model, folder):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    done = subprocess.run([cameo, "lint", "--format", "json", path], capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        return [f"exit {done.returncode}"]
    return [f["rule"] + " " + f["message"] for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"]


# Faults that no text can hold: what is changed in a model that is valid.
def change_attribute(**fields):
    def change(m):
        a = m.graph.node[0].attribute[0]
        for name, value in fields.items():
            setattr(a, name, value)
    return change


def twice(field):
    return lambda m: getattr(m.graph, field).append(getattr(m.graph, field)[0])


CHANGED = {
    "attribute_without_type": change_attribute(type=0),
    "attribute_without_name": change_attribute(name=""),
    "attribute_of_two_values": change_attribute(i=4),
    "attribute_twice": lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0]),
    "operator_without_name": lambda m: setattr(m.graph.node[0], "op_type", ""),
    "result_without_name": lambda m: m.graph.node.append(helper.make_node("Abs", ["x"], [""])),
    "no_ir_version": lambda m: m.ClearField("ir_version"),
    "no_opset": lambda m: m.ClearField("opset_import"),
    "no_graph": lambda m: m.ClearField("graph"),
    "graph_without_name": lambda m: m.graph.ClearField("name"),
    "input_twice": twice("input"),
    "input_without_type": lambda m: m.graph.input[0].ClearField("type"),
    "input_without_element_type": lambda m: m.graph.input[0].type.tensor_type.ClearField("elem_type"),
    "input_of_no_element_type": lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99),
    "output_without_name": lambda m: setattr(m.graph.output[0], "name", ""),
    "output_without_type": lambda m: m.graph.output[0].ClearField("type"),
    "initializer_without_name": lambda m: m.graph.initializer.append(helper.make_tensor("", 1, [1], [1.0])),
    "initializer_twice": lambda m: m.graph.initializer.extend([helper.make_tensor("w", 1, [1], [1.0])] * 2),
    "metadata_twice": lambda m: [m.metadata_props.add(key="k", value=v) for v in "ab"],
    "sparse_index_outside": lambda m: m.graph.sparse_initializer.append(
        helper.make_sparse_tensor(helper.make_tensor("w", 1, [1], [1.0]), helper.make_tensor("i", 7, [1], [4]), [2])),
}


def changed(change):
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {
        y = LeakyRelu<alpha = 0.5>(x) }""")
    change(m)
    return m


def holds_open(pid, file):
    try:
        return any(os.path.realpath(f) == os.path.realpath(file) for f in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # ended meanwhile, or another's
        return False


def wait_for_readers(parent, file, seconds=30):
    """Processes started by `parent` that hold `file` open. A writer's open of a FIFO returns as soon as a reader is inside its
    own open, which may be before that reader has its descriptor: so they are waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
        holds = [pid for pid in pids if pid not in (os.getpid(), parent) and holds_open(pid, file)]
        if holds:
            return holds
        time.sleep(0.01)
    return []


def kill_linting(cameo, folder, many):
    """What is told where the process that lints a model is killed, alone or as one of several: exit 4, and a finding."""
    good = folder / "good.onnxtxt"
    good.write_text('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (double[2] y) { y = Relu(x) }')
    waiting = folder / "waiting.onnx"
    os.mkfifo(waiting)
    files = [waiting, good] if many else [waiting]
    run = subprocess.Popen([cameo, "lint", "--format", "json", *files], stdout=subprocess.PIPE, text=True)
    writer = os.open(waiting, os.O_WRONLY)  # there is a process that reads, now
    holds = wait_for_readers(run.pid, waiting)
    for pid in holds:
        os.kill(pid, signal.SIGSEGV)
    os.close(writer)
    said = json.loads(run.communicate(timeout=60)[0])["findings"]
    waiting.unlink()
    bugs = [f for f in said if "a bug in cameo: linting the model ended by signal 11" in f["message"]]
    others = [f["rule"] for f in said if f["file"].endswith("good.onnxtxt")]
    return run.returncode == 4 and len(bugs) == 1 and others == (["DT002"] if many else [])


# What was found in a form of output, one text a finding.
FOUND = {
    "text": lambda said: re.findall(r"^error.*", said, re.M),
    "json": lambda said: [f"{f['rule']} {f['message']}" for f in json.loads(said)["findings"]],
    "sarif": lambda said: [f"{f.get('ruleId', '')} {f['message']['text']}" for run in json.loads(said)["runs"] for f in
                           [*run["results"], *run["invocations"][0]["toolExecutionNotifications"]]],
    "junit": lambda said: [f"{case.get('name')} {case.find('failure').get('message')}" for case in xml.fromstring(said).iter("testcase")],
    "github": lambda said: said.strip().splitlines(),
    "gitlab": lambda said: [f"{f['check_name']} {f['description']}" for f in json.loads(said)],
}


def with_weights(folder, size):
    """A model with one fault and a weight of `size` bytes in a file beside it, without a byte of it on the disk."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size // 4096, 1024], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(size))):
        weight.external_data.add(key=key, value=value)
    scale = helper.make_tensor("s", TensorProto.DOUBLE, [2], [1, 2])
    nodes = [helper.make_node("Gather", ["w", "i"], ["g"]), helper.make_node("Mul", ["x", "s"], ["y"])]
    values = [helper.make_tensor_value_info(name, dtype, dims) for name, dtype, dims in
              (("i", TensorProto.INT64, [1]), ("x", TensorProto.FLOAT, [2]), ("g", TensorProto.FLOAT, [1, 1024]), ("y", TensorProto.FLOAT, [2]))]
    graph = helper.make_graph(nodes, "weights", values[:2], values[2:], [weight, scale])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "weights.onnx")
    return folder / "weights.onnx", folder / "w.bin"


def maps(pid, file):
    try:
        return file.name in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def cut_short(cameo, folder, form, size=256 << 20, tries=40):
    """What is told where a rule fails: the file of weights that it reads loses its bytes under it. Exit 4, the rule is named, and what
    the other rules and models have to say is there."""
    model, weights = with_weights(folder, size)
    other = folder / "other.onnxtxt"
    other.write_text('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (double[2] y) { y = Relu(x) }')
    for _ in range(tries):  # it may be read before it is cut
        with open(weights, "wb") as file:
            file.truncate(size)
        run = subprocess.Popen([cameo, "lint", "--select", "ALL", "--format", form, model, other], stdout=subprocess.PIPE, text=True)
        while run.poll() is None and not any(maps(p.name, weights) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()):
            pass
        os.truncate(weights, 4096)
        said = run.communicate(timeout=60)[0]
        if run.returncode == 4:
            break
    found = FOUND[form](said)
    bugs = [f for f in found if re.search(r"a bug in cameo: rule [A-Z]{2}\d{3} \([a-z0-9-]+\) ended by signal \d+", f)]
    wanted = [any(word in f and text in f for f in found) for word, text in
              (("DT001", "Mul weight B is float64 but input A is float32"), ("DT002", 'output "y" is declared as float64 but is float32'))]
    return run.returncode == 4 and len(bugs) == 1 and all(wanted)


def refusal(model):
    """Why checker or runtime refuses the model; None: both take it."""
    error = checker_error(model)
    if error:
        return error
    error = load_error(model)
    return None if not error or "NOT_IMPLEMENTED" in error or "No Op registered" in error else error


def main():
    cameo, failed = sys.argv[1], 0
    models = [(name, True, onnx.parser.parse_model(text)) for name, text in VALID.items()]
    models += [("sparse", True, sparse_model()), ("int4", True, int4_model())]
    models += [(name, False, onnx.parser.parse_model(text)) for name, text in INVALID.items()]
    models += [(name, False, changed(change)) for name, change in CHANGED.items()]
    with tempfile.TemporaryDirectory() as folder:
        for many in (False, True):
            if not kill_linting(cameo, pathlib.Path(folder), many):
                print(f"FAILED: a process that was killed while it linted {'one of two models' if many else 'a model'} is not told")
                failed += 1
        for form in FOUND:
            if not cut_short(cameo, pathlib.Path(folder), form):
                print(f"FAILED: a rule that fails, or what the others found, is not told as {form}")
                failed += 1
        for name, valid, model in models:
            refused, found = refusal(model), errors(cameo, model, pathlib.Path(folder))
            if valid == bool(refused):
                print(f"FAILED: {name} is meant to be {'valid' if valid else 'invalid'}: {refused}")
            elif valid == bool(found):
                print(f"FAILED: {name}: " + (f"an error in a valid model: {found}" if valid else f"nothing is told; {refused}"))
            else:
                continue
            failed += 1
    print(f"{len(models)} models at the edge, 2 processes killed and {len(FOUND)} rules cut short on purpose, {failed} wrong")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
