// cameo.yaml for the commands that heed it.
#ifndef CAMEO_TOOLS_CONFIG_H
#define CAMEO_TOOLS_CONFIG_H

#include "passes/config.h"
#include "tools/tool.h"

// Reads the configuration that applies to a model; findings are printed on stderr. False: it cannot
// be used (exit 2).
bool tool_config(const Tool *t, Arena *a, const char *model_path, Config *config);

// Prints each setting with where it was said. The *_by are options that overrule the file (NULL:
// none did).
void config_show(const Config *c, const char *target_by, const char *select_by,
                 const char *ignore_by, const char *select, const char *ignore);

#endif
