"""A batch on its way from the process that made it to another one: plain arrays, which the other process can map, and
the facts of the batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from gpufeed import collate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpufeed import _gpufeed
    from gpufeed.arrangement import Arranged

    AnyArray = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class Failure:
    """A sample that could not be used, and that another one has replaced. ``error`` comes without its ``__cause__``,
    whose class this process may not know."""

    batch_index: int
    id: int
    name: str
    error: BaseException


@dataclass
class Parcel:
    """A batch as an actor sends it. ``state`` is the state of the actor's own shard after the batch, as JSON. Images of
    bfloat16, which NumPy lacks, are their bits as uint16; ``dtype`` says which type they are of."""

    images: AnyArray
    dtype: str
    labels: AnyArray | list[Any] | None
    ids: list[int]
    failures: list[Failure]
    params: list[str]
    mixed: list[tuple[int, int, float]] | None
    valid: int
    views: int
    crops: int
    state: str
    # The attributes that a batch gains from groups, from fields, and from data sets in Python.
    groups: list[GroupParcel] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    sample_labels: AnyArray | None = None
    rest: list[Any] | None = None
    targets: dict[str, AnyArray] | None = None
    object_field: tuple[str, str, list[tuple[int, int]], list[int]] | None = None
    # Height and width of each image, and how those of different sizes lie in the memory.
    sizes: AnyArray | None = None
    arranged: Arranged | None = None


@dataclass
class GroupParcel:
    """The images of a group after the first one, and the facts of any group."""

    name: str
    # None for the first group: its images are the parcel's.
    images: AnyArray | None
    dtype: str
    ids: list[int]
    params: list[str]
    valid: int
    views: int
    crops: int
    sizes: AnyArray | None
    arranged: Arranged | None


def pack(batch: _gpufeed.Batch) -> Parcel:
    """Makes a parcel of a batch of the native module. The parcel's arrays share the batch's buffer."""
    failures = [Failure(each.batch_index, each.id, each.name, each.error) for each in batch.failures]
    labels = batch.labels if isinstance(batch.labels, list) else _array(batch.labels)
    images, dtype = _images(batch._memory)
    parcel = Parcel(
        images, dtype, labels, batch.ids, failures, batch.params, batch.mixed, batch.valid, batch.views, batch.crops,
        batch.state,
    )
    groups = batch.groups
    if len(groups) > 1 or "image" not in groups:
        parcel.groups = [_group(group, number > 0) for number, group in enumerate(groups.values())]
    rests = collate.opened(batch)
    if rests is None:
        columns = batch.columns.items()
        parcel.columns = {name: each if isinstance(each, list) else _array(each) for name, each in columns}
    else:
        # Opened here: the classes that pickles name may be known to this process alone.
        parcel.rest = [collate.Opened(rest) for rest in rests]
    if (found := batch.targets) is not None:
        parcel.targets = {name: numpy.from_dlpack(each) for name, each in found.items()}
        parcel.object_field = batch._object_field
    parcel.sizes, parcel.arranged = _array(batch.image_sizes), batch._arranged
    if batch.views * batch.crops > 1:
        parcel.sample_labels = _array(batch._sample_labels)
    return parcel


def _array(array: Any) -> AnyArray | None:
    return None if array is None else numpy.from_dlpack(array)


def _group(group: _gpufeed.Group, with_images: bool) -> GroupParcel:
    images, dtype = _images(group._memory)
    sent = images if with_images else None
    return GroupParcel(
        group.name, sent, dtype, group.ids, group.params, group.valid, group.views, group.crops,
        _array(group.image_sizes), group._arranged,
    )


def _images(images: _gpufeed.Array) -> tuple[AnyArray, str]:
    """Returns images as an array of NumPy, which has no bfloat16, and the name of their type."""
    dtype = images.dtype
    return numpy.from_dlpack(images.as_uint16() if dtype == "bfloat16" else images), dtype


class StoredArray:
    """An array in memory that is shared with other processes. ``numpy.from_dlpack``, ``numpy.asarray`` and
    ``torch.from_dlpack`` take it without a copy; the memory is freed with the last of them. Bits of bfloat16, which NumPy
    lacks, are in an array of uint16: only ``torch.from_dlpack`` and its like take those."""

    def __init__(self, array: AnyArray, dtype: str | None = None) -> None:
        self._array = array
        self._dtype: str = dtype or array.dtype.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def dtype(self) -> str:
        """The name of the elements' type."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._array.nbytes

    @property
    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array.ctypes.data

    def as_uint16(self) -> StoredArray:
        """The same memory as uint16: the bits of float16 or bfloat16, for libraries that lack the type."""
        if self._array.itemsize != 2:
            raise TypeError(f"elements of {self._dtype}; float16 and bfloat16 have 16 bits each")
        return StoredArray(self._array.view(numpy.uint16))

    def __dlpack__(self, **asked: Any) -> Any:
        if self._dtype != "bfloat16":
            return self._array.__dlpack__(**asked)
        # NumPy cannot export the type. Not every version of torch takes uint16; all take int16.
        try:
            import torch
            from torch.utils.dlpack import from_dlpack
        except ImportError as error:
            raise BufferError(
                "bfloat16 of another process is handed over by torch, which is not installed; as_uint16() gives its bits, "
                'and dtype="float16" has the same size'
            ) from error
        return from_dlpack(self._array.view(numpy.int16)).view(torch.bfloat16).__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if self._dtype == "bfloat16":
            raise TypeError(
                "NumPy has no bfloat16; torch.from_dlpack(array) takes the array, and numpy.asarray(array.as_uint16()) its "
                'bits; dtype="float16" has the same size'
            )
        if copy:
            return numpy.array(self._array, dtype)
        return self._array if dtype is None else self._array.astype(dtype, copy=False)

    def part(self, index: Any) -> StoredArray:
        """The part of the memory that NumPy's index names."""
        return StoredArray(self._array[index], self._dtype)

    def reshaped(self, shape: list[int]) -> StoredArray:
        """The same memory in another shape."""
        return StoredArray(self._array.reshape(shape), self._dtype)

    def __len__(self) -> int:
        return len(self._array)


