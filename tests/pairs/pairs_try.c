// pairs_try: evaluates double-double arithmetic, a line at a time.
//
// in:  NAME A.hi A.lo B.hi B.lo, as hexadecimal floats.   out: hi lo

#include "runtime/cameo_pair_functions.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct Function {
    const char *name;
    cameo_f64x2 (*one)(cameo_f64x2 a);
    cameo_f64x2 (*two)(cameo_f64x2 a, cameo_f64x2 b);
} Function;

static cameo_f64x2 to_i64(cameo_f64x2 a)
{
    return cameo_cast_i64_f64x2(cameo_whole_f64x2(a, INT64_MIN, INT64_MAX));
}

static cameo_f64x2 to_u64(cameo_f64x2 a)
{
    return cameo_cast_u64_f64x2(cameo_whole_u64_f64x2(a));
}

static cameo_f64x2 to_f32(cameo_f64x2 a)
{
    return cameo_make_f64x2((double)(float)cameo_odd_f64x2(a), 0);
}

static const Function functions[] = {
    {"neg", cameo_neg_f64x2, NULL},     {"abs", cameo_fabs_f64x2, NULL},
    {"sqrt", cameo_sqrt_f64x2, NULL},   {"exp", cameo_exp_f64x2, NULL},
    {"expm1", cameo_expm1_f64x2, NULL}, {"log", cameo_log_f64x2, NULL},
    {"log1p", cameo_log1p_f64x2, NULL}, {"sin", cameo_sin_f64x2, NULL},
    {"cos", cameo_cos_f64x2, NULL},     {"tan", cameo_tan_f64x2, NULL},
    {"asin", cameo_asin_f64x2, NULL},   {"acos", cameo_acos_f64x2, NULL},
    {"atan", cameo_atan_f64x2, NULL},   {"sinh", cameo_sinh_f64x2, NULL},
    {"cosh", cameo_cosh_f64x2, NULL},   {"tanh", cameo_tanh_f64x2, NULL},
    {"asinh", cameo_asinh_f64x2, NULL}, {"acosh", cameo_acosh_f64x2, NULL},
    {"atanh", cameo_atanh_f64x2, NULL}, {"erf", cameo_erf_f64x2, NULL},
    {"floor", cameo_floor_f64x2, NULL}, {"ceil", cameo_ceil_f64x2, NULL},
    {"trunc", cameo_trunc_f64x2, NULL}, {"rint", cameo_rint_f64x2, NULL},
    {"to_i64", to_i64, NULL},           {"to_u64", to_u64, NULL},
    {"to_f32", to_f32, NULL},           {"add", NULL, cameo_add_f64x2},
    {"sub", NULL, cameo_sub_f64x2},     {"mul", NULL, cameo_mul_f64x2},
    {"div", NULL, cameo_div_f64x2},     {"pow", NULL, cameo_pow_f64x2},
    {"atan2", NULL, cameo_atan2_f64x2}, {"fmod", NULL, cameo_fmod_f64x2},
    {"mod", NULL, cameo_mod_f64x2},     {"min", NULL, cameo_min_f64x2},
    {"max", NULL, cameo_max_f64x2},
};

int main(void)
{
    char name[16];
    cameo_f64x2 a, b;
    while (scanf("%15s %la %la %la %la", name, &a.hi, &a.lo, &b.hi, &b.lo) == 5) {
        const Function *f = functions, *end = f + sizeof functions / sizeof *functions;
        while (f < end && strcmp(f->name, name) != 0)
            f++;
        if (f == end) {
            fprintf(stderr, "no function is called %s\n", name);
            return 2;
        }
        cameo_f64x2 r = f->one ? f->one(a) : f->two(a, b);
        printf("%a %a\n", r.hi, r.lo);
    }
    return 0;
}
