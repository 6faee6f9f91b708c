"""Code of the user's own between the transforms: what it gets, what it may return, and the same batches for any workers."""

from __future__ import annotations

import pickle
import random
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torchvision.transforms as v1
from PIL import Image, ImageFilter
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import gpufeed
from gpufeed.torchvision import UnsupportedTransform, convert
from pictures import Jpegs

FLOAT = v2.ToDtype(torch.float32, scale=True)
NORMALIZE = v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
SEED = 7


class Pixels:
    """Images of one size, each with numbers of its own."""

    def __init__(self, count: int = 24, channels: int = 3) -> None:
        self.channels = channels
        shape = (count, 12, 10, 3) if channels == 3 else (count, 12, 10)
        self.images = numpy.random.default_rng(5).integers(0, 256, shape, dtype=numpy.uint8)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.images[index], index


class Noise:
    """Draws from torch, NumPy and Python, as code of users does."""

    def __call__(self, image: Any) -> Any:
        array = numpy.asarray(image).astype(numpy.int16)
        by = random.randrange(20) + int(numpy.random.randint(20)) + int(torch.randint(20, ()))
        return Image.fromarray((array + by).clip(0, 255).astype(numpy.uint8))


class Mirrored(v2.RandomHorizontalFlip):
    """A subclass, which may do anything."""

    def forward(self, *inputs: Any) -> Any:
        return F.horizontal_flip(*inputs)


def loader(transforms: Any, data: Any = None, **settings: Any) -> gpufeed.DataLoader:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {"batch_size": 6, "seed": SEED, "workers": 2, "on_error": "fail"} | settings
        return gpufeed.DataLoader(Pixels() if data is None else data, transforms, **given)


def images(transforms: Any, data: Any = None, **settings: Any) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.cat([batch[0].clone() for batch in loader(transforms, data, **settings)])


def expected(transforms: Any, as_tensor: bool = False) -> torch.Tensor:
    pictures = [Image.fromarray(image) for image in Pixels().images]
    return torch.stack([v2.Compose(transforms)(v2.functional.pil_to_tensor(each) if as_tensor else each) for each in pictures])


def blur(image: Any) -> Any:
    return image.filter(ImageFilter.BoxBlur(1))


def rolled(image: Any) -> Any:
    assert type(image) is torch.Tensor and image.dtype == torch.uint8
    return image.roll(1, dims=0)


def halved(image: Any) -> Any:
    assert isinstance(image, torch.Tensor) and image.dtype == torch.float32
    return image * image


def bordered(image: Any) -> Any:
    made = Image.new("RGB", (image.width + 3, image.height + 5), (9, 8, 7))
    made.paste(image, (2, 1))
    return made


def own_to_tensor(image: Any) -> Any:
    return torch.from_numpy(numpy.asarray(image).copy()).permute(2, 0, 1).float().div(250)


def as_array(image: Any) -> Any:
    return numpy.asarray(image)[::-1, :, ::-1].copy()


TO_TENSOR = [v2.ToImage(), FLOAT]


@pytest.mark.parametrize(
    "transforms",
    [
        [v1.CenterCrop(8), blur, v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3)],
        [v2.CenterCrop(8), v2.Lambda(blur), *TO_TENSOR],
        [v1.PILToTensor(), v1.CenterCrop(8), rolled, v2.ConvertImageDtype(torch.float32), NORMALIZE],
        [v2.PILToTensor(), v2.CenterCrop(8), FLOAT, halved, NORMALIZE],
        [v1.ToTensor(), halved, v1.CenterCrop(6), halved],
        [v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3), v1.CenterCrop(6), v2.Lambda(halved)],
        [bordered, v2.CenterCrop((11, 9)), blur, as_array, v1.ToTensor()],
        [v2.CenterCrop(8), own_to_tensor, NORMALIZE],
        [v2.CenterCrop(8), v2.RandomApply([v2.Lambda(blur)], p=1.0), *TO_TENSOR],
        [v2.ToImage(), v2.CenterCrop(8), Mirrored(), FLOAT],
        [v2.Compose([bordered, v2.CenterCrop(8), v2.Compose([blur, v2.RandomVerticalFlip(1.0)])]), *TO_TENSOR],
        [v2.ToImage(), v2.CenterCrop(8), FLOAT, v2.LinearTransformation(torch.eye(192), torch.zeros(192)), halved],
    ],
)
def test_values_are_those_of_torchvision(transforms: list[Any]) -> None:
    made, original = images(transforms), expected(transforms)
    assert made.dtype == original.dtype and made.shape == original.shape
    if made.dtype == torch.uint8:
        assert torch.equal(made, original)
    else:
        assert float((made - original).abs().max()) < 3e-6


