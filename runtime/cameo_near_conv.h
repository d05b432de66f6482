/* Convolutions of bytes by tiles that add several products in 16 bits (cameo_near_add), which none
 * of them may leave. What could is known from the weights and from the greatest bytes of
 * x in each word of channels (tops), of which the least (lows) were subtracted before: weights that
 * would be too many are left out of the tiles' panel, and multiplied one after the other. They are
 * so few that this costs less than tiles which widen every byte; where they are more, these do it.
 * Every way gives the same integers. */
#ifndef CAMEO_NEAR_CONV_H
#define CAMEO_NEAR_CONV_H

#ifdef CAMEO_NEAR

enum {
    CAMEO_NEAR_BLOCK = 192, /* words of k that a tile takes at once */
    CAMEO_NEAR_MOST = 4     /* words whose products are added in 16 bits: so many, or 2 */
};

#ifdef __AVX2__
typedef __m256i cameo_near_bytes;
#define CAMEO_NEAR_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define CAMEO_NEAR_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define CAMEO_NEAR_ALL(w) _mm256_set1_epi32(w)
#define CAMEO_NEAR_SHORT(w) _mm256_set1_epi16(w)
#define CAMEO_NEAR_OP(op) _mm256_##op
#define CAMEO_NEAR_OR(a, b) _mm256_or_si256(a, b)
#else
typedef __m128i cameo_near_bytes;
#define CAMEO_NEAR_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define CAMEO_NEAR_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define CAMEO_NEAR_ALL(w) _mm_set1_epi32(w)
#define CAMEO_NEAR_SHORT(w) _mm_set1_epi16(w)
#define CAMEO_NEAR_OP(op) _mm_##op
#define CAMEO_NEAR_OR(a, b) _mm_or_si128(a, b)
#endif

#define CAMEO_NEAR_FLAGS(v) ((uint32_t)CAMEO_NEAR_OP(movemask_epi8)(v) & 0x55555555u)

/* The least of each of the four bytes of n words goes to *low and is subtracted from them; *top:
 * the greatest of what is left. */
static inline __attribute__((unused)) void cameo_near_lower(cameo_word *x, int64_t n,
                                                            cameo_word *low, cameo_word *top)
{
    enum { VECTOR = 4 * CAMEO_LANES };
    unsigned char least[4] = {255, 255, 255, 255}, most[4] = {0};
    unsigned char *bytes = (unsigned char *)x, under[VECTOR], over[VECTOR];
    cameo_near_bytes small = CAMEO_NEAR_ALL(-1), great = CAMEO_NEAR_ALL(0);
    const int64_t whole = n / CAMEO_LANES * VECTOR;
    for (int64_t i = 0; i < whole; i += VECTOR) {
        small = CAMEO_NEAR_OP(min_epu8)(small, CAMEO_NEAR_LOAD(bytes + i));
        great = CAMEO_NEAR_OP(max_epu8)(great, CAMEO_NEAR_LOAD(bytes + i));
    }
    CAMEO_NEAR_STORE(under, small);
    CAMEO_NEAR_STORE(over, great);
    for (int t = 0; t < VECTOR; t++) {
        least[t % 4] = under[t] < least[t % 4] ? under[t] : least[t % 4];
        most[t % 4] = over[t] > most[t % 4] ? over[t] : most[t % 4];
    }
    for (int64_t i = whole; i < 4 * n; i++) {
        least[i % 4] = bytes[i] < least[i % 4] ? bytes[i] : least[i % 4];
        most[i % 4] = bytes[i] > most[i % 4] ? bytes[i] : most[i % 4];
    }
    for (int t = 0; t < 4; t++)
        most[t] = (unsigned char)(n > 0 ? most[t] - least[t] : 0);
    memcpy(top, most, sizeof *top);
    memcpy(low, least, sizeof *low);
    if (*low == 0)
        return;
    small = CAMEO_NEAR_ALL(*low);
    for (int64_t i = 0; i < whole; i += VECTOR)
        CAMEO_NEAR_STORE(bytes + i, CAMEO_NEAR_OP(sub_epi8)(CAMEO_NEAR_LOAD(bytes + i), small));
    for (int64_t i = whole; i < 4 * n; i++)
        bytes[i] = (unsigned char)(bytes[i] - least[i % 4]);
}

