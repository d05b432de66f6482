"""Operators that move elements: shapes, slices, gathers, scatters, pads."""
import numpy as np

from cases import (BOOL, Const, F32, I32, I64, case, const, distinct, everything, floats, ints, numbers, operators, scalar,
                   values)


@operators("Concat")
def concat(v):
    for t in everything(v):
        yield case(values(t, 2, 3), values(t, 1, 3), axis=0, tag=t.name)
    yield case(floats(2, 3), floats(2, 1), floats(2, 2), axis=1)
    if v.since >= 11:
        yield case(floats(2, 3), floats(2, 1), axis=-1)


@operators("Expand")
def expand(v):
    for t in everything(v):
        yield case(values(t, 3, 1), const([2, 1, 4]), tag=t.name)
    yield case(floats(3, 1), ints(3, 4), tag="given")


@operators("Tile")
def tile(v):
    for t in everything(v):
        yield case(values(t, 2, 3), const([2, 1]), tag=t.name)
    yield case(floats(2, 3), ints(1, 3), tag="given")


@operators("Reshape")
def reshape(v):
    for t in everything(v):
        yield case(values(t, 2, 3, 4), const([4, -1]), tag=t.name)
    yield case(floats(2, 3, 4), const([0, 0, 2, 2]))
    yield case(floats(2, 3, 4), ints(3, 8), tag="given")
    if v.has("allowzero"):
        yield case(floats(0, 3), const([3, 0]), allowzero=1)
        yield case(floats(2, 3), const([0, 3]), allowzero=0)


@operators("Flatten")
def flatten(v):
    for t in everything(v):
        yield case(values(t, 2, 3, 4), tag=t.name)
    yield case(floats(2, 3, 4), axis=0)
    yield case(floats(2, 3, 4), axis=3)
    if v.since >= 11:
        yield case(floats(2, 3, 4), axis=-1)


@operators("Transpose")
def transpose(v):
    for t in everything(v):
        yield case(values(t, 2, 3), tag=t.name)
    yield case(floats(2, 3, 4), perm=[2, 0, 1])


@operators("Squeeze")
def squeeze(v):
    for t in everything(v):
        yield case(values(t, 1, 3, 1), tag=t.name)
    if v.has("axes"):
        yield case(floats(1, 3, 1), axes=[0])
        if v.since >= 11:
            yield case(floats(1, 3, 1), axes=[-1])
    else:
        yield case(floats(1, 3, 1), const([0]))
        yield case(floats(1, 3, 1), const([-1, 0]))


@operators("Unsqueeze")
def unsqueeze(v):
    for t in everything(v):
        if v.has("axes"):
            yield case(values(t, 2, 3), axes=[0, 3], tag=t.name)
        else:
            yield case(values(t, 2, 3), const([0, 3]), tag=t.name)
    if not v.has("axes"):
        yield case(floats(2, 3), const([-1, 0]))
    elif v.since >= 11:
        yield case(floats(2, 3), axes=[-1])


@operators("Slice")
def slices(v):
    if v.has("starts"):
        for t in everything(v):
            yield case(values(t, 4, 5), starts=[1, 0], ends=[3, 2], tag=t.name)
        yield case(floats(4, 5), starts=[-2], ends=[1000], axes=[1])
        yield case(floats(4, 5), starts=[0, -3], ends=[-1, -1], axes=[1, 0])
        return
    for t in everything(v):
        yield case(values(t, 4, 5), const([1, 0]), const([3, 2]), tag=t.name)
    yield case(floats(4, 5), const([-2]), const([1000]), const([1]))
    yield case(floats(4, 5), const([4, 0]), const([0, 5]), const([1, 0]), const([-2, 1]))
    yield case(floats(4, 5), const([-1], I32), const([-100], I32), const([0], I32), const([-1], I32))
    yield case(floats(4, 5), ints(1), ints(3), ints(1), tag="given")
    yield case(floats(4, 5), const([1]), const([2**63 - 1]), const([-1 if v.since >= 11 else 1]), const([2]))


