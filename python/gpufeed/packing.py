"""``gpufeed.pack``: writes a data set into tar shards or an LMDB."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal, NamedTuple

from gpufeed import _gpufeed, arguments, keywords, opening
from gpufeed.errors import ArgumentError

# The most samples that a warning names.
_NAMED = 10


class Unusable(NamedTuple):
    """A problem of a pack: the name of a sample or a file, and what is wrong with this sample or file."""

    sample: str
    reason: str


@dataclass(frozen=True)
class Compared:
    """The result of comparing a pack with its source, which ``gpufeed.pack(verify=True)`` does."""

    samples: int
    #: The shards and samples that differ from the source.
    different: list[Unusable]
    #: The lowest peak signal-to-noise ratio of the samples that were encoded anew, in dB; None if no pixels
    #: were compared.
    lowest_psnr: float | None


@dataclass(frozen=True, kw_only=True)
class Packed:
    """The result of :func:`gpufeed.pack`. If the call made a plan, or if the part had been joined before the call, the
    fields that do not apply have their default values."""

    #: The folder that was packed into: its path, or its address without credentials.
    out: str
    #: The format of the pack, ``"tar"`` or ``"lmdb"``.
    to: str = "tar"
    #: The number of samples in the source, or in the part.
    samples: int = 0
    #: The number of the source's classes that have names.
    classes: int = 0
    #: The names of the fields that the pack has beside images and labels.
    fields: list[str] = field(default_factory=list)
    #: The number of tar shards.
    shards: int = 0
    #: The number of samples that earlier calls had packed.
    resumed: int = 0
    #: The number of samples whose files were copied unchanged (``kept``), and the number of samples that were encoded
    #: (``encoded``).
    kept: int = 0
    encoded: int = 0
    #: The samples that were copied unchanged because they could not be encoded, or because they are not images, each
    #: with the reason.
    undecodable: list[Unusable] = field(default_factory=list)
    #: The samples that could not be read, and are left out of the pack, each with the reason.
    skipped: list[Unusable] = field(default_factory=list)
    #: Bytes of the samples that this call packed (for a join: that the calls of all parts packed): in the source
    #: (``bytes_read``), and in the pack (``bytes_packed``).
    bytes_read: int = 0
    bytes_packed: int = 0
    #: The result of the comparison with the source; None without ``verify``.
    verified: Compared | None
    #: The seconds that the call took.
    seconds: float = 0.0
    #: The number of the packed part, from 0 on (None for a whole pack or a plan), and the number of all parts (None for
    #: a whole pack).
    part: int | None
    parts: int | None
    #: The hash of the plan; None without ``plan=True``.
    plan: str | None
    #: True if this part had been joined with the other parts before the call. The call then packed nothing.
    joined: bool = False
    #: The number of samples in the source's other split, which this call does not pack.
    other_split: int = 0


def pack(
    source: Any,
    out: str | PathLike[str],
    *,
    # Keywords by scripts/settings.py.
    to: Literal["tar", "lmdb"] = "tar",
    shard_bytes: int | str = "1G",
    split: Literal["train", "test"] = "train",
    prefix: str = "shard",
    shuffle: int | None = None,
    fields: Literal["all", "none"] | Sequence[str] | Mapping[str, Any] | None = None,
    max_field_bytes: int | str = "1M",
    max_side: int | None = None,
    quality: int | None = None,
    workers: int | None = None,
    scratch: str | PathLike[str] | None = None,
    verify: bool = False,
    plan: bool = False,
    parts: int | None = None,
    part: tuple[int, int] | None = None,
    join: bool = False,
    progress: bool | Callable[[int, int], object] = False,
    # End of keywords.
) -> Packed:
    """Packs a data set into tar shards, or an LMDB, in the folder or at the address ``out``.

    ``source`` is a path or an address of data in any of gpufeed's formats; the samples need no labels. It may also be
    whatever else :class:`DataLoader` takes: a data set of :func:`gpufeed.open`, or an object in Python. In the shards,
    samples are named after their files; samples of an object in Python have their numbers as names. Fields beside image
    and label are members that end in their names and kinds, such as ``caption.txt``, ``meta.json`` and ``score.npy``.

    Ctrl-C, or an exception in ``progress``, stops the call within a second. If the same call is made again after a stop
    or a crash, it goes on after the last complete shard, once an upload that was under way has ended. A complete pack
    is not packed again. A change of the source is noticed by the source's files; for an object in Python, and for a
    data set of :func:`gpufeed.open` other than folders, lists, shards, Parquet files and LMDBs, it is noticed by the
    names of the samples alone. Until the pack is complete, ``out`` cannot be opened as a data set. Samples that cannot
    be read are left out. A warning names these samples, images that cannot be decoded, and differences that ``verify``
    finds.

    Several machines can pack together: make one call with ``plan=True, parts=8``, then one with ``part=(0, 8)``,
    ``(1, 8)`` and so on, on any machine, then one with ``join=True``. The parts and the join use the settings of the
    plan.

    Args:
        to: The format that is written: ``"tar"`` shards or an ``"lmdb"``.
        shard_bytes: The most bytes of a tar shard, unless one sample alone is larger. An LMDB is written to the disk each time
            this many bytes, or 32 MiB, have come together. A pack that was stopped goes on after the last complete shard or
            write.
        split: The part to pack of a data set that comes in two: ``"train"`` or ``"test"``.
        prefix: The beginning of the names of shards, PREFIX-000000.tar.
        shuffle: The seed of a random order of the samples, in which neighbours are no more alike than others. A source in a
            store cannot be shuffled. Default: the source's order.
        fields: The fields that are packed beside images and labels: ``"all"``, ``"none"``, or those that are named, such as
            ``{"txt": "caption", "json": "meta"}``: what is read of the source (the ending of a member, a column), and the name
            that it gets. Of an open data set, the names of its fields stand first. Default: all of an open data set, and none
            of a path.
        max_field_bytes: The most bytes that a field's value may have in a path: samples with larger ones are left out.
        max_side: The longest side of an image in pixels, 1 to 65535. An image with a longer side is reduced, bilinear and
            antialiased, and becomes a JPEG. Default: images stay as they are.
        quality: The quality, 1 to 100, with which all images are encoded anew as JPEGs. Default: files stay as they are, and
            those that ``max_side`` reduces have 90.
        workers: Threads that read and encode: 1 to 4096. Default: one for each core.
        scratch: The folder of this machine in which shards are written before they are uploaded to a store. Default: the
            system's folder of temporary files.
        verify: Reads the whole pack back, and compares it with the source: files byte for byte, and pixels where images were
            encoded anew.
        plan: Lists the samples for ``parts`` machines, once, and packs nothing; parts take the settings of a plan.
        parts: The number of parts of a plan, 1 to 100000. Default: none.
        part: Packs one part of a plan: its number, from 0 on, and the number of parts. It may be stopped and repeated, and
            waits for another process that packs it. Default: none.
        join: Makes a data set of all parts, or names those that are missing.
        progress: A function that is called about 20 times a second with the number of samples that are done and that of all;
            ``True`` writes a line to standard error.
    """
    given = arguments.checked(keywords.PACK, locals())
    settings = {name: value for name, value in given.items() if name not in keywords.PACK_STEPS}
    steps = [name for name in ("plan", "part", "join") if given.get(name)]
    if len(steps) > 1:
        raise ArgumentError(f"{steps[1]}: it does not go with {steps[0]}; give one of the two")
    if bool(given.get("plan")) != ("parts" in given):
        raise ArgumentError("parts: the number of parts goes with plan=True, and plan=True with it")
    if given.get("plan") and verify:
        raise ArgumentError("verify: a plan packs nothing; part=(I, N) and join=True verify")
    if arguments.is_path(source):
        data: Any = arguments.path("source", source)
    else:
        # A transform of torchvision's own runs in Python.
        data = opening.open_data(source, {}, in_python=opening.has_transform(source))
    folder = arguments.path("out", out)
    listener = _listener(progress)
    try:
        text, other_split = _gpufeed.pack(data, folder, json.dumps(settings), given.get("parts"), given.get("part"), join, listener)
    finally:
        if isinstance(listener, _Line):
            listener.end()
    packed = _packed(json.loads(text), folder, given.get("part"), other_split)
    _warn(packed)
    return packed


def _packed(found: dict[str, Any] | None, out: str, part: tuple[int, int] | None, other_split: int) -> Packed:
    """Makes the result of ``pack`` from ``found``, the native module's result; None means a part joined before."""
    if found is None:
        number, parts = part or (None, None)
        found = {"out": _gpufeed.shown(out), "part": number, "parts": parts, "joined": True}
    found.pop("new", None)
    for listed in ("undecodable", "skipped"):
        found[listed] = [Unusable(**each) for each in found.get(listed, ())]
    if found.get("verified") is not None:
        different = [Unusable(**each) for each in found["verified"].pop("different")]
        found["verified"] = Compared(different=different, **found["verified"])
    lacking: dict[str, Any] = dict.fromkeys(("verified", "part", "parts", "plan"))
    return Packed(other_split=other_split, **(lacking | found))


