// Findings as people read them: alike ones under one headline, then what was done, then sums.

#include "tools/lint.h"
#include "base/wrap.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ALIKE = 4, MANY = 4, NRULES = 256 };

// The text without names and numbers: what stands between quotes, and digits that end no word.
static void put_masked(Buf *b, Str text)
{
    bool quoted = false;
    char before = ' ';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool word = isalnum((unsigned char)before) && !isdigit((unsigned char)before);
        quoted ^= c == '"';
        if (c == '"' || (!quoted && (word || !isdigit((unsigned char)c))))
            buf_char(b, c);
        before = isdigit((unsigned char)c) && word ? before : c;
    }
}

// What makes two findings of a model alike: the rule, the operator, and where it begins; or what is
// said and offered but for the names, of one kind of origin each its own.
static Str likeness(Arena *a, const Diag *d, bool by_origin)
{
    Buf b = {0};
    buf_printf(&b, "%s|%d|%.*s|%.*s|", d->rule, (int)d->severity, STR_ARG(d->op),
               STR_ARG(d->origin_kind));
    if (by_origin && d->origin_kind.len)
        buf_str(&b, d->origin_name);
    else if (by_origin)
        buf_str(&b, d->message);
    else {
        put_masked(&b, d->message);
        for (uint32_t i = 0; i < d->fixes.len; i++) {
            buf_char(&b, d->fixes.at[i].safe ? 's' : 'u');
            put_masked(&b, d->fixes.at[i].text);
        }
    }
    Str s = str_copy(a, (Str){b.at, b.len});
    buf_free(&b);
    return s;
}

typedef struct Group {
    const Diag *first;
    uint32_t count;
    const Diag *others[MAX_ALIKE];
    bool merged; // of several origins
} Group;

// Where it begins stands beside it if that is not where the first begins, nor named by the place.
static void print_also(const Diag *first, const Diag *d, uint32_t width, Buf *out)
{
    Buf text = {0};
    buf_str(&text, d->path);
    if (!str_eq(first->origin_name, d->origin_name) &&
        !memmem(d->path.at, d->path.len, d->origin_name.at, d->origin_name.len))
        buf_printf(&text, ", which begins at %.*s \"%.*s\"", STR_ARG(d->origin_kind),
                   STR_ARG(d->origin_name));
    diag_print_line(out, tool_style.colour, width, "also", (Str){text.at, text.len});
    buf_free(&text);
}

static void print_group(Arena *a, const Group *g, uint32_t width, Buf *out)
{
    const Diag *d = g->first;
    if (tool_style.quiet) {
        static const char *const names[] = {"info", "warning", "error"};
        buf_name(out, d->file);
        buf_printf(out, "%s%.*s: %s%s%s%s: %.*s%s", d->path.len ? ":" : "", STR_ARG(d->path),
                   names[d->severity], d->rule[0] ? "[" : "", d->rule, d->rule[0] ? "]" : "",
                   STR_ARG(d->message), g->count > 1 ? "" : "\n");
        if (g->count > 1)
            buf_printf(out, " (and %u more like it)\n", g->count - 1);
        return;
    }
    diag_print(d, out, tool_style.colour, width);
    for (uint32_t i = 0; i + 1 < g->count && i < MAX_ALIKE; i++)
        print_also(d, g->others[i], width, out);
    if (g->count > MAX_ALIKE + 1)
        diag_print_line(out, tool_style.colour, width, "also",
                        str_printf(a, "%u more like it%s", g->count - 1 - MAX_ALIKE,
                                   g->merged ? " (-v shows each)" : ""));
}

typedef VEC(Group) Groups;

// The group of what is alike; a new one begins with d.
static void put_alike(Arena *a, Groups *groups, Map *seen, Str likeness, const Group *g)
{
    bool added;
    uint32_t *at = map_put(seen, likeness, &added);
    if (added) {
        *at = groups->len;
        vec_push(a, groups, *g);
        return;
    }
    Group *to = &groups->at[*at];
    for (uint32_t i = 0; i < g->count && to->count + i <= MAX_ALIKE && i <= MAX_ALIKE; i++)
        to->others[to->count + i - 1] = i ? g->others[i - 1] : g->first;
    to->merged |= !str_eq(to->first->origin_name, g->first->origin_name);
    to->count += g->count;
}

