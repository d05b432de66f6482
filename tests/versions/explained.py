"""Where ONNX Runtime and the reference evaluator differ: which of them keeps to the specification, and why.

A row holds for an operator (all of its versions below a bound, where one is given).
"""

ROWS = [
    # operator, versions since .. to, who is right, why
]


def choice(c):
    """(who, why) for a case, or None."""
    v = c.version
    for names, first, last, who, why in ROWS:
        if v.name in names and first <= v.since <= last:
            return who, why
    return None


def no_case(v):
    """Why a version cannot have one, or None."""
    return None
