"""nested.py FILE N: a model of N Ifs, each in a branch of the one around it."""
import sys

import onnx


def field(number, content):
    size, out = len(content), bytearray([number << 3 | 2])
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size]) + content


graph = onnx.helper.make_graph([onnx.helper.make_node("Constant", [], ["c"], value_int=1)], "g", [], []).SerializeToString()
for _ in range(int(sys.argv[2])):
    branch = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01" + bytes([onnx.AttributeProto.GRAPH])
    graph = field(1, field(4, b"If") + field(5, branch))
with open(sys.argv[1], "wb") as out:
    out.write(b"\x08\x0a" + field(7, graph))
