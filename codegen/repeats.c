// Equal layers become equal functions that differ in the numbers of buffers, dims, loops and locals
// alone: b12, d3, i47, v9, and of blocks of loops low47, high47. All of these are parameters or
// locals of the functions, so that texts which agree when they are numbered anew, in order of
// appearance, mean the same for any operands. Sizes that are marked count as equal too; those that
// are not become locals z0, z1, ...

#include "codegen/repeats.h"
#include "codegen/cpu/conv.h"
#include "codegen/cpu/gemm.h"
#include "codegen/emit_c.h"

#include <string.h>

static const char *const variables[] = {"b", "d", "i", "v", "low", "high"}; // without numbers
enum { VARIABLES = sizeof variables / sizeof *variables };

void repeats_new(Printer *p)
{
    p->repeats = NEW(p->arena, Repeats);
    vec_push(p->arena, &p->repeats->printed, (PrintedKernel){0});
}

bool repeats_by_sizes(const Kernel *k)
{
    const Conv *c = k->override ? k->override->conv : NULL;
    return c && !c->wide;
}

const char *repeats_mark(Printer *p, RepeatMark mark)
{
    return p->marks ? str_printf(p->arena, "%c", (int)mark).at : "";
}

// ---- what is the same --------------------------------------------------------------------------

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Which of `variables` it is; VARIABLES: none.
static size_t variable_of(const char *word, size_t n, int64_t *number)
{
    size_t letters = n;
    while (letters > 0 && is_digit(word[letters - 1]))
        letters--;
    if (letters == n || n - letters > 9)
        return VARIABLES;
    *number = 0;
    for (size_t i = letters; i < n; i++)
        *number = *number * 10 + (word[i] - '0');
    size_t which = 0;
    while (which < VARIABLES &&
           (strlen(variables[which]) != letters || memcmp(variables[which], word, letters) != 0))
        which++;
    return which;
}

// The size behind a mark, and how many digits it has: at most INT32_MAX.
static int32_t size_at(Str text, size_t at, size_t *digits)
{
    int32_t size = 0;
    for (*digits = 0; at + *digits < text.len && is_digit(text.at[at + *digits]); ++*digits)
        size = size * 10 + (text.at[at + *digits] - '0');
    return size;
}

// What numbers of one variable became.
typedef struct Renumbering {
    VEC(int64_t) old;
} Renumbering;

static uint32_t renumber(Arena *a, Renumbering *r, int64_t number)
{
    for (uint32_t i = 0; i < r->old.len; i++)
        if (r->old.at[i] == number)
            return i;
    vec_push(a, &r->old, number);
    return r->old.len - 1;
}

static size_t comment_at(Str text, size_t at)
{
    if (text.len - at < 4 || memcmp(text.at + at, "/*", 2) != 0)
        return 0;
    const char *end = memmem(text.at + at + 2, text.len - at - 2, "*/", 2);
    return end ? (size_t)(end + 2 - text.at) - at : 0;
}

// How many characters belong together from here on.
static size_t word_at(Str text, size_t at)
{
    const char *word = text.at + at;
    size_t n = 1;
    if (is_word(*word))
        while (at + n < text.len && (is_word(word[n]) || (is_digit(*word) && word[n] == '.')))
            n++;
    return n;
}

// The text with variables numbered in order of appearance, and without the kernel's own name, its
// comments and the sizes within its functions, which are added to *notes and *sizes.
static void canonical(Arena *a, Str text, Str name, Buf *out, Buf *notes, RepeatSizes *sizes)
{
    Renumbering known[VARIABLES] = {0};
    bool inside = false;
    for (size_t at = 0, n; at < text.len; at += n) {
        const char *word = text.at + at;
        n = comment_at(text, at);
        if (n) {
            buf_printf(notes, " %.*s", (int)n, word);
            continue;
        }
        n = word_at(text, at);
        inside |= *word == MARK_BODY;
        if (*word == MARK_SIZE && inside) {
            size_t digits;
            vec_push(a, sizes, size_at(text, at + 1, &digits));
            buf_char(out, MARK_SIZE);
            n += digits;
            continue;
        }
        int64_t number;
        const size_t which = is_word(*word) ? variable_of(word, n, &number) : VARIABLES;
        if (which < VARIABLES) {
            buf_printf(out, "%s%u", variables[which], renumber(a, &known[which], number));
        } else if (n >= name.len && memcmp(word, name.at, name.len) == 0 &&
                   (n == name.len || word[name.len] == '_')) {
            buf_char(out, '@');
            buf_put(out, word + name.len, n - name.len);
        } else {
            buf_put(out, word, n);
        }
    }
}

