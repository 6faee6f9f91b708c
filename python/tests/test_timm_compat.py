"""`gpufeed.timm_compat.create_loader` gives the batches of `timm.data.create_loader` for the same arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
timm_data = pytest.importorskip("timm.data", reason="timm is not installed")

from PIL import Image  # noqa: E402
from timm.data.loader import PrefetchLoader  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import torch_compat  # noqa: E402
from gpufeed.timm_compat import create_loader  # noqa: E402
from pictures import folder, jpeg  # noqa: E402

# timm's reader leaves the files open that Pillow has read.
pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")]
pytestmark.append(pytest.mark.filterwarnings("ignore:gpufeed. worker_init_fn"))

CPU = {"device": torch.device("cpu"), "persistent_workers": False}
# Transforms that draw nothing and do not resize: Pillow and gpufeed have the same numbers. The images are 50 pixels wide and 40 high.
PLAIN = {"crop_pct": 1.0, "interpolation": "nearest"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return folder(tmp_path / "data", count=22)


def made(root: Path) -> Any:
    return timm_data.create_dataset("", root, search_split=False)


def both(root: Path, *arguments: Any, **given: Any) -> tuple[Any, Any]:
    return create_loader(made(root), *arguments, **CPU, **given), timm_data.create_loader(made(root), *arguments, num_workers=0, **{**CPU, **given})


@pytest.mark.parametrize("prefetches", [True, False])
@pytest.mark.parametrize("given", [{}, {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.25, 0.5)}, {"img_dtype": torch.bfloat16}, {"is_training": True, "no_aug": True}])
def test_batches_are_those_of_timm(root: Path, prefetches: bool, given: dict[str, Any]) -> None:
    # The images' own size: no_aug crops and resizes nothing then.
    size = (3, 40, 50)
    ours, theirs = both(root, size, 4, use_prefetcher=prefetches, crop_mode="squash", **PLAIN, **given)
    assert isinstance(ours, PrefetchLoader) == isinstance(theirs, PrefetchLoader) == prefetches
    assert len(ours) == len(theirs) and "of Python" not in repr(ours.loader if prefetches else ours)
    ours_of, theirs_of = ([*loader] for loader in (ours, theirs))
    if given.get("is_training"):
        # Another order: the same samples, but for those that the last batch leaves out.
        ours_of, theirs_of = ([(images.sum(), labels) for images, labels in each] for each in (ours_of, theirs_of))
        assert [each.shape for _, each in ours_of] == [each.shape for _, each in theirs_of]
        return
    for (images, labels), (of_timm, expected) in zip(ours_of, theirs_of, strict=True):
        assert images.dtype == of_timm.dtype and labels.dtype == expected.dtype and torch.equal(labels, expected)
        torch.testing.assert_close(images, of_timm, rtol=0, atol=2e-6 if images.dtype == torch.float32 else 0)
    assert ours.dataset is (ours.loader if prefetches else ours).dataset and type(ours.dataset).__name__ == "ImageDataset"


def test_every_argument_of_a_training_script(root: Path) -> None:
    given = {
        "is_training": True,
        "auto_augment": "rand-m9-mstd0.5-inc1",
        "re_prob": 0.5,
        "re_mode": "pixel",
        "re_count": 2,
        "interpolation": "random",
        "num_workers": 3,
        "worker_seeding": "all",
        "use_multi_epochs_loader": True,
    }
    batches = []
    for workers in (1, 3):
        torch.manual_seed(3)
        loader = create_loader(made(root), 32, 4, **CPU, **(given | {"num_workers": workers}))
        batches.append([(images, labels) for images, labels in loader])
        # timm's erasing draws from Python's and NumPy's generators, in the loop.
        assert isinstance(loader, PrefetchLoader) and loader.random_erasing is not None and not loader.mixup_enabled
        loader.mixup_enabled = False
        assert "RandomResizedCrop" in loader.explain() and "TimmRandAugment" in loader.explain()
        assert "normalises it there and erases rectangles, by torch and the process's random numbers" in loader.explain()
    assert len(batches[0]) == 5 and all(images.shape == (4, 3, 32, 32) for images, _ in batches[0])
    assert [labels.tolist() for _, labels in batches[0]] == [labels.tolist() for _, labels in batches[1]]


def test_mixing_is_switched_off_for_the_last_epochs(root: Path) -> None:
    mixup = timm_data.FastCollateMixup(mixup_alpha=1.0, cutmix_alpha=1.0, num_classes=5, label_smoothing=0.1)
    loader = create_loader(made(root), 32, 4, is_training=True, collate_fn=mixup, num_workers=2, **CPU)
    images, labels = next(iter(loader))
    assert images.dtype == torch.float32 and labels.shape == (4, 5) and loader.mixup_enabled
    torch.testing.assert_close(labels.sum(1), torch.ones(4))
    assert any((each > 0.03).sum() > 1 for each in torch.cat([labels for _, labels in loader]))
    loader.mixup_enabled = False
    assert not loader.mixup_enabled and not mixup.mixup_enabled
    for _, labels in loader:
        # Smooth, and of one class.
        torch.testing.assert_close(labels.max(1).values, torch.full((4,), 0.92))
    loader.mixup_enabled = True
    assert any((each > 0.03).sum() > 1 for each in torch.cat([labels for _, labels in loader]))


def test_switching_mixing_off_keeps_the_place(root: Path) -> None:
    def seen(switches: bool, **given: Any) -> list[Any]:
        mixup = timm_data.FastCollateMixup(mixup_alpha=1.0, num_classes=5)
        loader = create_loader(made(root), 32, 4, is_training=True, collate_fn=mixup, seed=42, **CPU, **given)
        first = [images for images, _ in loader]
        if switches:
            # Through the object, as a program may do it, too.
            mixup.mixup_enabled = False
        return [first, [labels.argmax(1) for _, labels in loader]]

    mixed, plain = seen(False), seen(True)
    assert all(torch.equal(one, other) for one, other in zip(mixed[0], plain[0], strict=True))
    torch.manual_seed(0)
    other = create_loader(made(root), 32, 4, is_training=True, seed=42, **CPU)
    [*other]
    assert [labels.tolist() for labels in plain[1]] == [labels.tolist() for _, labels in other], "the second epoch's samples"


def test_what_gpufeed_has_not_mixes_in_the_loop(root: Path) -> None:
    mixup = timm_data.FastCollateMixup(mixup_alpha=1.0, mode="half", num_classes=5)
    with pytest.warns(UserWarning, match="^gpufeed: collate_fn: FastCollateMixup is code of its own"):
        loader = create_loader(made(root), 32, 4, is_training=True, collate_fn=mixup, **CPU)
    images, labels = next(iter(loader))
    assert images.shape == (2, 3, 32, 32) and labels.shape == (2, 5)
    assert loader.mixup_enabled
    loader.mixup_enabled = False
    assert not mixup.mixup_enabled
    assert all((labels > 0.5).sum() == len(labels) for _, labels in loader)


def test_a_subclass_of_the_mixing_runs_in_the_loop(root: Path) -> None:
    class Counting(timm_data.FastCollateMixup):  # type: ignore[misc]
        calls = 0

        def __call__(self, batch: Any, _: Any = None) -> Any:
            self.calls += 1
            return super().__call__(batch)

    mixup = Counting(mixup_alpha=1.0, num_classes=5)
    with pytest.warns(UserWarning, match="Counting is code of its own"):
        loader = create_loader(made(root), 32, 4, is_training=True, collate_fn=mixup, **CPU)
    assert len([*loader]) == mixup.calls == 5


def test_targets_are_those_of_fast_collate(root: Path) -> None:
    for transform in (float, lambda target: target > 2, numpy.int32):
        _, theirs = both(root, 32, 4)
        data = made(root)
        theirs.dataset.target_transform = data.target_transform = transform
        with pytest.warns(UserWarning, match="samples are made in Python"):
            loader = create_loader(data, 32, 4, **CPU)
        for (_, found), (_, expected) in zip(loader, theirs, strict=True):
            assert found.dtype == expected.dtype == torch.int64 and torch.equal(found, expected)


def test_a_data_set_with_features_gives_images_and_classes(root: Path) -> None:
    data = made(root)
    data.additional_features = ["size"]
    data.reader = WithFeatures(data.reader)
    with pytest.warns(UserWarning, match="samples are made in Python"):
        loader = create_loader(data, 32, 4, **CPU)
    assert [len(batch) for batch in loader] == [2] * 6


class WithFeatures:
    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __len__(self) -> int:
        return len(self.reader)

    def __getitem__(self, index: int) -> Any:
        return (*self.reader[index], index)


def test_a_bug_of_a_data_set_ends_the_run(root: Path) -> None:
    class Broken(timm_data.ImageDataset):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            if index == 5:
                raise ValueError("my bug")
            return super().__getitem__(index)

    with pytest.warns(UserWarning, match="its __getitem__ is not timm's"):
        loader = create_loader(Broken(root), 32, 4, **CPU)
    with pytest.raises(gpufeed.DataError, match="my bug"):
        [*loader]


def test_two_loaders_of_one_data_set(root: Path) -> None:
    data = made(root)
    train = create_loader(data, 32, 4, is_training=True, **CPU)
    create_loader(data, 48, 4, **CPU)
    with pytest.raises(gpufeed.ArgumentError, match="^data: its transform is another object than when this loader was made"):
        next(iter(train))


def test_two_that_mix_are_refused(root: Path) -> None:
    mixup = timm_data.FastCollateMixup(num_classes=5)
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: given beside a collate_fn that mixes each batch by FastCollateMixup"):
        create_loader(made(root), 32, 4, is_training=True, collate_fn=mixup, batch_transforms=mixup, **CPU)


def test_images_that_cannot_be_read_are_replaced(root: Path) -> None:
    damaged = sorted(root.glob("*/*.jpg"))[3]
    damaged.write_bytes(jpeg(3)[:40])
    loader = create_loader(made(root), 32, 4, **CPU)
    # The number of an epoch is drawn: it says nothing.
    with pytest.warns(UserWarning, match="1 failed so far in this epoch;"):
        assert sum(len(images) for images, _ in loader) == 22
    with pytest.raises(gpufeed.DataError, match="^sample 3 "):
        [*create_loader(made(root), 32, 4, on_error="fail", **CPU)]


def test_keywords_of_gpufeed_stand_beside_those_of_timm(root: Path) -> None:
    loader = create_loader(made(root), 32, 4, cache="host:64M", **CPU)
    assert "host" in loader.explain()
    with pytest.raises(TypeError, match="cash"):
        create_loader(made(root), 32, 4, cash="host:64M", **CPU)


def test_what_is_refused(root: Path) -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^num_aug_splits: samples of several images are not made"):
        create_loader(made(root), 32, 4, is_training=True, auto_augment="augmix-m5-w4", num_aug_splits=3, **CPU)
    with pytest.raises(gpufeed.ArgumentError, match="^input_size_choices: batches of several sizes are not made"):
        create_loader(made(root), 32, 4, is_training=True, input_size_choices=[32, 48], **CPU)


def test_image_data_sets_are_files(root: Path, tmp_path: Path) -> None:
    data = made(root)
    loader = torch_compat.DataLoader(data, 4) if data.transform is not None else gpufeed.DataLoader(data, recipe={"transform": [{"type": "CenterCrop", "size": 8}]})
    assert "of Python" not in repr(loader) and "timm's ImageDataset" in repr(loader)
    labels = [label for _, batch in loader for label in batch.tolist()]
    assert labels == [target for _, target in data.reader.samples]
    data.target_transform = lambda target: 4 - target
    relabelled = gpufeed.DataLoader(data, recipe={"transform": [{"type": "CenterCrop", "size": 8}]})
    assert [label for _, batch in relabelled for label in batch.tolist()] == [4 - label for label in labels]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"input_img_mode": "L"}, "input_img_mode is 'L'"),
        ({"load_bytes": True}, "load_bytes is set"),
        ({"additional_features": ["path"]}, "additional_features is set"),
        ({"reader": "own"}, "its reader is a Own"),
    ],
)
def test_what_stays_in_python_says_why(root: Path, change: dict[str, Any], why: str) -> None:
    class Own:
        def __init__(self, reader: Any) -> None:
            self.reader = reader

        def __len__(self) -> int:
            return len(self.reader)

        def __getitem__(self, index: int) -> Any:
            return self.reader[index]

    data = made(root)
    for name, value in change.items():
        setattr(data, name, Own(data.reader) if name == "reader" else value)
    with pytest.warns(UserWarning, match=f"^gpufeed: data: read in Python, .*: timm's ImageDataset: {why}"):
        gpufeed.DataLoader(data, recipe={"transform": [{"type": "CenterCrop", "size": 8}]})


def test_a_subclass_that_reads_by_itself_stays_in_python(root: Path) -> None:
    class Inverted(timm_data.ImageDataset):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            image, target = super().__getitem__(index)
            return Image.fromarray(255 - numpy.asarray(image)), target

    data = Inverted(root)
    with pytest.warns(UserWarning, match="its __getitem__ is not timm's"):
        loader = gpufeed.DataLoader(data, recipe={"transform": [{"type": "CenterCrop", "size": 8}]})
    assert "of Python" in repr(loader)
