"""Code of a user's own in a list: what does the same as known transforms is taken as these, and all else is refused."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

import torchvision.transforms as v1  # noqa: E402
from PIL import Image  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402

CROP = v2.CenterCrop(8)
FLOAT = v2.ToDtype(torch.float32, scale=True)
CROPPED = {"type": "CenterCrop", "size": 8}
TO_FLOAT = {"type": "ToDtype"}


def normalize(mean: list[float], std: list[float]) -> dict[str, Any]:
    return {"type": "Normalize", "mean": mean, "std": std}


def double(x: Any) -> Any:
    return x * 2 - 1


PLAIN: list[tuple[Callable[[Any], Any], dict[str, Any] | None]] = [
    (double, normalize([0.5] * 3, [0.5] * 3)),
    (lambda x: (x - 0.5) / 0.25, normalize([0.5] * 3, [0.25] * 3)),
    (lambda x: x - torch.tensor([0.1, 0.2, 0.3])[:, None, None], normalize([0.1, 0.2, 0.3], [1.0] * 3)),
    (lambda x: x.mul_(4), normalize([0.0] * 3, [0.25] * 3)),
    (functools.partial(torch.mul, other=2), normalize([0.0] * 3, [0.5] * 3)),
    (lambda x: x, None),
]


@pytest.mark.parametrize(("function", "expected"), PLAIN)
@pytest.mark.parametrize("wrap", [v1.Lambda, v2.Lambda, lambda function: function])
def test_functions_of_floats_that_scale_are_normalize(function: Any, expected: Any, wrap: Any) -> None:
    converted = convert([CROP, FLOAT, wrap(function)])
    assert converted.recipe["transform"] == [CROPPED, TO_FLOAT, *([expected] if expected else [])]
    assert [note for note in converted.notes if note.startswith("transforms[2]: ") and "probe images" in note]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 255,
        lambda x: x.float().div(255.0),
        v1.functional.to_tensor,
    ],
)
def test_functions_of_bytes_that_divide_are_to_dtype(function: Any) -> None:
    assert convert([CROP, v2.Lambda(function)]).recipe["transform"] == [CROPPED, TO_FLOAT]


def test_functions_that_do_nothing_to_colors() -> None:
    for function in [lambda image: image.convert("RGB"), lambda x: x, lambda x: x.contiguous()]:
        assert convert([v1.Lambda(function), CROP]).recipe["transform"] == [CROPPED]


def drawn(x: Any) -> Any:
    return x * random.random()


def drawn_by_numpy(x: Any) -> Any:
    return x if numpy.random.rand() < 2 else 0


def drawn_by_torch(x: Any) -> Any:
    return x + 0 * torch.randn_like(x)


_OWN = numpy.random.default_rng(3)


def seldom(x: Any) -> Any:
    return x if _OWN.random() < 0.9 else x * 2


@pytest.mark.parametrize(
    "function",
    [
        len,
        drawn,
        drawn_by_numpy,
        drawn_by_torch,
        lambda x: x.clamp(0, 1),
        lambda x: x * 0,
        lambda x: 1 - x,
        lambda x: x.half(),
        lambda x: x[:1],
        lambda x: x.flip(-1),
        lambda x: x if x.shape[-1] < 200 else x[..., :200],
        lambda x: x * torch.linspace(1, 2, x.shape[-1]),
        lambda x: x.sqrt() ** 2,
        seldom,
    ],
)
def test_other_functions_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedTransform, match=r"^transforms\[2\]: .* is not supported \(.*own code") as refused:
        convert([CROP, FLOAT, function])
    assert len(str(refused.value)) <= 300


def on_white(image: Any) -> Any:
    if image.mode != "RGBA":
        return image.convert("RGB")
    white = Image.new("RGB", image.size, (255, 255, 255))
    white.paste(image, mask=image.getchannel("A").point(lambda alpha: alpha // 2))
    return white


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.float(),
        lambda image: image.convert("L"),
        lambda image: image if max(image.size) < 600 else image.resize((600, 600)),
        lambda x: 255 - x,
        lambda image: image if image.width * image.height < 4_000_000 else image.resize((2000, 2000)),
        lambda x: x if isinstance(x, torch.Tensor) else v1.functional.to_tensor(x),
        # Of a tensor it makes something else, without an error.
        lambda x: torch.as_tensor(numpy.array(x)).permute(2, 0, 1) / 255,
        lambda image: image.crop(image.getbbox() or (0, 0, *image.size)),
        on_white,
        lambda x: x.expand(3, -1, -1),
    ],
)
def test_other_functions_of_bytes_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedTransform, match=r"^transforms\[0\]: function is not supported"):
        convert([function, CROP])


class Preset:
    """As the presets of torchvision's references are."""

    def __init__(self) -> None:
        self.transforms = v1.Compose([v1.RandomResizedCrop(8), v1.RandomHorizontalFlip(), v1.ToTensor()])

    def __call__(self, image: Any) -> Any:
        return self.transforms(image)


