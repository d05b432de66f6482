"""Files that nobody vouches for: each ends with the documented exit status, soon, in little memory.

hostile.py PROGRAM [--sanitized]: PROGRAM is the roundtrip executable. With --sanitized memory is
not measured. What decodes must come back from export as it was; whether bytes decode is asked of
protobuf's own parser where a case does not say.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper
from roundtrip import differences

MIB = 1 << 20
SECONDS = 2.0
SANITIZED = "--sanitized" in sys.argv


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def graph(payload):
    return b"\x08\x0a" + field(7, payload)


def small_model():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [1, 2, 3, 4])
    branch = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["b"], name="r")],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, [weight]))


def edited(edit):
    model = small_model()
    edit(model)
    return model.SerializeToString()


def nested_graphs(depth):
    data = field(2, b"g")
    for _ in range(depth):
        data = field(1, field(5, field(1, b"b") + field(6, data)))
    return graph(data)


def nested_types(depth):
    data = b""
    for _ in range(depth):
        data = field(4, field(1, data))
    return graph(field(11, field(1, b"x") + field(2, data)))


def tensor(dims, dtype, payload):
    head = b"".join(b"\x08" + varint(d & (2**64 - 1)) for d in dims)
    return graph(field(5, head + b"\x10" + varint(dtype) + payload + field(8, b"w")))


def decode_cases():
    """(name, bytes, exit status or None: what protobuf's own parser says)."""
    small = small_model().SerializeToString()
    for n in range(len(small)):
        yield f"truncated at {n}", small[:n], 3 if n == 0 else None
    rng = random.Random(1)
    for n in range(150):
        data = bytearray(small)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield f"garbled {n}", bytes(data), None
    yield "empty", b"", 3
    yield "text", b"hello, world\n" * 20, None
    yield "zeros", bytes(4096), 3
    yield "random", rng.randbytes(65536), None
    yield "length beyond the file", b"\x08\x0a\x3a\xff\xff\xff\x7f\x00", 3
    yield "length of 2^64-1", b"\x3a" + b"\xff" * 9 + b"\x01", 3
    yield "length of 2^63", b"\x3a" + b"\x80" * 9 + b"\x01", 3
    yield "length beyond its message", graph(b"\x0a\x7f\x00"), 3
    yield "integer of 11 bytes", b"\x08" + b"\x80" * 10 + b"\x01", 3
    yield "field number 0", b"\x00\x01", 3
    yield "wire type 6", b"\x0e\x01", 3
    yield "wire type 7", b"\x0f\x01", 3
    yield "end of a group that did not begin", b"\x0c", 3
    yield "group that does not end", b"\xb3\x3f\x08\x01", 3
    yield "groups ended crosswise", b"\xb3\x3f\xbb\x3f\xb4\x3f\xbc\x3f", 3
    yield "50 groups deep", b"\xb3\x3f" * 50 + b"\xb4\x3f" * 50, 0
    yield "3,000 groups deep", b"\xb3\x3f" * 3000 + b"\xb4\x3f" * 3000, 3
    yield "million groups deep", b"\xb3\x3f" * 1000000, 3
    yield "graphs 30 deep", nested_graphs(30), 0
    yield "graphs 1,000 deep (3,000 messages)", nested_graphs(1000), 3
    yield "types 40 deep", nested_types(40), 0
    yield "types 3,000 deep", nested_types(3000), 3
    yield "float_data of 3 bytes", graph(field(5, field(4, b"abc"))), 3
    yield "double_data of 9 bytes", graph(field(5, field(10, b"123456789"))), 3
    yield "int64_data that stops within a number", graph(field(5, field(7, b"\x01\x80"))), 3
    yield "int32_data with a long integer", graph(field(5, field(5, b"\xff" * 12 + b"\x01"))), 3
    yield "wrong wire type: graph as integer", b"\x08\x0a\x38\x05", 0
    yield "wrong wire type: ir_version as bytes", field(1, b"abc"), 0


def flood_cases():
    yield "graph a million times", b"\x3a\x00" * 1000000, 0
    yield "graph in a million pieces", field(7, field(2, b"g")) * 1000000, 0
    yield "name a million times", graph(field(2, b"g") * 1000000), 0
    yield "node's graph in 300,000 pieces", graph(
        field(1, field(5, field(6, field(2, b"g")) * 300000))
    ), 0
    yield "4 million empty tensors", graph(field(5, b"") * 4000000), 3
    yield "a million empty attributes", graph(field(1, field(5, b"") * 1000000)), 0
    yield "a million empty nodes", graph(field(1, b"") * 1000000), 3
    yield "5 million empty nodes", graph(field(1, b"") * 5000000), 3
    yield "2 million empty strings", graph(field(1, field(1, b"") * 2000000)), 0
    yield "a million tensors of one dimension", graph(field(5, b"\x08\x01") * 1000000), None
    yield "a million dimensions", graph(field(5, b"\x08\x01" * 1000000)), 0
    yield "5 million unknown fields", b"\x98\x3f\x01" * 5000000, 0
    yield "unknown fields between known ones", (b"\x98\x3f\x01" + field(14, b"")) * 500000, 0
    yield "a million opsets", field(8, b"") * 1000000, 3
    yield "a million metadata entries", field(14, b"") * 1000000, 0
    yield "a million functions", field(25, b"") * 1000000, 3
    yield "500,000 inputs of one name", graph(field(11, field(1, b"x")) * 500000), 0
    yield "int64_data of 8 million bytes", tensor([8000000], 7, field(7, bytes(8000000))), 0


def model_faults():
    """Faults of models that decode: findings of lint, never of the decoder."""
    g = lambda m: m.graph  # noqa: E731
    yield "cycle", edited(lambda m: g(m).node[0].input.append("y"))
    yield "a node that uses its own output", edited(lambda m: g(m).node[0].input.append("h"))
    yield "cycle through a branch", edited(
        lambda m: g(m).node[1].attribute[0].g.node[0].input.append("y")
    )
    yield "dangling name", edited(lambda m: g(m).node[0].input.append("nowhere"))
    yield "dangling output", edited(lambda m: g(m).output.add(name="nowhere"))
    yield "node output twice", edited(lambda m: g(m).node[1].output.append("h"))
    yield "node output is an input", edited(lambda m: g(m).node[1].output.append("x"))
    yield "initializer twice", edited(lambda m: g(m).initializer.append(g(m).initializer[0]))
    yield "input twice", edited(lambda m: g(m).input.append(g(m).input[0]))
    yield "nodes out of order", edited(lambda m: g(m).node.insert(0, g(m).node.pop()))
    yield "no graph", edited(lambda m: m.ClearField("graph"))
    yield "no opset", edited(lambda m: m.ClearField("opset_import"))
    yield "nameless everything", edited(
        lambda m: [v.ClearField("name") for v in (*g(m).input, *g(m).output, g(m).initializer[0])]
    )
    for what, name in (
        ("newline", "a\nb"),
        ("quotes", "a\"b'c"),
        ("comment end", "a*/b"),
        ("bidirectional control", "a\u202eb\u2066c"),
        ("NUL", "a\0b"),
        ("escape sequence", "a\x1b[31mb"),
        ("64 KiB", "n" * 65536),
    ):
        yield f"name with {what}", edited(
            lambda m, name=name: [
                setattr(g(m).node[0], "name", name),
                g(m).node[0].output.append(name),
                setattr(g(m).input[0], "doc_string", name),
            ]
        )
    yield "name that is no UTF-8", graph(field(1, field(3, b"\xff\xfe\x80")))
    yield "dtype 99", edited(lambda m: setattr(g(m).initializer[0], "data_type", 99))
    yield "dtype -1", edited(lambda m: setattr(g(m).initializer[0], "data_type", -1))
    yield "attribute type 77", graph(field(1, field(5, field(1, b"a") + b"\xa0\x01\x4d")))
    yield "negative opset", edited(lambda m: setattr(m.opset_import[0], "version", -5))


def external(**entries):
    t = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=1)
    for key, value in entries.items():
        t.external_data.add(key=key, value=value)
    return edited(lambda m: m.graph.initializer.append(t))


