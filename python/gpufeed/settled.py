"""Whether code of a user's own can do other things later than on probe images: by what it refers to, as no probe shows that.

Settled code refers to modules, functions and classes of libraries, to numbers and strings that do not change, and to functions of which
the same is true. A dictionary that a loop changes, a counter, a clock or the system's random numbers are not settled.
"""

from __future__ import annotations

import builtins
import copy
import dis
import enum
import functools
import inspect
import os
import pickle
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import PIL.Image
import torch

# Modules of the standard library of which code reads what changes by itself.
_OUTSIDE = {"os", "posix", "nt", "time", "datetime", "secrets", "uuid", "threading", "multiprocessing", "socket", "subprocess", "tempfile"}
_OUTSIDE |= {"pathlib", "io", "sys", "importlib", "inspect", "gc", "builtins", "weakref", "contextvars", "queue", "logging", "shelve", "sqlite3"}
# Attributes of libraries by which code has random numbers or settings that probes do not set.
_CHANGING = {"default_rng", "urandom", "SystemRandom", "RandomState", "Generator", "Random", "seed", "manual_seed", "training", "environ"}
_CHANGING |= {"__dict__", "__globals__", "initial_seed", "get_worker_info"}
_BUILTINS = {"open", "eval", "exec", "globals", "locals", "vars", "getattr", "setattr", "delattr", "__import__", "input", "id", "compile"}
_STORES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), enum.Enum, torch.dtype, torch.device, numpy.dtype, numpy.generic)
_DEPTH = 12
# The objects to which the functions of random and numpy.random are bound: probes set their numbers.
_GENERATORS = [random.random.__self__, numpy.random.rand.__self__]  # type: ignore[attr-defined]


class Unsettled(Exception):
    """Code refers to what may change."""


def constants(code: Any) -> tuple[Any, ...] | None:
    """Returns the numbers and strings that a function refers to, or a class's methods, each with its own type; ``None`` if it refers to
    what may change. Two equal answers say that code which is the same object does the same."""
    found: list[Any] = []
    try:
        _value(code, found, set(), 0)
    except (Unsettled, RecursionError):
        return None
    return tuple(found)


