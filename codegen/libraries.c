// The table of libraries, and which of them a module needs.

#include "codegen/libraries.h"

#include <string.h>

const Library libraries[] = {
    {"cameo_images.h", "jpeg", "#include <stdio.h>\n#include <jpeglib.h>", "libjpeg62-turbo-dev"},
    {"cameo_images.h", "png", "#include <png.h>", "libpng-dev"},
    {"cameo_images.h", "webp", "#include <webp/decode.h>", "libwebp-dev"},
    {"cameo_images.h", "tiff", "#include <tiffio.h>", "libtiff-dev"},
    {"cameo_images.h", "openjp2", "#include <openjpeg-2.5/openjpeg.h>", "libopenjp2-7-dev"},
    {.name = NULL},
};

bool steps_call_into(const Step *s, const char *header)
{
    for (; s; s = s->next)
        if ((s->call && strcmp(s->call->what->header, header) == 0) ||
            steps_call_into(s->body, header) || steps_call_into(s->other, header))
            return true;
    return false;
}

uint32_t libraries_of(const Module *mod, const Library *needed[MAX_LIBRARIES + 1])
{
    uint32_t n = 0;
    for (const Library *l = libraries; l->name; l++)
        if (n < MAX_LIBRARIES && steps_call_into(mod->steps, l->part))
            needed[n++] = l;
    needed[n] = NULL;
    return n;
}

const char *libraries_flags(const Module *mod, Arena *a)
{
    const Library *needed[MAX_LIBRARIES + 1];
    const char *flags = "-lm";
    libraries_of(mod, needed);
    for (const Library **l = needed; *l; l++)
        flags = str_printf(a, "%s -l%s", flags, (*l)->name).at;
    return flags;
}
