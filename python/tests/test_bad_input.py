"""What bad input gets: an error that names the argument and what works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import Jpegs, folder

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}
MIXED = {"transform": [{"type": "CenterCrop", "size": 8}], "batch_transform": [{"type": "MixUp", "alpha": 0.8}]}


def refused(words: str, kind: type[BaseException] = gpufeed.ArgumentError, **given: Any) -> BaseException:
    data = given.pop("data", None)
    settings: dict[str, Any] = {"recipe": CROP, "batch_size": 4, "seek_indexes": "memory"}
    with pytest.raises(kind, match=words) as error:
        next(gpufeed.DataLoader(Jpegs(8) if data is None else data, **(settings | given)).batches())
    return error.value


def test_paths(tmp_path: Path) -> None:
    error = refused("no/such/folder", gpufeed.FileError, data=tmp_path / "no/such/folder")
    assert isinstance(error, OSError) and error.errno == 2
    (tmp_path / "empty").mkdir()
    refused("no samples|no image", gpufeed.Error, data=tmp_path / "empty")
    refused("^data: 7 is a int; a path, a data set", data=7)
    refused("^data: a Path makes one slash of the two of an address", data=Path("s3://bucket/x.tar"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch_size": 0}, "^batch_size: 0; a whole number from 1 on works"),
        ({"batch_size": "many"}, "^batch_size: 'many' is a str; a whole number works"),
        ({"batch_size": True}, "^batch_size: True is a bool"),
        ({"batch_size": 2.5}, "^batch_size: 2.5 is a float"),
        ({"shuffle": 1}, "^shuffle: 1; True and False work"),
        ({"drop_last": "yes"}, "^drop_last: 'yes'; True and False work"),
        ({"drop_last": True, "last_batch": "pad"}, "^drop_last: True, but last_batch says otherwise"),
        ({"drop_last": True, "batch_size": 9}, '^last_batch: dropping the last batch leaves none: .*last_batch="partial"'),
        ({"seed": -1}, "^seed: -1; a whole number from 0 on works"),
        ({"workers": 0}, "^workers: 0; a whole number from 1 on works"),
        ({"workers": 5000}, "^workers: 5000; 1 to 4096 work"),
        ({"queue_depth": 0}, "^queue_depth: 0"),
        ({"views": 65}, "^views: 65"),
        ({"memory_budget": "much"}, '^memory_budget: \'much\'; a number of bytes works, or text such as "16G"'),
        ({"cache": "16G"}, '^cache: \'16G\'; "host:16G", "device:8G" and None work'),
        ({"cache": 5}, "^cache: 5; "),
        ({"remote_cache": "folder"}, "^remote_cache: 'folder'; .* and None work"),
        ({"remote_cache": ("folder", "much")}, "^remote_cache: 'much'; "),
        ({"read_ahead": "much"}, "^read_ahead: 'much'; "),
        ({"on_error": 1.5}, '^on_error: 1.5; "skip", "fail" and the share'),
        ({"last_batch": "wrap"}, '^last_batch: \'wrap\'; "partial", "drop" and "pad" work'),
        ({"truncated": "gray"}, '^truncated: \'gray\'; "error" and "fill" work'),
        ({"dtype": "int8"}, "^dtype: int8; float32, float16, bfloat16 and uint8 work$"),
        ({"dtype": numpy.float64}, "^dtype: float64; float32, float16, bfloat16 and uint8 work"),
        ({"shard": (2, 2)}, "^shard: rank 2 of 2 by shard=; ranks run from 0 to 1"),
        ({"shard": "all"}, '^shard: \'all\'; "auto", None and'),
        ({"seek_indexes": 3}, "^seek_indexes: 3 is a int; a path works"),
        ({"recipe": "no-such-recipe"}, "no-such-recipe"),
        ({"recipe": None}, "^transforms: give either transforms="),
        ({"recipe": {"transform": [{"type": "Resize", "size": 9}]}}, "size"),
        ({"recipe": {"transform": [{"type": "Blur"}]}}, "Blur"),
        ({"recipe": {"transform": [{"type": "CenterCrop", "size": 0}]}}, "size"),
        ({"num_workers": 4}, "^num_workers: not an argument of gpufeed.DataLoader: workers= sets the threads"),
        ({"pin_memory": True}, '^pin_memory: .*device="cuda" copies ahead'),
        ({"collate_fn": list}, "^collate_fn: .*work on the batch in the loop"),
        ({"prefetch_factor": 2}, "^prefetch_factor: .*queue_depth="),
        ({"sampler": 5}, "^sampler: a int; an iterable of indices, and a function of the epoch"),
        ({"normalize_on_device": True}, "^normalize_on_device: the last transform is no Normalize"),
        (
            {"recipe": CROP | {"batch_transform": [{"type": "MixUp"}]}},
            "^num_classes: soft labels need it, as the data set names no classes",
        ),
        ({"execute": "gpu"}, "^execute: "),
        ({"cache_in_bytes": True}, "^cache_in_bytes: True, but there is no cache; "),
        ({"cache_in_bytes": True, "cache": None}, "^cache_in_bytes: True, but there is no cache; "),
    ],
)
def test_arguments(given: dict[str, Any], words: str) -> None:
    error = refused(words, gpufeed.Error, **given)
    assert isinstance(error, ValueError)


def test_an_unknown_argument_is_a_type_error() -> None:
    refused("has no argument 'colour'", TypeError, colour="red")


def test_epochs() -> None:
    made = gpufeed.DataLoader(Jpegs(8), recipe=CROP)
    with pytest.raises(gpufeed.ArgumentError, match="^epoch: -1; a whole number from 0 on works"):
        made.set_epoch(-1)
    with pytest.raises(gpufeed.ArgumentError, match="^epochs: "):
        made.epochs(range(0, 9, 3))
    made.close()
    with pytest.raises(gpufeed.RunError, match="this loader was closed"):
        made.batches()


class Images:
    def __init__(self, item: Any, length: int = 20) -> None:
        self.item, self.length = item, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if callable(self.item):
            return self.item(index)
        return self.item


def bad(item: Any, words: str) -> BaseException:
    error = refused(words, gpufeed.DataError, data=Images(item), on_error="fail")
    assert error.kind == "Sample" and error.__cause__ is not None  # type: ignore[attr-defined]
    return error.__cause__


def test_what_a_data_set_returns() -> None:
    pixels = numpy.zeros((4, 4, 3), numpy.uint8)
    # Mixing needs classes or vectors, and float32 does not hold these; of all else torch decides (test_collate.py).
    for label in ([0.0, 2**24 + 1], [0.0, 1e40], 1e40, 16777217.0, -1, numpy.array([-1]), "cat", {0: 1}, numpy.float64(2**32 + 1)):
        words = "mixing needs samples with a class or a vector"
        refused(words, gpufeed.ArgumentError, data=Images((pixels, label)), recipe=MIXED, num_classes=2, on_error="fail")
    bad((pixels, lambda: 1), "the label of sample .* cannot be pickled, by which it comes to its batch")
    bad((pixels, 1, lambda: 1), "the sample .* cannot be pickled")
    bad({"picture": 3, "label": 1}, r"is a dict without an image \('picture': int, 'label': int\); a data set returns")
    bad((numpy.zeros((5, 5, 2), numpy.uint8), 0), r"an array of uint8 with the shape \(5, 2, 5\)")
    bad((numpy.zeros((4,), numpy.uint8), 0), r"has the shape \(4,\)")
    bad((pixels.astype(numpy.int32), 0), "is an array of int32")
    bad((3, 0), "the image of sample .* is a int; bytes of an image file")
    bad(pixels, r"sample \d+ is a ndarray; a data set returns \(image, label\)")


def test_exceptions_are_failures_with_their_traceback() -> None:
    data = Jpegs(40)

    def item(index: int) -> Any:
        if index == 5:
            raise KeyError("lost")
        return data[index]

    batches = gpufeed.DataLoader(Images(item, 40), recipe=CROP, batch_size=20, shuffle=True).batches()
    with pytest.warns(UserWarning, match="^gpufeed: sample 5 cannot be used, .*KeyError: 'lost'"):
        (failure,) = [failure for batch in batches for failure in batch.failures]
    assert (failure.id, failure.name) == (5, "sample 5") and "KeyError: 'lost'" in str(failure.error)
    cause = failure.error.__cause__
    assert isinstance(cause, KeyError) and cause.__traceback__ is not None
    frames = []
    traceback = cause.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert frames[-1] == "item"


def test_damaged_files(tmp_path: Path) -> None:
    root = folder(tmp_path)
    victim = sorted(root.rglob("*.jpg"))[3]
    victim.write_bytes(victim.read_bytes()[:100])
    made = gpufeed.DataLoader(root, recipe=CROP, batch_size=24, seek_indexes="memory", on_error=0.5)
    with pytest.warns(UserWarning, match=victim.name):
        (batch,) = made.batches()
    assert [failure.name for failure in batch.failures] == [str(victim)]
    strict = gpufeed.DataLoader(root, recipe=CROP, batch_size=24, seek_indexes="memory", on_error="fail")
    with pytest.raises(gpufeed.DataError, match=victim.name) as error:
        next(strict.batches())
    assert error.value.kind == "Sample"


def test_a_length_that_changes() -> None:
    data = Jpegs(12)
    made = gpufeed.DataLoader(data, recipe=CROP, batch_size=4)
    assert len([*made.batches()]) == 3
    data.files.pop()
    with pytest.raises(gpufeed.ArgumentError, match="^data: the data set had 12 samples and has 11 now"):
        made.batches()


def test_a_device_that_is_not_there() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        refused("^device: 'cuda', but this torch.* finds no CUDA device", device="cuda")
    refused("^device: 'gpu7'", device="gpu7")


def test_torchvision_without_torch_is_an_import_error() -> None:
    code = """
