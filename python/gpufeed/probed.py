"""Code of a user's own that does what known transforms do: a function that scales, a preset that runs its list, a class that blurs.
What it does is tried on probe images, as neither its source nor its name proves anything."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy
import PIL.Image
import torch
import torchvision.transforms as v1
from torchvision.transforms import v2

from gpufeed import effects, settled
from gpufeed.operators import shortest
from gpufeed.presets import list_of_preset, lists_of, unchanged
from gpufeed.probe_images import CALLS, Raised, Unknown, byte_images, called, equal, noise
from gpufeed.remembered import of_object, remembered

# Those of floats, which stand behind a crop in most lists.
_FLOAT_SIZES = ((5, 7), (8, 4), (400, 300), (1000, 800))
# The name of what makes an array of an image.
ARRAY = "nothing; images keep their order of channels, rows and columns (layout='nhwc' has that of arrays)"
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


def triples(transform: Any, is_float: bool, is_tensor: bool) -> bool:
    """True for a function that makes three equal channels of one, as ``x.repeat(3, 1, 1)`` does, and ``image.convert("RGB")``, which
    is for images of Pillow and not for tensors."""
    function = _function(transform)
    if function is None or settled.constants(function) is None:
        return False
    done = set()
    for of_pillow in (False,) if is_tensor else (False, True):
        for height, width in _FLOAT_SIZES:
            gray = noise((1, height, width))
            try:
                given: Any
                if of_pillow:
                    given = PIL.Image.frombytes("L", (width, height), gray.numpy().tobytes())
                    expected: Any = given.convert("RGB")
                else:
                    given = gray.float() / 255 if is_float else gray
                    expected = given.expand(3, -1, -1)
                done.add(equal(called(function, given, CALLS if height < 9 else 1), expected))
            except Raised:
                continue
            except Unknown:
                return False
    return done == {True}


def same_as(transform: Any, is_float: bool, is_tensor: bool, is_gray: bool = False) -> tuple[list[Any], str] | None:
    """Returns transforms that do the same, and their name for a sentence; ``None`` if none are known.

    ``is_float`` is true if the images are floats there, as behind ``ToDtype``, ``is_tensor`` if they are not Pillow's, and ``is_gray`` if
    they have one channel.
    """
    function = _function(transform)
    if function is not None:
        known = settled.constants(function)
        if known is None:
            return None
        made: Callable[[], Any] = lambda: _same_as_function(function, is_float, is_tensor)  # noqa: E731
        found: tuple[list[Any], str] | None = remembered(function, (is_float, is_tensor), lambda before: before == known, lambda: known, made)
        return found
    code = transform.lambd if type(transform) in (v1.Lambda, v2.Lambda) else transform
    if not callable(code) or isinstance(code, type):
        return None
    if (same := unchanged(code)) is not None:
        return same
    if (name := list_of_preset(code, is_gray)) is not None:
        return [lists_of(code)[name]], "its list of transforms" if name == "transforms" else f"its list {name}"
    known = settled.object_constants(code)
    if is_tensor or known is None:
        return None
    of_effect: tuple[list[Any], str] | None = of_object(code, ("effect",), known, lambda copy: effects.same_as(copy, settled.is_blind(copy)))
    return of_effect


def _same_as_function(function: Callable[[Any], Any], is_float: bool, is_tensor: bool) -> tuple[list[Any], str] | None:
    found = _of_floats(function) if is_float else _of_bytes(function)
    return effects.same_as(function, settled.is_blind(function)) if found is None and not is_tensor else found


def _function(transform: Any) -> Callable[[Any], Any] | None:
    transform = transform.lambd if type(transform) in (v1.Lambda, v2.Lambda) else transform
    return transform if isinstance(transform, _FUNCTIONS) else None


def _of_floats(function: Callable[[Any], Any]) -> tuple[list[Any], str] | None:
    try:
        if (dtype := _conversion(function)) is not None:
            return [v2.ToDtype(dtype)], f"ToDtype({dtype})"
        scale, offset = _scaling(function)
    except (Raised, Unknown):
        return None
    if all(each == 1 for each in scale) and not any(offset):
        return [], "nothing"
    # The shortest decimals: 0.1, where the probe has the float 0.10000000149.
    mean = [shortest(0.0 - add / by) for by, add in zip(scale, offset, strict=True)]
    std = [shortest(1 / by) for by in scale]
    return [v2.Normalize(mean, std)], f"Normalize({_shown(mean)}, {_shown(std)})"


def _conversion(function: Callable[[Any], Any]) -> torch.dtype | None:
    """Returns the type to which a function of floats converts, if it does no more."""
    for height, width in _FLOAT_SIZES:
        image = noise((3, height, width)).float() / 31 - 4
        made = called(function, image, CALLS if height < 9 else 1)
        if not isinstance(made, torch.Tensor) or made.dtype not in (torch.float16, torch.bfloat16):
            return None
        dtype: torch.dtype = made.dtype
        if not equal(made, image.to(dtype)):
            raise Unknown
    return dtype


def _scaling(function: Callable[[Any], Any]) -> tuple[list[float], list[float]]:
    """Returns what a function of floats multiplies each channel by, and what it adds, as ``Normalize`` does."""
    black, white = (_float_result(function, torch.full((3, 2, 2), value), CALLS) for value in (0.0, 1.0))
    offset, scale = black[:, :1, :1], (white - black)[:, :1, :1]
    if not (torch.equal(black, offset.expand_as(black)) and bool((scale > 0).all())):
        raise Unknown
    for height, width in _FLOAT_SIZES:
        # Numbers behind Normalize are beyond 0 to 1.
        for low, high in ((0.0, 1.0), (-30.0, 30.0)):
            image = noise((3, height, width)).float() / 255 * (high - low) + low
            error = (_float_result(function, image) - (image.double() * scale + offset)).abs()
            # A NaN is no number that is small enough, either.
            if not bool((error <= 1e-6 * (high * scale + offset.abs())).all()):
                raise Unknown
    return scale.flatten().tolist(), offset.flatten().tolist()


def _float_result(function: Callable[[Any], Any], image: torch.Tensor, calls: int = 1) -> torch.Tensor:
    made = called(function, image, calls)
    if not isinstance(made, torch.Tensor) or made.dtype != torch.float32 or made.shape != image.shape:
        raise Unknown
    return made.double()


def _shown(numbers: list[float]) -> str:
    texts = [f"{number:.6g}" for number in numbers]
    return texts[0] if len({*texts}) == 1 else f"[{', '.join(texts)}]"


def _of_bytes(function: Callable[[Any], Any]) -> tuple[list[Any], str] | None:
    """Takes a function of 8-bit images, of torch or of Pillow, that leaves colours as they are, or divides them by 255. A
    function of both has to do the same to both, as it may get either."""
    done = set()
    try:
        for of_pillow in (False, True):
            try:
                done |= {_does(function, image) for image in byte_images(of_pillow)}
            except Raised:
                continue
    except Unknown:
        return None
    if done == {"nothing"}:
        return [], "nothing"
    if done == {"array"}:
        return [], ARRAY
    if done == {"divides"}:
        return [v2.ToDtype(torch.float32, scale=True)], "ToDtype(torch.float32, scale=True)"
    return None


def _does(function: Callable[[Any], Any], image: Any) -> str:
    is_tensor = isinstance(image, torch.Tensor)
    small = (image.numel() if is_tensor else image.width * image.height) < 200
    made = called(function, image, CALLS if small else 1)
    if small:
        _check_other_modes(function, image)
    if equal(made, image):
        return "nothing"
    if isinstance(made, numpy.ndarray):
        pixels = numpy.asarray(image)
        if made.dtype == numpy.uint8 and made.shape == pixels.shape and bool((made == pixels).all()):
            return "array"
        raise Unknown
    tensor = image if is_tensor else v2.functional.pil_to_tensor(image)
    is_float = isinstance(made, torch.Tensor) and made.dtype == torch.float32 and made.shape == tensor.shape
    if is_float and bool(((made - tensor.float() / 255).abs() < 1e-7).all()):
        return "divides"
    raise Unknown


def _check_other_modes(function: Callable[[Any], Any], image: Any) -> None:
    """Checks images that are no plain colours. gpufeed makes RGB of all of them, drops an alpha channel, and keeps the one channel of
    a gray data set: a function may leave them as they are, or do that."""
    others = [image[:1]] if isinstance(image, torch.Tensor) else [image.convert(mode) for mode in ("L", "RGBA", "P", "LA")]
    for other in others:
        try:
            made = called(function, other)
        except Raised:
            continue
        if isinstance(other, torch.Tensor):
            if not isinstance(made, (torch.Tensor, numpy.ndarray)) or made.shape != other.shape:
                raise Unknown
        elif isinstance(made, PIL.Image.Image) and not (equal(made, other) or equal(made, other.convert("RGB"))):
            raise Unknown


