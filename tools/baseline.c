// cameo baseline: the findings that are there already, so that `cameo lint --baseline FILE` shows
// what is new. A finding is known by its model, relative to the baseline's folder, and its
// fingerprint; how often it occurs counts.
//
// A line of the file: fingerprint, count, rule, model, and behind a tab the path, for people.

#include "base/file.h"
#include "tools/lint.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    Str file, rule, path;
    uint64_t print;
    uint32_t count;
} Entry;

typedef struct Baseline {
    Arena *arena;
    Map index; // file and fingerprint -> number in entries
    VEC(Entry) entries;
} Baseline;

static Str key_of(Arena *a, Str file, uint64_t print)
{
    return str_printf(a, "%016llx %.*s", (unsigned long long)print, STR_ARG(file));
}

static Entry *entry_of(Baseline *b, Str file, uint64_t print, bool add)
{
    bool added = false;
    Str key = key_of(b->arena, file, print);
    uint32_t *at = add ? map_put(&b->index, key, &added) : map_get(&b->index, key);
    if (added) {
        *at = b->entries.len;
        vec_push(b->arena, &b->entries, ((Entry){.file = file, .print = print}));
    }
    return at ? &b->entries.at[*at] : NULL;
}

// ---- names of models

static Str folder_of(Arena *a, const char *path)
{
    char *full = realpath(path_folder(a, path), NULL);
    Str found = str_copy(a, str_of(full ? full : ""));
    free(full);
    return found;
}

// A path as seen from a folder, both as realpath gives them: "net.onnx", "../models/net.onnx".
static Str relative_to(Arena *a, Str folder, Str path)
{
    size_t same = 0, up = 0;
    Buf b = {0};
    for (size_t i = 0; i <= folder.len && i < path.len; i++) {
        const char c = i < folder.len ? folder.at[i] : '/';
        if (c != path.at[i])
            break;
        same = c == '/' ? i + 1 : same;
    }
    for (size_t i = same; i < folder.len; i++)
        up += i == same || folder.at[i] == '/';
    while (up--)
        buf_printf(&b, "../");
    buf_str(&b, (Str){path.at + same, path.len - same});
    Str name = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return name;
}

// The model as seen from the baseline's folder, wherever the command is given.
static Str model_name(Arena *a, Str folder, const char *path)
{
    char *full = strcmp(path, "-") == 0 ? NULL : realpath(path, NULL);
    Str name = str_copy(a, str_of(full ? full : path));
    free(full);
    bool known = folder.len && name.len && name.at[0] == '/';
    return str_escaped(a, known ? relative_to(a, folder, name) : name);
}

// ---- reading and writing

static const char head[] = "cameo.baseline/1";

// "0123456789abcdef 1 DT001 models/net.onnx\tgraph/node[...]"
static bool take_line(Baseline *b, Str line)
{
    char text[64];
    unsigned long long print;
    unsigned count;
    char rule[16];
    int used = 0;
    snprintf(text, sizeof text, "%.*s", STR_ARG(line));
    if (sscanf(text, "%16llx %u %15s %n", &print, &count, rule, &used) != 3 || !used || !count)
        return false;
    Str rest = {line.at + used, line.len - (size_t)used};
    const char *tab = memchr(rest.at, '\t', rest.len);
    Str file = {rest.at, tab ? (size_t)(tab - rest.at) : rest.len};
    Entry *e = entry_of(b, str_copy(b->arena, file), print, true);
    e->rule = str_copy(b->arena, str_of(rule));
    e->path = tab ? str_copy(b->arena, (Str){tab + 1, rest.len - file.len - 1}) : STR("");
    e->count += count;
    return true;
}

static bool take_text(const Tool *t, const char *path, Str text, Baseline *b)
{
    uint32_t number = 0;
    while (text.len) {
        const char *end = memchr(text.at, '\n', text.len);
        Str line = {text.at, end ? (size_t)(end - text.at) : text.len};
        text = (Str){text.at + line.len + (end != NULL), text.len - line.len - (end != NULL)};
        bool first = number++ == 0;
        if (first ? str_is(line, head) : line.len == 0 || line.at[0] == '#' || take_line(b, line))
            continue;
        tool_error(t, EXIT_USAGE, "%s:%u: this is no line of a baseline (%s)", path, number, head);
        return false;
    }
    if (!number)
        tool_error(t, EXIT_USAGE, "%s: the file is empty", path);
    return number > 0;
}

static bool baseline_read(const Tool *t, const char *path, Baseline *b)
{
    FileView view;
    Str error = STR_NONE;
    if (!file_open(b->arena, path, &view, &error)) {
        tool_error(t, EXIT_USAGE, "%.*s", STR_ARG(error));
        return false;
    }
    bool ok = take_text(t, path, (Str){(const char *)view.at, view.len}, b);
    file_close(&view);
    return ok;
}

static bool baseline_write(const Tool *t, const char *path, const Baseline *b)
{
    Buf out = {0};
    Str error = STR_NONE;
    buf_printf(&out, "%s\n# fingerprint, count, rule, model, path: written by cameo baseline\n",
               head);
    for (uint32_t i = 0; i < b->entries.len; i++) {
        const Entry *e = &b->entries.at[i];
        if (e->count)
            buf_printf(&out, "%016llx %u %.*s %.*s\t%.*s\n", (unsigned long long)e->print, e->count,
                       STR_ARG(e->rule), STR_ARG(e->file), STR_ARG(e->path));
    }
    bool ok = file_write(path, out.at, out.len, 0644, &error, b->arena);
    if (!ok)
        tool_error(t, EXIT_BYTES, "%.*s", STR_ARG(error));
    buf_free(&out);
    return ok;
}