import sys
sys.modules["torch"] = None
import gpufeed
from pictures import Jpegs
made = gpufeed.DataLoader(Jpegs(4), recipe={"transform": [{"type": "CenterCrop", "size": 8}]})
next(made.batches())
try:
    next(iter(made))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, timeout=60, capture_output=True, text=True)
    assert "torch is not installed; loader.batches() works without it" in done.stdout, done.stderr


class Attributed(Jpegs):
    """JPEG files with attributes."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(4)
        self.__dict__.update(attributes)


def test_attributes_of_an_object() -> None:
    gray = numpy.full((20, 20), 9, numpy.uint8)

    class Gray(Images):
        channels = 1

    (batch,) = gpufeed.DataLoader(Gray((gray, 0), 4), recipe=CROP, batch_size=4).batches()
    assert batch.images.shape == (4, 1, 16, 16)
    (batch,) = gpufeed.DataLoader(Images((gray, 0), 4), recipe=CROP, batch_size=4).batches()
    assert batch.images.shape == (4, 3, 16, 16)
    error = refused("the attribute channels of a data set in Python", gpufeed.DataError, data=Attributed(channels=1))
    assert "::" not in str(error)
    for channels in (2, True, "3", None, numpy.zeros(2)):
        refused("^data: the attribute channels of this Attributed is .*; 1, which promises", data=Attributed(channels=channels))
    assert gpufeed.DataLoader(Attributed(classes=("a", 5)), recipe=CROP)._native_data.classes == ["a", "5"]
    # As torchvision's class_to_idx.
    by_name = {"dog": 1, "wug": numpy.int64(2), "cat": 0}
    assert gpufeed.DataLoader(Attributed(classes=by_name), recipe=CROP)._native_data.classes == ["cat", "dog", "wug"]
    for classes in ({0: "cat", 1: "dog"}, {"cat": 0, "dog": 2}, {"cat": 0, "dog": 0}, {"cat": "0"}, {"cat": False}, {"cat": 0.0}):
        words = "^data: the attribute classes of this Attributed is a dict, and not one of each name and its number, from 0 to "
        refused(words, data=Attributed(classes=classes))
    for unordered in ({"cat", "dog"}, frozenset({"cat"})):
        refused("^data: the attribute classes of this Attributed is a (frozen)?set, which has no order", data=Attributed(classes=unordered))
    for classes in (10, "cat"):
        refused("^data: the attribute classes of this Attributed is .*; a list of", data=Attributed(classes=classes))


def test_arrays_in_the_other_byte_order() -> None:
    image = numpy.random.default_rng(1).random((6, 6, 3), numpy.float32)
    recipe = {"transform": [{"type": "CenterCrop", "size": 6}], "output": {"dtype": "F32"}}
    for given in (image, image.astype(">f4"), image.astype("<f4"), image.astype(">f4").transpose(2, 0, 1)):
        (batch,) = gpufeed.DataLoader(Images((given, 0), 2), recipe=recipe, batch_size=2).batches()
        assert (numpy.from_dlpack(batch.images) == image.transpose(2, 0, 1)).all()
    (batch,) = gpufeed.DataLoader(Images((image, numpy.array([0.5, 3.0], ">f8")), 2), recipe=recipe, batch_size=2).batches()
    assert numpy.asarray(batch.labels).tolist() == [[0.5, 3.0]] * 2


def test_pil_images_that_do_not_fit_bytes() -> None:
    image = pytest.importorskip("PIL.Image")
    for mode in ("I", "I;16", "F"):
        cause = bad((image.new(mode, (20, 20), 5), 0), f"is a PIL image of mode {mode}, whose numbers do not fit 8 bits")
        assert isinstance(cause, ValueError)
    for mode in ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK"):
        assert len([*gpufeed.DataLoader(Images((image.new(mode, (20, 20)), 0), 2), recipe=CROP).batches()]) == 2


def test_advice_is_pythons() -> None:
    for given, words in [
        ({"execute": "gpu"}, '^execute: shaders need a GPU, but the backend is the CPU; execute="auto" works on both'),
        ({"cache": "host:1G", "scaled_decode": True}, "^cache: cached pixels serve .*; leave scaled_decode=True out"),
        ({"recipe": CROP | {"semantics": "Float", "transform": [{"type": "JPEG", "quality": 9}]}}, 'use semantics="uint8" with a recipe, or a later ToDtype'),
        ({"recipe": "imagenet-train", "dtype": "uint8"}, '^dtype: 8-bit numbers cannot hold .*; dtype="float32", dtype="float16" and dtype="bfloat16" work'),
    ]:
        assert "::" not in str(refused(words, gpufeed.Error, **given))
    data = Jpegs(8)
    data.files[3] = data.files[3][:-200]
    error = refused('truncated="fill" accepts such images', gpufeed.DataError, data=data, batch_size=8)
    assert "::" not in str(error)
    data = Jpegs(150)
    data.files[::3] = [b"no image"] * 50
    error = refused("more than a share of 0.1; .*; raise the share of on_error=", gpufeed.DataError, data=data, on_error="skip", batch_size=120)
    assert "::" not in str(error)
