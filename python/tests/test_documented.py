"""Every public name has a docstring of its own, and is in the stubs."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from typing import Any

import pytest

import gpufeed
from gpufeed import _gpufeed, parcel


def members(owner: Any, name: str) -> list[tuple[str, Any]]:
    """The public members of a class by their dotted names, those of its bases in the package included."""
    owners = [each for each in reversed(inspect.getmro(owner)) if each.__module__.startswith("gpufeed")] or [owner]
    found = {each: member for owner in owners for each, member in vars(owner).items() if not each.startswith("_")}
    return [(f"{name}.{each}", member) for each, member in found.items()]


def public() -> list[tuple[str, Any]]:
    found = [(name, getattr(gpufeed, name)) for name in gpufeed.__all__]
    found += [(name, each) for name, each in vars(_gpufeed).items() if not name.startswith("_")]
    # What a fleet hands out; gpufeed.ray has them, and needs Ray.
    found += [(f"ray.{each.__name__}", each) for each in (parcel.Batch, parcel.Failure, parcel.StoredArray)]
    if importlib.util.find_spec("ray") is not None:
        ray = importlib.import_module("gpufeed.ray")

        found += [(f"ray.{name}", getattr(ray, name)) for name in ray.__all__]
    if importlib.util.find_spec("torch") is not None:
        found.append(("torch_compat.DataLoader", importlib.import_module("gpufeed.torch_compat").DataLoader))
    # Numbers and texts have no docstrings.
    found = [(name, each) for name, each in found if not isinstance(each, (str, int, tuple))]
    # Members of built-in bases, such as exceptions, are documented by Python.
    found += [member for name, each in list(found) if inspect.isclass(each) for member in members(each, name)]
    # In one order, for processes that share the tests out among them.
    return sorted(dict(found).items(), key=lambda item: item[0])


@pytest.mark.parametrize(("name", "each"), public(), ids=[name for name, _ in public()])
def test_documented(name: str, each: Any) -> None:
    said = inspect.getdoc(each) or ""
    assert len(said.split()) > 2, f"{name}: {said!r}"
    if inspect.isclass(each) and each.__base__ is not object:
        assert said != inspect.getdoc(each.__base__), f"{name} has its base's docstring"
