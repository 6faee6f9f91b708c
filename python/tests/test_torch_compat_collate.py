"""What `gpufeed.torch_compat.DataLoader` makes of a `collate_fn`, by its code."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

import torch.utils.data  # noqa: E402
from torch.utils.data import TensorDataset, default_collate  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.collate_functions import recognised  # noqa: E402
from gpufeed.torch_compat import DataLoader  # noqa: E402
from torch_loaders import compare, files, strict  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("strict")

mixup, cutmix = v2.MixUp(num_classes=3), v2.CutMix(num_classes=3)
SUPER, MODE, COUNTS = torch.tensor([0, 1] * 20), "train", [0]
calls: list[int] = []


def modulo(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    return images, labels % 10


def by_table(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    return images, SUPER[labels]


def clamped(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    return images.clamp(0, 1), labels


def pooled(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    if images.shape[-1] > 64:
        images = torch.nn.functional.avg_pool2d(images, 2)
    return images, labels


def filtered(samples: list[Any]) -> Any:
    return default_collate([sample for sample in samples if sample[1] != 7])


def twice(samples: list[Any]) -> Any:
    return cutmix(*mixup(*default_collate(samples)))


def at_times(samples: list[Any]) -> Any:
    return default_collate(samples) if len(samples) < 100 else mixup(*default_collate(samples))


def by_mode(samples: list[Any]) -> Any:
    return mixup(*default_collate(samples)) if MODE == "train" else default_collate(samples)


def drawn(samples: list[Any]) -> Any:
    return mixup(*default_collate(samples)) if random.random() < 0.999 else default_collate(samples)


def counted(samples: list[Any]) -> Any:
    COUNTS[0] += 1
    return default_collate(samples)


def caught(samples: list[Any]) -> Any:
    try:
        return mixup(*default_collate(samples))
    except BaseException:
        return default_collate(samples)


def swapped(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    return mixup(labels, images)


def three(samples: list[Any]) -> Any:
    return (*default_collate(samples), 1)


@pytest.mark.parametrize("function", [modulo, by_table, clamped, pooled, filtered, twice, at_times, by_mode, drawn, counted, caught, swapped, three])
def test_code_that_does_more_is_the_users_own(function: Callable[[list[Any]], Any]) -> None:
    assert recognised(function).own is function and COUNTS == [0]


def as_pair(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    return images, labels


def by_parts(samples: list[Any]) -> Any:
    images, labels = torch.utils.data.default_collate(samples)
    mixed = mixup(images, labels)
    return mixed


class Module(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mixup = mixup

    def collate(self, samples: list[Any]) -> Any:
        return self.mixup(*self.plain(samples))

    @staticmethod
    def plain(samples: list[Any]) -> Any:
        return default_collate(samples)


@pytest.mark.parametrize(
    ("function", "mixes", "form"),
    [
        (default_collate, None, list),
        (lambda samples: default_collate(samples), None, list),
        (lambda samples: tuple(default_collate(samples)), None, tuple),
        (as_pair, None, tuple),
        (lambda samples: mixup(*default_collate(samples)), mixup, tuple),
        (lambda samples: mixup(default_collate(samples)), mixup, list),
        (lambda samples: [*mixup(*default_collate(samples))], mixup, list),
        (by_parts, mixup, tuple),
        (Module().collate, mixup, tuple),
        (functools.partial(lambda mix, samples: mix(*default_collate(samples)), cutmix), cutmix, tuple),
    ],
)
def test_code_that_is_known(function: Callable[[list[Any]], Any], mixes: Any, form: Any) -> None:
    found = recognised(function)
    assert (found.own, found.mixes, found.form) == (None, mixes, form)


def test_labels_beyond_those_of_a_probe() -> None:
    data = TensorDataset(torch.rand(40, 3, 6, 8), torch.arange(40))
    for function in (modulo, by_table, clamped, pooled, filtered):
        with pytest.warns(UserWarning, match=f"collate_fn: {function.__name__} is code of its own"):
            compare(data, batch_size=16, collate_fn=function)


def test_nothing_is_called(files: ImageFolder) -> None:
    """A model that a function uses keeps the state that it has."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm2d(3)

        def forward(self, *_: Any) -> Any:
            calls.append(1)

    model = Model()

    def embedded(samples: list[Any]) -> Any:
        images, labels = default_collate(samples)
        return model(images), labels

    with pytest.warns(UserWarning, match="embedded is code of its own"):
        DataLoader(files, 4, collate_fn=embedded)
    assert calls == [] and model.norm.num_batches_tracked == 0


