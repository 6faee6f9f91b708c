"""Classes of published code that do one known thing to an image: their effect, probability and range are found exactly, or they are refused."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import Image, ImageFilter, ImageOps  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from gpufeed import effects  # noqa: E402
from gpufeed.draws import Draws  # noqa: E402
from gpufeed.scripted import NUMPY, PYTHON, STEPS, TORCH, Place, Scripted, Strange, ordinary  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from published import self_supervised as own  # noqa: E402

LEAST, GREATEST = 0.1, 2.0


def blur(p: float, least: float = LEAST, greatest: float = GREATEST) -> list[dict[str, Any]]:
    made = {"type": "PillowGaussianBlur", "radius": [least, greatest]}
    return [made if p == 1 else {"type": "RandomApply", "p": p, "transforms": [made]}]


def found(code: Any) -> Any:
    """The operators of recipes, or torchvision's objects, that code is taken as."""
    made = effects.same_as(code)
    return made and [each.operator if isinstance(each, effects.Made) else each for each in made[0]]


class BlurOfTorch(own.BlurByChance):
    """The number that decides is compared from above, as in DINOv2 and Kornia, and torch draws all."""

    def __call__(self, image: Any) -> Any:
        if torch.rand(1).item() < 1 - self.p:
            return image
        return image.filter(ImageFilter.GaussianBlur(torch.empty(1).uniform_(0.1, 2.0).item()))


class BlurDrawnFirst(own.BlurByChance):
    """The radius is drawn whether it is needed or not."""

    def __call__(self, image: Any) -> Any:
        radius = random.uniform(*self.radii)
        return image if random.random() >= self.p else image.filter(ImageFilter.GaussianBlur(radius))


@pytest.mark.parametrize("p", [0.1, 1 / 3, 1.0])
@pytest.mark.parametrize("kind", [own.BlurByChance, own.BlurOfNumpy, BlurOfTorch, BlurDrawnFirst])
def test_blurs(kind: Any, p: float) -> None:
    made = found(kind(p))
    # A third is no short decimal. torch draws floats of 32 bits.
    near = 0.0 if p != 1 / 3 else 1e-6 if kind is BlurOfTorch else 1e-14
    assert made == blur(p) or abs(made[0]["p"] - p) <= near


def test_blurs_of_other_ranges_and_generators() -> None:
    assert found(own.BlurByChance(0.0)) == []
    assert found(own.Blur()) == blur(1.0)
    assert found(own.Blur((0.5, 0.5))) == blur(1.0, 0.5, 0.5)
    assert found(own.BlurByChance(0.25, 0.2, 3.7)) == blur(0.25, 0.2, 3.7)
    assert found(own.BlurOfBoth(0.4)) == blur(0.4)
    assert found(lambda image: image.filter(ImageFilter.GaussianBlur(2))) == blur(1.0, 2.0, 2.0)


def test_other_effects() -> None:
    for code, expected in [
        (own.SolarizeByChance(0.2), v2.RandomSolarize(128, 0.2)),
        (own.SolarizeByChance(0.2, of_numpy=True), v2.RandomSolarize(128, 0.2)),
        (own.Solarize(), v2.RandomSolarize(128, 1.0)),
        (lambda image: ImageOps.solarize(image, 77), v2.RandomSolarize(77, 1.0)),
        (own.Equalize(), v2.RandomEqualize(1.0)),
        (own.GrayByChance(0.3), v2.RandomGrayscale(0.3)),
        (ImageOps.invert, v2.RandomInvert(1.0)),
        (lambda image: ImageOps.mirror(image) if random.random() < 0.5 else image, v2.RandomHorizontalFlip(0.5)),
    ]:
        (made,) = found(code)
        assert repr(made) == repr(expected)


class Drawn(own.Blur):
    """Draws the radius of another distribution."""

    def __call__(self, image: Any) -> Any:
        return image.filter(ImageFilter.GaussianBlur(0.1 + random.random() ** 2))


class OfTwo(own.Blur):
    def __call__(self, image: Any) -> Any:
        return image.filter(ImageFilter.GaussianBlur(random.choice([0.5, 1.5])))


class Once(own.Blur):
    """Counts its images."""

    calls = 0

    def __call__(self, image: Any) -> Any:
        self.calls += 1
        return image if self.calls % 1000 == 0 else super().__call__(image)


class OfSmall(own.Blur):
    def __call__(self, image: Any) -> Any:
        return image if image.width > 1200 else super().__call__(image)


class Twice(own.Blur):
    def __call__(self, image: Any) -> Any:
        return super().__call__(super().__call__(image))


class AndMore(own.Blur):
    def __call__(self, image: Any) -> Any:
        return ImageOps.mirror(super().__call__(image))


class Box(own.Blur):
    def __call__(self, image: Any) -> Any:
        return image.filter(ImageFilter.BoxBlur(random.uniform(0.1, 2.0)))


class OwnGenerator(own.Blur):
    def __init__(self) -> None:
        self.generator = random.Random(3)

    def __call__(self, image: Any) -> Any:
        return image.filter(ImageFilter.GaussianBlur(self.generator.uniform(0.1, 2.0)))


class OneOfTwo(own.Blur):
    """The same number decides and gives the radius."""

    def __call__(self, image: Any) -> Any:
        drawn = random.random()
        return image.filter(ImageFilter.GaussianBlur(drawn)) if drawn < 0.5 else image


