"""Pillow's own arithmetic: the bytes of the installed Pillow, for random matrices, radii, sizes and pictures."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image, ImageFilter  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

import gpufeed  # noqa: E402

Pictures = list[Image.Image]

BICUBIC = InterpolationMode.BICUBIC
SIZES = [(1, 1), (1, 17), (23, 1), (2, 40), (3, 3), (33, 31), (16, 16), (47, 64), (64, 48), (70, 5)]
COUNT = 150


def picture(number: int, size: tuple[int, int]) -> Image.Image:
    """Noise, black and white, or one colour above another one; every fourth one is gray."""
    dice = numpy.random.default_rng(number)
    shape = size[::-1] if number % 4 == 3 else (*size[::-1], 3)
    pixels = dice.integers(0, 256, shape, dtype=numpy.uint8)
    if number % 3 == 1:
        pixels = (pixels > 127).astype(numpy.uint8) * numpy.uint8(255)
    if number % 3 == 2:
        pixels[:] = 255
        pixels[len(pixels) // 2 :] = 7
    return Image.fromarray(pixels)


def files(pictures: Pictures) -> list[tuple[bytes, int]]:
    found = []
    for each in pictures:
        out = io.BytesIO()
        each.save(out, "PNG")
        found.append((out.getvalue(), 0))
    return found


def loaders(*transforms: dict[str, Any]) -> Iterator[tuple[Pictures, gpufeed.DataLoader]]:
    """Returns pictures of each size with a loader of them in bytes; the crop at the end changes nothing."""
    for number, (width, height) in enumerate(SIZES):
        pictures = [picture(COUNT * number + k, (width, height)) for k in range(COUNT)]
        end = {"type": "CenterCrop", "size": [height, width]}
        output = {"layout": "Nhwc", "dtype": "U8"}
        recipe = {"semantics": "Uint8", "output": output, "transform": [*transforms, end]}
        yield pictures, gpufeed.DataLoader(files(pictures), recipe=recipe, batch_size=COUNT)


def drawn(made: gpufeed.DataLoader) -> Iterator[tuple[int, list[dict[str, Any]], Any]]:
    """Returns the number, the ops and the pixels of each image of an epoch."""
    for batch in made.batches():
        pixels = numpy.asarray(batch.images)
        for number, params, image in zip(batch.ids, batch.params, pixels, strict=True):
            yield number, [each["op"] for each in json.loads(params)["ops"]], image


def same(image: Any, expected: Image.Image) -> bool:
    """True if the pixels are Pillow's; of a gray picture in all channels."""
    pixels = numpy.asarray(expected)
    return bool((image == (pixels if pixels.ndim == 3 else pixels[..., None])).all())


def transformed(given: Image.Image, matrix: list[float], fill: list[float]) -> Image.Image:
    color = tuple(int(number) for number in fill) if given.mode == "RGB" else int(fill[0])
    return given.transform(given.size, Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC, fillcolor=color)


def hostile(dice: random.Random, kind: int, size: tuple[int, int]) -> list[float]:
    """A matrix that no transform draws, or in which a last bit decides."""
    (width, height), uniform = size, dice.uniform
    moved = [float(dice.randint(-9, 9)), float(dice.randint(-9, 9))]
    match kind % 5:
        case 0:
            # Sines that are almost 0.
            center = [width * 0.5, height * 0.5]
            return F._geometry._get_inverse_affine_matrix(center, 30.0 * dice.randint(0, 12), moved, 1.0, [0.0, 0.0])
        case 1:
            return [1.0, uniform(-0.5, 0.5), 0.0, 0.0, 1.0, 0.0]
        case 2:
            return [1.0, 0.0, moved[0] * 0.5, 0.0, 1.0, moved[1]]
        case 3:
            return [1e7, uniform(-1, 1), -0.5e7, 1e-310, 1e7, -0.5e7 * height]
    return [uniform(-2, 2), uniform(-2, 2), uniform(-9, 40), uniform(-2, 2), uniform(-2, 2), uniform(-9, 40)]


