#!/usr/bin/env python3
"""What the emulator and its libraries must do right: features.cu and features.c, plain and checked, by g++ and clang++."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from build import Tools, run as call  # noqa: E402


def main():
    wrong = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "features"
        call([os.environ.get("CC", "gcc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
              HERE / "features.c", "-o", program, "-ldl", "-lm"])
        for cxx in [c for c in ("g++", "clang++-19") if shutil.which(c)]:
            tools = Tools(cxx)
            for checked in (False, True):
                kernels = tools.kernels(HERE / "features.cu", folder / f"{cxx}{checked}.so", checked)
                for seed in range(4):
                    done = subprocess.run([str(program)], env=tools.environment(kernels, checked, seed),
                                          capture_output=True, text=True, timeout=60)
                    count += 1
                    if done.returncode:
                        wrong += 1
                        print(f"{cxx}{' checked' if checked else ''}, seed {seed}: exit {done.returncode}\n{done.stderr}")
    print(f"{count} runs, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
