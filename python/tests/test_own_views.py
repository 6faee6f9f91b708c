"""Objects that make several views: which of their lists makes which is found, as groups or for the error, or they are refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import ImageOps  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.own_views import groups_of, views_of  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402
from published import self_supervised as own  # noqa: E402


def crop(size: int, *more: Any) -> Any:
    return v1.Compose([v1.RandomResizedCrop(size), *more, v1.ToTensor()])


class Views:
    """Two views by one list, and a third by another that differs in few of them."""

    def __init__(self) -> None:
        self.plain, self.solarized = crop(8), crop(8, v1.RandomSolarize(128, p=0.1))

    def __call__(self, image: Any) -> Any:
        return self.plain(image), [self.solarized(image), self.plain(image)]


class Rotated(Views):
    def __call__(self, image: Any) -> Any:
        return [each.flip(1) for each in (self.plain(image), self.solarized(image))]


class Sometimes(Views):
    """A view by one list or another."""

    def __call__(self, image: Any) -> Any:
        return [self.plain(image), random.choice([self.plain, self.solarized])(image)]


class Draws(Views):
    """A random number between the views, as of an offset of a crop."""

    def __call__(self, image: Any) -> Any:
        first = self.plain(image)
        random.random()
        return [first, self.solarized(image)]


class Growing(Views):
    """As many views as the image is large."""

    def __call__(self, image: Any) -> Any:
        return [self.plain(image) for _ in range(image.width // 24)]


class Alike(Views):
    """Two lists that no image tells from each other."""

    def __init__(self) -> None:
        self.plain, self.solarized = crop(8), crop(8)

    def __call__(self, image: Any) -> Any:
        return [self.plain(image), self.solarized(image)]


def counts(given: Any) -> Any:
    found = views_of(given)
    return found and {name: number for name, (_, number) in found.items()}


def test_views_by_lists() -> None:
    made = Views()
    assert counts(made) == {"plain": 2, "solarized": 1}
    groups = groups_of(made)
    assert groups is not None and groups["plain"][0] is made.plain
    assert counts(own.TwoCrops(crop(8))) == {"base_transform": 2}
    assert counts(own.CropsOfDinoV2(1)) == {"cut_global+first": 1, "cut_global+second": 1, "cut_local+local": 1}


@pytest.mark.parametrize("kind", [Rotated, Sometimes, Draws, Growing, Alike])
def test_what_does_more_is_refused(kind: Any) -> None:
    assert views_of(kind()) is None
    with pytest.raises(UnsupportedTransform, match="it holds 2 lists of transforms") as refused:
        convert(kind())
    assert len(str(refused.value)) <= 300
    with pytest.raises(gpufeed.ArgumentError, match=f"^groups: .*{kind.__name__}.*; names with transforms"):
        gpufeed.DataLoader(Jpegs(4), groups=kind())


def test_what_makes_one_image() -> None:
    for given in (crop(8), own.ViewOfLightly(), len, None, {"one": (crop(8), 1)}):
        assert views_of(given) is None


def test_the_codes_of_errors_work() -> None:
    """What an error says instead gives the batches of the object's lists."""
    it = own.TwoCrops(crop(8))
    with pytest.raises(UnsupportedTransform, match="pass transforms=it.base_transform, views=2 in its place"):
        gpufeed.DataLoader(Jpegs(4), it)
    images, _ = next(iter(gpufeed.DataLoader(Jpegs(4), it.base_transform, views=2, batch_size=4)))
    batch = next(iter(gpufeed.DataLoader(Jpegs(4), groups=it, batch_size=4)))
    assert torch.equal(images, batch["base_transform"]) and batch["label"].shape == (4,)
    loader = gpufeed.DataLoader(Jpegs(4), groups=Views(), batch_size=4)
    batch = next(iter(loader))
    assert (batch["plain"].shape, batch["solarized"].shape) == ((8, 3, 8, 8), (4, 3, 8, 8))
    assert "Views is taken as these groups: plain with 2, solarized with 1" in str(loader.explain())


VIEWED: list[Any] = []


@pytest.mark.parametrize(
    "before",
    [
        lambda self, image: image.resize((64, 64)) if max(image.size) > 1000 else image,
        lambda self, image: image.convert("RGB"),
        lambda self, image: ImageOps.invert(image) if image.mode == "L" else image,
        lambda self, image: image if len(VIEWED) < 3 else image.rotate(90),
    ],
)
def test_objects_that_may_look_at_the_image_are_not_taken(before: Any) -> None:
    class Own(Views):
        def __call__(self, image: Any) -> Any:
            return super().__call__(before(self, image))

    assert views_of(Own()) is None


def test_groups_have_names_of_their_own() -> None:
    class Named:
        def __init__(self) -> None:
            self.a, self.a_1, self.label = [crop(8), crop(12)], crop(16), crop(20)

        def __call__(self, image: Any) -> Any:
            return [self.a[0](image), self.a[1](image), self.a_1(image), self.label(image)]

    groups = groups_of(Named())
    assert groups is not None and [*groups] == ["a_0", "a_1", "a_1_", "label_"]
    batch = next(iter(gpufeed.DataLoader(Jpegs(6), groups=Named(), batch_size=3)))
    assert [batch[name].shape[-1] for name in groups] == [8, 12, 16, 20]
