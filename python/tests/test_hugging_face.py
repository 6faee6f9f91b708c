"""Data sets of Hugging Face's `datasets`: the image files of their Arrow tables, with the samples that `datasets` gives."""

from __future__ import annotations

import io
import os
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")
if "GPUFEED_REAL_SETS" not in os.environ:
    # scripts/test-real-sets.sh and scripts/test-python.sh install it; the former fails here without it.
    pytest.importorskip("datasets", reason="datasets is not installed: scripts/test-real-sets.sh runs this")

import datasets  # noqa: E402
import torchvision.transforms as v1  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import DataLoader as Theirs  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import hugging_face, samples  # noqa: E402
from gpufeed.torch_compat import DataLoader  # noqa: E402
from pictures import folder, jpeg  # noqa: E402

CROP = {"transform": [{"type": "CenterCrop", "size": 16}], "semantics": "Uint8", "output": {"dtype": "U8"}}
LIST = v1.Compose([v1.CenterCrop(30), v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3)])
FEATURES = datasets.Features(
    {"image": datasets.Image(), "label": datasets.ClassLabel(names=["ant", "bee", "cat"]), "caption": datasets.Value("string")}
)


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "gpufeed. workers have waited for each other", RuntimeWarning)
        # Of pyarrow, which datasets calls.
        warnings.simplefilter("ignore", FutureWarning)
        yield


def made(count: int = 24, features: Any = FEATURES, **columns: Any) -> Any:
    given = {
        "image": [{"bytes": jpeg(number), "path": None} for number in range(count)],
        "label": [number % 3 for number in range(count)],
        "caption": [f"photograph {number}" for number in range(count)],
    }
    return datasets.Dataset.from_dict({**given, **columns}, features=features)


@pytest.fixture
def data(tmp_path: Path) -> Any:
    """Files that are mapped into memory, of several chunks each."""
    made().to_parquet(tmp_path / "data.parquet", batch_size=10)
    return datasets.Dataset.from_parquet(str(tmp_path / "data.parquet"), cache_dir=str(tmp_path / "cache"))


class Decoded:
    """Counts what Pillow decodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        decode = datasets.Image.decode_example

        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.count += 1
            return decode(*arguments, **keywords)

        monkeypatch.setattr(datasets.Image, "decode_example", counted)


def batches(of: Any, *arguments: Any, **keywords: Any) -> dict[str, Any]:
    """All samples in one batch."""
    return dict(next(iter(gpufeed.DataLoader(of, *arguments, batch_size=len(of), **keywords))))


def assert_rows(of: Any, found: dict[str, Any]) -> None:
    """The batch has the samples of the data set; their pixels are Pillow's."""
    assert found.keys() == {*of.column_names}
    assert found["label"].tolist() == [int(sample["label"]) for sample in of] and found["label"].dtype == torch.int64
    assert found["caption"] == [sample["caption"] for sample in of]
    middle = v2.functional.center_crop
    assert torch.equal(found["image"], torch.stack([v2.functional.pil_to_tensor(middle(sample["image"], [16])) for sample in of]))


