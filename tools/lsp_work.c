// Work on a document in a process of its own, whose result comes through a pipe: whatever a text
// makes of the compiler, the editor keeps its server. While it runs messages are read on, so that
// what nobody waits for any more can be ended.

#include "tools/lsp.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SECONDS = 120, MAX_RESULT = 256 << 20 };

static int put_piece(const char *at, size_t n, void *to)
{
    while (n) {
        ssize_t done = write(*(int *)to, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

// Does a message of the queue make the work idle: the request is cancelled, or the text another?
static bool is_superseded(const LspServer *s, const LspDocument *d, const json_t *id)
{
    size_t i;
    json_t *m;
    json_array_foreach(s->queue, i, m)
    {
        const char *method = json_string_value(json_object_get(m, "method"));
        const json_t *params = json_object_get(m, "params");
        const json_t *document = json_object_get(params, "textDocument");
        const char *uri = json_string_value(json_object_get(document, "uri"));
        if (!method)
            continue;
        if (id && strcmp(method, "$/cancelRequest") == 0 &&
            json_equal(json_object_get(params, "id"), id))
            return true;
        if (!id && uri && strcmp(uri, d->uri) == 0 &&
            (strcmp(method, "textDocument/didChange") == 0 ||
             strcmp(method, "textDocument/didClose") == 0))
            return true;
        if (strcmp(method, "exit") == 0)
            return true;
    }
    return false;
}

static void child(LspServer *s, LspDocument *d, LspWork *work, const json_t *params, int to)
{
    setpgid(0, 0);
    dup2(2, 1); // what is printed is no message
    alarm(2 * MAX_SECONDS);
    json_t *result = work(s, d, params);
    _exit(result && json_dump_callback(result, put_piece, &to, JSON_COMPACT | JSON_ENCODE_ANY) == 0
              ? EXIT_CLEAN
              : EXIT_BUG);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Reads what the process sends; false: it is superseded, or takes too long.
static bool collect(LspServer *s, const LspDocument *d, const json_t *id, int from, Buf *out,
                    bool *late)
{
    const double end = seconds() + MAX_SECONDS;
    for (;;) {
        char piece[65536];
        struct pollfd p[2] = {{.fd = from, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        int ready = poll(p, s->eof ? 1 : 2, 1000);
        *late = seconds() > end || out->len > MAX_RESULT;
        if (*late)
            return false;
        if (ready > 0 && !s->eof && p[1].revents) {
            lsp_read(s, 0);
            if (is_superseded(s, d, id))
                return false;
        }
        if (ready <= 0 || !p[0].revents)
            continue;
        ssize_t n = read(from, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        buf_put(out, piece, (size_t)n);
    }
}

static char *words_of(int status, bool late)
{
    char words[200];
    if (late)
        snprintf(words, sizeof words, "it took longer than %d seconds", MAX_SECONDS);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BYTES)
        snprintf(words, sizeof words, "not enough memory for the model");
    else
        snprintf(words, sizeof words, "a bug in cameo: it ended by %s %d; please report it",
                 WIFSIGNALED(status) ? "signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return strdup(words);
}

LspOutcome lsp_work(LspServer *s, LspDocument *d, LspWork *work, const json_t *params,
                    const json_t *id, json_t **result, char **why)
{
    int ends[2], status = 0;
    Buf out = {0};
    *result = NULL;
    *why = NULL;
    if (pipe(ends) != 0) {
        *why = strdup("no pipe can be had");
        return LSP_FAILED;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(s, d, work, params, ends[1]);
    }
    close(ends[1]);
    bool late = false, all = pid > 0 && collect(s, d, id, ends[0], &out, &late);
    close(ends[0]);
    if (pid > 0 && !all && kill(-pid, SIGKILL) != 0)
        kill(pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (all)
        *result = json_loadb(out.at ? out.at : "", out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    buf_free(&out);
    if (*result)
        return LSP_DONE;
    if (pid > 0 && !all && !late)
        return LSP_SUPERSEDED;
    *why = pid > 0 ? words_of(status, late) : strdup("no process can be had");
    return LSP_FAILED;
}
