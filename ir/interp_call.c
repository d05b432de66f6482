// Strings and lists of the interpreter: calls are the functions of emitted programs.

#include "ir/interp_state.h"

#define CAMEO_NO_CODECS // the compiler is built without the libraries that decode images
#include "runtime/cameo_images.h"
#include "runtime/cameo_custom.h"
#include "runtime/cameo_drift.h"
#include "runtime/cameo_fourier.h"
#include "runtime/cameo_maps.h"
#include "runtime/cameo_measure.h"
#include "runtime/cameo_normalize.h"
#include "runtime/cameo_numbers.h"
#include "runtime/cameo_regex.h"
#include "runtime/cameo_sequences.h"
#include "runtime/cameo_sensitivity.h"

typedef int (*CallFn)(cameo_objects *o, const cameo_call *c);

static const CallFn functions[] = {
#define INTRINSIC(name, header, reads, writes, numbers) cameo_##name,
#include "ir/intrinsics.def"
#undef INTRINSIC
};

void interp_begin_objects(Interp *s)
{
    Module *mod = s->mod;
    s->objects = calloc(1, sizeof *s->objects);
    if (!s->objects) {
        interp_fail(s, "no memory for strings");
        return;
    }
    s->objects->limit = s->limits.max_bytes < INT64_MAX ? (int64_t)s->limits.max_bytes : 0;
    cameo_objects_reset(s->objects, NULL, 0);
    for (uint32_t i = 0; i < mod->symbols.len; i++)
        if (cameo_intern(s->objects, mod->symbols.at[i].at, (int64_t)mod->symbols.at[i].len, 1) < 0)
            interp_fail(s, "%s", s->objects->error);
}

void interp_end_objects(Interp *s)
{
    if (s->objects)
        cameo_objects_free(s->objects);
}

void interp_bind_strings(Interp *s, BufferId b, const Str *strings, uint64_t n)
{
    Memory *m = &s->memory[b];
    if (s->failed || !interp_take(s, n * 8))
        return;
    int64_t *symbols = malloc(n * 8 + 8);
    m->at = m->own = (unsigned char *)symbols;
    m->bytes = n * 8;
    if (!symbols)
        interp_fail(s, "no memory for strings");
    for (uint64_t i = 0; i < n && symbols && !s->failed; i++) {
        symbols[i] = cameo_intern(s->objects, strings[i].at, (int64_t)strings[i].len, 1);
        if (symbols[i] < 0)
            interp_fail(s, "%s", s->objects->error);
    }
}

void *interp_take_strings(Interp *s, BufferId b, uint64_t n)
{
    const int64_t *symbols = (const int64_t *)(const void *)s->memory[b].at;
    uint64_t bytes = n * sizeof(Str) + 1;
    for (uint64_t i = 0; i < n; i++)
        bytes += (uint64_t)cameo_string_of(s->objects, symbols[i]).len;
    Str *out = interp_take(s, bytes) ? malloc(bytes) : NULL;
    if (!out) {
        interp_fail(s, "no memory for an output of strings");
        return NULL;
    }
    char *text = (char *)(out + n);
    for (uint64_t i = 0; i < n; i++) {
        cameo_str from = cameo_string_of(s->objects, symbols[i]);
        if (from.len)
            memcpy(text, from.at, (size_t)from.len);
        out[i] = (Str){text, (size_t)from.len};
        text += from.len;
    }
    return out;
}

static void make_view(Interp *s, cameo_view *v, BufferId b)
{
    const Buffer *buf = buffer_at(s->mod, b);
    *v = (cameo_view){s->memory[b].at, (int32_t)buf->dtype, (int32_t)buf->rank, interp_dims(s, b)};
}

void interp_call(Interp *s, const Step *step)
{
    const Call *call = step->call;
    Arena *scratch = arena_new();
    cameo_view *views = NEWS(scratch, cameo_view, call->nreads + call->nwrites + 1u);
    int64_t *numbers = NEWS(scratch, int64_t, call->nnumbers + 1u);
    cameo_call c = {.reads = views, .writes = views + call->nreads, .n = numbers};
    c.nreads = (int32_t)call->nreads;
    c.nwrites = (int32_t)call->nwrites;
    c.nn = (int32_t)call->nnumbers;
    for (uint32_t i = 0; i < call->nnumbers; i++)
        numbers[i] = interp_index(s, call->numbers[i]);
    for (uint32_t i = 0; i < call->nwrites && !s->failed; i++)
        interp_reserve(s, call->writes[i]);
    for (uint32_t i = 0; i < call->nwrites; i++)
        make_view(s, &views[call->nreads + i], call->writes[i]);
    for (uint32_t i = 0; i < call->nreads; i++) {
        make_view(s, &views[i], call->reads[i]);
        uint64_t need = (uint64_t)cameo_view_count(&views[i]);
        if (s->memory[call->reads[i]].bytes / dtype_stored_bytes((DType)views[i].dtype) < need)
            interp_fail(s, "buffer %u is read before it is written", call->reads[i]);
    }
    if (!s->failed && functions[call->what - intrinsics](s->objects, &c) != 0)
        interp_fail(s, "%s", s->objects->error);
    arena_free(scratch);
}
