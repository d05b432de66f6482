#include "codegen/jobs.h"
#include "base/file.h"
#include "codegen/shelf.h"

#include <signal.h>
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

// Did a compiler end for want of memory or of room for its files?
static bool had_no_room(int status, const Buf *output)
{
    static const char *const said[] = {
        "annot allocate memory",  "out of memory",    "bad_alloc",
        "o space left on device", "memory exhausted", "Killed signal"};
    bool found = status == 128 + SIGKILL; // as Linux ends who takes too much
    for (size_t i = 0; !found && output->len && i < sizeof said / sizeof *said; i++)
        found = memmem(output->at, output->len, said[i], strlen(said[i])) != NULL;
    return found;
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
    const bool starved = had_no_room(status, &output);
    said =
        str_printf(b->arena, "%s %s\n%.*s", name,
                   starved ? "had not enough memory, or room for files"
                           : "rejects what Cameo emitted; this is a bug of Cameo, please report it",
                   (int)(output.len < 4000 ? output.len : 4000), output.at ? output.at : "");
    if (of.len && !starved)
        said = str_printf(b->arena, "the C compiler rejects %.*s%s", STR_ARG(of),
                          message_after_line(said));
    *error = said;
    buf_free(&output);
    return starved ? 3 : of.len ? 2 : 4;
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

static void end_job(Build *b, Job *job)
{
    job->status = end(b, job->argv[0], job->of, &job->process);
    job->error = b->report->error;
    job->state = JOB_ENDED;
    stage_end(b->arena, &b->report->stages, job->object, &job->began);
    if (!job->status && job->key)
        cache_keep(b->cache, job->key, in_folder(b, job->object));
}

// One more than processors: of three units of equal length two processors would have the last alone
// on one of them.
static uint32_t most_at_once(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1               ? 1
           : processors >= MOST_AT_ONCE ? MOST_AT_ONCE
                                        : (uint32_t)processors + 1;
}

static void start_job(Build *b, Job *job)
{
    job->state = JOB_ENDED;
    if (in_cache(b, job))
        return;
    job->began = stage_clock();
    if (start(b, job->argv, &job->process)) {
        job->state = JOB_RUNS;
        return;
    }
    job->status = 2;
    job->error = b->report->error;
}

// The first that failed.
static const Job *failed(const Jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->len; i++)
        if (jobs->at[i].status)
            return &jobs->at[i];
    return NULL;
}

void jobs_start(Build *b, Jobs *jobs)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < jobs->len; i++)
        running += jobs->at[i].state == JOB_RUNS;
    for (uint32_t i = 0; i < jobs->len && running < most_at_once() && !failed(jobs); i++) {
        if (jobs->at[i].state != JOB_WAITS)
            continue;
        start_job(b, &jobs->at[i]);
        running += jobs->at[i].state == JOB_RUNS;
    }
}

// Waits for one of those that run; false: there is none.
static bool wait_for_one(Build *b, Jobs *jobs)
{
    Job *running[MOST_AT_ONCE];
    const Process *processes[MOST_AT_ONCE];
    uint32_t n = 0;
    for (uint32_t i = 0; i < jobs->len && n < MOST_AT_ONCE; i++) {
        if (jobs->at[i].state != JOB_RUNS)
            continue;
        processes[n] = &jobs->at[i].process;
        running[n++] = &jobs->at[i];
    }
    if (n)
        end_job(b, running[process_first(processes, n)]);
    return n > 0;
}

int jobs_run(Build *b, Jobs *jobs)
{
    do
        jobs_start(b, jobs);
    while (wait_for_one(b, jobs));
    const Job *first = failed(jobs);
    if (first)
        b->report->error = first->error;
    return first ? first->status : 0;
}

void jobs_abandon(Build *b, Jobs *jobs)
{
    const Str error = b->report->error;
    while (wait_for_one(b, jobs))
        continue;
    b->report->error = error;
}
