"""Control flow: If, Loop, Scan, whose bodies are of the same opset."""
import numpy as np
from onnx import TensorProto, helper

from cases import BOOL, F32, F64, I64, case, const, floats, ints, operators, scalar


def info(name, dims=(2,), elem=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem, dims)


def constant(name, array):
    from onnx import numpy_helper
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array), name))


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, outputs)


@operators("If")
def branches(v):
    def arm(value, name, dims=(2,)):
        return body([constant(name, np.array(value, np.float32))], [], [info(name, dims)])

    yes, no = arm([1, 2], "a"), arm([3, 4], "b")
    for cond in (True, False):
        yield case(scalar(cond, BOOL), then_branch=yes, else_branch=no, tag="given")
        yield case(const(cond, BOOL), then_branch=yes, else_branch=no)
    if v.since >= 11:
        longer = arm([3, 4, 5], "b", (3,))
        yield case(scalar(False, BOOL), then_branch=yes, else_branch=longer, tag="shapes",
                   out_types=[helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])])
    if v.since >= 13:
        one = body([constant("a", np.ones(2, np.float32)), helper.make_node("SequenceConstruct", ["a"], ["s"])], [],
                   [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])])
        two = body([constant("b", np.ones(2, np.float32)), helper.make_node("SequenceConstruct", ["b", "b"], ["t"])],
                   [], [helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, [2])])
        yield case(scalar(True, BOOL), then_branch=one, else_branch=two, tag="sequence")


@operators("Loop")
def loop(v):
    head = [info("i", (), TensorProto.INT64), info("c", (), TensorProto.BOOL)]
    sums = body([helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Add", ["s", "s"], ["r"]),
                 helper.make_node("Identity", ["s"], ["seen"])], head + [info("s")],
                [info("go", (), TensorProto.BOOL), info("r"), info("seen")])
    yield case(scalar(3, I64), scalar(True, BOOL), floats(2), body=sums, outputs=2, tag="given")
    yield case(const(4), const(True, BOOL), floats(2), body=sums, outputs=2)
    yield case(const(4), None, floats(2), body=sums, outputs=2)
    until = body([constant("most", np.int64(2)), helper.make_node("Less", ["i", "most"], ["go"]),
                  helper.make_node("Add", ["s", "s"], ["r"])], head + [info("s")],
                 [info("go", (), TensorProto.BOOL), info("r")])
    if v.since >= 11:  # Less of integers
        yield case(const(9), const(True, BOOL), floats(2), body=until)
        yield case(None, const(True, BOOL), floats(2), body=until)
    grows = body([helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Concat", ["s", "s"], ["r"], axis=0)],
                 head + [info("s", ("n",))], [info("go", (), TensorProto.BOOL), info("r", ("m",))])
    if v.since >= 11:
        yield case(const(3), const(True, BOOL), floats(2), body=grows, tag="grows",
                   out_types=[helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])])
    if v.since >= 13:
        more = body([helper.make_node("Identity", ["c"], ["go"]), constant("one", np.ones(2, np.float32)),
                     helper.make_node("SequenceInsert", ["s", "one"], ["r"])],
                    head + [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])],
                    [info("go", (), TensorProto.BOOL),
                     helper.make_tensor_sequence_value_info("r", TensorProto.FLOAT, [2])])
        yield case(const(3), const(True, BOOL), [floats(2)], body=more, tag="sequence")


@operators("Scan")
def scan(v):
    step = body([helper.make_node("Add", ["s", "x"], ["r"]), helper.make_node("Mul", ["r", "x"], ["y"])],
                [info("s"), info("x")], [info("r"), info("y")])
    if v.since < 9:
        x, s = floats(2, 3, 2), floats(2, 2)
        yield case(None, s, x, body=step, num_scan_inputs=1, outputs=2)
        yield case(ints(3, 2), s, x, body=step, num_scan_inputs=1, outputs=2, tag="lengths")
        yield case(None, s, x, body=step, num_scan_inputs=1, directions=[1], outputs=2)
        return
    x, s = floats(3, 2), floats(2)
    yield case(s, x, body=step, num_scan_inputs=1, outputs=2)
    yield case(s, x, body=step, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1], outputs=2)
    axis = 1 if v.since < 11 else -1
    yield case(s, floats(2, 3), body=step, num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[axis], outputs=2)
    halves = body([helper.make_node("Add", ["s", "x"], ["r"]), helper.make_node("Mul", ["r", "z"], ["y"])],
                  [info("s"), info("x"), info("z")], [info("r"), info("y")])
    yield case(s, x, floats(3, 2), body=halves, num_scan_inputs=2, scan_input_directions=[0, 1], outputs=2)
