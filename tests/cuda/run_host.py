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

LENT = """\
#include "cameo_model.h"
#include <stdio.h>
#include <string.h>
extern const cameo_model emulated_model;
static _Alignas(64) float lent[16];
int main(void)
{
    const cameo_model *m = &emulated_model;
    float image[64];
    const int64_t dims[] = {1, 1, 8, 8};
    cameo_context *c = m->create(NULL);
    for (int i = 0; i < 64; i++)
        image[i] = (float)(i % 17);
    if (!c || m->set_input(c, 0, 1, m->inputs[0].rank, dims, image) || m->run(c))
        return 1;
    float own[10];
    memcpy(own, m->output(c, 0, NULL, NULL), sizeof own);
    if (m->set_output(c, 0, lent, 39) || m->run(c) == 0)
        return 2;
    puts(m->error(c));
    if (m->set_output(c, 0, lent, 40) || m->run(c) || m->output(c, 0, NULL, NULL) != lent)
        return 3;
    m->destroy(c);
    return memcmp(own, lent, sizeof own) ? 4 : 0;
}
"""
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


def check_lent(cameo, folder, tools):
    """Outputs come to memory of the caller's as to the context's own."""
    binary, env = program.emulated(cameo, ROOT, ROOT / "examples/digits/digits.onnx", folder, tools=tools, main=LENT)
    done = subprocess.run([binary], env=env, capture_output=True, text=True, timeout=60)
    if done.returncode or "takes 40 bytes, but the memory for it has 39" not in done.stdout:
        say("memory of the caller's", done)


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
        (folder / "lent").mkdir()
        check_lent(cameo, folder / "lent", tools)
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
