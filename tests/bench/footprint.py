#!/usr/bin/env python3
"""What programs take beside time: memory, code, start-up, system calls; and what a second compilation takes.

    python3 footprint.py --cameo PATH MODEL_FOLDER... [--out docs/performance.md] [--no-peer] [--cpu NAMES]

A folder holds model.onnx and test_data_set_0, whose sizes are compiled for. Each program is measured at one thread. With
--out the table between the marks `<!-- footprint -->` and `<!-- end of footprint -->` is replaced. What is promised
stands in the heading; a figure that does not keep it is marked by `!`.

    over      peak memory less the weights as packed and what no plan of memory can do without, in MB
    packed    weights as packed, over the bytes of the model's file
    shared    of the pages of the weights, those that two processes at a time have in common
    code      bytes that are executable
    calls     system calls that ten more runs make (strace), allocations being such or none
    start     from the start of the process to its first output, less the quickest run, and of that what the system takes to
              start and end a program that does nothing; then ONNX Runtime's over ours, of a program of C that calls its
              library (peer_start.c); and the same to the first output, run included
    compiled  time and processor time of a first compilation, processor time of a second one, s; the compiler's peak memory
              without mapped files, less the weights, MB
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import onnx
import onnx.numpy_helper

LIMITS = {"over": 3, "packed": 1.6, "code": 200, "calls": 0, "second": 0.3, "memory": 300}


def status_mb(pid, key, file="status"):
    """A line of /proc in MB, or None where the process has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return None
    found = re.search(rf"^{key}:\s+(\d+) kB", text, re.M)
    return int(found[1]) / 1024 if found else None


def cost(command, env):
    """Processor time, the greatest memory that is no mapped file (looked at every few milliseconds)."""
    child = subprocess.Popen([str(c) for c in command], env=env, stdout=subprocess.DEVNULL)
    most, begin = 0.0, time.perf_counter()
    while True:
        most = max(most, status_mb(child.pid, "RssAnon") or 0)
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.004)
    if status:
        raise SystemExit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, most


def executable_bytes(program):
    lines = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True).stdout.splitlines()
    return sum(int(l.split()[4], 16) for l in lines if l.split()[:1] == ["LOAD"] and " E " in f" {l} ".replace("RE", "R E"))


def weights_mapping(pid, size):
    """Rss and the part of it that others have too, of the mapping that holds the weights."""
    best = (0, 0)
    for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{pid}/smaps").read_text()):
        kb = {k: int(v) for k, v in re.findall(r"^(\w+):\s+(\d+) kB", part, re.M)}
        if kb.get("Size", 0) * 1024 >= size and kb.get("Rss", 0) > best[0]:
            best = (kb["Rss"], kb["Shared_Clean"] + kb["Shared_Dirty"])
    return best


def shared_weights(program, data, size):
    """Two at a time: the peak memory of one, and the share of the weights' pages that both have."""
    two = [subprocess.Popen([program, "--inputs-from", data, "--bench", "1000000"], stdout=subprocess.DEVNULL)
           for _ in range(2)]
    try:
        end = time.time() + 60
        rss = shared = peak = 0
        while time.time() < end and (rss * 1024 < 0.9 * size or not peak):
            time.sleep(0.5)
            (rss, shared), peak = weights_mapping(two[0].pid, size), status_mb(two[0].pid, "VmHWM")
        time.sleep(1)
        (rss, shared), peak = weights_mapping(two[0].pid, size), status_mb(two[0].pid, "VmHWM")
        return peak, shared / rss if rss else None
    finally:
        for p in two:
            p.kill()
            p.wait()


def calls(program, data, runs, scratch):
    log = scratch / "calls"
    subprocess.run(["strace", "-f", "-o", log, program, "--inputs-from", data, "--bench", str(runs)], check=True,
                   stdout=subprocess.DEVNULL)
    return len(log.read_text().splitlines())


