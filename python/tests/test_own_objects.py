"""Data sets in Python whose samples have boxes and keypoints: a target beside the image, as torchvision's detectors take it."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import torch_compat  # noqa: E402
from gpufeed.errors import ArgumentError, Error  # noqa: E402
from pictures import DETECTION_SIZE, detection  # noqa: E402

SIZE = DETECTION_SIZE[::-1]
LIST = [v2.Resize((60, 80)), v2.RandomHorizontalFlip(1.0), v2.CenterCrop((50, 50)), v2.SanitizeBoundingBoxes(min_size=2.0)]


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class People(torch.utils.data.Dataset[Any]):
    """As PennFudanDataset of torchvision's tutorial, without its masks. Sample 3 has no objects."""

    def __init__(self, count: int = 5) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        found = detection(index)
        image = tv_tensors.Image(torch.full((3, *SIZE), index, dtype=torch.uint8))
        target: dict[str, Any] = {}
        boxes = torch.tensor(found["bbox"], dtype=torch.float32).reshape(-1, 4)
        target["boxes"] = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=SIZE)
        target["labels"] = torch.tensor(found["category_id"], dtype=torch.int64)
        target["image_id"] = 1000 + index
        target["area"] = torch.tensor(found["area"], dtype=torch.float32)
        target["iscrowd"] = torch.zeros((len(boxes),), dtype=torch.int64)
        return image, target


class Changed(People):
    """Samples of :class:`People` that a function changes."""

    def __init__(self, change: Any, count: int = 5) -> None:
        super().__init__(count)
        self.change = change

    def __getitem__(self, index: int) -> Any:
        image, target = super().__getitem__(index)
        assert isinstance(target["boxes"], tv_tensors.BoundingBoxes)
        return self.change(image, target)


class Plain(People):
    """Boxes of plain tensors, edges in XYXY, as in older code."""

    def __getitem__(self, index: int) -> Any:
        image, target = super().__getitem__(index)
        boxes = target["boxes"].as_subclass(torch.Tensor)
        boxes[:, 2:] += boxes[:, :2]
        return image.as_subclass(torch.Tensor), {**target, "boxes": boxes, "note": ["a", index]}


def expected(data: Any, number: int, transforms: Any = LIST) -> dict[str, Any]:
    image, target = data[number]
    # torchvision removes the labels of objects alone, by default.
    listed = [*transforms[:-1], v2.SanitizeBoundingBoxes(min_size=2.0, labels_getter=lambda sample: [sample[1][name] for name in ("labels", "area", "iscrowd")])]
    found: dict[str, Any] = v2.Compose(listed)(image, target)[1]
    return found


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert [*found] == [*wanted]
    assert isinstance(found["boxes"], tv_tensors.BoundingBoxes) and found["boxes"].canvas_size == (50, 50)
    assert found["boxes"].format == wanted["boxes"].format and len(found["labels"]) == len(wanted["labels"])
    torch.testing.assert_close(found["boxes"].as_subclass(torch.Tensor), wanted["boxes"].as_subclass(torch.Tensor))
    for name in ("labels", "area", "iscrowd"):
        assert torch.equal(found[name], wanted[name]) and found[name].dtype == wanted[name].dtype
    assert found["image_id"] == wanted["image_id"]


def test_targets_of_the_tutorial_move_with_their_images() -> None:
    data = People()
    loader = gpufeed.DataLoader(data, LIST, batch_size=5)
    ((images, targets),) = loader
    assert images.shape == (5, 3, 50, 50) and isinstance(targets, list) and images[4].unique().tolist() == [4]
    for number, found in enumerate(targets):
        same(found, expected(data, number))
    assert [len(found["labels"]) for found in targets] == [2, 2, 2, 0, 2]
    again = pickle.loads(pickle.dumps(loader))
    same(next(iter(again))[1][1], expected(data, 1))
    some = torch.utils.data.Subset(data, [4, 3])
    targets = next(iter(gpufeed.DataLoader(some, LIST, batch_size=2)))[1]
    assert [found["image_id"] for found in targets] == [1004, 1003]
    # Two images of each sample have a target each.
    images, targets = next(iter(gpufeed.DataLoader(data, LIST, batch_size=2, views=2)))
    assert [found["image_id"] for found in targets] == [1000, 1000, 1001, 1001]
    flat = next(iter(gpufeed.DataLoader(data, LIST, batch_size=5, targets="flat")))[1]
    assert flat["offsets"].tolist() == [0, 2, 4, 6, 6, 8] and flat["image_id"].tolist() == [1000, 1001, 1002, 1003, 1004]
    batch = next(gpufeed.DataLoader(data, LIST, batch_size=5).batches())
    assert batch.targets is not None and len(numpy.from_dlpack(batch.targets["boxes"])) == 8