class RandomThreshold(own.Solarize):
    def __call__(self, image: Any) -> Any:
        return ImageOps.solarize(image, random.uniform(100, 200))


class Rejects(own.Blur):
    """Draws until a number is neither small nor large, as normal numbers are drawn."""

    def __call__(self, image: Any) -> Any:
        numpy.random.normal(0, 1, (9, 9))
        while not 0.1 < (radius := random.random()) < 0.9:
            pass
        return image.filter(ImageFilter.GaussianBlur(radius))


@pytest.mark.parametrize("kind", [Rejects, RandomThreshold, Drawn, OfTwo, Once, OfSmall, Twice, AndMore, Box, OwnGenerator, OneOfTwo, own.BlurOfArrays])
def test_what_does_more_is_refused(kind: Any) -> None:
    assert found(kind()) is None
    with pytest.raises(UnsupportedTransform, match=rf"^transforms\[1\]: {kind.__name__} is not supported: ") as refused:
        convert([v1.RandomResizedCrop(8), kind(), v1.ToTensor()])
    assert len(str(refused.value)) <= 300


def test_where_images_are_no_more_pillows() -> None:
    solarize = own.SolarizeByChance(0.5)
    assert convert([v1.CenterCrop(8), solarize]).recipe["transform"][1] == {"type": "RandomSolarize", "threshold": 128, "p": 0.5}
    nested = convert([v1.CenterCrop(8), v1.RandomApply([solarize], p=0.25)]).recipe["transform"][1]
    assert (nested["type"], nested["p"], nested["transforms"][0]["type"]) == ("RandomApply", 0.25, "RandomSolarize")
    for before in (v2.ToImage(), v1.PILToTensor(), v2.ToDtype(torch.float32, scale=True)):
        with pytest.raises(UnsupportedTransform, match="SolarizeByChance is not supported"):
            convert([before, solarize])
    assert "is taken as RandomSolarize(128, p=0.5)" in str(convert([v1.CenterCrop(8), solarize]).notes)


class OtherArguments(v1.ColorJitter):
    """As code has it that gives a class of torchvision its own defaults."""

    def __init__(self, strength: float) -> None:
        super().__init__(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)


class OtherMethod(v1.ColorJitter):
    def forward(self, image: Any) -> Any:
        return image.rotate(3)


def test_subclasses() -> None:
    jitter = convert([v1.CenterCrop(8), v1.ColorJitter(0.4, 0.4, 0.4, 0.1)])
    assert convert([v1.CenterCrop(8), OtherArguments(0.5)]).recipe == jitter.recipe
    made = convert([own.BlurOfRandomApply(p=0.1), v1.CenterCrop(8)]).recipe["transform"][0]
    assert (made["type"], made["p"], made["transforms"][0]["type"]) == ("RandomApply", 0.9, "GaussianBlur")
    hooked = OtherArguments(0.5)
    hooked.register_forward_hook(lambda *_: None)
    for given, says in [(OtherMethod(), "with a forward of its own"), (hooked, "with a state of its own")]:
        with pytest.raises(UnsupportedTransform, match=f"is a subclass of ColorJitter {says}, which may do anything; v2.ColorJitter"):
            convert(given)


def test_scripted_numbers_are_what_the_generators_draw() -> None:
    steps = {Place(PYTHON, 1): 2**51, Place(NUMPY, 0): 2**52, Place(TORCH, 2): 2**22}
    for others, expected in ((0.0, 0.0), (1.0, 1.0)):
        with Scripted(steps, others) as scripted:
            assert [random.random(), random.random(), random.uniform(2, 4)] == pytest.approx([expected, 0.25, 2 + 2 * expected])
            assert [*numpy.random.rand(2)] == pytest.approx([0.5, expected])
            assert [float(torch.rand(1)) for _ in range(3)] == pytest.approx([expected, expected, 0.25], abs=1e-7)
            assert {place.generator: place.index for place in scripted.places()} == {PYTHON: 2, NUMPY: 1, TORCH: 2}
    with Scripted({}) as scripted:
        random.getrandbits(32)
        with pytest.raises(Strange):
            scripted.places()
    with Draws(5):
        told = ordinary([Place(PYTHON, 1), Place(NUMPY, 0), Place(TORCH, 2)])
        drawn = [random.random() for _ in range(2)][1], numpy.random.rand(), [float(torch.rand(1)) for _ in range(3)][2]
    assert [step / STEPS[place.generator] for place, step in told.items()] == [*drawn]


def test_no_random_numbers_of_the_users_change() -> None:
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    before = random.getstate(), numpy.random.get_state()[1].tobytes(), torch.get_rng_state()
    found(own.BlurByChance(0.5))
    after = random.getstate(), numpy.random.get_state()[1].tobytes(), torch.get_rng_state()
    assert before[:2] == after[:2] and torch.equal(before[2], after[2])


def test_the_probe_is_pillows() -> None:
    """What code gets is an image of Pillow in all that such code asks of it."""

    def code(image: Any) -> Any:
        assert isinstance(image, Image.Image) and image.mode == "RGB" and image.getpixel((0, 0)) is not None
        return ImageOps.solarize(Image.fromarray(numpy.asarray(image)))

    (made,) = found(code)
    assert repr(made) == repr(v2.RandomSolarize(128, 1.0))
