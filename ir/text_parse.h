// Shared by the parsing files of the textual forms.
#ifndef CAMEO_IR_TEXT_PARSE_H
#define CAMEO_IR_TEXT_PARSE_H

#include "base/file.h"
#include "ir/text_print.h"

typedef enum Tok { TOK_END, TOK_NAME, TOK_STRING, TOK_BYTES, TOK_NUMBER, TOK_PUNCT } Tok;

// A name that is resolved once the whole text is read.
typedef struct Reference {
    GraphId graph;
    Str name;
    ValueId *slot;  // an operand, or NULL:
    bool is_output; // graph's outputs[index], else infos[index]
    uint32_t index;
    uint32_t place; // of the name, plus 1; 0: places are not asked for
} Reference;

typedef struct Parser {
    Arena *arena;
    Model *m;
    Diags *diags;
    const char *path;
    Str text;
    size_t at;
    Tok tok;
    Str lexeme;   // NAME, NUMBER: as written; STRING, BYTES: decoded; PUNCT: one or two characters
    size_t start; // where the token begins
    size_t end;   // where the one before it ended
    TextPlaces *places; // NULL: they are not asked for
    bool failed, cir;
    bool kernels; // in the kernels section: signs are no part of numbers, operators are tokens
    int depth;
    Map *scopes; // by GraphId
    uint32_t nscopes;
    VEC(Reference) references;
    GraphId graph; // being read
    Str source;    // bytes that source(...) refers to
} Parser;

void parse_next(Parser *p);
void parse_fail(Parser *p, const char *what);
bool parse_is(const Parser *p, const char *punct_or_name);
bool parse_take(Parser *p, const char *punct_or_name);
void parse_expect(Parser *p, const char *punct_or_name);
Str parse_name(Parser *p); // an identifier or a quoted name
Str parse_string(Parser *p);
Str parse_bytes(Parser *p);
int64_t parse_int(Parser *p);
double parse_real(Parser *p);
uint64_t parse_unsigned(Parser *p);

// Loops over "key: value" of "{...}" or "@{...}": `while (ext_next(p, &key))`. parse_ext opens a
// "@{" if there.
bool parse_ext(Parser *p);
bool ext_next(Parser *p, Str *key, bool *first);

void parse_props(Parser *p, Props *out);
Type *parse_type(Parser *p);
bool parse_at_type(Parser *p);
TensorData *parse_tensor(Parser *p, bool named); // type, name, payload; named: "type name = {...}"
void parse_payload(Parser *p, TensorData *t);
SparseData *parse_sparse(Parser *p);
void parse_device_configuration(Parser *p, NodeDeviceConfig *c);
bool parse_attr(Parser *p,
                Attr *a); // false: a name alone (a function's attribute), left in a->name
GraphId parse_graph(Parser *p, GraphId parent, NodeId owner);
int32_t attr_kind_of(Str name); // -1 if it is none
int32_t parse_elem(Parser *p, bool *has);

void parse_tensor_ext(Parser *p, TensorData *t);
void parse_body(Parser *p, GraphId g); // from the initializers on
// Notes what stands from `from` to the last token; its number plus 1, or 0.
uint32_t parse_place(Parser *p, TextPlaceKind kind, size_t from, TextPlace what);
// The value that `name` means in g, unless an earlier one bears it.
void parse_define(Parser *p, GraphId g, Str name, ValueId v);
void parse_resolve(Parser *p);

#endif
