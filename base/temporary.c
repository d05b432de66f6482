// Files and directories of one run. The handler of a signal calls nothing that allocates, so
// entries of directories are read by the system call.

#include "base/temporary.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 8, LONGEST = 1024 };

// What there is at the moment; the processes that forked off did not make it.
typedef struct Kept {
    atomic_int state;
    pid_t maker;
    char path[LONGEST];
} Kept;

enum { FREE, FILLED, KEPT };

static Kept kept[MOST];

// How many of the directory's files are gone now.
static int remove_files(int dir)
{
    char buffer[4096];
    int removed = 0;
    lseek(dir, 0, SEEK_SET);
    for (long n; (n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(buffer + at);
            removed += unlinkat(dir, e->d_name, 0) == 0; // not . and ..
            at += e->d_reclen;
        }
    return removed;
}

static void remove_with_files(const char *path)
{
    const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    while (remove_files(dir)) // what is removed may move others past the place
        ;
    close(dir);
    rmdir(path);
}

void temporary_end(void)
{
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&kept[i].state) == KEPT && kept[i].maker == getpid() &&
            unlink(kept[i].path) != 0)
            remove_with_files(kept[i].path);
}

// The signal's own action is the default again (SA_RESETHAND), and follows when this returns.
static void end_by(int number)
{
    temporary_end();
    raise(number);
}

// Signals that somebody else handles, or that are ignored as under nohup, stay so.
static void handle_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction ours = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND};
    struct sigaction now;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &ours, NULL);
}

void temporary_keep(const char *path)
{
    handle_signals();
    if (strlen(path) >= LONGEST)
        return;
    for (int i = 0; i < MOST; i++) {
        int state = FREE;
        if (!atomic_compare_exchange_strong(&kept[i].state, &state, FILLED))
            continue;
        strcpy(kept[i].path, path);
        kept[i].maker = getpid();
        atomic_store(&kept[i].state, KEPT);
        return;
    }
}

void temporary_forget(const char *path)
{
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&kept[i].state) == KEPT && strcmp(kept[i].path, path) == 0)
            atomic_store(&kept[i].state, FREE);
}

bool dir_temporary(Arena *a, const char **path, Str *error)
{
    const char *base = getenv("TMPDIR");
    Str s = str_printf(a, "%s/cameo.XXXXXX", base && *base ? base : "/tmp");
    char *name = arena_copy(a, s.at, s.len);
    handle_signals();
    if (!mkdtemp(name)) {
        *error = str_printf(a, "cannot make directory %s: %s", name, strerror(errno));
        return false;
    }
    temporary_keep(name);
    *path = name;
    return true;
}

void dir_remove(const char *path)
{
    remove_with_files(path);
    temporary_forget(path);
}
