"""A model as a program on the emulated device: what `cameo compile --device cuda --emit c` writes, unchanged."""

import pathlib
import subprocess

import build

MAIN = """\
#include "cameo_main.h"
extern const cameo_model emulated_model;
int main(int argc, char **argv) { return cameo_main(&emulated_model, argc, argv); }
"""
PARTS = ["cameo_main.c", "cameo_io.c", "cameo_pb.c", "cameo_lists.c"]

def emulated(cameo, root, model, folder, options=(), checked=False, tools=None, main=MAIN):
    """Builds in `folder`, around the C text `main`; the program and the environment that it runs in. RuntimeError with the
    words of the command that failed."""
    folder, runtime = pathlib.Path(folder), pathlib.Path(root) / "runtime"
    tools = tools or build.Tools()
    source = folder / "emulated.c"
    build.run([cameo, "compile", model, "--device", "cuda", "--emit", "c", "-o", source, *options])
    tools.kernels(folder / "emulated.cu", folder / "emulated.fatbin", checked)
    (folder / "emulated_main.c").write_text(main)
    program = folder / "emulated"
    build.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-I", runtime, source,
               folder / "emulated_main.c", *(runtime / p for p in PARTS), "-ldl", "-lm", "-o", program], cwd=folder)
    return program, tools.environment(checked=checked)
