// Convolutions inside kernels, found by structure, computed by packed products.
#ifndef CAMEO_CODEGEN_CPU_CONV_H
#define CAMEO_CODEGEN_CPU_CONV_H

#include "codegen/cpu/bytes.h"
#include "codegen/cpu/processor.h"

enum { CONV_SPACE = 3 }; // dims that a window slides along
struct ByteWeights;

// How the form of convolutions is chosen.
typedef struct ConvChoice {
    const Processor *cpu; // the best of those that the program is for
    int64_t band;         // bytes of a chain's bands, the most of all of them
    bool direct;          // no Winograd
    bool unsplit;         // no products of float32 by terms of bfloat16
    bool exact;           // what is multiplied is rounded as the kernels say: no weight is scaled
    bool wide;            // what operations of bfloat16 hand to one another may be float32
    bool shadow;          // figures are taken: products of float64 only measure those of float32
    const struct Widened *widened; // weights that are there as float32 too (wide.h); NULL: none
    int tile; // 2, 4: Winograd wherever it can be; 0: where it is expected to be quicker
} ConvChoice;

// Convolutions by three terms of bfloat16 (split_conv.h): threads share columns of y, or its rows.
typedef enum SplitConv { SPLIT_NONE, SPLIT_COLUMNS, SPLIT_ROWS } SplitConv;

// y[.., m, n] = f(sum over c and t of w[.., m, c, t] * x[.., c, s * n + d * t - p]), where a place
// of x outside of it counts as 0. n and t have up to CONV_SPACE dims, and n is flat in y.
typedef struct Conv {
    const Expr *reduce, *x, *w;
    const Stmt *store;
    const Bytes *bytes;             // of bytes; NULL: of float32
    const struct HalfConv *half;    // of bfloat16 on matrix registers (half_conv.h); NULL: not
    const struct PixelConv *pixels; // x lies in pixels (pixel_conv.h); NULL: it does not
    bool depthwise;                 // no m and no c: one plane by its own window
    SplitConv split;                // of float32 by terms of bfloat16
    bool across;                    // then: lanes are planes, where that is less work
    bool copy;                      // x goes through a copy with its border
    int64_t tile;   // 2, 4: computed by tiles of so many rows and columns (winograd.h); 0: directly
    int64_t line;   // places of a window in one line, of which tiles are too; 0: tiles are squares
    bool plane;     // then: lines are the rows of a plane and of its window
    int64_t most;   // tiles of a line, or rows of y, that stay in the second cache
    bool sevens;    // in seven products for eight (strassen.h)
    bool outer;     // places of its window, which are far apart, are outside of channels
    double cost[5]; // cycles expected directly, by tiles of 2 and 4, by terms, in seven products
                    // for eight; 0: none allowed
    uint32_t rank;  // dims of n and t
    LoopId m, c;    // 0: one
    LoopId n[CONV_SPACE], t[CONV_SPACE]; // n 0: one place
    Index out[CONV_SPACE], taps[CONV_SPACE], pad[CONV_SPACE], in[CONV_SPACE], step[CONV_SPACE];
    int64_t stride[CONV_SPACE], dilation[CONV_SPACE];
    Index rows, channels; // extents of m and c
    Index channel, row;   // strides of c in x, of m in y
    Index wt[CONV_SPACE]; // strides of t in w
    Index image;          // from one image of y to the next: the first n numbers images, and sums
                          // are made in `sums`, a row of places of all (conv_images.h); NULL: not
    BufferId sums;
    Index group;   // which block of the packed weights, by the variables around
    int64_t block; // elements of such a block
    BufferId packed, padded, panel;
    bool apart;                  // each group is a unit of its own, which one thread does
    int64_t behind;              // then: elements of the panel, behind which its copy of x is
    const struct Panels *panels; // packed holds w as it is, in such panels; NULL: something else
    bool computed;               // w is no constant: the program packs it, unless it is depthwise
    const struct Panels *made;   // then: what it packs before, to `packed` (conv_pack.h)
    BufferId shared; // panels of x that all threads read, where they share rows, or tiles of a
                     // line; 0: none
    Stmt *epilogue;  // loops that apply f to y; NULL: f is the identity, or `finish`
    bool finish;     // f is what finish.h says, done to the sums before they are written
    BufferId bias;   // of each group and row, `biases` for a group
    int64_t biases;
    const Expr *added; // a load at the places of y; NULL: none
    float low, high;
    const struct Curve *curve; // what is done to the sums beside (curve.h); NULL: nothing
    const struct Chain *chain; // convolutions that are done before it (chain.h); NULL: none
    bool wide;    // of float64, by runtime/cameo_wide.h; w may be a load of float32, and is read as
                  // another convolution packed it where that is said
    bool lines;   // then: by tiles of a line where these are fewer products
    Index wm, wk; // then: strides of m in w, and of c and t as one variable;
    const Expr *start; // what each row of the sums begins with, a load; NULL: 0;
    Index startm;      // its stride of m
} Conv;

