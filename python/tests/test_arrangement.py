"""Batches of images whose sizes differ: padded and listed, beside torchvision's own transforms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed import parcel
from gpufeed.errors import ArgumentError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from pictures import detection_shard  # noqa: E402

SIZES = [(40, 30), (30, 44), (64, 20), (33, 33), (21, 50), (48, 47)]
LIST: list[Any] = [v2.ToImage(), v2.Resize(20, max_size=40), v2.ToDtype(torch.float32, scale=True)]
NORMALIZED = [*LIST, v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sizes")
    (root / "a").mkdir()
    for number, size in enumerate(SIZES):
        pixels = numpy.random.default_rng(number).integers(0, 256, (size[1], size[0], 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(root / "a" / f"{number}.png")
    return root


def theirs(folder: Path, transforms: list[Any]) -> list[Any]:
    images = [Image.open(folder / "a" / f"{number}.png") for number in range(len(SIZES))]
    return [v2.Compose(transforms)(image) for image in images]


def test_padded(folder: Path) -> None:
    wanted = theirs(folder, NORMALIZED)
    loader = gpufeed.DataLoader(folder, v2.Compose(NORMALIZED), arrangement=("padded", 8), batch_size=4)
    seen = 0
    for images, labels in loader:
        height = max(image.shape[1] for image in wanted[seen : seen + 4])
        width = max(image.shape[2] for image in wanted[seen : seen + 4])
        assert images.shape == (len(labels), 3, -(-height // 8) * 8, -(-width // 8) * 8)
        for image in images:
            own = wanted[seen]
            padded = torch.zeros(image.shape)
            padded[:, : own.shape[1], : own.shape[2]] = own
            torch.testing.assert_close(image, padded, atol=1e-5, rtol=0)
            seen += 1
    assert seen == len(SIZES)


def test_listed(folder: Path) -> None:
    wanted = theirs(folder, NORMALIZED)
    loader = gpufeed.DataLoader(folder, v2.Compose(NORMALIZED), arrangement="listed", batch_size=4)
    for images, labels in loader:
        assert isinstance(images, list) and len(images) == len(labels)
        for image in images:
            own = wanted.pop(0)
            assert image.is_contiguous()
            torch.testing.assert_close(image, own.as_subclass(torch.Tensor), atol=1e-5, rtol=0)
    assert not wanted


@pytest.mark.parametrize("arrangement", ["padded", ("listed", (64, 64)), ("padded", 1, (50, 64))])
@pytest.mark.parametrize("channels_last", [False, True])
def test_what_a_batch_tells(folder: Path, arrangement: Any, channels_last: bool) -> None:
    transforms = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)] if "padded" != arrangement else LIST
    wanted = theirs(folder, transforms)
    loader = gpufeed.DataLoader(folder, v2.Compose(transforms), arrangement=arrangement, batch_size=6, channels_last=channels_last)
    (batch,) = loader.batches()
    sizes = numpy.from_dlpack(batch.image_sizes)
    assert sizes.tolist() == [[*image.shape[1:]] for image in wanted]
    sent = parcel.unpack(parcel.pack(batch), 0, 0, "")
    for number, own in enumerate(wanted):
        own = own.permute(1, 2, 0) if channels_last else own
        for image in (batch.image(number), sent.image(number), batch.groups["image"].image(number - len(wanted))):
            numpy.testing.assert_allclose(numpy.asarray(image), own.numpy(), atol=1e-5)
    if arrangement[0] != "listed":
        shown = numpy.asarray(batch.images)
        assert shown.shape == tuple(batch.images.shape) and (numpy.asarray(sent.images) == shown).all()
        assert [stride // 4 for stride in shown.strides] == [*batch.images.strides]
        assert (numpy.array(batch.images.__array__(copy=True)) == shown).all()
    with pytest.raises(IndexError, match="6: the batch has 6 images"):
        batch.image(6)
    for images, _ in loader:
        # In torch's order of the axes, whatever the memory has.
        for image, own in zip(images, wanted):
            torch.testing.assert_close(image[:, : own.shape[1], : own.shape[2]], own.as_subclass(torch.Tensor), atol=1e-5, rtol=0)


@pytest.mark.filterwarnings("ignore:gpufeed. collate_fn")
def test_a_collate_fn_gets_each_image_without_padding(folder: Path) -> None:
    from gpufeed.torch_compat import DataLoader
    from torchvision.datasets import ImageFolder

    wanted = theirs(folder, NORMALIZED)
    data = ImageFolder(str(folder), v2.Compose(NORMALIZED))

    def collate(samples: list[Any]) -> Any:
        return tuple(zip(*samples))

    loader = DataLoader(data, batch_size=3, collate_fn=collate, arrangement="listed")
    seen = [image for images, _ in loader for image in images]
    assert [image.shape for image in seen] == [image.shape for image in wanted]


def test_detection_batches(tmp_path: Path) -> None:
    shard = detection_shard(tmp_path / "detection.tar", count=6)
    transforms = v2.Compose([v2.RandomShortestSize([16, 20, 26], max_size=40), *LIST[2:]])
    fields: Any = {"json": {"name": "targets", "kind": "objects"}}
    loader = gpufeed.DataLoader(shard, transforms, fields=fields, arrangement="listed", batch_size=6)
    (batch,) = loader
    sizes = [tuple(image.shape[1:]) for image in batch["image"]]
    assert len(set(sizes)) > 1
    assert [targets["boxes"].canvas_size for targets in batch["targets"]] == sizes


def test_a_group_of_one_size_stays_a_tensor(folder: Path) -> None:
    views = {
        "whole": gpufeed.Views(v2.Compose(LIST)),
        "crop": gpufeed.Views(v2.Compose([v2.CenterCrop(16), *LIST[2:]]), views=2),
    }
    (batch,) = gpufeed.DataLoader(folder, groups=views, arrangement="listed", batch_size=6)
    assert isinstance(batch["whole"], list) and batch["crop"].shape == (12, 3, 16, 16)
    assert [image.shape for image in batch["whole"]] == [image.shape for image in theirs(folder, LIST)]


def test_what_is_refused(folder: Path) -> None:
    def error(**keywords: Any) -> str:
        with pytest.raises((ArgumentError, gpufeed.errors.RunError)) as raised:
            next(iter(gpufeed.DataLoader(folder, **{"transforms": v2.Compose(LIST), **keywords})))
        return str(raised.value)

    assert error().endswith('; arrangement="padded" and arrangement="listed" take images of any size')
    assert error(arrangement="tiled").startswith("arrangement: 'tiled'; \"uniform\", \"padded\",")
    assert error(arrangement=("padded", 0)) == "arrangement: 0; a whole number from 1 on works"
    assert error(arrangement=("listed", 5)) == "arrangement: 5; (height, width) of the largest image works"
    unbounded = v2.Compose([v2.Resize(20), *LIST[2:]])
    assert "give arrangement= the height and width of the largest image" in error(transforms=unbounded, arrangement="padded")
    assert error(transforms=v2.Compose(NORMALIZED), arrangement="padded", normalize_on_device=True).startswith(
        "normalize_on_device: it would normalise the padding"
    )
