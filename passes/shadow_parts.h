// What the files of the shadow pass share.
#ifndef CAMEO_PASSES_SHADOW_PARTS_H
#define CAMEO_PASSES_SHADOW_PARTS_H

#include "passes/shadow.h"

// The numbers of a value of the report, in the graph at hand: one row, or one an iteration.
typedef struct ShadowNumbers {
    uint32_t record; // index in the report
    ValueId value;
    bool rows;
} ShadowNumbers;
typedef VEC(ShadowNumbers) ShadowList;

typedef struct Shadow {
    Model *m;
    Diags *diags;
    ShadowReport *report;
    Arena *scratch;
    uint32_t nvalues;       // of the model as it came; the maps below are by those
    ValueId *shadow, *wide; // Y, and the value itself in float64; 0: none (yet)
    ValueId *local;         // L; 0: the node makes no error, nothing says which, or
    ValueId *brought;       // Y - L in float32 says it
    ValueId *apart;         // Y - y in float32; 0: none (yet)
    NodeId *drift;          // the node that compares y with Y; 0: none
    bool *compact;          // Y is what `apart` says
    bool *decided;          // no float, and computed of what has a shadow of its own
    bool anew;              // the node at hand: see ShadowValue
    uint32_t loops;         // around the graph at hand
    bool pairs;             // the shadow is double-double
    // passes/measure.c: no value has a shadow, and numbers are what values were. NULL: a shadow.
    struct MeasureReport *measures;
} Shadow;

// Gives `s` its maps and the model the domain of our own operators. Nothing else is changed.
void shadow_begin(Shadow *s, Model *m, Diags *diags, ShadowReport *report, Arena *scratch);
bool shadow_is_float(const Shadow *s, ValueId v); // a tensor of real floats
// The value itself in float64, made where the value is defined.
ValueId shadow_wide(Shadow *s, ValueId v);
// Y; of what has none the value itself in float64.
ValueId shadow_of(Shadow *s, ValueId v);
ValueId shadow_value(Shadow *s, GraphId g, ValueId like,
                     const char *what); // with a name of its own
// passes/measure.c: the graph's nodes, and the numbers of all that is measured in it.
void measure_graph(Shadow *s, GraphId g, ShadowList *list);
// The graph's nodes and their shadows; the numbers of all that is reported in it.
void shadow_graph(Shadow *s, GraphId g, ShadowList *list);
// Reports value y, made by n, and adds its numbers. L may be 0, or what s->brought says of y; Y may
// be what s->apart says of y, or 0 where y is exact.
void shadow_report(Shadow *s, NodeId n, ValueId y, ValueId exact, ValueId local, ShadowKind kind,
                   ShadowList *list);
// A node of the cameo domain, not in its graph's list yet: what it gives is called after `like`.
NodeId shadow_own(Shadow *s, GraphId g, const char *op, const ValueId *in, uint32_t nin,
                  ValueId like, const char *what);
// A node of the standard domain, typed and in the graph's list; what it gives. b 0: a Cast of a.
ValueId shadow_plain(Shadow *s, GraphId g, const char *op, ValueId a, ValueId b, ValueId like);
// The value itself in float64, for one reader, of which it becomes a part.
ValueId shadow_widened(Shadow *s, ValueId v);
// passes/shadow_apart.c: X - x in float32 of a value that is not exact.
ValueId shadow_apart(Shadow *s, ValueId x);
// The operand in which the node, a product, is linear, if it alone has a shadow of its own and all
// is float32; -1: it is none of these.
int32_t shadow_linear(const Shadow *s, const Node *n);
// Y - L of such a product, f(X - x); `at` is x's operand.
NodeId shadow_by_product(Shadow *s, NodeId id, int32_t at);
// Reports what the node gives, if differences of its operands say how far that is moved and the
// shadow is compact. false: nothing was added.
bool shadow_by_difference(Shadow *s, NodeId id, ShadowList *list);
// L of a value of the model; 0: the node makes no error, or nothing says which.
ValueId shadow_local(Shadow *s, ValueId v);

// A node without graphs whose numbers decide nothing but numbers: it may be computed again in
// another dtype.
bool shadow_may_copy(const Shadow *s, const Node *n);
// It gives some of its operands' numbers, or numbers that any dtype holds.
bool shadow_is_exact(const Node *n);
// Does the operand take part in the node's type variables?
bool shadow_is_variable(const Node *n, uint32_t i);

// A copy of the node in float64 on `in`, its results fresh values; not in its graph's list yet. 0:
// it has no float64.
NodeId shadow_copy(Shadow *s, NodeId from, const ValueId *in, const char *what);
// The same whatever its operands are.
NodeId shadow_copy_as_is(Shadow *s, NodeId from, const ValueId *in, const char *what);

// The main graph has no outputs any more; what they declare still holds.
void shadow_drop_outputs(Model *m, Graph *g);

// If, Loop, Scan: the graphs that the node holds have shadows too, and so has what it carries.
// false: another node, or one whose form is not known; nothing was changed. The node is not in its
// graph's list yet.
bool shadow_control(Shadow *s, NodeId n, ShadowList *list);

#endif
