/* Convolutions by a window of 3 x 3 that moves by one, m x m neighbours of the output at a time
 * (m is 2 or 4), or of 5 x 5 (m is 2): of a tile of n x n elements of x that the windows reach, and
 * of the window, as many numbers are made by sums along rows and columns, so that products of equal
 * places, summed over the channels, give the tile of y by sums again (Winograd; Lavin and Gray,
 * 2016). A tile takes n^2 products instead of 9 m^2 or 25 m^2.
 *
 * The products are of matrices, one for each place: rows of y by channels, times channels by
 * tiles. The window's numbers were made when compiling. Tiles of 6 x 6 elements evaluate
 * polynomials at 0, +-3/4, +-3/2 and infinity: of points whose squares float32 holds, these lose
 * the least. */
#ifndef CAMEO_WINOGRAD_H
#define CAMEO_WINOGRAD_H

#include <stdint.h>
#include <string.h>

#ifdef __AVX__
#include <immintrin.h>
#endif

enum {
    CAMEO_WINOGRAD_ROWS = 32,                  /* rows of y between two transforms */
    CAMEO_WINOGRAD_TILES = CAMEO_TILE_COLUMNS, /* at most, in a block */
    CAMEO_WINOGRAD_GAP = 16,                   /* elements behind what belongs to one place */
    CAMEO_WINOGRAD_K = 128,                    /* channels of one product */
    CAMEO_WINOGRAD_LINE = 4 * CAMEO_TILE_COLUMNS + 3 * 16 /* elements of a row of tiles */
};

struct cameo_winograd_block;

/* What a tile of y and a window are: only those that a program names are compiled. */
typedef struct cameo_winograd_kind {
    int64_t m, n; /* rows and columns of a tile of y, and of what is made of x: 4 to 6 */
    const unsigned char *sums; /* which sum the products with each number are added to, those of
                                * one behind another; NULL: one each */
    void (*tiles)(const float *x, int64_t low, int64_t high, struct cameo_winograd_block *b);
    void (*row)(const struct cameo_winograd_block *b, const float *sums, int64_t channel, float *y);
} cameo_winograd_kind;

typedef struct cameo_winograd {
    const cameo_conv *g;
    const cameo_finish *finish; /* of y, with nothing added; NULL: none */
    const cameo_winograd_kind *kind;
    int64_t across, tiles; /* tiles beside one another, and all */
    int64_t few;   /* from here on lanes run over rows of y: the last tiles, if few are left */
    int64_t width; /* elements between two channels, or two rows, of a block's tiles */
    int64_t place; /* and between two places of a tile, of x and */
    int64_t sum;   /* of the sums */
} cameo_winograd;

/* Tiles t0 .. t1. Places n0 .. n1 of y are finished with them and those before them in their row
 * of tiles. */
typedef struct cameo_winograd_block {
    const cameo_winograd *form;
    int64_t t0, t1, n0, n1;
    float *tiles, *sums;
    int64_t first; /* the channel that tiles begin with */
    int64_t at[CAMEO_WINOGRAD_K];
} cameo_winograd_block;

/* Of a tile of x, each a number of the transformed. */
static inline __attribute__((unused)) int64_t cameo_winograd_places(const cameo_winograd *f)
{
    return f->kind->n * f->kind->n;
}

/* For blocks of at most so many tiles. */
static inline __attribute__((unused)) void cameo_winograd_size(cameo_winograd *f, int64_t tiles)
{
    const int64_t most = tiles < CAMEO_WINOGRAD_TILES ? tiles : CAMEO_WINOGRAD_TILES;
    f->width = (most + 15) / 16 * 16;
    f->place = f->g->channels * f->width + CAMEO_WINOGRAD_GAP;
    f->sum = CAMEO_WINOGRAD_ROWS * f->width + CAMEO_WINOGRAD_GAP;
}

static __attribute__((noinline, unused)) void
cameo_winograd_plan(const cameo_conv *g, const cameo_winograd_kind *kind, cameo_winograd *f)
{
    const int64_t m = kind->m;
    const int64_t across = (g->out[2] + m - 1) / m, tiles = across * ((g->out[1] + m - 1) / m);
    const int64_t rest = tiles % CAMEO_WINOGRAD_TILES;
    *f = (cameo_winograd){.g = g, .kind = kind, .across = across, .tiles = tiles};
    f->few = rest <= CAMEO_FEW ? tiles - rest : tiles;
    cameo_winograd_size(f, tiles);
}

