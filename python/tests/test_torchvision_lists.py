"""Lists as training scripts have them, and their recipes: torchvision's references, SimCLR, DINO, timm, presets."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import Image  # noqa: E402
from torchvision import models  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import _gpufeed  # noqa: E402
from gpufeed.torchvision import Converted, UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = {"type": "Normalize", "mean": MEAN, "std": STD}
FLOAT = {"type": "ToDtype"}
FLIP = {"type": "RandomHorizontalFlip", "p": 0.5}


def crop(size: int = 224, interpolation: str = "Bilinear", scale: tuple[float, float] = (0.08, 1.0)) -> dict[str, Any]:
    made = {"type": "RandomResizedCrop", "size": size, "scale": [*scale], "ratio": [3 / 4, 4 / 3]}
    return made | {"interpolation": interpolation, "antialias": True}


def expect(converted: Converted, transforms: list[dict[str, Any]], dtype: str = "F32") -> None:
    """The recipe is this one, in 8-bit numbers up to ToDtype, and gpufeed reads it."""
    made = json.loads(json.dumps(converted.recipe), parse_float=lambda number: float(f"{float(number):.9g}"))
    wanted = {"semantics": "Uint8", "output": {"layout": "Nchw", "dtype": dtype}, "transform": transforms}
    assert made == json.loads(json.dumps(wanted), parse_float=lambda number: float(f"{float(number):.9g}"))
    _gpufeed.recipe_toml(json.dumps(converted.recipe))


def reference(module: Any, policy: Any, backend: str) -> Any:
    """references/classification/presets.py of torchvision, ClassificationPresetTrain: its steps in their order."""
    steps: list[Any] = []
    if backend == "tensor":
        steps.append(v2.PILToTensor() if module is v1 else v2.ToImage())
    steps.append(module.RandomResizedCrop(224, interpolation=v1.InterpolationMode.BILINEAR, antialias=True))
    steps += [module.RandomHorizontalFlip(0.5), policy]
    if backend == "pil":
        steps.append(module.PILToTensor())
    steps.append(v2.ToDtype(torch.float, scale=True) if module is v2 else v1.ConvertImageDtype(torch.float))
    steps += [module.Normalize(mean=tuple(MEAN), std=tuple(STD)), module.RandomErasing(p=0.1)]
    if module is v2:
        steps.append(v2.ToPureTensor())
    return module.Compose(steps)


@pytest.mark.parametrize("backend", ["tensor", "pil"])
@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_torchvisions_references(module: Any, backend: str) -> None:
    bilinear = v1.InterpolationMode.BILINEAR
    rand = module.RandAugment(interpolation=bilinear, magnitude=9)
    wide = module.TrivialAugmentWide(interpolation=bilinear)
    warped = {"interpolation": "Bilinear", "fill": "None", "num_magnitude_bins": 31}
    erasing = {"type": "RandomErasing", "p": 0.1, "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "value": 0.0}
    for policy, expected in [
        (rand, {"type": "RandAugment", **warped, "num_ops": 2, "magnitude": 9}),
        (wide, {"type": "TrivialAugmentWide", **warped}),
    ]:
        converted = convert(reference(module, policy, backend))
        expect(converted, [crop(), FLIP, expected, FLOAT, NORMALIZE, erasing])
        assert [note[:21] for note in converted.notes] == (["a list for PIL images"] if backend == "pil" else [])


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_simclr(module: Any) -> None:
    jitter = module.ColorJitter(0.8, 0.8, 0.8, 0.2)
    steps = [module.RandomResizedCrop(size=224), module.RandomHorizontalFlip(), module.RandomApply([jitter], p=0.8)]
    steps += [
        module.RandomGrayscale(p=0.2),
        module.RandomApply([module.GaussianBlur(kernel_size=int(0.1 * 224) | 1)]),
        v1.ToTensor(),
    ]
    ranges = {"brightness": [0.2, 1.8], "contrast": [0.2, 1.8], "saturation": [0.2, 1.8], "hue": [-0.2, 0.2]}
    blur = {"type": "GaussianBlur", "kernel_size": [23, 23], "sigma": [0.1, 2.0]}
    expected = [
        crop(),
        FLIP,
        {"type": "RandomApply", "p": 0.8, "transforms": [{"type": "ColorJitter", **ranges}]},
        {"type": "RandomGrayscale", "p": 0.2},
        {"type": "RandomApply", "p": 0.5, "transforms": [blur]},
        FLOAT,
    ]
    expect(convert(module.Compose(steps)), expected)
    loader = gpufeed.DataLoader(Jpegs(4), module.Compose(steps), views=2, batch_size=2)
    assert next(iter(loader))[0].shape == (4, 3, 224, 224)  # two views of two samples


def test_dinos_global_crops() -> None:
    """main_dino.py of facebookresearch/dino, its blur and solarization being torchvision's."""
    jitter = v1.RandomApply([v1.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)], p=0.8)
    flip_and_jitter = v1.Compose([v1.RandomHorizontalFlip(p=0.5), jitter, v1.RandomGrayscale(p=0.2)])
    normalize = v1.Compose([v1.ToTensor(), v1.Normalize(tuple(MEAN), tuple(STD))])
    begins = [v1.RandomResizedCrop(224, scale=(0.4, 1.0), interpolation=Image.Resampling.BICUBIC), flip_and_jitter]
    blur = v1.GaussianBlur(23)
    ranges = {"brightness": [0.6, 1.4], "contrast": [0.6, 1.4], "saturation": [0.8, 1.2], "hue": [-0.1, 0.1]}
    expected = [
        crop(interpolation="Bicubic", scale=(0.4, 1.0)),
        FLIP,
        {"type": "RandomApply", "p": 0.8, "transforms": [{"type": "ColorJitter", **ranges}]},
        {"type": "RandomGrayscale", "p": 0.2},
    ]
    blurred = {"type": "GaussianBlur", "kernel_size": [23, 23], "sigma": [0.1, 2.0]}
    expect(convert(v1.Compose([*begins, blur, normalize])), [*expected, blurred, FLOAT, NORMALIZE])
    second = v1.Compose([*begins, v1.RandomApply([blur], p=0.1), v1.RandomSolarize(128, p=0.2), normalize])
    sometimes = {"type": "RandomApply", "p": 0.1, "transforms": [blurred]}
    solarize = {"type": "RandomSolarize", "threshold": 128, "p": 0.2}
    expect(convert(second), [*expected, sometimes, solarize, FLOAT, NORMALIZE])

    class GaussianBlur:
        """DINO's own, of Pillow."""

    with pytest.raises(
        UnsupportedTransform, match=r"^transforms\[2\]: GaussianBlur is not supported: it is .*, not torchvision's"
    ):
        convert(v1.Compose([*begins, GaussianBlur(), normalize]))


