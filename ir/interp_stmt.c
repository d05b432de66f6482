// Statements of the interpreter.

#include "ir/interp_state.h"

#include <stdlib.h>
#include <string.h>

static void run_stmts(Interp *s, const Stmt *st);

static void run_for(Interp *s, const Stmt *st)
{
    int64_t n = interp_index(s, loop_extent(s->mod->polys, st->var));
    for (int64_t i = 0; i < n && !s->failed; i++) {
        s->loops[st->var] = i;
        if (s->limits.max_operations && ++s->operations > s->limits.max_operations)
            interp_fail(s, "more than %llu operations",
                        (unsigned long long)s->limits.max_operations);
        run_stmts(s, st->body);
    }
}

static void make_row(Interp *s, const Stmt *st)
{
    Local *v = &s->locals[st->local];
    uint64_t n = 1;
    v->value = (Scalar){.i = 0};
    for (uint32_t k = 0; k < st->rank; k++) {
        v->dims[k] = interp_index(s, st->at[k]);
        if (v->dims[k] < 0 || __builtin_mul_overflow(n, (uint64_t)v->dims[k], &n) || n >> 40)
            interp_fail(s, "row %u is too large", st->local);
    }
    if (st->rank == 0 || n <= v->room || s->failed)
        return;
    if (!interp_take(s, (n - v->room) * sizeof *v->row))
        return;
    Scalar *more = realloc(v->row, n * sizeof *more);
    if (!more) {
        interp_fail(s, "no memory for row %u", st->local);
        return;
    }
    memset(more + v->room, 0, (n - v->room) * sizeof *more);
    v->row = more;
    v->room = n;
}

static void set_row(Interp *s, const Stmt *st)
{
    Local *v = &s->locals[st->local];
    Scalar value = interp_expr(s, st->value);
    if (st->rank == 0) {
        v->value = value;
        return;
    }
    uint64_t at = interp_position(s, st->rank, v->dims, st->at, "row", st->local);
    if (!s->failed && at < v->room)
        v->row[at] = value;
}

static void write_element(Interp *s, const Stmt *st)
{
    Memory *m = &s->memory[st->buffer];
    DType t = st->value->dtype;
    Scalar value = interp_expr(s, st->value);
    if (s->failed || (m->reserved != s->epoch && !interp_reserve(s, st->buffer)))
        return;
    uint64_t at =
        interp_position(s, st->rank, interp_dims(s, st->buffer), st->at, "buffer", st->buffer);
    uint64_t size = dtype_stored_bytes(t);
    if (s->failed || at >= m->bytes / size)
        return;
    if (st->kind == S_UPDATE)
        value = scalar_binary(st->op, t, scalar_load(t, m->at + at * size), value);
    scalar_store(t, m->own + at * size, value);
}

static void run_stmt(Interp *s, const Stmt *st)
{
    switch (st->kind) {
    case S_FOR:
        run_for(s, st);
        return;
    case S_LET:
        s->locals[st->local].value = interp_expr(s, st->value);
        return;
    case S_ROW:
        make_row(s, st);
        return;
    case S_SET:
        set_row(s, st);
        return;
    case S_STORE:
    case S_UPDATE:
        write_element(s, st);
        return;
    case S_IF:
        run_stmts(s, interp_expr(s, st->value).i ? st->body : st->other);
        return;
    case S_WHILE:
        while (!s->failed && interp_expr(s, st->value).i)
            run_stmts(s, st->body);
        return;
    }
}

static void run_stmts(Interp *s, const Stmt *st)
{
    for (; st && !s->failed; st = st->next)
        run_stmt(s, st);
}

static void find_written(Interp *s, const Stmt *st)
{
    for (; st; st = st->next) {
        if (st->kind == S_STORE || st->kind == S_UPDATE)
            s->written[st->buffer] = 1;
        find_written(s, st->body);
        find_written(s, st->other);
    }
}

static bool is_empty(Interp *s, BufferId b)
{
    const int64_t *dims = interp_dims(s, b);
    for (uint32_t k = 0; k < buffer_at(s->mod, b)->rank; k++)
        if (dims[k] == 0)
            return true;
    return false;
}

void interp_kernel(Interp *s, const Kernel *k)
{
    s->kernel++;
    memset(s->written, 0, s->mod->buffers.len);
    find_written(s, k->body);
    bool empty = true; // all that it writes: there may be many rows of nothing
    for (BufferId b = 1; b < s->mod->buffers.len && !s->failed; b++)
        if (s->written[b]) {
            interp_reserve(s, b);
            empty = empty && is_empty(s, b);
        }
    if (!empty)
        run_stmts(s, k->body);
}
