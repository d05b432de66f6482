// What the files of `cameo diff` share: two models, which nodes and values of one are those of the
// other, and what differs.
#ifndef CAMEO_TOOLS_DIFF_H
#define CAMEO_TOOLS_DIFF_H

#include "base/json.h"
#include "ir/registry.h"
#include "tools/tool.h"

// ---- what belongs together ----------------------------------------------------------------------

// One of the two models. Partners are ids of the other model, 0: none.
typedef struct DiffSide {
    Model *m;
    const char *path;
    ValueId *value; // by value: its partner
    NodeId *node;   // by node: its partner
    GraphId *graph; // by graph: its partner
    Uses uses;
    struct DiffClasses *classes; // tools/diff_classes.c
    uint32_t *place;             // by node: where it stands in the file
} DiffSide;

typedef struct DiffPair {
    Arena *arena;
    DiffSide a, b;
} DiffPair;

// Finds which nodes, values and graphs belong together: by name, then by what computes the same
// from the same, is used in the same way, or stands between what belongs together. What is found is
// only a proposal: diff_compare holds each pair to all that the files say of it. Time is that of
// sorting the nodes.
void diff_match(DiffPair *p);

// Pairs two nodes and their results.
void diff_pair_nodes(DiffPair *p, NodeId a, NodeId b);
void diff_pair_values(DiffPair *p, ValueId a, ValueId b);
// Operator and attributes of a node as a hash; attributes that say what the schema says anyway do
// not count.
uint64_t diff_label(const Model *m, const Node *n);
// Does the attribute say what holds without it, by the schema?
bool diff_says_default(const Node *n, const Attr *a);
// The node's name, else that of its first result.
Str diff_node_name(const Model *m, const Node *n);

// What may be paired of nodes of one key: those of one name; also those that are alone on both
// sides; or any, in order, each followed by what comes of it.
typedef enum DiffCare { DIFF_BY_NAME, DIFF_ALONE, DIFF_ANY } DiffCare;

// Nodes by key: those of equal keys belong together.
typedef struct DiffKey {
    uint64_t key;
    NodeId node;
    uint32_t at; // order
} DiffKey;
typedef VEC(DiffKey) DiffKeys;
typedef struct DiffSpread DiffSpread;
// Sorts both lists. `spread` is told of what was paired with DIFF_ANY; NULL otherwise.
void diff_pair_keys(DiffPair *p, DiffKeys *a, DiffKeys *b, DiffCare care, DiffSpread *spread);

// Nodes that compute the same from the same or are used in the same way (tools/diff_classes.c).
void diff_open_classes(DiffPair *p, DiffSide *side);
void diff_match_classes(DiffPair *p, GraphId ga, GraphId gb);
void diff_match_rest(DiffPair *p, GraphId ga, GraphId gb);
// Nodes whose neighbours are paired (tools/diff_spread.c). `strict`: only those of one label, else
// of one operator. Call diff_spread_all once, diff_spread_from after each pair that was made since.
DiffSpread *diff_spread_new(DiffPair *p, GraphId ga, GraphId gb, bool strict);
void diff_spread_all(DiffSpread *s);
void diff_spread_from(DiffSpread *s, NodeId a);
void diff_spread_free(DiffSpread *s);

// ---- what differs -------------------------------------------------------------------------------

typedef enum DiffKind {
    DIFF_HEADER,      // IR version, opsets, version of the model, device configurations
    DIFF_METADATA,    // metadata, documentation, producer
    DIFF_FUNCTION,    // a whole function
    DIFF_INPUT,       // of the model or a function
    DIFF_OUTPUT,      // the same
    DIFF_INITIALIZER, // with sparse ones
    DIFF_NODE,        // operator, attributes, operands
    DIFF_TYPE,        // dtype and shape of a node's result, as inferred
    DIFF_DECLARED,    // value_info, quantization annotations
    DIFF_NAME,        // the same under another name: no difference unless asked for
    DIFF_ORDER,       // the same at another place: the same
    DIFF_KINDS
} DiffKind;
extern const char *const diff_kinds[DIFF_KINDS]; // as --ignore names them