def test_presets_of_weights() -> None:
    preset = models.ResNet50_Weights.IMAGENET1K_V2.transforms()
    resize = {"type": "Resize", "size": 232, "interpolation": "Bilinear", "antialias": True}
    center = {"type": "CenterCrop", "size": 224}
    expect(convert(preset), [resize, center, FLOAT, NORMALIZE])
    expect(convert([v2.RandomHorizontalFlip(), preset]), [FLIP, resize, center, FLOAT, NORMALIZE])
    bicubic = models.EfficientNet_B0_Weights.IMAGENET1K_V1.transforms()
    made = convert(bicubic).recipe["transform"]
    assert made[0] == {"type": "Resize", "size": 256, "interpolation": "Bicubic", "antialias": True}
    with pytest.raises(UnsupportedTransform, match="^transforms: SemanticSegmentation is not supported; "):
        convert(models.segmentation.FCN_ResNet50_Weights.DEFAULT.transforms())


JITTER = {"type": "ColorJitter", "brightness": [0.6, 1.4], "contrast": [0.6, 1.4], "saturation": [0.6, 1.4], "hue": 0.0}
CENTER = {"type": "CenterCrop", "size": 224}


def test_timms_train_list() -> None:
    timm = pytest.importorskip("timm.data")
    converted = convert(timm.create_transform(224, is_training=True))
    expect(converted, [crop(), FLIP, JITTER, FLOAT, NORMALIZE])
    assert len(converted.notes) == 1
    erasing = {"type": "RandomErasing", "p": 0.25, "scale": [0.02, 1 / 3], "ratio": [0.3, 1 / 0.3]}
    options = {"interpolation": "bicubic", "color_jitter": None, "vflip": 0.1, "hflip": 0.0, "re_prob": 0.25}
    begins = [crop(interpolation="Bicubic"), {"type": "RandomVerticalFlip", "p": 0.1}, FLOAT, NORMALIZE]
    for mode, value in [("pixel", "random"), ("const", 0.0)]:
        made = convert(timm.create_transform((3, 224, 224), is_training=True, re_mode=mode, **options))
        expect(made, [*begins, erasing | {"value": value}])
    # Its training script draws one of two interpolations.
    several = convert(timm.create_transform(224, is_training=True, interpolation="random", color_jitter=None))
    choice = {"type": "RandomChoice", "transforms": [crop(), crop(interpolation="Bicubic")]}
    expect(several, [choice, FLIP, FLOAT, NORMALIZE])
    bytes_ = convert(timm.create_transform(224, is_training=True, use_prefetcher=True, color_jitter=None))
    expect(bytes_, [crop(), FLIP], "U8")
    separate = timm.create_transform(224, is_training=True, separate=True, color_jitter=None)
    expect(convert(separate), [crop(), FLIP, FLOAT, NORMALIZE])
    loader = gpufeed.DataLoader(
        Jpegs(4), timm.create_transform(32, is_training=True, interpolation="random"), batch_size=4
    )
    assert next(iter(loader))[0].shape == (4, 3, 32, 32)


