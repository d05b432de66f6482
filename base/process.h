// Other programs, run without a shell.

#ifndef CAMEO_BASE_PROCESS_H
#define CAMEO_BASE_PROCESS_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Process {
    pid_t pid;
    int output; // what it writes to stdout and stderr comes out here; -1: they are the caller's own
} Process;

// Starts argv (NULL-terminated; argv[0] is looked up on PATH) in the folder `dir` (NULL: this one).
// Where `captured`, stdout and stderr together are kept for process_wait. False, with *error, where
// it cannot start.
bool process_start(Arena *a, const char *dir, const char *const *argv, bool captured, Process *p,
                   Str *error);

// Waits for what was started; `output` (may be NULL) receives what was captured. The exit status,
// 128+n for signal n.
int process_wait(Process *p, Buf *output);

// Of captured processes, the number of one that has ended or has something to say; waits for it.
uint32_t process_first(const Process *const *all, uint32_t n);

// Both in one; captured where output is not NULL.
bool process_run(Arena *a, const char *dir, const char *const *argv, Buf *output, int *status,
                 Str *error);

// The full path of a program on PATH, or NULL.
const char *process_find(Arena *a, const char *name);

#endif
