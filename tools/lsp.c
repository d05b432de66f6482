// cameo lsp: a language server on standard input and output, for models as text: findings while
// they are written, what is known of a value, where it is made, and repairs as edits.

#include "tools/lsp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_MS = 80 }; // a text is linted when no message came for so long

static const ToolOption options[] = {
    LINT_OPTIONS,
    {"--stdio", NULL, "what is done anyway, since clients say it"},
    {0},
};

// ---- requests
// ------------------------------------------------------------------------------------------

typedef struct Request {
    const char *method;
    LspWork *work;
} Request;

static const Request requests[] = {
    {"textDocument/hover", lsp_hover},           {"textDocument/definition", lsp_definition},
    {"textDocument/references", lsp_references}, {"textDocument/documentHighlight", lsp_highlights},
    {"textDocument/rename", lsp_rename},         {"textDocument/documentSymbol", lsp_symbols},
    {"textDocument/codeAction", lsp_actions}};

static const Request *request_of(const char *method)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].method, method) == 0)
            return &requests[i];
    return NULL;
}

static const char *uri_of(const json_t *params)
{
    return json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
}

static void answer_about_document(LspServer *s, const Request *r, json_t *id, const json_t *params)
{
    const char *uri = uri_of(params);
    LspDocument *d = uri ? lsp_document(s, uri) : NULL;
    json_t *result;
    char *why;
    size_t offset;
    const json_t *position = json_object_get(params, "position");
    if (!uri || (position && d && !lsp_position(d, position, &offset))) {
        lsp_refuse(id, LSP_INVALID_PARAMS, "%s: textDocument.uri and a position are needed",
                   r->method);
        return;
    }
    if (!d) {
        lsp_refuse(id, LSP_INVALID_PARAMS, "%s: the document is not open", r->method);
        return;
    }
    LspOutcome outcome = lsp_work(s, d, r->work, params, id, &result, &why);
    const char *error = json_string_value(json_object_get(result, "error"));
    if (outcome == LSP_SUPERSEDED)
        lsp_refuse(id, LSP_CANCELLED, "cancelled");
    else if (outcome == LSP_FAILED)
        lsp_refuse(id, LSP_INTERNAL_ERROR, "%s", why);
    else if (error)
        lsp_refuse(id, LSP_REQUEST_FAILED, "%s", error);
    else
        lsp_answer(id, json_incref(result));
    json_decref(result);
    free(why);
}

static json_t *capabilities(void)
{
    return json_pack("{s:{s:s, s:{s:b, s:i, s:{s:b}}, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:[s, s]}}, "
                     "s:{s:s, s:s}}",
                     "capabilities", "positionEncoding", "utf-16", "textDocumentSync", "openClose",
                     1, "change", 2, "save", "includeText", 0, "hoverProvider", 1,
                     "definitionProvider", 1, "referencesProvider", 1, "documentHighlightProvider",
                     1, "renameProvider", 1, "documentSymbolProvider", 1, "codeActionProvider",
                     "codeActionKinds", "quickfix", "source.fixAll", "serverInfo", "name", "cameo",
                     "version", CAMEO_VERSION);
}

static void initialize(LspServer *s, json_t *id, const json_t *params)
{
    const json_t *said = json_object_get(params, "initializationOptions");
    const char *docs = json_string_value(json_object_get(said, "docs"));
    if (s->initialized) {
        lsp_refuse(id, LSP_INVALID_REQUEST, "initialize came before");
        return;
    }
    s->initialized = true;
    s->docs = docs ? strdup(docs) : NULL;
    lsp_answer(id, capabilities());
}

static void handle_request(LspServer *s, json_t *id, const char *method, const json_t *params)
{
    const Request *r = request_of(method);
    if (strcmp(method, "initialize") == 0)
        initialize(s, id, params);
    else if (!s->initialized)
        lsp_refuse(id, LSP_NOT_INITIALIZED, "%s came before initialize", method);
    else if (s->shutdown)
        lsp_refuse(id, LSP_INVALID_REQUEST, "%s came behind shutdown", method);
    else if (strcmp(method, "shutdown") == 0)
        s->shutdown = true, lsp_answer(id, json_null());
    else if (r)
        answer_about_document(s, r, id, params);
    else
        lsp_refuse(id, LSP_METHOD_NOT_FOUND, "there is no method %s", method);
}

// ---- notifications
// -------------------------------------------------------------------------------------

static void did_open(LspServer *s, const json_t *params)
{
    const json_t *document = json_object_get(params, "textDocument");
    const json_t *text = json_object_get(document, "text");
    const char *uri = json_string_value(json_object_get(document, "uri"));
    if (!uri || !json_is_string(text)) {
        lsp_log("didOpen needs textDocument.uri and textDocument.text");
        return;
    }
    LspDocument *d = lsp_open(s, uri, (Str){json_string_value(text), json_string_length(text)},
                              json_integer_value(json_object_get(document, "version")));
    if (!d)
        lsp_log("%s: too many documents are open", uri);
    else
        d->dirty = d->form != LSP_OTHER;
}

static void did_change(LspDocument *d, const json_t *params)
{
    const json_t *changes = json_object_get(params, "contentChanges");
    size_t i;
    json_t *change;
    d->version =
        json_integer_value(json_object_get(json_object_get(params, "textDocument"), "version"));
    json_array_foreach(changes, i, change)
    {
        if (!lsp_change(d, change))
            lsp_log("%s: a change that has no text, or no range of it", d->uri);
    }
    d->dirty = d->form == LSP_TEXT;
}

