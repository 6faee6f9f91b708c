"""Code of the user's own between the transforms, which runs in Python in the workers, and code for finished batches.

A worker calls a piece of code with the pixels of an image, as the transforms before it have left them, in the form that
torchvision would give it there, and goes on with what it returns. The native module calls :meth:`OwnCode.run`.
"""

from __future__ import annotations

import functools
import random
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from gpufeed import arguments, forms
from gpufeed.draws import Seeded
from gpufeed.errors import ArgumentError, DataError
from gpufeed.failures import warn_once_outside

# Bytes, width, height, channels, and True for floats.
Pixels = tuple[bytes, int, int, int, bool]

_TAKES = ("pil", "array", "tensor")


class OnSample:
    """Code of your own in a list of transforms: :func:`gpufeed.on_sample` makes it."""

    def __init__(self, function: Callable[..., Any], takes: str | None, size: Any, makes_floats: bool, with_seed: bool) -> None:
        if not callable(function) or isinstance(function, type):
            raise ArgumentError(f"function: {arguments.given(function)}; a function or an object that can be called works")
        self.function = function
        self.takes = None if takes is None else arguments.word("takes", takes, _TAKES)
        self.size = None if size is None else own_size(size)
        self.makes_floats = arguments.flag("makes_floats", makes_floats)
        self.with_seed = arguments.flag("with_seed", with_seed)

    def __call__(self, image: Any) -> Any:
        """Calls the function with an image of any form, as a list of torchvision does it. With ``takes`` the function gets that form, and
        what it returns has the image's own one, for the transforms that follow; floats become a tensor in the place of a PIL image."""
        given = image if self.takes is None else forms.converted(image, self.takes)
        made = self.function(given, random.getrandbits(63)) if self.with_seed else self.function(given)
        name = f"on_sample: {name_of(self.function)}"
        if self.size is not None and (found := forms.size_of(made)) != self.size:
            raise DataError(f"{name} returned an image of {found}, and size={self.size} says another one; both have to be the same")
        if self.makes_floats and not forms.has_floats(made):
            raise DataError(f"{name} returned no floats, and makes_floats=True says that it does; return a tensor of floats")
        return made if self.takes is None else forms.converted(made, forms.form_of(image) or self.takes)

    def __repr__(self) -> str:
        return f"gpufeed.on_sample({name_of(self.function)})"


