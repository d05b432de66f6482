#!/usr/bin/env python3
"""Each operator as a program of one node, beside ONNX Runtime's kernel on one thread, interleaved in one run.

    python3 operators.py --cameo PATH [--models FOLDER...] [--filter REGEX] [--out docs/performance.md]

Contractions are left out (bench.py measures them in whole networks). Programs of many nodes are compiled together;
both sides run in this process, pinned to one core, with their operands in place: rounds go A B A B, and the least time
of a round counts. Outputs are compared before anything is timed. Prints one line an operator and form, the worst ratio
first; --out replaces the table between its markers in that file.
"""
import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

import operator_cases

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
         "-march=native", "-fPIC", "-fvisibility=default", "-shared", "-Wall", "-Wextra", "-Werror"]
BEGIN, END = "<!-- table of operators -->", "<!-- end of table of operators -->"


class Port(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32)]


class Program:
    """A compiled model, by its C API."""

    def __init__(self, library, prefix):
        self.library, self.prefix = library, prefix
        self.create = self.function("create", ctypes.c_void_p)
        self.context = self.create(None)
        self.run_function = self.function("run", ctypes.c_int)
        self.handle = ctypes.c_void_p(self.context)

    def function(self, name, result):
        f = getattr(self.library, f"{self.prefix}_{name}")
        f.restype = result
        return f

    def feed(self, arrays):
        self.arrays = arrays  # they must live
        set_input = self.function("set_input", ctypes.c_int)
        for i, a in enumerate(arrays):
            dims = (ctypes.c_int64 * max(1, a.ndim))(*a.shape)
            dtype = helper.np_dtype_to_tensor_dtype(a.dtype)
            if set_input(self.handle, i, dtype, a.ndim, dims, a.ctypes.data_as(ctypes.c_void_p)):
                raise RuntimeError(self.function("error", ctypes.c_char_p)(self.handle).decode())

    def run(self):
        if self.run_function(self.handle):
            raise RuntimeError(self.function("error", ctypes.c_char_p)(self.handle).decode())

    def output(self, i, like):
        rank, dims = ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
        at = self.function("output", ctypes.c_void_p)(self.handle, i, ctypes.byref(rank), ctypes.byref(dims))
        shape = tuple(dims[k] for k in range(rank.value))
        n = int(np.prod(shape)) * like.dtype.itemsize
        raw = ctypes.string_at(at, n) if n else b""
        return np.frombuffer(raw, like.dtype).reshape(shape)


class Peer:
    """A session of one thread, with inputs bound, and outputs bound where their shapes are known."""

    def __init__(self, model, feeds):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.outputs = self.session.run(None, feeds)
        self.binding = self.session.io_binding()
        for name, a in feeds.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(a)))
        for info, a in zip(self.session.get_outputs(), self.outputs):
            if a.dtype.kind in "fiub" and a.size:
                self.binding.bind_ortvalue_output(info.name, ort.OrtValue.ortvalue_from_shape_and_type(a.shape, a.dtype))
            else:
                self.binding.bind_output(info.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)


# ---- compiling -------------------------------------------------------------------------------------------------


