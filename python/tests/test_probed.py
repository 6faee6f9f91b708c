"""Code of a user's own in a list: what does the same as known transforms is taken as these, and all else is refused."""

from __future__ import annotations

import functools
import gc
import os
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

import torchvision.transforms as v1  # noqa: E402
from PIL import Image, ImageFilter  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import probed, remembered  # noqa: E402
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
        lambda x: x.half() * 2,
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


class Later(Crops):
    def __call__(self, image: Any) -> Any:
        return [view.rotate(90) for view in super().__call__(image)]


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
        (Twice(), "it makes 2 views by one list; pass transforms=it.base_transform, views=2 in its place"),
        (Crops(), "it makes 2 views: 1 by it.first, 1 by it.second; pass groups=it in its place"),
        (Later(), r'it holds 2 lists of transforms \(it.first, it.second\); give each .* groups={"first": \(it.first, 1\)'),
    ],
)
def test_objects_that_do_more_are_refused_with_their_lists(given: Any, says: str) -> None:
    with pytest.raises(UnsupportedTransform, match=f"^transforms: {type(given).__name__} is not supported: {says}") as refused:
        convert(given)
    assert len(str(refused.value)) <= 300


def test_conversions_of_floats() -> None:
    for function, dtype in [(lambda x: x.half(), "F16"), (lambda x: x.to(torch.bfloat16), "BF16")]:
        assert convert([CROP, FLOAT, function]).recipe == convert([CROP, FLOAT]).recipe | {"output": {"layout": "Nchw", "dtype": dtype}}
    with pytest.raises(UnsupportedTransform, match="ToDtype is not the last transform: Normalize follows"):
        convert([CROP, FLOAT, lambda x: x.half(), v2.Normalize([0.5], [0.5])])


def test_arrays_keep_the_order_of_channels() -> None:
    converted = convert([CROP, numpy.array, v1.ToTensor()])
    assert converted.recipe["transform"] == [CROPPED, TO_FLOAT] and "layout='nhwc'" in str(converted.notes)


TRIPLED = {"type": "Grayscale", "num_output_channels": 3}


@pytest.mark.parametrize(
    "function",
    [lambda x: x.repeat(3, 1, 1), lambda x: x.expand(3, -1, -1), lambda x: torch.cat([x, x, x]), lambda x: torch.cat([x] * 3, 0)],
)
def test_functions_that_make_three_channels_of_one(function: Any) -> None:
    for given, channels in [([CROP, FLOAT, function], 1), ([CROP, v2.Grayscale(1), FLOAT, v2.Lambda(function)], None)]:
        assert convert(given, channels=channels).recipe["transform"][-1] == TRIPLED
    assert convert([v2.ToImage(), function, CROP], channels=1).recipe["transform"] == [TRIPLED, CROPPED]
    for channels, says in [(None, r"makes three channels of one; for gray images v2.Grayscale\(3\)"), (3, "is not supported")]:
        if channels == 3 and function(torch.zeros(3, 2, 2)).shape[0] == 3:
            # expand leaves colour images as they are.
            assert convert([CROP, FLOAT, function], channels=3).recipe == convert([CROP, FLOAT]).recipe
            continue
        with pytest.raises(UnsupportedTransform, match=rf"^transforms\[2\]: function {says}"):
            convert([CROP, FLOAT, function], channels=channels)


class Gray:
    """A data set that promises gray images."""

    channels = 1

    def __init__(self) -> None:
        self.images = [Image.fromarray(numpy.random.RandomState(seed).randint(0, 256, (8, 8)).astype(numpy.uint8)) for seed in range(4)]

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return self.images[index], index


