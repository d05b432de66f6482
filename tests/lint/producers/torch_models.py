#!/usr/bin/env python3
"""torch_models.py FOLDER [--filter RE]: the networks of networks.py and pictures.py, as PyTorch's two exporters write them, FOLDER/NAME.EXPORTER/model.onnx.

Needs torch and torchvision. What an exporter cannot write is named, and is not a failure: no model is what is asked of it.
"""
import argparse
import pathlib
import re
import warnings

import torch


from pictures import NETWORKS

torch.backends.mha.set_fastpath_enabled(False)  # what it calls has no form in ONNX
warnings.filterwarnings("ignore")


def write_script(module, given, axes, path):
    torch.onnx.export(module, tuple(given.values()), str(path), dynamo=False, input_names=list(given), dynamic_axes=axes,
                      opset_version=17)


def write_dynamo(module, given, axes, path):
    shapes = tuple({a: torch.export.Dim.AUTO for a in axes.get(n, {})} for n in given)
    program = torch.onnx.export(module, tuple(given.values()), dynamo=True, input_names=list(given), dynamic_shapes=shapes,
                                opset_version=20, verbose=False, report=False)
    program.save(str(path))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--filter", default="")
    options = p.parse_args()
    written = 0
    for name, make in NETWORKS.items():
        for kind, write in (("script", write_script), ("dynamo", write_dynamo)):
            if not re.search(options.filter, f"{name}.{kind}"):
                continue
            torch.manual_seed(0)
            module, given, axes = make()
            path = options.folder / f"{name}.{kind}" / "model.onnx"
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with torch.no_grad():
                    write(module.eval(), given, axes, path)
                written += 1
            except Exception as e:  # noqa: BLE001: said by name
                path.unlink(missing_ok=True)
                path.parent.rmdir()
                print(f"{name}.{kind}: not exported: {str(e).strip().splitlines()[0][:150]}", flush=True)
    print(written, "models in", options.folder)


if __name__ == "__main__":
    main()
