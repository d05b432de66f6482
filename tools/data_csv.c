// Tables as text, with the names of columns in the first line: what pandas.read_csv makes of them.
// Fields stand between commas, in quotes where they hold one (RFC 4180).

#include "tools/data.h"
#include "tools/tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 1 << 20, MAX_NUMBER = 64 };

// What all fields of a column are, by pandas' rules; later ones hold earlier ones only where
// join_types says so.
typedef enum ColumnType { COL_NONE, COL_INT, COL_FLOAT, COL_BOOL, COL_TEXT, COL_OBJECT } ColumnType;

typedef struct Csv {
    DataFiles *f;
    const char *path;
    Str text;
    size_t at;
    uint64_t line, rows;
    VEC(Str) names;
    ColumnType *types;
    unsigned char **cells; // by column: int64, float64 or a byte for bool, by its type
    Str word;              // the first field that is no number, and where; absent: none
    uint64_t word_line;
    uint32_t word_column;
} Csv;

static bool fail(Csv *c, const char *why)
{
    c->f->bytes = true;
    return data_fail(c->f, EXIT_BYTES, "%.*s:%llu: %s",
                     STR_ARG(str_escaped(c->f->arena, str_of(c->path))),
                     (unsigned long long)c->line, why);
}

// ---- fields

static bool ends_line(const Csv *c)
{
    return c->at >= c->text.len || c->text.at[c->at] == '\n' || c->text.at[c->at] == '\r';
}

// Goes over a line's end.
static void skip_end(Csv *c)
{
    c->at += c->at < c->text.len && c->text.at[c->at] == '\r';
    c->at += c->at < c->text.len && c->text.at[c->at] == '\n';
    c->line++;
}

// The field at the front, and the comma behind it; *last: the line ends there. False: its quotes
// are not closed, or something stands behind them.
static bool next_field(Csv *c, Str *field, bool *last)
{
    size_t from = c->at;
    bool quoted = from < c->text.len && c->text.at[from] == '"';
    if (!quoted) {
        while (!ends_line(c) && c->text.at[c->at] != ',')
            c->at++;
        *field = (Str){c->text.at + from, c->at - from};
    } else {
        Buf b = {0};
        for (c->at++;; c->at++) {
            if (c->at >= c->text.len) {
                buf_free(&b);
                return fail(c, "a quote that is not closed");
            }
            char x = c->text.at[c->at];
            if (x == '"' && (c->at + 1 >= c->text.len || c->text.at[c->at + 1] != '"'))
                break;
            c->at += x == '"';
            c->line += x == '\n';
            buf_char(&b, x);
        }
        c->at++;
        *field = str_copy(c->f->arena, (Str){b.at ? b.at : "", b.len});
        buf_free(&b);
        if (!ends_line(c) && c->text.at[c->at] != ',')
            return fail(c, "something behind a closing quote");
    }
    *last = ends_line(c);
    c->at += !*last;
    return true;
}

static bool is_one_of(Str s, const char *const *words)
{
    for (; *words; words++)
        if (str_is(s, *words))
            return true;
    return false;
}

static bool is_missing(Str s)
{
    static const char *const words[] = {"",     "NaN",  "nan",  "NA",   "N/A",  "n/a",  "#N/A",
                                        "null", "NULL", "None", "-NaN", "-nan", "<NA>", NULL};
    return is_one_of(s, words);
}

static bool is_true(Str s)
{
    static const char *const words[] = {"True", "true", "TRUE", NULL};
    return is_one_of(s, words);
}

static bool is_false(Str s)
{
    static const char *const words[] = {"False", "false", "FALSE", NULL};
    return is_one_of(s, words);
}

static bool take_number(Str s, double *real, int64_t *integer, bool *is_integer)
{
    char text[MAX_NUMBER + 1], *end;
    while (s.len && s.at[0] == ' ')
        s = (Str){s.at + 1, s.len - 1};
    while (s.len && s.at[s.len - 1] == ' ')
        s.len--;
    if (!s.len || s.len > MAX_NUMBER || memchr(s.at, 'x', s.len) || memchr(s.at, 'X', s.len))
        return false;
    memcpy(text, s.at, s.len);
    text[s.len] = 0;
    errno = 0;
    *integer = strtoll(text, &end, 10);
    *is_integer = end == text + s.len && errno == 0;
    *real = strtod(text, &end);
    return end == text + s.len;
}