/* A word of weights that is left out of a row: those of its bytes that are not 0, one in each half
 * at most. */
typedef struct cameo_near_left {
    int64_t k;
    cameo_word weights, none;
} cameo_near_left;

/* A panel of CAMEO_TILE_ROWS rows of weights without what is left out: of a row at most `most`
 * words, those of row r from left[r * most] on. base: what was subtracted from x, times them. */
typedef struct cameo_near_weights {
    int64_t words, most;
    int together, based; /* words that are added in 16 bits; base is not all 0 */
    cameo_word *panel;
    int64_t ahead; /* bytes from it to the weights that come next */
    cameo_near_left *left;
    int64_t count[CAMEO_TILE_ROWS];
    int32_t base[CAMEO_TILE_ROWS];
} cameo_near_weights;

/* Numbers of 32 bits that cameo_near_split takes of so many words of k. */
static inline __attribute__((unused)) int64_t cameo_near_room(int64_t all)
{
    return (all + CAMEO_NEAR_MOST) * CAMEO_TILE_ROWS + all * CAMEO_TILE_ROWS * 4;
}

/* A sum of products of one sign is beyond 16 bits: leaves out the greatest until it is not. The
 * row's weights are those of `half` in w->together words from k on, x the greatest bytes they meet.
 * Returns 0 where there is no room. */
static inline __attribute__((unused)) int cameo_near_leave(cameo_near_weights *w, int64_t row,
                                                           int64_t k, int half,
                                                           const unsigned char *x, int sign)
{
    enum { NEXT = 4 * CAMEO_TILE_ROWS };
    signed char *from = (signed char *)(w->panel + k * CAMEO_TILE_ROWS + row) + 2 * half;
    for (;;) {
        int sum = 0, most = 0, at = 0;
        for (int t = 0; t < 2 * w->together; t++) {
            const int e = sign * x[t / 2 * 4 + 2 * half + t % 2] * from[t / 2 * NEXT + t % 2];
            sum += e > 0 ? e : 0;
            at = e > most ? t : at;
            most = e > most ? e : most;
        }
        if (sum <= INT16_MAX)
            return 1;
        signed char *out = from + at / 2 * NEXT + at % 2;
        cameo_near_left *left = w->left + row * w->most + w->count[row];
        if (w->count[row] == 0 || left[-1].k != k + at / 2 ||
            left[-1].weights & (cameo_word)(0xffffu << 16 * half)) {
            if (w->count[row] == w->most)
                return 0;
            *left = (cameo_near_left){k + at / 2, 0, 0};
            w->count[row]++;
        } else {
            left--;
        }
        ((signed char *)&left->weights)[2 * half + at % 2] = *out;
        *out = 0;
    }
}

/* The lanes of a vector of rows of which `flags` says that they may be too great: a bit of each 16
 * bits. */
static __attribute__((noinline, unused)) int cameo_near_leave_lanes(cameo_near_weights *w,
                                                                    int64_t row, int64_t k,
                                                                    const cameo_word *tops,
                                                                    int sign, uint32_t flags)
{
    const unsigned char *x = (const unsigned char *)tops;
    for (; flags; flags &= flags - 1) {
        const int lane = __builtin_ctz(flags) / 2;
        if (!cameo_near_leave(w, row + lane / 2, k, lane % 2, x, sign))
            return 0;
    }
    return 1;
}

/* Copies the panel `from` of `all` words of k, `taps` of which belong to each of `tops`, but for
 * what has to be left out of the sums of `together` words. Returns 0 where there is no room. */
