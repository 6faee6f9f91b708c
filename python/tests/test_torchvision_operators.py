"""Each class of torchvision's transforms, v2's and v1's, with defaults and with arguments: the operator of a recipe."""

from __future__ import annotations

import json
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torchvision.transforms import v2  # noqa: E402

from gpufeed import _gpufeed  # noqa: E402
from gpufeed.operators import OPERATORS  # noqa: E402
from gpufeed.torchvision import convert  # noqa: E402
from operator_cases import CASES, Case  # noqa: E402

FLOAT = v2.ToDtype(torch.float32, scale=True)
# On floats alone.
NEEDS_FLOATS = {"Normalize"}


def close(found: Any, expected: Any) -> bool:
    """Equal, up to the rounding of torchvision's own ``1 - 0.4``."""
    return bool(found == (pytest.approx(expected) if isinstance(expected, (float, list)) else expected))


@pytest.mark.parametrize("case", CASES, ids=[f"{case.name} {number}" for number, case in enumerate(CASES)])
def test_operator(case: Case) -> None:
    for transform in case.transforms():
        made = convert([FLOAT, transform] if case.name in NEEDS_FLOATS else [transform]).recipe
        _gpufeed.recipe_toml(json.dumps(made))
        (found,) = made["transform"]
        assert found.keys() == {"type", *case.expected}
        assert found["type"] == case.name
        assert all(close(found[key], value) for key, value in case.expected.items()), found


def test_the_table_has_every_operator_with_defaults_and_arguments() -> None:
    counts = {name: sum(case.name == name for case in CASES) for name in OPERATORS}
    without_arguments = {"ClampBoundingBoxes", "ClampKeyPoints", "RandomChannelPermutation", "SanitizeKeyPoints"}
    assert {name for name, count in counts.items() if count < 2} == without_arguments
