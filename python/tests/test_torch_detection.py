"""torchvision's data sets for detection: opened by what they stand on, with the targets that they give, or read in Python."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.datasets import wrap_dataset_for_transforms_v2 as wrap  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from boxes import coco_detection, coco_document  # noqa: E402
from gpufeed import torch_compat  # noqa: E402
from published.detection import DetectionTraining  # noqa: E402

RESIZE = [v2.Resize((60, 80)), v2.RandomHorizontalFlip(1.0), v2.CenterCrop((50, 50))]


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return coco_document(tmp_path / "coco")


def pairs(batch: Any) -> Any:
    """The batches of torchvision's references."""
    return tuple(zip(*batch))


def check(found: dict[str, Any], wanted: dict[str, Any], size: tuple[int, int] = (50, 50)) -> None:
    assert found["image_id"] == wanted["image_id"]
    assert isinstance(found["boxes"], tv_tensors.BoundingBoxes) and found["boxes"].canvas_size == size
    if "boxes" not in wanted:
        assert found["boxes"].shape == (0, 4) and found["labels"].shape == (0,)
        return
    assert found["boxes"].format == wanted["boxes"].format
    torch.testing.assert_close(found["boxes"].as_subclass(torch.Tensor), wanted["boxes"].as_subclass(torch.Tensor))
    assert torch.equal(found["labels"], wanted["labels"]) and found["labels"].dtype == torch.int64


def test_wrapped_coco_is_its_files_and_annotations(root: Path) -> None:
    theirs = wrap(coco_detection(root))
    loader = gpufeed.DataLoader(theirs, RESIZE, batch_size=4)
    assert "torchvision's WrappedCocoDetection, 4 samples" in repr(loader) and loader.dataset is theirs
    wanted = wrap(coco_detection(root, transforms=v2.Compose(RESIZE)))
    ((images, targets),) = loader
    assert [each["image_id"] for each in targets] == [10, 20, 30, 40]
    for number, found in enumerate(targets):
        image, target = wanted[number]
        check(found, target)
        assert {*found} == {"image_id", "boxes", "labels"}
        difference = images[number].float() - v2.functional.pil_to_tensor(image).float()
        assert difference.abs().max() <= 3.1
    again = pickle.loads(pickle.dumps(loader))
    assert torch.equal(next(iter(again))[1][1]["boxes"], targets[1]["boxes"])


def test_the_objects_transforms_are_the_loaders(root: Path) -> None:
    theirs = wrap(coco_detection(root, transforms=v2.Compose([*RESIZE, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])))
    loader = torch_compat.DataLoader(theirs, batch_size=2)
    assert "note: data: the loader runs the transform of this WrappedCocoDetection" in loader.explain()
    images, targets = next(iter(loader))
    assert images.shape == (2, 3, 50, 50) and images.dtype == torch.float32
    check(targets[1], theirs[1][1])
    with pytest.warns(UserWarning, match="collate_fn: pairs is code of its own"):
        loader = torch_compat.DataLoader(theirs, batch_size=3, collate_fn=pairs)
    images, targets = next(iter(loader))
    assert isinstance(images, tuple) and images[2].shape == (3, 50, 50) and isinstance(targets, tuple)
    for number in range(3):
        check(targets[number], theirs[number][1])
    wrong = wrap(coco_detection(root, transforms=v2.Compose([lambda image, target: (image, target)])))
    with pytest.raises(gpufeed.ArgumentError, match=r"^data\.transforms\[0\]: function is code of its own, which torch gives images with their targets"):
        gpufeed.DataLoader(wrong)


