"""What the code of a ``collate_fn`` does, where it does no more than call ``default_collate`` and, behind it, a transform that mixes.

The code is called with stand-ins: for the samples, for ``default_collate``, and for each transform that gpufeed has. It can reach nothing
else: a function that names anything else is not called. So what it returns does not depend on samples, random numbers or a state.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import default_collate

# What code may not do: change what outlives it, import, catch errors, or look at the kind of a value.
_CHANGES = ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_NAME")
_REFUSED = (*_CHANGES, "IMPORT_", "SETUP_", "PUSH_EXC_INFO", "MATCH_")
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME")
# A function that calls a function, and so on.
_DEPTH = 8


@dataclass(frozen=True)
class Found:
    """A batch of ``default_collate``, a list or a tuple by ``form``, or what ``mixes`` has made of it."""

    mixes: Any
    form: type


class _Other(Exception):
    """The code does something else."""


def found(function: Callable[[list[Any]], Any], is_known: Callable[[Any], bool]) -> Found | None:
    """Returns what a function makes of any samples; ``None`` if that is not known. ``is_known`` is true for transforms that gpufeed has."""
    try:
        follows = _Follows(is_known)
        return follows.result(follows.stand_in(function, 0)(follows.samples))
    except Exception:  # noqa: BLE001 - stand-ins raise errors of many kinds where code does something else with them
        return None


class _Closed:
    """Stands for a value into which code may not look."""

    __slots__ = ()

    def _refuse(self, *_: Any) -> Any:
        raise _Other

    __getattribute__ = __eq__ = __ne__ = __bool__ = __format__ = __repr__ = __str__ = __hash__ = _refuse


class _Pair:
    """Stands for a batch of two parts, which code may take apart."""

    def __init__(self, mixes: Any, form: type) -> None:
        self.found: Found = Found(mixes, form)
        self.parts = (_Closed(), _Closed())

    def __iter__(self) -> Iterator[_Closed]:
        return iter(self.parts)

    def __bool__(self) -> bool:
        raise _Other

    __eq__ = __ne__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class _Follows:
    """Makes stand-ins, and reads what comes of them."""

    def __init__(self, is_known: Callable[[Any], bool]) -> None:
        self.samples, self._is_known = _Closed(), is_known
        self._pairs: list[_Pair] = []

    def result(self, made: Any) -> Found:
        """Returns what a value is that the code has returned."""
        for pair in self._pairs:
            kept = pair.found
            if made is pair:
                return kept
            if type(made) in (list, tuple) and self._are_parts(made, pair):
                return Found(kept.mixes, type(made))
        raise _Other

    @staticmethod
    def _are_parts(given: Any, pair: _Pair) -> bool:
        return len(given) == 2 and given[0] is pair.parts[0] and given[1] is pair.parts[1]

    def _new(self, mixes: Any, form: type) -> _Pair:
        self._pairs.append(_Pair(mixes, form))
        return self._pairs[-1]

    def _collated(self, batch: Any) -> _Pair:
        if batch is not self.samples:
            raise _Other
        return self._new(None, list)

    def _mixed(self, transform: Any) -> Callable[..., _Pair]:
        def mix(*given: Any) -> _Pair:
            for pair in self._pairs:
                if pair.found.mixes is not None:
                    continue
                if self._are_parts(given, pair):
                    return self._new(transform, tuple)
                # v2's take a batch as one argument, too, and give it back in its form.
                if len(given) == 1 and given[0] is pair and type(transform).__module__.startswith("torchvision.transforms.v2."):
                    return self._new(transform, pair.found.form)
            raise _Other

        return _Called(mix)

    def _formed(self, form: type) -> Callable[[Any], Any]:
        def make(given: Any) -> Any:
            if type(given) is not _Pair:
                raise _Other
            return form(given)

        return _Called(make)

    def stand_in(self, value: Any, depth: int) -> Any:
        """Returns what stands for a value in the code; raises :class:`_Other` for one that the code may not use."""
        if depth > _DEPTH:
            raise _Other
        if value is default_collate:
            return _Called(self._collated)
        if value is tuple or value is list:
            return self._formed(value)
        if isinstance(value, functools.partial):
            given = [self.stand_in(each, depth + 1) for each in value.args]
            named = {name: self.stand_in(each, depth + 1) for name, each in value.keywords.items()}
            return _Called(functools.partial(self.stand_in(value.func, depth + 1), *given, **named))
        if isinstance(value, types.MethodType):
            return self.method(value.__func__, value.__self__, depth)
        if isinstance(value, types.FunctionType):
            return _Called(self._function(value, depth))
        if isinstance(value, (types.ModuleType, list, tuple, dict)):
            return _Within(self, value, depth)
        if isinstance(value, (type, types.BuiltinFunctionType, str, bytes, int, float)) or value is None:
            raise _Other
        if callable(value) and self._is_known(value):
            return self._mixed(value)
        return _Object(self, value, depth)

    def method(self, function: Any, of: Any, depth: int) -> Any:
        """Returns what stands for a function that gets ``of`` as its first argument."""
        if not isinstance(function, types.FunctionType):
            raise _Other
        return _Called(functools.partial(self._function(function, depth), _Object(self, of, depth + 1)))

    def _function(self, function: types.FunctionType, depth: int) -> types.FunctionType:
        """Returns the function with stand-ins for all that its code names."""
        names = {*_checked_names(function.__code__)}
        known = {}
        for name in names:
            value = function.__globals__.get(name, getattr(builtins, name, None))
            known[name] = self.stand_in(value, depth + 1)
        cells = tuple(types.CellType(self.stand_in(cell.cell_contents, depth + 1)) for cell in function.__closure__ or ())
        defaults = tuple(self.stand_in(each, depth + 1) for each in function.__defaults__ or ())
        made = types.FunctionType(function.__code__, known | {"__builtins__": {}}, function.__name__, defaults, cells)
        made.__kwdefaults__ = {name: self.stand_in(each, depth + 1) for name, each in (function.__kwdefaults__ or {}).items()}
        return made


class _Called:
    """Stands for something that can be called, and for nothing else."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__function = function

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.__function(*given, **named)

    def __getattr__(self, name: str) -> Any:
        raise _Other

    def __bool__(self) -> bool:
        raise _Other

    __eq__ = __ne__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class _Within(_Called):
    """Stands for a module, a list or a dictionary, of which code may take a part."""

    def __init__(self, follows: _Follows, value: Any, depth: int) -> None:
        self.__follows, self.__depth = follows, depth
        self.__value: Any = value

    def __call__(self, *given: Any, **named: Any) -> Any:
        raise _Other

    def __getattr__(self, name: str) -> Any:
        if not isinstance(self.__value, types.ModuleType):
            raise _Other
        return self.__follows.stand_in(vars(self.__value)[name], self.__depth + 1)

    def __getitem__(self, key: Any) -> Any:
        value: Any = self.__value
        if type(value) not in (list, tuple, dict) or not isinstance(key, (int, str)):
            raise _Other
        return self.__follows.stand_in(value[key], self.__depth + 1)


