"""Makes random image files, and their pixels as Pillow reads them.

    pillow_files.py FOLDER [--seed N] [--count N] [--pack FILES]      by default 200 files of a seed by chance

FOLDER gets the files and list.txt, a line each: name, columns, rows, the SHA-256 of the RGB bytes, and why gpufeed's pixels differ,
or `-` where they are the same. The pixels are those of `ImageOps.exif_transpose(Image.open(f)).convert("RGB")`. The kinds that
Pillow cannot write are written here byte by byte. `--pack` makes small ones, and writes files and list into one
file each, FILES.bin and FILES.txt: `scripts/pillow_files.py target/pillow-files --seed 41 --count 160 --pack tests/golden/pillow_files`
made those of the repository.
"""

import argparse
import hashlib
import io
import pathlib
import random
import struct
import sys
import warnings
import zlib

import numpy
from PIL import Image, ImageOps

# What gpufeed does otherwise than Pillow on purpose. The guide lists these, chapter "Data sets", "Files".
DEEP_GRAY = "gray of more than 8 bits is scaled to 8; Pillow clips it at 255"
PLANES = "Pillow reads uncompressed planes as bytes of usual order, also those of 16 bits and of reversed bits"
SWAPPED = "Pillow reads compressed big-endian samples of these depths in the wrong byte order"


class Made:
    """A file, its ending, and why gpufeed's pixels differ."""

    def __init__(self, kind, data, differs=None, name=""):
        self.kind, self.data, self.differs, self.name = kind, data, differs, name or kind


