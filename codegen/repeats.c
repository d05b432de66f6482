// Equal layers become equal functions that differ in the numbers of buffers, dims, loops and locals
// alone: b12, d3, i47, v9. All of these are parameters or locals of the functions, so that texts
// which agree when they are numbered anew, in order of appearance, mean the same for any operands.

#include "codegen/repeats.h"
#include "codegen/emit_c.h"

#include <string.h>

static const char variables[] = "bdiv"; // their first letters

void repeats_new(Printer *p)
{
    p->repeats = NEW(p->arena, Repeats);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A variable's number; -1: the word is no "b12" or the like.
static int64_t number_of(const char *word, size_t n)
{
    int64_t number = 0;
    if (n < 2 || n > 10 || !strchr(variables, *word))
        return -1;
    for (size_t i = 1; i < n; i++) {
        if (!is_digit(word[i]))
            return -1;
        number = number * 10 + (word[i] - '0');
    }
    return number;
}

// What numbers of one letter became.
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

// The text with variables numbered in order of appearance, and without the kernel's own name.
static void canonical(Arena *a, Str text, Str name, Buf *out)
{
    Renumbering letters[sizeof variables] = {0};
    for (size_t at = 0; at < text.len;) {
        size_t n = 1;
        const char *word = text.at + at;
        if (is_word(*word))
            while (at + n < text.len && (is_word(word[n]) || (is_digit(*word) && word[n] == '.')))
                n++;
        int64_t number = is_word(*word) ? number_of(word, n) : -1;
        if (number >= 0) {
            Renumbering *r = &letters[strchr(variables, *word) - variables];
            buf_printf(out, "%c%u", *word, renumber(a, r, number));
        } else if (n >= name.len && memcmp(word, name.at, name.len) == 0 &&
                   (n == name.len || word[name.len] == '_')) {
            buf_char(out, '@');
            buf_put(out, word + name.len, n - name.len);
        } else {
            buf_put(out, word, n);
        }
        at += n;
    }
}

static void set_as(Printer *p, const Kernel *k, const Kernel *as)
{
    while (p->repeats->as.len <= k->id)
        vec_push(p->arena, &p->repeats->as, NULL);
    p->repeats->as.at[k->id] = as;
}

void repeats_take(Printer *p, const Kernel *k)
{
    Repeats *r = p->repeats;
    Arena *a = p->arena;
    Buf text = {0};
    canonical(a, (Str){p->out->at + p->text_at, p->out->len - p->text_at},
              str_of(kernel_name(p, k)), &text);
    const uint32_t hash = hash_end(hash_bytes(text.at, text.len, 0));
    IdSlot *s = id_table_first(&r->known, a, hash);
    for (; s->used; s = id_table_next(&r->known, s)) {
        const Repeat *known = &r->all.at[s->id];
        if (s->hash == hash && known->text.len == text.len &&
            memcmp(known->text.at, text.at, text.len) == 0)
            break;
    }
    if (s->used) {
        const Kernel *as = r->all.at[s->id].kernel;
        p->out->len = p->text_at;
        buf_printf(p->out, "/* as %s */\n\n", kernel_name(p, as));
        set_as(p, k, as);
    } else {
        id_table_take(&r->known, s, hash, r->all.len);
        vec_push(a, &r->all, ((Repeat){k, {arena_copy(a, text.at, text.len), text.len}}));
    }
    buf_free(&text);
}

const Kernel *repeats_of(const Printer *p, const Kernel *k)
{
    const Repeats *r = p->repeats;
    return r && k->id < r->as.len && r->as.at[k->id] ? r->as.at[k->id] : k;
}
