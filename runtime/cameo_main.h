/* The command line of a compiled model, and of `cameo run`. */
#ifndef CAMEO_MAIN_H
#define CAMEO_MAIN_H

#include "cameo_model.h"

#include "cameo_lists.h"

/* As main: reads inputs, runs, prints or writes outputs. The exit status (docs: 0; 1 the run
 * failed; 2 usage or wrong input data; 3 a file cannot be read or written). */
int cameo_main(const cameo_model *model, int argc, char **argv);
/* Is `path` among the files that nothing may be written over? */
typedef struct cameo_kept {
    int (*is)(const void *of, const char *path);
    const void *of;
} cameo_kept;
/* The same, with what `create` is given where the command line does not say otherwise, and files
 * that are kept beside those that inputs and weights are read from; NULL: none. */
int cameo_main_with(const cameo_model *model, const cameo_options *options, const cameo_kept *kept,
                    int argc, char **argv);

/* As cameo_main, of a program whose weights are `file` in the folder that it lies in itself,
 * wherever it is called from; else in the one that it is called in. */
int cameo_main_beside(const cameo_model *model, const char *file, int argc, char **argv);

/* Reads one tensor of a file (.npy, .pb; told by its first bytes). 0, 2 or 3 with an error. */
int cameo_load_tensor(const char *path, int32_t expected, cameo_tensor *t, char *error,
                      size_t room);
/* Reads a value that is no tensor from a .pb file; free it in any case. 0, 2 or 3 with an error. */
int cameo_load_object(const char *path, const cameo_type *type, cameo_loaded *to, char *error,
                      size_t room);

#endif
