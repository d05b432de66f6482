// Which compilers, as their results are remembered by: what the C compiler says of itself, what it
// would run, and the files that it works with. Another assembler, linker or C library under the
// same version, a compiler built anew, or one behind a wrapper that adds flags makes other programs
// of the same text.

#include "codegen/embedded.h"
#include "codegen/jobs.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

// What a compiler is asked for: one line, a path or a name to be looked for on PATH. crt1.o is of
// the package that the C library's headers are of. What is loaded needs no other assembler or
// linker.
static const char *const asked[] = {
    "-print-prog-name=cc1",      "-print-file-name=crt1.o",    "-print-prog-name=as",
    "-print-prog-name=ld",       "-print-file-name=libc.so.6", "-print-file-name=libm.so.6",
    "-print-file-name=libgcc.a",
};

enum { ASKED = sizeof asked / sizeof *asked, ASKED_OF_LOADED = 2 };

static void put_file(Build *b, const char *name, Buf *out)
{
    const char *path = strchr(name, '/') ? name : process_find(b->arena, name);
    struct stat st;
    if (path && stat(path, &st) == 0)
        buf_printf(out, "%s %jd %jd.%09ld\n", path, (intmax_t)st.st_size,
                   (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

// The commands that it would run, which stand behind blanks: with the flags that a wrapper adds.
static void put_commands(const Buf *said, Buf *out)
{
    for (size_t at = 0; at < said->len;) {
        const char *end = memchr(said->at + at, '\n', said->len - at);
        const size_t n = end ? (size_t)(end - said->at) + 1 - at : said->len - at;
        if (said->at[at] == ' ')
            buf_put(out, said->at + at, n);
        at += n;
    }
}

// All are asked at once.
static void put_files(Build *b, Buf *out)
{
    const char *dry[] = {b->cc, "-S", "-###", "-x", "c", "/dev/null", NULL};
    Process started[ASKED], would;
    bool runs[ASKED];
    Str error = STR_NONE;
    // In no folder of its own, which clang would name.
    const bool says = process_start(b->arena, "/", dry, true, &would, &error);
    const int n = b->o->kind == EMIT_LOADED ? ASKED_OF_LOADED : ASKED;
    for (int i = 0; i < n; i++) {
        const char *argv[] = {b->cc, asked[i], NULL};
        runs[i] = process_start(b->arena, b->dir, argv, true, &started[i], &error);
    }
    for (int i = 0; i < n; i++) {
        Buf said = {0};
        if (runs[i] && process_wait(&started[i], &said) == 0 && said.at)
            put_file(b, str_printf(b->arena, "%.*s", (int)strcspn(said.at, "\n"), said.at).at, out);
        buf_free(&said);
    }
    Buf commands = {0};
    if (says && process_wait(&would, &commands) == 0)
        put_commands(&commands, out);
    buf_free(&commands);
}

// Its own words and the files that it works with, but not where it is: asked for once.
static bool describe_compiler(Build *b)
{
    if (b->compiler)
        return b->compiler->len > 0;
    const char *argv[] = {b->cc, "--version", NULL};
    Str error = STR_NONE;
    int status = 0;
    b->compiler = NEW(b->arena, Buf);
    Buf said = {0};
    bool ok = process_run(b->arena, b->dir, argv, &said, &status, &error) && status == 0;
    if (ok) {
        put_files(b, &said);
        *b->compiler = (Buf){arena_copy(b->arena, said.at, said.len), said.len, said.len};
    }
    buf_free(&said);
    return ok;
}

bool jobs_describe(Build *b)
{
    if (b->described)
        return b->described->len > 0;
    b->described = NEW(b->arena, Buf);
    if (!describe_compiler(b))
        return false;
    Buf said = {0};
    buf_put(&said, b->compiler->at, b->compiler->len);
    put_file(b, b->cc, &said);
    cache_describe_environment(&said);
    cache_describe_machine(&said);
    for (const EmbeddedFile *f = embedded_files; f->name; f++)
        buf_printf(&said, "%s %016llx\n", f->name,
                   (unsigned long long)hash_bytes(f->text, f->len, 1));
    *b->described = (Buf){arena_copy(b->arena, said.at, said.len), said.len, said.len};
    buf_free(&said);
    return true;
}

bool jobs_describe_for(Build *b, const char *const *argv, Buf *out)
{
    bool native = false;
    if (!describe_compiler(b))
        return false;
    buf_put(out, b->compiler->at, b->compiler->len);
    cache_describe_environment(out);
    for (const char *const *a = argv; *a; a++)
        native |= strcmp(*a, "-march=native") == 0;
    if (native)
        cache_describe_machine(out);
    return true;
}
