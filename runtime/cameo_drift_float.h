/* The figures of float32 values, a vector at a time from where they lie. */
#ifndef CAMEO_DRIFT_FLOAT_H
#define CAMEO_DRIFT_FLOAT_H

#include "cameo_drift_sums.h"

enum {
    DRIFT_STEP = 2 * DRIFT_LANES, /* elements that are added at once */
    DRIFT_RUN = 2048,             /* before what is special among them is looked for */
    DRIFT_NEAR = 512,             /* whose squares are added in float32; whole steps */
    DRIFT_FAR = 128,              /* looked at together for what is greatest; whole steps */
    DRIFT_CHUNKS = DRIFT_RUN / DRIFT_FAR,
    DRIFT_CLOSE = 32 /* looked at in float64, then; whole steps */
};

/* clang takes vectors of 512 bits apart unless it is told. */
#if defined(__clang__) && defined(__AVX512F__)
#define CAMEO_DRIFT_WHOLE static __attribute__((noinline, unused, min_vector_width(512)))
#else
#define CAMEO_DRIFT_WHOLE static __attribute__((noinline, unused))
#endif

/* A loop behind it has as many lanes as float32 has, though it reads float64 too. */
#if defined(__clang__) && defined(__AVX512F__)
#define CAMEO_DRIFT_NARROW_LOOP _Pragma("clang loop vectorize_width(16)")
#elif defined(__clang__) && defined(__AVX2__)
#define CAMEO_DRIFT_NARROW_LOOP _Pragma("clang loop vectorize_width(8)")
#else
#define CAMEO_DRIFT_NARROW_LOOP
#endif

/* What is computed of: one number's unit in the last place is a power of two of its size, and no
 * less than that of the least normal number. */
typedef struct cameo_drift_unit {
    double least, scale; /* least normal number; 2^bits of the fraction */
} cameo_drift_unit;

/* n elements of y, Y and what L is given as; n is a multiple of DRIFT_STEP. */
typedef struct cameo_drift_part {
    const float *y, *range; /* the latter for the least and the greatest */
    const double *exact;    /* Y or what stands for it; NULL: none in float64 */
    const void *third;      /* float64 or float32; NULL: none */
    float *apart;           /* Y - y; NULL: nobody asks for it */
    int64_t n;
} cameo_drift_part;

/* The last elements and zeros in front of them. */
typedef struct cameo_drift_tail {
    double exact[DRIFT_STEP], third[DRIFT_STEP];
    float y[DRIFT_STEP], range[DRIFT_STEP], apart[DRIFT_STEP];
} cameo_drift_tail;

CAMEO_FN double cameo_drift_larger(double a, double b)
{
    return a > b ? a : b;
}

/* 2^n of a normal number. */
CAMEO_FN double cameo_drift_power(int64_t n)
{
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return power;
}

/* total / (the power of two below |v|, or below what is normal) * 2^fraction */
CAMEO_FN double cameo_drift_ulps(double total, double v, const cameo_drift_unit *u)
{
    uint64_t bits;
    double size = cameo_drift_larger(fabs(v), u->least), inverse;
    memcpy(&bits, &size, 8);
    bits = (UINT64_C(2046) << 52) - (bits & UINT64_C(0x7ff0000000000000));
    memcpy(&inverse, &bits, 8);
    return total * inverse * u->scale;
}

/* Which of a step's elements are the last `left`: all bits set, else none. */
CAMEO_DRIFT_FN cameo_drift_ints cameo_drift_last(int64_t left)
{
    cameo_drift_ints place;
    for (int j = 0; j < DRIFT_STEP; j++)
        place[j] = j;
    return place >= (int32_t)(DRIFT_STEP - left) + (cameo_drift_ints){0};
}

/* A step of float32, with 0 for what is not `kept`. */
CAMEO_DRIFT_FN void cameo_drift_keep_floats(float *to, const float *from, cameo_drift_ints kept)
{
    const cameo_drift_ints v = (cameo_drift_ints)(*(const cameo_drift_floats *)from);
    *(cameo_drift_floats *)to = (cameo_drift_floats)(v & kept);
}

