"""The random numbers that user code draws: they are set for a call or a trial, and put back after it."""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any


class Seeded:
    """Sets the random numbers of Python, NumPy and torch, and puts back what was there."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __enter__(self) -> Seeded:
        self._numpy, self._torch = sys.modules.get("numpy"), sys.modules.get("torch")
        self._before = self.kept()
        random.seed(self._seed)
        if self._numpy is not None:
            # Its seeds have 32 bits, or are lists, which take five times as long.
            self._numpy.random.seed(self._seed & 0xFFFFFFFF)
        if self._torch is not None:
            self._torch.default_generator.manual_seed(self._seed)
        return self

    def kept(self) -> tuple[Any, ...]:
        """Returns the states of the generators, for :meth:`put_back`."""
        of_numpy = None if self._numpy is None else self._numpy.random.get_state()
        return random.getstate(), of_numpy, None if self._torch is None else self._torch.get_rng_state()

    def put_back(self, kept: tuple[Any, ...]) -> None:
        """Sets the generators to states that :meth:`kept` has returned."""
        of_python, of_numpy, of_torch = kept
        random.setstate(of_python)
        if self._numpy is not None and of_numpy is not None:
            self._numpy.random.set_state(of_numpy)
        if self._torch is not None and of_torch is not None:
            self._torch.set_rng_state(of_torch)

    def __exit__(self, *_: object) -> None:
        self.put_back(self._before)


class Draws(Seeded):
    """Sets the random numbers as :class:`Seeded` does, and says whether they were drawn. Warnings are left out: code warns again
    whoever runs it."""

    @staticmethod
    def state() -> tuple[Any, ...]:
        """Returns what the next random numbers depend on."""
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        of_numpy = None
        if numpy is not None:
            kind, keys, *rest = numpy.random.get_state()
            of_numpy = (kind, keys.tobytes(), *rest)
        return random.getstate(), of_numpy, None if torch is None else torch.get_rng_state().numpy().tobytes()

    def __enter__(self) -> Draws:
        super().__enter__()
        self._begin = self.state()
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")
        return self

    @property
    def drawn(self) -> bool:
        """True if random numbers were drawn since the trial began."""
        return self.state() != self._begin

    def __exit__(self, *_: object) -> None:
        self._warnings.__exit__(None, None, None)
        super().__exit__()