/* Where the block that begins with tile t ends, of tiles before `end`. */
static __attribute__((noinline, unused)) int64_t cameo_winograd_end(const cameo_winograd *f,
                                                                    int64_t t, int64_t end)
{
    const int64_t next = end - t < CAMEO_WINOGRAD_TILES ? end : t + CAMEO_WINOGRAD_TILES;
    return t < f->few && next > f->few ? f->few : next;
}

/* Vectors that so many tiles fill, a block after the other. */
static inline __attribute__((unused)) int64_t cameo_winograd_filled(int64_t tiles)
{
    const int64_t rest = tiles % CAMEO_WINOGRAD_TILES;
    return tiles / CAMEO_WINOGRAD_TILES * CAMEO_VECTORS + (rest + CAMEO_LANES - 1) / CAMEO_LANES;
}

/* Tiles of a unit that threads share: a row of them, of which there are `down`, or a block,
 * wherever in a row it ends, if that leaves the thread that has most of them fewer vectors. */
static inline __attribute__((unused)) int64_t cameo_winograd_shares(int64_t threads, int64_t down,
                                                                    int64_t across)
{
    const int64_t blocks =
        (down * across - CAMEO_FEW + CAMEO_WINOGRAD_TILES - 1) / CAMEO_WINOGRAD_TILES;
    const int64_t rows = cameo_winograd_filled((down + threads - 1) / threads * across);
    const int wraps = threads > 1 && (blocks + threads - 1) / threads * CAMEO_VECTORS < rows;
    return wraps ? (int64_t)CAMEO_WINOGRAD_TILES : across;
}

static inline __attribute__((unused)) int64_t cameo_winograd_units(int64_t unit, int64_t down,
                                                                   int64_t across)
{
    return unit > 0 ? (down * across + unit - 1) / unit : 0;
}

/* The least number of units that a thread takes, `grain` as far as their work tells: all of its
 * part where halves of it would have an eighth more vectors. */
static inline __attribute__((unused)) int64_t cameo_winograd_grain(int64_t grain, int64_t threads,
                                                                   int64_t unit, int64_t units)
{
    const int64_t part = (units + threads - 1) / threads, half = part / 2;
    const int64_t whole = cameo_winograd_filled(part * unit);
    const int64_t halves =
        cameo_winograd_filled(half * unit) + cameo_winograd_filled((part - half) * unit);
    return part > grain && 8 * (halves - whole) >= whole ? part : grain;
}

/* The first tile of a share that begins with this unit of so many tiles. Each tile is computed in
 * the same way however they are shared: the few at the end are one block. */
static inline __attribute__((unused)) int64_t cameo_winograd_cut(const cameo_winograd *f,
                                                                 int64_t unit, int64_t at)
{
    return at * unit > f->few ? f->tiles : at * unit;
}

/* The first row of y of a share that begins with unit `unit`: so many rows are one as are made
 * between two transforms. */
static __attribute__((noinline, unused)) int64_t cameo_winograd_from(const cameo_winograd *f,
                                                                     int64_t unit)
{
    const int64_t row = unit * CAMEO_WINOGRAD_ROWS;
    return row < f->g->rows ? row : f->g->rows;
}

/* ---- of x --------------------------------------------------------------------------------------
 */

static inline __attribute__((always_inline)) void cameo_winograd_of_x(int n, const cameo_vec *d,
                                                                      cameo_vec *to)
{
    if (n == 4) {
        to[0] = d[0] - d[2];
        to[1] = d[1] + d[2];
        to[2] = d[2] - d[1];
        to[3] = d[1] - d[3];
        return;
    }
    const cameo_vec even_a = d[4] - 2.25f * d[2], odd_a = d[3] - 2.25f * d[1];
    const cameo_vec even_b = d[4] - 0.5625f * d[2], odd_b = d[3] - 0.5625f * d[1];
    to[0] = 1.265625f * d[0] + (d[4] - 2.8125f * d[2]);
    to[1] = even_a + 0.75f * odd_a;
    to[2] = even_a - 0.75f * odd_a;
    to[3] = even_b + 1.5f * odd_b;
    to[4] = even_b - 1.5f * odd_b;
    to[5] = 1.265625f * d[1] + (d[5] - 2.8125f * d[3]);
}

/* Elements of a line: m of each tile, and what vectors reach beyond them. */
static inline __attribute__((always_inline)) int64_t cameo_winograd_line_of(int64_t m)
{
    return m * CAMEO_WINOGRAD_TILES + 32;
}

