#!/usr/bin/env python3
"""What predict.py found: predictions beside what was measured, and errors beyond three predicted standard deviations.

    results.py FILE...      files that predict.py --save wrote, as the rows of a table in Markdown
"""
import json
import pathlib
import re
import sys

import numpy as np


class Table:
    """ratios: (predicted / measured, model, what, output, predicted, measured); broken: (model, what, output, error, bound)."""

    def __init__(self, name, ratios=(), checks=0, broken=(), skipped=()):
        self.name, self.ratios, self.checks, self.broken, self.skipped = name, list(ratios), checks, list(broken), list(skipped)

    def add(self, name, what, output, predicted, bound, errors, scales):
        """errors, scales: by data set, the root of the sum of squares of the difference and of the output."""
        measured = float(np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(scales))))
        if measured == 0 and predicted == 0:
            return
        self.ratios.append((predicted / measured if measured > 0 else np.inf, name, what, output, predicted, measured))
        for e, s in zip(errors, scales):
            self.checks += 1
            if e > bound * s:
                self.broken.append((name, what, output, e / s, bound))

    def join(self, other):
        self.ratios += other.ratios
        self.checks += other.checks
        self.broken += other.broken
        self.skipped += other.skipped

    def inside(self):
        return [r for r in self.ratios if 0.1 <= r[0] <= 3]

    def holds(self):
        return bool(self.ratios) and len(self.inside()) >= 0.95 * len(self.ratios) and not self.broken

    def save(self, path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(vars(self)) + "\n")

    def print(self):
        values = np.array([r[0] for r in self.ratios]) if self.ratios else np.ones(1)
        print(f"{len(self.ratios)} predictions, {len(self.inside())} within 0.1 to 3 of what was measured "
              f"({100 * len(self.inside()) / max(1, len(self.ratios)):.1f} %)")
        print("predicted / measured: least {:.2f}, 5 % {:.2f}, median {:.2f}, 95 % {:.2f}, greatest {:.2f}".format(
            values.min(), *np.quantile(values, [0.05, 0.5, 0.95]), values.max()))
        print(f"{self.checks} checks on inputs not calibrated on, {len(self.broken)} beyond three standard deviations")
        worst = sorted(self.ratios, key=lambda r: -abs(np.log(max(r[0], 1e-9))))[:12]
        for ratio, name, what, output, predicted, measured in worst:
            print(f"  {ratio:8.2f}  {name} {what} {output}: predicted {predicted:.2e}, measured {measured:.2e}")
        for name, what, output, error, predicted in self.broken[:20]:
            print(f"  beyond: {name} {what} {output}: {error:.2e}, bound {predicted:.2e}")
        for text in self.skipped:
            print(f"  left out: {text}")

    def row(self):
        worst = max(self.ratios, key=lambda r: abs(np.log(max(r[0], 1e-9))))
        values = [r[0] for r in self.ratios]
        return (f"| {self.name} | {len(self.ratios)} | {len(self.inside())} | {min(values):.2f} to {max(values):.2f} "
                f"| {worst[4]:.1e}, {worst[5]:.1e} ({worst[2]}) | {len(self.broken)} of {self.checks} |")


def read(path):
    if not pathlib.Path(path).exists():
        return []
    return [Table(**json.loads(line)) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def group_of(name):
    return "random networks" if name.startswith("random") else re.sub(r"\.(dynamo|script)$", "", name)


def main():
    total, groups = Table("all"), {}
    for path in sys.argv[1:]:
        for table in read(path):
            groups.setdefault(group_of(table.name), Table(group_of(table.name))).join(table)
            total.join(table)
    print("| model | predictions | within 0.1 to 3 | predicted by measured | the worst: predicted, measured | 3 sigma exceeded |")
    print("|---|---|---|---|---|---|")
    for table in [*groups.values(), total]:
        if table.ratios:
            print(table.row())
    print()
    total.print()


if __name__ == "__main__":
    main()
