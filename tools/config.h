// cameo.yaml for the commands that heed it.
#ifndef CAMEO_TOOLS_CONFIG_H
#define CAMEO_TOOLS_CONFIG_H

#include "passes/config.h"
#include "tools/tool.h"

// Reads the configuration that applies to a model; findings are printed on stderr. False: it cannot
// be used (exit 2).
bool tool_config(const Tool *t, Arena *a, const char *model_path, Config *config);

// The same for a model that is compiled: where nodes are placed holds, but what is an error blocks,
// whatever the file says of rules.
bool tool_config_of_program(const Tool *t, Arena *a, const char *model_path, Model *m);

// Prints each setting with where it was said. The *_by are options that overrule the file (NULL:
// none did).
void config_show(const Config *c, const char *target_by, const char *select_by,
                 const char *ignore_by, const char *select, const char *ignore);

#endif