/* The same of float64. */
CAMEO_DRIFT_FN void cameo_drift_keep_doubles(double *to, const double *from, cameo_drift_ints kept)
{
    typedef int32_t cameo_drift_few __attribute__((vector_size(4 * DRIFT_LANES)));
    const cameo_drift_few low = __builtin_shufflevector(kept, kept, DRIFT_LOW);
    const cameo_drift_few high = __builtin_shufflevector(kept, kept, DRIFT_HIGH);
    const cameo_drift_bits a = (cameo_drift_bits)cameo_drift_load(from);
    const cameo_drift_bits b = (cameo_drift_bits)cameo_drift_load(from + DRIFT_LANES);
    *(cameo_drift_vec *)to = (cameo_drift_vec)(a & __builtin_convertvector(low, cameo_drift_bits));
    *(cameo_drift_vec *)(to + DRIFT_LANES) =
        (cameo_drift_vec)(b & __builtin_convertvector(high, cameo_drift_bits));
}

/* Fills the tail with the last step of `all`, in which what is before its last `left` elements is
 * 0: a vector that reaches back costs less than so many bytes as are known only here. */
CAMEO_DRIFT_WHOLE void cameo_drift_reach_back(cameo_drift_tail *tail, const cameo_drift_part *all,
                                              int64_t left, cameo_drift_third how)
{
    const cameo_drift_ints kept = cameo_drift_last(left);
    const int64_t at = all->n + left - DRIFT_STEP;
    cameo_drift_keep_floats(tail->y, all->y + at, kept);
    if (all->exact)
        cameo_drift_keep_doubles(tail->exact, all->exact + at, kept);
    if (all->third && how == DRIFT_LOCAL)
        cameo_drift_keep_doubles(tail->third, (const double *)all->third + at, kept);
    else if (all->third)
        cameo_drift_keep_floats((float *)tail->third, (const float *)all->third + at, kept);
    memcpy(tail->range, all->y + at, sizeof tail->range);
}

/* Fills the tail with the `left` elements of `all` that are fewer than a step, and zeros. */
CAMEO_FN void cameo_drift_copy_few(cameo_drift_tail *tail, const cameo_drift_part *all,
                                   int64_t left, cameo_drift_third how)
{
    const size_t size = how == DRIFT_LOCAL ? 8 : 4;
    const int64_t zeros = DRIFT_STEP - left;
    memset(tail->y, 0, sizeof tail->y);
    memcpy(tail->y + zeros, all->y, (size_t)left * sizeof *tail->y);
    if (all->exact) {
        memset(tail->exact, 0, sizeof tail->exact);
        memcpy(tail->exact + zeros, all->exact, (size_t)left * sizeof *tail->exact);
    }
    if (all->third) {
        memset(tail->third, 0, sizeof tail->third);
        memcpy((char *)tail->third + (size_t)zeros * size, all->third, (size_t)left * size);
    }
    /* read from y: reading what was just stored in parts would wait for it */
    for (int64_t i = 0; i < DRIFT_STEP; i++)
        tail->range[i] = all->y[0];
    memcpy(tail->range, all->y, (size_t)left * sizeof *tail->range);
}

/* parts[0] are whole steps, parts[1] what is left over of them: the last elements of `tail`. */
CAMEO_FN void cameo_drift_split(cameo_drift_part *parts, cameo_drift_tail *tail,
                                cameo_drift_third how)
{
    cameo_drift_part *all = &parts[0];
    const int64_t left = all->n % DRIFT_STEP;
    all->n -= left;
    parts[1] = (cameo_drift_part){tail->y,
                                  tail->range,
                                  all->exact ? tail->exact : NULL,
                                  all->third ? tail->third : NULL,
                                  all->apart ? tail->apart : NULL,
                                  left ? DRIFT_STEP : 0};
    if (left && all->n)
        cameo_drift_reach_back(tail, all, left, how);
    else if (left)
        cameo_drift_copy_few(tail, all, left, how);
}

