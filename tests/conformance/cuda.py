"""The backend suite as CUDA: kernels compiled for the host and run by the emulated driver of tests/cuda."""
import importlib.util
import os
import re

import batch

# What emitted C includes as bytes.
BLOB = re.compile(r'^__asm__\("\.pushsection .*?\.popsection\\n"\);\n', re.M | re.S)


class CudaTarget(batch.Target):
    """Kernels of a unit are one .cu and one object; the host's C is compiled as any other."""

    def __init__(self, options, root, work):
        super().__init__(options, root, work)
        spec = importlib.util.spec_from_file_location("build", root / "tests/cuda/build.py")
        build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(build)
        self.tools = build.Tools()
        self.checked = options.checked

    def emit_command(self, case):
        # The driver is told of the kernels by its environment; the host's C wants a file to include.
        (self.work / f"{case.symbol}.fatbin").write_bytes(b"\0" * 16)
        command = super().emit_command(case) + ["--device", "cuda"]
        return [c for c in command if c not in ("--weights", "file")]

    def link_command(self, objects, out):
        blobs = [o.removesuffix(".o") + "_blobs.o" for o in objects if o.endswith(".o")]
        return super().link_command(objects + blobs, out) + ["-ldl"]

    def move_blobs(self, cases, name):
        """Into an object of their own: ccache knows no unit that the assembler adds bytes to. What failed, or None."""
        blobs = self.work / f"{name}_blobs.c"
        blobs.write_text("")
        for case in cases:
            kept = self.work / f"{case.symbol}_blobs.c"
            if not kept.exists():
                source = self.work / (case.symbol + self.ending)
                text = source.read_text()
                kept.write_text("".join(BLOB.findall(text)))
                source.write_text(BLOB.sub("", text))
            blobs.write_text(blobs.read_text() + kept.read_text())
        return batch.call(self, [self.options.compiler, "-c", blobs.name, "-o", f"{name}_blobs.o"])

    def compile_unit(self, cases, name):
        said = self.move_blobs(cases, name) or super().compile_unit(cases, name)
        if said is not None:
            return said
        text = "".join((self.work / f"{c.symbol}.cu").read_text() for c in cases)
        (self.work / f"{name}.cu").write_text(text)
        try:
            self.tools.kernels(self.work / f"{name}.cu", self.work / f"{name}.so", self.checked)
        except RuntimeError as e:
            return str(e)
        return None

    def environment(self, name):
        env = dict(self.env)
        env.update(self.tools.environment(checked=self.checked, kernels=self.work / f"{name}.so"))
        return env


batch.TARGETS["cuda"] = CudaTarget