def test_blurs_are_pillows() -> None:
    compared = changed = 0
    for number, greatest in enumerate((0.5, 2.0, 12.0)):
        for pictures, made in loaders({"type": "PillowGaussianBlur", "radius": [0.0, greatest]}):
            for index, ops, image in drawn(made):
                [first, second] = [op["PillowBlur"]["radius"] for op in ops[:2]]
                assert first[1] == second[0] == 0 and first[0] == second[1]
                expected = pictures[index].filter(ImageFilter.GaussianBlur(first[0]))
                assert same(image, expected), (number, pictures[index], ops)
                compared += 1
                changed += not same(image, pictures[index])
    assert compared == 3 * len(SIZES) * COUNT and 2 * changed > compared


def test_bicubic_rotations_are_pillows() -> None:
    for pictures, made in loaders(
        {"type": "RandomRotation", "degrees": 180, "interpolation": "Bicubic", "fill": [9, 9, 9]}
    ):
        for index, [op, *_], image in drawn(made):
            [matrix, fill] = [op["PillowAffine"][key] for key in ("matrix", "fill")]
            assert same(image, transformed(pictures[index], matrix, fill)), (pictures[index], op)


def test_bicubic_transforms_of_any_matrix_are_pillows() -> None:
    dice = random.Random(3)
    compared = 0
    for pictures, made in loaders({"type": "RandomRotation", "degrees": 9, "interpolation": "Bicubic"}):
        params = json.loads(next(made.batches()).params[0])
        for index, each in enumerate(pictures):
            matrix, fill = hostile(dice, index, each.size), [float(dice.randrange(256)) for _ in range(3)]
            fill = fill if each.mode == "RGB" else fill[:1] * 3
            params["ops"][0]["op"] = {"PillowAffine": {"matrix": matrix, "interpolation": "Bicubic", "fill": fill}}
            pixels = numpy.frombuffer(made.replay(index, json.dumps(params)), numpy.uint8)
            image = pixels.reshape(each.height, each.width, 3)
            assert same(image, transformed(each, matrix, fill)), (each, matrix)
            compared += 1
    assert compared == len(SIZES) * COUNT


@pytest.mark.parametrize(
    "transform",
    [
        v2.RandomRotation((33.75, 33.75), interpolation=BICUBIC, fill=200),
        v2.RandomRotation((90, 90), interpolation=BICUBIC, center=(3, 9)),
        v2.RandomRotation((270, 270), interpolation=BICUBIC),
        v2.RandomAffine((17.25, 17.25), scale=(1.25, 1.25), shear=(8, 8, -5, -5), interpolation=BICUBIC, fill=(1, 2, 3)),
        v2.RandomAffine((-48.875, -48.875), interpolation=BICUBIC, center=(2, 5)),
    ],
)
def test_lists_for_pil_images_have_their_pixels(transform: Any) -> None:
    """The whole way, of a list of torchvision without chance. torchvision draws floats of 32 bits, which hold these angles."""
    for width, height in SIZES:
        pictures = [picture(4 * k, (width, height)) for k in range(12)]
        made = gpufeed.DataLoader(files(pictures), [transform, v2.CenterCrop((height, width))], batch_size=12)
        images, _ = next(iter(made))
        for image, each in zip(images, pictures, strict=True):
            assert same(image.permute(1, 2, 0).numpy(), transform(each)), (transform, each)


def test_explain_says_that_bicubic_warps_are_pillows() -> None:
    for warp in (v2.RandomRotation(9, interpolation=BICUBIC), v2.RandAugment(interpolation=BICUBIC)):
        made = gpufeed.DataLoader(files([picture(1, (9, 9))]), [warp, v2.CenterCrop(9)], batch_size=1)
        assert "bicubic warps are Pillow's, to the byte" in made.explain()
        assert "a bicubic resize of v1" not in made.explain()
