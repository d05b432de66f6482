/* How threads share rows of blocks of pixels (cameo_pixel_windows.h): bands of rows, each of them
 * of all blocks, so that a thread has the rows that it wrote of what a layer before made of all
 * channels, and that it reads of this one's behind it. */
#ifndef CAMEO_PIXEL_BANDS_H
#define CAMEO_PIXEL_BANDS_H

#include <stdint.h>

enum { CAMEO_PIXEL_BANDS = 4 };

/* Unit u of `rows` rows of each of so many blocks: bands one behind another, of a band the rows of
 * a block before those of the next one. */
static inline __attribute__((unused)) void cameo_pixel_band(int64_t blocks, int64_t rows, int64_t u,
                                                            int64_t *block, int64_t *row)
{
    int64_t low = 0, high = rows;
    for (int64_t band = 1; band <= CAMEO_PIXEL_BANDS; band++) {
        high = rows * band / CAMEO_PIXEL_BANDS;
        if (u < blocks * high)
            break;
        low = high;
    }
    *block = (u - blocks * low) / (high - low);
    *row = low + (u - blocks * low) % (high - low);
}

#endif
