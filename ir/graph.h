// The graph IR: an ONNX model as typed SSA values, with everything that the file holds.
//
// A Model owns tables of values, nodes and graphs; ids index them and stay valid across passes (0
// is none). What passes never look at (documentation, metadata, unknown fields) is kept so that
// export gives back a model equal to the imported one, field by field: `has` masks say which
// optional fields were present.
#ifndef CAMEO_IR_GRAPH_H
#define CAMEO_IR_GRAPH_H

#include "base/file.h"
#include "base/map.h"
#include "ir/dtype.h"
#include "ir/poly.h"

typedef uint32_t ValueId, NodeId, GraphId;
typedef uint32_t DeviceId; // index into Model.devices; 0 is "not placed yet", 1 is the host

// key = value, in file order.
typedef struct Prop {
    Str key, value;
    uint32_t has; // bit 0: key, bit 1: value
    Str unknown;
} Prop;
typedef VEC(Prop) Props;
Str props_get(const Props *p, const char *key); // absent: STR_NONE

// ---- types as declared in the file

typedef enum TypeKind {
    TYPE_NONE,
    TYPE_TENSOR,
    TYPE_SPARSE,
    TYPE_SEQUENCE,
    TYPE_MAP,
    TYPE_OPTIONAL,
    TYPE_OPAQUE
} TypeKind;

typedef struct DeclDim {
    enum { DIM_UNSET, DIM_VALUE, DIM_PARAM } kind;
    int64_t value;
    Str param, denotation; // denotation: absent if not in the file
    Str unknown;
} DeclDim;

typedef struct Type {
    TypeKind kind;
    int32_t elem; // tensor, sparse: DType as written (may be out of range); map: of the key
    bool has_elem, has_shape;
    uint32_t rank;
    DeclDim *dims;
    struct Type *sub; // sequence, optional: element; map: value. NULL if absent
    Str domain, name; // opaque
    Str denotation;
    Str unknown, unknown_inner,
        unknown_shape; // of TypeProto, of the alternative, of TensorShapeProto
} Type;

// ---- tensors

// Which field of TensorProto holds the payload.
typedef enum Payload {
    PAYLOAD_NONE,
    PAYLOAD_RAW,
    PAYLOAD_FLOAT,
    PAYLOAD_INT32,
    PAYLOAD_INT64,
    PAYLOAD_DOUBLE,
    PAYLOAD_UINT64,
    PAYLOAD_STRING,
    PAYLOAD_EXTERNAL
} Payload;

typedef struct TensorData {
    Str name, doc;
    int32_t dtype; // as written
    uint32_t rank;
    const int64_t *dims;
    Payload payload;
    Str raw;        // RAW: bytes in the mapping. FLOAT, DOUBLE (little-endian, packed), also bytes
    uint64_t count; // elements of INT32, INT64, UINT64 payload
    const void *ints;      // INT32: int32_t, INT64: int64_t, UINT64: uint64_t
    const Str *strings;    // STRING
    Props external;        // EXTERNAL: location, offset, length, checksum
    int32_t data_location; // as written
    Props metadata;
    bool has_segment;
    int64_t segment_begin, segment_end;
    uint32_t segment_has; // bit 0: begin, bit 1: end
    uint32_t has;         // TENSOR_HAS_*
    Str unknown;
    // Filled by tensor_elements (below), not by import:
    const void *elements; // one element after the other as in memory (DTypeInfo.bytes each)
    uint64_t nelements;
} TensorData;
enum {
    TENSOR_HAS_NAME = 1,
    TENSOR_HAS_DOC = 2,
    TENSOR_HAS_DTYPE = 4,
    TENSOR_HAS_LOCATION = 8,
    TENSOR_HAS_RAW = 16,
    TENSOR_HAS_EXTRA = 32 // more than one payload; all but one are in `unknown`, as fields
};

typedef struct SparseData {
    TensorData *values, *indices; // NULL if absent
    uint32_t rank;
    const int64_t *dims;
    Str unknown;
    const TensorData *dense; // filled by sparse_dense
} SparseData;

// ---- values

typedef enum DefKind {
    DEF_NONE,        // used, never defined: a dangling name
    DEF_INPUT,       // a graph's (or function's) input; in a Loop or Scan body too
    DEF_INITIALIZER, // an initializer that is no input
    DEF_SPARSE,      // a sparse initializer
    DEF_NODE
} DefKind;

