"""The recipes by operator: what each asks of its operands beyond its schema. A module a family."""
TABLE = {}


def recipe(*names, **options):
    """Enters a function of (draw, **options) for these operators."""
    def enter(function):
        for name in names:
            TABLE[name] = (function, options)
        return function
    return enter


def load():
    """All families."""
    from recipes import elementwise, gather, move, norm, product, quantize, recurrent, reduce, resize, signal, window
    return [TABLE, elementwise, gather, move, norm, product, quantize, recurrent, reduce, resize, signal, window][0]

