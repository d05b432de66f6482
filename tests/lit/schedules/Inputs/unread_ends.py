"""unread_ends.py MODEL FOLDER: the model as bytes, with random inputs and what ONNX's reference makes of them."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

text = "".join(line for line in open(sys.argv[1]) if not line.startswith("#"))
model, folder = parser.parse_model(text), pathlib.Path(sys.argv[2])
data = folder / "test_data_set_0"
data.mkdir(parents=True, exist_ok=True)
onnx.save(model, folder / "model.onnx")
random = np.random.default_rng(0)
inputs = {i.name: random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
          for i in model.graph.input}
results = ReferenceEvaluator(model).run(None, inputs)
for kind, values in (("input", inputs.values()), ("output", results)):
    for i, value in enumerate(values):
        (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
