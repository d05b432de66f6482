/* How functions are compiled that need no vectors. */
#ifndef CAMEO_BRIEF_H
#define CAMEO_BRIEF_H

/* A function that is called once for a kernel or a block: loops are left as they are written. One
 * that only says how a kernel goes is of few bytes. */
#if defined __OPTIMIZE__ && !defined __clang__
#define CAMEO_BRIEF __attribute__((optimize("O2")))
#define CAMEO_SMALL __attribute__((optimize("Os")))
#else
#define CAMEO_BRIEF
#define CAMEO_SMALL
#endif

#endif