def emit(args, case, work):
    """Writes the C of a case; what kept it from that, or None."""
    case.onnx, case.feeds = case.model()
    path = work / f"{case.symbol}.onnx"
    onnx.save(case.onnx, path)
    done = subprocess.run([args.cameo, "compile", path, "--emit", "c", "-o", work / f"{case.symbol}.c", "--prefix",
                           case.symbol], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def compile_unit(args, cases, name, work):
    (work / f"{name}.c").write_text("".join(f'#include "{c.symbol}.c"\n' for c in cases))
    done = subprocess.run([args.cc, *FLAGS, f"{name}.c", "-o", f"{name}.so", "-lm"], cwd=work, capture_output=True,
                          text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return ctypes.CDLL(str(work / f"{name}.so"))


def build(args, cases, work):
    """Sets case.program or case.trouble."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, trouble in zip(cases, pool.map(lambda c: emit(args, c, work), cases)):
            case.trouble = trouble and "Cameo: " + trouble
        ready = [c for c in cases if not c.trouble]
        units = [ready[i:i + 16] for i in range(0, len(ready), 16)]
        libraries = pool.map(lambda iu: compile_unit(args, iu[1], f"unit{iu[0]}", work), enumerate(units))
        for unit, library in zip(units, libraries):
            for case in unit:
                case.program = Program(library, case.symbol)


# ---- measuring -------------------------------------------------------------------------------------------------


def close(ours, theirs):
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind not in "f":
        if ours.dtype.itemsize == 1 and ours.dtype != bool:  # halves may round to either side
            return bool(np.all(np.abs(ours.astype(int) - theirs.astype(int)) <= 1))
        return bool(np.mean(ours == theirs) > 0.999)
    tolerance = 2e-2 if ours.dtype == np.float16 else 2e-3
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        near = (np.abs(a - b) <= tolerance * (np.abs(b) + 0.05)) | (a == b) | (np.isnan(a) & np.isnan(b))
    return bool(np.mean(near) > 0.9999)


def lap(run, times):
    begin = time.perf_counter_ns()
    for _ in range(times):
        run()
    return (time.perf_counter_ns() - begin) / times / 1e3


def measure(case, rounds):
    """Microseconds of ours and theirs, and whether outputs agree; sets case.trouble where there is no pair."""
    try:
        peer = Peer(case.onnx, case.feeds)
    except Exception as e:  # the peer has no kernel, or refuses the node
        case.trouble = "ONNX Runtime: " + str(e).strip().splitlines()[0][:120]
        return
    try:
        case.program.feed([np.ascontiguousarray(case.feeds[i.name]).reshape(case.feeds[i.name].shape)
                           for i in case.onnx.graph.input])
        case.program.run()
    except RuntimeError as e:
        case.trouble = "Cameo: " + str(e)
        return
    same = [close(case.program.output(i, o), o) for i, o in enumerate(peer.outputs) if o.dtype.kind in "fiub"]
    case.agrees = all(same)
    first = lap(case.program.run, 1), lap(peer.run, 1)
    times = [max(1, min(200, int(1500 / max(1, t)))) for t in first]
    ours, theirs = [], []
    for _ in range(rounds if max(first) < 50000 else 3):
        ours.append(lap(case.program.run, times[0]))
        theirs.append(lap(peer.run, times[1]))
    case.us = min(ours), min(theirs)
    case.ratio = case.us[0] / case.us[1]


# ---- the table -------------------------------------------------------------------------------------------------


def table(cases):
    import onnxruntime
    done = sorted((c for c in cases if not c.trouble), key=lambda c: -c.ratio)
    slow = sum(c.ratio > 3 for c in done)
    ratios = sorted(c.ratio for c in done)
    out = [f"{len(done)} forms of {len({c.op for c in done})} operators, one thread each, native instructions, ONNX "
           f"Runtime {onnxruntime.__version__}. Median of the ratios {ratios[len(ratios) // 2]:.2f}; over 3: {slow}. "
           "Calls of less than about 10 us measure the way into ONNX Runtime.", "",
           "| operator | form | Cameo us | ONNX Runtime us | ratio |", "|---|---|---|---|---|"]
    out += [f"| {c.op} | {c.what}{'' if c.agrees else ' (results differ)'} | {c.us[0]:.1f} | {c.us[1]:.1f} "
            f"| {c.ratio:.2f} |" for c in done]
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--models", nargs="*", type=pathlib.Path, default=[])
    p.add_argument("--filter", default="")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--cc", default="gcc")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", type=pathlib.Path, help="where C and objects are left")
    p.add_argument("--out", type=pathlib.Path)
    args = p.parse_args()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    cases = operator_cases.listed() + [c for m in args.models for c in operator_cases.of_model(m)]
    cases = [c for c in cases if re.search(args.filter, f"{c.op}, {c.what}")]
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or pathlib.Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for i, c in enumerate(cases):
            c.symbol, c.agrees = f"op{i}", True
        build(args, cases, work)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for c in cases:
            if not c.trouble:
                measure(c, args.rounds)
        for c in cases:
            if not c.trouble and c.ratio > 2:  # a neighbour's work may have been in the way
                before = c.us
                measure(c, args.rounds)
                c.us = min(before[0], c.us[0]), min(before[1], c.us[1])
                c.ratio = c.us[0] / c.us[1]
    text = table(cases)
    print(text)
    for c in cases:
        if c.trouble:
            print(f"{c.symbol} {c.op}, {c.what}: {c.trouble}", file=sys.stderr)
    if args.out:
        head, _, rest = args.out.read_text().partition(BEGIN)
        args.out.write_text(head + BEGIN + "\n" + text + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
