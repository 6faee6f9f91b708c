"""What stands beside the images of an object in Python becomes what torch's ``default_collate`` makes of it."""

from __future__ import annotations

import copy
import pickle
import tarfile
from collections import OrderedDict, UserDict, UserList, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import default_collate  # noqa: E402

import gpufeed  # noqa: E402
from pictures import NUMBERED  # noqa: E402

CROP = {"transform": [{"type": "CenterCrop", "size": 6}]}
MIXED = CROP | {"batch_transform": [{"type": "MixUp", "alpha": 0.8}]}


class Point(NamedTuple):
    """A label with names."""

    x: Any
    y: Any


class Kind(IntEnum):
    """Classes with names."""

    CAT = 0
    DOG = 1


Named = namedtuple("Named", ("name", "picture", "score"))
Labelled = namedtuple("Labelled", ("image", "label"))


@dataclass
class Photograph:
    """A sample as a class."""

    caption: str
    picture: Any
    score: float


class Samples:
    """Samples of a list."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples_given = samples

    def __len__(self) -> int:
        return len(self.samples_given)

    def __getitem__(self, index: int) -> Any:
        return self.samples_given[index]


def pixels(number: int = 0) -> Any:
    return numpy.full((6, 6, 3), number, numpy.uint8)


def loader(samples: list[Any], **given: Any) -> gpufeed.DataLoader:
    settings: dict[str, Any] = {"recipe": NUMBERED, "batch_size": len(samples), "on_error": "fail"}
    return gpufeed.DataLoader(Samples(samples), **(settings | given))


def batch(samples: list[Any], **given: Any) -> Any:
    return next(iter(loader(samples, **given)))


def same(found: Any, expected: Any) -> bool:
    """True for equal values in equal containers, and tensors of equal types, shapes and numbers."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor) or found.dtype != expected.dtype or found.shape != expected.shape:
            return False
        return bool(torch.equal(found.nan_to_num(7), expected.nan_to_num(7)) if found.is_floating_point() else torch.equal(found, expected))
    if type(found) is not type(expected):
        return False
    if isinstance(expected, (dict, UserDict)):
        return [*found] == [*expected] and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple, UserList)):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


f32, f64, i32, i64 = numpy.float32, numpy.float64, numpy.int32, numpy.int64

