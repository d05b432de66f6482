#!/usr/bin/env python3
"""Writes runtime/cameo_case.h: Unicode's simple case mappings as ranges, from Python's unicodedata.

    python3 scripts/make_case.py > runtime/cameo_case.h

A range is {first, last, step, difference}: each step-th code point of it maps to itself plus the difference. Mappings
of one code point to several ("ss" for a sharp s) are not simple and left out, as towupper and ONNX Runtime do.
"""
import unicodedata

HEAD = """\
/* Unicode %s: simple case mappings, written by scripts/make_case.py. */
#ifndef CAMEO_CASE_H
#define CAMEO_CASE_H

#include <stdint.h>

#ifndef CAMEO_FN
#define CAMEO_FN static inline __attribute__((unused))
#endif

/* Each step-th code point from first to last maps to itself plus the difference. */
typedef struct cameo_case_range {
    uint32_t first, last, step;
    int32_t difference;
} cameo_case_range;

"""
TAIL = """\
CAMEO_FN uint32_t cameo_case_map(const cameo_case_range *ranges, int n, uint32_t c)
{
    int low = 0, high = n;
    while (low < high) { /* the last range that begins at c or before it */
        int middle = (low + high) / 2;
        if (ranges[middle].first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return c;
    const cameo_case_range *r = &ranges[low - 1];
    if (c > r->last || (c - r->first) % r->step != 0)
        return c;
    return (uint32_t)((int32_t)c + r->difference);
}

CAMEO_FN uint32_t cameo_lower(uint32_t c)
{
    return cameo_case_map(cameo_lower_ranges,
                          (int)(sizeof cameo_lower_ranges / sizeof *cameo_lower_ranges), c);
}

CAMEO_FN uint32_t cameo_upper(uint32_t c)
{
    return cameo_case_map(cameo_upper_ranges,
                          (int)(sizeof cameo_upper_ranges / sizeof *cameo_upper_ranges), c);
}

#endif
"""


def ranges(convert):
    found = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        to = convert(chr(c))
        if len(to) != 1 or ord(to) == c:
            continue
        d = ord(to) - c
        if found:
            first, last, step, difference = found[-1]
            gap = c - last
            if difference == d and gap <= 2 and (first == last or gap == step):
                found[-1] = (first, c, gap, d)
                continue
        found.append((c, c, 1, d))
    return found


def main():
    print(HEAD % unicodedata.unidata_version, end="")
    for name, convert in (("lower", str.lower), ("upper", str.upper)):
        print(f"static const cameo_case_range cameo_{name}_ranges[] = {{")
        row = "   "
        for r in ranges(convert):
            text = " {%d, %d, %d, %d}," % r
            if len(row) + len(text) > 100:
                print(row)
                row = "   "
            row += text
        print(row + "\n};\n")
    print(TAIL, end="")


if __name__ == "__main__":
    main()
