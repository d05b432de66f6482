"""Each kernel of broken/ is caught when built with BROKEN, and passes without, for several seeds."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CXX = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
CHECK = ["-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0"]
SEEDS = range(1, 9)


def build(folder, source, runtime, flags):
    program = folder / "program"
    kernels = folder / "kernels.o"
    subprocess.run([CXX, *FLAGS, *CHECK, *flags, "-x", "c++", "-include", HERE / "cuemu.h",
                    "-c", source, "-o", kernels], check=True)
    subprocess.run([CXX, "-no-pie", kernels, runtime, "-o", program], check=True)
    return program


def run(program, seed):
    return subprocess.run([program], env={**os.environ, "CUEMU_SEED": str(seed)}, timeout=60,
                          capture_output=True, text=True)


def main():
    wrong = 0
    sources = sorted((HERE / "broken").glob("*.cu"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runtime = folder / "cuemu.o"
        subprocess.run([CXX, *FLAGS, "-c", HERE / "cuemu.cc", "-o", runtime], check=True)
        for source in sources:
            expect = re.search(r"EXPECT: (.*)", source.read_text()).group(1)
            broken = build(folder, source, runtime, ["-DBROKEN"])
            caught = [r for r in (run(broken, s) for s in SEEDS)
                      if r.returncode == 3 and re.search(expect, r.stderr)]
            right = build(folder, source, runtime, [])
            passed = [r for r in (run(right, s) for s in SEEDS) if r.returncode == 0]
            good = len(caught) == len(passed) == len(SEEDS)
            wrong += not good
            print(f"{source.stem:24} caught {len(caught)}/{len(SEEDS)}, twin passed "
                  f"{len(passed)}/{len(SEEDS)}{'' if good else '  WRONG'}")
    print(f"{len(sources)} kernels, {wrong} wrong")
    return 1 if wrong or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
