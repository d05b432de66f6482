// Data sets from folders and files, or made up.

#include "tools/datasets.h"
#include "base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int begin(const DataSets *d, Inputs *in)
{
    int status = inputs_begin(d->tool, d->model, in);
    return status || !d->prepare ? status : d->prepare(d->user, in);
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// One data set in a file.
static bool is_archive(const char *path)
{
    return is_file(path) && str_ends(str_of(path), ".npz");
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// The file of input i in the folder; NULL: there is none.
static const char *file_of(const DataSets *d, const char *folder, int32_t i)
{
    static const char *const kinds[] = {"npy", "pb"};
    Arena *a = d->arena;
    const char *path = str_printf(a, "%s/input_%d.pb", folder, (int)i).at;
    if (is_file(path))
        return path;
    Str name = str_printf(a, "%s", d->model->inputs[i].name);
    char *at = arena_copy(a, name.at, name.len);
    for (size_t k = 0; k < name.len; k++)
        if (!isalnum((unsigned char)at[k]) && !strchr(".-_", at[k]))
            at[k] = '_';
    for (int k = 0; k < 2; k++) {
        path = str_printf(a, "%s/%s.%s", folder, at, kinds[k]).at;
        if (is_file(path))
            return path;
    }
    return NULL;
}

static bool is_set(const DataSets *d, const char *folder)
{
    for (int32_t i = 0; i < d->model->ninputs; i++)
        if (file_of(d, folder, i))
            return true;
    return false;
}

static int run_set(const DataSets *d, const char *folder)
{
    Inputs in;
    int status = begin(d, &in);
    in.from = folder;
    for (int32_t i = 0; i < d->model->ninputs && !status; i++) {
        const char *path = in.given[i] ? NULL : file_of(d, folder, i);
        if (path)
            status = inputs_from_file(d->tool, d->model, i, path, &in);
    }
    if (!status)
        status = d->run(d->user, &in);
    inputs_free(d->model, &in);
    return status;
}

// An archive, or the only input.
static int run_file(const DataSets *d, const char *path)
{
    Inputs in;
    int status = begin(d, &in);
    bool archive = str_ends(str_of(path), ".npz");
    in.from = path;
    if (!status)
        status = archive ? inputs_from_npz(d->tool, d->model, path, &in)
                         : inputs_from_file(d->tool, d->model, 0, path, &in);
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

// What is in the folder is a data set by itself.
static int run_entry(const DataSets *d, const char *path, bool alone, bool *found)
{
    Str name = str_of(path_base(path));
    bool input = alone && d->model->ninputs == 1 && !str_starts(name, "output_") &&
                 (str_ends(name, ".npy") || str_ends(name, ".pb"));
    if (is_file(path) && (str_ends(name, ".npz") || input)) {
        *found = true;
        return run_file(d, path);
    }
    if (!is_folder(path) || !is_set(d, path))
        return EXIT_CLEAN;
    *found = true;
    return run_set(d, path);
}

// The data sets of a folder; of the model's own folder only input_K.pb and test_data_set_N. *found:
// was there any?
static int run_folder(const DataSets *d, const char *folder, bool own, bool *found)
{
    Arena *a = d->arena;
    VEC(const char *) names = {0};
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && (!own || strncmp(e->d_name, "test_data_set_", 14) == 0))
            vec_push(a, &names, str_printf(a, "%s/%s", folder, e->d_name).at);
    if (dir)
        closedir(dir);
    if (names.len)
        qsort(names.at, names.len, sizeof *names.at, by_name);
    bool itself = own ? is_file(str_printf(a, "%s/input_0.pb", folder).at) : is_set(d, folder);
    *found = itself;
    int status = itself ? run_set(d, folder) : EXIT_CLEAN;
    for (uint32_t i = 0; i < names.len && !status; i++)
        status = run_entry(d, names.at[i], !itself && !own, found);
    return status;
}

// Files and NAME=FILE together are one set of inputs.
static int run_files(const DataSets *d)
{
    Inputs in;
    int status = begin(d, &in);
    for (int i = 0; i < d->ndata && !status; i++)
        if (!is_folder(d->data[i]) && !is_archive(d->data[i]))
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
        if (is_archive(d->data[i])) {
            status = run_file(d, d->data[i]);
            continue;
        }
        if (!is_folder(d->data[i])) {
            files = true;
            continue;
        }
        status = run_folder(d, d->data[i], false, &found);
        if (!status && !found)
            status = tool_error(d->tool, EXIT_USAGE,
                                "%s holds no data: neither input_0.pb nor %s.npy, no folder that "
                                "does, and no .npz",
                                d->data[i], d->model->ninputs ? d->model->inputs[0].name : "NAME");
    }
    if (!status && files)
        status = run_files(d);
    if (status || d->ndata)
        return status;
    status = run_folder(d, path_folder(d->arena, d->path), true, &found);
    if (status || found)
        return status;
    *made_up = true;
    return run_made_up(d);
}
