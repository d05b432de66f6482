"""frontend/onnx.proto says what the onnx package says: every message, field, enum and value.

proto_fields.py PROTO: compiles PROTO to descriptors with protoc and compares them with the package's.
"""

import os
import subprocess
import sys
import tempfile

import onnx
from google.protobuf import descriptor_pb2


def own_file(path):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set")
        subprocess.run(
            ["protoc", "-I", os.path.dirname(path), "-I", "/usr/include", f"-o{out}", path],
            check=True,
        )
        found = descriptor_pb2.FileDescriptorSet()
        with open(out, "rb") as f:
            found.ParseFromString(f.read())
    return found.file[-1]


def package_file():
    found = descriptor_pb2.FileDescriptorProto()
    onnx.onnx_ml_pb2.DESCRIPTOR.CopyToProto(found)
    return found


def facts_of_enum(enum, path):
    for value in enum.value:
        yield f"{path}{enum.name}.{value.name} = {value.number}"


def facts_of_message(message, path):
    path += message.name + "."
    for field in message.field:
        label = descriptor_pb2.FieldDescriptorProto.Label.Name(field.label)
        kind = descriptor_pb2.FieldDescriptorProto.Type.Name(field.type)
        oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else "-"
        yield (
            f"{path}{field.name} = {field.number} {label} {kind} {field.type_name or '-'} "
            f"oneof {oneof} packed {field.options.packed} default {field.default_value or '-'}"
        )
    for enum in message.enum_type:
        yield from facts_of_enum(enum, path)
    for inner in message.nested_type:
        yield from facts_of_message(inner, path)


def facts(file):
    yield f"package {file.package}"
    for enum in file.enum_type:
        yield from facts_of_enum(enum, "")
    for message in file.message_type:
        yield from facts_of_message(message, "")


def main():
    own, package = set(facts(own_file(os.path.abspath(sys.argv[1])))), set(facts(package_file()))
    for fact in sorted(package - own):
        print(f"missing: {fact}")
    for fact in sorted(own - package):
        print(f"not in the package: {fact}")
    print(f"{len(own & package)} facts agree")
    return 1 if own != package else 0


if __name__ == "__main__":
    sys.exit(main())
