// The choice for a budget: what is rounded, so that the outputs stay within it.
//
// 1. Everything that may be. Where that is within the budget, nothing is to choose.
// 2. What rounding costs, lambda, so that what is predicted is within a limit; what comes of it is
//    run, and the limit shrinks until what is measured is within the budget.
// 3. What is left: a minimum cut by one price gives only choices that are best for some lambda, and
//    what is predicted is not what is measured. So the limit grows again while what is measured is
//    within the budget, and of the nodes that stay for their rounding the dearest are tried in the
//    other dtype one by one, those first that are predicted to fit. Then each is put there whatever
//    it takes: others stay for it, and of these what need not goes back. What is kept was run.

#include "tools/convert.h"

#include <math.h>
#include <string.h>

enum {
    GROWTHS = 3,   // runs with a greater limit
    LOWERINGS = 5, // runs with one more node in the dtype asked for
    PROBES = 32,   // of one node more that are only predicted, to find those
    SWAPS = 4,     // nodes that others may stay for
    SWAP_RUNS = 3  // runs with others that stay instead
};

// What is chosen by, and what came of it.
typedef struct Choice {
    double lambda, limit, predicted, excess, products;
    uint32_t casts;
} Choice;

typedef struct Search {
    ConvertRun *r;
    const Config *config;
    Buf *report;
    double whole;  // the noise of everything
    double failed; // the least limit that was not met
    double ratio;  // what was measured last by what was predicted, in budgets
    Choice best;
    bool stale; // what is written is not the best
} Search;

double convert_excess(const ConvertRun *r)
{
    double worst = 0;
    for (uint32_t i = 0; i < r->nbudgets && !r->calibration; i++)
        worst = fmax(worst, r->predicted / r->budgets[i].relative);
    for (uint32_t i = 0; i < r->errors.len; i++)
        if (r->errors.at[i].budget >= 0)
            worst = fmax(worst, r->errors.at[i].bound / r->errors.at[i].budget);
    return worst;
}

// The least lambda, to a STEPS-th of an octave, whose prediction is at most `limit`.
static int find_lambda(Search *s, double limit)
{
    ConvertRun *r = s->r;
    enum { STEPS = 4 };
    int low = -8 * STEPS, high = 30 * STEPS; // exponents of 2, for the noise of everything
    int status = EXIT_CLEAN;
    while (high - low > 1 && !status) {
        int middle = (low + high) / 2;
        r->options.lambda = exp2((double)middle / STEPS) / s->whole;
        status = convert_predict(r, s->config);
        if (!status && r->predicted <= limit)
            high = middle;
        else
            low = middle;
    }
    r->options.lambda = exp2((double)high / STEPS) / s->whole;
    return status;
}

static Choice choice_of(const ConvertRun *r, double limit)
{
    return (Choice){r->options.lambda,      limit,          r->predicted, convert_excess(r),
                    r->report.low_products, r->report.casts};
}

// As many multiply-adds in the dtype asked for, and is it predicted to be within the budget?
static bool may_be_better(const Search *s)
{
    const ConvertReport *now = &s->r->report;
    return s->ratio * s->r->predicted <= 1 &&
           now->low_products >= s->best.products - 1e-9 * now->products;
}

// More multiply-adds in the dtype asked for, or as many with fewer Casts. What is asked for by time
// alone (mixed) pays for a Cast only where the cut says so.
static bool is_better(const ConvertRun *r, const Choice *a)
{
    const double now = r->report.low_products, few = 1e-9 * r->report.products;
    const bool fewer = r->report.casts < a->casts;
    if (now > a->products + few)
        return !r->options.mixed || fewer || r->report.casts == a->casts;
    return now >= a->products - few && fewer;
}

// What is chosen, not written.
static int choose(Search *s)
{
    return convert_once(s->r, s->config, false, false, s->report);
}

// Writes what is chosen, and runs it.
static int measure(Search *s)
{
    int status = convert_once(s->r, s->config, true, true, s->report);
    if (!status && s->r->predicted > 0)
        s->ratio = convert_excess(s->r) / s->r->predicted;
    return status;
}

