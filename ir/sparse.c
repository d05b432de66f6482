// Sparse tensors, which programs hold dense.

#include "ir/graph.h"

#include <string.h>

// More is refused: a file of a few bytes can name any dims.
enum { MAX_DENSE_BYTES = 1 << 28, SMALL = 1 << 16, MAX_THINNESS = 4096 };

// The place of entry i by its index, row-major, or its coordinates; UINT64_MAX where it is outside.
static uint64_t place_of(const SparseData *s, const int64_t *indices, uint64_t i, uint64_t count)
{
    if (s->indices->rank == 1)
        return (uint64_t)indices[i] < count ? (uint64_t)indices[i] : UINT64_MAX;
    uint64_t at = 0;
    for (uint32_t k = 0; k < s->rank; k++) {
        int64_t one = indices[i * s->rank + k];
        if (one < 0 || one >= s->dims[k])
            return UINT64_MAX;
        at = at * (uint64_t)s->dims[k] + (uint64_t)one;
    }
    return at;
}

// What is wrong with the parts of s, before anything of the dense tensor is made; NULL if nothing.
static const char *fault_of(const SparseData *s, uint64_t count)
{
    const TensorData *v = s->values, *at = s->indices;
    if (!v || !at || v->rank != 1 || at->dtype != DT_I64)
        return "a sparse tensor needs values of rank 1 and int64 indices";
    bool linear = at->rank == 1 && at->dims[0] == v->dims[0];
    bool each = at->rank == 2 && at->dims[0] == v->dims[0] && at->dims[1] == (int64_t)s->rank;
    if (!linear && !each)
        return "a sparse tensor's indices do not fit its values";
    if (v->dtype <= DT_NONE || v->dtype >= DT_COUNT)
        return "a sparse tensor's values have no known data_type";
    if (count > MAX_DENSE_BYTES / dtype_info((DType)v->dtype)->bytes)
        return "a sparse tensor of more than 256 MiB is not supported";
    if (count > SMALL && count / MAX_THINNESS > tensor_count(v))
        return "a sparse tensor with less than 1 in 4096 of its elements is not supported";
    return NULL;
}

const TensorData *sparse_dense(Model *m, SparseData *s, Str *error)
{
    if (s->dense)
        return s->dense;
    uint64_t count = tensor_count(&(TensorData){.rank = s->rank, .dims = s->dims});
    const char *fault = fault_of(s, count);
    if (fault) {
        *error = str_of(fault);
        return NULL;
    }
    const char *values = tensor_elements(m, s->values, error);
    const int64_t *indices = values ? tensor_elements(m, s->indices, error) : NULL;
    if (!indices)
        return NULL;
    DType t = (DType)s->values->dtype;
    size_t width = dtype_info(t)->bytes;
    char *dense = NEWS(m->arena, char, count *width + 1);
    memset(dense, 0, count * width);
    for (uint64_t i = 0; i < tensor_count(s->values); i++) {
        uint64_t at = place_of(s, indices, i, count);
        if (at == UINT64_MAX) {
            *error = STR("an index of a sparse tensor is outside of its dims");
            return NULL;
        }
        memcpy(dense + at * width, values + i * width, width);
    }
    s->dense = tensor_new(m->arena, t, s->rank, s->dims, dense);
    return s->dense;
}