def test_torch_compat_gives_them_to_a_function_for_batches() -> None:
    data = People()
    with pytest.warns(UserWarning, match="collate_fn: .* is code of its own"):
        loader = torch_compat.DataLoader(data, 3, collate_fn=lambda batch: tuple(zip(*batch)), transforms=LIST)
    images, targets = next(iter(loader))
    assert isinstance(images, tuple) and images[0].shape == (3, 50, 50)
    for number in range(3):
        same(targets[number], expected(data, number))
    # Without transforms, samples are ready, and boxes stay.
    with pytest.warns(UserWarning, match="samples are made in Python"), pytest.warns(UserWarning, match="collate_fn"):
        loader = torch_compat.DataLoader(data, 3, collate_fn=lambda batch: tuple(zip(*batch)))
    _, targets = next(iter(loader))
    assert torch.equal(targets[1]["boxes"], data[1][1]["boxes"])


def test_other_forms_of_samples() -> None:
    as_dict = Changed(lambda image, target: {"image": image, "target": target, "note": "a"})
    batch = next(iter(gpufeed.DataLoader(as_dict, LIST, batch_size=2)))
    assert [*batch] == ["image", "target", "note"] and batch["note"] == ["a", "a"]
    same(batch["target"][1], expected(People(), 1))
    longer = Changed(lambda image, target: (image, 7, target))
    images, labels, targets = next(iter(gpufeed.DataLoader(longer, LIST, batch_size=2)))
    assert labels.tolist() == [7, 7]
    same(targets[1], expected(People(), 1))
    chosen = next(iter(gpufeed.DataLoader(longer, LIST, batch_size=2, fields={"2": "objects", "index": "index"})))
    assert [*chosen] == ["image", "label", "objects", "index"]
    same(chosen["objects"][1], expected(People(), 1))
    # A sample without boxes has what its target has.
    lacks = Changed(lambda image, target: (image, target if target["image_id"] == 1000 else {"image_id": 5}))
    targets = next(iter(gpufeed.DataLoader(lacks, LIST, batch_size=2)))[1]
    assert targets[1] == {"image_id": 5} and len(targets[0]["boxes"]) == 2