/* What the tail's elements are apart goes where it belongs; n elements in all. */
CAMEO_DRIFT_WHOLE void cameo_drift_split_end(const cameo_drift_part *parts, int64_t n)
{
    const int64_t left = n - parts[0].n;
    const float *last = parts[1].apart;
    if (!last || !left)
        return;
    if (!parts[0].n) {
        memcpy(parts[0].apart, last + DRIFT_STEP - left, (size_t)left * sizeof *last);
        return;
    }
    cameo_drift_floats *at = (cameo_drift_floats *)(parts[0].apart + n - DRIFT_STEP);
    *at = cameo_drift_picked(cameo_drift_last(left), *(const cameo_drift_floats *)last, *at);
}

/* In float64, of any sign. */
typedef struct cameo_drift_apart {
    cameo_drift_vec total, shadow; /* Y - y, Y */
} cameo_drift_apart;

CAMEO_DRIFT_FN cameo_drift_apart cameo_drift_of(const cameo_drift_part *p, int64_t i,
                                                const cameo_drift_third how)
{
    const cameo_drift_vec y = cameo_drift_widened(p->y + i);
    cameo_drift_apart a = {{0}, y};
    if (how == DRIFT_MOVED) {
        a.total = cameo_drift_widened((const float *)p->third + i);
        a.shadow += a.total;
    } else if (how != DRIFT_SAME) {
        a.shadow = cameo_drift_load(p->exact + i);
        if (how == DRIFT_ADDED)
            a.shadow += cameo_drift_widened((const float *)p->third + i);
        a.total = a.shadow - y;
    }
    return a;
}

/* As many differences in float32 as fill a vector: Y - y, L - y, Y - L and Y, of any sign. */
typedef struct cameo_drift_step {
    cameo_drift_floats total, made, inherited, shadow;
} cameo_drift_step;

CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_floats_at(const float *at)
{
    return *(const cameo_drift_floats *)at;
}

/* a - b of float64, rounded behind */
CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_minus(const double *a, cameo_drift_wide b)
{
    return cameo_drift_narrowed(cameo_drift_load(a) - b.low,
                                cameo_drift_load(a + DRIFT_LANES) - b.high);
}

CAMEO_DRIFT_FN cameo_drift_step cameo_drift_step_at(const cameo_drift_part *p, int64_t i,
                                                    const cameo_drift_third how)
{
    const cameo_drift_floats y = cameo_drift_floats_at(p->y + i);
    const cameo_drift_wide wide = cameo_drift_both(y);
    cameo_drift_step a = {{0}, {0}, {0}, y};
    if (how == DRIFT_SAME)
        return a;
    if (how == DRIFT_MOVED) {
        a.total = cameo_drift_floats_at((const float *)p->third + i);
    } else if (how == DRIFT_ADDED) {
        a.made = cameo_drift_minus(p->exact + i, wide);
        a.inherited = cameo_drift_floats_at((const float *)p->third + i);
        a.total = a.made + a.inherited;
    } else {
        a.total = cameo_drift_minus(p->exact + i, wide);
    }
    if (how == DRIFT_LOCAL) {
        const double *local = (const double *)p->third + i;
        const cameo_drift_wide own = {cameo_drift_load(local),
                                      cameo_drift_load(local + DRIFT_LANES)};
        a.made = cameo_drift_minus(local, wide);
        a.inherited = cameo_drift_minus(p->exact + i, own);
    } else if (how == DRIFT_BROUGHT) {
        a.inherited = cameo_drift_floats_at((const float *)p->third + i);
        a.made = a.total - a.inherited;
    }
    a.shadow += a.total;
    return a;
}

/* What is added while a part is gone through: squares in float32 for so long as that holds their
 * sums. */
