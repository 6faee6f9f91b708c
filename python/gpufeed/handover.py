"""Hands batches over as tensors on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpufeed.iterator import Run

if TYPE_CHECKING:
    import torch

Item = tuple["torch.Tensor", "torch.Tensor | None"]
Normalize = tuple[list[float], list[float], str]


def import_torch() -> Any:
    """Imports torch. If that fails, raises an error that says what works without it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "iterating gives torch tensors, but torch is not installed; loader.batches() works without it: "
            "numpy.from_dlpack(batch.images)"
        ) from error
    return torch


class Host:
    """Tensors that share the loader's memory."""

    def __init__(self, run: Run, channels_last: bool, normalize: Normalize | None) -> None:
        torch = import_torch()
        self._next, self._from_dlpack, self._channels_last = run.next, torch.from_dlpack, channels_last
        self._normalize = None
        if normalize is not None:
            from gpufeed.torch import DeviceNormalize

            mean, std, dtype = normalize
            self._normalize = DeviceNormalize(mean, std, getattr(torch, dtype))

    def __call__(self) -> tuple[Item, str]:
        batch = self._next()
        if batch is None:
            raise StopIteration
        images = self._from_dlpack(batch.images)
        if self._channels_last:
            # torch's channels_last: the shape of NCHW in the order of NHWC.
            images = images.permute(0, 3, 1, 2)
        if self._normalize is not None:
            images = self._normalize(images)
        labels = batch.labels
        return (images, None if labels is None else self._from_dlpack(labels)), batch.state
