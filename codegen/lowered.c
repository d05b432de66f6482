#include "codegen/lowered.h"
#include "base/map.h"
#include "codegen/cpu/byte_product.h"
#include "codegen/cpu/half_product.h"
#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/cpus.h"

#include <string.h>

// ---- modules -----------------------------------------------------------------------------------

static bool laid_alike(const Processor *a, const Processor *b)
{
    return (a->squares > 0) == (b->squares > 0) && (a->words > 0) == (b->words > 0);
}

// Neighbours that lay values out alike; how many such groups there are.
static uint32_t group(Build *b, Lowered *all)
{
    Processor rows[MAX_CPUS];
    const uint32_t n = processors_of(b->o->cpu, &b->o->tuned, rows);
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool begins = i == 0 || (b->o->again && !laid_alike(&rows[i - 1], &rows[i]));
        Lowered *l = &all[begins ? k++ : k - 1];
        if (begins)
            *l = (Lowered){.o = *b->o, .first = i, .number = k - 1};
        l->rows[l->n++] = rows[i];
        if (n > 1)
            l->o.cpu = begins ? b->cpus[i] : str_printf(b->arena, "%s,%s", l->o.cpu, b->cpus[i]).at;
        if (i + 1 < n)
            l->o.tuned = (Processor){0};
        else
            l->o.tuned = b->o->tuned;
    }
    return k;
}

static bool multiplies_words(const Module *mod)
{
    return pixel_convs_kinds(mod->steps) || half_registers_any(mod->steps) ||
           narrow_bytes_any(mod->steps) || byte_products_any(mod->steps, false) ||
           byte_products_any(mod->steps, true);
}

// Do the processors stay in the build, where what they add is the multiplication of words?
static bool stays(Build *b, const Lowered *l)
{
    if (!b->may_leave || l->first == 0 || multiplies_words(l->mod))
        return true;
    for (uint32_t i = 0; i < l->n; i++)
        b->left_out[l->first + i] = true;
    return false;
}

// A model of its own for each but the last, whose diagnostics say all that the others' would.
static Module *lower(Build *b, Lowered *l, const Model *m)
{
    Diags silent;
    CompileReport other = {0};
    diags_init(&silent, b->arena, str_of(m->path));
    l->o.after = NULL;
    l->o.checked = true;
    Model *copy = b->o->again(b->arena, m, &silent);
    Module *mod = copy ? compile_to_module(copy, &l->o, &silent, &other) : NULL;
    if (!mod)
        b->report->error = other.error.len
                               ? other.error
                               : str_printf(b->arena, "the model is not lowered for %s", l->o.cpu);
    return mod;
}

static int lower_all(Build *b, Model *m, Diags *diags, Lowered *all, uint32_t n, LoweredTake *take,
                     void *of)
{
    CompileReport *r = b->report;
    int status = 0;
    for (uint32_t g = n; g-- > 0 && !status;) {
        Lowered *l = &all[g];
        const bool first = g + 1 == n;
        double since = stage_clock();
        l->mod = first ? compile_to_module(m, &l->o, diags, r) : lower(b, l, m);
        if (!first)
            stage_more(b->arena, &r->stages, "lowered again", &since);
        if (l->mod)
            status = stays(b, l) ? take(of, l) : 0;
        else // no diagnostic: an option does not fit the model
            status = !first || r->bug ? 4 : r->error.len && !diags->errors ? 2 : 1;
    }
    return status;
}

int lower_for_processors(Build *b, Model *m, Diags *diags, Lowered *all, LoweredTake *take,
                         void *of)
{
    const uint32_t n = b->ncpus > 1 ? group(b, all) : 1;
    if (b->ncpus == 1) {
        all[0] = (Lowered){.o = *b->o};
        all[0].n = processors_of(b->o->cpu, &b->o->tuned, all[0].rows);
    }
    return lower_all(b, m, diags, all, n, take, of);
}

// ---- weights -----------------------------------------------------------------------------------

typedef struct Placed {
    const void *at;
    int64_t size, offset;
    uint32_t next; // 1 + number of the last one before of that size; 0: none
} Placed;

struct Blob {
    Arena *arena;
    Map sizes; // 1 + number of the last one of a size
    VEC(Placed) placed;
    int64_t end;
};

Blob *blob_new(Arena *a)
{
    Blob *blob = NEW(a, Blob);
    *blob = (Blob){.arena = a, .sizes = {.arena = a}};
    return blob;
}

// The offset of the same bytes; else these are placed at the end. *is_new: so it was.
static int64_t place(Blob *blob, const void *at, int64_t size, bool *is_new)
{
    Arena *a = blob->arena;
    int64_t *key = NEW(a, int64_t);
    *key = size;
    uint32_t *last = map_put(&blob->sizes, (Str){(const char *)key, sizeof *key}, NULL);
    *is_new = false;
    for (uint32_t i = *last; i; i = blob->placed.at[i - 1].next) {
        const Placed *p = &blob->placed.at[i - 1];
        if (p->at == at || memcmp(p->at, at, (size_t)size) == 0)
            return p->offset;
    }
    *is_new = true;
    vec_push(a, &blob->placed, ((Placed){at, size, blob->end, *last}));
    *last = blob->placed.len;
    blob->end += cameo_aligned(size);
    return blob->end - cameo_aligned(size);
}

// Strings are numbered by each module in its own way: what stands for them is never shared.
bool blob_place(Blob *blob, const Lowered *l, Str *error)
{
    Plan *p = l->plan;
    bool *elsewhere = NEWS(blob->arena, bool, l->mod->buffers.len);
    for (BufferId b = 1; b < l->mod->buffers.len; b++) {
        if (p->place[b] != PLACE_WEIGHT)
            continue;
        const Buffer *buf = buffer_at(l->mod, b);
        const int64_t size = buffer_bytes(buf);
        if (size <= 0 || buf->dtype == DT_STRING) {
            p->weight_offset[b] = blob->end;
            blob->end += size > 0 ? cameo_aligned(size) : 0;
            continue;
        }
        const void *at = tensor_elements(l->mod->model, (TensorData *)(uintptr_t)buf->data, error);
        if (!at)
            return false;
        bool is_new;
        p->weight_offset[b] = place(blob, at, size, &is_new);
        elsewhere[b] = !is_new;
    }
    p->elsewhere = elsewhere;
    p->weights_size = p->weights_end = blob->end;
    return true;
}
