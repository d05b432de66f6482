// The function that runs a module's steps, and the one that learns sizes from the inputs.

#include "base/map.h"
#include "codegen/custom.h"
#include "codegen/emit_parts.h"
#include "codegen/parts.h"
#include "codegen/print_parts.h"
#include "codegen/repeats.h"
#include "codegen/share_outputs.h"
#include "ir/infer.h"

#include <string.h>

static const char *type_at(Printer *p, BufferId b)
{
    return type_of_value(p, buffer_at(p->mod, b)->dtype);
}

void print_bytes(Printer *p, BufferId b)
{
    const Buffer *buf = buffer_at(p->mod, b);
    buf_printf(p->out, "cameo_bytes(sizeof(%s), %u, (const int64_t[]){", type_at(p, b), buf->rank);
    for (uint32_t i = 0; i < buf->rank; i++)
        buf_printf(p->out, "%s%s", i ? ", " : "", print_index_bare(p, buf->dims[i]));
    buf_printf(p->out, "%s})", buf->rank ? "" : "0");
}

// ---- what steps use --------------------------------------------------------------------------

static void note_all(StepPrinter *s, const KernelUses *u, Accesses *where)
{
    Arena *a = s->p->arena;
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        access_note(a, &s->all.buffers, u->buffers.at[i].id, u->buffers.at[i].bits);
        access_note(a, where, u->buffers.at[i].id, u->buffers.at[i].bits);
    }
    for (uint32_t i = 0; i < u->dims.len; i++)
        access_note(a, &s->all.dims, u->dims.at[i].id, ACCESS_READ);
}

static void add_steps(StepPrinter *s, const Step *step)
{
    Module *mod = s->p->mod;
    for (; step; step = step->next) {
        if (step->kernel) {
            bool on_host = step->kernel->on_host;
            KernelUses u = printer_kernel_uses(on_host ? s->p : s->kernels, step->kernel);
            note_all(s, &u, on_host ? &s->beside.buffers : &s->device.buffers);
            if (s->counts) {
                uses_add_index(mod, &s->all, s->counts[step->kernel->id].operations);
                uses_add_index(mod, &s->all, s->counts[step->kernel->id].bytes);
            }
            if (s->target->launch_size && !on_host)
                uses_add_index(mod, &s->all, s->target->launch_size(s, step->kernel));
        }
        if (step->call) {
            KernelUses u = {.arena = s->p->arena};
            uses_add_call(mod, &u, step->call);
            bool launched = custom_on_device(mod, s->p->arena, step);
            note_all(s, &u, launched ? &s->device.buffers : &s->beside.buffers);
            if (launched)
                uses_add_index(mod, &s->all, custom_launch_size(mod, step));
        }
        if (step->kind != STEP_DIM)
            uses_add_index(mod, &s->host, step->value);
        uses_add_expr(mod, &s->host, step->cond);
        if (step->kind == STEP_LOOP)
            access_note(s->p->arena, &s->all.dims, step->dim, ACCESS_READ);
        if (step->kind == STEP_DIM)
            vec_push(s->p->arena, &s->definitions, step);
        add_steps(s, step->body);
        add_steps(s, step->other);
    }
}

static bool is_used(const StepPrinter *s, DimId d)
{
    return access_bits(&s->all.dims, d) || access_bits(&s->host.dims, d);
}

// What the definitions of used dims use. Those of dims that nothing uses, since fusion took the
// buffer that had them away, are not printed. A definition stands before its uses, except around a
// loop, so that few rounds from the last to the first find all.
static void add_definitions(StepPrinter *s)
{
    uint32_t left = s->definitions.len, before;
    do {
        before = left;
        left = 0;
        for (uint32_t i = before; i > 0; i--) {
            const Step *step = s->definitions.at[i - 1];
            if (is_used(s, step->dim))
                uses_add_index(s->p->mod, &s->host, step->value);
            else
                s->definitions.at[before - ++left] = step;
        }
        for (uint32_t i = 0; i < left; i++)
            s->definitions.at[i] = s->definitions.at[before - left + i];
    } while (left && left < before);
    for (uint32_t i = 0; i < s->host.dims.len; i++)
        access_note(s->p->arena, &s->all.dims, s->host.dims.at[i].id, ACCESS_READ);
}