static Str copy_of(Arena *a, const char *at, size_t n)
{
    return (Str){arena_copy(a, at, n), n};
}

static void add_to(Repeats *r, PrintedKernel *k, uint32_t number, uint32_t id)
{
    Repeat *repeat = &r->all.at[id];
    k->repeat = id;
    if (repeat->last)
        r->printed.at[repeat->last].next = number;
    else
        repeat->first = number;
    repeat->last = number;
}

void repeats_take(Printer *p, const Kernel *k, size_t from)
{
    Repeats *r = p->repeats;
    Arena *a = p->arena;
    PrintedKernel printed = {.kernel = k};
    Buf key = {0}, notes = {0};
    const Str text = {p->out->at + p->text_at, p->out->len - p->text_at};
    canonical(a, text, str_of(kernel_name(p, k)), &key, &notes, &printed.sizes);
    const uint32_t hash = hash_end(hash_bytes(key.at, key.len, 0));
    IdSlot *s = id_table_first(&r->known, a, hash);
    for (; s->used; s = id_table_next(&r->known, s)) {
        const Repeat *known = &r->all.at[s->id];
        if (s->hash == hash && known->key.len == key.len &&
            memcmp(known->key.at, key.at, key.len) == 0)
            break;
    }
    uint32_t id = r->all.len;
    if (s->used) {
        id = s->id;
        printed.notes = copy_of(a, notes.at ? notes.at : "", notes.len);
    } else {
        id_table_take(&r->known, s, hash, id);
        vec_push(a, &r->all,
                 ((Repeat){copy_of(a, key.at ? key.at : "", key.len), copy_of(a, text.at, text.len),
                           0, 0, NULL, 0}));
    }
    printed.comment = copy_of(a, p->out->at + from, p->text_at - from);
    add_to(r, &printed, r->printed.len, id);
    while (r->of.len <= k->id)
        vec_push(a, &r->of, 0);
    r->of.at[k->id] = r->printed.len;
    vec_push(a, &r->printed, printed);
    p->out->len = from;
    buf_free(&key);
    buf_free(&notes);
}

// ---- what differs ------------------------------------------------------------------------------

static bool same_column(const Repeats *r, const Repeat *repeat, uint32_t a, uint32_t b)
{
    for (uint32_t i = repeat->first; i; i = r->printed.at[i].next)
        if (r->printed.at[i].sizes.at[a] != r->printed.at[i].sizes.at[b])
            return false;
    return true;
}

static bool varies(const Repeats *r, const Repeat *repeat, uint32_t column)
{
    const int32_t size = r->printed.at[repeat->first].sizes.at[column];
    for (uint32_t i = repeat->first; i; i = r->printed.at[i].next)
        if (r->printed.at[i].sizes.at[column] != size)
            return true;
    return false;
}

static void find_slots(Arena *a, const Repeats *r, Repeat *repeat)
{
    const uint32_t n = r->printed.at[repeat->first].sizes.len;
    repeat->slots = NEWS(a, int32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        repeat->slots[i] = -1;
        if (!varies(r, repeat, i))
            continue;
        for (uint32_t k = 0; k < i && repeat->slots[i] < 0; k++)
            if (repeat->slots[k] >= 0 && same_column(r, repeat, k, i))
                repeat->slots[i] = repeat->slots[k];
        if (repeat->slots[i] < 0)
            repeat->slots[i] = (int32_t)repeat->nslots++;
    }
}

// ---- text --------------------------------------------------------------------------------------

static const char *const meanings[MARK_END] = {[MARK_FIELD] = "    const int64_t *sizes;\n",
                                               [MARK_PARAMETER] = "const int64_t *sizes_of, ",
                                               [MARK_ARGUMENT] = "a->sizes, ",
                                               [MARK_INITIAL] = ", .sizes = sizes_of",
                                               [MARK_BODY] = "",
                                               [MARK_STATIC] = ""};

