"""make_corpus.py FOLDER: a small corpus for fuzz_import: one model of each kind of message."""

import os
import random
import sys

import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../frontend"))
import hostile  # noqa: E402
import roundtrip  # noqa: E402


def seeds():
    yield hostile.small_model().SerializeToString()
    yield hostile.nested_graphs(5)
    yield hostile.nested_types(10)
    for seed in range(40):
        model = onnx.ModelProto()
        roundtrip.random_message(random.Random(seed), model, 0)
        yield model.SerializeToString()[:4096]
    for _, data in hostile.model_faults():
        yield data[:4096]


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for i, data in enumerate(seeds()):
        with open(os.path.join(sys.argv[1], f"seed-{i:03d}"), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
