// Prints all tiles of matrix registers, for check.c.

#include "codegen/cpu/amx.h"

#include <stdio.h>

int main(void)
{
    Buf text = {0};
    amx_tiles_print(&text, (1u << AMX_KINDS) - 1, (1u << AMX_KINDS) - 1);
    const bool written = fwrite(text.at, 1, text.len, stdout) == text.len;
    buf_free(&text);
    return written && fflush(stdout) == 0 ? 0 : 1;
}
