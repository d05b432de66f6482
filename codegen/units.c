#include "codegen/units.h"

#include "base/map.h"

#include <ctype.h>

// A function or a table. "ends" closes the line that head_ends is not part of.
typedef struct Form {
    const char *begin, *head_ends, *ends;
    const char *defined, *declared; // what stands instead of `begin`; NULL: in every unit the same
    unsigned kind;                  // of UNIT_FUNCTIONS and UNIT_TABLES
} Form;

static const Form forms[] = {
    {"static __attribute__((noinline, unused))", "\n{\n", "\n}\n",
     "__attribute__((visibility(\"hidden\"), noinline))", "__attribute__((visibility(\"hidden\")))",
     UNIT_FUNCTIONS},
    {"static __attribute__((unused))", " = {\n", "\n};\n",
     "__attribute__((visibility(\"hidden\")))", "extern __attribute__((visibility(\"hidden\")))",
     UNIT_TABLES},
    {"CAMEO_ONCE", "\n{\n", "\n}\n", NULL, "__attribute__((visibility(\"hidden\")))", 0},
    {"static inline", "\n{\n", "\n}\n", NULL, NULL, 0},
};

// A piece of a text: of a form, or (NULL) the lines between two that are.
typedef struct Piece {
    const Form *form;
    Str head, rest; // head: without the words that its form begins with
    Str name;
    uint32_t same; // 1 + the piece before of this name, of another choice of #if; 0: none
    bool named;    // by other units
    bool own;      // of a unit that nothing else names
} Piece;

typedef VEC(Piece) Pieces;

static const char *find(const char *at, const char *end, const char *what)
{
    const char *found = memmem(at, (size_t)(end - at), what, strlen(what));
    return found ? found : end;
}

// The form that begins here, or NULL.
static const Form *form_at(const char *at, const char *end)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t n = strlen(forms[i].begin);
        if ((size_t)(end - at) > n && memcmp(at, forms[i].begin, n) == 0)
            return &forms[i];
    }
    return NULL;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *past_name(const char *at, const char *end)
{
    while (at < end && in_name(*at))
        at++;
    return at;
}

// What a head declares: the last name before its parameters, its size or its end.
static Str name_of(Str head)
{
    const char *at = head.at, *end = at + head.len;
    Str name = STR_NONE;
    while (at < end && *at != '[' && (*at != '(' || !name.len)) {
        const char *past = past_name(at, end);
        if (past == at) {
            at++;
            continue;
        }
        name = (Str){at, (size_t)(past - at)};
        at = past;
        if (str_is(name, "__attribute__")) {
            at = find(at, end, "))");
            name = STR_NONE;
        }
    }
    return name;
}

static bool begins(const char *at, const char *end, const char *with)
{
    const size_t n = strlen(with);
    return (size_t)(end - at) > n && memcmp(at, with, n) == 0;
}

// Behind the lines of a macro of the runtime or of a second name of a type; NULL: none begins here.
static const char *past_brief(const char *at, const char *end, Str *name)
{
    if (begins(at, end, "#define CAMEO_")) {
        at += strlen("#define ");
        *name = (Str){at, (size_t)(past_name(at, end) - at)};
        do
            at = find(at, end, "\n") + 1;
        while (at < end && at[-2] == '\\');
        return at < end ? at : end;
    }
    if (!begins(at, end, "typedef "))
        return NULL;
    at = past_name(at + strlen("typedef "), end);
    if (!begins(at, end, " "))
        return NULL;
    const char *past = past_name(at + 1, end);
    if (past == at + 1 || !begins(past, end, ";\n"))
        return NULL;
    *name = (Str){at + 1, (size_t)(past - at - 1)};
    return past + 2;
}

// Where the next form begins, or with `brief` the next such line.
static const char *past_lines(const char *at, const char *end, bool brief)
{
    Str name;
    do {
        at = find(at, end, "\n");
        at += at < end;
    } while (at < end && !form_at(at, end) && !(brief && past_brief(at, end, &name)));
    return at;
}

