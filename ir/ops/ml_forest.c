// Reading tree ensembles: the attributes of TreeEnsembleClassifier, TreeEnsembleRegressor (1, 3)
// and TreeEnsemble (5) into one form of tables, and everything that could be wrong with them.

#include "ir/ops/ml_forest.h"

#include <math.h>
#include <string.h>

static const Forest *malformed(Lower *l, const char *what)
{
    not_supported(l, "%.*s: %s", STR_ARG(str_escaped(l->arena, l->n->op)), what);
    return NULL;
}

// Walks from the roots with a stack of its own: 1 open, 2 done. A place met while open is a circle.
static bool runs_in_circles(Lower *l, const Forest *f)
{
    uint8_t *state = NEWS(l->arena, uint8_t, f->nnodes + 1u);
    int64_t *stack = NEWS(l->arena, int64_t, 2u * (size_t)f->nnodes + 2);
    for (uint32_t t = 0; t < f->ntrees; t++) {
        size_t depth = 0;
        stack[depth++] = f->roots[t];
        while (depth) {
            int64_t at = stack[--depth];
            if (at < 0 || state[at] == 2)
                continue;
            if (state[at] == 1) { // its children are done
                state[at] = 2;
                continue;
            }
            state[at] = 1;
            stack[depth++] = at;
            int64_t next[2] = {f->yes[at], f->no[at]};
            for (int k = 0; k < 2; k++) {
                if (next[k] < 0 || state[next[k]] == 2)
                    continue;
                if (state[next[k]] == 1 || depth > 2u * (size_t)f->nnodes)
                    return true;
                stack[depth++] = next[k];
            }
        }
    }
    return false;
}

static const Forest *checked(Lower *l, Forest *f, uint32_t targets)
{
    if (f->ntrees == 0)
        return malformed(l, "there are no trees");
    for (uint32_t i = 0; i < f->nnodes; i++) {
        if (f->feature[i] < 0 || f->feature[i] > INT32_MAX)
            return malformed(l, "a feature id is out of range");
        if (f->feature[i] >= f->features)
            f->features = f->feature[i] + 1;
    }
    for (uint32_t i = 0; i < f->nvotes; i++)
        if (f->target[i] < 0 || f->target[i] >= (int64_t)targets)
            return malformed(l, "a vote is for a class or target that there is not");
    if (runs_in_circles(l, f))
        return malformed(l, "a path through a tree comes back to where it was");
    return f;
}

// ---- versions 1 and 3: nodes by (tree, node), leaves among them

typedef struct Given { // parallel attributes
    uint32_t n;
    const int64_t *tree, *id, *feature, *yes, *no, *missing;
    const Str *mode;
    const double *value;
    uint32_t nmissing;
} Given;

static Str pair_key(Arena *a, int64_t tree, int64_t id)
{
    int64_t key[2] = {tree, id};
    return (Str){arena_copy(a, key, sizeof key), sizeof key};
}

static const int64_t *ints_of(const Node *n, const char *name, uint32_t want, bool *fits)
{
    const Attr *a = attr_find(n, name);
    *fits = *fits && a && a->nints == want;
    return a ? a->ints : NULL;
}

static bool read_given(Lower *l, Given *g)
{
    const Node *n = l->n;
    const Attr *modes = attr_find(n, "nodes_modes"),
               *missing = attr_find(n, "nodes_missing_value_tracks_true");
    uint32_t values;
    bool fits = modes && modes->nstrings && modes->nstrings < INT32_MAX;
    g->n = modes ? modes->nstrings : 0;
    g->mode = modes ? modes->strings : NULL;
    g->tree = ints_of(n, "nodes_treeids", g->n, &fits);
    g->id = ints_of(n, "nodes_nodeids", g->n, &fits);
    g->feature = ints_of(n, "nodes_featureids", g->n, &fits);
    g->yes = ints_of(n, "nodes_truenodeids", g->n, &fits);
    g->no = ints_of(n, "nodes_falsenodeids", g->n, &fits);
    g->value = ml_numbers(l->model, n, "nodes_values", &values);
    g->missing = missing ? missing->ints : NULL;
    g->nmissing = missing ? missing->nints : 0;
    return fits && values == g->n && (g->nmissing == 0 || g->nmissing == g->n);
}

static int mode_of(Str s)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    for (int m = 0; m < 7; m++)
        if (str_is(s, names[m]))
            return m;
    return -1;
}