static ColumnType type_of(Str s)
{
    double real;
    int64_t integer;
    bool is_integer;
    if (is_true(s) || is_false(s))
        return COL_BOOL;
    if (is_missing(s))
        return COL_FLOAT;
    if (!take_number(s, &real, &integer, &is_integer))
        return COL_TEXT;
    return is_integer ? COL_INT : COL_FLOAT;
}

static ColumnType join_types(ColumnType a, ColumnType b)
{
    if (a == COL_NONE || a == b)
        return b;
    return a + b == COL_INT + COL_FLOAT && a != COL_NONE ? COL_FLOAT : COL_OBJECT;
}

// ---- the table

static bool read_names(Csv *c)
{
    bool last = false;
    c->line = 1;
    if (str_starts(c->text, "\xef\xbb\xbf"))
        c->at = 3;
    if (str_starts(c->text, "\xff\xfe") || str_starts(c->text, "\xfe\xff"))
        return fail(c, "the text is UTF-16: what is read is UTF-8");
    if (c->at == c->text.len)
        return fail(c, "the file is empty: the first line names the columns");
    while (!last) {
        Str name;
        if (!next_field(c, &name, &last))
            return false;
        if (c->names.len == MAX_COLUMNS)
            return fail(c, "too many columns");
        vec_push(c->f->arena, &c->names, name);
    }
    skip_end(c);
    return true;
}

// Other forms of such tables, which would be read as one column of words.
static bool is_read(Csv *c)
{
    const bool quoted = str_starts(c->text, "\"");
    const Str name = c->names.len == 1 && !quoted ? c->names.at[0] : STR("");
    const bool tabs = name.len && memchr(name.at, '\t', name.len);
    if (!tabs && !(name.len && memchr(name.at, ';', name.len)))
        return true;
    c->line = 1;
    return fail(c, str_printf(c->f->arena,
                              "its first line has %s and no comma: fields have to stand between "
                              "commas, as `pandas.read_csv(file, sep=\"%s\").to_csv(out, "
                              "index=False)` writes them",
                              tabs ? "tabs" : "semicolons", tabs ? "\\t" : ";")
                       .at);
}

// Goes over all rows: `visit` sees each field.
static bool each_field(Csv *c, void (*visit)(Csv *c, uint64_t row, uint32_t column, Str s))
{
    c->rows = 0;
    while (c->at < c->text.len) {
        bool last = false;
        if (ends_line(c)) { // an empty line
            skip_end(c);
            continue;
        }
        uint32_t column = 0;
        for (; !last; column++) {
            Str s;
            if (!next_field(c, &s, &last))
                return false;
            if (column < c->names.len)
                visit(c, c->rows, column, s);
        }
        if (column != c->names.len)
            return fail(c, str_printf(c->f->arena, "%u fields where the first line names %u",
                                      column, c->names.len)
                               .at);
        c->rows++;
        skip_end(c);
    }
    return true;
}

static void see_type(Csv *c, uint64_t row, uint32_t column, Str s)
{
    ColumnType type = type_of(s);
    (void)row;
    c->types[column] = join_types(c->types[column], type);
    if (type == COL_TEXT && !c->word.at) {
        c->word = s;
        c->word_line = c->line;
        c->word_column = column;
    }
}

static uint32_t cell_bytes(ColumnType t)
{
    return t == COL_INT || t == COL_FLOAT ? 8 : t == COL_BOOL ? 1 : 0;
}

static void put_field(Csv *c, uint64_t row, uint32_t column, Str s)
{
    double real = NAN;
    int64_t integer = 0;
    bool is_integer, truth = is_true(s);
    ColumnType type = c->types[column];
    uint32_t bytes = cell_bytes(type);
    if (bytes == 8 && !is_missing(s))
        take_number(s, &real, &integer, &is_integer);
    const void *from = type == COL_INT ? (const void *)&integer
                       : bytes == 1    ? (const void *)&truth
                                       : (const void *)&real;
    memcpy(c->cells[column] + row * bytes, from, bytes);
}

static DType dtype_of_column(ColumnType t)
{
    return t == COL_INT     ? DT_I64
           : t == COL_FLOAT ? DT_F64
           : t == COL_BOOL  ? DT_BOOL
           : t == COL_TEXT  ? DT_STRING
                            : DT_NONE;
}

// Names that are numbers, and not those that pandas gives columns without any: 0, 1, 2 ...
static bool names_are_numbers(const Csv *c)
{
    bool counted = true;
    for (uint32_t k = 0; k < c->names.len; k++) {
        double real;
        int64_t integer;
        bool is_integer;
        if (!take_number(c->names.at[k], &real, &integer, &is_integer))
            return false;
        counted &= is_integer && integer == k;
    }
    return !counted;
}

