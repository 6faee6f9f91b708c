"""Data sets of Pascal VOC and YOLO by their paths, the former beside torchvision's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpufeed
from gpufeed.errors import ArgumentError, DataError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import datasets, tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from pictures import DETECTION_SIZE, detection  # noqa: E402

NAMES = ["dog", "person", "tvmonitor"]


def pixels(number: int) -> list[list[int]]:
    """The boxes of `detection` by their pixels: columns and rows from 0 on, of which the last ones do not belong to the box."""
    found = detection(number)["bbox"]
    return [[int(x), int(y), max(int(x + w), int(x) + 1), int(y + h)] for x, y, w, h in found]


def voc_file(number: int) -> str:
    """An annotation as VOCdevkit has it, which counts pixels from 1 on."""
    width, height = DETECTION_SIZE
    objects = [
        f"<object><name>{NAMES[at]}</name><pose>Left</pose><truncated>{at % 2}</truncated><difficult>0</difficult><bndbox>"
        f"<xmax>{right}</xmax><xmin>{left + 1}</xmin><ymax>{bottom}</ymax><ymin>{top + 1}</ymin></bndbox>"
        "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>"
        for at, (left, top, right, bottom) in enumerate(pixels(number))
    ]
    size = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
    return f"<annotation><filename>{number}.jpg</filename>{size}<segmented>0</segmented>{''.join(objects)}</annotation>"


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    root = tmp_path / "VOCdevkit" / "VOC2012"
    for folder in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (root / folder).mkdir(parents=True)
    # torchvision's wrapper has no image without objects, which sample 3 is.
    for number in (0, 1, 2, 4):
        Image.new("RGB", DETECTION_SIZE, (number, 0, 0)).save(root / "JPEGImages" / f"{number}.jpg")
        (root / "Annotations" / f"{number}.xml").write_text(voc_file(number))
    (root / "ImageSets" / "Main" / "train.txt").write_text("4\n1\n")
    return root


def test_vocs_targets_are_those_of_torchvision(voc: Path) -> None:
    wrapped = datasets.wrap_dataset_for_transforms_v2(datasets.VOCDetection(str(voc.parent.parent), "2012", "train"))
    crop = v2.CenterCrop(DETECTION_SIZE[::-1])
    for opened in (
        gpufeed.DataLoader(voc, [crop], split="train", batch_size=2),
        gpufeed.DataLoader(voc / "ImageSets" / "Main" / "train.txt", [crop], batch_size=2),
    ):
        (batch,) = opened
        for number, targets in enumerate(batch["objects"]):
            _, wanted = wrapped[number]
            assert isinstance(targets["boxes"], tv_tensors.BoundingBoxes) and len(targets["boxes"]) == 3
            assert targets["boxes"].format == wanted["boxes"].format and targets["boxes"].canvas_size == wanted["boxes"].canvas_size
            assert targets["boxes"].tolist() == wanted["boxes"].tolist()
            assert targets["labels"].equal(wanted["labels"]) and targets["truncated"].tolist() == [0, 1, 0]
    whole = gpufeed.DataLoader(voc, [crop], batch_size=4, one_based=True, class_names=NAMES)
    assert whole.dataset.classes == NAMES
    (batch,) = whole
    for number, targets in zip((0, 1, 2, 4), batch["objects"]):
        assert targets["boxes"].tolist() == pixels(number) and targets["labels"].tolist() == [0, 1, 2]
    with pytest.raises(DataError, match='the class "tvmonitor"'):
        gpufeed.open(voc, class_names=NAMES[:2])


def yolo_line(box: list[float], label: int, points: list[list[float]] | None = None) -> str:
    (x, y, w, h), (width, height) = box, DETECTION_SIZE
    rest = [number for x, y, seen in points or [] for number in (x / width, y / height, seen)]
    return " ".join(map(str, [label, (x + w / 2) / width, (y + h / 2) / height, w / width, h / height, *rest]))


@pytest.mark.parametrize("posed", [False, True])
def test_yolos_boxes_are_in_pixels(tmp_path: Path, posed: bool) -> None:
    for split, numbers in (("train", (0, 1, 2, 3)), ("val", (4,))):
        for part in ("images", "labels"):
            (tmp_path / part / split).mkdir(parents=True)
        for number in numbers:
            Image.new("RGB", DETECTION_SIZE, (number, 0, 0)).save(tmp_path / "images" / split / f"{number}.png")
            found = detection(number)
            points = found["keypoints"] if posed else [None] * 3
            lines = [yolo_line(box, at, point) for at, (box, point) in enumerate(zip(found["bbox"], points))]
            if lines:
                (tmp_path / "labels" / split / f"{number}.txt").write_text("\n".join(lines))
    document = "train: images/train\nval: images/val\nnames:\n  0: dog\n  1: cat\n  2: car\n"
    (tmp_path / "data.yaml").write_text(document + ("kpt_shape: [2, 3]\n" if posed else ""))
    transforms: list[Any] = [v2.CenterCrop(DETECTION_SIZE[::-1]), v2.ConvertBoundingBoxFormat("XYWH")]
    for path in (tmp_path, tmp_path / "data.yaml"):
        loader = gpufeed.DataLoader(path, transforms, batch_size=4)
        assert loader.dataset.classes == ["dog", "cat", "car"]
        (batch,) = loader
        for number, targets in enumerate(batch["objects"]):
            wanted = torch.tensor(detection(number)["bbox"], dtype=torch.float32).reshape(-1, 4)
            torch.testing.assert_close(targets["boxes"].as_subclass(torch.Tensor), wanted, atol=1e-4, rtol=1e-5)
            assert targets["labels"].tolist() == list(range(len(wanted)))
            assert ("keypoints" in targets) == posed
            if posed and len(wanted):
                torch.testing.assert_close(targets["keypoints"], torch.tensor(detection(number)["keypoints"], dtype=torch.float32))
    test = gpufeed.open(tmp_path / "data.yaml").test
    assert test is not None and len(test) == 1
    val = gpufeed.open(tmp_path / "data.yaml", split="val", targets_orientation="stored", class_names=["a", "b", "c"])
    assert len(val) == 1 and val.classes == ["a", "b", "c"]


def test_what_is_refused(voc: Path, tmp_path: Path) -> None:
    orientation: Any = "shown"
    with pytest.raises(ArgumentError, match='"stored" and "displayed" work'):
        gpufeed.open(voc, targets_orientation=orientation)
    with pytest.raises(ArgumentError, match="kpt_shape: a keyword of annotations of YOLO, but the path is annotations of Pascal VOC"):
        gpufeed.open(voc, kpt_shape=(17, 3))
    for part in ("images", "labels"):
        (tmp_path / part).mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "1.png")
    (tmp_path / "labels" / "1.txt").write_text("0 0.5 0.5 1 1 0.5 0.5 2\n")
    with pytest.raises(DataError, match=r"line 1: has 7 numbers behind the class; 4 of a box work"):
        gpufeed.open(tmp_path)
    shape: Any = 17
    with pytest.raises(ArgumentError, match=r"two whole numbers work, such as \(17, 3\)"):
        gpufeed.open(tmp_path, kpt_shape=shape)
    assert len(gpufeed.open(tmp_path, kpt_shape=(1, 3))) == 1