def test_gray_images_as_torch_has_them() -> None:
    repeat = v1.Lambda(lambda x: x.repeat(3, 1, 1))
    for steps in ([v1.ToTensor(), repeat], [v1.Lambda(lambda x: x.convert("RGB")), v1.ToTensor()], [v2.RGB(), v1.ToTensor()]):
        given = v1.Compose([v1.CenterCrop(8), *steps, v1.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])])
        images, _ = next(iter(gpufeed.DataLoader(Gray(), given, batch_size=4)))
        expected = torch.stack([given(image) for image in Gray().images])
        assert images.shape == (4, 3, 8, 8) and (images - expected).abs().max() < 1e-6
        grouped = next(iter(gpufeed.DataLoader(Gray(), groups={"one": (given, 1)}, batch_size=4)))["one"]
        assert torch.equal(grouped, images)


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


class Counts:
    """Does nothing to its first images, and counts them."""

    def __init__(self) -> None:
        self.images = 0

    def __call__(self, image: Any) -> Any:
        self.images += 1
        return image if self.images < 10_000 else image.rotate(90)


class SeldomOther:
    """Looks at the image, or at what is no random number of a generator that is seeded."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, image: Any) -> Any:
        if self.kind == "large" and max(image.size) > 2048:
            image.thumbnail((64, 64))
        if self.kind == "alpha" and image.mode == "RGBA":
            return on_white(image)
        if self.kind == "dark" and numpy.asarray(image).mean() < 40:
            return image.point(lambda level: 2 * level)
        if self.kind == "system" and os.urandom(2) == b"\1\2":
            return image.rotate(90)
        return image


class Switched(Preset):
    on = False

    def __call__(self, image: Any) -> Any:
        return self.transforms(image.rotate(90) if self.on else image)


class LargerFirst(Preset):
    def __call__(self, image: Any) -> Any:
        return self.transforms(image.resize((500, 500)) if max(image.size) > 2000 else image)


SWITCH = {"on": False}
SEEN = [0]


def switched(x: Any) -> Any:
    return x * 3 if SWITCH["on"] else x


def counted(x: Any) -> Any:
    SEEN[0] += 1
    return x if SEEN[0] < 10_000 else x * 3


class Scale:
    by = 1.0

    def scaled(self, x: Any) -> Any:
        return x * self.by


def test_what_may_do_other_things_later_is_not_taken() -> None:
    for given in [Counts(), *(SeldomOther(kind) for kind in ("large", "alpha", "dark", "system", "nothing"))]:
        with pytest.raises(UnsupportedTransform, match=rf"^transforms\[0\]: {type(given).__name__} is not supported"):
            convert([given, CROP])
    assert Counts().images == 0
    for given in (Switched(), LargerFirst()):
        with pytest.raises(UnsupportedTransform, match="it may do other things than its list"):
            convert(given)
    on = [False]
    for function in (switched, counted, lambda x: x * 3 if on[0] else x, Scale().scaled, lambda x: x.clamp(-5, 5)):
        with pytest.raises(UnsupportedTransform, match="own code, and no scaling"):
            convert([CROP, FLOAT, function])
    assert SEEN == [0], "what is not settled is not tried"
    counting = Counts()
    with pytest.warns(UserWarning, match=r"transforms\[0\]: Counts runs in Python"):
        gpufeed.DataLoader(Jpegs(4), [counting, CROP], batch_size=4)
    assert counting.images == 0


def test_what_was_found_holds_as_long_as_the_state() -> None:
    class Blurs:
        def __init__(self) -> None:
            self.radius = 1.0

        def __call__(self, image: Any) -> Any:
            return image.filter(ImageFilter.GaussianBlur(self.radius))

    blurs = Blurs()
    first = probed.same_as(blurs, False, False)
    assert probed.same_as(blurs, False, False) is first and first is not None and "radius=1 to 1" in first[1]
    blurs.radius = 2.0
    second = probed.same_as(blurs, False, False)
    assert second is not None and "radius=2 to 2" in second[1]
    known = id(blurs)
    assert known in remembered._FOUND
    del blurs
    gc.collect()
    assert known not in remembered._FOUND