def test_bytes_are_exact_and_what_it_gets_is_torchvisions() -> None:
    got = []

    def look(image: Any) -> Any:
        got.append(type(image))
        return image

    # A plain function that changes nothing would be left out.
    own = gpufeed.on_sample(look)
    same = images([v2.CenterCrop(8), own, v2.ToImage(), own, v2.ToPureTensor(), own])
    assert torch.equal(same, expected([v2.CenterCrop(8), v2.PILToTensor()]))
    kinds = {kind.__name__ if kind.__module__ != "torchvision.tv_tensors._image" else "tv" for kind in got}
    assert kinds == {"Image", "tv", "Tensor"}
    for takes, kind in (("pil", Image.Image), ("array", numpy.ndarray), ("tensor", torch.Tensor)):
        got.clear()
        found = images([v2.CenterCrop(8), gpufeed.on_sample(look, takes=takes), v2.ToImage()])
        assert torch.equal(found, same) and all(issubclass(each, kind) for each in got), takes


def test_batches_are_the_same_for_any_number_of_workers() -> None:
    shuffled: dict[str, Any] = {"shuffle": True, "views": 2}
    transforms = [v2.RandomCrop(8), Noise(), v2.RandomHorizontalFlip(), Noise(), *TO_TENSOR]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = []
        for workers in (1, 2, 7):
            made = loader(transforms, workers=workers, **shuffled)
            torch.manual_seed(workers)
            found.append([images.clone() for _ in range(2) for images, _ in made])
        for other in found[1:]:
            assert all(torch.equal(one, two) for one, two in zip(found[0], other, strict=True))
        assert not torch.equal(found[0][0], found[0][4]), "epochs differ"
        # A run that goes on from a state has the rest.
        made = loader(transforms, **shuffled)
        iterator = iter(made)
        next(iterator)
        state = made.state_dict()
        other = loader(transforms, **shuffled)
        other.load_state_dict(state)
        rest = [images.clone() for images, _ in other]
        assert len(rest) == 3 and all(torch.equal(one, two) for one, two in zip(rest, found[0][1:4], strict=True))


def test_the_programs_own_random_numbers_are_left_alone() -> None:
    def numbers() -> tuple[Any, ...]:
        return random.random(), float(numpy.random.rand()), float(torch.rand(()))

    def seed() -> None:
        random.seed(1), numpy.random.seed(2), torch.manual_seed(3)

    seed()
    alone = [numbers() for _ in range(3)]
    seed()
    first = numbers()
    images([Noise(), v2.CenterCrop(8), v2.ToImage()])
    assert [first, numbers(), numbers()] == alone


def test_a_seed_in_the_place_of_global_generators() -> None:
    seeds: list[tuple[int, float]] = []

    def draw(image: Any, seed: int) -> Any:
        seeds.append((int(numpy.asarray(image)[0, 0, 0]), seed))
        return image

    transforms = [v2.CenterCrop(8), gpufeed.on_sample(draw, with_seed=True), v2.ToImage()]
    images(transforms, workers=1)
    first = sorted(seeds)
    seeds.clear()
    images(transforms, workers=7)
    assert sorted(seeds) == first and len({seed for _, seed in first}) == 24


