// What the files of `cameo lsp` share: the server, its documents, and work on a document in a
// process of its own.
//
// The protocol is LSP 3.17 over JSON-RPC 2.0. Positions are lines and UTF-16 code units of a line,
// both from 0 on; inside of the server they are bytes of the text.
#ifndef CAMEO_TOOLS_LSP_H
#define CAMEO_TOOLS_LSP_H

#include "ir/text.h"
#include "tools/lint.h"

#include <jansson.h>

enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_METHOD_NOT_FOUND = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_INTERNAL_ERROR = -32603,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_FAILED = -32803,
    LSP_CANCELLED = -32800,
};

typedef enum LspForm {
    LSP_TEXT,   // .onnxtxt, .cir: the editor's text is looked at
    LSP_BINARY, // .onnx: the file is, as it lies on the disk
    LSP_CONFIG, // cameo.yaml: the file is, when it was saved
    LSP_OTHER   // not ours
} LspForm;

typedef struct LspDocument {
    char *uri, *path; // path: of a file; for another scheme, its last part
    LspForm form;
    Buf text;
    size_t *lines; // where each line begins
    uint32_t nlines;
    json_int_t version;
    bool dirty; // to be linted
} LspDocument;

typedef struct LspServer {
    const Tool *tool;
    LintRun lint; // what the command line says of rules
    // Bytes that were read and are no message yet; how many of what follows is passed over.
    Buf in;
    uint64_t skip;
    bool eof;
    json_t *queue; // messages that were read and not handled
    bool initialized, shutdown, exited;
    char *docs; // where the rules' pages are, by the client; NULL: not said
    LspDocument *documents[256];
    uint32_t ndocuments;
} LspServer;

// ---- messages (tools/lsp_frame.c)
// ----------------------------------------------------------------------

// Reads what is there, waiting up to `ms` (-1: until something comes); messages go to the queue,
// what is none is answered. False: nothing came.
bool lsp_read(LspServer *s, int ms);
// Sends a message, whose reference is taken.
void lsp_send(json_t *message);
void lsp_answer(json_t *id, json_t *result); // takes the result's reference
void lsp_refuse(json_t *id, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lsp_notify(const char *method, json_t *params); // takes the reference
void lsp_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- documents (tools/lsp_documents.c)
// -----------------------------------------------------------------

LspDocument *lsp_document(LspServer *s, const char *uri); // NULL: it is not open
// NULL: too many are open.
LspDocument *lsp_open(LspServer *s, const char *uri, Str text, json_int_t version);
void lsp_close(LspServer *s, LspDocument *d);
void lsp_set_text(LspDocument *d, Str text);
// A change as didChange says it: a range and what replaces it, or the whole text. False: it is
// none.
bool lsp_change(LspDocument *d, const json_t *change);
size_t lsp_offset(const LspDocument *d, json_int_t line, json_int_t character);
bool lsp_position(const LspDocument *d, const json_t *position, size_t *offset);
json_t *lsp_range(const LspDocument *d, size_t from, size_t to);
json_t *lsp_location(const LspDocument *d, size_t from, size_t to);
Str lsp_text(const LspDocument *d);
json_t *lsp_string(Str s); // invalid UTF-8 is replaced

// ---- work (tools/lsp_work.c)
// ---------------------------------------------------------------------------

// What a request wants to know of a document. Runs in a process of its own, which may fail. The
// result is the answer; {"error": "..."} refuses the request.
typedef json_t *LspWork(LspServer *s, LspDocument *d, const json_t *params);
typedef enum LspOutcome { LSP_DONE, LSP_SUPERSEDED, LSP_FAILED } LspOutcome;
// `id`: of the request, which the client may cancel meanwhile; NULL: it is for linting, which a
// newer text makes idle. *why, of what failed, is the caller's to free.
LspOutcome lsp_work(LspServer *s, LspDocument *d, LspWork *work, const json_t *params,
                    const json_t *id, json_t **result, char **why);

// ---- what is known of a text
// ---------------------------------------------------------------------------

// A document's model as it was written, with the places of all its parts.
typedef struct LspModel {
    Arena *arena;
    Model *m;
    TextPlaces places;
    Config *config;
} LspModel;
// False: it cannot be parsed.
bool lsp_parse(LspServer *s, const LspDocument *d, LspModel *l);
// Types and devices too (lint_prepare).
void lsp_prepare(LspModel *l);
// The innermost name at an offset; NULL: there is none.
const TextPlace *lsp_place_at(const LspModel *l, size_t offset);
// The model's function that a node calls; NULL: none.
const Function *lsp_function_of(const Model *m, const Node *n);
// The word of letters, digits and "_" at an offset.
Str lsp_word_at(const LspDocument *d, size_t offset);

LspWork lsp_lint;       // diagnostics
LspWork lsp_hover;      // textDocument/hover
LspWork lsp_definition; // textDocument/definition
LspWork lsp_references; // textDocument/references
LspWork lsp_highlights; // textDocument/documentHighlight
LspWork lsp_rename;     // textDocument/rename
LspWork lsp_symbols;    // textDocument/documentSymbol
LspWork lsp_actions;    // textDocument/codeAction

// The edits that make a repaired model of a text and leave alone what the repair does
// (tools/lsp_edits.c): [TextEdit]. `before` and `after` are the model as it is printed.
json_t *lsp_edits(LspServer *s, const LspDocument *d, Str before, Str after);

#endif
