// The report of `cameo compile --report json`.
#ifndef CAMEO_TOOLS_REPORT_H
#define CAMEO_TOOLS_REPORT_H

#include "base/json.h"
#include "codegen/compile.h"
#include "tools/tool.h"

// Prints one document, "cameo.compile/1", on stdout. m is NULL where the model could not be loaded;
// r is not read then.
void report_print(Model *m, const CompileOptions *o, const CompileReport *r, const Diags *diags,
                  int status);

// One finding as a JSON object, as `lint --format json` lists them (tools/lint.c).
void json_finding(Json *j, const Diag *d);

#endif
