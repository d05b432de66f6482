#!/usr/bin/env python3
"""real.py CAMEO ROOT: real models against their reference outputs, every data set, from `cameo verify`.

The models are looked for in $CAMEO_MODELS, then in ../shared/models beside the checkout. Where neither exists the
test says so and passes: users do not have them.
"""
import os
import pathlib
import subprocess
import sys


def find_models(root):
    places = [os.environ.get("CAMEO_MODELS"), root.parent / "shared" / "models"]
    for place in places:
        if place and pathlib.Path(place).is_dir():
            return pathlib.Path(place)
    return None


def main():
    cameo, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    models = find_models(root)
    if models is None:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
        return
    bad = 0
    for model in sorted(models.glob("*/model.onnx")):
        done = subprocess.run([cameo, "verify", model], capture_output=True, text=True)
        lines = (done.stdout + done.stderr).strip().splitlines()
        print(f"{model.parent.name}: {lines[-1] if lines else done.returncode}")
        refused = done.returncode == 1 and "not supported" in done.stderr
        bad += done.returncode != 0 and not refused
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
