"""The transforms that a function of a user can call: those of its closure, its globals, its arguments and its attributes.

Who looks for them calls them, with images of no meaning. So only transforms of the libraries that gpufeed knows are found, and none beside
a model, which a call may change.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# A list in a list in an attribute is as far as anybody puts a transform.
_DEPTH = 5
# A longer list holds data.
_LONGEST = 64
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


# Modules with transforms that gpufeed has.
_LIBRARIES = ("torchvision.transforms", "timm.data", "albumentations")
# A model stands beside the function, or in the object whose method it is.
_NEAR = 3


def called_by(function: Any) -> list[Callable[..., Any]]:
    """Returns the transforms that ``function`` reaches; none where it may call a model. The nearest ones come first."""
    found: dict[int, Any] = {}
    level, seen = [function], {id(function)}
    for depth in range(_DEPTH):
        within = []
        for value in level:
            if is_transform(value):
                found[id(value)] = value
                # What is in it is a part of it.
                continue
            if depth < _NEAR and _is_model(value):
                return []
            for inner in _inner(value):
                if id(inner) not in seen:
                    seen.add(id(inner))
                    within.append(inner)
        level = within
    return list(found.values())


def is_transform(value: Any) -> bool:
    """True for a transform of a library that gpufeed knows, and for torch's ``Sequential`` of such."""
    if type(value).__module__ == "torch.nn.modules.container" and type(value).__name__ == "Sequential":
        return all(map(is_transform, value))
    # A Lambda is its function, which may be anything.
    return callable(value) and not isinstance(value, (*_FUNCTIONS, type)) and type(value).__module__.startswith(_LIBRARIES) and type(value).__name__ != "Lambda"


def _is_model(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module) and any(True for part in (value.parameters(), value.buffers()) for _ in part)


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, types.FunctionType):
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        for cell in value.__closure__ or ():
            # A cell is empty until its variable has a value.
            if cell != types.CellType():
                yield cell.cell_contents
        for name in _names(value.__code__):
            if name in value.__globals__:
                yield value.__globals__[name]
    elif isinstance(value, (list, tuple)):
        yield from value[:_LONGEST]
    elif isinstance(value, Mapping):
        yield from list(value.values())[:_LONGEST]
    elif not isinstance(value, (types.ModuleType, type, str, bytes)):
        yield from list(getattr(value, "__dict__", {}).values())[:_LONGEST]
        call = getattr(type(value), "__call__", None)
        if isinstance(call, types.FunctionType):
            yield call


def _names(code: types.CodeType) -> Iterator[str]:
    """Returns the names of globals that code uses, and those of the code within it, such as comprehensions."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names(each)
