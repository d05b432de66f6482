// What the plain syntax cannot say is left out or renamed, and named: onnx.parser must accept the
// rest.

#include "ir/text_print.h"

#include <string.h>

bool plain_word(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return s.len > 0;
}

bool plain_dotted(Str s)
{
    size_t begin = 0;
    for (size_t i = 0; i <= s.len; i++)
        if (i == s.len || s.at[i] == '.') {
            if (!plain_word((Str){s.at + begin, i - begin}))
                return false;
            begin = i + 1;
        }
    return true;
}

Str plain_renamed(Text *t, Str s, bool dots)
{
    Buf b = {0};
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool digit = c >= '0' && c <= '9', first = i == 0 || s.at[i - 1] == '.';
        bool dot = dots && c == '.' && !first && i + 1 < s.len;
        buf_char(&b, letter || (digit && !first) || dot ? c : '_');
    }
    Str out = b.len ? str_copy(t->m->arena, (Str){b.at, b.len}) : STR("_");
    buf_free(&b);
    return out;
}

static bool elem_is_plain(int32_t elem)
{
    return elem > 0 && elem < DT_COUNT;
}

bool plain_type(const Type *type)
{
    switch (type->kind) {
    case TYPE_TENSOR:
    case TYPE_SPARSE:
        return type->has_elem && elem_is_plain(type->elem);
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL:
        return type->sub && plain_type(type->sub);
    case TYPE_MAP:
        return type->has_elem && elem_is_plain(type->elem) && type->sub && plain_type(type->sub);
    default:
        return false;
    }
}

bool plain_tensor(const TensorData *d)
{
    return elem_is_plain(d->dtype);
}

// May an attribute stand in plain text? Lists of tensors, graphs and types are read as empty ones.
bool plain_attr(const Attr *a, int32_t content)
{
    if (!plain_word(a->name))
        return false;
    if (a->ref.at)
        return plain_word(a->ref);
    switch (content) {
    case ATTR_TENSOR:
        return a->t && plain_tensor(a->t);
    case ATTR_GRAPH:
        return a->g != 0;
    case ATTR_TYPE:
        return a->tp && plain_type(a->tp);
    case ATTR_FLOAT:
    case ATTR_INT:
    case ATTR_STRING:
    case ATTR_FLOATS:
    case ATTR_INTS:
    case ATTR_STRINGS:
        return true;
    default:
        return false;
    }
}

void plain_quoted(Text *t, Str s)
{
    bool lost = false;
    buf_char(t->out, '"'); // onnx.parser takes the character after a backslash as it is
    for (size_t i = 0; i < s.len;) {
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        lost |= n == 0 || s.at[i] == 0;
        if (n == 0 || s.at[i] == 0)
            buf_printf(t->out, "\xef\xbf\xbd");
        else if (s.at[i] == '"' || s.at[i] == '\\')
            buf_printf(t->out, "\\%c", s.at[i]);
        else
            buf_put(t->out, s.at + i, n);
        i += n ? n : 1;
    }
    buf_char(t->out, '"');
    if (lost)
        text_drop(t, "bytes of a string that are no text");
}
