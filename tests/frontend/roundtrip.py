"""Import followed by export gives back every model, field by field.

roundtrip.py PROGRAM: PROGRAM is the roundtrip executable. The models are those of the ONNX backend
suite, the real models (CAMEO_MODELS, or ../shared/models beside the checkout), and random ones that
fill every field of every message, unknown fields too.
"""

import glob
import os
import random
import subprocess
import sys
import tempfile

import onnx
import onnx.backend.test.case.node as node_cases
import onnx.backend.test.loader as loader
from google.protobuf.descriptor import FieldDescriptor as F

RANDOM_MODELS = 400


def differences(a, b, path=""):
    """Where two messages differ: fields, presence, unknown fields."""
    if a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True):
        return
    found = False
    for field in a.DESCRIPTOR.fields:
        x, y = getattr(a, field.name), getattr(b, field.name)
        where = f"{path}.{field.name}"
        if field.is_repeated:
            if len(x) != len(y):
                yield f"{where}: {len(x)} and {len(y)} elements"
                found = True
            elif field.message_type:
                for i, (p, q) in enumerate(zip(x, y)):
                    for line in differences(p, q, f"{where}[{i}]"):
                        yield line
                        found = True
            elif list(x) != list(y):
                yield f"{where}: {str(x)[:80]} and {str(y)[:80]}"
                found = True
        elif a.HasField(field.name) != b.HasField(field.name):
            yield f"{where}: present in one only"
            found = True
        elif field.message_type:
            for line in differences(x, y, where):
                yield line
                found = True
        elif x != y:
            yield f"{where}: {str(x)[:80]} and {str(y)[:80]}"
            found = True
    if not found:
        yield f"{path}: unknown fields differ"


def random_scalar(rng, field):
    integers = [0, 1, -1, 127, 128, 2**31 - 1, -(2**31), rng.randrange(-1000, 1000)]
    wide = integers + [2**62, -(2**63), 2**63 - 1]
    if field.type == F.TYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    if field.type in (F.TYPE_STRING, F.TYPE_BYTES):
        text = rng.choice(["", "x", "y", "z", "a b", 'quote"\n*/', "\u202eabc", "\u00e9", "w" * 200])
        return text if field.type == F.TYPE_STRING else text.encode() + rng.randbytes(rng.randrange(9))
    if field.type == F.TYPE_INT32:
        return rng.choice(integers)
    if field.type == F.TYPE_INT64:
        return rng.choice(wide)
    if field.type == F.TYPE_UINT64:
        return rng.choice([0, 1, 2**64 - 1, 300])
    return rng.choice([0.0, -0.0, 1.5, float("inf"), float("nan"), 1e-30])


def random_unknown(rng):
    varint, length, fixed = b"\x98\x3f\x96\x01", b"\xa2\x3f\x03abc", b"\xad\x3f\x01\x02\x03\x04"
    group = b"\xb3\x3f\x08\x01\xb4\x3f"
    return b"".join(rng.choices([varint, length, fixed, group], k=rng.randrange(1, 4)))


def random_message(rng, message, depth):
    share = 0.75 if depth < 4 else 0.3
    for field in message.DESCRIPTOR.fields:
        if rng.random() > share or (field.message_type and depth > 9):
            continue
        times = rng.choice([1, 1, 2, 3]) if field.is_repeated else 1
        for _ in range(times):
            value = getattr(message, field.name)
            if field.message_type:
                random_message(rng, value.add() if field.is_repeated else value, depth + 1)
                if not field.is_repeated:
                    value.SetInParent()
            elif field.is_repeated:
                value.append(random_scalar(rng, field))
            else:
                setattr(message, field.name, random_scalar(rng, field))
    if rng.random() < 0.2:
        message.MergeFromString(random_unknown(rng))


def backend_models():
    for case in node_cases.collect_testcases():
        yield case.name, case.model.SerializeToString()
    for kind in ("simple", "pytorch-converted", "pytorch-operator", "real"):
        for case in loader.load_model_tests(kind=kind):
            if case.model_dir:
                with open(os.path.join(case.model_dir, "model.onnx"), "rb") as f:
                    yield case.name, f.read()
            elif case.url:  # a light model of the package
                root = os.path.dirname(os.path.dirname(onnx.__file__))
                with open(os.path.join(root, case.url), "rb") as f:
                    yield case.name, f.read()


def real_models():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("CAMEO_MODELS") or os.path.join(here, "../../../shared/models")
    paths = sorted(glob.glob(os.path.join(folder, "*", "model.onnx")))
    if not paths:
        print("SKIPPED: the real models are not here (set CAMEO_MODELS)")
    for path in paths:
        with open(path, "rb") as f:
            yield os.path.basename(os.path.dirname(path)), f.read()


def random_models():
    for seed in range(RANDOM_MODELS):
        rng = random.Random(seed)
        model = onnx.ModelProto()
        random_message(rng, model, 0)
        data = model.SerializeToString()
        if len(data) < 200000:
            yield f"random-{seed}", data or b"\x08\x01"


def check(program, name, data, folder):
    source, result = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    with open(source, "wb") as f:
        f.write(data)
    if os.path.exists(result):
        os.unlink(result)
    done = subprocess.run([program, source, result], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"{name}: exit {done.returncode}: {done.stderr[:300]}"]
    before, after = onnx.ModelProto(), onnx.ModelProto()
    before.ParseFromString(data)
    with open(result, "rb") as f:
        after.ParseFromString(f.read())
    return [f"{name}: {line}" for line in differences(before, after)]


def main():
    program, failures = os.path.abspath(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as folder:
        for kind, models in (
            ("backend suite", backend_models()),
            ("real", real_models()),
            ("random", random_models()),
        ):
            n = bad = 0
            for name, data in models:
                lines = check(program, name, data, folder)
                failures += lines[:5]
                bad += bool(lines)
                n += 1
            print(f"{kind}: {n} models, {n - bad} equal")
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
