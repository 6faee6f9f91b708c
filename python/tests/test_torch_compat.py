"""`gpufeed.torch_compat.DataLoader` gives the batches of torch's `DataLoader` for the same arguments."""

from __future__ import annotations

import functools
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

import torchvision.transforms as v1  # noqa: E402
from torch.utils.data import BatchSampler, ConcatDataset, IterableDataset, SequentialSampler, Subset, TensorDataset, default_collate  # noqa: E402
from torch.utils.data import DataLoader as Theirs  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.datasets.folder import default_loader  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.torch_compat import DataLoader  # noqa: E402
from torch_loaders import compare, files, strict  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("strict")


@pytest.mark.parametrize("given", [{}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": 40}, {"batch_size": 11, "pin_memory": False}])
def test_batches_are_those_of_torch(files: ImageFolder, given: dict[str, Any]) -> None:
    ours = compare(files, **given)
    assert "of Python" not in repr(ours)
    assert type(ours.sampler) is SequentialSampler and type(ours.batch_sampler) is BatchSampler
    compare(files, **given, collate_fn=default_collate)


def test_wrappers_are_taken_apart(files: ImageFolder) -> None:
    for data in (Subset(files, [5, 1, 19, 1]), ConcatDataset([files, Subset(files, [3])]), *torch.utils.data.random_split(files, [10, 12])):
        assert "of Python" not in repr(compare(data, batch_size=3))


def test_labels_are_those_of_torch(files: ImageFolder) -> None:
    images = torch.rand(10, 3, 6, 8)
    for labels in (torch.arange(10), torch.rand(10), torch.rand(10, 4), torch.arange(10, dtype=torch.int32), torch.arange(10) - 5):
        compare(TensorDataset(images, labels), batch_size=4)
    compare(TensorDataset(images), batch_size=4)
    compare(TensorDataset((images * 255).to(torch.uint8), torch.arange(10), torch.rand(10, 2, 2)), batch_size=4)
    compare(TensorDataset(images[:, :1] * 9 - 4, torch.arange(10)), batch_size=4)


def test_arrays_lie_as_in_torch(files: ImageFolder) -> None:
    for image in (numpy.ones((5, 7, 3), numpy.float32), numpy.ones((3, 5, 7), numpy.uint8), torch.ones(5, 7, 3), numpy.ones((5, 7, 1), numpy.uint8)):
        compare([(image * number, number) for number in range(5)], batch_size=2)
    with pytest.raises(gpufeed.ArgumentError, match=r"^data: sample 0 has an image of the shape \[5, 7\]; channels, rows and columns work"):
        DataLoader(TensorDataset(torch.rand(4, 5, 7), torch.arange(4)))


class Pair(NamedTuple):
    image: Any
    caption: str


@pytest.mark.parametrize(
    "sample",
    [
        lambda index: (torch.full((3, 5, 7), index / 9), index),
        lambda index: {"pixels": torch.full((3, 5, 7), index / 9), "label": index, "caption": f"number {index}", "size": (5, 7.5)},
        lambda index: (torch.full((3, 5, 7), index / 9), f"number {index}", {"even": index % 2 == 0}),
        lambda index: Pair(torch.full((3, 5, 7), index / 9), f"number {index}"),
        lambda index: (torch.full((3, 5, 7), index / 9), (index, numpy.float32(index))),
    ],
)
def test_samples_of_any_form(sample: Callable[[int], Any]) -> None:
    class Own:
        def __len__(self) -> int:
            return 10

        def __getitem__(self, index: int) -> Any:
            return sample(index)

    with pytest.warns(UserWarning, match="^gpufeed: data: samples are made in Python, .*: the class Own makes them itself$") as said:
        compare(Own(), batch_size=4)
    assert len(said) == 1
    with pytest.warns(UserWarning, match="collate_fn: .* is code of its own"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "gpufeed: data")
        # The samples that a function gets are those of the data set.
        compare(Own(), batch_size=4, collate_fn=lambda samples: ("mine", [*samples], default_collate(samples)))


def test_one_size_for_all() -> None:
    class Growing:
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return torch.zeros(3, 5, 7 + index // 4), index

    with pytest.warns(UserWarning, match="samples are made in Python"):
        ours = DataLoader(Growing(), batch_size=6)
    with pytest.raises(gpufeed.Error, match=r"sample [45] has an image of the shape \[3, 5, 8\], and sample 0 one of \[3, 5, 7\]"):
        next(iter(ours))


def test_transforms_that_gpufeed_lacks_run_in_python(files: ImageFolder) -> None:
    def shifted(image: Any) -> Any:
        return torch.roll(image, 3)

    # The function alone runs in Python, as with gpufeed.DataLoader.
    files.transform = v1.Compose([v1.CenterCrop(30), v1.ToTensor(), v1.Lambda(shifted)])
    with pytest.warns(UserWarning, match=r"^gpufeed: data\.transform\[2\]: .*shifted runs in Python, in the workers"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        ours = compare(files, batch_size=5)
    assert "of Python" not in repr(ours)
    # One that makes something else than gpufeed's transforms go on with runs in the object.
    files.transform = v1.Compose([v1.CenterCrop(30), v1.ToTensor(), v1.Lambda(lambda image: shifted(image)[:1])])
    with pytest.warns(UserWarning, match=r"made in Python.*: data\.transform\[2\]: .* makes a tensor of torch.float32 and the shape \[1, 30, 30\]$"):
        assert "of Python" in repr(compare(files, batch_size=5))
    files.transform, files.loader = v1.Compose([v1.CenterCrop(30), v1.ToTensor()]), lambda path: Image.open(path).convert("RGB")
    with pytest.warns(UserWarning, match=r"samples are made in Python.*: torchvision's ImageFolder: it has a loader of its own$"):
        assert "of Python" in repr(compare(files, batch_size=5))
    files.loader = default_loader
    files.transform = None
    with pytest.raises(gpufeed.ArgumentError, match="^transforms: sample 0 of this ImageFolder has a Image as its image"):
        DataLoader(files)
    images, _ = next(iter(DataLoader(files, transforms=v2.Compose([v2.CenterCrop(9), v2.ToImage()]), batch_size=2)))
    assert images.shape == (2, 3, 9, 9) and images.dtype == torch.uint8


def test_mixing_by_a_collate_function(files: ImageFolder) -> None:
    mixup_or_cutmix = v2.RandomChoice([v2.MixUp(num_classes=3), v2.CutMix(num_classes=3)])
    own = {"collate_fn": lambda samples: mixup_or_cutmix(*default_collate(samples))}
    ours, theirs = DataLoader(files, batch_size=4, **own), Theirs(files, batch_size=4, **own)
    assert "note: collate_fn: default_collate and then RandomChoice, which is batch_transforms here" in ours.explain()
    for found, expected in zip(ours, theirs, strict=True):
        assert type(found) is type(expected)
        for one, two in zip(found, expected, strict=True):
            assert (one.dtype, one.shape) == (two.dtype, two.shape)
        assert torch.allclose(found[1].sum(1), torch.ones(len(found[1])))
    mixed = torch.cat([labels for _ in range(5) for _, labels in ours])
    assert ((mixed > 0) & (mixed < 1)).any()
    # Now and then is not always.
    half = {"collate_fn": lambda samples: mixup_or_cutmix(*default_collate(samples)) if random.random() < 0.5 else default_collate(samples)}
    with pytest.warns(UserWarning, match="collate_fn: .*<lambda> is code of its own: it runs in the loop's thread"):
        sometimes = DataLoader(files, batch_size=4, **half)
    assert {labels.ndim for _ in range(9) for _, labels in sometimes} == {1, 2}


class Collator:
    def __init__(self) -> None:
        self.mixes = {"train": [v2.CutMix(num_classes=3)]}

    def __call__(self, samples: list[Any]) -> Any:
        return self.mixes["train"][0](*default_collate(samples))

    def batch(self, samples: list[Any]) -> Any:
        return self(samples)


def mixed(mix: Any, samples: list[Any]) -> Any:
    return mix(*default_collate(samples))


def test_a_transform_is_found_wherever_a_function_has_it(files: ImageFolder) -> None:
    mix = v2.CutMix(num_classes=3)
    collator, partial = Collator(), functools.partial(mixed, mix)
    for function in (collator, collator.batch, partial, lambda samples: partial(samples), lambda samples, mix=mix: mixed(mix, samples)):
        assert "note: collate_fn: default_collate and then CutMix" in DataLoader(files, 4, collate_fn=function).explain()


def test_a_collate_function_of_ones_own(files: ImageFolder) -> None:
    def as_dictionary(samples: list[Any]) -> dict[str, Any]:
        return {"pixel_values": torch.stack([image for image, _ in samples]), "labels": torch.tensor([label for _, label in samples])}

    with pytest.warns(UserWarning, match="collate_fn: .*as_dictionary is code of its own"):
        compare(files, batch_size=5, collate_fn=as_dictionary)
    compare(files, batch_size=5, collate_fn=lambda samples: default_collate(samples))
    compare(files, batch_size=5, collate_fn=lambda samples: tuple(default_collate(samples)))
    with pytest.raises(gpufeed.ArgumentError, match="^collate_fn: .* gets samples with one image each"):
        DataLoader(files, collate_fn=as_dictionary, views=2)


def test_arguments_without_a_meaning_are_notes(files: ImageFolder) -> None:
    ours = DataLoader(
        files, 4, num_workers=2, worker_init_fn=lambda worker: numpy.random.seed(worker), multiprocessing_context="spawn",
        persistent_workers=True, prefetch_factor=3, in_order=False, pin_memory=True, timeout=60,
    )  # fmt: skip
    said = ours.explain()
    for text in (
        "num_workers=2: threads",
        "worker_init_fn: is not called",
        "multiprocessing_context: has no meaning",
        "persistent_workers: has no meaning",
        "prefetch_factor=3: so many batches wait",
        "in_order: has no meaning",
        "pin_memory=True: there is no CUDA device" if not torch.cuda.is_available() else "pin_memory=True: batches are copied",
        "timeout=60: a wait",
    ):
        assert f"note: {text}" in said
    assert len([*ours]) == 6 and ours.stats()["workers"] == 2


def test_worker_init_fn_of_samples_of_python(files: ImageFolder) -> None:
    data = TensorDataset(torch.rand(4, 3, 5, 5), torch.arange(4))
    with pytest.warns(UserWarning, match="worker_init_fn is not called: workers are threads"):
        DataLoader(data, num_workers=2, worker_init_fn=print)


def test_a_wait_that_is_too_long() -> None:
    class Slow:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            time.sleep(0 if index == 0 else 3)
            return torch.zeros(3, 4, 4), index

    with pytest.warns(UserWarning, match="samples are made in Python"):
        ours = DataLoader(Slow(), timeout=0.3, exit_timeout=4)
    batches = iter(ours)
    next(batches)
    with pytest.raises(RuntimeError, match="^timeout: no batch within 0.3 seconds"):
        next(batches)
    ours.close()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"batch_size": None}, "batch_size: None gives samples without a batch"),
        ({"sampler": [0, 1], "shuffle": True}, "sampler: it makes the order, and shuffle=True another one"),
        ({"batch_sampler": [[0, 1]], "batch_size": 2}, "batch_sampler: it makes the batches; leave out batch_size"),
        ({"num_workers": -1}, "num_workers: -1; a whole number from 0 on works"),
        ({"num_workers": 2, "workers": 3}, "workers: given beside torch's argument that means the same"),
        ({"timeout": -1}, "timeout: -1; a number of seconds"),
        ({"prefetch_factor": 0}, "prefetch_factor: 0; a whole number from 1 on works"),
    ],
)
def test_refused(files: ImageFolder, given: dict[str, Any], text: str) -> None:
    with pytest.raises(gpufeed.ArgumentError) as refused:
        DataLoader(files, **given)
    assert str(refused.value).startswith(text) and len(str(refused.value)) <= 300


