#!/usr/bin/env python3
"""Whole sessions with `cameo lsp`: sessions.py CAMEO ROOT.

What is right comes from outside of the server: places from the text, findings from `cameo lint` on the same text as a file,
repairs from `cameo lint --fix`, names from onnx.parser, frames and error codes from the specification (LSP 3.17, JSON-RPC 2.0)."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx.parser

from client import Client, applied, at_range, offset_of, position_of

CAMEO, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FOLDER = pathlib.Path(tempfile.mkdtemp())
MODEL = '''# A model, 𝛼 first.
<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
net (float[N,4] x, bool flag) => (float[N,4] y)
<
   float[4,4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1},   # a weight
   double[4] "hälfte𝛽" = {0.5, 0.5, 0.5, 0.5}
>
{
   # first the product
   c = MatMul (x, w)   # here
   # 𝛼𝛽 then half of it
   [half] d = Mul (c, "hälfte𝛽")   # DT001
   e = local.twice (d)
   y = Relu (e)
}
<domain: "local", opset_import: ["" : 20]>
twice (v) => (r) { r = Add (v, v) }
'''


def uri_of(path):
    return path.as_uri()


def lint(path, *arguments):
    done = subprocess.run([CAMEO, "lint", "--format", "json", path, *arguments], capture_output=True, text=True)
    return json.loads(done.stdout)["findings"] if done.stdout else []


def keys(findings):
    return sorted((f["rule"], f["fingerprint"]) for f in findings)


def keys_of_diagnostics(diagnostics):
    return sorted((d["data"]["rule"], d["data"]["fingerprint"]) for d in diagnostics)


def error_of(message):
    return message.get("error", {}).get("code")


def lifecycle():
    c = Client(CAMEO)
    assert error_of(c.request("textDocument/hover", {})) == -32002
    assert error_of(c.request("shutdown")) == -32002
    c.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a.onnxtxt", "text": "x", "version": 1}})
    found = c.start()
    assert found["capabilities"]["positionEncoding"] == "utf-16" and found["serverInfo"]["name"] == "cameo"
    assert error_of(c.request("initialize", {})) == -32600
    assert error_of(c.request("textDocument/nothing", {})) == -32601
    assert error_of(c.request("$/nothing", {})) == -32601
    c.notify("$/nothing", {})
    c.notify("workspace/didChangeConfiguration", {"settings": {}})
    assert error_of(c.request("textDocument/hover", {})) == -32602
    place = {"textDocument": {"uri": "file:///nowhere.onnxtxt"}, "position": {"line": 0, "character": 0}}
    assert error_of(c.request("textDocument/hover", place)) == -32602
    assert c.result("shutdown") is None
    assert error_of(c.request("textDocument/hover", place)) == -32600
    c.notify("exit")
    assert c.process.wait(20) == 0
    c = Client(CAMEO)
    c.start()
    c.notify("exit")
    assert c.process.wait(20) == 1, "exit without shutdown"
    c = Client(CAMEO)
    c.start()
    c.process.stdin.close()
    assert c.process.wait(20) == 1, "the client is gone"
    done = subprocess.run([CAMEO, "lsp", "--select", "NOPE"], capture_output=True, text=True)
    assert done.returncode == 2 and 'there is no rule "NOPE"' in done.stderr
    done = subprocess.run([CAMEO, "lsp", "model.onnx"], capture_output=True, text=True)
    assert done.returncode == 2 and "no file is named" in done.stderr


def place(text, word, nth=0):
    at = -1
    for _ in range(nth + 1):
        at = text.index(word, at + 1)
    return position_of(text, at)


def looks():
    path = FOLDER / "a model%.onnxtxt"  # the URI is escaped
    path.write_text(MODEL)
    uri = uri_of(path)
    c = Client(CAMEO)
    c.start(initializationOptions={"docs": "https://example.org/rules.md"})
    c.open(uri, MODEL)
    found = c.diagnostics(uri, 1)
    assert keys_of_diagnostics(found) == keys(lint(path)) and found, found
    d = next(d for d in found if d["code"] == "DT001")
    assert at_range(MODEL, d["range"]) == '"hälfte𝛽"' and d["range"]["start"]["line"] == 11, d
    assert d["severity"] == 1 and d["source"] == "cameo" and "float64 begins at initializer" in d["message"]
    assert d["codeDescription"]["href"] == "https://example.org/rules.md#DT001"
    begin = d["relatedInformation"][0]["location"]["range"]
    assert at_range(MODEL, begin) == '"hälfte𝛽"' and begin["start"]["line"] == 5
    at = lambda word, nth=0: {"textDocument": {"uri": uri}, "position": place(MODEL, word, nth)}
    hover = c.result("textDocument/hover", at("d = "))
    said = subprocess.run([CAMEO, "why", path, "d"], capture_output=True, text=True).stdout
    assert said.strip() in hover["contents"]["value"] and at_range(MODEL, hover["range"]) == "d"
    hover = c.result("textDocument/hover", at("MatMul"))["contents"]["value"]
    assert "**MatMul** of ai.onnx, since version 13" in hover and "input `A`" in hover
    assert "**DT001 operand-mismatch**" in c.result("textDocument/hover", at("DT001"))["contents"]["value"]
    assert "function **twice**" in c.result("textDocument/hover", at("local.twice"))["contents"]["value"]
    assert c.result("textDocument/hover", at("{")) is None
    made = c.result("textDocument/definition", at("(d)", 0) | {"position": place(MODEL, "d)")})
    assert at_range(MODEL, made["range"]) == "d" and made["range"]["start"]["line"] == 11
    made = c.result("textDocument/definition", at("local.twice"))
    assert at_range(MODEL, made["range"]) == "twice"
    reads = c.result("textDocument/references", at('"hälfte𝛽"', 1) | {"context": {"includeDeclaration": True}})
    assert [r["range"]["start"]["line"] for r in reads] == [5, 11]
    reads = c.result("textDocument/references", at('"hälfte𝛽"', 1) | {"context": {"includeDeclaration": False}})
    assert [r["range"]["start"]["line"] for r in reads] == [11]
    marks = c.result("textDocument/documentHighlight", at("c = "))
    assert [(m["range"]["start"]["line"], m["kind"]) for m in marks] == [(9, 3), (11, 2)]
    edit = c.result("textDocument/rename", at("c = ") | {"newName": "a product"})
    renamed = applied(MODEL, edit["changes"][uri])
    assert renamed == MODEL.replace("c = MatMul", '"a product" = MatMul').replace("(c, ", '("a product", ')
    assert error_of(c.request("textDocument/rename", at("c = ") | {"newName": "y"})) == -32803
    assert error_of(c.request("textDocument/rename", at("MatMul") | {"newName": "z"})) == -32803
    outline = c.result("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert [g["name"] for g in outline] == ["net", "twice"]
    assert [s["name"] for s in outline[0]["children"]] == ["x", "flag", "w", "hälfte𝛽", "c", "half", "e", "y"]
    c.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert c.diagnostics(uri) == []
    assert c.stop() == 0


def syntax():
    path = FOLDER / "syntax.onnxtxt"
    broken = MODEL.replace("MatMul (x, w)", "MatMul (x, w")
    c = Client(CAMEO)
    c.start()
    c.open(uri_of(path), broken)
    found = c.diagnostics(uri_of(path), 1)
    assert len(found) == 1 and 'expected ")"' in found[0]["message"], found
    assert found[0]["range"]["start"]["line"] == 11, found
    assert c.result("textDocument/hover", {"textDocument": {"uri": uri_of(path)}, "position": place(broken, "c = ")}) is None
    assert c.stop() == 0


def files():
    c = Client(CAMEO)
    c.start()
    model = ROOT / "examples/digits/broken.onnx"
    c.open(uri_of(model), "what an editor makes of bytes")
    found = c.diagnostics(uri_of(model), 1)
    assert keys_of_diagnostics(found) == keys(lint(model))
    assert found[0]["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    assert "at graph/node[/scale/Div]:in1(input.scale)" in found[0]["message"]
    c.open("untitled:Untitled-1", "text")
    folder = FOLDER / "configured"
    folder.mkdir()
    (folder / ".git").mkdir()
    text = folder / "m.onnxtxt"
    text.write_text(MODEL)
    settings = folder / "cameo.yaml"
    settings.write_text("version: 1\nignore: [DT]\n")
    c.open(uri_of(text), MODEL)
    assert "DT001" not in {d["code"] for d in c.diagnostics(uri_of(text), 1)}
    c.open(uri_of(settings), settings.read_text())
    assert c.diagnostics(uri_of(settings), 1) == []
    settings.write_text("version: 1\nignor: [DT]\n")
    c.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(settings)}})
    found = c.diagnostics(uri_of(settings))
    assert found and found[0]["range"]["start"]["line"] == 1 and "ignore" in found[0]["message"], found
    found = c.diagnostics(uri_of(text))
    assert found and "cameo.yaml:2" in found[0]["message"], found
    assert c.stop() == 0
    c = Client(CAMEO, "--ignore", "DT")
    c.start()
    c.open(uri_of(FOLDER / "ignored.onnxtxt"), MODEL)
    assert "DT001" not in {d["code"] for d in c.diagnostics(uri_of(FOLDER / "ignored.onnxtxt"), 1)}
    assert c.stop() == 0


def random_edits(count):
    """Edits at random places, in UTF-16 units; findings are those of the text as a file."""
    r = random.Random(3)
    path = FOLDER / "edited.onnxtxt"
    c = Client(CAMEO)
    c.start()
    text, version = MODEL, 1
    c.open(uri_of(path), text)
    c.diagnostics(uri_of(path), 1)
    for _ in range(count):
        if r.random() < 0.2:
            text = MODEL
            changes = [{"text": text}]
        else:
            changes = []
            for _ in range(r.randint(1, 4)):
                begin = r.randint(0, len(text))
                end = min(len(text), begin + r.randint(0, 5))
                put = r.choice(["", "", " ", "\n", "x", "𝛾", "ü", "# 𝛿\n", "(", '"', "Relu", "\r\n", "d = Relu (c)\n"])
                changes.append({"range": {"start": position_of(text, begin), "end": position_of(text, end)}, "text": put})
                if "\r" in text or "\r" in put:  # lines end at "\r" too: the whole text, to keep the client simple
                    changes[-1] = {"text": text[:begin] + put.replace("\r", "") + text[end:]}
                    put = put.replace("\r", "")
                text = text[:begin] + put + text[end:]
        version += 1
        c.notify("textDocument/didChange", {"textDocument": {"uri": uri_of(path), "version": version}, "contentChanges": changes})
        found = c.diagnostics(uri_of(path), version)
        path.write_text(text, newline="")
        assert keys_of_diagnostics(found) == keys(lint(path)), (found, lint(path), text)
    assert c.stop() == 0


def repairs():
    """Quick fixes of many models: what `cameo lint --fix` makes of them, and every comment stays."""
    c = Client(CAMEO)
    c.start()
    fixed = small = tried = 0
    for source in sorted((ROOT / "tests/lit/lint").glob("*.onnxtxt")):
        text = source.read_text()
        path = FOLDER / source.name
        path.write_text(text)
        uri = uri_of(path)
        c.open(uri, text)
        everything = {"start": {"line": 0, "character": 0}, "end": position_of(text, len(text))}
        context = {"diagnostics": c.diagnostics(uri, 1)}
        actions = c.result("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": everything, "context": context})
        out = FOLDER / "out.onnxtxt"
        out.unlink(missing_ok=True)
        subprocess.run([CAMEO, "lint", "--fix", path, "-o", out], capture_output=True)
        every = [a for a in actions if a["kind"] == "source.fixAll"]
        tried += 1
        if every:
            mended = applied(text, every[0]["edit"]["changes"][uri])
            (FOLDER / "mended.onnxtxt").write_text(mended)
            same = subprocess.run([CAMEO, "diff", "--strict", out, FOLDER / "mended.onnxtxt"], capture_output=True, text=True)
            assert same.returncode == 0, (source.name, same.stdout, mended)
            fixed += 1
            comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
            small += all(line in mended.splitlines() for line in comments)
        for a in actions:
            mended = applied(text, a["edit"]["changes"][uri])
            (FOLDER / "mended.onnxtxt").write_text(mended)
            if a["kind"] == "quickfix":
                now = lint(FOLDER / "mended.onnxtxt")
                of = a["diagnostics"][0]["data"]
                assert of["fingerprint"] not in [f["fingerprint"] for f in now], (source.name, a["title"], mended)
        c.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    print(f"{tried} models, {fixed} repaired as a whole, of these {small} with every comment in its place")
    assert fixed > 20 and small == fixed
    assert c.stop() == 0
    onnx.parser.parse_model(applied(MODEL, quick_fix(MODEL)).replace("𝛼", "a").replace("𝛽", "b").replace("ä", "a"))


def quick_fix(text):
    path = FOLDER / "quick.onnxtxt"
    c = Client(CAMEO)
    c.start()
    c.open(uri_of(path), text)
    at = place(text, "hälfte", 1)
    asked = {"textDocument": {"uri": uri_of(path)}, "range": {"start": at, "end": at},
             "context": {"diagnostics": [], "only": ["quickfix"]}}
    actions = c.result("textDocument/codeAction", asked)
    assert [a["title"] for a in actions] == ['DT001: store "hälfte𝛽" as float32 (all 4 values exact): 0 casts added'], actions
    assert actions[0]["isPreferred"] and actions[0]["diagnostics"][0]["code"] == "DT001"
    edits = actions[0]["edit"]["changes"][uri_of(path)]
    mended = applied(text, edits)
    assert mended == text.replace('double[4] "hälfte𝛽" = {0.5, 0.5, 0.5, 0.5}', 'float[4] "hälfte𝛽" = {0.5,0.5,0.5,0.5}'), mended
    assert c.stop() == 0
    return edits


def bad_frames():
    c = Client(CAMEO)
    for data, code in [(b"Content-Length: 7\r\n\r\n{\"a\": ]", -32700), (b"Content-Length: 2\r\n\r\n[]", -32600),
                       (b"Content-Length: 4\r\n\r\nnull", -32600), (b"Content-Length: 2\r\n\r\n\xff\xfe", -32700),
                       (b"Length: 2\r\n\r\n", -32700), (b"Content-Length: -5\r\n\r\n", -32700),
                       (b"Content-Length: many\r\n\r\n", -32700), (b"Content-Length: 12x\r\n\r\n", -32700),
                       (b"Content-Length: 99999999999999999999999\r\n\r\n", -32700), (b"\r\n\r\n", -32700),
                       (b"Content-Length: %d\r\n\r\n" % (300 << 20), -32600)]:
        c.write(data)
        message = c.receive()
        assert error_of(message) == code and message["id"] is None, (data, message)
    piece = b"x" * (1 << 20)
    for _ in range(300):  # what was announced is passed over
        c.write(piece)
    for bad in [{"jsonrpc": "2.0", "id": [1], "method": "shutdown"}, {"jsonrpc": "1.0", "id": 5, "method": "shutdown"},
                {"jsonrpc": "2.0", "id": 6}, {"jsonrpc": "2.0", "id": 7, "method": 8},
                {"jsonrpc": "2.0", "id": 9, "method": "shutdown", "params": 3}]:
        c.send(bad)
        message = c.receive()
        assert error_of(message) == -32600 and message["id"] == (bad["id"] if isinstance(bad["id"], int) else None), (bad, message)
    c.send({"jsonrpc": "2.0", "id": 3, "result": None})  # an answer to nothing
    c.write(b"content-length:  2 \r\nContent-Type: x\r\n\r\n{}")
    assert error_of(c.receive()) == -32600
    c.write(b"Content-Length: 4000\r\n\r\n" + b"[" * 4000)
    assert error_of(c.receive()) == -32700
    c.start()
    body = json.dumps({"jsonrpc": "2.0", "id": "a name", "method": "shutdown"}).encode()
    for byte in b"Content-Length: %d\r\n\r\n%s" % (len(body), body):  # one by one
        c.write(bytes([byte]))
    assert c.receive()["id"] == "a name"
    c.notify("exit")
    assert c.process.wait(20) == 0
    c = Client(CAMEO)
    c.write(b"x" * 70000)
    assert error_of(c.receive()) == -32700 and c.process.wait(20) == 1


def fuzz(count):
    """Random messages and bytes: the server answers what comes behind them."""
    r = random.Random(5)
    methods = ["textDocument/hover", "textDocument/didOpen", "textDocument/didChange", "textDocument/codeAction", "initialize",
               "textDocument/rename", "textDocument/didSave", "textDocument/didClose", "$/cancelRequest", "nothing"]

    def thing(depth=0):
        kind = r.randint(0, 9 if depth < 3 else 5)
        if kind < 6:
            return r.choice([None, True, -1, 10**18, 1e300, "", "file:///f.onnxtxt", MODEL[:r.randint(0, 200)], "\0", "uri"])
        if kind < 7:
            return [thing(depth + 1) for _ in range(r.randint(0, 3))]
        names = ["textDocument", "position", "uri", "text", "version", "contentChanges", "range", "start", "end", "line",
                 "character", "context", "only", "newName", "id", "diagnostics"]
        return {r.choice(names): thing(depth + 1) for _ in range(r.randint(0, 4))}

    c = Client(CAMEO)
    c.start()
    c.open("file:///f.onnxtxt", MODEL)
    document = {"uri": "file:///f.onnxtxt", "version": 2, "text": MODEL}
    for i in range(count):
        params = thing()
        if isinstance(params, dict) and r.random() < 0.7:
            params["textDocument"] = document
            params.setdefault("position", {"line": r.randint(-2, 30), "character": r.randint(-2, 90)})
            if r.random() < 0.5:
                params["contentChanges"] = [{"text": r.choice(MODEL), "range": {
                    "start": {"line": r.randint(0, 20), "character": r.randint(0, 9)},
                    "end": {"line": r.randint(0, 20), "character": r.randint(0, 9)}}}]
        message = {"jsonrpc": "2.0", "method": r.choice(methods), "params": params}
        if r.random() < 0.5:
            message["id"] = r.choice([i + 1000, f"x{i}"])
        c.send(message)
        if r.random() < 0.1:
            garbage = bytes(r.randrange(256) for _ in range(r.randint(1, 30))).replace(b"\r", b"").replace(b"\n", b"")
            c.write(garbage + b"\r\n\r\n")
    assert c.stop() == 0


def cancelled():
    path = FOLDER / "cancel.onnxtxt"
    c = Client(CAMEO)
    c.start()
    c.open(uri_of(path), MODEL)
    ask = {"textDocument": {"uri": uri_of(path)}, "position": place(MODEL, "d = ")}
    first = json.dumps({"jsonrpc": "2.0", "id": 700, "method": "textDocument/hover", "params": ask}).encode()
    second = json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 700}}).encode()
    c.write(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(b), b) for b in (first, second)))
    assert error_of(c.answer(700)) == -32800
    c.notify("$/cancelRequest", {"id": 700})  # long answered
    assert c.result("textDocument/hover", ask)
    # A text that is changed while it is linted is linted as it is then.
    for version in range(2, 40):
        text = MODEL if version % 2 else MODEL.replace("double[4]", "float[4]")
        c.notify("textDocument/didChange", {"textDocument": {"uri": uri_of(path), "version": version},
                                            "contentChanges": [{"text": text}]})
    found = c.diagnostics(uri_of(path), 39)
    assert "DT001" in {d["code"] for d in found}
    assert c.stop() == 0


def main():
    for part, *arguments in ((bad_frames,), (lifecycle,), (looks,), (syntax,), (files,), (cancelled,), (repairs,),
                             (random_edits, 60), (fuzz, 400)):
        part(*arguments)
        print(f"{part.__name__}: fine", flush=True)


if __name__ == "__main__":
    main()
