"""ImageDecoder: images written here whose pixels are known, those of the backend suite, and both cut off, altered and
with sizes that are not theirs.

A cut image ends in an error that names the node, or is the whole image (what is missing said nothing of its pixels).
Altered ones end in an image or an error. All of it under AddressSanitizer and UndefinedBehaviorSanitizer."""
import argparse
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from onnx.backend.test.case.node import _image_decoder_data as suite

sys.stdout.reconfigure(line_buffering=True)
HERE = pathlib.Path(__file__).resolve().parent
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
images (uint8[N] x) => (uint8[H,W,%d] y) { [decode] y = ImageDecoder<pixel_format = "%s">(x) }
"""
ORDERS = {"RGB": 3, "BGR": 3, "Grayscale": 1}


def picture(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


# ---- writers: (name, bytes, pixels as RGB) -------------------------------------------------------------------------


def pnm():
    rgb = picture(5, 11)
    grey, bits = rgb[:, :, 0], rgb[:, :, 1] > 127
    as_text = lambda v: " ".join(str(x) for x in v.reshape(-1)).encode()
    spread = lambda v: np.repeat(v[:, :, None], 3, 2)
    wide = (rgb.astype(np.uint16) * 257).astype(">u2")
    yield "P1", b"P1\n# text\n11 5\n" + "".join("01"[int(b)] for b in bits.reshape(-1)).encode(), spread(
        np.where(bits, 0, 255).astype(np.uint8))
    yield "P2", b"P2 11 5 255 " + as_text(grey), spread(grey)
    yield "P3", b"P3\n11 5\n255\n" + as_text(rgb), rgb
    yield "P4", b"P4 11 5\n" + np.packbits(bits, axis=1).tobytes(), spread(np.where(bits, 0, 255).astype(np.uint8))
    yield "P5", b"P5 11 5 255\n" + grey.tobytes(), spread(grey)
    yield "P6", b"P6 #a\n11 5 255\n" + rgb.tobytes(), rgb
    yield "P6-16", b"P6 11 5 65535\n" + wide.tobytes(), rgb
    small = rgb % 16
    yield "P6-15", b"P6 11 5 15\n" + small.tobytes(), (small * 17).astype(np.uint8)


def bmp_file(width, height, bits, packing, body, palette=b"", masks=b"", old=False):
    header = (struct.pack("<IHHHH", 12, width, height, 1, bits) if old else
              struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, packing, len(body), 0, 0, len(palette) // 4, 0))
    start = 14 + len(header) + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + header + masks + palette + body


def bmp_rows(rows):
    rows = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4))).tobytes()


def bmp():
    rgb = picture(7, 13, 1)
    bgr = rgb[::-1, :, ::-1]
    yield "24", bmp_file(13, 7, 24, 0, bmp_rows(bgr)), rgb
    yield "24-old", bmp_file(13, 7, 24, 0, bmp_rows(bgr), old=True), rgb
    yield "24-down", bmp_file(13, -7, 24, 0, bmp_rows(rgb[:, :, ::-1])), rgb
    four = np.concatenate([bgr, np.full((7, 13, 1), 9, np.uint8)], 2)
    yield "32", bmp_file(13, 7, 32, 0, bmp_rows(four)), rgb
    masks = struct.pack("<III", 0x000000FF, 0x0000FF00, 0x00FF0000)
    yield "32-masks", bmp_file(13, 7, 32, 3, bmp_rows(four[:, :, [2, 1, 0, 3]]), masks=masks), rgb
    five = rgb.astype(np.uint16) >> 3
    words = (five[:, :, 0] << 10 | five[:, :, 1] << 5 | five[:, :, 2]).astype("<u2")[::-1]
    yield "16", bmp_file(13, 7, 16, 0, bmp_rows(words)), (five * 255 // 31).astype(np.uint8)
    for bits in (1, 4, 8):
        colours = picture(1, 1 << bits, 2)[0]
        index = np.random.default_rng(3).integers(0, 1 << bits, (7, 13), dtype=np.uint8)
        palette = b"".join(bytes([b, g, r, 0]) for r, g, b in colours)
        expanded = np.unpackbits(index[::-1, :, None], axis=2)[:, :, 8 - bits:].reshape(7, -1)
        yield f"{bits}", bmp_file(13, 7, bits, 0, bmp_rows(np.packbits(expanded, axis=1)), palette), colours[index]
        if bits == 1:
            continue
        body = b""
        for row in index[::-1]:  # runs of one, then a literal of eight or more
            body += b"".join(bytes([1, v << 4 if bits == 4 else v]) for v in row[:5])
            literal = row[5:] if bits == 8 else row[5::2] << 4 | row[6::2]
            body += bytes([0, 8]) + literal.tobytes() + b"\0" * (len(literal) % 2) + b"\0\0"
        yield f"{bits}-rle", bmp_file(13, 7, bits, 3 - bits // 4, body + b"\0\1", palette), colours[index]


def png_file(width, height, depth, kind, rows, interlaced=False, chunks=()):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    body = zlib.compress(b"".join(b"\0" + r for r in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(n, d) for n, d in chunks) +
            chunk(b"IDAT", body) + chunk(b"IEND", b""))


def png():
    rgb = picture(9, 10, 4)
    grey, alpha = rgb[:, :, :1], picture(9, 10, 5)[:, :, :1]
    spread = np.repeat(grey, 3, 2)
    rows = lambda v: [r.tobytes() for r in v]
    yield "rgb", png_file(10, 9, 8, 2, rows(rgb)), rgb
    yield "rgb-gamma", png_file(10, 9, 8, 2, rows(rgb), chunks=[(b"gAMA", struct.pack(">I", 100000))]), rgb
    yield "rgba", png_file(10, 9, 8, 6, rows(np.concatenate([rgb, alpha], 2))), rgb
    yield "grey", png_file(10, 9, 8, 0, rows(grey)), spread
    yield "grey-alpha", png_file(10, 9, 8, 4, rows(np.concatenate([grey, alpha], 2))), spread
    yield "16", png_file(10, 9, 16, 2, rows((rgb.astype(np.uint16) * 257).astype(">u2"))), rgb
    bits = grey[:, :, 0] > 127
    yield "1", png_file(10, 9, 1, 0, rows(np.packbits(bits, axis=1))), np.repeat(bits[:, :, None] * np.uint8(255), 3, 2)
    colours = picture(1, 16, 6)[0]
    index = grey[:, :, 0] % 16
    yield "palette", png_file(10, 9, 4, 3, rows(index[:, ::2] << 4 | index[:, 1::2]),
                              chunks=[(b"PLTE", colours.tobytes()), (b"tRNS", b"\0\x80")]), colours[index]
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [r.tobytes() for y, x, dy, dx in passes for r in rgb[y::dy, x::dx] if r.size]
    yield "interlaced", png_file(10, 9, 8, 2, parts, interlaced=True), rgb


def of_suite():
    for name in ("jpeg_rgb", "jpeg2k_rgb", "png_rgb", "bmp_rgb", "tiff_rgb", "webp_rgb", "pnm_rgb"):
        case = getattr(suite, "image_decoder_decode_" + name)
        yield name, np.asarray(case.data, np.uint8).tobytes(), np.asarray(case.output)


# ---- bytes that are no image ---------------------------------------------------------------------------------------


def huge():
    """Sizes that no bytes stand for."""
    for width, height in ((2**31 - 1, 2**31 - 1), (65535, 65535), (16384, 16384), (0, 5)):
        yield f"pnm {width}x{height}", b"P6 %d %d 255\n" % (width, height)
        yield f"png {width}x{height}", png_file(width, height, 8, 2, [b"\1\2\3"])
        yield f"bmp {width}x{height}", bmp_file(width, height, 24, 0, b"123")
        yield f"bmp rle {width}x{height}", bmp_file(width, height, 8, 1, b"\1\1", b"\0" * 1024)
    yield "bmp lowest height", bmp_file(4, -2**31, 24, 0, b"123")
    yield "bmp no palette", bmp_file(4, 4, 8, 0, b"0123456789abcdef")
    yield "pnm no end", b"P3 9999999999999999999999999 1 255 1"
    for junk in (b"", b"\0", b"P", b"P6", b"BM", b"RIFF\0\0\0\0WEBP", b"II*\0", b"\xff\xd8\xff", b"\xff\x4f\xff\x51",
                 b"\x89PNG\r\n\x1a\n", b"\0\0\0\x0cjP  \r\n\x87\n", b"GIF89a" + b"x" * 50):
        yield repr(junk), junk


def cuts(name, data):
    if name in ("pnm P2", "pnm P3"):
        data = data[:-4]  # of a number as text nobody knows whether it goes on
    places = set(range(min(len(data), 120))) | set(range(0, len(data), max(1, len(data) // 120)))
    return sorted(places | set(range(max(0, len(data) - 40), len(data))))


def altered(data, count, draw):
    for _ in range(count):
        bytes_ = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 5))):
            bytes_[draw.randrange(min(len(data), draw.choice((40, 200, 1 << 20))))] = draw.choice(
                (0, 1, 127, 128, 255, draw.randrange(256)))
        yield bytes(bytes_)


# ---- running -------------------------------------------------------------------------------------------------------


def build(cameo, folder, order):
    (folder / "images.onnxtxt").write_text(MODEL % (ORDERS[order], order))
    subprocess.run([cameo, "compile", folder / "images.onnxtxt", "--emit", "c", "-o", folder / "images.c"], check=True)
    with open(folder / "images.c") as f:
        link = [w for w in f.readline().split() if w.startswith("-l")]
    link[-1] = link[-1].rstrip(".")
    subprocess.run(["clang-19", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1",
                    "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", folder, folder / "images.c",
                    HERE / "decode_main.c", "-o", folder / f"decode_{order}", *link], check=True)
    return folder / f"decode_{order}"


def decode(program, folder, images):
    """For each image its pixels, or the text of an error."""
    (folder / "in").write_bytes(b"".join(struct.pack("<q", len(i)) + i for i in images))
    done = subprocess.run([program, folder / "in", folder / "out"], capture_output=True, text=True, errors="replace",
                          env={"ASAN_OPTIONS": "allocator_may_return_null=1"}, timeout=600)
    if done.returncode or done.stderr:
        raise SystemExit(f"exit {done.returncode}\n{done.stderr[-4000:]}")
    out, at, answers = (folder / "out").read_bytes(), 0, []
    for _ in images:
        status, first = struct.unpack_from("<qq", out, at)
        if status:
            answers.append(out[at + 16:at + 16 + first].decode("ascii"))
            at += 16 + first
        else:
            height, width, channels = struct.unpack_from("<qqq", out, at + 8)
            pixels = np.frombuffer(out, np.uint8, height * width * channels, at + 32)
            answers.append(pixels.reshape(height, width, channels))
            at += 32 + height * width * channels
    return answers


def expected(rgb, order):
    if order == "Grayscale":
        wide = rgb.astype(np.int64)
        return ((wide @ [19595, 38470, 7471] + 0x8000) >> 16)[:, :, None]
    return rgb if order == "RGB" else rgb[:, :, ::-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cameo")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--altered", type=int, default=60, help="variants of each image")
    options = parser.parse_args()
    cameo, draw = pathlib.Path(options.cameo).resolve(), random.Random(options.seed)
    known = [(f"{family.__name__} {name}", data, rgb)
             for family in (pnm, bmp, png, of_suite) for name, data, rgb in family()]
    faults = []

    def fault(text):
        faults.append(text)
        print(text)

    def is_error(answer):
        return isinstance(answer, str)

    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        programs = {order: build(cameo, folder, order) for order in ORDERS}
        for order, program in programs.items():
            for (name, _, rgb), answer in zip(known, decode(program, folder, [d for _, d, _ in known])):
                if is_error(answer) or not np.array_equal(answer, expected(rgb, order)):
                    fault(f"{name} as {order}: {answer if is_error(answer) else 'other pixels'}")
        trials = [(name, at, data[:at], rgb) for name, data, rgb in known for at in cuts(name, data)]
        errors = 0
        for (name, at, _, rgb), answer in zip(trials, decode(programs["RGB"], folder, [t[2] for t in trials])):
            errors += is_error(answer)
            if is_error(answer) and "node[decode]: " not in answer:
                fault(f"{name} cut at {at}: the error names no node: {answer}")
            elif not is_error(answer) and not np.array_equal(answer, rgb):
                fault(f"{name} cut at {at}: an image that is not the whole one")
        print(f"{len(trials)} cut images: {errors} errors, {len(trials) - errors} whole")
        hostile = list(huge())
        for (name, _), answer in zip(hostile, decode(programs["BGR"], folder, [d for _, d in hostile])):
            if not is_error(answer) or "node[decode]: " not in answer:
                fault(f"{name}: {answer if is_error(answer) else 'an image'}")
        variants = [v for _, data, _ in known for v in altered(data, options.altered, draw)]
        answers = decode(programs["Grayscale"], folder, variants)
        print(f"{len(variants)} altered images: {sum(map(is_error, answers))} errors")
    print(f"{len(known)} images in {len(ORDERS)} orders, {len(hostile)} hostile: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