static inline __attribute__((always_inline, unused)) int
cameo_near_copy(int64_t all, int64_t taps, const cameo_word *from, const cameo_word *tops,
                const int together, cameo_near_weights *w)
{
    enum { ROWS = CAMEO_TILE_ROWS };
    const cameo_near_bytes none = CAMEO_NEAR_ALL(0);
    const cameo_near_bytes least = CAMEO_NEAR_SHORT(INT16_MIN), most = CAMEO_NEAR_SHORT(INT16_MAX);
    int64_t tap = 0;
    w->together = together;
    w->words = (all + together - 1) / together * together;
    memset(w->count, 0, sizeof w->count);
    for (int64_t k = 0; k < all; k += together) {
        cameo_word x[CAMEO_NEAR_MOST] = {0};
        for (int i = 0; i < together && k + i < all; i++) {
            x[i] = *tops;
            tap++;
            tops += tap == taps;
            tap = tap == taps ? 0 : tap;
        }
        for (int64_t r = 0; r < ROWS; r += CAMEO_LANES) {
            cameo_near_bytes above = none, below = none;
            for (int i = 0; i < together; i++) {
                const int64_t at = (k + i) * ROWS + r;
                const cameo_near_bytes a = k + i < all ? CAMEO_NEAR_LOAD(from + at) : none;
                const cameo_near_bytes u = CAMEO_NEAR_ALL(x[i]);
                CAMEO_NEAR_STORE(w->panel + at, a);
                above = CAMEO_NEAR_OP(adds_epi16)(
                    above, CAMEO_NEAR_OP(maddubs_epi16)(u, CAMEO_NEAR_OP(max_epi8)(a, none)));
                below = CAMEO_NEAR_OP(adds_epi16)(
                    below, CAMEO_NEAR_OP(maddubs_epi16)(u, CAMEO_NEAR_OP(min_epi8)(a, none)));
            }
            above = CAMEO_NEAR_OP(cmpeq_epi16)(above, most);
            below = CAMEO_NEAR_OP(cmpeq_epi16)(below, least);
            if (!CAMEO_NEAR_OP(movemask_epi8)(CAMEO_NEAR_OR(above, below)))
                continue;
            if (!cameo_near_leave_lanes(w, r, k, x, 1, CAMEO_NEAR_FLAGS(above)) ||
                !cameo_near_leave_lanes(w, r, k, x, -1, CAMEO_NEAR_FLAGS(below)))
                return 0;
        }
    }
    return 1;
}

/* base: `lows`, as `tops`, times the panel. */
static inline __attribute__((unused)) void cameo_near_bases(int64_t all, int64_t taps,
                                                            const cameo_word *from,
                                                            const cameo_word *lows,
                                                            cameo_near_weights *w)
{
    const cameo_sums zero = {0};
    memset(w->base, 0, sizeof w->base);
    w->based = 0;
    for (int64_t k = 0; k < all; k += taps, lows++, from += taps * CAMEO_TILE_ROWS)
        for (int64_t i = 0; *lows && i < taps * CAMEO_TILE_ROWS; i += CAMEO_LANES) {
            cameo_sums *to = (cameo_sums *)(w->base + i % CAMEO_TILE_ROWS);
            *to = cameo_dot(*to, zero + *lows, *(const cameo_sums *)(from + i));
            w->based = 1;
        }
}

/* Divides a panel for so many columns; room: as cameo_near_room has it. As many words as leave
 * little out are added in 16 bits. Returns 0 where too much would be left out of any, and then only
 * sets base. What is left out costs a hundred cycles, and two for each vector of columns; four
 * words together save half a cycle for each vector and two, and two three of what widens them. */
static __attribute__((noinline, unused)) int
cameo_near_split(int64_t all, int64_t taps, const cameo_word *from, const cameo_word *tops,
                 const cameo_word *lows, int64_t columns, cameo_word *room, cameo_near_weights *w)
{
    const int64_t vectors = (columns + CAMEO_LANES - 1) / CAMEO_LANES, cost = 100 + 2 * vectors;
    const int64_t most = all * 3 * vectors / (2 * cost);
    w->panel = room;
    w->ahead = (int64_t)((uintptr_t)(from + all * CAMEO_TILE_ROWS) - (uintptr_t)room);
    w->left = (cameo_near_left *)(void *)(room + (all + CAMEO_NEAR_MOST) * CAMEO_TILE_ROWS);
    cameo_near_bases(all, taps, from, lows, w);
    w->most = all * vectors / (8 * cost);
    if (cameo_near_copy(all, taps, from, tops, CAMEO_NEAR_MOST, w))
        return 1;
    w->most = most < all ? most : all;
    return cameo_near_copy(all, taps, from, tops, 2, w);
}