def test_timms_eval_list() -> None:
    timm = pytest.importorskip("timm.data")
    resize = {"type": "Resize", "size": 256, "interpolation": "Bilinear", "antialias": True}
    expect(convert(timm.create_transform(224)), [resize, CENTER, FLOAT, NORMALIZE])
    squash = convert(timm.create_transform(224, crop_pct=0.9, crop_mode="squash", interpolation="bicubic"))
    expect(squash, [resize | {"size": [248, 248], "interpolation": "Bicubic"}, CENTER, FLOAT, NORMALIZE])
    expect(convert(timm.create_transform(224, use_prefetcher=True)), [resize, CENTER], "U8")


def test_what_is_refused_of_timm() -> None:
    timm = pytest.importorskip("timm.data")
    for options, words in [
        (
            {"auto_augment": "rand-m9-mstd0.5"},
            r"transforms\[2\]: RandAugment is not supported: it is timm.data.auto_augment's",
        ),
        ({"re_prob": 0.5, "re_mode": "rand"}, r"transforms\[5\]: RandomErasing cannot be converted: mode='rand'"),
        ({"re_prob": 0.5, "re_count": 3}, r"transforms\[5\]: RandomErasing cannot be converted: it erases several"),
        ({"train_crop_mode": "rkrc"}, r"transforms\[0\]: ResizeKeepRatio is not supported; supported are"),
    ]:
        with pytest.raises(UnsupportedTransform, match=rf"^{words}"):
            convert(timm.create_transform(224, is_training=True, **options))
    with pytest.raises(UnsupportedTransform, match=r"^transforms\[0\]: ResizeKeepRatio is not supported"):
        convert(timm.create_transform(224, crop_mode="border"))
    crops = sys.modules["timm.data.transforms"]
    with pytest.raises(
        UnsupportedTransform, match="^transforms: RandomResizedCropAndInterpolation cannot be .* 'lanczos'"
    ):
        convert(crops.RandomResizedCropAndInterpolation(224, interpolation="lanczos"))
