"""Code of a user's own that does what known transforms do: a function that scales, a preset that runs its list, a class that blurs.
What it does is tried on probe images, as neither its source nor its name proves anything."""

from __future__ import annotations

import functools
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import PIL.Image
import torch
import torchvision.transforms as v1
from torchvision.transforms import v2

from gpufeed import effects, settled
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
_LONG_SIZES = ((64, 6000), (3000, 4000))
_PRESET_SEEDS = 3
# Seconds of a call with the smallest probe, behind which a trial of so many calls would hold up the program.
_LONGEST_CALL = 0.5
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
            gray = _noise((1, height, width))
            try:
                given: Any
                if of_pillow:
                    given = PIL.Image.frombytes("L", (width, height), gray.numpy().tobytes())
                    expected: Any = given.convert("RGB")
                else:
                    given = gray.float() / 255 if is_float else gray
                    expected = given.expand(3, -1, -1)
                done.add(equal(_called(function, given, _CALLS if height < 9 else 1), expected))
            except _Raised:
                continue
            except _Unknown:
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
        found: tuple[list[Any], str] | None = _remembered(function, (is_float, is_tensor), lambda before: before == known, lambda: known, made)
        return found
    code = transform.lambd if type(transform) in (v1.Lambda, v2.Lambda) else transform
    if not callable(code) or isinstance(code, type):
        return None
    if (unchanged := _unchanged(code)) is not None:
        return unchanged
    if (name := _list_of_preset(code, is_gray)) is not None:
        return [lists_of(code)[name]], "its list of transforms" if name == "transforms" else f"its list {name}"
    known = settled.object_constants(code)
    if is_tensor or known is None:
        return None
    of_object: tuple[list[Any], str] | None = _of_object(code, ("effect",), known, lambda copy: effects.same_as(copy, settled.is_blind(copy)))
    return of_object


def _same_as_function(function: Callable[[Any], Any], is_float: bool, is_tensor: bool) -> tuple[list[Any], str] | None:
    found = _of_floats(function) if is_float else _of_bytes(function)
    return effects.same_as(function, settled.is_blind(function)) if found is None and not is_tensor else found


def _of_object(code: Any, key: tuple[Any, ...], known: Any, find: Callable[[Any], Any], but: Callable[[str], bool] = lambda name: False) -> Any:
    """Returns what trials of a copy of an object find, as they may change it; ``None`` if it cannot be copied, or if they do."""

    def made() -> Any:
        probe = settled.copied(code)
        found = None if probe is None else find(probe)
        return found if found is not None and settled.same_state(code, probe, but) else None

    def is_same(before: Any) -> bool:
        return bool(before[0] == known) and settled.same_state(code, before[1])

    return _remembered(code, key, is_same, lambda: (known, settled.copied(code)), made)


# What was found of an object, by its identity, as long as it is there.
_FOUND: dict[int, dict[tuple[Any, ...], tuple[Any, Any]]] = {}


def _remembered(code: Any, key: tuple[Any, ...], is_same: Callable[[Any], bool], state: Callable[[], Any], make: Callable[[], Any]) -> Any:
    """Returns what was found of the same object before, if its state is still that of then."""
    held = _FOUND.get(id(code), {}).get(key)
    if held is not None and is_same(held[0]):
        return held[1]
    found = make()
    if found is None:
        return None
    try:
        if id(code) not in _FOUND:
            weakref.finalize(code, _FOUND.pop, id(code), None).atexit = False
        _FOUND.setdefault(id(code), {})[key] = state(), found
    except TypeError:
        # Objects of some classes cannot be known to be gone: nothing is kept of them.
        pass
    return found


