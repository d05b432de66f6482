// One build of the functions, named BUILD; flags are those of emitted programs (CMakeLists.txt).
#include "tests/functions/functions.h"

#include "runtime/cameo_gelu.h"
#include "runtime/cameo_powers.h"
#include "runtime/cameo_silu.h"
#include "runtime/cameo_vector.h"

static void silu_row(float *y, long n)
{
    cameo_silu_rows(y, 1, n, n);
}
static void sigmoid_row(float *y, long n)
{
    cameo_sigmoid_rows(y, 1, n, n);
}
static void logistic_row(float *y, long n)
{
    for (long i = 0; i < n; i++)
        y[i] = -y[i];
    cameo_logistic_rows(y, 1, n, n);
}

// Rows of any length, whose greatest number is 0.
static void powers_row(float *y, long n)
{
    enum { MOST = 77 };
    float row[MOST + 1];
    for (long i = 0, len; i < n; i += len) {
        len = n - i < 1 + i % MOST ? n - i : 1 + i % MOST;
        row[len] = 0;
        for (long k = 0; k < len; k++)
            row[k] = y[i + k] > 0 ? 0 : y[i + k];
        cameo_powers(row, len + 1, 0);
        memcpy(y + i, row, (size_t)len * sizeof *y);
    }
}

// Some rows at a time beside one another, of any length.
static void gelu_row(float *y, long n)
{
    float x[CAMEO_GELU_ROOM];
    for (long i = 0, len; i < n; i += len) {
        const long row = 1 + i % 77, left = n - i, rows = left < 3 * row ? 1 : 3;
        len = rows == 1 && left < row ? left : rows * row;
        memcpy(x, y + i, (size_t)len * sizeof *y);
        cameo_gelu_rows(x, y + i, rows, len / rows, len / rows);
    }
}

#define ROW_OF_X ROW
#define ROW(name, ours, theirs, limit)                                                             \
    static void run_##name(const float *x, float *y, long n)                                       \
    {                                                                                              \
        memcpy(y, x, (size_t)n * sizeof *y);                                                       \
        ours(y, n);                                                                                \
    }
#define FUNCTION(name, ours, theirs, limit)                                                        \
    static void run_##name(const float *x, float *y, long n)                                       \
    {                                                                                              \
        for (long i = 0; i < n; i++)                                                               \
            y[i] = ours(x[i]);                                                                     \
    }
#include "tests/functions/functions.def"
#undef FUNCTION

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define QUOTED(a) #a
#define TEXT(a) QUOTED(a)

const Build NAMED(build_, BUILD) = {
    TEXT(BUILD),
    {
#define FUNCTION(name, ours, theirs, limit) run_##name,
#include "tests/functions/functions.def"
#undef FUNCTION
    },
};