/* Lanes low .. high of a vector that begins at `from`, 0 elsewhere: no other is read. */
static inline __attribute__((always_inline)) cameo_vec
cameo_winograd_some(const float *from, int64_t low, int64_t high)
{
#if defined __AVX512F__
    const uint32_t some = high > low ? ((uint32_t)1 << high) - ((uint32_t)1 << low) : 0;
    return (cameo_vec)_mm512_maskz_loadu_ps((__mmask16)some, from);
#elif defined __AVX__
    const __m256 lanes = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 some =
        _mm256_and_ps(_mm256_cmp_ps(lanes, _mm256_set1_ps((float)low), _CMP_GE_OQ),
                      _mm256_cmp_ps(lanes, _mm256_set1_ps((float)high), _CMP_LT_OQ));
    return (cameo_vec)_mm256_maskload_ps(from, _mm256_castps_si256(some));
#else
    cameo_vec v = {0};
    for (int64_t i = 0; i < CAMEO_LANES; i++)
        v[i] = i >= low && i < high ? from[i] : 0.0f;
    return v;
#endif
}

/* A vector of each of n rows of x: from element `at` of a channel on, of rows top .. bottom, of
 * lanes low .. high. What else there is lies outside of x. Its sums begin line element `to`; those
 * of a vector that is not the first of its tiles are written to the lines of later elements too. */
typedef struct cameo_winograd_column {
    int64_t at;
    int32_t to, later;
    int8_t top, bottom, low, high;
} cameo_winograd_column;

/* Of all tiles of a block; at most so many. */
enum { CAMEO_WINOGRAD_COLUMNS = CAMEO_WINOGRAD_TILES * (4 / (int)CAMEO_LANES + 4) };

static inline __attribute__((unused)) int8_t cameo_winograd_within(int64_t i, int64_t most)
{
    return (int8_t)(i < 0 ? 0 : i < most ? i : most);
}

/* The columns that `count` tiles of a row of tiles read, from tile `first` on: each m elements of a
 * tile after those of the one before, tile t of the block first. What a tile reaches beyond them
 * are its elements of other lines, each of m further, whose first vector is made by itself: what is
 * behind the last of these belongs to no tile yet. */
static inline __attribute__((unused)) cameo_winograd_column *
cameo_winograd_plan_row(const cameo_winograd *f, int64_t row, int64_t first, int64_t count,
                        int64_t t, cameo_winograd_column *to)
{
    const cameo_conv *g = f->g;
    const int64_t m = f->kind->m, n = f->kind->n, all = count * m, line = cameo_winograd_line_of(m);
    const int64_t top = row * m - g->pad[1], start = first * m - g->pad[2];
    const int64_t end = all > CAMEO_LANES ? all + n - m : all;
    int64_t shift = 0;
    for (int64_t v = 0; v < end || shift + m < n; v += CAMEO_LANES, to++) {
        if (v >= end)
            shift += m;
        const int64_t at = start + (v < end ? v : shift);
        *to = (cameo_winograd_column){
            .at = top * g->step[1] + at,
            .to = (int32_t)(t * m + (v < end ? v : shift / m * n * line)),
            .later = v > 0 && v < end,
            .top = cameo_winograd_within(-top, n),
            .bottom = cameo_winograd_within(g->in[1] - top, n),
            .low = cameo_winograd_within(-at, CAMEO_LANES),
            .high = cameo_winograd_within(g->in[2] - at, CAMEO_LANES),
        };
    }
    return to;
}

/* Those of a block. Returns how many there are. */
static __attribute__((noinline, unused)) CAMEO_BRIEF int64_t
cameo_winograd_plan_block(const cameo_winograd_block *b, cameo_winograd_column *columns)
{
    const cameo_winograd *f = b->form;
    cameo_winograd_column *to = columns;
    int64_t row = b->t0 / f->across, first = b->t0 % f->across, count;
    for (int64_t t = b->t0; t < b->t1; t += count, row++, first = 0) {
        count = f->across - first < b->t1 - t ? f->across - first : b->t1 - t;
        to = cameo_winograd_plan_row(f, row, first, count, t - b->t0, to);
    }
    return to - columns;
}

/* v is there as it is: compilers join a multiplication with the addition behind it only where both
 * are in one place, and would multiply what they read in one way or another there and then, so that
 * sums depended on where a vector begins. */
#if defined __x86_64__
#define CAMEO_WINOGRAD_READ(v) __asm__("" : "+v"(v))
#elif defined __aarch64__
#define CAMEO_WINOGRAD_READ(v) __asm__("" : "+w"(v))
#else
#define CAMEO_WINOGRAD_READ(v) (void)(v)
#endif

