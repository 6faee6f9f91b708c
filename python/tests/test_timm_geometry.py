"""timm's resizes, crops and borders, converted: timm's own classes give the same sizes and, where they draw what gpufeed drew,
the same pixels; both draw alike."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
timm = pytest.importorskip("timm.data")

from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from drawn import through_torchvision  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from two_samples import check, differ  # noqa: E402

CODE = sys.modules["timm.data.transforms"]


class Pictures:
    """Pictures of these sizes (height, width), with smooth noise."""

    def __init__(self, sizes: list[tuple[int, int]]) -> None:
        self.sizes = sizes
        self.known: dict[tuple[int, int], Any] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def picture(self, index: int) -> Any:
        height, width = self.sizes[index]
        if (height, width) not in self.known:
            noise = numpy.random.default_rng(height * 1000 + width).integers(0, 256, (height // 4 + 2, width // 4 + 2, 3), numpy.uint8)
            self.known[height, width] = Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)
        return self.known[height, width]

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return numpy.array(self.picture(index)), 0


def several(count: int, seed: int = 0, least: int = 1, most: int = 90) -> list[tuple[int, int]]:
    draws = random.Random(seed)
    return [(draws.randint(least, most), draws.randint(least, most)) for _ in range(count)]


def loaded(transforms: list[Any], sizes: list[tuple[int, int]]) -> tuple[Any, list[list[Any]]]:
    """The images as [height, width, channels], and the operations of each."""
    loader = gpufeed.DataLoader(Pictures(sizes), transforms, batch_size=len(sizes), seed=4)
    batch = next(loader.batches())
    ops = [[each["op"] for each in json.loads(text)["ops"]] for text in batch.params]
    return torch.from_dlpack(batch.images).permute(0, 2, 3, 1).numpy(), ops


def tensor(image: Any) -> Any:
    return numpy.asarray(image)


BORDERS: list[dict[str, Any]] = [{}, {"fill": 77}, {"fill": (10, 120, 240)}, {"padding_mode": "reflect"}, {"padding_mode": "edge"}]


@pytest.mark.parametrize("given", BORDERS, ids=str)
def test_center_crops_and_borders_are_timms(given: dict[str, Any]) -> None:
    for size in ((33, 20), 41):
        transform = CODE.CenterCropOrPad(size, **given)
        sizes = several(60, least=2)
        found, _ = loaded([transform], sizes)
        for index in range(len(sizes)):
            assert numpy.array_equal(found[index], tensor(transform(Pictures(sizes).picture(index)))), sizes[index]


class Scripted:
    """Stands for the module ``random``: it draws what it is told."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def randint(self, low: int, high: int) -> int:
        number = self.numbers.pop(0)
        assert low <= number <= high
        return number


@pytest.mark.parametrize("given", BORDERS, ids=str)
def test_random_crops_and_borders_are_timms(given: dict[str, Any], monkeypatch: Any) -> None:
    transform = CODE.RandomCropOrPad((33, 41), **given)
    sizes = several(80, seed=1, least=2)
    found, ops = loaded([transform], sizes)
    places = set()
    for index, each in enumerate(ops):
        pad, crop = ({}, each[0]["Crop"]) if len(each) == 1 else (each[0]["Pad"], each[1]["Crop"])
        # Of a side that is padded, timm draws what is before the image.
        drawn = [pad.get(side, 0) or crop[side] for side in ("top", "left")]
        monkeypatch.setattr(CODE, "random", Scripted([*drawn]))
        assert numpy.array_equal(found[index], tensor(transform(Pictures(sizes).picture(index)))), (sizes[index], each)
        places.add(tuple(drawn))
    assert len(places) > 40


