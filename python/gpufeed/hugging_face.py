"""Data sets of Hugging Face's ``datasets``: image files as they lie in its Arrow tables, without ``datasets`` decoding them by Pillow.

The rows are those of the data set after ``select``, ``shuffle``, ``filter`` and ``train_test_split``. A sample is a dictionary as the
data set gives it, with the bytes of a file in the place of the image.
"""

from __future__ import annotations

import io
import pickle
import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from gpufeed import mapped_transforms, samples
from gpufeed.errors import ArgumentError
from gpufeed.sample_labels import label_of

# The columns that may stand beside the image in a format of tensors or arrays: their values become the same tensors.
_SAME = ("int", "uint", "bool", "string", "large_string")

# The most combinations of values beside the image with which a function is called, to see what it does to each.
_MOST_VALUES = 1024
# The most bytes of a table, and headers read by Pillow, to learn that all images of a data set are gray.
_MOST_BYTES, _MOST_HEADERS = 1 << 30, 100_000


class _Stays(Exception):
    """The data set is read by ``datasets`` itself. The text says why."""


def is_made_of(data: Any) -> bool:
    """True for a data set of ``datasets``, and for torch's ``Subset`` of one."""
    of_torch = sys.modules.get("torch.utils.data")
    if of_torch is not None and type(data) is of_torch.Subset:
        return is_made_of(data.dataset)
    # Does not import datasets: who has one of its objects has imported it.
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(data, datasets.Dataset)


def rows(data: Any) -> Any:
    """Returns an object with the image files and the other columns of a data set of ``datasets``; ``None`` for other objects, and where
    ``datasets`` has to make the samples itself."""
    if not is_made_of(data):
        return None
    if type(data).__name__ == "Subset" and (inner := rows(data.dataset)) is not None:
        return type(data)(inner, data.indices)
    try:
        return HuggingFaceDataset(data)
    except _Stays:
        return None


def transform_of(data: Any) -> Any:
    """Returns the list of transforms that a data set's ``with_transform`` calls for each image; ``None`` without one."""
    if why_in_python(data) is not None:
        return None
    found = _mapping(_root(data))
    return None if found is None else found.transforms


def transforms_held(data: Any) -> list[Any]:
    """Returns the function of ``with_transform`` or ``set_transform`` that a data set holds now."""
    return [_function(_root(data))]


def has_transform(data: Any) -> bool:
    """True for a data set with a function of ``with_transform`` or ``set_transform``."""
    return is_made_of(data) and _function(_root(data)) is not None


def note_of(data: Any) -> str:
    """Returns a sentence about a data set whose transforms a loader runs."""
    function = _function(_root(data))
    name, found = getattr(function, "__name__", type(function).__name__), _mapping(_root(data))
    columns = {} if found is None else found.names
    said = ", ".join(given if given == column else f"{given} (of {column})" for given, column in columns.items())
    return f"data: {name} of with_transform is taken as its list of transforms, with the columns {said}: it does the same to probe images"


def why_in_python(data: Any) -> str | None:
    """Returns why ``datasets`` makes the samples of a data set itself; ``None`` where it need not, and for other objects."""
    if not is_made_of(data):
        return None
    try:
        HuggingFaceDataset(_root(data))
    except _Stays as stays:
        return f"a data set of datasets: {stays}"
    return None


def refuse_others(data: Any) -> None:
    """Raises an error for what ``datasets`` has beside data sets: streams, and several splits in one dictionary."""
    datasets = sys.modules.get("datasets")
    if datasets is None:
        return
    if isinstance(data, (datasets.DatasetDict, datasets.IterableDatasetDict)):
        names = ", ".join(map(repr, data))
        raise ArgumentError(f"data: a {type(data).__name__} of the splits {names}; one of them works, data[{next(iter(data), 'train')!r}]")
    if isinstance(data, datasets.IterableDataset):
        raise ArgumentError(
            "data: an IterableDataset of datasets gives its samples in one order alone, and gpufeed reads them by their numbers; "
            'load_dataset(...) without streaming=True works, and gpufeed.open("FOLDER") of the Parquet files that it streams'
        )


def _root(data: Any) -> Any:
    return _root(data.dataset) if type(data).__name__ == "Subset" else data


def _function(data: Any) -> Any:
    form = data.format
    return form["format_kwargs"].get("transform") if form["type"] == "custom" else None