class _Object(_Called):
    """Stands for an object of the user's, which code may call, and of which it may take attributes."""

    def __init__(self, follows: _Follows, value: Any, depth: int) -> None:
        self.__follows, self.__value, self.__depth = follows, value, depth

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.__follows.method(type(self.__value).__call__, self.__value, self.__depth + 1)(*given, **named)

    def __getattr__(self, name: str) -> Any:
        modules = vars(self.__value).get("_modules")
        if isinstance(self.__value, torch.nn.Module) and modules is not None and name in modules:
            return self.__follows.stand_in(modules[name], self.__depth + 1)
        # Properties, and what else a class computes, are not asked.
        held = inspect.getattr_static(self.__value, name)
        if isinstance(held, types.FunctionType) and name not in vars(self.__value):
            return self.__follows.method(held, self.__value, self.__depth + 1)
        return self.__follows.stand_in(held.__func__ if isinstance(held, staticmethod) else held, self.__depth + 1)


def _checked_names(code: types.CodeType) -> Iterator[str]:
    """Returns the names of globals that code uses, and code within it; raises :class:`_Other` for code that does what it may not."""
    if any(name.startswith("__") for name in code.co_names):
        raise _Other
    before = None
    for each in dis.get_instructions(code):
        if each.opname.startswith(_REFUSED) or (each.opname == "STORE_DEREF" and each.argval in code.co_freevars):
            raise _Other
        # A stand-in is never the same object as another one, and never None.
        if each.opname == "IS_OP" and not (before is not None and before.opname == "LOAD_CONST" and before.argval is None):
            raise _Other
        if each.opname in _NAMES:
            yield each.argval
        before = each
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _checked_names(inner)
