// What other data may bring that those at hand do not show.
#ifndef CAMEO_TOOLS_TAILS_H
#define CAMEO_TOOLS_TAILS_H

#include <stdint.h>

enum {
    TAILS_LEAST = 4,   // figures that an extrapolation needs
    TAILS_RARE = 1000, // the figure that one of so many exceeds
    TAILS_OF_MIXED = 2 // at least so many times the greatest figure of a mixture
};

// The figure that one in TAILS_RARE exceeds, from n of them, none negative, in any order: beyond
// the greatest quarter u of k figures (two at least) they are taken to fall off like a power,
//     P(x > t) = k/n (t/u)^(-1/g),    g the mean of log(x/u) over these k,
// so that it is u (k TAILS_RARE / n)^g. g is Hill's estimator (Annals of Statistics 3, 1975), the
// quantile Weissman's (JASA 73, 1978). 0: there are fewer than TAILS_LEAST figures above 0, or one
// is not finite.
double tails_rare(const double *x, uint32_t n);
// The same of n figures of which the first `mixed` are of mixtures of data sets (tools/mixtures.h),
// and no less than TAILS_OF_MIXED times the greatest of these. Of inputs of 200 random networks,
// each calibrated on eight others, one in 4,100 is beyond three times the worst of the eight and
// their tail, one in 20,000 with the tail of them and 120 mixtures, and one in 65,000 with this
// too; the median bound stays what it was, and the mean grows by a tenth.
double tails_mixed(const double *x, uint32_t mixed, uint32_t n);

#endif