# The labels of two or three samples.
KINDS: dict[str, list[Any]] = {
    "int": [3, 1, 2],
    "negative int": [3, -1, 2],
    "large int": [2**40, 1],
    "class and ignored": [255, -100, 255],
    "bool": [True, False, True],
    "float": [0.5, 1.25, -2.0],
    "large float": [1e300, 16777217.0],
    "nan": [float("nan"), 1.0],
    "infinity": [float("inf"), -1.0],
    "str": ["a", "b", ""],
    "bytes": [b"a", b""],
    "tuple of ints": [(0, 1), (1, 2), (2, 3)],
    "label and next": [(label, label + 1) for label in range(3)],
    "tuple of floats": [(0.5, 1.5), (2.5, 3.5)],
    "tuple of mixed": [(1, 0.5, "a"), (2, 1.5, "b")],
    "tuple of one": [(1,), (2,)],
    "tuple of str": [("a", "b"), ("c", "d")],
    "empty tuple": [(), ()],
    "list of ints": [[1, 0], [0, 1]],
    "list of floats": [[0.5, 0.25], [1.0, 2.0]],
    "list of one": [[1], [2]],
    "list of str": [["a", "b"], ["c", "d"]],
    "list of lists": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    "range": [range(3), range(1, 4)],
    "dict": [{"a": 1, "b": 0.5}, {"a": 2, "b": 1.5}],
    "dict of str": [{"name": "a"}, {"name": "b"}],
    "dict with more in the second": [{"a": 1}, {"a": 2, "b": 3}],
    "nested dict": [{"a": {"b": (1, "x")}}, {"a": {"b": (2, "y")}}],
    "ordered dict": [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "user dict": [UserDict(a=1), UserDict(a=2)],
    "user list": [UserList([1, 2]), UserList([3, 4])],
    "named tuple": [Point(1, 0.5), Point(2, 1.5)],
    "nested named tuple": [Point((1, 2), "a"), Point((3, 4), "b")],
    "list of named tuples": [[Point(1, 2)], [Point(3, 4)]],
    "numpy int64": [i64(1), i64(2)],
    "numpy int32": [i32(1), i32(-2)],
    "numpy uint8": [numpy.uint8(1), numpy.uint8(200)],
    "numpy int16": [numpy.int16(1), numpy.int16(2)],
    "numpy float64": [f64(0.5), f64(1e40)],
    "numpy float32": [f32(0.5), f32(1.5)],
    "numpy float16": [numpy.float16(0.5), numpy.float16(1.5)],
    "numpy bool": [numpy.bool_(True), numpy.bool_(False)],
    "array of no axis": [numpy.array(3), numpy.array(4)],
    "array of one": [numpy.array([3]), numpy.array([4])],
    "float32 vector": [numpy.array([0.5, 1], f32), numpy.array([2, 3], f32)],
    "float64 vector": [numpy.array([0.5, 1]), numpy.array([2.0, 3])],
    "float16 vector": [numpy.array([0.5, 1], numpy.float16), numpy.array([2, 3], numpy.float16)],
    "int64 vector": [numpy.array([1, 2]), numpy.array([3, 4])],
    "bool vector": [numpy.array([True, False]), numpy.array([False, False])],
    "one-hot rows": list(numpy.eye(3, dtype=i64)),
    "matrix": [numpy.ones((2, 3), f32), numpy.zeros((2, 3), f32)],
    "mask": [numpy.ones((6, 6), numpy.uint8), numpy.zeros((6, 6), numpy.uint8)],
    "empty array": [numpy.zeros((0, 4), f32), numpy.zeros((0, 4), f32)],
    "array not in one piece": [numpy.arange(6)[::2], numpy.arange(6)[1::2]],
    "complex": [numpy.complex64(1j), numpy.complex64(2)],
    "tensor of no axis": [torch.tensor(3), torch.tensor(4)],
    "tensor of one": [torch.tensor([3]), torch.tensor([4])],
    "float32 tensor": [torch.tensor([0.5, 1]), torch.tensor([2.0, 3])],
    "float64 tensor": [torch.tensor([0.5, 1], dtype=torch.float64)] * 2,
    "bfloat16 tensor": [torch.tensor([0.5, 1], dtype=torch.bfloat16)] * 2,
    "bool tensor": [torch.tensor([True, False]), torch.tensor([False, True])],
    "int32 tensor": [torch.tensor(1, dtype=torch.int32), torch.tensor(2, dtype=torch.int32)],
    "boxes and names": [{"boxes": torch.rand(2, 4), "names": ("a", "b")}, {"boxes": torch.rand(2, 4), "names": ("c", "d")}],
    "tuple of tensors": [(torch.zeros(2), torch.tensor(1)), (torch.ones(2), torch.tensor(2))],
    "parameter of a model": [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.ones(2))],
}


def test_there_are_sixty_kinds() -> None:
    assert len(KINDS) >= 60


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_collated_as_torch_does(kind: str) -> None:
    labels = KINDS[kind]
    found = batch([(pixels(), label) for label in labels])
    assert type(found) is tuple and len(found) == 2
    assert found[0].shape == (len(labels), 3, 6, 6)
    assert same(found[1], default_collate(copy.deepcopy(labels))), found[1]


@pytest.mark.parametrize("kind", KINDS)
def test_fields_are_collated_as_torch_does(kind: str) -> None:
    values = KINDS[kind]
    found = batch([{"image": pixels(), "value": value, "label": 1} for value in values])
    assert [*found] == ["image", "value", "label"]
    assert same(found["value"], default_collate(copy.deepcopy(values))), found["value"]
    assert same(found["label"], torch.ones(len(values), dtype=torch.int64))