// One group each origin. Where many of those say the same but for the names, they are one.
static Groups groups_of(Arena *a, const Findings *found)
{
    Map seen = {.arena = a}, ways = {.arena = a}, merged = {.arena = a};
    Groups groups = {0}, all = {0};
    for (uint32_t i = 0; i < found->len; i++)
        put_alike(a, &groups, &seen, likeness(a, found->at[i], true),
                  &(Group){.first = found->at[i], .count = 1});
    for (uint32_t i = 0; i < groups.len; i++)
        ++*map_put(&ways, likeness(a, groups.at[i].first, false), NULL);
    for (uint32_t i = 0; i < groups.len; i++) {
        Str like = likeness(a, groups.at[i].first, false);
        bool many = *map_get(&ways, like) >= MANY && !tool_style.verbose && !tool_style.quiet;
        put_alike(a, &all, &merged, many ? like : str_printf(a, "%u", i), &groups.at[i]);
    }
    return all;
}

// The findings of one model. `shown`: of each rule, over all models; `hidden`: what --max-per-rule
// kept back.
static void print_findings(const LintRun *r, const Findings *found, long *shown, uint32_t *hidden,
                           Buf *out)
{
    Arena *a = arena_new();
    const Groups groups = groups_of(a, found);
    for (uint32_t i = 0; i < groups.len; i++) {
        uint32_t rule = lint_rule_index(groups.at[i].first->rule);
        if (r->max && shown[rule]++ >= r->max)
            hidden[rule] += groups.at[i].count;
        else
            print_group(a, &groups.at[i], r->width, out);
    }
    arena_free(a);
}

// Ends the line that begins at byte `start` of what is printed.
static void end_line(const LintRun *r, size_t start, Buf *out)
{
    if (r->width) {
        Buf line = {0};
        buf_put(&line, out->at + start, out->len - start);
        out->len = start;
        wrap_text(out, (Str){line.at, line.len}, 0, r->width, "", "");
        buf_free(&line);
    } else {
        buf_char(out, '\n');
    }
}

static void put_count(Buf *out, uint32_t n, const char *what)
{
    buf_printf(out, "%u %s%s", n, what, n == 1 ? "" : "s");
}

static void print_repair(const LintRun *r, Buf *out)
{
    for (uint32_t f = 0; f < r->results.len; f++) {
        const Findings *fixed = &r->results.at[f].fixed;
        for (uint32_t i = 0; i < fixed->len; i++) {
            const size_t start = out->len;
            buf_printf(out, "fixed[%s]: ", fixed->at[i]->rule);
            wrap_text(out, fixed->at[i]->message, (uint32_t)(out->len - start), r->width, "", "");
        }
    }
    size_t start = out->len;
    put_count(out, r->repair.retyped, "constant");
    buf_printf(out, " retyped, ");
    put_count(out, r->repair.casts, "cast");
    buf_printf(out, " and ");
    put_count(out, r->repair.transfers, "transfer");
    buf_printf(out, " inserted, lower bound %u", r->repair.lower_bound);
    end_line(r, start, out);
    start = out->len;
    if (r->repair.retargeted) {
        buf_printf(out,
                   r->repair.retargeted == 1
                       ? "1 Cast given another target, or deleted where it had become idle"
                       : "%u Casts given another target, or deleted where they had become idle",
                   r->repair.retargeted);
        end_line(r, start, out);
    }
    if (r->repair.others)
        put_count(out, r->repair.others, "other change"), buf_char(out, '\n');
}

static void print_statistics(const LintRun *r, Buf *out)
{
    uint32_t counts[NRULES] = {0};
    for (uint32_t f = 0; f < r->results.len; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++)
            counts[lint_rule_index(r->results.at[f].found.at[i]->rule)]++;
    for (uint32_t k = 0; k < NRULES && (k == 0 || lint_rules[k - 1].id); k++)
        if (counts[k])
            buf_printf(out, "%7u  %-6s %s\n", counts[k], lint_rules[k].id ? lint_rules[k].id : "-",
                       lint_rules[k].id ? lint_rules[k].doc : "of no rule");
}

static void put_time(Buf *out, double seconds, double all)
{
    buf_printf(out, "%8.3f s  %3.0f %%  ", seconds, all > 0 ? 100 * seconds / all : 0);
}