static void add_all(StepPrinter *s)
{
    Module *mod = s->p->mod;
    s->all = s->host = s->beside = s->device = (KernelUses){.arena = s->p->arena};
    add_steps(s, mod->steps);
    for (uint32_t i = 0; i < mod->outputs.len; i++) {
        const Buffer *b = buffer_at(mod, mod->outputs.at[i]);
        access_note(s->p->arena, &s->all.buffers, mod->outputs.at[i], ACCESS_OUTPUT);
        if (dtype_is_reference(b->dtype))
            access_note(s->p->arena, &s->beside.buffers, mod->outputs.at[i], ACCESS_OUTPUT);
        for (uint32_t k = 0; k < b->rank; k++)
            uses_add_index(mod, &s->all, b->dims[k]);
    }
    for (uint32_t i = 0; i < s->all.buffers.len; i++) {
        BufferId b = s->all.buffers.at[i].id;
        for (uint32_t k = 0; s->plan->place[b] == PLACE_BLOCK && k < buffer_at(mod, b)->rank; k++)
            uses_add_index(mod, &s->all, buffer_at(mod, b)->dims[k]);
    }
    add_definitions(s);
}

// ---- declarations ----------------------------------------------------------------------------

static void declare_dims(StepPrinter *s)
{
    Printer *p = s->p;
    for (uint32_t i = 0; i < s->all.dims.len; i++) {
        DimId d = s->all.dims.at[i].id;
        buf_printf(p->out, "    %sint64_t d%u = ", s->plan->data_dim[d] ? "" : "const ", d);
        if (s->plan->data_dim[d])
            buf_printf(p->out, "0;");
        else
            buf_printf(p->out, "c->dims[%u];", d);
        Str name = dim_name(p->mod->polys, d);
        if (name.len) {
            buf_printf(p->out, " /* ");
            print_comment_text(p->out, name);
            buf_printf(p->out, " */");
        }
        buf_printf(p->out, "\n");
    }
}

bool print_object_input(StepPrinter *s, BufferId b, char letter)
{
    if (!dtype_is_reference(buffer_at(s->p->mod, b)->dtype))
        return false;
    bool list = buffer_at(s->p->mod, b)->dtype == DT_OBJECT;
    print_line(s->p, "const int64_t *const %c%u = cameo_%s_input(c, %u);", letter, b,
               list ? "list" : "object", s->plan->slot[b]);
    print_line(s->p, "if (!%c%u)", letter, b);
    print_line(s->p, "    return -1;");
    return true;
}

// Where a weight or a value of the arena lies, which never moves during a run; NULL: b is no such
// buffer.
static const char *fixed_place(const StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const Plan *plan = s->plan;
    const char *type = type_at(p, b);
    if (plan->place[b] == PLACE_WEIGHT && s->options->weights != WEIGHTS_ARRAYS)
        return str_printf(p->arena, "(const %s *)(c->weights + %lld)", type,
                          (long long)plan->weight_offset[b])
            .at;
    if (plan->place[b] != PLACE_ARENA)
        return NULL;
    const uint32_t slot = plan->slot[b];
    return plan->fixed ? str_printf(p->arena, "(%s *)(c->arena + %lld)", type,
                                    (long long)plan->offset[slot])
                             .at
                       : str_printf(p->arena, "(%s *)(c->arena + c->offsets[%u])", type, slot).at;
}

static bool is_empty(const Buffer *b)
{
    int64_t n;
    for (uint32_t i = 0; i < b->rank; i++)
        if (poly_is_const(b->dims[i], &n) && n == 0)
            return true;
    return false;
}

// Kernels are given fixed places as such: a variable for each of hundreds would only be kept on the
// stack from the beginning to its use. What is empty may lie where another value does, of which
// compilers would warn.
static bool is_declared(const StepPrinter *s, BufferId b)
{
    return !fixed_place(s, b) || is_empty(buffer_at(s->p->mod, b)) ||
           access_bits(&s->host.buffers, b) || access_bits(&s->beside.buffers, b) ||
           access_bits(&s->all.buffers, b) & ACCESS_OUTPUT;
}