def _function(transform: Any) -> Callable[[Any], Any] | None:
    transform = transform.lambd if type(transform) in (v1.Lambda, v2.Lambda) else transform
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
    # A first call may import, or compile; a second one that takes as long will take so for every image.
    late = 0
    for seed in range(calls):
        with Draws(seed) as draws:
            began = time.monotonic()
            try:
                made = function(image.clone() if isinstance(image, torch.Tensor) else image.copy())
            except Exception as error:  # noqa: BLE001 - any error says that the code is not for such images
                raise _Raised from error
            late += time.monotonic() - began > _LONGEST_CALL
            if draws.drawn or (calls > 1 and late > 1):
                raise _Unknown
        if isinstance(made, torch.Tensor) and made.device.type != "cpu":
            raise _Unknown
        if seed == 0:
            first = made
        elif not (equal(made, first) or (isinstance(made, numpy.ndarray) and numpy.array_equal(made, first))):
            raise _Unknown
    return first


def equal(one: Any, other: Any) -> bool:
    """True for two tensors, or two of Pillow's images, with the same pixels."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, PIL.Image.Image) and isinstance(other, PIL.Image.Image):
        return bool(one.mode == other.mode and one.size == other.size and one.tobytes() == other.tobytes())
    return False


def _of_floats(function: Callable[[Any], Any]) -> tuple[list[Any], str] | None:
    try:
        if (dtype := _conversion(function)) is not None:
            return [v2.ToDtype(dtype)], f"ToDtype({dtype})"
        scale, offset = _scaling(function)
    except (_Raised, _Unknown):
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
        image = _noise((3, height, width)).float() / 31 - 4
        made = _called(function, image, _CALLS if height < 9 else 1)
        if not isinstance(made, torch.Tensor) or made.dtype not in (torch.float16, torch.bfloat16):
            return None
        dtype: torch.dtype = made.dtype
        if not equal(made, image.to(dtype)):
            raise _Unknown
    return dtype


def _scaling(function: Callable[[Any], Any]) -> tuple[list[float], list[float]]:
    """Returns what a function of floats multiplies each channel by, and what it adds, as ``Normalize`` does."""
    black, white = (_float_result(function, torch.full((3, 2, 2), value), _CALLS) for value in (0.0, 1.0))
    offset, scale = black[:, :1, :1], (white - black)[:, :1, :1]
    if not (torch.equal(black, offset.expand_as(black)) and bool((scale > 0).all())):
        raise _Unknown
    for height, width in _FLOAT_SIZES:
        # Numbers behind Normalize are beyond 0 to 1.
        for low, high in ((0.0, 1.0), (-30.0, 30.0)):
            image = _noise((3, height, width)).float() / 255 * (high - low) + low
            error = (_float_result(function, image) - (image.double() * scale + offset)).abs()
            # A NaN is no number that is small enough, either.
            if not bool((error <= 1e-6 * (high * scale + offset.abs())).all()):
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
    if done == {"array"}:
        return [], ARRAY
    if done == {"divides"}:
        return [v2.ToDtype(torch.float32, scale=True)], "ToDtype(torch.float32, scale=True)"
    return None


def _byte_images(of_pillow: bool) -> Iterator[Any]:
    for height, width in _SIZES:
        yield _image(_noise((height, width, 3)), of_pillow)
    # Borders and uniform images, which some functions cut off.
    framed = _noise((60, 80, 3))
    for filled in (framed // 10, 255 - framed // 10, framed[..., :1].repeat(1, 1, 3)):
        # Dark, bright and gray images, which some functions treat in another way.
        yield _image(filled, of_pillow)
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
    if equal(made, image):
        return "nothing"
    if isinstance(made, numpy.ndarray):
        pixels = numpy.asarray(image)
        if made.dtype == numpy.uint8 and made.shape == pixels.shape and bool((made == pixels).all()):
            return "array"
        raise _Unknown
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
            if not isinstance(made, (torch.Tensor, numpy.ndarray)) or made.shape != other.shape:
                raise _Unknown
        elif isinstance(made, PIL.Image.Image) and not (equal(made, other) or equal(made, other.convert("RGB"))):
            raise _Unknown


# What a subclass may define without changing what its objects do to images.
_HARMLESS = {"__doc__", "__init__", "__repr__", "__module__", "__qualname__", "__dict__", "__weakref__", "__annotations__"}
_HARMLESS |= {"__parameters__", "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__"}


def _unchanged(transform: Any) -> tuple[list[Any], str] | None:
    """Takes an object of a subclass that has other arguments than its class of torchvision, and the same methods."""
    kind = type(transform)
    base = next((base for base in kind.__mro__ if base.__module__.startswith("torchvision.transforms")), None)
    if base is None or base is kind or base.__name__.startswith("_"):
        return None
    if changed_methods(kind, base):
        return None
    held = vars(transform)
    if any(callable(getattr(base, name, None)) for name in held) or held.get("_forward_hooks") or held.get("_forward_pre_hooks"):
        return None
    same: Any = object.__new__(base)
    same.__dict__.update(held)
    return [same], f"{base.__name__}, of which it changes the arguments alone"


def changed_methods(kind: type, base: type) -> list[str]:
    """Returns the names that a subclass of a class defines anew, as far as they may change what its objects do to images."""
    between = kind.__mro__[: kind.__mro__.index(base)]
    own = {name: value for each in between for name, value in vars(each).items() if name not in _HARMLESS}
    of_base = {*dir(base)}
    # A class's attribute may stand in the place of an object's.
    return [name for name, value in own.items() if name in of_base or name.startswith("_") or not callable(value)]


def lists_of(transform: Any) -> dict[str, Any]:
    """Returns the attributes of an object that are lists of transforms, by their names."""
    found = getattr(transform, "__dict__", {})
    modules = found.get("_modules", {}) if isinstance(found, dict) else {}
    kinds = (v1.Compose, v2.Compose, torch.nn.Sequential)
    return {name: value for name, value in {**found, **modules}.items() if type(value) in kinds and name.isidentifier()}


def _list_of_preset(transform: Any, is_gray: bool) -> str | None:
    """Returns the name of the list of an object that runs it and does no more, as the presets of torchvision's references have it under
    ``transforms``. Its methods read nothing else of the object: what they read might be a switch. ``is_gray``: gpufeed keeps the one
    channel of gray images, of which the object may not make three."""
    lists = lists_of(transform)
    if len(lists) != 1 or type(transform) in (v1.Compose, v2.Compose, torch.nn.Sequential):
        return None
    (name,) = lists
    known = settled.object_constants(transform, but=name)
    if known is None or settled.reads_of(transform) != {name}:
        return None
    sizes = _PRESET_SIZES if settled.is_blind(transform, name) else _PRESET_SIZES + _LONG_SIZES

    def find(copy: Any) -> str | None:
        inner, found = lists_of(copy)[name], set()
        for of_pillow in (False, True):
            images = [_image(_noise((height, width, 3)), of_pillow) for height, width in sizes]
            if sizes is not _PRESET_SIZES:
                images += _byte_images(of_pillow)
            for image in images:
                found.add(_runs(copy, inner, image))
                if False in found:
                    return None
        others = [_image(_noise((300, 400, 3)), True).convert(mode) for mode in ("L", "RGBA", "P", "LA")]
        return name if True in found and not any(_differs(copy, inner, other, is_gray) for other in others) else None

    # Transforms in the list are looked at one by one: their state is their own.
    found: str | None = _of_object(transform, ("preset", is_gray), known, find, lambda held: held in (name, "_modules"))
    return found


def _differs(transform: Callable[[Any], Any], inner: Callable[[Any], Any], image: Any, is_gray: bool) -> bool:
    """True if an object makes something else of an image that is no plain colours than its list does, and than it does of RGB."""
    results = []
    of_colours = [] if is_gray and image.mode == "L" else [(inner, image.convert("RGB"))]
    for code, given in ((transform, image), (inner, image), *of_colours):
        with Draws(0):
            try:
                results.append(code(given.copy()))
            except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                results.append(None)
    return results[0] is not None and not any(equal(results[0], each) for each in results[1:])


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
        if not equal(of_list, of_object) or drawn != also:
            return False
    return True
