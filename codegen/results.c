#include "codegen/results.h"
#include "base/file.h"
#include "codegen/jobs.h"
#include "codegen/shelf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

// ---- the key -----------------------------------------------------------------------------------

static const char *digest_of(const Results *r, const void *at, size_t len)
{
    char *hex = arena_alloc(r->arena, 41);
    digest_hex(cache_secret(r->cache), at, len, hex);
    return hex;
}

// NULL: there is no such file of bytes.
static const char *digest_of_file(const Results *r, const char *path, uint64_t *size)
{
    FileView view;
    Str error = STR_NONE;
    if (!file_regular(path) || !file_open(r->arena, path, &view, &error))
        return NULL;
    char *digest = arena_alloc(r->arena, 41);
    digest_view(cache_secret(r->cache), &view, digest);
    *size = view.len;
    file_close(&view);
    return digest;
}

// The digest, as put; NULL: there is no such file.
static const char *put_file(const Results *r, const char *path, Buf *all)
{
    uint64_t size;
    const char *digest = digest_of_file(r, path, &size);
    if (digest)
        buf_printf(all, "%s %s %" PRIu64 "\n", path, digest, size);
    return digest;
}

static void put_text(Buf *all, const char *text)
{
    buf_printf(all, "%s\n", text ? text : "-");
}

static void put_options(const CompileOptions *o, Buf *all)
{
    buf_printf(all, "%d %d %d %d %u %u %d%d%d%d%d%d%d%d%d%d\n", (int)o->kind, (int)o->device,
               (int)o->gemm, o->tile, o->grain, o->threads, o->weights_file, o->no_override,
               o->no_fuse, o->no_winograd, o->no_split, o->strict_fp, o->profile, o->fix,
               o->unsafe_fixes, o->apart);
    const bool any_name = o->kind == EMIT_EXE && !o->weights_file; // nothing in it tells its own
    put_text(all, any_name ? NULL : path_base(o->out));
    put_text(all, o->prefix);
    put_text(all, o->cpu);
    processor_print(all, &o->tuned);
    for (uint32_t i = 0; i < o->nfixed; i++)
        buf_printf(all, "%d %s\n", o->fixed[i].is_shape, o->fixed[i].text);
}

// What compilers call themselves; this one is known by its bytes.
static bool put_compilers(const Results *r, Buf *all)
{
    CompileReport report = {0};
    Build b = {.arena = r->arena, .o = r->o, .report = &report, .dir = "/", .cache = r->cache};
    if (toolchain_find(&b) != 0 || !jobs_describe(&b))
        return false;
    put_text(all, b.cc);
    put_text(all, shelf_folder(r->arena));
    buf_put(all, b.described->at, b.described->len);
    return put_file(r, "/proc/self/exe", all);
}

bool results_open(Results *r, Arena *a, const char *model, const Config *config,
                  const CompileOptions *o)
{
    *r = (Results){.arena = a, .model = model, .o = o};
    const bool plain = (o->kind == EMIT_EXE || o->kind == EMIT_SHARED || o->kind == EMIT_STATIC ||
                        o->kind == EMIT_OBJ) &&
                       o->device == ON_CPU && !o->keep && !o->after && !o->rewrite && !o->verbose &&
                       !o->fix && !o->unsafe_fixes && !config->customs.len;
    r->cache = plain && !o->no_cache ? cache_open(a) : NULL;
    if (!r->cache || !cache_secret(r->cache))
        return false;
    Buf all = {0};
    put_options(o, &all);
    r->digest = put_file(r, model, &all);
    const bool ok =
        r->digest && (!config->path || put_file(r, config->path, &all)) && put_compilers(r, &all);
    r->key = ok ? cache_key(r->cache, &all) : NULL;
    buf_free(&all);
    return ok;
}

// ---- what is kept of one -----------------------------------------------------------------------

static const char heading[] = "cameo.result/1\n";

// Where a file of external data is, or the source that a text refers to.
static const char *path_of_read(const Results *r, Str name)
{
    const char *slash = strrchr(r->model, '/');
    if (!slash || (name.len && name.at[0] == '/'))
        return str_copy(r->arena, name).at;
    return str_printf(r->arena, "%.*s/%.*s", (int)(slash - r->model), r->model, STR_ARG(name)).at;
}

static bool put_read(const Results *r, Str name, Buf *out)
{
    uint64_t size;
    const char *digest = digest_of_file(r, path_of_read(r, name), &size);
    if (digest)
        buf_printf(out, "read %s %zu %.*s\n", digest, name.len, STR_ARG(name));
    return digest != NULL;
}

static bool put_written(Results *r, const char *ending, Buf *out)
{
    const char *path = compile_beside(r->arena, r->o, ending);
    uint64_t size;
    const char *digest = cache_keep_whole(r->cache, path, &size);
    if (!digest)
        return false;
    buf_printf(out, "file %s %" PRIu64 " %zu %s\n", digest, size, strlen(ending), ending);
    return true;
}