// Does the caller read b, and may it have lent the memory for it?
static bool is_output(const StepPrinter *s, BufferId b)
{
    const Buffer *buf = buffer_at(s->p->mod, b);
    return buf->kind == BUF_OUTPUT && !dtype_is_reference(buf->dtype);
}

static void place_output(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    buf_printf(p->out, "    %s *const b%u = (%s *)cameo_place_output(c, %u, %s, ", type_at(p, b), b,
               type_at(p, b), buffer_at(p->mod, b)->port, fixed_place(s, b));
    print_bytes(p, b);
    buf_printf(p->out, ");\n    if (!b%u)\n        return -1;\n", b);
}

static void c_declare(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const Plan *plan = s->plan;
    const char *type = type_at(p, b);
    uint32_t slot = plan->slot[b];
    if (!is_declared(s, b))
        return;
    switch (plan->place[b]) {
    case PLACE_INPUT:
        if (!print_object_input(s, b, 'b'))
            print_line(p, "const %s *const b%u = (const %s *)c->inputs[%u].at;", type, b, type,
                       slot);
        break;
    case PLACE_WEIGHT:
        if (s->options->weights == WEIGHTS_ARRAYS)
            print_line(p, "const %s *const b%u = %s_w%u;", type, b, p->prefix, b);
        else
            print_line(p, "const %s *const b%u = %s;", type, b, fixed_place(s, b));
        break;
    case PLACE_ARENA:
        if (is_output(s, b))
            place_output(s, b);
        else
            print_line(p, "%s *const b%u = %s;", type, b, fixed_place(s, b));
        break;
    case PLACE_BLOCK:
        print_line(p, "%s *b%u = NULL;", type, b);
        break;
    case PLACE_NOWHERE:
        break;
    }
}

// ---- steps -----------------------------------------------------------------------------------

static void c_reserve(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const bool output = is_output(s, b);
    buf_printf(p->out, "%*sb%u = (%s *)cameo_reserve%s(", (int)p->indent * 4, "", b, type_at(p, b),
               output ? "_output" : "");
    if (output)
        buf_printf(p->out, "c, %u, ", buffer_at(p->mod, b)->port);
    buf_printf(p->out, "&c->blocks[%u], ", s->plan->slot[b]);
    print_bytes(p, b);
    buf_printf(p->out, ");\n");
    print_line(p, "if (!b%u)", b);
    if (output) {
        print_line(p, "    return -1;");
        return;
    }
    buf_printf(p->out, "%*sreturn cameo_fail(c, \"no memory for value \"", (int)p->indent * 4 + 4,
               "");
    print_c_string(p->out, str_escaped(p->arena, buffer_at(p->mod, b)->name));
    buf_printf(p->out, ");\n");
}

static void time_kernel(StepPrinter *s, const Kernel *k)
{
    const KernelCount *n = &s->counts[k->id];
    print_line(s->p, "cameo_time_kernel(c, %u, begin, %s, %s, %d);", k->id,
               n->operations ? print_index_bare(s->p, n->operations) : "-1",
               n->bytes ? print_index_bare(s->p, n->bytes) : "-1", (int)n->factors);
}

// Are two buffers of the same dims?
static bool dims_alike(const Buffer *a, const Buffer *b)
{
    bool alike = a->rank == b->rank;
    for (uint32_t i = 0; alike && i < a->rank; i++)
        alike = a->dims[i] == b->dims[i];
    return alike;
}

// Is it a size that only a run knows, in terms of what the kernel uses, and that may be 0?
static bool may_be_none(Printer *p, const KernelUses *u, Index i)
{
    KernelUses needed = {.arena = p->arena};
    if (poly_is_const(i, NULL) ||
        poly_nonnegative(p->mod->polys, poly_add_const(p->mod->polys, i, -1)))
        return false;
    uses_add_index(p->mod, &needed, i);
    for (uint32_t d = 0; d < needed.dims.len; d++)
        if (!access_bits(&u->dims, needed.dims.at[d].id))
            return false;
    return needed.buffers.len == 0;
}

