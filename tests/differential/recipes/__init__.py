"""The recipes by operator: what each asks of its operands beyond its schema. A module a family."""
TABLE = {}
FAMILIES = ("elementwise", "reduce", "move", "gather", "product", "norm", "window", "resize", "quantize", "recurrent",
            "attention", "signal")


def recipe(*names, **options):
    """Enters a function of (draw, **options) for these operators."""
    def enter(function):
        for name in names:
            TABLE[name] = (function, options)
        return function
    return enter


def load():
    """All families."""
    import importlib
    for family in FAMILIES:
        importlib.import_module("recipes." + family)
    return TABLE
