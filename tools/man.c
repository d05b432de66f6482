// Manual pages, from the tables that parse the options: `cameo help --man [COMMAND]` prints roff
// (man(7)).

#include "tools/tool.h"

#include <string.h>

// Text in which no character means something to roff.
static void put_text(FILE *f, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", f);
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", f);
        else if (*text == '\\')
            fputs("\\e", f);
        else
            fputc(*text, f);
}

static void put_title(FILE *f, const char *name, const char *doc)
{
    fprintf(f, ".TH CAMEO%s%s 1 \"\" \"cameo %s\" \"Cameo\"\n.SH NAME\ncameo%s%s \\- ",
            *name ? "\\-" : "", name, CAMEO_VERSION, *name ? "\\-" : "", name);
    put_text(f, doc);
    fputs("\n.SH SYNOPSIS\n", f);
}

static void put_status(FILE *f)
{
    fputs(".SH EXIT STATUS\n"
          ".TP\n.B 0\nclean\n"
          ".TP\n.B 1\nfindings, something not supported, or results that differ\n"
          ".TP\n.B 2\nusage, configuration, wrong input data, no working C compiler\n"
          ".TP\n.B 3\nbytes that cannot be decoded, a limit exceeded, a file that cannot be read "
          "or written\n"
          ".TP\n.B 4\na bug in Cameo\n",
          f);
}

void tool_man(const Tool *t, FILE *f)
{
    put_title(f, t->name, t->doc);
    fprintf(f, ".B cameo %s\n", t->name);
    put_text(f, t->usage);
    fputs("\n.SH OPTIONS\n", f);
    for (const ToolOption *o = t->options; o->name; o++) {
        fputs(".TP\n.B ", f);
        put_text(f, o->name);
        if (o->value)
            fprintf(f, " \\fI%s\\fR", o->value);
        fputc('\n', f);
        put_text(f, o->doc);
        fputc('\n', f);
    }
    fputs(".TP\n.B \\-q\\fR, \\fB\\-v\\fR, \\fB\\-\\-color\\fR[=\\fIWHEN\\fR]\n"
          "less, more, coloured messages\n",
          f);
    put_status(f);
    fputs(".SH SEE ALSO\n.BR cameo (1)\n", f);
}

void tool_man_overview(FILE *f)
{
    put_title(f, "", "compiles, checks and repairs ONNX models");
    fputs(".B cameo\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH COMMANDS\n", f);
    for (const Tool *const *t = tools; *t; t++) {
        fprintf(f, ".TP\n.BR cameo\\-%s (1)\n", (*t)->name);
        put_text(f, (*t)->doc);
        fputc('\n', f);
    }
    put_status(f);
}
