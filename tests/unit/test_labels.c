// The label solver against every choice there is, on small random problems.

#include "passes/solver/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { MAX_VARIABLES = 7, MAX_VALUES = 7, MAX_LABELS = 4, MAX_USERS = 4 };

typedef struct Problem {
    uint32_t nvariables, nvalues, nlabels;
    bool ordered;
    LabelSet allowed[MAX_VARIABLES];
    Cost price[MAX_VARIABLES][MAX_LABELS], adaptor[MAX_VALUES][MAX_LABELS];
    uint32_t maker[MAX_VALUES], nusers[MAX_VALUES], users[MAX_VALUES][MAX_USERS];
} Problem;

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static Problem problem_of(uint32_t nlabels, bool ordered)
{
    Problem p = {.nlabels = nlabels, .ordered = ordered};
    p.nvariables = 2 + below(MAX_VARIABLES - 1);
    p.nvalues = 1 + below(MAX_VALUES);
    uint32_t all = (1u << nlabels) - 1;
    for (uint32_t i = 0; i < p.nvariables; i++) {
        p.allowed[i] = below(3) ? 1 + below(all) : all;
        for (uint32_t k = 0; k < nlabels; k++)
            p.price[i][k] = below(3) ? 0 : below(6);
    }
    for (uint32_t v = 0; v < p.nvalues; v++) {
        p.maker[v] = below(p.nvariables);
        p.nusers[v] = below(MAX_USERS + 1);
        for (uint32_t u = 0; u < p.nusers[v]; u++)
            p.users[v][u] = below(p.nvariables);
        for (uint32_t k = 0; k < nlabels; k++)
            p.adaptor[v][k] = below(4) ? 4 + below(3) : below(20);
    }
    return p;
}

// The total by its definition.
static Cost cost_of(const Problem *p, const uint32_t *label)
{
    Cost cost = 0;
    for (uint32_t i = 0; i < p->nvariables; i++)
        cost += p->price[i][label[i]];
    for (uint32_t v = 0; v < p->nvalues; v++)
        for (uint32_t k = 0; k < p->nlabels; k++) {
            uint32_t own = label[p->maker[v]];
            bool asked = false;
            for (uint32_t u = 0; u < p->nusers[v]; u++) {
                uint32_t to = label[p->users[v][u]];
                bool passes = (own < k && k <= to) || (own > k && k >= to);
                asked |= p->ordered ? passes : to == k && own != k;
            }
            cost += asked ? p->adaptor[v][k] : 0;
        }
    return cost;
}

static Cost least_of_all(const Problem *p)
{
    uint32_t label[MAX_VARIABLES] = {0}, choices = 1;
    Cost least = COST_NEVER;
    for (uint32_t i = 0; i < p->nvariables; i++)
        choices *= p->nlabels;
    for (uint32_t c = 0; c < choices; c++) {
        bool allowed = true;
        for (uint32_t i = 0, rest = c; i < p->nvariables; i++, rest /= p->nlabels) {
            label[i] = rest % p->nlabels;
            allowed &= p->allowed[i] >> label[i] & 1;
        }
        Cost cost = allowed ? cost_of(p, label) : COST_NEVER;
        least = cost < least ? cost : least;
    }
    return least;
}

typedef struct Tally {
    uint32_t least, proved; // how often the least total was found, and proved to be the least
} Tally;

