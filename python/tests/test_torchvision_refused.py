"""What of torchvision's arguments is refused, with the place, and what counts 0 to 255 or 0 to 1."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

import PIL.Image  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402

from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402

FLOAT = v2.ToDtype(torch.float32, scale=True)
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BICUBIC = {"interpolation": InterpolationMode.BICUBIC}

REFUSED: list[tuple[Any, str]] = [
    (v2.Resize(None, max_size=9), "size=None is not supported"),
    (
        v2.Resize(9, interpolation=InterpolationMode.LANCZOS),
        "interpolation 'lanczos' is not supported there; nearest, nearest-exact",
    ),
    (v1.Resize(9, interpolation=4), "interpolation 'box'"),
    *[
        (warp, "interpolation 'bicubic' is not supported there; nearest, bilinear are")
        for warp in (v2.RandomPerspective(**BICUBIC), v2.ElasticTransform(interpolation="bicubic"))
    ],
    (v2.RandomRotation(3, expand=True, **BICUBIC), "interpolation 'bicubic' is not supported with expand=True"),
    (
        v2.RandomAffine(3, interpolation="lanczos"),
        "interpolation 'lanczos' is not supported there; nearest, bilinear, bicubic",
    ),
    (v2.Pad(3, fill=(1, 2)), "2 numbers are not one or three"),
    (v2.Pad(3, fill=300), "fill: 300; 0 to 255 work on 8-bit images"),
    (v2.Pad(-3), "padding: -3; pixels, "),
    (v2.RandomErasing(value=-1), "value: -1; 0 to 255 work"),
    (v2.RandomErasing(value="random"), "value='random' needs floats; put it after v2.ToDtype"),
    (v2.GaussianNoise(clip=False), "clip=False lets 8-bit numbers overflow"),
    (v2.Normalize(MEAN, STD), "it needs floats; put v2.ToDtype"),
    (v2.RandomSolarize(300), "threshold: 300; "),
    (v2.Pad(3, fill={tv_tensors.Mask: 4}), "fill is a dictionary without an entry for images"),
    (
        v2.Pad(3, fill={tv_tensors.Image: 4, torch.Tensor: 5}),
        r"fill is a dictionary with different values for images: \[4, 5\]",
    ),
]


@pytest.mark.parametrize(
    ("transform", "words"), REFUSED, ids=[f"{type(each).__name__} {words[:30]}" for each, words in REFUSED]
)
def test_refused_arguments(transform: Any, words: str) -> None:
    name = type(transform).__name__
    with pytest.raises(
        UnsupportedTransform, match=rf"^transforms\[1\]: {name} cannot be converted: {words}"
    ) as refused:
        convert([v2.CenterCrop(8), transform])
    assert (refused.value.place, refused.value.name) == ("transforms[1]", name)


def test_bicubic_warps_are_refused_on_floats() -> None:
    for warp in (v2.RandomRotation(3, **BICUBIC), v1.RandomAffine(3, **BICUBIC), v2.AugMix(**BICUBIC)):
        with pytest.raises(
            UnsupportedTransform, match=r"^transforms\[1\]: \w+ cannot be converted: bicubic warps are Pillow's"
        ):
            convert([FLOAT, warp])


def test_arguments_on_floats() -> None:
    for transform, expected in [
        (v2.RandomErasing(value="random"), ("value", "random")),
        (v2.RandomErasing(value=-1.5), ("value", -1.5)),
        (v1.RandomErasing(value="random"), ("value", "random")),
        (v2.GaussianNoise(clip=False), ("clip", False)),
        (v2.RandomSolarize(0.5), ("threshold", 0.5)),
        (v2.RandomRotation(3, fill=0.5), ("fill", 0.5)),
    ]:
        found = convert([v2.CenterCrop(8), FLOAT, transform]).recipe["transform"]
        assert found[1] == {"type": "ToDtype"} and found[2][expected[0]] == expected[1]
    solarize = r"^transforms\[1\]: RandomSolarize cannot be converted: threshold: 128; 0 to 1 work on floats"
    with pytest.raises(UnsupportedTransform, match=solarize):
        convert([FLOAT, v2.RandomSolarize(128)])
    jpeg = r"^transforms\[1\]: JPEG cannot be converted: it needs 8-bit images; put it before ToDtype"
    with pytest.raises(UnsupportedTransform, match=jpeg):
        convert([FLOAT, v2.JPEG(50)])


def test_fills_by_type() -> None:
    for given in (
        {torch.Tensor: (1, 2, 3), "others": 0},
        {"others": (1, 2, 3)},
        {PIL.Image.Image: (1, 2, 3), tv_tensors.Mask: 9},
    ):
        assert convert(v2.Pad(1, fill=given)).recipe["transform"][0]["fill"] == [1.0, 2.0, 3.0]
    rotation = v2.RandomRotation(3, fill={tv_tensors.Image: None, "others": 4})
    assert convert(rotation).recipe["transform"][0]["fill"] == "None"
