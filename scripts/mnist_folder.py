#!/usr/bin/env python3
"""Writes MNIST, from its IDX files, as a folder of PNG files with `train` and `val`, for gpufeed's trainer.

Needs Python 3.8 and nothing else. The four files, packed with gzip or not, keep their usual names:
train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte (and .gz).
OUT/train/DIGIT gets `--train` digits, equally many of each (but for one), chosen by the seed; OUT/val/DIGIT gets
the whole test file.
"""

import argparse
import gzip
import random
import struct
import sys
import zlib
from pathlib import Path


class Failure(Exception):
    """What went wrong, for the user."""


def read_idx(folder, name, dimensions):
    """The sizes and the bytes of an IDX file of unsigned bytes."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise Failure(f"neither {name} nor {name}.gz is in {folder}: IDX_FOLDER has to hold MNIST's four files")
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Failure(f"cannot read {path}: {error}") from error
    magic, header = bytes((0, 0, 8, dimensions)), 4 + 4 * dimensions
    if data[:4] != magic:
        raise Failure(f"{path} starts with {data[:4].hex() or 'nothing'}, not {magic.hex()}: it is no such IDX file")
    if len(data) < header:
        raise Failure(f"{path} is truncated: {len(data)} bytes, fewer than its header")
    sizes = struct.unpack(f">{dimensions}I", data[4:header])
    expected = 1
    for size in sizes:
        expected *= size
    if len(data) - header != expected:
        state = "truncated" if len(data) - header < expected else "too long"
        raise Failure(f"{path} is {state}: {len(data) - header} bytes after its header, which announces {expected}")
    return sizes, memoryview(data)[header:]


def read_digits(folder, split):
    """Width, height, labels and a list of images."""
    (count, height, width), pixels = read_idx(folder, f"{split}-images-idx3-ubyte", 3)
    (labelled,), labels = read_idx(folder, f"{split}-labels-idx1-ubyte", 1)
    if labelled != count:
        raise Failure(f"{split}: {count} images and {labelled} labels in {folder}")
    if count == 0 or width == 0 or height == 0:
        raise Failure(f"{split}: no pixels in {folder} ({count} images of {width}x{height})")
    if max(labels) > 9:
        raise Failure(f"{split}: a label of {max(labels)} in {folder}, where digits end at 9")
    area = width * height
    return width, height, bytes(labels), [pixels[at : at + area] for at in range(0, count * area, area)]


def choose(labels, count, seed):
    """`count` places, equally many of each digit: the first digits get one more where ten does not divide it."""
    if count is None:
        return list(range(len(labels)))
    generator, chosen = random.Random(seed), []
    for digit in range(10):
        places = [place for place, label in enumerate(labels) if label == digit]
        wanted = count // 10 + (digit < count % 10)
        if wanted > len(places):
            raise Failure(f"--train {count} asks for {wanted} of digit {digit}, and the file has {len(places)}")
        generator.shuffle(places)
        chosen += places[:wanted]
    return sorted(chosen)


def png(width, height, pixels):
    """A grayscale PNG of 8 bits, without filters."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(pixels[y * width : (y + 1) * width]) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def write(out, split, digits, places):
    """One file for each place, named after it."""
    width, height, labels, images = digits
    folders = [out / split / str(digit) for digit in range(10)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Failure(f"{folder} is not empty: choose another OUT, or remove it")
    for place in places:
        (folders[labels[place]] / f"{place:05}.png").write_bytes(png(width, height, images[place]))
    print(f"{out / split}: {len(places)} digits of {width}x{height}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("idx_folder", type=Path, metavar="IDX_FOLDER")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--train", type=int, metavar="N", help="digits of the training file to write (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which of them (default: 0)")
    arguments = parser.parse_args()
    if arguments.train is not None and arguments.train < 10:
        parser.error(f"--train {arguments.train}: ten digits need 10 or more")
    try:
        train, val = read_digits(arguments.idx_folder, "train"), read_digits(arguments.idx_folder, "t10k")
        places = choose(train[2], arguments.train, arguments.seed)
        write(arguments.out, "train", train, places)
        write(arguments.out, "val", val, range(len(val[2])))
    except (Failure, OSError) as error:
        sys.exit(f"mnist_folder.py: {error}")


if __name__ == "__main__":
    main()
