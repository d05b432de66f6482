// A model compiled into this process: what `run` and `verify` share.
#ifndef CAMEO_TOOLS_SESSION_H
#define CAMEO_TOOLS_SESSION_H

#include "codegen/compile.h"
#include "runtime/cameo_main.h"
#include "tools/jit.h"
#include "tools/tool.h"

typedef struct Session {
    Arena *arena;
    Jit *jit;
    void *library; // what stands for it where the model runs on a device
    const cameo_model *model;
    const Model *source; // what was compiled
    cameo_options options; // for its create: holds the weights
    CompileReport report;
} Session;

// Loads, compiles and links. 0, or an exit status with everything said.
int session_open(const Tool *t, const char *path, CompileOptions *o, Session *s);
// "cpu", "cuda", or "auto": cuda where a driver can be loaded. false: none of them.
bool session_device(const char *name, CompileDevice *device);
void session_close(Session *s);
void session_close_program(Session *s); // the arena stays

#endif
