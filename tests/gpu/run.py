#!/usr/bin/env python3
"""Builds what lies beside it for the GPU of this machine, runs it, compares, times, and prints one table.

    python3 run.py [--jobs N] [--filter RE] [--bench N] [--sanitizer N] [--json OUT]

Needs nvcc (CUDA toolkit), a C compiler and NumPy. compute-sanitizer runs on --sanitizer small cases and on each model where
the toolkit has it. Real models are timed beside ONNX Runtime and PyTorch (through onnx2torch) where these are installed and see a GPU.
Exit 1 if anything differs, fails or cannot be built.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ["cameo_main.c", "cameo_io.c", "cameo_pb.c", "cameo_lists.c"]
TABLES = np.load(HERE / "tables.npz")


# ---- tensors ---------------------------------------------------------------------------------------------------

PLAIN = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 12: "<u4",
         13: "<u8"}
IN_INT32 = {2, 3, 4, 5, 6, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}  # TensorProto.int32_data


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(value):
    """A repeated field of integers, packed or not."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        v, at = varint(value, at)
        out.append(v)
    return out


def narrow(values, size):
    return np.array([v & (1 << 8 * size) - 1 for v in values], dtype=f"<u{size}").tobytes()


def items(data, place=()):
    """The tensors of a serialized SequenceProto or OptionalProto, with their places."""
    for at, (number, value) in enumerate((n, v) for n, v in fields(data) if n > 2):
        if number == 3:
            yield (*place, at), bytes(value)
        elif number in (5, 7):
            yield from items(value, (*place, at))
        else:
            raise ValueError(f"an item of kind {number}")


def read_tensor(data):
    """(data type, dims, bytes or strings) of a serialized TensorProto."""
    dims, kind, raw, ints, typed, strings = [], 0, b"", [], b"", []
    for number, value in fields(data):
        if number == 1:
            dims += numbers(value)
        elif number == 2:
            kind = value
        elif number in (5, 7, 11):
            ints, typed = (ints + numbers(value), typed) if number != 11 else (ints, narrow(numbers(value), 8))
        elif number in (4, 10):
            typed += value
        elif number == 6:
            strings.append(bytes(value))
        elif number == 9:
            raw = value
    if kind == 8:
        return kind, dims, strings
    width = {21: 1, 22: 1, 23: 1, 25: 1, 26: 1, 16: 2}.get(kind) or np.dtype(PLAIN.get(kind, "u1")).itemsize
    data = bytes(raw) or bytes(typed) or narrow(ints, width)
    return kind, dims, data


def value_of(tensor):
    """float64, integers or strings, of any data type."""
    kind, dims, data = tensor
    if kind == 8:
        return np.array(data, object).reshape(dims)
    count = int(np.prod(dims, dtype=np.int64))
    if kind in PLAIN:
        v = np.frombuffer(data, PLAIN[kind])
        return (v.astype(np.float64) if v.dtype.kind == "f" else v).reshape(dims)
    if kind == 16:
        bits = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64).reshape(dims)
    codes = np.frombuffer(data, np.uint8)
    bits = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}.get(kind, 8)
    if bits < 8:
        codes = np.stack([codes >> s & (1 << bits) - 1 for s in range(0, 8, bits)], -1).ravel()
    codes = codes[:count].reshape(dims)
    return TABLES[str(kind)][codes] if str(kind) in TABLES else codes


def files_differ(got, want, is_list, rtol, atol):
    """None, or how two files differ."""
    if not got.exists():
        return f"{got.name} is not written"
    a, b = got.read_bytes(), want.read_bytes()
    if not is_list:
        return difference(a, b, rtol, atol)
    x, y = dict(items(a)), dict(items(b))
    if x.keys() != y.keys():
        return f"items {list(x)}, expected {list(y)}"
    return next((f"item {p}: {why}" for p in y if (why := difference(x[p], y[p], rtol, atol))), None)


