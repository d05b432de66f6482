#!/usr/bin/env python3
"""operators.py CAMEO [SEED [CASES]]: random nodes of every operator with operands that mostly do not fit.

Arity and attribute names follow the schema; ranks, dims, constants and attribute values are random. `cameo compile
--emit c` must end with an exit status of its own and without a sanitizer's report.
"""
import collections
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx.defs as defs
from onnx import TensorProto, helper

DTYPES = {"tensor(float)": 1, "tensor(int64)": 7, "tensor(bool)": 9, "tensor(int32)": 6, "tensor(uint8)": 2}
STRINGS = ["x", "linear", "reflect", "constant", "SAME_UPPER", "ij,jk->ik", "reverse"]


def attribute(rng, kind):
    return {"INT": rng.choice([-5, -1, 0, 1, 2, 3, 7]), "FLOAT": rng.choice([0.0, 1.0, -1.0]),
            "STRING": rng.choice(STRINGS), "FLOATS": [1.0, 2.0],
            "INTS": [rng.choice([-1, 0, 1, 2, 3]) for _ in range(rng.randint(1, 5))]}.get(kind)


def operand(rng, schema, k):
    param = schema.inputs[min(k, len(schema.inputs) - 1)]
    dtype = next((DTYPES[t] for t in DTYPES if t in param.types), TensorProto.FLOAT)
    shape = [rng.choice([0, 1, 2, 3, "N"]) for _ in range(rng.randint(0, 4))]
    if rng.random() < 0.7:
        return helper.make_tensor_value_info(f"x{k}", dtype, shape), None
    fixed = [d if isinstance(d, int) else 2 for d in shape][:2]
    count = 1
    for d in fixed:
        count *= d
    low = 0 if dtype in (2, 9) else -3
    values = [rng.randint(low, 1 if dtype == 9 else 4) for _ in range(count)]
    return None, helper.make_tensor(f"x{k}", dtype, fixed, values)


def model(rng, schema):
    count = rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 3))
    made = [operand(rng, schema, k) for k in range(count)]
    attributes = {}
    for name, a in sorted(schema.attributes.items()):
        value = attribute(rng, a.type.name) if a.required or rng.random() < 0.4 else None
        if value is not None:
            attributes[name] = value
    most = min(schema.max_output, max(1, len(schema.outputs)))
    outputs = [f"y{k}" for k in range(rng.randint(max(1, schema.min_output), most))]
    node = helper.make_node(schema.name, [f"x{k}" for k in range(count)], outputs, **attributes)
    infos = [helper.make_tensor_value_info(o, rng.choice([1, 7, 9, 2]), [rng.choice([1, 2, "M"]) for _ in range(rng.randint(0, 4))])
             for o in outputs]
    graph = helper.make_graph([node], "g", [i for i, _ in made if i], infos, [t for _, t in made if t])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", defs.onnx_opset_version())])


def main():
    cameo = sys.argv[1]
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    counts, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "m.c"
        for name in sorted({s.name for s in defs.get_all_schemas() if s.domain == ""}):
            for _ in range(cases):
                source.write_bytes(model(rng, defs.get_schema(name)).SerializeToString())
                done = subprocess.run([cameo, "compile", source, "--emit", "c", "-o", target], capture_output=True,
                                      text=True, errors="replace", timeout=60)
                counts[done.returncode] += 1
                if done.returncode not in (0, 1, 2) or "Sanitizer" in done.stderr or "runtime error" in done.stderr:
                    bad += 1
                    print(f"{name}: exit {done.returncode}: {done.stderr[-400:]}")
    print(f"{sum(counts.values())} nodes: {counts[0]} compiled, {counts[1] + counts[2]} refused, {bad} failures")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
