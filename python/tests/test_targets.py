"""Boxes and keypoints of a batch, beside torchvision's own transforms of them."""

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

from pictures import DETECTION_SIZE, detection, detection_shard  # noqa: E402

FIELDS: dict[str, Any] = {"json": {"name": "targets", "kind": "objects"}}


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return detection_shard(tmp_path / "detection.tar", count=6)


def expected(number: int, transforms: Any) -> dict[str, Any]:
    """The targets of a sample as torchvision's own transforms make them."""
    found = detection(number)
    boxes = torch.tensor(found["bbox"], dtype=torch.float32).reshape(-1, 4)
    tv_boxes = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=DETECTION_SIZE[::-1])
    labels = torch.tensor(found["category_id"], dtype=torch.int64)
    area = torch.tensor(found["area"], dtype=torch.float32)
    _, boxes, labels, area = transforms(tv_tensors.Image(torch.zeros(3, 30, 40)), tv_boxes, labels, area)
    return {"boxes": boxes, "labels": labels, "area": area}


def test_targets_are_those_of_torchvision(shard: Path) -> None:
    sanitize = v2.SanitizeBoundingBoxes(labels_getter=lambda sample: sample[2:])
    geometry = [v2.Resize((24, 32)), v2.Pad((3, 1)), v2.RandomHorizontalFlip(1.0), v2.CenterCrop((20, 30))]
    formats: list[Any] = [v2.ClampBoundingBoxes(), v2.ConvertBoundingBoxFormat("XYXY")]
    theirs = v2.Compose([*geometry, *formats, sanitize])
    ours = v2.Compose([*geometry, *formats, v2.SanitizeBoundingBoxes(labels_getter=None)])
    loader = gpufeed.DataLoader(shard, ours, fields=FIELDS, batch_size=4)
    seen = 0
    for batch in loader:
        assert isinstance(batch["targets"], list) and len(batch["targets"]) == len(batch["image"])
        for targets in batch["targets"]:
            wanted = expected(seen, theirs)
            assert isinstance(targets["boxes"], tv_tensors.BoundingBoxes)
            assert targets["boxes"].format == tv_tensors.BoundingBoxFormat.XYXY and targets["boxes"].canvas_size == (20, 30)
            torch.testing.assert_close(targets["boxes"].as_subclass(torch.Tensor), wanted["boxes"].as_subclass(torch.Tensor))
            assert targets["labels"].equal(wanted["labels"]) and targets["area"].equal(wanted["area"])
            assert targets["labels"].dtype == torch.int64 and targets["keypoints"].shape == (len(wanted["labels"]), 2, 3)
            seen += 1
    assert seen == 6


def test_flat_targets_say_whose_they_are(shard: Path) -> None:
    crop = v2.CenterCrop((30, 40))
    flat = next(iter(gpufeed.DataLoader(shard, [crop], fields=FIELDS, batch_size=6, targets="flat")))["targets"]
    assert flat["boxes"].shape == (15, 4) and flat["offsets"].tolist() == [0, 3, 6, 9, 9, 12, 15]
    assert flat["image"].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [4] * 3 + [5] * 3
    assert flat["labels"].tolist() == [each for number in (0, 1, 2, 4, 5) for each in (number, 50 + number, 99)]
    # Without torch.
    batch = next(gpufeed.DataLoader(shard, [crop], fields=FIELDS, batch_size=6).batches())
    assert batch.targets is not None and batch.columns == {}
    numpy.testing.assert_array_equal(numpy.from_dlpack(batch.targets["boxes"]), flat["boxes"].numpy())
    with pytest.warns(UserWarning, match="6 members in .json are not read"):
        plain = gpufeed.DataLoader(shard, [crop], batch_size=6, allow_unlabelled=True)
    assert next(plain.batches()).targets is None


def test_a_detector_takes_them(shard: Path) -> None:
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    torch.manual_seed(0)
    model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=128)
    transforms = v2.Compose(
        [
            v2.RandomHorizontalFlip(), v2.Resize((64, 64)), v2.ConvertBoundingBoxFormat("XYXY"), v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )  # fmt: skip
    for batch in gpufeed.DataLoader(shard, transforms, fields=FIELDS, batch_size=3, drop_last=True):
        targets = [{"boxes": each["boxes"], "labels": each["labels"]} for each in batch["targets"]]
        losses = model(list(batch["image"]), targets)
        assert all(torch.isfinite(loss) for loss in losses.values())


def test_what_is_refused(shard: Path) -> None:
    with pytest.raises(ArgumentError, match='"per_image" and "flat" work'):
        gpufeed.DataLoader(shard, [v2.CenterCrop(8)], fields=FIELDS, targets="list")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match='RandAugment cannot move the objects of "targets"'):
        gpufeed.DataLoader(shard, [v2.RandAugment(), v2.CenterCrop(8)], fields=FIELDS)
    with pytest.raises(ValueError, match=r"transforms\[0\]: SanitizeBoundingBoxes .* a labels_getter of your own is not called"):
        gpufeed.DataLoader(shard, [v2.SanitizeBoundingBoxes(labels_getter=lambda sample: None)], fields=FIELDS)
    mode: Any = "hard"
    with pytest.raises(ValueError, match=r"ClampBoundingBoxes .* SetClampingMode\('hard'\) before it is"):
        gpufeed.DataLoader(shard, [v2.ClampBoundingBoxes(clamping_mode=mode)], fields=FIELDS)


