#!/usr/bin/env python3
"""Writes models in the idioms of exporters as a suite for tests/conformance/run.py: idioms.py OUT [--filter RE]

Each idiom is a small model, most in ONNX's textual syntax, and several sets of inputs of different sizes that one
program has to serve. What they must give is said by ONNX Runtime with its optimizations off.
"""
import argparse
import json
import pathlib
import re

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser

import idioms_forms
import idioms_graphs
import idioms_half
import idioms_shapes

FAMILIES = (idioms_shapes, idioms_graphs, idioms_forms, idioms_half)
onnxruntime.set_default_logger_severity(4)


def expected(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


class Suite:
    """The folder that is written. Inputs are drawn from a generator that the idiom's name seeds."""

    def __init__(self, out, only):
        self.out, self.only, self.rows, self.wrong = out, only, [], []

    def text(self, name, text, *sets, **more):
        """A model in textual syntax without its header; "opset" (default 17), "ir", "also" (other imports) make that."""
        also = "".join(f', "{d}" : {v}' for d, v in more.pop("also", {}).items())
        header = f'<ir_version: {more.pop("ir", 8)}, opset_import: ["" : {more.pop("opset", 17)}{also}]>\n'
        self.model(name, lambda: parser.parse_model(header + text), *sets, **more)

    def model(self, name, build, *sets, rtol=1e-3, atol=1e-4, asked=None, save=onnx.save):
        """`build()` gives the model, each of `sets` (inputs by name, or a function of a generator) a set of inputs.
        `asked`: an equal model for ONNX Runtime where it does not take this one."""
        if not re.search(self.only, name):
            return
        folder = self.out / name
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(sum(name.encode()))
        try:
            model = build()
            save(model, folder / "model.onnx")
            oracle = folder / "model.onnx"
            if asked:
                oracle = folder / "asked.onnx"
                onnx.save(asked(), oracle)
            weights = {w.name for w in model.graph.initializer}
            order = [i.name for i in model.graph.input if i.name not in weights]
            for k, feeds in enumerate(sets or ({},)):
                feeds = {n: np.asarray(a) for n, a in (feeds(random) if callable(feeds) else feeds).items()}
                results = expected(oracle, feeds)
                data = folder / f"test_data_set_{k}"
                data.mkdir(exist_ok=True)
                self.write(data, "input", [(n, feeds[n]) for n in order])
                self.write(data, "output", zip((o.name for o in model.graph.output), results))
        except Exception as e:  # noqa: BLE001: said at the end with the idiom's name
            self.wrong.append(f"{name}: {str(e)[:400]}")
            return
        (folder / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol, "known_draws": True}))
        self.rows.append({"name": name, "kind": "node"})

    @staticmethod
    def write(data, kind, values):
        for k, (name, value) in enumerate(values):
            proto = numpy_helper.from_list(value, name) if isinstance(value, list) else numpy_helper.from_array(np.asarray(value), name)
            (data / f"{kind}_{k}.pb").write_bytes(proto.SerializeToString())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--filter", default="")
    options = p.parse_args()
    suite = Suite(options.out, options.filter)
    for family in FAMILIES:
        family.write(suite)
    (options.out / "cases.json").write_text(json.dumps(suite.rows))
    print("\n".join(suite.wrong))
    print(len(suite.rows), "idioms,", len(suite.wrong), "not written")
    raise SystemExit(1 if suite.wrong else 0)


if __name__ == "__main__":
    main()
