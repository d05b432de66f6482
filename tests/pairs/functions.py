#!/usr/bin/env python3
"""functions.py TRY [SEED]: double-double arithmetic and functions against 80 decimal digits (Python's decimal and fractions).

TRY evaluates what it is given (pairs_try.c). Each result may be off by LIMIT times 2^-106 of the exact one; functions that are
sums of what cancels (a power, an angle that is nearly a multiple of pi) by more, which the table says.
"""
import decimal
import math
import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

decimal.getcontext().prec = 80
decimal.getcontext().Emax = 10**6
decimal.getcontext().Emin = -10**6


def number(pair):
    return Fraction(pair[0]) + Fraction(pair[1])


def dec(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def pi_digits(digits):
    """By Machin's formula, in integers."""
    unit = 10 ** (digits + 10)

    def inverse(n):
        total = term = unit // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    return Fraction(4 * (4 * inverse(5) - inverse(239)), unit)


PI = pi_digits(450)


def series(term, step):
    """The sum of term, step(term, 1), step of that, 2 ..."""
    total, n = term, 1
    while term != 0 and abs(term) > abs(total) * Decimal(10) ** -78:
        term = step(term, n)
        total += term
        n += 1
    return total


def sin(x):
    turn = x - round(x / (2 * PI)) * 2 * PI
    if turn == 0:
        return Decimal(0)
    d = dec(turn)
    d2 = d * d
    with decimal.localcontext() as c:
        c.prec = 100
        return series(d, lambda t, n: -t * d2 / ((2 * n) * (2 * n + 1)))


def cos(x):
    return sin(x + PI / 2)


def atan(d):
    if abs(d) > 1:
        return (dec(PI) / 2).copy_sign(d) - atan(1 / d)
    for _ in range(6):
        d = d / (1 + (1 + d * d).sqrt())
    d2, total, power, n = d * d, Decimal(0), d, 0
    while power != 0 and abs(power) > abs(d) * Decimal(10) ** -78:
        total += power / (2 * n + 1)
        power, n = -power * d2, n + 1
    return 64 * total


def atan2(y, x):
    if x == 0:
        return (dec(PI) / 2).copy_sign(y)
    if x > 0:
        return atan(y / x)
    return atan(y / x) + dec(PI).copy_sign(y)


def expm1(d):
    return series(d, lambda t, n: t * d / (n + 1)) if abs(d) < 1 else d.exp() - 1


def log1p(d):
    if abs(d) > Decimal("0.01"):
        return (1 + d).ln()
    s = d / (2 + d)
    total, power, n = Decimal(0), s, 0
    while power != 0 and abs(power) > abs(s) * Decimal(10) ** -78:
        total += power / (2 * n + 1)
        power, n = power * s * s, n + 1
    return 2 * total


def erf(d):
    total = term = d
    n = 1
    while abs(term) > abs(total) * Decimal(10) ** -78:
        term = term * 2 * d * d / (2 * n + 1)
        total += term
        n += 1
    return 2 / dec(PI).sqrt() * (-d * d).exp() * total


def sinh(d):
    e = expm1(abs(d))
    return ((e + e / (e + 1)) / 2).copy_sign(d)


def asinh(d):
    return log1p(abs(d) + d * d / (1 + (1 + d * d).sqrt())).copy_sign(d)


def nearest(x):
    return Fraction(round(x))  # to even


def cut(x):
    return Fraction(math.trunc(x))


def rounded(x):
    """x in float32: by integers, once."""
    if x == 0:
        return Fraction(0)
    e = max(math.frexp(float(x))[1] - 24, -149)
    return Fraction(round(x / Fraction(2) ** e)) * Fraction(2) ** e


def of_decimal(f):
    return lambda x: f(dec(x))


# name: what it is, of a Fraction (or two); arguments; units of 2^-106 that it may be off
def span(low, high):
    """Sizes from 10^low to 10^high, of both signs."""
    return lambda r: r.choice((-1, 1)) * 10 ** r.uniform(low, high)


def between(low, high):
    return lambda r: r.uniform(low, high)


ONES = {
    "neg": (lambda x: -x, span(-200, 200), 0),
    "abs": (abs, span(-200, 200), 0),
    "sqrt": (of_decimal(lambda d: d.sqrt()), lambda r: 10 ** r.uniform(-250, 250), 4),
    "exp": (of_decimal(lambda d: d.exp()), between(-640, 700), 4),
    "expm1": (of_decimal(expm1), span(-12, 2.8), 12),
    "log": (of_decimal(lambda d: d.ln()), lambda r: 10 ** r.uniform(-250, 250), 8),
    "log1p": (of_decimal(log1p), lambda r: r.choice((between(-0.99, 1), span(-12, -1), between(0, 1e5)))(r), 12),
    "sin": (sin, span(-6, 300), 8),
    "cos": (cos, span(-6, 300), 8),
    "tan": (lambda x: sin(x) / cos(x), span(-6, 200), 16),
    "asin": (of_decimal(lambda d: atan2(d, (1 - d * d).sqrt())), between(-1, 1), 12),
    "acos": (of_decimal(lambda d: atan2((1 - d * d).sqrt(), d)), between(-1, 1), 12),
    "atan": (of_decimal(atan), span(-6, 20), 8),
    "sinh": (of_decimal(sinh), span(-6, 2.8), 24),
    "cosh": (of_decimal(lambda d: (d.exp() + (-d).exp()) / 2), span(-6, 2.8), 24),
    "tanh": (of_decimal(lambda d: expm1(2 * d) / (expm1(2 * d) + 2)), span(-6, 1.5), 16),
    "asinh": (of_decimal(asinh), span(-6, 200), 16),
    "acosh": (of_decimal(lambda d: log1p((d - 1) + ((d - 1) * (d + 1)).sqrt())), lambda r: 1 + 10 ** r.uniform(-6, 200), 16),
    "atanh": (of_decimal(lambda d: log1p(2 * d / (1 - d)) / 2), between(-0.9999, 0.9999), 32),
    "erf": (of_decimal(erf), span(-6, 0.93), 48),
    "floor": (lambda x: Fraction(math.floor(x)), span(-1, 30), 0),
    "ceil": (lambda x: Fraction(math.ceil(x)), span(-1, 30), 0),
    "trunc": (cut, span(-1, 30), 0),
    "rint": (nearest, span(-1, 30), 0),
    "to_i64": (lambda x: max(min(cut(x), Fraction(2**63 - 1)), Fraction(-2**63)), span(0, 20), 0),
    "to_u64": (lambda x: max(min(cut(x), Fraction(2**64 - 1)), Fraction(0)), span(0, 20), 0),
    "to_f32": (rounded, span(-44, 38), 0),
}


def remainder(floors):
    def f(x, y):
        q = x / y
        return x - y * (math.floor(q) if floors else math.trunc(q))

    return f


def power(x, y):
    size = (dec(abs(x)).ln() * dec(y)).exp()
    return -size if x < 0 and y.denominator == 1 and y.numerator % 2 else size


TWOS = {
    "add": (lambda x, y: x + y, span(-20, 20), span(-20, 20), 3),
    "sub": (lambda x, y: x - y, span(-2, 2), span(-2, 2), 3),
    "mul": (lambda x, y: x * y, span(-100, 100), span(-100, 100), 5),
    "div": (lambda x, y: x / y, span(-100, 100), span(-100, 100), 10),
    "pow": (power, lambda r: 10 ** r.uniform(-9, 9), between(-30, 30), 3000),
    "atan2": (lambda x, y: atan2(dec(x), dec(y)), span(-3, 3), span(-3, 3), 64),
    "fmod": (remainder(False), span(-3, 12), span(-3, 3), 0),
    "mod": (remainder(True), span(-3, 12), span(-3, 3), 3),
    "min": (min, span(-2, 2), span(-2, 2), 0),
    "max": (max, span(-2, 2), span(-2, 2), 0),
}


def pair(r, value, plain=False):
    """value with a second half below the last place, or none."""
    how = 0 if plain else r.randrange(4)
    low = 0.0 if how == 0 else r.uniform(-0.49, 0.49) * math.ulp(value) * (1 if how < 3 else 2.0 ** -r.randrange(40))
    return value, low


SPECIAL = [
    # name, a, b: what float64's own function gives, exactly
    ("exp", float("inf"), 0.0, math.inf), ("exp", -800.0, 0.0, 0.0), ("exp", 710.0, 0.0, math.inf), ("exp", 0.0, 0.0, 1.0),
    ("log", 0.0, 0.0, -math.inf), ("log", -1.0, 0.0, math.nan), ("log", math.inf, 0.0, math.inf), ("log", 1.0, 0.0, 0.0),
    ("sqrt", -1.0, 0.0, math.nan), ("sqrt", 0.0, 0.0, 0.0), ("sqrt", math.inf, 0.0, math.inf), ("sin", math.inf, 0.0, math.nan),
    ("cos", 0.0, 0.0, 1.0), ("tanh", math.inf, 0.0, 1.0), ("tanh", -400.0, 0.0, -1.0), ("erf", 30.0, 0.0, 1.0), ("erf", -math.inf, 0.0, -1.0),
    ("asin", 2.0, 0.0, math.nan), ("acosh", 0.5, 0.0, math.nan), ("atanh", 1.0, 0.0, math.inf), ("sinh", 800.0, 0.0, math.inf),
    ("add", math.inf, 1.0, math.inf), ("add", math.inf, -math.inf, math.nan), ("add", 1e308, 1e308, math.inf), ("mul", 1e200, 1e200, math.inf),
    ("mul", 0.0, math.inf, math.nan), ("div", 1.0, 0.0, math.inf), ("div", 0.0, 0.0, math.nan), ("div", 1.0, math.inf, 0.0),
    ("pow", 0.0, 2.0, 0.0), ("pow", 2.0, 0.0, 1.0), ("pow", -8.0, 3.0, -512.0), ("pow", -8.0, 0.5, math.nan), ("pow", 10.0, 400.0, math.inf),
    ("fmod", 5.0, 0.0, math.nan), ("fmod", 5.0, math.inf, 5.0), ("mod", -5.0, 3.0, 1.0), ("min", math.nan, 1.0, math.nan),
    ("max", 1.0, math.nan, math.nan), ("floor", math.inf, 0.0, math.inf), ("to_i64", math.nan, 0.0, 0.0), ("atan", math.inf, 0.0, None),
    ("rint", 0.5, 0.0, 0.0), ("rint", 2.5, 0.0, 2.0), ("to_u64", -3.0, 0.0, 0.0), ("acos", 1.0, 0.0, 0.0),
]


def run(tool, lines):
    text = "".join("%s %s %s %s %s\n" % (name, *[v.hex() for v in (*a, *b)]) for name, a, b in lines)
    out = subprocess.run([tool], input=text, capture_output=True, text=True, check=True).stdout.split("\n")
    return [tuple(float.fromhex(v) for v in line.split()) for line in out if line]


def main():
    r = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    wrong = 0
    lines, judges = [], []
    for name, (f, argument, limit) in ONES.items():
        for _ in range(120):
            a = pair(r, argument(r))
            lines.append((name, a, (0.0, 0.0)))
            judges.append((f, limit))
    for name, (f, first, second, limit) in TWOS.items():
        for _ in range(120):
            lines.append((name, pair(r, first(r)), pair(r, second(r), name in ("fmod", "mod"))))
            judges.append((f, limit))
    worst = {}
    for (name, a, b), (f, limit), got in zip(lines, judges, run(sys.argv[1], lines)):
        x, y = number(a), number(b)
        want = f(x, y) if name in TWOS else f(x)
        want = want if isinstance(want, Fraction) else Fraction(want)
        away = abs(number(got) - want)
        units = 0.0 if away == 0 else math.inf if want == 0 else float(away / abs(want) * 2**106)
        worst[name] = max(worst.get(name, 0.0), units)
        if units > limit or not abs(got[1]) <= math.ulp(got[0]) / 2:
            wrong += 1
            print("%s(%s, %s) = %s: %.4g units away, %d are allowed" % (name, a, b, got, units, limit))
    special = run(sys.argv[1], [(name, (a, 0.0), (b, 0.0)) for name, a, b, _ in SPECIAL])
    for (name, a, b, want), got in zip(SPECIAL, special):
        if want is None:
            continue
        if not (got[0] == want or (math.isnan(want) and math.isnan(got[0]))) or got[1] != 0:
            wrong += 1
            print("%s(%s, %s) = %s, not %s" % (name, a, b, got, want))
    for name, units in worst.items():
        print("%-7s %8.3g units of 2^-106" % (name, units))
    print("%d results, %d wrong" % (len(lines) + len(SPECIAL), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
