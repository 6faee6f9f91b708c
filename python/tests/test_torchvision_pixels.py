"""The pixels of converted lists without chance: torchvision's on the same decoded images."""

from __future__ import annotations

import io
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from pictures import Jpegs  # noqa: E402

FLOAT = v2.ToDtype(torch.float32, scale=True)

FIXED: list[list[Any]] = [
    [v2.Resize(30), v2.CenterCrop(24)],
    [v2.Resize((20, 33), interpolation=v2.InterpolationMode.BICUBIC)],
    [v2.Pad(3, fill=40), v2.Resize((25, 25), antialias=False)],
    [v2.CenterCrop(32), v2.RandomEqualize(1.0), v2.RandomAdjustSharpness(2.0, 1.0)],
    [v2.CenterCrop(32), v2.RandomAutocontrast(1.0), v2.RandomPosterize(3, 1.0), v2.RandomSolarize(100, 1.0)],
    [v2.RandomHorizontalFlip(1.0), v2.Resize(32), v2.CenterCrop(30), v2.Grayscale(3), v2.RandomInvert(1.0)],
    [v2.CenterCrop(30), v2.JPEG((40, 40))],
    [v2.CenterCrop(30), v2.GaussianBlur(5, (1.0, 1.0))],
    [v2.CenterCrop(30), v2.RandomRotation((15, 15), fill=20), v2.RandomAffine((5, 5), shear=(3, 3))],
    [v2.CenterCrop(30), v2.RandomRotation((15, 15), interpolation="bilinear", fill=127.6)],
    [v2.CenterCrop(30), v2.RandomRotation((15, 15), interpolation="bilinear", fill=None)],
    [v2.CenterCrop(30), v2.RandomAffine((5, 5), scale=(1.2, 1.2), shear=(3, 3, 4, 4), center=[3, 9], fill=(1, 2, 3))],
    [v2.CenterCrop(30), v2.GaussianBlur((3, 7), (1.2, 1.2))],
    [v2.CenterCrop(30), v2.RandomCrop(40, padding=5, padding_mode="reflect")],
    [v2.ScaleJitter((30, 44), (1.0, 1.0)), v2.Resize((30, 44))],
    [v2.Resize(20, max_size=24), v2.CenterCrop(24)],
    [v2.CenterCrop(24), v2.RandomErasing(1.0, scale=(0.99, 0.99), ratio=(1, 1), value=127)],
    [v2.CenterCrop(30), v2.RandomChoice([v2.Compose([v2.RandomInvert(1.0), v2.RandomPosterize(3, 1.0)])])],
    [v2.Grayscale(1), v2.CenterCrop(24)],
]


@pytest.mark.filterwarnings("ignore:The image decoding and encoding:DeprecationWarning")  # of torchvision's JPEG
@pytest.mark.parametrize("ends", [[], [FLOAT, v2.Normalize([0.4], [0.2])]], ids=["uint8", "floats"])
@pytest.mark.parametrize("steps", FIXED, ids=[" ".join(type(step).__name__ for step in steps) for steps in FIXED])
def test_pixels_are_torchvisions(steps: list[Any], ends: list[Any]) -> None:
    """Lists without chance, on the pixels that both decode from PNG files."""
    data = Jpegs(6)
    decoded = [numpy.asarray(Image.open(io.BytesIO(file))) for file in data.files]
    files = []
    for pixels in decoded:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        files.append((out.getvalue(), 0))
    loader = gpufeed.DataLoader(files, [*steps, *ends], batch_size=6)
    images, _ = next(iter(loader))
    transform = v2.Compose([*steps, *ends])
    expected = torch.stack([transform(torch.from_numpy(pixels.copy()).permute(2, 0, 1)) for pixels in decoded])
    assert images.dtype == expected.dtype and images.shape == expected.shape
    difference = (images.to(torch.float64) - expected.to(torch.float64)).abs()
    # Of 8-bit numbers a share of a thousandth may differ by a level: half-way sums of warps, see TRANSFORMS.md 11.
    if not ends:
        assert difference.max() <= 1 and (difference > 0).double().mean() <= 1e-3
    else:
        assert (difference > 1e-4).double().mean() <= 1e-3


@pytest.mark.parametrize(
    "steps",
    [
        [v2.Resize(30), v2.CenterCrop(24)],
        [v2.Resize((20, 33), interpolation="bicubic", antialias=False)],
        [v2.CenterCrop(30), v2.RandomRotation((15, 15), interpolation="bilinear", fill=0.5)],
        [
            v2.CenterCrop(30),
            v2.RandomSolarize(0.5, 1.0),
            v2.RandomErasing(1.0, scale=(0.99, 0.99), ratio=(1, 1), value=-1.5),
        ],
        [v2.CenterCrop(30), v2.RandomAdjustSharpness(2.0, 1.0), v2.Pad(2, fill=0.25), v2.Normalize([0.4], [0.2])],
    ],
    ids=lambda steps: " ".join(type(step).__name__ for step in steps),
)
def test_pixels_of_lists_on_floats(steps: list[Any]) -> None:
    data = Jpegs(6)
    loader = gpufeed.DataLoader(data, [v2.ToImage(), FLOAT, *steps], batch_size=6)
    images, _ = next(iter(loader))
    transform = v2.Compose([v2.ToImage(), FLOAT, *steps])
    expected = torch.stack([transform(Image.open(io.BytesIO(file))) for file in data.files])
    assert images.dtype == torch.float32 and images.shape == expected.shape
    assert (images - expected).abs().max() <= 1e-4