typedef struct cameo_drift_taken {
    cameo_drift_floats total2, made2, inherited2, shadow2;
    cameo_drift_floats over; /* more than 0 where a |total| may be more than limit * |Y| */
    cameo_drift_peaks most;
    cameo_drift_squares sums;
} cameo_drift_taken;

CAMEO_DRIFT_FN void cameo_drift_take_over(cameo_drift_taken *s, cameo_drift_floats more)
{
    s->over = cameo_drift_picked((cameo_drift_ints)(more > s->over), more, s->over);
}

/* All but `over` and the greatest |total|, which pairs of steps have in common. */
CAMEO_DRIFT_FN cameo_drift_step cameo_drift_take_step(cameo_drift_taken *s,
                                                      const cameo_drift_part *p, int64_t i,
                                                      const cameo_drift_third how, const int apart)
{
    const int all = how == DRIFT_ADDED || how == DRIFT_LOCAL || how == DRIFT_BROUGHT;
    const cameo_drift_floats y = cameo_drift_floats_at(p->range + i);
    const cameo_drift_step a = cameo_drift_step_at(p, i, how);
    cameo_drift_peaks *m = &s->most;
    m->low = cameo_drift_picked((cameo_drift_ints)(y < m->low), y, m->low);
    m->high = cameo_drift_picked((cameo_drift_ints)(y > m->high), y, m->high);
    if (all) {
        s->made2 = cameo_drift_joined_floats(a.made, a.made, s->made2);
        s->inherited2 = cameo_drift_joined_floats(a.inherited, a.inherited, s->inherited2);
        m->made = cameo_drift_wider(a.made, m->made);
        m->inherited = cameo_drift_wider(a.inherited, m->inherited);
    }
    if (apart)
        *(cameo_drift_floats *)(p->apart + i) = a.total;
    return a;
}

/* Two steps. Their elements are held to the limit two by two, the greater |total| to the lesser
 * |Y|: fewer operations where one finds the greater magnitude, and true of more than it is of one
 * by one, which costs where small Y lie beside great ones. */
CAMEO_DRIFT_FN void cameo_drift_take_two(cameo_drift_taken *s, const cameo_drift_part *p, int64_t i,
                                         cameo_drift_floats less, const cameo_drift_third how,
                                         const int apart)
{
    const cameo_drift_step a = cameo_drift_take_step(s, p, i, how, apart);
    const cameo_drift_step b = cameo_drift_take_step(s, p, i + DRIFT_STEP, how, apart);
    const cameo_drift_floats total = cameo_drift_wider(a.total, b.total);
    const cameo_drift_floats least = cameo_drift_slighter(a.shadow, b.shadow);
    const cameo_drift_floats size = cameo_drift_wider(a.shadow, b.shadow);
    s->shadow2 = cameo_drift_joined_floats(a.shadow, a.shadow, s->shadow2);
    s->shadow2 = cameo_drift_joined_floats(b.shadow, b.shadow, s->shadow2);
    s->total2 = cameo_drift_joined_floats(a.total, a.total, s->total2);
    s->total2 = cameo_drift_joined_floats(b.total, b.total, s->total2);
    s->most.shadow = cameo_drift_wider(size, s->most.shadow);
    s->most.total = cameo_drift_wider(total, s->most.total);
    cameo_drift_take_over(s, cameo_drift_joined_floats(less, least, total));
}

CAMEO_DRIFT_FN void cameo_drift_take_one(cameo_drift_taken *s, const cameo_drift_part *p, int64_t i,
                                         cameo_drift_floats less, const cameo_drift_third how,
                                         const int apart)
{
    const cameo_drift_step a = cameo_drift_take_step(s, p, i, how, apart);
    s->shadow2 = cameo_drift_joined_floats(a.shadow, a.shadow, s->shadow2);
    s->most.shadow = cameo_drift_wider(a.shadow, s->most.shadow);
    if (how == DRIFT_SAME)
        return;
    s->total2 = cameo_drift_joined_floats(a.total, a.total, s->total2);
    s->most.total = cameo_drift_wider(a.total, s->most.total);
    cameo_drift_take_over(s, cameo_drift_joined_floats(less, cameo_drift_sizes(a.shadow),
                                                       cameo_drift_sizes(a.total)));
}