typedef enum DiffChange { DIFF_ADDED, DIFF_REMOVED, DIFF_CHANGED } DiffChange;

// One property: what it is on both sides, absent where it is not there.
typedef struct DiffField {
    Str name, a, b;
} DiffField;

// Elements of a tensor beside those of another of the same dims.
typedef struct DiffElements {
    uint64_t n, differ; // elements; those that are not equal within the tolerance
    uint64_t at;        // the element that differs most (of strings: the first)
    double greatest;    // how far; infinite where one is not finite, NaN: they are no numbers
    Str a, b;           // its values
    Str index;          // its place, "[3,0,1]"
} DiffElements;

typedef struct Difference {
    DiffKind kind;
    DiffChange change;
    Str path_a, path_b; // where it stands, absent on the side where it is not
    Str what;           // "Conv(x, w) -> y", "f32[64,3,7,7]"; absent: nothing more to say
    VEC(DiffField) fields;
    DiffElements *elements; // NULL: not compared
    bool follows;           // of a type: an operand's type differs too
} Difference;

typedef struct DiffOptions {
    double atol, rtol; // elements that differ by no more are the same
    bool ignore[DIFF_KINDS];
} DiffOptions;

typedef struct DiffReport {
    Arena *arena;
    const DiffOptions *options;
    VEC(Difference) all;
    uint32_t count[DIFF_KINDS][3]; // by change; --ignore leaves out what it names
    uint32_t total;                // of what makes the models differ
    uint32_t nodes, matched;       // of the first model
} DiffReport;

// A new difference; absent fields are to be filled in. NULL: --ignore names its kind.
Difference *diff_add(DiffReport *r, DiffKind kind, DiffChange change, Str path_a, Str path_b);
// A property that differs; nothing where both are equal.
void diff_field(DiffReport *r, Difference *d, const char *name, Str a, Str b);

// All that differs, in the order of kinds and of the first model's nodes.
void diff_compare(DiffPair *p, DiffReport *r);
void diff_compare_header(DiffPair *p, DiffReport *r);
// Documentation and metadata of the model, a graph, a node or a value.
void diff_compare_props(DiffReport *r, const Props *a, const Props *b, Str doc_a, Str doc_b,
                        Str path_a, Str path_b);
void diff_compare_nodes(DiffPair *p, DiffReport *r, GraphId ga, GraphId gb);
void diff_compare_types(DiffPair *p, DiffReport *r, GraphId ga);
void diff_compare_initializers(DiffPair *p, DiffReport *r, GraphId ga, GraphId gb);

// Dtype, dims and elements of two tensors; true if they are the same. Where only elements differ
// *e says how; it stays untouched where they cannot be compared.
bool diff_tensors(DiffPair *p, const DiffOptions *o, TensorData *a, TensorData *b,
                  DiffElements **e);
// Equal bit for bit.
bool diff_same_tensor(DiffPair *p, TensorData *a, TensorData *b);
uint64_t diff_hash_tensor(Model *m, TensorData *t);

// ---- how it is said -----------------------------------------------------------------------------

Str diff_type_of(Arena *a, const Type *t);                   // as declared; absent for NULL
Str diff_type_of_value(const Model *m, Arena *a, ValueId v); // as inferred
Str diff_type_of_tensor(Arena *a, const TensorData *t);      // "f32[64,3]"
Str diff_attr_text(const Model *m, Arena *a, const Attr *t); // its value, shortened
Str diff_node_text(const Model *m, Arena *a, const Node *n); // "Conv<...>(x, w) -> y"
Str diff_float_text(Arena *a, float v);
Str diff_value_text(const Model *m, Arena *a, ValueId v); // its name, or "none"

void diff_print_text(const DiffPair *p, const DiffReport *r, uint32_t most);
void diff_print_summary(const DiffReport *r);
void diff_print_json(const DiffPair *p, const DiffReport *r);

#endif
