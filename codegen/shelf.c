#include "codegen/shelf.h"
#include "base/file.h"
#include "base/sha1.h"
#include "codegen/embedded.h"
#include "codegen/cpus.h"
#include "codegen/emit_c.h"
#include "codegen/emit_products.h"
#include "codegen/jobs.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

const char *shelf_folder(Arena *a)
{
    static const char *const places[] = {"units", "../lib/cameo/units"};
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return NULL;
    self[n] = '\0';
    for (int i = 0; i < 2; i++) {
        const char *path = str_printf(a, "%s/%s", path_folder(a, self), places[i]).at;
        if (access(path, R_OK | X_OK) == 0)
            return path;
    }
    return NULL;
}

// The files of runtime/ that a text includes decide what comes of it too.
static void put_included(Str text, Buf *out)
{
    static const char include[] = "#include \"";
    const char *parts[MAX_PARTS], *end = text.at + text.len;
    uint32_t n = 0;
    for (const char *at = text.at;
         (at = memmem(at, (size_t)(end - at), include, sizeof include - 1));)
        n = emit_add_part(parts, n, at += sizeof include - 1);
    for (const EmbeddedFile *e = embedded_files; e->name; e++)
        for (uint32_t i = 0; i < n; i++)
            if (parts[i] == e->name)
                buf_printf(out, "%s %016llx\n", e->name,
                           (unsigned long long)hash_bytes(e->text, e->len, 1));
}

// Not by the compiler's own path, nor by those of the build.
static const char *path_of(Build *b, const char *folder, const char *const *argv, Str text)
{
    Buf all = {0};
    char key[41];
    const bool ok = jobs_describe_for(b, argv, &all);
    for (const char *const *a = argv + 1; *a; a++)
        buf_printf(&all, "%s\n", *a);
    for (uint64_t seed = 1; seed <= 2; seed++) // as texts are long, and each compilation asks
        buf_printf(&all, "%016llx\n", (unsigned long long)hash_bytes(text.at, text.len, seed));
    put_included(text, &all);
    sha1_hex(all.at, all.len, key);
    buf_free(&all);
    return ok ? str_printf(b->arena, "%s/%s.o", folder, key).at : NULL;
}

const char *shelf_find(Build *b, const char *const *argv, Str text)
{
    const char *path = b->shelf ? path_of(b, b->shelf, argv, text) : NULL;
    return path && file_regular(path) ? path : NULL;
}

static Str text_of(const Buf *b)
{
    return (Str){b->at, b->len};
}

// Tiles are made for the widest row of several with as many lanes: that of the model's text.
static bool agree(const Processor *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (rows[i].lanes == rows[k].lanes &&
                (rows[i].rows != rows[k].rows || rows[i].step != rows[k].step ||
                 rows[i].ahead != rows[k].ahead))
                return false;
    return true;
}

bool shelf_products(Build *b, const Processor *rows, uint32_t first, uint32_t n)
{
    bool all =
        b->shelf && first + n <= b->ncpus && agree(rows, n) && toolchain_find_compiler(b) == 0;
    for (uint32_t i = 0; all && i < n; i++) {
        const uint32_t cpu = first + i;
        Buf text[2] = {{0}, {0}};
        products_of_target(&rows[i], &text[0], &text[1]);
        for (int k = 0; k < 2; k++) {
            Job job;
            toolchain_kept_job(b, k == 0, cpu, &job);
            b->kept[cpu][k] = shelf_find(b, job.argv, text_of(&text[k]));
        }
        all = b->kept[cpu][0] && b->kept[cpu][1];
        buf_free(&text[0]);
        buf_free(&text[1]);
    }
    if (!all)
        memset(b->kept[first], 0, n * sizeof *b->kept);
    return all;
}

// ---- made --------------------------------------------------------------------------------------

typedef struct Filling {
    Build *b;
    const char *folder;
    Jobs jobs;
    VEC(const char *) places; // of the jobs
    VEC(const char *) wanted; // and of what is there
} Filling;

static void add(Filling *f, const Job *job, Str text)
{
    const char *place = path_of(f->b, f->folder, job->argv, text);
    if (place)
        vec_push(f->b->arena, &f->wanted, place);
    if (!place || file_regular(place))
        return;
    vec_push(f->b->arena, &f->jobs, *job);
    vec_push(f->b->arena, &f->places, place);
}

static int add_target(Filling *f, uint32_t cpu)
{
    Build *b = f->b;
    Processor row[MAX_CPUS];
    Buf text[2] = {{0}, {0}};
    int status = 0;
    processors_of(b->cpus[cpu], &(Processor){0}, row);
    products_of_target(row, &text[0], &text[1]);
    for (int k = 2; k-- > 0 && !status;) {
        Job job;
        toolchain_kept_job(b, k == 0, cpu, &job);
        status = build_write_text(b, job.source, &text[k]);
        add(f, &job, text_of(&text[k]));
    }
    buf_free(&text[0]);
    buf_free(&text[1]);
    return status;
}

static void add_parts(Filling *f)
{
    for (const char *const *name = toolchain_parts; *name; name++) {
        Job job;
        toolchain_part_job(f->b, *name, &job);
        for (const EmbeddedFile *e = embedded_files; e->name; e++)
            if (strcmp(e->name, job.source) == 0)
                add(f, &job, (Str){e->text, e->len});
    }
}

// What no compilation would ask for any more.
static void drop_others(const Filling *f)
{
    DIR *d = opendir(f->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        bool wanted = *e->d_name == '.';
        for (uint32_t i = 0; i < f->wanted.len && !wanted; i++)
            wanted = strcmp(path_base(f->wanted.at[i]), e->d_name) == 0;
        if (!wanted)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

int shelf_fill(Build *b, const char *folder)
{
    Filling f = {.b = b, .folder = folder};
    int status = toolchain_find_compiler(b);
    if (!status && !dir_make(b->arena, folder, &b->report->error))
        status = 3;
    status = status ? status : toolchain_write_runtime(b);
    for (uint32_t i = 0; i < b->ncpus && !status; i++)
        if (cpus_known(b, b->cpus[i]))
            status = add_target(&f, i);
    if (!status)
        add_parts(&f);
    status = status ? status : jobs_run(b, &f.jobs);
    for (uint32_t i = 0; !status && i < f.jobs.len; i++) {
        const char *made = str_printf(b->arena, "%s/%s", b->dir, f.jobs.at[i].object).at;
        if (!file_copy(made, f.places.at[i], 0644, &b->report->error, b->arena))
            status = 3;
    }
    if (!status)
        drop_others(&f);
    return status;
}
