"""Runtimes that programs of Cameo are timed against: each stays loaded in a process of its own, `python -c SOURCE FOLDER THREADS
[PRECISION]`, which is f32 or bf16 where the runtime can be told, else f32.

It prints a JSON line: `start_ms` from creating the model to its first output, and `error`: the greatest root mean square of the
difference to an output of the data set, as a share of that output's. Then it answers each line of its standard input, a number of
runs, with another: `times` of these runs in ms, after one that is not counted, and `rss_kb`, the greatest memory of the process.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

COMMON = """
import json, pathlib, resource, sys, time
import numpy as np, onnx
from onnx import numpy_helper
folder, threads = pathlib.Path(sys.argv[1]), int(sys.argv[2])
precision = sys.argv[3] if len(sys.argv) > 3 else "f32"

def tensor(name):
    t = onnx.TensorProto(); t.ParseFromString((folder / "test_data_set_0" / name).read_bytes())
    return numpy_helper.to_array(t)

def measure(start, run):  # start(): a function of an input's number; run(): outputs
    begin = time.perf_counter()
    start()
    outputs = run()
    first = time.perf_counter()
    error = 0.0
    for k, y in enumerate(outputs):
        want = tensor(f"output_{k}.pb")
        if want.dtype.kind == "f" and want.size:
            wide = want.astype(np.float64)
            error = max(error, float(np.sqrt(np.mean((y - wide) ** 2) / max(np.mean(wide ** 2), 1e-300))))
    print(json.dumps({"start_ms": (first - begin) * 1e3, "error": error}), flush=True)
    for line in sys.stdin:
        run()
        times = []
        for _ in range(int(line)):
            a = time.perf_counter(); run(); times.append((time.perf_counter() - a) * 1e3)
        print(json.dumps({"times": times, "rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}), flush=True)
"""
ONNXRUNTIME = COMMON + """
import onnxruntime as ort
ort.set_default_logger_severity(3)
state = {}
def start():
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    state["s"] = s = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    state["x"] = {info.name: tensor(f"input_{i}.pb") for i, info in enumerate(s.get_inputs())}
measure(start, lambda: state["s"].run(None, state["x"]))
"""
# One stream, as its guide to latency says, and the precision that is asked for: a processor with bfloat16 would compute in
# that otherwise.
OPENVINO = COMMON + """
import openvino as ov
state = {}
def start():
    core = ov.Core()
    model = core.compile_model(core.read_model(str(folder / "model.onnx")), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": precision})
    state["r"] = r = model.create_infer_request()
    for i in range(len(model.inputs)):
        r.set_input_tensor(i, ov.Tensor(np.array(tensor(f"input_{i}.pb"), order="C")))
    state["n"] = len(model.outputs)
def run():
    state["r"].infer()
    return [state["r"].get_output_tensor(i).data for i in range(state["n"])]
measure(start, run)
"""


class Peer:
    def __init__(self, name, module, source):
        self.name, self.module, self.source = name, module, source

    def installed(self):
        return importlib.util.find_spec(self.module) is not None

    def version(self):
        return __import__(self.module).__version__.split("-")[0]

    def megabytes(self):
        """Of the libraries that it ships."""
        folder = pathlib.Path(__import__(self.module).__file__).parent
        return sum(p.stat().st_size for p in folder.rglob("*.so*")) / 1e6

    def loaded(self, command, folder, threads, precision):
        """One that has run the model once, by a Python that `command` starts; None where it does not load it."""
        errors = tempfile.TemporaryFile("w+")
        process = subprocess.Popen([*map(str, [*command, sys.executable, "-c", self.source, folder, threads, precision])],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        first = process.stdout.readline()
        if first:
            return Loaded(process, json.loads(first))
        process.wait()
        errors.seek(0)
        print(f"{folder.name}: {self.name}: {errors.read().strip().splitlines()[-1:]}", file=sys.stderr)
        return None


class Loaded:
    """A peer that waits for rounds. `first`: what it said of its first run."""

    def __init__(self, process, first):
        self.process, self.first, self.rounds = process, first, []

    def round(self, runs):
        print(runs, file=self.process.stdin, flush=True)
        self.rounds.append(json.loads(self.process.stdout.readline()))

    def end(self):
        self.process.communicate()


PEERS = (Peer("ONNX Runtime", "onnxruntime", ONNXRUNTIME), Peer("OpenVINO", "openvino", OPENVINO))