@pytest.mark.parametrize("name", ["objects.parquet", "objects_listed.parquet"])
def test_columns_of_hugging_faces_parquet_files(tmp_path: Path, name: str) -> None:
    folder = Path(__file__).parents[2] / "tests" / "parquet"
    (tmp_path / name).write_bytes((folder / name).read_bytes())
    fields: dict[str, Any] = {"objects": {"name": "objects", "kind": "objects"}}
    crop = [v2.CenterCrop((40, 40)), v2.ConvertBoundingBoxFormat("XYXY"), v2.ClampBoundingBoxes()]
    loader = gpufeed.DataLoader(tmp_path / name, crop, fields=fields, batch_size=4)
    assert loader.dataset.classes == ["cat", "dog", "wug"]
    batch = next(iter(loader))
    rows = json.loads((folder / "objects.json").read_text())[name]
    for number, (row, targets) in enumerate(zip(rows, batch["objects"], strict=True)):
        columns = row if isinstance(row, dict) else {part: [each[part] for each in row] for part in ("bbox", "category", "id")}
        # The crop pads the image, which is smaller.
        width, height = 8 + number % 7, 6 + number % 5
        left, top = (40 - width) // 2, (40 - height) // 2
        edges = [[x + left, y + top, min(x + w, width) + left, min(y + h, height) + top] for x, y, w, h in columns["bbox"]]
        torch.testing.assert_close(targets["boxes"].as_subclass(torch.Tensor), torch.tensor(edges).reshape(-1, 4))
        if edges:
            assert targets["labels"].tolist() == columns["category"] and targets["id"].tolist() == columns["id"]
    # Without the kind the column is JSON, as before.
    plain = next(iter(gpufeed.DataLoader(tmp_path / name, [v2.CenterCrop((40, 40))], fields=["objects"], batch_size=4)))
    assert plain["objects"][0] == rows[0]


@pytest.mark.filterwarnings("ignore:9 masks .segmentation. are not read:UserWarning")
def test_cocos_documents_are_opened_by_their_path(tmp_path: Path) -> None:
    folder = tmp_path / "val2017"
    folder.mkdir()
    (tmp_path / "annotations").mkdir()
    numbers = range(4)
    for number in numbers:
        Image.new("RGB", DETECTION_SIZE, (number, 0, 0)).save(folder / f"{number:012}.png")
    rows = [(number, detection(number)) for number in numbers]
    document = {
        "images": [
            {"id": 100 + number, "file_name": f"{number:012}.png", "width": DETECTION_SIZE[0], "height": DETECTION_SIZE[1]}
            for number in numbers
        ],
        "annotations": [
            {"id": 10 * number + at, "image_id": 100 + number, "bbox": box, "category_id": 3, "area": 1.5, "iscrowd": 0, "segmentation": []}
            for number, found in rows
            for at, box in enumerate(found["bbox"])
        ],
        "categories": [{"id": 3, "name": "car"}],
    }
    path = tmp_path / "annotations" / "instances_val2017.json"
    path.write_text(json.dumps(document))
    loader = gpufeed.DataLoader(path, [v2.CenterCrop((30, 40))], batch_size=4)
    assert loader.dataset.classes == ["", "", "", "car"]
    (batch,) = loader
    for number, targets in enumerate(batch["objects"]):
        assert targets["image_id"] == 100 + number and targets["id"].tolist() == [10 * number + at for at in range(len(targets["id"]))]
        assert targets["boxes"].tolist() == detection(number)["bbox"] and set(targets["labels"].tolist()) <= {3}
    named = gpufeed.DataLoader(path, [v2.CenterCrop(8)], fields={"objects": "targets"}, root=folder)
    assert "targets" in next(iter(named))


def test_images_without_objects_first_do_not_decide(tmp_path: Path) -> None:
    """A list of COCO's annotations that is empty, an absent document, and one with boxes."""
    lines = []
    for number, found in enumerate(["[]", None, '[{"bbox": [1, 2, 3, 4], "category_id": 5}]']):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{number}.png")
        lines.append(json.dumps({"file_name": f"{number}.png"} | ({} if found is None else {"objects": json.loads(found)})))
    (tmp_path / "metadata.jsonl").write_text("\n".join(lines))
    fields = {"objects": {"name": "targets", "kind": "objects", "optional": True}}
    (batch,) = gpufeed.DataLoader(tmp_path, [v2.CenterCrop(8)], fields=fields, batch_size=3)
    boxes = [targets["boxes"] for targets in batch["targets"]]
    assert [each.format for each in boxes] == [tv_tensors.BoundingBoxFormat.XYWH] * 3
    assert [each.tolist() for each in boxes] == [[], [], [[1, 2, 3, 4]]] and batch["targets"][2]["labels"].tolist() == [5]
