"""Two reports of --layers in CSV say the same, sums of squares but for the order in which they were added up, a stretch of them in float32."""
import csv
import sys

a, b = (list(csv.reader(open(f))) for f in sys.argv[1:])
assert len(a) == len(b) > 1, (len(a), len(b))
for old, new in zip(a, b):
    for x, y in zip(old, new):
        if x != y:
            assert abs(float(x) - float(y)) <= 1e-6 * abs(float(y)), (old, new)
