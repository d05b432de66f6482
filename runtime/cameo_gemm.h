/* Products of float32 matrices: C[m,n] = sum over k of A[m,k] * B[k,n], with any strides of A and B
 * and unit stride along C's rows. One microkernel of 6 rows by two vectors; B is read where its
 * rows are contiguous, else copied panel by panel. Every sum is added in the order of k. */
#ifndef CAMEO_GEMM_H
#define CAMEO_GEMM_H

#include <stdint.h>
#include <string.h>

enum { CAMEO_PANEL = 2 * CAMEO_LANES, CAMEO_KBLOCK = 256 };

/* 6 rows by one panel: c += a * b over k. ldb: from one row of b to the next. */
static inline __attribute__((unused)) void cameo_gemm_6(int64_t k, const float *restrict a,
                                                        int64_t am, int64_t ak,
                                                        const float *restrict b, int64_t ldb,
                                                        float *restrict c, int64_t ldc)
{
    cameo_vec *r0 = (cameo_vec *)c, *r1 = (cameo_vec *)(c + ldc);
    cameo_vec *r2 = (cameo_vec *)(c + 2 * ldc), *r3 = (cameo_vec *)(c + 3 * ldc);
    cameo_vec *r4 = (cameo_vec *)(c + 4 * ldc), *r5 = (cameo_vec *)(c + 5 * ldc);
    cameo_vec c00 = r0[0], c01 = r0[1], c10 = r1[0], c11 = r1[1], c20 = r2[0], c21 = r2[1];
    cameo_vec c30 = r3[0], c31 = r3[1], c40 = r4[0], c41 = r4[1], c50 = r5[0], c51 = r5[1];
    for (int64_t i = 0; i < k; i++, a += ak, b += ldb) {
        const cameo_vec b0 = ((const cameo_vec *)b)[0], b1 = ((const cameo_vec *)b)[1];
        c00 += a[0] * b0;
        c01 += a[0] * b1;
        c10 += a[am] * b0;
        c11 += a[am] * b1;
        c20 += a[2 * am] * b0;
        c21 += a[2 * am] * b1;
        c30 += a[3 * am] * b0;
        c31 += a[3 * am] * b1;
        c40 += a[4 * am] * b0;
        c41 += a[4 * am] * b1;
        c50 += a[5 * am] * b0;
        c51 += a[5 * am] * b1;
    }
    r0[0] = c00, r0[1] = c01, r1[0] = c10, r1[1] = c11, r2[0] = c20, r2[1] = c21;
    r3[0] = c30, r3[1] = c31, r4[0] = c40, r4[1] = c41, r5[0] = c50, r5[1] = c51;
}

static inline __attribute__((unused)) void cameo_gemm_1(int64_t k, const float *restrict a,
                                                        int64_t ak, const float *restrict b,
                                                        int64_t ldb, float *restrict c)
{
    cameo_vec c0 = ((cameo_vec *)c)[0], c1 = ((cameo_vec *)c)[1];
    for (int64_t i = 0; i < k; i++, a += ak, b += ldb) {
        c0 += a[0] * ((const cameo_vec *)b)[0];
        c1 += a[0] * ((const cameo_vec *)b)[1];
    }
    ((cameo_vec *)c)[0] = c0;
    ((cameo_vec *)c)[1] = c1;
}

/* All rows of a panel of n <= CAMEO_PANEL columns; narrower ones go through a tile beside. */
static inline __attribute__((unused)) void cameo_gemm_panel(int64_t m, int64_t n, int64_t k,
                                                            const float *a, int64_t am, int64_t ak,
                                                            const float *b, int64_t ldb, float *c,
                                                            int64_t ldc)
{
    int64_t i = 0;
    if (n == CAMEO_PANEL) {
        for (; i + 6 <= m; i += 6)
            cameo_gemm_6(k, a + i * am, am, ak, b, ldb, c + i * ldc, ldc);
        for (; i < m; i++)
            cameo_gemm_1(k, a + i * am, ak, b, ldb, c + i * ldc);
        return;
    }
    float tile[6 * CAMEO_PANEL];
    for (; i < m; i += 6) {
        int64_t rows = m - i < 6 ? m - i : 6;
        for (int64_t r = 0; r < rows; r++) {
            memset(tile + r * CAMEO_PANEL, 0, CAMEO_PANEL * sizeof *tile);
            memcpy(tile + r * CAMEO_PANEL, c + (i + r) * ldc, (size_t)n * sizeof *tile);
        }
        if (rows == 6)
            cameo_gemm_6(k, a + i * am, am, ak, b, ldb, tile, CAMEO_PANEL);
        for (int64_t r = 0; r < rows && rows < 6; r++)
            cameo_gemm_1(k, a + (i + r) * am, ak, b, ldb, tile + r * CAMEO_PANEL);
        for (int64_t r = 0; r < rows; r++)
            memcpy(c + (i + r) * ldc, tile + r * CAMEO_PANEL, (size_t)n * sizeof *tile);
    }
}

/* C += A * B. am, ak, bk, bn, ldc: strides in elements. */
static inline __attribute__((unused)) void cameo_gemm(int64_t m, int64_t n, int64_t k,
                                                      const float *a, int64_t am, int64_t ak,
                                                      const float *b, int64_t bk, int64_t bn,
                                                      float *c, int64_t ldc)
{
    float panel[CAMEO_KBLOCK * CAMEO_PANEL];
    for (int64_t j = 0; j < n; j += CAMEO_PANEL) {
        int64_t width = n - j < CAMEO_PANEL ? n - j : CAMEO_PANEL;
        for (int64_t p = 0; p < k; p += CAMEO_KBLOCK) {
            int64_t depth = k - p < CAMEO_KBLOCK ? k - p : CAMEO_KBLOCK;
            const float *from = b + p * bk + j * bn;
            int64_t ldb = bk;
            if (bn != 1 || width < CAMEO_PANEL) {
                for (int64_t x = 0; x < depth; x++)
                    for (int64_t y = 0; y < CAMEO_PANEL; y++)
                        panel[x * CAMEO_PANEL + y] = y < width ? from[x * bk + y * bn] : 0.0f;
                from = panel;
                ldb = CAMEO_PANEL;
            }
            cameo_gemm_panel(m, width, depth, a + p * ak, am, ak, from, ldb, c + j, ldc);
        }
    }
}

/* The same with B packed: panels of `width` columns, each k rows of `width`, the last padded. */
static inline __attribute__((unused)) void cameo_gemm_packed(int64_t m, int64_t n, int64_t k,
                                                             const float *a, int64_t am, int64_t ak,
                                                             const float *b, float *c, int64_t ldc)
{
    enum { WIDTH = 32 }; /* of packed panels, whatever the lanes */
    for (int64_t j = 0; j < n; j += WIDTH)
        for (int64_t part = 0; part < WIDTH && j + part < n; part += CAMEO_PANEL)
            for (int64_t p = 0; p < k; p += CAMEO_KBLOCK) {
                int64_t depth = k - p < CAMEO_KBLOCK ? k - p : CAMEO_KBLOCK;
                int64_t left = n - j - part, width = left < CAMEO_PANEL ? left : CAMEO_PANEL;
                cameo_gemm_panel(m, width, depth, a + p * ak, am, ak, b + j * k + p * WIDTH + part,
                                 WIDTH, c + j + part, ldc);
            }
}

#endif
