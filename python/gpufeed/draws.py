"""The random numbers that user code draws: they are set for a trial, and put back after it."""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any


class Draws:
    """Sets the random numbers of Python, NumPy and torch, says whether they were drawn, and puts back what was there. Warnings
    are left out: code warns again whoever runs it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

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
        self._numpy, self._torch = sys.modules.get("numpy"), sys.modules.get("torch")
        of_numpy = None if self._numpy is None else self._numpy.random.get_state()
        self._kept = random.getstate(), of_numpy, None if self._torch is None else self._torch.get_rng_state()
        random.seed(self._seed)
        if self._numpy is not None:
            self._numpy.random.seed(self._seed)
        if self._torch is not None:
            self._torch.default_generator.manual_seed(self._seed)
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
        of_python, of_numpy, of_torch = self._kept
        random.setstate(of_python)
        if self._numpy is not None:
            self._numpy.random.set_state(of_numpy)
        if self._torch is not None:
            self._torch.set_rng_state(of_torch)