#if defined(__AVX512DQ__)
enum { DRIFT_RANGES = 1 };
#else
enum { DRIFT_RANGES = 0 };
#endif

/* Some steps of a part, whose sums of squares float32 holds so far. Returns a bit for each
 * DRIFT_FAR elements of the part: 1: some |total| among them may be more than limit * |Y|. */
CAMEO_DRIFT_FN uint32_t cameo_drift_take(cameo_drift_taken *to, const cameo_drift_part *p,
                                         int64_t first, int64_t end, cameo_drift_floats less,
                                         const cameo_drift_third how, const int apart)
{
    const int pairs = DRIFT_RANGES && how != DRIFT_EXACT && how != DRIFT_MOVED && how != DRIFT_SAME;
    const cameo_drift_floats none = {0};
    cameo_drift_taken s = *to;
    uint32_t over = 0;
    for (int64_t i = first; i < end;) {
        const int64_t stop = end - i < DRIFT_FAR ? end : i + DRIFT_FAR;
        const uint32_t bit = UINT32_C(1) << (i / DRIFT_FAR);
        s.over = none;
        for (; pairs && i + 2 * DRIFT_STEP <= stop; i += 2 * DRIFT_STEP)
            cameo_drift_take_two(&s, p, i, less, how, apart);
        for (; i < stop; i += DRIFT_STEP)
            cameo_drift_take_one(&s, p, i, less, how, apart);
        over |= cameo_drift_any((cameo_drift_bits)(s.over > 0)) ? bit : 0;
    }
    *to = s;
    return over;
}

CAMEO_DRIFT_FN void cameo_drift_take_squares(cameo_drift_taken *s)
{
    const cameo_drift_floats none = {0};
    s->sums.total += cameo_drift_halves(s->total2);
    s->sums.made += cameo_drift_halves(s->made2);
    s->sums.inherited += cameo_drift_halves(s->inherited2);
    s->sums.shadow += cameo_drift_halves(s->shadow2);
    s->total2 = s->made2 = s->inherited2 = s->shadow2 = none;
}

CAMEO_DRIFT_FN uint32_t cameo_drift_parts_sums(cameo_drift_near_sums *to,
                                               const cameo_drift_part *parts, double limit,
                                               const cameo_drift_third how, const int apart)
{
    uint32_t over = 0;
    const float most = limit < 0x1p60 ? (float)(limit * (1 - 0x1p-16)) : 0x1p60f;
    const cameo_drift_floats none = {0}, less = none - most;
    cameo_drift_taken s = {.most = {.low = none + INFINITY, .high = none - INFINITY}};
    for (int k = 0; k < 2; k++) {
        const cameo_drift_part p = parts[k]; /* what is stored may be any of it */
        for (int64_t i = 0, end; i < p.n; i = end) {
            if (i)
                cameo_drift_take_squares(&s);
            end = p.n - i < DRIFT_NEAR ? p.n : i + DRIFT_NEAR;
            over |= cameo_drift_take(&s, &p, i, end, less, how, apart) << k * DRIFT_CHUNKS;
        }
    }
    cameo_drift_take_squares(&s);
    *to = cameo_drift_reduced(&s.sums, &s.most);
    return over;
}

/* What float32 says of both parts. Returns where some |total| may be more than limit * |Y|: a bit
 * for each DRIFT_FAR elements of the first part, and one for the other behind DRIFT_CHUNKS. */