@operators("Split")
def split(v):
    for t in everything(v):
        if v.has("num_outputs"):
            yield case(values(t, 4, 3), num_outputs=2, outputs=2, tag=t.name)
        else:
            yield case(values(t, 4, 3), outputs=2, tag=t.name)
    if v.has("split"):
        yield case(floats(2, 5), axis=1, split=[2, 3], outputs=2)
    else:
        yield case(floats(2, 5), const([2, 3]), axis=1, outputs=2)
        yield case(floats(2, 5), const([1, 0, 4]), axis=-1, outputs=3, tag="empty")
    if v.has("num_outputs"):
        yield case(floats(2, 5), axis=1, num_outputs=3, outputs=3, tag="uneven")
    if v.since >= 11:
        yield case(floats(2, 6), axis=-1, outputs=3, **({"num_outputs": 3} if v.has("num_outputs") else {}))


@operators("Pad")
def pad(v):
    if v.has("pads"):
        for t in numbers(v):
            yield case(values(t, 2, 3), pads=[1, 0, 0, 2], tag=t.name)
        yield case(floats(2, 3), pads=[1, 0, 0, 2], value=1.5)
        yield case(floats(3, 4), pads=[-1, 0, 0, 2])
        for mode in ("edge", "reflect"):
            yield case(floats(3, 4), pads=[1, 2, 2, 1], mode=mode)
        return
    for t in everything(v):
        fill = () if t.name not in ("float8_e8m0fnu", "object") else (Const(values(t)),)  # neither has a 0
        yield case(values(t, 2, 3), const([1, 0, 0, 2]), *fill, tag=t.name)
    yield case(floats(2, 3), const([1, 0, 0, 2]), const(1.5, F32))
    yield case(floats(2, 3), ints(1, 0, 0, 2), scalar(1.5), tag="given")
    yield case(floats(3, 4), const([-1, 0, 0, 2]))
    for mode in ("edge", "reflect") + (("wrap",) if v.since >= 19 else ()):
        yield case(floats(3, 4), const([1, 2, 2, 1]), mode=mode)
    if v.ninputs() > 3:
        yield case(floats(2, 3), const([1, 2]), None, const([1]))
        yield case(floats(2, 3), const([1, 2]), const(2.0, F32), const([-1], I32))


@operators("Gather")
def gather(v):
    for t in everything(v):
        yield case(values(t, 4, 3), ints(0, 3, 1), tag=t.name)
    yield case(floats(4, 3), np.array([[0, 2], [1, 1]], np.int32), axis=1)
    yield case(floats(4, 3), scalar(2, I64), axis=0)
    if v.since >= 11:
        yield case(floats(4, 3), ints(-1, 0), axis=-1)


@operators("GatherElements")
def gather_elements(v):
    for t in everything(v):
        yield case(values(t, 3, 3), np.array([[1, 2, 0], [2, 0, 0]]), tag=t.name)
    yield case(floats(3, 3), np.array([[-1, 0], [1, -2], [0, 0]], np.int32), axis=1)
    yield case(floats(3, 3), np.array([[1], [2], [0]]), axis=-1)


@operators("GatherND")
def gather_nd(v):
    for t in everything(v):
        yield case(values(t, 2, 3, 2), np.array([[0, 1], [1, 2]]), tag=t.name)
    yield case(floats(2, 3), np.array([[0, 1], [-1, -2]]))
    if v.has("batch_dims"):
        yield case(floats(2, 3, 2), np.array([[1], [2]]), batch_dims=1)