def test_rows_are_those_of_the_data_set(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = Decoded(monkeypatch)
    loader = gpufeed.DataLoader(data, recipe=CROP, batch_size=24)
    assert loader.dataset is data and "HuggingFaceDataset of Python, 24 samples" in repr(loader)
    (batch,) = loader
    assert decoded.count == 0
    assert_rows(data, batch)
    parts = data.train_test_split(0.25, seed=1)
    for some in (
        data.shuffle(seed=3),
        data.select([7, 3, 3, 20]),
        data.select(range(4, 19)),
        data.filter(lambda sample: sample["label"] != 1),
        data.shuffle(seed=1).select(range(9)).sort("caption"),
        datasets.concatenate_datasets([parts["test"], parts["train"].select([0])]),
        data.shard(3, 1),
        data.flatten_indices(),
    ):
        assert_rows(some, batches(some, recipe=CROP))
    some = data.shuffle(seed=3)
    subset = torch.utils.data.Subset(some, [4, 0, 9])
    assert batches(subset, recipe=CROP)["label"].tolist() == [some[index]["label"] for index in (4, 0, 9)]


def test_classes_are_those_of_the_label(data: Any) -> None:
    mixed = gpufeed.DataLoader(data, recipe=CROP | {"semantics": "Float", "output": {"dtype": "F32"}}, batch_transforms=v2.MixUp(), batch_size=8)
    assert next(iter(mixed))["label"].shape == (8, 3)
    found = batches(data, recipe=CROP, fields=["index", "caption"])
    assert found.keys() == {"image", "label", "index", "caption"} and found["index"].tolist() == [*range(24)]
    pickled = pickle.loads(pickle.dumps(gpufeed.DataLoader(data.shuffle(seed=2), recipe=CROP, batch_size=24)))
    assert_rows(data.shuffle(seed=2), next(iter(pickled)))


def test_files_beside_the_table(tmp_path: Path) -> None:
    of_files = datasets.load_dataset("imagefolder", data_dir=str(folder(tmp_path / "data", count=9)), split="train", cache_dir=str(tmp_path / "cache"))
    assert of_files.with_format("arrow")[0]["image"][0].as_py()["bytes"] is None
    found = batches(of_files, recipe=CROP)
    expected = gpufeed.DataLoader(tmp_path / "data", recipe=CROP, batch_size=9)
    images, labels = next(iter(expected))
    assert torch.equal(found["image"], images) and torch.equal(found["label"], labels)


def test_images_as_datasets_decodes_them() -> None:
    turned, gray, clear = io.BytesIO(), io.BytesIO(), io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    colours = Image.fromarray(numpy.arange(24 * 16 * 3, dtype=numpy.uint8).reshape(16, 24, 3))
    colours.save(turned, "PNG", exif=exif)
    colours.convert("L").save(gray, "PNG")
    colours.save(clear, "PNG")
    for file, shape in ((turned, (3, 24, 16)), (gray, (1, 16, 24)), (clear, (3, 16, 24))):
        of = made(2, image=[{"bytes": file.getvalue(), "path": None}] * 2)
        recipe = CROP | {"transform": [{"type": "CenterCrop", "size": [*shape[1:]]}]}
        found = batches(of, recipe=recipe)["image"]
        assert torch.equal(found[1], v2.functional.pil_to_tensor(of[1]["image"])) and found[1].shape == shape


def test_columns_of_other_kinds() -> None:
    features = FEATURES | {"boxes": datasets.List(datasets.Value("float32")), "meta": {"width": datasets.Value("int32")}, "second": datasets.Image()}
    of = made(
        6,
        datasets.Features(features),
        boxes=[[0.5, number] for number in range(6)],
        meta=[{"width": number} for number in range(6)],
        second=[{"bytes": jpeg(number + 50), "path": None} for number in range(6)],
    )
    found = batches(of, recipe=CROP)
    plain = torch.utils.data.default_collate([{name: sample[name] for name in ("boxes", "meta")} for sample in of])
    assert all(torch.equal(one, two) for one, two in zip(found["boxes"], plain["boxes"], strict=True))
    assert torch.equal(found["meta"]["width"], plain["meta"]["width"])
    assert found["second"] == [jpeg(number + 50) for number in range(6)]
    groups = {"first": gpufeed.Views(recipe=CROP), "second": gpufeed.Views(recipe=CROP, source="second")}
    two = next(iter(gpufeed.DataLoader(of.remove_columns(["boxes", "meta"]), groups=groups, batch_size=6)))
    assert torch.equal(two["first"], found["image"]) and not torch.equal(two["first"], two["second"])
    assert torch.equal(two["second"], batches(of.select_columns(["second", "label"]), recipe=CROP)["second"])
    # The short way that rows take ends where that of all samples does.
    row = hugging_face.rows(of)[3]
    short, long = hugging_face.item(row, 3), samples.item(row, 3)
    assert short[:3] == long[:3] and short[4] == long[4] and pickle.loads(short[3]) == pickle.loads(long[3])


def preprocess(rows: dict[str, list[Any]]) -> dict[str, Any]:
    """As the scripts of transformers have it."""
    rows["pixel_values"] = [LIST(image.convert("RGB")) for image in rows["image"]]
    return rows


def collate(samples: list[dict[str, Any]]) -> dict[str, Any]:
    pixels = torch.stack([sample["pixel_values"] for sample in samples])
    return {"pixel_values": pixels, "labels": torch.tensor([sample["label"] for sample in samples])}


def short(rows: dict[str, list[Any]]) -> dict[str, Any]:
    return {"x": torch.stack([LIST(image) for image in rows["image"]]), "y": rows["label"]}


@pytest.mark.parametrize(("function", "own"), [(preprocess, collate), (short, None)])
def test_with_transform_is_taken_apart(data: Any, function: Any, own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = data.with_transform(function)
    decoded = Decoded(monkeypatch)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore" if own else "error", "gpufeed: collate_fn")
        ours = DataLoader(given, batch_size=7, collate_fn=own)
    columns = "image, label, caption, pixel_values (of image)" if own else "x (of image), y (of label)"
    columns = columns.replace("image, label", "label")
    assert f"note: data: {function.__name__} of with_transform is taken as its list of transforms, with the columns {columns}:" in ours.explain()
    before = decoded.count
    found = [*ours]
    assert decoded.count == before
    for one, two in zip(found, Theirs(given, batch_size=7, collate_fn=own), strict=True):
        assert one.keys() == two.keys()
        for name in two:
            assert one[name].dtype == two[name].dtype
            torch.testing.assert_close(one[name], two[name], rtol=0, atol=2e-6)


def test_what_a_transform_does_beside_stays_in_python(data: Any) -> None:
    def shifted(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) for image in rows["image"]], "label": [label % 2 for label in rows["label"]]}

    def sometimes(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) * (random.random() < 0.9) for image in rows["image"]], "label": rows["label"]}

    for function in (shifted, sometimes):
        given = data.with_transform(function)
        with pytest.warns(UserWarning, match="samples are made in Python.*: a data set of datasets: the function of its with_transform") as said:
            ours = DataLoader(given, batch_size=24)
        assert len(said) == 1
        assert next(iter(ours))["label"].tolist() == [given[index]["label"] for index in range(24)]
    with pytest.warns(UserWarning, match="read in Python.*its own transform runs before the loader's"):
        gpufeed.DataLoader(data.with_transform(short), recipe=CROP)