def test_one_call_at_a_time_is_inside_the_code() -> None:
    inside, most, lock = [0], [0], threading.Lock()

    def sleeps(image: Any) -> Any:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1
        return image

    # Two pieces in two loaders draw from the same generators.
    both = [iter(loader([gpufeed.on_sample(sleeps), v2.CenterCrop(8), v2.ToImage()], workers=4)) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sum(1 for pair in zip(*both, strict=True) for _ in pair) == 8
    assert most[0] == 1


def test_warnings_name_the_place_and_what_it_has_cost() -> None:
    class Slow:
        def __call__(self, image: Any) -> Any:
            time.sleep(0.003)
            return blur(image)

    slow = Slow()
    with pytest.warns(UserWarning, match=r"transforms\[1\]: Slow runs in Python, in the workers") as caught:
        made = gpufeed.DataLoader(Pixels(), [v2.CenterCrop(8), slow, v2.ToImage()], batch_size=6, workers=2)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=r"transforms\[1\]: Slow: (\d+\.\d+) ms an image in epoch 0") as caught:
        assert len(list(made)) == 4
    (text,) = [str(each.message) for each in caught if "an image in epoch" in str(each.message)]
    milliseconds, inside = float(text.split(" ms")[0].rsplit(" ", 1)[1]), float(text.split(" of them inside")[0].rsplit(" ", 1)[1])
    assert 3 <= inside <= milliseconds < 300 and "of 2 workers' time" in text
    at_most = float(text.rsplit("at most ", 1)[1].split(" ")[0])
    assert abs(at_most * inside / 1e3 - 1) < 0.05, "what one call at a time lets through"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(made)) == 4, "the cost is said once"
        # Whoever marks the code knows it.
        gpufeed.DataLoader(Pixels(), [v2.CenterCrop(8), gpufeed.on_sample(slow), v2.ToImage()], batch_size=6)


def test_explain_says_what_runs_where() -> None:
    made = loader([v2.RandomResizedCrop(8), blur, v2.RandomHorizontalFlip(), *TO_TENSOR, halved, NORMALIZE])
    lines = made.explain().splitlines()
    begins = [
        "workers: threads of this process",
        "reading: Pixels: its __getitem__ runs in Python, in the workers; files that it returns are decoded without Python",
        "transforms: by the workers, without Python, but for transforms[1]: blur, transforms[5]: halved, which runs in Python, one call at a time",
        "batches: the loop gets them as the workers have made them",
        "random numbers: gpufeed's own, by seed=",
        "  stage 0: RandomResizedCrop;",
        "  own code: transforms[1]: blur, on the host, in the workers; gets 8x8, 3 channels, 8-bit numbers",
        "  after it, stage 0: RandomHorizontalFlip",
        "  own code: transforms[5]: halved, on the host, in the workers; gets 8x8, 3 channels, floats",
        "  after it, stage 0: Normalize",
    ]
    places = [next(at for at, line in enumerate(lines) if line.startswith(begin)) for begin in begins]
    assert places == sorted(places), lines
    assert sum(line.startswith("note: transforms[") and "runs in Python, in the workers" in line for line in lines) == 2


class Wrong:
    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def __call__(self, image: Any) -> Any:
        return self.returned


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "returned None;"),
        ([1, 2], "returned a list of 2; a PIL image of mode RGB or L"),
        (3.5, "returned a float;"),
        (Image.new("RGBA", (8, 8)), "returned a PIL image of mode RGBA"),
        (numpy.zeros((8, 8, 3), numpy.int64), "returned an array of int64"),
        (numpy.zeros((3, 8, 8), numpy.uint8), r"returned an array of uint8 and the shape \[3, 8, 8\]"),
        (torch.zeros(8, 8, 3), r"returned a tensor of float32 and the shape \[8, 8, 3\]"),
        (torch.zeros((3, 8, 8), dtype=torch.int32), "returned a tensor of int32"),
        (torch.zeros((3, 8, 8), device="meta"), "returned a tensor on meta"),
    ],
)
def test_what_is_no_image_ends_the_run(returned: Any, text: str) -> None:
    made = loader([v2.CenterCrop(8), Wrong(returned), v2.ToImage()], on_error=0.9)
    with pytest.raises(gpufeed.DataError, match=r"transforms\[1\]: Wrong " + text):
        list(made)