/* Sums of a row in n vectors of columns: base, and what weights that are left out give. */
static inline __attribute__((always_inline, unused)) void
cameo_near_begin_row(int32_t base, const cameo_near_left *left, int64_t count, const cameo_word *b,
                     const int64_t *at, const int n, int32_t *sums)
{
    const cameo_near_bytes ones = CAMEO_NEAR_SHORT(1);
    cameo_near_bytes c[3] = {CAMEO_NEAR_ALL(base), CAMEO_NEAR_ALL(base), CAMEO_NEAR_ALL(base)};
    for (int64_t i = 0; i < count; i++) {
        const cameo_near_bytes s = CAMEO_NEAR_ALL(left[i].weights);
        const cameo_word *x = b + at[left[i].k];
        for (int v = 0; v < n; v++) {
            const cameo_near_bytes u = CAMEO_NEAR_LOAD(x + v * CAMEO_LANES);
            c[v] = CAMEO_NEAR_OP(add_epi32)(
                c[v], CAMEO_NEAR_OP(madd_epi16)(CAMEO_NEAR_OP(maddubs_epi16)(u, s), ones));
        }
    }
    for (int v = 0; v < n; v++)
        CAMEO_NEAR_STORE(sums + v * CAMEO_LANES, c[v]);
}

/* What sums of `rows` rows begin with for a panel's columns, whole vectors, rows `lds` apart. at:
 * where the words of k are. Returns 0 where they begin with 0, and then writes nothing. */
static __attribute__((noinline, unused)) int
cameo_near_begin(const cameo_near_weights *w, int64_t rows, const cameo_word *b, const int64_t *at,
                 int64_t width, int32_t *sums, int64_t lds)
{
    int64_t any = w->based;
    for (int64_t r = 0; r < rows; r++)
        any += w->count[r];
    for (int64_t r = 0; any && r < rows; r++, sums += lds) {
        const cameo_near_left *left = w->left + r * w->most;
        const int64_t count = w->count[r];
        int64_t j = 0;
        for (; width - j > 2 * CAMEO_LANES; j += 3 * CAMEO_LANES)
            cameo_near_begin_row(w->base[r], left, count, b + j, at, 3, sums + j);
        if (width - j > CAMEO_LANES)
            cameo_near_begin_row(w->base[r], left, count, b + j, at, 2, sums + j);
        else if (width > j)
            cameo_near_begin_row(w->base[r], left, count, b + j, at, 1, sums + j);
    }
    return any != 0;
}

enum {
    CAMEO_NEAR_FEW = 4, /* columns that are summed with lanes for rows */
    CAMEO_NEAR_TURNS = (int)CAMEO_LANES == (int)CAMEO_TILE_ROWS
};

/* A few columns of all rows of a panel, all values of k: lanes are rows, and the columns' words are
 * in all lanes. more: sums are added to. */
static inline __attribute__((always_inline, unused)) void
cameo_near_columns_of(const cameo_near_weights *w, const int together, const int width,
                      const cameo_word *b, const int64_t *at, int64_t rows, int32_t *sums,
                      int64_t lds, int more)
{
    cameo_sums c[CAMEO_NEAR_FEW] = {{0}};
    const cameo_sums *a = (const cameo_sums *)w->panel;
    for (int64_t k = 0; k < w->words; k += together, a += together, at += together)
        for (int j = 0; j < width; j++) {
            cameo_sums s = cameo_near_first(cameo_near_word(b[at[0] + j]), a[0]);
            for (int i = 1; i < together; i++)
                s = cameo_near_add(s, cameo_near_word(b[at[i] + j]), a[i]);
            c[j] = cameo_near_join(c[j], s);
        }
    for (int j = 0; j < width; j++)
        for (int64_t m = 0; m < rows; m++)
            sums[m * lds + j] = (more ? sums[m * lds + j] : 0) + c[j][m % CAMEO_LANES];
}