// What is empty is not written, however many rows of nothing it has: a kernel all of whose results
// have the same open dims runs if they all are more than 0. Where one alone is open and the others
// are small, loops find out as soon.
static void print_unless_empty(Printer *p, const KernelUses *u)
{
    enum { MANY = 1 << 16 };
    const Buffer *to = NULL;
    int64_t others = 1, n;
    uint32_t open = 0;
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        const Buffer *b = buffer_at(p->mod, u->buffers.at[i].id);
        if (u->buffers.at[i].bits & ACCESS_WRITE && to && !dims_alike(to, b))
            return;
        if (u->buffers.at[i].bits & ACCESS_WRITE)
            to = b;
    }
    for (uint32_t i = 0; to && i < to->rank; i++) {
        open += may_be_none(p, u, to->dims[i]);
        if (poly_is_const(to->dims[i], &n) && others <= MANY)
            others *= n < MANY ? n : MANY;
    }
    if (open < (others < MANY ? 2 : 1))
        return;
    const char *between = "if (";
    buf_printf(p->out, "%*s", (int)p->indent * 4, "");
    for (uint32_t i = 0; i < to->rank; i++)
        if (may_be_none(p, u, to->dims[i])) {
            buf_printf(p->out, "%s%s > 0", between, print_index(p, to->dims[i]));
            between = " && ";
        }
    buf_printf(p->out, ")\n    ");
}

static void c_call(StepPrinter *s, const Kernel *k)
{
    Printer *p = s->p;
    KernelUses u = printer_kernel_uses(p, k);
    for (uint32_t i = 0; i < u.buffers.len; i++)
        if (u.buffers.at[i].bits & ACCESS_WRITE &&
            s->plan->place[u.buffers.at[i].id] == PLACE_BLOCK)
            c_reserve(s, u.buffers.at[i].id);
    const char *own = parts_scratch_of(p, k);
    if (own) {
        print_line(p, "if (cameo_reserve_scratch(c, %s))", own);
        print_line(p, "    return -1;");
    }
    if (s->options->profile)
        print_line(p, "begin = cameo_now();");
    const char *sizes = repeats_sizes(p, k), *comma = *sizes ? ", " : "";
    const BufferId shared = shared_output_of(p->mod, k);
    if (shared)
        buf_printf(p->out, "%*sif (b%u != b%u)\n    ", (int)p->indent * 4, "", shared,
                   buffer_at(p->mod, shared)->shares);
    print_unless_empty(p, &u);
    buf_printf(p->out, "%*s%s(%s", (int)p->indent * 4, "", kernel_name(p, k), sizes);
    for (uint32_t i = 0; i < u.buffers.len; i++, comma = ", ") {
        const BufferId b = u.buffers.at[i].id;
        buf_printf(p->out, "%s%s", comma,
                   is_declared(s, b) ? str_printf(p->arena, "b%u", b).at : fixed_place(s, b));
    }
    for (uint32_t i = 0; i < u.dims.len; i++, comma = ", ")
        buf_printf(p->out, "%sd%u", comma, u.dims.at[i].id);
    buf_printf(p->out, "%s);\n", parts_shared(p, k) ? ", &c->threads" : "");
    if (s->options->profile)
        time_kernel(s, k);
}

static void print_dims(Printer *p, const Buffer *b)
{
    for (uint32_t k = 0; k < b->rank; k++)
        buf_printf(p->out, "%s%s", k ? ", " : "", print_index_bare(p, b->dims[k]));
    buf_printf(p->out, "%s}", b->rank ? "" : "0");
}

static void print_views(StepPrinter *s, uint32_t n, const BufferId *at, char letter)
{
    Printer *p = s->p;
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *b = buffer_at(p->mod, at[i]);
        buf_printf(p->out, "%s{%c%u, %d, %u, (const int64_t[]){", i ? ", " : "", letter, at[i],
                   (int)b->dtype, b->rank);
        print_dims(p, b);
        buf_char(p->out, '}');
    }
    buf_printf(p->out, "%s};\n", n ? "" : "{NULL, 0, 0, NULL}");
}