// Writes and runs what is chosen. Is it the best so far, and within the budget?
static bool try_choice(Search *s, double limit, int *status)
{
    ConvertRun *r = s->r;
    *status = measure(s);
    if (*status || !(convert_excess(r) <= 1)) {
        s->stale = true;
        return false;
    }
    s->best = choice_of(r, limit);
    s->stale = false;
    return true;
}

// Greater limits, by how much of the budget is left.
static int grow_limit(Search *s)
{
    ConvertRun *r = s->r;
    int status = EXIT_CLEAN;
    for (int i = 0; i < GROWTHS && !status; i++) {
        double limit = s->best.limit * 0.97 / s->best.excess;
        if (!(limit < s->failed))
            limit = sqrt(s->best.limit * s->failed);
        status = limit > s->best.limit ? find_lambda(s, limit) : EXIT_CLEAN;
        if (!status)
            status = choose(s);
        if (status || !(limit > s->best.limit) || !is_better(r, &s->best))
            break;
        if (!try_choice(s, limit, &status))
            s->failed = limit;
    }
    r->options.lambda = s->best.lambda;
    return status;
}

// The nodes that stay by prices, those with the most multiply-adds first.
static uint32_t nodes_left(ConvertRun *r, ConvertLeft **found)
{
    const uint32_t n = r->left.len;
    ConvertLeft *all = NEWS(r->arena, ConvertLeft, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && all[at - 1].products < r->left.at[i].products; at--)
            all[at] = all[at - 1];
        all[at] = r->left.at[i];
    }
    *found = all;
    return n;
}

// One node more in the dtype asked for, with what then costs less there.
static int lower_nodes(Search *s)
{
    ConvertRun *r = s->r;
    // What stays with the best, whatever was tried last.
    int status = choose(s);
    ConvertLeft *left = NULL;
    const uint32_t n = nodes_left(r, &left);
    bool *lowered = NEWS(r->arena, bool, r->nnodes + 1u);
    r->options.lowered = lowered;
    r->options.nlowered = r->nnodes;
    for (uint32_t i = 0, probes = 0, runs = 0; i < n && !status; i++) {
        if (probes == PROBES || runs == LOWERINGS)
            break;
        lowered[left[i].node] = true;
        status = convert_predict(r, s->config);
        probes++;
        bool kept = !status && may_be_better(s);
        if (kept)
            status = choose(s);
        kept = kept && !status && is_better(r, &s->best);
        runs += kept;
        kept = kept && try_choice(s, s->best.limit, &status);
        lowered[left[i].node] = kept;
    }
    return status;
}

// Of the nodes that stay by the last prediction, those go that it has room for, the dearest first.
static int lower_predicted(Search *s, bool *lowered)
{
    ConvertRun *r = s->r;
    ConvertLeft *left = NULL;
    const uint32_t n = nodes_left(r, &left);
    double stands = r->report.low_products;
    int status = EXIT_CLEAN;
    for (uint32_t i = 0; i < n && i < PROBES && !status && left[i].products > 0; i++) {
        if (lowered[left[i].node])
            continue;
        lowered[left[i].node] = true;
        status = convert_predict(r, s->config);
        const bool kept = s->ratio * r->predicted <= 1 && r->report.low_products >= stands;
        lowered[left[i].node] = kept;
        stands = kept ? r->report.low_products : stands;
    }
    return status;
}

