// Prints all tiles of matrix registers, or, asked for words, those of vectors, for check.c.

#include "codegen/cpu/amx.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    Buf text = {0};
    const uint32_t all = (1u << AMX_KINDS) - 1;
    if (argc > 1 && strcmp(argv[1], "words") == 0)
        amx_words_print(&text, all, all);
    else
        amx_tiles_print(&text, all, all);
    const bool written = fwrite(text.at, 1, text.len, stdout) == text.len;
    buf_free(&text);
    return written && fflush(stdout) == 0 ? 0 : 1;
}
