#!/usr/bin/env python3
"""formats.py CAMEO ROOT: the forms of output of `cameo lint`, and what CI does with it.

SARIF is held to the schema beside this file (see ci/NOTICE), and to a newer one named by CAMEO_SARIF_SCHEMA. JUnit is parsed as
XML, GitLab's report and GitHub's annotations by their documented fields. Fingerprints are compared between a model and the same
model with nodes renumbered and others renamed. The commands of docs/ci.md are run.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import jsonschema
import numpy as np
import onnx
import onnx.parser

HERE = pathlib.Path(__file__).resolve().parent
FAULTY = """<ir_version: 10, opset_import: ["" : 20]>
net (float[4] x) => (float[4] y) <double[1] scale = {0.5}> {
  [idle] unused = Exp(x)
  [first] a = Relu(x)
  [second] b = Mul(a, scale)
  y = Neg(b)
}
"""
# The same fault: a node in front, another name for the first node and its value.
MOVED = FAULTY.replace("  [first] a = Relu(x)\n", "  z = Abs(x)\n  [eerste] q = Relu(z)\n").replace("Mul(a,", "Mul(q,")
CLEAN = """<ir_version: 10, opset_import: ["" : 20]>
net (float[4] x) => (float[4] y) { y = Relu(x) }
"""
HOSTILE = """cameo.ir/1
<ir_version: 10, opset_import: ["" : 20]>
net (float[4] x) => (float[4] y) {
  ["%0A::error::<&>\\"\\n"] a = Swirl(x)
  y = Relu(a)
}
"""


def applied(content, replacements):
    """A file's bytes after SARIF replacements, by byte offsets or by lines and UTF-16 columns."""
    lines = content.decode(errors="replace").splitlines(keepends=True) if "startLine" in replacements[0]["deletedRegion"] else []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))

    def place(line, column):
        text = lines[line - 1] if line <= len(lines) else ""
        return starts[line - 1] + len(text.encode("utf-16-le")[:2 * (column - 1)].decode("utf-16-le").encode())

    for replacement in reversed(replacements):
        region, new = replacement["deletedRegion"], replacement["insertedContent"]
        if "byteOffset" in region:
            begin, end = region["byteOffset"], region["byteOffset"] + region["byteLength"]
        else:
            begin, end = place(region["startLine"], region["startColumn"]), place(region["endLine"], region["endColumn"])
        put = base64.b64decode(new["binary"]) if "binary" in new else new["text"].encode()
        content = content[:begin] + put + content[end:]
    return content


