"""Code of a user's own that does what known transforms do: a function that scales, a preset that runs its list. What it does is
tried on probe images, as neither its source nor its name proves anything."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import PIL.Image
import torch
import torchvision.transforms as v1
from torchvision.transforms import v2

from gpufeed.draws import Draws
from gpufeed.operators import shortest

# How often a function is called with the smallest probe: one that draws from a generator of its own differs now and then.
_CALLS = 64
# Heights and widths of 8-bit probes. Functions treat small, large and long images each in another way.
_SIZES = ((5, 7), (64, 6000), (900, 700), (3000, 4000))
# Those of floats, which stand behind a crop in most lists.
_FLOAT_SIZES = ((5, 7), (8, 4), (400, 300), (1000, 800))
# Those of presets: crops may be larger than the image, or treat large ones differently.
_PRESET_SIZES = ((130, 96), (300, 400), (1300, 900))
_PRESET_SEEDS = 3
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


def same_as(transform: Any, is_float: bool) -> tuple[list[Any], str] | None:
    """Returns transforms of torchvision that do the same, and their name for a sentence; ``None`` if none are known.

    ``is_float`` is true if the images are floats there, as behind ``ToDtype``.
    """
    function = _function(transform)
    if function is not None:
        return _of_floats(function) if is_float else _of_bytes(function)
    return _preset(transform)


def _function(transform: Any) -> Callable[[Any], Any] | None:
    if type(transform) in (v1.Lambda, v2.Lambda):
        made: Callable[[Any], Any] = transform.lambd
        return made
    return transform if isinstance(transform, _FUNCTIONS) else None


class _Raised(Exception):
    """User code raised: it is not for such images."""


class _Unknown(Exception):
    """User code does what no known transform does."""


def _noise(shape: tuple[int, ...]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def _called(function: Callable[[Any], Any], image: Any, calls: int = 1) -> Any:
    """Returns what a function makes of an image. Random numbers, and results that differ, are unknown."""
    first: Any = None
    for seed in range(calls):
        with Draws(seed) as draws:
            try:
                made = function(image.clone() if isinstance(image, torch.Tensor) else image.copy())
            except Exception as error:  # noqa: BLE001 - any error says that the code is not for such images
                raise _Raised from error
            if draws.drawn:
                raise _Unknown
        if isinstance(made, torch.Tensor) and made.device.type != "cpu":
            raise _Unknown
        if seed == 0:
            first = made
        elif not _equal(made, first):
            raise _Unknown
    return first


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, PIL.Image.Image) and isinstance(other, PIL.Image.Image):
        return bool(one.mode == other.mode and one.size == other.size and one.tobytes() == other.tobytes())
    return False


def _of_floats(function: Callable[[Any], Any]) -> tuple[list[Any], str] | None:
    try:
        scale, offset = _scaling(function)
    except (_Raised, _Unknown):
        return None
    if all(each == 1 for each in scale) and not any(offset):
        return [], "nothing"
    # The shortest decimals: 0.1, where the probe has the float 0.10000000149.
    mean = [shortest(0.0 - add / by) for by, add in zip(scale, offset, strict=True)]
    std = [shortest(1 / by) for by in scale]
    return [v2.Normalize(mean, std)], f"Normalize({_shown(mean)}, {_shown(std)})"


def _scaling(function: Callable[[Any], Any]) -> tuple[list[float], list[float]]:
    """Returns what a function of floats multiplies each channel by, and what it adds, as ``Normalize`` does."""
    black, white = (_float_result(function, torch.full((3, 2, 2), value), _CALLS) for value in (0.0, 1.0))
    offset, scale = black[:, :1, :1], (white - black)[:, :1, :1]
    if not (torch.equal(black, offset.expand_as(black)) and bool((scale > 0).all())):
        raise _Unknown
    for height, width in _FLOAT_SIZES:
        # Numbers behind Normalize are beyond 0 to 1.
        for low, high in ((0.0, 1.0), (-4.0, 4.0)):
            image = _noise((3, height, width)).float() / 255 * (high - low) + low
            error = (_float_result(function, image) - (image.double() * scale + offset)).abs()
            # A NaN is no number that is small enough, either.
            if not bool((error <= 1e-6 * (4 * scale + offset.abs())).all()):
                raise _Unknown
    return scale.flatten().tolist(), offset.flatten().tolist()


def _float_result(function: Callable[[Any], Any], image: torch.Tensor, calls: int = 1) -> torch.Tensor:
    made = _called(function, image, calls)
    if not isinstance(made, torch.Tensor) or made.dtype != torch.float32 or made.shape != image.shape:
        raise _Unknown
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
                done |= {_does(function, image) for image in _byte_images(of_pillow)}
            except _Raised:
                continue
    except _Unknown:
        return None
    if done == {"nothing"}:
        return [], "nothing"
    if done == {"divides"}:
        return [v2.ToDtype(torch.float32, scale=True)], "ToDtype(torch.float32, scale=True)"
    return None


def _byte_images(of_pillow: bool) -> Iterator[Any]:
    for height, width in _SIZES:
        yield _image(_noise((height, width, 3)), of_pillow)
    # Borders and uniform images, which some functions cut off.
    framed = _noise((60, 80, 3))
    for border in (0, 255):
        framed[:9], framed[:, -9:] = border, border
        yield _image(framed, of_pillow)
        yield _image(torch.full((20, 30, 3), border, dtype=torch.uint8), of_pillow)


def _image(pixels: torch.Tensor, of_pillow: bool) -> Any:
    if not of_pillow:
        return pixels.permute(2, 0, 1).contiguous()
    height, width, _ = pixels.shape
    return PIL.Image.frombytes("RGB", (width, height), pixels.numpy().tobytes())


def _does(function: Callable[[Any], Any], image: Any) -> str:
    is_tensor = isinstance(image, torch.Tensor)
    small = (image.numel() if is_tensor else image.width * image.height) < 200
    made = _called(function, image, _CALLS if small else 1)
    if small:
        _check_other_modes(function, image)
    if _equal(made, image):
        return "nothing"
    tensor = image if is_tensor else v2.functional.pil_to_tensor(image)
    is_float = isinstance(made, torch.Tensor) and made.dtype == torch.float32 and made.shape == tensor.shape
    if is_float and bool(((made - tensor.float() / 255).abs() < 1e-7).all()):
        return "divides"
    raise _Unknown


def _check_other_modes(function: Callable[[Any], Any], image: Any) -> None:
    """Checks images that are no plain colours. gpufeed makes RGB of all of them, drops an alpha channel, and keeps the one channel of
    a gray data set: a function may leave them as they are, or do that."""
    others = [image[:1]] if isinstance(image, torch.Tensor) else [image.convert(mode) for mode in ("L", "RGBA", "P", "LA")]
    for other in others:
        try:
            made = _called(function, other)
        except _Raised:
            continue
        if isinstance(other, torch.Tensor):
            if not isinstance(made, torch.Tensor) or made.shape != other.shape:
                raise _Unknown
        elif isinstance(made, PIL.Image.Image) and not (_equal(made, other) or _equal(made, other.convert("RGB"))):
            raise _Unknown


def _preset(transform: Any) -> tuple[list[Any], str] | None:
    """Takes an object with a list called ``transforms``, as the presets of torchvision's references are, that runs this list and
    does no more."""
    inner = getattr(transform, "transforms", None)
    is_list = type(inner) in (v1.Compose, v2.Compose, torch.nn.Sequential)
    if inner is None or not is_list or not callable(transform) or isinstance(transform, type):
        return None
    found = {_runs(transform, inner, _image(_noise((*size, 3)), of_pillow)) for size in _PRESET_SIZES for of_pillow in (False, True)}
    return ([inner], "its list of transforms") if True in found and False not in found else None


def _runs(transform: Callable[[Any], Any], inner: Callable[[Any], Any], image: Any) -> bool | None:
    """Returns whether an object does the same as its list to an image; ``None`` if the list is not for such images."""
    for seed in range(_PRESET_SEEDS):
        results = []
        for each in (inner, transform):
            with Draws(seed):
                try:
                    made = each(image.clone() if isinstance(image, torch.Tensor) else image.copy())
                except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                    made = None
                results.append((made, Draws.state()))
        (of_list, drawn), (of_object, also) = results
        if of_list is None and of_object is None:
            return None
        if not _equal(of_list, of_object) or drawn != also:
            return False
    return True