@operators("Scatter", "ScatterElements")
def scatter_elements(v):
    for t in everything(v):
        yield case(values(t, 3, 3), np.array([[1, 0, 2], [0, 2, 1]]), values(t, 2, 3), tag=t.name)
    yield case(floats(1, 5), np.array([[1, 3]]), floats(1, 2), axis=1)
    if v.since >= 11:
        yield case(floats(1, 5), np.array([[1, -3]]), floats(1, 2), axis=-1)
    if v.has("reduction"):
        for how in ("add", "mul") + (("min", "max") if v.since >= 18 else ()):
            yield case(floats(1, 5), np.array([[1, 1]]), floats(1, 2), axis=1, reduction=how)


@operators("ScatterND")
def scatter_nd(v):
    for t in everything(v):
        yield case(values(t, 4, 2), np.array([[1], [3]]), values(t, 2, 2), tag=t.name)
    yield case(floats(4, 2), np.array([[1, 0], [-1, 1]]), floats(2))
    if v.has("reduction"):
        for how in ("add", "mul") + (("min", "max") if v.since >= 18 else ()):
            yield case(floats(5), np.array([[1], [1]]), floats(2), reduction=how)


@operators("Compress")
def compress(v):
    for t in everything(v):
        yield case(values(t, 3, 2), np.array([True, False, True]), axis=0, tag=t.name)
    yield case(floats(3, 2), np.array([False, True, False, True, True]))
    if v.since >= 11:
        yield case(floats(3, 2), np.array([False, True]), axis=-1)


@operators("OneHot")
def one_hot(v):
    for t in everything(v, 2):
        yield case(ints(0, 2, 1), const(4), values(t, 2), tag=t.name)
    # Before 11 a negative index is outside like one that is too large; ONNX Runtime wraps it at every opset.
    x, pair = ints(0, -1, 9), floats(2)
    lit = (x[:, None] == np.arange(4)) | ((x[:, None] + 4 == np.arange(4)) & (v.since >= 11))
    yield case(x, const([4]), pair, tag="outside", expect=[np.where(lit, pair[1], pair[0])])
    if v.since >= 11:
        yield case(ints(0, -1, 2), const(3), floats(2), tag="negative")
    yield case(np.array([[0, 2]], np.float32), const(3.0, F32), floats(2), axis=0)
    yield case(ints(0, 2, 1), scalar(3, I64), ints(2, 5), axis=0, tag="depth_given")


@operators("DepthToSpace")
def depth_to_space(v):
    for t in everything(v):
        yield case(values(t, 1, 8, 2, 3), blocksize=2, tag=t.name)
    if v.has("mode"):
        yield case(floats(1, 8, 2, 3), blocksize=2, mode="CRD")
        yield case(floats(1, 8, 2, 3), blocksize=2, mode="DCR")


@operators("SpaceToDepth")
def space_to_depth(v):
    for t in everything(v):
        yield case(values(t, 1, 2, 4, 6), blocksize=2, tag=t.name)
    if v.has("mode"):
        yield case(floats(1, 2, 4, 6), blocksize=2, mode="CRD")
        yield case(floats(1, 2, 4, 6), blocksize=2, mode="DCR")


@operators("ReverseSequence")
def reverse_sequence(v):
    for t in everything(v):
        yield case(values(t, 4, 3), ints(4, 2, 1), tag=t.name)
    yield case(floats(3, 4), ints(4, 2, 1), batch_axis=0, time_axis=1)


@operators("CenterCropPad")
def center_crop_pad(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 5, 4), const([3, 7]), tag=t.name)
    yield case(floats(5, 4), const([6]), axes=[-1])


@operators("Col2Im")
def col2im(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 1, 4, 9), const([4, 4]), const([2, 2]), tag=t.name)
    yield case(floats(1, 4, 6), const([5, 4]), const([2, 2]), strides=[2, 1], pads=[0, 0, 0, 0], dilations=[1, 1])


