"""Which transforms are found in what a user's function can call: nobody calls anything else."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from torchvision.transforms import v2  # noqa: E402

from gpufeed.reachable import called_by  # noqa: E402

listed = v2.Compose([v2.CenterCrop(8), v2.ToImage()])
several = torch.nn.Sequential(v2.CenterCrop(8), v2.ToImage())
model = torch.nn.Sequential(torch.nn.BatchNorm2d(3))


class Preset:
    def __init__(self) -> None:
        self.inner = {"train": [listed]}

    def __call__(self, image: Any) -> Any:
        return self.inner["train"][0](image)


preset = Preset()


def by_preset(rows: Any) -> Any:
    return [preset(image) for image in rows]


def by_both(rows: Any) -> Any:
    return [several(listed(image)) for image in rows]


def by_model(rows: Any) -> Any:
    return [model(listed(image)) for image in rows]


class Holds:
    def __init__(self) -> None:
        self.model = model

    def method(self, rows: Any) -> Any:
        return self.model([listed(image) for image in rows])


def by_lambda(rows: Any) -> Any:
    return [v2.Lambda(model)(image) for image in rows]


def test_transforms_of_known_libraries_alone() -> None:
    assert called_by(by_preset) == [listed]
    assert {*map(id, called_by(by_both))} == {id(listed), id(several)}
    assert called_by(listed) == [listed]


def test_none_beside_a_model() -> None:
    assert called_by(by_model) == [] and called_by(Holds().method) == [] and called_by(by_lambda) == []
