#!/usr/bin/env python3
"""Golden JPEG files for src/decode/jpeg: small ones of every kind that the engine decodes, and what libjpeg-turbo makes of them.

Run (CPU, no network, seconds; needs cjpeg, Debian's libjpeg-turbo-progs, for sampling factors that Pillow does not write):

    python3 -m venv v && v/bin/pip install pillow==13.0.0
    v/bin/python tests/golden/jpeg_files.py            # rewrites tests/golden/jpeg_files.bin and .txt

The .bin holds the files one behind the other. Each line of the .txt: the file's length in bytes, FNV-1a 64 of its RGB at full size and at 1/2, 1/4
and 1/8 (- where Pillow cannot be asked for it), what it is.
The tests are in src/decode/jpeg/files.rs.
"""
import io
import subprocess
from pathlib import Path

from PIL import Image, ImageFile

ImageFile.MAXBLOCK = 1 << 20
HERE = Path(__file__).parent
SIZES = [(1, 1), (2, 3), (7, 8), (9, 17), (16, 16), (17, 33), (31, 65), (67, 129)]
ODD = ["4x1,1x1,1x1", "3x1,1x1,1x1", "1x2,1x1,1x1", "1x4,1x1,1x1", "4x2,1x1,1x1", "2x4,1x1,1x1", "2x2,2x1,1x2",
       "1x1,2x2,1x1", "2x1,1x1,2x1", "4x1,2x1,1x1"]


def picture(width, height, kind):
    """A gradient, stripes, or noise over a gradient; the noise from a linear congruential generator."""
    state = width * 1000 + height
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            smooth = (255 * x // width, 255 * y // height, (3 * x + 5 * y) % 256)
            if kind == 0:
                pixels += bytes(smooth)
            elif kind == 1:
                light = 255 * ((x // 5 + y // 3) % 2)
                pixels += bytes((light, light // 2, 255 - light))
            else:
                for value in smooth:
                    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                    pixels.append((value + (state >> 33) % 100) * 255 // 354)
    return Image.frombytes("RGB", (width, height), bytes(pixels))


def files():
    count = 0
    for width, height in SIZES:
        for mode in ["gray", "4:4:4", "4:2:2", "4:2:0", "rgb"] + ODD:
            count += 1
            quality = (1, 20, 75, 90, 96, 50, 30)[count % 7] if width < 60 else (30, 75, 50, 10)[count % 4]
            image = picture(width, height, count % 3)
            optimize = count % 2 == 0
            every = (None, 1, None, 3, None, 7)[count % 6]
            name = f"{mode} {width}x{height} quality {quality} optimize {optimize} restart {every}"
            if mode in ODD:
                command = ["cjpeg", "-quality", str(quality), "-sample", mode]
                command += ["-optimize"] if optimize else []
                command += ["-restart", f"{every}B"] if every else []
                plain = io.BytesIO()
                image.save(plain, "PPM")
                yield name, subprocess.run(command, input=plain.getvalue(), capture_output=True, check=True).stdout
                continue
            settings = {"restart_marker_blocks": every} if every else {}
            if mode == "rgb":
                settings["keep_rgb"] = True
            elif mode == "gray":
                image = image.convert("L")
            else:
                settings["subsampling"] = mode
            out = io.BytesIO()
            image.save(out, "JPEG", quality=quality, optimize=optimize, **settings)
            yield name, out.getvalue()
    for quality in (1, 5, 10, 25, 40, 60, 80, 85, 92, 95, 98, 99, 100):
        out = io.BytesIO()
        picture(40, 24, quality % 3).save(out, "JPEG", quality=quality, subsampling="4:2:0", restart_marker_rows=1)
        yield f"quality {quality}", out.getvalue()


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def at_scale(data, scale):
    image = Image.open(io.BytesIO(data))
    if scale > 1:
        # Pillow picks the scale by the size that it is asked for: small images cannot have every one.
        image.draft(None, tuple(max(1, side // scale) for side in image.size))
        if not image.decoderconfig or image.decoderconfig[0] != scale:
            return "-"
    return f"{fnv(image.convert('RGB').tobytes()):016x}"


packed, lines = b"", ""
for name, data in files():
    packed += data
    lines += " ".join([str(len(data)), *(at_scale(data, scale) for scale in (1, 2, 4, 8)), name]) + "\n"
(HERE / "jpeg_files.bin").write_bytes(packed)
(HERE / "jpeg_files.txt").write_text(lines)