def _mapping(data: Any) -> mapped_transforms.Mapping | None:
    function = _function(data)
    if function is None:
        return None
    image, plain = _image_column(data), data.with_format(None)
    others = [name for name in _columns_of(data) if name != image]
    first = plain.select_columns([image, *others])[:2]
    return mapped_transforms.recognised(function, first, lambda columns: _distinct(data, columns), image)


def _distinct(data: Any, columns: list[str]) -> dict[str, list[Any]] | None:
    """Returns each combination of values that columns have in the table once; ``None`` if these are too many to call a function with
    each, or are no plain values."""
    if not all(str(getattr(data.features[name], "dtype", "")).startswith((*_SAME, "float")) for name in columns):
        return None
    found = data.data.table.select(columns).group_by(columns).aggregate([])
    return None if found.num_rows > _MOST_VALUES else found.select(columns).to_pydict()


def _image_column(data: Any) -> str:
    images = [name for name, feature in data.features.items() if type(feature).__name__ == "Image" and name in data.format["columns"]]
    if not images:
        raise _Stays("it has no column of the feature Image")
    return "image" if "image" in images else images[0]


class HuggingFaceDataset:
    """The rows of a data set of ``datasets``."""

    # Arrow's tables do not change, and each image file is opened for its sample alone.
    thread_safe = True

    def __init__(self, data: Any) -> None:
        self._data = data
        image = _image_column(data)
        self._check(data, image)
        self._table, self._indices = data.data, _indices_of(data)
        self._names = {name: name for name in _columns_of(data)}
        gray = _is_gray(data, self._table.column(image), self._indices)
        if _function(data) is not None:
            found = _mapping(data)
            if found is None:
                raise _Stays("the function of its with_transform does more than call one list of transforms for each image")
            self._names, gray = found.names, gray and not found.to_rgb
        self.channels = 1 if gray else 3
        self._image = next(given for given, column in self._names.items() if column == image)
        # The image is found as the first part that is one.
        self._names = {self._image: image} | self._names
        self._columns = {given: _Column(self._table.column(column)) for given, column in self._names.items()}
        # Other images are files, too.
        kinds = ((given, data.features[column]) for given, column in self._names.items())
        self._others = [given for given, kind in kinds if given != self._image and type(kind).__name__ == "Image"]
        label = data.features.get(self._names.get("label", ""))
        self.classes = list(label.names) if type(label).__name__ == "ClassLabel" else None

    @staticmethod
    def _check(data: Any, image: str) -> None:
        form, feature = data.format, data.features[image]
        if feature.mode not in (None, "RGB"):
            raise _Stays(f"its column {image!r} has the mode {feature.mode!r}")
        if form["type"] not in (None, "custom", "torch", "numpy"):
            raise _Stays(f"its format is {form['type']!r}")
        if form["type"] == "custom" and form["output_all_columns"]:
            raise _Stays("its with_transform has output_all_columns=True")
        for name in _columns_of(data):
            kind = data.features[name]
            if type(kind).__name__ not in ("Image", "Value", "ClassLabel", "List", "Sequence", "LargeList", "dict"):
                raise _Stays(f"its column {name!r} is of the feature {type(kind).__name__}")
            plain = type(kind).__name__ in ("Image", "ClassLabel") or str(getattr(kind, "dtype", "")).startswith(_SAME)
            if form["type"] in ("torch", "numpy") and not plain:
                raise _Stays(f"its format is {form['type']!r}, and its column {name!r} has other values in it")

    def __len__(self) -> int:
        return len(self._data)

    def _row(self, index: int) -> int:
        return index if self._indices is None else int(self._indices[index])

    def __getitem__(self, index: int) -> dict[str, Any]:
        at = self._row(index)
        sample = {name: column[at] for name, column in self._columns.items()}
        file = _bytes_of(sample[self._image], index)
        sample[self._image] = _opened(file) if self.channels == 1 else file
        for name in self._others:
            sample[name] = None if sample[name] is None else _bytes_of(sample[name], index)
        return sample

    def __getitems__(self, indices: list[int]) -> list[dict[str, Any]]:
        # Workers that come for several rows at once wait less for each other's turn with the interpreter.
        return [self[index] for index in indices]

    def __reduce__(self) -> Any:
        return HuggingFaceDataset, (self._data,)


