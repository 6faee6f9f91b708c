"""Makes random JPEGs, and their pixels as Pillow shows them.

    files.py FOLDER [--seed N] [--count N] [--first N]      by default 300 files of a seed by chance

FOLDER gets the files, NAME.jpg.rgb with the RGB pixels at full size and at a half, a quarter and an eighth, one behind the other,
and list.txt, a line each, with tabs between: name, columns, rows, what is expected, coding, colour, sampling, scans, headers,
damage, options. A file depends on the seed and its number alone, so that --first 123 --count 1 makes number 123 again.

What is expected:

    exact      decoding gives these pixels
    damaged    decoding refuses the file; with `fill` it gives these pixels
    warned     as one of these two: libjpeg warns, but not of missing data; or it may not notice that data are wrong
    unfilled   decoding refuses the file; with `fill` it gives some pixels
    any        no panic: Pillow refuses the file, or as above where a scan may be one that is not read
    arithmetic, lossless, 12 bits      refused by its own sentence, whatever Pillow does

`unfilled` are sequential files without restart intervals and with FF FF 00 in a scan: libjpeg-turbo's loop for the middle of a
buffer leaves coefficients of a wrong reading in a block, so that the pixels depend on the buffer. EXIF orientation is not applied.
"""

import argparse
import io
import multiprocessing
import pathlib
import random
import re
import subprocess
import warnings

from PIL import Image, features

import parts as jpeg
from changes import change, change_scans
from damage import harm
from encode import encode

# libjpeg's warnings of the data, and those of them that say that some are missing or wrong.
WARNING = re.compile("Corrupt JPEG data|Inconsistent progression|Premature end of JPEG file")
MISSING = re.compile("premature end|bad Huffman code|Premature end|found marker")
DIVISORS = [1, 2, 4, 8]


def shown(file, divisor):
    """Pillow's pixels, or OSError and others."""
    image = Image.open(io.BytesIO(file))
    if image.format != "JPEG":
        raise ValueError(image.format)
    if divisor > 1:
        # As `draft`, which takes no scale that makes a side of a narrow image less than 1.
        size = tuple(-(-side // divisor) for side in image.size)
        tile = image.tile[0]
        image.tile = [tile._replace(extents=(0, 0, *size))]
        image._size, image.decoderconfig = size, (divisor, 0)
    return image.convert("RGB")


def warned(file):
    """libjpeg's warnings of a file, by djpeg."""
    done = subprocess.run(["djpeg", "-verbose", "-verbose", "-verbose", "-pnm"], input=file, capture_output=True)
    lines = done.stderr.decode(errors="replace").splitlines()
    return [line for line in lines if done.returncode and WARNING.search(line)]


def depends_on_buffers(parts):
    """FF FF 00 in a scan without restart intervals."""
    interval = 0
    for part in parts:
        if part.marker == jpeg.DRI:
            interval = int.from_bytes(part.payload, "big")
        if interval == 0 and b"\xff\xff\0" in part.data:
            return True
    return False


def unfitting(made):
    """Scans that are read with another scan's tables, or as another component's."""
    ids = [number for number, *_ in jpeg.components(jpeg.frame_of(made.parts))]
    return made.scans.endswith("two swapped") or made.scans != "one" and len(set(ids)) < len(ids)


def expected(made, file):
    """What is expected, and the four pictures."""
    marker = jpeg.frame_of(made.parts).marker
    special = {0xC3: "lossless", 0xC9: "arithmetic", 0xCA: "arithmetic"}.get(marker)
    if special is None and jpeg.frame_of(made.parts).payload[0] == 12:
        special = "12 bits"
    pictures = []
    try:
        # Pillow with LOAD_TRUNCATED_IMAGES puts an EOI behind each file that ends too early.
        filled = file + b"\xff\xd9"
        pictures = [shown(filled, divisor) for divisor in DIVISORS]
    except (OSError, ValueError, SyntaxError, IndexError, KeyError, TypeError) as error:
        # Pillow takes no lossless or 12-bit file that is made here. Of another fault, alone or too, anything may be said.
        alone = special != "arithmetic" and made.damage == "none" and len(made.headers) == 1 and "," not in made.scans
        # The message of some has an address in memory.
        return special if special and alone else "any", [], f"{type(error).__name__}: {error}".split("<")[0]
    if special:
        return special, pictures, ""
    if not made.headers and made.damage == "none" and "," not in made.scans:
        return "exact", pictures, ""
    if made.coding == "sequential" and depends_on_buffers(made.parts):
        return "unfilled" if made.damage == "FF FF 00" and "," not in made.scans else "any", pictures, "FF FF 00 in a scan"
    said = warned(file)
    note = "; ".join(said[:2])
    ends_early = made.damage in ("cut", "cut anywhere", "no EOI") and b"\xff\xd9" not in file
    if ends_early or any(MISSING.search(line) for line in said):
        return "damaged", pictures, note
    return ("warned" if said or made.damage != "none" or unfitting(made) else "exact"), pictures, note


def make(task):
    folder, seed, number = task
    dice = random.Random(f"{seed} {number}")
    made = encode(dice)
    change_scans(dice, made)
    change(dice, made)
    file = harm(dice, made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what, pictures, note = expected(made, file)
    name = f"{number:06}.jpg"
    (folder / name).write_bytes(file)
    (folder / f"{name}.rgb").write_bytes(b"".join(picture.tobytes() for picture in pictures))
    width, height = pictures[0].size if pictures else (0, 0)
    axes = [made.coding, made.colour, made.sampling, made.scans, "+".join(made.headers) or "usual", made.damage]
    return "\t".join(map(str, [name, width, height, what, *axes, f"{made.options} {note}".replace("\n", " ").replace("\t", " ")]))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seed", type=int)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--first", type=int, default=0)
    given = arguments.parse_args()
    seed = random.randrange(2**32) if given.seed is None else given.seed
    libjpeg = features.version("libjpeg_turbo")
    print(f"seed {seed}: {given.count} files by Pillow {Image.__version__} with libjpeg-turbo {libjpeg}", flush=True)
    given.folder.mkdir(parents=True, exist_ok=True)
    tasks = [(given.folder, seed, number) for number in range(given.first, given.first + given.count)]
    with multiprocessing.Pool() as pool:
        lines = pool.map(make, tasks, chunksize=16)
    (given.folder / "list.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
