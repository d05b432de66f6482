// The steps of a module as a list, with what each kernel reads and writes.
#ifndef CAMEO_CODEGEN_FUSE_PLACES_H
#define CAMEO_CODEGEN_FUSE_PLACES_H

#include "codegen/fuse_parts.h"

// A step of the module, in the order in which they are written down.
typedef struct Place {
    Step *step;
    uint32_t parent;             // the step around it, 0: none
    uint32_t list;               // steps of one list share it
    uint32_t end;                // its subtree ends before this place
    VEC(BufferId) reads, writes; // of kernels
    VEC(DimId) dims;             // that a kernel uses
    double work;                 // of one execution
    bool dead;
} Place;

typedef VEC(uint32_t) Numbers;

typedef struct Places {
    Fuse *f;
    VEC(Place) all;   // [0] unused
    Numbers *readers; // by BufferId: places that read it, or did so once
    Numbers *writers; // by BufferId
    Numbers *setters; // by DimId: steps that define it
    bool *pinned;     // by BufferId: read outside of kernels
    uint32_t nlists;
} Places;

Places *places_new(Fuse *f);
static inline Place *place_at(const Places *x, uint32_t i)
{
    return &x->all.at[i];
}
// After a kernel's body has changed.
void place_take_uses(Places *x, uint32_t at);
bool place_reads(const Place *p, BufferId b);
// Does the kernel write what the other reads?
bool place_disturbs(const Place *writer, const Place *reader);

// Is the producer executed before the reader, whenever the reader is?
bool places_in_order(const Places *x, uint32_t producer, uint32_t reader);
// The outermost loop around the reader that is not around the producer, or 0.
uint32_t places_loop_between(const Places *x, uint32_t producer, uint32_t reader);
// Does anything that the producer reads change between it and the reader?
bool places_change_between(const Places *x, uint32_t producer, uint32_t reader);
// Does anything need what stands in the buffer?
bool places_need(const Places *x, BufferId b);

// Does the kernel that makes what is loaded, views of it aside, take a scale as it stores, since
// nobody else reads it (codegen/fuse_scales.c)?
bool place_takes_scale(const Places *x, const Expr *load);
// The kernel that alone reads what a product's kernel stores, and reduces it: it may as well scale
// what it reads. 0: there is none.
uint32_t place_scale_reader(const Places *x, uint32_t product);
// Lets that reader multiply by the number that the product's kernel ends with: its place. 0:
// nothing is changed.
uint32_t place_hands_on_scale(Places *x, uint32_t product);

// ---- parts of one buffer (codegen/fuse_joined.c)
// The kernel that writes all of a buffer whose parts lie behind one another along *axis, each
// written by a kernel in point form; NULL: they do not.
Stmt *place_joined(const Places *x, BufferId b, uint32_t *axis);
// Where such parts are only moved, and one kernel alone reads b, each element once, and transposes
// it: lets each part store where that one does, which nothing needs then. Its place; 0: nothing is
// changed. A part by itself is transposed in squares, its sizes being its own.
uint32_t place_turned(Places *x, BufferId b);
// Does a kernel in point form read b along its neighbours, or across them, so that its innermost
// loop can be cut where a part ends?
bool fuse_reads_straight(Fuse *f, const Stmt *body, BufferId b, uint32_t axis);

// Drops kernels that only copy a buffer which nobody reads afterwards (codegen/fuse_copies.c). Work
// of places is taken anew.
void fuse_copies(Places *x);

// What is printed of a kernel's body: its loops split, its rows shared where the target can.
Stmt *fuse_scheduled(Fuse *f, Stmt *body);

#endif