def difference(got, want, rtol, atol):
    """None, or how two serialized tensors differ."""
    a, b = read_tensor(got), read_tensor(want)
    if a[:2] != b[:2]:
        return f"type and shape {a[:2]}, expected {b[:2]}"
    x, y = value_of(a), value_of(b)
    with np.errstate(all="ignore"):
        near = x == y
        if y.dtype.kind == "f":
            near |= (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= atol + rtol * np.abs(y))
    if near.all():
        return None
    i = int(np.argmin(near.ravel()))
    return f"{int((~near).sum())} of {near.size} elements differ, [{i}] is {x.ravel()[i]}, expected {y.ravel()[i]}"


def compare(out, data, rtol, atol, lists=()):
    for want in sorted(data.glob("output_*.pb")):
        try:
            is_list = int(want.stem.rpartition("_")[2]) in lists
            why = files_differ(out / want.name, want, is_list, rtol, atol)
        except (ValueError, KeyError, IndexError) as problem:
            why = f"{want.name} cannot be read: {problem!r}"
        if why:
            return why
    return None


# ---- building --------------------------------------------------------------------------------------------------


def call(command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", **options)


def find_tool(name):
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    beside = pathlib.Path(home) / "bin" / name
    return shutil.which(name) or (str(beside) if beside.exists() else None)


def find_architecture():
    """sm_NN of the first GPU; without nvidia-smi PTX alone."""
    smi = shutil.which("nvidia-smi")
    said = call([smi, "--query-gpu=compute_cap,name", "--format=csv,noheader"]).stdout if smi else ""
    found = re.match(r"(\d+)\.(\d+), (.*)", said)
    return (found.group(1) + found.group(2), found.group(3)) if found else (None, "no nvidia-smi")


class Builder:
    def __init__(self, options):
        self.nvcc, self.options = find_tool("nvcc"), options
        self.cc = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        if not self.nvcc or not self.cc:
            raise SystemExit("needs nvcc and a C compiler on the path")
        self.number, self.name = find_architecture()
        self.codes = [f"-gencode=arch=compute_{self.number},code=sm_{self.number}"] if self.number else \
            ["-gencode=arch=compute_75,code=compute_75"]

    def program(self, folder, stem, extra, out):
        """None, or what a compiler said. Paths in the sources are relative to `folder`."""
        runtime = HERE / "runtime"
        done = call([self.nvcc, "-std=c++17", "-O3", "-fatbin", *self.codes, "-o", f"{stem}.fatbin", f"{stem}.cu"], cwd=folder)
        if done.returncode == 0:
            done = call([self.cc, "-std=c11", "-D_GNU_SOURCE", "-O2", "-I", runtime, f"{stem}.c", *extra,
                         *(runtime / p for p in PARTS), "-o", out, "-ldl", "-lm"], cwd=folder)
        return None if done.returncode == 0 else (done.stderr or done.stdout)[-2000:]


# ---- cases -----------------------------------------------------------------------------------------------------


def run_unit(program, jobs):
    """Statuses by job; a new driver goes on behind a job that fails."""
    statuses, rest = {}, list(jobs)
    while rest:
        for _, data, out in rest:
            out.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{n}\t{data}\t{out}\n" for n, data, out in rest)
        try:
            done = call([program], input=lines, timeout=60 + 10 * len(rest))
            said, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            said, code = (late.stdout or b"").decode(errors="replace"), "no end"
        ended = [line.split("\t") for line in said.splitlines()]
        for (number, status), job in zip(ended, rest):
            statuses[job] = int(status)
        if len(ended) == len(rest):
            break
        if not ended or statuses[rest[len(ended) - 1]] == 0:
            statuses[rest[len(ended)]] = code
            ended.append(None)
        rest = rest[len(ended):]
    return statuses


def check_unit(builder, plan, index, names, options):
    """Rows (name, status, reason) of the cases of one unit."""
    unit = f"unit{index}"
    folder = HERE / "units" / unit
    said = builder.program(folder, unit, [HERE / "driver.c"], folder / unit)
    if said:
        return [(n, "not built", said.splitlines()[0] if said.splitlines() else "") for n in names]
    chosen = [(i, n) for i, n in enumerate(names) if re.search(options.filter, n)]
    jobs = [(i, d, HERE / "out" / n / d.name) for i, n in chosen for d in sorted((HERE / "cases" / n).glob("test_data_set_*"))]
    statuses, rows = run_unit(folder / unit, jobs), {}
    for job in jobs:
        number, data, out = job
        name, status = names[number], statuses.get(job)
        tolerance = plan["tolerance"][name]
        if status != 0:
            log = out / "log"
            text = log.read_text(errors="replace").strip()[-300:] if log.exists() else ""
            rows[name] = (name, "failed", f"status {status}: {text}")
            continue
        why = compare(out, data, tolerance["rtol"], tolerance["atol"], tolerance["lists"])
        if why or name not in rows:
            rows[name] = (name, "differs" if why else "passed", why or "")
    return list(rows.values())


def small_cases(plan, options):
    """(program, number, data, folder of outputs) of cases with little data, evenly spread over the suite."""
    small = []
    for index, names in enumerate(plan["units"]):
        program = HERE / "units" / f"unit{index}" / f"unit{index}"
        for number, name in enumerate(names):
            for data in sorted((HERE / "cases" / name).glob("test_data_set_0")):
                size = sum(f.stat().st_size for f in data.iterdir())
                if program.exists() and size < 4096 and re.search(options.filter, name):
                    small.append((program, number, data, HERE / "out" / name / data.name))
    step = max(1, len(small) // options.sanitizer)
    return small[::step][:options.sanitizer]


def sanitize(plan, models, options):
    """compute-sanitizer's four tools over some small cases and one run of each model: (tool, programs, those with errors,
    what it said first)."""
    tool = find_tool("compute-sanitizer")
    if not tool:
        print("SKIPPED: no compute-sanitizer in this toolkit")
        return []
    cases, runs = small_cases(plan, options), []
    for program in sorted({c[0] for c in cases}):
        runs.append(([program], "".join(f"{n}\t{d}\t{o}\n" for p, n, d, o in cases if p == program)))
    for m in models:
        folder = HERE / "models" / m["name"]
        if (folder / m["prefix"]).exists():
            runs.append(([folder / m["prefix"], "--inputs-from", folder / "test_data_set_0"], ""))

    def examine(which, run):
        try:
            done = call([tool, "--tool", which, "--error-exitcode", "9", *run[0]], input=run[1], timeout=options.patience)
        except subprocess.TimeoutExpired:
            return f"{run[0][0].name}: no end in {options.patience} s"
        said = [x for x in (done.stdout + done.stderr).splitlines() if x.startswith("=" * 9) and len(x) > 12]
        found = [x[9:].strip() for x in said if "COMPUTE-SANITIZER" not in x]
        return f"{run[0][0].name}: {'; '.join(found[:12]) or done.stderr[-200:]}" if done.returncode else ""

    rows, tools = [], ("memcheck", "racecheck", "synccheck", "initcheck")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        said = {which: [pool.submit(examine, which, run) for run in runs] for which in tools}
        for which in tools:
            errors = [e.result() for e in said[which] if e.result()]
            rows.append((which, len(runs), len(errors), "\n    ".join(errors)))
    return rows


# ---- models ----------------------------------------------------------------------------------------------------


def inputs_of(session_inputs, data):
    feed = {}
    for k, i in enumerate(session_inputs):
        kind, dims, raw = read_tensor((data / f"input_{k}.pb").read_bytes())
        feed[i.name] = np.frombuffer(raw, PLAIN[kind]).reshape(dims)
    return feed


def median_ms(run, count):
    for _ in range(10):
        run()
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times)[count // 2]


def time_onnxruntime(model, data, count):
    try:
        import onnxruntime as ort
    except ImportError:
        return None
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        return None
    session = ort.InferenceSession(str(model), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    feed = inputs_of(session.get_inputs(), data)
    return median_ms(lambda: session.run(None, feed), count)


def time_torch(model, data, count):
    try:
        import onnx
        import torch
        from onnx2torch import convert
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cudnn.allow_tf32 = False  # products of what both add in float32
    try:
        module = convert(str(model)).cuda().eval()
        weights = {w.name for w in onnx.load(model).graph.initializer}
        ports = [i for i in onnx.load(model).graph.input if i.name not in weights]
        feed = [torch.from_numpy(v.copy()).cuda() for v in inputs_of(ports, data).values()]
        with torch.no_grad():
            def run():
                module(*feed)
                torch.cuda.synchronize()
            return median_ms(run, count)
    except Exception as problem:  # a converter's own limits are not ours to fix
        print(f"torch: {model.parent.name}: {type(problem).__name__}: {str(problem)[:120]}")
        return None


def check_model(builder, row, options):
    folder = HERE / "models" / row["name"]
    result = {"name": row["name"], "status": "agrees", "reason": "", "cameo": None, "ort": None, "torch": None}
    program = folder / row["prefix"]
    said = builder.program(folder, row["prefix"], ["main.c"], program)
    if said:
        return dict(result, status="not built", reason=said.splitlines()[0])
    for data in sorted(folder.glob("test_data_set_*")):
        out = HERE / "out" / row["name"] / data.name
        done = call([program, "--inputs-from", data, "-o", out, "--format", "pb"], timeout=600)
        why = f"exit {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else \
            compare(out, data, row["rtol"], row["atol"])
        if why:
            return dict(result, status="failed" if done.returncode else "differs", reason=f"{data.name}: {why}")
    data = folder / "test_data_set_0"
    done = call([program, "--inputs-from", data, "--bench", options.bench], timeout=600)
    if done.returncode == 0:
        result["cameo"] = json.loads(done.stdout.strip().splitlines()[-1])["median_ms"]
    result["ort"] = time_onnxruntime(folder / "model.onnx", data, options.bench)
    result["torch"] = time_torch(folder / "model.onnx", data, options.bench)
    return result


# ---- the table -------------------------------------------------------------------------------------------------


def show(value):
    return "-" if value is None else f"{value:.3f}"


def has_products():
    """Is cuBLASLt found by the loader, as emitted programs look for it?"""
    for name in ("libcublasLt.so.13", "libcublasLt.so.12"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    p.add_argument("--filter", default="")
    p.add_argument("--bench", type=int, default=200)
    p.add_argument("--sanitizer", type=int, default=40)
    p.add_argument("--patience", type=int, default=300, help="seconds for a program under compute-sanitizer")
    p.add_argument("--json", type=pathlib.Path)
    options = p.parse_args()
    if (HERE / "cases.tar.xz").exists() and not (HERE / "cases").exists():
        with tarfile.open(HERE / "cases.tar.xz") as tar:
            tar.extractall(HERE)
    plan, begin = json.loads((HERE / "plan.json").read_text()), time.monotonic()
    builder = Builder(options)
    print(f"device: {builder.name}; kernels for {'sm_' + builder.number if builder.number else 'PTX'}; products by "
          f"{'cuBLASLt' if has_products() else 'own kernels: the loader finds no cuBLASLt'}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        units = [pool.submit(check_unit, builder, plan, i, names, options) for i, names in enumerate(plan["units"])]
        cases = [row for u in units for row in u.result()]
    chosen = [m for m in plan["models"] if re.search(options.filter, m["name"])]
    models = [check_model(builder, m, options) for m in chosen]  # one at a time: they are timed
    checks = sanitize(plan, chosen, options) if options.sanitizer > 0 else []
    for name, status, why in cases:
        if status != "passed":
            print(f"{status} {name}: {why}")
    print(f"\n{'what':28} {'result':12} {'cameo ms':>10} {'ORT ms':>10} {'torch ms':>10}")
    for m in models:
        print(f"{m['name']:28} {m['status']:12} {show(m['cameo']):>10} {show(m['ort']):>10} {show(m['torch']):>10} {m['reason']}")
    passed = sum(status == "passed" for _, status, _ in cases)
    print(f"{'backend suite':28} {passed} of {len(cases)} cases pass")
    for which, count, errors, said in checks:
        print(f"{'compute-sanitizer ' + which:28} {count} programs, {errors} with errors {said}")
    wrong = len(cases) - passed + sum(m["status"] != "agrees" for m in models) + sum(c[2] for c in checks)
    print(f"{wrong} wrong, {time.monotonic() - begin:.0f} s")
    if options.json:
        options.json.write_text(json.dumps({"device": builder.name, "models": models, "cases": cases, "sanitizer": checks}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
