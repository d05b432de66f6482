// Convolutions of bytes by square tiles: when, and weights as the tiles read them.
//
// A tile multiplies 16 rows of up to 16 words with as many words of 16 columns. Where each place of
// the window has tiles of its own, x is read as it lies; a tile then holds an equal part of the
// channels. Where channels or rows of the output are few, columns are gathered, and k is cut
// without regard to places.

#include "codegen/cpu/byte_squares.h"

#include <string.h>

enum { SQUARE = 16, TILE = 1024, LEAST_ROWS = 8, BLOCK = 131072, WIDE = 256 }; // as in the runtime
enum { MANY_ROWS = 256 };

static int64_t up(int64_t n, int64_t step)
{
    return (n + step - 1) / step;
}

// Columns that follow one another in the copy of x as they do in the output; 0: not known.
static int64_t row_of(const Conv *c)
{
    int64_t row, n;
    uint32_t i = c->rank - 1;
    if (!poly_is_const(c->out[i], &row))
        return 0;
    for (; i > 0 && c->stride[i] == 1 && poly_equals(c->taps[i], 1) && c->stride[i - 1] == 1; i--) {
        if (!poly_is_const(c->out[i - 1], &n))
            return 0;
        row *= n;
    }
    return row;
}

// Do many rows of the output read the columns of one block? Columns are gathered then: a tile of
// theirs is 16 lines of a cache that follow one another, where those of the copy begin anywhere and
// are a plane apart.
static bool read_often(const Conv *c, const ByteWeights *w)
{
    int64_t places = 1, n;
    for (uint32_t i = 0; i < c->rank; i++) {
        if (!poly_is_const(c->out[i], &n))
            return false;
        places = n < WIDE ? places * n : WIDE + 1;
    }
    return places <= WIDE && w->rows >= MANY_ROWS;
}

ByteSquares byte_squares_choose(const Conv *c, const ByteWeights *w, const Processor *cpu)
{
    const int64_t words = up(w->channels, 4), row = row_of(c);
    ByteSquares s = {0};
    if (c->depthwise || w->rows < LEAST_ROWS || cpu->squares == 0)
        return s;
    const int64_t parts = up(words, SQUARE), whole = up(words * w->taps, SQUARE);
    s.gathered = row < 12 || up(row, SQUARE) * SQUARE * 20 > row * 27 ||
                 2 * parts * w->taps > 3 * whole || read_often(c, w);
    s.tiles = s.gathered ? whole : parts * w->taps;
    s.depth = s.gathered ? up(words * w->taps, whole) : up(words, parts);
    return s;
}

int64_t byte_squares_block(const ByteSquares *s, int64_t rows)
{
    return up(rows, SQUARE) * s->tiles * TILE;
}

int64_t byte_squares_planes(const ByteSquares *s, int64_t channels, int64_t taps)
{
    return s->gathered ? up(channels, 4) : (s->tiles / taps - 1) * s->depth + SQUARE;
}

int64_t byte_squares_width(const ByteSquares *s)
{
    const int64_t fit = BLOCK / (s->depth * s->tiles) / 32 * 32;
    return fit < 32 ? 32 : fit < WIDE ? fit : WIDE;
}

void byte_squares_pack(const Bytes *b, const ByteWeights *w, const void *from, int64_t g,
                       int8_t *to, int32_t *totals)
{
    const ByteSquares *s = &b->squares;
    const int64_t words = up(w->channels, 4), of_place = s->tiles / w->taps;
    for (int64_t i = 0; i < w->rows; i++) {
        int8_t *line = to + i / SQUARE * s->tiles * TILE + i % SQUARE * 4 * SQUARE;
        uint32_t sum = 0;
        for (int64_t c = 0; c < w->channels; c++)
            for (int64_t t = 0; t < w->taps; t++) {
                int64_t word = s->gathered ? t * words + c / 4 : c / 4;
                int64_t tile = word / s->depth + (s->gathered ? 0 : t * of_place);
                int8_t e = bytes_weight(
                    b, from, w->start + w->group_at[g] + i * w->row + w->k_at[c * w->taps + t]);
                line[tile * TILE + 4 * (word % s->depth) + c % 4] = e;
                sum += (uint32_t)(int32_t)e;
            }
        totals[i] = (int32_t)sum;
    }
}
