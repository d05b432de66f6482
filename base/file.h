// Files and processes. Every function that can fail returns false and says why in *error.
#ifndef CAMEO_BASE_FILE_H
#define CAMEO_BASE_FILE_H

#include "base/str.h"

// A read-only view of a whole file (mmap; files that cannot be mapped, and "-" for stdin, are
// read).
typedef struct FileView {
    const unsigned char *at;
    size_t len;
    bool mapped;
} FileView;

bool file_open(Arena *a, const char *path, FileView *view, Str *error);
void file_close(FileView *view);

// Writes a file whole or not at all (temporary beside it, then rename). Keeps the mode of an
// existing file; `mode` is for a new one (0644, 0755 for programs). Through a link to a file.
bool file_write(const char *path, const void *bytes, size_t len, unsigned mode, Str *error,
                Arena *a);

// The same with what `put` writes to the open file (from <stdio.h>), in order. false from it: it
// did not work, and *error says why unless writing itself is what failed.
typedef bool FilePut(void *user, void *file, Str *error);
bool file_produce(const char *path, FilePut *put, void *user, unsigned mode, Str *error, Arena *a);
// The same with the contents of another file, within the system where it can.
bool file_copy(const char *from, const char *to, unsigned mode, Str *error, Arena *a);
// n bytes of memory at `at` are about to be read from end to end: where they are a mapped file's,
// and the system can, their pages come all at once instead of few at a time.
void file_expect(const void *at, size_t n);
// The pages of a mapped file that lie within n bytes at `at` take no memory until they are read
// again. Nothing where `at` is not within the view, or the view is no mapping.
void file_forget(const FileView *view, const void *at, size_t n);

// Bytes in order, to a buffer or to an open file (from <stdio.h>).
typedef struct ByteSink {
    Buf *buf;   // NULL: to the file
    void *file; // a FILE
    uint64_t put;
} ByteSink;
bool sink_put(ByteSink *s, const void *at, size_t n);

bool file_exists(const char *path);
bool file_regular(const char *path);          // a file of bytes: no folder, device or pipe
bool file_same(const char *a, const char *b); // both exist and are the same file

// What is behind the last slash of a path.
const char *path_base(const char *path);
// The folder of a path's last name: "." where it has none, "/" at the root.
const char *path_folder(Arena *a, const char *path);

// A fresh private directory under $TMPDIR, removed (with its files) by dir_remove, or by a signal
// that asks the program to end (SIGHUP, SIGINT, SIGTERM).
bool dir_temporary(Arena *a, const char **path, Str *error);
bool dir_make(Arena *a, const char *path, Str *error); // with parents
void dir_remove(const char *path);

#endif