void results_keep(Results *r, const Model *m, const CompileReport *report, Str said)
{
    Buf out = {0};
    char compiled[41] = "";
    // A text that refers to another file calls itself by that one's name.
    bool ok = r->key && m->path && strcmp(m->path, r->model) == 0;
    if (ok) // the file may have been replaced between the key and the compilation
        digest_view(cache_secret(r->cache), &(FileView){m->view.at, m->view.len, m->view.mapped},
                    compiled);
    ok = ok && strcmp(compiled, r->digest) == 0;
    buf_printf(&out, "%s", heading);
    for (uint32_t i = 0; ok && i < m->files.len; i++)
        ok = put_read(r, m->files.at[i].location, &out);
    ok = ok && put_written(r, "", &out);
    for (int i = 0; ok && report->beside[i]; i++)
        ok = put_written(r, report->beside[i], &out);
    buf_printf(&out, "said %zu ", said.len);
    buf_put(&out, said.at, said.len);
    buf_char(&out, '\n');
    if (ok) {
        buf_printf(&out, "%s", digest_of(r, out.at, out.len));
        cache_put(r->cache, r->key, out.at, out.len);
    }
    buf_free(&out);
}

// ---- taken again -------------------------------------------------------------------------------

// "read DIGEST LENGTH NAME", "file DIGEST SIZE LENGTH ENDING", "said LENGTH": one line of an entry,
// whose last part may hold anything.
typedef struct Line {
    char kind[5], digest[41];
    uint64_t size;
    Str name;
} Line;

static bool take_line(Str *left, Line *l)
{
    size_t length = 0;
    int at = 0;
    *l = (Line){.name = STR_NONE};
    if (left->len < 5)
        return false;
    memcpy(l->kind, left->at, 4);
    if (strcmp(l->kind, "read") == 0)
        sscanf(left->at, "read %40s %zu%n", l->digest, &length, &at);
    else if (strcmp(l->kind, "file") == 0)
        sscanf(left->at, "file %40s %" SCNu64 " %zu%n", l->digest, &l->size, &length, &at);
    else if (strcmp(l->kind, "said") == 0)
        sscanf(left->at, "said %zu%n", &length, &at);
    const size_t begin = (size_t)at + 1, end = begin + length; // behind a space; a newline ends it
    if (!at || length > left->len || end >= left->len || left->at[end] != '\n')
        return false;
    l->name = (Str){left->at + begin, length};
    *left = (Str){left->at + end + 1, left->len - end - 1};
    return true;
}

// A file that is there already, byte for byte, is only made as new as if it had been written.
static bool is_there(const Results *r, const Line *l, const char *path)
{
    struct stat st;
    uint64_t size;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != l->size)
        return false;
    const char *digest = digest_of_file(r, path, &size);
    return digest && strcmp(digest, l->digest) == 0 && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

typedef VEC(const char *) Paths;

static bool has_file(const Paths *all, const char *path)
{
    for (uint32_t i = 0; i < all->len; i++)
        if (file_same(all->at[i], path))
            return true;
    return false;
}

// Not over one of those that the model is read from.
static bool place(Results *r, const Line *l, const Paths *read)
{
    const bool runs = l->name.len == 0 && (r->o->kind == EMIT_EXE || r->o->kind == EMIT_SHARED);
    const char *path = compile_beside(r->arena, r->o, str_copy(r->arena, l->name).at);
    if (has_file(read, path))
        return false;
    return is_there(r, l, path) ||
           cache_take_whole(r->cache, l->digest, l->size, path, runs ? 0755 : 0644);
}

static bool is_unchanged(const Results *r, const Line *l)
{
    uint64_t size;
    const char *digest = digest_of_file(r, path_of_read(r, l->name), &size);
    return digest && strcmp(digest, l->digest) == 0;
}

// What is written in an entry, without its digest; absent where that does not fit.
static Str entry_text(const Results *r)
{
    FileView view;
    if (!cache_view(r->cache, r->key, &view))
        return STR_NONE;
    Str text = str_copy(r->arena, (Str){(const char *)view.at, view.len});
    file_close(&view);
    if (text.len < 40 + sizeof heading || memcmp(text.at, heading, sizeof heading - 1) != 0)
        return STR_NONE;
    const Str digest = {text.at + text.len - 40, 40};
    text.len -= 40;
    return memcmp(digest_of(r, text.at, text.len), digest.at, 40) == 0 ? text : STR_NONE;
}

bool results_take(Results *r, Str *said)
{
    Str left = entry_text(r);
    Paths read = {0};
    Line line;
    if (!left.at)
        return false;
    left = (Str){left.at + sizeof heading - 1, left.len - (sizeof heading - 1)};
    while (take_line(&left, &line)) {
        if (*line.kind == 's') {
            *said = line.name;
            return true;
        }
        if (*line.kind == 'r' ? !is_unchanged(r, &line) : !place(r, &line, &read))
            return false;
        if (*line.kind == 'r')
            vec_push(r->arena, &read, path_of_read(r, line.name));
    }
    return false;
}
