// Functions for parts of kernels: their text, what they take, how they are called.

#include "codegen/parts.h"
#include "codegen/emit_c.h"
#include "codegen/repeats.h"

#include <string.h>

void parts_new(Printer *p, const Plan *plan, uint32_t much)
{
    p->parts = NEW(p->arena, Parts);
    p->parts->plan = plan;
    p->parts->much = much ? much : PART_MUCH;
}

// ---- text --------------------------------------------------------------------------------------

bool parts_may_own(const Printer *p, BufferId b)
{
    const Place at = p->parts->plan->place[b];
    return at == PLACE_ARENA || at == PLACE_BLOCK;
}

void parts_around(Printer *p, const Bounds *b, bool on)
{
    for (uint32_t i = 0; p->parts && i < b->n; i++) {
        if (on)
            vec_push(p->arena, &p->parts->around, b->vars[i]);
        else
            p->parts->around.len--;
    }
}

void parts_begin(Printer *p, BufferId own)
{
    Parts *s = p->parts;
    s->inside = true;
    s->part = (Part){.uses = {.arena = p->arena}, .own = own};
    for (uint32_t i = 0; i < s->around.len; i++)
        vec_push(p->arena, &s->part.loops, s->around.at[i]);
    s->masked.len = 0;
    s->steady.len = 0;
    for (uint32_t i = 0; i < p->memos.len; i++) {
        uint32_t e = p->memos.at[i].expr;
        vec_push(p->arena, &s->masked, ((Memo){e, p->temp_of[e], false}));
    }
    for (uint32_t i = 0; i < p->memos.len; i++)
        p->temp_of[p->memos.at[i].expr] = 0;
    s->outside = p->printed;
    p->printed = (KernelUses){.arena = p->arena};
    s->out = p->out;
    p->out = &s->part.text;
    s->indent = p->indent;
    p->indent = 0;
    s->mark = print_block_begin(p);
}

static void add_uses(KernelUses *to, const KernelUses *from)
{
    for (uint32_t i = 0; i < from->buffers.len; i++)
        access_note(to->arena, &to->buffers, from->buffers.at[i].id, from->buffers.at[i].bits);
    for (uint32_t i = 0; i < from->dims.len; i++)
        access_note(to->arena, &to->dims, from->dims.at[i].id, from->dims.at[i].bits);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Does the text name this variable?
static bool names(const Buf *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text->at, *end = at + text->len; at && at + n <= end; at++) {
        at = memmem(at, (size_t)(end - at), name, n);
        if (!at)
            return false;
        char before = at > text->at ? at[-1] : ' ', after = at + n < end ? at[n] : ' ';
        if (!is_letter(before) && before != '.' && !is_letter(after))
            return true;
    }
    return false;
}

static void keep_accesses(Printer *p, const Buf *text, char letter, Accesses *u)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->len; i++)
        if (names(text, str_printf(p->arena, "%c%u", letter, u->at[i].id).at))
            u->at[kept++] = u->at[i];
    u->len = kept;
}

// What was printed on the way may not be in the text: its parameters are what it names.
static void keep_named(Printer *p, Part *part)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < part->loops.len; i++)
        if (names(&part->text, str_printf(p->arena, "i%u", part->loops.at[i]).at))
            part->loops.at[kept++] = part->loops.at[i];
    part->loops.len = kept;
    part->has_mode = names(&part->text, "mode");
    keep_accesses(p, &part->text, 'b', &part->uses.buffers);
    keep_accesses(p, &part->text, 'd', &part->uses.dims);
}

static bool is_compound(void *context, const Atom *a)
{
    (void)context;
    return a->kind >= ATOM_FLOORDIV && a->kind <= ATOM_MAX;
}

