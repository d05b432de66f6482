// Compilers that run side by side, and what they made before taken from the cache.
#ifndef CAMEO_CODEGEN_JOBS_H
#define CAMEO_CODEGEN_JOBS_H

#include "base/process.h"
#include "codegen/toolchain.h"

typedef struct Job {
    const char **argv;  // ends with NULL
    const char *object; // what comes of it, in the build's folder
    const char *source; // in the same folder: decides, with the arguments and the files of runtime/
                        // beside it, what comes of it; NULL: what it reads is not known
    Str of;             // a source of the user; empty: what Cameo emitted
    bool kept;          // the text is the same for all models (codegen/shelf.h)
    const char *key;    // of the cache; NULL: it is not asked
    enum { JOB_WAITS, JOB_RUNS, JOB_ENDED } state;
    int status; // of one that ended; where it is not 0, error says why
    Str error;
    Process process;
    double began; // by stage_clock
} Job;

typedef struct Jobs {
    Job *at;
    uint32_t len, cap;
} Jobs;

// Starts what waits, the first ones first, one more at once than there are processors; waits for
// none.
void jobs_start(Build *b, Jobs *jobs);
// All of them, what was started too. 0, or the exit status of the first that failed, with
// report->error set; none is running then.
int jobs_run(Build *b, Jobs *jobs);
// Waits for those that are running, whatever comes of them.
void jobs_abandon(Build *b, Jobs *jobs);
// One that is not a compilation: called, waited for.
int jobs_call(Build *b, const char *const *argv);
// b->described: the compiler's own words about which it is, the files that it works with, and the
// machine (codegen/described.c). false: it cannot be had.
bool jobs_describe(Build *b);
// To `out`: of these what decides for a compiler of any path and, unless it is asked for native
// code, on any machine.
bool jobs_describe_for(Build *b, const char *const *argv, Buf *out);
// What a message says behind its first line.
const char *message_after_line(Str s);

// (codegen/toolchain.c) The compilation of products, or of their tiles, for number `cpu` of the
// build's processors, from a text that is the same for all models.
void toolchain_kept_job(Build *b, bool tiles, uint32_t cpu, Job *job);
// And of what a program has beside its model: main, what reads and writes files; NULL behind.
extern const char *const toolchain_parts[];
void toolchain_part_job(Build *b, const char *name, Job *job);

#endif
