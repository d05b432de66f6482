// Which of two files of weights does a library take, from the file and from memory?
#include "lib.h"

#include <stdio.h>
#include <stdlib.h>

static const char *takes(const char *path, int in_memory)
{
    static unsigned char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f || !fread(bytes, 1, sizeof bytes, f))
        exit(1);
    fclose(f);
    const cameo_options file = {.weights_path = path}, memory = {.weights = bytes};
    cameo_context *c = lib_create(in_memory ? &memory : &file);
    lib_destroy(c);
    return c ? "yes" : "no";
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 1;
    printf("file: own %s, other %s; ", takes(argv[1], 0), takes(argv[2], 0));
    printf("memory: own %s, other %s\n", takes(argv[1], 1), takes(argv[2], 1));
    return 0;
}
