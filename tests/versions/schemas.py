"""The operators' versions that opsets 7 and later have in force, from the onnx package."""
import collections
import dataclasses

import numpy as np
import onnx
import onnx.defs
from onnx import helper

FIRST = 7
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
# What the cases of an opset of another domain import of the standard one.
STANDARD_BESIDE = 21


@dataclasses.dataclass
class Version:
    """One version of an operator, and the highest opset at which it is in force."""
    domain: str
    name: str
    since: int
    opset: int
    first: bool  # no version before it
    schema: object
    before: object  # the schema before it, or None

    @property
    def label(self):
        return f"{self.domain}.{self.name}" if self.domain else self.name

    def has(self, attribute):
        return attribute in self.schema.attributes

    def ninputs(self):
        return len(self.schema.inputs)

    def types(self, i=0, schema=None):
        """dtypes of tensors that input i may have, as NumPy has them."""
        schema = schema or self.schema
        params = schema.inputs if len(schema.inputs) else schema.outputs
        param = params[min(i, len(params) - 1)]
        return [t for t in map(numpy_type, sorted(param.types)) if t is not None]

    def new_types(self, i=0):
        """Those that the version before did not have."""
        known = self.types(i, self.before) if self.before else []
        return [t for t in self.types(i) if t not in known]


def numpy_type(text):
    """"tensor(float16)" as a NumPy dtype; None for what is no tensor."""
    if not text.startswith("tensor("):
        return None
    name = {"float": "FLOAT", "double": "DOUBLE"}.get(text[7:-1], text[7:-1].upper())
    return np.dtype(helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(name)))


def all_versions():
    """Every version that is in force at some opset since FIRST and not deprecated, by name."""
    history = collections.defaultdict(list)
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain in DOMAINS:
            history[s.domain, s.name].append(s)
    newest = {d: max(s.since_version for s in onnx.defs.get_all_schemas() if s.domain == d)
              for d in DOMAINS}
    newest[""] = onnx.defs.onnx_opset_version()
    found = []
    for (domain, name), schemas in sorted(history.items()):
        schemas.sort(key=lambda s: s.since_version)
        for k, s in enumerate(schemas):
            last = schemas[k + 1].since_version - 1 if k + 1 < len(schemas) else newest[domain]
            if not s.deprecated and (domain or last >= FIRST):
                before = schemas[k - 1] if k else None
                found.append(Version(domain, name, s.since_version, last, k == 0, s, before))
    return found
