// A rule that fails is a fault of ours, and no reason to lose what the others say: it ends where it
// raised its signal, and the run goes on.

#include "passes/lint/guard.h"
#include "passes/times.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

enum { NSIGNALS = 5, STACK = 64 << 10 };
static const int signals[NSIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static bool on;
static sigjmp_buf back;
static char stack[STACK]; // a rule may have used up its own

void lint_guard_rules(bool guarded)
{
    on = guarded;
}

static void leave(int number)
{
    siglongjmp(back, number);
}

int lint_run_guarded(void (*run)(Lint *l), Lint *l)
{
    struct sigaction before[NSIGNALS], now = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    if (!on) {
        run(l);
        return 0;
    }
    sigemptyset(&now.sa_mask);
    sigaltstack(&own, &old);
    for (int i = 0; i < NSIGNALS; i++)
        sigaction(signals[i], &now, &before[i]);
    int number = sigsetjmp(back, 1);
    if (number == 0)
        run(l);
    for (int i = 0; i < NSIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    sigaltstack(&old, NULL);
    return number;
}

void lint_run_rule(const LintRule *rule, Lint *l)
{
    Times *times = l->m ? l->m->times : NULL;
    const double begin = times ? times_now() - times->weights : 0;
    int number = lint_run_guarded(rule->run, l);
    if (times)
        times->rules[rule - lint_rules] += times_now() - times->weights - begin;
    if (number == 0)
        return;
    l->diags->broken = true;
    diag(l->diags, "", SEV_ERROR, STR_NONE,
         "a bug in cameo: rule %s (%s) ended by signal %d, and what it had yet to find is missing; "
         "please report it",
         rule->id, rule->name, number);
}