CAMEO_DRIFT_WHOLE uint32_t cameo_drift_parts_take(cameo_drift_near_sums *s,
                                                  const cameo_drift_part *parts, double limit,
                                                  cameo_drift_third how)
{
    const int apart = parts[0].apart != NULL;
    switch (how) {
    case DRIFT_EXACT:
        return apart ? cameo_drift_parts_sums(s, parts, limit, DRIFT_EXACT, 1)
                     : cameo_drift_parts_sums(s, parts, limit, DRIFT_EXACT, 0);
    case DRIFT_LOCAL:
        return apart ? cameo_drift_parts_sums(s, parts, limit, DRIFT_LOCAL, 1)
                     : cameo_drift_parts_sums(s, parts, limit, DRIFT_LOCAL, 0);
    case DRIFT_ADDED:
        return apart ? cameo_drift_parts_sums(s, parts, limit, DRIFT_ADDED, 1)
                     : cameo_drift_parts_sums(s, parts, limit, DRIFT_ADDED, 0);
    case DRIFT_MADE:
        return apart ? cameo_drift_parts_sums(s, parts, limit, DRIFT_MADE, 1)
                     : cameo_drift_parts_sums(s, parts, limit, DRIFT_MADE, 0);
    case DRIFT_BROUGHT:
        return cameo_drift_parts_sums(s, parts, limit, DRIFT_BROUGHT, apart);
    case DRIFT_MOVED:
        return cameo_drift_parts_sums(s, parts, limit, DRIFT_MOVED, 0);
    default:
        return cameo_drift_parts_sums(s, parts, limit, DRIFT_SAME, 0);
    }
}

/* As a factor of float32 that is a little less: what is compared with is rounded too. */
CAMEO_DRIFT_FN float cameo_drift_factor(double bound)
{
    return bound < 0x1p60 ? (float)(bound * (1 - 0x1p-16)) : 0x1p60f;
}

/* Total and Y alone of a step, by what was stored where something was. */
CAMEO_DRIFT_FN cameo_drift_step cameo_drift_stored_at(const cameo_drift_part *p, int64_t i,
                                                      cameo_drift_third how, const float *stored)
{
    if (!stored)
        return cameo_drift_step_at(p, i, how);
    const cameo_drift_floats total = cameo_drift_floats_at(stored + i), none = {0};
    return (cameo_drift_step){total, none, none, cameo_drift_floats_at(p->y + i) + total};
}

CAMEO_DRIFT_FN const float *cameo_drift_stored(const cameo_drift_part *p, cameo_drift_third how)
{
    return how == DRIFT_MOVED ? (const float *)p->third : p->apart;
}

CAMEO_DRIFT_FN int cameo_drift_may_exceed_of(const cameo_drift_part *p, int64_t first, int64_t end,
                                             cameo_drift_third how, const float *stored,
                                             float units, float part)
{
    cameo_drift_ints more = {0};
    for (int64_t i = first; i < end; i += DRIFT_STEP) {
        const cameo_drift_step a = cameo_drift_stored_at(p, i, how, stored);
        const cameo_drift_ints y = (cameo_drift_ints)(a.shadow * (1 - 0x1p-20f)) & INT32_MAX;
        const cameo_drift_floats power = (cameo_drift_floats)(y & INT32_C(0x7f800000));
        const cameo_drift_floats size = (cameo_drift_floats)((cameo_drift_ints)a.total & INT32_MAX);
        more |= (size > units * power) | (size > part * (cameo_drift_floats)y);
    }
    return cameo_drift_any((cameo_drift_bits)more);
}

/* Elements from `first` to `end`: may the |total| of one be more than `units` of the power of two
 * below |Y|, or more than `part` of |Y|? */
CAMEO_DRIFT_FN int cameo_drift_may_exceed(const cameo_drift_part *p, int64_t first, int64_t end,
                                          cameo_drift_third how, float units, float part)
{
    const float *stored = cameo_drift_stored(p, how);
    return stored ? cameo_drift_may_exceed_of(p, first, end, how, stored, units, part)
                  : cameo_drift_may_exceed_of(p, first, end, how, NULL, units, part);
}