def test_other_sizes_channels_and_numbers_fail_with_what_to_do() -> None:
    def fails(transforms: list[Any], text: str, **settings: Any) -> None:
        made = loader(transforms, **settings)
        with pytest.raises(gpufeed.DataError, match=text):
            list(made)

    crop = v2.CenterCrop(8)
    fails([crop, bordered, v2.ToImage()], r"transforms\[1\]: bordered: returned 11x13 pixels, but all images of a batch have 8x8")
    fails([crop, Wrong(Image.new("L", (8, 8))), v2.ToImage()], r"Wrong: returned an image of 1 channels; it got 3")
    fails([crop, Wrong(torch.ones(3, 8, 8)), v2.ToImage()], "returned floats, but batches have 8-bit numbers")
    fails([crop, blur, NORMALIZE], r"blur returned 8-bit numbers, but floats have to come from it")
    fails([v1.ToTensor(), crop, Wrong(Image.new("RGB", (8, 8)))], "returned 8-bit numbers, but the list computes in floats there")
    assert images([crop, Wrong(torch.ones(3, 8, 8)), v2.ToImage()], dtype="float32").mean() == 1
    made = images([crop, gpufeed.on_sample(bordered, size=(13, 11)), v2.ToImage()])
    assert made.shape == (24, 3, 13, 11)
    assert images([crop, gpufeed.on_sample(own_to_tensor, makes_floats=True)]).dtype == torch.float32
    with pytest.raises(gpufeed.ArgumentError, match="one size"):
        loader([bordered, v2.Resize(5), v2.ToImage()])
    with pytest.raises(gpufeed.ArgumentError, match="own code and FiveCrop or TenCrop"):
        loader([blur, v2.FiveCrop(5), v2.ToImage()])


