"""Data sets whose transforms are their own, for a loader that has none: torch's loaders get samples that are ready for a batch.

What gpufeed has in native code is taken apart, the data set and its transforms; functions between these run in Python, alone. Any other
object makes its samples in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gpufeed import _gpufeed, hugging_face, opening, samples, sample_images, torch_datasets, turns
from gpufeed.blends import Blend
from gpufeed.draws import Draws
from gpufeed.errors import ArgumentError, RunError
from gpufeed.failures import warn_once_outside
from gpufeed.own_code import OwnCode

if TYPE_CHECKING:
    from gpufeed import own_views

# In memory: making their samples takes no time.
_PLAIN = ("list", "tuple", "TensorDataset")


def taken(data: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any], own_views.Found | None]:
    """Returns the data set for ``gpufeed.DataLoader``, keywords beside it, and what the data set's transform makes of an image if that is
    several views. ``keywords`` are those that the user gave."""
    made = {} if hugging_face.is_made_of(data) or "exif" in keywords else {"exif": False}
    chosen = any(keywords.get(name) is not None for name in ("transforms", "recipe", "groups"))
    if chosen or isinstance(data, (_gpufeed.Dataset, Blend)):
        return data, made, None
    known = opening.known(data)
    own = None if known is None else known.transform_of(data)
    why = None if known is None else known.why_in_python(data)
    if own is not None and (argument := opening.leaves_transform(keywords)) is not None:
        why = f"{argument}= is of an object that makes its samples itself"
    elif own is not None:
        why = _why_not_native(data, own)
        if why is None:
            return data, made, None
        plain = known is torch_datasets and not torch_datasets.is_detection(data)
        if plain and "batch_transforms" not in keywords and not opening.is_object(data):
            views = _views(data, own)
            if views is not None:
                groups, found = views
                return opening.open_data(data, {}), made | {"groups": groups}, found
    name = type(data).__name__
    of_python = MadeInPython(data, _first(data))
    if name not in _PLAIN:
        why = of_python.why = why or f"the class {name} makes them itself"
        warn_once_outside(
            "gpufeed: data: samples are made in Python, under the interpreter's lock, where torch's worker processes run side by side, and random "
            f"numbers in them differ from run to run, whatever the seed: {why}"
        )
    return of_python, made | {"recipe": of_python.recipe}, None


def _views(data: Any, transform: Any) -> tuple[dict[str, Any], own_views.Found] | None:
    """Returns the groups for a transform that makes several views of an image, and what it makes of one; ``None`` for other transforms."""
    from torchvision.transforms.v2 import CenterCrop, Compose

    from gpufeed import own_views

    found = own_views.found(transform)
    if found is None or found.form is None:
        return None
    size = torch_datasets.image_size(data)
    if size is None:
        return dict(found.groups), found
    # All images have this size, which no transform has to give them then.
    return {name: (Compose([CenterCrop(size), each]), number) for name, (each, number) in found.groups.items()}, found


def _why_not_native(data: Any, own: Any) -> str | None:
    """Returns why ``gpufeed.DataLoader`` cannot run the transforms of a data set in its place; ``None`` if it can."""
    from gpufeed.torchvision import UnsupportedTransform, convert

    codes: list[OwnCode] = []
    try:
        is_joint = torch_datasets.is_detection(data)
        place, channels = "data.transforms" if is_joint else "data.transform", opening.known_channels(data, False)
        converted = convert(own, place=place, channels=channels, codes=codes, is_joint=is_joint)
    except UnsupportedTransform as refused:
        return str(refused)
    if all(code.is_said for code in codes):
        return None
    # Code of the user's own may make an image that gpufeed's transforms do not go on with.
    try:
        image: Any = _image(_first(data), 0)
    except Exception:  # noqa: BLE001 - the loader says what is wrong with the sample
        return None
    if hasattr(image, "getbands"):
        return None
    if not isinstance(image, torch.Tensor):
        return f"{codes[0].name} makes a {type(image).__name__}"
    floats = converted.recipe["output"]["dtype"] == "F32"
    if image.ndim != 3 or len(image) != _channels(converted.recipe, data) or image.dtype != (torch.float32 if floats else torch.uint8):
        return f"{codes[0].name} makes a tensor of {image.dtype} and the shape {[*image.shape]}"
    return None


def _channels(recipe: dict[str, Any], data: Any) -> int:
    """Returns how many channels the images of a list have."""
    made = [each["num_output_channels"] for each in recipe["transform"] if each["type"] == "Grayscale"]
    return int(made[-1]) if made else opening.known_channels(data, False) or 3


def _first(data: Any) -> Any:
    with Draws(0):
        return data[0]


class MadeInPython:
    """An object whose samples have the image as it is to stand in the batch: an array or a tensor of one size. ``why`` says why it makes them
    itself, where there is anything to say."""

    why: str | None = None
    # Boxes in samples are those of the images as they are.
    has_ready_images = True

    def __init__(self, data: Any, first: Any) -> None:
        self.data = data
        image = _image(first, 0)
        if not hasattr(image, "shape") or hasattr(image, "getbands"):
            raise ArgumentError(
                f"transforms: sample 0 of this {type(data).__name__} has {sample_images.kind_of(image)} as its image, which is in no batch "
                "without transforms; give the data set a transform, or the loader transforms=v2.Compose([...])"
            )
        if len(image.shape) != 3:
            raise ArgumentError(
                f"data: sample 0 has an image of the shape {[*image.shape]}; channels, rows and columns work, and for anything else torch's own loader"
            )
        _, form = sample_images.image_of(image, 0)
        assert form is not None, "an array has a form"
        columns, rows, pixels = form
        self.shape = tuple(image.shape)
        self.channels = 1 if pixels in ("R8", "F32x1") else 3
        if pixels == "Rgba8":
            raise ArgumentError("data: its images have 4 channels, of which gpufeed keeps 3; give images of 3 or 1 channels")
        self.classes = getattr(data, "classes", None)
        paths = samples.paths_of(data)
        if paths is not None:
            # For the field "path".
            self.samples = [(path,) for path in paths]
        # True holds for all that the reads call, too.
        self.thread_safe = None if any(alone for _, alone in turns.parts(data, None)) else True
        if getattr(data, "__getitems__", None) is not None:
            self.__getitems__ = self._several
        of_bytes = pixels in ("R8", "Rgb8")
        layout = "Nchw" if sample_images.has_channels_first(image, self.shape) else "Nhwc"
        output = {"layout": layout, "dtype": "U8" if of_bytes else "F32"}
        # All images have this size, so that the crop changes none.
        self.recipe: dict[str, Any] = {"transform": [{"type": "CenterCrop", "size": [rows, columns]}], "output": output}
        if of_bytes:
            self.recipe["semantics"] = "Uint8"

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        return self._checked(self.data[index], index)

    def _several(self, indices: list[int]) -> list[Any]:
        found = self.data.__getitems__(indices)
        return [self._checked(sample, index) for sample, index in zip(found, indices, strict=True)]

    def _checked(self, sample: Any, index: int) -> Any:
        shape = tuple(getattr(_image(sample, index), "shape", ()))
        if shape != self.shape:
            raise RunError(
                f"sample {index} has an image of the shape {list(shape)}, and sample 0 one of {list(self.shape)}: the images of a batch have one size"
            )
        return sample


def _image(sample: Any, index: int) -> Any:
    image, _ = samples.named_parts(sample, index)
    return image
