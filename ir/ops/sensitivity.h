// Operators of our own that carry derivatives backwards through a graph (passes/sensitivity.h).
#ifndef CAMEO_IR_OPS_SENSITIVITY_H
#define CAMEO_IR_OPS_SENSITIVITY_H

#include "ir/graph.h"

// r = Probe(out, probe): +-1 or a unit vector of out's shape, 0 unless probe names attribute
// `output`; in `dtype`. probe is int64[3], see runtime/cameo_sensitivity.h.
#define PROBE_OP "Probe"
// bars of x = Back(x..., y..., bars of y...): result i is the derivative by operand i of the
// operator that is named by `cameo.op` and `cameo.domain` (`cameo.operands` operands,
// `cameo.results` results) and has the node's other attributes. An absent bar is 0.
#define BACK_OP "Back"
// The sum of its operands, all of one shape and dtype.
#define TOTAL_OP "Total"
// x' = Nudge(x, probe): x moved by a small part of its root mean square, up or down, in float64.
#define NUDGE_OP "Nudge"
// bar of x = Follow(x, probe, bar, y', y, ...): from results y' of x' and y of x, float64, the
// derivative along the direction in which Nudge moved; in `dtype`. Its size is right on average,
// how it divides over x's elements is assumed to be even.
#define FOLLOW_OP "Follow"
// numbers = Sense(y [, bar] [, L] [, Y]) with attributes `bar`, `made`, `exact` where they are
// there: see runtime/cameo_sensitivity.h.
#define SENSE_OP "Sense"
// numbers = Margin(x [, k]) with attributes `kind`, `axis` and `ordered`: see
// runtime/cameo_sensitivity.h.
#define MARGIN_OP "Margin"

#endif
