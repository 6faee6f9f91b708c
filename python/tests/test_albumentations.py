"""Albumentations' transforms: what they are taken as, what is refused, and their own functions on the drawn parameters."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
A = pytest.importorskip("albumentations")

import cv2  # noqa: E402
from albumentations.augmentations.blur import functional as blurs  # noqa: E402
from albumentations.augmentations.geometric import functional as geometric  # noqa: E402
from albumentations.augmentations.pixel import functional as pixels  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from drawn import apply  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import jpeg  # noqa: E402

IMAGES = 12
NEAREST, CUBIC = cv2.INTER_NEAREST, cv2.INTER_CUBIC
ENDS = [A.Normalize(), A.ToTensorV2()]
CROP = A.CenterCrop(48, 48)


def resize(image: Any, given: dict[str, Any]) -> Any:
    mode = {"Bilinear": cv2.INTER_LINEAR, "Bicubic": CUBIC, "Nearest": NEAREST, "NearestExact": cv2.INTER_NEAREST_EXACT}
    assert given["antialias"] is False
    return geometric.resize(image, (given["height"], given["width"]), mode[given["interpolation"]])


def rotate(image: Any, given: dict[str, Any]) -> Any:
    assert given["fill"] == "None" or given["fill"] is None
    mode = {"Bilinear": cv2.INTER_LINEAR, "Nearest": NEAREST}[given["interpolation"]]
    return A.Rotate(limit=(given["angle"], given["angle"]), interpolation=mode, p=1)(image=image)["image"]


def blur(image: Any, given: dict[str, Any]) -> Any:
    (size, other), (sigma, _) = given["kernel_size"], given["sigma"]
    assert size == other
    # The kernel of blur_limit=0 ends at 3.5 sigmas.
    return pixels.separable_convolve(image, blurs.create_gaussian_kernel_1d(sigma, 0 if size > 15 else size))


# What Albumentations makes of the numbers of an operation; the others are torchvision's.
FUNCTIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "AdjustGamma": lambda image, given: pixels.gamma_transform(image, gamma=given["gamma"]),
    "Brightness": lambda image, given: pixels.adjust_brightness_torchvision(image, given["factor"]),
    "Contrast": lambda image, given: pixels.adjust_contrast_torchvision(image, given["factor"]),
    "GaussianBlur": blur,
    "Grayscale": lambda image, given: pixels.to_gray(image, 3, "weighted_average"),
    "Hue": lambda image, given: pixels.adjust_hue_torchvision(image, given["factor"]),
    "Invert": lambda image, given: pixels.invert(image),
    "Normalize": lambda image, given: A.Normalize(tuple(given["mean"]), tuple(given["std"]))(image=image)["image"],
    "Posterize": lambda image, given: pixels.posterize(image, given["bits"]),
    "Resize": resize,
    "Rotate": rotate,
    "Saturation": lambda image, given: pixels.adjust_saturation_torchvision(image, given["factor"]),
    "Solarize": lambda image, given: pixels.solarize(image, given["threshold"] / 255),
}

# Each with the most levels that it differs by, and the share of values that may differ by more than one.
CASES: dict[str, tuple[list[Any], int, float]] = {
    "RandomResizedCrop": ([A.RandomResizedCrop((40, 32))], 1, 0),
    "RandomResizedCrop cubic": ([A.RandomResizedCrop((40, 32), interpolation=CUBIC)], 35, 0.03),
    "RandomResizedCrop nearest": ([A.RandomResizedCrop((40, 32), (0.3, 0.8), interpolation=NEAREST)], 255, 0.01),
    "Resize": ([A.Resize(33, 70)], 1, 0),
    "SmallestMaxSize": ([A.SmallestMaxSize(64), CROP], 1, 0),
    "SmallestMaxSize, several": ([A.SmallestMaxSize([50, 60, 70]), CROP], 1, 0),
    "RandomCrop": ([A.RandomCrop(30, 20), A.HorizontalFlip(), A.VerticalFlip()], 0, 0),
    "border": ([A.PadIfNeeded(99, 99), A.CenterCrop(99, 99), A.HorizontalFlip()], 0, 0),
    "ColorJitter": ([CROP, A.ColorJitter(0.4, (1, 1), (1, 1), (0, 0))], 0, 0),
    "ColorJitter contrast": ([CROP, A.ColorJitter((1, 1), 0.4, (1, 1), (0, 0), p=0.8)], 1, 0),
    "ColorJitter saturation": ([CROP, A.ColorJitter((1, 1), (1, 1), 0.4, (0, 0), p=1)], 1, 0),
    "ColorJitter hue": ([CROP, A.ColorJitter((1, 1), (1, 1), (1, 1), (-0.3, 0.3), p=1)], 10, 0.2),
    "ToGray": ([CROP, A.ToGray()], 1, 0),
    "colours": ([CROP, A.InvertImg(), A.Posterize(num_bits=(2, 6)), A.Solarize((0.5, 0.5)), A.Solarize((0.2, 0.2))], 0, 0),
    "GaussianBlur": ([CROP, A.GaussianBlur((3, 8), p=1)], 1, 0),
    "GaussianBlur by sigma": ([CROP, A.GaussianBlur(sigma_limit=(0.5, 3.0), p=0.7)], 1, 0),
    "Rotate": ([CROP, A.Rotate(45, p=1)], 1, 0),
    "Rotate nearest": ([CROP, A.Rotate(45, interpolation=NEAREST)], 255, 1e-3),
    "RandomGamma": ([CROP, A.RandomGamma((80, 80))], 1, 0),
    "OneOf": ([CROP, A.OneOf([A.InvertImg(p=0.2), A.HorizontalFlip(p=0.3), A.Posterize(p=0.5)], p=0.8)], 0, 0),
    "SomeOf": ([CROP, A.SomeOf([A.InvertImg(), A.HorizontalFlip(), A.VerticalFlip()], n=2)], 0, 0),
    "Sequential": ([CROP, A.Sequential([A.InvertImg(p=1), A.NoOp(), A.HorizontalFlip(p=1)], p=0.5)], 0, 0),
}


def both(given: Any) -> tuple[Any, Any, list[Any]]:
    """gpufeed's batch, Albumentations' images from the same draws, and the draws."""
    images, files = [], []
    for number in range(IMAGES):
        picture = Image.open(io.BytesIO(jpeg(number, 90, 73)))
        out = io.BytesIO()
        picture.save(out, "PNG")
        files.append((out.getvalue(), 0))
        images.append(numpy.asarray(picture).copy())
    batch = next(gpufeed.DataLoader(files, given, batch_size=IMAGES, shuffle=True, seed=4).batches())
    params = [json.loads(each) for each in batch.params]
    made = []
    for each, index in zip(params, batch.ids, strict=True):
        image = images[index]
        for op in each["ops"]:
            ((name, numbers),) = op["op"].items() if isinstance(op["op"], dict) else [(op["op"], {})]
            if name in FUNCTIONS:
                image = FUNCTIONS[name](image, numbers)
            elif name != "ToDtype":
                image = apply(op["op"], torch.from_numpy(numpy.ascontiguousarray(image)).permute(2, 0, 1)).permute(1, 2, 0).numpy()
        made.append(torch.from_numpy(numpy.ascontiguousarray(image)).permute(2, 0, 1))
    return torch.from_dlpack(batch.images), torch.stack(made), params


@pytest.mark.parametrize("name", CASES)
def test_by_the_drawn_parameters(name: str) -> None:
    steps, most, share = CASES[name]
    found, expected, params = both(A.Compose(steps))
    assert found.dtype == expected.dtype == torch.uint8 and found.shape == expected.shape
    assert name in ("Resize", "SmallestMaxSize") or len({json.dumps(each["ops"]) for each in params}) > 1, "nothing was drawn"
    difference = (found.int() - expected.int()).abs()
    print(f"{name}: {int((difference > 0).sum())} of {difference.numel()} differ, by {int(difference.max())} at most")
    assert difference.max() <= most and (difference > 1).double().mean() <= share


def test_a_training_list() -> None:
    steps = [A.RandomResizedCrop((48, 48)), A.HorizontalFlip(p=0.5), A.ColorJitter(0.2, 0.2, 0.2, (0, 0), p=0.8), *ENDS]
    found, expected, _ = both(A.Compose(steps))
    assert found.dtype == expected.dtype == torch.float32
    # A level of the resize is three behind three factors of up to 1.2.
    assert (found - expected).abs().max() <= 4.1 / 255 / 0.224


def test_recipes() -> None:
    made = convert(A.Compose([A.OneOf([A.HorizontalFlip(p=0.2), A.VerticalFlip(p=0.6)], p=0.7), A.Normalize([0.5], [0.25], 127.5)]))
    flips = [{"type": "RandomHorizontalFlip", "p": 1.0}, {"type": "RandomVerticalFlip", "p": 1.0}]
    choice = {"type": "RandomChoice", "p": pytest.approx([0.25, 0.75]), "transforms": flips}
    normalize = {"type": "Normalize", "mean": [0.25] * 3, "std": [0.125] * 3}
    expected = [{"type": "RandomApply", "p": 0.7, "transforms": [choice]}, {"type": "ToDtype"}, normalize]
    assert made.recipe["transform"] == expected
    some = convert(A.SomeOf([A.HorizontalFlip(), A.VerticalFlip(), A.InvertImg()], n=2, p=0.4)).recipe["transform"]
    assert [len(each["transforms"]) for each in some[0]["transforms"][0]["transforms"]] == [2, 2, 2] and some[0]["p"] == 0.4
    # Albumentations' transforms among torchvision's.
    assert convert([v2.CenterCrop(8), A.HorizontalFlip()]).recipe["transform"][1] == {"type": "RandomHorizontalFlip", "p": 0.5}
    notes = convert(A.Compose([A.Resize(8, 8), A.ColorJitter()])).notes
    assert [note[:27] for note in notes] == ["Albumentations: Resize resi", "Albumentations: ColorJitter"]


def test_crops_around_boxes() -> None:
    made = convert([A.BBoxSafeRandomCrop(erosion_rate=0.25), A.RandomSizedBBoxSafeCrop(20, 30, 0.5, interpolation=CUBIC)])
    sized = {"type": "BBoxSafeRandomCrop", "erosion_rate": 0.5, "size": [20, 30], "interpolation": "Bicubic", "antialias": False}
    assert made.recipe["transform"] == [{"type": "BBoxSafeRandomCrop", "erosion_rate": 0.25}, sized]
    assert [note.split()[1:3] for note in made.notes] == [["BBoxSafeRandomCrop", "leaves"], ["RandomSizedBBoxSafeCrop", "leaves"], ["RandomSizedBBoxSafeCrop", "resizes"]]
    # Without a field of objects they would crop anywhere.
    with pytest.raises(gpufeed.ArgumentError, match="BBoxSafeRandomCrop looks at boxes, but the data set has no field of objects"):
        gpufeed.DataLoader([(jpeg(0, 40, 30), 0)], [A.RandomSizedBBoxSafeCrop(20, 30)])


def identity(image: Any, **_: Any) -> Any:
    return image


class Own(A.HorizontalFlip):
    """A subclass may do anything."""


REFUSED: list[tuple[Any, str]] = [
    (A.RandomBrightnessContrast(), r"A.RandomBrightnessContrast is not supported; A.ColorJitter\("),
    (A.HueSaturationValue(), "A.HueSaturationValue is not supported; A.ColorJitter"),
    (A.CoarseDropout(), "A.CoarseDropout is not supported; v2.RandomErasing"),
    (A.Affine(rotate=9), "A.Affine is not supported; v2.RandomAffine"),
    (A.Equalize(), "A.Equalize is not supported; v2.RandomEqualize"),
    (A.ImageCompression(), "A.ImageCompression is not supported; v2.JPEG"),
    (A.LongestMaxSize(9), "A.LongestMaxSize is not supported; A.SmallestMaxSize"),
    (A.PadIfNeeded(9, 9), "A.PadIfNeeded is not supported; A.CenterCrop"),
    (A.GridDistortion(), "A.GridDistortion is not supported; docs/"),
    (A.Lambda(image=identity), "A.Lambda is not supported; docs/"),
    (A.Resize(9, 9, interpolation=cv2.INTER_AREA), "A.Resize: interpolation=3 is not supported"),
    (A.Resize(9, 9, area_for_downscale="image"), "A.Resize: area_for_downscale is not supported"),
    (A.Resize(9, 9, p=0.5), "A.Resize: p=0.5: images would differ"),
    (A.BBoxSafeRandomCrop(p=0.5), "A.BBoxSafeRandomCrop: p=0.5: images would differ"),
    (A.RandomCrop(9, 9, pad_if_needed=True), "A.RandomCrop: pad_if_needed=True is not"),
    (A.SmallestMaxSize(max_size_hw=(9, 9)), "A.SmallestMaxSize: max_size_hw is not"),
    (A.Solarize((0.1, 0.5)), "A.Solarize: threshold_range="),
    (A.RandomGamma(), "A.RandomGamma: gamma_limit="),
    (A.Posterize([(1, 2), (3, 4), (5, 6)]), "A.Posterize: num_bits of each channel"),
    (A.ToGray(method="pca"), "A.ToGray: it is supported with method='weighted_average'"),
    (A.Rotate(border_mode=cv2.BORDER_REFLECT), "A.Rotate: it is supported with"),
    (A.Rotate(fill=9), "A.Rotate: it is supported with"),
    (A.Normalize(normalization="image"), "A.Normalize: it is supported with normalization='standard'"),
    (A.SomeOf([A.HorizontalFlip()], n=2, replace=True), "A.SomeOf: it is supported with replace=False"),
    (A.Compose([A.ToFloat(), A.ColorJitter()]), "A.ColorJitter behind Normalize or ToFloat"),
    (A.OneOf([A.CLAHE()]), "A.CLAHE is not supported; v2.RandomEqualize"),
    (Own(), "A.Own is not supported; docs/"),
]


@pytest.mark.parametrize(("transform", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_refused(transform: Any, words: str) -> None:
    with pytest.raises(UnsupportedTransform, match=rf"^transforms: Compose cannot be converted: {words}") as refused:
        convert(A.Compose([transform]))
    assert len(str(refused.value)) <= 300


def test_two_lists_are_not_one() -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r"^transforms: a list of 2 lists \(Compose, Compose\)"):
        convert([A.Compose([A.HorizontalFlip()]), A.Compose([A.VerticalFlip()])])


def test_what_is_refused_of_compose() -> None:
    for given, words in [
        (A.Compose([A.HorizontalFlip()], bbox_params=A.BboxParams("coco")), "bbox_params and keypoint_params are not"),
        (A.Compose([A.HorizontalFlip()], p=0.5), "p=0.5: images would differ"),
    ]:
        with pytest.raises(UnsupportedTransform, match=f"^transforms: Compose cannot be converted: A.Compose: {words}"):
            convert(given)
    with pytest.raises(UnsupportedTransform, match="HorizontalFlip works on 8-bit numbers"):
        convert([v2.ToDtype(torch.float32, scale=True), A.HorizontalFlip()])
