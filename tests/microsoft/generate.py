#!/usr/bin/env python3
"""Writes the cases of com.microsoft's operators: generate.py OUT [FAMILY...]

Says which cases onnxruntime refused, and ends with 1 if there is one: a case that it cannot run needs expected values
of its own.
"""
import pathlib
import sys

import cases_attention
import cases_fused
import cases_gqa
import cases_quantized
from suite import Suite

FAMILIES = {"attention": cases_attention, "fused": cases_fused, "gqa": cases_gqa, "quantized": cases_quantized}


def main():
    out = pathlib.Path(sys.argv[1])
    suite = Suite(out)
    for name in sys.argv[2:] or FAMILIES:
        FAMILIES[name].write(suite)
    suite.close()
    print("\n".join(suite.wrong))
    print(len(suite.rows), "cases,", len(suite.wrong), "refused by onnxruntime")
    sys.exit(1 if suite.wrong else 0)


if __name__ == "__main__":
    main()
