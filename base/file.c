#include "base/file.h"
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __linux__
#include <linux/fs.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MAP_POPULATE
#define POPULATE MAP_POPULATE
#else
#define POPULATE 0
#endif

static bool fail(Arena *a, Str *error, const char *what, const char *path)
{
    *error = str_printf(a, "cannot %s %s: %s", what, path, strerror(errno));
    return false;
}

// A stream is at most what protobuf can hold. What a device gives has no end; one that gives
// nothing is as good as an empty file.
static const size_t MAX_STREAM = (size_t)1 << 31;

static size_t most_of_stream(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && !isatty(fd) ? 0 : MAX_STREAM;
}

static bool read_all(Arena *a, int fd, const char *path, FileView *view, Str *error)
{
    Buf b = {0};
    static char chunk[65536];
    const size_t most = most_of_stream(fd);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) != 0;) {
        if (n < 0 || b.len + (size_t)n > most) {
            errno = n < 0 ? errno : EFBIG;
            fail(a, error, "read", path);
            buf_free(&b);
            return false;
        }
        buf_put(&b, chunk, (size_t)n);
    }
    *view = (FileView){(const unsigned char *)b.at, b.len, false};
    return true;
}

bool file_open(Arena *a, const char *path, FileView *view, Str *error)
{
    *view = (FileView){0};
    if (strcmp(path, "-") == 0)
        return read_all(a, 0, "standard input", view, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return fail(a, error, "open", path);
    bool ok = fstat(fd, &st) == 0;
    if (ok && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        ok = false;
    }
    if (!ok) {
        fail(a, error, "read", path);
    } else if (S_ISREG(st.st_mode) && st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = at != MAP_FAILED;
        if (ok)
            *view = (FileView){at, (size_t)st.st_size, true};
        else
            fail(a, error, "map", path);
    } else {
        ok = read_all(a, fd, path, view, error);
    }
    close(fd);
    return ok;
}

void file_close(FileView *view)
{
    if (view->mapped)
        munmap((void *)(uintptr_t)view->at, view->len);
    else
        free((void *)(uintptr_t)view->at);
    *view = (FileView){0};
}

static bool write_bytes(int fd, const char *at, size_t len)
{
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

typedef struct Contents {
    const char *at; // NULL: those of the file `from`, or what `put` writes
    size_t len;
    int from;
    FilePut *put;
    void *user;
    Str error; // of put
} Contents;

enum { PIECE = 1 << 21 }; // a huge page

static bool put_contents(int fd, Contents *c)
{
    const int own = dup(fd);
    FILE *f = own >= 0 ? fdopen(own, "wb") : NULL;
    if (!f && own >= 0)
        close(own);
    char *buffer = f ? malloc(PIECE) : NULL;
    if (buffer)
        setvbuf(f, buffer, _IOFBF, PIECE);
    bool ok = f && c->put(c->user, f, &c->error) && !ferror(f);
    ok = (!f || fclose(f) == 0) && ok;
    free(buffer);
    return ok;
}

// Both files have the same blocks, where the file system can.
static bool clone_within_system(int from, int to)
{
#ifdef FICLONE
    return ioctl(to, FICLONE, from) == 0;
#else
    (void)from, (void)to;
    return false;
#endif
}

// Pages that a write finds to be missing would end it early, so they are mapped at once.
static bool write_mapped(int fd, int from)
{
    enum { WINDOW = 32 * PIECE };
    struct stat st;
    bool ok = fstat(from, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    for (off_t at = 0; ok && at < st.st_size; at += WINDOW) {
        const size_t n = st.st_size - at < WINDOW ? (size_t)(st.st_size - at) : WINDOW;
        char *part = mmap(NULL, n, PROT_READ, MAP_PRIVATE | POPULATE, from, at);
        ok = part != MAP_FAILED && write_bytes(fd, part, n);
        if (part != MAP_FAILED)
            munmap(part, n);
    }
    return ok;
}

static bool write_pieces(int fd, int from)
{
    char *piece = malloc(PIECE);
    ssize_t n = piece ? 1 : -1;
    while (n > 0) {
        n = read(from, piece, PIECE);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0 && !write_bytes(fd, piece, (size_t)n))
            n = -1;
    }
    free(piece);
    return n == 0;
}

// Large files are written a huge page at a time: the system keeps what is written together in such
// pages, which programs then map. copy_file_range leaves small ones.
static bool write_contents(int fd, Contents *c)
{
    if (c->put)
        return put_contents(fd, c);
    if (c->at)
        return write_bytes(fd, c->at, c->len);
    return clone_within_system(c->from, fd) || write_mapped(fd, c->from) ||
           (lseek(fd, 0, SEEK_CUR) <= 0 && write_pieces(fd, c->from));
}

static void fail_to_write(Arena *a, Str *error, const Contents *c, const char *path)
{
    if (c->error.len)
        *error = c->error;
    else
        fail(a, error, "write", path);
}

// Where a link leads to, if that is a file with a name: so that the link stays one. /dev/stdout is
// such a link where the shell has sent it to a file, which may have no name any more.
static const char *linked(Arena *a, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || stat(path, &st) != 0)
        return path;
    char *real = realpath(path, NULL);
    const char *found = real ? arena_copy(a, real, strlen(real)) : NULL;
    free(real);
    return found;
}

static bool put_file(const char *path, Contents *contents, unsigned mode, Str *error, Arena *a)
{
    struct stat st;
    const char *to = linked(a, path);
    // a device or pipe: no rename over it
    if (!to || (stat(to, &st) == 0 && !S_ISREG(st.st_mode))) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | (to ? 0 : O_TRUNC));
        bool ok = fd >= 0 && write_contents(fd, contents);
        if (!ok)
            fail_to_write(a, error, contents, path);
        if (fd >= 0)
            close(fd);
        return ok;
    }
    if (stat(to, &st) == 0)
        mode = st.st_mode & 07777;
    char *temporary = arena_alloc(a, strlen(to) + 16);
    sprintf(temporary, "%s.tmp.XXXXXX", to);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(a, error, "write", path);
    temporary_keep(temporary);
    bool ok = write_contents(fd, contents) && fchmod(fd, (mode_t)mode) == 0;
    ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, to) == 0;
    if (!ok) {
        fail_to_write(a, error, contents, path);
        unlink(temporary);
    }
    temporary_forget(temporary);
    return ok;
}

