// Spawns, reads, waits.

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool fail(Arena *a, Str *error, const char *name)
{
    *error = str_printf(a, "cannot run %s: %s", name, strerror(errno));
    return false;
}

bool process_start(Arena *a, const char *dir, const char *const *argv, bool captured, Process *p,
                   Str *error)
{
    int ends[2] = {-1, -1};
    if (captured && pipe2(ends, O_CLOEXEC) != 0)
        return fail(a, error, argv[0]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (captured) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    }
    if (dir)
        posix_spawn_file_actions_addchdir_np(&actions, dir);
    errno = posix_spawnp(&p->pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    bool ok = errno == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (captured)
        close(ends[1]);
    p->output = ends[0];
    if (ok)
        return true;
    fail(a, error, argv[0]);
    if (captured)
        close(ends[0]);
    return false;
}

int process_wait(Process *p, Buf *output)
{
    char chunk[4096];
    for (ssize_t n; p->output >= 0 && (n = read(p->output, chunk, sizeof chunk)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (output)
            buf_put(output, chunk, (size_t)n);
    }
    if (p->output >= 0)
        close(p->output);
    int raw = 0;
    while (waitpid(p->pid, &raw, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

uint32_t process_first(const Process *const *all, uint32_t n)
{
    enum { MOST = 64 };
    struct pollfd ends[MOST];
    n = n < MOST ? n : MOST;
    for (uint32_t i = 0; i < n; i++)
        ends[i] = (struct pollfd){.fd = all[i]->output, .events = POLLIN};
    while (poll(ends, n, -1) < 0 && errno == EINTR)
        continue;
    for (uint32_t i = 0; i < n; i++)
        if (ends[i].revents)
            return i;
    return 0;
}

bool process_run(Arena *a, const char *dir, const char *const *argv, Buf *output, int *status,
                 Str *error)
{
    Process p;
    if (!process_start(a, dir, argv, output != NULL, &p, error))
        return false;
    *status = process_wait(&p, output);
    return true;
}

const char *process_find(Arena *a, const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        Str full = str_printf(a, "%.*s/%s", (int)n, p, name);
        if (access(full.at, X_OK) == 0)
            return full.at;
        p += n + (p[n] == ':');
    }
    return NULL;
}