// The edge that decided a property of a value; `cameo why` walks these.
typedef struct Why {
    enum {
        WHY_NONE,
        WHY_DECLARED,
        WHY_INITIALIZER,
        WHY_OPERAND,
        WHY_ATTRIBUTE,
        WHY_SCHEMA,
        WHY_BRANCH,
        WHY_CONFIG,
        WHY_METADATA,
        WHY_TARGET,
        WHY_FUNCTION,
        WHY_SHARDING // a device by the file's device_configurations
    } kind;
    NodeId node;      // the node whose rule decided, 0 if none
    ValueId from;     // OPERAND, BRANCH: the value it follows
    const char *what; // ATTRIBUTE: its name; TARGET, CONFIG: a line of explanation
} Why;

// What is known of one item of a sequence, or of what an optional holds: the shape of the tensor,
// or of those that it holds in turn.
typedef struct Item {
    int32_t rank; // as Value.rank
    Index *dims;
} Item;

typedef struct Value {
    Str name;      // empty for values made by passes until names are given (value_name)
    GraphId graph; // the graph that defines it
    DefKind def;
    NodeId node;    // DEF_NODE: the defining node
    uint32_t index; // of that node's outputs, or of the graph's inputs
    // Inferred (ir/infer.c):
    TypeKind kind;   // TYPE_TENSOR for tensors; TYPE_NONE unknown
    DType dtype;     // of the elements; of lists (ir/lists.h): of the tensors held. DT_NONE unknown
    int32_t rank;    // -1 unknown; of lists: of the tensors held, RANK_NONE where there is none
    DeviceId device; // 0: wherever it is needed
    const TensorData
        *constant; // known when compiling (initializer that cannot be overridden, Constant, folded)
    TensorData *init; // the initializer's payload, also for an input that has a default
    SparseData *sparse_init;
    const Type *declared; // by an input, output or value_info entry; NULL if none
    // Inferred (ir/infer.c):
    const Type *type; // sequences, maps, optionals, opaque: the whole type
    Index *dims;      // rank of them; an unknown dim is a dim variable of its own
    Item *items;      // sequences, optionals whose items are known one by one; else NULL
    uint32_t nitems;
    Index *content; // small integer tensors whose elements are known symbolically; else NULL
    uint32_t ncontent;
    Why why_dtype, why_shape, why_device;
    ValueId copy_of; // the value of a function's body that inlining copied, 0 if it is none
} Value;

// ---- nodes

typedef enum AttrType { // AttributeProto.AttributeType
    ATTR_UNDEFINED = 0,
    ATTR_FLOAT = 1,
    ATTR_INT = 2,
    ATTR_STRING = 3,
    ATTR_TENSOR = 4,
    ATTR_GRAPH = 5,
    ATTR_FLOATS = 6,
    ATTR_INTS = 7,
    ATTR_STRINGS = 8,
    ATTR_TENSORS = 9,
    ATTR_GRAPHS = 10,
    ATTR_SPARSE = 11,
    ATTR_SPARSES = 12,
    ATTR_TYPE = 13,
    ATTR_TYPES = 14
} AttrType;

typedef struct Attr {
    Str name, doc, ref; // ref: ref_attr_name, inside functions
    int32_t type;       // as written
    uint32_t has;       // ATTR_HAS_*
    float f;
    int64_t i;
    Str s;
    TensorData *t;
    GraphId g;
    SparseData *sparse;
    Type *tp;
    uint32_t nfloats, nints, nstrings, ntensors, ngraphs, nsparses, ntypes;
    const float *floats;
    const int64_t *ints;
    const Str *strings;
    TensorData *const *tensors;
    const GraphId *graphs;
    SparseData *const *sparses;
    Type *const *types;
    Str unknown;
} Attr;
enum {
    ATTR_HAS_NAME = 1,
    ATTR_HAS_DOC = 2,
    ATTR_HAS_REF = 4,
    ATTR_HAS_TYPE = 8,
    ATTR_HAS_F = 16,
    ATTR_HAS_I = 32,
    ATTR_HAS_S = 64
};

