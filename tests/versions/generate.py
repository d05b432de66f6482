#!/usr/bin/env python3
"""Writes at least one case for every operator in each version that opsets since 7 have in force.

    python3 generate.py OUT [--filter RE] [--verbose]

A case is a model of one node at the highest opset at which that version holds, with inputs, and with outputs as
ONNX Runtime or the reference evaluator give them (oracle.py). Folders are as tests/conformance/generate.py writes
them; OUT/versions.json says which version each is of, and which versions have no case and why.
"""
import argparse
import hashlib
import json
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import cases
import cases_control  # noqa: F401: these add makers
import cases_elementwise  # noqa: F401
import cases_image  # noqa: F401
import cases_ml  # noqa: F401
import cases_network  # noqa: F401
import cases_shape  # noqa: F401
import explained
import oracle
import schemas

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import generate as conformance  # noqa: E402


def write(out, c, outputs):
    """The folder of a case, its outputs known."""
    if c.out_types is None:
        c.out_types = [None if k in c.skip else cases.type_of(o) for k, o in spread(c, outputs)]
    model = cases.model_of(c, c.version.opset, c.out_types)
    fault = oracle.check_valid(c, model)
    if fault:
        return fault
    folder = out / c.name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    given = [i.array if isinstance(i, cases.Const) else i for i in c.inputs]
    given = [i for i, what in zip(given, c.inputs) if what is not None and not isinstance(what, cases.Const)]
    for kind, infos, arrays in (("input", model.graph.input, given), ("output", model.graph.output, outputs)):
        for k, (info, value) in enumerate(zip(infos, arrays)):
            proto = proto_of(value, info)
            (data / f"{kind}_{k}.pb").write_bytes(proto.SerializeToString())
    rtol, atol = oracle.tolerance(c, outputs)
    (folder / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
    return None


def map_proto(value, map_type, name):
    """numpy_helper.from_dict knows no strings as keys, and takes Python's numbers for float64."""
    elem = map_type.value_type.tensor_type.elem_type
    dtype = np.dtype(object) if elem == onnx.TensorProto.STRING else helper.tensor_dtype_to_np_dtype(elem)
    proto, keys = onnx.MapProto(name=name), list(value)
    if isinstance(keys[0], str):
        proto.key_type = onnx.TensorProto.STRING
        proto.string_keys.extend(k.encode() for k in keys)
    else:
        proto.key_type = onnx.TensorProto.INT64
        proto.keys.extend(keys)
    proto.values.CopyFrom(numpy_helper.from_list([np.asarray(e, dtype) for e in value.values()]))
    return proto


def proto_of(value, info):
    if isinstance(value, dict):
        return map_proto(value, info.type.map_type, info.name)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return onnx.SequenceProto(name=info.name, elem_type=onnx.SequenceProto.MAP,
                                  map_values=[map_proto(m, info.type.sequence_type.elem_type.map_type, "")
                                              for m in value])
    return conformance.to_proto(value, info.type, info.name)


def spread(c, outputs):
    """(position, value) of all outputs, those left out too."""
    present = iter(outputs)
    return [(k, None if k in c.skip else next(present)) for k in range(c.outputs)]


def one(out, c, say):
    """Writes a case: its row for the table, or None."""
    try:
        cases.model_of(c, c.version.opset, None)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise SystemExit(f"{c.name} is made wrongly: {error}") from error
    outputs, who, remark = oracle.expected(c)
    if remark:
        say(f"{c.name}: {who}: {remark}")
    if outputs is None:
        return None, remark
    fault = write(out, c, outputs)
    if fault:
        say(f"{c.name}: not a valid model: {fault}")
        return None, fault
    return {"name": c.name, "kind": "node", "oracle": who, "remark": remark}, remark


def made_of(options):
    """What the cases depend on; where it is the same they need not be made again."""
    sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    text = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
    return f"{onnx.__version__} {oracle.onnxruntime.__version__} {options.filter} {text}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("--verbose", action="store_true")
    options = p.parse_args()
    stamp = options.out / "stamp"
    if stamp.exists() and stamp.read_text() == made_of(options):
        return 0
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    said, rows, versions = [], [], []
    for v in schemas.all_versions():
        if not re.search(options.filter, f"{v.label} {v.since}"):
            continue
        made, why = [], explained.no_case(v) or "no case is made"
        for c in cases.cases_of(v):
            row, remark = one(options.out, c, said.append)
            if row:
                made.append(row)
            else:
                why = remark
        versions.append({"operator": v.label, "since": v.since, "opset": v.opset, "cases": [m["name"] for m in made],
                         "why": None if made else why})
        rows += made
    (options.out / "versions.json").write_text(json.dumps(versions, indent=1))
    (options.out / "cases.json").write_text(json.dumps(rows, indent=1))
    stamp.write_text(made_of(options))
    unexplained = [s for s in said if "unexplained" in s]
    print("\n".join(said if options.verbose else unexplained))
    print(f"{len(versions)} versions, {len(rows)} cases; {sum(not v['cases'] for v in versions)} versions without; "
          f"{len(unexplained)} differences that nobody explained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
