"""Hands batches over as tensors on a device: in a tuple, in the form of the samples, or in a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufeed import collate
from gpufeed.arrangement import Arranged, on_each, shown
from gpufeed.collate import IMAGE, Kept
from gpufeed.errors import ArgumentError
from gpufeed.iterator import Run
from gpufeed.sample_objects import Lefts
from gpufeed.targets import Here, PerImage, flat_with, stand_in

Normalize = tuple[list[float], list[float], str]

# Makes what the loop gets of the tensors of a batch's arrays, in their order.
Assemble = Callable[[Sequence[Any]], Any]


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


@dataclass(frozen=True)
class Finish:
    """What is done to the images of a group on the device."""

    channels_last: bool = False
    normalize: Normalize | None = None
    # The user's code, which gets the images last.
    on_batch: tuple[Callable[[Any], Any], ...] = ()


@dataclass(frozen=True)
class HandOver:
    """The form of a loader's batches. Without ``groups`` a batch is ``(images, labels)``, or what the samples of an object in
    Python are with the images in the place of the image; with them, or ``as_dict``, it is a dictionary."""

    finishes: dict[str, Finish] = field(default_factory=lambda: {IMAGE: Finish()})
    as_dict: bool = False
    # True where the objects of a batch stay in flat tensors.
    flat_targets: bool = False
    # True where samples with objects are an image and a target.
    in_pairs: bool = False

    def begin(self) -> Parts:
        """Returns what divides the batches of a run into arrays."""
        return Parts(self)

    def finisher(self) -> Callable[[Any], Any] | None:
        """Returns what is done to the images of a loader without groups; None where they stay as they are."""
        return _finisher(self.finishes[IMAGE])


class _Place:
    """Stands for a tensor, which has this number among those of its batch."""

    def __init__(self, number: int, finish: Callable[[Any], Any] | None) -> None:
        self.number, self.finish = number, finish


class Parts:
    """Divides batches into arrays, which are copied to a device, and a form, into which the tensors are put."""

    def __init__(self, hand: HandOver) -> None:
        self._hand = hand
        self._finishers = {name: _finisher(finish) for name, finish in hand.finishes.items()}

    def __call__(self, batch: Any) -> tuple[list[Any], Assemble]:
        """Returns the arrays of a batch, of which some may be tensors on the CPU already, and what makes a batch of the
        tensors. The latter does not hold the batch."""
        images = self._images(batch)
        arranged = self._arranged(batch)
        for name, each in arranged.items():
            if each is not None and each[0] and self._hand.finishes[name].normalize is not None:
                raise ArgumentError("normalize_on_device: it would normalise the padding, too, which is 0; leave it out")
        finish = {id(array): _after(shown(arranged[name]), self._finishers[name]) for name, array in images.items()}
        arrays: list[Any] = []

        def place(array: Any) -> Any:
            if type(array) is Kept:
                # It stays closed until the tensors are put in their places, so that nothing looks into it there either.
                return array
            arrays.append(array)
            return _Place(len(arrays) - 1, finish.get(id(array)))

        content = self._content(batch, images), batch.targets
        form = collate.changed(content, lambda value: hasattr(value, "data_ptr") or type(value) is Kept, place)
        per_image = None if batch._object_field is None else PerImage(batch)
        flat_targets = self._hand.flat_targets

        def assemble(tensors: Sequence[Any]) -> Any:
            of_batch, of_targets = form
            flat = collate.changed(of_targets, _is_place, lambda at: _put(at, tensors))

            def put(part: Any) -> Any:
                if type(part) is _Place:
                    return _put(part, tensors)
                lefts = part.lefts if isinstance(part, Lefts) else None
                return flat_with(flat, lefts) if flat_targets or per_image is None else per_image.rows(flat, lefts)

            return collate.changed(of_batch, lambda value: _is_place(value) or stand_in(value), put)

        return arrays, assemble

    def _images(self, batch: Any) -> dict[str, Any]:
        names = list(self._hand.finishes)
        if names == [IMAGE]:
            return {IMAGE: batch._memory}
        groups = batch.groups
        return {name: groups[name]._memory for name in names}

    def _arranged(self, batch: Any) -> dict[str, Arranged | None]:
        names = list(self._hand.finishes)
        if names == [IMAGE]:
            return {IMAGE: batch._arranged}
        groups = batch.groups
        return {name: groups[name]._arranged for name in names}

    def _content(self, batch: Any, images: dict[str, Any]) -> Any:
        """Returns the batch in its form, with arrays in the places of tensors."""
        rests, described = collate.opened(batch), batch._object_field
        if rests is None and not self._hand.as_dict and (described is None or self._hand.in_pairs):
            return images[IMAGE], batch.labels if described is None else Here()
        labels = batch._sample_labels
        if rests is None:
            columns = {name: Kept(each) if isinstance(each, list) else each for name, each in batch.columns.items()}
        elif self._hand.as_dict:
            columns = collate.named(rests)
        else:
            # Labels of the native module beside what Python collates are soft ones, of which a mixed batch has one for each image.
            return collate.like_samples(rests, images[IMAGE], batch.views * batch.crops, labels)
        if described is not None and rests is None:
            columns[described[0]] = Here()
        if labels is not None:
            columns = {"label": labels} | {name: each for name, each in columns.items() if name != "label"}
        for name in images:
            if name in columns:
                raise ArgumentError(f"groups: {name!r} is the name of a field of the samples, too; give the group another name")
        return {**images, **columns}


def _is_place(value: Any) -> bool:
    return type(value) is _Place


def _put(place: _Place, tensors: Sequence[Any]) -> Any:
    tensor = tensors[place.number]
    return tensor if place.finish is None else place.finish(tensor)


def _after(first: Callable[[Any], Any] | None, then: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if first is None or then is None:
        return first or then
    return lambda images: then(first(images))


def _finisher(finish: Finish) -> Callable[[Any], Any] | None:
    form = on_each(_form(finish))
    if not finish.on_batch:
        return form

    def run(images: Any) -> Any:
        images = images if form is None else form(images)
        for code in finish.on_batch:
            images = code(images)
        return images

    return run


def _form(finish: Finish) -> Callable[[Any], Any] | None:
    if finish.normalize is None:
        return _channels_last if finish.channels_last else None
    import torch

    from gpufeed.torch import DeviceNormalize

    mean, std, dtype = finish.normalize
    normalize = DeviceNormalize(mean, std, getattr(torch, dtype))
    if not finish.channels_last:
        return normalize
    return lambda images: normalize(_channels_last(images))


def _channels_last(images: Any) -> Any:
    """Returns NHWC images in the shape of NCHW, without a copy. torch calls this the channels_last memory format."""
    return images.permute(0, 3, 1, 2)


class Host:
    """Tensors that share the loader's memory."""

    def __init__(self, run: Run, hand: HandOver) -> None:
        torch = import_torch()
        self._next, self._from_dlpack, self._tensor = run.next, torch.from_dlpack, torch.Tensor
        self._parts = hand.begin()
        # The batch that was taken, but that an interrupt kept from being handed out.
        self._taken: Any = None

    def __call__(self) -> tuple[Any, str]:
        if self._taken is None:
            self._taken = self._next()
        batch = self._taken
        if batch is None:
            raise StopIteration
        try:
            arrays, assemble = self._parts(batch)
            made = assemble(self._tensors(arrays)), batch.state
        except Exception:
            # Such as labels that cannot be collated. The next call has the next batch.
            self._taken = None
            raise
        self._taken = None
        return made

    def _tensors(self, arrays: Sequence[Any]) -> list[Any]:
        """Returns the tensor of each array."""
        return [array if isinstance(array, self._tensor) else self._from_dlpack(array) for array in arrays]

    def close(self) -> None:
        """Drops a batch that was not handed out."""
        self._taken = None
