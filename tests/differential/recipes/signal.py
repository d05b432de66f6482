"""Fourier transforms and windows."""
import numpy as np

import draw
import oracle
from recipes import recipe


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def window(d):
    d.fixed(d.integer(1, 12), d.dtype("T1"), constant=d.chance(0.5))
    d.types["T2"] = "float"
    if d.chance(0.6):
        d.types["T2"] = d.choice(d.allowed("T2"))
        d.attr("output_datatype", draw.SCHEMA_NAMES[d.types["T2"]])
    d.attr("periodic", d.integer(0, 1), 0.6)
    if not draw.is_float(d.types["T2"]):
        d.types["T2"] = "float"
        d.attrs.pop("output_datatype")
    d.scale = 2.0
    d.rounds = True

    def run(d, arrays):
        n = int(arrays[0])
        k = np.arange(n)
        over = n if d.attrs.get("periodic", 1) else n - 1
        with np.errstate(all="ignore"):
            a = 2 * np.pi * k / over
        terms = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}
        t = terms[d.op]
        return [t[0] - t[1] * np.cos(a) + t[2] * np.cos(2 * a)]
    d.oracle = run


@recipe("MelWeightMatrix")
def mel(d):
    kind = d.dtype("T1", among=("int32", "int64"))
    d.dtype("T2", among=("float", "double"))
    bands, length, rate = d.integer(2, 6), d.choice([16, 32, 64]), d.choice([8000, 16000])
    for v in (bands, length, rate):
        d.fixed(v, kind, True)
    low = d.choice([0.0, 100.0])
    d.fixed(low, d.types["T2"], True)
    d.fixed(d.choice([2000.0, rate / 2.0]), d.types["T2"], True)
    d.types["T3"] = d.choice([n for n in d.allowed("T3") if n in ("float", "double")])
    d.attr("output_datatype", draw.SCHEMA_NAMES[d.types["T3"]])
    d.scale = 4.0


@recipe("DFT")
def dft(d):
    name = d.dtype("T1", among=("float", "double"))
    inverse, onesided = d.integer(0, 1), d.integer(0, 1)
    rank = d.integer(3, 4)
    shape = [d.integer(1, 6) for _ in range(rank - 1)]
    axis = d.integer(1, rank - 2)
    back = bool(inverse and onesided)
    pair = 2 if back or d.chance(0.5) and not onesided else 1
    shape.append(pair)
    d.input(name, shape)
    length = None
    if d.chance(0.4):
        length = d.integer(1, 8)
        d.types["T2"] = d.choice(["int32", "int64"])
        d.fixed(length, d.types["T2"], True)
    else:
        d.skip()
    if axis != rank - 2 or d.chance(0.6):
        d.fixed(axis - rank if d.chance(0.4) else axis, "int64", True)
    d.attr("inverse", inverse, 1.0 if inverse else 0.3)
    d.attr("onesided", onesided, 1.0 if onesided else 0.3)
    d.wild = False
    d.ulps, d.terms, d.scale = 2.0, 8, 12.0

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        z = x[..., 0] + (1j * x[..., 1] if pair == 2 else 0)
        if back:
            n = length or 2 * (z.shape[axis] - 1)
            return [np.fft.irfft(z, n, axis)[..., None]]
        n = length or z.shape[axis]
        y = np.fft.ifft(z, n, axis) if inverse else np.fft.fft(z, n, axis)
        if onesided:
            y = np.take(y, range(n // 2 + 1), axis)
        return [np.stack([y.real, y.imag], -1)]
    d.oracle = run


@recipe("STFT")
def stft(d):
    name = d.dtype("T1", among=("float", "double"))
    d.types["T2"] = kind = d.choice(["int32", "int64"])
    frame = d.integer(1, 5)
    length = frame + d.integer(0, 6)
    onesided = d.integer(0, 1)
    pair = 1 if onesided or d.chance(0.5) else 2
    d.input(name, (d.integer(1, 2), length, pair))
    step = d.integer(1, 3)
    d.fixed(step, kind, True)
    how = d.integer(1, 3)
    if how & 1:
        d.input(name, (frame,))
    else:
        d.skip()
    if how & 2:
        d.fixed(frame, kind, True)
    d.attr("onesided", onesided, 1.0 if not onesided else 0.5)
    d.wild = False
    d.ulps, d.terms, d.scale = 2.0, 8, 20.0

    def run(d, arrays):
        x = arrays[0].astype(np.float64)
        z = x[..., 0] + (1j * x[..., 1] if pair == 2 else 0)
        w = arrays[2].astype(np.float64) if how & 1 else np.ones(frame)
        frames = (length - frame) // step + 1
        y = np.stack([np.fft.fft(z[:, k * step:k * step + frame] * w) for k in range(frames)], 1)
        if onesided:
            y = y[..., :frame // 2 + 1]
        return [np.stack([y.real, y.imag], -1)]
    d.oracle = run


assert oracle