REFUSED: dict[str, list[Any]] = {
    "set": [{1}, {2}],
    "nested None": [(1, None), (2, None)],
    "object": [Decimal(1), Decimal(2)],
    "array of texts": [numpy.array(["a"]), numpy.array(["b"])],
    "key that lacks": [{"a": 1, "b": 2}, {"a": 1}],
    "lengths that differ": [[1, 2], [1]],
    "vectors that differ": [numpy.zeros(2), numpy.zeros(3)],
    "kinds that differ": [1, "a"],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_torch_refuses_is_refused_as_torch_does(kind: str) -> None:
    labels = REFUSED[kind]
    with pytest.raises(Exception) as expected:
        default_collate(labels)
    # The second batch can be collated: an error ends no run.
    good = (pixels(), 7)
    batches = iter(loader([*((pixels(), label) for label in labels), good, good], batch_size=2))
    with pytest.raises(expected.type) as found:
        next(batches)
    assert str(found.value) == str(expected.value)
    assert next(batches)[1].tolist() == [7, 7]


def test_no_label_at_all_stays_none() -> None:
    _, labels = batch([(pixels(), None)] * 2)
    assert labels is None


def test_tuples_of_any_length() -> None:
    samples = [(pixels(number), number, f"text {number}", number / 2) for number in range(3)]
    images, labels, texts, halves = batch(samples)
    assert images[:, 0, 0, 0].tolist() == labels.tolist() == [0, 1, 2]
    assert texts == ["text 0", "text 1", "text 2"] and halves.dtype == torch.float64
    (images,) = batch([(pixels(number),) for number in range(2)])
    assert images[:, 0, 0, 0].tolist() == [0, 1]
    # The image is found by its type, and keeps its place.
    labels, images, index = batch([(number, pixels(number), number + 5) for number in range(2)])
    assert images[:, 0, 0, 0].tolist() == labels.tolist() == [0, 1] and index.tolist() == [5, 6]


def test_dictionaries_keep_their_keys_and_their_order() -> None:
    found = batch([{"caption": "a", "picture": pixels(4), "label": 2}] * 2)
    assert [*found] == ["caption", "picture", "label"] and found["caption"] == ["a", "a"]
    assert found["picture"].shape == (2, 3, 6, 6) and found["label"].dtype == torch.int64
    # Among several images the one with this name is the sample's own.
    found = batch([{"mask": numpy.ones((6, 6), numpy.uint8), "image": pixels(4)}] * 2)
    assert found["image"].shape == (2, 3, 6, 6) and found["mask"].shape == (2, 6, 6)
    assert type(batch([MappingProxyType({"image": pixels(), "label": 1})] * 2)) is dict


def test_named_tuples_and_dataclasses() -> None:
    found = batch([Named("a", pixels(3), 0.5)] * 2)
    assert type(found) is Named and found.name == ["a", "a"] and found.picture.shape == (2, 3, 6, 6)
    assert found.score.tolist() == [0.5, 0.5]
    assert type(batch([Labelled(pixels(), 1)] * 2)) is Labelled
    found = batch([Photograph("a", pixels(3), 0.5)] * 2)
    assert [*found] == ["caption", "picture", "score"] and found["score"].dtype == torch.float64


def test_views_repeat_what_stands_in_tuples_and_not_in_dictionaries() -> None:
    samples = [(pixels(number), f"text {number}") for number in range(2)]
    images, texts = batch(samples, views=2)
    assert len(images) == 4 and texts == ["text 0", "text 0", "text 1", "text 1"]
    _, labels = batch([(pixels(), 0.5), (pixels(), 1.5)], views=2)
    assert labels.tolist() == [0.5, 0.5, 1.5, 1.5]
    found = batch([{"image": pixels(), "text": text} for text in "ab"], views=2)
    assert len(found["image"]) == 4 and found["text"] == ["a", "b"]


def test_samples_that_differ_in_form_are_an_error() -> None:
    with pytest.raises(TypeError, match="the samples of a batch differ in form: a dictionary .* and a"):
        batch([{"image": pixels(), "label": 1}, (pixels(), 1, 2)])


def test_order_workers_and_epochs_keep_labels_with_their_images() -> None:
    samples = [(pixels(number), (number, str(number))) for number in range(40)]
    for workers in (1, 3):
        made = loader(samples, batch_size=7, shuffle=True, seed=5, workers=workers, cache="host:1M")
        for _ in range(2):
            for images, (numbers, texts) in made:
                shown = images[:, 0, 0, 0].tolist()
                assert numbers.tolist() == shown and [*texts] == [str(number) for number in shown]


def test_batches_have_labels_as_they_were_given() -> None:
    made = next(loader([(pixels(), {"a": number}) for number in range(2)]).batches())
    assert made.labels == [{"a": 0}, {"a": 1}] and made.columns == {}
    made = next(loader([{"image": pixels(), "text": "a", "label": "b"}] * 2, views=2).batches())
    assert made.labels == ["b"] * 4 and made.columns == {"text": ["a", "a"]}
    made = next(loader([(pixels(), 3)] * 2).batches())
    assert numpy.from_dlpack(made.labels).tolist() == [3, 3] and made.columns == {}


def test_a_data_set_of_the_object_has_its_labels() -> None:
    data = loader([(pixels(), ("a", 1)), (pixels(), 2)])._native_data
    assert data[0][1] == ("a", 1) and data[1][1] == 2 and data.fields == []
    assert pickle.loads(pickle.dumps(data))[0][1] == ("a", 1)


def test_mixing_takes_classes_and_vectors() -> None:
    for labels in ([0, 1], [True, False], list(numpy.eye(2)), [[1.0, 0.0], [0, 1]], [torch.tensor(0), torch.tensor(1)]):
        _, soft = batch([(pixels(), label) for label in labels], recipe=MIXED, num_classes=2)
        assert soft.dtype == torch.float32 and soft.shape == (2, 2) and soft.sum().item() == pytest.approx(2.0)


def test_mixed_batches_of_every_form_have_soft_labels() -> None:
    """Mixed images with the classes that were given would be wrong without an error."""
    mixed = {"recipe": MIXED, "num_classes": 2}
    found = batch([{"image": pixels(), "label": label, "text": "a"} for label in range(2)], **mixed)
    assert [*found] == ["image", "label", "text"] and found["label"].shape == (2, 2) and found["text"] == ["a", "a"]
    _, soft, numbers = batch([(pixels(), label, label + 5) for label in range(2)], **mixed)
    assert soft.shape == (2, 2) and soft.sum().item() == pytest.approx(2.0) and numbers.tolist() == [5, 6]
    texts, images, soft = batch([Named("a", pixels(), 0)] * 2, recipe=NUMBERED)
    assert texts == ["a", "a"] and soft.tolist() == [0, 0]
    assert batch([Labelled(pixels(), label) for label in range(2)], **mixed).label.shape == (2, 2)
    found = batch([{"image": pixels(), "label": label} for label in range(2)], **mixed, views=2)
    assert len(found["image"]) == 4 and found["label"].shape == (4, 2)


def test_the_length_of_a_vector_is_the_number_of_classes() -> None:
    for rows in (numpy.eye(3, dtype=i64), numpy.eye(3), numpy.eye(3, dtype=f32), torch.eye(3, dtype=torch.float64), [[0.0, 1, 0]] * 2):
        for samples in ([(pixels(), row) for row in rows], [{"image": pixels(), "label": row} for row in rows]):
            found = batch(samples, recipe=MIXED)
            soft = found["label"] if isinstance(found, dict) else found[1]
            assert soft.shape == (len(rows), 3)


def test_numbers_with_names_are_mixed_as_classes() -> None:
    _, soft = batch([(pixels(), label) for label in (Kind.CAT, Kind.DOG)], recipe=MIXED, num_classes=2)
    assert soft.shape == (2, 2)


def test_lists_of_values_are_handed_over_as_they_are() -> None:
    found = batch([{"image": pixels(), "value": value} for value in (range(3), None)], fields="all")
    assert found["value"] == [range(3), None]


def test_a_first_sample_without_a_label_drops_no_labels() -> None:
    for labels in ([None, 3], [3, None]):
        found = batch([(pixels(), label, "a") for label in labels], fields="all")
        assert found["label"] == labels and found["2"] == ["a", "a"]
        assert batch([{"image": pixels(), "label": label} for label in labels], fields=[])["label"] == labels


def test_a_mask_does_not_stand_for_an_image_of_another_type() -> None:
    mask = numpy.zeros((6, 6), numpy.uint8)
    for sample in (
        (numpy.zeros((6, 6, 3)), mask),
        (numpy.zeros((6, 6), numpy.int32), mask, 3),
        {"picture": torch.zeros(3, 6, 6, dtype=torch.float64), "mask": mask},
    ):
        with pytest.raises(gpufeed.DataError, match="has an array of .* with the shape .*, and an image of the same size at"):
            batch([sample] * 2)


def test_boxes_do_not_stand_for_the_image() -> None:
    boxes = numpy.ones((2, 4), numpy.float32)
    found = batch([{"boxes": boxes, "picture": pixels(4)}] * 2)
    assert found["picture"].shape == (2, 3, 6, 6) and found["boxes"].shape == (2, 2, 4)
    # A gray image of floats stays the first one.
    depth = numpy.ones((6, 6), numpy.float32)
    found = batch([{"depth": depth, "color": pixels(4)}] * 2, recipe=CROP)
    assert found["depth"].shape == (2, 3, 6, 6) and found["color"].shape == (2, 6, 6, 3)


def test_labels_of_samples_come_from_other_processes() -> None:
    from gpufeed.parcel import pack, unpack

    for views in (1, 2):
        made = next(loader([(pixels(), number) for number in range(2)], views=views).batches())
        sent = unpack(pack(made), made.epoch, made.index, made.state)
        assert numpy.asarray(sent._sample_labels).tolist() == [0, 1]
        assert numpy.asarray(sent.labels).tolist() == [number for number in range(2) for _ in range(views)]


def test_explain_does_not_show_what_objects_hand_over() -> None:
    assert "_rest" not in loader([(pixels(), 1)]).explain()


def test_a_pack_of_an_object_has_classes_and_vectors_alone(tmp_path: Path) -> None:
    assert gpufeed.pack(Samples([(pixels(), True), (pixels(), 1)]), tmp_path).samples == 2
    (shard,) = tmp_path.glob("*.tar")
    with tarfile.open(shard) as tar:
        endings = {name.partition(".")[2] for name in tar.getnames()}
    assert "cls" in endings and not any("rest" in ending or ending == "bin" for ending in endings)