const char *parts_steady(Printer *p, const Atom *a, const char *(*print)(Printer *p, const Atom *a))
{
    Parts *s = p->parts;
    if (!s || !s->inside || p->out != &s->part.text || poly_varies(a->a) || poly_varies(a->b) ||
        (!poly_any(a->a, is_compound, NULL) && !poly_any(a->b, is_compound, NULL)))
        return NULL;
    uint32_t n = 0;
    while (n < s->steady.len && s->steady.at[n].atom != a)
        n++;
    if (n == s->steady.len) {
        const char *text = print(p, a); // with those before it
        n = s->steady.len;
        vec_push(p->arena, &s->steady, ((SteadySize){a, text}));
    }
    return str_printf(p->arena, "size%u", n).at;
}

// The sizes that a text names, or others of these do, before it; is there any?
static bool put_steady(Printer *p, Buf *text)
{
    Parts *s = p->parts;
    bool any = false;
    for (uint32_t n = s->steady.len; n-- > 0;) {
        const char *name = str_printf(p->arena, "size%u", n).at;
        if (!names(text, name))
            continue;
        Buf both = {0};
        buf_printf(&both, "%*sconst int64_t %s = %s;\n", 4 * (int)(p->indent + 1), "", name,
                   s->steady.at[n].text);
        buf_put(&both, text->at, text->len);
        buf_free(text);
        *text = both;
        any = true;
    }
    return any;
}

static void print_share(Printer *p, const char *units, const char *grain)
{
    Buf text = {0};
    buf_printf(&text, "%*scameo_share(threads, %s, %s, %s_part%u_of, &args);\n",
               4 * (int)(p->indent + 1), "", units, grain, kernel_name(p, p->kernel),
               p->parts->now.len);
    if (put_steady(p, &text)) {
        print_line(p, "{");
        buf_put(p->out, text.at, text.len);
        print_line(p, "}");
    } else {
        buf_put(p->out, text.at + 4, text.len - 4);
    }
    buf_free(&text);
}

const char *parts_grain(Printer *p, Index work)
{
    const int64_t much = p->parts->much;
    int64_t cost = 0;
    if (!poly_is_const(work, &cost))
        return str_printf(p->arena, "cameo_grain(%lld, %s)", (long long)much,
                          print_index_bare(p, work))
            .at;
    int64_t grain = cost < 1 ? much : cost >= much ? 1 : (much + cost - 1) / cost;
    return print_size(p, grain);
}

const char *parts_grain_of(Printer *p, Index work, const char *units)
{
    return str_printf(p->arena, "cameo_grain_of(%lld, %s, %s)", (long long)p->parts->much,
                      print_index_bare(p, work), units)
        .at;
}

void parts_end(Printer *p, const char *units, const char *grain)
{
    Parts *s = p->parts;
    print_block_end(p, s->mark);
    put_steady(p, &s->part.text);
    p->out = s->out;
    p->indent = s->indent;
    s->part.uses = p->printed;
    p->printed = s->outside;
    add_uses(&p->printed, &s->part.uses);
    if (!access_bits(&s->part.uses.buffers, s->part.own))
        s->part.own = 0; // what is printed has no need of it
    for (uint32_t i = s->masked.len; i-- > 0;)
        p->temp_of[s->masked.at[i].expr] = s->masked.at[i].old;
    s->inside = false;
    keep_named(p, &s->part);
    for (uint32_t i = 0; i < s->part.loops.len; i++)
        print_line(p, "args.i%u = i%u;", s->part.loops.at[i], s->part.loops.at[i]);
    print_share(p, units, grain);
    vec_push(p->arena, &s->now, s->part);
}

// ---- functions ---------------------------------------------------------------------------------

bool parts_in_kernel(const Printer *p)
{
    return p->parts && p->parts->now.len > 0;
}

static const char *constness(const KernelUses *u, BufferId b)
{
    return access_bits(&u->buffers, b) & ACCESS_WRITE ? "" : "const ";
}

// Loops around that any part takes, each once.
static PartLoops all_loops(Printer *p)
{
    PartLoops all = {0};
    for (uint32_t i = 0; i < p->parts->now.len; i++) {
        const PartLoops *l = &p->parts->now.at[i].loops;
        for (uint32_t k = 0; k < l->len; k++) {
            bool known = false;
            for (uint32_t n = 0; n < all.len; n++)
                known |= all.at[n] == l->at[k];
            if (!known)
                vec_push(p->arena, &all, l->at[k]);
        }
    }
    return all;
}