def payload_faults(folder):
    """Faults that show when elements are read: exit 1."""
    yield "raw_data too short", tensor([4], 1, field(9, bytes(12)))
    yield "raw_data too long", tensor([4], 1, field(9, bytes(20)))
    yield "raw_data of a scalar missing", tensor([], 1, b"")
    yield "float_data too short", tensor([4], 1, field(4, bytes(12)))
    yield "int4 one byte short", tensor([5], 22, field(9, bytes(2)))
    yield "int4 one byte long", tensor([5], 22, field(9, bytes(4)))
    yield "float6 one byte short", tensor([5], 27, field(9, bytes(3)))
    yield "negative dimension", tensor([-1], 1, field(9, bytes(4)))
    yield "dims overflow 64 bits", tensor([2**32, 2**32], 1, field(9, bytes(4)))
    yield "dims overflow 63 bits", tensor([2**62, 3], 2, field(9, bytes(4)))
    yield "dims of 2^60 bytes", tensor([2**60], 2, field(9, bytes(4)))
    yield "a thousand dims of 2^60", tensor([2**60] * 1000, 1, field(9, bytes(4)))
    yield "no data at 2^40 elements", tensor([2**40], 1, b"")
    yield "int64_data in a float tensor", tensor([1], 1, field(7, b"\x01"))
    yield "strings in raw_data", tensor([1], 8, field(9, b"a"))
    yield "two payloads", tensor([1], 1, field(9, bytes(4)) + field(4, bytes(4)))
    yield "segment", tensor([1], 1, field(3, b"\x08\x00\x10\x01") + field(9, bytes(4)))
    yield "dtype 0", tensor([1], 0, field(9, bytes(4)))
    yield "dtype 99", tensor([1], 99, field(9, bytes(4)))
    with open(os.path.join(folder, "data.bin"), "wb") as f:
        f.write(bytes(64))
    with open(os.path.join(os.path.dirname(folder), "outside.bin"), "wb") as f:
        f.write(bytes(64))
    os.makedirs(os.path.join(folder, "sub"), exist_ok=True)
    os.symlink("../outside.bin", os.path.join(folder, "link.bin"))
    os.symlink("..", os.path.join(folder, "up"))
    os.mkfifo(os.path.join(folder, "pipe"))
    for location in (
        "../outside.bin",
        "sub/../../outside.bin",
        os.path.join(os.path.dirname(folder), "outside.bin"),
        "/etc/hostname",
        "link.bin",
        "up/outside.bin",
        "/dev/zero",
        "pipe",
        "sub",
        "missing.bin",
        "data.bin/",
        "data.bin\0x",
        "",
        "x" * 5000,
        "..",
        "./..",
    ):
        yield f"external data at {location[:40]!r}", external(location=location)
    for name, entries in (
        ("offset beyond the file", {"offset": "60"}),
        ("negative offset", {"offset": "-4"}),
        ("offset of 2^64", {"offset": "18446744073709551616"}),
        ("offset is no number", {"offset": "0x10"}),
        ("length beyond the file", {"length": "65"}),
        ("length too short", {"length": "8"}),
        ("negative length", {"length": "-1"}),
        ("offset and length overflow", {"offset": "18446744073709551615", "length": "16"}),
    ):
        yield name, external(location="data.bin", **entries)
    yield "no location", external(offset="0")