static void put_rate(Buf *out, double seconds, uint64_t bytes, const char *what)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double n = (double)bytes;
    int u = 0;
    while (n >= 1000 && u < 4)
        n /= 1000, u++;
    buf_printf(out, u ? "%.3g %s of %s" : "%.0f %s of %s", n, units[u], what);
    if (bytes && seconds > 0)
        buf_printf(out, ", %.3g GB/s", (double)bytes / seconds / 1e9);
    buf_char(out, '\n');
}

// Where the processor's time went; of the rules those that took the most.
static void print_times(const LintRun *r, Buf *out)
{
    enum { MOST = 8 };
    const Times *t = &r->times;
    double rules = 0, rest[TIMES_RULES];
    for (uint32_t k = 0; lint_rules[k].id; k++)
        rules += rest[k] = t->rules[k];
    const double all = t->read + t->types + t->weights + rules;
    buf_printf(out, "time of the processor, %.3f s:\n", all);
    put_time(out, t->read, all);
    put_rate(out, t->read, t->read_bytes, "models");
    put_time(out, t->types, all);
    buf_printf(out, "dtypes, shapes, devices\n");
    put_time(out, t->weights, all);
    put_rate(out, t->weights, t->weight_bytes, "weights");
    for (int shown = 0; shown < MOST; shown++) {
        uint32_t most = 0;
        for (uint32_t k = 0; lint_rules[k].id; k++)
            most = rest[k] > rest[most] ? k : most;
        if (rest[most] < all / 100)
            break;
        put_time(out, rest[most], all);
        buf_printf(out, "%-6s %s\n", lint_rules[most].id, lint_rules[most].doc);
        rules -= rest[most];
        rest[most] = 0;
    }
    put_time(out, rules, all);
    buf_printf(out, "other rules\n");
}

// How long it took, and how many findings a repair would take away.
static void print_ways(const LintRun *r, Buf *out)
{
    uint32_t ways[2] = {0};
    for (uint32_t f = 0; f < r->results.len && !r->fix; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++) {
            const Diag *d = r->results.at[f].found.at[i];
            if (d->fixes.len)
                ways[d->fixes.at[0].safe]++;
        }
    buf_printf(out, " (%.2f s", r->seconds);
    if (ways[true])
        buf_printf(out, "; --fix mends %u", ways[true]);
    if (ways[false])
        buf_printf(out, "; --unsafe-fixes mends %u%s", ways[false], ways[true] ? " more" : "");
    buf_char(out, ')');
}

static void print_summary(const LintRun *r, Buf *out)
{
    const size_t start = out->len;
    put_count(out, r->counts[SEV_ERROR], "error");
    buf_printf(out, ", ");
    put_count(out, r->counts[SEV_WARNING], "warning");
    if (r->counts[SEV_INFO]) {
        buf_printf(out, ", ");
        put_count(out, r->counts[SEV_INFO], "remark");
    }
    if (r->results.len > 1)
        buf_printf(out, " in %u models", r->results.len);
    if (r->suppressed)
        buf_printf(out, "; %u of the baseline left out", r->suppressed);
    if (isatty(1))
        print_ways(r, out);
    end_line(r, start, out);
}

void lint_print_text(const LintRun *r)
{
    Buf out = {0};
    long shown[NRULES] = {0};
    uint32_t hidden[NRULES] = {0};
    for (uint32_t f = 0; f < r->results.len; f++) {
        print_findings(r, &r->results.at[f].found, shown, hidden, &out);
        if (r->results.at[f].diff.len)
            buf_str(&out, r->results.at[f].diff);
    }
    for (uint32_t k = 0; k < NRULES && (k == 0 || lint_rules[k - 1].id); k++)
        if (hidden[k])
            buf_printf(&out, "and %u more of %s (--max-per-rule 0 shows all)\n", hidden[k],
                       lint_rules[k].id ? lint_rules[k].id : "no rule");
    if (r->fix)
        print_repair(r, &out);
    if (r->statistics) {
        print_statistics(r, &out);
        print_times(r, &out);
    }
    if (!tool_style.quiet)
        print_summary(r, &out);
    fwrite(out.at ? out.at : "", 1, out.len, stdout);
    buf_free(&out);
}
