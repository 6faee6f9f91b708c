"""Masks of a segmentation, beside torchvision's own transforms of an image and its mask, and mosaics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed.errors import ArgumentError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

SIZE = (50, 40)
COUNT = 5
MASK = gpufeed.Views(source="mask", follows="image", read_mode="mask", fill=255)


def picture(number: int) -> tuple[Image.Image, Image.Image]:
    """A picture, and its mask in a palette or in gray."""
    numbers = numpy.random.default_rng(number)
    classes = numpy.kron(numbers.integers(0, 6, (8, 10), dtype=numpy.uint8), numpy.ones((5, 5), dtype=numpy.uint8))
    mask = Image.fromarray(classes, "P" if number % 2 else "L")
    if number % 2:
        mask.putpalette([value * 7 % 256 for value in range(18)])
    return Image.fromarray(numbers.integers(0, 256, (*SIZE[::-1], 3), dtype=numpy.uint8)), mask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind in ("images", "masks"):
        (tmp_path / kind / "train").mkdir(parents=True)
    for number in range(COUNT):
        image, mask = picture(number)
        image.save(tmp_path / "images" / "train" / f"{number}.png")
        mask.save(tmp_path / "masks" / "train" / f"{number}.png", **({"bits": 4} if number == 3 else {}))
    return tmp_path


def test_masks_are_those_of_torchvision(folder: Path) -> None:
    fill: Any = {tv_tensors.Image: 0, tv_tensors.Mask: 255}
    geometry = [v2.RandomRotation((20, 20), fill=fill), v2.Pad((3, 5), fill=fill), v2.RandomHorizontalFlip(1.0), v2.Resize((64, 48)), v2.CenterCrop((60, 40))]
    loader = gpufeed.DataLoader(folder, groups={"image": v2.Compose([*geometry, v2.ToDtype(torch.float32, scale=True)]), "mask": MASK}, batch_size=COUNT)
    (batch,) = loader
    masks = batch["mask"]
    assert masks.dtype == torch.uint8 and tuple(masks.shape) == (COUNT, 1, 60, 40)
    for number in range(COUNT):
        image, mask = picture(number)
        pair = tv_tensors.Image(v2.functional.pil_to_tensor(image)), tv_tensors.Mask(v2.functional.pil_to_tensor(mask))
        _, wanted = v2.Compose(geometry)(*pair)
        assert (masks[number] != wanted).float().mean() < 0.002, number
        assert (masks[number] == 255).any()
    loss = torch.nn.functional.cross_entropy(torch.zeros(COUNT, 6, 60, 40), masks.squeeze(1).long(), ignore_index=255)
    assert float(loss) == pytest.approx(numpy.log(6), rel=1e-5)


def test_loaders_settings_leave_masks_bytes(folder: Path) -> None:
    end = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)]
    lists = {"image": v2.Compose([v2.Resize((16, 16)), *end]), "mask": MASK}
    for settings in ({"dtype": torch.float16}, {"normalize_on_device": True}, {"channels_last": True}):
        (batch,) = gpufeed.DataLoader(folder, groups=lists, batch_size=COUNT, **settings)
        assert batch["mask"].dtype == torch.uint8 and int(batch["mask"].max()) < 6
    recipe = gpufeed.DataLoader(folder, recipe="segmentation-train", batch_size=2, drop_last=True)
    shapes = {tuple(batch["image"].shape + batch["mask"].shape) for batch in recipe}
    assert shapes == {(2, 3, 480, 480, 2, 1, 480, 480)}


def test_masks_are_refused_by_name(folder: Path) -> None:
    image = v2.Compose([v2.Resize((16, 16))])
    for views, says in (
        (gpufeed.Views(source="mask", follows="image", read_mode="mask", fill=300), "fill: group \"mask\": 300; a mask has whole numbers from 0 to 255"),
        (gpufeed.Views(source="mask", follows="image", read_mode="mask", dtype="float32"), "dtype: group \"mask\": F32 divides by 255"),
        (gpufeed.Views(source="mask", follows="image", read_mode="mask", interpolation="bilinear"), "computes numbers between those of pixels"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=says):
            gpufeed.DataLoader(folder, groups={"image": image, "mask": views})
    with pytest.raises(ArgumentError, match="fill: 'white'; a number works"):
        gpufeed.Views(fill="white")
    with pytest.raises(ArgumentError, match='read_mode: .*"mask"'):
        gpufeed.Views(read_mode="classes")


def test_mosaics_show_the_boxes_of_four_images(tmp_path: Path) -> None:
    images, annotations = [], []
    for number in range(6):
        Image.new("RGB", (60, 40), (30 * number,) * 3).save(tmp_path / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "width": 60, "height": 40})
        annotations.append({"id": number, "image_id": number, "category_id": number + 1, "bbox": [0, 0, 60, 40], "area": 2400, "iscrowd": 0})
    categories = [{"id": number + 1, "name": str(number)} for number in range(6)]
    file = tmp_path / "instances_train.json"
    file.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    recipe = {"mosaic": {"size": 64}, "transform": [{"type": "CenterCrop", "size": 128}], "output": {"layout": "Nchw", "dtype": "U8"}}
    seen = 0
    for batch in gpufeed.DataLoader(file, recipe=recipe, root=tmp_path, batch_size=3, shuffle=True):
        for image, target in zip(batch["image"], batch["objects"]):
            assert len(target["labels"]) == 4
            for (x, y, w, h), label in zip(target["boxes"].tolist(), target["labels"].tolist()):
                inside = image[:, round(y) : round(y + h), round(x) : round(x + w)]
                assert inside.numel() > 0 and (inside == 30 * (label - 1)).all()
                seen += 1
    assert seen == 24
