// Messages: a header with Content-Length, an empty line, JSON (LSP 3.17, "Base Protocol").
//
// What breaks the frame is passed over up to where the next one can begin, so that one bad message
// does not end the session: a header without a length is skipped alone, a length beyond MAX_MESSAGE
// with all its bytes. A header of more than MAX_HEADER bytes ends it.

#include "tools/lsp.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_HEADER = 64 << 10, MAX_MESSAGE = 256 << 20, PIECE = 64 << 10, MAX_WORDS = 1000 };

// ---- out
// -----------------------------------------------------------------------------------------------

static void write_all(const char *at, size_t n)
{
    while (n) {
        ssize_t done = write(1, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            _exit(EXIT_BYTES); // nobody reads any more
        at += done;
        n -= (size_t)done;
    }
}

void lsp_send(json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);
    char header[64];
    json_decref(message);
    if (!text)
        return;
    size_t n = strlen(text);
    write_all(header, (size_t)snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", n));
    write_all(text, n);
    free(text);
}

void lsp_answer(json_t *id, json_t *result)
{
    lsp_send(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

void lsp_refuse(json_t *id, int code, const char *format, ...)
{
    char words[MAX_WORDS];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", lsp_string(str_of(words)));
    lsp_send(json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id",
                       id ? json_incref(id) : json_null(), "error", error));
}

void lsp_notify(const char *method, json_t *params)
{
    lsp_send(json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

void lsp_log(const char *format, ...)
{
    char words[MAX_WORDS];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    lsp_notify("window/logMessage",
               json_pack("{s:i, s:o}", "type", 2, "message", lsp_string(str_of(words))));
}

// ---- in
// ------------------------------------------------------------------------------------------------

static void drop(Buf *b, size_t n)
{
    b->len -= n;
    memmove(b->at, b->at + n, b->len);
}

// The end of the header's lines (behind the empty one); 0: it is not all there.
static size_t header_end(const Buf *b)
{
    const size_t most = b->len < MAX_HEADER ? b->len : MAX_HEADER;
    const char *end = most ? memmem(b->at, most, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - b->at) + 4 : 0;
}

// The number behind "Content-Length:"; false: there is none.
static bool content_length(const char *at, size_t n, uint64_t *length)
{
    static const char key[] = "content-length:";
    for (const char *line = at; line < at + n;) {
        const char *end = memmem(line, (size_t)(at + n - line), "\r\n", 2);
        size_t len = (size_t)(end - line);
        if (len > sizeof key - 1 && strncasecmp(line, key, sizeof key - 1) == 0) {
            const char *p = line + sizeof key - 1;
            while (p < end && (*p == ' ' || *p == '\t'))
                p++;
            const char *first = p;
            for (*length = 0; p < end && *p >= '0' && *p <= '9' && p - first < 18; p++)
                *length = *length * 10 + (uint64_t)(*p - '0');
            while (p < end && (*p == ' ' || *p == '\t'))
                p++;
            return p == end && p > first;
        }
        line = end + 2;
    }
    return false;
}

static void take_message(LspServer *s, const char *at, size_t n)
{
    json_error_t error;
    json_t *message = json_loadb(at, n, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!message)
        lsp_refuse(NULL, LSP_PARSE_ERROR, "the message is no JSON: %s", error.text);
    else if (!json_is_object(message))
        lsp_refuse(NULL, LSP_INVALID_REQUEST, "the message is no object");
    else
        json_array_append(s->queue, message);
    json_decref(message);
}

static void take_frames(LspServer *s)
{
    for (;;) {
        if (s->skip) {
            size_t n = s->skip < s->in.len ? (size_t)s->skip : s->in.len;
            if (!n)
                return;
            drop(&s->in, n);
            s->skip -= n;
            continue;
        }
        const size_t header = header_end(&s->in);
        uint64_t length = 0;
        if (!header && s->in.len >= MAX_HEADER) {
            lsp_refuse(NULL, LSP_PARSE_ERROR, "a header of more than %d bytes", MAX_HEADER);
            s->eof = s->exited = true;
            s->shutdown = false;
            return;
        }
        if (!header)
            return;
        if (!content_length(s->in.at, header - 2, &length)) {
            lsp_refuse(NULL, LSP_PARSE_ERROR, "a header without a Content-Length that is a number");
            drop(&s->in, header);
        } else if (length > MAX_MESSAGE) {
            lsp_refuse(NULL, LSP_INVALID_REQUEST, "a message of %llu bytes is passed over",
                       (unsigned long long)length);
            drop(&s->in, header);
            s->skip = length;
        } else if (s->in.len - header < length) {
            return;
        } else {
            take_message(s, s->in.at + header, (size_t)length);
            drop(&s->in, header + (size_t)length);
        }
    }
}

bool lsp_read(LspServer *s, int ms)
{
    char piece[PIECE];
    struct pollfd p = {.fd = 0, .events = POLLIN};
    if (s->eof || poll(&p, 1, ms) <= 0)
        return false;
    ssize_t n = read(0, piece, sizeof piece);
    if (n < 0 && errno == EINTR)
        return false;
    if (n <= 0) {
        s->eof = true;
        return true;
    }
    buf_put(&s->in, piece, (size_t)n);
    take_frames(s);
    return true;
}