typedef struct ShardedDim {
    bool has_axis;
    int64_t axis;
    struct SimpleSharding {
        enum { SHARD_UNSET, SHARD_VALUE, SHARD_PARAM } kind;
        int64_t value;
        Str param;
        bool has_num;
        int64_t num_shards;
        Str unknown;
    } *simple;
    uint32_t nsimple;
    Str unknown;
} ShardedDim;

typedef struct ShardingSpec {
    Str tensor;
    const int64_t *devices;
    uint32_t ndevices;
    struct IndexGroup {
        bool has_key;
        int64_t key;
        const int64_t *values;
        uint32_t nvalues;
        Str unknown;
    } *groups;
    uint32_t ngroups;
    ShardedDim *dims;
    uint32_t ndims;
    Str unknown;
} ShardingSpec;

typedef struct NodeDeviceConfig {
    Str configuration;
    ShardingSpec *specs;
    uint32_t nspecs;
    bool has_stage;
    int32_t stage;
    Str unknown;
} NodeDeviceConfig;

// What a node asks of its operands' dims that only the running program knows: a is b; or one of
// them is 1; or a is b or 1.
typedef enum Fit { FIT_SAME, FIT_BROADCAST, FIT_INTO } Fit;
typedef struct Requirement {
    Index a, b;
    Fit fit;
} Requirement;

typedef struct OpDef OpDef;   // ir/registry.h
typedef struct Schema Schema; // ir/registry.h

typedef struct Node {
    // What all that looks at every node asks first lies together: they are read by the million.
    Str op, domain;
    ValueId *in, *out; // 0: an empty name
    uint32_t nin, nout;
    GraphId graph;
    bool dead;  // removed by a pass; in no graph's list
    bool moved; // a pass moved it into the branches of an If: what does not fit there is an
                // error of the program that takes the branch, not of the model
    uint8_t types_opset;  // whose schema says which dtypes it takes; 0: the model's own
    const OpDef *def;     // the registry row that applies, or NULL
    const Schema *schema; // the schema's facts at this opset, or NULL
    Str name, overload, doc;
    Attr *attrs;
    uint32_t nattrs;
    Props metadata;
    NodeDeviceConfig *devices;
    uint32_t ndevices;
    uint32_t has; // NODE_HAS_*
    Str unknown;
    uint32_t position;       // in the file, within its graph: what "#37" in a location means
    uint64_t offset, length; // bytes of the message in the file
    DeviceId device;         // 0: nothing places it, it runs where its operands lie
    Why why_device;
    Str reason; // why a pass inserted it; absent for nodes of the file
    // Of the copy that inlining makes of a function's node: the node of the body, and the call that
    // it was made for (a copy itself where calls are nested). 0 otherwise.
    NodeId copy_of, call;
    Str fault;              // inferred: why running it is an error; absent if it is none
    VEC(Requirement) needs; // inferred
} Node;
enum {
    NODE_HAS_NAME = 1,
    NODE_HAS_DOMAIN = 2,
    NODE_HAS_OVERLOAD = 4,
    NODE_HAS_DOC = 8,
    NODE_HAS_OP = 16
};

// ---- graphs, functions, models

// An entry of a graph's inputs, outputs or value_info.
typedef struct ValueInfo {
    ValueId value;
    Type *type; // NULL if not declared
    Str doc;
    Props metadata;
    uint32_t has; // bit 0: name, bit 1: doc
    Str unknown;
} ValueInfo;

typedef struct Quantization { // TensorAnnotation
    Str tensor;
    Props params;
    bool has_tensor;
    Str unknown;
} Quantization;

typedef struct Initializer {
    ValueId value; // the value that bears its name (an input's, where both exist)
    TensorData *data;
} Initializer;

typedef struct SparseInitializer {
    ValueId value;
    SparseData *data;
} SparseInitializer;

typedef struct Graph {
    Str name, doc;
    uint32_t has;      // bit 0: name, bit 1: doc
    GraphId parent;    // the graph whose node holds it, 0: main graph or function body
    NodeId owner;      // that node
    NodeId fails;      // inferred: the node with a fault that every run of the graph comes to, or 0
    uint32_t function; // 1 + index of the function whose body it is, or 0
    VEC(ValueInfo) inputs, outputs, infos;
    VEC(Initializer) initializers;
    VEC(SparseInitializer) sparse;
    VEC(Quantization) quantization;
    VEC(NodeId) nodes; // in order of execution once sorted
    bool unsorted;     // the file has them in another order, by Node.position; export keeps it as
                       // long as they are the same nodes. Clear it to have the new order written.
    Props metadata;
    Str unknown;
} Graph;