def _columns_of(data: Any) -> list[str]:
    form = data.format
    return list(data.column_names if form["output_all_columns"] else form["columns"])


def _indices_of(data: Any) -> Any:
    """Returns the row of the table for each sample; ``None`` where they are the same."""
    if not hasattr(data, "_indices"):
        raise _Stays("this version of datasets keeps the order of its rows elsewhere")
    table = data._indices
    if (data.data if table is None else table).num_rows != len(data):
        raise _Stays("this version of datasets keeps the order of its rows elsewhere")
    return None if table is None else table.column(0).to_numpy()


# Whether the images of data sets are gray, for loaders that ask several times.
_GRAY: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


def _is_gray(data: Any, column: Any, indices: Any) -> bool:
    """True if all images of a data set are gray. Three channels hold any image, so false where this takes too long to know: for files
    outside the table, and for large tables."""
    if data in _GRAY:
        return _GRAY[data]
    try:
        import PIL.Image
    except ImportError:
        return False
    images, opened = _Column(column), 0
    is_small = column.nbytes <= _MOST_BYTES
    try:
        gray = len(data) > 0
        for row in range(len(data)) if indices is None else indices.tolist():
            image = images[row]
            file = None if image is None else image["bytes"]
            if file is not None and file[:8] == _PNG and file[12:16] == b"IHDR":
                # The depth of a channel, and the kind of pixels.
                gray = is_small and file[24] <= 8 and file[25] == 0
            elif image is not None and (file is not None or image["path"] is not None):
                opened += 1
                # Pillow reads the header alone.
                gray = is_small and file is not None and opened <= _MOST_HEADERS and PIL.Image.open(io.BytesIO(file)).mode in ("1", "L")
            if not gray:
                break
    except Exception:  # noqa: BLE001 - the loader says what is wrong with the sample
        gray = False
    _GRAY[data] = gray
    return gray


_PNG = b"\x89PNG\r\n\x1a\n"


def _bytes_of(image: Any, index: int) -> bytes:
    if image is None or (image["bytes"] is None and image["path"] is None):
        raise ValueError(f"sample {index} has no image")
    if image["bytes"] is not None:
        found: bytes = image["bytes"]
        return found
    with open(image["path"], "rb") as file:
        return file.read()


def _opened(file: bytes) -> Any:
    """Opens a gray image by Pillow, as gpufeed makes three channels of files."""
    import PIL.Image

    return PIL.Image.open(io.BytesIO(file))


class _Column:
    """A column of a table: finds the chunk of a row without a look at the others."""

    def __init__(self, column: Any) -> None:
        chunks = [chunk for chunk in column.chunks if len(chunk) > 0]
        self._chunks = [_reads(chunk) for chunk in chunks]
        self._begins = [0, *accumulate(len(chunk) for chunk in chunks)]

    def __getitem__(self, row: int) -> Any:
        chunk = bisect_right(self._begins, row) - 1
        return self._chunks[chunk](row - self._begins[chunk])


def _reads(chunk: Any) -> Callable[[int], Any]:
    """Returns what reads a value of a chunk. Class numbers, and the files of images, are read without Arrow's objects between."""
    kind = str(chunk.type)
    if kind.startswith(("int", "uint")) and chunk.null_count == 0:
        read: Callable[[int], Any] = chunk.to_numpy().item
        return read
    if kind.startswith("struct<bytes: binary, path: string>") and chunk.null_count == 0:
        files, paths = chunk.field(0), chunk.field(1)

        def image(row: int) -> dict[str, Any]:
            file = files[row].as_py()
            return {"bytes": file, "path": paths[row].as_py() if file is None else None}

        return image
    return lambda row: chunk[row].as_py()


def item(sample: dict[str, Any], index: int) -> samples.Item:
    """Makes of a row what :func:`gpufeed.samples.item` makes of a sample, in a tenth of the time: the image comes first, and all else is
    plain values."""
    name = next(iter(sample))
    file, label = sample[name], sample.get("label")
    if type(file) is not bytes:
        return samples.item(sample, index)
    is_class = type(label) is int and 0 <= label < 2**32
    return file, None, label if is_class else label_of(label)[0], pickle.dumps(("dict", name, {**sample, name: None}), 5), [], None
