#!/usr/bin/env python3
"""Golden hashes for crates/jpeg: what libjpeg-turbo makes of JPEGs whose coefficients a formula gives.

Run (CPU, no network, seconds):

    python3 -m venv v && v/bin/pip install pillow==13.0.0
    v/bin/python tests/golden/jpeg_pixels.py            # rewrites tests/golden/jpeg_pixels.txt
    v/bin/python tests/golden/jpeg_pixels.py --check    # compares with it

The tests in crates/jpeg/tests/exactness.rs make the same coefficients, so no JPEG is stored. Each line of the file: the
kind of coefficients, columns, rows, sampling factors, scale, then FNV-1a 64 of the RGB (of one channel where gray).
"""
import io
import struct
import sys
from pathlib import Path

from PIL import Image

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
FILE = Path(__file__).with_name("jpeg_pixels.txt")


class Draws:
    """Knuth's 64-bit linear congruential generator, its upper 31 bits."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def block(kind, draws):
    """64 coefficients in zigzag order, not yet dequantised."""
    out = [0] * 64
    if kind == "smooth":  # every block differs, few values clip
        out[0] = draws.below(801) - 400
        for k in range(1, 6):
            out[k] = draws.below(201) - 100
        return out
    # Any number of coefficients, from none to all, of any size that a file can hold.
    size = 1 << draws.below(10)
    out[0] = draws.below(2 * 1023 + 1) - 1023 if draws.below(2) else draws.below(2 * size + 1) - size
    last = (0, 1, 2, 5, 9, 20, 40, 63)[draws.below(8)]
    rows = draws.below(4)  # 0: the first alone, 1: the first and the fifth
    for k in range(1, last + 1):
        value = draws.below(2 * size + 1) - size
        if rows > 1 or ZIGZAG[k] // 8 in (0, 4 * rows):
            out[k] = value
    return out


def quantisers(kind):
    """In zigzag order. The wild ones overflow 16 bits when multiplied."""
    return [1] * 64 if kind == "smooth" else [1 + (40 + 7 * k) % 255 for k in range(64)]


def jpeg(kind, width, height, factors):
    draws = Draws(1)
    bits = []

    def put(value, length):
        bits.append(format(value, f"0{length}b") if length else "")

    def amplitude(value):
        size = abs(value).bit_length()
        return size, value if value > 0 else value + (1 << size) - 1

    across, down = max(h for h, _ in factors), max(v for _, v in factors)
    mcus = -(-width // (8 * across)) * -(-height // (8 * down))
    before = [0] * len(factors)
    runs = [16 * run + size for run in range(16) for size in range(1, 11)]
    symbols = {symbol: code for code, symbol in enumerate([0x00, 0xF0] + runs)}
    for _ in range(mcus):
        for c, (h, v) in enumerate(factors):
            for _ in range(h * v):
                coefficients = block(kind, draws)
                size, value = amplitude(coefficients[0] - before[c])
                before[c] = coefficients[0]
                put(size, 4)
                put(value, size)
                run = 0
                for k in range(1, 64):
                    if coefficients[k] == 0:
                        run += 1
                        continue
                    for _ in range(run // 16):
                        put(symbols[0xF0], 8)
                    size, value = amplitude(coefficients[k])
                    put(symbols[16 * (run % 16) + size], 8)
                    put(value, size)
                    run = 0
                if run:
                    put(symbols[0x00], 8)
    bits = "".join(bits)
    bits += "1" * (-len(bits) % 8)
    scan = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")

    def segment(marker, body):
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    count = len(factors)
    frame = struct.pack(">BHHB", 8, height, width, count)
    frame += b"".join(bytes([c + 1, 16 * h + v, 0]) for c, (h, v) in enumerate(factors))
    one = [0] * 16
    dc = bytes([0] + [0, 0, 0, 12] + one[4:]) + bytes(range(12))
    ac = bytes([0x10] + [0] * 7 + [len(symbols)] + one[8:]) + bytes(symbols)
    return b"".join([
        b"\xff\xd8",
        segment(0xDB, bytes([0] + quantisers(kind))),
        segment(0xC0, frame),
        segment(0xC4, dc),
        segment(0xC4, ac),
        segment(0xDA, bytes([count]) + b"".join(bytes([c + 1, 0]) for c in range(count)) + b"\0\x3f\0"),
        scan,
        b"\xff\xd9",
    ])


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def lines():
    gray, samplings = [[(1, 1)]], [
        [(1, 1), (1, 1), (1, 1)],
        [(2, 1), (1, 1), (1, 1)],
        [(2, 2), (1, 1), (1, 1)],
        [(1, 2), (1, 1), (1, 1)],
        [(4, 1), (1, 1), (1, 1)],
        [(3, 1), (1, 1), (1, 1)],
        [(1, 3), (1, 1), (1, 1)],
        [(1, 4), (1, 1), (1, 1)],
        [(4, 2), (1, 1), (1, 1)],
        [(2, 4), (1, 1), (1, 1)],
        [(2, 2), (2, 1), (1, 2)],
        [(1, 1), (2, 2), (1, 1)],
        [(4, 1), (2, 1), (1, 1)],
        [(2, 1), (1, 1), (2, 1)],
    ]
    sizes = [(1, 1), (3, 2), (4, 9), (5, 5), (8, 16), (17, 33), (64, 9), (67, 129)]
    cases = [("wild", 512, 64, factors) for factors in gray]
    cases += [("smooth", w, h, factors) for factors in gray + samplings for w, h in sizes]
    for kind, width, height, factors in cases:
        data = jpeg(kind, width, height, factors)
        for scale in (1, 2, 4, 8):
            image = Image.open(io.BytesIO(data))
            if scale > 1:
                # Pillow picks the scale by the size that it is asked for: small images cannot have every one.
                image.draft(None, (max(1, width // scale), max(1, height // scale)))
                if not image.decoderconfig or image.decoderconfig[0] != scale:
                    continue
            named = ",".join(f"{h}x{v}" for h, v in factors)
            yield f"{kind} {width} {height} {named} {scale} {fnv(image.tobytes()):016x}"


text = "\n".join(lines()) + "\n"
if "--check" in sys.argv:
    if FILE.read_text() != text:
        sys.exit(f"{FILE} differs")
    print(f"{FILE}: {text.count(chr(10))} lines, equal")
else:
    FILE.write_text(text)
