// The contracts of a model's custom operators, by cameo.yaml's `custom`.
#ifndef CAMEO_TOOLS_CONTRACTS_H
#define CAMEO_TOOLS_CONTRACTS_H

#include "ir/contract.h"
#include "passes/config.h"
#include "tools/tool.h"

// Reads the sources of the domains that the model has nodes of; *out stays NULL where there are
// none, and with --untrusted. False: a source cannot be read, which is printed (exit 2).
bool tool_contracts(const Tool *t, Arena *a, const Config *config, const Model *m,
                    const Contracts **out);

#endif
