"""Images and captions that are drawn: few of them, with something in each file that no other one has."""

from __future__ import annotations

import io
import struct
import zlib

import numpy
from PIL import Image

# Captions as people write them, and such as break readers: empty, a number, JSON, several lines, several scripts, long.
CAPTIONS = [
    "a dog on a beach", "", "1984", '{"not": "a document"}', "two lines\nof a caption\r\n", "  spaces around  ", "zw\u00f6lf B\u00e4ume, 20 \u20ac",
    "\u732b\u304c\u5bdd\u3066\u3044\u308b", "\U0001f431 \U0001f469\u200d\U0001f680", "\u05d7\u05ea\u05d5\u05dc", 'she said "no", and left', "a, b; c\td", "\\n is no line",
    "null", "cafe\u0301 beside caf\u00e9", "\ufeffwith a mark of byte order", "long " * 400,
]


def caption(number: int) -> str:
    """A caption, of which most say the number of their sample."""
    text = CAPTIONS[number % len(CAPTIONS)]
    return text if number < len(CAPTIONS) else f"{text} ({number})"


class Pictures:
    """Drawn images of one size, each encoded once; every file has a comment of its own."""

    def __init__(self, size: tuple[int, int], count: int = 61) -> None:
        self.size = size
        self.drawn = [self._draw(number) for number in range(count)]
        # Photographs of COCO are gray now and then, and so are downloads.
        gray = [picture.convert("L") if number % 10 == 9 else picture for number, picture in enumerate(self.drawn)]
        styles = [{"subsampling": 2}, {"subsampling": 0}, {"subsampling": 2, "progressive": True}, {"subsampling": 1}]
        self.jpegs = [encoded(picture, "JPEG", quality=85, **styles[i % 4]) for i, picture in enumerate(gray)]
        self.pngs = [encoded(picture, "PNG") for picture in self.drawn]

    def jpeg(self, number: int) -> bytes:
        """A JPEG, behind whose first marker stands a comment with the number."""
        file, comment = self.jpegs[number % len(self.jpegs)], f"picture {number}".encode()
        return file[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + file[2:]

    def png(self, number: int) -> bytes:
        """A PNG with a text of its own before its end."""
        return self._with_text(self.pngs[number % len(self.pngs)], number)

    def depth(self, number: int) -> bytes:
        """A PNG of 16-bit gray, which uses all bits, also the smallest and the largest number."""
        width, height = self.size
        rows, columns = numpy.mgrid[0:height, 0:width]
        depth = (rows * 1217 + columns * 523 + number * 7919 + (rows * columns) % 251) % 65536
        depth[0, 0], depth[-1, -1] = 0, 65535
        return self._with_text(encoded(Image.fromarray(depth.astype(numpy.uint16)), "PNG"), number)

    def _draw(self, number: int) -> Image.Image:
        width, height = self.size
        draws = numpy.random.default_rng(number)
        coarse = Image.fromarray(draws.integers(0, 256, (height // 6 + 1, width // 6 + 1, 3), dtype=numpy.uint8))
        return coarse.resize(self.size, Image.Resampling.BICUBIC)

    @staticmethod
    def _with_text(file: bytes, number: int) -> bytes:
        text = b"tEXtComment\0picture %d" % number
        chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
        return file[:-12] + chunk + file[-12:]


def encoded(picture: Image.Image, kind: str, **settings: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **settings)
    return out.getvalue()
