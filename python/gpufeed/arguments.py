"""Checks a loader's arguments, and puts them into the form of the native module. Each error begins with the argument's
name."""

from __future__ import annotations

import numbers
import operator
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from gpufeed.errors import ArgumentError

# A function that gets a keyword's name and value. It returns the value in the form of the native module, or raises.
Check = Callable[[str, Any], Any]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

# Arguments of torch.utils.data.DataLoader that have another name here, or that are not needed.
_OF_TORCH = {
    "num_workers": "workers= sets the threads that read and decode; by default there is one for each core",
    "prefetch_factor": "queue_depth= sets how many ready batches wait",
    "pin_memory": 'device="cuda" copies ahead from page-locked memory by itself',
    "pin_memory_device": 'device="cuda" copies ahead from page-locked memory by itself',
    "collate_fn": "batches are made of arrays of one size; work on the batch in the loop instead",
    "persistent_workers": "threads belong to a run of epochs: iterate over loader.epochs(range(n)) to keep them",
    "worker_init_fn": "workers are threads and share the process",
    "multiprocessing_context": "workers are threads and share the process",
    "in_order": "batches always come in order",
    "generator": "seed= sets every random number",
    "timeout": "a wait can be ended by Ctrl-C at any time",
    "transform": "transforms= takes torchvision's transforms",
    "batch_transform": "batch_transforms= takes MixUp, CutMix, a choice of them, and timm's Mixup",
}


def unknown(name: str) -> ArgumentError | TypeError:
    """Returns the error for an argument that does not exist."""
    if name in _OF_TORCH:
        also = "" if "transform" in name else "; gpufeed.torch_compat.DataLoader takes torch's arguments"
        return ArgumentError(f"{name}: not an argument of gpufeed.DataLoader: {_OF_TORCH[name]}{also}")
    return TypeError(f"DataLoader() has no argument {name!r}")


def checked(checks: Mapping[str, Check], given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks the keywords that were given, and returns them in the form of the native module."""
    made = {name: check(name, given[name]) for name, check in checks.items()}
    return {name: value for name, value in made.items() if value is not None}


def optional(check: Check) -> Check:
    """Returns a check that also takes None, for a keyword that was not given."""
    return lambda name, value: None if value is None else check(name, value)


def whole(name: str, value: Any, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """Takes a whole number from ``least`` to ``most``."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}: {value!r} is a {type(value).__name__}; a whole number works") from None
    if number < least or number > most:
        works = f"a whole number from {least} on works" if most >= (1 << 64) - 1 else f"{least} to {most} work"
        raise ArgumentError(f"{name}: {number}; {works}")
    return number


def size(name: str, value: Any) -> int:
    """Takes a number of bytes: a whole number, or text such as ``"16G"`` (with powers of 1024)."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
        if match is None:
            raise ArgumentError(f'{name}: {value!r}; a number of bytes works, or text such as "16G"')
        return whole(name, int(float(match[1]) * _UNITS[match[2].upper()]))
    return whole(name, value)


def seconds(name: str, value: Any) -> float:
    """Takes a time of at least 0 seconds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) >= 0:
        raise ArgumentError(f"{name}: {value!r}; a number of seconds from 0 on works")
    # JSON has no infinity, and nobody waits for 30 years.
    return min(float(value), 1e9)


def number(name: str, value: Any) -> float:
    """Takes a finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not abs(float(value)) < float("inf"):
        raise ArgumentError(f"{name}: {value!r}; a number works")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """Takes True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{name}: {value!r}; True and False work")
    return value


def word(name: str, value: Any, words: tuple[str, ...]) -> str:
    """Takes one of ``words``."""
    if value not in words:
        raise ArgumentError(f"{name}: {value!r}; {_listed(words)} work")
    return str(value)