bool file_write(const char *path, const void *bytes, size_t len, unsigned mode, Str *error,
                Arena *a)
{
    return put_file(path, &(Contents){.at = bytes ? bytes : "", .len = len}, mode, error, a);
}

bool file_produce(const char *path, FilePut *put, void *user, unsigned mode, Str *error, Arena *a)
{
    return put_file(path, &(Contents){.put = put, .user = user}, mode, error, a);
}

bool file_copy(const char *from, const char *to, unsigned mode, Str *error, Arena *a)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(a, error, "read", from);
    bool ok = put_file(to, &(Contents){.from = fd}, mode, error, a);
    close(fd);
    return ok;
}

void file_expect(const void *at, size_t n)
{
#ifdef MADV_POPULATE_READ
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = (uintptr_t)at / page * page;
    madvise((void *)low, (uintptr_t)at + n - low, MADV_POPULATE_READ);
#else
    (void)at, (void)n;
#endif
}

void file_forget(const FileView *view, const void *at, size_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)view->at;
    const uintptr_t begin = (uintptr_t)at, low = (begin + page - 1) / page * page;
    const uintptr_t high = (begin + n) / page * page;
    if (view->mapped && begin >= first && begin + n <= first + view->len && low < high)
        madvise((void *)low, high - low, MADV_DONTNEED);
}

bool sink_put(ByteSink *s, const void *at, size_t n)
{
    enum { SHORT = 1 << 16 }; // what is longer than a stream's buffer is not kept in it
    bool ok = true;
    s->put += n;
    if (s->buf)
        buf_put(s->buf, at, n);
    for (const char *from = at; !s->buf && ok && n; from += SHORT) {
        const size_t part = n < SHORT ? n : SHORT;
        ok = fwrite(from, 1, part, s->file) == part;
        n -= part;
    }
    return ok;
}

bool file_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool dir_make(Arena *a, const char *path, Str *error)
{
    char *p = arena_copy(a, path, strlen(path));
    for (char *s = p + 1;; s++) {
        if (*s != '/' && *s)
            continue;
        char keep = *s;
        *s = 0;
        if (mkdir(p, 0777) != 0 && errno != EEXIST)
            return fail(a, error, "make directory", p);
        *s = keep;
        if (!keep)
            break;
    }
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    errno = ENOTDIR;
    return fail(a, error, "make directory", path);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_folder(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? "." : slash == path ? "/" : arena_copy(a, path, (size_t)(slash - path));
}
