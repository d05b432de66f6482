/* Regular expressions in RE2's syntax, matched against whole strings in time proportional to the
 * string's length times the expression's: all states of the automaton at once (K. Thompson,
 * "Regular Expression Search Algorithm", 1968; R. Cox, "Regular Expression Matching: the Virtual
 * Machine Approach", 2009). Unicode properties (\p) and single bytes (\C) are not there. */
#ifndef CAMEO_REGEX_H
#define CAMEO_REGEX_H

#include "cameo_case.h"
#include "cameo_strings.h"

enum { CAMEO_RE_DEPTH = 500, CAMEO_RE_MOST = 1000, CAMEO_RE_SIZE = 100000 };

typedef enum cameo_re_kind {
    CAMEO_RE_SET,    /* a character of `count` ranges from `first` on (negated, in any case) */
    CAMEO_RE_CAT,    /* children one after the other; none: the empty string */
    CAMEO_RE_ALT,    /* one of the children */
    CAMEO_RE_REPEAT, /* the child min to max times; max -1: no bound */
    CAMEO_RE_BEGIN,  /* assertions */
    CAMEO_RE_END,
    CAMEO_RE_LINE_BEGIN,
    CAMEO_RE_LINE_END,
    CAMEO_RE_WORD,
    CAMEO_RE_NO_WORD
} cameo_re_kind;

typedef struct cameo_re_node {
    cameo_re_kind kind;
    int64_t first, count;      /* SET */
    int32_t negated, any_case; /* SET */
    int32_t min, max;          /* REPEAT */
    int32_t child, last, next; /* numbers + 1; 0: none */
} cameo_re_node;

/* An instruction: a test (the node's number) that goes on at `to`, or (node -1) a fork. */
typedef struct cameo_re_step {
    int32_t node, to, other; /* other -1: none */
} cameo_re_step;

typedef struct cameo_re {
    cameo_objects *o;
    const char *at, *end;
    uint32_t *ranges; /* pairs */
    int64_t nranges, range_room;
    cameo_re_node *nodes;
    int64_t nnodes, node_room;
    cameo_re_step *steps;
    int64_t nsteps, step_room, work;
    int any_case, lines, dot_all; /* flags i, m, s */
    int quoted;                   /* between \Q and \E */
    const char *fault;            /* NULL: none */
} cameo_re;

CAMEO_FN void cameo_re_free(cameo_re *r)
{
    free(r->ranges);
    free(r->nodes);
    free(r->steps);
}

CAMEO_FN int cameo_re_fails(cameo_re *r, const char *fault)
{
    r->fault = r->fault ? r->fault : fault;
    r->at = r->end;
    return 0;
}

/* ---- characters and sets */

CAMEO_FN void cameo_re_range(cameo_re *r, uint32_t low, uint32_t high)
{
    if (cameo_objects_grow(r->o, (void **)&r->ranges, &r->range_room, 2 * r->nranges + 2,
                           sizeof *r->ranges)) {
        cameo_re_fails(r, "no memory");
        return;
    }
    r->ranges[2 * r->nranges] = low;
    r->ranges[2 * r->nranges + 1] = high;
    r->nranges++;
}

/* A new node; 0 (number + 1 otherwise) where there is no memory. */
CAMEO_FN int32_t cameo_re_new(cameo_re *r, cameo_re_kind kind)
{
    cameo_re_node fresh = {kind, r->nranges, 0, 0, r->any_case, 0, 0, 0, 0, 0};
    if (r->nnodes >= CAMEO_RE_SIZE || cameo_objects_grow(r->o, (void **)&r->nodes, &r->node_room,
                                                         r->nnodes + 1, sizeof *r->nodes))
        return cameo_re_fails(r, "it is too large");
    r->nodes[r->nnodes++] = fresh;
    return (int32_t)r->nnodes;
}

