// A result of linting as bytes, for the pipe between two processes of one program.

#include "tools/lint.h"

#include <string.h>

// ---- out

static void put_number(Buf *b, uint64_t v)
{
    buf_put(b, &v, sizeof v);
}

// An absent string differs from an empty one.
static void put_str(Buf *b, Str s)
{
    put_number(b, s.at ? s.len + 1 : 0);
    if (s.at)
        buf_put(b, s.at, s.len);
}

#define PUT_STRINGS(b, list)                                                                       \
    do {                                                                                           \
        put_number(b, (list).len);                                                                 \
        for (uint32_t k_ = 0; k_ < (list).len; k_++)                                               \
            put_str(b, (list).at[k_]);                                                             \
    } while (0)

static void put_diag(Buf *b, const Diag *d)
{
    const Str texts[] = {d->message, d->file,      d->path,        d->node,
                         d->op,      d->value,     d->origin_kind, d->origin_name,
                         d->source,  d->mark_path, d->mark_op,     d->mark_value};
    put_str(b, str_of(d->rule));
    put_number(b, (uint64_t)d->severity);
    put_number(b, d->fixed);
    put_number(b, d->fails);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_str(b, texts[i]);
    PUT_STRINGS(b, d->chain);
    PUT_STRINGS(b, d->notes);
    PUT_STRINGS(b, d->helps);
    put_number(b, d->fixes.len);
    for (uint32_t i = 0; i < d->fixes.len; i++) {
        const Fix *f = &d->fixes.at[i];
        put_number(b, f->safe);
        put_str(b, f->text);
        put_number(b, f->casts);
        put_number(b, f->transfers);
        put_str(b, f->note);
    }
}

void lint_pack(const LintResult *result, Buf *b)
{
    put_number(b, (uint64_t)result->status);
    put_number(b, result->unusable);
    buf_put(b, &result->repair, sizeof result->repair);
    buf_put(b, &result->times, sizeof result->times);
    put_str(b, result->diff);
    for (int k = 0; k < 2; k++) {
        put_str(b, result->rewrites[k]);
        put_str(b, result->mended[k]);
    }
    put_number(b, result->entries.len);
    for (uint32_t i = 0; i < result->entries.len; i++) {
        const LintEntry *e = &result->entries.at[i];
        const Str texts[] = {e->place, e->key, e->rule, e->at, e->near};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            put_str(b, texts[k]);
        put_number(b, e->used);
    }
    put_number(b, result->found.len);
    for (uint32_t i = 0; i < result->found.len; i++)
        put_diag(b, result->found.at[i]);
    put_number(b, result->fixed.len);
    for (uint32_t i = 0; i < result->fixed.len; i++)
        put_diag(b, result->fixed.at[i]);
}

// ---- in

typedef struct Reader {
    Arena *arena;
    Str left;
    bool failed;
} Reader;

static const void *take_bytes(Reader *r, uint64_t n)
{
    static const char nothing[sizeof(Repair) > sizeof(Times) ? sizeof(Repair) : sizeof(Times)];
    if (n > r->left.len) {
        r->failed = true;
        return n <= sizeof nothing ? nothing : NULL;
    }
    const char *at = r->left.at;
    r->left = (Str){at + n, r->left.len - n};
    return at;
}

static uint64_t take_number(Reader *r)
{
    uint64_t v;
    memcpy(&v, take_bytes(r, sizeof v), sizeof v);
    return v;
}

static Str take_str(Reader *r)
{
    uint64_t n = take_number(r);
    const char *at = n ? take_bytes(r, n - 1) : NULL;
    return at && !r->failed ? str_copy(r->arena, (Str){at, n - 1}) : STR_NONE;
}

#define TAKE_STRINGS(r, list)                                                                      \
    do {                                                                                           \
        for (uint64_t k_ = take_number(r); k_ && !(r)->failed; k_--)                               \
            vec_push((r)->arena, list, take_str(r));                                               \
    } while (0)

static Diag *take_diag(Reader *r)
{
    Diag *d = NEW(r->arena, Diag);
    Str *const texts[] = {&d->message, &d->file,      &d->path,        &d->node,
                          &d->op,      &d->value,     &d->origin_kind, &d->origin_name,
                          &d->source,  &d->mark_path, &d->mark_op,     &d->mark_value};
    Str rule = take_str(r);
    d->rule = rule.at ? rule.at : "";
    d->severity = (Severity)take_number(r);
    d->fixed = take_number(r) != 0;
    d->fails = take_number(r) != 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = take_str(r);
    TAKE_STRINGS(r, &d->chain);
    TAKE_STRINGS(r, &d->notes);
    TAKE_STRINGS(r, &d->helps);
    for (uint64_t n = take_number(r); n && !r->failed; n--) {
        Fix f = {.safe = take_number(r) != 0};
        f.text = take_str(r);
        f.casts = (uint32_t)take_number(r);
        f.transfers = (uint32_t)take_number(r);
        f.note = take_str(r);
        vec_push(r->arena, &d->fixes, f);
    }
    return d;
}

bool lint_unpack(Arena *a, Str bytes, LintResult *result)
{
    Reader r = {a, bytes, false};
    *result = (LintResult){.status = (int)take_number(&r)};
    result->unusable = take_number(&r) != 0;
    memcpy(&result->repair, take_bytes(&r, sizeof result->repair), sizeof result->repair);
    memcpy(&result->times, take_bytes(&r, sizeof result->times), sizeof result->times);
    result->diff = take_str(&r);
    for (int k = 0; k < 2; k++) {
        result->rewrites[k] = take_str(&r);
        result->mended[k] = take_str(&r);
    }
    for (uint64_t n = take_number(&r); n && !r.failed; n--) {
        LintEntry e = {0};
        Str *const texts[] = {&e.place, &e.key, &e.rule, &e.at, &e.near};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            *texts[k] = take_str(&r);
        e.used = take_number(&r) != 0;
        vec_push(a, &result->entries, e);
    }
    for (uint64_t n = take_number(&r); n && !r.failed; n--)
        vec_push(a, &result->found, take_diag(&r));
    for (uint64_t n = take_number(&r); n && !r.failed; n--)
        vec_push(a, &result->fixed, take_diag(&r));
    return !r.failed;
}
