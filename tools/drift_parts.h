// What the files that run changed models share.
#ifndef CAMEO_TOOLS_DRIFT_PARTS_H
#define CAMEO_TOOLS_DRIFT_PARTS_H

#include "tools/drift.h"

// All values rounded as d->precision says, but the first `leave` of the order.
void drift_trial_round(DriftTrial *x, uint32_t leave);
// Runs the rule's repair on the model; false: it changes nothing. Finds what goes with it.
bool drift_rewrite_model(const Drift *d, DriftRewrite *r, Model *m, Diags *diags);
// Is each line of d->mix a name and a dtype? Before the model is run. 0, or an exit status with
// everything said.
int drift_check_mix(const Tool *t, Drift *d);
// The nodes of the model next to whose poles derivatives may not hold (x->poles).
void drift_poles_find(DriftTrial *x, const Model *m);
// Takes what a run on data set `set` says of them.
void drift_poles_look(DriftTrial *x, uint32_t set);
// Reads d->mix into d->each. 0, or an exit status with everything said.
int drift_read_mix(const Tool *t, Drift *d);

#endif
