"""same.py EXPECTED FILE...: every .npy is equal to the first, within rounding."""
import sys

import numpy as np

for name in sys.argv[2:]:
    np.testing.assert_allclose(np.load(name), np.load(sys.argv[1]), rtol=1e-5)
