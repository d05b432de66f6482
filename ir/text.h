// The textual forms of a model.
//
// CIR ("cameo.ir/1", files ending .cir) is ONNX's own textual syntax extended with result types,
// devices and, in "@{ ... }" after an element, all that the plain syntax has no place for. It
// round-trips: what is parsed from it and exported equals what was printed. PLAIN is the syntax
// that onnx.parser reads; it can't carry everything.
#ifndef CAMEO_IR_TEXT_H
#define CAMEO_IR_TEXT_H

#include "base/diag.h"
#include "ir/graph.h"

typedef enum TextForm { TEXT_CIR, TEXT_PLAIN } TextForm;

// What the form could not carry, for people: "metadata_props of node[/conv1/Conv]". Empty for CIR.
typedef VEC(Str) Dropped;

// Prints a whole model. `types`: inferred result types and devices too (CIR only). Tensors over 64
// elements become references into Model.source where their bytes lie there.
void text_print(const Model *m, TextForm form, bool types, Buf *out, Dropped *dropped);

// Parses either form; `path` is for locations and for what the text refers to. NULL with a
// diagnostic
// ("line:column") on the first error.
Model *text_parse(Arena *a, const char *path, Str text, Diags *diags);

// Where the things of a text stand, in bytes from its beginning.
typedef enum TextPlaceKind {
    PLACE_HEADER,   // "<...>" and "@{...}" in front of the graph
    PLACE_GRAPH,    // the name of a graph or function; `value` is none
    PLACE_NODE,     // a whole node
    PLACE_TITLE,    // its name
    PLACE_OPERATOR, // its operator
    PLACE_RESULT,   // the name of result `index`
    PLACE_OPERAND,  // the name of operand `index`
    PLACE_ENTRY,    // a whole entry of a list of inputs, outputs, or "<...>"
    PLACE_INPUT,    // the name in it
    PLACE_OUTPUT,
    PLACE_INITIALIZER,
    PLACE_DECLARED, // a value_info
    PLACE_INPUTS,   // a list, its brackets included
    PLACE_OUTPUTS,
    PLACE_CONSTANTS, // "<...>" in front of a body
    PLACE_BODY,      // "{...}" of a graph or function
} TextPlaceKind;
typedef struct TextPlace {
    TextPlaceKind kind;
    size_t from, to;
    GraphId graph; // in which it stands; of PLACE_GRAPH, the graph itself
    NodeId node;   // of NODE, TITLE, OPERATOR, RESULT, OPERAND
    ValueId value; // of names of values, and of ENTRY
    uint32_t index;
} TextPlace;
typedef VEC(TextPlace) TextPlaces;

// The same, with all places in the order in which they end.
Model *text_parse_places(Arena *a, const char *path, Str text, Diags *diags, TextPlaces *places);

#endif