typedef struct OpsetImport {
    Str domain;
    int64_t version;
    uint32_t has; // bit 0: domain, bit 1: version
    Str unknown;
} OpsetImport;

typedef struct Function {
    Str name, domain, overload, doc;
    uint32_t has;    // bits: 0 name, 1 domain, 2 overload, 3 doc
    GraphId body;    // its inputs and outputs have no types; its infos are value_info
    Str *attributes; // names without default
    uint32_t nattributes;
    Attr *defaults;
    uint32_t ndefaults;
    OpsetImport *opsets;
    uint32_t nopsets;
    Props metadata;
    Str unknown;
} Function;

typedef struct TrainingInfo {
    GraphId initialization, algorithm; // 0 if absent
    Props initialization_binding, update_binding;
    Str unknown;
} TrainingInfo;

typedef struct DeviceConfiguration {
    Str name;
    bool has_name, has_num;
    int32_t num_devices;
    Str *devices;
    uint32_t ndevices;
    Str unknown;
} DeviceConfiguration;

// A file of external data, mapped when a tensor in it is first read.
typedef struct ExternalFile {
    Str location;            // as the file says it, relative to the model's folder
    const unsigned char *at; // NULL where it cannot be read: then `error` says why
    uint64_t len;
    Str error;
    bool lent;      // another model of the same bytes has it mapped
    bool escapes;   // the location names, or leads to, what is not in the model's folder
    uint32_t links; // names that the file has in its file system
    uint64_t device, number; // which file it is there
} ExternalFile;

// What is known of a dim variable beyond its name (ir/infer.c keeps it).
typedef struct DimInfo {
    bool is_input; // bound by the shape of one of the program's inputs
    GraphId graph; // else the graph whose nodes define it
} DimInfo;

typedef struct Model {
    Arena *arena;
    Polys *polys;
    const char *path; // as the user named it; external data is looked for beside it
    Str source;       // the bytes that it was imported from, as long as they stay mapped
    int64_t ir_version, model_version;
    Str producer_name, producer_version, domain, doc;
    uint32_t has; // bits: 0 ir_version, 1 producer_name, 2 producer_version, 3 domain, 4
                  // model_version, 5 doc, 6 graph
    VEC(OpsetImport) opsets;
    VEC(Function) functions;
    VEC(TrainingInfo) training;
    VEC(DeviceConfiguration) configurations;
    Props metadata;
    Str unknown;
    GraphId main;
    VEC(Value) values; // index 0 is unused in these three
    VEC(Node) nodes;
    VEC(Graph) graphs;
    DType dominant; // the model's own float dtype (ir/dominant.c); DT_NONE without weights
    // By value, `ngiven` of them: types that no rule can tell, as of what calls give; NULL: none.
    const struct Type *const *given;
    uint32_t ngiven;
    const bool *called; // by function, beside `given`: inference looks into its body
    uint8_t *said;      // by value, `nsaid` of them (ir/said.h); NULL: nobody asked
    uint32_t nsaid;
    const struct Config *config;       // what cameo.yaml says (passes/config.h); NULL: nothing
    const struct Contracts *contracts; // of custom operators (ir/contract.h); NULL: none
    bool for_device; // compiled for a CUDA device: custom operators' kernels are launched there
    const struct DataSet *data; // files given to its inputs (passes/data.h); NULL: none
    // What its values were on calibration data (passes/measured.h); NULL: nothing was measured.
    const struct MeasuredSet *measured;
    // How far its outputs may be off by those data (passes/estimate.h); NULL: nobody asked.
    const struct EstimateSet *estimates;
    struct Known *known; // of its large constants (passes/known.h); NULL: nothing
    // How long what is done with it takes (passes/times.h); NULL: nobody asks.
    struct Times *times;
    Map dim_params;         // name of a declared dim -> DimId
    Map data_dims;          // (value, k) -> DimId
    VEC(DimInfo) dim_infos; // by DimId; may be shorter than there are dims
    DimId varies;           // a dim that differs between the items of a list (ir/lists.h)
    VEC(Str) devices;       // [0] "", [1] "cpu", then "cuda:0" ...
    VEC(ExternalFile) files;
    Map device_ids, file_ids; // by name: index in the two above
    struct Module *kernels;   // what the "kernels" section of a text says; NULL if there is none
    FileView view;            // the model's file, where frontend/load.h opened it
} Model;

