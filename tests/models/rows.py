"""Rows of processors at random, for --tuning: every column of codegen/cpu/processors.def at its edges, at values between, or left out.

Whatever a row says, what a program computes is right.
"""
import pathlib
import platform
import re

X86 = platform.machine() in ("x86_64", "AMD64")
FLAGS = pathlib.Path("/proc/cpuinfo").read_text().split()
TABLE = pathlib.Path(__file__).resolve().parent.parent.parent / "codegen" / "cpu" / "processors.def"
KINDS = {"lanes": (4, 8, 16), "rows": (0, 4, 8), "step": (0, 1, 2, 4, 8), "deep": (0, 64, 96, 128, 256),
         "squares": (0, 1), "words": (0, 1), "quotients": (0, 1, 2), "once": (0, 1, 2)}
TARGETS = [("x86-64", None), ("x86-64-v2", "sse4_2"), ("haswell", "avx2"), ("x86-64-v3", "avx2"), ("znver2", "clzero"),
           ("skylake-avx512", "avx512bw"), ("x86-64-v4", "avx512bw"), ("x86-64-v4+avx512vnni", "avx512_vnni"),
           ("x86-64-v4+avx512vnni+avx512bf16", "avx512_bf16")]


def columns():
    """Name, least and greatest value of each."""
    found = re.findall(r"^COLUMN\((\w+), ([\d.]+), ([\d.]+),", TABLE.read_text(), re.M)
    return [(name, float(least), float(most)) for name, least, most in found]


def value_of(random, name, least, most):
    if name in KINDS:
        return KINDS[name][random.integers(len(KINDS[name]))]
    kind = random.integers(6)
    if kind < 3:
        return (least, most, least or 1)[kind]
    low = max(least, 1 if most > 100 else 1e-2)
    v = low * (most / low) ** random.random()
    return min(most, round(v) if most > 100 else v)


def draw(random, path):
    """Writes one row there; its text."""
    cells = []
    for name, least, most in columns():
        if least > 0 or random.integers(2):
            cells.append(f".{name} = {value_of(random, name, least, most):.9g}")
    path.write_text(f'PROCESSOR(" some ", {", ".join(cells)})\n')
    return path.read_text()


def targets(random):
    """One or, now and then, several, the best one last: the same on any machine, but for those that it does not run, each of
    which is the best below it."""
    some = random.choice(len(TARGETS), int(1 + 2 * (random.integers(5) == 0)), replace=False)
    able = [i for i, (_, flag) in enumerate(TARGETS) if X86 and (not flag or flag in FLAGS)]
    return ",".join(TARGETS[i][0] for i in sorted({max(k for k in able if k <= i) for i in some})) if able else "native"


def options(random, path, others):
    """`others`, for targets and by a row of their own, which is written to `path`, or by those of the table."""
    kept, skip = [], False
    for o in others:
        if not skip and o not in ("--cpu", "--no-override"):
            kept.append(o)
        skip = o == "--cpu"
    draw(random, path)
    strict = ["--strict-fp"] if random.integers(10) == 0 and "--strict-fp" not in kept else []
    return [*kept, *strict, "--cpu", targets(random), *(["--tuning", str(path)] if random.integers(5) else [])]