def test_subsets_and_joined_sets(root: Path) -> None:
    theirs = wrap(coco_detection(root))
    some = torch.utils.data.Subset(theirs, [2, 0])
    targets = next(iter(gpufeed.DataLoader(some, RESIZE, batch_size=4)))[1]
    assert [each["image_id"] for each in targets] == [30, 10]
    first, _ = torch.utils.data.random_split(theirs, [3, 1], torch.Generator().manual_seed(3))
    targets = next(iter(gpufeed.DataLoader(first, RESIZE, batch_size=4)))[1]
    assert [each["image_id"] for each in targets] == [theirs.ids[index] for index in first.indices]
    # The ids of joined sets are made anew, as they may come twice.
    both = gpufeed.DataLoader(torch.utils.data.ConcatDataset([theirs, some]), RESIZE, batch_size=6)
    assert "of Python" not in repr(both)
    targets = next(iter(both))[1]
    assert [len(each["boxes"]) for each in targets] == [3, 3, 3, 0, 3, 3] and torch.equal(targets[4]["boxes"], targets[2]["boxes"])


def test_other_keys(root: Path) -> None:
    theirs = wrap(coco_detection(root), target_keys=["boxes", "labels", "image_id", "area", "iscrowd"])
    target = next(iter(gpufeed.DataLoader(theirs, RESIZE, batch_size=2)))[1][1]
    raw = theirs[1][1]
    assert target["iscrowd"].tolist() == raw["iscrowd"] == [0, 1, 0] and target["area"].tolist() == raw["area"]
    given: list[Any] = [["boxes", "masks"], "all"]
    for keys, names in zip(given, ("masks", "masks and segmentation")):
        with pytest.raises(gpufeed.ArgumentError, match=f"^data: target_keys of this WrappedCocoDetection ask for {names}, and gpufeed has no masks yet"):
            gpufeed.DataLoader(wrap(coco_detection(root), target_keys=keys), RESIZE)
    plain = wrap(coco_detection(root), target_keys=["boxes", "labels", "bbox"])
    with pytest.warns(UserWarning, match="read in Python.*ask for bbox, which no transform changes"), pytest.raises(gpufeed.ArgumentError, match="'bbox'"):
        gpufeed.DataLoader(plain, RESIZE)


def test_annotations_as_they_are_are_refused(root: Path) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r"^data: the targets of this CocoDetection are annotations .*wrap_dataset_for_transforms_v2"):
        gpufeed.DataLoader(coco_detection(root), RESIZE)
    with pytest.raises(gpufeed.ArgumentError, match="annotations"):
        gpufeed.DataLoader(torch.utils.data.Subset(coco_detection(root, transform=v2.Grayscale(3)), [0]), RESIZE)


class OfReferences(datasets.CocoDetection):  # type: ignore[misc, name-defined]
    """As the class of torchvision's references: the target is a dictionary."""

    def __getitem__(self, index: int) -> Any:
        image, annotations = super().__getitem__(index)
        boxes = torch.tensor([each["bbox"] for each in annotations]).reshape(-1, 4)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=image.size[::-1])
        return image, {"image_id": self.ids[index], "boxes": boxes, "labels": torch.tensor([each["category_id"] for each in annotations])}


def converted(annotations: list[Any]) -> Any:
    return torch.tensor([each["bbox"] for each in annotations]).reshape(-1, 4)


NAME = "boxes"


class OfScripts(datasets.CocoDetection):  # type: ignore[misc, name-defined]
    """Its code names no boxes."""

    def __getitem__(self, index: int) -> Any:
        image, annotations = super().__getitem__(index)
        return image, {NAME: converted(annotations)}


def test_a_class_with_a_getitem_of_its_own_is_called(root: Path) -> None:
    theirs = coco_detection(root, OfReferences)
    with pytest.warns(UserWarning, match="read in Python.*torchvision's OfReferences: its __getitem__ is not one that gpufeed knows"):
        loader = gpufeed.DataLoader(theirs, RESIZE, batch_size=4)
    assert "OfReferences of Python" in repr(loader)
    moves = v2.Compose(RESIZE)
    for number, found in enumerate(next(iter(loader))[1]):
        image, target = theirs[number]
        check(found, moves(image, target)[1])
    with pytest.warns(UserWarning) as said:
        gpufeed.DataLoader(coco_detection(root, OfScripts), RESIZE)
    assert any("sample 0 has boxes that are a plain Tensor: they stay where they are" in str(each.message) for each in said)
    # Its wrapper, which takes lists of annotations, cannot know what it does either.
    with pytest.warns(UserWarning, match="read in Python.*OfReferences has a __getitem__ of its own"):
        gpufeed.DataLoader(wrap(theirs), RESIZE)