def reads(kind: type) -> set[str]:
    """Returns the attributes that the methods of a user's class, by which its objects are called, read."""
    names: set[str] = set()
    for method in methods(kind):
        for each in _codes(method.__code__):
            names |= {str(op.argval) for op in dis.get_instructions(each) if op.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")}
    return names


def methods(kind: type) -> Iterator[types.FunctionType]:
    """Yields the methods of a class that are a user's own, but those that make and show its objects."""
    for each in kind.__mro__:
        if not is_of_library(each):
            for name, value in vars(each).items():
                value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
                value = value.fget if isinstance(value, property) else value
                if isinstance(value, types.FunctionType) and name not in ("__init__", "__repr__", "__str__", "__len__", "extra_repr"):
                    yield value


def reads_of(transform: Any) -> set[str]:
    """Returns the attributes of an object, and of its class, that its methods read, but the methods."""
    kind = type(transform)
    held = {*getattr(transform, "__dict__", {}), *getattr(transform, "__dict__", {}).get("_modules", {})}
    held |= {name for each in kind.__mro__ if not is_of_library(each) for name, value in vars(each).items() if not callable(value)}
    return reads(kind) & held


# What code may name that cannot look at an image, beside its own attributes: random numbers, and what Pillow does to all images alike.
_BLIND = {"random", "uniform", "rand", "random_sample", "numpy", "np", "torch", "item", "filter", "ImageFilter", "GaussianBlur", "ImageOps"}
_BLIND |= {"solarize", "equalize", "grayscale", "invert", "mirror", "flip", "PIL", "Image", "float", "empty", "uniform_", "super"}


def is_blind(transform: Any, its_list: str = "") -> bool:
    """True for an object whose methods cannot look at the image that they get: they name nothing that can, but numbers of the object
    itself. ``its_list`` is an attribute that may be called with the image."""
    kind = type(transform)
    if isinstance(transform, types.FunctionType):
        codes = [each for code in constants(transform) or () if isinstance(code, types.CodeType) for each in _codes(code)]
        return bool(codes) and all({*code.co_names, *code.co_freevars} <= _BLIND for code in codes)
    if is_of_library(kind):
        return False
    held = getattr(transform, "__dict__", {})
    image = PIL.Image.new("L", (1, 1))
    own = {name for name, value in held.items() if isinstance(value, (int, float, tuple, list)) and not hasattr(image, name)}
    codes = [each for method in methods(kind) for each in _codes(method.__code__)]
    return bool(codes) and all({*code.co_names, *code.co_freevars} <= _BLIND | own | {its_list} for code in codes)


# What code may name that hands an image on and cannot look at it: calls, loops, and lists of what the calls return.
_HANDS_ON = {"range", "list", "tuple", "dict", "map", "enumerate", "zip", "reversed", "super"}
_HANDS_ON_ATTRIBUTES = {"append", "extend", "values", "items", "keys", "__call__", "forward"}


def hands_on(transform: Any) -> bool:
    """True for an object whose methods give the image that they get to what the object holds, and do nothing else with it: they name
    nothing but attributes of the object itself, and what makes lists of the results."""
    kind = type(transform)
    if is_of_library(kind) or not isinstance(inspect.getattr_static(kind, "__call__", None), types.FunctionType):
        return False
    found = False
    for method in methods(kind):
        found = True
        # A function of the program around the class, and one that is an argument's default, may do anything.
        if {*method.__code__.co_freevars} - {"__class__"} or any(map(callable, (*(method.__defaults__ or ()), *(method.__kwdefaults__ or {}).values()))):
            return False
        of_itself = method.__code__.co_varnames[:1]
        for code in _codes(method.__code__):
            before = None
            for op in dis.get_instructions(code):
                if op.opname in ("LOAD_GLOBAL", "LOAD_NAME") and (op.argval not in _HANDS_ON or op.argval in method.__globals__):
                    return False
                if op.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") and op.argval not in _HANDS_ON_ATTRIBUTES:
                    # What is on top of the stack is the object: `self.transform`, and not `image.transform`.
                    loaded = (before.argval if isinstance(before.argval, tuple) else (before.argval,)) if before is not None else ()
                    is_itself = before is not None and before.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and loaded[-1:] == of_itself
                    if not is_itself:
                        return False
                if op.opname in _STORES or op.opname == "IMPORT_NAME":
                    return False
                before = op
    return found


def object_constants(transform: Any, but: str = "") -> tuple[Any, ...] | None:
    """As :func:`constants`, of the methods of an object's class and of the attributes that they read, without one of them."""
    found: list[Any] = []
    kind, held = type(transform), getattr(transform, "__dict__", {})
    if not isinstance(inspect.getattr_static(kind, "__call__", None), types.FunctionType):
        return None
    if "forward" in held or held.get("_forward_hooks") or held.get("_forward_pre_hooks"):
        return None
    held = {**held, **held.get("_modules", {})}
    for name in reads(kind) - {but}:
        # Objects of libraries do what they do in every list.
        if name in held and not is_of_library(type(held[name])):
            value = held[name]
            value = tuple(value) if isinstance(value, list) else value
            try:
                _value(value, [], set(), 0)
            except Unsettled:
                return None
        elif isinstance(held.get(name), (dict, set, bytearray, list)):
            simple = isinstance(held[name], list) and all(type(each) in (int, float) for each in held[name])
            if not simple:
                return None
    try:
        for method in methods(type(transform)):
            _function(method, found, {id(each) for each in type(transform).__mro__}, 0)
    except (Unsettled, RecursionError):
        return None
    return tuple(found)


def _value(value: Any, found: list[Any], seen: set[int], depth: int) -> None:
    """Adds what a value refers to."""
    if depth > _DEPTH:
        raise Unsettled
    if id(value) in seen:
        return
    if isinstance(value, _PLAIN):
        found.append((type(value), repr(value)))
    elif isinstance(value, (tuple, frozenset)) or (isinstance(value, list) and len(value) > 1 and all(type(each) is float for each in value)):
        # A list of floats is a mean or a deviation; one that is a switch has other things in it.
        found.append((type(value), len(value)))
        for each in value:
            _value(each, found, seen, depth + 1)
    elif isinstance(value, (torch.Tensor, numpy.ndarray)):
        numbers = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
        if numbers.dtype.kind != "f" or numbers.size > 64:
            raise Unsettled
        found.append((type(value), numbers.shape, numbers.tobytes()))
    elif isinstance(value, types.ModuleType):
        if not _is_installed(value.__name__):
            raise Unsettled
    elif isinstance(value, functools.partial):
        for each in (value.func, *value.args, *value.keywords.values()):
            _value(each, found, seen, depth + 1)
    elif getattr(value, "__self__", None) is not None and value.__self__ in _GENERATORS:
        return
    elif isinstance(value, types.MethodType):
        if not isinstance(value.__self__, (type, types.ModuleType)):
            raise Unsettled
        _value(value.__func__, found, seen, depth + 1)
    elif is_of_library(value):
        return
    elif isinstance(value, types.FunctionType):
        seen.add(id(value))
        _function(value, found, seen, depth + 1)
    elif isinstance(value, type):
        seen.add(id(value))
        for name, each in vars(value).items():
            if isinstance(each, types.FunctionType):
                _function(each, found, seen, depth + 1)
            elif not (name.startswith("__") and name.endswith("__")):
                _value(each, found, seen, depth + 1)
    else:
        raise Unsettled


def is_of_library(value: Any) -> bool:
    """True for functions and classes of libraries, by the module that has them."""
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, numpy.ufunc)):
        owner = getattr(value, "__self__", None)
        held = owner if isinstance(owner, type) or owner is None or isinstance(owner, types.ModuleType) else type(owner)
        name = held.__name__ if isinstance(held, types.ModuleType) else getattr(held, "__module__", "") or ""
        # torch's functions are bound to an object of torch's own.
        is_bound = not (owner is None or isinstance(owner, (type, types.ModuleType)) or name.startswith("torch._C"))
        name = getattr(value, "__module__", None) or name
        return not is_bound and name.partition(".")[0] not in _OUTSIDE - {"builtins"}
    if not isinstance(value, (types.FunctionType, type)) and type(value).__name__ != "_ArrayFunctionDispatcher":
        return False
    return _is_installed(getattr(value, "__module__", None) or "")


