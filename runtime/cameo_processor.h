/* What differs from processor to processor, where no row was chosen: the code that cameo writes has
 * a row of its table instead of this. */
#ifndef CAMEO_PROCESSOR_H
#define CAMEO_PROCESSOR_H

#ifndef CAMEO_CPU_BAND
#define CAMEO_CPU_BAND 163840  /* bytes between the convolutions of a chain, to stay in a cache */
#define CAMEO_CPU_KEPT 98304   /* bytes of a factor that is read for each panel of the other */
#define CAMEO_CPU_DEEP 256     /* values of k in a block of a product */
#define CAMEO_CPU_STREAM 4096  /* bytes between what is read once and what is asked for */
#define CAMEO_CPU_TURNS 100000 /* nanoseconds that an idle thread turns before it sleeps */
#endif

#endif