def test_a_function_that_is_not_called_is_a_note(files: ImageFolder) -> None:
    assert "note: collate_fn: as_pair is not called: its code does no more than default_collate" in DataLoader(files, 4, collate_fn=as_pair).explain()
    assert "which is batch_transforms here; by_parts is not called" in DataLoader(files, 4, collate_fn=by_parts).explain()


def test_a_function_that_changes(files: ImageFolder) -> None:
    class Collator:
        mix: Any = mixup

        def __call__(self, samples: list[Any]) -> Any:
            return self.mix(*default_collate(samples))

    collator = Collator()
    ours = DataLoader(files, 4, collate_fn=collator)
    next(iter(ours))
    collator.mix = v2.MixUp(num_classes=3, alpha=0.2)
    assert "MixUp(alpha 1" in ours.explain()
    next(iter(ours))
    assert "MixUp(alpha 0.2" in ours.explain(), "the next iteration mixes as the object does now"
    collator.mix = lambda images, labels: (images, labels)
    with pytest.raises(gpufeed.ArgumentError, match="^collate_fn: .*Collator does something else than when this loader was made; make another loader"):
        iter(ours)


def test_two_that_mix_are_refused(files: ImageFolder) -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: given beside a collate_fn that mixes each batch by MixUp; leave out one of the two$"):
        DataLoader(files, 4, collate_fn=by_parts, batch_transforms=cutmix)
    # None is no second one.
    assert "batch_transforms here" in DataLoader(files, 4, collate_fn=by_parts, batch_transforms=None).explain()


def as_dictionary(samples: list[Any]) -> dict[str, Any]:
    return {"images": torch.stack([image for image, _ in samples]), "labels": [label for _, label in samples]}


@pytest.mark.filterwarnings("ignore:gpufeed. collate_fn")
def test_images_are_finished_before_a_function_gets_them(files: ImageFolder) -> None:
    def made(**given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "gpufeed: (collate_fn|data)")
            return next(iter(DataLoader(files, batch_size=4, collate_fn=as_dictionary, **given)))["images"]

    plain = made()
    assert torch.allclose(made(normalize_on_device=True), plain, atol=1e-5)
    listed = [v2.CenterCrop(30), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    with pytest.raises(gpufeed.ArgumentError, match="^channels_last: collate_fn=as_dictionary, which is code of its own, makes the batches"):
        made(channels_last=True)
    files.transform = None
    changed = made(transforms=[*listed, gpufeed.on_batch(lambda images: images * 0 + 7)])
    assert (changed == 7).all()


def test_mixed_labels_reach_a_function() -> None:
    class Dictionaries:
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            return {"pixels": torch.full((3, 8, 8), index, dtype=torch.uint8), "label": index % 4, "name": str(index)}

    def labels(samples: list[Any]) -> Any:
        return torch.stack([sample["label"] for sample in samples]), [sample["name"] for sample in samples]

    listed = [v2.CenterCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    with pytest.warns(UserWarning, match="labels is code of its own"):
        ours = DataLoader(Dictionaries(), batch_size=8, transforms=listed, collate_fn=labels, batch_transforms=v2.MixUp(num_classes=4))
    soft, names = next(iter(ours))
    assert soft.shape == (8, 4) and torch.allclose(soft.sum(1), torch.ones(8)) and names == [*map(str, range(8))]


def test_texts_are_short(files: ImageFolder) -> None:
    def a_function_with_a_name_that_is_as_long_as_that_of_a_function_may_well_be(samples: list[Any]) -> Any:
        return {}

    with pytest.warns(UserWarning, match="is code of its own") as said:
        DataLoader(files, 4, collate_fn=a_function_with_a_name_that_is_as_long_as_that_of_a_function_may_well_be)
    assert all(len(str(each.message)) <= 300 for each in said)


def test_samples_of_another_form_are_no_pairs() -> None:
    data = TensorDataset(torch.rand(8, 3, 6, 8), torch.arange(8) % 3, torch.rand(8, 3, 6, 8))
    for function in (as_pair, by_parts):
        with pytest.raises(gpufeed.RunError, match="^collate_fn: its code is for images with labels, and these batches are tuples of 3; without it"):
            next(iter(DataLoader(data, batch_size=4, collate_fn=function)))
