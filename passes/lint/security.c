// SE001, SE002, SE003, SE006: files beside the model, and how much a model may ask for.

#include "base/sha1.h"
#include "passes/config.h"
#include "passes/lint/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_untrusted(const Lint *l)
{
    return l->m->config && l->m->config->untrusted;
}

static Diag *report(Lint *l, const char *rule, Severity severity, const TensorData *t, Str where,
                    Str what)
{
    Str name = str_escaped(l->arena, t->name);
    Diag *d = diag(l->diags, rule, severity, where, "tensor \"%.*s\": %.*s", STR_ARG(name),
                   STR_ARG(what));
    d->value = name;
    return d;
}

// ---- SE001

static void check_path(Lint *l, void *context, TensorData *t, Str where)
{
    ExternalRange range;
    Str error = STR_NONE;
    Diag **told;
    if (t->payload != PAYLOAD_EXTERNAL)
        return;
    ExternalFault fault = tensor_external(l->m, t, &range, &error);
    bool linked = is_untrusted(l) && fault != EXTERNAL_ESCAPES && range.file->links > 1;
    if (linked)
        error = str_printf(l->arena,
                           "external data \"%.*s\" has %u names in its file system: one "
                           "of them may be a file of somebody else's",
                           STR_ARG(str_escaped(l->arena, range.file->location)), range.file->links);
    if ((fault != EXTERNAL_ESCAPES && !linked) || file_fault_told(l, context, t, &told))
        return;
    Diag *d = *told = report(l, "SE001", SEV_ERROR, t, where, error);
    diag_note(l->diags, d,
              "whoever loads the model would read that file as weights, wherever it lies");
    if (!linked)
        diag_help(l->diags, d, "put the file beside the model, and name it as it lies there");
}

void lint_escapes(Lint *l)
{
    FileFaults faults = {.files = {.arena = l->arena}};
    lint_each_tensor(l, check_path, &faults);
    file_faults_end(l, &faults, "name", "it too");
}

// ---- SE002

typedef struct Piece {
    const ExternalFile *file;
    uint64_t from, to;
    uint32_t order; // in the file of the model
    const TensorData *t;
    Str where;
} Piece;

typedef struct Pieces {
    VEC(Piece) all;
    FileFaults shorter; // files that end before what tensors ask of them
} Pieces;

static void check_bounds(Lint *l, void *context, TensorData *t, Str where)
{
    Pieces *pieces = context;
    ExternalRange range;
    Str error = STR_NONE;
    if (t->payload != PAYLOAD_EXTERNAL)
        return;
    ExternalFault fault = tensor_external(l->m, t, &range, &error);
    if (fault == EXTERNAL_BOUNDS) {
        Diag *d, **told = &d;
        if (range.beyond && file_fault_told(l, &pieces->shorter, t, &told))
            return;
        *told = report(l, "SE002", SEV_ERROR, t, where, error);
        diag_help(l->diags, *told,
                  "restore the file that belongs to the model, or export both again");
    }
    if (fault == EXTERNAL_FINE && range.length)
        vec_push(l->arena, &pieces->all,
                 ((Piece){range.file, range.offset, range.offset + range.length, pieces->all.len, t,
                          where}));
}