/* A column of the channel x, summed to n lines. */
static inline __attribute__((always_inline)) void
cameo_winograd_down(int m, int n, const cameo_winograd_column *c, const float *x, int64_t step,
                    float *lines)
{
    const int64_t line = cameo_winograd_line_of(m);
    const int all = c->top == 0 && c->bottom == n, whole = c->high - c->low == CAMEO_LANES;
    const cameo_vec none = {0};
    cameo_vec d[6], z[6];
    for (int i = 0; all && whole && i < n; i++)
        d[i] = *(const cameo_vec *)(x + (c->at + i * step));
    for (int i = 0; !(all && whole) && i < n; i++)
        d[i] = i >= c->top && i < c->bottom
                   ? cameo_winograd_some(x + (c->at + i * step), c->low, c->high)
                   : none;
    for (int i = 0; i < n; i++)
        CAMEO_WINOGRAD_READ(d[i]);
    cameo_winograd_of_x(n, d, z);
    for (int i = 0; i < n; i++)
        *(cameo_vec *)(lines + c->to + i * line) = z[i];
    for (int shift = m; c->later && shift < n; shift += m)
        for (int i = 0; i < n; i++)
            *(cameo_vec *)(lines + c->to + (shift / m * n + i) * line - shift) = z[i];
}

/* Lane t of d[j] is element t * m + j of the line, for the j below n: from j = m on of another,
 * where that element is number t * m + j % m, and which begins `apart` elements behind it. */
#ifdef CAMEO_QUADS
static inline __attribute__((always_inline)) void
cameo_winograd_lanes(int m, int n, const float *line, int64_t apart, cameo_vec *d)
{
    if (m == 2) {
        for (int shift = 0; shift < n; shift += m) {
            const float *at = line + shift / m * apart;
            const cameo_vec even = cameo_quads(at, at + 8);
            const cameo_vec odd = cameo_quads(at + 4, at + 12);
            d[shift] = __builtin_shufflevector(even, odd, 0, 2, 8, 10, 4, 6, 12, 14);
            d[shift + 1] = __builtin_shufflevector(even, odd, 1, 3, 9, 11, 5, 7, 13, 15);
        }
        return;
    }
    cameo_vec r[4], next[4];
    for (int i = 0; i < 4; i++)
        r[i] = cameo_quads(line + 4 * i, line + 4 * i + 16);
    cameo_quads_turn(r[0], r[1], r[2], r[3], d);
    if (n > m) {
        for (int i = 0; i < 4; i++)
            r[i] = cameo_quads(line + apart + 4 * i, line + apart + 4 * i + 16);
        cameo_quads_turn(r[0], r[1], r[2], r[3], next);
        d[4] = next[0];
        d[5] = next[1];
    }
}
#else
static inline __attribute__((always_inline)) void
cameo_winograd_lanes(int m, int n, const float *line, int64_t apart, cameo_vec *d)
{
    for (int shift = 0; shift < n; shift += m) {
        cameo_vec v[4];
        for (int i = 0; i < m; i++)
            v[i] = *(const cameo_vec *)(line + shift / m * apart + i * CAMEO_LANES);
        if (m == 2) {
            d[shift] = cameo_even(v[0], v[1]);
            d[shift + 1] = cameo_odd(v[0], v[1]);
            continue;
        }
        const cameo_vec even0 = cameo_even(v[0], v[1]), even1 = cameo_even(v[2], v[3]);
        const cameo_vec odd0 = cameo_odd(v[0], v[1]), odd1 = cameo_odd(v[2], v[3]);
        d[shift] = cameo_even(even0, even1);
        d[shift + 1] = cameo_even(odd0, odd1);
        if (shift == 0) {
            d[2] = cameo_odd(even0, even1);
            d[3] = cameo_odd(odd0, odd1);
        }
    }
}
#endif

/* Of channels low .. high. The lines of a channel are made before those of the one before it are
 * read: a processor that still keeps what is written would wait for it. */