static void allocate(Arena *a, Forest *f)
{
    f->feature = NEWS(a, int64_t, f->nnodes + 1u);
    f->mode = NEWS(a, int64_t, f->nnodes + 1u);
    f->yes = NEWS(a, int64_t, f->nnodes + 1u);
    f->no = NEWS(a, int64_t, f->nnodes + 1u);
    f->missing = NEWS(a, int64_t, f->nnodes + 1u);
    f->threshold = NEWS(a, double, f->nnodes + 1u);
    f->first_member = NEWS(a, int64_t, f->nnodes + 1u);
    f->first_vote = NEWS(a, int64_t, f->nleaves + 1u);
    f->target = NEWS(a, int64_t, f->nvotes + 1u);
    f->weight = NEWS(a, double, f->nvotes + 1u);
}

// Votes sorted by leaf: count, then place, in the order of the file.
static void sort_votes(Arena *a, Forest *f, const uint32_t *leaf, const int64_t *target,
                       const double *weight)
{
    for (uint32_t i = 0; i < f->nvotes; i++)
        f->first_vote[leaf[i] + 1]++;
    for (uint32_t i = 0; i < f->nleaves; i++)
        f->first_vote[i + 1] += f->first_vote[i];
    int64_t *next = NEWS(a, int64_t, f->nleaves + 1u);
    memcpy(next, f->first_vote, (f->nleaves + 1u) * sizeof *next);
    for (uint32_t i = 0; i < f->nvotes; i++) {
        int64_t at = next[leaf[i]]++;
        f->target[at] = target[i];
        f->weight[at] = weight[i];
    }
}

// The votes of "class_*" or "target_*". Those for inner nodes are never reached.
static bool read_votes(Lower *l, Forest *f, const char *prefix, const Map *ids,
                       const int64_t *place)
{
    Arena *a = l->arena;
    uint32_t n;
    bool fits = true;
    const double *weight = ml_numbers(l->model, l->n, str_printf(a, "%s_weights", prefix).at, &n);
    const int64_t *tree = ints_of(l->n, str_printf(a, "%s_treeids", prefix).at, n, &fits),
                  *node = ints_of(l->n, str_printf(a, "%s_nodeids", prefix).at, n, &fits),
                  *target = ints_of(l->n, str_printf(a, "%s_ids", prefix).at, n, &fits);
    if (!fits)
        return false;
    uint32_t *leaf = NEWS(a, uint32_t, n + 1u), kept = 0;
    int64_t *to = NEWS(a, int64_t, n + 1u);
    double *by = NEWS(a, double, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *at = map_get(ids, pair_key(a, tree[i], node[i]));
        if (!at)
            return false;
        if (place[*at] >= 0)
            continue;
        leaf[kept] = (uint32_t)(-1 - place[*at]);
        to[kept] = target[i];
        by[kept++] = weight[i];
    }
    f->nvotes = kept;
    allocate(a, f);
    sort_votes(a, f, leaf, to, by);
    return true;
}

static bool fill_nodes(Lower *l, Forest *f, const Given *g, const Map *ids, const int64_t *place)
{
    for (uint32_t i = 0; i < g->n; i++) {
        if (place[i] < 0)
            continue;
        const uint32_t *yes = map_get(ids, pair_key(l->arena, g->tree[i], g->yes[i])),
                       *no = map_get(ids, pair_key(l->arena, g->tree[i], g->no[i]));
        if (!yes || !no)
            return false;
        int64_t at = place[i];
        f->feature[at] = g->feature[i];
        f->mode[at] = mode_of(g->mode[i]);
        f->yes[at] = place[*yes];
        f->no[at] = place[*no];
        f->threshold[at] = g->value[i];
        f->missing[at] = g->nmissing && g->missing[i] == 1;
    }
    return true;
}

const Forest *forest_read_nodes(Lower *l, const char *votes, uint32_t targets)
{
    Arena *a = l->arena;
    Given g = {0};
    if (!read_given(l, &g))
        return malformed(l, "the attributes nodes_* have not one length");
    Forest *f = NEW(a, Forest);
    Map ids = {.arena = a}, trees = {.arena = a};
    int64_t *place = NEWS(a, int64_t, g.n);
    f->roots = NEWS(a, int64_t, g.n);
    f->wide = node_has_attr(l->n, "nodes_values_as_tensor");
    for (uint32_t i = 0; i < g.n; i++) {
        bool added, first;
        int mode = mode_of(g.mode[i]);
        if (mode < 0) {
            not_supported(l, "%.*s with node mode \"%.*s\"", STR_ARG(str_escaped(a, l->n->op)),
                          STR_ARG(str_escaped(a, g.mode[i])));
            return NULL;
        }
        *map_put(&ids, pair_key(a, g.tree[i], g.id[i]), &added) = i;
        if (!added)
            return malformed(l, "two nodes of a tree have one id");
        place[i] = mode == 6 ? -1 - (int64_t)f->nleaves++ : (int64_t)f->nnodes++;
        map_put(&trees, pair_key(a, g.tree[i], 0), &first);
        if (first)
            f->roots[f->ntrees++] = place[i];
    }
    if (!read_votes(l, f, votes, &ids, place))
        return malformed(l, "the votes of the leaves do not fit the nodes");
    if (!fill_nodes(l, f, &g, &ids, place))
        return malformed(l, "a node has a child that there is not");
    return checked(l, f, targets);
}