static int by_place(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// Two tensors in one range are one weight stored once. Ranges that cut into each other are a fault.
static void check_overlap(Lint *l, const Pieces *pieces)
{
    const Piece *widest = NULL;
    for (uint32_t i = 0; i < pieces->all.len; i++) {
        const Piece *p = &pieces->all.at[i];
        bool same =
            widest && widest->file == p->file && widest->from == p->from && widest->to == p->to;
        if (widest && widest->file == p->file && p->from < widest->to && !same) {
            Str other = str_escaped(l->arena, widest->t->name);
            Diag *d = report(
                l, "SE002", SEV_ERROR, p->t, p->where,
                str_printf(l->arena, "its bytes overlap those of tensor \"%.*s\"", STR_ARG(other)));
            diag_note(l->diags, d, "bytes %llu to %llu and %llu to %llu of \"%.*s\"",
                      (unsigned long long)widest->from, (unsigned long long)widest->to,
                      (unsigned long long)p->from, (unsigned long long)p->to,
                      STR_ARG(str_escaped(l->arena, p->file->location)));
            diag_help(l->diags, d,
                      "export the model again: whoever changes one of the two changes both");
        }
        if (!widest || widest->file != p->file || p->to > widest->to)
            widest = p;
    }
}

void lint_bounds(Lint *l)
{
    Pieces pieces = {.shorter = {.files = {.arena = l->arena}}};
    lint_each_tensor(l, check_bounds, &pieces);
    file_faults_end(l, &pieces.shorter, "reach", "beyond its end");
    if (pieces.all.len)
        qsort(pieces.all.at, pieces.all.len, sizeof *pieces.all.at, by_place);
    check_overlap(l, &pieces);
}

// ---- SE003

typedef struct Digests {
    Map seen; // by location: 1 + number in hex
    VEC(const char *) hex;
    Map told; // files that were reported
} Digests;

static const char *digest_of(Arena *a, Digests *s, const ExternalFile *f)
{
    bool added;
    uint32_t *at = map_put(&s->seen, f->location, &added);
    if (added) {
        char *hex = arena_alloc(a, 41);
        sha1_hex(f->at, f->len, hex);
        *at = s->hex.len;
        vec_push(a, &s->hex, hex);
    }
    return s->hex.at[*at];
}

static bool same_digest(Str given, const char *hex)
{
    for (size_t i = 0; i < 40 && given.len == 40; i++)
        if ((given.at[i] | 0x20) != hex[i])
            return false;
    return given.len == 40;
}

static void check_digest(Lint *l, void *context, TensorData *t, Str where)
{
    Digests *s = context;
    ExternalRange range;
    Str error;
    bool added;
    if (t->payload != PAYLOAD_EXTERNAL || tensor_external(l->m, t, &range, &error) != EXTERNAL_FINE)
        return;
    Str given = props_get(&t->external, "checksum"), file = range.file->location;
    const char *hex = digest_of(l->arena, s, range.file);
    if (given.len && same_digest(given, hex))
        return;
    map_put(&s->told, str_printf(l->arena, "%d%.*s", given.len > 0, STR_ARG(file)), &added);
    if (!added)
        return;
    Str shown = str_escaped(l->arena, file);
    Diag *d = given.len ? report(l, "SE003", SEV_ERROR, t, where,
                                 str_printf(l->arena,
                                            "external data \"%.*s\" is not the file that the "
                                            "model was written with",
                                            STR_ARG(shown)))
                        : report(l, "SE003", SEV_INFO, t, where,
                                 str_printf(l->arena, "external data \"%.*s\" bears no checksum",
                                            STR_ARG(shown)));
    if (given.len)
        diag_note(l->diags, d, "SHA-1 %s, but the model says %.*s", hex,
                  STR_ARG(str_escaped(l->arena, given)));
    else
        diag_note(l->diags, d, "whoever can write the file can change the weights unnoticed");
    diag_fix(l->diags, d, false, "write checksum %s into the model, if the file is the right one",
             hex);
}

void lint_digests(Lint *l)
{
    Digests s = {.seen = {.arena = l->arena}, .told = {.arena = l->arena}};
    lint_each_tensor(l, check_digest, &s);
}

typedef struct Binding {
    Digests digests;
    uint32_t changes;
} Binding;

static void bind_digest(Lint *l, void *context, TensorData *t, Str where)
{
    Binding *b = context;
    ExternalRange range;
    Str error;
    (void)where;
    if (t->payload != PAYLOAD_EXTERNAL || tensor_external(l->m, t, &range, &error) != EXTERNAL_FINE)
        return;
    const char *hex = digest_of(l->m->arena, &b->digests, range.file);
    Str given = props_get(&t->external, "checksum");
    if (given.len && same_digest(given, hex))
        return;
    b->changes++;
    for (uint32_t i = 0; i < t->external.len; i++)
        if (str_is(t->external.at[i].key, "checksum")) {
            t->external.at[i].value = str_of(hex);
            return;
        }
    vec_push(l->m->arena, &t->external,
             ((Prop){.key = STR("checksum"), .value = str_of(hex), .has = 3}));
}

uint32_t repair_digests(Model *m, bool unsafe)
{
    Lint l = {.m = m, .arena = m->arena};
    Binding b = {.digests = {.seen = {.arena = m->arena}}};
    if (unsafe)
        lint_each_tensor(&l, bind_digest, &b);
    return b.changes;
}

// ---- SE006

// A few bytes may ask for a tensor that no memory holds. Loading reports what is over a limit
// before there is a model.
void lint_limits(Lint *l)
{
    double most = config_param(l->m->config, "SE006", "max-value-gb") * 1073741824.0;
    for (ValueId v = 1; v < l->m->values.len; v++) {
        const Value *value = value_at(l->m, v);
        double bytes = dtype_info(value->dtype)->bytes;
        bool known = value->def == DEF_NODE && value->kind == TYPE_TENSOR && value->rank >= 0;
        for (int32_t i = 0; known && i < value->rank; i++) {
            int64_t k;
            known = poly_is_const(value->dims[i], &k) && k >= 0;
            bytes *= known ? (double)k : 0;
        }
        if (!known || bytes <= most)
            continue;
        Diag *d = diag(l->diags, "SE006", SEV_ERROR, location_value(l->m, l->arena, v),
                       "%.*s gives a tensor of %.4g GiB; the limit is %.4g GiB",
                       STR_ARG(str_escaped(l->arena, node_at(l->m, value->node)->op)),
                       bytes / 1073741824.0, most / 1073741824.0);
        d->value = lint_name(l, v);
        lint_about_node(l, d, value->node);
        diag_help(l->diags, d,
                  "if the model does need it, allow it in cameo.yaml: rules: {SE006: "
                  "{max-value-gb: %.0f}}",
                  ceil(bytes / 1073741824.0));
        return; // what is made of it is as large
    }
}