def limit_memory(data_mib):
    if data_mib and not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (data_mib * MIB, data_mib * MIB))


def cpu_seconds():
    """What the programs run so far took: another load on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, source, target, data_mib=1024):
    start = cpu_seconds()
    done = subprocess.run(
        [program, source, target],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
        preexec_fn=lambda: limit_memory(data_mib),
    )
    return done, cpu_seconds() - start


class Cases:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.count, self.failures = 0, []

    def fail(self, name, why):
        self.failures.append(f"{name}: {why}")

    def check(self, name, data, expected, target=None):
        self.count += 1
        source = os.path.join(self.folder, "in.onnx")
        result = target or os.path.join(self.folder, "out.onnx")
        with open(source, "wb") as f:
            f.write(data)
        before, decodes = onnx.ModelProto(), True
        if target is None:
            try:
                before.ParseFromString(data)
            except Exception:  # protobuf's class of this error depends on its implementation
                decodes = False
        done, seconds = run(self.program, source, result)
        if expected is None:
            expected = 0 if decodes else 3
        if expected != done.returncode:
            self.fail(name, f"exit {done.returncode}, not {expected}: {done.stderr[:200]}")
        limit = SECONDS * (12 if SANITIZED else 1)
        for _ in range(2):  # a machine that is busy with others slows a run; a slow program is slow each time
            if seconds > limit:
                seconds = min(seconds, run(self.program, source, result)[1])
        if seconds > limit:
            self.fail(name, f"took {seconds:.1f} s")
        if done.returncode and not done.stderr.startswith("error"):
            self.fail(name, "failed without a diagnostic")
        if any(c in done.stderr for c in ("\u202e", "\x1b", "\0")):
            self.fail(name, "a name reached the terminal unescaped")
        if done.returncode == 0 and target is None and len(data) < 100000:
            after = onnx.ModelProto()
            with open(result, "rb") as f:
                after.ParseFromString(f.read())
            for line in differences(before, after):
                self.fail(name, line)


def large_model(path, size, where=None):
    """A model with one weight of `size` bytes of hole; where: in a file of its own."""
    head = b"\x08" + varint(size // 4) + b"\x10\x01" + field(8, b"w")
    if where:
        entry = field(13, field(1, b"location") + field(2, os.path.basename(where).encode()))
        with open(path, "wb") as f:
            f.write(graph(field(5, head + entry + b"\x70\x01")))
        with open(where, "wb") as f:
            f.truncate(size)
        return
    head += varint(9 << 3 | 2) + varint(size)
    inner = varint(5 << 3 | 2) + varint(len(head) + size) + head
    head = b"\x08\x0a" + varint(7 << 3 | 2) + varint(len(inner) + size) + inner
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + size)


def memory_cases(cases, folder):
    """Beside the mapping at most 64 MiB are writable: the kernel refuses more."""
    path, data = os.path.join(folder, "large.onnx"), os.path.join(folder, "large.bin")
    for name, size, where in (
        ("1.2 GB model", 1200 * 1000 * 1000, None),
        ("2.5 GB model", 2500 * 1000 * 1000, None),
        ("1.2 GB of external data", 1200 * 1000 * 1000, data),
    ):
        large_model(path, size, where)
        for target in ("-", "=") if size < 2**31 else ("-",):
            cases.count += 1
            done, _ = run(cases.program, path, target, data_mib=64)
            if done.returncode != 0:
                cases.fail(f"{name} ({target})", f"exit {done.returncode}: {done.stderr[:200]}")
    large_model(path, 2500 * 1000 * 1000)
    cases.count += 1
    done, _ = run(cases.program, path, os.path.join(folder, "out.onnx"), data_mib=64)
    if done.returncode != 3 or "2 GiB" not in done.stderr:
        cases.fail("export over 2 GiB", f"exit {done.returncode}: {done.stderr[:200]}")


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "models")
        os.mkdir(folder)
        cases = Cases(program, folder)
        for name, data, expected in (*decode_cases(), *flood_cases()):
            cases.check(name, data, expected)
        for name, data in model_faults():
            cases.check(name, data, 0)
        for name, data in payload_faults(folder):
            cases.check(name, data, 1, target="=")
        if not SANITIZED:
            memory_cases(cases, folder)
        print(f"{cases.count} hostile files, {len(cases.failures)} failures")
        print("\n".join(cases.failures[:40]))
        return 1 if cases.failures else 0


if __name__ == "__main__":
    sys.exit(main())