// What stays for one price is what makes the most noise for its multiply-adds: several such nodes
// may stay where another with fewer than all of them would do. So each in turn is in the dtype
// asked for, lambda is found anew with it, and what then has room goes too.
static int swap_nodes(Search *s)
{
    ConvertRun *r = s->r;
    bool *lowered = NEWS(r->arena, bool, r->options.nlowered + 1u);
    const bool *const of_best = r->options.lowered;
    int status = choose(s);
    ConvertLeft *left = NULL;
    const uint32_t n = nodes_left(r, &left);
    r->options.lowered = lowered;
    bool *best = NEWS(r->arena, bool, r->options.nlowered + 1u);
    memcpy(best, of_best, r->options.nlowered * sizeof *best);
    for (uint32_t i = 0, runs = 0; i < n && i < SWAPS && runs < SWAP_RUNS && !status; i++) {
        if (!(left[i].products > 0))
            break;
        memcpy(lowered, best, r->options.nlowered * sizeof *best);
        lowered[left[i].node] = true;
        status = find_lambda(s, 1 / s->ratio);
        if (!status)
            status = choose(s);
        if (!status)
            status = lower_predicted(s, lowered);
        if (!status)
            status = choose(s);
        if (status || !may_be_better(s) || !is_better(r, &s->best))
            continue;
        runs++;
        if (try_choice(s, s->best.limit, &status))
            memcpy(best, lowered, r->options.nlowered * sizeof *best);
    }
    memcpy(lowered, best, r->options.nlowered * sizeof *best);
    r->options.lambda = s->best.lambda;
    return status;
}

// What a budget that is met leaves is used; at last the best is what is written and reported.
static int use_what_is_left(Search *s)
{
    ConvertRun *r = s->r;
    s->best = choice_of(r, s->best.limit);
    int status = grow_limit(s);
    if (!status)
        status = lower_nodes(s);
    if (!status && s->ratio > 0)
        status = swap_nodes(s);
    if (!status) // what is said is of the best too
        status = convert_once(r, s->config, s->stale, s->stale, s->report);
    return status;
}

// Conversions whose prediction is within a limit, which shrinks until what is measured meets the
// budget: MAX_ROUNDS at most, the last with nothing rounded that may be left alone.
static int meet_budget(Search *s, bool *met)
{
    enum { MAX_ROUNDS = 4 };
    ConvertRun *r = s->r;
    int status = EXIT_CLEAN;
    *met = false;
    if (r->calibration && r->options.to != DT_F64) {
        status = convert_measure_noise(r);
        if (!status) // what all of it makes, by that
            status = convert_predict(r, s->config);
    }
    s->whole = r->report.noise > 0 ? r->report.noise : 1;
    s->ratio = convert_excess(r) / sqrt(s->whole);
    double limit = sqrt(s->whole);
    for (int round = 0; round < MAX_ROUNDS && !status && !*met; round++) {
        s->failed = limit;
        limit *= 0.9 / convert_excess(r);
        if (round + 1 == MAX_ROUNDS)
            limit = 0;
        status = find_lambda(s, limit);
        if (!status)
            status = measure(s);
        *met = !status && convert_excess(r) <= 1;
    }
    s->best.limit = limit;
    return *met ? use_what_is_left(s) : status;
}

static bool knows_budgets(ConvertRun *r)
{
    for (uint32_t i = 0; i < r->nbudgets; i++) {
        bool found = !r->budgets[i].output.len || !r->calibration;
        for (uint32_t k = 0; k < r->errors.len; k++)
            found |= str_eq(r->budgets[i].output, str_of(r->errors.at[k].output));
        if (!found)
            return tool_error(r->tool, false, "the model has no output %.*s of floats",
                              STR_ARG(str_escaped(r->arena, r->budgets[i].output)));
    }
    return true;
}

int convert_within(ConvertRun *r, const Config *config, Buf *report)
{
    Search s = {.r = r, .config = config, .report = report};
    int status = EXIT_CLEAN;
    bool met = true;
    if (r->calibration)
        status = convert_measure_values(r);
    if (!status && r->calibration)
        status = convert_measure_outputs(r);
    if (!status && !knows_budgets(r))
        status = EXIT_USAGE;
    if (!status)
        status = convert_once(r, config, true, true, report);
    if (!status && convert_excess(r) > 1)
        status = meet_budget(&s, &met);
    return status ? status : met ? EXIT_CLEAN : EXIT_FINDINGS;
}
