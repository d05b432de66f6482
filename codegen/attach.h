// Weights behind a linked program's bytes: written once, where the file is to be.
//
// The linker only leaves room for them in the address space: a section without contents, the last
// one, in a segment of its own that nothing can write to. Then the headers are changed to say that
// its contents lie at the end of the file, and they are written there. So neither the assembler nor
// the linker copies them, and however large they are the rest lies close together.
#ifndef CAMEO_CODEGEN_ATTACH_H
#define CAMEO_CODEGEN_ATTACH_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

// C that leaves `size` bytes of room under the hidden name PREFIX_NAME.
void attach_print_room(Buf *out, const char *prefix, const char *name, int64_t size);
// Where in the file weights of that size are expected to begin, so that they can be written before
// the program is linked; 0: where that ends, as few as they are.
int64_t attach_expected(int64_t size, uint32_t ncpus);
// For ld -T: adds to the linker's own script where the room is.
void attach_print_script(Buf *out, int64_t expected);
// Changes the headers of a program (ELF, in memory) so that what the room holds is in the file.
// The offset there, at or behind the program's end; -1, with nothing changed, where the linker did
// not lay it out so.
int64_t attach_to(unsigned char *program, size_t len, int64_t size);

#endif