// The convolution that k is, its weights packed; NULL where it is none. false with *error where
// weights cannot be read.
bool conv_find(Printer *p, Kernel *k, const ConvChoice *how, Conv **found, Str *error);
// The same of one of bfloat16 on matrix registers.
bool conv_find_half(Printer *p, Kernel *k, const ConvChoice *how, Conv **found, Str *error);
// The convolution of bfloat16 or of bytes that k is, nothing packed: c->reduce is NULL where it is
// none. What conv_free_weights frees: where its weights are.
void conv_read_narrow(Printer *p, Kernel *k, Conv *c, struct ByteWeights *weights);
void conv_free_weights(struct ByteWeights *weights);
// Places of y: the elements of one of its rows.
Index conv_places(Polys *polys, const Conv *c);
// Values of k that one of its sums has, and multiplications and additions of all places and rows.
Index conv_depth(Polys *polys, const Conv *c);
Index conv_macs(Polys *polys, const Conv *c);
// Its work in tenths of nanoseconds, for shares of threads.
Index conv_work(Polys *polys, const Conv *c);
// May all of its places be one panel of more than a few columns (CAMEO_COLUMNS_SEVERAL)?
bool conv_has_several(const Conv *c);
// May they be one vector of more columns than those (cameo_conv_two)?
bool conv_has_single(const Conv *c);
// Are its planes' windows others than those that sweeps go by (cameo_rows_for)?
bool conv_has_windows(const Conv *c);
// May lanes be its planes (cameo_across.h), `finish` being chosen?
bool conv_has_across(const Module *mod, const Conv *c);
// Elements of the copy of x: what windows reach along each dim, the last in its phases.
Index conv_copy_size(Polys *polys, const Conv *c);
// Where the weight of row i is, of k, of `size`: for every CONV_K values of k panels of TILE_ROWS
// rows, each a column of them for every k, the last panel padded with zeros.
int64_t conv_packed_at(int64_t panels, int64_t size, int64_t i, int64_t k);
// Elements of the panels of a block's columns, as direct products have them.
int64_t conv_panel_size(void);
// Elements of the panels of all columns, for k values of k, where the columns are one block:
// threads share rows of y then, and make the panels once. NULL: they do not.
Index conv_shared_size(Polys *polys, const Conv *c, int64_t rows, int64_t k);
// Does v belong to the convolution itself, not to the loops around it?
bool conv_owns(const Conv *c, LoopId v);

// How many of the first n are 0.
uint32_t conv_ones(const Conv *c);
// Would both pack the same elements of w in the same places?
bool conv_same_panels(const Conv *a, const Conv *b);
void conv_uses(Module *mod, const Conv *c, KernelUses *u);
void conv_print(Printer *p, const Kernel *k, const Conv *c);
// For those who print other forms: sizes of a convolution, under this name; where x, y and the
// weights begin; what is done to the sums, "{bias, added, low, high, curve}", link number `link` of
// a chain; its own variables, and those
// of the sum, count as 0 while they are on.
void conv_print_sizes(Printer *p, const Conv *c, const char *name);
const char *conv_image(Printer *p, const Conv *c);
const char *conv_output(Printer *p, const Conv *c);
const char *conv_weights(Printer *p, const Conv *c);
const char *conv_finish(Printer *p, const Conv *c, int link);
void conv_set_own(Printer *p, const Kernel *k, const Conv *c, bool on);
// Where what is added begins, "NULL" for nothing; a number of float32 as C has it.
const char *conv_added(Printer *p, const Conv *c);
const char *conv_number(Printer *p, float v);
// The start of a buffer, "NULL" for none.
const char *conv_buffer(Printer *p, BufferId b);
// "WHOSE.finish = ...;", where there is something to finish.
void conv_print_finish(Printer *p, const Conv *c, const char *whose);
// The loops of the epilogue over m0 .. m1, n0 .. n1. false: the output's places do not stand in it
// as one variable, and nothing was printed.
bool conv_print_epilogue(Printer *p, const Conv *c);
// The copy of x as a part; its units are channels, or rows where args.mode says so.
void conv_print_copy(Printer *p, const Kernel *k, const Conv *c);
enum { CONV_COPIED = 2 }; // tenths of nanoseconds for an element that is copied
// ".name = {1, 3, 3},": `rank` dims at the end of CONV_SPACE, `other` for those in front of them.
void conv_print_dims(Printer *p, const char *name, const Index *at, uint32_t rank, int64_t other);

#endif