static inline __attribute__((always_inline)) void cameo_winograd_tiles(int m, int n, const float *x,
                                                                       int64_t low, int64_t high,
                                                                       cameo_winograd_block *b)
{
    enum { MOST = 12 * (4 * CAMEO_WINOGRAD_TILES + 32) };
    const cameo_winograd *f = b->form;
    const int64_t line = cameo_winograd_line_of(m), place = f->place;
    const int64_t tiles = b->t1 - b->t0, read = (tiles + 15) / 16 * 16;
    const cameo_vec none = {0};
    cameo_winograd_column columns[CAMEO_WINOGRAD_COLUMNS];
    const int64_t count = cameo_winograd_plan_block(b, columns);
    float lines[2][MOST];
    memset(lines, 0, sizeof lines);
    for (int64_t c = low - 1; c < high; c++) {
        for (int64_t i = 0; c + 1 < high && i < count; i++)
            cameo_winograd_down(m, n, columns + i, x + (c + 1) * f->g->channel, f->g->step[1],
                                lines[(c + 1) % 2]);
        if (c < low)
            continue;
        float *const channel = b->tiles + (c - b->first) * f->width;
        int64_t s = 0;
        for (; s < tiles; s += CAMEO_LANES) {
            const float *from = lines[c % 2] + s * m;
            float *to = channel + s;
            for (int i = 0; i < n; i++, from += line) {
                cameo_vec d[6], z[6];
                cameo_winograd_lanes(m, n, from, n * line, d);
                cameo_winograd_of_x(n, d, z);
                for (int j = 0; j < n; j++, to += place)
                    *(cameo_vec *)to = z[j];
            }
        }
        /* products read whole vectors: what lay there before may be below normal numbers, with
         * which processors take many times as long */
        for (; s < read; s += CAMEO_LANES)
            for (int i = 0; i < n * n; i++)
                *(cameo_vec *)(channel + i * place + s) = none;
    }
}

/* The block of tiles t0 .. t1: n^2 * f->place elements at `tiles`, n^2 * f->sum at `sums`. */
static inline __attribute__((unused)) void cameo_winograd_block_of(const cameo_winograd *f,
                                                                   int64_t t0, int64_t t1,
                                                                   float *tiles, float *sums,
                                                                   cameo_winograd_block *b)
{
    const int64_t size = f->g->out[1] * f->g->out[2];
    const int64_t high = t1 / f->across * f->kind->m * f->g->out[2];
    b->form = f;
    b->t0 = t0;
    b->t1 = t1;
    b->n0 = t0 / f->across * f->kind->m * f->g->out[2];
    b->n1 = t1 == f->tiles || high > size ? size : high;
    b->tiles = tiles;
    b->sums = sums;
    b->first = 0;
    for (int64_t k = 0; k < CAMEO_WINOGRAD_K && k < f->g->channels; k++)
        b->at[k] = k * f->width;
}

/* x: its first element. scratch: n^2 * (f->place + f->sum) elements. */
static __attribute__((noinline, unused)) void cameo_winograd_begin(const cameo_winograd *f,
                                                                   const float *x, int64_t t0,
                                                                   int64_t t1, float *scratch,
                                                                   cameo_winograd_block *b)
{
    cameo_winograd_block_of(f, t0, t1, scratch, scratch + cameo_winograd_places(f) * f->place, b);
    f->kind->tiles(x, 0, f->g->channels, b);
}

/* ---- of x, made before: tiles of all blocks, which threads that share rows of y read -----------
 */

/* The form of the block that begins with tile t0 alone: no wider than its tiles. */
static __attribute__((noinline, unused)) void cameo_winograd_only(const cameo_winograd *f,
                                                                  int64_t t0, cameo_winograd *to)
{
    *to = *f;
    cameo_winograd_size(to, f->tiles - t0);
}

/* That block, of a form of its own. made: tiles of all blocks, those before it being whole. */
static __attribute__((noinline, unused)) void cameo_winograd_take(const cameo_winograd *only,
                                                                  int64_t t0, int64_t t1,
                                                                  float *made, float *sums,
                                                                  cameo_winograd_block *b)
{
    const int64_t whole = only->g->channels * CAMEO_WINOGRAD_TILES + CAMEO_WINOGRAD_GAP;
    cameo_winograd_block_of(only, t0, t1,
                            made + t0 / CAMEO_WINOGRAD_TILES * cameo_winograd_places(only) * whole,
                            sums, b);
}

/* Channels low .. high of all blocks. */
static __attribute__((noinline, unused)) void
cameo_winograd_make(const cameo_winograd *f, const float *x, int64_t low, int64_t high, float *made)
{
    for (int64_t t0 = 0, t1; t0 < f->tiles && low < high; t0 = t1) {
        cameo_winograd only;
        cameo_winograd_block block;
        t1 = cameo_winograd_end(f, t0, f->tiles);
        cameo_winograd_only(f, t0, &only);
        cameo_winograd_take(&only, t0, t1, made, NULL, &block);
        f->kind->tiles(x, low, high, &block);
    }
}

/* ---- of the sums -------------------------------------------------------------------------------
 */

