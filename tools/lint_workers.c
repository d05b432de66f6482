// Each of a few processes takes every Nth model and sends what came of it through a pipe; results
// are read in the order of the models. A process that dies takes one model with it, which becomes a
// finding; another goes on behind it. A single model has a process of its own too, so that whatever
// fails there is told in the form that was asked for.

#include "tools/lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORKERS = 64 };

typedef struct Worker {
    pid_t pid;
    int from;      // the pipe's end to read
    uint32_t next; // the model that comes next
} Worker;

static bool write_all(int fd, const char *at, size_t n)
{
    while (n) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool read_all(int fd, char *at, size_t n)
{
    while (n) {
        ssize_t done = read(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static void work(LintRun *r, const Paths *paths, uint32_t first, uint32_t step, int to)
{
    bool ok = true;
    for (uint32_t i = first; ok && i < paths->len; i += step) {
        LintResult result;
        Buf bytes = {0};
        r->arena = arena_new();
        lint_one(r, paths->at[i], &result);
        lint_pack(&result, &bytes);
        uint64_t n = bytes.len;
        ok = write_all(to, (const char *)&n, sizeof n) && write_all(to, bytes.at, bytes.len);
        buf_free(&bytes);
        arena_free(r->arena);
    }
}

// False: no process can be had.
static bool start(LintRun *r, const Paths *paths, Worker *w, uint32_t step)
{
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    if (pipe(ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        work(r, paths, w->next, step, ends[1]);
        fflush(stderr);
        _exit(0);
    }
    close(ends[1]);
    *w = (Worker){pid, ends[0], w->next};
    if (pid < 0)
        close(ends[0]);
    return pid > 0;
}

static bool take(LintRun *r, Worker *w, LintResult *result)
{
    uint64_t n;
    if (!read_all(w->from, (char *)&n, sizeof n))
        return false;
    char *bytes = arena_alloc(r->arena, n + 1);
    return read_all(w->from, bytes, n) && lint_unpack(r->arena, (Str){bytes, n}, result);
}

static int end(Worker *w)
{
    int status = 0;
    if (w->pid <= 0)
        return 0;
    close(w->from);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
    return status;
}

// The process that had the model ended in front of its result.
static void report_death(LintRun *r, const char *path, int status, LintResult *result)
{
    Diags diags;
    bool memory = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BYTES;
    *result = (LintResult){.path = path, .status = memory ? EXIT_BYTES : EXIT_BUG};
    diags_init(&diags, r->arena, str_of(path));
    Diag *d = memory ? diag(&diags, "SE006", SEV_ERROR, STR_NONE, "not enough memory for the model")
                     : diag(&diags, "", SEV_ERROR, STR_NONE,
                            "a bug in cameo: linting the model ended by %s %d; please report it",
                            WIFSIGNALED(status) ? "signal" : "exit status",
                            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    d->fails = true;
    vec_push(r->arena, &result->found, d);
}

void lint_all(LintRun *r, const Paths *paths)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t step = cores < 1 ? 1 : cores > MAX_WORKERS ? MAX_WORKERS : (uint32_t)cores;
    Worker workers[MAX_WORKERS] = {0};
    step = step < paths->len ? step : paths->len;
    bool alone = r->show_config;
    for (uint32_t k = 0; k < step && !alone; k++) {
        workers[k].next = k;
        if (!start(r, paths, &workers[k], step))
            workers[k].pid = 0;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        Worker *w = &workers[i % step];
        LintResult result;
        if (alone || !w->pid) {
            lint_one(r, paths->at[i], &result);
        } else if (!take(r, w, &result)) {
            report_death(r, paths->at[i], end(w), &result);
            w->next = i + step;
            if (w->next < paths->len && !start(r, paths, w, step))
                w->pid = 0;
        }
        result.path = paths->at[i];
        vec_push(r->arena, &r->results, result);
    }
    for (uint32_t k = 0; k < step; k++)
        end(&workers[k]);
}
