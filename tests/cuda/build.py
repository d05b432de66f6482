#!/usr/bin/env python3
"""Runs emitted CUDA without a GPU: builds the emulated driver, and .cu files as objects of emulated kernels.

    build.py [-o NAME.so] [--checked] [--cxx g++] [-O 1] NAME.cu
        compiles the kernels. The object goes where the fatbin would be (the emulated driver takes it as an
        image), or is named by CAMEO_EMU_KERNELS.
    build.py --run [--checked] [--seed N] [--kernels NAME.so] PROGRAM [ARGUMENT...]
        runs an unchanged program with the emulated libcuda.so.1 and libcublasLt.so.13.
    build.py --tools
        builds the libraries only, and prints the folder.

PROGRAM may be cameo itself: `build.py --run cameo verify --device cuda MODEL.onnx` finds a nvcc that makes objects of
emulated kernels, and a gcc that compiles the host's side without optimization.

As a module: Tools(cxx).kernels(cu, out, checked) and Tools(cxx).environment(...). The libraries, the compiled
prelude and the scheduler are built once into a folder named by their contents; a file of kernels then costs
one run of the compiler.
"""
import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WARN = ["-Wall", "-Wextra", "-Werror"]
# What the emitted kernels may look like and still be right: helpers that nobody calls, labels never used.
QUIET = ["-w"]
STANDARD = ["-std=c++20", "-g0", "-fPIC"]
TOOLKITS = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"]


def toolkit(part="include/cublasLt.h"):
    """The folder of the CUDA toolkit that has `part`, from the system or from PyPI's packages; None if there is none."""
    found = shutil.which("nvcc")
    folders = TOOLKITS + ([str(pathlib.Path(found).resolve().parent.parent)] if found else [])
    folders += [os.path.join(p, "nvidia/cu13") for p in sys.path if p]
    return next((pathlib.Path(f) for f in folders if f and (pathlib.Path(f) / part).exists()), None)


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}")
    return done


def strip_comments(text):
    """The text without comments and strings, of the same length."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: '"C"' if m.group() == '"C"' else re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.S)


def scan(text):
    """The names of the kernels in a .cu file, and its `extern __shared__` array as (type, name) or None."""
    text = strip_comments(text)
    names = re.findall(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(', text)
    dynamic = re.search(r"\bextern\s+__shared__\s+(?:__align__\s*\(\d+\)\s*)?([\w\s]+?)\s*\b(\w+)\s*\[\s*\]", text)
    return list(dict.fromkeys(names)), dynamic.groups() if dynamic else None


# Where a command looks for nvcc: the same as Tools.kernels, for sources as cameo prints them, without Python.
def itself(name):
    """The compiler, not ccache by its name: that would look on the path for the next one, and find what stands in for it here."""
    places = [p for p in os.environ["PATH"].split(os.pathsep) if "ccache" not in p]
    return shutil.which(name, path=os.pathsep.join(places))


NVCC = r"""#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -o) out=$2; shift ;; *.cu) source=$1 ;; esac
    shift
done
names=$(sed -n 's/^extern "C" __global__ void \(__launch_bounds__([^)]*) *\)\{0,1\}\([A-Za-z_0-9]*\) *(.*/CUEMU_KERNEL(\2),/p' "$source")
[ "$names" ] || ! grep -q __global__ "$source" || { echo "nvcc (emulated): no kernel in $source" >&2; exit 1; }
case $source in /*) ;; *) source=$PWD/$source ;; esac
storage=$(sed -n 's/^extern __shared__ \([A-Za-z_0-9 ]*[A-Za-z_0-9]\)  *\([A-Za-z_0-9]*\)\[\];.*/CUEMU_EXTERN_SHARED(\1, \2)/p' "$source")
printf '#include "%s"\n%s\nCUEMU_MODULE(\n%s)\n' "$source" "${storage:-CUEMU_NO_EXTERN_SHARED}" "${names%,}" >"$out.cc"
if [ "$CAMEO_EMU_CHECK" = 1 ]; then set -- CHECKED; else set -- PLAIN; fi
"$@" || { echo "nvcc (emulated) failed" >&2; exit 1; }
rm -f "$out.cc"
"""
GCC = """#!/bin/sh
for a do
    shift
    [ "$a" = -O3 ] && a=-O0
    set -- "$@" "$a"