static Str hint_of(const Csv *c, DType dtype)
{
    Arena *a = c->f->arena;
    if (!c->rows)
        return STR("it names columns and has no rows");
    if (dtype == DT_NONE && c->word.at)
        return str_printf(a, "column \"%.*s\" holds \"%.*s\" in line %llu",
                          STR_ARG(str_escaped(a, c->names.at[c->word_column])),
                          STR_ARG(str_escaped(a, c->word)), (unsigned long long)c->word_line);
    if (names_are_numbers(c))
        return str_printf(a,
                          "its first line is read as the names of the columns, and holds numbers: "
                          "\"%.*s\" ...",
                          STR_ARG(str_escaped(a, c->names.at[0])));
    if (c->names.len > 1 && c->names.at[0].len == 0)
        return STR(
            "the first column has no name: to_csv writes the index so, unless index=False is "
            "said");
    return STR_NONE;
}

// A tensor of some columns, as to_numpy() makes it where they are of several types.
static void take_columns(Csv *c, uint32_t first, uint32_t count, bool named, ValueId input)
{
    ColumnType type = COL_NONE;
    for (uint32_t k = 0; k < count; k++)
        type = join_types(type, c->types[first + k]);
    const Value *v = value_at(c->f->m, input);
    DataTensor t = {.file = str_of(c->path), .input = input, .by_text = true};
    t.member = named ? c->names.at[first] : STR_NONE;
    t.dtype = dtype_of_column(type);
    t.type = t.dtype == DT_NONE ? STR("|O") : STR_NONE;
    t.hint = hint_of(c, t.dtype);
    t.rank = named && v->rank != 2 ? 1 : 2;
    t.dims[0] = (int64_t)c->rows;
    t.dims[1] = count;
    t.count = c->rows * count;
    uint32_t bytes = cell_bytes(type);
    unsigned char *to = arena_array(c->f->arena, t.count + 1, bytes ? bytes : 1);
    for (uint64_t i = 0; bytes && i < t.count; i++) {
        uint32_t column = first + (uint32_t)(i % count);
        const unsigned char *from = c->cells[column] + i / count * bytes;
        int64_t integer;
        memcpy(to + i * bytes, from, bytes);
        if (type == COL_FLOAT && c->types[column] == COL_INT) {
            memcpy(&integer, from, 8);
            memcpy(to + i * 8, &(double){(double)integer}, 8);
        }
    }
    t.elements = to;
    vec_push(c->f->arena, &c->f->set.all, t);
}

static bool read_table(Csv *c)
{
    if (!read_names(c) || !is_read(c))
        return false;
    size_t start = c->at;
    uint64_t line = c->line;
    c->types = NEWS(c->f->arena, ColumnType, c->names.len + 1);
    c->cells = NEWS(c->f->arena, unsigned char *, c->names.len + 1);
    if (!each_field(c, see_type))
        return false;
    for (uint32_t k = 0; k < c->names.len; k++)
        c->cells[k] = arena_array(c->f->arena, c->rows + 1, cell_bytes(c->types[k]) ? 8 : 1);
    c->at = start;
    c->line = line;
    return each_field(c, put_field);
}

bool data_take_csv(DataFiles *f, const char *path, Str text, ValueId input)
{
    Csv c = {.f = f, .path = path, .text = text};
    if (!read_table(&c))
        return false;
    for (uint32_t k = 0; k < c.names.len && input; k++)
        if (str_eq(c.names.at[k], value_at(f->m, input)->name)) {
            take_columns(&c, k, 1, true, input);
            return true;
        }
    if (input)
        take_columns(&c, 0, c.names.len, false, input);
    for (uint32_t k = 0; k < c.names.len && !input; k++) {
        ValueId named = data_input(f->m, c.names.at[k]);
        if (!named)
            return data_fail(f, EXIT_USAGE,
                             "%.*s holds column \"%.*s\", which is no input; INPUT=%.*s takes all "
                             "columns as one%s",
                             STR_ARG(str_escaped(f->arena, str_of(path))),
                             STR_ARG(str_escaped(f->arena, c.names.at[k])),
                             STR_ARG(str_escaped(f->arena, str_of(path))),
                             c.names.at[k].len
                                 ? ""
                                 : "; a column without a name is pandas' index, which "
                                   "to_csv(index=False) leaves out");
        take_columns(&c, k, 1, true, named);
    }
    return true;
}