static __attribute__((noinline, unused)) void
cameo_near_columns(const cameo_near_weights *w, int64_t width, const cameo_word *b,
                   const int64_t *at, int64_t rows, int32_t *sums, int64_t lds, int more)
{
    int64_t j = 0;
    for (; width - j >= 2; j += 2)
        if (w->together == 2)
            cameo_near_columns_of(w, 2, 2, b + j, at, rows, sums + j, lds, more);
        else
            cameo_near_columns_of(w, CAMEO_NEAR_MOST, 2, b + j, at, rows, sums + j, lds, more);
    if (j < width && w->together == 2)
        cameo_near_columns_of(w, 2, 1, b + j, at, rows, sums + j, lds, more);
    else if (j < width)
        cameo_near_columns_of(w, CAMEO_NEAR_MOST, 1, b + j, at, rows, sums + j, lds, more);
}

/* `rows` rows of the panel w times a panel of columns: `depth` words from k on. ahead: bytes to
 * weights that are asked for meanwhile, or 0. */
static inline __attribute__((unused)) void
cameo_near_part(const cameo_near_weights *w, const cameo_conv_panel *p, int64_t k, int64_t depth,
                 int64_t ahead, int64_t rows, int32_t *sums, int64_t lds, int more)
{
    enum { PART = CAMEO_LANES * CAMEO_WINDOW_VECTORS, ROWS = CAMEO_WINDOW_ROWS, LINE = 64 };
    const cameo_word *b = (const cameo_word *)(const void *)p->b;
    const cameo_word *a = w->panel + k * CAMEO_TILE_ROWS;
    const int64_t turns = depth / w->together;
    for (int64_t j = 0; j < p->width; j += PART, ahead = 0) {
        const int64_t width = p->width - j < PART ? p->width - j : PART;
        const int64_t v = (width + CAMEO_LANES - 1) / CAMEO_LANES - 1;
        for (int64_t m = 0; m < rows; m += ROWS) {
            const int64_t height = rows - m < ROWS ? rows - m : ROWS;
            const int64_t next = ahead ? ahead + m / ROWS % 2 * LINE : 0;
            if (w->together == 2)
                cameo_near_pair_tiles[height - 1][v](turns, a + m, b + j, p->at + k, next,
                                                     sums + m * lds + j, lds, width, more);
            else
                cameo_near_window_tiles[height - 1][v](turns, a + m, b + j, p->at + k, next,
                                                       sums + m * lds + j, lds, width, more);
        }
    }
}

/* `rows` rows of the panel w times panels of columns, the first of which is n0: sums, rows `lds`
 * apart. */
static inline __attribute__((unused)) void cameo_near_tiles_of(const cameo_near_weights *w,
                                                               const cameo_conv_panel *panels,
                                                               int count, int64_t n0, int64_t rows,
                                                               int32_t *sums, int64_t lds)
{
    enum { DEEP = CAMEO_NEAR_BLOCK };
    for (int64_t k = 0; k < w->words; k += DEEP) {
        const int64_t depth = w->words - k < DEEP ? w->words - k : DEEP;
        for (int i = 0; i < count; i++) {
            const cameo_conv_panel *p = &panels[i];
            const cameo_word *b = (const cameo_word *)(const void *)p->b;
            const int few = CAMEO_NEAR_TURNS && p->width <= CAMEO_NEAR_FEW;
            int32_t *to = sums + p->n - n0;
            if (k > 0 && few)
                continue;
            const int more = k > 0 || cameo_near_begin(w, rows, b, p->at, p->width, to, lds);
            if (few)
                cameo_near_columns(w, p->width, b, p->at, rows, to, lds, more);
            else
                cameo_near_part(w, p, k, depth, i == 0 ? w->ahead : 0, rows, to, lds, more);
        }
    }
}

#endif

#endif
