"""timm's ``RandomErasing``, converted: timm's own code writes the same pixels where it draws what gpufeed drew, and both draw
alike."""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
timm = pytest.importorskip("timm.data")

from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from drawn import normals, through_torchvision  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from test_drawn import png_files  # noqa: E402
from two_samples import check, differ  # noqa: E402

CODE = sys.modules["timm.data.random_erasing"]
IMAGES = 16
ENDS = [v2.CenterCrop(32), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]


def erasing(mode: str, **given: Any) -> Any:
    return timm.random_erasing.RandomErasing(**{"probability": 0.75, "mode": mode, "device": "cpu"} | given)


class Scripted:
    """Stands for the module ``random``: it draws what it is told."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def random(self) -> float:
        return self.numbers.pop(0)

    def uniform(self, *_: float) -> float:
        return self.numbers.pop(0)

    def randint(self, low: int, high: int) -> int:
        number = int(self.numbers.pop(0))
        assert low <= number <= high
        return number


def through_timm(transform: Any, image: Any, rectangles: list[dict[str, Any]], monkeypatch: Any) -> Any:
    """What timm's code makes of an image where it draws these rectangles."""
    channels, height, width = image.shape
    if not rectangles:
        return image
    numbers = [0.0] + ([len(rectangles)] if transform.min_count != transform.max_count else [])
    pixels = []
    for each in rectangles:
        h, w = each["height"], each["width"]
        numbers += [h * w * len(rectangles) / (height * width), math.log(h / w), each["top"], each["left"]]
        value = each["value"]
        noise = "Noise" in value
        pixels.append(normals(value["Noise"]["key"], (channels, h, w)) if noise else torch.tensor(value["Color"])[:, None, None])
    script = Scripted(numbers)
    monkeypatch.setattr(CODE, "random", script)
    monkeypatch.setattr(CODE, "_get_pixels", lambda *_, **__: pixels.pop(0))
    made = transform(image.clone())
    assert not script.numbers and not pixels
    return made


@pytest.mark.parametrize("mode", ["const", "rand", "pixel"])
@pytest.mark.parametrize("counts", [(1, None), (3, 3), (1, 4)])
def test_pixels_are_timms(mode: str, counts: tuple[int, int | None], monkeypatch: Any) -> None:
    transform = erasing(mode, min_count=counts[0], max_count=counts[1], max_area=0.5)
    images, files = png_files(IMAGES)
    loader = gpufeed.DataLoader(files, [*ENDS, transform], batch_size=IMAGES, shuffle=True, seed=5)
    batch = next(loader.batches())
    several = set()
    for found, text, index in zip(torch.from_dlpack(batch.images), batch.params, batch.ids, strict=True):
        params = json.loads(text)
        rectangles = [each["op"]["Erase"] for each in params["ops"] if "Erase" in each["op"]]
        params["ops"] = [each for each in params["ops"] if "Erase" not in each["op"]]
        several.add(len(rectangles))
        expected = through_timm(transform, through_torchvision(params, images[index], 2), rectangles, monkeypatch)
        assert (found - expected).abs().max() < 2e-6
        for each in rectangles:
            if mode == "const":
                assert each["value"] == {"Color": [0.0, 0.0, 0.0]}
    assert 0 in several and max(several) == (counts[1] or counts[0])
    assert mode != "rand" or len({json.dumps(each["value"]) for each in rectangles}) == len(rectangles)


class Recorder:
    """Stands for an image: remembers where it is written to."""

    def __init__(self) -> None:
        self.rectangles: list[tuple[int, ...]] = []

    def __setitem__(self, key: Any, _: Any) -> None:
        _, rows, columns = key
        self.rectangles.append((rows.start, columns.start, rows.stop - rows.start, columns.stop - columns.start))


class Same:
    """The same image as often as it is asked for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.image = numpy.zeros((48, 64, 3), numpy.uint8)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.image, 0


DRAWS = 20_000


def statistics(all_: list[list[tuple[int, ...]]]) -> dict[str, Any]:
    """Numbers of each image, of which those of one name are independent."""
    firsts = numpy.array([each[0] for each in all_ if each])
    named = {name: firsts[:, axis] for axis, name in enumerate(("top", "left", "height", "width"))}
    lasts = [each[-1][2] * each[-1][3] for each in all_ if each]
    return named | {"count": [len(each) for each in all_], "area of the last": lasts}


def ours(transform: Any) -> dict[str, Any]:
    loader = gpufeed.DataLoader(Same(DRAWS), [v2.CenterCrop((48, 64)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), transform], batch_size=500, seed=2)
    found = []
    for batch in loader.batches():
        for text in batch.params:
            ops = [each["op"]["Erase"] for each in json.loads(text)["ops"] if "Erase" in each["op"]]
            found.append([tuple(op[name] for name in ("top", "left", "height", "width")) for op in ops])
    assert len(found) == DRAWS
    return statistics(found)


def theirs(transform: Any, monkeypatch: Any) -> dict[str, Any]:
    monkeypatch.setattr(CODE, "_get_pixels", lambda *_, **__: None)
    CODE.random.seed(11)
    found = []
    for _ in range(DRAWS):
        image = Recorder()
        transform._erase(image, 3, 48, 64, torch.float32)
        # A side that rounds to 0 erases nothing.
        found.append([each for each in image.rectangles if each[2] and each[3]])
    return statistics(found)


@pytest.mark.skipif("GPUFEED_FULL" not in os.environ, reason="takes long: only with GPUFEED_FULL=1")
def test_rectangles_are_drawn_as_timm_draws_them(monkeypatch: Any) -> None:
    for given in ({"min_count": 2, "max_count": 5, "max_area": 0.9}, {}, {"max_count": 3, "min_area": 0.3, "max_area": 0.6}):
        transform = erasing("const", **given)
        check(ours(transform), theirs(transform, monkeypatch))
    # The comparison rejects a transform that is a little different.
    other = theirs(erasing("const", max_count=3, min_area=0.36, max_area=0.6), monkeypatch)
    assert any(differ(ours(transform)[name], other[name]) for name in other)


def test_colors_are_normal() -> None:
    loader = gpufeed.DataLoader(
        Same(7000),
        [v2.CenterCrop((48, 64)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), erasing("rand", probability=1.0)],
        batch_size=500,
        seed=2,
    )
    params = [json.loads(text)["ops"][-1]["op"]["Erase"]["value"]["Color"] for batch in loader.batches() for text in batch.params]
    colors = numpy.array(params)
    for channel in range(3):
        check({"color": colors[:, channel]}, {"color": numpy.random.default_rng(channel).normal(size=20_000)})
    # Channels have colours of their own.
    assert numpy.abs(numpy.corrcoef(colors.T) - numpy.eye(3)).max() < 5 / math.sqrt(7000)


def test_lists_of_create_transform_and_what_is_refused() -> None:
    for mode, count in (("rand", 1), ("const", 2), ("pixel", 3)):
        made = convert(timm.create_transform(224, is_training=True, re_prob=0.25, re_mode=mode, re_count=count, re_num_splits=2))
        last = made.recipe["transform"][-1]
        assert last.get("count", [1, 1]) == [1, count]
        assert last["value"] == {"rand": "random_color", "const": 0.0, "pixel": "random"}[mode]
    with pytest.raises(UnsupportedTransform, match=r"^transforms\[0\]: RandomErasing cannot be converted: mode='rand' needs floats"):
        convert([erasing("rand")])
    with pytest.raises(UnsupportedTransform, match=r"RandomErasing cannot be converted: .*count: \(1, 101\)"):
        convert([*ENDS, erasing("const", max_count=101)])
