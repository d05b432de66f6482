"""changed.py BEFORE AFTER: the lines in which two models differ, as protobuf's text, unknown fields included."""
import difflib
import sys

import onnx


def lines(path):
    return str(onnx.load(path, load_external_data=False)).splitlines()


for line in difflib.unified_diff(lines(sys.argv[1]), lines(sys.argv[2]), lineterm="", n=0):
    if not line.startswith(("---", "+++", "@@")):
        print(line[:60])