bool lint_heed_baseline(LintRun *r, const char *path)
{
    Baseline b = {.arena = r->arena, .index = {.arena = r->arena}};
    Str folder = folder_of(r->arena, path);
    if (!baseline_read(r->tool, path, &b))
        return false;
    for (uint32_t f = 0; f < r->results.len; f++) {
        Findings *found = &r->results.at[f].found;
        Str file = model_name(r->arena, folder, r->results.at[f].path);
        uint32_t kept = 0, had = found->len;
        for (uint32_t i = 0; i < had; i++) {
            Entry *e = entry_of(&b, file, lint_fingerprint(found->at[i]), false);
            if (e && e->count) {
                e->count--;
                r->suppressed++;
            } else {
                found->at[kept++] = found->at[i];
            }
        }
        found->len = kept;
        // A model that cannot be decoded and is known not to is no failure any more.
        if (!kept && had && r->results.at[f].status == EXIT_BYTES)
            r->results.at[f].status = EXIT_CLEAN;
    }
    return true;
}

// ---- the command

static void collect(LintRun *r, Str folder, Baseline *now)
{
    for (uint32_t f = 0; f < r->results.len; f++) {
        const LintResult *one = &r->results.at[f];
        Str file = model_name(r->arena, folder, one->path);
        for (uint32_t i = 0; i < one->found.len; i++) {
            const Diag *d = one->found.at[i];
            Entry *e = d->rule[0] ? entry_of(now, file, lint_fingerprint(d), true) : NULL;
            if (!e)
                continue;
            e->rule = str_of(d->rule);
            e->path = d->path;
            e->count++;
        }
    }
}

// What the file lists stays as far as it still occurs; of models that were not looked at, as long
// as they are there.
static void prune(const LintRun *r, Str folder, Baseline *old, const Baseline *now)
{
    Map seen = {.arena = r->arena};
    for (uint32_t f = 0; f < r->results.len; f++)
        map_put(&seen, model_name(r->arena, folder, r->results.at[f].path), NULL);
    for (uint32_t i = 0; i < old->entries.len; i++) {
        Entry *e = &old->entries.at[i];
        Str path = str_printf(r->arena, "%.*s/%.*s", STR_ARG(folder), STR_ARG(e->file));
        if (!map_get(&seen, e->file) && file_exists(path.at))
            continue;
        const uint32_t *at = map_get(&now->index, key_of(old->arena, e->file, e->print));
        uint32_t left = at ? now->entries.at[*at].count : 0;
        e->count = left < e->count ? left : e->count;
    }
}

static uint32_t total(const Baseline *b)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < b->entries.len; i++)
        sum += b->entries.at[i].count;
    return sum;
}

static int make_baseline(LintRun *r, bool pruned, const char *path, const char *const *files, int n)
{
    Paths paths = {0};
    Baseline now = {.arena = r->arena, .index = {.arena = r->arena}}, old = now;
    if ((pruned && !baseline_read(r->tool, path, &old)) || !lint_paths(r, files, n, &paths))
        return EXIT_USAGE;
    uint32_t before = total(&old);
    lint_all(r, &paths);
    lint_sum(r);
    Str folder = folder_of(r->arena, path);
    collect(r, folder, &now);
    if (pruned)
        prune(r, folder, &old, &now);
    if (!baseline_write(r->tool, path, pruned ? &old : &now))
        return EXIT_BYTES;
    const uint32_t written = total(&now);
    if (pruned)
        printf("%u of %u finding%s stay%s in %s\n", total(&old), before, before == 1 ? "" : "s",
               before == 1 ? "s" : "", path);
    else
        printf("%u finding%s written to %s\n", written, written == 1 ? "" : "s", path);
    return r->status > EXIT_FINDINGS ? r->status : EXIT_CLEAN;
}

static int run_baseline(const Tool *t, int argc, char **argv)
{
    LintRun r = {.tool = t, .arena = arena_new(), .fail_on = LEVEL_OFF, .format = "text"};
    const char **words = NEWS(r.arena, const char *, (size_t)argc + 1), *value;
    int n = 0, status = EXIT_CLEAN;
    Args args = args_of(t, argc, argv);
    for (int i; !status && (i = args_next(&args, &value)) != ARG_END;) {
        bool bad = i == ARG_BAD;
        if (i == ARG_HELP) {
            arena_free(r.arena);
            return EXIT_CLEAN;
        }
        if (i == ARG_FILE)
            words[n++] = value;
        else if (!bad && lint_take_option(&r, i, value, &bad) && bad)
            lint_refuse_option(&r, &t->options[i], value);
        status = bad ? EXIT_USAGE : EXIT_CLEAN;
    }
    r.select = r.select ? r.select : r.profile;
    bool pruned = n && strcmp(words[0], "prune") == 0;
    if (!status && (n < 3 || (!pruned && strcmp(words[0], "write") != 0)))
        status = tool_error(t, EXIT_USAGE, "say write or prune, the baseline and the models");
    if (!status)
        status = make_baseline(&r, pruned, words[1], words + 2, n - 2);
    arena_free(r.arena);
    return status;
}

static const ToolOption options[] = {LINT_OPTIONS, {0}};
const Tool tool_baseline = {"baseline", "write|prune FILE MODEL|FOLDER|GLOB...",
                            "keeps the findings that are known, for lint --baseline", options,
                            run_baseline};