static inline __attribute__((always_inline)) void
cameo_winograd_of_y(int m, int n, const cameo_vec *s, cameo_vec *to)
{
    if (n == 3) {
        to[0] = s[0] + s[1];
        to[1] = s[1] + s[2];
        return;
    }
    const cameo_vec sum_a = s[1] + s[2], odd_a = s[1] - s[2];
    if (n == 4) {
        to[0] = s[0] + sum_a;
        to[1] = odd_a - s[3];
        return;
    }
    const cameo_vec sum_b = s[3] + s[4], odd_b = s[3] - s[4];
    to[0] = s[0] + sum_a + sum_b;
    to[1] = 0.75f * odd_a + 1.5f * odd_b;
    if (m == 2) {
        to[1] += s[5];
        return;
    }
    to[2] = 0.5625f * sum_a + 2.25f * sum_b;
    to[3] = s[5] + 0.421875f * odd_a + 3.375f * odd_b;
}

/* Element t * m + j of `to` is lane t of d[j]. */
static inline __attribute__((always_inline)) void cameo_winograd_line(int m, const cameo_vec *d,
                                                                      float *to)
{
    cameo_vec *v = (cameo_vec *)to;
    if (m == 2) {
#ifdef CAMEO_QUADS
        const cameo_vec low = __builtin_shufflevector(d[0], d[1], 0, 8, 1, 9, 4, 12, 5, 13);
        const cameo_vec high = __builtin_shufflevector(d[0], d[1], 2, 10, 3, 11, 6, 14, 7, 15);
        v[0] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
        v[1] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
#else
        v[0] = cameo_zip_low(d[0], d[1]);
        v[1] = cameo_zip_high(d[0], d[1]);
#endif
        return;
    }
#ifdef CAMEO_QUADS
    cameo_vec r[4];
    cameo_quads_turn(d[0], d[1], d[2], d[3], r);
    for (int i = 0; i < 2; i++) {
        v[i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 1, 2, 3, 8, 9, 10, 11);
        v[2 + i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#else
    const cameo_vec low0 = cameo_zip_low(d[0], d[2]), high0 = cameo_zip_high(d[0], d[2]);
    const cameo_vec low1 = cameo_zip_low(d[1], d[3]), high1 = cameo_zip_high(d[1], d[3]);
    v[0] = cameo_zip_low(low0, low1);
    v[1] = cameo_zip_high(low0, low1);
    v[2] = cameo_zip_low(high0, high1);
    v[3] = cameo_zip_high(high0, high1);
#endif
}

static inline __attribute__((unused)) void cameo_winograd_copy(const float *from, int64_t n,
                                                               float *to)
{
    if (n >= CAMEO_LANES)
        for (int64_t i = 0; i < n; i += CAMEO_LANES) {
            const int64_t at = n - i < CAMEO_LANES ? n - CAMEO_LANES : i;
            *(cameo_vec *)(to + at) = *(const cameo_vec *)(from + at);
        }
    else if (n >= 4)
        for (int64_t i = 0; i < n; i += 4) {
            const int64_t at = n - i < 4 ? n - 4 : i;
            *(cameo_quad *)(to + at) = *(const cameo_quad *)(from + at);
        }
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i];
}

/* Row `channel` of the sums, n x n of a tile, to its channel of y. */
static inline __attribute__((always_inline)) void cameo_winograd_row(int m, int n,
                                                                     const cameo_winograd_block *b,
                                                                     const float *sums,
                                                                     int64_t channel, float *y)
{
    const cameo_winograd *f = b->form;
    const cameo_vec zero = {0};
    const float bias = f->finish ? f->finish->bias[channel] : 0.0f;
    const cameo_vec low = zero + (f->finish ? f->finish->low : 0.0f);
    const cameo_vec high = zero + (f->finish ? f->finish->high : 0.0f);
    const int64_t *out = f->g->out;
    float lines[4 * CAMEO_WINOGRAD_LINE];
    for (int64_t t = 0; t < b->t1 - b->t0; t += CAMEO_LANES) {
        cameo_vec half[4 * 6];
        for (int j = 0; j < n; j++) {
            cameo_vec s[6], z[4];
            for (int i = 0; i < n; i++)
                s[i] = *(const cameo_vec *)(sums + (i * n + j) * f->sum + t);
            cameo_winograd_of_y(m, n, s, z);
            for (int i = 0; i < m; i++)
                half[i * n + j] = z[i];
        }
        for (int i = 0; i < m; i++) {
            cameo_vec z[4];
            cameo_winograd_of_y(m, n, half + i * n, z);
            for (int j = 0; f->finish && j < m; j++)
                z[j] = cameo_clip(z[j] + bias, low, high);
            cameo_winograd_line(m, z, lines + i * CAMEO_WINOGRAD_LINE + t * m);
        }
    }
    int64_t count;
    for (int64_t t = b->t0; t < b->t1; t += count) {
        const int64_t row = t / f->across, first = t % f->across;
        count = f->across - first < b->t1 - t ? f->across - first : b->t1 - t;
        const int64_t left = out[2] - first * m, wide = left < count * m ? left : count * m;
        for (int64_t i = 0; i < m && row * m + i < out[1]; i++)
            cameo_winograd_copy(lines + i * CAMEO_WINOGRAD_LINE + (t - b->t0) * m, wide,
                                y + (row * m + i) * out[2] + first * m);
    }
}

/* ---- kinds: tiles of m x m places by windows of 3 x 3 or 5 x 5 ----------------------------------
 */

static __attribute__((noinline, unused)) void
cameo_winograd_tiles_2_3(const float *x, int64_t low, int64_t high, cameo_winograd_block *b)
{
    cameo_winograd_tiles(2, 4, x, low, high, b);
}

static __attribute__((noinline, unused)) void
cameo_winograd_row_2_3(const cameo_winograd_block *b, const float *sums, int64_t channel, float *y)
{
    cameo_winograd_row(2, 4, b, sums, channel, y);
}

static __attribute__((unused)) const cameo_winograd_kind cameo_winograd_2_3 = {
    .m = 2,
    .n = 4,
    .tiles = cameo_winograd_tiles_2_3,
    .row = cameo_winograd_row_2_3,
};

static __attribute__((noinline, unused)) void
cameo_winograd_tiles_4_3(const float *x, int64_t low, int64_t high, cameo_winograd_block *b)
{
    cameo_winograd_tiles(4, 6, x, low, high, b);
}

static __attribute__((noinline, unused)) void
cameo_winograd_row_4_3(const cameo_winograd_block *b, const float *sums, int64_t channel, float *y)
{
    cameo_winograd_row(4, 6, b, sums, channel, y);
}

static __attribute__((unused)) const cameo_winograd_kind cameo_winograd_4_3 = {
    .m = 4,
    .n = 6,
    .tiles = cameo_winograd_tiles_4_3,
    .row = cameo_winograd_row_4_3,
};

static __attribute__((noinline, unused)) void
cameo_winograd_tiles_2_5(const float *x, int64_t low, int64_t high, cameo_winograd_block *b)
{
    cameo_winograd_tiles(2, 6, x, low, high, b);
}

static __attribute__((noinline, unused)) void
cameo_winograd_row_2_5(const cameo_winograd_block *b, const float *sums, int64_t channel, float *y)
{
    cameo_winograd_row(2, 6, b, sums, channel, y);
}

static __attribute__((unused)) const cameo_winograd_kind cameo_winograd_2_5 = {
    .m = 2,
    .n = 6,
    .tiles = cameo_winograd_tiles_2_5,
    .row = cameo_winograd_row_2_5,
};

/* How many vectors the next tile of products has, of a block of `tiles` with t of them done: never
 * so few that sums would go in two chains, and so depend on how many tiles a block has, but for a
 * single one that goes by pairs of panels. Rows are whole tiles for the same reason: windows are
 * padded with 0, and there is room behind a block's sums. */
static inline __attribute__((unused)) int64_t cameo_winograd_vectors(int64_t tiles, int64_t t)
{
    enum { ONE_CHAIN = 8, LEAST = (ONE_CHAIN + CAMEO_ROWS - 1) / CAMEO_ROWS };
#if defined __AVX512F__ /* where a row of the block may have room for no more */
    enum { WHOLE = 1 };
#else
    enum { WHOLE = LEAST };
#endif
    const int64_t all = (tiles + WHOLE * CAMEO_LANES - 1) / (WHOLE * CAMEO_LANES) * WHOLE;
    const int64_t left = all - t / CAMEO_LANES;
    if (left <= CAMEO_VECTORS)
        return left;
    return left - CAMEO_VECTORS < LEAST ? LEAST : CAMEO_VECTORS;
}

#if defined __AVX512F__
/* A vector of tiles by two panels of rows, `apart` elements from one another, as a tile by one: of
 * eight sums a processor reads more than it multiplies. */
static __attribute__((noinline, unused)) void cameo_winograd_pair(int64_t k, const float *a,
                                                                  int64_t apart, const float *x,
                                                                  int64_t ldx, int64_t ahead,
                                                                  float *c, int64_t ldc, int more)
{
    enum { ROWS = CAMEO_TILE_ROWS, LINE = 16 / ROWS };
    const float *last = a + apart;
    cameo_vec sums[2 * ROWS] = {{0}};
    for (; k > 0; k--, a += ROWS, last += ROWS, x += ldx) {
        const cameo_vec b = *(const cameo_vec *)x;
        if (k % LINE == 0) {
            __builtin_prefetch((const char *)a + ahead, 0, 2);
            __builtin_prefetch((const char *)last + ahead, 0, 2);
        }
        for (int r = 0; r < ROWS; r++) {
            sums[r] += a[r] * b;
            sums[ROWS + r] += last[r] * b;
        }
    }
    for (int r = 0; r < 2 * ROWS; r++) {
        cameo_vec *to = (cameo_vec *)(c + r * ldc);
        if (more)
            sums[r] += *to;
        *to = sums[r];
    }
}
#endif

/* The products of one place for `height` rows, `a` their panels. */
static inline __attribute__((unused)) void cameo_winograd_multiply(const cameo_winograd_block *b,
                                                                   int64_t place, int64_t height,
                                                                   const float *a)
{
    enum { PAIR = 2 * CAMEO_TILE_ROWS };
    const cameo_winograd *f = b->form;
    const int64_t depth = f->g->channels, tiles = b->t1 - b->t0;
    const float *x = b->tiles + place * f->place;
    const unsigned char *const sums = f->kind->sums;
    float *c = b->sums + (sums ? sums[place] : place) * f->sum;
    const int more = sums && place > 0 && sums[place] == sums[place - 1];
    /* each tile asks for the windows of the next place that a tile will read there */
    const int64_t panels = (height + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS;
    const int64_t next = panels * CAMEO_TILE_ROWS * depth * (int64_t)sizeof *a;
    for (int64_t k = 0; k < depth; k += CAMEO_WINOGRAD_K) {
        const int64_t nk = depth - k < CAMEO_WINOGRAD_K ? depth - k : CAMEO_WINOGRAD_K;
        if (b->t0 >= f->few) {
            cameo_columns(nk, a + k * CAMEO_TILE_ROWS, depth * CAMEO_TILE_ROWS, x + k * f->width,
                          b->at, c, f->width, height, tiles, more || k > 0, NULL);
            continue;
        }
        for (int64_t t = 0, panel; t < tiles; t += panel) {
            const int64_t vectors = cameo_winograd_vectors(tiles, t);
            panel = vectors * CAMEO_LANES;
            int64_t i = 0;
#if defined __AVX512F__
            /* the last panel too where tiles have fewer rows: twice, then */
            const int64_t pairs =
                (int)CAMEO_ROWS < (int)CAMEO_TILE_ROWS ? height + PAIR - 1 : height;
            for (; vectors == 1 && i + PAIR <= pairs; i += PAIR)
                cameo_winograd_pair(nk, a + i * depth + k * CAMEO_TILE_ROWS,
                                    i + CAMEO_TILE_ROWS < height ? depth * CAMEO_TILE_ROWS : 0,
                                    x + k * f->width + t, f->width, t ? 0 : next,
                                    c + i * f->width + t, f->width, more || k > 0);
#endif
            for (; i < height; i += CAMEO_ROWS)
                cameo_tiles[CAMEO_ROWS - 1][vectors - 1](
                    nk,
                    a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * depth + k * CAMEO_TILE_ROWS +
                        i % CAMEO_TILE_ROWS,
                    x + k * f->width + t, b->at, t ? 0 : next, c + i * f->width + t, f->width,
                    panel, more || k > 0, NULL);
        }
    }
}

/* Rows m0 and up to CAMEO_WINOGRAD_ROWS - 1 more of y, w the packed windows: for as many rows one
 * place after the other, each in panels of CAMEO_TILE_ROWS rows. Returns where they end. */
static __attribute__((noinline, unused)) int64_t
cameo_winograd_rows(const cameo_winograd_block *b, int64_t m0, const float *w, float *y)
{
    const cameo_winograd *f = b->form;
    const cameo_conv *g = f->g;
    const int64_t left = g->rows - m0, places = cameo_winograd_places(f);
    const int64_t height = left < CAMEO_WINOGRAD_ROWS ? left : CAMEO_WINOGRAD_ROWS;
    const int64_t panels = (height + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS;
    w += m0 * places * g->channels;
    for (int64_t i = 0; i < places; i++, w += panels * CAMEO_TILE_ROWS * g->channels)
        cameo_winograd_multiply(b, i, height, w);
    for (int64_t i = 0; i < height; i++)
        f->kind->row(b, b->sums + i * f->width, m0 + i, y + (m0 + i) * g->row);
    cameo_bend(f->finish, y, m0 * g->row + b->n0, height, g->row, b->n1 - b->n0);
    return m0 + height;
}

#endif
