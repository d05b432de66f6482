"""make_corpus.py FOLDER: a small corpus for fuzz_import, one model of each kind of message, and FOLDER.list, its files in
order, as -seed_inputs takes them."""

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
    paths = []
    for i, data in enumerate(seeds()):
        paths.append(os.path.join(sys.argv[1], f"seed-{i:03d}"))
        with open(paths[-1], "wb") as f:
            f.write(data)
    with open(sys.argv[1] + ".list", "w") as f:
        f.write(",".join(paths))


if __name__ == "__main__":
    main()
