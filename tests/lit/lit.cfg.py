import os
import platform
import sys

import lit.formats

config.name = "cameo"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".onnxtxt", ".cir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["work"]
root = os.path.dirname(os.path.dirname(config.test_source_root))
config.substitutions += [
    ("%cameo", lit_config.params["cameo"]),
    ("%FileCheck", "FileCheck-19"),
    ("%python", sys.executable),
    ("%root", root),
]
if platform.machine() == "x86_64":
    config.available_features.add("x86_64")
if os.path.isdir(os.path.join(os.path.dirname(lit_config.params["cameo"]), "units")):
    config.available_features.add("units")
with open(lit_config.params["cameo"], "rb") as program:
    if b"__asan_init" in program.read():
        config.available_features.add("sanitized")
config.environment["NO_COLOR"] = "1"
config.environment["PATH"] = os.environ["PATH"] + ":/usr/lib/llvm-19/bin"