def test_boxes_without_torchvisions_type_are_named() -> None:
    data = Plain()
    fields = {"label": {"name": "targets", "kind": "objects", "values": ["labels", "area", "iscrowd"]}}
    batch = next(iter(gpufeed.DataLoader(data, LIST, batch_size=3, fields=fields)))
    assert [*batch] == ["image", "targets"]
    xyxy = Changed(lambda image, target: (image, {**target, "boxes": v2.functional.convert_bounding_box_format(target["boxes"], new_format="XYXY")}))
    for number, found in enumerate(batch["targets"]):
        assert found.pop("note") == ["a", number]
        same(found, expected(xyxy, number))
    # The name says that the list is of the objects or of the image, or the user does.
    with pytest.raises(Error, match=r"sample \d has 'note' in its target, a list, and the name does not say whether"):
        next(iter(gpufeed.DataLoader(data, LIST, fields={"label": {"name": "targets", "kind": "objects"}})))
    with pytest.raises(ArgumentError, match="fields: 'label' has the format 'yxyx'"):
        gpufeed.DataLoader(data, LIST, fields={"label": {"name": "targets", "kind": "objects", "format": "yxyx"}})
    # Unnamed, they are what torch makes of them: its own boxes are moved by no transform of torchvision either.
    with pytest.warns(UserWarning, match="sample 0 has boxes that are a plain Tensor: they stay where they are while transforms move the image"):
        gpufeed.DataLoader(data, LIST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch_like = next(iter(gpufeed.DataLoader(data, LIST, batch_size=2)))[1]
    assert torch_like["boxes"].shape == (2, 3, 4) and torch.equal(torch_like["boxes"][1], data[1][1]["boxes"])


def test_keypoints_move() -> None:
    points = torch.tensor([[[1.0, 2.0, 2], [0.0, 0.0, 0]], [[30.0, 20.0, 1], [39.0, 29.0, 2]]])

    def with_points(image: Any, target: dict[str, Any]) -> Any:
        boxes = tv_tensors.wrap(target["boxes"][:2], like=target["boxes"])
        return image, {"keypoints": points, "boxes": boxes, "labels": target["labels"][:2]}

    flip = [v2.RandomHorizontalFlip(1.0), v2.CenterCrop(SIZE)]
    target = next(iter(gpufeed.DataLoader(Changed(with_points, 2), flip, batch_size=2)))[1][1]
    assert target["keypoints"].tolist() == [[[38.0, 2.0, 2], [0.0, 0.0, 0]], [[9.0, 20.0, 1], [0.0, 29.0, 2]]]
    if not hasattr(tv_tensors, "KeyPoints"):
        return

    def of_torchvision(image: Any, target: dict[str, Any]) -> Any:
        return image, {"keypoints": tv_tensors.KeyPoints(points[..., :2], canvas_size=SIZE)}

    data = Changed(of_torchvision, 2)
    target = next(iter(gpufeed.DataLoader(data, flip, batch_size=2)))[1][1]
    wanted = v2.Compose(flip)(*data[1])[1]["keypoints"]
    assert isinstance(target["keypoints"], tv_tensors.KeyPoints) and torch.equal(target["keypoints"], wanted)


def masked(image: Any, target: dict[str, Any]) -> Any:
    return image, {**target, "masks": tv_tensors.Mask(torch.zeros((len(target["labels"]), *SIZE), dtype=torch.uint8))}


def alone(image: Any, target: dict[str, Any]) -> Any:
    return image, tv_tensors.Mask(torch.zeros(SIZE, dtype=torch.uint8))


def beside(image: Any, target: dict[str, Any]) -> Any:
    return {"image": image, **target}


def twice(image: Any, target: dict[str, Any]) -> Any:
    return image, {**target, "anchors": target["boxes"]}


def short(image: Any, target: dict[str, Any]) -> Any:
    return image, {**target, "labels": target["labels"][:1]}


def rows(image: Any, target: dict[str, Any]) -> Any:
    return image, {**target, "polygons": [[1, 2]]}


def elsewhere(image: Any, target: dict[str, Any]) -> Any:
    return image, {"boxes": tv_tensors.BoundingBoxes(target["boxes"], format="XYWH", canvas_size=(99, 40))}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (masked, "sample 0 has masks, 'masks', which gpufeed does not move with their image yet; leave them out"),
        (alone, "sample 0 has a mask of torchvision's at 1, which gpufeed does not move with its image yet"),
        (beside, "sample 0 has torchvision's BoundingBoxes at 'boxes', beside its image; in a dictionary of its own they move"),
        (twice, "sample 0 has boxes as 'anchors'"),
        (short, r"sample 0 has 'labels' of int64 and the shape \[1\], and 3 objects"),
        (rows, "sample 0 has 'polygons' in its target, a list"),
        (elsewhere, "the objects are those of an image of 40x99 pixels, but the image has 40x30"),
    ],
)
def test_what_is_refused(change: Any, why: str) -> None:
    with pytest.raises((Error, ValueError), match=why):
        next(iter(gpufeed.DataLoader(Changed(change), LIST)))


class Hidden:
    """Boxes that the code of its class does not name."""

    def __init__(self) -> None:
        self.of = People()

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self.of[index]


def test_boxes_are_never_left_where_they_are() -> None:
    with pytest.raises(Error, match=r"sample \d has torchvision's BoundingBoxes, of which this data set's class does not show that they come; fields="):
        next(iter(gpufeed.DataLoader(Hidden(), LIST)))
    fields = {"label": {"name": "targets", "kind": "objects"}}
    batch = next(iter(gpufeed.DataLoader(Hidden(), LIST, fields=fields, batch_size=2)))
    same(batch["targets"][1], expected(People(), 1))
    with pytest.raises(ArgumentError, match='RandAugment cannot move the objects of "targets"'):
        gpufeed.DataLoader(People(), [v2.RandAugment(), v2.CenterCrop(8)])
    # Lists are looked into.
    listed = [People()[number] for number in range(2)]
    same(next(iter(gpufeed.DataLoader(listed, LIST, batch_size=2)))[1][1], expected(People(), 1))


def test_packs_have_the_objects(tmp_path: Path) -> None:
    class OfPictures(People):
        def __getitem__(self, index: int) -> Any:
            image, target = super().__getitem__(index)
            assert tv_tensors.BoundingBoxes
            return Image.fromarray(image.permute(1, 2, 0).numpy()), target

    gpufeed.pack(OfPictures(), tmp_path / "packed")
    packed = gpufeed.open(tmp_path / "packed", fields="all", allow_unlabelled=True)
    batch = next(iter(gpufeed.DataLoader(packed, LIST, batch_size=5)))
    assert sorted(batch) == ["image", "image_id", "targets"] and batch["image_id"].tolist() == [1000, 1001, 1002, 1003, 1004]
    for number, found in enumerate(batch["targets"]):
        wanted = expected(People(), number)
        torch.testing.assert_close(found["boxes"].as_subclass(torch.Tensor), wanted["boxes"].as_subclass(torch.Tensor))
        assert torch.equal(found["labels"], wanted["labels"]) and torch.equal(found["area"], wanted["area"])
