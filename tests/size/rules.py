#!/usr/bin/env python3
"""The rules of size and structure: python3 rules.py ROOT. Exit 1 with one line a breach.

Files of at most 800 lines, functions of at most 80, lines of at most 100 columns; includes only in the
direction base <- ir <- {frontend, passes} <- codegen <- tools; codegen/ names no ONNX operator; exit() only in
tools/; no system() or popen(); rules and ranges read elements of constants as elements_of hands them out; no two
headers of runtime/ that one program may have define the same name.
"""
import pathlib
import re
import shutil
import subprocess
import sys

MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 800, 80, 100
ALLOWED = {
    "base": {"base"},
    "ir": {"base", "ir", "runtime"},
    "frontend": {"base", "ir", "frontend"},
    "passes": {"base", "ir", "passes"},
    "codegen": {"base", "ir", "passes", "codegen", "runtime"},
    "tools": {"base", "ir", "frontend", "passes", "codegen", "runtime", "tools"},
}
# The repair that lint offers is written through the front door's export.
TOOLS_ONLY = re.compile(r"\b(exit|_exit)\s*\(")
NEVER = re.compile(r"\b(system|popen)\s*\(")
# Elements of constants are handed out (passes/elements.h): a tensor's own fields are empty until its payload was read.
UNREAD = re.compile(r"(->|\.)n?elements\b")
HANDED_OUT = re.compile(r"passes/(lint/|ranges)")
# Headers of which a program has one, and what either header defines where the other did not.
INSTEAD = ({"cameo_codecs.h", "cameo_images.h"},)
GUARDED = {"cameo_str"}


def sources(root):
    """What git tracks; without git, all that is neither built nor installed here."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True) if shutil.which("git") else None
    beside = {"build", ".venv"}
    names = listed.stdout.split() if listed and listed.returncode == 0 else [
        str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and not beside & set(p.parts)]
    return [root / n for n in names if re.search(r"\.(c|h|cu|cuh|py|sh)$", n) and (root / n).exists()]


def functions(path):
    """(name, lines) of each C function, by universal-ctags."""
    done = subprocess.run(["ctags", "-f", "-", "--languages=C,CUDA", "--map-C=+.h", "--kinds-C=f", "--fields=+ne", path],
                          capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        parts = line.split("\t")
        fields = dict(p.split(":", 1) for p in parts[3:] if ":" in p)
        if "line" in fields and "end" in fields:
            yield parts[0], int(fields["line"]), int(fields["end"]) - int(fields["line"]) + 1


def check_names(root, say):
    """An emitted program is one text of those headers that it needs: a name is of one of them. What a device has is another text."""
    headers = [p for p in sorted((root / "runtime").glob("*.h")) if p.name != "cameo_device.h"]
    done = subprocess.run(["ctags", "-f", "-", "--languages=C", "--map-C=+.h", "--kinds-C=ft", "--fields=+n", *headers],
                          capture_output=True, text=True, check=True)
    first = {}
    for line in done.stdout.splitlines():
        name, path, *rest = line.split("\t")
        number = next(f.removeprefix("line:") for f in rest if f.startswith("line:"))
        other = first.setdefault(name, pathlib.Path(path))
        if other.name != pathlib.Path(path).name and name not in GUARDED and {other.name, pathlib.Path(path).name} not in INSTEAD:
            say(pathlib.Path(path), number, f"{name} is defined in {other.name} too")


def operator_names(root):
    text = (root / "ir/schema.inc").read_text() + (root / "ir/schema_microsoft.inc").read_text()
    return set(re.findall(r'^    \{"[^"]*", "(\w+)", \d+', text, re.M)) - {"Cast", "Identity", "Constant", "Max", "Min"}


def check_c(root, path, text, say):
    relative = path.relative_to(root)
    room = relative.parts[0]
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    for included in re.findall(r'#include "(\w+)/', text):
        if room in ALLOWED and included in ALLOWED and included not in ALLOWED[room]:
            say(path, 1, f"{room}/ must not include {included}/")
    if room in ALLOWED and room != "tools" and TOOLS_ONLY.search(code):
        say(path, 1, "exit() outside of tools/")
    if HANDED_OUT.match(relative.as_posix()) and UNREAD.search(code):
        say(path, 1, "elements of a tensor that elements_of did not hand out")
    if NEVER.search(code):
        say(path, 1, "system() or popen()")
    for i, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            say(path, i, f"{len(line)} columns")
    for name, line, length in functions(path):
        if length > MAX_FUNCTION:
            say(path, line, f"{name} has {length} lines")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    breaches = []

    def say(path, line, what):
        breaches.append(f"{path.relative_to(root)}:{line}: {what}")

    names = operator_names(root)
    for path in sources(root):
        text = path.read_text(errors="replace")
        count = text.count("\n")
        if count > MAX_FILE:
            say(path, 1, f"{count} lines")
        if path.suffix in (".c", ".h", ".cu", ".cuh"):
            check_c(root, path, text, say)
        if path.relative_to(root).parts[0] == "codegen":
            for name in re.findall(r'"(\w+)"', text):
                if name in names:
                    say(path, 1, f'names the operator "{name}"')
    check_names(root, say)
    print("\n".join(breaches))
    print(f"{len(breaches)} breaches of the rules of size and structure")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