void print_call_step(StepPrinter *s, const Step *step, char letter)
{
    Printer *p = s->p;
    const Call *call = step->call;
    if (call_is_custom(call)) {
        custom_print_call(p, step, letter);
        return;
    }
    const char *indent = str_printf(p->arena, "%*s", (int)p->indent * 4 + 4, "").at;
    print_line(p, "{");
    buf_printf(p->out, "%sconst cameo_view reads[] = {", indent);
    print_views(s, call->nreads, call->reads, letter);
    buf_printf(p->out, "%sconst cameo_view writes[] = {", indent);
    print_views(s, call->nwrites, call->writes, letter);
    buf_printf(p->out, "%sconst int64_t n[] = {", indent);
    for (uint32_t i = 0; i < call->nnumbers; i++)
        buf_printf(p->out, "%s%s", i ? ", " : "", print_index_bare(p, call->numbers[i]));
    buf_printf(p->out, "%s};\n", call->nnumbers ? "" : "0");
    buf_printf(p->out, "%sconst cameo_call call = {reads, writes, n, %u, %u, %u};\n", indent,
               call->nreads, call->nwrites, call->nnumbers);
    buf_printf(p->out, "%sif (cameo_%s((cameo_objects *)c->objects, &call) != 0)\n", indent,
               call->what->name);
    buf_printf(p->out, "%s    return cameo_call_failed(c, ", indent);
    Str at = step->node ? location_node(p->mod->model, p->arena, step->node) : STR("the model");
    print_c_string(p->out, at);
    buf_printf(p->out, ");\n");
    print_line(p, "}");
}

static void c_objects(StepPrinter *s, const Step *step)
{
    for (uint32_t i = 0; i < step->call->nwrites; i++)
        if (s->plan->place[step->call->writes[i]] == PLACE_BLOCK)
            c_reserve(s, step->call->writes[i]);
    print_call_step(s, step, 'b');
}

static void print_steps(StepPrinter *s, const Step *step);

static void print_nested(StepPrinter *s, const Step *body)
{
    uint32_t mark = print_block_begin(s->p);
    print_steps(s, body);
    print_block_end(s->p, mark);
}

static void print_check(StepPrinter *s, const Step *step, const char *cond)
{
    Printer *p = s->p;
    print_line(p, "if (!%s)", cond);
    buf_printf(p->out, "%*sreturn cameo_fail(c, \"%%s\", ", (int)p->indent * 4 + 4, "");
    Buf message = {0};
    if (step->node)
        buf_printf(&message, "%.*s: ", STR_ARG(location_node(p->mod->model, p->arena, step->node)));
    buf_str(&message, step->message);
    print_c_string(p->out, (Str){message.at ? message.at : "", message.len});
    buf_free(&message);
    buf_printf(p->out, ");\n");
}

static void print_loop(StepPrinter *s, const Step *step)
{
    Printer *p = s->p;
    if (step->value) {
        uint32_t t = ++p->ntemps;
        print_line(p, "const int64_t t%u = %s;", t, print_index_bare(p, step->value));
        print_line(p, "for (d%u = 0; d%u < t%u; d%u++) {", step->dim, step->dim, t, step->dim);
    } else {
        print_line(p, "for (d%u = 0;; d%u++) {", step->dim, step->dim);
    }
    print_nested(s, step->body);
    print_line(p, "}");
}

static void print_step(StepPrinter *s, const Step *step)
{
    Printer *p = s->p;
    const char *cond = NULL;
    if (s->target->before)
        s->target->before(s, step);
    switch (step->kind) {
    case STEP_KERNEL:
        s->target->call(s, step->kernel);
        return;
    case STEP_LOOP:
        print_loop(s, step);
        return;
    case STEP_DIM:
        if (access_bits(&s->all.dims, step->dim) && s->plan->data_dim[step->dim])
            print_line(p, "d%u = %s;", step->dim, print_index_bare(p, step->value));
        return;
    case STEP_CALL:
        s->target->objects(s, step);
        return;
    case STEP_CHECK:
    case STEP_IF:
    case STEP_BREAK:
        break;
    }
    print_statement_begin(p, step->cond, NULL, 0);
    cond = print_expr(p, step->cond);
    print_statement_end(p);
    if (step->kind == STEP_CHECK) {
        print_check(s, step, cond);
    } else if (step->kind == STEP_BREAK) {
        print_line(p, "if (%s)", cond);
        print_line(p, "    break;");
    } else {
        print_line(p, "if (%s) {", cond);
        print_nested(s, step->body);
        if (step->other) {
            print_line(p, "} else {");
            print_nested(s, step->other);
        }
        print_line(p, "}");
    }
}