def test_streams_and_paths_are_refused() -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r"^dataset: a path; gpufeed\.open\(path\) gives a data set"):
        DataLoader("imagenet/train")

    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Any:
            yield torch.zeros(3, 4, 4), 0

    for kind in (DataLoader, gpufeed.DataLoader):
        with pytest.raises(gpufeed.ArgumentError, match="^data: a Stream is an IterableDataset of torch.* gpufeed.open") as refused:
            kind(Stream(), transforms=v1.ToTensor())
        assert len(str(refused.value)) <= 300


def test_orientation_is_that_of_torchvision(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    (tmp_path / "class").mkdir()
    Image.fromarray(numpy.arange(24 * 16 * 3, dtype=numpy.uint8).reshape(16, 24, 3)).save(tmp_path / "class" / "0.jpg", exif=turned)
    data = ImageFolder(tmp_path, v1.Compose([v1.CenterCrop(12), v1.ToTensor()]))
    compare(data)
    assert not torch.allclose(next(iter(DataLoader(data, exif=True)))[0], next(iter(DataLoader(data)))[0])


def crop(size: int, *more: Any) -> Any:
    return v1.Compose([v1.RandomCrop(size), v1.RandomHorizontalFlip(), *more, v1.ToTensor(), v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.25, 0.5])])