done
exec GCC "$@"
"""


class Tools:
    """The emulated driver and what compiles kernels for it, in a folder of its own."""

    def __init__(self, cxx=None, folder=None):
        self.cxx = cxx or os.environ.get("CXX_EMU", "g++")
        self.clang = "clang" in pathlib.Path(self.cxx).name
        self.toolkit = toolkit()
        sources = sorted(p for p in HERE.iterdir() if re.search(r"\.(cc|h)$", p.name))
        own = pathlib.Path(__file__).read_text().partition("\nclass Tools")[2].partition("\ndef main")[0]
        commands = (str(self.toolkit), STANDARD, QUIET, NVCC, GCC, own)
        key = hashlib.sha256(repr(commands).encode())
        for p in sources:
            key.update(p.read_bytes())
        base = pathlib.Path(folder or os.environ.get("CAMEO_EMU_WORK") or
                            pathlib.Path(tempfile.gettempdir()) / f"cameo-emu-{os.getuid()}")
        self.folder = base / key.hexdigest()[:16] / pathlib.Path(self.cxx).name
        self.libraries = self.folder.parent / "lib"  # the same for every compiler of kernels
        self._once(self.libraries / "libcublasLt.so.13", self._build_libraries)

    def _once(self, product, build):
        """Calls build() unless the product is there; other processes wait."""
        if product.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not product.exists():
                build()

    def _build_libraries(self):
        self.libraries.mkdir(exist_ok=True)
        headers = ["-DCUEMU_TOOLKIT", "-isystem", self.toolkit / "include"] if self.toolkit else []
        compiler = shutil.which("g++") or self.cxx
        common = [compiler, *STANDARD, *WARN, *headers, "-I", HERE]
        driver = ["libcuda", "memory", "stream", "work", "entry"]

        def one(name):
            out = self.libraries / f"{name}.o"
            run([*common, "-O3" if name == "cublaslt" else "-O1", "-c", HERE / f"fake_{name}.cc", "-o", out])
            return out
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            *parts, blas_part = pool.map(one, [*driver, "cublaslt"])
        cuda, blas = self.libraries / "libcuda.so.1", self.libraries / "libcublasLt.so.13"
        link = [compiler, "-shared", "-Wl,-z,nodelete"]
        run([*link, *parts, "-Wl,-soname,libcuda.so.1", "-o", cuda, "-ldl"])
        run([*link, blas_part, "-Wl,-soname,libcublasLt.so.13", cuda, "-Wl,-rpath,$ORIGIN", "-o", self.libraries / "blas"])
        shutil.copy(self.libraries / "blas", self.libraries / "libcublasLt.so.12")
        os.replace(self.libraries / "blas", blas)

    def _flags(self, checked, level):
        flags = [*STANDARD, f"-O{level}", "-fvisibility=hidden", "-fno-strict-aliasing", "-ffp-contract=off", "-I", HERE]
        if checked:
            off = ["-mllvm", "-tsan-instrument-func-entry-exit=0"] if self.clang else \
                ["--param", "tsan-instrument-func-entry-exit=0"]
            flags += ["-DCUEMU_CHECKED", "-fsanitize=thread", *off]
        return flags

    def _prelude(self, checked, level):
        """The folder with the scheduler's objects and the compiled prelude for these flags."""
        folder = self.folder / f"{'checked' if checked else 'plain'}{level}"
        product = folder / ("cuemu.h.pch" if self.clang else "cuemu.h.gch")

        def build():
            folder.mkdir(exist_ok=True)
            mode = ["-DCUEMU_CHECKED"] if checked else []
            for name in ["cuemu"] + (["cuemu_check"] if checked else []):
                run([self.cxx, *STANDARD, "-O2", "-fvisibility=hidden", *WARN, *mode, "-I", HERE, "-c",
                     HERE / f"{name}.cc", "-o", folder / f"{name}.o"])
            shutil.copy(HERE / "cuemu.h", folder / "cuemu.h")
            run([self.cxx, *self._flags(checked, level), *QUIET, "-x", "c++-header", folder / "cuemu.h", "-o",
                 folder / "prelude"])
            os.replace(folder / "prelude", product)
        self._once(product, build)
        return folder

    def _command(self, checked, level, defines=()):
        """The compiler's command that makes an object of emulated kernels, without source and output."""
        folder = self._prelude(checked, level)
        include = ["-include-pch", folder / "cuemu.h.pch"] if self.clang else ["-include", folder / "cuemu.h"]
        # The callbacks of the checks are ours: the sanitizer's own runtime is not linked.
        return [self.cxx, *self._flags(checked, level), *QUIET, *defines, *include, "-c"], sorted(folder.glob("*.o"))

    def _commands(self):
        """A folder with nvcc and gcc for commands that call them."""
        folder = self.folder / "bin"

        def build():
            folder.mkdir(exist_ok=True)
            text = NVCC
            for mode in (False, True):
                compile_, objects = self._command(mode, 1)
                words = " ".join(shlex.quote(str(c)) for c in compile_)
                link = " ".join(shlex.quote(str(o)) for o in objects)
                name = "CHECKED" if mode else "PLAIN"
                text = text.replace(f"set -- {name}", f'set -- {name.lower()}_mode')
                body = f'{words} "$out.cc" -o "$out.o" && {self.cxx} -shared -Wl,--no-undefined "$out.o" {link} -o "$out" && rm -f "$out.o"'
                text = text.replace("#!/bin/sh\n", f"#!/bin/sh\n{name.lower()}_mode() {{\n    {body}\n}}\n", 1)
            for name, content in (("gcc", GCC.replace("GCC", itself("gcc") or "cc")), ("nvcc", text)):
                (folder / f"{name}.new").write_text(content)
                (folder / f"{name}.new").chmod(0o755)
                os.replace(folder / f"{name}.new", folder / name)
        for mode in (False, True):
            self._prelude(mode, 1)
        self._once(folder / "nvcc", build)
        return folder

    def kernels(self, cu, out, checked=False, level=1, defines=()):
        """Compiles a .cu file, unchanged, into an object of emulated kernels. RuntimeError with the compiler's words."""
        cu, out = pathlib.Path(cu).resolve(), pathlib.Path(out)
        names, dynamic = scan(cu.read_text())
        if not names and "__global__" in strip_comments(cu.read_text()):
            raise RuntimeError(f"{cu}: no extern \"C\" __global__ kernel")
        command, objects = self._command(checked, level, defines)
        rows = ",\n".join(f"    CUEMU_KERNEL({n})" for n in names)
        storage = f"CUEMU_EXTERN_SHARED({dynamic[0]}, {dynamic[1]})" if dynamic else "CUEMU_NO_EXTERN_SHARED"
        # By names within its folder, so that a compiler cache knows the same kernels in another folder.
        wrapper, part = out.with_name(out.name + ".cc"), out.with_name(out.name + ".o")
        near = cu.name if cu.parent == out.resolve().parent else cu
        wrapper.write_text(f'#include "{near}"\n{storage}\nCUEMU_MODULE(\n{rows})\n')
        cached = ["ccache"] if shutil.which("ccache") else []
        run([*cached, *command, wrapper.name, "-o", part.name], cwd=out.parent,
            env={**os.environ, "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime"})
        run([self.cxx, "-shared", "-Wl,--no-undefined", part, *objects, "-o", out])
        part.unlink()
        wrapper.unlink()
        return out

    def environment(self, kernels=None, checked=False, seed=None, **settings):
        """The environment in which an unchanged program runs. settings: poison, fail, leaks, args, devices. Without a seed
        that of CAMEO_EMU_SEED holds, else 0."""
        seed = os.environ.get("CAMEO_EMU_SEED", "0") if seed is None else seed
        env = {k: v for k, v in os.environ.items() if not k.startswith("CAMEO_EMU_")}
        env["LD_LIBRARY_PATH"] = os.pathsep.join([str(self.libraries)] +
                                                 [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p])
        env["PATH"] = os.pathsep.join([str(self._commands()), os.environ.get("PATH", os.defpath)])
        env["CAMEO_EMU_SEED"] = str(seed)
        env["CAMEO_EMU_CHECK"] = str(int(checked))
        if kernels:
            env["CAMEO_EMU_KERNELS"] = str(pathlib.Path(kernels).resolve())
        for name, value in settings.items():
            env["CAMEO_EMU_" + name.upper()] = str(value)
        return env


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", nargs=argparse.REMAINDER)
    p.add_argument("-o", "--out", type=pathlib.Path)
    p.add_argument("--checked", action="store_true")
    p.add_argument("--cxx")
    p.add_argument("-O", "--level", default="1")
    p.add_argument("--run", action="store_true")
    p.add_argument("--tools", action="store_true")
    p.add_argument("--kernels", type=pathlib.Path)
    p.add_argument("--seed", type=int)
    args = p.parse_args()
    tools = Tools(args.cxx)
    if args.tools:
        print(tools.libraries)
        return 0
    if not args.what:
        p.error("nothing to compile or run")
    if args.run:
        env = tools.environment(args.kernels, args.checked, args.seed)
        os.execvpe(args.what[0], args.what, env)
    cu = pathlib.Path(args.what[0])
    try:
        tools.kernels(cu, args.out or cu.with_suffix(".so"), args.checked, args.level)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
