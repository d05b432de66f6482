// Decodes records (int64 size, bytes) of a file with a compiled model; writes for each an int64
// status, and behind 0 height, width, channels and pixels, else the length of the error and its
// text.
#include "images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(FILE *out, int64_t v)
{
    fwrite(&v, sizeof v, 1, out);
}

static void answer(cameo_context *context, const unsigned char *bytes, int64_t size, FILE *out)
{
    int32_t rank;
    const int64_t *dims;
    int status = images_set_input(context, 0, 2, 1, &size, bytes);
    if (!status)
        status = images_run(context);
    put(out, status);
    if (status) {
        const char *error = images_error(context);
        put(out, (int64_t)strlen(error));
        fwrite(error, 1, strlen(error), out);
        return;
    }
    const void *pixels = images_output(context, 0, &rank, &dims);
    for (int i = 0; i < 3; i++)
        put(out, dims[i]);
    fwrite(pixels, 1, (size_t)(dims[0] * dims[1] * dims[2]), out);
}

int main(int argc, char **argv)
{
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
    cameo_context *context = out ? images_create(NULL) : NULL;
    if (!context)
        return 2;
    int64_t size;
    while (fread(&size, sizeof size, 1, in) == 1) {
        unsigned char *bytes = malloc((size_t)size); // its own block: reads past its end are found
        if (!bytes || fread(bytes, 1, (size_t)size, in) != (size_t)size)
            return 2;
        answer(context, bytes, size, out);
        free(bytes);
    }
    images_destroy(context);
    fclose(in);
    return fclose(out) ? 2 : 0;
}