// Values that a step computes hold only until the next, which may write what they read.
static void print_steps(StepPrinter *s, const Step *step)
{
    for (; step; step = step->next) {
        uint32_t mark = print_block_begin(s->p);
        s->p->indent--;
        print_step(s, step);
        s->p->indent++;
        print_block_end(s->p, mark);
    }
}

bool print_object_output(StepPrinter *s, uint32_t i, char letter)
{
    Printer *p = s->p;
    BufferId b = p->mod->outputs.at[i];
    const Buffer *buf = buffer_at(p->mod, b);
    if (!dtype_is_reference(buf->dtype))
        return false;
    if (buf->dtype == DT_OBJECT) {
        print_line(p, "if (cameo_list_output(c, %u, %c%u) != 0)", i, letter, b);
        print_line(p, "    return -1;");
        return true;
    }
    buf_printf(p->out, "    if (cameo_object_output(c, %u, %c%u, %u, (const int64_t[]){", i, letter,
               b, buf->rank);
    print_dims(p, buf);
    buf_printf(p->out, ") != 0)\n        return -1;\n");
    return true;
}

static void c_outputs(StepPrinter *s)
{
    Printer *p = s->p;
    for (uint32_t i = 0; i < p->mod->outputs.len; i++) {
        BufferId b = p->mod->outputs.at[i];
        const Buffer *buf = buffer_at(p->mod, b);
        if (s->plan->place[b] == PLACE_BLOCK)
            c_reserve(s, b);
        if (print_object_output(s, i, 'b'))
            continue;
        buf_printf(p->out, "    cameo_show_output(c, %u, b%u, %u, (const int64_t[]){", i, b,
                   buf->rank);
        print_dims(p, buf);
        buf_printf(p->out, ");\n");
    }
    print_line(p, "return 0;");
}

void emit_steps_on(const StepTarget *target, Printer *p, Printer *kernels, const Plan *plan,
                   const EmitOptions *o)
{
    StepPrinter s = {.p = p, .kernels = kernels, .plan = plan, .options = o, .target = target};
    if (o->profile)
        s.counts = module_counts(p->mod, p->arena);
    add_all(&s);
    buf_printf(p->out, "static int %s_steps(cameo_context *c)\n{\n", p->prefix);
    p->indent = 1;
    if (o->profile)
        print_line(p, "int64_t begin = 0;\n    (void)begin;");
    if (module_has_objects(p->mod)) {
        print_line(p, "if (cameo_objects_begin(c, %s_symbols, %u) != 0)", p->prefix,
                   p->mod->symbols.len);
        print_line(p, "    return -1;");
    }
    declare_dims(&s);
    for (BufferId b = 1; b < p->mod->buffers.len; b++)
        if (access_bits(&s.all.buffers, b) || access_bits(&s.host.buffers, b))
            target->declare(&s, b);
    print_steps(&s, p->mod->steps);
    target->outputs(&s);
    p->indent = 0;
    buf_printf(p->out, "}\n\n");
}

void emit_steps(Printer *p, const Plan *plan, const EmitOptions *o)
{
    static const StepTarget target = {
        .declare = c_declare, .call = c_call, .objects = c_objects, .outputs = c_outputs};
    emit_steps_on(&target, p, p, plan, o);
}

// ---- sizes -----------------------------------------------------------------------------------

static DimId lone_dim(Index i)
{
    bool lone = i->nterms == 1 && i->terms[0].natoms == 1 && i->terms[0].coeff == 1;
    return lone && i->terms[0].atoms[0]->kind == ATOM_DIM ? i->terms[0].atoms[0]->var : 0;
}

