"""Values of the backend suite: reading them from files, and comparing what came with what was expected."""
import numpy as np
import onnx
from onnx import numpy_helper


def kind_of(info):
    """tensor_type, sequence_type, optional_type or map_type of a graph's input or output."""
    return info.type.WhichOneof("value") or "tensor_type"


def read(path, kind="tensor_type"):
    """The value in a .pb file: an array, or a list, None or dict of values."""
    message, convert = {
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
        "map_type": (onnx.MapProto, numpy_helper.to_dict),
    }.get(kind, (onnx.TensorProto, numpy_helper.to_array))
    proto = message()
    proto.ParseFromString(path.read_bytes())
    if kind == "tensor_type" and proto.data_type == onnx.TensorProto.STRING:  # which need not be UTF-8
        array = np.empty(len(proto.string_data), dtype=object)
        array[:] = list(proto.string_data)
        return array.reshape(proto.dims)
    return convert(proto)


def as_numbers(array):
    """float64 (or complex128) of any float dtype, else None."""
    if np.iscomplexobj(array):
        return array.astype(np.complex128)
    name = array.dtype.name
    return array.astype(np.float64) if "float" in name else None


def as_text(array):
    return [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel().tolist()]


def difference(got, want, rtol, atol):
    """None where equal within the tolerance, else one line that says how they differ."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"a sequence of {len(want)} was expected"
        for i, (a, b) in enumerate(zip(got, want)):
            why = difference(a, b, rtol, atol)
            if why:
                return f"element {i}: {why}"
        return None
    if want is None or got is None:
        return None if want is got else "one is there and the other is not"
    if isinstance(want, dict):
        if not isinstance(got, dict) or set(got) != set(want):
            return "the maps have different keys"
        return difference([np.asarray(got[k]) for k in want], [np.asarray(want[k]) for k in want], rtol, atol)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype == object or want.dtype.kind in "SU":
        return None if as_text(got) == as_text(want) else "strings differ"
    a, b = as_numbers(got), as_numbers(want)
    if b is None:
        bad = np.asarray(got != want)
        a, b = got, want
    else:
        with np.errstate(all="ignore"):
            near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= atol + rtol * np.abs(b))
        bad = ~near
    if not bad.any():
        return None
    at = int(np.flatnonzero(bad.ravel())[0])
    return (f"{int(bad.sum())} of {bad.size} differ, first at {at}: {a.ravel()[at]}, "
            f"expected {b.ravel()[at]}")