def _listed(words: tuple[str, ...]) -> str:
    quoted = [f'"{word}"' for word in words]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def dtype(name: str, value: Any) -> str:
    """Takes the type of the images: torch's, NumPy's, or its name."""
    written = (getattr(value, "__name__", None) or str(value)).rpartition(".")[2]
    written = {"half": "float16", "float": "float32"}.get(written, written)
    if written in ("float32", "float16", "bfloat16", "uint8"):
        return written
    raise ArgumentError(f"{name}: {written}; float32, float16, bfloat16 and uint8 work")


def cache(name: str, value: Any) -> str:
    """Takes ``"host:16G"``, ``"device:8G"`` or ``"off"``."""
    if value == "off":
        return "off"
    place, colon, bytes = value.partition(":") if isinstance(value, str) else ("", "", "")
    if place not in ("host", "device") or not colon:
        raise ArgumentError(f'{name}: {value!r}; "host:16G", "device:8G" and None work')
    return f"{place}:{size(name, bytes)}"


def order(name: str, value: Any) -> Any:
    """Takes ``"full"`` or ``("blocks", samples, window)``."""
    if value == "full":
        return "full"
    if isinstance(value, (tuple, list)) and len(value) == 3 and value[0] == "blocks":
        return ["blocks", whole(name, value[1], 1), whole(name, value[2], 1)]
    raise ArgumentError(f'{name}: {value!r}; "full" and ("blocks", 256, 4), samples of a block and blocks of a window, work')


def arrangement(name: str, value: Any) -> Any:
    """Takes a word, or a word with numbers: ``("padded", 32)``, ``("padded", 32, (800, 1333))``, ``("listed", (800, 1333))``."""
    parts = list(value) if isinstance(value, (tuple, list)) else [value]
    known = {"uniform": 0, "padded": 2, "listed": 1}
    word, *numbers = parts or [None]
    if not isinstance(word, str) or len(numbers) > known.get(word, -1):
        raise ArgumentError(
            f'{name}: {value!r}; "uniform", "padded", ("padded", multiple_of), ("padded", multiple_of, (height, width)), "listed" and '
            '("listed", (height, width)) work'
        )
    if word == "padded" and numbers:
        numbers[0] = whole(name, numbers[0], 1)
    largest = numbers[1:] if word == "padded" else numbers
    for at, size in enumerate(largest, len(numbers) - len(largest)):
        if not isinstance(size, (tuple, list)) or len(size) != 2:
            raise ArgumentError(f"{name}: {size!r}; (height, width) of the largest image works")
        numbers[at] = [whole(name, side, 1) for side in size]
    return [word, *numbers] if numbers else word


def remote_cache(name: str, value: Any) -> tuple[str, int]:
    """Takes ``(folder, bytes)``."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f'{name}: {value!r}; ("/var/cache/gpufeed", "200G"), a folder and its bound, and None work')
    return path(name, value[0]), size(name, value[1])


def part(name: str, value: Any) -> tuple[int, int]:
    """Takes ``(part, parts)``."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{name}: {value!r}; (3, 7) works, the fourth of seven parts")
    number, parts = whole(name, value[0]), whole(name, value[1], 1)
    if number >= parts:
        raise ArgumentError(f"{name}: {value!r}; parts are counted from 0: (0, {parts}) to ({parts - 1}, {parts})")
    return number, parts


def pair(name: str, value: Any) -> tuple[int, int]:
    """Takes two whole numbers."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{name}: {value!r}; two whole numbers work, such as (17, 3)")
    return whole(name, value[0]), whole(name, value[1])


def on_error(name: str, value: Any) -> str | float:
    """Takes ``"skip"``, ``"fail"``, or the share of samples that may fail."""
    if value in ("skip", "fail"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ArgumentError(f'{name}: {value!r}; "skip", "fail" and the share of samples that may fail, 0 to 1, work')
    return float(value)


def text(name: str, value: Any) -> str:
    """Takes a name."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: {given(value)}; a name works")
    return value


def character(name: str, value: Any) -> str:
    """Takes one character of ASCII."""
    if isinstance(value, str) and len(value) == 1 and value.isascii():
        return value
    raise ArgumentError(f'{name}: {value!r}; one ASCII character works, such as ";"')