class OnBatch:
    """Code of your own for finished batches: :func:`gpufeed.on_batch` makes it."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function) or isinstance(function, type):
            raise ArgumentError(f"function: {arguments.given(function)}; a function or an object that can be called works")
        self.function = function

    def __call__(self, images: Any) -> Any:
        """Calls the function with the images of a batch, and checks what it returns."""
        made = self.function(images)
        if not hasattr(made, "data_ptr") or made.shape[:1] != images.shape[:1]:
            what = f"a tensor of {list(made.shape)}" if hasattr(made, "data_ptr") else f"a {type(made).__name__}"
            raise DataError(f"on_batch: {name_of(self.function)} returned {what}; it gets and returns a tensor of {len(images)} images")
        return made

    def __repr__(self) -> str:
        return f"gpufeed.on_batch({name_of(self.function)})"


def on_sample(
    function: Callable[..., Any],
    *,
    takes: Literal["pil", "array", "tensor"] | None = None,
    size: int | tuple[int, int] | None = None,
    makes_floats: bool = False,
    with_seed: bool = False,
) -> OnSample:
    """Code of your own in a list of transforms: ``transforms=[v2.RandomResizedCrop(224), gpufeed.on_sample(noise), ...]``.

    A function or an object that gpufeed does not know runs in the same way without this; this says more about it, and that
    you know that it runs in Python: the loader then does not warn before the first epoch.

    Args:
        function: Gets an image and returns one, of any size, with as many channels.
        takes: What it gets: ``"pil"``; ``"array"``, rows, columns and channels; ``"tensor"``, channels, rows and columns. Default:
            what torchvision gives it there, which is a PIL image before ``ToTensor``, ``ToImage`` and their like, and a tensor
            after them.
        size: Height and width of all images that it returns, or a number for both. Default: it keeps the size, or transforms after
            it give all images one.
        makes_floats: It gets 8-bit numbers and returns floats, as ``ToTensor`` does. Default: ``False``, unless ``Normalize``
            follows.
        with_seed: Calls ``function(image, seed)`` with a number that depends on the loader's seed, the epoch, the sample and the
            view alone, and leaves the global generators of ``random``, NumPy and torch alone. Default: ``False``: these are
            seeded by that number before a call and put back after it.
    """
    return OnSample(function, takes, size, makes_floats, with_seed)


def on_batch(function: Callable[[Any], Any]) -> OnBatch:
    """Code of your own for finished batches, as the last one of a list of transforms: it gets the tensor of a batch's images, on
    the loader's device, and returns one with as many. It runs in the loop's thread, when the batch is handed over, as if it
    stood in the loop; batches of :meth:`DataLoader.batches` do not go through it."""
    return OnBatch(function)


class OwnCode:
    """A piece of code in a loader's list. ``name`` is its place and what it is called; ``form`` what torchvision would give it,
    ``"pil"``, ``"image"`` for a ``tv_tensors.Image``, ``"array"``, or ``"tensor"``; ``behind`` is other code whose results it gets, in
    the form in which that returns them; ``floats`` is true where the list computes in floats."""

    def __init__(self, given: Any, name: str, form: str, floats: bool, behind: OwnCode | None = None) -> None:
        said = given if isinstance(given, OnSample) else OnSample(given, None, None, False, False)
        self.name, self.function, self.with_seed = name, said.function, said.with_seed
        self.is_said = said is given
        self.form = said.takes or ("tensor" if floats and form == "pil" else form)
        self.behind = behind if said.takes is None else None
        # The form of what each thread's last call returned: a thread has one image after the other.
        self._returned: dict[int, str] = {}
        self.size, self.floats = said.size, floats
        # True where the transforms after it need floats, though it gets 8-bit numbers.
        self.makes_floats = said.makes_floats and not floats

    @property
    def parts(self) -> list[tuple[Any, bool]]:
        """The objects of which one call at a time may be inside: the code, and the generators that are seeded for it."""
        return [(self.function, True)] if self.with_seed else [(self.function, True), (random, True)]

    def run(self, data: bytes, width: int, height: int, channels: int, is_float: bool, seed: int) -> Pixels:
        """Calls the code with an image."""
        image = self._image(data, width, height, channels, is_float)
        if self.with_seed:
            made = self.function(image, seed)
        else:
            with Seeded(seed):
                made = self.function(image)
        found = _pixels(made)
        if isinstance(found, str):
            raise self._wrong(f"returned {found}; a PIL image of mode RGB or L, an array of uint8 or floats with rows, columns and "
                              "channels, or a tensor with the channels first works")
        if (is_float or self.makes_floats) and not found[4]:
            follows = "the list computes in floats there" if is_float else "floats have to come from it, for the transforms after it"
            raise self._wrong(f"returned 8-bit numbers, but {follows}; return a tensor of floats, or put ToTensor after it")
        self._returned[threading.get_ident()] = forms.form_of(made) or self.form
        return found

    # Where the code before has made floats of 8-bit numbers, a tensor stands in for a PIL image.
    def _image(self, data: bytes, width: int, height: int, channels: int, is_float: bool) -> Any:
        form = self.form if self.behind is None else self.behind._returned.get(threading.get_ident(), self.form)
        if form == "pil" and not is_float:
            from PIL import Image

            return Image.frombytes("RGB" if channels == 3 else "L", (width, height), data)
        import numpy

        # A copy, as code may change it in place.
        array = numpy.frombuffer(bytearray(data), numpy.float32 if is_float else numpy.uint8).reshape(height, width, channels)
        if form == "array":
            return array
        import torch

        tensor = torch.from_numpy(array).permute(2, 0, 1).contiguous()
        if form == "image":
            from torchvision.tv_tensors import Image as TensorImage

            return TensorImage(tensor)
        return tensor

    def _wrong(self, text: str) -> DataError:
        error = DataError(f"{self.name} {text}")
        # To replace the sample would not help.
        error._ends_the_run = True  # type: ignore[attr-defined]
        return error


def _pixels(made: Any) -> Pixels | str:
    """Returns the pixels of an image of any form, or what else it is."""
    if hasattr(made, "tobytes") and hasattr(made, "mode") and hasattr(made, "getbands"):
        if made.mode not in ("RGB", "L"):
            return f"a PIL image of mode {made.mode}"
        return made.tobytes(), made.width, made.height, len(made.getbands()), False
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    shape: Any = list(getattr(made, "shape", ()))
    if torch is not None and isinstance(made, torch.Tensor):
        if made.device.type != "cpu":
            return f"a tensor on {made.device}"
        kind = f"a tensor of {made.dtype}".replace("torch.", "")
        if not (made.dtype == torch.uint8 or made.dtype.is_floating_point):
            return kind
        made = made.detach().as_subclass(torch.Tensor)
        made = made[None] if made.ndim == 2 else made
        if made.ndim != 3 or made.shape[0] not in (1, 3):
            return f"{kind} and the shape {shape}"
        rows = made.permute(1, 2, 0).contiguous()
        array = (rows.float() if made.dtype.is_floating_point else rows).numpy()
    elif numpy is not None and isinstance(made, numpy.ndarray):
        kind = f"an array of {made.dtype}"
        if made.dtype != numpy.uint8 and made.dtype.kind != "f":
            return kind
        array = made[..., None] if made.ndim == 2 else made
        if array.ndim != 3 or array.shape[2] not in (1, 3):
            return f"{kind} and the shape {shape}"
        if array.dtype != numpy.uint8:
            array = array.astype(numpy.float32)
    else:
        several = isinstance(made, (list, tuple))
        return f"a {type(made).__name__} of {len(made)}" if several else f"{made!r:.40}" if made is None else f"a {type(made).__name__}"
    height, width, channels = array.shape
    if 0 in (height, width):
        return f"{kind} and the shape {shape}"
    return array.tobytes(), width, height, channels, array.dtype != "uint8"


@dataclass
class Own:
    """What a loader has of the user's own: the code in its lists, by the numbers that these name, and that for finished batches of
    the list that was converted last."""

    codes: list[OwnCode] = field(default_factory=list)
    on_batch: tuple[OnBatch, ...] = ()

    def take_on_batch(self) -> tuple[OnBatch, ...]:
        """Returns the code for finished batches, and forgets it."""
        taken, self.on_batch = self.on_batch, ()
        return taken

    def warn(self) -> None:
        """Warns of code that runs in Python although nobody has said so."""
        names = [code.name for code in self.codes if not code.is_said]
        if names:
            warn_once_outside(
                f"gpufeed: {' and '.join(names)} {'runs' if len(names) == 1 else 'run'} in Python, in the workers under the "
                "interpreter's lock (GIL), one call at a time. A warning after the first epoch says what it costs; explain() says what runs "
                "before and after it; gpufeed.on_sample(...) around it in the list says that you know it"
            )


def name_of(code: Any) -> str:
    """Returns what code is called: the name of a function, or of an object's class."""
    code = code.function if isinstance(code, (OnSample, OnBatch)) else code
    code = getattr(code, "lambd", code)
    code = code.func if isinstance(code, functools.partial) else code
    name = getattr(code, "__qualname__", None)
    return str(name if isinstance(name, str) else type(code).__name__).replace("<locals>.", "")[-60:]


def own_size(given: Any) -> tuple[int, int]:
    """Returns the height and width of the images that code returns."""
    sides = (given, given) if isinstance(given, int) else tuple(given)
    if len(sides) != 2:
        raise ArgumentError(f"size: {given!r}; (height, width), or one number for both, works")
    return arguments.whole("size", sides[0], 1), arguments.whole("size", sides[1], 1)