CAMEO_FN void cameo_re_add(cameo_re *r, int32_t parent, int32_t child)
{
    if (!parent || !child)
        return;
    cameo_re_node *p = &r->nodes[parent - 1];
    if (p->last)
        r->nodes[p->last - 1].next = child;
    else
        p->child = child;
    p->last = child;
}

/* The ranges from `from` on, and in any case those of single characters' other cases. */
CAMEO_FN int32_t cameo_re_set(cameo_re *r, int64_t from, int negated)
{
    int64_t end = r->nranges;
    for (int64_t i = from; r->any_case && i < end && !r->fault; i++) {
        uint32_t c = r->ranges[2 * i];
        if (c != r->ranges[2 * i + 1])
            continue;
        cameo_re_range(r, cameo_lower(c), cameo_lower(c));
        cameo_re_range(r, cameo_upper(c), cameo_upper(c));
    }
    int32_t n = cameo_re_new(r, CAMEO_RE_SET);
    if (n) {
        r->nodes[n - 1].first = from;
        r->nodes[n - 1].count = r->nranges - from;
        r->nodes[n - 1].negated = negated;
    }
    return n;
}

CAMEO_FN int32_t cameo_re_literal(cameo_re *r, uint32_t c)
{
    int64_t from = r->nranges;
    cameo_re_range(r, c, c);
    return cameo_re_set(r, from, 0);
}

/* The next character of the expression, which is taken. */
CAMEO_FN uint32_t cameo_re_next(cameo_re *r)
{
    uint32_t c;
    if (r->at == r->end)
        return (uint32_t)cameo_re_fails(r, "it ends too early");
    r->at += cameo_decode_utf8(r->at, r->end - r->at, &c);
    if (c == CAMEO_NO_CHARACTER)
        return (uint32_t)cameo_re_fails(r, "it is no UTF-8");
    return c;
}

CAMEO_FN int cameo_re_take(cameo_re *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return 0;
    r->at++;
    return 1;
}

/* Characters by name, as pairs of first and last; the complement where negated. */
CAMEO_FN void cameo_re_ascii(cameo_re *r, const char *pairs, int negated)
{
    uint32_t next = 0;
    for (; pairs[0]; pairs += 2) {
        if (!negated)
            cameo_re_range(r, (unsigned char)pairs[0], (unsigned char)pairs[1]);
        else if ((unsigned char)pairs[0] > next)
            cameo_re_range(r, next, (unsigned char)pairs[0] - 1u);
        next = (unsigned char)pairs[1] + 1u;
    }
    if (negated)
        cameo_re_range(r, next, 0x10ffff);
}

/* \d \s \w and their complements; 0: the letter means no such. */
CAMEO_FN int cameo_re_perl(cameo_re *r, char letter)
{
    const char *pairs = letter == 'd' || letter == 'D'   ? "09"
                        : letter == 's' || letter == 'S' ? "\t\n\f\r  "
                        : letter == 'w' || letter == 'W' ? "09AZ__az"
                                                         : NULL;
    if (pairs)
        cameo_re_ascii(r, pairs, letter < 'a');
    return pairs != NULL;
}

/* [:alpha:] and so on, of which "[:" is taken already; 0: it is no such thing. */
CAMEO_FN int cameo_re_posix(cameo_re *r)
{
    static const char *const names[][2] = {
        {"alnum", "09AZaz"},   {"alpha", "AZaz"},         {"ascii", "\1\177"}, {"blank", "\t\t  "},
        {"digit", "09"},       {"graph", "!~"},           {"lower", "az"},     {"print", " ~"},
        {"punct", "!/:@[`{~"}, {"space", "\t\r  "},       {"upper", "AZ"},     {"word", "09AZ__az"},
        {"xdigit", "09AFaf"},  {"cntrl", "\1\37\177\177"}};
    const char *from = r->at;
    int negated = cameo_re_take(r, '^');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i][0]);
        if ((size_t)(r->end - r->at) < n + 2 || memcmp(r->at, names[i][0], n) != 0 ||
            memcmp(r->at + n, ":]", 2) != 0)
            continue;
        r->at += n + 2;
        if (!negated && (i == 2 || i == 13))
            cameo_re_range(r, 0, 0);
        cameo_re_ascii(r, names[i][1], negated);
        return 1;
    }
    r->at = from;
    return 0;
}

