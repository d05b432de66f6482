#!/usr/bin/env python3
"""The driver's and cuBLASLt's declarations in runtime/ are those of the toolkit's headers (abi.c). Skipped where there
is no toolkit."""
import pathlib
import subprocess
import sys

import build

HERE = pathlib.Path(__file__).resolve().parent


def main():
    folder = build.toolkit()
    if not folder:
        print("SKIPPED: no CUDA toolkit is installed, its headers cannot be compared")
        return 77
    command = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-isystem",
               str(folder / "include"), "-I", str(HERE.parents[1] / "runtime"), str(HERE / "abi.c")]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
