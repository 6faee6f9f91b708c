"""Data sets that tests make: small JPEG files, and arrays that tell their number."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy
from PIL import Image


def jpeg(number: int, width: int = 50, height: int = 40) -> bytes:
    """A photograph-like JPEG that differs for each number."""
    noise = numpy.random.default_rng(number).integers(0, 256, (height // 5 + 1, width // 5 + 1, 3), dtype=numpy.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=92)
    return out.getvalue()


class Jpegs:
    """JPEG files in memory, with classes."""

    def __init__(self, count: int = 40, classes: int = 5) -> None:
        self.files = [jpeg(number) for number in range(count)]
        self.count = classes

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        return self.files[index], index % self.count


class Numbered:
    """Images of 6x6 pixels, each of which says its number: red has the lower byte, green the upper."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        image = numpy.empty((6, 6, 3), numpy.uint8)
        image[...] = (index % 256, index // 256, 7)
        return image, index


NUMBERED = {"transform": [{"type": "CenterCrop", "size": 6}], "semantics": "Uint8", "output": {"layout": "Nchw", "dtype": "U8"}}


def numbers(images: Any) -> list[int]:
    """The numbers of a batch of :class:`Numbered` images; fails where an image is torn."""
    array = numpy.from_dlpack(images)
    assert array.shape[1:] == (3, 6, 6)
    assert (array == array[:, :, :1, :1]).all() and (array[:, 2] == 7).all()
    return [int(low) + 256 * int(high) for low, high, _ in array[:, :, 0, 0]]


def folder(path: Path, count: int = 24, classes: int = 3) -> Path:
    """A folder of class folders."""
    for number in range(count):
        under = path / f"class {number % classes}"
        under.mkdir(parents=True, exist_ok=True)
        (under / f"{number:03}.jpg").write_bytes(jpeg(number))
    return path


def tar_shards(path: Path, shards: int = 2, count: int = 20) -> Path:
    """A folder of tar shards, `photos-0.tar` and on, with as many photographs each."""
    path.mkdir(parents=True)
    for shard in range(shards):
        with tarfile.open(path / f"photos-{shard}.tar", "w") as tar:
            for number in range(count * shard, count * (shard + 1)):
                for name, data in [(f"{number:03}.jpg", jpeg(number)), (f"{number:03}.cls", str(number % 3).encode())]:
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return path


DETECTION_SIZE = (40, 30)


def detection(number: int) -> dict[str, Any]:
    """The objects of a sample: a few boxes as COCO has them, with keypoints. Sample 3 has none."""
    boxes = [] if number == 3 else [[number % 20, 2, 10 + number % 20, 12], [20, 10.5, 15, 18], [5, 5, 0.5, 3]]
    return {
        "bbox": boxes,
        "category_id": [number, 50 + number, 99][: len(boxes)],
        "area": [width * height for *_, width, height in boxes],
        "keypoints": [[[left, top, 2], [0, 0, 0]] for left, top, *_ in boxes],
        "width": DETECTION_SIZE[0],
        "height": DETECTION_SIZE[1],
    }


def detection_shard(path: Path, count: int) -> Path:
    """A tar shard of images with their objects beside them."""
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            image = io.BytesIO()
            Image.new("RGB", DETECTION_SIZE, (number, 0, 0)).save(image, "PNG")
            for ending, content in (("png", image.getvalue()), ("json", json.dumps(detection(number)).encode())):
                entry = tarfile.TarInfo(f"{number:04}.{ending}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return path
