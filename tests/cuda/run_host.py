#!/usr/bin/env python3
"""run_host.py CAMEO: the emitted host side as a user of the driver.

The shipped classifier, compiled for CUDA and otherwise unchanged: equal answers for every order of blocks, threads and
nodes, with and without checks; nothing left allocated; a driver that fails any single call, or has no device, ends the program
with a message and a status, never with a crash, a wrong answer or status 0.
"""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import build  # noqa: E402
import program  # noqa: E402

IMAGE = ROOT / "examples/digits/image.npy"
wrong = []


def say(what, done):
    wrong.append(what)
    print(f"WRONG: {what}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")


def run(binary, env):
    try:
        return subprocess.run([str(binary), str(IMAGE)], env=env, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], -signal.SIGALRM, "", "does not end")


def check_orders(tools, binaries):
    answers = set()
    for checked, binary in binaries.items():
        for seed in range(6):
            done = run(binary, tools.environment(checked=checked, seed=seed, leaks=1))
            answers.add(done.stdout)
            if done.returncode:
                say(f"seed {seed}{', checked' if checked else ''}", done)
    if len(answers) != 1:
        wrong.append("orders")
        print(f"WRONG: {len(answers)} different answers in different orders")
    return answers.pop()


def check_failures(tools, binary, answer):
    """Fails the first, second and third call of every entry point that the program asks for."""
    names = re.findall(r"X\((cu\w+),", (ROOT / "runtime/cameo_cuda_api.h").read_text())
    count = 0
    for name in names:
        for number in (1, 2, 3):
            done = run(binary, tools.environment(fail=f"{name}:{number}"))
            if done.returncode == 0 and done.stdout == answer and not done.stderr:
                break  # it is not called so often
            count += 1
            if done.returncode <= 0 or done.returncode == 3 and "cuemu:" in done.stderr or not done.stderr.strip():
                say(f"call {number} of {name} fails", done)
    return count


def main():
    cameo = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder, tools, binaries = pathlib.Path(name), build.Tools(), {}
        for checked in (False, True):
            (folder / str(checked)).mkdir()
            binaries[checked], _ = program.emulated(cameo, ROOT, ROOT / "examples/digits/digits.onnx", folder / str(checked),
                                                    checked=checked, tools=tools)
        answer = check_orders(tools, binaries)
        count = check_failures(tools, binaries[False], answer)
        done = run(binaries[False], tools.environment(devices=0))
        if done.returncode <= 0 or not done.stderr.strip():
            say("no device", done)
        env = tools.environment()
        env.pop("LD_LIBRARY_PATH")
        done = run(binaries[False], env)
        if done.returncode <= 0 or "libcuda" not in done.stderr:
            say("no driver", done)
    print(f"12 orders, {count} failing calls, no device, no driver: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
