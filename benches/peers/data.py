"""The three sets that are measured, made once and kept under PEERS_HOME.

1. names: several names (hard links, else symbolic links, else copies) of each JPEG file of a folder: an epoch that is
   long enough for the emptying of the queues at its end not to decide. Links share their pages in the cache.
2. small: 50,000 noise images of 32x32, of CIFAR-10's size; no operator's time depends on what they show.
3. resident: the first 64 files at 384x384; it needs Pillow, so the rivals' Python makes it:
   `python data.py FOLDER OUT.npy`.
"""

import hashlib
import os
import random
import shutil
import struct
import sys

import recipes

ENDINGS = (".jpg", ".jpeg")


def home():
    return os.environ.get("PEERS_HOME") or os.path.expanduser("~/.cache/gpufeed-peers")


def files(folder):
    """Every JPEG file below, sorted."""
    found = []
    for place, _, names in os.walk(folder, followlinks=True):
        found += [os.path.join(place, name) for name in names if name.lower().endswith(ENDINGS)]
    if not found:
        raise FileNotFoundError(f"no file ending in {' or '.join(ENDINGS)} below {folder}")
    return sorted(found)


def another_name(source, target):
    for way in (os.link, os.symlink, shutil.copyfile):
        try:
            return way(source, target)
        except OSError as error:
            reason = error
    raise reason


def names(folder, copies, under):
    """A folder with `copies` names of each file of `folder`, in the same class folders."""
    folder = os.path.abspath(folder)
    sources = files(folder)
    key = "\n".join(f"{path} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}" for path in sources)
    target = os.path.join(under, f"names-{hashlib.sha256(f'{copies} {key}'.encode()).hexdigest()[:16]}")
    if os.path.isdir(target):
        return target
    partial = f"{target}.{os.getpid()}"
    for source in sources:
        stem, ending = os.path.splitext(os.path.relpath(source, folder))
        os.makedirs(os.path.dirname(os.path.join(partial, stem)), exist_ok=True)
        for copy in range(copies):
            another_name(source, os.path.join(partial, f"{stem}_{copy}{ending}"))
    os.replace(partial, target)
    return target


def write_npy(path, shape, payload):
    """NumPy's format, version 1.0, for bytes: this side has no NumPy."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    partial = f"{path}.{os.getpid()}"
    with open(partial, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(payload)
    os.replace(partial, path)


def small(under, images=recipes.SMALL_IMAGES):
    """The path of an array uint8 (images, 32, 32, 3), the same on every machine."""
    side = recipes.SMALL_SIDE
    path = os.path.join(under, f"small-{images}.npy")
    if not os.path.exists(path):
        os.makedirs(under, exist_ok=True)
        numbers = random.Random(0)
        write_npy(path, (images, side, side, 3), b"".join(numbers.randbytes(side * side * 3) for _ in range(images)))
    return path


def resident_path(folder, under):
    return os.path.join(under, os.path.basename(folder) + "-resident.npy")


def resident(folder, path):
    """Writes an array uint8 (64, 384, 384, 3) of the folder's first pictures."""
    from PIL import Image

    side, count = recipes.RESIDENT_SIDE, recipes.RESIDENT_IMAGES
    sources = files(folder)[:count]
    if len(sources) < count:
        raise ValueError(f"{len(sources)} files in {folder}, recipe E takes {count}")
    pixels = b""
    for source in sources:
        with Image.open(source) as picture:
            pixels += picture.convert("RGB").resize((side, side), Image.Resampling.BILINEAR).tobytes()
    write_npy(path, (count, side, side, 3), pixels)


if __name__ == "__main__":
    resident(sys.argv[1], sys.argv[2])
