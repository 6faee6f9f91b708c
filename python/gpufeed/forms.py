"""The forms of one image in Python: Pillow's, an array of rows, columns and channels, a tensor with the channels first, and torchvision's
``tv_tensors.Image``."""

from __future__ import annotations

import sys
from typing import Any

from gpufeed.errors import DataError


def form_of(image: Any) -> str | None:
    """Returns ``"pil"``, ``"array"``, ``"image"`` or ``"tensor"``; ``None`` for what is no image."""
    if hasattr(image, "tobytes") and hasattr(image, "mode") and hasattr(image, "getbands"):
        return "pil"
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(image, torch.Tensor):
        tensors = sys.modules.get("torchvision.tv_tensors")
        return "image" if tensors is not None and isinstance(image, tensors.Image) else "tensor"
    return "array" if numpy is not None and isinstance(image, numpy.ndarray) else None


def has_floats(image: Any) -> bool:
    """True for arrays and tensors of floats."""
    form = form_of(image)
    if form == "array":
        return bool(image.dtype.kind == "f")
    return form in ("tensor", "image") and bool(image.dtype.is_floating_point)


def size_of(image: Any) -> tuple[int, int] | None:
    """Returns the height and width of an image; ``None`` for what is no image."""
    form = form_of(image)
    if form == "pil":
        return image.height, image.width
    if form is None or image.ndim not in (2, 3):
        return None
    sides = image.shape[:2] if form == "array" else image.shape[-2:]
    return int(sides[0]), int(sides[1])


def converted(image: Any, form: str) -> Any:
    """Returns an image in another form, with the same numbers. Floats, which Pillow has none of, become a tensor in its place."""
    own = form_of(image)
    if own is None or own == form:
        return image
    import numpy
    import torch

    if own in ("tensor", "image"):
        tensor = image.detach().as_subclass(torch.Tensor)
        if tensor.ndim == 2:
            tensor = tensor[None]
    else:
        array = numpy.array(image)
        tensor = torch.from_numpy(array[..., None] if array.ndim == 2 else array).permute(2, 0, 1).contiguous()
    if form == "pil" and not tensor.dtype.is_floating_point:
        if tensor.dtype != torch.uint8 or tensor.ndim != 3 or tensor.shape[0] not in (1, 3):
            raise DataError(f"an image of {tensor.dtype} and the shape {list(tensor.shape)} is none of Pillow's; uint8 with 1 or 3 channels works")
        from PIL import Image

        rows = tensor.permute(1, 2, 0).contiguous().numpy()
        return Image.fromarray(rows[..., 0] if rows.shape[2] == 1 else rows)
    if form == "array":
        return tensor.permute(1, 2, 0).contiguous().numpy()
    if form == "image":
        from torchvision.tv_tensors import Image as TensorImage

        return TensorImage(tensor)
    return tensor
