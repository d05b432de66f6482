// The linter: rules over an inferred model. A rule never changes the graph; repairs are passes of
// their own.
#ifndef CAMEO_PASSES_LINT_LINT_H
#define CAMEO_PASSES_LINT_LINT_H

#include "base/diag.h"
#include "base/embedded.h"
#include "ir/registry.h"

typedef struct Lint {
    Model *m;
    Diags *diags;
    const Diags *inferred; // what inference found wrong: nodes whose operands do not fit
    Arena *arena;
    const char *select; // as the user gave it; NULL: the default
    // Float weights by dtype: bytes and how many; filled when first asked for.
    bool weighed;
    uint64_t weight_bytes[DT_COUNT], weight_count[DT_COUNT];
    Uses uses;                                 // lint_uses; `first` NULL: not asked for yet
    const struct NodesByOperator *by_operator; // lint_nodes_of; NULL: not asked for yet
    // Made when first asked for (lint_origins, lint_faults, lint_regions, lint_first_time,
    // lint_numbers).
    struct NumberFacts *numbers;
    struct Origins *origins;
    const struct Faults *faults;
    const struct Regions *regions;
    Map told;
} Lint;

// What a rule looks at, in the order in which they run: the file as it stands; dtypes and devices,
// through calls of functions; that, and the elements of all weights.
typedef enum LintStage { OF_FILE, OF_TYPES, OF_WEIGHTS } LintStage;

typedef struct LintRule {
    const char *id, *name;
    Severity severity;
    bool on;
    const char *fix, *doc;
    void (*run)(Lint *l);
    // Mends what the rule reports, or, unless `unsafe`, what of it is safe; how many changes it
    // made. The model is inferred again afterwards. NULL: the rule has no repair of its own.
    uint32_t (*repair)(Model *m, bool unsafe);
    LintStage stage;
} LintRule;

extern const LintRule lint_rules[]; // in the order of rules.def; ends with a NULL id
// The pages of `cameo explain`: "DT001.txt" and its text; ends with a NULL name.
extern const EmbeddedFile lint_pages[];

// The first word of a list of rules and families that names none; absent: there is none.
Str lint_unknown_rule(const char *list);
// The rule that a word which names none was probably meant to be: the one of that name, or of
// nearly that id. NULL: nothing like it.
const LintRule *lint_meant_rule(Str word);
// The rule's row by its id; the row that ends the table where there is none.
uint32_t lint_rule_index(const char *id);

// Does a list such as "DT001,ST" name the rule? By its id; by its family or ALL if it is no
// information; or, if it is on by default, by DEFAULT. NULL: no.
bool lint_listed(const char *list, const LintRule *r);

// Has the user selected the rule by its id, not only by its family?
bool lint_named(const Lint *l, const char *id);

// Does lint_model run the rule that a configuration's allow speaks of? Of a rule that does not run
// nothing can be matched.
bool lint_runs(const struct Config *c, Str id, const char *select, const char *ignore);

// Inlines functions, infers types, places devices: what rules about dtypes and devices look at.
void lint_prepare(Model *m, Diags *diags);

// Runs the rules that `select` names (NULL: those of m->config, else the default ones) but for
// those of `ignore`. Levels and what is allowed are m->config's. The model's functions are inlined,
// types are inferred and devices placed then; where functions import other opset versions than
// the model, what is left is for looking at only (passes/inline_functions.h).
void lint_model(Model *m, Diags *diags, const char *select, const char *ignore);

// Runs the repairs of the rules that lint_model would run; how many changes they made. The model
// has to be inferred again after each that made some, which this does.
uint32_t lint_repair(Model *m, bool unsafe, const char *select, const char *ignore);
// Of these the repair that has to come before dtypes are repaired: that of tensors whose bytes are
// of another dtype than they say (ST003).
uint32_t lint_repair_tensors(Model *m, bool unsafe, const char *select, const char *ignore);
// Deletes idle arithmetic on sizes, which ST006 tells only where it is asked for by its id.
uint32_t lint_repair_sizes(Model *m);
// Names nodes of one name otherwise, which ST001 tells only where it is asked for by its id.
uint32_t lint_repair_node_names(Model *m);

// A place where operands of one type variable differ in dtype: `culprit` should have what `other`
// has.
typedef struct Conflict {
    NodeId node;
    uint32_t culprit, other; // operand numbers
} Conflict;
// The next conflict of a node from operand *from on; false if there is none.
bool lint_conflict(const Model *m, NodeId n, uint32_t *from, Conflict *c);
// Which attribute, had the node one, would say the dtype of what it makes? NULL: the node has it,
// or takes none (DT014).
const char *lint_default_dtype(const Node *n);
// Does a version of the node's operator take as many operands, give as many results, and have the
// attributes?
bool lint_fits_version(const Schema *s, const Node *n);
// All uses of each value, from an index that is built when first asked for.
const Uses *lint_uses(Lint *l);
// All nodes of the operators of a list that ends with NULL, whatever their domain, in order; from
// an index that is built when first asked for.
typedef struct NodeIds {
    const NodeId *at;
    uint32_t len;
} NodeIds;
NodeIds lint_nodes_of(Lint *l, const char *const *operators);
#define LINT_NODES(l, ...) lint_nodes_of((l), (const char *const[]){__VA_ARGS__, NULL})
// What every finding about a node says of it: operator, name, where it was in the exported program,
// and, inside a function, by which calls.
void lint_about_node(Lint *l, Diag *d, NodeId n);
// A line of code as it was written: quotes stay, what a terminal would act on does not.
Str lint_shown_code(Arena *a, Str code);
// "node[/conv1/Conv]": a node's location without the graph where that is the main one.
Str lint_short(Lint *l, NodeId n);
Str lint_name(Lint *l, ValueId v); // as shown, escaped
// Bytes that a value takes, dims that are not known counted as 16; and as people read it ("2.0
// MiB").
double lint_bytes(const Model *m, ValueId v);
Str lint_shown_bytes(Lint *l, double bytes);