def quickest(command):
    """Of the starts of a second, in ms; spawned, since a fork of this process costs more than some programs take."""
    best, to = 1e9, [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        begin = time.perf_counter()
        child = os.posix_spawn(command[0], [str(c) for c in command], os.environ, file_actions=to)
        if os.waitpid(child, 0)[1]:
            raise SystemExit(f"{command[0]} does not run")
        best = min(best, (time.perf_counter() - begin) * 1e3)
    return best


def first_output(program, data):
    """Of many starts the quickest, and that less the quickest run, in ms; starts and runs by turns."""
    whole = run = 1e9
    for _ in range(5):
        whole = min(whole, quickest([program, "--inputs-from", data]))
        done = subprocess.run([program, "--inputs-from", data, "--bench", "10"], check=True, capture_output=True)
        run = min(run, json.loads(done.stdout)["min_ms"])
    return whole, whole - run


def fixed_sizes(folder, data):
    """--dim NAME=SIZE for each named dim of the inputs, of the first data set."""
    sizes = {}
    for i, info in enumerate(onnx.load(folder / "model.onnx", load_external_data=False).graph.input):
        if (data / f"input_{i}.pb").exists():
            tensor = onnx.TensorProto.FromString((data / f"input_{i}.pb").read_bytes())
            dims = info.type.tensor_type.shape.dim
            sizes.update((d.dim_param, n) for d, n in zip(dims, tensor.dims) if d.dim_param)
    return [f"--dim={name}={n}" for name, n in sizes.items()]


def empty_start(scratch):
    """Of a few starts of a program that does nothing the quickest, in ms."""
    source, program = scratch / "empty.c", scratch / "empty"
    source.write_text("int main(void)\n{\n    return 0;\n}\n")
    subprocess.run(["cc", "-O2", source, "-o", program], check=True)
    return quickest([program])


def peer_program(scratch):
    """A program of C that loads ONNX Runtime's library, and what it is called with before a model; None: there is no such library."""
    found = importlib.util.find_spec("onnxruntime")
    folder = pathlib.Path(found.origin).parent / "capi" if found else pathlib.Path("/nowhere")
    library = next(iter(sorted(folder.glob("libonnxruntime.so*"))), None)
    program = scratch / "peer_start"
    if library:
        source = pathlib.Path(__file__).with_name("peer_start.c")
        subprocess.run(["cc", "-std=gnu11", "-O2", source, "-o", program, "-ldl"], check=True)
    return [program, library] if library else None


def peer_inputs(model, data, scratch):
    """DTYPE:DIMS:FILE of each input of the data set, in the order of the model's."""
    inputs = []
    for i in range(len(onnx.load(model, load_external_data=False).graph.input)):
        if not (data / f"input_{i}.pb").exists():
            break
        tensor = onnx.TensorProto.FromString((data / f"input_{i}.pb").read_bytes())
        (scratch / f"input_{i}").write_bytes(onnx.numpy_helper.to_array(tensor).tobytes())
        inputs.append(f"{tensor.data_type}:{','.join(map(str, tensor.dims))}:{scratch / f'input_{i}'}")
    return inputs


def peer_start(folder, data, scratch):
    """As first_output, of ONNX Runtime at one thread; None: there is none, or it does not run the model."""
    peer = peer_program(scratch)
    if not peer:
        return None
    model, whole, run = folder / "model.onnx", 1e9, 1e9
    inputs = peer_inputs(model, data, scratch)
    for _ in range(5):
        done = subprocess.run([*peer, model, "1", "10", *inputs], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return None
        run = min(run, json.loads(done.stdout)["min_ms"])
        whole = min(whole, quickest([*peer, model, "1", "0", *inputs]))
    return whole, whole - run


def mark(value, limit, form):
    return form.format(value) + ("" if value <= limit else " !")


def measure(folder, options, scratch):
    data, model = folder / "test_data_set_0", folder / "model.onnx"
    program, env = scratch / folder.name, dict(os.environ, XDG_CACHE_HOME=str(scratch / "cache"), CCACHE_DISABLE="1")
    command = [options.cameo, "compile", model, "-o", program, *fixed_sizes(folder, data),
               *(["--cpu", options.cpu] if options.cpu else [])]
    report = json.loads(subprocess.run([str(c) for c in [*command, "--report", "json", "--no-cache"]], check=True,
                                       capture_output=True, env=env).stdout)
    program.unlink()
    first, wall, memory = cost(command, env)
    program.unlink()
    second = min(cost(command, env) for _ in range(3))
    weights, bound = report["weights_bytes"], report["arena"].get("bound_bytes")
    peak, shared = shared_weights(program, data, weights)
    whole, start = first_output(program, data)
    theirs = None if options.no_peer else peer_start(folder, data, scratch)
    file_bytes = model.stat().st_size
    file_bytes += sum(f.stat().st_size for f in folder.iterdir() if f.is_file() and f != model)
    over = peak - (weights + (bound or 0)) / 2**20
    more = calls(program, data, 20, scratch) - calls(program, data, 10, scratch)
    limit = LIMITS["code"] * (1 if options.cpu and options.cpu != "portable" and "," not in options.cpu else 3)
    row = [folder.name, f"{weights / 1e6:.1f}", mark(weights / file_bytes, LIMITS["packed"], "{:.2f}"),
           "-" if bound is None else f"{bound / 1e6:.2f}", "-" if bound is None else mark(over, LIMITS["over"], "{:.1f}"),
           "-" if shared is None else f"{100 * shared:.0f} %", mark(executable_bytes(program) / 1e3, limit, "{:.0f}"),
           mark(more, LIMITS["calls"], "{}"), f"{start:.2f} ({empty_start(scratch):.2f})",
           f"{theirs[1] / start:.0f}x, {theirs[0] / whole:.1f}x" if theirs else "-",
           f"{wall:.1f} ({first:.1f})", mark(second[0], LIMITS["second"], "{:.2f}"),
           mark(memory - weights / 2**20, LIMITS["memory"], "{:.0f}")]
    print(" | ".join(row), file=sys.stderr, flush=True)
    return row


HEADING = ["model", "weights MB", "over the file (<= 1.6)", "bound of the plan MB", "memory over both MB (<= 3)",
           "weights shared by two", "code KB (<= 600)", "calls in runs (0)", "start ms (of an empty program)",
           "ONNX Runtime's start, first output over ours (20x, 10x or 4x)", "first compile s (of processors)", "second s (<= 0.3)",
           "compiler over weights MB (<= 300)"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--cpu")
    p.add_argument("--no-peer", action="store_true")
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(f, options, pathlib.Path(folder)) for f in options.folders]
    lines = [HEADING, ["---"] * len(HEADING), *rows]
    table = "\n".join(f"| {' | '.join(l)} |" for l in lines)
    if options.out:
        text = options.out.read_text()
        begin, end = "<!-- footprint -->\n", "<!-- end of footprint -->"
        head, rest = text.split(begin)
        options.out.write_text(head + begin + table + "\n" + end + rest.split(end)[1])
    else:
        print(table)


if __name__ == "__main__":
    main()