static void print_struct(Printer *p, const char *name, const KernelUses *u)
{
    PartLoops loops = all_loops(p);
    buf_printf(p->out, "typedef struct %s_args {\n    const cameo_threads *threads;\n%s", name,
               repeats_mark(p, MARK_FIELD));
    for (uint32_t i = 0; i < p->parts->now.len; i++)
        if (p->parts->now.at[i].has_mode) {
            buf_printf(p->out, "    int64_t mode;\n");
            break;
        }
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        BufferId b = u->buffers.at[i].id;
        buf_printf(p->out, "    %s%s *b%u;\n", constness(u, b),
                   type_of_value(p, buffer_at(p->mod, b)->dtype), b);
    }
    for (uint32_t i = 0; i < u->dims.len; i++)
        buf_printf(p->out, "    int64_t d%u;\n", u->dims.at[i].id);
    for (uint32_t i = 0; i < loops.len; i++)
        buf_printf(p->out, "    int64_t i%u;\n", loops.at[i]);
    buf_printf(p->out, "} %s_args;\n\n", name);
}

static void print_function(Printer *p, const char *name, uint32_t n, const KernelUses *u)
{
    const Part *part = &p->parts->now.at[n];
    buf_printf(p->out, "static void %s_part%u(%s", name, n, repeats_mark(p, MARK_PARAMETER));
    for (uint32_t i = 0; i < part->uses.buffers.len; i++) {
        BufferId b = part->uses.buffers.at[i].id;
        if (access_bits(&u->buffers, b))
            buf_printf(p->out, "%s%s *%sb%u, ", constness(u, b),
                       type_of_value(p, buffer_at(p->mod, b)->dtype), print_restrict(p, b), b);
    }
    for (uint32_t i = 0; i < part->uses.dims.len; i++)
        buf_printf(p->out, "const int64_t d%u, ", part->uses.dims.at[i].id);
    for (uint32_t i = 0; i < part->loops.len; i++)
        buf_printf(p->out, "const int64_t i%u, ", part->loops.at[i]);
    buf_printf(p->out, "%sconst int64_t from, const int64_t to)\n{\n%s",
               part->has_mode ? "const int64_t mode, " : "", repeats_mark(p, MARK_BODY));
    buf_put(p->out, part->text.at ? part->text.at : "", part->text.len);
    buf_printf(p->out, "}\n\n");
}

// The same with all it takes in one place, for any thread.
static void print_entry(Printer *p, const char *name, uint32_t n, const KernelUses *u)
{
    const Part *part = &p->parts->now.at[n];
    const bool apart = part->own && p->parts->plan->apart;
    const char *own =
        apart ? "own"
              : str_printf(p->arena, "cameo_scratch(a->threads, thread, a->b%u)", part->own).at;
    buf_printf(p->out,
               "static void %s_part%u_of(void *with, int64_t from, int64_t to, int32_t thread)\n{\n"
               "    const %s_args *a = (const %s_args *)with;\n"
               "    (void)thread;\n",
               name, n, name, name);
    if (apart)
        buf_printf(p->out, "    void *const own = cameo_own_begin(thread, a->b%u);\n", part->own);
    buf_printf(p->out, "    %s_part%u(%s", name, n, repeats_mark(p, MARK_ARGUMENT));
    for (uint32_t i = 0; i < part->uses.buffers.len; i++) {
        BufferId b = part->uses.buffers.at[i].id;
        if (b == part->own)
            buf_printf(p->out, "(%s *)%s, ", type_of_value(p, buffer_at(p->mod, b)->dtype), own);
        else if (access_bits(&u->buffers, b))
            buf_printf(p->out, "a->b%u, ", b);
    }
    for (uint32_t i = 0; i < part->uses.dims.len; i++)
        buf_printf(p->out, "a->d%u, ", part->uses.dims.at[i].id);
    for (uint32_t i = 0; i < part->loops.len; i++)
        buf_printf(p->out, "a->i%u, ", part->loops.at[i]);
    buf_printf(p->out, "%sfrom, to);\n%s}\n\n", part->has_mode ? "a->mode, " : "",
               apart ? "    cameo_own_end(thread, own);\n" : "");
}

