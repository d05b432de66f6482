#!/usr/bin/env python3
"""operators.py CAMEO [--seeds FIRST LAST] [--cases N] [--keep FOLDER]: models whose nodes do not fit, or nearly fit.

Three kinds: random nodes of every operator by its schema, whose ranks, dims, constants and attribute values are random;
mutants of the standard's own node cases; and models that once failed. `cameo compile --emit c` must end with an exit
status of its own, without a sanitizer's report, in a few seconds and without asking for much memory.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import onnx.defs as defs
from onnx import TensorProto, helper

import mutants

STRINGS = ["x", "linear", "reflect", "constant", "SAME_UPPER", "ij,jk->ik", "reverse"]
SMALL_INTS = [-5, -1, 0, 1, 2, 3, 7]
SECONDS, BYTES = 20, 3 << 30
DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview.training"]


def attribute(rng, kind):
    ints = mutants.ODD_INTS if rng.random() < 0.2 else SMALL_INTS
    return {"INT": rng.choice(ints), "FLOAT": rng.choice(mutants.ODD_FLOATS[:4]), "STRING": rng.choice(STRINGS),
            "FLOATS": [1.0, 2.0][:rng.randint(0, 2)], "STRINGS": ["a", "b"],
            "INTS": [rng.choice(ints) for _ in range(rng.randint(0, 5))], "GRAPH": body(rng),
            "TENSOR": constant(rng, "t", rng.choice([1, 7, 9]), [1])}.get(kind)


def body(rng):
    """A subgraph whose inputs and outputs are as many and of such types as it happens."""
    inputs = [helper.make_tensor_value_info(f"b{k}", rng.choice([1, 7, 9]), [2][:rng.randint(0, 1)])
              for k in range(rng.randint(0, 4))]
    names = [i.name for i in inputs] + ["x0"]
    nodes = [helper.make_node("Identity", [rng.choice(names)], [f"r{k}"]) for k in range(rng.randint(0, 4))]
    outputs = [helper.make_tensor_value_info(o, rng.choice([1, 7, 9]), None) for n in nodes for o in n.output]
    return helper.make_graph(nodes, "body", inputs, outputs)


def constant(rng, name, dtype, dims):
    count = 1
    for d in dims:
        count *= d
    low, high = (0, 1) if dtype == TensorProto.BOOL else (0, 4) if dtype == TensorProto.UINT8 else (-3, 4)
    return helper.make_tensor(name, dtype, dims, [rng.randint(low, high) for _ in range(count)])


def operand(rng, schema, k):
    types = [t for t in schema.inputs[min(k, len(schema.inputs) - 1)].types if t.startswith("tensor(")]
    dtypes = [TensorProto.DataType.Value(t[7:-1].upper()) for t in sorted(types)] or [TensorProto.FLOAT]
    usual = [d for d in (1, 7, 9, 6, 2) if d in dtypes]
    dtype = usual[0] if usual and rng.random() < 0.8 else rng.choice(dtypes)
    shape = [rng.choice([0, 1, 2, 3, 3, "N"]) for _ in range(rng.randint(0, 5))]
    if dtype not in (1, 7, 9, 6, 2) or rng.random() < 0.7:
        return helper.make_tensor_value_info(f"x{k}", dtype, shape), None
    return None, constant(rng, f"x{k}", dtype, [d if isinstance(d, int) else 2 for d in shape][:2])


def random_model(rng, schema):
    """One node, as many operands as its schema takes or (seldom) one more or less."""
    off = rng.choice([-1, 1]) if rng.random() < 0.1 else 0
    count = max(0, rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 3)) + off)
    made = [operand(rng, schema, k) for k in range(count)] if schema.inputs else []
    attributes = {}
    for name, a in sorted(schema.attributes.items()):
        value = attribute(rng, a.type.name) if a.required or rng.random() < 0.4 else None
        if value is not None and (value or not isinstance(value, list)):
            attributes[name] = value
    most = min(schema.max_output, max(1, len(schema.outputs)))
    outputs = [f"y{k}" for k in range(max(0, rng.randint(max(1, schema.min_output), most) + off))]
    node = helper.make_node(schema.name, [f"x{k}" for k in range(len(made))], outputs, domain=schema.domain, **attributes)
    infos = [helper.make_tensor_value_info(o, rng.choice([1, 7, 9, 2]), None) for o in outputs]
    graph = helper.make_graph([node], "g", [i for i, _ in made if i], infos, [t for _, t in made if t])
    opsets = [helper.make_opsetid("", defs.onnx_opset_version())]
    if schema.domain:
        opsets.append(helper.make_opsetid(schema.domain, schema.since_version))
    return helper.make_model(graph, opset_imports=opsets)


def models(seed, cases, pool):
    """(name, bytes) of all models of one seed."""
    rng = random.Random(seed)
    schemas = [s for s in defs.get_all_schemas() if s.domain in DOMAINS]
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name)):
        for k in range(cases):
            yield f"{schema.name}_{seed}_{k}", random_model(rng, schema).SerializeToString()
    for k in range(cases * len(schemas)):
        model = mutants.mutant(rng, pool)
        yield f"mutant_{model.graph.name}_{seed}_{k}", model.SerializeToString()


def limits(sanitized):
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def attempt(cameo, sanitized, folder, name, data):
    """The exit status and, for what may not be, the reason."""
    source = pathlib.Path(folder) / f"{name[:80]}.onnx"
    target = source.with_suffix(".c")
    source.write_bytes(data)
    env = dict(os.environ, ASAN_OPTIONS=f"hard_rss_limit_mb={BYTES >> 20}:detect_leaks=0", UBSAN_OPTIONS="print_stacktrace=1")
    try:
        done = subprocess.run([cameo, "compile", source, "--emit", "c", "-o", target], capture_output=True, text=True,
                              errors="replace", timeout=SECONDS, env=env, preexec_fn=lambda: limits(sanitized))
        status, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        status, said = None, f"no end after {SECONDS} s"
    source.unlink()
    target.unlink(missing_ok=True)
    signs = ("Sanitizer", "runtime error", "not enough memory")
    bad = status not in (0, 1, 2, 3) or any(s in said for s in signs)
    silent = status in (1, 2, 3) and not said.strip()
    return status, f"exit {status}: {said[:1500]}" if bad else "refused without a word" if silent else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo", type=pathlib.Path)
    parser.add_argument("--seeds", nargs=2, type=int, default=[1, 1])
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path, help="where models that fail are left")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    sanitized = b"__asan_init" in asked.cameo.read_bytes()
    pool, counts, bad = mutants.cases(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(asked.jobs) as workers:
        for seed in range(asked.seeds[0], asked.seeds[1] + 1):
            made = list(models(seed, asked.cases, pool))
            results = workers.map(lambda m: attempt(asked.cameo, sanitized, folder, *m), made)
            for (name, data), (status, why) in zip(made, results):
                counts[status] += 1
                if why:
                    bad += 1
                    print(f"{name}: {why}", flush=True)
                    if asked.keep:
                        asked.keep.mkdir(parents=True, exist_ok=True)
                        (asked.keep / f"{name[:80]}.onnx").write_bytes(data)
    print(f"{sum(counts.values())} models: {counts[0]} compiled, {counts[1] + counts[2] + counts[3]} refused, {bad} failures")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
