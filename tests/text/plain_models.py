"""Models with one trait each that the plain textual form may fail to carry."""
import onnx
from onnx import AttributeProto as A
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

import numpy as np

node, info, tensor = h.make_node, h.make_tensor_value_info, h.make_tensor


def base(nodes=None, ins=None, outs=None, inits=(), **fields):
    graph = h.make_graph(nodes or [node("Relu", ["x"], ["y"])], "g", ins or [info("x", T.FLOAT, [2])],
                         outs or [info("y", T.FLOAT, [2])], list(inits))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10, **fields)


def attr(**attributes):
    return base([node("Foo", ["x"], ["y"], domain="my.dom", **attributes)])


def e(m):
    a = m.graph.node[0].attribute.add()
    a.name = "e"
    return a


def x(m):
    return m.graph.input[0]


def clear(m):
    x(m).type.Clear()


def sparse():
    return h.make_sparse_tensor(tensor("w", 1, [1], [1.0]), tensor("i", 7, [1], [2]), [5])


def function():
    return h.make_function("my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [h.make_opsetid("", 20)])


def calls(f):
    return base([node("F", ["x"], ["y"], domain="my")], functions=[f])


def conditional(then, otherwise):
    arms = [h.make_graph([node("Relu", ["x"], ["z"])], name, [], [info("z", 1, [2])]) for name in (then, otherwise)]
    return base([node("If", ["c"], ["y"], then_branch=arms[0], else_branch=arms[1])],
                ins=[info("x", 1, [2]), info("c", 9, [])])


# A name, and statements that leave the model in m.
TRAITS = r"""
plain: m = base()
header strings: m = base(producer_name='p"q\\', doc_string='two\nlines')
model metadata: m = base(); m.metadata_props.add(key='a', value='b')
graph doc: m = base(); m.graph.doc_string = 'd'
graph metadata: m = base(); m.graph.metadata_props.add(key='a', value='b')
node doc: m = base(); m.graph.node[0].doc_string = 'd'
node metadata: m = base(); m.graph.node[0].metadata_props.add(key='a', value='b')
node name: m = base(); m.graph.node[0].name = 'n/1'
node name odd: m = base(); m.graph.node[0].name = 'n\n"1'
value name odd: m = base([node('Relu', ['x'], ['y z'])], outs=[info('y z', T.FLOAT, [2])])
value name utf8: m = base([node('Relu', ['x'], ['é\n'])], outs=[info('é\n', T.FLOAT, [2])])
no graph name: m = base(); m.graph.name = ''
graph name odd: m = base(); m.graph.name = 'a b'
input no type: m = base(); x(m).type.Clear()
elem 0: m = base(); x(m).type.tensor_type.elem_type = 0
elem 99: m = base(); x(m).type.tensor_type.elem_type = 99
denotation: m = base(); x(m).type.denotation = 'IMAGE'
dim denotation: m = base(); x(m).type.tensor_type.shape.dim[0].denotation = 'BATCH'
dim param odd: m = base(); x(m).type.tensor_type.shape.dim[0].dim_param = 'a b'
dim param sum: m = base(); x(m).type.tensor_type.shape.dim[0].dim_param = 'N+1'
dim unset: m = base(); x(m).type.tensor_type.shape.dim[0].Clear()
dim -1: m = base(); x(m).type.tensor_type.shape.dim[0].dim_value = -1
no shape: m = base(); x(m).type.tensor_type.ClearField('shape')
input doc: m = base(); x(m).doc_string = 'd'
input metadata: m = base(); x(m).metadata_props.add(key='a', value='b')
seq: m = base(); clear(m); x(m).type.sequence_type.elem_type.tensor_type.elem_type = 1
map: m = base(); clear(m); x(m).type.map_type.key_type = 7; x(m).type.map_type.value_type.tensor_type.elem_type = 1
optional: m = base(); clear(m); x(m).type.optional_type.elem_type.tensor_type.elem_type = 1
sparse type: m = base(); clear(m); x(m).type.sparse_tensor_type.elem_type = 1
opaque: m = base(); clear(m); x(m).type.opaque_type.domain = 'd'; x(m).type.opaque_type.name = 'n'
nan init: m = base(inits=[tensor('w', 1, [3], [float('nan'), float('inf'), -float('inf')])])
f64 init: m = base(inits=[tensor('w', 11, [3], [1e300, -0.0, 5e-324])])
u64 init: m = base(inits=[tensor('w', 13, [2], [2**64-1, 0])])
i64 init: m = base(inits=[tensor('w', 7, [2], [-2**63, 2**63-1])])
c64 init: m = base(inits=[tensor('w', 14, [2], [1+2j, 3-1j])])
empty init: m = base(inits=[tensor('w', 1, [0], [])])
scalar init: m = base(inits=[tensor('w', 1, [], [1.0])])
string bytes: m = base(inits=[tensor('w', 8, [1], [b'\xff\x00'])])
tensor doc: t = tensor('w', 1, [1], [1.0]); t.doc_string = 'd'; m = base(inits=[t])
tensor no name: t = tensor('w', 1, [1], [1.0]); t.name = ''; m = base(inits=[t])
external: t = T(); t.name = 'w'; t.data_type = 1; t.dims.append(2); t.data_location = 1; t.external_data.add(key='location', value='w.bin'); m = base(inits=[t])
both: t = tensor('w', 1, [2], [1.0, 2.0]); t.raw_data = b''; m = base(inits=[t])
short raw: t = T(); t.name = 'w'; t.data_type = 1; t.dims.append(2); t.raw_data = b'abc'; m = base(inits=[t])
odd dtype raw: t = T(); t.name = 'w'; t.data_type = 99; t.dims.append(1); t.raw_data = b'abc'; m = base(inits=[t])
odd field: t = T(); t.name = 'w'; t.data_type = 1; t.dims.append(1); t.int32_data.append(3); m = base(inits=[t])
sparse init: m = base(); m.graph.sparse_initializer.append(sparse())
sparse attr: m = base([node('Constant', [], ['y'], sparse_value=sparse())])
attrs: m = attr(a=1, b=2.5, c='s"\\', d=[1, 2], e=[1.5, 2.0], f=['a', 'b'])
attr nan: m = attr(a=float('nan'), b=float('-inf'), c=[float('inf'), 1.0])
attr f big: m = attr(a=3e38, b=1e-45, c=[16777216.0])
attr names: m = base([node('Foo', ['x'], ['y'], domain='my.dom', **{'a b':1, '':2, 'float':3})])
attr bytes: m = attr(a=b'\xff\xfe')
attr newline: m = attr(a='a\nb\tc')
empty ints: m = attr(); a = e(m); a.type = A.INTS
tensors attr: m = attr(); a = e(m); a.type = A.TENSORS; a.tensors.append(tensor('t', 1, [1], [1.0]))
graphs attr: m = attr(); a = e(m); a.type = A.GRAPHS; a.graphs.append(base().graph)
sparses attr: m = attr(); a = e(m); a.type = A.SPARSE_TENSORS; a.sparse_tensors.append(sparse())
type attr: m = attr(); a = e(m); a.type = A.TYPE_PROTO; a.tp.tensor_type.elem_type = 1
types attr: m = attr(); a = e(m); a.type = A.TYPE_PROTOS; a.type_protos.add().tensor_type.elem_type = 1
undefined attr: m = attr(); a = e(m)
untyped attr: m = attr(); a = e(m); a.i = 3
attr doc: m = attr(); a = e(m); a.type = 2; a.i = 3; a.doc_string = 'd'
domain odd: m = base([node('Foo', ['x'], ['y'], domain='my dom-x')])
op odd: m = base([node('Fo o', ['x'], ['y'], domain='my')])
op empty: m = base([node('', ['x'], ['y'])])
absent operands: m = base([node('Foo', ['x', '', ''], ['y'])])
absent result: m = base([node('Foo', ['x'], ['', 'y'])])
no operands: m = base([node('Foo', [], [])])
overload: m = base([node('Foo', ['x'], ['y'], overload='o')])
function: m = calls(function())
function doc: f = function(); f.doc_string = 'd'; m = calls(f)
function metadata: f = function(); f.metadata_props.add(key='a', value='b'); m = calls(f)
function overload: f = function(); f.overload = 'o'; m = calls(f)
function attr: f = function(); f.attribute.append('alpha'); m = calls(f)
function attr default: f = function(); f.attribute_proto.append(h.make_attribute('beta', 1.0)); m = calls(f)
function ref: f = function(); f.attribute.append('alpha'); a = f.node[0].attribute.add(); a.name = 'k'; a.type = 1; a.ref_attr_name = 'alpha'; m = calls(f)
function infos: f = function(); f.value_info.append(info('b', 1, [2])); m = calls(f)
function name odd: f = function(); f.name = 'F G'; m = calls(f)
value info: m = base(); m.graph.value_info.append(info('q', 1, [2]))
quantization: m = base(); q = m.graph.quantization_annotation.add(); q.tensor_name = 'x'
training: m = base(); m.training_info.add()
configuration: m = base(); c = m.configuration.add(); c.name = 'c'; c.num_devices = 2
device configuration: m = base(); c = m.graph.node[0].device_configurations.add(); c.configuration_id = 'c'
more header: m = base(); m.model_version = 3; m.domain = 'd'; m.producer_version = '1'
no ir: m = base(); m.ClearField('ir_version')
no opset: m = base(); del m.opset_import[:]
odd opset: m = base(); m.opset_import.add(domain = 'a b"', version=2)
input default: m = base(inits=[tensor('x', 1, [2], [1., 2.])])
no nodes: m = base(); m.graph.ClearField('node')
no inputs: m = base(); del m.graph.input[:]
if: m = conditional('then', 'el se')
no graph: m = onnx.ModelProto(); m.ir_version = 8
"""


def of_dtypes():
    for dtype in range(1, 29):
        try:
            if dtype == T.STRING:
                t = tensor("w", dtype, [2], [b'a"\\\n', "\u00e9".encode()])
            else:
                t = nh.from_array(np.array([1, 0, 1]).astype(h.tensor_dtype_to_np_dtype(dtype)), "w")
        except (KeyError, TypeError, ValueError):
            continue  # no such dtype in this onnx
        yield f"initializer of dtype {dtype}", base(inits=[t])
        yield f"constant of dtype {dtype}", base([node("Constant", [], ["c"], value=t), node("Relu", ["x"], ["y"])])


def models():
    for line in TRAITS.strip().split("\n"):
        name, statements = line.split(": ", 1)
        scope = dict(globals())
        exec(statements, scope)
        yield name, scope["m"]
    yield from of_dtypes()
