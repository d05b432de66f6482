// Which models the arguments of `cameo lint` name.

#include "base/file.h"
#include "base/map.h"
#include "tools/lint.h"

#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64, LONGEST = 4096 };

static bool is_model(const char *name)
{
    Str s = str_of(name);
    return str_ends(s, ".onnx") || str_ends(s, ".onnxtxt") || str_ends(s, ".cir");
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// A link whose file is gone is named, so that its model is not passed over in silence.
static bool leads_nowhere(const char *path, const struct stat *link)
{
    struct stat st;
    return S_ISLNK(link->st_mode) && stat(path, &st) != 0;
}

// All models below a folder, by name; links to folders and hidden ones are left out.
static void walk(Arena *a, const char *folder, int depth, Paths *paths)
{
    Paths entries = {0};
    DIR *d = depth < DEEPEST ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strlen(folder) + strlen(e->d_name) < LONGEST)
            vec_push(a, &entries, arena_copy(a, e->d_name, strlen(e->d_name)));
    if (d)
        closedir(d);
    if (entries.len)
        qsort(entries.at, entries.len, sizeof *entries.at, by_name);
    for (uint32_t i = 0; i < entries.len; i++) {
        bool slash = str_ends(str_of(folder), "/");
        const char *path = str_printf(a, "%s%s%s", folder, slash ? "" : "/", entries.at[i]).at;
        struct stat st;
        if (lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            walk(a, path, depth + 1, paths);
        else if (is_model(path) && (file_regular(path) || leads_nowhere(path, &st)))
            vec_push(a, paths, path);
    }
}

// "models/**/x*.onnx": all models below the part without wildcards whose path matches; "**/" also
// stands for no folder at all.
static void walk_glob(Arena *a, const char *pattern, Paths *paths)
{
    Paths below = {0};
    size_t fixed = strcspn(pattern, "*?["), n = strlen(pattern);
    while (fixed && pattern[fixed - 1] != '/')
        fixed--;
    const char *folder = fixed ? str_printf(a, "%.*s", (int)fixed - (fixed > 1), pattern).at : ".";
    const char *stars = strstr(pattern, "**/");
    Str shorter = STR_NONE;
    if (stars)
        shorter = str_printf(a, "%.*s%.*s", (int)(stars - pattern), pattern,
                             (int)(n - (size_t)(stars - pattern) - 3), stars + 3);
    walk(a, folder, 0, &below);
    for (uint32_t i = 0; i < below.len; i++) {
        const char *path = below.at[i];
        Str shown = str_of(!fixed && strncmp(path, "./", 2) == 0 ? path + 2 : path);
        if (glob_match(str_of(pattern), shown) || (shorter.at && glob_match(shorter, shown)))
            vec_push(a, paths, shown.at);
    }
}

static void expand(Arena *a, const char *pattern, Paths *paths)
{
    glob_t found = {0};
    if (strstr(pattern, "**")) {
        walk_glob(a, pattern, paths);
        return;
    }
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *path = arena_copy(a, found.gl_pathv[i], strlen(found.gl_pathv[i]));
            if (is_folder(path))
                walk(a, path, 0, paths);
            else
                vec_push(a, paths, path);
        }
    globfree(&found);
}

// A file that several arguments name is linted once, as the first of them names it.
static void drop_repeated(Arena *a, Paths *paths)
{
    Map seen = {.arena = a};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < paths->len; i++) {
        struct stat st;
        const bool link = lstat(paths->at[i], &st) == 0 && S_ISLNK(st.st_mode);
        char *full = link ? NULL : realpath(paths->at[i], NULL);
        bool added = false;
        map_put(&seen, str_copy(a, str_of(full ? full : paths->at[i])), &added);
        free(full);
        if (added)
            paths->at[kept++] = paths->at[i];
    }
    paths->len = kept;
}

bool lint_paths(LintRun *r, const char *const *args, int n, Paths *paths)
{
    for (int i = 0; i < n; i++) {
        uint32_t before = paths->len;
        bool wild = !file_exists(args[i]) && strpbrk(args[i], "*?[");
        bool folder = !wild && is_folder(args[i]);
        if (wild)
            expand(r->arena, args[i], paths);
        else if (folder)
            walk(r->arena, args[i], 0, paths);
        else
            vec_push(r->arena, paths, args[i]);
        if (paths->len == before) {
            tool_error(r->tool, EXIT_USAGE, wild ? "nothing matches %s" : "no model in %s",
                       args[i]);
            return false;
        }
    }
    if (paths->len > 1)
        drop_repeated(r->arena, paths);
    return true;
}
