// Which branches the data take: the conditions are computed before the sensitivities are.

#include "passes/taken_branches.h"
#include "tools/sensitivity_parts.h"

#include <string.h>

typedef struct Asker {
    const Tool *tool;
    BranchChoices *choices;
    Session s;
    cameo_context *context;
    uint32_t asked; // conditions, in this round
    uint32_t set;
    bool called; // the model was not refused
} Asker;

bool branches_apply(const BranchChoices *c, Model *m, Diags *diags)
{
    bool done = true;
    for (uint32_t i = 0; done && i < c->rounds; i++)
        done = branches_take(m, diags, c->taken[i], c->count[i]);
    return done;
}

static bool ask(void *asker, Model *m, Diags *diags)
{
    Asker *a = asker;
    a->called = true;
    bool done = branches_apply(a->choices, m, diags);
    a->asked = done ? branches_count(m) : 0;
    if (a->asked)
        branches_ask(m);
    return a->asked > 0;
}

static int run_set(void *asker, Inputs *in)
{
    Asker *a = asker;
    const cameo_model *m = a->s.model;
    BranchChoices *c = a->choices;
    uint32_t set = a->set++;
    if (!a->context)
        a->context = m->create(&a->s.options);
    if (set >= MAX_CHOOSING_SETS || c->other[set])
        return EXIT_CLEAN;
    int status = a->context ? inputs_set(a->tool, m, a->context, in)
                            : tool_error(a->tool, EXIT_BYTES, "not enough memory");
    if (!status && m->run(a->context) != 0)
        status = tool_error(a->tool, EXIT_FINDINGS, "%s", m->error(a->context));
    for (uint32_t k = 0; !status && k < a->asked; k++) {
        int32_t rank = 0;
        const int64_t *dims = NULL;
        const uint8_t *at = m->output(a->context, (int32_t)k, &rank, &dims);
        int8_t *taken = &c->taken[c->rounds][k];
        if (set == c->first)
            *taken = at[0] != 0;
        else if (*taken != (at[0] != 0))
            c->other[set] = true;
    }
    return status;
}

// One round: the Ifs that stand in the main graph once those known are gone.
static int ask_round(const Tool *t, const SensOptions *o, BranchChoices *c, bool *any)
{
    Asker a = {.tool = t, .choices = c};
    CompileOptions options = o->compile;
    bool made_up;
    options.rewrite = ask;
    options.rewriter = &a;
    *any = false;
    bool quiet = tool_style.quiet; // what there is to say of the model is said when it is compiled
    tool_style.quiet = true;
    int status = session_open(t, o->model, &options, &a.s);
    tool_style.quiet = quiet;
    if (status) {
        session_close(&a.s);
        return a.called && !a.asked ? EXIT_CLEAN : status;
    }
    DataSets d = {.tool = t,
                  .arena = a.s.arena,
                  .model = a.s.model,
                  .path = o->model,
                  .data = o->data,
                  .ndata = o->ndata,
                  .user = &a,
                  .run = run_set};
    if (!status && a.asked)
        status = datasets_each(&d, &made_up);
    if (!status && a.asked) {
        *any = true;
        c->count[c->rounds++] = a.asked;
    }
    if (a.context)
        a.s.model->destroy(a.context);
    session_close(&a.s);
    return status;
}

int branches_choose(const Tool *t, const SensOptions *o, BranchChoices *c)
{
    bool any = true;
    int status = EXIT_CLEAN;
    while (!status && any && c->rounds < MAX_BRANCH_ROUNDS)
        status = ask_round(t, o, c, &any);
    return status;
}