def _warn(packed: Packed) -> None:
    """Warns of samples that are left out or are not images, and of differences from the source. For a part, the warning
    names only differences; the join warns of the samples of all parts."""
    found = [] if packed.part is not None else [("left out", packed.skipped), ("packed as it was", packed.undecodable)]
    found.append(("different", packed.verified.different if packed.verified else []))
    lines = [f"{what}: {sample}: {reason}" for what, listed in found for sample, reason in listed]
    if lines:
        more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
        warnings.warn("\n".join([f"gpufeed.pack: {packed.out}", *lines[:_NAMED], *more]), stacklevel=3)


def _listener(progress: bool | Callable[[int, int], object]) -> Callable[[str, int, int], object] | None:
    """Returns the function that the native module calls with a word for the work ("packed" or "compared"), the number
    of samples that are done, and the number of all samples; None if nothing is to be called."""
    if progress is True:
        return _Line()
    if callable(progress):
        return lambda _, done, all: progress(done, all)
    if progress in (False, None):
        return None
    raise ArgumentError(f"progress: {progress!r}; True works, and a function of what is done and of all")


class _Line:
    """Writes the progress to a line on standard error."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, what: str, done: int, all: int) -> None:
        self._begun = True
        print(f"\r{done}/{all} {what}  ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._begun:
            print(file=sys.stderr)
