#include "codegen/jobs.h"
#include "base/file.h"
#include "codegen/shelf.h"

#include <string.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 16 };

static bool start(Build *b, const char *const *argv, Process *p)
{
    if (b->o->verbose) {
        fprintf(stderr, "(cd %s;", b->dir);
        for (const char *const *a = argv; *a; a++)
            fprintf(stderr, " %s", *a);
        fprintf(stderr, ")\n");
    }
    return process_start(b->arena, b->dir, argv, true, p, &b->report->error);
}

const char *message_after_line(Str s)
{
    const char *end_of_line = s.at ? strchr(s.at, '\n') : NULL;
    return end_of_line ? end_of_line : "";
}

static int end(Build *b, const char *name, Str of, Process *p)
{
    Buf output = {0};
    int status = process_wait(p, &output);
    Str *error = &b->report->error, said = {0};
    if (status == 0) {
        buf_free(&output);
        return 0;
    }
    said =
        str_printf(b->arena,
                   "%s rejects what Cameo emitted; this is a bug of Cameo, please report it\n"
                   "%.*s",
                   name, (int)(output.len < 4000 ? output.len : 4000), output.at ? output.at : "");
    if (of.len)
        said = str_printf(b->arena, "the C compiler rejects %.*s%s", STR_ARG(of),
                          message_after_line(said));
    *error = said;
    buf_free(&output);
    return of.len ? 2 : 4;
}

int jobs_call(Build *b, const char *const *argv)
{
    Process p;
    return start(b, argv, &p) ? end(b, argv[0], STR_NONE, &p) : 2;
}

// ---- the cache ---------------------------------------------------------------------------------

static const char *in_folder(Build *b, const char *name)
{
    return *name == '/' ? name : str_printf(b->arena, "%s/%s", b->dir, name).at;
}

// Everything that decides what comes of it.
static const char *key_of(Build *b, const Job *job)
{
    FileView source;
    Str error = STR_NONE;
    if (!b->cache || !job->source || !jobs_describe(b) ||
        !file_open(b->arena, in_folder(b, job->source), &source, &error))
        return NULL;
    Buf all = {0};
    buf_put(&all, b->described->at, b->described->len);
    for (const char **a = job->argv; *a; a++)
        if (strcmp(*a, job->object) != 0)
            buf_printf(&all, "%s\n", *a);
    buf_put(&all, source.at, source.len);
    file_close(&source);
    const char *key = cache_key(b->cache, &all);
    buf_free(&all);
    return key;
}

// Is it among the units that came with Cameo?
static bool on_shelf(Build *b, Job *job)
{
    FileView source;
    Str error = STR_NONE;
    if (!job->kept || !file_open(b->arena, in_folder(b, job->source), &source, &error))
        return false;
    const char *path = shelf_find(b, job->argv, (Str){(const char *)source.at, source.len});
    file_close(&source);
    if (!path)
        return false;
    if (b->o->verbose)
        fprintf(stderr, "(%s: came with Cameo)\n", job->object);
    job->object = path;
    return true;
}

static bool in_cache(Build *b, Job *job)
{
    if (on_shelf(b, job))
        return true;
    job->key = key_of(b, job);
    bool found = job->key && cache_take(b->cache, job->key, in_folder(b, job->object));
    if (found && b->o->verbose)
        fprintf(stderr, "(%s: made before)\n", job->object);
    return found;
}

// ---- side by side ------------------------------------------------------------------------------

static int end_job(Build *b, Job *job)
{
    int status = end(b, job->argv[0], job->of, &job->process);
    stage_end(b->arena, &b->report->stages, job->object, &job->began);
    if (!status && job->key)
        cache_keep(b->cache, job->key, in_folder(b, job->object));
    return status;
}

int jobs_run(Build *b, Jobs *jobs)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t most = processors < 1              ? 1
                          : processors > MOST_AT_ONCE ? MOST_AT_ONCE
                                                      : (uint32_t)processors;
    Job *running[MOST_AT_ONCE];
    const Process *processes[MOST_AT_ONCE];
    uint32_t n = 0, next = 0;
    int status = 0;
    Str error = STR_NONE;
    while (n || (next < jobs->len && !status)) {
        if (next < jobs->len && !status && n < most) {
            Job *job = &jobs->at[next++];
            if (in_cache(b, job))
                continue;
            job->began = stage_clock();
            if (!start(b, job->argv, &job->process)) {
                status = 2;
                error = b->report->error;
                continue;
            }
            processes[n] = &job->process;
            running[n++] = job;
            continue;
        }
        const uint32_t first = process_first(processes, n);
        const int ended = end_job(b, running[first]);
        if (ended && !status) {
            status = ended;
            error = b->report->error;
        }
        running[first] = running[--n];
        processes[first] = processes[n];
    }
    if (status)
        b->report->error = error;
    return status;
}
