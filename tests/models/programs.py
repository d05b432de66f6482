"""Random networks as programs: made node by node, compiled in one of several ways, given their feeds, run.

What a node of such a network computes, and how near a program has to come to it, is said by the tests that draw them.
"""
import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import helper

import rows

X86 = platform.machine() in ("x86_64", "AMD64")


class Network:
    """A graph that grows: its inputs with what they are given, weights, nodes, outputs."""

    opsets = {"": 21}
    ir_version = 10

    def __init__(self, random):
        self.random = random
        self.nodes, self.weights, self.inputs, self.outputs, self.feeds = [], [], [], [], {}

    def one_of(self, *values):
        return values[self.random.integers(len(values))]

    def save(self, path):
        graph = helper.make_graph(self.nodes, "network", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version), path)


def has_flag(flag):
    """Does this processor have it?"""
    return flag in pathlib.Path("/proc/cpuinfo").read_text()


def clang():
    return shutil.which("clang-19") or "clang"


def compiler(scratch, name, line, behind=""):
    """A C compiler that runs `line` with what it is given, and `behind` that; its path. It says another version than the one
    that it runs, whose units Cameo would take from its shelf."""
    path = scratch / name
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {name}\nexec {line} "$@" {behind}\n')
    path.chmod(0o755)
    return str(path)


def sanitized(scratch):
    """gcc with the address and undefined-behaviour sanitizers; None: it cannot link them."""
    path = compiler(scratch, "sanitized", "gcc -fsanitize=address,undefined -fno-sanitize-recover=all")
    probe = scratch / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    done = subprocess.run([path, probe, "-o", scratch / "probe"], capture_output=True)
    return path if done.returncode == 0 else None


def apart(scratch):
    """Options for each value in memory of its own, of which the address sanitizer sees the ends; exits where there is none."""
    if not sanitized(scratch):
        print("SKIPPED: gcc has no address sanitizer")
        raise SystemExit(77)
    return ["--apart", "--cc", compiler(scratch, "apart", "gcc -fsanitize=address", "-O1")]


def say_where_no_registers_are():
    if not has_flag("amx_bf16"):
        print("SKIPPED: this machine has no matrix registers; what runs without them was compared")


def build(cameo, net, scratch, options):
    """Compiles the network to scratch/net and saves its feeds; what the compiler prints."""
    net.save(scratch / "net.onnx")
    for name, value in net.feeds.items():
        np.save(scratch / f"{name}.npy", value)
    command = [cameo, "compile", scratch / "net.onnx", "-o", scratch / "net", *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def filled(threads):
    """The environment of a program: what the address sanitizer gives out holds ones, by several threads zeros. What nobody wrote
    is not read, or bits differ."""
    fill = f"max_malloc_fill_size={1 << 40}:malloc_fill_byte={255 if threads == 1 else 0}"
    return dict(os.environ, ASAN_OPTIONS=f"{os.environ.get('ASAN_OPTIONS', '')}:{fill}")


def run(net, scratch, threads=1):
    """The outputs of the program that was built last."""
    out = scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    feeds = [f"{name}={scratch / name}.npy" for name in net.feeds]
    subprocess.run([scratch / "net", *feeds, "-o", out, "--threads", str(threads)], check=True, env=filled(threads))
    return [np.load(out / f"{output.name}.npy") for output in net.outputs]


def differ_by_threads(net, scratch, options):
    """The outputs of the program that was built last, and how many have other bits with three threads than with one."""
    one, three = run(net, scratch, 1), run(net, scratch, 3)
    names = [o.name for o, a, b in zip(net.outputs, one, three) if a.tobytes() != b.tobytes()]
    if names:
        print(f"other bits with three threads than with one, with {options}: {', '.join(names)}")
    return one, len(names)


def check_for_any_threads(cameo, compare):
    """A check for in_turns: compare(network, outputs, options) says how many outputs are wrong; bits are those of any threads."""
    def check(net, scratch, options):
        build(cameo, net, scratch, ["--grain", "1", *options])
        outputs, others = differ_by_threads(net, scratch, options)
        return compare(net, outputs, options) + others
    return check


def arguments(programs, nodes):
    """The command line that these tests have in common, with the number of programs and of nodes in each by default."""
    p = argparse.ArgumentParser()
    p.add_argument("cameo")
    p.add_argument("--programs", type=int, default=programs)
    p.add_argument("--nodes", type=int, default=nodes)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--first", type=int, default=0, help="the first program")
    p.add_argument("--variant", type=int, help="only this one")
    p.add_argument("--apart", action="store_true", help="each value in memory of its own, under the address sanitizer")
    p.add_argument("--rows", action="store_true", help="each for a target and a processor's row at random (rows.py)")
    return p.parse_args()


def check_by_row(args, net, scratch, options, i, check):
    """The check, for targets and by a row of the program's own (rows.py), which is printed where it fails."""
    row = scratch / "row"
    options, failed = rows.options(np.random.default_rng([args.seed, i, 1]), row, options), 1
    try:
        result = check(net, scratch, options)
        failed = np.ravel(result)[-1]
    finally:
        if failed:
            print(f"program {i}, {' '.join(options)}: {row.read_text()}", flush=True)
    return result


def in_turns(args, variants, draw, check):
    """Checks `draw(random, i)` for each program i, compiled as its turn among variants(scratch) says: check(network, scratch,
    options). What the checks return, added up."""
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        kinds = [apart(scratch)] if args.apart else variants(scratch)
        for i in range(args.first, args.first + args.programs):
            net = draw(np.random.default_rng([args.seed, i]), i)
            options = kinds[(i if args.variant is None else args.variant) % len(kinds)]
            total = total + (check_by_row(args, net, scratch, options, i, check) if args.rows else check(net, scratch, options))
    return total
