// Data sets from folders and files, or made up.

#include "tools/datasets.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int begin(const DataSets *d, Inputs *in)
{
    int status = inputs_begin(d->tool, d->model, in);
    return status || !d->prepare ? status : d->prepare(d->user, in);
}

static int run_folder(const DataSets *d, const char *folder)
{
    Inputs in;
    int status = begin(d, &in);
    if (!status)
        status = inputs_from_folder(d->tool, d->model, folder, &in);
    if (!status)
        status = d->run(d->user, &in);
    inputs_free(d->model, &in);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n != k ? (n > k) - (n < k) : strcmp(x, y);
}

// A folder with input files, or its folders test_data_set_N. *found: was there any?
static int run_folders(const DataSets *d, const char *folder, bool *found)
{
    Arena *a = d->arena;
    VEC(const char *) sets = {0};
    bool is_set = false;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        is_set |= strcmp(e->d_name, "input_0.pb") == 0;
        if (strncmp(e->d_name, "test_data_set_", 14) == 0)
            vec_push(a, &sets, str_printf(a, "%s/%s", folder, e->d_name).at);
    }
    if (dir)
        closedir(dir);
    *found = is_set || sets.len;
    if (is_set)
        return run_folder(d, folder);
    if (sets.len)
        qsort(sets.at, sets.len, sizeof *sets.at, by_name);
    int status = EXIT_CLEAN;
    for (uint32_t i = 0; i < sets.len && !status; i++)
        status = run_folder(d, sets.at[i]);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *folder_of(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(a, path, (size_t)(slash - path)) : ".";
}

// Files and NAME=FILE together are one set of inputs.
static int run_files(const DataSets *d)
{
    Inputs in;
    int status = begin(d, &in);
    for (int i = 0; i < d->ndata && !status; i++)
        if (!is_folder(d->data[i]))
            status = inputs_from_argument(d->tool, d->model, d->data[i], &in);
    if (!status)
        status = d->run(d->user, &in);
    inputs_free(d->model, &in);
    return status;
}

static int run_made_up(const DataSets *d)
{
    Inputs in;
    int status = begin(d, &in);
    if (!status)
        status = inputs_make_up(d->tool, d->model, &in);
    if (!status)
        status = d->run(d->user, &in);
    inputs_free(d->model, &in);
    return status;
}

int datasets_each(const DataSets *d, bool *made_up)
{
    int status = EXIT_CLEAN;
    *made_up = false;
    bool files = false, found = false;
    for (int i = 0; i < d->ndata && !status; i++) {
        if (!is_folder(d->data[i])) {
            files = true;
            continue;
        }
        status = run_folders(d, d->data[i], &found);
        if (!status && !found)
            status = tool_error(d->tool, EXIT_USAGE,
                                "%s holds no input_0.pb and no test_data_set_N", d->data[i]);
    }
    if (!status && files)
        status = run_files(d);
    if (status || d->ndata)
        return status;
    status = run_folders(d, folder_of(d->arena, d->path), &found);
    if (status || found)
        return status;
    *made_up = true;
    return run_made_up(d);
}
