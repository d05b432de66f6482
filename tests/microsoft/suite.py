"""Cases as folders, as tests/conformance/run.py reads them: model, one data set, tolerance; cases.json lists them.

A case is one node with random inputs. What it must give comes from onnxruntime on the CPU with its optimizations
off, or from NumPy for what its CPU provider does not take.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
from exact_bytes import exact  # noqa: E402

MS = "com.microsoft"
onnxruntime.set_default_logger_severity(4)


def element_type(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def run_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(exact(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


class Suite:
    """Writes cases below a folder. The generator is seeded by the case's name: adding one changes no other."""

    def __init__(self, out):
        self.out, self.rows, self.wrong = out, [], []

    def node(self, name, op, inputs, outputs=("Y",), attrs=None, domain=MS, weights=(), opset=20, rtol=1e-4, atol=1e-5,
             expected=None, asked=None, dynamic=False, types=None):
        """`inputs` are (name, array) pairs, None for one that is left out. Those named in `weights` become
        initializers. `expected`: what NumPy says; otherwise onnxruntime is asked, with the inputs `asked` if they are
        given: an equal node that it takes. `dynamic`: no dim of an input is declared. `types`: of outputs whose type nothing else tells."""
        build = lambda pairs, results: self.model(name, op, pairs, outputs, attrs or {}, domain, weights, opset, results,  # noqa: E731
                                                    dynamic, types or {})
        feeds = lambda pairs: {n: a for n, a in pairs if a is not None and n not in weights}  # noqa: E731
        try:
            pairs = asked or inputs
            results = expected if expected is not None else run_onnxruntime(build(pairs, None), feeds(pairs))
        except Exception as e:  # noqa: BLE001: said below with the case's name
            self.wrong.append(f"{name}: onnxruntime: {str(e)[:300]}")
            return
        named = [o for o in outputs if o]
        self.write(name, build(inputs, results), list(feeds(inputs).items()), list(zip(named, results)), rtol, atol)

    @staticmethod
    def model(name, op, inputs, outputs, attrs, domain, weights, opset, results, dynamic, types):
        given = [(n, a) for n, a in inputs if a is not None]
        node = helper.make_node(op, [n if a is not None else "" for n, a in inputs], list(outputs), name="node",
                                domain=domain, **attrs)
        shape = lambda n, a: [f"{n}_{i}" for i in range(a.ndim)] if dynamic else a.shape  # noqa: E731
        infos = [helper.make_tensor_value_info(n, element_type(a), shape(n, a)) for n, a in given if n not in weights]
        held = [numpy_helper.from_array(a, n) for n, a in given if n in weights]
        named = [o for o in outputs if o]
        if results is None:
            typed = {o: helper.make_tensor_value_info(o, t, None) for o, t in types.items()}
            declared = [typed.get(o, onnx.ValueInfoProto(name=o)) for o in named]
        else:
            declared = [helper.make_tensor_value_info(o, element_type(r), [None] * r.ndim) for o, r in zip(named, results)]
        graph = helper.make_graph([node], name, infos, declared, held)
        imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)

    def write(self, name, model, feeds, results, rtol, atol):
        data = self.out / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, self.out / name / "model.onnx")
        for kind, values in (("input", feeds), ("output", results)):
            for k, (n, a) in enumerate(values):
                (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(a), n).SerializeToString())
        (self.out / name / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
        self.rows.append({"name": name, "kind": "node"})

    def close(self):
        (self.out / "cases.json").write_text(json.dumps(self.rows))


def generator(name):
    return np.random.default_rng(list(name.encode()))


def normal(r, *shape, dtype=np.float32):
    return r.standard_normal(shape).astype(dtype)


def integers(r, low, high, shape, dtype):
    return r.integers(low, high, shape).astype(dtype)
