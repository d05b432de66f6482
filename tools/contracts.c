// Which function of which source is an operator's: the one that cameo.yaml names, else the one of
// the operator's name, as written or in snake_case, or with "_kernel" behind that. What takes no
// pointers (PyTorch's launchers take tensors) is passed over where another takes them.

#include "tools/contracts.h"
#include "frontend/contract.h"

#include <ctype.h>
#include <glob.h>
#include <string.h>

enum { MAX_SOURCES = 256 };

// An operator of a domain while its sources are read.
typedef struct Wanted {
    CustomOp op;
    Str names[3]; // in the order in which they are looked for; absent where there is none
} Wanted;

typedef struct Search {
    const Tool *tool;
    Arena *arena;
    Contracts *out;
    VEC(Wanted) wanted; // of the domain whose sources are read
} Search;

// "FusedBiasGELU" to "fused_bias_gelu".
static Str snake_case(Arena *a, Str s)
{
    Buf b = {0};
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool upper = isupper(c) != 0;
        bool after_lower = i > 0 && !isupper((unsigned char)s.at[i - 1]) && s.at[i - 1] != '_';
        bool before_lower =
            i > 0 && i + 1 < s.len && islower((unsigned char)s.at[i + 1]) && s.at[i - 1] != '_';
        if (upper && (after_lower || before_lower))
            buf_char(&b, '_');
        buf_char(&b, (char)(upper ? tolower(c) : c));
    }
    Str snake = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return snake;
}

static bool is_wanted(void *context, Str symbol)
{
    const Search *s = context;
    for (uint32_t i = 0; i < s->wanted.len; i++)
        for (int k = 0; k < 3; k++)
            if (s->wanted.at[i].names[k].len && str_eq(symbol, s->wanted.at[i].names[k]))
                return true;
    return false;
}

static bool read_sources(Search *s, const ConfigCustom *c, const char *folder)
{
    for (uint32_t i = 0; i < c->sources.len; i++) {
        glob_t found;
        const char *pattern = str_printf(s->arena, "%s%s", folder, c->sources.at[i].at).at;
        int status = glob(pattern, GLOB_ERR, NULL, &found);
        if (status != 0 || found.gl_pathc > MAX_SOURCES) {
            if (status == 0)
                globfree(&found);
            tool_error(s->tool, 0, "%s:%u: %.*s names %s", s->out->config, c->line,
                       STR_ARG(str_escaped(s->arena, c->sources.at[i])),
                       status ? "no file that can be read" : "too many files");
            return false;
        }
        bool ok = true;
        for (size_t k = 0; ok && k < found.gl_pathc; k++) {
            Str error = STR_NONE;
            Str path = str_copy(s->arena, str_of(found.gl_pathv[k]));
            ok = contract_read(s->out, s->arena, path.at, is_wanted, s, &error);
            vec_push(s->arena, &s->out->sources, path);
            if (!ok)
                tool_error(s->tool, 0, "%.*s", STR_ARG(error));
        }
        globfree(&found);
        if (!ok)
            return false;
    }
    return true;
}

// The operators of the domain that the model has, each once.
static void find_wanted(Search *s, const ConfigCustom *c, const Model *m)
{
    Map seen = {.arena = s->arena};
    s->wanted.len = 0;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool added;
        if (n->dead || !str_eq(n->domain, c->domain))
            continue;
        map_put(&seen, n->op, &added);
        if (!added)
            continue;
        Str snake = snake_case(s->arena, n->op);
        Wanted w = {.op = {.domain = n->domain, .op = n->op, .symbol = n->op, .line = c->line},
                    .names = {n->op, snake, str_printf(s->arena, "%.*s_kernel", STR_ARG(snake))}};
        for (uint32_t i = 0; i < c->ops.len; i++)
            if (str_eq(c->ops.at[i].op, n->op)) {
                w.op.line = c->ops.at[i].line;
                w.names[0] = w.op.symbol = c->ops.at[i].symbol;
                w.names[1] = w.names[2] = STR_NONE;
            }
        vec_push(s->arena, &s->wanted, w);
    }
}

static bool takes_pointers(const CustomFunction *f)
{
    return custom_count(f, CUSTOM_INPUT) + custom_count(f, CUSTOM_OUTPUT) > 0;
}

// The functions of the first name that has such; false: no name has.
static bool take_named(Search *s, Wanted *w, uint32_t first, bool with_pointers)
{
    const Contracts *c = s->out;
    for (int i = 0; i < 3 && w->names[i].len && !w->op.functions.len; i++)
        for (uint32_t k = first; k < c->functions.len; k++) {
            CustomFunction *f = c->functions.at[k];
            if (!str_eq(f->symbol, w->names[i]) || (with_pointers && !takes_pointers(f)))
                continue;
            w->op.symbol = w->names[i];
            vec_push(s->arena, &w->op.functions, f);
        }
    return w->op.functions.len > 0;
}

static void take_functions(Search *s, uint32_t first)
{
    for (uint32_t i = 0; i < s->wanted.len; i++)
        if (!take_named(s, &s->wanted.at[i], first, true))
            take_named(s, &s->wanted.at[i], first, false);
}

bool tool_contracts(const Tool *t, Arena *a, const Config *config, const Model *m,
                    const Contracts **out)
{
    Search s = {.tool = t, .arena = a};
    const char *slash = config->path ? strrchr(config->path, '/') : NULL;
    Str folder = STR(""); // with the slash behind it: what sources are relative to
    if (slash && slash != config->path + 1)
        folder = str_copy(a, (Str){config->path, (size_t)(slash + 1 - config->path)});
    else if (slash && config->path[0] != '.')
        folder = str_copy(a, (Str){config->path, 2});
    *out = NULL;
    for (uint32_t i = 0; i < config->customs.len && !config->untrusted; i++) {
        const ConfigCustom *c = &config->customs.at[i];
        find_wanted(&s, c, m);
        if (!s.wanted.len)
            continue;
        if (!s.out) {
            s.out = NEW(a, Contracts);
            s.out->config = config->path;
        }
        uint32_t first = s.out->functions.len;
        if (!read_sources(&s, c, folder.at))
            return false;
        take_functions(&s, first);
        for (uint32_t k = 0; k < s.wanted.len; k++)
            contract_add(s.out, a, s.wanted.at[k].op);
    }
    *out = s.out;
    return true;
}