class Formats:
    def __init__(self, cameo, root, folder):
        self.cameo, self.root, self.folder = cameo, root, folder
        self.wrong = []

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *args, status=None, tool="lint"):
        done = subprocess.run([self.cameo, tool, *map(str, args)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        if status is not None:
            self.expect(done.returncode == status, f"{tool} {args}: exit {done.returncode}, not {status}: {done.stderr}")
        return done.stdout

    def findings(self, *args):
        return json.loads(self.run("--format", "json", *args))["findings"]

    def sarif(self):
        log = json.loads(self.run("--format", "sarif", "models", status=3))
        schemas = [HERE / "ci/sarif-2.1.0.json"] + [pathlib.Path(p) for p in [os.environ.get("CAMEO_SARIF_SCHEMA")] if p]
        for schema in schemas:
            for error in jsonschema.Draft4Validator(json.loads(schema.read_text())).iter_errors(log):
                self.wrong.append(f"SARIF against {schema.name}: {error.message[:200]}")
        run, = log["runs"]
        rules = json.loads(self.run("--format", "json", tool="rules"))["rules"]
        self.expect([r["id"] for r in run["tool"]["driver"]["rules"]] == [r["id"] for r in rules], "SARIF: not every rule is declared")
        for result in run["results"]:
            declared = run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
            self.expect(declared == result["ruleId"], "SARIF: ruleIndex is another rule's")
            self.expect(result["partialFingerprints"], "SARIF: no fingerprint")
        mismatch = [r for r in run["results"] if r["ruleId"] == "DT001"]
        self.expect(mismatch and mismatch[0]["codeFlows"][0]["threadFlows"][0]["locations"], "SARIF: no codeFlow for the chain")
        where = mismatch[0]["locations"][0] if mismatch else {}
        self.expect(where.get("logicalLocations", [{}])[0].get("fullyQualifiedName") == "graph/node[second]:in1(scale)",
                    "SARIF: no logical location")

    def fixes(self):
        """What a SARIF fix makes of a file is what --fix writes, for text and for bytes; big weights are not in it."""
        text = FAULTY.replace("[second]", "# of training \u20ac\n  [second]")
        sources = {"fixes.onnxtxt": text.replace("\n", "\r\n", 1), "open.onnxtxt": text.rstrip("\n"), "fixes.cir": "cameo.ir/1\n" + text}
        for name, content in sources.items():
            self.write(name, content.replace("# of training \u20ac\n  ", "") if name.endswith("cir") else content)
        model = onnx.parser.parse_model(FAULTY)
        for node in model.graph.node:
            node.name = "node_" + node.output[0]
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(1 << 18, dtype=np.float32), "big"))
        model.graph.node.append(onnx.helper.make_node("Neg", ["big"], ["y2"], name="use"))
        model.graph.output.append(onnx.helper.make_tensor_value_info("y2", 1, [1 << 18]))
        self.write("fixes.onnx", model.SerializeToString())
        for name in [*sources, "fixes.onnx"]:
            result = next(r for r in json.loads(self.run("--format", "sarif", name, status=1))["runs"][0]["results"]
                          if r["ruleId"] == "DT001")
            self.expect(result.get("fixes"), f"{name}: no fixes")
            for fix in result.get("fixes", []):
                how = "--unsafe-fixes" if "unsafe" in fix["description"]["text"] else "--fix"
                out = self.folder / ("fixed" + pathlib.Path(name).suffix)
                self.run(how, name, "-o", out)
                change, = fix["artifactChanges"]
                self.expect(change["artifactLocation"]["uri"] == name, f"{name}: a fix of another file")
                self.expect(applied((self.folder / name).read_bytes(), change["replacements"]) == out.read_bytes(),
                            f"{name}: a SARIF fix makes another file than {how}")
                self.expect(len(json.dumps(fix)) < 4000, f"{name}: a fix of {len(json.dumps(fix))} bytes")
        big = onnx.parser.parse_model(FAULTY)
        big.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.full([1 << 16, 4], 0.5), "scale"))
        del big.graph.output[0].type.tensor_type.shape.dim[:]
        self.write("big.onnx", big.SerializeToString())
        shown = self.run("--format", "sarif", "--ignore", "ST", "big.onnx", status=1)
        self.expect("artifactChanges" not in shown and len(shown) < 400000, "a weight is written into a SARIF fix")

    def documented_fields(self):
        """docs/ci.md names the fields of the JSON document, and no others."""
        text = (self.root / "docs/ci.md").read_text()
        table = text.split("| a finding's field | |")[1].split("\n\n")[0]
        rows = [line.split("|")[1] for line in table.splitlines()[2:]]
        document = json.loads(self.run("--format", "json", "models"))
        fields = {key for f in document["findings"] for key in f}
        self.expect({name for row in rows for name in re.findall(r"`(\w+)`", row)} == fields, f"docs/ci.md and the fields {fields}")
        summary = text.split("`summary` counts")[1].split("\n\n")[0]
        self.expect(set(re.findall(r"`(\w+)`", summary)) == set(document["summary"]), f"docs/ci.md and {document['summary']}")

    def others(self):
        suites = xml.fromstring(self.run("--format", "junit", "models"))
        self.expect(len(suites) == 4 and int(suites.get("failures")) == sum(int(s.get("failures")) for s in suites),
                    "JUnit: suites or counts")
        report = json.loads(self.run("--format", "gitlab", "models"))
        self.expect(all({"description", "check_name", "fingerprint", "severity", "location"} <= set(i) for i in report),
                    "GitLab: a field is missing")
        self.expect(len({i["fingerprint"] for i in report}) == len(report), "GitLab: fingerprints are not unique")
        form = re.compile(r"::(error|warning|notice) file=[^,]+,line=1,title=[^:]+::.")
        lines = self.run("--format", "github", "models").splitlines()
        self.expect(lines and all(form.match(line) for line in lines), "GitHub: a line is no annotation")

    def program(self):
        """Where the exported program lies in the folder, a finding is shown there; where it does not, at the model."""
        frame = '  File \\"net/model.py\\", line 2, in forward\\n    x = x * self.scale\\n'
        text = "cameo.ir/1\n" + FAULTY.replace("Mul(a, scale)", 'Mul(a, scale) @{metadata_props: ["pkg.torch.onnx.stack_trace": "%s"]}' % frame)
        self.write("traced.cir", text)
        for there in (False, True):
            if there:
                self.write("net/model.py", "def forward(self, x):\n    x = x * self.scale\n")
            want = "net/model.py" if there else "traced.cir"
            result, = [r for r in json.loads(self.run("--format", "sarif", "traced.cir", status=1))["runs"][0]["results"]
                       if r["ruleId"] == "DT001"]
            where = result["locations"][0]["physicalLocation"]
            self.expect(where == {"artifactLocation": {"uri": want}, "region": {"startLine": 2 if there else 1}}, f"SARIF: shown at {where}")
            self.expect(("relatedLocations" in result) == there, "SARIF: the model is no related location")
            line = self.run("--format", "github", "--select", "DT001", "traced.cir")
            self.expect(line.startswith(f"::error file={want},line={2 if there else 1},title=DT001"), f"GitHub: {line}")
            report, = json.loads(self.run("--format", "gitlab", "--select", "DT001", "traced.cir"))
            self.expect(report["location"] == {"path": want, "lines": {"begin": 2 if there else 1}}, f"GitLab: {report}")

    def fingerprints(self):
        prints = []
        for text in (FAULTY, MOVED):
            prints.append({f["rule"]: f["fingerprint"] for f in self.findings(self.write("same.onnxtxt", text))})
        self.expect(prints[0] == prints[1] and set(prints[0]) == {"DT001", "ST006"}, f"fingerprints changed: {prints}")
        # One fault that shows at several nodes is the same in whatever order they stand.
        head = '<ir_version: 10, opset_import: ["" : 20]>\nnet (float[2] x, double[2] z) => (float[2] a, float[2] b, float[2] c) {\n'
        nodes = ["a = Add(x, z)", "[named] b = Mul(x, z)", "c = Pow(x, z)"]
        orders = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1]]
        told = [self.findings(self.write("order.onnxtxt", head + "\n".join(nodes[i] for i in order) + "\n}\n")) for order in orders]
        self.expect(all(len(f) == 1 and f[0]["fingerprint"] == told[0][0]["fingerprint"] for f in told),
                    f"fingerprints depend on the order of nodes: {told}")
        once, both = self.findings("models/a.onnxtxt"), self.findings("models/a.onnxtxt", "models/sub/b.onnxtxt")
        self.expect(both == once, "a second model changes the findings of the first")

    def baseline(self):
        self.run("write", "known", "models/a.onnxtxt", tool="baseline", status=0)
        self.run("--baseline", "known", "models/a.onnxtxt", status=0)
        self.run("--baseline", "known", self.folder / "models" / "a.onnxtxt", status=0)
        self.run("--baseline", "known", "--fail-on", "warn", "models/a.onnxtxt", status=0)
        self.write("models/new.onnxtxt", FAULTY)
        self.run("--baseline", "known", "models/a.onnxtxt", "models/new.onnxtxt", status=1)
        (self.folder / "models/new.onnxtxt").unlink()
        self.run("prune", "known", "models/sub/b.onnxtxt", tool="baseline", status=0)
        self.run("--baseline", "known", "models/a.onnxtxt", status=0)  # it was not looked at, and is there
        self.write("models/a.onnxtxt", CLEAN)
        self.run("prune", "known", "models", tool="baseline", status=3)
        self.write("models/a.onnxtxt", FAULTY)
        self.run("--baseline", "known", "models/a.onnxtxt", status=1)
        # The baseline beside the models, given from anywhere, moved with them; a model that cannot be decoded is known too.
        (self.folder / "one/ci").mkdir(parents=True)
        self.write("one/a.onnxtxt", FAULTY)
        self.write("one/cut.onnx", b"\xff")
        self.run("write", "one/ci/known", "one", tool="baseline", status=3)
        (self.folder / "one").rename(self.folder / "two")
        self.run("--baseline", "two/ci/known", "--fail-on", "warn", "two", status=0)
        self.expect("\t" in (self.folder / "two/ci/known").read_text() and "/tmp" not in (self.folder / "two/ci/known").read_text(),
                    "a baseline names models by the folder they lay in")
        self.write("broken", "no baseline\n")
        self.run("--baseline", "broken", "models/a.onnxtxt", status=2)

    def allowed(self):
        text = FAULTY.replace("<ir", "cameo.ir/1\n<ir", 1)
        by_model = text.replace("20]>", '20], metadata_props: ["cameo.allow": "DT001: as trained; ST006 at graph: kept"]>')
        self.run("--fail-on", "warn", self.write("allowed.cir", by_model), status=0)
        self.run("--untrusted", "allowed.cir", status=1)
        by_node = text.replace("Mul(a, scale)", 'Mul(a, scale) @{metadata_props: ["cameo.allow": "DT001: as trained"]}')
        self.run(self.write("node.cir", by_node), status=0)
        other = text.replace("Relu(x)", 'Relu(x) @{metadata_props: ["cameo.allow": "DT001: as trained"]}')
        self.run(self.write("other.cir", other), status=1)
        self.run(self.write("reason.cir", by_node.replace("DT001: as trained", "DT001")), status=1)

    def arguments(self):
        self.expect(self.run("-q", "models/**/*.onnxtxt") == self.run("-q", "models/a.onnxtxt", "models/sub/b.onnxtxt"), "a glob")
        self.run("models/nothing*", status=2)
        self.run("empty", status=2)
        done = subprocess.run([self.cameo, "lint", "-"], input=FAULTY, cwd=self.folder, capture_output=True, text=True)
        self.expect(done.returncode == 1 and "DT001" in done.stdout, "standard input")
        many = FAULTY.replace("y = Neg(b)", "\n".join(f"c{i} = Swirl{i}(b)" for i in range(25)) + "\ny = Neg(b)")
        shown = self.run("--select", "ST005", self.write("many.onnxtxt", many), status=1)
        self.expect(shown.count("error[ST005]") == 20 and "and 5 more of ST005" in shown, "--max-per-rule")
        shown = self.run("--select", "ST005", "--max-per-rule", "0", "--statistics", "many.onnxtxt")
        self.expect(shown.count("error[ST005]") == 25 and re.search(r"^ +25  ST005", shown, re.M), "--statistics")
        self.expect(re.search(r"^time of the processor, \d+\.\d{3} s:\n +\d+\.\d{3} s +\d+ %  \d+ k?B of models", shown, re.M), "times")
        before = (self.folder / "models/a.onnxtxt").read_text()
        shown = self.run("--diff", "models/a.onnxtxt", status=0)
        self.expect("\n-   double[1] scale" in shown and "\n+   float[1] scale" in shown, f"--diff: {shown}")
        self.expect((self.folder / "models/a.onnxtxt").read_text() == before, "--diff wrote the model")

    def documented(self):
        """The commands of docs/ci.md, in a folder with models."""
        text = (self.root / "docs/ci.md").read_text()
        commands = [m.strip() for block in re.findall(r"```(?:yaml|sh)\n(.*?)```", text, re.S)
                    for m in re.findall(r"(?:^|run: |- )(cameo .*)$", block, re.M)]
        self.expect(len(commands) >= 6, f"docs/ci.md: {len(commands)} commands")
        (self.folder / "models/broken.onnx").unlink()
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "cameo").symlink_to(self.cameo)
        path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
            clean = "baseline" in command
            self.expect(done.returncode == (0 if clean else 1), f"docs/ci.md: {command}: exit {done.returncode} {done.stderr}")
        hooks = (self.root / ".pre-commit-hooks.yaml").read_text()
        self.expect("id: cameo-lint" in hooks and "id: cameo-lint" in text, ".pre-commit-hooks.yaml and docs/ci.md differ")


def main():
    cameo, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        f = Formats(str(cameo), root, folder)
        f.write("models/a.onnxtxt", FAULTY)
        f.write("models/sub/b.onnxtxt", CLEAN)
        f.write("models/hostile.cir", HOSTILE)
        f.write("models/broken.onnx", b"\xff\xff\xff\xff not a model")
        (folder / "empty").mkdir()
        for part in (f.sarif, f.fixes, f.documented_fields, f.others, f.program, f.fingerprints, f.baseline, f.allowed, f.arguments, f.documented):
            part()
        print("\n".join(f.wrong + [f"{len(f.wrong)} faults"]))
        return 1 if f.wrong else 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
