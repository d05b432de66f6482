/* Functions of custom operators are called by name in emitted programs; where a module is
 * interpreted they are not there. */
#ifndef CAMEO_CUSTOM_H
#define CAMEO_CUSTOM_H

#include "cameo_objects.h"

CAMEO_FN int cameo_custom(cameo_objects *o, const cameo_call *c)
{
    (void)c;
    return cameo_objects_fail(o,
                              "the function of a custom operator runs in compiled programs only");
}

#endif