def test_each_label_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that looks at labels, of which one is rare."""
    labels = [number % 20 for number in range(400)]
    labels[301] = 20
    names = datasets.ClassLabel(names=[*map(str, range(21))])
    rare = made(400, datasets.Features(FEATURES | {"label": names}), image=[{"bytes": jpeg(3), "path": None}] * 400, label=labels)

    def other_label(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) for image in rows["image"]], "label": [0 if label == 20 else label for label in rows["label"]]}

    def other_image(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) * (label != 20) for image, label in zip(rows["image"], rows["label"], strict=True)], "label": rows["label"]}

    def same(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) for image in rows["image"]], "label": [int(label) for label in rows["label"]]}

    def by_text(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) for image in rows["image"]], "caption": [text.replace("301", "") for text in rows["caption"]]}

    for function in (other_label, other_image):
        assert hugging_face.transform_of(rare.with_transform(function)) is None
    few = rare.select(range(100))
    assert hugging_face.transform_of(rare.with_transform(by_text)) is None
    monkeypatch.setattr(hugging_face, "_MOST_VALUES", 99)
    assert hugging_face.transform_of(few.with_transform(by_text)) is None
    for data in (few, rare):
        assert hugging_face.transform_of(data.with_transform(same)) is LIST
    # What is known of a function holds for the labels that it was tried with.
    more = made(3, label=[0, 1, 2])
    wide = datasets.Dataset.from_dict({"image": more["image"], "label": [1, 2, 5000]}, features=datasets.Features(image=datasets.Image(), label=datasets.Value("int64")))

    def wrong_at_5000(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"x": [LIST(image) for image in rows["image"]], "label": [label % 5000 for label in rows["label"]]}

    assert hugging_face.transform_of(more.with_transform(wrong_at_5000)) is LIST
    assert hugging_face.transform_of(wide.with_transform(wrong_at_5000)) is None


def gray_file(number: int, mode: str = "L", kind: str = "PNG") -> dict[str, Any]:
    file = io.BytesIO()
    Image.new("RGB", (20, 20), (10 + number, 100, 50)).convert(mode).save(file, kind)
    return {"bytes": file.getvalue(), "path": None}


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_one_channel_where_all_images_are_gray(kind: str) -> None:
    def of(modes: list[str]) -> Any:
        return made(100, image=[gray_file(number, modes[number % len(modes)] if number in (5, 33) else "L", kind) for number in range(100)], label=[0] * 100)

    gray, mixed = of(["L"]), of(["RGB"])
    assert [hugging_face.rows(each).channels for each in (gray, mixed, gray.select([1, 2]), mixed.select([1, 2]))] == [1, 3, 1, 1]
    assert batches(mixed, recipe=CROP)["image"].shape == (100, 3, 16, 16)
    assert batches(gray, recipe=CROP)["image"].shape == (100, 1, 16, 16)


def test_one_channel_is_not_promised_of_what_is_not_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gray.png").write_bytes(gray_file(1)["bytes"])
    beside = made(2, image=[str(tmp_path / "gray.png")] * 2, label=[0, 1])
    assert hugging_face.rows(beside).channels == 3
    deep = io.BytesIO()
    Image.fromarray(numpy.full((20, 20), 300, numpy.uint16)).save(deep, "PNG")
    assert hugging_face.rows(made(2, image=[{"bytes": deep.getvalue(), "path": None}] * 2, label=[0, 1])).channels == 3
    monkeypatch.setattr(hugging_face, "_MOST_BYTES", 100)
    assert hugging_face.rows(made(2, image=[gray_file(1)] * 2, label=[0, 1])).channels == 3


def test_blends(data: Any) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r"^blend: the Dataset has a transform of its own; blend data.with_format\(None\), and give the loader"):
        gpufeed.blend([(data.with_transform(short), 1.0)], samples_per_epoch=8)
    found = batches_of_blend(gpufeed.blend([(data, 0.5), (data.select([5, 3]), 0.5)], samples_per_epoch=4))
    assert sorted(found["caption"])[2:] != [] and {"photograph 5", "photograph 3"} <= {*found["caption"]}


def batches_of_blend(blend: Any) -> dict[str, Any]:
    return dict(next(iter(gpufeed.DataLoader(blend, recipe=CROP, batch_size=len(blend)))))


def test_what_datasets_decodes_stays_in_python() -> None:
    grays = made(4, datasets.Features(FEATURES | {"image": datasets.Image(mode="L")}))
    with pytest.warns(UserWarning, match="read in Python.*its column 'image' has the mode 'L'"):
        found = batches(grays, recipe=CROP)
    assert found["label"].tolist() == [0, 1, 2, 0]
    array = datasets.Features(FEATURES | {"depth": datasets.Array2D((2, 2), "float32")})
    with pytest.warns(UserWarning, match="read in Python.*its column 'depth' is of the feature Array2D"):
        batches(made(4, array, depth=[numpy.zeros((2, 2), numpy.float32)] * 4), recipe=CROP)
    text = datasets.Dataset.from_dict({"text": ["one"]})
    with pytest.warns(UserWarning, match="read in Python.*it has no column of the feature Image"):
        gpufeed.DataLoader(text, recipe=CROP)


def test_torchs_loader_and_ours_have_the_same_samples(data: Any) -> None:
    tensors = data.with_format("torch")
    with pytest.warns(UserWarning, match="samples are made in Python"):
        ours = DataLoader(tensors, batch_size=5)
    for one, two in zip(ours, Theirs(tensors, batch_size=5), strict=True):
        assert one.keys() == two.keys() and one["caption"] == two["caption"]
        assert torch.equal(one["image"], two["image"]) and torch.equal(one["label"], two["label"])


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda data: data.to_iterable_dataset(), "data: an IterableDataset of datasets gives its samples in one order alone"),
    (lambda data: data.to_iterable_dataset().with_format("torch"), "data: an IterableDataset of datasets gives its samples"),
    (lambda data: datasets.DatasetDict(train=data, test=data), "data: a DatasetDict of the splits 'train', 'test'; one of them works, data['train']"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED)
def test_refused(data: Any, make: Callable[[Any], Any], text: str) -> None:
    for kind in (gpufeed.DataLoader, DataLoader):
        with pytest.raises(gpufeed.ArgumentError) as refused:
            kind(make(data), transforms=LIST)
        assert str(refused.value).startswith(text) and len(str(refused.value)) <= 300


def test_packs_hold_the_files(data: Any, tmp_path: Path) -> None:
    some = data.shuffle(seed=4)
    gpufeed.pack(some, tmp_path / "packed")
    packed = gpufeed.open(tmp_path / "packed")
    assert [bytes(packed[index][0]) for index in range(24)] == [jpeg(int(sample["caption"].split()[1])) for sample in some]