class Crops:
    """Two large and three small crops, as DINO's object makes them; ``kind`` says in what."""

    def __init__(self, kind: str) -> None:
        self.first, self.second, self.small = crop(24), crop(24, v1.RandomGrayscale(1.0)), crop(12)
        self.kind = kind

    def __call__(self, image: Any) -> Any:
        if self.kind == "list":
            # Views of a list need not follow one another.
            return [self.small(image), self.first(image), self.second(image), self.small(image), self.small(image)]
        large = [self.first(image), self.second(image)]
        return {"large": tuple(large), "small": [self.small(image) for _ in range(3)], "first": large[0]}


@pytest.mark.parametrize("kind", ["list", "nested"])
def test_views_of_an_object_have_the_form_of_torchs(files: ImageFolder, kind: str) -> None:
    data = ImageFolder(files.root, Crops(kind))
    ours, theirs = DataLoader(data, 4, num_workers=2), Theirs(data, 4)
    assert "of Python" not in repr(ours) and ours.dataset is data and len(ours) == len(theirs)
    assert "random numbers: gpufeed's own, by a number that each iteration draws from torch's generator" in ours.explain()
    assert "groups here: " in ours.explain() and "a batch has a tensor of each view, in the transform's order" in ours.explain()

    def forms(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: forms(each) for key, each in part.items()}
        if isinstance(part, (list, tuple)):
            return type(part), [forms(each) for each in part]
        return part.dtype, part.shape, part.is_contiguous()

    for found, expected in zip(ours, theirs, strict=True):
        assert forms(found) == forms(expected) and torch.equal(found[1], expected[1])
    views, _ = next(iter(ours))
    large, small = (views[1:3], [views[0], *views[3:]]) if kind == "list" else (views["large"], views["small"])
    second = large[1] * torch.tensor([0.2, 0.25, 0.5])[:, None, None] + torch.tensor([0.5, 0.4, 0.3])[:, None, None]
    assert torch.allclose(second[:, 0], second[:, 1], atol=1e-6), "the second list makes it gray"
    assert not torch.equal(small[0], small[1]), "each view draws its own"


