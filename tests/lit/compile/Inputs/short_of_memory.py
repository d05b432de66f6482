"""short_of_memory.py CAMEO: compiles a convolution with ever less memory: it works, or says what it lacks; no folder stays."""
import os
import pathlib
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

w = numpy_helper.from_array(np.ones((512, 512, 3, 3), np.float32), "w")
ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 512, 28, 28]) for n in "xy"]
conv = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
onnx.save(helper.make_model(helper.make_graph([conv], "net", ports[:1], ports[1:], [w])), "conv.onnx")
temporary = pathlib.Path("tmp")
env = dict(os.environ, TMPDIR=str(temporary.absolute()))
seen = set()
for mb in [1024, *range(140, 20, -3)]:
    limit = mb << 20
    done = subprocess.run([sys.argv[1], "compile", "conv.onnx", "--emit", "c", "--cpu", "x86-64-v3", "-o", "net.c", "-q"], env=env, text=True,
                          stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    seen.add(done.returncode)
    assert done.returncode in (0, 3), (mb, done)
    assert not done.returncode or "not enough memory" in done.stderr or "annot allocate memory" in done.stderr, (mb, done)
    assert not list(temporary.iterdir()), (mb, list(temporary.glob("cameo.*/*")))
assert seen == {0, 3}, seen
