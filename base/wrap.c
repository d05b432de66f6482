#include "base/wrap.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Beside the indentation there has to be room for some words.
enum { LEAST_ROOM = 20 };

uint32_t terminal_width(int fd)
{
    const char *said = getenv("COLUMNS");
    struct winsize size;
    if (!isatty(fd))
        return 0;
    if (said && *said)
        return (uint32_t)strtoul(said, NULL, 10);
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Bytes of what begins at the start of `s` with `from` and ends with `to`; 0: it does not end.
static size_t closed(Str s, char from, char to)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '\\')
            i++;
        else if (s.at[i] == to && (from != to || i))
            depth--;
        else if (s.at[i] == from)
            depth++;
        if (!depth && i < s.len)
            return i + 1;
    }
    return 0;
}

static const char pairs[][2] = {{'"', '"'}, {'`', '`'}, {'[', ']'}, {'(', ')'}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

// Bytes of the word that `s` begins with. Brackets behind something, as in "in1(the name)", are of
// it; a remark in brackets is not. `open`: of these kinds one was found that does not end, and the
// rest of the text is not read for each of them again.
static size_t word_length(Str s, bool *open)
{
    size_t i = 0;
    while (i < s.len && s.at[i] != ' ') {
        size_t n = 0;
        for (size_t k = 0; k < PAIRS && !n; k++)
            if (s.at[i] == pairs[k][0] && !open[k] && (i || s.at[i] != '(')) {
                n = closed((Str){s.at + i, s.len - i}, pairs[k][0], pairs[k][1]);
                open[k] = !n;
            }
        i += n ? n : 1;
    }
    return i;
}

// A column for each character; names are UTF-8.
static uint32_t columns(Str s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

void wrap_text(Buf *out, Str text, uint32_t indent, uint32_t width, const char *on, const char *off)
{
    bool open[PAIRS] = {false};
    uint32_t lead = 0;
    while (lead < text.len && text.at[lead] == ' ')
        lead++;
    const uint32_t hang = indent + lead;
    uint32_t at = hang;
    buf_printf(out, "%*s%s", (int)lead, "", on);
    for (size_t i = lead; i < text.len;) {
        size_t gap = 0;
        while (i + gap < text.len && text.at[i + gap] == ' ')
            gap++;
        const Str rest = {text.at + i + gap, text.len - i - gap};
        const Str word = {rest.at, word_length(rest, open)};
        const uint32_t wide = (uint32_t)gap + columns(word);
        if (width >= hang + LEAST_ROOM && word.len && at > hang && at + wide > width) {
            buf_printf(out, "%s\n%*s%s", off, (int)hang, "", on);
            at = hang + columns(word);
        } else {
            buf_printf(out, "%*s", (int)gap, "");
            at += wide;
        }
        buf_str(out, word);
        i += gap + word.len;
    }
    buf_printf(out, "%s\n", off);
}
