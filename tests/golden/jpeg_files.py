#!/usr/bin/env python3
"""Golden JPEG files for crates/jpeg: small ones of every kind that the engine decodes, and what libjpeg-turbo makes of them.

Run (CPU, no network, seconds; needs cjpeg, djpeg and jpegtran, Debian's libjpeg-turbo-progs, for what Pillow does not write, and because Pillow does
not tell what libjpeg refuses from what it fills):

    python3 -m venv v && v/bin/pip install pillow==13.0.0
    v/bin/python tests/golden/jpeg_files.py            # rewrites jpeg_files, jpeg_damaged and jpeg_others in tests/golden

jpeg_files.bin holds the files one behind the other. Each line of the .txt: the file's length in bytes, FNV-1a 64 of its RGB at full size and at 1/2, 1/4
and 1/8 (- where Pillow cannot be asked for it), what it is.
The tests are in crates/jpeg/tests/files/main.rs.

jpeg_damaged.txt: of a thousand of these files with a bit flipped or cut in their data (`damaged` says how; crates/testing/src/damaged.rs does the same) what
djpeg makes of them, FNV-1a 64 of the RGB, - where it refuses. The test is in tests/decode/golden.rs.

jpeg_others.bin and .txt: progressive and four-component files, each with its pixels as a PNG behind it. Each line of
the .txt: the lengths of both, what it is. The test is in tests/decode/golden.rs.
"""
import io
import subprocess
import tempfile
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


def jpegtran(data, *options, script=None):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(script or "")
        file.flush()
        command = ["jpegtran", "-copy", "none", *options] + (["-scans", file.name] if script else [])
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def segments(data):
    """Marker, first byte and end of each segment behind SOI; the data of a scan belong to it."""
    at = 2
    while data[at + 1] != 0xD9:
        start, marker = at, data[at + 1]
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
        while marker == 0xDA and not (data[at] == 0xFF and data[at + 1] not in (0, *range(0xD0, 0xD8))):
            at += 1
        yield marker, start, at


def scans(data):
    """What lies before the first scan's header, then each scan with the tables that come before it."""
    ends = [start for marker, start, _ in segments(data) if marker == 0xDA][:1]
    ends += [end for marker, _, end in segments(data) if marker == 0xDA]
    return [data[start:end] for start, end in zip([0, *ends], ends)]


def several_scans():
    """Sequential files whose components do not share one scan."""
    scripts = ["0; 1; 2;", "2; 0; 1;", "0; 1 2;", "0 1; 2;", "0 2; 1;", "1 2; 0;"]
    modes = ["1x1,1x1,1x1", "2x1,1x1,1x1", "2x2,1x1,1x1", "1x2,1x1,1x1", "4x1,1x1,1x1", "2x2,2x1,1x2", "1x1,2x2,1x1"]
    count = 0
    for width, height in [(1, 1), (9, 17), (31, 65), (67, 129)]:
        for mode in modes:
            count += 1
            plain = io.BytesIO()
            picture(width, height, count % 3).save(plain, "PPM")
            command = ["cjpeg", "-quality", str((75, 90, 30)[count % 3]), "-sample", mode]
            data = subprocess.run(command, input=plain.getvalue(), capture_output=True, check=True).stdout
            script = scripts[count % len(scripts)]
            # With -optimize each scan has tables of its own.
            options = ["-optimize"] if count % 2 else []
            options += ["-restart", "2B"] if count % 3 == 1 else []
            yield f"scans {script} {mode} {width}x{height} {' '.join(options)}", jpegtran(data, *options, script=script)
            if count % 4 == 0:
                # Another restart interval for each scan: scans are taken from files that differ in it.
                parts = [scans(jpegtran(data, "-restart", f"{n}B", script="0; 1; 2;")) for n in (1, 3, 5)]
                mixed = parts[0][0]
                for which, (n, part) in enumerate(zip((1, 3, 5), parts), 1):
                    mixed += b"\xff\xdd\0\4\0" + bytes([n]) + part[which]
                yield f"scans with restart intervals of 1, 3 and 5 {mode} {width}x{height}", mixed + b"\xff\xd9"


def others():
    """Progressive and four-component files."""
    for count, mode in enumerate(["gray", "4:4:4", "4:2:2", "4:2:0", "1x2,1x1,1x1", "2x2,2x1,1x2"]):
        for width, height in [(9, 17), (33, 47)]:
            image = picture(width, height, count % 3)
            plain = io.BytesIO()
            image.convert("L" if mode == "gray" else "RGB").save(plain, "PPM")
            sample = {"gray": "1x1", "4:4:4": "1x1", "4:2:2": "2x1", "4:2:0": "2x2"}.get(mode, mode)
            command = ["cjpeg", "-quality", "80", "-sample", sample]
            data = subprocess.run(command, input=plain.getvalue(), capture_output=True, check=True).stdout
            yield f"progressive {mode} {width}x{height}", jpegtran(data, "-progressive")
            yield f"progressive {mode} {width}x{height} restart", jpegtran(data, "-progressive", "-restart", "3B")
    for kind in range(3):
        image = picture(33, 47, kind)
        inks = Image.merge("CMYK", (*image.split(), image.convert("L")))
        for progressive in (False, True):
            out = io.BytesIO()
            inks.save(out, "JPEG", quality=85, progressive=progressive)
            data = out.getvalue()
            yield f"CMYK {kind} progressive {progressive}", data
            # Adobe's marker says what the planes are; the pixels then follow.
            ycck = bytearray(data)
            ycck[data.index(b"Adobe") + 11] = 2
            yield f"YCCK {kind} progressive {progressive}", bytes(ycck)


class Dice:
    """SplitMix64, as in crates/testing/src/dice.rs."""

    def __init__(self, state):
        self.state = state

    def below(self, end):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (z ^ (z >> 31)) % end


def damaged(data, dice):
    """One to three bits flipped behind the last scan's header, or cut there, or both."""
    start = data.rindex(b"\xff\xda") + 2
    start += int.from_bytes(data[start:start + 2], "big")
    data = bytearray(data)
    kind = dice.below(3)
    if kind != 1:
        for _ in range(1 + dice.below(3)):
            at = start + dice.below(len(data) - start)
            data[at] ^= 1 << dice.below(8)
    if kind != 0:
        del data[start + dice.below(len(data) - start):]
    return bytes(data)


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


def by_djpeg(data):
    done = subprocess.run(["djpeg", "-rgb"], input=data, capture_output=True)
    # 2: with warnings.
    if done.returncode not in (0, 2):
        return "-"
    return f"{fnv(Image.open(io.BytesIO(done.stdout)).convert('RGB').tobytes()):016x}"


packed, lines, all_files = b"", "", [*files(), *several_scans()]
for name, data in all_files:
    packed += data
    lines += " ".join([str(len(data)), *(at_scale(data, scale) for scale in (1, 2, 4, 8)), name]) + "\n"
(HERE / "jpeg_files.bin").write_bytes(packed)
(HERE / "jpeg_files.txt").write_text(lines)

dice = Dice(14)
lines = [by_djpeg(damaged(all_files[number % len(all_files)][1], dice)) for number in range(1000)]
(HERE / "jpeg_damaged.txt").write_text("\n".join(lines) + "\n")

packed, lines = b"", ""
for name, data in others():
    out = io.BytesIO()
    Image.open(io.BytesIO(data)).convert("RGB").save(out, "PNG", optimize=True)
    packed += data + out.getvalue()
    lines += f"{len(data)} {len(out.getvalue())} {name}\n"
(HERE / "jpeg_others.bin").write_bytes(packed)
(HERE / "jpeg_others.txt").write_text(lines)
