"""Resampling: Resize, Upsample, GridSample, AffineGrid, regions of interest."""
import numpy as np

import draw
import oracle
from recipes import recipe

MODES = ["nearest", "linear", "cubic"]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
               "tf_crop_and_resize"]


@recipe("Resize")
def resize(d):
    name = d.dtype("T1", among=("float", "double", "float16", "uint8", "int8", "int32"))
    mode = d.choice(MODES)
    if name not in draw.REALS:
        mode = "nearest"
    rank = d.integer(1, 4) if mode != "cubic" else d.integer(2, 4)
    shape = tuple(d.integer(1, 5) for _ in range(rank))
    d.input(name, shape)
    free = [int(a) for a in d.rng.permutation(rank)[:d.integer(1, min(2, rank))]]
    axes = sorted(free) if d.chance(0.6) else None
    if axes:
        d.attr("axes", axes)
    over = axes or list(range(rank))
    crop = d.choice(COORDINATES)
    if mode == "nearest" and crop == "tf_crop_and_resize":
        crop = "half_pixel"
    if crop == "tf_crop_and_resize":
        roi = [0.0] * len(over) + [1.0] * len(over)
        for k, a in enumerate(over):
            if a in free:
                roi[k], roi[len(over) + k] = d.choice([(0.25, 0.75), (0.0, 1.0), (-0.125, 1.25)])
        d.fixed(roi, d.dtype("T2", among=("float",)), True)
        d.attr("extrapolation_value", 10.0, 0.5)
    elif d.chance(0.2):
        d.fixed([], d.dtype("T2"), True)
    else:
        d.skip()
    factors = [d.choice([0.5, 2.0, 1.5, 0.75, 3.0, 1.0]) if a in free else 1.0 for a in over]
    if d.chance(0.5):
        while min(int(shape[a] * f) for a, f in zip(over, factors)) < 1:
            factors = [max(1.0, f) for f in factors]
        d.fixed(factors, "float", d.chance(0.8))
    else:
        d.skip()
        d.fixed([d.integer(1, 7) if a in free else shape[a] for a in over], "int64", d.chance(0.8))
        policy = d.choice(["stretch", "not_larger", "not_smaller"])
        d.attr("keep_aspect_ratio_policy", policy, 1.0 if policy != "stretch" and len(over) == len(free) else 0.0)
    d.attr("mode", mode, 1.0 if mode != "nearest" else 0.5)
    d.attr("coordinate_transformation_mode", crop)
    if mode == "nearest":
        d.attr("nearest_mode", d.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]), 0.8)
    else:
        d.attr("antialias", d.integer(0, 1), 0.3)
        d.attr("exclude_outside", d.integer(0, 1), 0.3 if mode == "cubic" else 0.0)
    if mode == "cubic":
        d.attr("cubic_coeff_a", d.choice([-0.5, -0.75]), 0.5)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 4.0, 16, 8.0, True
    d.inner = "float"  # scales are float32
    d.exact = mode == "nearest"
    d.oracle = resized


def resized(d, arrays):
    """The reference evaluator, but where its pytorch_half_pixel of one element is not the text's."""
    results = oracle.reference64(d, arrays)
    if d.attrs["coordinate_transformation_mode"] == "pytorch_half_pixel" and 1 in results[0].shape:
        d.attrs["coordinate_transformation_mode"] = "half_pixel"
        results = oracle.reference64(d, arrays)
    return results


@recipe("AffineGrid")
def affine_grid(d):
    name = d.dtype("T1")
    d.types["T2"] = "int64"
    rank = d.integer(2, 3)
    n = d.integer(1, 2)
    d.input(name, (n, rank, rank + 1), lambda rng, extreme: rng.integers(-4, 5, (n, rank, rank + 1)) / 4)
    size = [n, 1, *[d.integer(2, 4) for _ in range(rank)]]
    d.fixed(size, constant=d.chance(0.7))
    d.attr("align_corners", d.integer(0, 1), 0.7)
    d.wild = False
    d.scale, d.rounds, d.inner = 4.0, True, "float"


@recipe("GridSample")
def grid_sample(d):
    name = d.dtype("T1", among=draw.REALS)
    mode = d.choice(["linear", "nearest", "cubic"])
    rank = 2 if mode == "cubic" else d.integer(2, 3)
    n, c = d.integer(1, 2), d.integer(1, 2)
    shape = (n, c, *[d.integer(2, 4) for _ in range(rank)])
    d.input(name, shape)
    grid = (n, *[d.integer(1, 3) for _ in range(rank)], rank)
    d.types["T2"] = d.choice(["float", "double"])
    d.input(d.types["T2"], grid, lambda rng, extreme: rng.integers(-9, 10, grid) / 8 + 0.03)
    d.attr("mode", mode, 1.0 if mode != "linear" else 0.5)
    d.attr("padding_mode", d.choice(["zeros", "border", "reflection"]), 0.8)
    d.attr("align_corners", d.integer(0, 1), 0.6)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 8.0, 32, 16.0, True
    d.inner = "float"  # places are computed in the grid's dtype or float32
    d.oracle = oracle.reference64


@recipe("RoiAlign")
def roi_align(d):
    name = d.dtype("T1", among=draw.REALS)
    d.types["T2"] = "int64"
    n, c, rois = d.integer(1, 2), d.integer(1, 2), d.integer(1, 3)
    d.input(name, (n, c, d.integer(3, 5), d.integer(3, 5)))

    def make(rng, extreme):
        low = rng.integers(0, 8, (rois, 2)) / 4
        return np.concatenate([low, low + rng.integers(4, 10, (rois, 2)) / 4], 1) + 0.03
    d.input(name, (rois, 4), make)
    d.input("int64", (rois,), lambda rng, extreme: rng.integers(0, n, rois))
    d.attr("mode", d.choice(["avg", "max"]), 0.7)
    d.attr("output_height", d.integer(1, 3), 0.7)
    d.attr("output_width", d.integer(1, 3), 0.7)
    d.attr("sampling_ratio", d.integer(0, 2), 0.7)
    d.attr("spatial_scale", d.choice([1.0, 0.5]), 0.6)
    d.attr("coordinate_transformation_mode", d.choice(["half_pixel", "output_half_pixel"]), 0.6)
    d.wild = False
    d.ulps, d.terms, d.scale, d.rounds = 8.0, 32, 16.0, True
