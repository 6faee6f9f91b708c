"""The loader: ``gpufeed.DataLoader``."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from gpufeed import _gpufeed, adapter, arguments, explained, keywords, opening, torch_datasets
from gpufeed.agreement import Agreement
from gpufeed.blends import Blend
from gpufeed.collate import IMAGE
from gpufeed.device_handover import DeviceHandover
from gpufeed.errors import ArgumentError
from gpufeed.failures import on_error_of
from gpufeed.handover import Finish, HandOver
from gpufeed.iterator import Run
from gpufeed.own_code import Own
from gpufeed.position import Positioned
from gpufeed.recipe import cut_normalize, notes_of_mixing, num_classes_of, recipe_of
from gpufeed.samplers import UserOrder, give_for, order_of, share_of, started
from gpufeed.shard import Shard, resolve
from gpufeed.targets import is_flat
from gpufeed.views import Groups, check as check_groups, groups_of, of_recipe as groups_of_recipe

# The line of ``explain()`` on the internal field that carries the pickles of Python's samples.
_REST = "_rest (bytes, may be absent)"


class DataLoader(Positioned):
    """Augmented batches of a data set, decoded and transformed on threads, as torch tensors.

    ``data`` is a path in any of gpufeed's formats, a data set of :func:`gpufeed.open`, or an object with ``__len__`` and
    ``__getitem__`` (or ``__getitems__``) that returns ``(image, label)``: bytes of an image file, an array or a PIL image;
    a class number, anything else that torch's ``default_collate`` takes, or None. Such an object may have two attributes: ``classes``, the names of the classes in the
    order of their numbers, or a dictionary of each name's number; and ``channels`` (3): 1 promises gray images, which then
    stay in one channel. ``transforms`` takes torchvision's transforms, and functions of your own between them, which run in Python
    (:func:`gpufeed.on_sample`); ``recipe`` the name of a built-in recipe, a TOML file, or a dictionary of its content instead.

    Such an object may also return a tuple of another length, a dictionary, a named tuple or a dataclass with an image in it.
    What stands beside the image becomes what torch's ``default_collate`` makes of it: texts a list, a float a tensor of float64.

    Iterating gives ``(images, labels)`` of one epoch, or the form of the object's own samples; with ``fields`` or ``groups`` a
    dictionary: ``{"image": images, "label": labels, "caption": [...]}``, with each group's name in the place of ``"image"``, and
    one value a sample of everything else. A second iteration ends the first and takes the next epoch, or the one of
    :meth:`set_epoch`. :meth:`epochs` and :meth:`batches` give more.

    The keywords of paths are those of :func:`gpufeed.open`, which chooses labels and files by them.

    Args:
        recipe: The name of a built-in recipe, a TOML file, or a dictionary of its content, in the place of ``transforms``.
        groups: Groups of views of each sample, each with a list of its own: ``{"global": (transforms, 2), "local": (others,
            8)}``, where ``gpufeed.Views`` may stand for a pair; or an object that makes views by its lists, as the
            ``DataAugmentationDINO`` of DINO does. A batch is a dictionary then. Default: none: all images by one list.
        sampler: The order of each epoch, in the place of ``shuffle``: an iterable of indices, such as torch's samplers, or a
            function of the epoch that returns one; ``gpufeed.orders`` has some. It is asked once an epoch, after
            ``set_epoch(epoch)`` if it has that, and is as long in each. Default: none.
        batch_sampler: As ``sampler``, of batches: an iterable of lists of indices, of up to ``batch_size``. With 1, that is the
            sampler's own ``batch_size``, or its largest batch of epoch 0. A rank takes every ``world``-th batch. Default: none.
        batch_transforms: torchvision's ``MixUp``, ``CutMix``, or a ``RandomChoice`` of them.
        num_classes: The classes of the soft labels of ``batch_transforms``. Default: those that these or the data set name.
        drop_last: Leaves out an incomplete last batch, as ``last_batch="drop"`` does.
        device: The device of the tensors; ``"cuda"`` copies ahead on a stream of its own, and copies nothing of what the
            shaders of ``backend="gpu"`` make on that card.
        normalize_on_device: Leaves the last ``Normalize`` to that device.
        channels_last: Tensors in torch's ``channels_last`` format.
        backend: What augments: ``"cpu"``; ``"gpu"``, which with a CUDA device is that device's card; ``"auto"``, which takes
            the CPU where there is no GPU; or an adapter's number, UUID, PCI address, or part of a name, as
            ``gpufeed.adapters()`` has them.
        handover: Leaves batches in the memory of the CUDA device's card, where its shaders have made them and memory can be
            handed over; ``False`` copies them through the host, where ``backend="auto"`` takes the CPU.
        targets: The form of a [field of objects](fields.md#boxes-and-keypoints): a list of dictionaries, one an image, as
            torchvision's detectors take them; or ``"flat"``, one dictionary of tensors with all objects, and the image of each.
        thread_safe: For an object in Python: its reads share no state, so several calls at a time may be inside it. Lists,
            torch's ``TensorDataset``, and torchvision's ``ImageFolder``, ``CIFAR10``, ``MNIST`` and their like are known to be
            so; an attribute ``thread_safe`` of the object says the same. Default: what it says itself, or is known of its type.
        exit_timeout: Seconds that closing an iteration, and the interpreter's exit, wait for threads inside an object in
            Python. A later read ends with an error where one of a closed iteration has not returned for as long, and at least 5
            seconds.
        batch_size: Samples in a batch: at least 1.
        shuffle: Gives each epoch its own random order.
        seed: The seed of every random number.
        order: The kind of a shuffled epoch's order: ``"full"``, or ``("blocks", samples, window)``, which permutes blocks of
            ``samples`` neighbours and shuffles within windows of ``window`` blocks. Default: full; remote data are shuffled
            only in an order that is set here.
        lanes: The number of lanes of an order of blocks: at least 1. The number of ranks has to divide it. Default: as many as
            there are ranks.
        shard: The share of each epoch that this process takes: ``(rank, world)``, or ``"auto"`` for the one that the launcher's
            variables name. Default: ``torch.distributed`` if it is initialised, else the launcher's variables; None is all of
            it.
        last_batch: The treatment of an epoch's last, incomplete batch: ``"partial"`` leaves it smaller, ``"drop"`` leaves it
            out, ``"pad"`` fills it up. Default: ``"partial"``, or ``"drop"`` with ``drop_last``.
        views: Images that a batch has of each sample, each with random numbers of its own: 1 to 64. Default: the recipe's, else
            1.
        layout: The order of a batch's elements: ``"nchw"`` or ``"nhwc"``. Default: the recipe's, else NCHW.
        dtype: The type of a batch's elements: ``"float32"``, ``"float16"``, ``"bfloat16"`` or ``"uint8"``. Default: the
            recipe's, else float32.
        semantics: The arithmetic of the operators: ``"float"``, or ``"uint8"`` for torchvision's on 8-bit images. Default: the
            recipe's, else floats.
        arrangement: How images of a batch lie, whose sizes may differ: ``"uniform"``, all of one size; ``"padded"``, to the
            largest of the batch, or ``("padded", multiple_of)``; ``"listed"``, each by itself. ``("padded", multiple_of,
            [height, width])`` and ``("listed", [height, width])`` say the largest image, where the transforms do not bound it.
            Default: the recipe's, else one size.
        on_error: The treatment of samples that cannot be used: ``"fail"`` ends the run with the first one; ``"skip"`` replaces
            each by another sample, up to a tenth of all, or up to the share that is given, 0 to 1. Default: ``"fail"`` without
            ``shuffle`` and for a recipe whose name ends in ``-eval``, else ``"skip"``.
        workers: Threads that read and decode: 1 to 4096. Default: one for each core of this process, divided by the ranks that
            share them.
        queue_depth: The most batches that wait for the caller: 1 to 4096.
        memory_budget: Bytes for output buffers, staging slots, workspace, and images between the stages of the plan, together.
        slot_bytes: Bytes of a staging slot, on a GPU alone: at least 16 MiB.
        cache: Decoded samples that stay between epochs: ``"host:16G"`` in RAM, ``"device:8G"`` on the GPU, up to so many bytes,
            or ``"off"``.
        cache_in_bytes: Rounds what the cache stores after a resize to bytes: less memory, and pixels that differ by up to half
            a level.
        execute: The executor that augments on a GPU backend: ``"gpu"``, ``"cpu"``, or ``"auto"``, the GPU unless it is a
            software adapter.
        exif: Turns and mirrors images as their EXIF or XMP orientation says.
        truncated: The treatment of truncated image files: ``"error"``, or ``"fill"``, which uses the pixels that can be
            decoded.
        max_pixels: The most pixels that an image may declare: at least 1.
        max_decode_bytes: The most bytes of memory that decoding one image may take.
        scaled_decode: Decodes JPEGs at a half, a quarter or an eighth of their size where a resize reduces them by as much;
            changes pixels.
        seek_indexes: The storage of seek indexes of JPEGs: a file ``"beside"`` the data, a file by its path, ``"memory"``, or
            ``"off"``.
        seek_memory: Bytes of memory for seek indexes that are not in a file.
        read_ahead: Bytes of remote data that are in memory or on their way before a worker asks for them. Default: 256 MiB.
        remote_cache: A folder on this machine that keeps what is fetched of remote data, and its bytes: ``("/scratch/photos",
            "200G")``. Default: none.
        extensions: The endings of images, ``["jpg", "webp"]``. For a folder of class folders, a folder of images, tar shards.
            Default: those of images.
        allow_empty: A class folder may be empty. For a folder of class folders. Default: ``False``.
        unlabelled: All images below the folder are samples, without labels. For a folder of class folders, a folder of images.
            Default: ``False`` where there are class folders.
        max_file_bytes: Bytes of the largest image that is read; the sample of a larger one fails. For a folder of class
            folders, a folder of images, a list of files, tar shards, an LMDB, Parquet files, annotations of COCO, annotations
            of Pascal VOC, a folder of masks, annotations of YOLO. Default: ``"1G"``.
        fields: The fields beside image and label: ``"all"``, or what is read (the ending of a member or of a file beside the
            image, a column), with its name in batches, ``{"txt": "caption"}``, or with its ``name``, ``kind``, ``optional`` and
            ``default``. The names ``"image"`` and ``"label"`` choose the sample's own. ``["index", "path"]`` are the number and
            the name of each sample, of any format. For a folder of class folders, a folder of images, a list of files, tar
            shards, an LMDB, Parquet files, annotations of COCO, annotations of Pascal VOC, a folder of masks, annotations of
            YOLO. Default: none.
        max_field_bytes: Bytes of the largest value of a field that is read; the sample of a larger one fails. For a folder of
            class folders, a folder of images, a list of files, tar shards, an LMDB, Parquet files. Default: ``"1M"``.
        image_column: The column of the images: of a list or Parquet files, or an array of an ``.npz``. For a list of files, a
            NumPy file, Parquet files. Default: the one with a usual name.
        label_column: The column of the labels; of a list several make a vector. CIFAR-100's own files have ``"coarse_label"``
            and ``"fine_label"``. For a list of files, a NumPy file, CIFAR's files, Parquet files. Default: the one with a usual
            name.
        class_names: The names of the classes; for a list of files ``True``, which reads numbers in its labels as names. For a
            list of files, tar shards, an LMDB, Parquet files, annotations of Pascal VOC, a folder of masks, annotations of
            YOLO. Default: those that the data set names.
        root: The folder to which the paths of a list, or of YOLO's ``data.yaml``, are relative; of COCO that of the images. For
            a list of files, annotations of COCO, annotations of YOLO. Default: that of the list, or the one that the file says.
        header: The first line of a CSV file names its columns. For a list of files. Default: whether its words are names of
            columns.
        delimiter: The character between the columns of a CSV file, such as ``";"``. For a list of files. Default: a comma, or a
            tab in ``.tsv``.
        split: The split: of Parquet files ``"train"``, ``"validation"`` or ``"test"``; of Pascal VOC the name of a list in
            ``ImageSets/Main``; of YOLO one that the ``data.yaml`` names, such as ``"val"``; of others ``"train"`` or
            ``"test"``. For a NumPy file, MNIST's files, CIFAR's files, Parquet files, annotations of Pascal VOC, a folder of
            masks, annotations of YOLO. Default: the training split, beside which ``.test`` is the other one; of Pascal VOC all
            annotations.
        data_layout: The layout of arrays or keys: ``"nhwc"`` or ``"nchw"`` for NumPy's arrays, ``"numbered"``,
            ``"class_and_image"`` or ``"image"`` for an LMDB. For a NumPy file, an LMDB. Default: as the shapes or the keys say.
        allow_unlabelled: Samples may have no label. For tar shards, an LMDB, Parquet files. Default: ``False``.
        text_labels: Numbers in the ``.txt`` of tar shards are labels. For tar shards. Default: if all of a set's texts are
            numbers.
        indexes: The place of the indexes of shards: ``"beside"`` the shards, in ``"memory"``, or a folder. For tar shards,
            Parquet files. Default: ``"beside"``.
        index_memory: Bytes of memory for the parts of these indexes that are in use. For tar shards, Parquet files. Default:
            ``"32M"``.
        put_indexes: Writes the indexes that are missing beside the objects of a store. For tar shards, Parquet files. Default:
            ``False``.
        counts: A JSON file, or its address, with the samples that each file has: OpenCLIP's ``sizes.json``, WebDataset's
            ``wids`` index, ``gpufeed-pack.json``. A file is then opened when one of its samples comes. For tar shards, Parquet
            files. Default: all files are opened at once.
        part: The part of EMNIST: ``"byclass"``, ``"bymerge"``, ``"balanced"``, ``"letters"``, ``"digits"`` or ``"mnist"``. For
            MNIST's files. Default: none.
        max_page_bytes: Bytes that a compressed page of Parquet files may become. For Parquet files. Default: 64 times its own,
            and ``"64M"`` at least.
        targets_orientation: The image to which coordinates refer where the annotation's width and height do not decide, as of
            squares that EXIF turns: as it is ``"stored"`` or ``"displayed"``. For annotations of COCO, annotations of Pascal
            VOC, annotations of YOLO. Default: ``"stored"``, of YOLO ``"displayed"``.
        one_based: Makes edges of boxes that count pixels from 1 on: subtracts 1 from ``xmin`` and ``ymin``. For annotations of
            Pascal VOC. Default: ``False``, the numbers as they are written.
        kpt_shape: The number of keypoints of each object, and how many numbers each has, 2 or 3 with its visibility: ``(17,
            3)``. For annotations of YOLO. Default: that of the ``data.yaml``, else no keypoints.
        remote_timeout: Seconds for which a server may send nothing before the request is made again. For remote data. Default:
            the variable ``GPUFEED_REMOTE_TIMEOUT``, else 30.
        remote_retries: The number of retries of a request that failed for a reason that may pass. For remote data. Default: the
            variable ``GPUFEED_REMOTE_RETRIES``, else 10.
        remote_requests: The number of requests at once for what is read next: 1 to 256. For remote data. Default: the variable
            ``GPUFEED_REMOTE_REQUESTS``, else 8.
        remote_min_rate: The least rate of an answer, in bytes a second over 30 seconds; 0 takes any. For remote data. Default:
            the variable ``GPUFEED_REMOTE_MIN_RATE``, else 1024.
        remote_certificates: A file of certificates (PEM) that are trusted besides the system's. For remote data. Default: the
            variable ``SSL_CERT_FILE``.
        remote_store: Settings of the store by the names of their variables, ``{"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}``,
            in whose place they stand; a pickle of the data set has them, credentials included. For remote data. Default: the
            variables alone.
    """

    # A data set of gpufeed.open is pickled as the call that makes it.
    _not_pickled = ("_running", "_buffers", "_native", "_native_data", "_in_force", "_handover")

    def __init__(
        self,
        data: Any,
        transforms: Any = None,
        *,
        # Keywords by scripts/settings.py.
        recipe: Any = None,
        groups: Any = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        batch_transforms: Any = None,
        num_classes: int | None = None,
        drop_last: bool = False,
        device: Any = "cpu",
        normalize_on_device: bool = False,
        channels_last: bool = False,
        backend: str = "cpu",
        handover: bool = True,
        targets: Literal["per_image", "flat"] = "per_image",
        thread_safe: bool | None = None,
        exit_timeout: float = 5,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        order: Literal["full"] | tuple[Literal["blocks"], int, int] | None = None,
        lanes: int | None = None,
        shard: Literal["auto"] | tuple[int, int] | None = "auto",
        last_batch: Literal["partial", "drop", "pad"] | None = None,
        views: int | None = None,
        layout: Literal["nchw", "nhwc"] | None = None,
        dtype: Any = None,
        semantics: Literal["float", "uint8"] | None = None,
        arrangement: Literal["uniform", "padded", "listed"] | tuple[Any, ...] | None = None,
        on_error: Literal["fail", "skip"] | float | None = None,
        workers: int | None = None,
        queue_depth: int = 2,
        memory_budget: int | str = "4G",
        slot_bytes: int | str = "32M",
        cache: str | None = "off",
        cache_in_bytes: bool = False,
        execute: Literal["auto", "gpu", "cpu"] = "auto",
        exif: bool = True,
        truncated: Literal["error", "fill"] = "error",
        max_pixels: int = 268435456,
        max_decode_bytes: int | str = "3G",
        scaled_decode: bool = False,
        seek_indexes: str | PathLike[str] = "beside",
        seek_memory: int | str = "256M",
        read_ahead: int | str | None = None,
        remote_cache: tuple[str | PathLike[str], int | str] | None = None,
        extensions: str | Sequence[str] | None = None,
        allow_empty: bool | None = None,
        unlabelled: bool | None = None,
        max_file_bytes: int | str | None = None,
        fields: Literal["all", "none"] | Sequence[str] | Mapping[str, Any] | None = None,
        max_field_bytes: int | str | None = None,
        image_column: str | None = None,
        label_column: str | Sequence[str] | None = None,
        class_names: bool | Sequence[str] | None = None,
        root: str | PathLike[str] | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        split: str | None = None,
        data_layout: Literal["nhwc", "nchw", "numbered", "class_and_image", "image"] | None = None,
        allow_unlabelled: bool | None = None,
        text_labels: bool | None = None,
        indexes: str | PathLike[str] | None = None,
        index_memory: int | str | None = None,
        put_indexes: bool | None = None,
        counts: str | PathLike[str] | None = None,
        part: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"] | None = None,
        max_page_bytes: int | str | None = None,
        targets_orientation: Literal["stored", "displayed"] | None = None,
        one_based: bool | None = None,
        kpt_shape: tuple[int, int] | None = None,
        remote_timeout: float | None = None,
        remote_retries: int | None = None,
        remote_requests: int | None = None,
        remote_min_rate: int | str | None = None,
        remote_certificates: str | PathLike[str] | None = None,
        remote_store: Mapping[str, str] | None = None,
        # End of keywords.
    ) -> None:
        given = locals()
        super().__init__()
        settings = arguments.checked(keywords.LOADER, given)
        self._keywords = arguments.checked(keywords.PATHS, given)
        self._groups: Groups | None = None
        self._order = order_of(sampler, batch_sampler)
        if isinstance(data, Blend):
            if self._order is not None:
                raise ArgumentError("sampler: given beside a blend, which has an order of its own; leave it out")
            self._order, data = data, data.dataset
        self._data, self._shard = data, shard
        self._taken = opening.transforms_taken(data)
        self._thread_safe = None if thread_safe is None else arguments.flag("thread_safe", thread_safe)
        if isinstance(self._order, UserOrder) and batch_sampler is not None and settings["batch_size"] == 1:
            settings["batch_size"] = self._order.greatest_batch()
        self.batch_size = settings["batch_size"]
        self.drop_last = arguments.flag("drop_last", drop_last)
        self.device = str(device)
        nhwc = arguments.flag("channels_last", channels_last)
        on_device = arguments.flag("normalize_on_device", normalize_on_device)
        if groups is None and transforms is None and (of_recipe := groups_of_recipe(recipe)) is not None:
            groups, given = of_recipe, given | {"recipe": None, "groups": of_recipe}
        given_transforms = transforms
        transforms, given, self._in_python = opening.with_transform_of(data, given)
        own = Own()
        if groups is not None:
            channels = opening.known_channels(data, self._in_python)
            self._groups = self._groups_of(groups, given, settings, channels, own)
            content: dict[str, Any] = {}
            classes: int | None = None
            self.notes = self._groups.notes
        else:
            of_data = transforms is not given_transforms
            # torchvision's data sets for detection give their transforms the target, too.
            is_joint = of_data and torch_datasets.is_detection(data)
            place = "data.transforms" if is_joint else "data.transform" if of_data else "transforms"
            channels = opening.known_channels(data, self._in_python)
            content, notes, classes = recipe_of(transforms, recipe, batch_transforms, place, channels, own, is_joint)
            self.notes = (opening.note_of(data), *notes) if of_data else notes
            size = None if transforms is None or self._in_python else torch_datasets.image_size(data)
            if size is not None and torch_datasets.why_in_python(data) is None:
                # All images have this size, which no transform has to give them then.
                content["transform"] = [{"type": "CenterCrop", "size": size}, *content["transform"]]
        if transforms is not None and "semantics" in settings:
            raise ArgumentError(
                "semantics: the list of transforms says it: what stands before ToDtype(scale=True) works on 8-bit numbers; "
                "leave it out, or give a recipe"
            )
        whole, normalize = json.dumps(content), None
        self._of_keywords: dict[str, Any] = {} if transforms is None else {"semantics": None}
        if on_device and self._groups is None:
            normalize = cut_normalize(content, dtype, "normalize_on_device")
            self._of_keywords["dtype"] = normalize[2]
            settings["dtype"] = "uint8"
        self.notes = (*self.notes, *notes_of_mixing(batch_transforms, settings.get("dtype"), content))
        settings.setdefault("on_error", on_error_of(settings["shuffle"], content.get("name", "")))
        for flag, name, value in (("channels_last", "layout", "nhwc"), ("drop_last", "last_batch", "drop")):
            if given[flag] and (flag != "channels_last" or groups is None) and settings.setdefault(name, value) != value:
                raise ArgumentError(f"{flag}: True, but {name} says otherwise; give one of the two")
        if settings["cache_in_bytes"] and settings.get("cache", "off") == "off":
            raise ArgumentError('cache_in_bytes: True, but there is no cache; cache="host:16G" makes one')
        self._settings, self._recipe = settings, json.dumps(content)
        self._of_python = arguments.checked(keywords.PYTHON, given)
        self._native_data = self._open()
        self._length = len(self._native_data)
        for text in self._native_data.warnings:
            warnings.warn(text, UserWarning, stacklevel=2)
        if normalize is not None:
            # The loader itself gets the list without its last Normalize.
            _gpufeed.recipe_check(whole, self._native_data.channels)
        self._codes = own.codes
        own.warn()
        finishes = {IMAGE: Finish(nhwc, normalize, own.on_batch)}
        if self._groups is not None:
            check_groups(self._groups, self._native_data.channels)
            finishes = self._groups.finishes
        chosen = self._keywords.get("fields", "none") != "none"
        in_pairs = bool(self._native_data.fields) and opening.gives_pairs(data)
        as_dict = self._groups is not None or chosen or (bool(self._native_data.fields) and not in_pairs)
        self._hand = HandOver(finishes, as_dict, is_flat("targets", targets), in_pairs)
        mixes = bool(content.get("batch_transform"))
        if (found := num_classes_of(mixes, num_classes, classes, self._native_data)) is not None:
            self._of_python["num_classes"] = found
        check_device(self.device)
        self._hands_over = arguments.flag("handover", handover)
        self._settled: tuple[int, int] | None = None
        self._shard_source = ""
        self._handover = DeviceHandover()
        self._native = self._build(*self._early_shard())

    @staticmethod
    def _groups_of(groups: Any, given: dict[str, Any], settings: dict[str, Any], channels: int | None, own: Own) -> Groups:
        """Makes the groups, and takes what is each group's own out of the loader's settings."""
        for name in ("transforms", "recipe", "batch_transforms", "views"):
            if given[name] is not None:
                what = "images of one list are mixed" if name == "batch_transforms" else "each group has its own"
                raise ArgumentError(f"{name}: given beside groups, but {what}; leave one of the two out")
        defaults = {name: settings.pop(name, None) for name in ("layout", "dtype", "semantics")} | {"channels": channels}
        return groups_of(groups, defaults | {name: given[name] for name in ("normalize_on_device", "channels_last")}, own=own)

    @classmethod
    def _refuse_unknown(cls, given: Iterable[str]) -> None:
        if cls.__init__ is not DataLoader.__init__:
            # A subclass may have keywords of its own.
            return
        known = inspect.signature(DataLoader.__init__).parameters
        for name in given:
            if name not in known:
                raise arguments.unknown(name)

    def _open(self) -> _gpufeed.Dataset:
        """Opens the data set of a path, or takes the data set as it is."""
        images = () if self._groups is None else self._groups.sources()
        return opening.open_data(self._data, self._keywords, self._thread_safe, images, self._in_python)

    def _resolved(self) -> tuple[Shard, str]:
        """Returns the shard of the native loader: all of an order that is this rank's alone already."""
        return share_of(self._order, self._shard)

    def _early_shard(self) -> tuple[Shard, str]:
        """Returns the shard that is known before the launcher's library is initialised. Its errors are raised at the
        first iteration."""
        if self._shard == "auto":
            try:
                resolve("auto")
            except ArgumentError:
                return (0, 1), "not known yet"
        return self._resolved()

    def _build(self, shard: tuple[int, int], source: str) -> _gpufeed.Loader:
        # Not before the end: after an error or an interrupt, the next iteration builds it again.
        self._settled = None
        settings = json.dumps(self._settings | {"shard": shard})
        self._card = self._cuda_index()
        of_python = self._of_python | {"backend": self._backend()}
        self._handover.begin(self._is_card, self._hands_over)
        groups = None if self._groups is None else self._groups.written()
        order = None if self._order is None else json.dumps(self._order.written())
        if isinstance(self._order, UserOrder):
            reached = source == "torch.distributed" and shard[1] > 1
            if not reached:
                self._order.agreement = None
            elif self._order.agreement is None:
                self._order.agreement = Agreement(*shard, *self._order.kind)

        def made(export: bool) -> _gpufeed.Loader:
            parts: dict[str, Any] = {"groups": groups, "order": order, "codes": self._codes, "export": export}
            return _gpufeed.Loader(self._native_data, self._recipe, settings, **of_python, **parts)

        native = self._handover.built(made)
        # These are keywords that make a loader with the same batches. The share and the threads are left out, because
        # they belong to one process, while a state is the same on every rank.
        own = json.loads(native.settings()) | self._of_keywords
        self._in_force = {name: value for name, value in own.items() if name not in ("shard", "workers")}
        self._settled, self._shard_source = shard, source
        return native

    def _cuda_index(self) -> int | None:
        """Returns the number of the CUDA device whose card augments; None if the backend has a card of its own."""
        if self._handover.on_cpu or not adapter.follows_device(self._of_python["backend"], self.device):
            return None
        from gpufeed.torch import cuda_index

        return cuda_index(self.device)

    def _backend(self) -> str:
        """Returns the native loader's backend: an adapter, where it has to be the card of the tensors' device."""
        backend: str = self._of_python["backend"]
        self._card_said: str | None = None
        self._is_card = False
        if self._handover.on_cpu:
            return "cpu"
        if self._card is None:
            return backend
        from gpufeed.torch import cuda_cards

        cards = cuda_cards()
        found = adapter.of_device(backend, cards[self._card], cards, adapter.adapters())
        self._is_card = found is not None
        if self._is_card and not self._hands_over and self._is_automatic():
            # Copied batches would cross the bus three times.
            self._handover.take_cpu()
            self._card, self._is_card = None, False
            return "cpu"
        self._card_said = f"{'it' if self._is_card else 'no adapter'} is the card of torch's cuda:{self._card}"
        return backend if found is None else str(found.number)

    def _is_automatic(self) -> bool:
        """Returns True if the CPU executor may take the place of a GPU: nothing asks for the GPU, which then copies."""
        of_gpu = self._settings.get("execute") == "gpu" or str(self._settings.get("cache", "")).startswith("device")
        return self._of_python["backend"] == "auto" and not of_gpu

    def _made_with(self) -> dict[str, Any]:
        return self._in_force

    def _loader(self) -> _gpufeed.Loader:
        """Returns the native loader, with the shard that is known now."""
        self._check_open()
        shard, source = self._resolved()
        # torch's current device may have been set since, until the first iteration: its batches belong to one card.
        in_use = self._buffers is not None or self._handover.works
        moved = self._running is None and not in_use and self._cuda_index() != self._card
        if shard != self._settled or moved:
            self._drop_buffers()
            self._native = self._build(shard, source)
        return self._native

    def _drop_buffers(self) -> None:
        if self._buffers is not None:
            self._buffers.close()
            self._buffers = None

    def batches(self) -> Iterator[_gpufeed.Batch]:
        """Returns the batches of the next epoch with all their facts: ``images`` and ``labels`` for
        ``torch.from_dlpack`` and its like, ``groups``, ``columns``, ``ids``, ``failures``, ``params``, ``mixed``, ``valid``,
        ``epoch``, ``index``."""
        return super().batches()

    def _tensors(self, run: Run) -> Callable[[], Any]:
        if self._handover.works:
            from gpufeed.torch import HandedOver

            # Without a number, torch's current device may be another one by now.
            return HandedOver(run, f"cuda:{self._card}", self._hand)
        return super()._tensors(run)

    def close(self) -> None:
        """Ends the iteration under way and its threads. Tensors stay valid."""
        super().close()
        self._handover.close()

    def _host_buffers(self) -> Any:
        from gpufeed.torch import host_buffers

        return host_buffers(self.device, self._native)

    def _run_from(self, state: str, end: int) -> Run:
        native = self._loader()
        has_cache = self._settings.get("cache", "off") != "off"
        if not self._handover.try_out(native, self.device, self._is_automatic(), has_cache):
            # For "auto", the CPU executor and copies ahead are faster than a GPU whose batches cross the bus twice.
            self._drop_buffers()
            self._native = native = self._build(*self._resolved())
        run = native.resume(state, end) if self._order is None else started(self._order, native, state, end)
        return self._handover.over(run)

    def _before_place(self, state: str) -> None:
        if self._order is not None:
            give_for(self._order, self._loader(), state)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. If that is the epoch of a loaded state, it goes on where the state was."""
        if self._order is not None:
            # What is said last counts, here or to the sampler.
            self._order.own_epoch()
        super().set_epoch(epoch)

    def _before_run(self) -> None:
        if not opening.same_transforms(self.dataset, self._taken):
            raise ArgumentError("data: its transform is another object than when this loader was made; make another loader for it")
        own = None if self._order is None else self._order.own_epoch()
        if own is not None:
            self.set_epoch(own)
        if self._data is not self._native_data and not arguments.is_path(self._data) and hasattr(self._data, "__len__"):
            length = len(self._data)
            if length != self._length:
                raise ArgumentError(
                    f"data: the data set had {self._length} samples and has {length} now; make another loader for it"
                )

    @property
    def dataset(self) -> Any:
        """The data set as it was given. For a path, it is the one that :func:`gpufeed.open` returns."""
        return self._native_data if arguments.is_path(self._data) else self._data

    @property
    def recipe(self) -> str:
        """The recipe of this loader, as TOML; with groups, that of the first one."""
        return self._loader().recipe()

    @property
    def recipes(self) -> dict[str, str]:
        """The recipe of each group by its name, as TOML; one, ``image``, without groups."""
        return dict(self._loader().recipes())

    def explain(self) -> str:
        """Says what runs where, and describes the plan, the executor, the batches, the memory, the shard and the adapter in words."""
        loader = self._loader()
        (rank, world), source = self._resolved()
        # The library does not know `torch.distributed`, so its own line is replaced.
        lines = [line for line in loader.explain().splitlines() if not line.startswith("shard: ") and line != f"fields: {_REST}"]
        lines = [line.replace(f"fields: {_REST}, ", "fields: ") for line in lines]
        lines.append(f"shard: rank {rank} of {world} by {source}")
        backend, chosen, is_gpu = loader.backend()
        # An adapter that is the device's card is chosen by its number, which says nothing.
        said = [text for text in (self._card_said, None if self._is_card else chosen) if text is not None]
        if said:
            lines.append(f"backend: {backend}; {'; '.join(said)}")
        # The library says which semaphores its memory comes with.
        ordered = [line.rsplit(", by ", 1)[1] for line in lines if line.startswith("handed over: ")]
        lines = [line for line in lines if not line.startswith("handed over: ")]
        lines += [f"handed over: {said}" for said in self._handover.explain(is_gpu, self.device, *ordered)]
        lines.append(f"device: {self.device}")
        return "\n".join([*explained.lines(self._runs(is_gpu)), *lines, *(f"note: {note}" for note in self.notes)])

    def _runs(self, is_gpu: bool) -> explained.Runs:
        """Returns what runs where."""
        is_object = opening.is_object(self._data)
        name = type(self.dataset).__name__ if is_object else self._native_data.description
        mixes = bool(json.loads(self._recipe).get("batch_transform"))
        return explained.Runs(name, is_object, False, is_gpu, mixes, self._codes, self._on_batch(), self._draws())

    def _on_batch(self) -> list[str]:
        """Returns the names of what runs in Python on each batch."""
        return explained.on_batch_names(self._hand.finishes)

    def _draws(self) -> str:
        """Says where random numbers come from."""
        return f"gpufeed's own, by seed={self._settings.get('seed', 0)}, the epoch, the sample and the view; not torch's for the same seed"

    def stats(self) -> dict[str, Any]:
        """Returns statistics since the loader was made: counts, times in seconds, and ``bottleneck`` and ``handover``, which are
        sentences: what limits, and how batches reach the tensors' device."""
        return self._loader().stats() | {"handover": self._handover.said(self.device)}

    def replay(self, index: int, params: str, group: str | None = None) -> bytes:
        """Makes one image again from its parameters (``batch.params``, or those of ``batch.groups[group]``). Returns its bytes in
        the layout and type of the batches."""
        return self._loader().replay(arguments.whole("index", index), params, group)

    def __repr__(self) -> str:
        return f"gpufeed.DataLoader({self._native_data!r}, batch_size={self.batch_size})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_hand" not in state:
            raise ArgumentError(
                "a loader that was pickled by gpufeed 0.2 or earlier cannot be read; make it again, and go on from its state_dict()"
            )
        self.__dict__.update({"_codes": [], "_taken": None, "_hands_over": True} | state)
        self._running = self._buffers = None
        self._handover = DeviceHandover()
        self._native_data = self._open()
        check_device(self.device)
        self._native = self._build(*self._early_shard())


def check_device(device: str) -> None:
    """Raises an error that says what to write, unless torch has the device."""
    # Without torch, a loader on the CPU is still good for batches().
    if device != "cpu":
        from gpufeed.torch import resolve_device

        resolve_device(device)
