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

// What options say, which goes before the file; NULL, LEVEL_OFF: nothing.
typedef struct ConfigSaid {
    const char *select, *select_by, *ignore; // select_by: the option that chose
    const Target *target;
    int fail_on;
} ConfigSaid;

// Prints each setting with where it was said.
void config_show(const Config *c, const ConfigSaid *said);

#endif