CAMEO_FN int cameo_re_digit(char c, int base)
{
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < base ? v : -1;
}

/* \x41, \x{1F600} */
CAMEO_FN uint32_t cameo_re_hex(cameo_re *r)
{
    uint32_t v = 0;
    int braces = cameo_re_take(r, '{'), n = 0;
    for (; r->at < r->end && n < (braces ? 8 : 2) && cameo_re_digit(*r->at, 16) >= 0; n++)
        v = v << 4 | (uint32_t)cameo_re_digit(*r->at++, 16);
    if (n < (braces ? 1 : 2) || v > 0x10ffff || (braces && !cameo_re_take(r, '}')))
        return (uint32_t)cameo_re_fails(r, "\\x is not followed by a code point");
    return v;
}

/* The one character that an escape means, of which the backslash is taken. */
CAMEO_FN uint32_t cameo_re_escaped(cameo_re *r)
{
    static const char letters[] = "aftnrv", meant[] = "\a\f\t\n\r\v";
    uint32_t c = cameo_re_next(r), v;
    if (c >= '0' && c <= '7') {
        v = c - '0';
        if (c != '0' && (r->at == r->end || cameo_re_digit(*r->at, 8) < 0))
            return (uint32_t)cameo_re_fails(r, "back references are no regular expressions");
        for (int n = 1; n < 3 && r->at < r->end && cameo_re_digit(*r->at, 8) >= 0; n++)
            v = v * 8 + (uint32_t)cameo_re_digit(*r->at++, 8);
        return v;
    }
    if (c == 'x')
        return cameo_re_hex(r);
    const char *letter = c && c < 128 ? strchr(letters, (int)c) : NULL;
    if (letter)
        return (unsigned char)meant[letter - letters];
    int word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == 'p' || c == 'P')
        return (uint32_t)cameo_re_fails(r, "Unicode properties (\\p) are not supported");
    if (c >= 128 || word || c == '_')
        return (uint32_t)cameo_re_fails(r, "an escape that means nothing");
    return c;
}

/* [...], of which "[" is taken. */
CAMEO_FN int32_t cameo_re_class(cameo_re *r)
{
    int64_t from = r->nranges;
    int negated = cameo_re_take(r, '^'), first = 1;
    while (!r->fault && (first || r->at == r->end || *r->at != ']')) {
        first = 0;
        if (r->end - r->at > 1 && r->at[0] == '[' && r->at[1] == ':') {
            r->at += 2;
            if (cameo_re_posix(r))
                continue;
            return cameo_re_fails(r, "a class of characters that nobody knows");
        }
        int escape = cameo_re_take(r, '\\');
        if (escape && r->at < r->end && cameo_re_perl(r, *r->at)) {
            r->at++;
            continue;
        }
        uint32_t low = escape ? cameo_re_escaped(r) : cameo_re_next(r), high = low;
        if (r->end - r->at > 1 && r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            high = cameo_re_take(r, '\\') ? cameo_re_escaped(r) : cameo_re_next(r);
        }
        if (high < low)
            cameo_re_fails(r, "a range of characters that is the wrong way round");
        cameo_re_range(r, low, high);
    }
    r->at += r->at < r->end;
    return cameo_re_set(r, from, negated);
}

/* ---- the expression */

CAMEO_FN int32_t cameo_re_parse(cameo_re *r, int depth);