// With `brief` macros and names of types are pieces too, of no form.
static Pieces pieces_of(Arena *a, Str text, bool brief)
{
    Pieces all = {0};
    const char *end = text.at + text.len;
    for (const char *at = text.at, *next; at < end; at = next) {
        Piece p = {.form = form_at(at, end), .head = {at, 0}};
        const char *past = brief && !p.form ? past_brief(at, end, &p.name) : NULL;
        if (p.form) {
            const char *from = at + strlen(p.form->begin);
            const char *head = find(from, end, p.form->head_ends);
            next = find(head, end, p.form->ends);
            next = next < end ? next + strlen(p.form->ends) : end;
            p.head = (Str){from, (size_t)(head - from)};
            p.rest = (Str){head, (size_t)(next - head)};
            p.name = name_of(p.head);
        } else {
            next = past ? past : past_lines(at, end, brief);
            p.rest = (Str){at, (size_t)(next - at)};
        }
        vec_push(a, &all, p);
    }
    return all;
}

typedef VEC(uint32_t) Waiting;

// The pieces that a text names: inline ones wait until theirs are looked at.
static void name_all(Arena *a, Str text, const Map *known, Pieces *all, Waiting *waiting)
{
    const char *end = text.at + text.len;
    for (const char *at = text.at, *past; at < end; at = past) {
        past = past_name(at, end);
        if (past == at) { // a comment names nothing that is called
            past = end - at > 1 && at[0] == '/' && at[1] == '*' ? find(at, end, "*/") : at + 1;
            continue;
        }
        const uint32_t *first = map_get(known, (Str){at, (size_t)(past - at)});
        for (uint32_t i = first ? *first : 0; i && !all->at[i - 1].named; i = all->at[i - 1].same) {
            const Form *form = all->at[i - 1].form;
            all->at[i - 1].named = true;
            if (!form || !form->defined || all->at[i - 1].own)
                vec_push(a, waiting, i - 1);
        }
    }
}

static void find_named(Arena *a, Pieces *all, const Str *users, uint32_t n)
{
    Map known = {.arena = a};
    Waiting waiting = {0};
    for (uint32_t i = 0; i < all->len; i++)
        if (all->at[i].form) {
            uint32_t *last = map_put(&known, all->at[i].name, NULL);
            all->at[i].same = *last;
            *last = i + 1;
        }
    for (uint32_t i = 0; i < n; i++)
        name_all(a, users[i], &known, all, &waiting);
    for (uint32_t i = 0; i < all->len; i++) // macros may name functions
        if (!all->at[i].form)
            name_all(a, all->at[i].rest, &known, all, &waiting);
    while (waiting.len)
        name_all(a, all->at[waiting.at[--waiting.len]].rest, &known, all, &waiting);
}

// ---- what a unit needs of its text ------------------------------------------------------------

static uint32_t count(Str text, const char *what)
{
    const char *end = text.at + text.len;
    uint32_t n = 0;
    for (const char *at = find(text.at, end, what); at < end; at = find(at + 1, end, what))
        n++;
    return n;
}

// Is it whole: no declaration before it in its head, no choice of #if that ends elsewhere, and
// nothing in it that what stands behind may use?
static bool is_whole(const Piece *p)
{
    const uint32_t open = count(p->head, "\n#if") + count(p->rest, "\n#if");
    const uint32_t close = count(p->head, "\n#endif") + count(p->rest, "\n#endif");
    return count(p->head, ";") == 0 && count(p->rest, "\n#define") == 0 && open == close;
}

