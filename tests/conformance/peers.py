#!/usr/bin/env python3
"""peers.py SUITE [--json OUT] [--filter RE] [-j N] [--limit SECONDS]: the same cases in ONNX Runtime and the reference evaluator.

A case passes when every output of every data set is equal within the case's own tolerance, as in run.py; it is refused when
the peer does not load the model or says that it does not implement something; anything else is a failure. Cases that draw
random numbers can be compared with neither: they are counted as drawn. Each case runs in a process of its own, so that one
that crashes or hangs is only that.
"""
import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

import batch
import values

PEERS = ("onnxruntime", "reference")
T = onnx.TensorProto
BYTES = {T.BFLOAT16: np.uint16, T.FLOAT8E4M3FN: np.uint8, T.FLOAT8E4M3FNUZ: np.uint8, T.FLOAT8E5M2: np.uint8,
         T.FLOAT8E5M2FNUZ: np.uint8}  # which ONNX Runtime's Python interface takes as bytes only


def session(case):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    made = onnxruntime.InferenceSession(str(case.folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    types = {i.name: i.type.tensor_type.elem_type for i in [*case.model.graph.input, *case.model.graph.output]}

    def run(feeds, wanted):
        if not any(types[n] in BYTES for n in [*feeds, *wanted]):
            return made.run(None, {n: text(v) for n, v in feeds.items()})
        binding, buffers = made.io_binding(), {}
        for name, value in feeds.items():
            if types[name] in BYTES:
                held = np.ascontiguousarray(value).view(BYTES[types[name]])
                binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(held, types[name]))
            else:
                binding.bind_cpu_input(name, np.ascontiguousarray(value))
        for name, value in wanted.items():
            if types[name] in BYTES:
                buffers[name] = np.zeros(value.shape, BYTES[types[name]])
                binding.bind_output(name, "cpu", 0, types[name], list(value.shape), buffers[name].ctypes.data)
            else:
                binding.bind_output(name)
        made.run_with_iobinding(binding)
        outputs = binding.get_outputs()
        return [buffers[n].view(v.dtype) if n in buffers else outputs[i].numpy() for i, (n, v) in enumerate(wanted.items())]
    return run


def text(value):
    """Strings as its Python interface takes them."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([v.decode() if isinstance(v, bytes) else v for v in value.ravel()], dtype=object).reshape(value.shape)
    return value


def evaluator(case):
    made = ReferenceEvaluator(onnx.load(case.folder / "model.onnx"))
    return lambda feeds, wanted: made.run(None, {n: text(v) for n, v in feeds.items()})


def plain(value):
    """Strings as the suite's files have them: objects."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict) or value is None:
        return value
    value = np.asarray(value)
    return value.astype(object) if value.dtype.kind in "SU" else value


def judge(case, peer):
    """(status, reason) of one case."""
    try:
        run = (session if peer == "onnxruntime" else evaluator)(case)
    except Exception as e:  # whatever it throws where it does not take a model
        return "refused", str(e)[:200]
    weights = {w.name for w in case.model.graph.initializer}
    inputs = [i for i in case.model.graph.input if i.name not in weights]
    for data in case.sets:
        feeds = {i.name: values.read(data / f"input_{k}.pb", values.kind_of(i)) for k, i in enumerate(inputs)
                 if (data / f"input_{k}.pb").exists()}
        wanted = {i.name: values.read(data / f"output_{k}.pb", values.kind_of(i)) for k, i in enumerate(case.model.graph.output)}
        try:
            got = run(feeds, wanted)
        except Exception as e:
            words = str(e)[:200]
            missing = isinstance(e, NotImplementedError) or any(
                w in words for w in ("NOT_IMPLEMENTED", "not implemented", "can't be converted to MLDataType"))
            return ("refused" if missing else "failed"), words
        for k, want in enumerate(wanted.values()):
            try:
                why = values.difference(plain(got[k]), want, case.rtol, case.atol)
            except Exception as e:  # dtypes that NumPy cannot compare
                why = f"cannot be compared: {e}"
            if why:
                return "failed", why
    return "passed", ""


def child(case, peer, pipe):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    pipe.send(judge(case, peer))
    pipe.close()


def apart(case, peer, limit):
    here, there = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(case, peer, there))
    process.start()
    there.close()
    try:
        answer = here.recv() if here.poll(limit) else ("failed", f"takes over {limit} s")
    except EOFError:
        answer = ("crashed", "")
    process.kill()
    process.join()
    return answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suite", type=pathlib.Path)
    p.add_argument("--json", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    p.add_argument("--limit", type=int, default=300)
    p.add_argument("--verbose", action="store_true")
    options = p.parse_args()
    rows = [r for r in json.loads((options.suite / "cases.json").read_text()) if re.search(options.filter, r["name"])]
    cases = [batch.Case(i, options.suite / r["name"], r["kind"]) for i, r in enumerate(rows)]
    found = {c.name: {} for c in cases}

    def one(pair):
        case, peer = pair
        drawn = batch.draws.is_judged(case.folder, case.model)
        found[case.name][peer] = ("drawn", "") if drawn else apart(case, peer, options.limit)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, [(c, peer) for c in cases for peer in PEERS]))
    for peer in PEERS:
        counts = collections.Counter(f[peer][0] for f in found.values())
        print(f"{peer}: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    if options.verbose:
        for name, by_peer in found.items():
            for peer, (status, reason) in sorted(by_peer.items()):
                if status not in ("passed", "drawn"):
                    print(f"{status} {peer} {name}: {reason}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