Model *model_new(Arena *a);
// Is that the model's file, or one of its files of external data? Nothing is written over these.
bool model_reads(const Model *m, const char *path);
void model_close(Model *m); // unmaps external data; elements of its tensors are invalid after
// A model of the same bytes reads what `of`, which is closed after it, has mapped of external data.
void model_lend(Model *m, const Model *of);
// What lies within n bytes at `at` in the model's file or in one of external data takes no memory
// until it is read again (file_forget); NULL: all of these files.
void model_forget(const Model *m, const void *at, size_t n);
// Is a dim bound by the shape of one of the program's inputs?
static inline bool dim_is_input(const Model *m, DimId d)
{
    return d < m->dim_infos.len && m->dim_infos.at[d].is_input;
}
// Keeps what is known of d.
void dim_note(Model *m, DimId d, bool is_input, GraphId g);
// a, or where it is made of inputs' dims and long in words the dim that is called so (dim_named):
// sizes that are made of one another would be twice as long at each step.
Index size_in_short(Model *m, Index a);
// For poly_any, of a Model: is it anything but such a dim?
bool atom_is_not_of_inputs(void *model, const Atom *a);

static inline Value *value_at(const Model *m, ValueId v)
{
    return &m->values.at[v];
}
static inline Node *node_at(const Model *m, NodeId n)
{
    return &m->nodes.at[n];
}
static inline Graph *graph_at(const Model *m, GraphId g)
{
    return &m->graphs.at[g];
}

// Pointers into the tables are invalid after a call that adds to the same table.
GraphId graph_new(Model *m);
ValueId value_new(Model *m, GraphId g, Str name);
NodeId node_new(Model *m, GraphId g);   // not yet in the graph's list
DeviceId device_id(Model *m, Str name); // "cpu" or "" or "host" is 1

// The opset version that a node's domain has in its model or function, 0 if it is not imported.
// "" and "ai.onnx" are one domain.
int64_t opset_of(const Model *m, const Node *n);
static inline bool is_standard_domain(Str domain) // "", "ai.onnx"
{
    return domain.len == 0 || str_is(domain, "ai.onnx");
}

// Is the value an initializer that no caller replaces? Before IR version 4 every initializer had
// to be listed as an input as well, and was a weight all the same.
bool value_is_weight(const Model *m, ValueId v);

// Attributes by name; NULL if absent.
const Attr *attr_find(const Node *n, const char *name);
static inline bool node_is(const Node *n, const char *op) // of the standard domain
{
    return str_is(n->op, op) && is_standard_domain(n->domain);
}

// Where a node stands among its graph's; edits keep the rest in order.
void graph_insert_before(Model *m, NodeId anchor, NodeId fresh);
void graph_insert_first(Model *m, GraphId g, NodeId fresh);
void graph_append(Model *m, GraphId g, NodeId fresh);
void graph_remove(Model *m, NodeId n);      // marks it dead
bool graph_live(const Model *m, GraphId g); // is no node around it removed?
// Puts the nodes of every graph in order of execution, otherwise as they stood. A graph with a
// cycle is left as it is: false then.
bool model_sort(Model *m, Arena *scratch);
// Calls `need` for each pair of a node and one of its graph that waits for its result `v`: because
// it reads it, or because a graph inside of it does.
void model_each_need(const Model *m, void (*need)(void *context, NodeId from, NodeId to, ValueId v),
                     void *context);
// A node `op` of the standard domain with given operands and one new output value.
NodeId node_build(Model *m, GraphId g, const char *op, const ValueId *in, uint32_t nin,
                  Str out_name);
// The attribute of that name, emptied, or a new one; its payload is the caller's to fill in.
Attr *node_set_attr(Model *m, NodeId n, const char *name, AttrType type);
void node_set_int(Model *m, NodeId n, const char *attr, int64_t v);
// The same of a list of `count` integers, which are copied.
void node_set_ints(Model *m, NodeId n, const char *attr, uint32_t count, const int64_t *from);
void node_set_str(Model *m, NodeId n, const char *attr, Str v);