def test_random_pads_are_timms(monkeypatch: Any) -> None:
    transform = CODE.RandomPad((50, 60), fill=(1, 2, 3))
    sizes = several(40, seed=2, most=50)
    found, ops = loaded([transform, v2.CenterCrop((50, 60))], sizes)
    for index, each in enumerate(ops):
        pad = each[0].get("Pad", {"left": 0, "top": 0})
        monkeypatch.setattr(CODE, "random", Scripted([pad["left"], pad["top"]]))
        expected = v2.functional.center_crop(transform(Pictures(sizes).picture(index)), [50, 60])
        assert numpy.array_equal(found[index], tensor(expected)), sizes[index]
    # A picture that is large enough stays as it is.
    large, _ = loaded([transform, v2.CenterCrop(50)], [(70, 80)])
    assert numpy.array_equal(large[0], tensor(v2.functional.center_crop(Pictures([(70, 80)]).picture(0), [50])))


def test_borders_are_trimmed_as_timm_trims_them() -> None:
    for border in (0, 1, 7):
        sizes = several(30, seed=3, least=15)
        found, _ = loaded([CODE.TrimBorder(border), CODE.CenterCropOrPad(60)], sizes)
        for index in range(len(sizes)):
            expected = CODE.CenterCropOrPad(60)(CODE.TrimBorder(border)(Pictures(sizes).picture(index)))
            assert numpy.array_equal(found[index], tensor(expected)), sizes[index]
    with pytest.raises(gpufeed.Error, match="nothing is left within a border of 9 pixels"):
        loaded([CODE.TrimBorder(9), CODE.CenterCropOrPad(60)], [(18, 40)])


KEEPS: list[dict[str, Any]] = [
    {},
    {"longest": 1.0},
    {"longest": 0.3},
    # Ranges of one number, of which each draw is known.
    {"random_scale_prob": 1.0, "random_scale_range": (0.7, 0.7)},
    {"random_scale_prob": 1.0, "random_scale_range": (0.3, 0.3), "random_scale_area": True},
    {"random_aspect_prob": 1.0, "random_aspect_range": (0.8, 0.8), "longest": 0.5},
    {"random_scale_prob": 1.0, "random_aspect_prob": 1.0, "random_scale_range": (1.1, 1.1), "random_aspect_range": (1.3, 1.3)},
]


@pytest.mark.parametrize("given", KEEPS, ids=str)
def test_sizes_are_timms(given: dict[str, Any]) -> None:
    for size in (64, (50, 61)):
        transform = CODE.ResizeKeepRatio(size, **given)
        sizes = several(400, seed=5, least=8, most=400)
        _, ops = loaded([transform, v2.CenterCrop(4)], sizes)
        wanted = (transform.size, transform.longest, transform.random_scale_prob, transform.random_scale_range)
        wanted += (transform.random_scale_area, transform.random_aspect_prob, transform.random_aspect_range)
        for (height, width), each in zip(sizes, ops, strict=True):
            made = [each[0]["Resize"][side] for side in ("height", "width")]
            assert made == CODE.ResizeKeepRatio.get_params(Image.new("L", (width, height)), *wanted), (height, width)


def test_sizes_are_drawn_as_timm_draws_them() -> None:
    transform = CODE.ResizeKeepRatio(
        100, random_scale_prob=0.5, random_scale_range=(0.3, 1.0), random_scale_area=True, random_aspect_prob=0.7
    )
    count = 20_000

    def ours(transform: Any) -> dict[str, Any]:
        loader = gpufeed.DataLoader(Pictures([(60, 80)] * count), [transform, v2.CenterCrop(2)], batch_size=1000, seed=9)
        ops = [json.loads(text)["ops"][0]["op"]["Resize"] for batch in loader.batches() for text in batch.params]
        sides = numpy.array([(op["height"], op["width"]) for op in ops])
        return {"height": sides[:, 0], "width": sides[:, 1], "ratio": sides[:, 1] / sides[:, 0]}

    CODE.random.seed(4)
    image = Image.new("L", (80, 60))
    given = (transform.size, 0.0, 0.5, (0.3, 1.0), True, 0.7, transform.random_aspect_range)
    sides = numpy.array([CODE.ResizeKeepRatio.get_params(image, *given) for _ in range(count)])
    theirs = {"height": sides[:, 0], "width": sides[:, 1], "ratio": sides[:, 1] / sides[:, 0]}
    check(ours(transform), theirs)
    # The comparison rejects a transform that is a little different.
    transform.random_aspect_prob = 0.6
    assert any(differ(ours(transform)[name], theirs[name]) for name in theirs)


