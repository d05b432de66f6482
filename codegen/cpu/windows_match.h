// Reductions over windows of a plane, as codegen/cpu/windows.c rewrites them.
#ifndef CAMEO_CODEGEN_CPU_WINDOWS_MATCH_H
#define CAMEO_CODEGEN_CPU_WINDOWS_MATCH_H

#include "codegen/fuse_parts.h"

typedef struct Axis {
    LoopId o, r;
    Index place;               // s * o + d * r + first
    int64_t s, d, first, taps; // the step of the window and of its taps, of which it has so many
    Index outs, extent;        // of y; from the first place to behind the last
    Index low, high;           // places of e inside: low <= place < high
} Axis;

typedef struct Window {
    Module *mod;
    const Point *point;
    const Expr *reduce;
    Axis axis[2];
} Window;

// Finds the window of w's point, of which mod and point are given: false where it is none, or where
// rows taken as they stand are as quick.
bool window_recognise(Window *w);
// Does it meet places outside of e, unless it is known that there are none?
bool window_has_border(const Window *w);
// Are its columns reduced as e is evaluated?
bool window_needs_no_plane(const Window *w);
// Of `outs` rows of y those before `from` and from `to` on, `from` included and `to` not, meet the
// border above or below. False: some window meets nothing else, or its taps leave out rows.
bool window_inner_rows(const Window *w, int64_t outs, int64_t *from, int64_t *to);
// Does a plane of known size, rows of `extent` columns, cost more than loading what it would hold
// again?
bool window_loads_again(const Window *w, int64_t outs, int64_t extent);
// The same of one whose size only the program knows, if it is wide and each window meets a row, as
// the first one does where there are any.
bool window_loads_any(const Window *w);

#endif