static void clear(const LspDocument *d)
{
    lsp_notify("textDocument/publishDiagnostics",
               json_pack("{s:s, s:[]}", "uri", d->uri, "diagnostics"));
}

// What cameo.yaml says holds for all.
static void did_save(LspServer *s, LspDocument *d)
{
    d->dirty = d->form == LSP_BINARY || d->form == LSP_CONFIG;
    for (uint32_t i = 0; d->form == LSP_CONFIG && i < s->ndocuments; i++)
        s->documents[i]->dirty = s->documents[i]->form != LSP_OTHER;
}

static void handle_notification(LspServer *s, const char *method, const json_t *params)
{
    const char *uri = uri_of(params);
    LspDocument *d = uri ? lsp_document(s, uri) : NULL;
    if (strcmp(method, "exit") == 0)
        s->exited = true;
    else if (!s->initialized || s->shutdown)
        return;
    else if (strcmp(method, "textDocument/didOpen") == 0)
        did_open(s, params);
    else if (d && strcmp(method, "textDocument/didChange") == 0)
        did_change(d, params);
    else if (d && strcmp(method, "textDocument/didSave") == 0)
        did_save(s, d);
    else if (d && strcmp(method, "textDocument/didClose") == 0) {
        clear(d);
        lsp_close(s, d);
    }
}

// ---- the loop
// ------------------------------------------------------------------------------------------

static bool is_cancelled(const LspServer *s, const json_t *id)
{
    size_t i;
    json_t *m;
    json_array_foreach(s->queue, i, m)
    {
        const char *method = json_string_value(json_object_get(m, "method"));
        if (method && strcmp(method, "$/cancelRequest") == 0 &&
            json_equal(json_object_get(json_object_get(m, "params"), "id"), id))
            return true;
    }
    return false;
}

static void handle(LspServer *s, json_t *message)
{
    json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    const json_t *params = json_object_get(message, "params");
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    bool answer =
        !method && (json_object_get(message, "result") || json_object_get(message, "error"));
    if (answer) // to a request: the server makes none
        return;
    if (!json_is_string(method) || (id && !json_is_integer(id) && !json_is_string(id)) ||
        !version || strcmp(version, "2.0") != 0 ||
        (params && !json_is_object(params) && !json_is_array(params) && !json_is_null(params)))
        lsp_refuse(json_is_integer(id) || json_is_string(id) ? id : NULL, LSP_INVALID_REQUEST,
                   "the message is no request of JSON-RPC 2.0");
    else if (!id)
        handle_notification(s, json_string_value(method), params);
    else if (is_cancelled(s, id))
        lsp_refuse(id, LSP_CANCELLED, "cancelled");
    else
        handle_request(s, id, json_string_value(method), params);
}

static void lint_document(LspServer *s, LspDocument *d)
{
    json_t *result;
    char *why;
    d->dirty = false;
    LspOutcome outcome = lsp_work(s, d, lsp_lint, NULL, NULL, &result, &why);
    if (outcome == LSP_FAILED) {
        lsp_log("%s: %s", d->path, why);
        result = json_pack("[{s:o, s:i, s:s, s:s}]", "range", lsp_range(d, 0, 0), "severity", 1,
                           "source", "cameo", "message", why);
    }
    if (outcome == LSP_SUPERSEDED)
        d->dirty = true;
    else
        lsp_notify("textDocument/publishDiagnostics",
                   json_pack("{s:s, s:I, s:O}", "uri", d->uri, "version", d->version, "diagnostics",
                             result));
    json_decref(result);
    free(why);
}

static LspDocument *dirty_document(const LspServer *s)
{
    for (uint32_t i = 0; i < s->ndocuments; i++)
        if (s->documents[i]->dirty)
            return s->documents[i];
    return NULL;
}

static void serve(LspServer *s)
{
    while (!s->exited) {
        if (json_array_size(s->queue)) {
            json_t *message = json_incref(json_array_get(s->queue, 0));
            json_array_remove(s->queue, 0);
            handle(s, message);
            json_decref(message);
            continue;
        }
        LspDocument *d = dirty_document(s);
        if (d && !lsp_read(s, PAUSE_MS)) {
            lint_document(s, d);
            continue;
        }
        if (!d && s->eof)
            return;
        if (!d)
            lsp_read(s, -1);
    }
}

static int run_lsp(const Tool *t, int argc, char **argv)
{
    LspServer s = {.tool = t};
    const char *value;
    s.lint = (LintRun){.tool = t, .arena = arena_new(), .fail_on = LEVEL_OFF, .format = "text"};
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        bool bad = i == ARG_BAD || i == ARG_FILE;
        if (i == ARG_HELP)
            return EXIT_CLEAN;
        if (i == ARG_FILE)
            tool_error(t, 0, "no file is named: the editor opens them");
        else if (!bad && lint_take_option(&s.lint, i, value, &bad) && bad)
            lint_refuse_option(&s.lint, &options[i], value);
        if (bad)
            return EXIT_USAGE;
    }
    s.lint.select = s.lint.select ? s.lint.select : s.lint.profile;
    signal(SIGPIPE, SIG_IGN);
    s.queue = json_array();
    serve(&s);
    while (s.ndocuments)
        lsp_close(&s, s.documents[0]);
    json_decref(s.queue);
    buf_free(&s.in);
    free(s.docs);
    arena_free(s.lint.arena);
    return s.shutdown ? EXIT_CLEAN : EXIT_FINDINGS;
}

const Tool tool_lsp = {"lsp", "[--select RULES] [--target NAME]",
                       "a language server for models as text, on standard input and output",
                       options, run_lsp};
