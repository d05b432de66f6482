#include "codegen/cache.h"
#include "base/file.h"
#include "base/sha1.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECRET "secret" // the name of what is no entry

enum { STALE = 3600 }; // seconds after which a file that was being written is left behind

Cache *cache_open(Arena *a)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    Cache *c = NEW(a, Cache);
    Str error = STR_NONE;
    c->arena = a;
    if (base && *base == '/')
        c->dir = str_printf(a, "%s/cameo", base).at;
    else if (home && *home == '/')
        c->dir = str_printf(a, "%s/.cache/cameo", home).at;
    else
        return NULL;
    return dir_make(a, c->dir, &error) && access(c->dir, W_OK) == 0 ? c : NULL;
}

const char *cache_key(const Cache *c, const Buf *made_from)
{
    char *key = arena_alloc(c->arena, 41);
    sha1_hex(made_from->at, made_from->len, key);
    return key;
}

static const char *path_of(const Cache *c, const char *key)
{
    return str_printf(c->arena, "%s/%s", c->dir, key).at;
}

// ---- its secret --------------------------------------------------------------------------------

// Whoever is first makes it: a link does not replace what is there.
static void make_secret(Cache *c, const char *path)
{
    DigestKey key;
    Str error = STR_NONE;
    const char *own = str_printf(c->arena, "%s.%ld", path, (long)getpid()).at;
    for (size_t at = 0, n = 32; at < DIGEST_WORDS; at += n) // so few come whole
        if (getrandom(&key.words[at], n * 8, 0) != (ssize_t)(n * 8))
            return;
    if (file_write(own, &key, sizeof key, 0600, &error, c->arena)) {
        const int made = link(own, path);
        (void)made; // or another process did
        unlink(own);
    }
}

const DigestKey *cache_secret(Cache *c)
{
    const char *path = path_of(c, SECRET);
    FileView view;
    for (int tries = 0; !c->secret && tries < 2; tries++) {
        if (tries || !file_exists(path))
            make_secret(c, path);
        if (!cache_view(c, SECRET, &view))
            continue;
        if (view.len == sizeof *c->secret)
            c->secret = memcpy(NEW(c->arena, DigestKey), view.at, view.len);
        else
            unlink(path);
        file_close(&view);
    }
    return c->secret;
}

// ---- its size ----------------------------------------------------------------------------------

typedef struct Entry {
    char name[64];
    int64_t size;
    struct timespec used;
} Entry;

static int by_use(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void shrink(Cache *c)
{
    DIR *d = opendir(c->dir);
    VEC(Entry) all = {0};
    int64_t total = 0;
    const time_t now = time(NULL);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        Entry one = {0};
        if (strlen(e->d_name) >= sizeof one.name ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strchr(e->d_name, '.')) { // not whole yet
            if (now - st.st_mtime > STALE)
                unlinkat(dirfd(d), e->d_name, 0);
            continue;
        }
        if (strcmp(e->d_name, SECRET) == 0)
            continue;
        strcpy(one.name, e->d_name);
        one.size = st.st_size;
        one.used = st.st_mtim;
        total += st.st_size;
        vec_push(c->arena, &all, one);
    }
    if (total > CACHE_BYTES)
        qsort(all.at, all.len, sizeof *all.at, by_use);
    for (uint32_t i = 0; i < all.len && total > CACHE_BYTES; i++)
        if (unlinkat(dirfd(d), all.at[i].name, 0) == 0)
            total -= all.at[i].size;
    if (d)
        closedir(d);
}

// Counting all is dear beside a small entry: every sixteenth of those does it for the others.
static bool is_turn(const char *key, int64_t size)
{
    return *key == '0' || size > CACHE_BYTES / 256;
}

// ---- entries -----------------------------------------------------------------------------------

bool cache_view(Cache *c, const char *key, FileView *view)
{
    const char *path = path_of(c, key);
    Str error = STR_NONE;
    if (!file_regular(path) || !file_open(c->arena, path, view, &error))
        return false;
    utimensat(AT_FDCWD, path, NULL, 0);
    return true;
}

bool cache_take_whole(Cache *c, const char *digest, uint64_t size, const char *to, unsigned mode)
{
    FileView view;
    Str error = STR_NONE;
    char found[41] = "";
    if (!cache_secret(c) || !cache_view(c, digest, &view))
        return false;
    if (view.len == size)
        digest_hex(c->secret, view.at, view.len, found);
    file_close(&view);
    if (strcmp(found, digest) == 0)
        return file_copy(path_of(c, digest), to, mode, &error, c->arena);
    unlink(path_of(c, digest));
    return false;
}

const char *cache_keep_whole(Cache *c, const char *from, uint64_t *size)
{
    FileView view;
    Str error = STR_NONE;
    char *digest = arena_alloc(c->arena, 41);
    if (!cache_secret(c) || !file_regular(from) || !file_open(c->arena, from, &view, &error))
        return NULL;
    digest_view(c->secret, &view, digest);
    *size = view.len;
    file_close(&view);
    if (*size > CACHE_BYTES / 4)
        return NULL;
    bool kept = file_exists(path_of(c, digest)) ||
                file_copy(from, path_of(c, digest), 0644, &error, c->arena);
    if (kept && is_turn(digest, (int64_t)*size))
        shrink(c);
    return kept ? digest : NULL;
}

void cache_put(Cache *c, const char *key, const void *bytes, size_t len)
{
    Str error = STR_NONE;
    if (file_write(path_of(c, key), bytes, len, 0644, &error, c->arena) && is_turn(key, 0))
        shrink(c);
}

void cache_keep(Cache *c, const char *key, const char *from)
{
    uint64_t size = 0;
    const char *digest = cache_keep_whole(c, from, &size);
    if (!digest)
        return;
    const Str entry = str_printf(c->arena, "%s %llu\n", digest, (unsigned long long)size);
    cache_put(c, key, entry.at, entry.len);
}

bool cache_take(Cache *c, const char *key, const char *to)
{
    FileView view;
    if (!cache_view(c, key, &view))
        return false;
    const Str entry =
        str_copy(c->arena, (Str){(const char *)view.at, view.len < 64 ? view.len : 0});
    char digest[41];
    unsigned long long size;
    file_close(&view);
    return sscanf(entry.at, "%40[0-9a-f] %llu", digest, &size) == 2 &&
           cache_take_whole(c, digest, size, to, 0644);
}

// ---- the machine -------------------------------------------------------------------------------

void cache_describe_environment(Buf *out)
{
    static const char *const read[] = {"CPATH",           "C_INCLUDE_PATH", "COMPILER_PATH",
                                       "GCC_EXEC_PREFIX", "LIBRARY_PATH",   "LD_RUN_PATH"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        const char *value = getenv(read[i]);
        buf_printf(out, "%s=%s\n", read[i], value ? value : "");
    }
}

void cache_describe_machine(Buf *out)
{
    static const char *const lines[] = {"vendor_id", "cpu family", "model",
                                        "flags",     "Features",   "CPU "};
    FILE *f = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t room = 0;
    while (f && getline(&line, &room, f) > 1)
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            if (strncmp(line, lines[i], strlen(lines[i])) == 0)
                buf_printf(out, "%s", line);
    free(line);
    if (f)
        fclose(f);
}
