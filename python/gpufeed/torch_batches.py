"""Batches in the form that torch's ``DataLoader`` gives them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from gpufeed import collate
from gpufeed.errors import RunError
from gpufeed.iterator import Run

if TYPE_CHECKING:
    from gpufeed.own_views import Found

# Seconds between two looks for a batch.
_LOOK = 0.002


class Changed:
    """The source of an iteration that changes the batches of another ``source``, and ends with it."""

    def __init__(self, source: Callable[[], tuple[Any, str]]) -> None:
        self._source = source

    def close(self) -> None:
        """Ends the source."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()


class LikeTorch(Changed):
    """The source of an iteration whose batches are of ``form``, a list or a tuple, where ``source`` gives a tuple; with None they stay
    as they are. ``pins`` copies tensors to page-locked memory. Batches of another form than images with labels are an error if they are
    to be ``pairs``."""

    def __init__(self, source: Callable[[], tuple[Any, str]], form: type | None, pins: bool, pairs: bool = False) -> None:
        super().__init__(source)
        self._form, self._pins, self._pairs = form, pins, pairs

    def __call__(self) -> tuple[Any, str]:
        """Returns the next batch, and the state after it."""
        batch, state = self._source()
        if self._pairs and (type(batch) is not tuple or len(batch) != 2):
            kind = f"tuples of {len(batch)}" if type(batch) is tuple else f"of the type {type(batch).__name__}"
            raise RunError(f"collate_fn: its code is for images with labels, and these batches are {kind}; without it, batches have the form of samples")
        if isinstance(batch, tuple) and self._form is not None:
            # torch has the texts of samples that are tuples in a tuple.
            parts = [tuple(part) if _are_texts(part) else part for part in batch]
            batch = type(batch)(*parts) if hasattr(batch, "_fields") else self._form(parts)
        if self._pins:
            batch = collate.changed(batch, lambda part: isinstance(part, torch.Tensor), lambda tensor: tensor.pin_memory())
        return batch, state


class InViews(Changed):
    """The source of an iteration whose batches are the views of a transform of torch's, with labels: of each view a tensor, in what
    ``default_collate`` makes of that which the transform returns."""

    def __init__(self, source: Callable[[], tuple[Any, str]], views: Found) -> None:
        super().__init__(source)
        self._views = views

    def __call__(self) -> tuple[Any, str]:
        """Returns the next batch, and the state after it."""
        batch, state = self._source()
        # The images of a sample's views follow one another. torch has each view's in a tensor of its own.
        parts = {name: batch[name].unflatten(0, (-1, number)) for name, (_, number) in self._views.groups.items()}
        views = collate.changed(self._views.form, self._views.is_view, lambda view: _laid(parts[view.group][:, view.number], batch[view.group]))
        return (views, batch["label"]), state


def _laid(images: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """Returns some images of a tensor without gaps between them, in that tensor's memory format."""
    last = not of.is_contiguous() and of.is_contiguous(memory_format=torch.channels_last)
    return images.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def _are_texts(part: Any) -> bool:
    return type(part) is list and all(isinstance(each, (str, bytes)) for each in part)


class Timed(Run):
    """A run whose batches have to come within a number of seconds."""

    def __init__(self, run: Run, seconds: float) -> None:
        self._run, self._seconds = run, seconds

    def next(self) -> Any:
        """Returns the next batch, or None after the last one."""
        end = time.monotonic() + self._seconds
        while not self._run.ready():
            if time.monotonic() >= end:
                raise RunError(f"timeout: no batch within {self._seconds:g} seconds; a larger timeout waits longer, and 0 for ever")
            time.sleep(_LOOK)
        return self._run.next()

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""
        return self._run.ready()

    def close(self) -> None:
        """Ends the run."""
        self._run.close()

    def __len__(self) -> int:
        """Returns the number of batches that are left."""
        return len(self._run)