def picture(dice, width, height, bands):
    """Smooth colours with some noise, so that a wrong place and a wrong level both show."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [x * dice.randint(1, 9) + y * dice.randint(1, 9) + dice.randint(0, 255) for _ in range(bands)]
    noise = numpy.random.RandomState(dice.randrange(2**32)).randint(0, 40, (height, width, bands))
    pixels = (numpy.stack(planes, axis=-1) + noise) % 256
    return pixels.astype("u1")


def image(dice, mode, width, height):
    bands = {"1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "RGB": 3, "YCbCr": 3}.get(mode, 4)
    pixels = picture(dice, width, height, bands)
    if mode == "1":
        return Image.fromarray(pixels[..., 0]).convert("1")
    if mode in ("P", "PA"):
        made = Image.frombytes(mode, (width, height), pixels.tobytes())
        made.putpalette(bytes(dice.randrange(256) for _ in range(768)))
        return made
    return Image.frombytes(mode, (width, height), pixels.tobytes())


def save(made, kind, **arguments):
    data = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.save(data, kind, **arguments)
    return data.getvalue()


MOST = (70, 50)


def size(dice):
    width, height = MOST
    return dice.choice([1, 2, 7, 8, 9, dice.randint(1, width // 2), dice.randint(1, width)]), dice.randint(1, height)


# Metadata.


def exif(dice, orientation, prefixes):
    """EXIF data in either byte order, with `prefixes` times "Exif\\0\\0"."""
    order = dice.choice("<>")
    head = b"II*\0" if order == "<" else b"MM\0*"
    entries = [(256, 3, 5), (274, 3, orientation)]
    if dice.random() < 0.2:
        entries = [(274, 4, orientation)]
    body = struct.pack(order + "H", len(entries))
    for tag, kind, value in entries:
        field = struct.pack(order + "HH", value, 0) if kind == 3 else struct.pack(order + "I", value)
        body += struct.pack(order + "HHI", tag, kind, 1) + field
    return b"Exif\0\0" * prefixes + head + struct.pack(order + "I", 8) + body + bytes(4)


def xmp(dice, orientation):
    form = dice.choice(['<rdf:Description tiff:Orientation="%d"/>', "<tiff:Orientation>%d</tiff:Orientation>"])
    return ("<x:xmpmeta>" + form % orientation + "</x:xmpmeta>").encode()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def orient_png(dice, data):
    """Adds an orientation to a PNG, before or after its pixels."""
    form = dice.choice(["none", "eXIf", "eXIf", "profile", "xmp", "both"])
    orientation, other = dice.randint(0, 9), dice.randint(1, 8)
    chunks = b""
    if form in ("eXIf", "both"):
        chunks += chunk(b"eXIf", exif(dice, orientation, dice.choice([0, 0, 1])))
    if form == "profile":
        profile = exif(dice, orientation, dice.choice([0, 1])).hex()
        lines = "\n".join(profile[at : at + 72] for at in range(0, len(profile), 72))
        text = f"\nexif\n{len(profile) // 2:8}\n{lines}\n".encode()
        key = b"Raw profile type exif\0"
        chunks += dice.choice([chunk(b"tEXt", key + text), chunk(b"zTXt", key + b"\0" + zlib.compress(text))])
    if form in ("xmp", "both"):
        text, key = xmp(dice, other), b"XML:com.adobe.xmp\0"
        plain, packed = key + b"\0\0\0\0" + text, key + b"\1\0\0\0" + zlib.compress(text)
        chunks += chunk(b"iTXt", dice.choice([plain, packed]))
    at = data.index(b"IDAT") - 4 if dice.random() < 0.5 else data.rindex(b"IEND") - 4
    return data[:at] + chunks + data[at:]


def png(dice):
    mode = dice.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
    width, height = size(dice)
    if mode == "I;16":
        levels = numpy.random.RandomState(dice.randrange(2**32)).randint(0, 65536, (height, width)).astype("<u2")
        made = Image.frombytes("I;16", (width, height), levels.tobytes())
        return Made("png", orient_png(dice, save(made, "PNG")), DEEP_GRAY)
    made, extra = image(dice, mode, width, height), {}
    if mode == "P":
        extra = {"bits": 8} if dice.random() < 0.5 else {}
        if dice.random() < 0.5:
            extra["transparency"] = dice.choice([0, 7, bytes(dice.randrange(256) for _ in range(256))])
    return Made("png", orient_png(dice, save(made, "PNG", **extra)))


def webp(dice):
    if dice.random() < 0.4:
        return Made("webp", webp_animation(dice))
    width, height = size(dice)
    lossless = dice.random() < 0.8
    made = image(dice, dice.choice(["RGB", "RGBA"]), width, height)
    extra = {"lossless": lossless, "exact": True}
    if dice.random() < 0.7:
        extra["exif"] = exif(dice, dice.randint(0, 9), dice.choice([0, 1, 2]))
    if dice.random() < 0.4:
        extra["xmp"] = xmp(dice, dice.randint(1, 8))
    data = save(made, "WEBP", **extra)
    if "exif" in extra:
        # Pillow drops a prefix when it writes; other writers leave it.
        data = with_webp_exif(data, extra["exif"])
    return Made("webp", data)


def webp_chunks(data):
    at = 12
    while at < len(data):
        name, length = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])[0]
        yield name, data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def webp_file(chunks):
    out = b"WEBP"
    for name, content in chunks:
        out += name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    return b"RIFF" + struct.pack("<I", len(out)) + out


def with_webp_exif(data, wanted):
    return webp_file((name, wanted if name == b"EXIF" else content) for name, content in webp_chunks(data))


def webp_animation(dice):
    """One to three frames, the first of which may be smaller than the image, blended or not. Pillow writes none that is smaller."""
    columns, rows = (max(2, side) for side in size(dice))
    three = lambda number: struct.pack("<I", number)[:3]
    alpha, frames = dice.random() < 0.7, []
    for _ in range(dice.randint(1, 3)):
        width, height = columns, rows
        if dice.random() < 0.7:
            width, height = dice.randint(1, columns), dice.randint(1, rows)
        left, top = dice.randint(0, (columns - width) // 2), dice.randint(0, (rows - height) // 2)
        made = image(dice, "RGBA" if alpha else "RGB", width, height)
        still = webp_chunks(save(made, "WEBP", lossless=dice.random() < 0.7, exact=True))
        pixels = webp_file((name, content) for name, content in still if name in (b"ALPH", b"VP8 ", b"VP8L"))[12:]
        place = [left, top, width - 1, height - 1, 100]
        frames.append((b"ANMF", b"".join(three(number) for number in place) + bytes([dice.randrange(4)]) + pixels))
    head = bytes([0x12 if alpha else 0x02, 0, 0, 0]) + three(columns - 1) + three(rows - 1)
    background = bytes(dice.randrange(256) for _ in range(4))
    return webp_file([(b"VP8X", head), (b"ANIM", background + bytes(2))] + frames)


def jpeg(dice):
    """Sequential files with metadata; the pixels of all kinds of JPEG have tests of their own."""
    width, height = size(dice)
    data = save(image(dice, dice.choice(["L", "RGB"]), width, height), "JPEG", quality=90)
    segments = b""
    for form in dice.choice([["exif"], ["xmp"], ["exif", "xmp"], ["xmp", "exif"], ["empty", "xmp"]]):
        if form == "exif":
            content = exif(dice, dice.randint(0, 9), dice.choice([1, 1, 2]))
        elif form == "empty":
            content = b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"
        else:
            content = b"http://ns.adobe.com/xap/1.0/\0" + xmp(dice, dice.randint(1, 8))
        segments += b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    return Made("jpg", data[:2] + segments + data[2:])


# TIFF.


def tiff(dice):
    return tiff_of_pillow(dice) if dice.random() < 0.4 else tiff_by_hand(dice)


def tiff_of_pillow(dice):
    width, height = size(dice)
    mode = dice.choice(["1", "L", "LA", "P", "PA", "RGB", "RGBX", "RGBA", "CMYK", "YCbCr", "I;16", "I;16B", "I", "F"])
    differs = None
    if mode in ("I;16", "I;16B", "I", "F"):
        values = numpy.random.RandomState(dice.randrange(2**32)).randint(-300, 600, (height, width))
        kind = {"I;16": "<u2", "I;16B": ">u2", "I": "<i4", "F": "<f4"}[mode]
        if mode == "F":
            values = values * 0.83
        made = Image.frombytes(mode, (width, height), values.astype(kind).tobytes())
        differs = DEEP_GRAY if mode.startswith("I;16") else None
    else:
        made = image(dice, mode, width, height)
    compressions = ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"]
    if mode == "1":
        compressions += ["tiff_ccitt", "group3", "group4"] * 2
    if mode in ("L", "RGB", "YCbCr"):
        compressions += ["jpeg"] * 3
    compressions += ["zstd"]
    compression = dice.choice(compressions)
    info = {}
    if dice.random() < 0.5:
        info[274] = dice.randint(1, 8)
    if compression in ("tiff_lzw", "tiff_adobe_deflate", "zstd") and mode not in ("1", "F", "I") and dice.random() < 0.5:
        info[317] = 2
    if compression == "group3" and dice.random() < 0.5:
        info[292] = 1
    if dice.random() < 0.5:
        info[278] = dice.randint(1, 16) if compression != "jpeg" else dice.choice([8, 16])
    return Made("tif", save(made, "TIFF", compression=compression, tiffinfo=info), differs)


def pack(samples, bits, order):
    """Rows of samples, each row from a whole byte on."""
    if bits in (8, 16, 32):
        return samples.astype(f"{order}{samples.dtype.kind}{bits // 8}").tobytes()
    rows = b""
    for row in samples.reshape(samples.shape[0], -1):
        text = "".join(format(int(value), f"0{bits}b") for value in row)
        text += "0" * (-len(text) % 8)
        rows += int(text, 2).to_bytes(len(text) // 8, "big")
    return rows


def pack_bits(data):
    out = b""
    for at in range(0, len(data), 100):
        part = data[at : at + 100]
        out += bytes([len(part) - 1]) + part
        if at % 300 == 0:
            out += b"\x80"
    return out


def tiff_by_hand(dice):
    order = dice.choice("<>")
    width, height = size(dice)
    # Name, colour space, bits, kind of number, samples, meaning of the sample after the colours.
    kinds = [
        ("gray", dice.choice([0, 1]), dice.choice([1, 2, 4, 8]), "u", 1, None),
        ("gray with alpha", 1, 8, "u", 2, dice.choice([0, 2])),
        ("signed gray", 1, dice.choice([8, 16, 32]), "i", 1, None),
        ("deep gray", 1, 32, "u", 1, None),
        ("float gray", dice.choice([0, 1]), 32, "f", 1, None),
        ("RGB", 2, dice.choice([8, 16]), "u", 3, None),
        ("RGB and more", 2, dice.choice([8, 16]), "u", 4, dice.choice([None, 0, 1, 1, 1, 2])),
        ("palette", 3, dice.choice([1, 2, 4, 8]), "u", 1, None),
        ("palette with alpha", 3, 8, "u", 2, dice.choice([0, 2])),
        ("CMYK", 5, dice.choice([8, 16]), "u", 4, None),
        ("YCbCr", 6, 8, "u", 3, None),
        ("gray of 16 bits", 1, 16, "u", 1, None),
        ("gray of 12 bits", 1, 12, "u", 1, None),
    ]
    name, photometric, bits, kind, samples, extra = dice.choice(kinds)
    if name == "gray of 12 bits":
        order, width = "<", width + width % 2
    if name == "deep gray":
        order = "<"
    if name == "signed gray" and bits == 8:
        order = dice.choice("<>")
    noise = numpy.random.RandomState(dice.randrange(2**32))
    low, high = {"u": (0, 2**bits), "i": (-400, 600), "f": (-300, 600)}[kind]
    if name == "signed gray" and bits == 8:
        low, high = -128, 128
    values = noise.randint(low, high, (height, width, samples), dtype="i8")
    values = (values * 0.77).astype("f4") if kind == "f" else values.astype(f"{kind}{max(8, bits if bits != 12 else 16) // 8}")

    reversed_bits = bits <= 8 and kind == "u" and samples in (1, 3) and photometric != 6 and dice.random() < 0.3
    compression = dice.choice([1, 1, 8, 32773])
    planar = samples > 1 and bits in (8, 16) and photometric in (2, 5) and extra != 1 and dice.random() < 0.4
    if planar and samples == 4 and photometric == 2 and extra is None:
        extra = 2
    predictor = compression == 8 and bits in (8, 16) and kind == "u" and photometric != 6 and dice.random() < 0.5
    tiled = dice.random() < 0.4 and bits in (8, 16, 32)
    chunk_width, chunk_height = (16 * dice.randint(1, 3), 16 * dice.randint(1, 2)) if tiled else (width, dice.randint(1, height))
    if compression == 1 and not tiled and bits == 12:
        chunk_height = height

    chunks = []
    for plane in range(samples) if planar else [slice(None)]:
        part = values[..., plane]
        for top in range(0, height, chunk_height):
            for left in range(0, width, chunk_width):
                piece = part[top : top + chunk_height, left : left + chunk_width]
                if tiled:
                    room = [(0, chunk_height - piece.shape[0]), (0, chunk_width - piece.shape[1])]
                    piece = numpy.pad(piece, room + [(0, 0)] * (piece.ndim - 2))
                if predictor:
                    piece = piece.copy()
                    piece[:, 1:] = piece[:, 1:] - piece[:, :-1]
                data = pack(piece, bits, order)
                data = {1: data, 8: zlib.compress(data), 32773: pack_bits(data)}[compression]
                if reversed_bits:
                    data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)
                chunks.append(data)

    tags = {256: (3, [width]), 257: (3, [height]), 258: (3, [bits] * samples), 259: (3, [compression]), 262: (3, [photometric])}
    tags |= {277: (3, [samples]), 284: (3, [2 if planar else 1]), 339: (3, [{"u": 1, "i": 2, "f": 3}[kind]] * samples)}
    if reversed_bits:
        tags[266] = (3, [2])
    if extra is not None:
        tags[338] = (3, [extra])
    if predictor:
        tags[317] = (3, [2])
    if photometric == 3:
        tags[320] = (3, [dice.randrange(65536) for _ in range(3 << bits)])
    if photometric == 6:
        tags[530] = (3, [1, 1])
    if dice.random() < 0.4:
        tags[274] = (3, [dice.randint(0, 9)])
    elif dice.random() < 0.2:
        tags[700] = (1, list(xmp(dice, dice.randint(1, 8))))
    if tiled:
        tags |= {322: (3, [chunk_width]), 323: (3, [chunk_height])}
    else:
        tags[278] = (3, [chunk_height])
    differs = DEEP_GRAY if name in ("gray of 16 bits", "gray of 12 bits") else None
    if planar and compression == 1 and (reversed_bits or bits == 16):
        differs = PLANES
    if order == ">" and compression != 1 and kind in "if" and bits > 8:
        differs = SWAPPED
    return Made("tif", assemble(order, tags, chunks, tiled), differs, f"{name}, {tags}")


def assemble(order, tags, chunks, tiled):
    head = b"II*\0" if order == "<" else b"MM\0*"
    data, offsets = b"", []
    for part in chunks:
        offsets.append(8 + len(data))
        data += part + bytes(len(part) % 2)
    tags |= {324 if tiled else 273: (4, offsets), 325 if tiled else 279: (4, [len(part) for part in chunks])}
    directory = 8 + len(data)
    later = directory + 2 + 12 * len(tags) + 4
    entries, values_of = b"", b""
    for tag in sorted(tags):
        kind, values = tags[tag]
        packed = struct.pack(f"{order}{len(values)}{ {1: 'B', 3: 'H', 4: 'I'}[kind]}", *values)
        if len(packed) > 4:
            field = struct.pack(order + "I", later + len(values_of))
            values_of += packed + bytes(len(packed) % 2)
        else:
            field = packed.ljust(4, b"\0")
        entries += struct.pack(order + "HHI", tag, kind, len(values)) + field
    count = struct.pack(order + "H", len(tags))
    return head + struct.pack(order + "I", directory) + data + count + entries + bytes(4) + values_of


# GIF.


def gif(dice):
    width, height = size(dice)
    made = image(dice, dice.choice(["L", "P", "P", "1"]), width, height)
    extra = {"interlace": dice.random() < 0.5}
    if dice.random() < 0.4:
        extra["transparency"] = dice.randrange(2)
    if dice.random() < 0.4:
        extra["background"] = dice.randrange(2)
    data = bytearray(save(made, "GIF", **extra))
    if dice.random() < 0.6:
        # A frame at another place, on a screen of another size.
        at = bytes(data).index(b",", 13 + (3 << (data[10] & 7) + 1 if data[10] & 128 else 0))
        while struct.unpack_from("<HHHH", data, at + 1) != (0, 0, width, height):
            at = bytes(data).index(b",", at + 1)
        struct.pack_into("<HH", data, 6, dice.randint(1, 60), dice.randint(1, 60))
        struct.pack_into("<HH", data, at + 1, dice.randint(0, 20), dice.randint(0, 20))
    return Made("gif", bytes(data))


# BMP and PNM.


def bmp(dice):
    width, height = size(dice)
    form = dice.choice(["pillow", "pillow", "565", "555", "rle8", "rle4"])
    if form == "pillow":
        return Made("bmp", save(image(dice, dice.choice(["1", "L", "P", "RGB", "RGBA"]), width, height), "BMP"))
    palette, masks, bits = b"", b"", 16
    if form in ("565", "555"):
        values = numpy.random.RandomState(dice.randrange(2**32)).randint(0, 65536, (height, width))
        values = values & (0x7FFF if form == "555" else 0xFFFF)
        values = numpy.pad(values, [(0, 0), (0, width % 2)])
        data, compression = values.astype("<u2").tobytes(), 0
        if form == "565":
            masks, compression = struct.pack("<III", 0xF800, 0x7E0, 0x1F), 3
    else:
        bits, compression = (8, 1) if form == "rle8" else (4, 2)
        palette = bytes(dice.randrange(256) if n % 4 < 3 else 0 for n in range(4 << bits))
        data = run_lengths(dice, width, height, bits)
    offset = 54 + len(masks) + len(palette)
    head = b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(data), 0, 0, 0, 0)
    return Made("bmp", head + info + masks + palette + data)


def run_lengths(dice, width, height, bits):
    """Rows of runs and of single pixels; some rows end early, some lie behind a jump."""
    data, left = b"", height
    while left > 0:
        room = width
        while room > 0:
            if dice.random() < 0.15:
                break
            count = min(room, dice.randint(1, 12))
            if count >= 3 and dice.random() < 0.5:
                values = bytes(dice.randrange(256) for _ in range(count if bits == 8 else (count + 1) // 2))
                data += bytes([0, count]) + values + bytes(len(values) % 2)
            else:
                data += bytes([count, dice.randrange(256)])
            room -= count
        data += b"\0\0"
        left -= 1
        if left > 2 and dice.random() < 0.2:
            down = dice.randint(1, left - 1)
            data += bytes([0, 2, dice.randrange(width), down])
            data += b"\0\0"
            left -= down + 1
    return data + b"\0\1"


def pnm(dice):
    width, height = size(dice)
    most = dice.choice([255, 65535, 1023, 4095, 100])
    values = numpy.random.RandomState(dice.randrange(2**32)).randint(0, most + 1, (height, width, 3))
    head = f"P6\n{width} {height}\n{most}\n".encode()
    return Made("ppm", head + values.astype(">u2" if most > 255 else "u1").tobytes())


def make(dice):
    while True:
        kind = dice.choice([png, png, webp, jpeg, tiff, tiff, tiff, gif, gif, bmp, pnm])
        made = kind(dice)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opened = Image.open(io.BytesIO(made.data))
                right = ImageOps.exif_transpose(opened).convert("RGB")
        except (OSError, ValueError, SyntaxError) as error:
            # Pillow writes some files that it does not read; others are wrong here.
            print(f"Pillow refuses a file that is made here, {made.name}: {error}", file=sys.stderr)
            continue
        return made, right


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seed", type=int)
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--pack", type=pathlib.Path)
    given = arguments.parse_args()
    if given.pack:
        global MOST
        MOST = (20, 12)
    seed = random.randrange(2**32) if given.seed is None else given.seed
    print(f"seed {seed}: {given.count} files by Pillow {Image.__version__}")
    given.folder.mkdir(parents=True, exist_ok=True)
    dice, lines, packed = random.Random(seed), [], b""
    for number in range(given.count):
        made, right = make(dice)
        name = f"{number:03}.{made.kind}"
        (given.folder / name).write_bytes(made.data)
        (given.folder / f"{name}.rgb").write_bytes(right.tobytes())
        digest = hashlib.sha256(right.tobytes()).hexdigest()
        lines.append(f"{name}\t{right.width}\t{right.height}\t{digest}\t{made.differs or '-'}\t{len(made.data)}")
        packed += made.data
    (given.folder / "list.txt").write_text("\n".join(lines) + "\n")
    if given.pack:
        given.pack.with_suffix(".bin").write_bytes(packed)
        given.pack.with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
