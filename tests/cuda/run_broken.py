#!/usr/bin/env python3
"""Each kernel and host program of broken/ is caught when built with BROKEN, and passes without, for several seeds.

A kernel (.cu) is run by drive.c with the arguments of its RUN line, checked. A host program (.c) runs with the
kernels of hosts.cu, checked and plain. EXPECT is what the fault must say; PLAIN, where it is given, what a run without
checks must say instead; SETTINGS are further settings of the emulated driver.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from build import Tools, run as call  # noqa: E402

SEEDS = range(0, 9)
CC = os.environ.get("CC", "gcc")
HOST = [CC, "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror"]


def line(text, key):
    found = re.search(key + r": (.*)", text)
    return found.group(1).strip() if found else None


def execute(program, env):
    done = subprocess.run([str(p) for p in program], env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def outcome(runs, expect):
    """How many runs failed as they should."""
    return sum(1 for status, said in runs if status != 0 and re.search(expect, said))


def kernel_case(tools, folder, source, drive):
    text, result = source.read_text(), {}
    for name, defines in (("broken", ["-DBROKEN"]), ("twin", [])):
        objects = tools.kernels(source, folder / f"{source.stem}-{name}.so", True, defines=defines)
        result[name] = [execute([drive, *line(text, "RUN").split()], tools.environment(objects, True, s)) for s in SEEDS]
    caught = sum(status == 3 and bool(re.search("cuemu: .*(" + line(text, "EXPECT") + ")", said))
                 for status, said in result["broken"])
    return caught, sum(status == 0 for status, _ in result["twin"]), result


def host_case(tools, folder, source, kernels):
    text, caught, passed, result = source.read_text(), [], [], {}
    settings = dict(p.split("=") for p in (line(text, "SETTINGS") or "").split())
    for name, defines in (("broken", ["-DBROKEN"]), ("twin", [])):
        program = folder / f"{source.stem}-{name}"
        call([*HOST, *defines, source, "-o", program, "-ldl"])
        for checked, objects in kernels.items():
            expect = (not checked and line(text, "PLAIN")) or line(text, "EXPECT")
            runs = [execute([program], tools.environment(objects, checked, s, **settings)) for s in SEEDS]
            # A graph in random order may run rightly by luck: without checks the newest-first order decides.
            luck = name == "broken" and not checked and line(text, "PLAIN")
            result[name, checked] = runs[:1] if luck else runs
            if name == "broken":
                caught.append(outcome(result[name, checked], expect) == len(result[name, checked]))
            else:
                passed += [status == 0 for status, _ in runs]
    return len(SEEDS) if all(caught) else 0, len(SEEDS) if all(passed) else 0, result


def main():
    tools, wrong = Tools(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        drive = folder / "drive"
        call([*HOST, HERE / "broken/drive.c", "-o", drive, "-ldl"])
        hosts = {c: tools.kernels(HERE / "broken/hosts.cu", folder / f"hosts{c}.so", c) for c in (False, True)}
        kernels = [p for p in sorted((HERE / "broken").glob("*.cu")) if p.stem != "hosts"]
        programs = [p for p in sorted((HERE / "broken").glob("*.c")) if p.stem != "drive"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cases = [(p, pool.submit(kernel_case, tools, folder, p, drive)) for p in kernels] + \
                [(p, pool.submit(host_case, tools, folder, p, hosts)) for p in programs]
        for source, case in cases:
            caught, passed, result = case.result()
            good = caught == passed == len(SEEDS)
            wrong += not good
            print(f"{source.name:26} caught {caught}/{len(SEEDS)}, repaired passes {passed}/{len(SEEDS)}"
                  f"{'' if good else '  WRONG'}")
            if not good:
                print(f"  {result}")
    print(f"{len(cases)} broken on purpose, {wrong} not caught or not passing when repaired")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