class More(Preset):
    def __call__(self, image: Any) -> Any:
        return 2 * self.transforms(image)


class Sometimes(Preset):
    def __call__(self, image: Any) -> Any:
        made = self.transforms(image)
        return made if torch.rand(1) < 0.999 else 0 * made


class Squared(Preset):
    """As LLaVA's preparation: a square of it, and then the list."""

    def __call__(self, image: Any) -> Any:
        side = max(image.size)
        square = Image.new("RGB", (side, side))
        square.paste(image)
        return self.transforms(square)


class Crops:
    """As DINO's DataAugmentationDINO is."""

    def __init__(self) -> None:
        self.first, self.second = v1.Compose([v1.CenterCrop(8)]), v1.Compose([v1.CenterCrop(4)])

    def __call__(self, image: Any) -> Any:
        return [self.first(image), self.second(image)]


class Twice:
    """As MoCo's TwoCropsTransform is."""

    def __init__(self) -> None:
        self.base_transform = v1.Compose([v1.CenterCrop(8)])

    def __call__(self, image: Any) -> Any:
        return [self.base_transform(image), self.base_transform(image)]


def test_presets_that_run_their_list() -> None:
    crop, flip = convert(Preset().transforms).recipe["transform"][:2]
    assert (crop["type"], flip["type"]) == ("RandomResizedCrop", "RandomHorizontalFlip")
    for given in (Preset(), [Preset()]):
        assert convert(given).recipe["transform"] == [crop, flip, TO_FLOAT]
    loader = gpufeed.DataLoader(Jpegs(4), Preset(), batch_size=4)
    assert next(iter(loader))[0].shape == (4, 3, 8, 8)
    assert "Preset is taken as its list of transforms" in str(loader.explain())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (More(), "it may do other things than its list, it.transforms; for that list alone pass it.transforms"),
        (Squared(), "it may do other things than its list"),
        (Sometimes(), "it may do other things than its list"),
        (Twice(), "it may do other things than its list, it.base_transform; .*; for two views by it, views=2, too"),
        (Crops(), r'it holds 2 lists of transforms \(it.first, it.second\); give each .* groups={"first": \(it.first, 1\)'),
    ],
)
def test_objects_that_do_more_are_refused_with_their_lists(given: Any, says: str) -> None:
    with pytest.raises(UnsupportedTransform, match=f"^transforms: {type(given).__name__} is not supported: {says}") as refused:
        convert(given)
    assert len(str(refused.value)) <= 300


def test_no_random_numbers_of_the_users_change() -> None:
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    expected = random.random(), numpy.random.rand(), float(torch.rand(1))
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    convert(Preset())
    convert([FLOAT, v2.Lambda(double)])
    assert (random.random(), numpy.random.rand(), float(torch.rand(1))) == expected