void parts_print(Printer *p, const Kernel *k, const KernelUses *u)
{
    const char *name = kernel_name(p, k);
    print_struct(p, name, u);
    for (uint32_t i = 0; i < p->parts->now.len; i++) {
        print_function(p, name, i, u);
        print_entry(p, name, i, u);
    }
}

void parts_print_args(Printer *p, const Kernel *k, const KernelUses *u)
{
    buf_printf(p->out, "    %s_args args = {.threads = threads%s", kernel_name(p, k),
               repeats_mark(p, MARK_INITIAL));
    for (uint32_t i = 0; i < u->buffers.len; i++)
        buf_printf(p->out, ", .b%u = b%u", u->buffers.at[i].id, u->buffers.at[i].id);
    for (uint32_t i = 0; i < u->dims.len; i++)
        buf_printf(p->out, ", .d%u = d%u", u->dims.at[i].id, u->dims.at[i].id);
    buf_printf(p->out, "};\n");
}

void parts_end_kernel(Printer *p, const Kernel *k)
{
    Parts *s = p->parts;
    while (s->shared.len <= k->id)
        vec_push(p->arena, &s->shared, 0);
    s->shared.at[k->id] = s->now.len > 0;
    for (uint32_t i = 0; i < s->now.len; i++) {
        if (s->now.at[i].own)
            vec_push(p->arena, &s->own, ((PartOwn){s->now.at[i].own, k->id}));
        buf_free(&s->now.at[i].text);
    }
    s->now.len = 0;
}

bool parts_shared(const Printer *p, const Kernel *k)
{
    const Parts *s = p->parts;
    return s && k->id < s->shared.len && s->shared.at[k->id];
}

bool parts_any(const Printer *p)
{
    for (uint32_t i = 0; p->parts && i < p->parts->shared.len; i++)
        if (p->parts->shared.at[i])
            return true;
    return false;
}

// Does what is a thread's own count for kernel k, as its size is told in a run? NULL: for a run, as
// it is known before.
static bool counts(const Printer *p, const PartOwn *o, const Kernel *k)
{
    return plan_grows(p->parts->plan, buffer_at(p->mod, o->buffer)) ? k && o->kernel == k->id : !k;
}

static const char *most_of_own(Printer *p, const Kernel *k)
{
    Polys *polys = p->mod->polys;
    int64_t most = 0;
    const char *open = NULL;
    for (uint32_t i = 0; i < p->parts->own.len; i++) {
        const Buffer *b = buffer_at(p->mod, p->parts->own.at[i].buffer);
        if (!counts(p, &p->parts->own.at[i], k))
            continue;
        int64_t n = buffer_bytes(b);
        if (n >= 0) {
            most = n > most ? n : most;
            continue;
        }
        Index size = poly_const(polys, dtype_stored_bytes(b->dtype));
        for (uint32_t d = 0; d < b->rank; d++)
            size = poly_mul(polys, size, b->dims[d]);
        const char *text = print_index_bare(p, size);
        open = open ? str_printf(p->arena, "cameo_max_i64(%s, %s)", open, text).at : text;
    }
    return open ? str_printf(p->arena, "cameo_max_i64(%s, %lld)", open, (long long)most).at
                : str_printf(p->arena, "%lld", (long long)most).at;
}

const char *parts_scratch(Printer *p)
{
    return p->parts->plan->apart ? "0" : most_of_own(p, NULL);
}

const char *parts_scratch_of(Printer *p, const Kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; p->parts && !p->parts->plan->apart && i < p->parts->own.len; i++)
        any |= counts(p, &p->parts->own.at[i], k);
    return any ? most_of_own(p, k) : NULL;
}
