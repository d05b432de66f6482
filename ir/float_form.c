// How the floats of a dtype are made up.

#include "ir/float_form.h"

FloatForm float_form(DType t)
{
    static const struct {
        DType dtype;
        FloatForm form;
    } forms[] = {
        {DT_F16, {10, -14}},       {DT_BF16, {7, -126}},     {DT_F64, {52, -1022}},
        {DT_F8E4M3FN, {3, -6}},    {DT_F8E4M3FNUZ, {3, -7}}, {DT_F8E5M2, {2, -14}},
        {DT_F8E5M2FNUZ, {2, -15}}, {DT_F8E8M0, {0, -127}},   {DT_F4E2M1, {1, 0}},
        {DT_F6E2M3, {3, 0}},       {DT_F6E3M2, {2, -2}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].dtype == t)
            return forms[i].form;
    return (FloatForm){23, -126};
}
