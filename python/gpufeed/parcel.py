"""A batch on its way from the process that made it to another one: plain arrays, which the other process can map, and
the facts of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpufeed import _gpufeed

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
    labels: AnyArray | None
    ids: list[int]
    failures: list[Failure]
    params: list[str]
    mixed: list[tuple[int, int, float]] | None
    valid: int
    views: int
    crops: int
    state: str


def pack(batch: _gpufeed.Batch) -> Parcel:
    """Makes a parcel of a batch of the native module. The parcel's arrays share the batch's buffer."""
    failures = [Failure(each.batch_index, each.id, each.name, each.error) for each in batch.failures]
    labels = None if batch.labels is None else numpy.from_dlpack(batch.labels)
    dtype = batch.images.dtype
    images = numpy.from_dlpack(batch.images.as_uint16() if dtype == "bfloat16" else batch.images)
    return Parcel(
        images, dtype, labels, batch.ids, failures, batch.params, batch.mixed, batch.valid, batch.views, batch.crops,
        batch.state,
    )


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
        except ImportError as error:
            raise BufferError(
                "bfloat16 of another process is handed over by torch, which is not installed; as_uint16() gives its bits, "
                'and dtype="float16" has the same size'
            ) from error
        return torch.from_dlpack(self._array.view(numpy.int16)).view(torch.bfloat16).__dlpack__(**asked)

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

    def __len__(self) -> int:
        return len(self._array)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch that another process made. Unpacks as ``images, labels``, and has what :class:`gpufeed.Batch` has."""

    images: StoredArray
    """The images, as ``torch.from_dlpack`` and its like take them; NumPy's arrays of them are read-only."""
    labels: StoredArray | None
    """Class numbers as int64, vectors and soft labels as float32; None without labels."""
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

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[StoredArray | None]:
        return iter((self.images, self.labels))

    def __getitem__(self, index: int) -> StoredArray | None:
        return (self.images, self.labels)[index]


def unpack(parcel: Parcel, epoch: int, index: int, state: str) -> Batch:
    """Makes a batch of this process's epoch from a parcel."""
    labels = None if parcel.labels is None else StoredArray(parcel.labels)
    return Batch(
        StoredArray(parcel.images, parcel.dtype), labels, parcel.ids, parcel.failures, parcel.params, parcel.mixed,
        parcel.valid, parcel.views, parcel.crops, epoch, index, state,
    )