// Calls `visit` for every node of g and, before each node's successors, of the graphs that it
// holds.
void graph_walk(const Model *m, GraphId g, void (*visit)(void *context, NodeId n), void *context);

// All uses of a value as (node, operand) or as (graph, output): computed on demand, valid until an
// edit.
typedef struct Use {
    NodeId node;    // 0: a graph's output
    GraphId graph;  // of the node, or whose output it is
    uint32_t index; // operand or output number
} Use;
typedef struct Uses {
    const uint32_t *first; // per value: uses[first[v]] .. uses[first[v + 1] - 1]
    const Use *uses;
} Uses;
Uses uses_of(const Model *m, Arena *scratch);

// ---- locations and tensors

// "graph/If_0.then_branch/node[/stft/Conv]"; unnamed: node[#37 ->"645"]. Escaped.
// A node that inlining copied stands where the node of the function's body does; which call it
// belongs to is location_calls' to say.
Str location_node(const Model *m, Arena *a, NodeId n);
Str location_operand(const Model *m, Arena *a, NodeId n, uint32_t index); // ...:in1(weight)
Str location_result(const Model *m, Arena *a, NodeId n, uint32_t index);  // ...:out0(y)
Str location_graph(const Model *m, Arena *a, GraphId g);
Str location_value(const Model *m, Arena *a,
                   ValueId v); // graph/input(x), graph/initializer(w), or the node's result
// The calls around a copied node, outermost last: the location of each. 0 of them for other nodes.
uint32_t location_calls(const Model *m, NodeId n, NodeId *calls, uint32_t max);
// What of the file a value of an inlined call was copied from, a call's result from the body's; or
// the value itself.
ValueId value_written(const Model *m, ValueId v);
// Does a node's result leave the copy of a body that the node is in? The call gives it, by this
// name.
bool value_leaves_call(const Model *m, ValueId v);
// Is node n a copy that inlining made for this call, or for one within it? n may be 0: it is none.
bool node_is_within(const Model *m, NodeId n, NodeId call);
Str value_shown_name(const Model *m, ValueId v); // of a copy: the name in its function. Not escaped

// The typed field of TensorProto that holds elements of a dtype, as onnx.proto has it.
Payload tensor_natural_payload(int32_t dtype);
// The elements of a constant, decoded from whichever field (or file) holds them; cached. NULL with
// *error set if the payload does not fit dims and dtype (ST003), is too large for memory, or cannot
// be read. Strings: elements are Str. Elements are aligned for their type, except those of floats
// and complex numbers in more than 64 KiB, which may lie anywhere in a file: read them by
// scalar_load, memcpy or as one of the types below. Signed 4-bit and 2-bit integers are
// sign-extended to a byte.
const void *tensor_elements(Model *m, TensorData *t, Str *error);
typedef float StoredF32 __attribute__((aligned(1)));
typedef uint16_t StoredU16 __attribute__((aligned(1))); // bits of a float of 16
// Where external data lies: its file, and the range in it. What is wrong with that (*error says
// it); the range is known only if nothing is.
typedef enum ExternalFault {
    EXTERNAL_FINE,
    EXTERNAL_ESCAPES,    // the location leaves the model's folder, or is none
    EXTERNAL_BOUNDS,     // offset or length is no number, or beyond the file
    EXTERNAL_UNREADABLE, // there is no such file, or it cannot be opened
} ExternalFault;
typedef struct ExternalRange {
    const ExternalFile *file;
    uint64_t offset, length;
    bool beyond; // EXTERNAL_BOUNDS: both are numbers, and the file ends before
} ExternalRange;
ExternalFault tensor_external(Model *m, const TensorData *t, ExternalRange *range, Str *error);
// Elements by dims, or UINT64_MAX where dims are negative or overflow.
uint64_t tensor_count(const TensorData *t);
// The whole of a sparse tensor, zeros included; cached. NULL with *error set where its parts do not
// fit, an index is outside, or it would be larger than a file of its kind should make it.
const TensorData *sparse_dense(Model *m, SparseData *s, Str *error);
// A new constant in memory; `elements` is copied.
TensorData *tensor_new(Arena *a, DType t, uint32_t rank, const int64_t *dims, const void *elements);
// The same of elements other than strings that live as long as the arena: they stay where they are.
TensorData *tensor_around(Arena *a, DType t, uint32_t rank, const int64_t *dims,
                          const void *elements);

#endif