static void solve(const Problem *p, Tally *t)
{
    Arena *a = arena_new();
    Labels *l = labels_new(a, p->nlabels);
    uint32_t label[MAX_VARIABLES];
    if (p->ordered)
        labels_in_order(l);
    for (uint32_t i = 0; i < p->nvariables; i++) {
        labels_variable(l, p->allowed[i]);
        for (uint32_t k = 0; k < p->nlabels; k++)
            labels_price(l, i, k, p->price[i][k]);
    }
    for (uint32_t v = 0; v < p->nvalues; v++) {
        labels_value(l, p->maker[v]);
        for (uint32_t k = 0; k < p->nlabels; k++)
            labels_adaptor(l, v, k, p->adaptor[v][k]);
        for (uint32_t u = 0; u < p->nusers[v]; u++)
            labels_use(l, v, p->users[v][u]);
    }
    labels_solve(l);
    for (uint32_t i = 0; i < p->nvariables; i++) {
        label[i] = labels_of(l, i);
        assert_true(p->allowed[i] >> label[i] & 1);
    }
    Cost least = least_of_all(p);
    assert_int_equal(labels_total(l), cost_of(p, label));
    assert_true(labels_total(l) >= least);
    assert_true(labels_bound(l) <= least);
    t->least += labels_total(l) == least;
    t->proved += labels_bound(l) == labels_total(l);
    arena_free(a);
}

static Tally solve_many(uint32_t nlabels, bool ordered, uint32_t n)
{
    Tally t = {0, 0};
    seed = nlabels + 10u * ordered;
    for (uint32_t i = 0; i < n; i++) {
        Problem p = problem_of(nlabels, ordered);
        solve(&p, &t);
    }
    print_message("%u labels%s: least %u, proved %u of %u\n", nlabels, ordered ? " in order" : "",
                  t.least, t.proved, n);
    return t;
}

static void two_labels_are_exact(void **state)
{
    (void)state;
    Tally t = solve_many(2, false, 5000);
    assert_int_equal(t.least, 5000);
    assert_int_equal(t.proved, 5000);
}

static void ordered_labels_are_exact(void **state)
{
    (void)state;
    for (uint32_t k = 2; k <= 4; k++) {
        Tally t = solve_many(k, true, 2000);
        assert_int_equal(t.least, 2000);
        assert_int_equal(t.proved, 2000);
    }
}

// No promise but the bound; the counts hold the heuristics to what they reach.
static void more_labels_are_bounded(void **state)
{
    (void)state;
    Tally three = solve_many(3, false, 5000), four = solve_many(4, false, 1000);
    assert_true(three.least >= 4980);
    assert_true(three.proved >= 4950);
    assert_true(four.least >= 990);
}

// One adaptor for any number of users; for two labels, one each.
static void an_adaptor_is_shared(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Labels *l = labels_new(a, 3);
    uint32_t x = labels_variable(l, 1), value = labels_value(l, x);
    for (uint32_t k = 0; k < 3; k++)
        labels_adaptor(l, value, k, 10);
    for (int i = 0; i < 100; i++)
        labels_use(l, value, labels_variable(l, i % 2 ? 2 : 4));
    labels_solve(l);
    assert_int_equal(labels_total(l), 20);
    assert_int_equal(labels_bound(l), 20);
    arena_free(a);
}

// A chain as long as a model may be, one end of each label: cut where it is cheapest.
static void long_chains_are_cut_once(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    Arena *a = arena_new();
    Labels *l = labels_new(a, 2);
    uint32_t last = labels_variable(l, 1);
    for (uint32_t i = 1; i <= LENGTH; i++) {
        uint32_t value = labels_value(l, last);
        last = labels_variable(l, i == LENGTH ? 2 : 3);
        labels_adaptor(l, value, 1, i == LENGTH / 3 ? 7 : 8);
        labels_use(l, value, last);
    }
    labels_solve(l);
    assert_int_equal(labels_total(l), 7);
    assert_int_equal(labels_bound(l), 7);
    assert_int_equal(labels_of(l, LENGTH / 3 - 1), 0);
    assert_int_equal(labels_of(l, LENGTH / 3), 1);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_labels_are_exact),     cmocka_unit_test(ordered_labels_are_exact),
        cmocka_unit_test(more_labels_are_bounded),  cmocka_unit_test(an_adaptor_is_shared),
        cmocka_unit_test(long_chains_are_cut_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