def texts(name: str, value: Any) -> list[str]:
    """Takes one text, or several."""
    several = [value] if isinstance(value, str) else value
    if isinstance(several, (list, tuple)) and all(isinstance(each, str) for each in several):
        return list(several)
    raise ArgumentError(f"{name}: {value!r}; a list of texts works")


def columns(name: str, value: Any) -> str | list[str]:
    """Takes a column, or several."""
    if isinstance(value, (list, tuple)) and not value:
        raise ArgumentError(f"{name}: {value!r}, which names no column; leave it out for the one with a usual name")
    return value if isinstance(value, str) else texts(name, value)


def class_names(name: str, value: Any) -> bool | list[str]:
    """Takes the names of the classes, or True or False: whether labels are names."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)) and value:
        return texts(name, value)
    raise ArgumentError(f"{name}: {value!r}; the names of the classes work, and True and False for a list of files")


def texts_by_name(name: str, value: Any) -> dict[str, str]:
    """Takes a text for each name. Errors do not show the texts, because they may be credentials."""
    if not isinstance(value, Mapping):
        raise ArgumentError(f'{name}: a {type(value).__name__}; a dictionary of texts works, such as {{"AWS_REGION": "eu-west-1"}}')
    for key, each in value.items():
        if not isinstance(key, str) or not isinstance(each, str):
            raise ArgumentError(f"{name}: {key!r} has a {type(each).__name__}; names and values are texts")
    return dict(value)


def fields(name: str, value: Any) -> str | dict[str, Any]:
    """Takes ``"all"``, ``"none"``, the names of fields, or the name of a field for each thing that is read. A field may be a
    dictionary with its settings."""
    if isinstance(value, str) and value in ("all", "none"):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return {each: each for each in value}
    if not isinstance(value, Mapping):
        raise ArgumentError(f'{name}: {given(value)}; "all" and "none" work, names, and a dictionary such as {{"txt": "caption"}}')
    settings: dict[str, Any] = {"name": str, "kind": str, "optional": bool, "default": (bool, int, float, str)}
    for source, field in value.items():
        what = f"{name}: {source!r} is {field!r}"
        if not isinstance(source, str) or not isinstance(field, (str, Mapping)):
            raise ArgumentError(f'{what}; the name of a field works, and a dictionary such as {{"name": "meta", "optional": True}}')
        if isinstance(field, Mapping):
            known = settings | ({"format": str, "values": (list, tuple)} if field.get("kind") == "objects" else {})
            for key, each in field.items():
                if key not in known:
                    raise ArgumentError(f"{what}; the settings of a field are name, kind, optional and default, not {key!r}")
                if not isinstance(each, known[key]):
                    raise ArgumentError(f"{what}; {key} is not {each!r}")
            if "name" not in field:
                raise ArgumentError(f"{what}; it has no name")
    return {source: field if isinstance(field, str) else dict(field) for source, field in value.items()}


def given(value: Any) -> str:
    """Describes a value of a wrong type for an error. A value with a length is not shown: it may hold addresses with
    credentials."""
    kind = f"a {type(value).__name__}"
    return kind if hasattr(value, "__len__") else f"{value!r} is {kind}"


def is_path(value: Any) -> bool:
    """Returns True for a value that names a file: text, bytes as ``os.fsencode`` makes them, or a Path."""
    return isinstance(value, (str, bytes)) or hasattr(value, "__fspath__")


def path(name: str, value: Any) -> str:
    """Takes a path, and returns it as text."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name}: {given(value)}; a path works")
    text = os.fsdecode(value)
    # All paths but ``data`` go to the native module in JSON, which holds only Unicode.
    if name != "data" and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"{name}: {text!r} is not Unicode; a path that is works") from None
    if isinstance(value, os.PathLike) and re.match("[a-z][a-z0-9+.-]+:/[^/]", text):
        raise ArgumentError(f"{name}: a Path makes one slash of the two of an address; give the address as text")
    return text
