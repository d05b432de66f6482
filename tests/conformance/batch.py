"""The backend suite as a few programs: C of a few hundred cases in each translation unit, one driver.

`build_and_run` is the whole of it for one target: cases in, (status, reason) by name out. A target says how a case
is compiled to C, and how units and driver become a program (class Target); targets are listed in TARGETS.
"""
import concurrent.futures
import json
import math
import os
import re
import shutil
import subprocess
import time

import onnx

import draws
import values

DRIVER = """\
/* Runs jobs from stdin, "number TAB limit TAB data set TAB folder of outputs", each in a child of its own;
 * prints "number TAB exit status", or minus the signal. */
#include "cameo_main.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

%(declarations)s
static const cameo_model *const models[] = {%(table)s};

static void child(const cameo_model *model, unsigned limit, char *set, char *out)
{
    char path[4096];
    char *argv[] = {"case", "--inputs-from", set, "-o", out, "--format", "pb", NULL};
    snprintf(path, sizeof path, "%%s/log", out);
    int log = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
    if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(99);
    alarm(limit);
    exit(cameo_main(model, 7, argv));
}

int main(void)
{
    static char line[16384];
    while (fgets(line, sizeof line, stdin)) {
        char *number = strtok(line, "\\t\\n"), *limit = strtok(NULL, "\\t\\n");
        char *set = strtok(NULL, "\\t\\n"), *out = strtok(NULL, "\\t\\n");
        if (!out)
            return 98;
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            child(models[atoi(number)], (unsigned)atoi(limit), set, out);
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
            return 97;
        printf("%%s\\t%%d\\n", number, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
"""


class Case:
    """One folder of the suite on its way through."""

    def __init__(self, number, folder, kind):
        self.number, self.folder, self.name, self.kind = number, folder, folder.name, kind
        self.symbol = f"case{number}"
        self.status, self.reason = None, ""
        self.drawn = None  # draws.Drawn: judged, not compared
        tolerance = json.loads((folder / "tolerance.json").read_text())
        self.rtol, self.atol, self.noise = tolerance["rtol"], tolerance["atol"], "noise" in tolerance
        self.model = onnx.load(folder / "model.onnx", load_external_data=False)
        self.sets = sorted(folder.glob("test_data_set_*"),
                           key=lambda p: int(p.name.rpartition("_")[2]))

    def end(self, status, reason=""):
        self.status, self.reason = status, reason[:600]

    def operators(self):
        """Every operator of the graph, its subgraphs and functions."""
        names, graphs = set(), [self.model.graph]
        nodes = [n for f in self.model.functions for n in f.node]
        while graphs:
            nodes += graphs.pop().node
            for n in nodes:
                names.add(n.op_type)
                for a in n.attribute:
                    graphs += [a.g] if a.HasField("g") else list(a.graphs)
            nodes = []
        return names


class Target:
    """C on the host. Other targets override what differs."""
    ending = ".c"

    def __init__(self, options, root, work):
        self.options, self.root, self.work = options, root, work
        # By a path that does not tell where this checkout is: what was compiled in another is in the cache too.
        if not (work / "runtime").exists():
            (work / "runtime").symlink_to((root / "runtime").resolve())
        self.flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", options.optimize, "-march=native",
                      "-fno-math-errno", "-fno-trapping-math", "-I", "runtime"]
        if "clang" in options.compiler:  # which warns of what its own -march=native says on some processors
            self.flags.append("-Wno-invalid-feature-combination")
        self.cache = ["ccache"] if shutil.which("ccache") else []
        self.env = dict(os.environ)
        if options.sanitize:
            # Inlined into one another, the instrumented kernels of a network take minutes to compile.
            self.flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-inline"]
            self.env["ASAN_OPTIONS"] = ("abort_on_error=0:exitcode=77:detect_leaks=1:allocator_may_return_null=1:"
                                        + os.environ.get("ASAN_OPTIONS", ""))
            self.env["UBSAN_OPTIONS"] = "halt_on_error=1:exitcode=77:print_stacktrace=1"

    def emit_command(self, case):
        command = [self.options.cameo, "compile", str(case.folder / "model.onnx"), "--emit", "c",
                   "-o", str(self.work / (case.symbol + self.ending)), "--prefix", case.symbol]
        if case.kind == "light":  # whole networks; their weights are read from a file
            command += ["--weights", "file"]
        command += ["--no-override"] if self.options.no_override else []
        command += ["--no-fuse"] if self.options.no_fuse else []
        command += ["--gemm", self.options.gemm] if self.options.gemm else []
        if self.options.threads > 1:  # shares as small as can be, so that small cases have some
            command += ["--threads", str(self.options.threads), "--grain", "1"]
        return command

    def compile_command(self, source, out):
        return [*self.cache, self.options.compiler, *self.flags, "-c", source, "-o", out]

    def link_command(self, objects, out):
        blas = ["-lopenblas"] if self.options.gemm == "openblas" else []
        return [self.options.compiler, *self.flags, *objects, "-o", out, *blas, "-lm"]

    def compile_unit(self, cases, name):
        """One unit of these cases: None, or what the compiler said."""
        text = "".join(f'#include "{c.symbol}{self.ending}"\n' for c in cases)
        (self.work / (name + self.ending)).write_text(text)
        return call(self, self.compile_command(name + self.ending, name + ".o"))

    def environment(self, name):
        """In which the cases of a unit run."""
        return self.env

    def driver_sources(self):
        return [str(self.root / "runtime" / f"cameo_{n}.c") for n in ("main", "io", "pb", "lists")]