// ---- version 5: inner nodes and leaves apart

// One set for each MEMBER node in order, NaN between them (and maybe behind the last).
static bool read_members(Lower *l, Forest *f)
{
    uint32_t n, at = 0;
    const double *all = ml_tensor_numbers(l->model, l->n, "membership_values", &n);
    f->members = NEWS(l->arena, double, n + 1u);
    for (uint32_t i = 0; i < f->nnodes; i++) {
        f->first_member[i] = f->nmembers;
        if (f->mode[i] != MODE_MEMBER)
            continue;
        if (at >= n)
            return false;
        while (at < n && !isnan(all[at]))
            f->members[f->nmembers++] = all[at++];
        at++;
    }
    f->first_member[f->nnodes] = f->nmembers;
    return at >= n;
}

static bool child_of(const Forest *f, int64_t id, int64_t is_leaf, int64_t *place)
{
    if (id < 0 || id >= (int64_t)(is_leaf ? f->nleaves : f->nnodes))
        return false;
    *place = is_leaf ? -1 - id : id;
    return true;
}

static bool fill_nodes_5(Lower *l, Forest *f, const double *mode, const double *split)
{
    const Node *n = l->n;
    bool fits = true;
    const Attr *missing = attr_find(n, "nodes_missing_value_tracks_true");
    const int64_t *feature = ints_of(n, "nodes_featureids", f->nnodes, &fits),
                  *yes = ints_of(n, "nodes_truenodeids", f->nnodes, &fits),
                  *no = ints_of(n, "nodes_falsenodeids", f->nnodes, &fits),
                  *yes_leaf = ints_of(n, "nodes_trueleafs", f->nnodes, &fits),
                  *no_leaf = ints_of(n, "nodes_falseleafs", f->nnodes, &fits);
    if (!fits || (missing && missing->nints && missing->nints != f->nnodes))
        return false;
    for (uint32_t i = 0; i < f->nnodes; i++) {
        if (!child_of(f, yes[i], yes_leaf[i], &f->yes[i]) ||
            !child_of(f, no[i], no_leaf[i], &f->no[i]) || !(mode[i] >= 0 && mode[i] <= 6))
            return false;
        f->feature[i] = feature[i];
        f->mode[i] = (int64_t)mode[i];
        f->threshold[i] = split[i];
        f->missing[i] = missing && missing->nints && missing->ints[i] == 1;
    }
    return true;
}

const Forest *forest_read_5(Lower *l, uint32_t targets)
{
    Forest *f = NEW(l->arena, Forest);
    const Node *n = l->n;
    uint32_t nmodes, nsplits;
    const double *mode = ml_tensor_numbers(l->model, n, "nodes_modes", &nmodes),
                 *split = ml_tensor_numbers(l->model, n, "nodes_splits", &nsplits),
                 *weight = ml_tensor_numbers(l->model, n, "leaf_weights", &f->nleaves);
    const Attr *target = attr_find(n, "leaf_targetids"), *roots = attr_find(n, "tree_roots");
    if (!mode || !split || !weight || nmodes != nsplits || !target || !roots ||
        target->nints != f->nleaves)
        return malformed(l, "the attributes nodes_* or leaf_* have not one length");
    f->nnodes = nmodes;
    f->nvotes = f->nleaves;
    f->ntrees = roots->nints;
    f->roots = NEWS(l->arena, int64_t, f->ntrees + 1u);
    for (uint32_t i = 0; i < f->ntrees; i++)
        f->roots[i] = roots->ints[i];
    allocate(l->arena, f);
    for (uint32_t i = 0; i < f->nleaves; i++) {
        f->first_vote[i] = i;
        f->target[i] = target->ints[i];
        f->weight[i] = weight[i];
    }
    f->first_vote[f->nleaves] = f->nleaves;
    for (uint32_t i = 0; i < f->ntrees; i++)
        if (f->roots[i] < 0 || f->roots[i] >= (int64_t)f->nnodes)
            return malformed(l, "a root is no node");
    if (!fill_nodes_5(l, f, mode, split))
        return malformed(l, "a node has a mode or a child that there is not");
    if (!read_members(l, f))
        return malformed(l, "membership_values has not one set for each BRANCH_MEMBER node");
    return checked(l, f, targets);
}
