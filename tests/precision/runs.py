"""Work in a process of its own, runs of ONNX Runtime above all: what ends that process is an error like any other."""
import multiprocessing
import os
import pickle
import signal

import numpy as np

LIMIT = 120  # seconds


class Ended(RuntimeError):
    """The process ended without an answer, or had none in time."""


def _answer(pipe, work):
    os.setpgrp()
    try:
        answer = work()
    except Exception as e:  # pylint: disable=broad-except
        answer = RuntimeError(f"{type(e).__name__}: {e}")
    pipe.send_bytes(pickle.dumps(answer))


def _run(model, feeds, optimized):
    import onnxruntime  # pylint: disable=import-outside-toplevel
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [session.run(None, f) for f in feeds]


def run(model, feeds, optimized=False):
    """The outputs of a model (its path, or its bytes) in order. RuntimeError: what ONNX Runtime says; Ended: it crashed or hangs."""
    return run_all(model, [feeds], optimized)[0]


def run_all(model, feeds, optimized=False):
    """The same for each of several inputs."""
    return alone(lambda: _run(model if isinstance(model, bytes) else str(model), feeds, optimized))


def alone(work, limit=LIMIT):
    """What work() gives. RuntimeError: what it raises. Past the limit it ends with all that it started."""
    here, there = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(there, work))
    process.start()
    there.close()
    try:
        answer = pickle.loads(here.recv_bytes()) if here.poll(limit) else None
    except EOFError:
        answer = None
    if answer is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    here.close()
    if answer is None:
        raise Ended(f"its process ended (status {process.exitcode})")
    if isinstance(answer, Exception):
        raise answer
    return answer


def distance(got, want):
    """The rms of the difference by the rms of the numbers; infinite where something is not finite that was."""
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind != "f" or not want.size:
        return 0.0
    if got.shape != want.shape:
        return np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not finite.any():
        return 0.0
    if not np.isfinite(got[finite]).all():
        return np.inf
    scale = max(np.sqrt((want[finite] ** 2).mean()), 1e-6)
    return float(np.sqrt(((got[finite] - want[finite]) ** 2).mean()) / scale)
