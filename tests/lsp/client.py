"""A client of `cameo lsp`: frames, requests, and the text of a document as an editor keeps it.

What the server sends is structured by lsprotocol, the protocol's types as Microsoft publishes them: a message that does not fit
raises."""
import json
import os
import select
import subprocess
import time

from lsprotocol import converters, types

CONVERTER = converters.get_converter()
ANSWERS = {
    "initialize": types.InitializeResponse,
    "shutdown": types.ShutdownResponse,
    "textDocument/hover": types.TextDocumentHoverResponse,
    "textDocument/definition": types.TextDocumentDefinitionResponse,
    "textDocument/references": types.TextDocumentReferencesResponse,
    "textDocument/documentHighlight": types.TextDocumentDocumentHighlightResponse,
    "textDocument/rename": types.TextDocumentRenameResponse,
    "textDocument/documentSymbol": types.TextDocumentDocumentSymbolResponse,
    "textDocument/codeAction": types.TextDocumentCodeActionResponse,
}
NOTIFICATIONS = {
    "textDocument/publishDiagnostics": types.TextDocumentPublishDiagnosticsNotification,
    "window/logMessage": types.WindowLogMessageNotification,
}


class Client:
    def __init__(self, cameo, *arguments):
        self.process = subprocess.Popen([cameo, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.buffer = b""
        self.last = 0
        self.notes = []
        self.methods = {}

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def receive(self, seconds=30):
        """The next message; None: the server closed its end."""
        end = time.time() + seconds
        while True:
            head, mark, rest = self.buffer.partition(b"\r\n\r\n")
            if mark:
                length = int(dict(line.split(b": ") for line in head.split(b"\r\n"))[b"Content-Length"])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return self.check(json.loads(rest[:length]))
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.time()))
            assert ready, f"no message within {seconds} s"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.buffer += data

    def check(self, message):
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            CONVERTER.structure(message, NOTIFICATIONS[message["method"]])
        elif "error" in message:
            assert isinstance(message["error"]["code"], int) and isinstance(message["error"]["message"], str)
        elif self.methods.get(message["id"]) in ANSWERS:
            CONVERTER.structure(message, ANSWERS[self.methods[message["id"]]])
        return message

    def ask(self, method, params=None, id=None):
        self.last += 1
        id = id or self.last
        self.methods[id] = method
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def answer(self, id):
        while True:
            message = self.receive()
            assert message, "the server is gone"
            if message.get("id") == id and "method" not in message:
                return message
            self.notes.append(message)

    def request(self, method, params=None):
        return self.answer(self.ask(method, params))

    def result(self, method, params=None):
        message = self.request(method, params)
        assert "result" in message, message
        return message["result"]

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def diagnostics(self, uri, version=None):
        """Those published for a document, of that version."""
        while True:
            for i, m in enumerate(self.notes):
                p = m.get("params", {})
                if m.get("method") == "textDocument/publishDiagnostics" and p["uri"] == uri and (
                        version is None or p.get("version") == version):
                    self.notes = [n for k, n in enumerate(self.notes) if k > i or n.get("params", {}).get("uri") != uri]
                    return p["diagnostics"]
            message = self.receive()
            assert message, "the server is gone"
            self.notes.append(message)

    def start(self, **options):
        result = self.result("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **options})
        self.notify("initialized", {})
        return result

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen",
                    {"textDocument": {"uri": uri, "languageId": "onnxtxt", "version": version, "text": text}})

    def stop(self):
        assert self.result("shutdown") is None
        self.notify("exit")
        return self.process.wait(20)


def units(s):
    """UTF-16 code units of a text."""
    return len(s.encode("utf-16-le")) // 2


def offset_of(text, position):
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[:position["line"]])
    at = 0
    for c in lines[position["line"]]:
        if at >= position["character"]:
            break
        at += units(c)
        before += 1
    return before


def position_of(text, offset):
    begin = text.rfind("\n", 0, offset) + 1
    return {"line": text.count("\n", 0, offset), "character": units(text[begin:offset])}


def at_range(text, r):
    return text[offset_of(text, r["start"]):offset_of(text, r["end"])]


def applied(text, edits):
    spans = sorted(((offset_of(text, e["range"]["start"]), offset_of(text, e["range"]["end"]), e["newText"]) for e in edits),
                   reverse=True)
    last = len(text) + 1
    for begin, end, put in spans:
        assert end <= last, "edits overlap"
        last = begin
        text = text[:begin] + put + text[end:]
    return text
