#!/usr/bin/env python3
"""operators.py TRY_MAIN [--seeds FIRST LAST] [--cases N] [--keep FOLDER]: models whose nodes do not fit, or nearly fit.

Three kinds: those of misfits.py, each refused with a reason; random nodes of every operator by its schema, whose ranks,
dims, constants and attribute values are random; and mutants of the standard's own node cases. Compiling one to C must
end with an exit status of its own, without a sanitizer's report, in a few seconds and without asking for much memory;
and what is compiled must keep inside its buffers.
"""
import argparse
import collections
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import onnx.parser
from onnx import TensorProto, defs, helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import make_schema_microsoft  # noqa: E402
import misfits  # noqa: E402
import mutants  # noqa: E402

STRINGS = ["x", "linear", "reflect", "constant", "SAME_UPPER", "ij,jk->ik", "reverse"]
SMALL_INTS = [-5, -1, 0, 1, 2, 3, 7]
BYTES = 3 << 30
DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]
# Those of com.microsoft that have rows; the rest is refused by name.
MICROSOFT = """Attention BiasGelu DequantizeLinear DynamicQuantizeLSTM DynamicQuantizeMatMul EmbedLayerNormalization FastGelu
    FusedConv FusedGemm FusedMatMul GatherBlockQuantized Gelu GroupQueryAttention MatMulIntegerToFloat MatMulNBits MultiHeadAttention NhwcMaxPool
    QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid
    QLinearSoftmax QLinearWhere QuantizeLinear QuickGelu RotaryEmbedding SimplifiedLayerNormalization SkipLayerNormalization
    SkipSimplifiedLayerNormalization TransposeMatMul Trilu""".split()


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
    schemas += [s for s in make_schema_microsoft.schemas() if s.name in MICROSOFT]
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name)):
        for k in range(cases):
            yield f"{schema.name}_{seed}_{k}", random_model(rng, schema).SerializeToString()
    for k in range(cases * len(schemas)):
        model = mutants.mutant(rng, pool)
        yield f"mutant_{model.graph.name}_{seed}_{k}", model.SerializeToString()


def attempt(program, folder, models_):
    """Of each model: the exit status, the reason where that may not be, and what was printed."""
    env = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1:exitcode=99",
               ASAN_OPTIONS=f"hard_rss_limit_mb={BYTES >> 20}:detect_leaks=0:exitcode=99:allocator_may_return_null=1")
    sanitized = b"__asan_init" in program.read_bytes()
    paths = []
    for name, data in models_:
        paths.append(folder / f"{len(paths)}_{name[:80]}.onnx")
        paths[-1].write_bytes(data)
    limit = None if sanitized else lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    done = subprocess.run([program, folder / "out.c"], input="".join(f"{p}\n" for p in paths), capture_output=True,
                          text=True, env=env, preexec_fn=limit, check=True)
    results = []
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        said = path.with_suffix(".onnx.said")
        results.append(judge(int(line.rsplit(" ", 1)[1]), said.read_text(errors="replace") if said.exists() else ""))
        path.unlink()
        said.unlink(missing_ok=True)
    return results


def judge(status, said):
    if status not in (0, 1, 2, 3) or "Sanitizer" in said or "not enough memory" in said:
        return status, f"exit {status}: {said[-1500:]}", said
    return status, "refused without a word" if status and not said.strip() else None, said


def try_misfits(program, folder):
    """How many models of misfits.py do not end as they should."""
    texts = [(f"{k}", f'<ir_version: 10, opset_import: ["" : {opset}, "ai.onnx.preview.training" : 1]> {text}')
             for k, (text, opset, _) in enumerate(misfits.MISFITS)]
    made = [(name, onnx.parser.parse_model(text).SerializeToString()) for name, text in texts]
    bad = 0
    for (text, _, said), (status, why, printed) in zip(misfits.MISFITS, attempt(program, folder, made)):
        fits = not why and (status == 0 if said is None else status == 1 and said in printed)
        if not fits:
            bad += 1
            print(f"{text}: exit {status}, not a refusal with {said!r}: {why or printed}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path, help="the program of try_main.c")
    parser.add_argument("--seeds", nargs=2, type=int, default=[1, 1], metavar=("FIRST", "LAST"))
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path, help="where models that fail are left")
    asked = parser.parse_args()
    pool, counts = mutants.cases(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        bad = try_misfits(asked.program.resolve(), pathlib.Path(folder))
        for seed in range(asked.seeds[0], asked.seeds[1] + 1):
            made = list(models(seed, asked.cases, pool))
            results = attempt(asked.program.resolve(), pathlib.Path(folder), made)
            for (name, data), (status, why, _) in zip(made, results):
                counts[status] += 1
                if why:
                    bad += 1
                    print(f"{name}: {why}", flush=True)
                if why and asked.keep:
                    asked.keep.mkdir(parents=True, exist_ok=True)
                    (asked.keep / f"{name[:80]}.onnx").write_bytes(data)
    print(f"{sum(counts.values())} models: {counts[0]} compiled, {counts[1] + counts[2] + counts[3]} refused, {bad} failures")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