/* (?:, (?i), (?P<name>, of which "(" is taken. 1: a group begins; 0: flags only. */
CAMEO_FN int cameo_re_flags(cameo_re *r)
{
    int on = 1, any = 0;
    if (!cameo_re_take(r, '?'))
        return 1;
    const char *from = r->at;
    if ((cameo_re_take(r, 'P') || 1) && cameo_re_take(r, '<')) {
        while (r->at < r->end &&
               (cameo_re_digit(*r->at, 10) >= 0 || *r->at == '_' ||
                (*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z')))
            r->at++, any = 1;
        return any && cameo_re_take(r, '>') ? 1 : cameo_re_fails(r, "a group with no good name");
    }
    for (r->at = from; r->at < r->end; r->at++) {
        switch (*r->at) {
        case 'i':
            r->any_case = on;
            break;
        case 'm':
            r->lines = on;
            break;
        case 's':
            r->dot_all = on;
            break;
        case 'U':
            break;
        case '-':
            if (!on)
                return cameo_re_fails(r, "flags that cannot be read");
            on = 0;
            break;
        case ':':
        case ')':
            return *r->at++ == ':';
        default:
            return cameo_re_fails(r, "a group of a kind that is no regular expression");
        }
    }
    return cameo_re_fails(r, "a group that does not end");
}

/* Takes \E, where that stands here. */
CAMEO_FN int cameo_re_end_quote(cameo_re *r)
{
    if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'E')
        return 0;
    r->at += 2;
    return 1;
}

/* A backslash is taken. */
CAMEO_FN int32_t cameo_re_escape(cameo_re *r)
{
    int64_t from = r->nranges;
    char c = r->at < r->end ? *r->at : 0;
    cameo_re_kind kind = c == 'A'   ? CAMEO_RE_BEGIN
                         : c == 'z' ? CAMEO_RE_END
                         : c == 'b' ? CAMEO_RE_WORD
                         : c == 'B' ? CAMEO_RE_NO_WORD
                                    : CAMEO_RE_SET;
    if (kind != CAMEO_RE_SET) {
        r->at++;
        return cameo_re_new(r, kind);
    }
    if (c == 'Q') {
        r->at++;
        r->quoted = !cameo_re_end_quote(r);
        return 0;
    }
    if (c && cameo_re_perl(r, c)) {
        r->at++;
        return cameo_re_set(r, from, 0);
    }
    return cameo_re_literal(r, cameo_re_escaped(r));
}

/* One thing that may be repeated; 0: flags, or a fault. */
CAMEO_FN int32_t cameo_re_atom(cameo_re *r, int depth)
{
    int64_t from = r->nranges;
    uint32_t c = cameo_re_next(r);
    int any_case = r->any_case, lines = r->lines, dot_all = r->dot_all;
    switch (c) {
    case '(':
        if (!cameo_re_flags(r))
            return 0;
        int32_t group = cameo_re_parse(r, depth + 1);
        if (!r->fault && !cameo_re_take(r, ')'))
            return cameo_re_fails(r, "a group that does not end");
        r->any_case = any_case;
        r->lines = lines;
        r->dot_all = dot_all;
        return group;
    case '[':
        return cameo_re_class(r);
    case '\\':
        return cameo_re_escape(r);
    case '.':
        if (!dot_all)
            cameo_re_range(r, '\n', '\n');
        return cameo_re_set(r, from, 1);
    case '^':
        return cameo_re_new(r, lines ? CAMEO_RE_LINE_BEGIN : CAMEO_RE_BEGIN);
    case '$':
        return cameo_re_new(r, lines ? CAMEO_RE_LINE_END : CAMEO_RE_END);
    case '*':
    case '+':
    case '?':
        return cameo_re_fails(r, "nothing stands before a repetition");
    default:
        return cameo_re_literal(r, c);
    }
}

/* {2}, {2,}, {2,5}; 0: it is no such thing, and nothing is taken. */
CAMEO_FN int cameo_re_counts(cameo_re *r, int32_t *min, int32_t *max)
{
    const char *at = r->at + 1;
    int32_t v[2] = {0, -1};
    int n = 0;
    for (; n < 2; n++) {
        int digits = 0;
        for (; at < r->end && *at >= '0' && *at <= '9'; at++, digits = 1) {
            v[n] = (digits ? v[n] : 0) * 10 + (*at - '0');
            v[n] = v[n] > CAMEO_RE_MOST ? CAMEO_RE_MOST + 1 : v[n];
        }
        if (n == 0 && !digits)
            return 0;
        if (n == 1 || at == r->end || *at != ',')
            break;
        at++;
    }
    if (at == r->end || *at != '}')
        return 0;
    r->at = at + 1;
    *min = v[0];
    *max = n == 0 ? v[0] : v[1];
    if (*min > CAMEO_RE_MOST || *max > CAMEO_RE_MOST || (*max >= 0 && *max < *min))
        cameo_re_fails(r, "a repetition over 1000 times, or the wrong way round");
    return 1;
}

/* What stands behind an atom. */
CAMEO_FN int32_t cameo_re_repeated(cameo_re *r, int32_t atom)
{
    int32_t min = 0, max = -1, again = 0;
    while (r->at < r->end && !r->fault) {
        char c = *r->at;
        if (c == '{' ? !cameo_re_counts(r, &min, &max) : c != '*' && c != '+' && c != '?')
            break;
        if (c != '{') {
            r->at++;
            min = c == '+';
            max = c == '?' ? 1 : -1;
        }
        if (again++)
            return cameo_re_fails(r, "a repetition of a repetition");
        cameo_re_take(r, '?'); /* how much is taken first does not matter to a match of all */
        int32_t repeat = cameo_re_new(r, CAMEO_RE_REPEAT);
        if (!repeat || !atom)
            return cameo_re_fails(r, "nothing stands before a repetition");
        r->nodes[repeat - 1].min = min;
        r->nodes[repeat - 1].max = max;
        cameo_re_add(r, repeat, atom);
        atom = repeat;
    }
    return atom;
}

CAMEO_FN int32_t cameo_re_parse(cameo_re *r, int depth)
{
    int32_t all = cameo_re_new(r, CAMEO_RE_ALT), one = cameo_re_new(r, CAMEO_RE_CAT);
    if (depth > CAMEO_RE_DEPTH)
        cameo_re_fails(r, "its groups are nested too deeply");
    cameo_re_add(r, all, one);
    while (r->at < r->end && (r->quoted || *r->at != ')')) {
        if (r->quoted) { /* what is repeated behind \E is the last character before it */
            int32_t literal = cameo_re_literal(r, cameo_re_next(r));
            r->quoted = !cameo_re_end_quote(r);
            cameo_re_add(r, one, r->quoted ? literal : cameo_re_repeated(r, literal));
            continue;
        }
        if (cameo_re_take(r, '|')) {
            one = cameo_re_new(r, CAMEO_RE_CAT);
            cameo_re_add(r, all, one);
            continue;
        }
        int32_t atom = cameo_re_atom(r, depth);
        cameo_re_add(r, one, cameo_re_repeated(r, atom));
    }
    return all;
}

/* ---- the automaton */

CAMEO_FN int32_t cameo_re_emit(cameo_re *r, int32_t node, int32_t to, int32_t other)
{
    cameo_re_step s = {node, to, other};
    if (r->nsteps >= CAMEO_RE_SIZE || cameo_objects_grow(r->o, (void **)&r->steps, &r->step_room,
                                                         r->nsteps + 1, sizeof *r->steps))
        return cameo_re_fails(r, "it is too large");
    r->steps[r->nsteps] = s;
    return (int32_t)r->nsteps++;
}

/* Steps that match a node and go on at `to`; where they begin. Written from the end back. */
CAMEO_FN int32_t cameo_re_compile(cameo_re *r, int32_t number, int32_t to)
{
    const cameo_re_node n = r->nodes[number];
    if (r->fault || ++r->work > 10 * CAMEO_RE_SIZE)
        return cameo_re_fails(r, "it is too large");
    if (n.kind == CAMEO_RE_CAT && n.child) {
        int32_t count = 0;
        for (int32_t c = n.child; c; c = r->nodes[c - 1].next)
            count++;
        int32_t *children = (int32_t *)malloc((size_t)count * sizeof *children);
        if (!children)
            return cameo_re_fails(r, "no memory");
        count = 0;
        for (int32_t c = n.child; c; c = r->nodes[c - 1].next)
            children[count++] = c;
        while (count-- > 0)
            to = cameo_re_compile(r, children[count] - 1, to);
        free(children);
        return to;
    }
    if (n.kind == CAMEO_RE_CAT)
        return to;
    if (n.kind == CAMEO_RE_ALT) {
        int32_t at = cameo_re_compile(r, n.child - 1, to);
        for (int32_t c = r->nodes[n.child - 1].next; c && !r->fault; c = r->nodes[c - 1].next) {
            int32_t branch = cameo_re_compile(r, c - 1, to);
            at = cameo_re_emit(r, -1, at, branch);
        }
        return at;
    }
    if (n.kind != CAMEO_RE_REPEAT)
        return cameo_re_emit(r, number, to, -1);
    if (n.max < 0) { /* a fork into the child, which comes back to it */
        int32_t fork = cameo_re_emit(r, -1, to, -1);
        int32_t body = cameo_re_compile(r, n.child - 1, fork);
        if (!r->fault)
            r->steps[fork].other = body;
        to = fork;
    }
    int32_t end = to;
    for (int32_t i = n.min; i < n.max && !r->fault; i++)
        to = cameo_re_emit(r, -1, cameo_re_compile(r, n.child - 1, to), end);
    for (int32_t i = 0; i < n.min && !r->fault; i++)
        to = cameo_re_compile(r, n.child - 1, to);
    return to;
}

/* The automaton of an expression; *start: its first step. Step 0 is the end. NULL, or what is wrong
 * with the expression. */
CAMEO_FN const char *cameo_re_read(cameo_re *r, cameo_objects *o, cameo_str text, int32_t *start)
{
    cameo_re none = {0};
    *r = none;
    r->o = o;
    r->at = text.at;
    r->end = text.at + text.len;
    int32_t all = cameo_re_parse(r, 0);
    if (!r->fault && r->at < r->end)
        cameo_re_fails(r, "a parenthesis that closes nothing");
    cameo_re_emit(r, -1, -1, -1);
    *start = r->fault ? 0 : cameo_re_compile(r, all - 1, 0);
    return r->fault;
}

/* ---- matching */

typedef struct cameo_re_run {
    const cameo_re *r;
    int32_t *now, *next, *stack; /* tests that wait for a character; room for all steps each */
    int64_t *seen;               /* by step: the position at which it was last reached */
    int64_t nnow, nnext;
    int matched;
} cameo_re_run;

CAMEO_FN int cameo_re_is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* Does an assertion hold between two characters (CAMEO_NO_CHARACTER - 1: an end of the text)? */
CAMEO_FN int cameo_re_holds(cameo_re_kind kind, uint32_t before, uint32_t after)
{
    const uint32_t end = CAMEO_NO_CHARACTER - 1;
    switch (kind) {
    case CAMEO_RE_BEGIN:
        return before == end;
    case CAMEO_RE_END:
        return after == end;
    case CAMEO_RE_LINE_BEGIN:
        return before == end || before == '\n';
    case CAMEO_RE_LINE_END:
        return after == end || after == '\n';
    default:
        return (cameo_re_is_word(before) != cameo_re_is_word(after)) == (kind == CAMEO_RE_WORD);
    }
}

/* Adds a step, and all that it leads to without a character, to `next`. */
CAMEO_FN void cameo_re_reach(cameo_re_run *x, int32_t step, int64_t position, uint32_t before,
                             uint32_t after)
{
    int64_t depth = 0;
    for (;;) {
        if (step >= 0 && x->seen[step] != position + 1) {
            const cameo_re_step *s = &x->r->steps[step];
            x->seen[step] = position + 1;
            if (step == 0) {
                x->matched = 1;
            } else if (s->node < 0) {
                x->stack[depth++] = s->other;
                step = s->to;
                continue;
            } else if (x->r->nodes[s->node].kind == CAMEO_RE_SET) {
                x->next[x->nnext++] = step;
            } else if (cameo_re_holds(x->r->nodes[s->node].kind, before, after)) {
                step = s->to;
                continue;
            }
        }
        if (depth == 0)
            return;
        step = x->stack[--depth];
    }
}

CAMEO_FN int cameo_re_in(const cameo_re *r, const cameo_re_node *n, uint32_t c)
{
    uint32_t cases[3] = {c, c, c};
    if (c == CAMEO_NO_CHARACTER)
        return 0;
    if (n->any_case) {
        cases[1] = cameo_lower(c);
        cases[2] = cameo_upper(c);
    }
    for (int64_t i = n->first; i < n->first + n->count; i++)
        for (int k = 0; k < (n->any_case ? 3 : 1); k++)
            if (cases[k] >= r->ranges[2 * i] && cases[k] <= r->ranges[2 * i + 1])
                return !n->negated;
    return n->negated;
}

CAMEO_FN int cameo_re_matches(cameo_re_run *x, int32_t start, cameo_str s)
{
    const uint32_t end = CAMEO_NO_CHARACTER - 1;
    uint32_t c = end, after = end;
    int n = s.len > 0 ? cameo_decode_utf8(s.at, s.len, &after) : 0;
    memset(x->seen, 0, (size_t)x->r->nsteps * sizeof *x->seen);
    x->nnext = x->matched = 0;
    cameo_re_reach(x, start, 0, end, after);
    for (int64_t at = 0; at < s.len && (x->nnext || x->matched);) {
        int32_t *swap = x->now;
        x->now = x->next;
        x->next = swap;
        x->nnow = x->nnext;
        x->nnext = x->matched = 0;
        c = after;
        at += n;
        after = end;
        n = at < s.len ? cameo_decode_utf8(s.at + at, s.len - at, &after) : 0;
        for (int64_t i = 0; i < x->nnow; i++) {
            const cameo_re_step *step = &x->r->steps[x->now[i]];
            if (cameo_re_in(x->r, &x->r->nodes[step->node], c))
                cameo_re_reach(x, step->to, at, c, after);
        }
    }
    return x->matched;
}

/* (x, expression[1]) => (y): which strings are matched, whole. */
CAMEO_FN int cameo_string_match(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    int32_t start;
    if (cameo_view_count(&c->reads[1]) != 1 || cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    cameo_re r;
    const char *fault =
        cameo_re_read(&r, o, cameo_string_of(o, cameo_symbols_in(&c->reads[1])[0]), &start);
    int64_t size = (int64_t)sizeof(int32_t) * (r.nsteps + 1);
    cameo_re_run x = {&r, NULL, NULL, NULL, NULL, 0, 0, 0};
    x.now = (int32_t *)cameo_objects_alloc(o, size);
    x.next = (int32_t *)cameo_objects_alloc(o, size);
    x.stack = (int32_t *)cameo_objects_alloc(o, size);
    x.seen = (int64_t *)cameo_objects_alloc(o, 2 * size);
    int status = fault                                  ? cameo_objects_fail(o, "%s", fault)
                 : x.now && x.next && x.stack && x.seen ? 0
                                                        : -1;
    for (int64_t i = 0; i < count && status == 0; i++)
        ((unsigned char *)(uintptr_t)c->writes[0].at)[i] = (unsigned char)cameo_re_matches(
            &x, start, cameo_string_of(o, cameo_symbols_in(&c->reads[0])[i]));
    cameo_re_free(&r);
    return status;
}

#endif
