"""gpufeed: augmented image batches for training loops, decoded on threads and handed over without a copy."""

# loader.py           DataLoader; arguments.py and keywords.py (written by scripts/settings.py) check what it gets
# torch_compat.py     DataLoader with torch's arguments: torch_samplers.py maps its orders, collate_functions.py what its collate_fn
#                     does, by its code: collate_code.py; own_samples.py whose transforms run; torch_batches.py: its batches
# timm_compat.py      timm's create_loader
# iterator.py         an iteration over a run; position.py: which epoch, and where in it; saved.py: what a state holds
# handover.py         batches as tensors; collate.py: what samples of Python have beside images; torch.py: torch's devices;
#                     copies.py: copies ahead of the consumer; host_buffers.py: the memory from which they read
# device_handover.py  whether batches stay on the GPU: handed_over.py imports them there, gpu_driver.py has the calls of CUDA and HIP
# adapter.py          the machine's GPU adapters, and the one that is a CUDA device's card
# recipe.py           the recipe of a loader: torchvision.py makes it of a list, operators.py of an operator, which
#                     operator_checks.py checks, batch_transforms.py of what mixes batches,
#                     timm_transforms.py of timm's own, albumentations.py of Albumentations'; own_code.py: code of the user's own
#                     between the transforms, forms.py: the forms of its images; views.py: groups, each with a list of its own
# probed.py           code of a user's own that known transforms do, tried on probe_images.py: effects.py blurs and the like,
#                     presets.py objects that run a list, own_views.py objects that make several views; settled.py what it refers to,
#                     remembered.py what was found; draws.py and scripted.py set its random numbers; refused_transforms.py: what is refused
# opening.py          data sets; samples.py: samples of Python objects, sample_images.py, sample_labels.py, sample_objects.py: what is
#                     in them; turns.py: which objects take one call at a time; torch_datasets.py: torchvision's, torch_detection.py:
#                     those of boxes, timm_datasets.py: timm's, hugging_face.py: those of datasets, mapped_transforms.py: their
#                     with_transform
# reachable.py        the transforms that a user's function can call
# failures.py         what failed samples do
# samplers.py         orders by the user, agreement.py compares those of ranks, told_epochs.py tells samplers their epochs;
#                     orders.py: gpufeed's own; blends.py: data sets by shares
# shard.py            the share of this process
# ray.py              decoding actors: crew.py alone imports Ray, fleet.py has their turns, decoder.py an actor,
#                     parcel.py a batch between processes
# packing.py          packed data sets
# targets.py          the boxes and keypoints of a batch
# tools.py            the command's tools as functions; __main__.py: the command
# errors.py           the exceptions

from __future__ import annotations

import atexit as _atexit
import json as _json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from gpufeed import _gpufeed, arguments as _arguments, keywords as _keywords, opening as _opening, orders
from gpufeed._gpufeed import Array, Batch, Dataset, Failure, Group, __version__
from gpufeed.adapter import Adapter, adapters
from gpufeed.blends import Blend, blend
from gpufeed.errors import ArgumentError, DataError, Error, FileError, OutOfMemoryError, RunError
from gpufeed.loader import DataLoader
from gpufeed.own_code import on_batch, on_sample
from gpufeed.packing import Packed, pack
from gpufeed.tools import Sheet, index, preview
from gpufeed.views import Views

__all__ = [
    "Adapter",
    "ArgumentError",
    "Array",
    "Batch",
    "Blend",
    "DataError",
    "DataLoader",
    "Dataset",
    "Error",
    "Failure",
    "FileError",
    "Group",
    "OutOfMemoryError",
    "Packed",
    "RunError",
    "Sheet",
    "Views",
    "__version__",
    "adapters",
    "blend",
    "index",
    "on_batch",
    "on_sample",
    "open",
    "orders",
    "pack",
    "preview",
    "recipes",
    "settings",
]


def open(
    path: Any,
    *,
    # Keywords by scripts/settings.py.
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
    remote_cache: tuple[str | PathLike[str], int | str] | None = None,
    remote_timeout: float | None = None,
    remote_retries: int | None = None,
    remote_requests: int | None = None,
    remote_min_rate: int | str | None = None,
    remote_certificates: str | PathLike[str] | None = None,
    remote_store: Mapping[str, str] | None = None,
    # End of keywords.
) -> Dataset:
    """Opens the data set at ``path``, in any of gpufeed's formats: a folder of class folders, tar shards, Parquet files, an
    LMDB, MNIST's and CIFAR's files, ``.npy`` and ``.npz``, a list in CSV or JSON lines, annotations of COCO, Pascal VOC and YOLO;
    tar shards and Parquet files also by an address, ``s3://bucket/train-{000..146}.tar``.

    A keyword that the format does not know is an error. :class:`DataLoader` takes all of them, too.

    Args:
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
        remote_cache: A folder on this machine that keeps what is fetched of remote data, and its bytes: ``("/scratch/photos",
            "200G")``. For remote data. Default: none.
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
    return _opening.open_path(path, _arguments.checked(_keywords.PATHS, locals()))


def settings(path: str | PathLike[str]) -> dict[str, Any]:
    """The settings of a file of TOML or JSON, for :class:`DataLoader`: ``DataLoader(data, recipe=..., **gpufeed.settings("run.toml"))``.
    The command reads the same file: ``gpufeed bench --settings run.toml``. A key that does not exist is an error."""
    found: dict[str, Any] = _json.loads(_gpufeed.settings_of(_arguments.path("path", path)))
    return found


def recipes() -> list[str]:
    """The names of the built-in recipes."""
    return _gpufeed.recipe_names()


# A thread that asks for the interpreter's lock after the interpreter's end would wait for ever, so all threads end
# before.
_atexit.register(_gpufeed.end_all)
