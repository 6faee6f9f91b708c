"""Random transforms, converted: their drawn parameters put through torchvision give the same pixels."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from drawn import through_torchvision  # noqa: E402
from pictures import Jpegs  # noqa: E402

IMAGES = 16
FLOAT = v2.ToDtype(torch.float32, scale=True)
BILINEAR = v2.InterpolationMode.BILINEAR
CROP = v2.CenterCrop(32)
SMALL = v2.Resize((24, 24))

# Each with the share of 8-bit numbers that may be off by a level: torchvision's warps, blurs and mixtures round sums which
# are half-way but for the error of f32, and a factor that follows may make two levels of one.
RANDOM: dict[str, tuple[list[Any], float]] = {
    "RandomResizedCrop": ([v2.RandomResizedCrop(24)], 0),
    "RandomResizedCrop bicubic": ([v2.RandomResizedCrop(24, interpolation=v2.InterpolationMode.BICUBIC)], 0),
    "RandomResizedCrop aliased": ([v2.RandomResizedCrop(24, antialias=False)], 0),
    "RandomCrop": ([v2.RandomCrop(28, padding=4, fill=40)], 0),
    "RandomCrop reflect": ([v2.RandomCrop(48, padding=(1, 2, 7, 9), pad_if_needed=True, padding_mode="reflect")], 0),
    "flips": ([CROP, v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()], 0),
    "ColorJitter": ([CROP, v2.ColorJitter(0.4, 0.4, 0.4)], 0),
    "ColorJitter hue": ([CROP, v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], 1e-3),
    "RandomPhotometricDistort": ([CROP, v2.RandomPhotometricDistort(p=0.8)], 1e-3),
    "RandomGrayscale": ([CROP, v2.RandomGrayscale(0.5)], 0),
    "RandomInvert": ([CROP, v2.RandomInvert(0.5)], 0),
    "RandomPosterize": ([CROP, v2.RandomPosterize(3, 0.5)], 0),
    "RandomSolarize": ([CROP, v2.RandomSolarize(100, 0.5)], 0),
    "RandomAdjustSharpness": ([CROP, v2.RandomAdjustSharpness(1.7, 0.5)], 0),
    "RandomAutocontrast": ([CROP, v2.RandomAutocontrast(0.5)], 0),
    "RandomEqualize": ([CROP, v2.RandomEqualize(0.5)], 0),
    "RandomChannelPermutation": ([CROP, v2.RandomChannelPermutation()], 0),
    "GaussianBlur": ([CROP, v2.GaussianBlur((5, 9), (0.1, 2.0))], 1e-3),
    "GaussianNoise": ([CROP, v2.GaussianNoise(0.05, 0.1)], 1e-3),
    "JPEG": ([CROP, v2.JPEG((5, 95))], 0),
    "RandomRotation": ([CROP, v2.RandomRotation(30)], 0),
    "RandomRotation expand": ([CROP, v2.RandomRotation(45, BILINEAR, expand=True, fill=(9, 99, 199)), SMALL], 1e-3),
    "RandomAffine": ([CROP, v2.RandomAffine(15, (0.1, 0.2), (0.7, 1.3), (-9, 9, -5, 5), fill=30)], 0),
    "RandomAffine bilinear": ([CROP, v2.RandomAffine(15, (0.1, 0.2), (0.7, 1.3), 9, BILINEAR, center=[3, 9])], 1e-3),
    "RandomPerspective": ([CROP, v2.RandomPerspective(0.6, 0.7, fill=77)], 1e-3),
    "ElasticTransform": ([CROP, v2.ElasticTransform(40.0, 3.0, BILINEAR, fill=5)], 1e-3),
    "ElasticTransform nearest": ([CROP, v2.ElasticTransform([60.0, 20.0], [4.0, 2.0], "nearest")], 1e-3),
    "RandomZoomOut": ([CROP, v2.RandomZoomOut(9, (1.0, 1.6)), SMALL], 0),
    "RandomResize": ([v2.RandomResize(20, 60), SMALL], 0),
    "RandomShortestSize": ([v2.RandomShortestSize([20, 30, 50], 60), SMALL], 0),
    "ScaleJitter": ([v2.ScaleJitter((40, 30), (0.3, 1.8)), SMALL], 0),
    "RandomErasing": ([CROP, v2.RandomErasing(0.7, value=(1, 2, 3))], 0),
    "RandomApply": ([CROP, v2.RandomApply([v2.RandomSolarize(90, 1.0), v2.RandomVerticalFlip(0.5)], 0.5)], 0),
    "RandomChoice": ([CROP, v2.RandomChoice([v2.RandomInvert(1.0), v2.GaussianBlur(3), v2.RandomSolarize(9, 1.0)])], 1e-3),
    "RandomOrder": ([CROP, v2.RandomOrder([v2.RandomInvert(0.5), v2.RandomSolarize(99, 1.0), v2.ColorJitter(0.5)])], 0),
    "RandAugment": ([CROP, v2.RandAugment(3, 15, fill=127)], 0),
    "RandAugment bilinear": ([CROP, v2.RandAugment(2, interpolation=BILINEAR)], 1e-3),
    "TrivialAugmentWide": ([CROP, v2.TrivialAugmentWide()], 0),
    "TrivialAugmentWide bilinear": ([CROP, v2.TrivialAugmentWide(interpolation=BILINEAR, fill=[1, 50, 100])], 1e-3),
    "AutoAugment ImageNet": ([CROP, v2.AutoAugment()], 0),
    "AutoAugment CIFAR10": ([CROP, v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10, BILINEAR)], 1e-3),
    "AutoAugment SVHN": ([CROP, v2.AutoAugment(v2.AutoAugmentPolicy.SVHN)], 0),
    # Its last step truncates sums of shares that add up to 1 within rounding.
    "AugMix": ([CROP, v2.AugMix()], 5e-3),
    "AugMix severe": ([CROP, v2.AugMix(10, 4, alpha=0.5, all_ops=False, fill=(9, 99, 199))], 5e-3),
}
EIGHT_BIT_ONLY = {"JPEG"}


def png_files(count: int) -> tuple[list[Any], list[Any]]:
    """Images as [channels, height, width], and PNG files of them, which every decoder decodes alike."""
    images, files = [], []
    for encoded in Jpegs(count).files:
        picture = Image.open(io.BytesIO(encoded))
        out = io.BytesIO()
        picture.save(out, "PNG")
        files.append((out.getvalue(), 0))
        images.append(torch.from_numpy(numpy.asarray(picture).copy()).permute(2, 0, 1))
    return images, files


def both(transforms: Any, float_from: int | None) -> tuple[Any, Any, list[Any]]:
    """gpufeed's batch, torchvision's images from the same draws, and the draws."""
    images, files = png_files(IMAGES)
    loader = gpufeed.DataLoader(files, transforms, batch_size=IMAGES, shuffle=True, seed=5)
    batch = next(loader.batches())
    params = [json.loads(each) for each in batch.params]
    expected = [through_torchvision(each, images[index], float_from) for each, index in zip(params, batch.ids, strict=True)]
    return torch.from_dlpack(batch.images), torch.stack(expected), params


def on_floats(transform: Any) -> Any:
    """The transform with its numbers of 0 to 255 as numbers of 0 to 1."""
    nested = getattr(transform, "transforms", None)
    if nested is not None:
        for each in nested:
            on_floats(each)
    for name in ("fill", "value", "threshold"):
        given = getattr(transform, name, None)
        if isinstance(given, dict):
            given = {kind: _scaled(value) for kind, value in given.items()}
        elif given is not None:
            given = _scaled(given)
        if name == "fill" and hasattr(transform, "_fill"):
            transform._fill = {kind: _scaled(value) for kind, value in transform._fill.items()}
        if given is not None:
            setattr(transform, name, given)
    return transform


def _scaled(given: Any) -> Any:
    return [value / 255 for value in given] if isinstance(given, (list, tuple)) else given and given / 255


@pytest.mark.filterwarnings("ignore:The image decoding and encoding:DeprecationWarning")  # of torchvision's JPEG
@pytest.mark.parametrize("name", RANDOM)
def test_eight_bit_numbers(name: str) -> None:
    steps, share = RANDOM[name]
    found, expected, params = both(steps, None)
    assert found.dtype == expected.dtype == torch.uint8 and found.shape == expected.shape
    assert len({json.dumps(each["ops"]) for each in params}) > 1, "nothing was drawn"
    difference = (found.int() - expected.int()).abs()
    off = (difference > 0).double().mean()
    print(f"{name}: {int((difference > 0).sum())} of {difference.numel()} differ, by {int(difference.max())} at most")
    assert off <= share and difference.max() <= 2


@pytest.mark.parametrize("name", [name for name in RANDOM if name not in EIGHT_BIT_ONLY])
def test_floats(name: str) -> None:
    steps = [v2.ToImage(), FLOAT, *(on_floats(copy.deepcopy(step)) for step in RANDOM[name][0])]
    found, expected, _ = both(steps, 0)
    assert found.dtype == expected.dtype == torch.float32 and found.shape == expected.shape
    difference = (found - expected).abs()
    print(f"{name}: worst {difference.max():.1e}, {int((difference > 1e-4).sum())} of {difference.numel()} beyond 1e-4")
    assert (difference > 1e-4).double().mean() <= 1e-3


ENDS = [FLOAT, v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
JITTER = v2.ColorJitter(0.8, 0.8, 0.8, 0.2)
LISTS: dict[str, list[Any]] = {
    "RandAugment": [v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.RandAugment(), *ENDS, v2.RandomErasing(0.5)],
    "TrivialAugmentWide": [v2.RandomResizedCrop(32), v2.TrivialAugmentWide(interpolation=BILINEAR), *ENDS],
    "SimCLR": [
        v2.RandomResizedCrop(32),
        v2.RandomHorizontalFlip(),
        v2.RandomApply([JITTER], 0.8),
        v2.RandomGrayscale(0.2),
        v2.RandomApply([v2.GaussianBlur(3, (0.1, 2.0))], 0.5),
        *ENDS,
    ],
    "noise in erased rectangles": [v2.RandomResizedCrop(32), *ENDS, v2.RandomErasing(1.0, value="random")],
}


@pytest.mark.parametrize("name", LISTS)
def test_training_lists(name: str) -> None:
    """8-bit numbers up to ToDtype, floats from there on; a level off is 1 / 255 / 0.224."""
    images, files = png_files(IMAGES)
    loader = gpufeed.DataLoader(files, LISTS[name], batch_size=IMAGES, seed=3)
    batch = next(loader.batches())
    params = [json.loads(each) for each in batch.params]
    normalized = {op["slot"] for each in params for op in each["ops"] if "Normalize" in op["op"]}
    assert len(normalized) == 1
    expected = [through_torchvision(each, images[index], *normalized) for each, index in zip(params, batch.ids, strict=True)]
    difference = (torch.from_dlpack(batch.images) - torch.stack(expected)).abs()
    assert (difference > 1e-4).double().mean() <= 1e-3 and difference.max() <= 2.1 / 255 / 0.224
