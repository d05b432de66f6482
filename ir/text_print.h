// Shared by the printing files of the textual forms.
#ifndef CAMEO_IR_TEXT_PRINT_H
#define CAMEO_IR_TEXT_PRINT_H

#include "ir/text.h"

typedef struct Text {
    const Model *m;
    Buf *out;
    TextForm form;
    bool types;
    Dropped *dropped;
    NodeId node; // being printed, for what is dropped
    Str where;   // the same for what is no node; absent: the model
    int depth;   // of indentation
    Map dims;    // by name: the first dim that has it, of dims up to named_dims
    DimId named_dims;
} Text;

// "@{key: value, ...}" behind an element, opened by its first key.
typedef struct Ext {
    bool open;
} Ext;

void ext_key(Text *t, Ext *e, const char *key);
void ext_end(Text *t, Ext *e);
// Printed if present; if it differs from what the parser assumes; if not empty.
void ext_str(Text *t, Ext *e, const char *key, Str s, bool present);
void ext_int(Text *t, Ext *e, const char *key, int64_t v, int64_t natural);
void ext_bytes(Text *t, Ext *e, const char *key, Str s);
void ext_props(Text *t, Ext *e, const char *key, const Props *p);
void ext_devices(Text *t, Ext *e, const Node *n);

void text_quoted(Text *t, Str s);
void text_name(Text *t, Str s); // an identifier, or quoted
void text_value(Text *t, ValueId v);
void text_hex(Text *t, Str s);
void text_real(Text *t, double v, int digits);
void text_drop(Text *t, const char *what);
void text_props(Text *t, const Props *p);
void text_type(Text *t, const Type *type);
void text_attr(Text *t, const Attr *a);
void text_tensor(Text *t, const TensorData *d, bool with_type); // type, name, payload
void text_sparse(Text *t, const SparseData *s);
void text_tensor_type(Text *t, const TensorData *d);
void text_inferred(Text *t, ValueId v); // where Text.types asks for it
void text_graph(Text *t, GraphId g);    // name, inputs, outputs, body
bool text_has_source(const Model *m);   // can the text refer to the model's file?

// The plain form (ir/text_plain.c): is it a word, words between dots; what of it is one; can a
// type, a tensor, an attribute be said; a string, with what is no text replaced and named.
bool plain_word(Str s);
bool plain_dotted(Str s);
Str plain_renamed(Text *t, Str s, bool dots);
bool plain_type(const Type *type);
bool plain_tensor(const TensorData *d);
bool plain_attr(const Attr *a, int32_t content);
void plain_quoted(Text *t, Str s);

int32_t attr_content(const Attr *a); // its kind, by what is there where the type is left out

// The presence bits that the parser assumes where no "has" is given; both sides call these.
uint32_t attr_natural_has(const Attr *a, int32_t content);
uint32_t tensor_natural_has(const TensorData *d);
uint32_t node_natural_has(const Node *n);
uint32_t function_natural_has(const Function *f);
uint32_t model_natural_has(const Model *m);

#endif
