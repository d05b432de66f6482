#include "codegen/attach.h"

#include <elf.h>
#include <string.h>

#define ROOM ".cameo_weights"

enum { HUGE_PAGE = 1 << 21 };

void attach_print_room(Buf *out, const char *prefix, const char *name, int64_t size)
{
    buf_printf(out,
               "__asm__(\".pushsection " ROOM ",\\\"a\\\",%%nobits\\n\"\n"
               "        \".balign 4096\\n\"\n"
               "        \".globl %s_%s\\n\"\n"
               "        \".hidden %s_%s\\n\"\n"
               "        \"%s_%s:\\n\"\n"
               "        \".zero %lld\\n\"\n"
               "        \".popsection\\n\");\n",
               prefix, name, prefix, name, prefix, name, (long long)size);
}

// The gap keeps the linker from making the room a part of the segment before it, which is written.
// It is more than what a program has behind its segments, so that the room's address is a little
// more than the program's length: where both have to be alike, few bytes are left empty.
void attach_print_script(Buf *out, int64_t expected)
{
    buf_printf(out, "SECTIONS\n{\n"
                    "    . = ALIGN(CONSTANT(MAXPAGESIZE)) + 0x8000 + CONSTANT(MAXPAGESIZE);\n");
    if (expected)
        buf_printf(out, "    . = ALIGN(0x%x) + 0x%llx;\n", HUGE_PAGE, (long long)expected);
    buf_printf(out, "    " ROOM " : { *(" ROOM ") }\n}\nINSERT AFTER .bss;\n");
}

// More than most programs have before their weights, which it makes less than a thirtieth longer.
int64_t attach_expected(int64_t size, uint32_t ncpus)
{
    return size < 16 * HUGE_PAGE ? 0 : (1 + (int64_t)ncpus) << 18;
}

// Is there room for n entries of `each` bytes at this offset?
static bool lies_within(size_t len, uint64_t offset, uint64_t n, uint64_t each)
{
    return offset <= len && offset % 8 == 0 && n <= (len - offset) / each;
}

static bool is_host_elf(const Elf64_Ehdr *h, size_t len)
{
    const uint16_t one = 1;
    const bool little = *(const unsigned char *)&one == 1;
    return len >= sizeof *h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == (little ? ELFDATA2LSB : ELFDATA2MSB) &&
           h->e_phentsize == sizeof(Elf64_Phdr) && h->e_shentsize == sizeof(Elf64_Shdr) &&
           lies_within(len, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr)) &&
           lies_within(len, h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr)) &&
           h->e_shstrndx < h->e_shnum;
}

static Elf64_Shdr *find_room(unsigned char *program, size_t len, const Elf64_Ehdr *h)
{
    Elf64_Shdr *s = (Elf64_Shdr *)(void *)(program + h->e_shoff);
    const Elf64_Shdr *names = &s[h->e_shstrndx];
    for (uint16_t i = 0; i < h->e_shnum; i++) {
        const uint64_t at = names->sh_offset + s[i].sh_name;
        if (names->sh_offset <= len && s[i].sh_name <= len && at + sizeof ROOM <= len &&
            memcmp(program + at, ROOM, sizeof ROOM) == 0)
            return &s[i];
    }
    return NULL;
}

int64_t attach_to(unsigned char *program, size_t len, int64_t size)
{
    Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)program;
    Elf64_Shdr *room = is_host_elf(h, len) ? find_room(program, len, h) : NULL;
    if (!room || room->sh_type != SHT_NOBITS || room->sh_size != (uint64_t)size)
        return -1;
    Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(program + h->e_phoff), *own = NULL;
    for (uint16_t i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr *p = &segments[i];
        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_vaddr > room->sh_addr)
            return -1;
        own = p; // segments are in order of their addresses: the last one
    }
    if (!own || own->p_vaddr != room->sh_addr || own->p_memsz != room->sh_size || own->p_filesz ||
        own->p_flags != PF_R || !own->p_align || own->p_align > 1 << 24)
        return -1;
    // A huge page of the file's cache is one of memory where both begin at a multiple of its size.
    if (size >= 4 * HUGE_PAGE && own->p_align < HUGE_PAGE)
        own->p_align = HUGE_PAGE;
    const uint64_t page = own->p_align, wanted = own->p_vaddr % page;
    const uint64_t offset = len + (wanted + page - len % page) % page;
    room->sh_type = SHT_PROGBITS;
    room->sh_offset = own->p_offset = offset;
    own->p_filesz = own->p_memsz;
    return (int64_t)offset;
}