TARGETS = {"cpu": Target}


def call(target, command):
    """None, or what a failing command said."""
    done = subprocess.run(command, cwd=target.work, capture_output=True, text=True, errors="replace")
    return None if done.returncode == 0 else (done.stderr or done.stdout or "failed")


def names_operator(case, said):
    return any(re.search(rf"\b{re.escape(op)}\b", said) for op in case.operators())


def emit(target, case):
    """C of one case, or the end of it: refused, or failed."""
    try:
        done = subprocess.run(target.emit_command(case), capture_output=True, text=True, timeout=120,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return case.end("failed", "compile takes over 120 s")
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode == 1 and "not supported" in done.stderr:
        said = next(line for line in lines if "not supported" in line)
        if names_operator(case, done.stderr):
            return case.end("refused", said)
        return case.end("failed", "a refusal that names no operator: " + said)
    if done.returncode != 0:
        kind = "crashed" if done.returncode < 0 or done.returncode > 100 else "failed"
        return case.end(kind, f"compile, exit {done.returncode}: " + " | ".join(lines[-4:]))
    return None


# ---- units -----------------------------------------------------------------------------------------------------


def make_units(target, cases, size, jobs):
    """Lists of cases of about the same amount of text."""
    count = max(jobs, -(-len(cases) // size))
    units = [[0, []] for _ in range(count)]
    weight = {c: (target.work / (c.symbol + target.ending)).stat().st_size for c in cases}
    for case in sorted(cases, key=lambda c: (-weight[c], c.number)):
        least = min(units, key=lambda u: u[0])
        least[0] += weight[case]
        least[1].append(case)
    return [sorted(u[1], key=lambda c: c.number) for u in units if u[1]]


def compile_unit(target, unit, name):
    """The object of a unit; cases that the compiler rejects are failed and left out."""
    said = target.compile_unit(unit, name)
    if said is None:
        return name + ".o"
    named = [c for c in unit if re.search(rf"\b{c.symbol}{re.escape(target.ending)}:", said)]
    for case in named or unit:
        alone = target.compile_unit([case], f"{name}_{case.symbol}")
        if alone is not None:
            first = next((line for line in alone.splitlines() if "error" in line), alone[:300])
            case.end("failed", "the C compiler: " + first)
    rest = [c for c in unit if c.status is None]
    if len(rest) == len(unit) or (rest and target.compile_unit(rest, name) is not None):
        for case in rest:
            case.end("failed", "its unit is rejected by the C compiler: " + said[:300])
    return name + ".o" if any(c.status is None for c in unit) else None


def libraries(target, cases):
    """What the headlines of the emitted C say to link with."""
    flags = set()
    for case in cases:
        with open(target.work / (case.symbol + target.ending), errors="replace") as f:
            flags.update(re.findall(r"-l\w+", re.sub(r".* as C11", "", f.readline())))
    return sorted(flags)


def link(target, cases, objects):
    declarations = "".join(f"extern const cameo_model {c.symbol}_model;\n" for c in cases)
    table = "".join(f"\n    [{c.number}] = &{c.symbol}_model," for c in cases)
    (target.work / "driver.c").write_text(DRIVER % {"declarations": declarations, "table": table})
    command = target.link_command(["driver.c", *target.driver_sources(), *objects], "driver")
    said = call(target, command + libraries(target, cases))
    if said is not None:
        raise SystemExit("the driver cannot be built:\n" + said[-3000:])


# ---- running ---------------------------------------------------------------------------------------------------


def run_jobs(target, unit, jobs):
    """Exit status by (case, data set) of one process of the driver, all of one unit."""
    lines = "".join(f"{c.number}\t{target.options.limit}\t{s}\t{out_of(target, c, s)}\n"
                    for c, s in jobs)
    for c, s in jobs:
        out_of(target, c, s).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([target.work / "driver"], cwd=target.work, input=lines, text=True,
                          capture_output=True, env=target.environment(unit))
    statuses = [int(line.split("\t")[1]) for line in done.stdout.splitlines()]
    statuses += [None] * (len(jobs) - len(statuses))
    return list(zip(jobs, statuses))


def weight_of(network):
    """Elements of the weights that its ConstantOfShape nodes make."""
    graph = network.model.graph
    shapes = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    return sum(math.prod(shapes.get(n.input[0], ())) for n in graph.node if n.op_type == "ConstantOfShape")


def out_of(target, case, data):
    return target.work / "out" / case.symbol / data.name


def judge(target, case, data, status):
    """Compares one data set's outputs; ends the case where it is not as it should be."""
    out = out_of(target, case, data)
    log = out / "log"
    said = log.read_text(errors="replace").strip() if log.exists() else ""
    if status != 0:
        crashed = status is None or status < 0 or status > 70
        short = next((line for line in said.splitlines() if "ERROR" in line or "runtime error" in line), said[-300:])
        return case.end("crashed" if crashed else "failed", f"exit {status}: {short}")
    if case.drawn:
        why = draws.judge(case, data, out)
        return case.end("failed", f"{data.name}, {why}") if why else None
    for k, info in enumerate(case.model.graph.output):
        expected = data / f"output_{k}.pb"
        if not expected.exists():
            return case.end("failed", f"{expected.name} is not in the suite")
        got = out / f"output_{k}.pb"
        if not got.exists():
            return case.end("failed", f"output {info.name} is not written")
        kind = values.kind_of(info)
        try:
            why = values.difference(values.read(got, kind), values.read(expected, kind),
                                    case.rtol, case.atol)
        except ValueError as e:  # sizes that NumPy does not hold
            why = f"not to be read: {e}"
        if why:
            return case.end("failed", f"{data.name}, output {info.name}: {why}")
    return None


def build_and_run(options, root, work, cases):
    """Runs the cases on options.device in folder `work`; their status is set. Seconds by stage."""
    target = TARGETS[options.device](options, root, work)
    seconds, begin = {}, time.monotonic()

    def lap(stage):
        nonlocal begin
        seconds[stage] = time.monotonic() - begin
        begin = time.monotonic()

    for case in cases:
        if draws.is_judged(case.folder, case.model):
            draws.prepare(case, work)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda c: emit(target, c), cases))
        lap("emit")
        open_cases = [c for c in cases if c.status is None]
        units = make_units(target, open_cases, options.unit, options.jobs)
        objects = list(pool.map(lambda iu: compile_unit(target, iu[1], f"unit{iu[0]}"), enumerate(units)))
        open_cases = [c for c in open_cases if c.status is None]
        lap("compile")
        if open_cases:
            link(target, open_cases, [o for o in objects if o])
            lap("link")
            networks, parts = [], []
            for k, unit in enumerate(units):
                jobs = [(c, s) for c in unit if c.status is None for s in c.sets]
                # Whole networks begin first and one by one: the last job to end should be a short one.
                networks += [(f"unit{k}", [j]) for j in jobs if j[0].kind == "light"]
                jobs = [j for j in jobs if j[0].kind != "light"]
                parts += [(f"unit{k}", jobs[i::options.jobs]) for i in range(options.jobs)]
            networks.sort(key=lambda part: -weight_of(part[1][0][0]))
            parts = networks + parts
            ran = [r for part in pool.map(lambda p: run_jobs(target, *p), parts) for r in part]
            lap("run")
            for (case, data), status in ran:
                if case.status is None:
                    judge(target, case, data, status)
            for case in open_cases:
                if case.status is None:
                    case.end("passed") if case.sets else case.end("failed", "no data set")
            lap("compare")
    return seconds
