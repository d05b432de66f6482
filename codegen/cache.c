#include "codegen/cache.h"
#include "base/file.h"
#include "base/sha1.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

bool cache_take(Cache *c, const char *key, const char *to)
{
    const char *path = path_of(c, key);
    Str error = STR_NONE;
    if (!file_exists(path) || !file_copy(path, to, 0644, &error, c->arena))
        return false;
    utimensat(AT_FDCWD, path, NULL, 0); // used now
    return true;
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

void cache_keep(Cache *c, const char *key, const char *from)
{
    struct stat st;
    Str error = STR_NONE;
    if (stat(from, &st) != 0 || st.st_size > CACHE_BYTES / 4)
        return;
    // Counting all is dear beside a small entry: every sixteenth of those does it for the others.
    if (file_copy(from, path_of(c, key), 0644, &error, c->arena) &&
        (*key == '0' || st.st_size > CACHE_BYTES / 256))
        shrink(c);
}

// ---- the machine -------------------------------------------------------------------------------

void cache_describe_machine(Buf *out)
{
    static const char *const read[] = {"CPATH", "C_INCLUDE_PATH", "COMPILER_PATH",
                                       "GCC_EXEC_PREFIX"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        const char *value = getenv(read[i]);
        buf_printf(out, "%s=%s\n", read[i], value ? value : "");
    }
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