static void print_dim_check(Printer *p, uint32_t input, uint32_t k, Index d)
{
    Buf expected = {0};
    poly_print(p->mod->polys, d, &expected);
    print_line(p, "if (c->inputs[%u].dims[%u] != %s)", input, k, print_index(p, d));
    buf_printf(p->out,
               "        return cameo_fail(c, \"input %%s has %%lld as dim %u, but other "
               "inputs make %%s %%lld\", ",
               k);
    buf_printf(p->out, "c->program->model->inputs[%u].name, (long long)c->inputs[%u].dims[%u], ",
               input, input, k);
    print_c_string(p->out, str_escaped(p->arena, (Str){expected.at, expected.len}));
    buf_printf(p->out, ", (long long)%s);\n", print_index(p, d));
    buf_free(&expected);
}

// Layers have the same sizes as one another: each that differs once, and which of them a buffer
// has.
static void print_sizes(Printer *p, const Plan *plan)
{
    const uint32_t n = plan->planned.len;
    uint32_t *which = NEWS(p->arena, uint32_t, n), count = 0;
    Map known = {.arena = p->arena};
    Buf *out = p->out, text = {0};
    print_line(p, "const int64_t bytes[] = {");
    p->out = &text;
    for (uint32_t i = 0; i < n; i++) {
        bool added = false;
        text.len = 0;
        print_bytes(p, plan->planned.at[i]);
        uint32_t *number = map_put(&known, str_copy(p->arena, (Str){text.at, text.len}), &added);
        if (added) {
            *number = count++;
            buf_printf(out, "        %.*s,\n", (int)text.len, text.at);
        }
        which[i] = *number;
    }
    p->out = out;
    buf_free(&text);
    print_line(p, "};");
    buf_printf(out, "    static const uint%d_t which[] = {", count <= UINT16_MAX ? 16 : 32);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, "%s%u", !i ? "" : i % 24 ? ", " : ",\n        ", which[i]);
    buf_printf(out, "};\n");
    print_line(p, "for (int32_t i = 0; i < %u; i++)", n);
    print_line(p, "    sizes[i] = bytes[which[i]];");
}

void emit_bind(Printer *p, const Plan *plan)
{
    Module *mod = p->mod;
    uint8_t *defined_by = NEWS(p->arena, uint8_t, (mod->inputs.len + 1) * MAX_RANK);
    uint8_t *seen = NEWS(p->arena, uint8_t, dim_count(mod->polys) + 1);
    buf_printf(p->out, // a line for each buffer, once: short rather than quick
               "static __attribute__((cold)) int %s_bind(cameo_context *c, int64_t *sizes)\n{\n",
               p->prefix);
    p->indent = 1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < mod->inputs.len; i++) {
            const Buffer *b = buffer_at(mod, mod->inputs.at[i]);
            for (uint32_t k = 0; k < b->rank; k++) {
                DimId d = lone_dim(b->dims[k]);
                bool first = d && !seen[d];
                if (pass == 0 && first) {
                    print_line(p, "const int64_t d%u = c->dims[%u] = c->inputs[%u].dims[%u];", d, d,
                               i, k);
                    print_line(p, "(void)d%u;", d);
                    seen[d] = 1;
                    defined_by[i * MAX_RANK + k] = 1;
                } else if (pass == 1 && !poly_is_const(b->dims[k], NULL) &&
                           !defined_by[i * MAX_RANK + k]) {
                    print_dim_check(p, i, k, b->dims[k]);
                }
            }
        }
    for (const Step *s = mod->steps; s && s->kind == STEP_DIM && !plan->data_dim[s->dim];
         s = s->next) {
        print_line(p, "const int64_t d%u = c->dims[%u] = %s;", s->dim, s->dim,
                   print_index_bare(p, s->value));
        print_line(p, "(void)d%u;", s->dim);
    }
    if (!plan->fixed && plan->planned.len)
        print_sizes(p, plan);
    print_line(p, "(void)c;");
    print_line(p, "(void)sizes;");
    if (parts_any(p) && !plan->fixed)
        print_line(p, "return cameo_reserve_scratch(c, %s);", parts_scratch(p));
    else
        print_line(p, "return 0;");
    p->indent = 0;
    buf_printf(p->out, "}\n\n");
}