def test_places_are_drawn_as_timm_draws_them() -> None:
    count = 20_000
    loader = gpufeed.DataLoader(Pictures([(40, 20)] * count), [CODE.RandomCropOrPad(30)], batch_size=1000, seed=9)
    ops = [[each["op"] for each in json.loads(text)["ops"]] for batch in loader.batches() for text in batch.params]
    ours = {"top": [each[1]["Crop"]["top"] for each in ops], "left": [each[0]["Pad"]["left"] for each in ops]}
    CODE.random.seed(4)
    drawn = [CODE.RandomCropOrPad.get_params(Image.new("L", (20, 40)), (30, 30)) for _ in range(count)]
    check(ours, {"top": [top for top, _ in drawn], "left": [-left for _, left in drawn]})


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
EVAL: dict[str, dict[str, Any]] = {
    "border": {"crop_mode": "border", "crop_pct": 0.9},
    "border, whole": {"crop_mode": "border", "crop_pct": 1.0},
    "squash": {"crop_mode": "squash", "crop_pct": 0.9},
    "not square": {"input_size": (3, 40, 56), "crop_pct": 0.95},
    "trimmed": {"crop_mode": "border", "crop_border_pixels": 3},
}


@pytest.mark.parametrize("name", EVAL)
def test_lists_for_evaluation_are_timms_within_a_level(name: str) -> None:
    """timm resizes by Pillow, which rounds otherwise by a level of 255."""
    transform = timm.create_transform(**{"input_size": 48} | EVAL[name])
    sizes = several(24, seed=7, least=50, most=150)
    loader = gpufeed.DataLoader(Pictures(sizes), transform, batch_size=len(sizes))
    found = torch.from_dlpack(next(loader.batches()).images)
    expected = torch.stack([transform(Pictures(sizes).picture(index)) for index in range(len(sizes))])
    levels = (found - expected).abs() * torch.tensor(STD)[:, None, None] * 255
    print(f"{name}: {(levels > 0.5).double().mean():.2%} of the levels differ")
    assert found.shape == expected.shape and levels.max() <= 1.01


@pytest.mark.parametrize("mode", ["rkrc", "rkrr"])
def test_lists_for_training_are_their_draws(mode: str) -> None:
    transform = timm.create_transform(32, is_training=True, train_crop_mode=mode, color_jitter=None, interpolation="random")
    sizes = several(40, seed=8, least=20, most=90)
    loader = gpufeed.DataLoader(Pictures(sizes), transform.transforms[:3], batch_size=len(sizes), seed=3)
    batch = next(loader.batches())
    filters = set()
    for found, text, index in zip(torch.from_dlpack(batch.images), batch.params, batch.ids, strict=True):
        params = json.loads(text)
        filters.add(params["ops"][0]["op"]["Resize"]["interpolation"])
        image = torch.from_numpy(numpy.asarray(Pictures(sizes).picture(index)).copy()).permute(2, 0, 1)
        assert torch.equal(found, through_torchvision(params, image, None))
    assert filters == {"Bilinear", "Bicubic"}
    made = convert(transform).recipe["transform"]
    assert made[1]["type"] == {"rkrc": "CenterCropOrPad", "rkrr": "RandomCropOrPad"}[mode]
    assert [each["random_scale_range"] for each in made[0]["transforms"]] == [[0.8, 1.0]] * 2


def test_what_is_refused() -> None:
    for transform, words in [
        (CODE.ResizeKeepRatio(8, interpolation="lanczos"), "ResizeKeepRatio cannot be .*lanczos"),
        (CODE.ResizeKeepRatio(8, longest=2.0), r"ResizeKeepRatio cannot be .*longest: 2; 0 to 1 work"),
        (CODE.CenterCropOrPad(8, fill=300), "CenterCropOrPad cannot be .*fill: 300; 0 to 255 work"),
    ]:
        with pytest.raises(UnsupportedTransform, match=rf"^transforms\[0\]: {words}"):
            convert([transform])