def test_wrapped_voc_is_read_in_python(tmp_path: Path) -> None:
    folder = tmp_path / "VOCdevkit" / "VOC2012"
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    (folder / "ImageSets" / "Main" / "train.txt").write_text("a\nb\n")
    for name, left in (("a", 5), ("b", 20)):
        Image.new("RGB", (60, 40), (left, 0, 0)).save(folder / "JPEGImages" / f"{name}.jpg")
        box = f"<bndbox><xmin>{left}</xmin><ymin>6</ymin><xmax>{left + 9}</xmax><ymax>30</ymax></bndbox>"
        (folder / "Annotations" / f"{name}.xml").write_text(f"<annotation><object><name>dog</name>{box}</object></annotation>")
    plain = datasets.VOCDetection(tmp_path, "2012", "train")
    with pytest.raises(gpufeed.ArgumentError, match="the targets of this VOCDetection are annotations"):
        gpufeed.DataLoader(plain, RESIZE)
    theirs = wrap(plain)
    with pytest.warns(UserWarning, match="read in Python"):
        _, targets = next(iter(gpufeed.DataLoader(theirs, RESIZE, batch_size=2)))
    for number, found in enumerate(targets):
        image, target = theirs[number]
        # torchvision cuts the places of whole numbers to whole numbers at each step; floats stay what they are.
        boxes = tv_tensors.wrap(target["boxes"].float(), like=target["boxes"])
        wanted = v2.Compose(RESIZE)(image, boxes)[1]
        torch.testing.assert_close(found["boxes"].as_subclass(torch.Tensor), wanted.as_subclass(torch.Tensor))
        assert found["labels"].tolist() == [12] and isinstance(found["boxes"], tv_tensors.BoundingBoxes)


def test_transforms_of_images_alone_leave_boxes(root: Path) -> None:
    theirs = wrap(coco_detection(root, transform=v2.Resize((50, 60))))
    why = "its transform= works on images alone, so that boxes stay where they are"
    with pytest.warns(UserWarning, match=why), pytest.warns(UserWarning, match="collate_fn: pairs"):
        torch_compat.DataLoader(wrap(coco_detection(root, transform=v2.Compose([v2.Resize((50, 60)), v2.PILToTensor()]))), collate_fn=pairs)
    with pytest.warns(UserWarning, match="its transform= works on images alone"), pytest.raises(gpufeed.ArgumentError, match="^transforms: give either"):
        gpufeed.DataLoader(theirs)


def test_a_preset_of_the_references(root: Path) -> None:
    theirs = wrap(coco_detection(root, transforms=v2.Compose([v2.CenterCrop((60, 60)), DetectionTraining("hflip", hflip_prob=1.0)])))
    loader = gpufeed.DataLoader(theirs, batch_size=4)
    assert any("taken as its list transforms: it hands image and target on" in note for note in loader.notes)
    ((images, targets),) = loader
    # The last one has no annotations, and no labels for SanitizeBoundingBoxes of torchvision.
    for number in range(3):
        image, target = theirs[number]
        assert torch.equal(images[number], image) and targets[number]["image_id"] == target["image_id"]
        assert torch.equal(targets[number]["boxes"].as_subclass(torch.Tensor), target["boxes"]) and torch.equal(targets[number]["labels"], target["labels"])
    with pytest.raises(gpufeed.ArgumentError, match="images of a batch must have one size"):
        gpufeed.DataLoader(wrap(coco_detection(root, transforms=DetectionTraining("multiscale"))))
