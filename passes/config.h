// cameo.yaml: what a project says about its models. Searched upward from the model's folder to the
// folder that holds .git; the nearest one wins, nothing is merged.
#ifndef CAMEO_PASSES_CONFIG_H
#define CAMEO_PASSES_CONFIG_H

#include "base/diag.h"
#include "passes/target.h"

enum { LEVEL_OFF = -1 }; // beside SEV_*

// place: nodes that a glob names lie on a device.
typedef struct ConfigPlace {
    Str at; // as written: a glob over locations ("graph/node[/embed/*]") or node names ("/embed/*")
    Str device;
    uint32_t line;
} ConfigPlace;

// allow: findings of a rule at a place that are wanted, and why.
typedef struct ConfigAllow {
    Str rule, at, reason, expires; // expires: "2027-01-01", absent: never
    uint32_t line;
} ConfigAllow;

// severity: a rule's level, SEV_* or LEVEL_OFF.
typedef struct ConfigLevel {
    Str rule;
    int level;
    uint32_t line;
} ConfigLevel;

// rules: a number of a rule (passes/lint/params.def).
typedef struct ConfigParam {
    Str rule, key;
    double value;
    uint32_t line;
} ConfigParam;

// ranges: bounds of what a model's input is given, by its name.
typedef struct ConfigRange {
    Str input;
    double lo, hi; // finite, lo <= hi
    uint32_t line;
} ConfigRange;

// budget: how far an output may be off, as a part of its rms.
typedef struct ConfigBudget {
    Str output;             // absent: every one
    double relative, sigma; // so many standard deviations have to be within it
    uint32_t line;
} ConfigBudget;

// custom: the sources of a domain's kernels, and which function is whose where names differ.
typedef struct ConfigSymbol {
    Str op, symbol;
    uint32_t line;
} ConfigSymbol;
typedef struct ConfigCustom {
    Str domain;
    VEC(Str) sources; // globs, relative to the folder of cameo.yaml, none that leave it
    VEC(ConfigSymbol) ops;
    uint32_t line;
} ConfigCustom;

typedef struct Config {
    const char *path;            // of the file; NULL: there is none
    const char *select, *ignore; // comma-separated; NULL: not said
    int fail_on;                 // SEV_ERROR, SEV_WARNING; LEVEL_OFF: not said
    const Target *target;        // NULL: not said
    VEC(ConfigPlace) places;     // the first that matches holds
    VEC(ConfigAllow) allows;
    bool *allowed; // by allow: did it match a finding? Filled by linting; NULL: not asked for
    bool *placed;  // by place: did it place a node? Filled by devices_place; NULL: not asked for
    VEC(ConfigLevel) levels;
    VEC(ConfigParam) params;
    VEC(ConfigRange) ranges;
    VEC(ConfigBudget) budgets; // the first that names an output holds
    VEC(ConfigCustom) customs;
    // limits: 0 where not said. Bytes, but for depth and nodes.
    uint64_t max_depth, max_nodes, max_metadata, max_memory;
    bool untrusted; // what the model itself allows is not heeded
    // Lines of the above in the file, for `--show-config`; 0: not said.
    uint32_t select_line, ignore_line, fail_on_line, target_line;
    uint32_t depth_line, nodes_line, metadata_line, memory_line;
} Config;

// Reads the configuration that applies to a model ("-": the working folder's). True with
// config->path NULL if there is none. False with findings (rule "", the file and line) if it cannot
// be read, says what nobody understands, or is not YAML; keys that nothing in this version reads
// are infos. Everything lives in the arena.
bool config_read(Arena *a, const char *model_path, Config *config, Diags *diags);

// The entry of `place` that names a node: by its location, or by its name where the glob begins
// with '/'. NULL: none.
const ConfigPlace *config_place_of(const Config *c, Str location, Str node_name);

// A rule's number: cameo.yaml's, else the default. The rule has to have it.
double config_param(const Config *c, const char *rule, const char *key);

// Replaces the limits that cameo.yaml sets; c may be NULL.
void config_limits(const Config *c, uint32_t *depth, uint64_t *nodes, uint64_t *metadata,
                   uint64_t *memory);

// `*` stands for any bytes, `?` for one; everything else, brackets too, for itself.
bool glob_match(Str pattern, Str text);

#endif
