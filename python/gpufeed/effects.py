"""Code of a user's own that does one known thing to an image of Pillow, always or by chance: the blurs and solarizations that published
self-supervised code carries as classes of its own.

What the code does is read from its results, and its random numbers are set (``scripted.py``): the probability is where the number that
decides changes the result, and the range of a blur's radius what the least and the greatest number give. ``TRIALS`` images with ordinary
random numbers, and images of several sizes, have to be as that says, all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
import PIL.Image
from PIL import ImageFilter, ImageOps
from torchvision.transforms import v2

from gpufeed.draws import Draws
from gpufeed.operators import Operator
from gpufeed.scripted import STEPS, Ordinary, Place, Scripted, Strange, ordinary

# How often an object is tried with ordinary random numbers.
TRIALS = 2000
# The probe of these, and the one on which the effect is found: equalizing it changes it.
_TRIAL_SIZE, _SIZE = (9, 11), (40, 36)
# Heights and widths of other probes. Code may treat small, large and long images each in another way. Each is tried with ordinary
# random numbers that have the effect, and with others that have not, out of so many.
_SIZES = ((5, 7), (64, 1500))
# Those of code that might look at the image, and what fills one of them: borders and uniform areas, which some code cuts off, dark, bright
# and gray images, which some code treats in another way.
_MORE = ((64, 6000), (900, 700), (1500, 2800))
_FILLS = ("black border", "white border", "black", "white", "dark", "bright", "gray")
_FILLED = (60, 80)
_MODES = ("L", "RGBA", "P", "LA")
_SEEDS = 400
# How far radii may be from what is expected of them: torch draws floats of 32 bits.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Made:
    """An operator of a recipe that torchvision has no class for."""

    operator: Operator


@dataclass(frozen=True)
class _Effect:
    """What was done to an image: the name of the effect, and its number, if it has one."""

    name: str
    number: float = 0.0


class _Unknown(Exception):
    """The code does what no known effect does."""


class _Watched(PIL.Image.Image):
    """An image that remembers the filters that it was given to."""

    filters: list[Any]

    def filter(self, filter: Any) -> PIL.Image.Image:  # noqa: A002 - Pillow's word
        self.filters.append(filter)
        return super().filter(filter)


# The effects without a number, by Pillow.
_PLAIN: dict[str, Callable[[PIL.Image.Image], PIL.Image.Image]] = {
    "grayscale": lambda image: ImageOps.grayscale(image).convert("RGB"),
    "equalize": ImageOps.equalize,
    "autocontrast": ImageOps.autocontrast,
    "invert": ImageOps.invert,
    "flip": ImageOps.mirror,
    "vertical flip": ImageOps.flip,
}
_CLASSES: dict[str, Callable[[float], Any]] = {
    "grayscale": lambda p: v2.RandomGrayscale(p),
    "equalize": lambda p: v2.RandomEqualize(p),
    "autocontrast": lambda p: v2.RandomAutocontrast(p),
    "invert": lambda p: v2.RandomInvert(p),
    "flip": lambda p: v2.RandomHorizontalFlip(p),
    "vertical flip": lambda p: v2.RandomVerticalFlip(p),
}


def same_as(code: Callable[[Any], Any], is_blind: bool = False) -> tuple[list[Any], str] | None:
    """Returns the transforms that do the same, and their name for a sentence; ``None`` if none are known. ``is_blind`` is true for code
    that cannot look at the image: large images of all kinds then say no more than small ones."""
    try:
        found = _Search(code, is_blind).found()
    except (_Unknown, Strange):
        return None
    if found.effect == "nothing" and not _is_off(code):
        return None
    effect, p, radii = found.effect, found.p, found.radii
    chance = "" if p == 1 else f", p={p:g}"
    if effect == "nothing" or p == 0:
        return [], "nothing"
    if effect == "blur":
        least, greatest = radii
        blur: Operator = {"type": "PillowGaussianBlur", "radius": [least, greatest]}
        made = blur if p == 1 else {"type": "RandomApply", "p": p, "transforms": [blur]}
        return [Made(made)], f"Pillow's GaussianBlur(radius={least:g} to {greatest:g}{chance})"
    if effect == "solarize":
        threshold = int(radii[0])
        return [v2.RandomSolarize(threshold, p=p)], f"RandomSolarize({threshold}, p={p:g})"
    made_class = _CLASSES[effect](p)
    return [made_class], f"{type(made_class).__name__}(p={p:g})"


@dataclass
class _Found:
    """What the code does: the effect; its probability, the number that decides, and whether it does so below p; the range of the effect's
    number, and the number that it is drawn of."""

    effect: str = "nothing"
    p: float = 1.0
    chance: Place | None = None
    below: bool = True
    limit: int = 0
    radii: tuple[float, float] = (0.0, 0.0)
    amount: Place | None = None

    def expected(self, steps: dict[Place, int]) -> _Effect:
        if self.chance is not None and (steps[self.chance] < self.limit) != self.below:
            return _Effect("nothing")
        least, greatest = self.radii
        share = 0.0 if self.amount is None else steps[self.amount] / STEPS[self.amount.generator]
        return _Effect(self.effect, least + (greatest - least) * share)

    def places(self) -> list[Place]:
        return [place for place in (self.chance, self.amount) if place is not None]


@dataclass
class _Search:
    """Finds what a callable does, or raises."""

    code: Callable[[Any], Any]
    is_blind: bool = False
    probes: dict[tuple[tuple[int, int], str], _Probe] = field(default_factory=dict)

    def found(self) -> _Found:
        found = self._model()
        with Ordinary(0) as draws:
            for _ in range(TRIALS):
                expected = found.expected(draws.steps(found.places()))
                probe, made, filters = self._run_on(_TRIAL_SIZE)
                if not probe.shows(expected, made, filters):
                    raise _Unknown
                draws.advance()
        seeds = {found.expected(_ordinary(seed, found.places())).name: seed for seed in range(_SEEDS)}
        for seed in seeds.values():
            for size in _SIZES if self.is_blind else (*_SIZES, *_MORE):
                self._check(found, seed, size)
            for fill in () if self.is_blind else _FILLS:
                self._check(found, seed, _FILLED, fill)
            self._check_modes(seed)
        return found

    def _check(self, found: _Found, seed: int, size: tuple[int, int], fill: str = "") -> None:
        with Draws(seed):
            expected = found.expected(ordinary(found.places()))
            probe, made, filters = self._run_on(size, fill)
        if not probe.shows(expected, made, filters):
            raise _Unknown

    def _check_modes(self, seed: int) -> None:
        """Checks images that are no plain colours: the code raises, or does to them what it does to the RGB that gpufeed makes of them."""
        for mode in _MODES:
            other = _Probe(_TRIAL_SIZE).image.convert(mode)
            if mode in ("RGBA", "LA"):
                other.putalpha(PIL.Image.linear_gradient("L").resize(other.size))
            results = []
            for image in (other, other.convert("RGB")):
                with Draws(seed):
                    try:
                        results.append(self.code(image))
                    except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                        break
            if len(results) == 2 and not all(isinstance(each, PIL.Image.Image) for each in results):
                raise _Unknown
            if len(results) == 2 and results[0].convert("RGB").tobytes() != results[1].convert("RGB").tobytes():
                raise _Unknown

    def _model(self) -> _Found:
        tried = {others: self._run({}, others) for others in (0.0, 1.0)}
        others = next((others for others, (effect, _) in tried.items() if effect.name != "nothing"), None)
        if others is None:
            return _Found()
        effect, places = tried[others]
        found = _Found(effect.name)
        # What one number at a time changes. An amount may be drawn of the same number as the chance of no code that is known.
        for place in places:
            other = STEPS[place.generator] - 1 if others == 0 else 0
            changed, _ = self._run({place: other}, others)
            if changed.name == "nothing" and found.chance is None:
                found.chance, found.below = place, others == 0
            elif changed.name == effect.name and changed.number != effect.number and found.amount is None:
                found.amount = place
            elif changed != effect:
                raise _Unknown
        if found.amount is not None and found.effect != "blur":
            # A blur's operator draws its radius; the others have one number.
            raise _Unknown
        if found.chance is not None:
            found.limit = self._limit(found, others)
            share = found.limit / STEPS[found.chance.generator]
            found.p = _round(share if found.below else 1 - share, found.chance)
        found.radii = (effect.number, effect.number)
        if found.amount is not None:
            ends = [self._run({found.amount: step}, others)[0].number for step in (0, STEPS[found.amount.generator] - 1)]
            found.radii = (_round(ends[0], found.amount), _round(ends[1], found.amount))
        return found

    def _limit(self, found: _Found, others: float) -> int:
        """Returns the first step of the number that decides from which on the result is the other one."""
        place = found.chance
        assert place is not None
        low, high = 0, STEPS[place.generator] - 1
        while high - low > 1:
            middle = (low + high) // 2
            is_done = self._run({place: middle}, others)[0].name != "nothing"
            low, high = (middle, high) if is_done == found.below else (low, middle)
        return high

    def _run(self, steps: dict[Place, int], others: float) -> tuple[_Effect, list[Place]]:
        with Scripted(steps, others) as scripted:
            probe, made, filters = self._run_on(_SIZE)
            return probe.effect(made, filters), scripted.places()

    def _run_on(self, size: tuple[int, int], fill: str = "") -> tuple[_Probe, bytes, list[Any]]:
        """Runs the code on a probe. Returns the probe, what the code makes of it, and the filters that it used."""
        if (size, fill) not in self.probes:
            self.probes[size, fill] = _Probe(size, fill)
        probe = self.probes[size, fill]
        image = probe.watched()
        try:
            made = self.code(image)
        except Exception as error:  # noqa: BLE001 - any error says that the code is not for such images
            raise _Unknown from error
        if not isinstance(made, PIL.Image.Image) or (made.mode, made.size) != ("RGB", image.size):
            raise _Unknown
        return probe, made.tobytes(), image.filters


class _Probe:
    """An image of noise, and what the known effects make of it."""

    def __init__(self, size: tuple[int, int], fill: str = "") -> None:
        height, width = size
        pixels: Any = numpy.random.RandomState(7).randint(0, 256, (height, width, 3)).astype(numpy.uint8)
        if width > 99:
            # A border and a uniform area, which some code cuts off.
            pixels[:9], pixels[:, -30:] = 0, 255
        if fill.endswith("border"):
            pixels[:9], pixels[:, -9:] = (255 * (fill == "white border"),) * 2
        elif fill == "gray":
            pixels[...] = pixels[..., :1]
        elif fill:
            pixels = {"black": pixels * 0, "white": pixels | 255, "dark": pixels // 10, "bright": 255 - pixels // 10}[fill]
        self.image = PIL.Image.fromarray(pixels)
        self.bytes = self.image.tobytes()
        self.plain: dict[str, bytes] = {}

    def watched(self) -> _Watched:
        made = _Watched()
        # Pillow makes its images so: of a core and a size that is the core's.
        made.im, made._mode, made._size = self.image.im.copy(), "RGB", self.image.size
        made.filters = []
        return made

    def effect(self, made: bytes, filters: list[Any]) -> _Effect:
        if filters:
            return self._blur(made, filters)
        if made == self.bytes:
            return _Effect("nothing")
        name = next((name for name in _PLAIN if self.by(name) == made), None)
        if name is not None:
            return _Effect(name)
        before, after = (numpy.frombuffer(each, numpy.uint8) for each in (self.bytes, made))
        # Solarizing inverts the numbers from its threshold on.
        changed = before[before != after]
        threshold = int(changed.min()) if len(changed) else 256
        if not numpy.array_equal(after, numpy.where(before >= threshold, 255 - before, before)):
            raise _Unknown
        return _Effect("solarize", threshold)

    def shows(self, expected: _Effect, made: bytes, filters: list[Any]) -> bool:
        """True if the code did this. Where the image is one that the effect leaves as it is, that is seen by its bytes alone."""
        if expected.name == "blur":
            radius = self._blur(made, filters).number if filters else -1.0
            return abs(radius - expected.number) <= _CLOSE * max(1.0, expected.number)
        if expected.name == "solarize":
            levels = numpy.frombuffer(self.bytes, numpy.uint8)
            return not filters and numpy.where(levels >= expected.number, 255 - levels, levels).tobytes() == made
        return not filters and made == (self.bytes if expected.name == "nothing" else self.by(expected.name))

    def by(self, name: str) -> bytes:
        """Returns the image with an effect that has no number."""
        if name not in self.plain:
            self.plain[name] = _PLAIN[name](self.image).tobytes()
        return self.plain[name]

    def _blur(self, made: bytes, filters: list[Any]) -> _Effect:
        (only,) = filters if len(filters) == 1 else (None,)
        radius = getattr(only, "radius", None)
        if type(only) is not ImageFilter.GaussianBlur or isinstance(radius, bool) or not isinstance(radius, (int, float, numpy.floating)):
            raise _Unknown
        if self.image.filter(only).tobytes() != made:
            raise _Unknown
        return _Effect("blur", float(radius))


def _is_off(code: Any) -> bool:
    """True for an object that does nothing as one of its numbers, 0, is the probability of what it does else: copies with two other
    probabilities do nothing exactly as often as these say. What does nothing to probes for another reason may do something to images."""
    held = getattr(code, "__dict__", {})
    for name in [name for name, value in held.items() if type(value) in (int, float) and value in (0, 1)]:
        shares = []
        for p in (0.25, 0.5):
            try:
                other = copy.deepcopy(code)
                setattr(other, name, p if held[name] == 0 else 1 - p)
                shares.append(_Chance(other).found())
            except (_Unknown, Strange, AttributeError):
                break
        if shares == [0.25, 0.5]:
            return True
    return False


class _Chance(_Search):
    """Finds how often code does anything, whatever it is, by the one number that it draws first."""

    def found(self) -> float:  # type: ignore[override]
        with Scripted({}, 0.0) as scripted:
            self._run_any()
            places = scripted.places()
        with Scripted({}, 1.0) as scripted:
            self._run_any()
            more = scripted.places()
        generators = {place.generator for place in (*places, *more)}
        if len(generators) != 1:
            raise _Unknown
        place = Place(generators.pop(), 0)
        changed = [self._does(place, step) for step in (0, STEPS[place.generator] - 1)]
        if changed[0] == changed[1]:
            raise _Unknown
        low, high = 0, STEPS[place.generator] - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._does(place, middle) == changed[0] else (low, middle)
        share = high / STEPS[place.generator]
        return _round(share if changed[0] else 1 - share, place)

    def _does(self, place: Place, step: int) -> bool:
        with Scripted({place: step}, 0.5):
            return self._run_any()

    def _run_any(self) -> bool:
        probe = _Probe(_SIZE)
        try:
            made = self.code(probe.image.copy())
        except Exception as error:  # noqa: BLE001 - any error says that the code is not for such images
            raise _Unknown from error
        return not (isinstance(made, PIL.Image.Image) and made.size == probe.image.size and made.tobytes() == probe.bytes)


def _ordinary(seed: int, places: list[Place]) -> dict[Place, int]:
    with Draws(seed):
        return ordinary(places)


def _round(number: float, place: Place) -> float:
    """Returns the shortest decimal that the generator's steps do not tell from the number."""
    near = 4 / STEPS[place.generator] * max(1.0, number)
    if number <= near:
        return 0.0
    decimals = (float(f"{number:.{digits}g}") for digits in range(1, 18))
    return next(each for each in decimals if abs(each - number) <= near)