def test_an_exception_is_the_samples_failure() -> None:
    def picky(image: Any) -> Any:
        if numpy.array_equal(image, worst):
            raise KeyError("not this one")
        return image

    worst = Pixels().images[9]
    transforms = [gpufeed.on_sample(picky), v2.CenterCrop(8), v2.ToImage()]
    with pytest.raises(gpufeed.DataError, match=r"sample 9: transforms\[0\]: .*picky: KeyError: 'not this one'") as raised:
        list(loader(transforms))
    assert isinstance(raised.value.__cause__, KeyError)
    made = loader(transforms, on_error=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures = [failure for batch in made.batches() for failure in batch.failures]
    assert len(failures) == 1 and failures[0].id == 9

    def interrupts(image: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(loader([gpufeed.on_sample(interrupts), v2.CenterCrop(8), v2.ToImage()], on_error=0.9))


def test_gray_images_caches_groups_and_batches() -> None:
    gray = images([v2.CenterCrop(8), blur, v2.ToImage()], Pixels(channels=1))
    assert gray.shape == (24, 1, 8, 8)
    picture = Image.fromarray(Pixels(channels=1).images[3])
    assert torch.equal(gray[3], v2.Compose([v2.CenterCrop(8), blur, v2.PILToTensor()])(picture))
    transforms = [v2.Resize((9, 9)), Noise(), v2.RandomCrop(8), *TO_TENSOR]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, cached = loader(transforms), loader(transforms, cache="host:64M")
        for _ in range(3):
            for (one, _), (two, _) in zip(plain, cached, strict=True):
                assert torch.equal(one, two)
    groups = {"a": ([v2.RandomCrop(8), Noise(), v2.ToImage()], 2), "b": ([v2.CenterCrop(6), rolled_pil, *TO_TENSOR], 1)}
    found = [next(iter(loader(None, groups=groups, workers=workers))) for workers in (1, 3)]
    assert found[0]["a"].shape == (12, 3, 8, 8) and all(torch.equal(found[0][name], found[1][name]) for name in "ab")
    text = r"group b: transforms\[1\]: rolled_pil"
    assert any(text.replace("\\", "") in line for line in loader(None, groups=groups).explain().splitlines())


def rolled_pil(image: Any) -> Any:
    return Image.fromarray(numpy.roll(numpy.asarray(image), 1, axis=2))


def test_code_for_finished_batches() -> None:
    def centred(batch: Any) -> Any:
        return batch - batch.mean(dim=(1, 2, 3), keepdim=True)

    transforms = [v2.CenterCrop(8), *TO_TENSOR, NORMALIZE]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gpufeed.DataLoader(Pixels(), [*transforms, gpufeed.on_batch(centred)], batch_size=6, seed=SEED)
    assert any("centred runs in Python on each finished batch" in line for line in made.explain().splitlines())
    assert "centred runs in Python on each of them, in the loop's thread" in made.explain()
    found = torch.cat([batch.clone() for batch, _ in made])
    assert torch.equal(found, torch.cat([centred(batch) for batch in images(transforms).split(6)]))
    on_device = images([*transforms, gpufeed.on_batch(centred)], normalize_on_device=True)
    assert float((on_device - found).abs().max()) < 1e-5
    with pytest.raises(gpufeed.DataError, match=r"on_batch: .*returned a tensor of \[1"):
        images([*transforms, gpufeed.on_batch(lambda batch: batch[:1])])
    with pytest.raises(UnsupportedTransform, match="follows on_batch"):
        loader([v2.CenterCrop(8), gpufeed.on_batch(centred), v2.ToImage()])
    with pytest.raises(gpufeed.ArgumentError, match="own code in the list has floats"):
        loader([v2.CenterCrop(8), FLOAT, halved, NORMALIZE], normalize_on_device=True)
    bytes_before = [v2.CenterCrop(8), blur, *TO_TENSOR, NORMALIZE]
    assert float((images(bytes_before, normalize_on_device=True) - images(bytes_before)).abs().max()) < 1e-5


def test_an_image_folders_own_list(tmp_path: Path) -> None:
    from torchvision.datasets import ImageFolder

    files = Jpegs(8)
    for number in range(8):
        (tmp_path / f"{number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"{number % 2}" / f"{number}.jpg").write_bytes(files[number][0])
    transform = v2.Compose([v2.CenterCrop(24), blur, v2.ToImage(), FLOAT])
    folder = ImageFolder(str(tmp_path), transform)
    with pytest.warns(UserWarning, match=r"data.transform\[1\]: blur runs in Python"):
        made = gpufeed.DataLoader(folder, batch_size=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = torch.cat([batch.clone() for batch, _ in made])
    original = torch.stack([folder[index][0] for index in range(8)])
    assert float((found - original).abs().max()) < 3e-6


def test_a_loader_is_pickled_with_its_code() -> None:
    transforms = [v2.CenterCrop(8), v2.Lambda(blur), Noise(), v2.ToImage()]
    made = loader(transforms)
    copied = pickle.loads(pickle.dumps(made))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(torch.equal(one[0], two[0]) for one, two in zip(made, copied, strict=True))
    with pytest.raises(gpufeed.Error, match="code of the user's own and cannot be written"):
        made.recipe  # noqa: B018 - the property raises


def test_a_loader_that_its_own_code_holds_is_collected() -> None:
    import gc
    import weakref

    class Trainer:
        def __init__(self) -> None:
            self.loader = loader([v2.CenterCrop(8), self.augment, v2.ToImage()])

        def augment(self, image: Any) -> Any:
            return image.rotate(180)

    trainer = Trainer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(list(trainer.loader)) == 4
    known = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert known() is None


def test_code_that_does_not_return_is_left() -> None:
    released = threading.Event()

    def waits(image: Any) -> Any:
        released.wait(30)
        return image

    made = loader([gpufeed.on_sample(waits), v2.CenterCrop(8), v2.ToImage()], exit_timeout=0.2, workers=2)
    iterator = iter(made)
    began = time.monotonic()
    thread = threading.Thread(target=lambda: pytest.raises(gpufeed.RunError, next, iterator), daemon=True)
    thread.start()
    time.sleep(0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.close()
    assert time.monotonic() - began < 5
    released.set()
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_no_code_stays_refused() -> None:
    class Several:
        def __init__(self) -> None:
            self.first, self.second = v2.Compose([blur]), v2.Compose([blur])

        def __call__(self, image: Any) -> Any:
            return [self.first(image), self.second(image)]

    crop = v2.CenterCrop(8)
    for given in (Several(), v2.MixUp(num_classes=3), v2.RandomCrop, object(), 3):
        with pytest.raises(UnsupportedTransform, match=r"transforms\[1\]"):
            loader([crop, given])
    # Without a loader there is nobody to call code.
    with pytest.raises(UnsupportedTransform, match="own code"):
        convert([crop, blur])
    for wrong in ({"takes": "image"}, {"size": (1, 2, 3)}, {"size": 0}, {"with_seed": 1}):
        with pytest.raises(gpufeed.ArgumentError):
            gpufeed.on_sample(blur, **wrong)
    for given in (3, v2.RandomCrop):
        with pytest.raises(gpufeed.ArgumentError, match="function: "):
            gpufeed.on_batch(given)


def inverted_rows(array: Any) -> Any:
    assert type(array) is numpy.ndarray and array.dtype == numpy.uint8 and array.shape[2] == 3
    return array[::-1].copy()


def shifted(image: Any) -> Any:
    return numpy.roll(numpy.asarray(image), 1, 2)


def test_code_behind_arrays_gets_arrays() -> None:
    """``numpy.array`` is taken as nothing, and makes an array all the same; so does code before other code."""
    turned = lambda a: a[:, ::-1].copy()  # noqa: E731 - as users write it
    for steps in ([numpy.array, turned], [numpy.asarray, inverted_rows, turned], [shifted, turned]):
        transforms = [v1.CenterCrop(8), *steps, v1.ToTensor()]
        assert float((images(transforms) - expected(transforms)).abs().max()) < 1e-6, steps
    # A transform that makes another form ends it.
    got = []

    def look(image: Any) -> Any:
        got.append(type(image).__name__)
        return image

    own = gpufeed.on_sample(look)
    images([v1.CenterCrop(8), shifted, own, v2.ToImage(), own, v2.ToPureTensor(), own], workers=3)
    assert {*got[::3]} <= {"ndarray", "Image", "Tensor"} and sorted({*got}) == ["Image", "Tensor", "ndarray"] and len(got) == 72


def test_options_of_code_inside_of_another_transform() -> None:
    got: list[Any] = []

    def look(image: Any) -> Any:
        got.append(type(image))
        return image[::-1].copy() if isinstance(image, numpy.ndarray) else image

    flipped = expected([v2.CenterCrop(8), v2.RandomVerticalFlip(1.0), v2.PILToTensor()])
    for before in ([], [v2.PILToTensor()], [v2.ToImage()]):
        inside = v2.RandomApply([gpufeed.on_sample(look, takes="array"), v2.RandomVerticalFlip(1.0), v2.RandomVerticalFlip(1.0)], p=1.0)
        assert torch.equal(images([v2.CenterCrop(8), *before, inside, v2.ToImage()]), flipped)
    assert {*got} == {numpy.ndarray}
    on_batch = gpufeed.on_batch(look)
    for within, says in [
        (gpufeed.on_sample(look, size=8), r"transforms\[0\].transforms\[1\]: on_sample has size=, .* give it to the whole"),
        (gpufeed.on_sample(look, makes_floats=True), "on_sample has makes_floats=, .* give it to the whole"),
        (on_batch, "on_batch works as the last one"),
        (v2.Compose([blur, on_batch]), r"transforms\[1\].transforms\[1\]: on_batch works as the last one"),
    ]:
        with pytest.raises(UnsupportedTransform, match=says) as refused:
            loader([v2.RandomChoice([blur, within]), v2.CenterCrop(8)])
        assert len(str(refused.value)) <= 300


def test_on_sample_called_by_itself() -> None:
    picture = Image.fromarray(Pixels().images[0])
    tensor = F.pil_to_tensor(picture)
    kinds = {"pil": Image.Image, "array": numpy.ndarray, "tensor": torch.Tensor}
    for given in (picture, tensor, F.to_image(picture), numpy.asarray(picture)):
        for takes, kind in kinds.items():
            got = []
            made = gpufeed.on_sample(lambda image, got=got: got.append(image) or image, takes=takes)(given)  # type: ignore[arg-type]
            assert isinstance(got[0], kind) and type(made) is type(given), takes
            assert numpy.array_equal(numpy.asarray(made), numpy.asarray(given))
    as_floats = gpufeed.on_sample(lambda a: a.astype(numpy.float32) / 255, takes="array", makes_floats=True)
    assert torch.equal(as_floats(picture), tensor.float() / 255)
    for wrong in (gpufeed.on_sample(blur, size=9), gpufeed.on_sample(blur, makes_floats=True)):
        with pytest.raises(gpufeed.DataError, match="on_sample: blur returned"):
            wrong(picture)