@functools.cache
def _is_installed(name: str) -> bool:
    """True for modules of the standard library and of installed packages, but those by which code reads what changes."""
    top = name.partition(".")[0]
    if top in _OUTSIDE:
        return top == "builtins"
    if top == "__main__" or not top:
        return False
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return True
    places = [sysconfig.get_path(each) for each in ("purelib", "platlib")]
    # Where these lie, others do: a user's own folder of packages, or a distribution's.
    near = [os.path.dirname(os.path.dirname(str(each.__file__))) for each in (torch, numpy, PIL)]
    file = str(getattr(sys.modules.get(top), "__file__", None) or "")
    return any(place and file.startswith(place + "/") for place in (*places, *near))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _function(function: types.FunctionType, found: list[Any], seen: set[int], depth: int) -> None:
    """Adds what a function of the user's refers to: the globals, the closure, and the arguments that have a default."""
    if vars(function):
        if not isinstance(vars(function).get("__wrapped__"), types.FunctionType):
            raise Unsettled
        _value(vars(function)["__wrapped__"], found, seen, depth)
    for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _value(each, found, seen, depth)
    for cell in function.__closure__ or ():
        try:
            inside = cell.cell_contents
        except ValueError:
            raise Unsettled from None
        _value(inside, found, seen, depth)
    found.append(function.__code__)
    for code in _codes(function.__code__):
        for op in dis.get_instructions(code):
            name = str(op.argval)
            if op.opname in _STORES or (op.opname in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars):
                # A comprehension's own variables are cells of the function around it: only the outermost code's are the program's.
                if op.opname in _STORES or code is function.__code__:
                    raise Unsettled
            elif op.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                _global(function, name, found, seen, depth)
            elif op.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
                if name in _CHANGING:
                    raise Unsettled
            elif op.opname == "IMPORT_NAME" and not _is_installed(name):
                raise Unsettled


def _global(function: types.FunctionType, name: str, found: list[Any], seen: set[int], depth: int) -> None:
    if name in function.__globals__:
        _value(function.__globals__[name], found, seen, depth)
    elif name in _BUILTINS or not hasattr(builtins, name):
        raise Unsettled


def copied(transform: Any) -> Any | None:
    """Returns a copy of an object for trials, which may change it; ``None`` if it cannot be copied."""
    try:
        return copy.deepcopy(transform)
    except Exception:  # noqa: BLE001 - any error says that it cannot be copied
        return None


def same_state(one: Any, other: Any, but: Callable[[str], bool] = lambda name: False, depth: int = 0) -> bool:
    """True if two objects of one class hold the same. ``but`` says which attributes of the objects themselves may differ."""
    if one is other:
        return True
    if type(one) is not type(other) or depth > _DEPTH:
        return False
    if isinstance(one, torch.Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, numpy.ndarray):
        return bool(one.dtype == other.dtype and one.dtype.kind != "O" and one.shape == other.shape and one.tobytes() == other.tobytes())
    if isinstance(one, _PLAIN):
        return repr(one) == repr(other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same_state(a, b, depth=depth + 1) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        same = [*one] == [*other] if all(isinstance(key, (str, int)) for key in one) else False
        return same and all(same_state(one[key], other[key], depth=depth + 1) for key in one)
    held = getattr(one, "__dict__", None)
    kind = type(one)
    states = getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
    # What has a state of its own kind, as generators of random numbers have, is compared by its pickle.
    if held is not None and not isinstance(one, type) and getattr(kind, "__reduce__") is getattr(object, "__reduce__") and states:
        of_other = vars(other)
        names = [name for name in {**held, **of_other} if not but(name)]
        return all(name in held and name in of_other and same_state(held[name], of_other[name], depth=depth + 1) for name in names)
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except Exception:  # noqa: BLE001 - any error says that it cannot be compared
        return False
