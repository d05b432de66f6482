#!/usr/bin/env python3
"""export.py CACHE [--filter RE] [--again]: writes the networks of networks.py with PyTorch's two exporters.

Needs torch, torchvision and onnxscript (from PyPI), which no other test does; judge.py reads what this leaves.
CACHE/NAME.EXPORTER holds model.onnx, data_K.npz (inputs by name, of several sizes) and about.json; an exporter that
cannot write a network leaves about.json with its reason alone.
"""
import argparse
import json
import pathlib
import re
import warnings

import numpy as np
import onnx
import torch

from networks import NETWORKS

SETS = 3
torch.backends.mha.set_fastpath_enabled(False)  # what it calls has no form in ONNX
warnings.filterwarnings("ignore")


def dynamic_shapes(network, automatic):
    dims = {}

    def dim(name):
        return torch.export.Dim.DYNAMIC if automatic else dims.setdefault(name, torch.export.Dim(name))
    return tuple({a: dim(n) for a, n in axes.items()} for axes in network.inputs.values())


def write_script(network, arguments, path):
    torch.onnx.export(network.module, arguments, str(path), dynamo=False, input_names=list(network.inputs),
                      dynamic_axes=network.inputs, opset_version=network.opset or 17)


def write_dynamo(network, arguments, path):
    """Named dims first; where torch finds that they are not free, those that it leaves open."""
    for automatic in (False, True):
        try:
            program = torch.onnx.export(network.module, arguments, dynamo=True, input_names=list(network.inputs),
                                        dynamic_shapes=dynamic_shapes(network, automatic), opset_version=network.opset or 18,
                                        verbose=False, report=False)
            program.save(str(path))
            return
        except Exception:  # noqa: BLE001: the second one is said
            if automatic:
                raise


EXPORTERS = {"script": write_script, "dynamo": write_dynamo}


def reason_of(error):
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:160]


def names_of(path):
    model = onnx.load(path, load_external_data=False)
    weights = {w.name for w in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in weights]


def export(name, kind, cache):
    torch.manual_seed(0)
    network = NETWORKS[name]()
    if network.only not in (None, kind):
        return None
    network.module.eval()
    folder = cache / f"{name}.{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    sets = []
    for k in range(SETS):
        torch.manual_seed(k + 1)
        sets.append(network.draw(k))
    about = {"name": name, "exporter": kind, "torch": torch.__version__, "atol": network.atol}
    try:
        with torch.no_grad():
            EXPORTERS[kind](network, tuple(sets[0]), folder / "model.onnx")
        kept = names_of(folder / "model.onnx")
        for k, values in enumerate(sets):
            given = dict(zip(network.inputs, (v.numpy() for v in values)))
            np.savez(folder / f"data_{k}.npz", **{n: given[n] for n in kept})
    except Exception as e:  # noqa: BLE001: what an exporter cannot write is part of the table
        about["refused"] = reason_of(e)
        (folder / "model.onnx").unlink(missing_ok=True)
    (folder / "about.json").write_text(json.dumps(about, indent=1))
    return about


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cache", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("--again", action="store_true", help="also what the cache has already")
    options = p.parse_args()
    for name in NETWORKS:
        for kind in EXPORTERS:
            if not re.search(options.filter, f"{name}.{kind}"):
                continue
            if not options.again and (options.cache / f"{name}.{kind}" / "about.json").exists():
                continue
            about = export(name, kind, options.cache)
            if about:
                print(f"{name}.{kind}: {about.get('refused', 'written')}", flush=True)


if __name__ == "__main__":
    main()