def test_views_are_the_same_for_any_workers(files: ImageFolder) -> None:
    seen = []
    for workers in (1, 3):
        torch.manual_seed(7)
        seen.append([images for images, _ in DataLoader(ImageFolder(files.root, Crops("list")), 4, shuffle=True, num_workers=workers)])
    for one, other in zip(*seen, strict=True):
        assert all(torch.equal(first, second) for first, second in zip(one, other, strict=True))


def test_views_that_change_are_an_error(files: ImageFolder) -> None:
    data = ImageFolder(files.root, Counted())
    ours = DataLoader(data, 4)
    assert len(next(iter(ours))[0]) == 2
    data.transform.count = 3
    with pytest.raises(gpufeed.ArgumentError, match="^data: its Counted makes other views than when this loader was made"):
        iter(ours)
    data.transform.count = 2
    data.samples = data.samples[:5]
    with pytest.raises(gpufeed.ArgumentError, match="^data: the data set had 22 samples and has 5 now"):
        iter(ours)


class Counted:
    def __init__(self) -> None:
        self.crop, self.count = crop(10), 2

    def __call__(self, image: Any) -> Any:
        return [self.crop(image) for _ in range(self.count)]


def test_a_transform_that_is_replaced_is_an_error(files: ImageFolder) -> None:
    for make in (DataLoader, gpufeed.DataLoader):
        data = ImageFolder(files.root, crop(12))
        ours = make(data, batch_size=4)
        next(iter(ours))
        data.transform = crop(10)
        with pytest.raises(gpufeed.ArgumentError, match="^data: its transform is another object than when this loader was made; make another loader for it$"):
            iter(ours)