/* The greatest relative error and units in the last place of elements from `first` to `end`. */
CAMEO_DRIFT_FN void cameo_drift_look_close(const cameo_drift_part *p, int64_t first, int64_t end,
                                           cameo_drift_third how, const cameo_drift_unit *u,
                                           double *relative, double *ulp)
{
    cameo_drift_vec parts = *relative + (cameo_drift_vec){0}, units = {0}, least = {0};
    const cameo_drift_bits exponent = INT64_C(0x7ff0000000000000) + (cameo_drift_bits){0};
    least += u->least;
    for (int64_t i = first; i < end; i += DRIFT_LANES) {
        const cameo_drift_apart a = cameo_drift_of(p, i, how);
        const cameo_drift_vec size = cameo_drift_size(a.total), y = cameo_drift_size(a.shadow);
        const cameo_drift_bits bits = (cameo_drift_bits)cameo_drift_larger_of(y, least) & exponent;
        const cameo_drift_vec inverse = (cameo_drift_vec)((INT64_C(2046) << 52) - bits);
        units = cameo_drift_larger_of(size * inverse, units);
        if (!cameo_drift_any((cameo_drift_bits)(size > parts * y)))
            continue;
        const cameo_drift_vec part = cameo_drift_chosen((cameo_drift_bits)(y > 0), size / y, parts);
        parts = cameo_drift_larger_of(part, parts);
    }
    *ulp = cameo_drift_larger(cameo_drift_greatest(&units) * u->scale, *ulp);
    *relative = cameo_drift_larger(cameo_drift_greatest(&parts), *relative);
}

/* The same of a part where `over` has a bit for DRIFT_FAR elements. What float32 says is no more
 * than the greatest so far is passed over. */
CAMEO_DRIFT_WHOLE void cameo_drift_part_look(const cameo_drift_part *p, uint32_t over,
                                             cameo_drift_third how, const cameo_drift_unit *u,
                                             double *relative, double *ulp)
{
    float most = cameo_drift_factor(*ulp / u->scale), more = cameo_drift_factor(*relative);
    for (int64_t first = 0, end; first < p->n; first = end, over >>= 1) {
        end = p->n - first < DRIFT_FAR ? p->n : first + DRIFT_FAR;
        if (!(over & 1) || !cameo_drift_may_exceed(p, first, end, how, most, more))
            continue;
        for (int64_t i = first, stop; i < end; i = stop) {
            stop = end - i < DRIFT_CLOSE ? end : i + DRIFT_CLOSE;
            if (!cameo_drift_may_exceed(p, i, stop, how, most, more))
                continue;
            cameo_drift_look_close(p, i, stop, how, u, relative, ulp);
            most = cameo_drift_factor(*ulp / u->scale);
            more = cameo_drift_factor(*relative);
        }
    }
}

CAMEO_DRIFT_FN int64_t cameo_drift_part_find_of(const cameo_drift_part *p, cameo_drift_third how,
                                                const float *stored, float most)
{
    for (int64_t i = 0; i < p->n; i += DRIFT_STEP) {
        const cameo_drift_floats v = cameo_drift_stored_at(p, i, how, stored).total;
        if (!cameo_drift_any(
                (cameo_drift_bits)(cameo_drift_sizes(v) == most + (cameo_drift_floats){0})))
            continue;
        for (int j = 0; j < DRIFT_STEP; j++)
            if (fabsf(v[j]) == most)
                return i + j;
    }
    return -1;
}

/* The first element with |total| = most; -1: there is none. */
CAMEO_DRIFT_WHOLE int64_t cameo_drift_part_find(const cameo_drift_part *p, cameo_drift_third how,
                                                float most)
{
    const float *stored = cameo_drift_stored(p, how);
    return stored ? cameo_drift_part_find_of(p, how, stored, most)
                  : cameo_drift_part_find_of(p, how, NULL, most);
}

#endif
