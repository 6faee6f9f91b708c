"""Uniform numbers that user code is to draw next: the states of the generators of Python, NumPy and torch are set so that they give
them. Thresholds and ranges in code are found exactly by it, where counting draws would estimate them.

All three are Mersenne Twisters (Matsumoto and Nishimura, 1998): a state holds 624 words, and each draw takes the next one or two of
them, whose bits it mixes in a way that can be undone. ``random.random()`` and ``numpy.random.rand()`` are ``(a * 2^26 + b) / 2^53`` of
the upper 27 and 26 bits of two words; ``torch.rand(1)`` is ``c / 2^24`` of the lower 24 bits of one.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufeed.draws import Draws

PYTHON, NUMPY, TORCH = "python", "numpy", "torch"
# How many different numbers each generator gives, evenly from 0 to below 1.
STEPS = {PYTHON: 2**53, NUMPY: 2**53, TORCH: 2**24}
# The most numbers of a generator that code may draw for an image.
MOST = 6

_WORDS = 624
_ORDINARY = [random.Random(number).getrandbits(32) for number in range(_WORDS)]
# Behind the seed, and the numbers of words that are left and used, 16 bytes each, torch's state has the words in 8 bytes each.
_TORCH_HEAD, _TORCH_BEGIN = "<QiiQ", 24


@dataclass(frozen=True)
class Place:
    """A number that code draws: the ``index``-th one of a generator."""

    generator: str
    index: int


class Strange(Exception):
    """Code draws other than uniform numbers, or more than :data:`MOST`."""


class Scripted(Draws):
    """As :class:`Draws`, but the next numbers are chosen. ``steps`` has the step of each place, ``others`` that of all other places: 0.0
    for the least, 1.0 for the greatest."""

    def __init__(self, steps: Mapping[Place, int], others: float = 0.0) -> None:
        super().__init__(0)
        self._steps, self._others = steps, others

    def __enter__(self) -> Scripted:
        super().__enter__()
        words = {name: self._words(name) for name in _generators()}
        random.setstate((3, (*words[PYTHON], 0), None))
        if NUMPY in words:
            import numpy

            numpy.random.set_state(("MT19937", numpy.array(words[NUMPY], numpy.uint32), 0, 0, 0.0))
        if TORCH in words:
            import torch

            state = bytearray(torch.get_rng_state().numpy().tobytes())
            # The state has to say that at least one word is used.
            struct.pack_into(_TORCH_HEAD, state, 0, 0, _WORDS, 1, 1)
            struct.pack_into(f"<{_WORDS}Q", state, _TORCH_BEGIN, 0, *words[TORCH][:-1])
            torch.set_rng_state(torch.frombuffer(state, dtype=torch.uint8))
        self._begin = self.state()
        return self

    def _words(self, name: str) -> list[int]:
        other = _words_of(name, round(self._others * (STEPS[name] - 1)))
        # Ordinary words follow: with equal ones for ever, code that rejects a number and draws the next one would not end.
        words = [*(other * MOST), *_ORDINARY][:_WORDS]
        for place, step in self._steps.items():
            if place.generator == name:
                first = place.index * len(other)
                words[first : first + len(other)] = _words_of(name, step)
        return words

    def places(self) -> list[Place]:
        """Returns the numbers that were drawn since the trial began."""
        used = _positions()
        if TORCH in used:
            used[TORCH] -= 1
        found: list[Place] = []
        for name, words in used.items():
            each = 1 if name == TORCH else 2
            if words % each or not 0 <= words <= each * MOST:
                raise Strange
            found += [Place(name, index) for index in range(words // each)]
        return found


def ordinary(places: list[Place]) -> dict[Place, int]:
    """Returns the steps that the generators give at these places as they are now, without drawing."""
    found: dict[Place, int] = {}
    for name in {place.generator for place in places}:
        most = 1 + max(place.index for place in places if place.generator == name)
        found |= {Place(name, index): step for index, step in enumerate(_drawn(name, most))}
    return {place: found[place] for place in places}


def _drawn(name: str, count: int) -> list[int]:
    numbers: list[float]
    if name == PYTHON:
        own = random.Random()
        own.setstate(random.getstate())
        numbers = [own.random() for _ in range(count)]
    elif name == NUMPY:
        import numpy

        copy = numpy.random.RandomState()
        copy.set_state(numpy.random.get_state())
        numbers = copy.random_sample(count).tolist()
    else:
        import torch

        generator = torch.Generator()
        generator.set_state(torch.get_rng_state())
        numbers = [float(torch.rand(1, generator=generator)) for _ in range(count)]
    return [int(number * STEPS[name]) for number in numbers]


def _words_of(name: str, step: int) -> list[int]:
    """Returns the words of which a generator makes this step. The bits that it leaves out are 0."""
    if name == TORCH:
        return [_unmixed(step)]
    return [_unmixed(step >> 26 << 5), _unmixed((step & 0x3FFFFFF) << 6)]


def _generators() -> list[str]:
    return [PYTHON, *(name for name in (NUMPY, TORCH) if name in sys.modules)]


def _unmixed(word: int) -> int:
    """Returns the word of a state of which a Mersenne Twister makes this number: its four shifts, undone from the last one on."""
    word ^= word >> 18
    word ^= word << 15 & 0xEFC60000
    found: Any = word
    for _ in range(4):
        found = word ^ (found << 7 & 0x9D2C5680)
    word = found & 0xFFFFFFFF
    return word ^ (word ^ (word >> 11)) >> 11


class Ordinary(Draws):
    """As :class:`Draws`, and says which numbers come next, trial by trial, without copying the generators for each trial."""

    # How many numbers of a generator are told at once.
    _AT_ONCE = 4096

    def __enter__(self) -> Ordinary:
        super().__enter__()
        self._places = _positions()
        self._numbers: dict[str, list[int]] = {}
        # How many numbers of each were drawn.
        self._drawn = {name: 0 for name in self._places}
        return self

    def steps(self, places: list[Place]) -> dict[Place, int]:
        """Returns the steps that the generators give at these places from here on."""
        found: dict[Place, int] = {}
        for place in places:
            numbers, at = self._numbers.get(place.generator, []), self._drawn[place.generator] + place.index
            if at >= len(numbers):
                self._numbers[place.generator] = numbers = _drawn(place.generator, self._AT_ONCE)
                self._drawn[place.generator], at = 0, place.index
            found[place] = numbers[at]
        return found

    def advance(self) -> None:
        """Counts what was drawn since the last call."""
        now = _positions()
        for name, position in now.items():
            words, each = (position - self._places.get(name, position)) % _WORDS, 1 if name == TORCH else 2
            if words % each or words > each * MOST:
                raise Strange
            self._drawn[name] = self._drawn.get(name, 0) + words // each
        self._places = now


def _positions() -> dict[str, int]:
    """Returns how many words of its 624 each generator has used."""
    used = {PYTHON: random.getstate()[1][-1]}
    if NUMPY in _generators():
        import numpy

        position: Any = numpy.random.get_state(legacy=True)[2]  # type: ignore[index]
        used[NUMPY] = int(position)
    if TORCH in _generators():
        import torch

        used[TORCH] = struct.unpack_from(_TORCH_HEAD, torch.get_rng_state().numpy().tobytes())[3]
    return used