@dataclass(frozen=True, eq=False)
class Group:
    """The images of a batch in one group of views, made by another process."""

    name: str
    """The name of the group."""
    images: StoredArray
    """The images. View ``v`` of sample ``i`` is image ``i * views + v``."""
    ids: list[int]
    """For each image, the id of its sample."""
    params: list[str]
    """The drawn parameters of each image as JSON, for ``replay`` with the group's name."""
    valid: int
    """Images that are not padding; padding comes last."""
    views: int
    """Views of each sample."""
    crops: int
    """Images of each view: more than one with FiveCrop and TenCrop."""
    image_sizes: StoredArray | None
    """Height and width of each image, without padding."""
    _memory: StoredArray | None = None
    _arranged: Arranged | None = None

    def image(self, index: int) -> StoredArray:
        """Returns an image without padding."""
        return _image(self._memory, self._arranged, index)

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch that another process made. Unpacks as ``images, labels``, and has what :class:`gpufeed.Batch` has."""

    images: StoredArray
    """The images, as ``torch.from_dlpack`` and its like take them; NumPy's arrays of them are read-only."""
    labels: Any
    """Class numbers as int64, vectors and soft labels as float32; a list of what an object in Python has given otherwise;
    None without labels."""
    ids: list[int]
    """For each image, the id of its sample, in the order of ``images``. Several views or crops of a sample repeat its
    id."""
    failures: list[Failure]
    """The samples that could not be used and were replaced."""
    params: list[str]
    """The drawn parameters of each image as JSON, for ``replay``."""
    mixed: list[tuple[int, int, float]] | None
    """For each image: its class, the class of its partner, and its own share of the mix. None if some label is no
    class."""
    valid: int
    """Images that are not padding; padding comes last."""
    views: int
    """Views of each sample."""
    crops: int
    """Images of each view: more than one with FiveCrop and TenCrop."""
    epoch: int
    """The epoch of the batch."""
    index: int
    """The number of the batch in this process's epoch, from 0."""
    state: str
    """The state after this batch, as JSON."""
    groups: dict[str, Group]
    """The groups of images by their names; one, ``image``, for a loader without groups."""
    columns: dict[str, Any]
    """The fields by their names, with a value for each sample."""
    targets: dict[str, StoredArray] | None
    """The objects of the images, as :class:`gpufeed.Batch` has them."""
    _object_field: tuple[str, str, list[tuple[int, int]], list[int]] | None
    image_sizes: StoredArray | None
    """Height and width of each image, without padding."""
    _sample_labels: StoredArray | None = None
    _rest: list[Any] | None = None
    _memory: StoredArray | None = None
    _arranged: Arranged | None = None

    def image(self, index: int) -> StoredArray:
        """Returns an image without padding."""
        return _image(self._memory, self._arranged, index)

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.images, self.labels))

    def __getitem__(self, index: int) -> Any:
        return (self.images, self.labels)[index]


def _shown(memory: StoredArray, arranged: Arranged | None) -> StoredArray:
    """Returns the images: padded ones without what lies beyond the largest of the batch."""
    if arranged is None or not arranged[0]:
        return memory
    return memory.part(tuple(slice(length) for length in arranged[0]))


def _image(memory: StoredArray | None, arranged: Arranged | None, index: int) -> StoredArray:
    assert memory is not None
    image = memory.part(range(len(memory))[index])
    if arranged is None:
        return image
    padded, shapes = arranged
    shape = shapes[index]
    if padded:
        return image.part(tuple(slice(length) for length in shape))
    return image.reshaped([-1]).part(slice(shape[0] * shape[1] * shape[2])).reshaped(shape)


def unpack(parcel: Parcel, epoch: int, index: int, state: str) -> Batch:
    """Makes a batch of this process's epoch from a parcel."""
    labels = parcel.labels if isinstance(parcel.labels, list) else _stored(parcel.labels)
    memory = StoredArray(parcel.images, parcel.dtype)
    one = GroupParcel(
        "image", None, parcel.dtype, parcel.ids, parcel.params, parcel.valid, parcel.views, parcel.crops,
        parcel.sizes, parcel.arranged,
    )
    groups = {}
    for each in parcel.groups or [one]:
        of_group = memory if each.images is None else StoredArray(each.images, each.dtype)
        groups[each.name] = Group(
            each.name, _shown(of_group, each.arranged), each.ids, each.params, each.valid, each.views, each.crops,
            _stored(each.sizes), of_group, each.arranged,
        )
    columns = {name: each if isinstance(each, list) else _stored(each) for name, each in parcel.columns.items()}
    # With one image a sample, the labels of images are those of samples.
    of_samples = labels if parcel.sample_labels is None else _stored(parcel.sample_labels)
    targets = None if parcel.targets is None else {name: StoredArray(each) for name, each in parcel.targets.items()}
    made = Batch(
        _shown(memory, parcel.arranged), labels, parcel.ids, parcel.failures, parcel.params, parcel.mixed, parcel.valid,
        parcel.views, parcel.crops, epoch, index, state, groups, columns, targets, parcel.object_field, _stored(parcel.sizes),
        None if isinstance(of_samples, list) else of_samples, parcel.rest, memory, parcel.arranged,
    )
    if parcel.rest is not None:
        columns.update(collate.columns_of(made))
    return made


def _stored(array: Any) -> StoredArray | None:
    return None if array is None else StoredArray(array)