@operators("Constant")
def constant(v):
    for t in everything(v):
        yield case(value=values(t, 2, 3), tag=t.name)
    if v.has("value_float"):
        yield case(value_float=1.5)
        yield case(value_floats=[1.5, 2.5])
        yield case(value_int=3)
        yield case(value_ints=[3, 4])
        yield case(value_string=b"text")
        yield case(value_strings=[b"some", b"text"])
    if v.has("sparse_value"):
        from onnx import helper, numpy_helper
        sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.array([2, 3], np.float32), "v"),
                                           numpy_helper.from_array(ints(1, 4), "i"), [2, 3])
        yield case(sparse_value=sparse, expect=[np.array([[0, 2, 0], [0, 3, 0]], np.float32)])


@operators("ConstantOfShape")
def constant_of_shape(v):
    outs = [t for t in out_types(v)]
    for t in outs:
        yield case(const([2, 3]), value=np.ones(1, t), tag=t.name)
    yield case(const([2, 3]))
    yield case(ints(2, 1), value=ints(7, dtype=I32), tag="given")


def out_types(v):
    from schemas import numpy_type
    known = {numpy_type(t) for t in v.before.outputs[0].types} if v.before else set()
    return sorted((t for t in map(numpy_type, v.schema.outputs[0].types) if t not in known), key=str)


@operators("TensorScatter")
def tensor_scatter(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 2, 1, 4, 3), values(t, 2, 1, 1, 3), ints(1, 2), tag=t.name)
    yield case(floats(2, 1, 4, 3), floats(2, 1, 2, 3))
    yield case(floats(2, 1, 4, 3), floats(2, 1, 2, 3), ints(3, 1), mode="circular")


@operators("Optional")
def optional(v):
    from onnx import helper
    made = helper.make_optional_type_proto(helper.make_tensor_type_proto(1, [2]))
    x = floats(2)
    yield case(x, out_types=[made], expect=[x])


@operators("OptionalHasElement", "OptionalGetElement")
def optional_element(v):
    from onnx import helper
    made = helper.make_optional_type_proto(helper.make_tensor_type_proto(1, [2]))
    yield case(floats(2), types=[made])
    if v.since >= 18:
        yield case(floats(2), tag="tensor")
        if v.name == "OptionalHasElement":
            yield case(tag="nothing")


@operators("SequenceConstruct")
def sequence_construct(v):
    yield case(floats(2), floats(2))


@operators("SequenceEmpty")
def sequence_empty(v):
    from onnx import helper
    yield case(dtype=1, out_types=[helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))])


@operators("SequenceAt")
def sequence_at(v):
    yield case([floats(2), floats(2), floats(2)], scalar(-1, I64))


@operators("SequenceErase")
def sequence_erase(v):
    yield case([floats(2), floats(2), floats(2)], scalar(1, I64))
    yield case([floats(2), floats(2)])


@operators("SequenceInsert")
def sequence_insert(v):
    yield case([floats(2), floats(2)], floats(2), scalar(1, I64))
    yield case([floats(2), floats(2)], floats(2))


@operators("SequenceLength")
def sequence_length(v):
    yield case([floats(2), floats(2)])


@operators("ConcatFromSequence")
def concat_from_sequence(v):
    yield case([floats(2, 3), floats(2, 3)], axis=0)
    yield case([floats(2, 3), floats(2, 3)], axis=1, new_axis=1)


@operators("SplitToSequence")
def split_to_sequence(v):
    for t in numbers(v)[:3]:
        yield case(values(t, 3, 2), tag=t.name)
    yield case(floats(5, 2), const([2, 3]))
    yield case(floats(4, 2), const(2))
    yield case(floats(3, 2), keepdims=0, axis=1)


@operators("SequenceMap")
def sequence_map(v):
    from onnx import helper
    x = helper.make_tensor_value_info("e", 1, [2])
    y = helper.make_tensor_value_info("r", 1, [2])
    body = helper.make_graph([helper.make_node("Relu", ["e"], ["r"])], "body", [x], [y])
    yield case([floats(2), floats(2)], body=body)