// Does an optimizer update, or keep, what has 16 bits? TR001 tells all that follows from it.
bool lint_optimizes_halves(const Model *m, NodeId id);

// Where dtypes begin, for all rules of one run.
struct Origins *lint_origins(Lint *l);
// The model's functions by lint_function_key: the number of the first of each name.
Map lint_functions(Lint *l);
Str lint_function_key(Lint *l, Str domain, Str name, Str overload);
// Is this the first of the node's copies, by calls of its function, of which `rule` speaks?
bool lint_first_time(Lint *l, const char *rule, NodeId n);

#define RULE(id, name, severity, on, fix, doc, fn, repair, kind) void fn(Lint *l);
#include "passes/lint/rules.def"
#undef RULE

// Repairs of rules about numbers, as LintRule says.
uint32_t repair_float_to_int(Model *m, bool unsafe);
uint32_t repair_int_narrowing(Model *m, bool unsafe);
uint32_t repair_f16_overflow(Model *m, bool unsafe);
uint32_t repair_epsilon(Model *m, bool unsafe);
uint32_t repair_mask(Model *m, bool unsafe);
uint32_t repair_long_dot(Model *m, bool unsafe);
uint32_t repair_long_sum(Model *m, bool unsafe);
uint32_t repair_square(Model *m, bool unsafe);
uint32_t repair_positions(Model *m, bool unsafe);
uint32_t repair_log_softmax(Model *m, bool unsafe);
uint32_t repair_softmax_by_hand(Model *m, bool unsafe);
uint32_t repair_large_exp(Model *m, bool unsafe);
uint32_t repair_roots(Model *m, bool unsafe);
uint32_t repair_variance(Model *m, bool unsafe);
uint32_t repair_unfused_log(Model *m, bool unsafe);
uint32_t repair_near_zero(Model *m, bool unsafe);
uint32_t repair_denormals(Model *m, bool unsafe);
uint32_t repair_budgets(Model *m, bool unsafe);

// The repairs of single rules, as LintRule says.
uint32_t repair_constant_transfers(Model *m, bool unsafe);
uint32_t repair_contracts(Model *m, bool unsafe);
uint32_t repair_dead(Model *m, bool unsafe);
uint32_t repair_declared_shapes(Model *m, bool unsafe);
uint32_t repair_digests(Model *m, bool unsafe);
uint32_t repair_leaks(Model *m, bool unsafe);
uint32_t repair_loop_transfers(Model *m, bool unsafe);
uint32_t repair_names(Model *m, bool unsafe);
uint32_t repair_shape_islands(Model *m, bool unsafe);
uint32_t repair_order(Model *m, bool unsafe);
uint32_t repair_outputs_from_around(Model *m, bool unsafe);
uint32_t repair_payloads(Model *m, bool unsafe);
uint32_t repair_given(Model *m, bool unsafe);
uint32_t repair_ping_pong(Model *m, bool unsafe);
uint32_t repair_shadowed(Model *m, bool unsafe);
uint32_t repair_operands(Model *m, bool unsafe);
uint32_t repair_useless_widening(Model *m, bool unsafe);
uint32_t repair_idle_casts(Model *m, bool unsafe);
uint32_t repair_round_trips(Model *m, bool unsafe);
uint32_t repair_double_rounding(Model *m, bool unsafe);
uint32_t repair_duplicate_casts(Model *m, bool unsafe);
uint32_t repair_casts_in_loops(Model *m, bool unsafe);
uint32_t repair_constant_casts(Model *m, bool unsafe);
uint32_t repair_default_dtypes(Model *m, bool unsafe);
uint32_t repair_float32_operators(Model *m, bool unsafe);
uint32_t repair_costly_islands(Model *m, bool unsafe);
uint32_t repair_boundary_casts(Model *m, bool unsafe);
uint32_t repair_fallbacks(Model *m, bool unsafe);
uint32_t repair_float16_on_cpu(Model *m, bool unsafe);
uint32_t repair_typed_target(Model *m, bool unsafe);
uint32_t repair_dot_saturation(Model *m, bool unsafe);
uint32_t repair_cast_placement(Model *m, bool unsafe);
uint32_t repair_double_leaks(Model *m, bool unsafe);
uint32_t repair_norm_stash(Model *m, bool unsafe);
uint32_t repair_attention_softmax(Model *m, bool unsafe);
uint32_t repair_quantize_pairs(Model *m, bool unsafe);
uint32_t repair_bias_scales(Model *m, bool unsafe);

#endif