// Names of the compiler's header of instructions begin with these.
static bool is_instruction(Str name)
{
    static const char *const begin[] = {"_mm", "__m", "_MM_", "_CMP_", "_tile_", "__tile"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (str_starts(name, begin[i]))
            return true;
    return false;
}

static bool has_instructions(Str text)
{
    const char *end = text.at + text.len;
    for (const char *at = text.at, *past; at<end; at = past> at ? past : at + 1) {
        past = past_name(at, end);
        if (*at == '_' && is_instruction((Str){at, (size_t)(past - at)}))
            return true;
    }
    return false;
}

static void put_piece(Buf *out, const Piece *p)
{
    if (p->form)
        buf_printf(out, "%s", p->form->begin);
    buf_str(out, p->head);
    buf_str(out, p->rest);
}

static void put_without(Buf *out, Str text, const char *line)
{
    const char *end = text.at + text.len;
    for (const char *at = text.at; at < end;) {
        const char *next = find(at, end, line);
        buf_str(out, (Str){at, (size_t)(next - at)});
        at = next < end ? next + strlen(line) : end;
    }
}

static bool ends_with(Str name, Str end)
{
    return name.len >= end.len && memcmp(name.at + name.len - end.len, end.at, end.len) == 0;
}

// The pieces whose names a macro may paste from a parameter and what stands beside it.
static void name_pasted(Arena *a, Str text, Pieces *all, Waiting *waiting)
{
    const char *end = text.at + text.len;
    for (const char *at = find(text.at, end, "##"); at < end; at = find(at + 2, end, "##")) {
        const char *from = at;
        while (from > text.at && in_name(from[-1]))
            from--;
        const Str before = {from, (size_t)(at - from)};
        const Str behind = {at + 2, (size_t)(past_name(at + 2, end) - at - 2)};
        for (uint32_t i = 0; i < all->len; i++) {
            Piece *p = &all->at[i];
            const bool begun = before.len && p->name.len >= before.len &&
                               memcmp(p->name.at, before.at, before.len) == 0;
            if (!p->own || p->named || !(begun || (behind.len && ends_with(p->name, behind))))
                continue;
            p->named = true;
            vec_push(a, waiting, i);
        }
    }
}

static void name_needed(Arena *a, const Piece *p, const Map *known, Pieces *all, Waiting *waiting)
{
    name_all(a, p->head, known, all, waiting);
    name_all(a, p->rest, known, all, waiting);
    name_pasted(a, p->rest, all, waiting);
}

void unit_prune(Buf *out, Str text)
{
    Arena *a = arena_new();
    Pieces all = pieces_of(a, text, true);
    Map known = {.arena = a};
    Waiting waiting = {0};
    Buf kept = {0};
    for (uint32_t i = 0; i < all.len; i++) {
        Piece *p = &all.at[i];
        p->own = p->name.len && (!p->form || is_whole(p));
        if (p->own) {
            uint32_t *last = map_put(&known, p->name, NULL);
            p->same = *last;
            *last = i + 1;
        }
    }
    for (uint32_t i = 0; i < all.len; i++)
        if (!all.at[i].own)
            name_needed(a, &all.at[i], &known, &all, &waiting);
    while (waiting.len)
        name_needed(a, &all.at[waiting.at[--waiting.len]], &known, &all, &waiting);
    for (uint32_t i = 0; i < all.len; i++)
        if (!all.at[i].own || all.at[i].named)
            put_piece(&kept, &all.at[i]);
    const Str left = {kept.at ? kept.at : "", kept.len};
    if (has_instructions(left))
        buf_str(out, left);
    else
        put_without(out, left, "#include <immintrin.h>\n");
    buf_free(&kept);
    arena_free(a);
}

// ---- texts of several units ---------------------------------------------------------------------

void unit_define(Buf *out, Str text, const Str *users, uint32_t n)
{
    Arena *a = arena_new();
    Pieces all = pieces_of(a, text, false);
    find_named(a, &all, users, n);
    for (uint32_t i = 0; i < all.len; i++) {
        const Piece *p = &all.at[i];
        if (p->form)
            buf_printf(out, "%s", p->named && p->form->defined ? p->form->defined : p->form->begin);
        buf_str(out, p->head);
        buf_str(out, p->rest);
    }
    arena_free(a);
}

// Names by which units know a piece are its target's: others of the same program have as many.
static void print_name(Buf *out, const Piece *p, unsigned what)
{
    if (what & UNIT_OF_TARGET)
        buf_printf(out, "#define %.*s CAMEO_OF_TARGET(%.*s)\n", STR_ARG(p->name), STR_ARG(p->name));
}

void unit_share(Buf *out, Str text, unsigned defined)
{
    Arena *a = arena_new();
    const Pieces all = pieces_of(a, text, false);
    for (uint32_t i = 0; i < all.len; i++) {
        const Piece *p = &all.at[i];
        const bool shared = p->form && p->form->declared;
        const bool declared = shared && !(defined & p->form->kind);
        if (shared)
            print_name(out, p, defined);
        if (p->form)
            buf_printf(out, "%s",
                       declared ? p->form->declared
                       : shared ? p->form->defined
                                : p->form->begin);
        buf_str(out, p->head);
        if (declared)
            buf_printf(out, ";\n");
        else
            buf_str(out, p->rest);
    }
    arena_free(a);
}

void unit_targets(Buf *out)
{
    buf_printf(out, "#define CAMEO_TARGET_JOIN(name, target) name##_##target\n"
                    "#define CAMEO_TARGET_NAME(name, target) CAMEO_TARGET_JOIN(name, target)\n"
                    "#define CAMEO_OF_TARGET(name) CAMEO_TARGET_NAME(name, CAMEO_TARGET)\n\n");
}
