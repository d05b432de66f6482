"""What a case is made of: models as text with weights of NumPy, what Cameo has to find in them, and what the fault and the
repaired model do when they run."""
import dataclasses

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser

DTYPES = {np.dtype(np.float64): 11, np.dtype(np.float32): 1, np.dtype(np.float16): 10}


@dataclasses.dataclass
class Finding:
    """A finding that `cameo lint` has to give: the rule, where, and parts of its message, notes and helps."""
    rule: str
    path: str
    says: tuple = ()
    origin: str = ""  # "initializer eps": kind and name of where the fault begins


@dataclasses.dataclass
class Run:
    """Inputs, and what the model was meant to give, computed with NumPy."""
    feeds: dict
    meant: dict
    rtol: float = 0
    atol: float = 0


@dataclasses.dataclass
class Model:
    text: str
    weights: dict = dataclasses.field(default_factory=dict)
    finds: list = dataclasses.field(default_factory=list)
    change: object = None  # a function that edits the ModelProto
    args: tuple = ()  # of cameo lint
    files: dict = dataclasses.field(default_factory=dict)  # beside the model: name to text
    folder: object = None  # a function of (model, path) that writes model and files itself
    # What happens without a repair: ONNX Runtime does not load or run it and says this ...
    refused: str = ""
    # ... or it runs, node by node in the dtypes that the file says, and gives what this accepts.
    wrong: object = None
    # With which fix it is repaired: "--fix", "--unsafe-fixes" or none.
    fix: str = ""
    run: Run = None  # of the repaired model, or of the model itself where there is nothing to repair
    fixed: object = None  # a function of the repaired ModelProto: what is wrong with it, or None
    what: str = ""  # what this model shows, where a case has several


@dataclasses.dataclass
class Case:
    number: int
    title: str
    evidence: tuple
    seen: str  # what people saw
    models: list
    repair: str  # what is repaired, and how that was verified
    limits: str = ""


def build(model):
    """The ModelProto of a Model."""
    m = onnx.parser.parse_model(model.text)
    for name, value in model.weights.items():
        m.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    if model.change:
        model.change(m)
    return m


def count(m, op):
    return sum(n.op_type == op for n in m.graph.node)