def test_views_of_images_of_one_size_need_no_size(tmp_path: Path) -> None:
    class Both:
        def __init__(self) -> None:
            self.plain, self.small = v1.Compose([v1.ToTensor()]), crop(10)

        def __call__(self, image: Any) -> Any:
            return self.plain(image), self.small(image)

    data = arrays(Both())
    (plain, small), labels = next(iter(DataLoader(data, 3)))
    assert plain.shape == (3, 3, 32, 32) and small.shape == (3, 3, 10, 10) and labels.tolist() == [0, 1, 2]
    assert torch.allclose(plain[1], v1.functional.to_tensor(data.data[1]), atol=1e-6)


def arrays(transform: Any) -> Any:
    """CIFAR10's object with arrays of its own."""
    from torchvision.datasets import CIFAR10

    data: Any = object.__new__(CIFAR10)
    data.data, data.targets = numpy.random.default_rng(1).integers(0, 256, (6, 32, 32, 3), dtype=numpy.uint8), [*range(6)]
    data.transform, data.target_transform, data.root, data.train, data.transforms = transform, None, "", True, None
    return data


def test_views_keep_channels_last(files: ImageFolder) -> None:
    views, _ = next(iter(DataLoader(ImageFolder(files.root, Crops("list")), 4, channels_last=True)))
    assert all(view.is_contiguous(memory_format=torch.channels_last) for view in views)


class Coloured:
    """Three channels of one, and then the list."""

    def __init__(self) -> None:
        self.transforms = v1.Compose([v1.CenterCrop(20), v1.ToTensor()])

    def __call__(self, image: Any) -> Any:
        return self.transforms(image.convert("RGB"))


def test_an_object_that_makes_colours_of_gray_images_runs_in_python() -> None:
    from torchvision.datasets import MNIST

    data: Any = object.__new__(MNIST)
    data.data, data.targets = torch.randint(0, 256, (6, 28, 28), dtype=torch.uint8), torch.arange(6)
    data.transform, data.target_transform, data.root, data.train, data.transforms = Coloured(), None, "", True, None
    with pytest.warns(UserWarning, match="Coloured makes a tensor of torch.float32 and the shape"):
        compare(data, batch_size=3)


def test_the_cost_of_own_code_has_no_number_of_an_epoch(files: ImageFolder) -> None:
    class Halved:
        def __call__(self, image: Any) -> Any:
            return image * 0.5 if image.mean() < 2 else image

    with pytest.warns(UserWarning, match="Halved runs in Python"):
        ours = DataLoader(ImageFolder(files.root, v1.Compose([v1.CenterCrop(30), v1.ToTensor(), Halved()])), 4)
    with pytest.warns(RuntimeWarning, match="Halved: [0-9.]+ ms an image in this epoch, "):
        [*ours]


def test_it_works_without_torchvision() -> None:
    program = (
        "import sys; sys.modules['torchvision'] = None; import torch; from torch.utils.data import TensorDataset; "
        "from gpufeed.torch_compat import DataLoader; loader = DataLoader(TensorDataset(torch.rand(4, 3, 5, 7), torch.arange(4)), 2); "
        "assert [labels.tolist() for _, labels in loader] == [[0, 1], [2, 3]]; loader.explain()"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