// The locals that the function takes from its table, whose first size is number `size`. What it
// does in a choice of #if alone may be all that reads one.
static void print_locals(Printer *p, const Repeat *r, Str text, size_t at, uint32_t size)
{
    bool *taken = NEWS(p->arena, bool, r->nslots), any = false, choice = false;
    Buf read = {0};
    for (; at < text.len && text.at[at] != MARK_BODY; at++) {
        choice |= text.at[at] == '#';
        if (text.at[at] != MARK_SIZE)
            continue;
        const int32_t slot = r->slots[size++];
        if (slot < 0 || taken[slot])
            continue;
        buf_printf(p->out, "%sz%d = sizes_of[%d]", any ? ", " : "    const int64_t ", slot, slot);
        buf_printf(&read, "%s(void)z%d", any ? ", " : "    ", slot);
        taken[slot] = any = true;
    }
    buf_printf(p->out, any ? ";\n" : "    (void)sizes_of;\n");
    if (any && choice)
        buf_printf(p->out, "%.*s;\n", (int)read.len, read.at);
    buf_free(&read);
}

static void print_functions(Printer *p, const Repeat *r)
{
    const Str text = r->text;
    const bool table = r->nslots > 0;
    uint32_t size = 0;
    bool inside = false;
    for (size_t at = 0, n; at < text.len; at += n) {
        const char c = text.at[at];
        n = 1;
        if (c <= 0 || c >= MARK_END) {
            while (at + n < text.len && (text.at[at + n] <= 0 || text.at[at + n] >= MARK_END))
                n++;
            buf_put(p->out, text.at + at, n);
        } else if (c == MARK_SIZE) {
            size_t digits;
            size_at(text, at + 1, &digits);
            const int32_t slot = inside ? r->slots[size++] : -1;
            if (slot >= 0)
                buf_printf(p->out, "z%d", slot);
            else
                buf_put(p->out, text.at + at + 1, digits);
            n += digits;
        } else {
            inside |= c == MARK_BODY;
            if (c == MARK_BODY && table)
                print_locals(p, r, text, at + 1, size);
            else
                buf_printf(p->out, "%s",
                           table              ? meanings[(int)c]
                           : c == MARK_STATIC ? "static "
                                              : "");
        }
    }
}

// The table of one kernel, unless an earlier one has the same.
static void print_table(Printer *p, const Repeat *repeat, PrintedKernel *k)
{
    const Repeats *r = p->repeats;
    const uint32_t n = k->sizes.len;
    for (uint32_t i = repeat->first; &r->printed.at[i] != k; i = r->printed.at[i].next)
        if (memcmp(r->printed.at[i].sizes.at, k->sizes.at, n * sizeof *k->sizes.at) == 0) {
            k->tables = r->printed.at[i].tables;
            return;
        }
    k->tables = k->kernel;
    buf_printf(p->out, "static const int64_t %s_k%u_sizes[] = {", p->prefix, k->kernel->id);
    for (uint32_t i = 0, next = 0; i < n; i++)
        if (repeat->slots[i] == (int32_t)next)
            buf_printf(p->out, "%s%d", next++ ? ", " : "", k->sizes.at[i]);
    buf_printf(p->out, "};\n\n");
}

void repeats_print(Printer *p)
{
    Repeats *r = p->repeats;
    for (uint32_t i = 0; i < r->all.len; i++)
        find_slots(p->arena, r, &r->all.at[i]);
    for (uint32_t i = 1; i < r->printed.len; i++) {
        PrintedKernel *k = &r->printed.at[i];
        const Repeat *repeat = &r->all.at[k->repeat];
        buf_str(p->out, k->comment);
        if (repeat->first == i)
            print_functions(p, repeat);
        else
            buf_printf(p->out, "/* as %s */%.*s\n\n",
                       kernel_name(p, r->printed.at[repeat->first].kernel), STR_ARG(k->notes));
        if (repeat->nslots)
            print_table(p, repeat, k);
    }
}

static const PrintedKernel *printed_of(const Printer *p, const Kernel *k)
{
    const Repeats *r = p->repeats;
    const uint32_t i = r && k->id < r->of.len ? r->of.at[k->id] : 0;
    return i ? &r->printed.at[i] : NULL;
}

const Kernel *repeats_of(const Printer *p, const Kernel *k)
{
    const PrintedKernel *printed = printed_of(p, k);
    return printed ? p->repeats->printed.at[p->repeats->all.at[printed->repeat].first].kernel : k;
}

const char *repeats_sizes(Printer *p, const Kernel *k)
{
    const PrintedKernel *printed = printed_of(p, k);
    if (!printed || !printed->tables)
        return "";
    return str_printf(p->arena, "%s_k%u_sizes", p->prefix, printed->tables->id).at;
}
