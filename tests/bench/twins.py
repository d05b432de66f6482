#!/usr/bin/env python3
"""What it costs that sizes are known only when a program runs.

    python3 twins.py --cameo PATH [MODEL_FOLDER...] [--rounds 9] [--threads 1] [--limit 1.10]

Every network is compiled twice: with the dims of its inputs named, and with all of these names fixed (--dim) to the sizes of
the data. Both run the same input by turns, pinned to as many cores as threads; the least times count. Of a model folder (as
make_models.py writes them) the batch is named, and rows and columns of images; beside those that are given there are two layers
of transformers with any number of tokens. Exit 1 where a program with sizes at run time takes more than --limit of the other's.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from floors import pinned
from pairs import TOKENS, Form, bert_layer, gpt2_layer


class AnyTokens(Form):
    """Shapes say 0, which is what the operand has, where the others say how many tokens there are."""

    def shape(self, x, *dims):
        return super().shape(x, *(0 if d == TOKENS else d for d in dims))


def of_layer(name, make, form):
    net = AnyTokens(form)
    net.name = name
    x = np.random.default_rng(3).standard_normal((1, TOKENS, 768)).astype(np.float32)
    make(net, net.input("x", ["batch", "tokens", 768], x))
    net.nodes[-1].output[0] = "y"
    net.output("y", None)
    return net, {"x": x}, {"batch": 1, "tokens": TOKENS}


def of_folder(folder):
    """The model with names for the first dim of each input, and for all but the channels of images."""
    model = onnx.load(folder / "model.onnx")
    weights = {w.name for w in model.graph.initializer}
    sizes, feeds = {}, {}
    del model.graph.value_info[:]
    for k, i in enumerate(i for i in model.graph.input if i.name not in weights):
        feeds[i.name] = numpy_helper.to_array(onnx.load_tensor(folder / "test_data_set_0" / f"input_{k}.pb"))
        dims = i.type.tensor_type.shape.dim
        for at in ([0, 2, 3] if len(dims) == 4 else [0]):
            name = "batch" if at == 0 else f"size{k}_{at}"
            dims[at].dim_param, sizes[name] = name, feeds[i.name].shape[at]
    for o in model.graph.output:
        o.type.tensor_type.ClearField("shape")
    return model, feeds, sizes


def programs(cameo, scratch, model, feeds, sizes):
    onnx.save(model, scratch / "model.onnx")
    np.savez(scratch / "data.npz", **feeds)
    fixed = [a for name, n in sizes.items() for a in ("--dim", f"{name}={n}")]
    for name, more in (("fixed", fixed), ("free", [])):
        subprocess.run([cameo, "compile", scratch / "model.onnx", "-o", scratch / name, *more], check=True)
    return [scratch / "fixed", scratch / "free"]


def measure(both, data, rounds, threads):
    least, runs = dict.fromkeys(both, math.inf), 3
    for _ in range(rounds + 1):
        for p in both:
            line = json.loads(pinned([p, data, "--bench", runs, "--threads", threads], threads).stdout)
            least[p] = min(least[p], line["min_ms"])
        runs = max(3, min(2000, int(60 / min(least.values()))))
    return [least[p] for p in both]


def networks(folders):
    for folder in folders:
        yield folder.name, *of_folder(folder)
    for name, make, form in (("BERT layer, pieces", bert_layer, "pieces"), ("GPT-2 layer, whole", gpt2_layer, "whole")):
        net, feeds, sizes = of_layer(name, make, form)
        yield name, net.model(), feeds, sizes


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("folders", nargs="*", type=pathlib.Path)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--limit", type=float, default=1.10)
    args = p.parse_args()
    beyond = 0
    print("| network | sizes fixed, ms | at run time, ms | ratio |\n|---|---|---|---|")
    for name, model, feeds, sizes in networks(args.folders):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            fixed, free = measure(programs(args.cameo, scratch, model, feeds, sizes), scratch / "data.npz", args.rounds,
                                  args.threads)
        beyond += free > args.limit * fixed
        print(f"| {name} | {fixed:.3f} | {free:.3f} | {free / fixed:.2f} |", flush=True)
    sys.exit(1 if beyond else 0)


if __name__ == "__main__":
    main()
