"""One random node: operands of drawn dtypes, shapes and values, attributes, and the tolerance of its results.

A recipe (recipes/) says what an operator asks of its operands beyond the schema; everything else is drawn here. A
node is a function of operator and seed alone.
"""
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 28
SCHEMA_NAMES = {  # the schema's names of element types
    "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL, "float8e4m3fn": TensorProto.FLOAT8E4M3FN, "float8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8e5m2": TensorProto.FLOAT8E5M2, "float8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8e8m0": TensorProto.FLOAT8E8M0, "float4e2m1": TensorProto.FLOAT4E2M1, "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4, "int2": TensorProto.INT2, "uint2": TensorProto.UINT2,
    "float6e2m3": TensorProto.FLOAT6E2M3, "float6e3m2": TensorProto.FLOAT6E3M2,
}
FINITE = ("float4e2m1", "float6e2m3", "float6e3m2")  # without infinities and NaN
REALS = ("float", "double", "float16", "bfloat16")
SMALL_FLOATS = tuple(n for n in SCHEMA_NAMES if n.startswith(("float8", "float6", "float4")))


def numpy_of(name):
    """The NumPy (or ml_dtypes) dtype of a schema's name."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(SCHEMA_NAMES[name]))


def limits(name):
    """Least and greatest value of an integer dtype; bool counts as 0 to 1."""
    if name == "bool":
        return 0, 1
    info = ml_dtypes.iinfo(numpy_of(name))
    return int(info.min), int(info.max)


def is_float(name):
    return "float" in name or name == "double"


def epsilon(name):
    """Distance from 1 to the next number."""
    return float(ml_dtypes.finfo(numpy_of(name)).eps)


# ---- values ----------------------------------------------------------------------------------------------------


def specials(name):
    """The values of a float dtype that computations trip over."""
    info = ml_dtypes.finfo(numpy_of(name))
    some = [0.0, -0.0, 1.0, -1.0, float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)]
    if name in REALS:
        some += [np.nan, np.inf, -np.inf, float(info.min), 0.5, -0.5, 1.5, 2.5, -2.5]
    return some


def tame(rng, name, shape):
    """Values about which nothing is remarkable."""
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(name):
        low, high = limits(name)
        return rng.integers(max(low, -9), min(high, 9) + 1, shape).astype(numpy_of(name))
    kind = rng.integers(3)
    if kind == 0:
        values = rng.integers(-6, 7, shape) / 2
    elif kind == 1:
        values = rng.normal(size=shape) * 2
    else:
        values = rng.uniform(-3, 3, shape)
    return np.asarray(values, np.float64).astype(np.float32).astype(numpy_of(name))


def wild(rng, name, shape):
    """Values with infinities, subnormals and extreme integers among them."""
    values = np.array(tame(rng, name, shape))
    if name == "bool":
        return values
    if is_float(name):
        pool = np.array(specials(name), np.float64)
    else:
        low, high = limits(name)
        pool = np.array([low, high, low + 1, high - 1, 0, 1, high // 2 + 1], object)
    chosen = np.asarray(pool[rng.integers(0, len(pool), values.shape)]).astype(values.dtype)
    take = rng.random(values.shape) < 0.4
    return np.where(take, chosen, values).astype(values.dtype)


class Input:
    """An operand: dtype, shape and a maker of values; constant ones are the same in each data set."""

    def __init__(self, name, dtype, shape, make, constant):
        self.whole = False  # its dims are stated in numbers
        self.name, self.dtype, self.shape, self.make, self.constant = name, dtype, tuple(shape), make, constant


class Draw:
    """A node in the making. Recipes call dtype, shape, input, fixed, skip and attr."""

    def __init__(self, op, seed, domain="", opset=OPSET):
        self.op, self.seed, self.domain, self.opset = op, seed, domain, opset
        self.rng = np.random.default_rng([seed, zlib.crc32(op.encode())])
        self.schema = onnx.defs.get_schema(op, max_inclusive_version=opset, domain=domain)
        self.types, self.inputs, self.attrs = {}, [], {}
        self.outputs = None  # how many; None: as many as the schema asks for
        self.ulps, self.terms, self.scale = 2.0, 1, 0.0
        self.exact = False  # results are judged bit for bit, NaN being equal
        self.inner = None  # a dtype of intermediate results, where it is not that of the results
        self.rounds = False  # intermediate results are rounded to the dtype, too
        self.wild = True  # data sets with extreme values are made, too
        self.symbols = True  # dims of inputs may be symbols
        self.oracle = None
        self.graphs = {}

    # -- choices

    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        """Both ends included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, some):
        return some[int(self.rng.integers(len(some)))]

    def allowed(self, var):
        """The schema's element types of a type variable, or of a plain type."""
        if var.startswith("tensor("):
            return [var[7:-1]]
        row = next((c for c in self.schema.type_constraints if c.type_param_str == var), None)
        names = [n[7:-1] for n in row.allowed_type_strs if n.startswith("tensor(")]
        return [n for n in SCHEMA_NAMES if n in names]

    def dtype(self, var, among=None, without=()):
        """The dtype of a type variable, drawn once; float32 counts double."""
        if var not in self.types:
            names = [n for n in self.allowed(var) if (among is None or n in among) and n not in without]
            if "float" in names and self.chance(0.3):
                names = ["float"]
            self.types[var] = self.choice(names)
        return self.types[var]

    def shape(self, low=0, high=5, largest=5, least=0, count=240):
        """A shape of at most `count` elements; sizes 1 and (where least allows) 0 are frequent enough."""
        rank = self.integer(low, high)
        dims = []
        for _ in range(rank):
            room = max(1, count // max(1, int(np.prod([d for d in dims if d]))))
            p = self.rng.random()
            dim = 1 if p < 0.15 else 0 if p < 0.18 else self.integer(2, max(2, largest))
            dims.append(max(least, min(dim, room)))
        return tuple(dims)

    def broadcast_of(self, shape):
        """A shape that broadcasts with `shape` to `shape`, mostly: fewer leading dims, some dims 1."""
        cut = self.integer(0, len(shape)) if self.chance(0.4) else 0
        return tuple(1 if self.chance(0.25) else d for d in shape[cut:])

    def axis(self, rank, attr="axis", chance=0.8):
        """An axis of `rank` dims, of either sign, also as an attribute."""
        value = self.integer(-rank, rank - 1)
        if self.chance(chance):
            self.attrs[attr] = value
            return value % rank
        return None

    def sizes_of_split(self, total, parts):
        cuts = sorted(self.integer(0, total) for _ in range(parts - 1))
        return [b - a for a, b in zip([0, *cuts], [*cuts, total])]

    # -- the node

    def input(self, dtype, shape, make=None, constant=None):
        """An operand whose values differ from data set to data set. make(rng, wild) gives an array."""
        maker = make or (lambda rng, extreme: (wild if extreme else tame)(rng, dtype, shape))
        constant = self.chance(0.2) if constant is None else constant
        self.inputs.append(Input(f"x{len(self.inputs)}", dtype, shape, maker, constant))

    def fixed(self, values, dtype="int64", constant=None):
        """An operand whose values belong to the shape of the node: axes, sizes, pads."""
        array = np.array(values).astype(numpy_of(dtype))
        constant = self.chance(0.75) if constant is None else constant
        self.input(dtype, array.shape, lambda rng, extreme: array, constant)
        self.inputs[-1].whole = True

    def skip(self):
        self.inputs.append(None)

    def attr(self, name, value, chance=1.0):
        if self.chance(chance):
            self.attrs[name] = value

    def real(self, name, default):
        """A float attribute as a model holds it: a float32, defaults too."""
        return float(np.float32(self.attrs.get(name, default)))

    def output_dtype(self, k):
        outputs = self.schema.outputs
        kind = outputs[min(k, len(outputs) - 1)].type_str
        if kind in self.types:
            return self.types[kind]
        return kind[7:-1] if kind.startswith("tensor(") else self.allowed(kind)[0]

    def count(self):
        return self.outputs or max(1, self.schema.min_output)

    def data_set(self, number):
        """Arrays by input, None where left out; sets after the first have other values."""
        rng = np.random.default_rng([self.seed, number, 77])
        fixed = np.random.default_rng([self.seed, 78])
        arrays = []
        for i in self.inputs:
            if i is None:
                arrays.append(None)
                continue
            made = i.make(fixed if i.constant else rng, self.wild and number > 1 and not i.constant)
            arrays.append(np.asarray(made).astype(numpy_of(i.dtype)).reshape(i.shape))
        return arrays


# ---- the model -------------------------------------------------------------------------------------------------


def tensor_of(name, array, dtype):
    """A TensorProto of any dtype."""
    return onnx.numpy_helper.from_array(np.asarray(array, numpy_of(dtype)), name)


def names_of(d):
    """Names of the node's inputs, trailing ones that are left out dropped."""
    names = [i.name if i else "" for i in d.inputs]
    while names and not names[-1]:
        names.pop()
    return names


def make_node(d):
    attrs = dict(d.attrs) | d.graphs
    return helper.make_node(d.op, names_of(d), [f"y{k}" for k in range(d.count())], domain=d.domain, **attrs)


def dims_of(d, i):
    """Dims of an input as the model states them: some are symbols."""
    if not d.symbols or i.whole or not d.chance(0.3):
        return list(i.shape)
    return [f"{i.name}_{k}" if d.chance(0.6) else n for k, n in enumerate(i.shape)]


def make_model(d, results):
    """The model of a node; results are the oracle's, which give ranks and dtypes of outputs."""
    arrays = d.data_set(0)
    graph_inputs, weights = [], []
    for i, array in zip(d.inputs, arrays):
        if i is None:
            continue
        if i.constant:
            weights.append(tensor_of(i.name, array, i.dtype))
        else:
            graph_inputs.append(helper.make_tensor_value_info(i.name, SCHEMA_NAMES[i.dtype], dims_of(d, i)))
    plain = d.chance(0.5)
    outputs = [helper.make_tensor_value_info(f"y{k}", SCHEMA_NAMES[d.output_dtype(k)],
                                             None if plain else [None] * r.ndim)
               for k, r in enumerate(results)]
    graph = helper.make_graph([make_node(d)], "differential", graph_inputs, outputs, weights)
    imports = [helper.make_opsetid(d.domain, d.opset if d.domain == "" else 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=13)
